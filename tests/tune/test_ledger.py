"""What the ledger says is what ``docs/ledger.md`` means, by a second program that takes its time."""

from __future__ import annotations

import itertools
import math
import random
import statistics
from dataclasses import dataclass, field, replace

import pytest
from tiers import first
from tune.random_logs import Line, against, random_log, trial

from workbench.log import Comparison, Ledger, NetworkTime, Record, TaskLedger
from workbench.log.lines import INSIDE
from workbench.log.record import CONDITIONS

# ---- the meaning, written down once more: from the whole log, without a thought for speed ----


@dataclass(eq=False)
class Program:
    trials: list[Record] = field(default_factory=list)
    clean: list[float] = field(default_factory=list)
    other: list[float] = field(default_factory=list)
    alone: int = 0
    met: bool = False
    won: bool = False

    @property
    def shown(self) -> Record:
        return min(self.trials, key=lambda r: (not r.clean, r.trial))

    @property
    def often(self) -> bool:
        return self.met or self.alone > 1

    @property
    def lucky(self) -> float | None:
        first, second = [*sorted(self.clean), math.inf, math.inf][:2]
        return first if len(self.clean) > 1 and second > 1.05 * first and self.number > first else None

    @property
    def number(self) -> float:
        if not self.clean:
            return min(self.other)
        mine = [r.latency_ms or 0.0 for r in self.trials if r.clean and r.origin == "manual"]
        twice = sorted(self.clean)[:2][-1]
        middle = statistics.median_low(mine) if mine and math.inf not in self.clean else math.inf
        return middle if twice > 1.25 * middle else twice

    @property
    def group(self) -> tuple[bool, int]:
        return (False, warmth(self.trials[0]))

    @property
    def key(self) -> tuple[tuple[bool, int], float]:
        return self.group, self.number


def warmth(record: Record) -> int:
    return [*CONDITIONS, record.caches].index(record.caches)


def fresh(lines: list[Record | Comparison]) -> list[Record | Comparison]:
    """Without what is there twice."""
    out: list[Record | Comparison] = []
    for line in lines:
        same = [x for x in out if type(x) is type(line) and x.to_json() == line.to_json()]
        if not same:
            out.append(line)
    return out


class Meaning:
    """Who is best of one task, rule after rule."""

    def __init__(self, lines: list[Record | Comparison]) -> None:
        self.programs: dict[object, Program] = {}
        self.named: dict[int, Program] = {}
        lines = fresh(lines)
        for r in lines:
            if isinstance(r, Record) and r.ok and r.latency_ms is not None:
                told = r.key or r.trial
                one = self.programs.setdefault((told, r.target, r.host, warmth(r)), Program())
                self.named.setdefault(r.trial, one)
                one.trials.append(r)
                (one.clean if r.clean else one.other).append(r.latency_ms)
                one.alone += r.clean
        comparisons = [line for line in lines if isinstance(line, Comparison)]
        comparisons = [c for c in comparisons if c.winner in c.trials and c.winner in self.named]
        for line in comparisons:
            for number in set(line.trials) & self.named.keys():
                one, times = self.named[number], line.latency_ms[line.trials.index(number) :][:1]
                times = [ms for ms in times if not (math.isnan(ms) and line.costs_ms)]  # inside the network
                (one.clean if line.clean else one.other).extend(math.inf if math.isnan(ms) else ms for ms in times)
                one.met = one.met or line.clean
        self.firm: set[tuple[Program, Program]] = set()
        self.pairs: set[tuple[Program, Program]] = set()
        self.before = self._preferred(comparisons)  # winner, and all that rank behind it
        self.number = {p: self._least_behind(p) for p in self.programs.values() if p.often}
        for p in self.programs.values():
            if not p.often:
                self.number[p] = self._once(p)

    def _preferred(self, comparisons: list[Comparison]) -> dict[Program, set[Program]]:
        behind: dict[Program, set[Program]] = {p: set() for p in self.programs.values()}
        for line in sorted(comparisons, key=lambda c: (c.timestamp, c.elapsed_s, c.round, c.winner, c.trials))[::-1]:
            winner = self.named[line.winner]
            losers = {self.named[t] for t in line.trials if t in self.named and line.clean} - {winner}
            winner.won = winner.won or bool(losers)
            for loser in losers:
                if winner not in behind[loser]:
                    self.pairs.add((winner, loser))
                    for above in [p for p in behind if p is winner or winner in behind[p]]:
                        behind[above] |= {loser, *behind[loser]}
                    if line.reason != INSIDE:
                        self.firm.add((winner, loser))
        return behind

    def _least_behind(self, p: Program) -> tuple[tuple[bool, int], float]:
        return min(q.key for q in (p, *self.before[p]))

    def _once(self, p: Program) -> tuple[tuple[bool, int], float]:
        """A single time counts as it is while it is shorter than all that did not hold."""
        often = [q for q in self.programs.values() if q.often]
        lucky = [q.lucky for q in often if q.group == p.group and q.lucky is not None]
        if p.number < min(lucky, default=math.inf):
            return p.key
        least = min((ms for q, (group, ms) in self.number.items() if q.often and group == p.group), default=0.0)
        return p.group, max(p.number, least)

    @property
    def inside(self) -> bool:
        return any(pair not in self.firm for pair in self.pairs)

    def _alone(self, p: Program) -> float:
        """The least number of a program and of those that it has beaten outside of the network."""
        return min(q.key for q in {p, *self._reached(p)})[1]

    def _reached(self, p: Program) -> set[Program]:
        found, more = set[Program](), {p}
        while more:
            more = {b for a, b in self.firm if a in more} - found
            found |= more
        return found

    @property
    def best(self) -> tuple[int, float, str] | None:
        beaten = {p for behind in self.before.values() for p in behind}
        free = [p for p in self.programs.values() if p not in beaten]
        first = min(free, key=lambda p: (self.number[p], not p.often, p.key, p.shown.trial), default=None)
        if first is None:
            return None
        sure = "disturbed" if not first.clean else "compared" if first.won else "again" if first.often else "once"
        return first.shown.trial, self.told(first), sure

    def told(self, p: Program) -> float:
        """Who won inside the network may be slower alone; that is told of it, and no less of those behind it."""
        ms = self.number[p][1]
        free = {q for q in self.number if q.often} - {q for behind in self.before.values() for q in behind}
        first = min(free, key=lambda q: (self.number[q], q.key, q.shown.trial), default=None)
        if self.inside:
            ahead = [q for q in self.number if q.often and self.number[q][0] == self.number[p][0]]
            ahead = [q for q in ahead if self.number[q] <= self.number[p]]
            ms = max([*([] if p.often else [ms]), *(self._alone(q) for q in ahead)])
            ms = self._alone(p) if p is first else ms
        return ms if math.isfinite(ms) else min([*p.clean, *p.other])


