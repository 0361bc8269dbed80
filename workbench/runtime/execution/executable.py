"""A whole network as one executable: one native loop over a table of kernel calls, on one planned arena."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench import markup as m
from workbench.arguments import whole
from workbench.intrinsics.product_instructions import emulated
from workbench.runtime.buffers import Array
from workbench.runtime.execution.bound_run import BoundRun
from workbench.runtime.execution.run_context import LoadedNetwork, RunContext
from workbench.runtime.execution.running import Running
from workbench.runtime.export.write_library import Export, export_library
from workbench.runtime.free_list import FreeList
from workbench.runtime.machine.measured_roofline import SHORTEST, Roofs, product_peaks, roofs, roofs_by_level
from workbench.runtime.networks.execution_plan import ArraySpec, CallPlan, ExecutablePlan, HostCall, Slot
from workbench.runtime.networks.network import Network, TimedRuns
from workbench.runtime.networks.outputs import checked_outputs
from workbench.runtime.networks.plan_check import check_plan
from workbench.runtime.thread_pool.pool import ThreadPool, shared_pool
from workbench.safe_text import shown_legibly
from workbench.target import Target

if TYPE_CHECKING:
    from workbench.runtime.execution.profile import Profile
    from workbench.runtime.execution.recorded_run import RecordedRun

#: Rows of a table that are shown: a screen.
_ROWS = 30


class Executable(Network):
    """A compiled network.

    Parameters
    ----------
    plan : ExecutablePlan
        Calls, memory, constants.
    threads : int, optional
        Threads to use; the plan's by default.

    Attributes
    ----------
    plan : ExecutablePlan
        As given.

    Raises
    ------
    BuildError
        ``build.plan`` when the plan is not consistent, ``build.link`` when code cannot be loaded.

    Notes
    -----
    Several threads may call `run`, `benchmark` and `profile` at the same time, and they run at the same time: machine
    code runs without the interpreter's lock, and every run has an arena and tables of its own. Arenas are kept for
    later runs, as many as were lately in use at once. Runs that overlap share the processor, see
    `workbench.runtime.thread_pool.processor_share`.
    """

    def __init__(self, plan: ExecutablePlan, threads: int | None = None) -> None:
        check_plan(plan)
        self.plan = plan
        self.network = LoadedNetwork(plan)
        super().__init__(plan.inputs, plan.outputs)
        # Outputs that no call writes where they belong: inputs, constants, intermediate results, one output twice.
        self._elsewhere = [(i, s) for i, s in enumerate(plan.output_slots) if s != Slot("output", i)]
        self.set_threads(plan.threads if threads is None else threads)
        self._contexts = FreeList([RunContext(self.network, self._threads)])

    # ---- what it is ----

    @shown_legibly
    def __repr__(self) -> str:
        plan = self.plan
        memory = m.size(plan.arena_bytes + sum(a.nbytes for a in plan.constants))
        slow = "".join(f", {d} emulated" for d in self.emulated)
        return f"<Executable {plan.name}: {len(plan.calls)} calls, {memory}, {self.threads} threads{slow}>"

    def _repr_html_(self) -> str:
        plan = self.plan
        flops = sum(c.flops for c in plan.calls)
        weights = sum(a.nbytes for a in plan.constants)
        least = f" ({m.size(plan.least_bytes)} live at once)" if plan.least_bytes else ""
        arena = f"{m.size(plan.arena_bytes)} for intermediate results{least}"
        kernels = len({id(c.code) for c in plan.calls if isinstance(c, CallPlan)})
        head = m.heading(
            "Executable", plan.name, f"{m.plural(len(plan.calls), 'call')} of {m.plural(kernels, 'kernel')}",
            m.operations(flops), m.plural(self.threads, "thread"),
        )  # fmt: skip
        parts: list[object] = [
            head,
            m.label("inputs", _arrays(plan.inputs)),
            m.label("outputs", _arrays(plan.outputs)),
            m.label("memory", f"{arena}, {m.size(weights)} of constants"),
            m.label("precision.emulated", why) if (why := self.precision_note) else "",
            _tuned(plan.untuned),
        ]
        most = max((c.flops for c in plan.calls), default=0)
        rows = [
            [k, m.text(c.name, 70), m.operations(c.flops) if c.flops else "", m.bar(c.flops / most if most else None),
             "tuned" if c.tuned else "default" if isinstance(c, CallPlan) and not c.fixed else "not tunable"]
            for k, c in enumerate(plan.calls[:_ROWS])
        ]  # fmt: skip
        columns = (
            m.Column("#", number=True), m.Column("Kernel"), m.Column("Arithmetic", number=True), m.Column(""),
            m.Column("Schedule"),
        )  # fmt: skip
        return m.page(*parts, m.table(columns, m.cut(rows, _ROWS, "calls", len(plan.calls))))

    @property
    def emulated(self) -> tuple[str, ...]:
        """Types narrower than float32 whose products this processor has no instruction for: they are computed in
        float32.
        """
        return tuple(dict.fromkeys((*self.plan.rounded, *emulated(self._target(), self._products()))))

    @property
    def precision_note(self) -> str:
        """A sentence on what is `emulated`; empty where nothing is."""
        why = "has no instruction that multiplies it, so products are computed in float32. Results are as rounded as"
        return " ".join(
            f"{d} is emulated: {self._target().cpu} {why} with one, but "
            + ("neither time nor memory is saved." if d in self.plan.rounded else
               "every load is widened: it takes up to twice as long as a network in float32.")
            for d in self.emulated
        )  # fmt: skip

    @property
    def untuned(self) -> tuple[str, ...]:
        """Tasks that run with their default schedule because no record was found."""
        return self.plan.untuned

    @property
    def borrowed(self) -> dict[str, str]:
        """Tasks whose schedule is that of another task or machine -> where it comes from and what was adapted."""
        return dict(self.plan.borrowed)

    @property
    def reference_steps(self) -> tuple[str, ...]:
        """Operators that are left to their reference implementations, which Python runs between two kernels."""
        return tuple(dict.fromkeys(c.operator for c in self.plan.calls if isinstance(c, HostCall)))

    @property
    def threads(self) -> int:
        """Number of threads that a run may use."""
        return self._threads

    def set_threads(self, threads: int) -> None:
        """Set the number of threads for the runs that begin from now on; those under way keep theirs.

        Raises
        ------
        UsageError
            ``run.threads``.
        """
        threads = whole("threads", threads, least=None, code="run.threads")
        # Kept, so that the pool's threads stay between runs; it refuses impossible numbers.
        self._pool: ThreadPool | None = shared_pool(threads) if threads != 1 else None
        self._threads = threads
        for body in self.plan.bodies:
            body.set_threads(threads)

    # ---- running ----

    def _compute(self, inputs: list[Array], outputs: list[Array]) -> None:
        with self._running(inputs, outputs) as context:
            self.finish(context, outputs)

    def finish(self, context: RunContext, outputs: Sequence[Array]) -> None:
        """Run all calls of a context, and write the outputs that none of them writes where they belong."""
        context.walk()
        for i, slot in self._elsewhere:
            outputs[i][...] = context.view(slot, self.outputs[i])

    def results(self, outputs: Sequence[Array]) -> dict[str, Array]:
        found = super().results(outputs)
        for k, count, axis in self.plan.cuts:
            length = int(outputs[count][0])
            found[self.outputs[k].name] = outputs[k][(slice(None),) * axis + (slice(length),)]
        for _, count, _ in self.plan.cuts:
            found.pop(self.outputs[count].name, None)
        return found

    def _running(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> Running:
        """A context that is bound to these arrays and has threads, for a ``with`` statement."""
        return Running(self._contexts, self.network, self._threads, (inputs, outputs))

    def bind(self, *args: Any, out: Any = None, **named: Any) -> BoundRun:
        """Return runs that read and write these arrays, which are checked now and not again.

        A call of what is returned takes 2 to 4 µs besides the kernels, one of `run` about 10 µs.

        Parameters
        ----------
        *args, **named, out
            As for `run`. Nothing is copied: each input has to be an array that machine code reads where it is, as those
            of `empty_inputs` are. Fill it anew before a call.

        Raises
        ------
        ShapeError, UsageError
            As for `run`; ``run.bind`` for an input that would have to be copied.
        """
        inputs = self._arrays(args, named)
        given = None if out is None else checked_outputs(self.outputs, out, zip(self._names, inputs, strict=True))
        return BoundRun(self, inputs, self._memory.take(given))

    def export(self, path: str | os.PathLike[str], *, name: str | None = None, main: bool = False) -> Export:
        """Write the network as a shared library with a C header, see `runtime.export.write_library.export_library`."""
        return export_library(self.plan, path, name=name, threads=self.threads, main=main)

    # ---- measuring ----

    def _of(self, inputs: Mapping[str, Any] | None) -> tuple[Executable, Mapping[str, Any] | None]:
        """What runs these inputs, with the inputs that it takes."""
        return self, inputs

    @contextmanager
    def measuring(self, inputs: Mapping[str, Any] | None, warmup: int = 0) -> Iterator[RunContext]:
        """A context after some runs; it keeps what it is bound to."""
        with self._running(self._given(inputs), self._memory.take()) as context:
            for _ in range(warmup):
                context.walk()
            yield context

    @contextmanager
    def _timed(self, inputs: list[Array]) -> Iterator[TimedRuns]:
        with self._running(inputs, self._memory.take()) as context:
            yield TimedRuns(context.time, context.lent, context.pool, context.lent)

    def profile(
        self,
        inputs: Mapping[str, Any] | None = None,
        *,
        repeat: int = 10,
        warmup: int = 2,
        roofline: bool = True,
        alone: bool = False,
    ) -> Profile:
        """Time every call of the network, in native code.

        Parameters
        ----------
        inputs, repeat, warmup
            As for `benchmark`.
        roofline : bool
            Compare each call with what this machine can do; the first time, measuring that takes some seconds.
        alone : bool
            Also time each call over and over, in turns with the runs: what it takes when nothing but itself was in the
            caches. What it takes longer in the network, it waits for weights and for results of other cores.

        Returns
        -------
        pandas.DataFrame
            One row per call in execution order, see `workbench.runtime.execution.profile.Profile`.
        """
        from workbench.runtime.execution.profile import make_profile

        whole("repeat", repeat, code="usage.repeat")
        whole("warmup", warmup, least=0, code="usage.repeat")
        stamps = np.zeros((repeat, len(self.plan.calls) + 1), np.int64)
        whole_runs: list[float] = []
        calls: list[list[float]] = [[] for _ in self.plan.calls if alone]
        with self.measuring(inputs, warmup) as context:
            for row in stamps:
                context.walk(row)
                whole_runs += context.time(1, 1)
                for number, times in enumerate(calls):
                    times += context.time_call(number, 3)
                for _ in calls[:1]:  # brings the network's own data back
                    context.walk()
            threads = context.lent
        roofs = self.limits(threads) if roofline else None
        return make_profile(self.plan, stamps, whole_runs, threads, roofs, calls if alone else None)

    def trace(
        self,
        path: str | os.PathLike[str],
        inputs: Mapping[str, Any] | None = None,
        *,
        runs: int = 1,
        warmup: int = 2,
    ) -> None:
        """Record some runs and write them as a file for Perfetto (ui.perfetto.dev) or chrome://tracing.

        Parameters
        ----------
        path : str or path
            JSON file to write.
        inputs, warmup
            As for `benchmark`.
        runs : int
            Recorded runs, one after the other.

        Raises
        ------
        InputError
            ``outputs.unwritable``.
        UsageError
            ``usage.repeat``.

        Notes
        -----
        One row shows the calls as the caller's thread sees them; below it there is one for each thread, with the time
        from its first task of a parallel region to its last one. Recording costs two looks at the clock per task.
        """
        from workbench.runtime.execution.timeline import write

        found = self.record(inputs, runs=runs, warmup=warmup)
        write(path, found.recording, found.profile)

    def record(
        self, inputs: Mapping[str, Any] | None = None, *, runs: int = 5, warmup: int = 2, roofline: bool = True
    ) -> RecordedRun:
        """Record what each call and each thread does when, in turns with runs that are not recorded.

        Parameters
        ----------
        inputs, warmup
            As for `benchmark`.
        runs : int
            Recorded runs.
        roofline : bool
            As for `profile`.

        Returns
        -------
        RecordedRun
            Its `profile` is that of the recorded runs, ``profile.attrs["whole_ms"]`` the median of the others.

        Raises
        ------
        UsageError
            ``usage.repeat``.
        """
        from workbench.runtime.execution.recorded_run import record_in_turns

        return record_in_turns([self], inputs, runs=runs, warmup=warmup, roofline=roofline)[0]

    def limits(self, threads: int) -> Roofs:
        """What this machine can do with so many threads, and what each level of memory delivers to them; measured
        once.
        """
        target = self._target()
        peaks = product_peaks(target, threads, self._products())
        levels = roofs_by_level(target, threads)
        # The peak of arithmetic is the one that the roofline of a schedule draws, too.
        return replace(roofs(target, threads, SHORTEST), peaks=peaks, levels=levels)

    def _products(self) -> list[str]:
        """What the calls multiply, each type once."""
        return sorted({c.product for c in self.plan.calls if isinstance(c, CallPlan)})

    def _target(self) -> Target:
        return Target(self.plan.target) if self.plan.target else Target.host()

    def poison(self) -> None:
        """Fill outputs, intermediate results and workspace with NaN, so that a read before a write shows in the next
        run.
        """
        for context in list(iter(self._contexts.take, None)):  # none that is running
            context.poison()
            self._contexts.give(context)
        for body in self.plan.bodies:
            body.poison()


def _arrays(specs: tuple[ArraySpec, ...], limit: int = 8) -> m.Html:
    shown = [m.join(m.mono(s.name, 50), " ", m.shape(s.shape), " ", m.faint(s.dtype)) for s in specs[:limit]]
    return m.listed(shown, len(specs)) if shown else m.faint("none")


def _tuned(untuned: tuple[str, ...]) -> m.Html:
    if not untuned:
        return m.line("Every task has a tuned schedule.")
    verb = "runs with its" if len(untuned) == 1 else "run with their"
    names = m.table((m.Column(""),), m.cut([[m.text(name, 100)] for name in untuned], _ROWS, "tasks"))
    return m.fold(f"{m.plural(len(untuned), 'task')} {verb} default schedule", names)
