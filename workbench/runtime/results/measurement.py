"""What measuring one candidate gave: times, or what went wrong."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from typing import Literal, TypeAlias

from workbench import markup as m
from workbench.errors import WorkbenchError
from workbench.runtime.results.comparison_words import ONCE
from workbench.runtime.results.counted import Counted
from workbench.runtime.results.repetition_times import Times
from workbench.safe_text import shown_legibly

Status: TypeAlias = Literal["ok", "build_error", "run_error", "wrong_answer", "timeout", "cancelled"]


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
        ``cpu`` (one thread), ``wall``, ``device`` (a GPU's own clock), or ``cycles`` where a device counts them:
        `costs_ms` follow from its frequency.
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
    waited_s : float
        Seconds that were waited for turns, where measurements of several users queue.
    caches : str
        What the kernel found in the caches, in words: times of other conditions are no measure of this one.
    counters : Counted or None
        What the processor counted, where that was asked for (``MeasureOptions.counters``).
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
    waited_s: float = 0.0
    caches: str = ""
    counters: Counted | None = None

    @property
    def ok(self) -> bool:
        """Whether the result was right and was timed."""
        return self.status == "ok"

    @property
    def _once(self) -> str:
        return "cycles counted" if self.clock == "cycles" else ONCE

    @property
    def _under(self) -> str:
        return f"; {self.caches}" if self.caches else ""

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
            return f"at least {self.at_least_ms:.4f} ms, {self.ms:.4f} ms seen ({self.why_not}{self._under})"
        speed = f", {self.gflops:.1f} GFLOP/s" if self.flops else ""
        if self.spread is None:
            return f"{self.ms:.4f} ms ({self._once}{self._under}){speed}"
        noise = f"least {self.min_ms:.4f}, spread {self.spread:.1%}, {self.repeats} repeats{self._under}"
        return f"{self.ms:.4f} ms ({noise}){speed}"

    def __repr__(self) -> str:
        return f"<Measurement {self}>"

    def _repr_html_(self) -> str:
        if not self.ok:
            lines = self.error.strip()
            last = m.text(m.last_line(lines, "no message"), 200)
            head = m.line(m.bad(self.status.replace("_", " ")), ": ", last)
            return m.page(head, m.fold("Full text", m.code(lines, 40)) if "\n" in lines else "")
        if not self.clean:
            time = f"at least {m.milliseconds(self.at_least_ms)}"
            return m.page(m.heading("Measured", time, f"{m.milliseconds(self.ms)} seen", self.why_not, self.caches))
        facts = [self._once]
        if self.spread is not None:
            facts = [f"least {m.milliseconds(self.min_ms)}", f"spread {m.percent(self.spread)}"]
            facts.append(m.plural(self.repeats, "repetition"))
        facts += [self.caches] if self.caches else []
        if self.flops:
            facts.append(f"{m.digits(self.gflops)} GFLOP/s")
        return m.page(m.heading("Measured", m.milliseconds(self.ms), *facts))


def error_text(error: BaseException) -> str:
    """Return the full text of an error: what we say ourselves as it is, anything else with its traceback."""
    if isinstance(error, WorkbenchError):
        return str(error)
    return "".join(traceback.format_exception(error)).rstrip()
