"""The fold over the lines of one task."""

from __future__ import annotations

import bisect
import heapq
import math
from collections import Counter, deque
from typing import Any, TypeAlias

from workbench.log.ledger.best_history import After, Step, Why
from workbench.log.ledger.candidate import Best, Candidate, Place, identity
from workbench.log.ledger.pairwise_preferences import Preferences
from workbench.log.lines import INSIDE, Comparison
from workbench.log.record import Record

Conditions: TypeAlias = tuple[bool, int]
"""Whether a trial is of another target, and its `Record.warmth`: the lowest go first."""

Key: TypeAlias = tuple[Conditions, float]


class TaskLedger:
    """What a log says of one task; `take` is the only way in.

    Parameters
    ----------
    target : str, optional
        The target that is wanted: trials of others come after its own.

    Attributes
    ----------
    name, weight, flops
        As in its first trial.
    trials : int
        Trials, failed ones included.
    failures : Counter
        Failed trials by status.
    failed : dict of str to Record
        The newest trial of each kind of failure.
    comparisons : int
    best : Best or None
    course : list of Step
        How the best came about. Steps are only ever added.
    """

    def __init__(self, target: str | None = None) -> None:
        self._target = target
        self.name, self.weight, self.flops = "", 1, 0
        self.trials, self.comparisons = 0, 0
        self.failures: Counter[str] = Counter()
        self.failed: dict[str, Record] = {}
        self.best: Best | None = None
        self.course: list[Step] = []
        self._top: Candidate | None = None
        self._under: Conditions = (False, 0)
        self._default: tuple[Place, Candidate] | None = None
        self._candidates: dict[tuple[Any, ...], Candidate] = {}
        self._meant: dict[Place, Candidate] = {}
        self._seen: set[Any] = set()
        self._lines: list[tuple[tuple[Any, ...], int, Comparison]] = []
        self._unmet: set[Place] = set()  # trials of comparisons that came before them
        self._once: list[tuple[Key, Place, int, Candidate]] = []  # a heap, with entries that no longer hold
        self._named: dict[Candidate, None] = {}  # participants of comparisons
        self._wins: Preferences[Candidate] = Preferences()
        self._places: dict[Candidate, Key] = {}
        self._numbers: dict[Candidate, float] = {}
        self._leader: Candidate | None = None
        self._broken: dict[Conditions, float] = {}
        self._least: dict[Conditions, float] = {}

    # ---- taking lines in ----

    def take(self, line: Record | Comparison, at: int = 0, source: int = 0) -> bool:
        """Take a line in; whether it is none that was taken before, which would change nothing.

        Parameters
        ----------
        at : int
            Trials of the whole log so far, this one included.
        source : int
            Which log it is of: numbers of trials mean something within one log.
        """
        fresh = self._trial(line, source) if isinstance(line, Record) else self._comparison(line, source)
        if fresh:
            self._note(at or self.trials, line.elapsed_s)
        return fresh

    def count(self, failure: str = "") -> None:
        """Count a trial that neither is nor becomes the best, with its kind of failure if it failed."""
        self.trials += 1
        if failure:
            self.failures[failure] += 1

    def _trial(self, record: Record, source: int) -> bool:
        place = (source, record.trial)
        one = self._candidate(record, place) if record.ok else None
        named = one is not None and self._meant.setdefault(place, one) is one and place in self._unmet
        if not self._fresh(record, source):
            return False
        if not self.trials:
            self.name, self.weight, self.flops = record.task, record.weight, record.flops
        self.trials += 1
        if one is None or record.latency_ms is None:
            self.failures[record.status] += 1
            self.failed[record.status] = record
            return True
        one.take(record.latency_ms, record.clean, record.origin)
        if (not record.clean, place) < (not one.record.clean, one.place):
            one.record, one.place = record, place
        if record.origin == "default" and (self._default is None or place < self._default[0]):
            self._default = (place, one)
        if named:
            self._rebuild()
        self._sort(one)
        if one.proven or named:
            self._rank()
        return True

    def _candidate(self, record: Record, place: Place) -> Candidate:
        """Return what a trial is a time of: its program, on its machine, with its state of the caches."""
        name = identity(record, place)
        found = self._candidates.get(name)
        if found is None:
            found = self._candidates[name] = Candidate(len(self._candidates), record, place)
        return found

    def _fresh(self, line: Record | Comparison, source: int) -> bool:
        """Whether a line is none that was taken before, perhaps from another log and with another number."""
        mark: Any
        if not (line.timestamp and (line.key if isinstance(line, Record) else line.latency_ms)):
            mark = repr((source, line))
        elif isinstance(line, Record):
            mark = (line.timestamp, line.key, line.host, line.target, line.caches, line.status, line.latency_ms)
        else:
            mark = repr((line.timestamp, line.latency_ms, line.elapsed_s))  # NaN is equal to itself in words
        new = mark not in self._seen
        self._seen.add(mark)
        return new

    def _comparison(self, line: Comparison, source: int) -> bool:
        if not self._fresh(line, source):
            return False
        self.comparisons += 1
        age = (line.timestamp, line.elapsed_s, line.round, line.winner, line.trials, source)
        newest = all(age > other for other, _, _ in self._lines[-1:])
        bisect.insort(self._lines, (age, source, line), key=lambda item: item[0])
        self._unmet.update(place for t in line.trials if (place := (source, t)) not in self._meant)
        # The newest one, where it contradicts no other, changes nothing about those before it.
        if not (newest and self._enter(line, source)):
            self._rebuild()
        self._rank()
        return True

    def _enter(self, line: Comparison, source: int) -> bool:
        """Take in what a comparison says, if its winner is known; False where another one says the opposite."""
        known = {t: self._meant[source, t] for t in line.trials if (source, t) in self._meant}
        winner = known.get(line.winner)
        if winner is None:
            return True
        for trial, one in known.items():
            one.meet(line, trial)
            self._named[one] = None
            self._sort(one)
        losers = [one for one in known.values() if one is not winner] if line.clean else []
        winner.won = winner.won or bool(losers)
        return sum(not self._wins.add(winner, one, line.reason != INSIDE) for one in losers) == 0

    def _rebuild(self) -> None:
        """Take all comparisons together, the newest first: it holds where others say the opposite."""
        for one in self._named:
            one.reset()
        self._wins = Preferences()
        for _, source, line in reversed(self._lines):
            self._enter(line, source)

    # ---- who is best ----

    def _key(self, one: Candidate) -> Key:
        """What orders a candidate by itself."""
        other = self._target is not None and one.record.target != self._target
        return (other, one.record.warmth), one.ms

    def _order(self, one: Candidate) -> tuple[Key, Place]:
        return self._key(one), one.place

    def _sort(self, one: Candidate) -> None:
        """Put a candidate with a new time among those that were timed once, or more often."""
        if not one.proven:
            heapq.heappush(self._once, (self._key(one), one.place, one.number, one))
        elif one not in self._places:
            self._places[one] = self._key(one)

    def _rank(self) -> None:
        """Work out the places of all that were timed more than once."""
        keys = {one: self._key(one) for one in self._places}
        self._places = self._wins.places(keys)
        self._least, self._broken = {}, {}
        for one, (under, ms) in self._places.items():
            self._least[under] = min(ms, self._least.get(under, ms))
            if one.broken is not None:
                own = keys[one][0]
                self._broken[own] = min(one.broken, self._broken.get(own, one.broken))
        free = [one for one in keys if one not in self._wins.behind]
        self._leader = min(free, key=lambda one: (self._places[one], self._order(one)), default=None)
        self._numbers = {one: ms for one, (_, ms) in self._places.items()}
        if self._wins.weak and self._leader is not None:
            firm = self._wins.places(keys, firm=True)
            self._numbers = {one: max(firm[x][1] for x in self._up_to(self._places[one])) for one in keys}
            self._numbers[self._leader] = firm[self._leader][1]

    def _up_to(self, place: Key) -> list[Candidate]:
        """Return those that were timed more than once, under the conditions of a place, and rank no later."""
        return [one for one, other in self._places.items() if other[0] == place[0] and other <= place]

    def _believed(self, key: Key) -> bool:
        """Whether a single time counts as it is: it is shorter than all that did not hold."""
        return key[1] < self._broken.get(key[0], math.inf)

    def _stale(self, key: Key, place: Place, _: int, one: Candidate) -> bool:
        return one.proven or (key, place) != (self._key(one), one.place)

    def _first(self) -> Candidate | None:
        """Return the best one."""
        while self._once and self._stale(*self._once[0]):
            heapq.heappop(self._once)
        key, single = (self._once[0][0], self._once[0][-1]) if self._once else (None, None)
        if self._leader is None or key is None:
            return self._leader or single
        place = self._places[self._leader]
        return single if key < place and (key[0] < place[0] or self._believed(key)) else self._leader

    @property
    def leader(self) -> Best | None:
        """The best of those that were timed more than once."""
        return None if self._leader is None else self._leader.told(self._told(self._leader))

    def _note(self, at: int, elapsed_s: float) -> None:
        """Write down who is best now, if that is news."""
        one = self._first()
        if one is None:
            return
        under = self._place(one)[0]
        before, top, now = self.best, self._top, one.told(self._told(one))
        self.best, self._top, self._under, was = now, one, under, self._under
        told = (self.trials, at, elapsed_s, now.record.trial, now.ms)
        if before is None or top is None:
            self.course.append(Step(*told))
        elif (now.record.trial, now.ms) != (before.record.trial, before.ms):
            why, of = self._why(before, top, one, under < was) if now.ms > before.ms else ("", before.record.trial)
            self.course.append(Step(*told, why, of, before.ms))

    def _why(self, before: Best, top: Candidate, one: Candidate, better: bool) -> tuple[Why, int]:
        """Return why the best is slower than before, maybe for `better` conditions, and which trial that is of."""
        if better:
            return "conditions", before.record.trial
        if before.sure == "disturbed":
            return "disturbed", before.record.trial
        if (one, top) in self._wins.weak:
            return "inside", before.record.trial
        lucky = [x for x in self._places if x.lucky == before.ms]
        if lucky:
            return "lucky", (top if top in lucky else min(lucky, key=lambda x: x.place)).record.trial
        return "newer" if top.proven else "once", before.record.trial

    # ---- what is told of all ----

    def _told(self, one: Candidate) -> float:
        """Return the number that is told of a candidate: no less than of those that rank before it."""
        if one in self._numbers:
            return self._numbers[one]
        under, ms = self._place(one)
        if not self._wins.weak:
            return ms
        return max([ms, *(self._numbers[x] for x in self._up_to((under, ms)))])

    def _place(self, one: Candidate) -> Key:
        """Return what a candidate ranks by."""
        if one in self._places:
            return self._places[one]
        under, ms = self._key(one)
        return (under, ms) if self._believed((under, ms)) else (under, max(ms, self._least.get(under, ms)))

    def ranked(self) -> list[Best]:
        """Return all candidates, best first, each with what is told of it: no less than of the one before."""
        places = self._places
        often = self._wins.order(sorted(places, key=self._order), places)
        once = [(self._place(one), one) for one in self._candidates.values() if one not in places]
        once.sort(key=lambda item: (item[0], item[1].ms, item[1].place))
        found = heapq.merge(((places[one], one) for one in often), once, key=lambda item: item[0])
        return [one.told(self._told(one)) for _, one in found]

    def of(self, record: Record, source: int = 0) -> Best | None:
        """Return what is told of a trial's program; None for one that failed or is not of this task."""
        place = (source, record.trial)
        one = self._candidates.get(identity(record, place)) if record.ok else None
        return None if one is None else one.told(self._told(one))

    @property
    def untuned_ms(self) -> float | None:
        """What is told of the default schedule: no less than of the best, whatever the conditions of its times."""
        if self._default is None or self.best is None:
            return None
        one = self._default[1]
        return max(one.told(self._told(one)).ms, self.best.ms)

    def ms_after(self, nth: int) -> float | None:
        """Return what was told of the best after a trial (from 1) and the comparisons behind it; None before it was."""
        steps = bisect.bisect_right(self.course, nth, key=lambda step: step.nth)
        return self.course[steps - 1].ms if steps else None

    def after(self) -> list[After | None]:
        """Return the best after each trial and the comparisons behind it; None before the first valid one."""
        out: list[After | None] = []
        steps = deque(self.course)
        now: After | None = None
        for nth in range(1, self.trials + 1):
            before, why = now, ""
            while steps and steps[0].nth <= nth:
                step = steps.popleft()
                now, why = After(step.trial, step.ms), step.reason or why
            risen = now is not None and before is not None and now.ms > before.ms
            out.append(now if now is None else After(now.trial, now.ms, why if risen else ""))
        return out
