"""Any number of variants in a table: times measured in turns, their machine code, what misses the caches."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import combinations
from typing import Any, TypeAlias

from workbench import markup as m
from workbench.analysis.cache.view import cache_view
from workbench.analysis.code_figures import code_figures
from workbench.arguments import shown
from workbench.codegen.backend import require_runnable
from workbench.errors import UsageError
from workbench.log import Record
from workbench.runtime import schedule_methods
from workbench.runtime.results.comparison_words import finding
from workbench.runtime.results.contest import Contest
from workbench.schedule import Schedule
from workbench.session import registry as declare
from workbench.session.core.protocol import error_json
from workbench.session.measurement.comparisons import closed
from workbench.session.registry import Host, Row, SliceContext
from workbench.session.state.history import History, open_parts
from workbench.session.state.results import Key
from workbench.session.state.statistics import rounded
from workbench.session.state.verdicts import PairResult
from workbench.session.stepped_work import SteppedWork

_log = logging.getLogger(__name__)

declare.panel("comparison", "Comparison", 8, needs="program", about_task=True, page=10)


@declare.slice_("comparison")
def comparison(context: SliceContext) -> dict[str, Any] | None:
    """Return the slice `comparison`: how far it is, the names of the cache levels, and a row for each variant of the
    task on show that the last one was about.
    """
    state, view = context.state, context.view
    if view is None:
        return None
    answer: Compared | None = state.compared.answer
    found = None if answer is None else answer.of(view.key[0])
    if found is None:
        return {**state.compared.to_json(), "levels": [], "rows": []}
    nodes = [state.history.trees[view.key[0]].find(key) for key in found.keys]
    left = [i for i, node in enumerate(nodes) if node is not None]
    timed = _timed(found.contest, tuple(left), found.keys, _met(found, left, state.history))
    rows = [{"id": node.id, **found.looks[i], **timed[i]} for i, node in enumerate(nodes) if node is not None]
    return {**state.compared.to_json(), "levels": list(found.levels), "rows": rows}


_Met: TypeAlias = tuple[int, int, PairResult]
"""Two variants by their places, and what came of all their comparisons."""


def _met(found: Compared, left: Sequence[int], history: History) -> tuple[_Met, ...]:
    """Return what is known of those pairs of variants that were compared several times."""
    pairs = ((i, k, history.contests.get(frozenset((found.keys[i], found.keys[k])))) for i, k in combinations(left, 2))
    return tuple((i, k, pair) for i, k, pair in pairs if pair is not None and len(pair.contests) > 1)


@declare.command
def compare_variants(host: Host, nodes: object = None) -> None:
    """Measure variants in turns, given by their numbers, and look at their code and what they miss; by default all of
    the task that have no open numbers. Measurements wait.
    """
    state = host.state
    if nodes is None:
        chosen = [node for node in state.tree.nodes.values() if not open_parts(node.schedule)]
    elif isinstance(nodes, list):
        chosen = list({node.id: node for node in (closed(state.variant(id)) for id in nodes)}.values())
    else:
        raise UsageError("session.arguments", f"The variants are a list of numbers, not {shown(nodes)}")
    if len(chosen) < 2:
        hint = "take a step, or name two at least"
        raise UsageError("session.contest", "Two variants at least are measured against each other", (), hint)
    require_runnable(state.target)
    names = tuple(f"v{node.id}" for node in chosen)
    _Comparison(host, names, tuple(n.key for n in chosen), tuple(n.schedule.copy() for n in chosen)).begin()


@dataclass(frozen=True, slots=True)
class Compared:
    """What a comparison has found: which variants, what is known without running them, and their times."""

    keys: tuple[Key, ...]
    levels: Sequence[str]
    looks: Sequence[dict[str, Any]]
    contest: Contest
    #: What comparisons of other tasks have found.
    others: Mapping[int, Compared] = field(default_factory=dict)

    @property
    def task(self) -> int:
        """Number of the task whose variants they are."""
        return self.keys[0][0]

    def of(self, task: int) -> Compared | None:
        """Return what the last comparison of a task has found; None where there was none."""
        return self if task == self.task else self.others.get(task)

    def after(self, before: Compared | None) -> Compared:
        """Return it with what comparisons of other tasks had found."""
        if before is None:
            return self
        all_of = {**before.others, before.task: replace(before, others={})}
        return replace(self, others={task: one for task, one in all_of.items() if task != self.task})


@dataclass(frozen=True, slots=True)
class _Comparison(SteppedWork[Compared]):
    name = "comparison"
    kept = "compared"
    what = "The comparison of variants"

    names: tuple[str, ...]
    keys: tuple[Key, ...]
    schedules: tuple[Schedule, ...]

    def find(self) -> Compared:
        steps, rows = len(self.names) + 1, []
        levels: list[str] = []
        for k, (name, schedule) in enumerate(zip(self.names, self.schedules, strict=True)):
            self.step(f"Code and caches of {name}", k + 1, steps)
            levels, row = self._looked_at(schedule, levels)
            rows.append(row)
        self.step("Measuring them in turns", steps, steps)
        state = self.host.state
        funcs = [one.func for one in self.schedules]
        base, constants = self.schedules[0].base, state.constants
        found = schedule_methods.contest(funcs, base, state.target, going_on=self.going_on, constants=constants)
        return Compared(self.keys, levels, rows, replace(found, names=self.names))

    def _end(self, answer: Compared | None, error: dict[str, Any] | None) -> None:
        before = self.host.state.compared.answer
        fresh = answer is not None and answer is not before
        SteppedWork._end(self, answer.after(before) if fresh and answer is not None else answer, error)
        if fresh and answer is not None:
            for keys, contest in _pairs(answer):
                self.host.state.meet(keys, contest)

    def _looked_at(self, schedule: Schedule, levels: list[str]) -> tuple[list[str], dict[str, Any]]:
        """Return the names of the cache levels, and what is known of a variant without running it, or why it is not."""
        target, row, notes = self.host.state.target, dict[str, Any](), list[str]()

        def code() -> None:
            found = code_figures(schedule.func, target)
            row.update(nbytes=found.nbytes, instructions=found.instructions)
            row.update(registers=found.registers, spills=found.spills, scalar_spills=found.scalar_spills)

        def caches() -> None:
            counts = cache_view(_for(schedule, target))
            levels[:] = [c.name for c in counts.levels]
            row.update(misses=[counts.misses(name) for name in levels], share=rounded(counts.share))

        row.update(nbytes=None, instructions=None, registers=None, spills=None, scalar_spills=None)
        row.update(misses=[], share=None)
        for look in (code, caches):
            _tried(look, notes)
        return levels, {**row, "note": "; ".join(notes)}


def _for(schedule: Schedule, target: Any) -> Schedule:
    """Return a copy of a schedule whose target is this one."""
    found = schedule.copy()
    found.target = target
    return found


def _tried(look: Callable[[], None], notes: list[str]) -> None:
    try:
        look()
    except Exception as failure:
        error = error_json(failure)
        if error["code"] == "internal":
            _log.error("Looking at a variant failed", exc_info=failure)
        notes.append(error["message"])


def _pairs(found: Compared) -> Iterator[tuple[tuple[Key, Key], Contest]]:
    """Yield what a comparison says of each two, as if they had been timed against each other alone."""
    each = found.contest.measurements
    for (i, a), (k, b) in combinations(enumerate(found.keys), 2):
        if each[i].ok and each[k].ok:
            yield (a, b), replace(found.contest, measurements=(each[i], each[k]), names=())


@dataclass(frozen=True, slots=True)
class _Seen:
    """What is known of each two variants: of all comparisons of both, where there were several."""

    contest: Contest
    met: Mapping[tuple[int, int], PairResult]
    keys: tuple[Key, ...]

    def of(self, i: int, k: int) -> tuple[Contest, str]:
        """Return a contest of `k` and `i`, the former first, and how many it was made of."""
        pair = self.met.get((min(i, k), max(i, k)))
        names = (self.contest.name(k), self.contest.name(i))
        if pair is not None:
            return replace(pair.seen_from(self.keys[k]), names=names), pair.how_many(self.keys[k])
        each = self.contest.measurements
        return replace(self.contest, measurements=(each[k], each[i]), names=names), ""

    def ratio(self, i: int, k: int) -> float:
        """Time of `i` over that of `k`."""
        return 1.0 if i == k else round(self.of(i, k)[0].ratio(1), 6)


@lru_cache(maxsize=2)
def _timed(
    contest: Contest, left: tuple[int, ...], keys: tuple[Key, ...] = (), met: tuple[_Met, ...] = ()
) -> dict[int, dict[str, Any]]:
    """Return what is known of the time of each variant that is left, against the fastest of them."""
    seen = _Seen(contest, {(i, k): pair for i, k, pair in met}, keys)
    timed = [i for i in left if contest.measurements[i].ok]
    first = min(timed, key=contest.latency_ms, default=0)  # against it ratios are the most exact
    best = min((first, *timed), key=lambda i: seen.ratio(i, first))
    rows = {}
    for i in left:
        one = contest.measurements[i]
        row: dict[str, Any] = {"ms": None, "ratio": None, "known": "", "confidence": None, "text": ""}
        if one.ok and i != best:
            beside, several = seen.of(i, best)
            said = finding(beside, 1, 0)
            row |= {"ms": rounded(contest.latency_ms(best) * said.ratio), "ratio": rounded(said.ratio)}
            row |= {"known": said.known, "confidence": rounded(said.confidence, 6), "text": said.text + several}
        rows[i] = {**row, "status": one.status, "error": one.error}
    if best in timed:
        rows[best] |= {"ms": rounded(contest.latency_ms(best)), "ratio": 1.0, "text": _alike(rows, contest, best)}
    return rows


def _alike(rows: Mapping[int, Mapping[str, Any]], contest: Contest, best: int) -> str:
    """Say whether the fastest is faster than all others."""
    others = {i: row for i, row in rows.items() if row["text"]}
    same = [contest.name(i) for i, row in others.items() if row["known"] == "same"]
    unknown = [contest.name(i) for i, row in others.items() if not row["known"]]
    said = [f"takes the same time as {', '.join(same)}"] if same else []
    said += [f"cannot tell from {', '.join(unknown)}"] if unknown else []
    return "; ".join(said) or "the fastest"


@declare.command
def cancel_comparison(host: Host) -> None:
    """End the comparison of variants, at once while they are measured; what the one before has found stays."""
    _Comparison.cancel(host)


# ----- without a front end


@declare.static("comparison")
def _html(found: Mapping[str, Any], limit: int) -> m.Html:
    if not found["rows"]:
        return m.Html("")
    heads = (
        "Time in turns",
        "of the fastest",
        "Code",
        "Registers",
        "Vector spills",
        "Scalar spills",
        *(f"{name} misses" for name in found["levels"]),
    )
    columns = [m.Column("Variant"), *(m.Column(h, number=True) for h in heads), m.Column("")]
    rows: list[list[object]] = [
        [f"v{r['id']}", m.milliseconds(r["ms"]), m.digits(r["ratio"]) + "×" if r["ratio"] else "", m.size(r["nbytes"]),
         *("" if r[k] is None else str(r[k]) for k in ("registers", "spills", "scalar_spills")),
         *(f"{n:,}" for n in r["misses"]), *[""] * (len(found["levels"]) - len(r["misses"])),
         m.text("; ".join(filter(None, (r["text"], r["error"], r["note"]))), 200)]
        for r in found["rows"]
    ]  # fmt: skip
    return m.join(m.section("Comparison"), m.table(columns, m.cut(rows, limit, "variants", len(rows))))


@declare.table("comparison")
def _table(slices: Mapping[str, Any], records: Sequence[Record]) -> list[Row]:
    """One row for each variant."""
    found = slices.get("comparison") or {"levels": (), "rows": ()}
    return [
        {k: v for k, v in row.items() if k != "misses"}
        | {f"{name}_misses": n for name, n in zip(found["levels"], row["misses"], strict=False)}
        for row in found["rows"]
    ]
