"""Who is faster: what came of a contest in which kernels are timed in alternating blocks.

Two measurements made one after the other differ by what the machine did meanwhile: clocks that sink, other programs,
pages that lie elsewhere. In a contest all kernels run in every round, shortly one after the other and in changing
order, so whatever is slower than a round meets all of them alike. Only ratios within a round are compared, by their
ranks: one disturbed block of a hundred times the usual length counts as much as any other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from workbench import markup as m
from workbench.runtime.results.comparison_words import BUSY, DISTURBED, SURE, contest_text, outcomes
from workbench.runtime.results.contest_statistics import confidence, distance, joint_level, plain, ratio, resolution
from workbench.runtime.results.measurement import Measurement, Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Contest:
    """What a contest gave. Participants are counted from 0; the first one is the incumbent.

    Parameters
    ----------
    measurements : tuple of Measurement
        One per participant. Their `costs_ms` are blocks, in milliseconds per call; the numbers at the same place were
        timed in the same round. A participant that failed has a status that says so, and no times.
    elapsed_s : float
        Seconds from the request to the answer.
    names : tuple of str
        What the participants are called in what is printed, where they have names.
    """

    measurements: tuple[Measurement, ...]
    elapsed_s: float = 0.0
    names: tuple[str, ...] = ()

    def name(self, i: int) -> str:
        """What a participant is called."""
        return self.names[i] if i < len(self.names) else f"participant {i}"

    def __str__(self) -> str:
        return contest_text(self)

    def __repr__(self) -> str:
        return f"<Contest {self}>"

    def _repr_html_(self) -> str:
        slowest = max((self.latency_ms(i) for i, costs in enumerate(self.costs_ms) if costs), default=0.0)
        rows = [
            [self.name(i), m.milliseconds(self.latency_ms(i)), m.bar(self.latency_ms(i) / slowest, 160)]
            for i, found in enumerate(self.measurements) if found.ok
        ]  # fmt: skip
        table = m.table((m.Column(""), m.Column("Time", number=True), m.Column("")), rows)
        return m.page(m.heading("Contest", "", m.plural(self.rounds, "round")), *map(m.line, outcomes(self)), table)

    @property
    def costs_ms(self) -> tuple[tuple[float, ...], ...]:
        """Milliseconds per call of each block, for each participant."""
        return tuple(each.costs_ms for each in self.measurements)

    @property
    def status(self) -> Status:
        """``ok`` when all participants were timed, ``cancelled`` when the contest was, or else how the first failed."""
        states: list[Status] = [each.status for each in self.measurements]
        if "cancelled" in states or not states:
            return "cancelled"
        return next((s for s in states if s != "ok"), "ok")

    @property
    def error(self) -> str:
        """What went wrong with each participant that failed; empty when nothing did."""
        failed = ((self.name(i), each) for i, each in enumerate(self.measurements) if not each.ok)
        return "\n".join(f"{name}: {each.status}: {each.error}" for name, each in failed)

    @property
    def rounds(self) -> int:
        """Number of rounds that were timed."""
        return max((len(c) for c in self.costs_ms), default=0)

    @property
    def clean(self) -> bool:
        """Whether it was decided by rounds that nobody disturbed."""
        return all(each.clean for each in self.measurements)

    @property
    def why_not(self) -> str:
        """What disturbed it; empty where nothing did."""
        return next((each.why_not for each in self.measurements if not each.clean), "")

    @property
    def caches(self) -> str:
        """What all participants found in the caches, in words."""
        return next((each.caches for each in self.measurements if each.caches), "")

    def shared(self, why_not: str) -> Contest:
        """Return the same where something else had a part of its cores; nothing that is known better is replaced."""
        if not why_not or not self.clean:
            return self
        return replace(self, measurements=tuple(replace(each, why_not=why_not) for each in self.measurements))

    def latency_ms(self, i: int) -> float:
        """Time of a participant, in milliseconds per call; infinite when it was not timed."""
        return self.measurements[i].ms

    def ratio(self, i: int, j: int = 0) -> float:
        """Median over the rounds of the time of `i` over the time of `j`: below 1 when `i` is faster."""
        return ratio(self.costs_ms[i], self.costs_ms[j])

    def beside_ms(self, i: int, j: int = 0) -> float:
        """Time of `i` beside that of `j`, in milliseconds per call: the latter by the ratio of both, so that the three
        fit together also where the machine was faster in some rounds than in others.
        """
        return self.latency_ms(j) * (1.0 if i == j else self.ratio(i, j))

    def tied(self, i: int, j: int = 0) -> bool:
        """Whether the two take the same time: quiet rounds would have shown a difference of a tenth."""
        return self.clean and not self.differ(i, j) and self.resolution(i, j) <= BUSY

    def confidence(self, i: int, j: int = 0) -> float:
        """How sure it is that `i` is faster than `j`: one minus the chance of this outcome between equal kernels."""
        return confidence(self.costs_ms[i], self.costs_ms[j])

    def certainty(self, i: int, j: int = 0) -> float:
        """How sure a difference that is seen is, whichever of the two is faster: the confidence, or 1 where every block
        of one took so much longer that it needs no statistics.
        """
        if self.clean and self.plain(i, j):
            return 1.0
        return max(self.confidence(i, j), self.confidence(j, i))

    def resolution(self, i: int, j: int = 0) -> float:
        """Logarithm of the ratio below which the two could not be told apart in this contest (99 %)."""
        return resolution(self.costs_ms[i], self.costs_ms[j])

    def plain(self, i: int, j: int = 0) -> bool:
        """Whether every block of one took so much longer than any of the other that it needs no statistics."""
        return plain(self.costs_ms[i], self.costs_ms[j])

    def differ(self, i: int, j: int = 0) -> bool:
        """Whether the two take different times, whichever is faster: beyond all doubt, or by more than `resolution`.

        Where other programs took cores away, only what takes `DISTURBED` times as long in every block tells anything.
        """
        if not self.clean:
            return plain(self.costs_ms[i], self.costs_ms[j], DISTURBED)
        if self.plain(i, j):
            return True
        return distance(self.ratio(i, j)) > self.resolution(i, j)

    def beats(self, i: int, j: int = 0, *, level: float = SURE, margin: float = 0.005) -> bool:
        """Whether `i` is faster than `j`.

        Parameters
        ----------
        level : float
            Least `confidence`.
        margin : float
            Least relative gain: where the same code lies in memory makes a difference of some tenths of a percent, and
            a contest long enough would find it. The gain has to be larger than the `resolution`, too.
        """
        found = self.ratio(i, j)
        if not self.clean and self.costs_ms[i] and self.costs_ms[j]:
            return found < 1.0 and self.differ(i, j)
        if not (self.costs_ms[i] and self.costs_ms[j]) or self.plain(i, j):
            return found < 1.0
        seen = found < 1.0 and distance(found) >= self.resolution(i, j)
        return seen and self.confidence(i, j) >= level and 1.0 - found >= margin

    def winner(self, *, level: float = SURE, margin: float = 0.005) -> int:
        """The fastest of those that beat the incumbent, or the incumbent.

        With several challengers each has to be that much surer, so that the chance of an unjust winner is no larger.
        """
        challengers = range(1, len(self.measurements))
        if challengers and not self.costs_ms[0]:  # it failed: the fastest of the others, measured against each other
            timed = [i for i in challengers if self.costs_ms[i]]
            return min(timed, key=lambda i: self.ratio(i, timed[0]), default=0)
        strict = joint_level(level, len(challengers))
        return min((i for i in challengers if self.beats(i, 0, level=strict, margin=margin)), key=self.ratio, default=0)
