"""`Schedule`: a cursor over the states that a function goes through while primitives are applied to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from workbench.arguments import is_a, shown
from workbench.errors import ScheduleError, UsageError, WorkbenchError, did_you_mean
from workbench.ir import Block, Buffer, For, Func, HoleInfo, blocks, loops
from workbench.markup import Drawn
from workbench.schedule import primitives, schedule_hooks
from workbench.schedule.hole_domain import Domain
from workbench.schedule.holes import Row, complete_row
from workbench.schedule.legal_moves import Move, Moves, judge_all
from workbench.schedule.primitive import Json, Primitive, method_of, registry
from workbench.schedule.trace import script, trace_from_json, trace_to_json
from workbench.schedule.undo_redo import State, States

__all__ = ["Move", "Schedule", "primitives"]


class Schedule(Drawn, States):
    """A function and the steps taken on it so far.

    Every primitive is a method (``s.split("i", [None, 8])``). A method moves the cursor on and returns the names that
    it made, or the schedule itself where there is nothing to name. A step that is not legal raises and leaves the
    schedule as it was. The states themselves never change, so `copy`, `undo` and `redo` cost nothing.

    Parameters
    ----------
    func : Func or Task
        What to schedule; anything with a ``func`` attribute will do.
    target : Target, optional
        What it is for; taken from a task when not given.
    source : str, optional
        Python expression that builds `func`, for `to_python`.

    Examples
    --------
    >>> from workbench import workloads
    >>> s = Schedule(workloads.matmul(64, 64, 64))
    >>> s.split("j", [None, 16])
    ('j.0', 'j.1')
    >>> s.reorder("i", "j.0", "k", "j.1").vectorize("j.1").trace[-1].name
    'vectorize'
    """

    def __init__(self, func: Any, target: Any = None, source: str | None = None) -> None:
        base = getattr(func, "func", func)
        if not isinstance(base, Func):
            raise UsageError(
                "schedule.func",
                f"A schedule needs a function or a task, not {type(func).__name__}.",
                (),
                "make one with te.func(...) or workloads.matmul(...)",
            )
        super().__init__(base, target if target is not None else getattr(func, "target", None), source)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Callable[..., Any]:
            """Methods of the primitives, which `registry` adds."""

    # ----- what it is now

    @property
    def loops(self) -> tuple[For, ...]:
        """Loops of the nest in program order."""
        return tuple(lp for lp, _ in loops(self.func.body))

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Blocks of the nest in program order."""
        return tuple(b for b, _ in blocks(self.func.body))

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """Parameters, then temporaries."""
        return self.func.buffers

    @property
    def holes(self) -> tuple[HoleInfo, ...]:
        """Numbers that are open."""
        return self.func.holes

    @property
    def domain(self) -> Domain:
        """Values that the open numbers may take."""
        return Domain.of(self.func)

    @property
    def is_concrete(self) -> bool:
        """Whether neither a number nor a choice is open."""
        return not self.func.holes and not any(p.open_choices() for p in self.trace)

    # ----- moving

    def apply(self, step: Primitive) -> tuple[str, ...]:
        """Take a step.

        Parameters
        ----------
        step : Primitive
            With a choice left open, the schedule shows the first choice that is legal; see `variants`.

        Returns
        -------
        tuple of str
            Names that the step made.

        Raises
        ------
        ScheduleError
            When it is not legal; the schedule stays as it was.
        """
        is_a("step", step, Primitive, "the methods of a schedule make steps: s.split('i', [None, 8])")
        with self._lock:
            return self._apply(step)

    def _apply(self, step: Primitive) -> tuple[str, ...]:
        first: WorkbenchError | None = None
        for closed in step.variants():
            try:
                closed = closed.resolve(self.func)
                closed.require(self.target)
                func, names = self._lately.run(closed, self.func)
            except WorkbenchError as e:
                first = first or e
                continue
            # What is open stays open in the trace, but new holes have the names that the first legal choice gives them.
            self._move((*self._done, State(replace(closed, **step.open_choices()), func)), ())
            return names
        assert first is not None
        raise first

    def moves(self, at: str | None = None) -> list[Move]:
        """List what could be done next, legal moves first.

        Parameters
        ----------
        at : str, optional
            A loop, block or buffer: only moves that name it.

        Raises
        ------
        ScheduleError
            "schedule.name" when nothing is called `at`.
        """
        func = self.func
        wanted: object = at
        if wanted is not None:
            known = [*(x.name for x in self.loops), *(x.name for x in self.blocks), *(x.name for x in self.buffers)]
            if not isinstance(wanted, str) or wanted not in known:
                raise ScheduleError(
                    "schedule.name",
                    f"There is no loop, block or buffer {shown(at)}.",
                    (shown(at),),
                    did_you_mean(shown(at), known, "names"),
                )
        steps = (c for cls in registry for c in cls.candidates(func, self.target, at))
        judged = judge_all(func, steps, self.target)
        return Moves(sorted(judged, key=lambda m: not m.legal))

    # ----- open numbers

    def fill(self, row: Row) -> Schedule:
        """Put numbers into the holes.

        Parameters
        ----------
        row : mapping or sequence
            Hole name -> number, or numbers in the order of `holes`. Holes that the others determine may be left out.

        Returns
        -------
        Schedule
            A new schedule without open numbers, whose trace holds the numbers.

        Raises
        ------
        ScheduleError
            "hole.*", see `workbench.schedule.holes.complete_row`.
        """
        values = complete_row(self.func, row)
        new = self._fresh()
        done = []
        for state in self._done:
            row = {h.name: values[h.name] for h in state.func.holes}
            done.append(State(state.step.fill(values), state.func, row))
        new._done = tuple(done)
        if done:
            done[-1].func  # noqa: B018  (limits are checked now, not when somebody looks)
        return new

    def variants(self) -> Iterator[Schedule]:
        """Schedules that come of the choices which change the structure; choices that are not legal are left out."""

        def go(at: Schedule, rest: Sequence[Primitive]) -> Iterator[Schedule]:
            if not rest:
                yield at
                return
            for closed in rest[0].variants():
                branch = at.copy()
                try:
                    branch.apply(closed)
                except ScheduleError:
                    continue
                yield from go(branch, rest[1:])

        yield from go(self._fresh(), self.trace)

    # ----- text

    def nest(self) -> str:
        """Text of the nest."""
        return str(self.func)

    def to_json(self) -> list[Json]:
        """The trace as plain data: ``[{"primitive": name, "args": {...}}, ...]``."""
        return trace_to_json(self.trace)

    @classmethod
    def from_json(cls, func: Any, steps: str | Sequence[object], target: Any = None) -> Schedule:
        """Rebuild a schedule by applying recorded steps to a function.

        Parameters
        ----------
        func : Func or anything with ``.func``
        steps : str or sequence
            JSON text, its list form, or `Primitive` values.
        target : Target, optional

        Raises
        ------
        ScheduleError
            "trace.json", "trace.step", "primitive.unknown", or as the step that does not apply; `where` begins with the
            number of the step.
        """
        schedule = cls(func, target)
        for k, step in enumerate(trace_from_json(steps)):
            try:
                schedule.apply(step)
            except WorkbenchError as e:
                e.where = (f"step {k}", *e.where)
                raise
        return schedule

    def to_python(self, source: str | None = None) -> str:
        """A Python script that rebuilds this schedule.

        Parameters
        ----------
        source : str, optional
            Expression that builds the function; by default the one given to `Schedule`, else the printed nest is
            parsed.
        """
        given = self.source if source is None else is_a("source", source, str)
        return script(self.trace, self._base, given)

    def __repr__(self) -> str:
        steps = "\n".join(f"# {k}: {p}" for k, p in enumerate(self.trace))
        return f"{steps}\n{self.nest()}" if steps else self.nest()

    # ----- running

    def build(self, target: Any = None, **options: Any) -> Any:
        """Compile to a `Kernel` that can be called on NumPy arrays.

        Parameters
        ----------
        target : Target or str, optional
            The schedule's own by default. ``"c"`` prints portable C and compiles it with the system's compiler
            (``$CC``, else ``cc``, ``gcc`` or ``clang``); where there is none, the kernel still has its text
            (``kernel.source``) and calling it is an error "build.compiler". A kernel for another machine (``"llvm
            -mtriple=aarch64-unknown-linux-gnu"``) has its text and assembly (``kernel.asm``); calling it is an error
            "target.host".
        **options
            ``threads``; ``poison``: outputs and temporaries start as NaN on every call.

        Raises
        ------
        ScheduleError
            "schedule.open" while holes are open.
        BuildError
        """
        self._need_concrete("build")
        return self._lent("build", target, options)

    def measure(self, target: Any = None, **options: Any) -> Any:
        """Compile, compare with the reference and time; see `Measurement`.

        The time is of warm caches: inputs and constants are where the last call left them. In a network constants come
        from further away, and that is how a `Workbench` of a model times; ``constants="shared"`` does so here. What is
        printed says which it was.

        Parameters
        ----------
        target : Target or str, optional
            The schedule's own by default.
        **options
            ``constants``: "near" (warm), "shared" (from beyond the cores' own caches, as weights of a network) or
            "memory"; ``flush_cache=True`` evicts all operands; ``repeat``, ``min_repeat_ms``, and what else
            `MeasureOptions` has.
        """
        self._need_concrete("measure")
        return self._lent("measure", target, options)

    def reproduce(
        self, ms: float, spread: float | None = None, target: Any = None, *, disturbed: str = "", **options: Any
    ) -> Any:
        """Measure again what took `ms` milliseconds before, and say whether it still does; see `Reproduction`.

        Parameters
        ----------
        ms, spread : float, float or None
            What was recorded. The tolerance is made of both measurements' spreads, and a busy machine is taken into
            account: up to three measurements, the fastest counts.
        target, **options
            As for `measure`.
        disturbed : str
            What disturbed the recorded measurement, if anything did: then there is no verdict.
        """
        self._need_concrete("measure")
        return self._lent("reproduce", target, {"ms": ms, "spread": spread, "disturbed": disturbed, **options})

    def _lent(self, service: str, target: Any, options: dict[str, Any]) -> Any:
        return schedule_hooks.call(service, self.func, self._base, self.target if target is None else target, options)

    def _need_concrete(self, what: str) -> None:
        if self.func.holes:
            names = [h.name for h in self.func.holes]
            raise ScheduleError(
                "schedule.open",
                f"Cannot {what} while {', '.join(names)} {'is' if len(names) == 1 else 'are'} open.",
                names,
                "fill(row) first, or tune the schedule",
            )


registry.listen(lambda cls: setattr(Schedule, cls.name, method_of(cls)))