def of_task(lines: list[Line], key: str) -> list[Record | Comparison]:
    return [line for line in lines if isinstance(line, Record | Comparison) and line.task_key == key]


@pytest.mark.parametrize("part", first(range(4)))
def test_at_every_line_the_ledger_says_what_is_meant(part: int) -> None:
    kinds = set[str]()
    for seed in range(250 * part, 250 * (part + 1)):
        for key in "ab":
            lines, task = of_task(random_log(seed), key), TaskLedger()
            for n, line in enumerate(lines, 1):
                task.take(line)
                meant = Meaning(lines[:n])
                best = None if task.best is None else (task.best.record.trial, task.best.ms, task.best.sure)
                assert best == meant.best, (seed, n)
                kinds.add(best[2] if best else "")
            check_ranks(task, Meaning(lines))
            check_course(task)
    assert kinds == {"", "compared", "again", "once", "disturbed"}


def check_ranks(task: TaskLedger, meant: Meaning) -> None:
    ranked = task.ranked()
    assert sorted(id(b.record) for b in ranked) == sorted(id(p.shown) for p in meant.programs.values())
    assert ranked[:1] == [task.best][: len(ranked)]
    order = {id(b.record): n for n, b in enumerate(ranked)}
    by_record = {id(p.shown): p for p in meant.programs.values()}
    for winner, losers in meant.before.items():
        assert all(order[id(winner.shown)] < order[id(loser.shown)] for loser in losers)
    for one in ranked:
        assert one.ms == meant.told(by_record[id(one.record)]) == task.of(one.record).ms
    numbers = [meant.number[by_record[id(b.record)]] for b in ranked]
    assert numbers == sorted(numbers)
    for (_, a), (_, b) in itertools.pairwise(zip(numbers, ranked, strict=True)):
        one, two = by_record[id(a.record)], by_record[id(b.record)]
        failed = any(math.inf in p.clean for p in meant.programs.values())  # they are told by the time that they had
        if meant.number[one][0] == meant.number[two][0] and not failed:
            assert a.ms <= b.ms, "nobody is told faster than who ranks before"


def check_course(task: TaskLedger) -> None:
    """It only grows, ends at the best, and never rises without a reason."""
    for before, after in itertools.pairwise(task.course):
        assert (after.of, after.was) != (-1, math.inf)
        assert after.was == before.ms
        assert bool(after.reason) == (after.ms > before.ms)
        assert (before.nth, before.at) <= (after.nth, after.at)
    if task.best is not None:
        assert (task.course[-1].trial, task.course[-1].ms) == (task.best.record.trial, task.best.ms)
    after = [one for one in task.after() if one is not None]
    assert [(one.trial, one.ms) for one in after[-1:]] == [(step.trial, step.ms) for step in task.course[-1:]]
    assert all(bool(b.why) == (b.ms > a.ms) for a, b in itertools.pairwise(after))


