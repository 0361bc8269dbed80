"""What the whole network takes: its measurements in a log, and which of them count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workbench.log.lines import NetworkTime
from workbench.log.record import Record
from workbench.runtime.results.comparison_words import DISTURBED, SURE, as_fast, told_apart
from workbench.runtime.results.contest_statistics import confidence, distance, joint_level, plain, ratio, resolution

#: Logarithm of a ratio that is no difference: where the same code lies in memory makes some tenths of a percent.
#: Chosen, not measured.
_LEAST = 0.005

NO_DIFFERENCE = "no difference shows"
"""Stands where the ratio of two times would, when they are not further apart than their ±."""


def change(before: float, after: float, spreads: tuple[float | None, float | None]) -> str:
    """Say how fast something is beside what it was before, or that no difference shows.

    Parameters
    ----------
    before, after : float
        Times in one unit.
    spreads : tuple of float or None
        Distance of the quartiles over the median, of each.

    Examples
    --------
    >>> change(2.0, 1.0, (0.02, 0.02)), change(1.02, 1.0, (0.05, 0.05))
    ('2.00× as fast', 'no difference shows')
    """
    return as_fast(after / before) if told_apart(before, after, spreads) else NO_DIFFERENCE


def change_in_turns(before: Sequence[float], after: Sequence[float], compared: int = 1, clean: bool = True) -> str:
    """Say the same of runs that were taken in turns: those at one place shortly one after the other.

    Parameters
    ----------
    before, after : sequence of float
        Times in one unit.
    compared : int
        How many such comparisons are told together: each has to be that much surer.
    clean : bool
        Whether the runs had their cores to themselves; else only what takes `DISTURBED` times as long tells anything.

    Examples
    --------
    >>> change_in_turns([2.0, 2.1, 2.2, 2.0], [1.0, 1.1, 1.2, 1.0])
    '1.95× as fast'
    >>> change_in_turns([2.0, 1.8, 2.2, 2.0], [1.9, 2.1, 2.0, 2.1])
    'no difference shows'
    """
    found = ratio(after, before)
    seen = plain(after, before) if clean else plain(after, before, DISTURBED)
    if clean and not seen and distance(found) > max(resolution(after, before), _LEAST):
        seen = max(confidence(after, before), confidence(before, after)) >= joint_level(SURE, compared)
    return as_fast(found) if seen else NO_DIFFERENCE


def network_change(line: NetworkTime) -> str:
    """Say how fast the whole network is with the best schedules, beside default ones.

    Older lines have one spread only; both were timed in turns, so it stands for both.
    """
    before = line.spread if line.untuned_spread is None else line.untuned_spread
    return change(line.untuned_ms, line.measured_ms, (before, line.spread))


UNSTEADY = 0.2
"""Distance of the quartiles over the median from which on a time was disturbed, whatever the threads say. Chosen."""


def undisturbed(line: NetworkTime) -> bool:
    """Whether what the network takes was measured without anybody in its way."""
    return line.clean and max(line.spread or 0.0, line.untuned_spread or 0.0) < UNSTEADY


def measured_at(line: NetworkTime, trials: int | None = None) -> str:
    """Say after which trial the network was measured, of so many; empty where an older line does not say it.

    Examples
    --------
    >>> measured_at(NetworkTime(measured_ms=1.0, untuned_ms=2.0, trials=159), 1231)
    'measured at trial 159 of 1,231'
    """
    if not line.trials:
        return ""
    return f"measured at trial {line.trials:,}" + (f" of {trials:,}" if trials and trials > line.trials else "")


def same_conditions(line: Record | NetworkTime, target: str, caches: str) -> bool:
    """Whether a line was measured for this target, and with this in the caches; older lines do not name the caches."""
    return line.target == target and line.caches in ("", caches)


@dataclass(frozen=True, slots=True)
class Measured:
    """A measurement of the network, and how many trials the log had had by then."""

    at: int
    line: NetworkTime


class NetworkLedger:
    """What a log says of the whole network.

    Parameters
    ----------
    target : str, optional
        The target that is wanted; that of the newest trial when left out. Measurements for others do not count.
    """

    def __init__(self, target: str | None = None) -> None:
        self._target, self._newest = target, target
        self._lines: list[Measured] = []

    def take(self, line: NetworkTime, at: int = 0) -> bool:
        """Take a measurement in, after `at` trials of the log; whether it is none that was taken before."""
        fresh = all(line != other.line for other in self._lines)
        if fresh:
            self._lines.append(Measured(at, line))
        return fresh

    def follow(self, target: str) -> None:
        """Take note of a trial for a target."""
        if self._target is None:
            self._newest = target

    @property
    def course(self) -> tuple[Measured, ...]:
        """The measurements that count, in their order."""
        return tuple(one for one in self._lines if self._newest in (None, one.line.target))

    @property
    def last(self) -> NetworkTime | None:
        """The newest one; no disturbed one that takes longer than one before it that was not."""
        found: NetworkTime | None = None
        for one in self.course:
            if found is None or not _worse(one.line, found):
                found = one.line
        return found


def _worse(line: NetworkTime, before: NetworkTime) -> bool:
    """Whether a time says less than one before it: schedules do not become worse, so what shows is the disturbance."""
    return undisturbed(before) and not undisturbed(line) and line.measured_ms > before.measured_ms
