"""What the runtime lends to schedules: `build`, `measure` and `reproduce`, called by name from
`workbench.schedule.schedule_hooks`, and the contest of several.
"""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import Any

from workbench.arguments import known_options
from workbench.codegen.backend import backend_for, build_func, generate_func, require_runnable
from workbench.errors import UsageError
from workbench.ir import Func
from workbench.ir.flops import count_flops
from workbench.ir.stmt import loops
from workbench.runtime.kernel import Kernel
from workbench.runtime.machine.system_load import LoadWatch
from workbench.runtime.results import reproduction
from workbench.runtime.results.contest import Contest
from workbench.runtime.results.measure_options import ContestRules, MeasureOptions
from workbench.runtime.results.measurement import Measurement
from workbench.runtime.results.reproduction import Reproduction
from workbench.runtime.workers.batch import MeasureInput
from workbench.runtime.workers.local_runner import LocalRunner
from workbench.runtime.workers.shared_runner import shared_runner
from workbench.target import Target

AT_LEAST = 3
"""Repetitions at least of what a person has measured, so that there is a spread, also of a kernel of one second."""

#: A kernel that somebody looks at is repeated for so many milliseconds, and where the machine is busy for so many.
#: Chosen, not measured.
_LEAST_MS, _PATIENCE_MS = 20.0, 1000.0

#: Looks at the machine around a contest that are closer together say nothing, in seconds.
#: Chosen, not measured: ten ticks of the system's accounts.
_LOOKS_S = 0.1


def _machine(target: Target | str | None) -> Target:
    return target if isinstance(target, Target) else Target("llvm" if target is None else target)


def build(func: Func, original: Func, target: Target | str | None = None, **options: Any) -> Kernel:
    """Compile a scheduled function.

    For another machine the kernel comes out compiled, and where its backend has no compiler here, as text; both can be
    looked at, and calling them is an error.

    Parameters
    ----------
    func : Func
        Without open holes.
    original : Func
        The function before any primitive (not needed here).
    target : Target or str, optional
        This machine by default.
    **options
        ``threads`` : int, instead of the target's; ``poison`` : bool, outputs and temporaries start as NaN on every
        call, which makes a read before the write visible.

    Raises
    ------
    UsageError
        ``usage.option``.
    TargetError
        ``target.backend`` when no code generator serves the target.
    BuildError
        What the code generator or the compiler refuses.
    """
    known_options(options, ("threads", "poison"), "build")
    machine = _machine(target)
    poison = bool(options.get("poison", False))
    make = generate_func if backend_for(machine).compiler_problem(machine) else build_func
    return Kernel(func, make(func, machine, "kernel", poison), machine, options.get("threads"), poison)


def measure(func: Func, original: Func, target: Target | str | None = None, **options: Any) -> Measurement:
    """Compile a scheduled function, compare its result with that of the original, and time it, in worker processes.

    What is printed says beside the time what the kernel found in the caches: everything is warm, unless
    ``constants="shared"`` or ``"memory"`` takes its constants from where they lie in a network, or ``flush_cache=True``
    evicts all of its operands.

    Parameters
    ----------
    func, original, target
        As for `build`; `original` is the reference.
    **options
        Those of `MeasureOptions`: ``repeat``, ``min_repeat_ms``, ``flush_cache``, ``timeout_s``, ...

    Raises
    ------
    UsageError
        ``usage.option``, ``usage.repeat``, ``usage.timeout``.
    TargetError
        ``target.host`` when this machine cannot run the target's code.
    BuildError
        ``build.compiler`` when the target's backend needs a compiler that is not there.
    """
    known_options(options, [f.name for f in fields(MeasureOptions)], "measure")
    machine = _machine(target)
    require_runnable(machine)
    settings = MeasureOptions(**{"at_least": AT_LEAST, **options})
    with shared_runner(machine) as runner:
        return _told(runner.measure(_inputs([func], original)[0], _in_full(settings)), func, settings)