EXAMPLES = (
    (
        (trial(0, 0.0581), "0 0.0581 once"), (trial(0, 0.0651, timestamp=1.0), "0 0.0651 again"),
        (trial(0, 0.059, timestamp=2.0), "0 0.059 again"),
    ),
    (
        (trial(0, 1.0), "0 1 once"), (trial(0, 1.01, timestamp=1.0), "0 1.01 again"), (trial(1, 0.97), "1 0.97 once"),
        (against(0, 0, 1, ms=(1.02, 1.1), at=1.0), "0 1.01 compared"), (trial(2, 0.98), "0 1.01 compared"),
        (against(2, 0, 2, ms=(1.1, 1.08), at=2.0), "2 1.01 compared"), (trial(3, 0.9), "3 0.9 once"),
    ),
    (
        (trial(0, 1.31, origin="manual"), "0 1.31 once"), (trial(1, 1.2), "1 1.2 once"),
        (against(1, 0, 1, ms=(1.95, 1.21), at=1.0), "1 1.21 compared"),
        (trial(0, 2.23, origin="manual", timestamp=2.0), "1 1.21 compared"),
    ),
    (
        (trial(0, 1.31, origin="manual"), "0 1.31 once"), (trial(1, 1.6), "0 1.31 once"),
        (against(0, 0, 1, ms=(1.95, 2.3), at=1.0), "0 1.31 compared"),
        (trial(0, 2.23, origin="manual", timestamp=2.0), "0 1.31 compared"),
        (trial(0, 2.21, origin="manual", timestamp=3.0), "0 1.95 compared"),
    ),
    (
        (trial(0, 0.248, clean=False), "0 0.248 disturbed"), (trial(1, 0.3), "0 0.248 disturbed"),
        (trial(0, 0.137, timestamp=1.0), "0 0.137 once"),
    ),
)  # fmt: skip


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_examples_of_the_page_hold(example: tuple[tuple[Record | Comparison, str], ...]) -> None:
    task = TaskLedger()
    for line, said in example:
        task.take(line)
        assert task.best is not None
        assert f"{task.best.record.trial} {task.best.ms:g} {task.best.sure}" == said
    check_course(task)


def test_a_disturbed_time_is_one_that_a_schedule_takes_at_most() -> None:
    task = TaskLedger()
    task.take(trial(0, 0.29, clean=False, origin="default"))
    assert task.untuned_ms == 0.29
    task.take(trial(1, 0.3))
    assert task.best is not None
    assert (task.best.record.trial, task.untuned_ms) == (0, 0.29), "an undisturbed time that is longer is no better"
    task.take(trial(0, 0.35, timestamp=1.0, origin="default"))
    assert (task.best.record.trial, task.best.ms, task.untuned_ms) == (1, 0.3, 0.35), "the undisturbed time counts"
    assert task.course[-1].reason == "trial 0 (0.29 ms) was disturbed, trial 1 was not"
    check_course(task)


def test_who_is_best_depends_on_the_lines_and_not_on_their_order() -> None:
    for seed in range(0, 400, 2):  # numbers name one program each
        lines, rng = of_task(random_log(seed), "a"), random.Random(seed)
        expected = TaskLedger()
        for line in lines:
            expected.take(line)
            if expected.best and expected.untuned_ms:
                assert expected.best.ms <= expected.untuned_ms, seed
        for _ in range(3):
            rng.shuffle(lines)
            task = TaskLedger()
            for line in (*lines, *lines[:3]):  # a line that comes twice counts once
                task.take(line)
            assert (task.best, task.untuned_ms) == (expected.best, expected.untuned_ms), seed
            assert [(b.record.trial, b.ms) for b in task.ranked()] == [
                (b.record.trial, b.ms) for b in expected.ranked()
            ]


def test_it_does_not_matter_which_of_several_logs_is_read_first() -> None:
    for seed in range(0, 200, 4):
        logs = [of_task(random_log(n), "a") for n in (seed, seed + 2)]
        logs[1] = [replace(line, timestamp=line.timestamp + 0.3) for line in logs[1]]  # none is in both
        task, other = TaskLedger(), TaskLedger()
        for source in (0, 1):
            for line in logs[source]:
                task.take(line, source=source)
            for line in logs[1 - source]:
                other.take(line, source=1 - source)
        assert [(str(b.record), b.ms) for b in task.ranked()] == [(str(b.record), b.ms) for b in other.ranked()]


def test_the_newest_line_about_the_network_is_kept() -> None:
    lines = [NetworkTime(measured_ms=ms, untuned_ms=2.0, target="llvm") for ms in (1.0, 0.9)]
    assert Ledger.of([trial(0, 1.0), *lines]).network == lines[-1]
    assert Ledger.of([trial(0, 1.0)]).network is None


def test_the_network_has_a_course_of_times_for_one_target() -> None:
    old, new, other = (
        NetworkTime(measured_ms=ms, untuned_ms=2.0, target=target)
        for ms, target in ((1.0, "llvm"), (0.9, "llvm"), (0.1, "cuda"))
    )
    lines = [trial(0, 1.0), old, trial(1, 0.9), trial(2, 0.8), other, new, new]
    assert [(one.at, one.line) for one in Ledger.of(lines).whole.course] == [(1, old), (3, new)]
    assert Ledger.of(lines, "cuda").network == other
    assert Ledger.of([*lines, trial(3, 0.5, target="cuda")]).network == other, "the newest trial's target is meant"
