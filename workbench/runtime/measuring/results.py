"""How to measure, and what came out. Plain values that cross process borders."""

from __future__ import annotations

import math
import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from workbench.arguments import is_a, real, whole
from workbench.errors import UsageError, WorkbenchError
from workbench.legible import shown_legibly
from workbench.runtime.html import measurement_html
from workbench.runtime.measuring.comparison_words import ONCE
from workbench.runtime.measuring.times import Times

if TYPE_CHECKING:
    from workbench.ir.func import Buffer, Func
    from workbench.runtime.loaded_code import CodeImage
    from workbench.runtime.measuring.contest import ContestRules

Status: TypeAlias = Literal["ok", "build_error", "run_error", "wrong_answer", "timeout", "cancelled"]

#: Where a kernel that is timed may find its constants.
CONSTANTS = ("near", "shared", "memory")


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
        (`repeats.PATIENCE_MS`).
    early_stop : float
        Stop after the first repetitions when they are so many times slower than the task's best, and by twice their
        spread more; 0 never stops.
    seed : int
        Seed of the input data.

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
        is_a("flush_cache", self.flush_cache, bool)
        if self.constants not in CONSTANTS:
            known = ", ".join(CONSTANTS)
            raise UsageError("usage.constants", f"Constants cannot come from {self.constants!r}", (), f"known: {known}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement(Times):
    """What measuring one candidate gave.

    Parameters
    ----------
    status : str
        ``ok``, ``build_error``, ``run_error`` (crash), ``wrong_answer``, ``timeout`` or ``cancelled``.
    costs_ms : tuple of float
        Milliseconds per call, one number per repetition.
    error : str
        The full text of what went wrong; empty when nothing did.
    flops : int
        Floating-point operations of one call, 0 if unknown.
    compile_s, run_s : float
        Seconds for building, and for checking and timing.
    max_rel_error : float or None
        Largest error of an element over what rounding may make of it (`ir.rounding_bounds`): up to 1 is right.
    number : int
        Calls per repetition.
    clock : str
        ``cpu`` (one thread) or ``wall``.
    host : str
        Machine that measured, where it is not this one.
    disturbed : int
        Repetitions during which other programs kept a thread of the kernel from running, and those that are too short
        to be true. They are not among the costs, unless there are too few others.
    why_not : str
        Why the time is not to be trusted: what kept the threads of the kernel from running; empty when nothing did.
    at_least_ms : float
        How long the kernel takes at least, in milliseconds per call, where `why_not` says something: the time for which
        its threads ran.
    """

    status: Status
    costs_ms: tuple[float, ...] = ()
    error: str = ""
    flops: int = 0
    compile_s: float = 0.0
    run_s: float = 0.0
    max_rel_error: float | None = None
    number: int = 0
    clock: str = ""
    host: str = ""
    disturbed: int = 0
    why_not: str = ""
    at_least_ms: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether the result was right and was timed."""
        return self.status == "ok"

    @property
    def gflops(self) -> float:
        """Speed at `ms` in GFLOP/s; 0 when nothing was timed or the operations are unknown."""
        return self.flops / (self.ms * 1e6) if self.costs_ms and self.ms > 0 else 0.0

    @property
    def repeats(self) -> int:
        """Number of repetitions."""
        return len(self.costs_ms)

    @property
    def compile_ms(self) -> float:
        """Milliseconds for building."""
        return self.compile_s * 1e3

    @shown_legibly
    def __str__(self) -> str:
        if not self.ok:
            lines = self.error.strip().splitlines()
            return f"{self.status}: {lines[-1]}" if lines else self.status
        if not self.clean:
            return f"at least {self.at_least_ms:.4f} ms, {self.ms:.4f} ms seen ({self.why_not})"
        speed = f", {self.gflops:.1f} GFLOP/s" if self.flops else ""
        if self.spread is None:
            return f"{self.ms:.4f} ms ({ONCE}){speed}"
        noise = f"least {self.min_ms:.4f}, spread {self.spread:.1%}, {self.repeats} repeats"
        return f"{self.ms:.4f} ms ({noise}){speed}"

    def __repr__(self) -> str:
        return f"<Measurement {self}>"

    def _repr_html_(self) -> str:
        return measurement_html(self)


def error_text(error: BaseException) -> str:
    """Return the full text of an error: what we say ourselves as it is, anything else with its traceback."""
    if isinstance(error, WorkbenchError):
        return str(error)
    return "".join(traceback.format_exception(error)).rstrip()


@dataclass(frozen=True, slots=True)
class BuildJob:
    """For a builder: compile this concrete function."""

    func: Func
    target: object
    symbol: str


@dataclass(frozen=True, slots=True)
class Built:
    """A builder's answer: the code, or the text of the error."""

    image: CodeImage | None
    seconds: float
    error: str = ""


@dataclass(frozen=True, slots=True)
class SetupJob:
    """For a runner: make inputs and the reference result of a task."""

    key: str
    func: Func
    seed: int


@dataclass(frozen=True, slots=True)
class TrialJob:
    """For a runner: check and time this code. `best_ms` is the best time of the task so far."""

    key: str
    image: CodeImage
    params: tuple[Buffer, ...]
    threads: int
    options: MeasureOptions
    best_ms: float = math.inf


@dataclass(frozen=True, slots=True)
class Reply:
    """A runner's answer that is no measurement: a task is ready, needs its `SetupJob` first, or, in a contest that
    another participant ended, has to be measured again.
    """

    what: Literal["ready", "need_setup", "again"]


@dataclass(frozen=True, slots=True)
class ContestJob:
    """For a runner: check these candidates of one task, then time them in alternating blocks.

    With `telling` it tells before every block whose it is: who hears that takes a tenth of a brief block to do so, on a
    core that a kernel may need, so this is asked for only when one of them fails and nobody knows which.
    """

    trials: tuple[TrialJob, ...]
    rules: ContestRules
    telling: bool = False


#: The `Turn` of all participants, one block after the other.
EVERYBODY = -1


@dataclass(frozen=True, slots=True)
class Turn:
    """A runner tells, before it begins, which participant runs now, or `EVERYBODY`; and that it is still at work."""

    index: int


@dataclass(frozen=True, slots=True)
class ContestDone:
    """A runner's answer, one per participant."""

    results: tuple[Measurement | Reply, ...]