def _told(found: Measurement, func: Func, options: MeasureOptions) -> Measurement:
    """Return a measurement that says what a kernel of the processor found in the caches."""
    known = found.ok and found.clock in ("cpu", "wall")
    return replace(found, caches=options.found(func.params)) if known else found


def _inputs(funcs: Sequence[Func], original: Func) -> list[MeasureInput]:
    key, flops = repr(original), count_flops(original)
    return [MeasureInput(key, original, func, flops=flops) for func in funcs]


def _in_full(options: MeasureOptions) -> MeasureOptions:
    """Options for one kernel that somebody looks at: nothing is given up early, and a busy machine is waited for."""
    least, patience = max(options.least_ms, _LEAST_MS), max(options.patience_ms, _PATIENCE_MS)
    return replace(options, early_stop=0.0, least_ms=least, patience_ms=patience)


def reproduce(
    func: Func,
    original: Func,
    target: Target | str | None = None,
    *,
    ms: float,
    spread: float | None = None,
    disturbed: str = "",
    **options: Any,
) -> Reproduction:
    """Measure, up to three times, and say whether a recorded time of `ms` comes out again; else as `measure`."""
    return reproduction.reproduce(lambda: measure(func, original, target, **options), ms, spread, disturbed)


def contest(
    funcs: Sequence[Func],
    original: Func,
    target: Target | str | None = None,
    *,
    going_on: Callable[[], bool] | None = None,
    **options: Any,
) -> Contest:
    """Compile scheduled functions of one computation, check each one's result, and time them against each other.

    Parameters
    ----------
    funcs : sequence of Func
        Two or more, without open holes; the first one is what the others are compared with.
    original, target
        As for `measure`.
    going_on : callable, optional
        Asked ten times a second; when it says no, the contest ends with the status ``cancelled``.
    **options
        Those of `ContestRules`, which say how long it lasts (``budget_ms``, ``resolution``, ...), and of
        `MeasureOptions`.

    Returns
    -------
    Contest
        ``ratio(1)`` is the time of the second function over that of the first, ``confidence(1)`` how sure it is that
        the second one is faster. A function that fails has a measurement that says how.

    Raises
    ------
    UsageError
        ``usage.contest`` for fewer than two functions; else as `measure`.
    """
    if len(funcs) < 2:
        raise UsageError("usage.contest", "A contest needs two functions at least", (), "pass [a.func, b.func]")
    rules, how = ([f.name for f in fields(kind)] for kind in (ContestRules, MeasureOptions))
    known_options(options, [*rules, *how], "contest")
    machine = _machine(target)
    require_runnable(machine)
    settings = MeasureOptions(**{k: v for k, v in options.items() if k in how})
    lasting = ContestRules(**{k: v for k, v in options.items() if k in rules})
    load = LoadWatch(within=(_LOOKS_S, math.inf))
    with shared_runner(machine) as runner, _ended_by(runner, going_on):
        load.look()
        found = runner.contest(_inputs(funcs, original), settings, lasting)
    each = (_told(one, func, settings) for one, func in zip(found.measurements, funcs, strict=True))
    found = replace(found, measurements=tuple(each))
    seen = load.look() if sys.platform == "linux" else None  # elsewhere nobody tells whose the load is
    return found if seen is None else found.shared(seen.taken_from(_at_work(funcs, machine)))


def _at_work(funcs: Sequence[Func], machine: Target) -> int:
    """Threads that kernels keep occupied."""
    return machine.threads if any(loop.kind == "parallel" for one in funcs for loop, _ in loops(one.body)) else 1


@contextmanager
def _ended_by(runner: LocalRunner, going_on: Callable[[], bool] | None) -> Iterator[None]:
    """Cancel what the runner does when `going_on` says no."""
    if going_on is None:
        yield
        return
    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.1):
            if not going_on():
                runner.cancel()
                return

    watching = threading.Thread(target=watch, name="workbench-contest", daemon=True)
    watching.start()
    try:
        yield
    finally:
        done.set()
        watching.join()  # or it would cancel what somebody else measures next
