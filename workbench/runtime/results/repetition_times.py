"""What can be said of the repetitions of one piece of work, whatever it is."""

from __future__ import annotations

import math


class Times:
    """Repetitions and whether they can be trusted; a mixin of what holds results.

    Attributes
    ----------
    costs_ms : tuple of float
        Milliseconds of each repetition.
    why_not : str
        Why the times are not to be trusted; empty where nobody disturbed them.
    at_least_ms : float
        How long the work takes at least, where `why_not` says something.
    """

    __slots__ = ()

    costs_ms: tuple[float, ...]
    why_not: str
    at_least_ms: float

    @property
    def clean(self) -> bool:
        """Whether every repetition that counts ran with all its threads on cores of their own."""
        return not self.why_not

    @property
    def ms(self) -> float:
        """The time to rank by and to show, in milliseconds; infinite when nothing was timed.

        The median where nobody disturbed the repetitions, the fastest one elsewhere: disturbances only add time.
        """
        return self.median_ms if self.clean else self.min_ms

    @property
    def min_ms(self) -> float:
        """Fastest repetition; infinite when nothing was timed."""
        return min(self.costs_ms, default=math.inf)

    @property
    def median_ms(self) -> float:
        """Median repetition; infinite when nothing was timed."""
        import statistics  # it loads much that a builder never needs

        return statistics.median(self.costs_ms) if self.costs_ms else math.inf

    @property
    def mean_ms(self) -> float:
        """Mean of the repetitions; infinite when nothing was timed."""
        return math.fsum(self.costs_ms) / len(self.costs_ms) if self.costs_ms else math.inf

    @property
    def spread(self) -> float | None:
        """Distance of the quartiles over the median: how noisy the machine was. None for fewer than two repetitions."""
        if len(self.costs_ms) < 2:
            return None
        import statistics

        low, _, high = statistics.quantiles(self.costs_ms, n=4, method="inclusive")
        return (high - low) / self.median_ms if self.median_ms else 0.0
