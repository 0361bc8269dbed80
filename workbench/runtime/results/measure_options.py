"""How to measure one candidate, and how long a contest lasts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workbench.arguments import is_a, real, whole
from workbench.errors import UsageError
from workbench.ir import Buffer

#: Where a kernel that is timed may find its constants.
CONSTANTS = ("near", "shared", "memory")

WARM, FLUSHED = "warm caches", "flushed caches"
FOUND = {
    "near": WARM,
    "shared": "constants from beyond the cores' caches, inputs in place",
    "memory": "constants from memory, inputs in place",
}
"""What a kernel that is timed finds in the caches, in words, by where its constants come from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureOptions:
    """How candidates are measured.

    Parameters
    ----------
    repeat : int, optional
        Exactly so many repetitions. None adapts: at least 10, more while they are short, fewer for kernels so slow that
        `budget_ms` is used up.
    min_repeat_ms : float, optional
        Shortest repetition, in milliseconds; the kernel is called as often as that takes and the average counts.
    flush_cache : bool
        Evict every buffer from the caches before each repetition (then one call is one repetition).
    constants : {"near", "shared", "memory"}
        Where a call finds its constant operands: where the last call left them; beyond the cores' own caches, as the
        weights of a small network; or in memory, as those of a network that does not fit into the shared cache.
    timeout_s : float
        Longest time for running one candidate, in seconds.
    build_timeout_s, setup_timeout_s : float
        The same for compiling one candidate, and for computing the reference result of a task.
    budget_ms : float
        Time per candidate after which an adaptive measurement stops, in milliseconds.
    least_ms : float
        Shortest time for all repetitions of an adaptive measurement, in milliseconds.
    patience_ms : float
        Where other programs take cores away, repetitions go on for so long until some of them are undisturbed.
    at_least : int
        An adaptive measurement has so many repetitions, also beyond `budget_ms`, as long as that takes few seconds
        (`adaptive_repeats.PATIENCE_MS`).
    early_stop : float
        Stop after the first repetitions when they are so many times slower than the task's best, and by twice their
        spread more; 0 never stops.
    seed : int
        Seed of the input data.
    counters : bool
        Count events of the processor as well, in calls after those that are timed (`Measurement.counters`).

    Raises
    ------
    UsageError
        ``usage.repeat``, ``usage.timeout``, ``usage.number`` and ``usage.type`` for what cannot be.
    """

    repeat: int | None = None
    min_repeat_ms: float | None = None
    flush_cache: bool = False
    constants: str = "near"
    timeout_s: float = 10.0
    build_timeout_s: float = 30.0
    setup_timeout_s: float = 300.0
    budget_ms: float = 50.0
    least_ms: float = 3.0
    patience_ms: float = 100.0
    at_least: int = 1
    early_stop: float = 1.3
    seed: int = 0
    counters: bool = False

    def found(self, params: Sequence[Buffer]) -> str:
        """Say what a kernel with these parameters finds in the caches: the condition that its time is of."""
        if self.flush_cache:
            return FLUSHED
        return FOUND[self.constants] if any(b.role == "const" and b.nbytes for b in params) else WARM

    def __post_init__(self) -> None:
        for name in ("repeat", "at_least"):
            if getattr(self, name) is not None:
                whole(name, getattr(self, name), code="usage.repeat")
        for name in ("min_repeat_ms", "budget_ms", "least_ms", "patience_ms", "early_stop"):
            value = getattr(self, name)
            if value is not None and real(name, value, code="usage.repeat") < 0:
                raise UsageError("usage.repeat", f"{name} cannot be negative, like {value:g}", (name,))
        for name in ("timeout_s", "build_timeout_s", "setup_timeout_s"):
            real(name, getattr(self, name), above=0, code="usage.timeout")
        whole("seed", self.seed, least=0)
        for name in ("flush_cache", "counters"):
            is_a(name, getattr(self, name), bool)
        check_constants(self.constants)


def check_constants(where: object) -> None:
    """Raise "usage.constants" unless a kernel can find its constants there."""
    if where not in CONSTANTS:
        known = ", ".join(CONSTANTS)
        raise UsageError("usage.constants", f"Constants cannot come from {where!r}", (), f"known: {known}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ContestRules:
    """How long a contest lasts.

    Parameters
    ----------
    block_ms : float
        Time for which one participant runs before it is the next one's turn, in milliseconds. What is timed begins
        after the first quarter of it, so that caches and clocks are the participant's own.
    warm_ms : float
        Time for which participants run in turns before the first block counts, in milliseconds.
    budget_ms : float
        Time for all blocks of all participants after which it ends where the machine is quiet, in milliseconds.
    most_ms : float
        The same where it is not, so that a difference of `resolution` could not be seen after `budget_ms`.
    least : int
        Rounds at least, as long as there is time. Seven are the fewest that can give a confidence of 0.99; only a plain
        difference, of a quarter in every block, is believed after four.
    resolution : float
        Relative difference that is to be seen.

    Raises
    ------
    UsageError
        ``usage.contest`` for what cannot be.
    """

    block_ms: float = 4.0
    warm_ms: float = 16.0
    budget_ms: float = 100.0
    most_ms: float = 800.0
    least: int = 10
    resolution: float = 0.015

    def __post_init__(self) -> None:
        for name in ("block_ms", "budget_ms", "most_ms", "resolution"):
            real(name, getattr(self, name), above=0, code="usage.contest")
        if real("warm_ms", self.warm_ms, code="usage.contest") < 0:
            raise UsageError("usage.contest", f"warm_ms cannot be negative, like {self.warm_ms:g}", ("warm_ms",))
        whole("least", self.least, code="usage.contest")


#: Rules for the comparisons during a run, which are many: what they leave undecided, a longer one decides at its end.
BRIEF = ContestRules(block_ms=1.5, warm_ms=3.0, budget_ms=25.0, most_ms=100.0, least=8, resolution=0.02)
