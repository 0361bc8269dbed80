"""`cfg`: what a template's function declares its knobs with and asks them for their values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from workbench.arguments import is_a, whole
from workbench.errors import TemplateError, did_you_mean
from workbench.ir import Constraint, Dim, Poly
from workbench.machine_model.machine_parameters import Machine
from workbench.schedule import Schedule
from workbench.space.template.knobs import Annotate, Choice, Knob, Reorder, Resplit, Split, make_split, marks, orders
from workbench.space.template.symbolic_knobs import Arithmetic, Condition, Number, Run


class LeftOut(Exception):
    """A combination of values that is none: a limit that only numbers entered is not met."""


class Config:
    """Knobs of one run of a template.

    Attributes
    ----------
    match
        What the template's pattern has found: names of blocks, loops and buffers.
    machine : Machine
        Lanes of a vector register, number of registers, sizes of caches, threads.
    """

    def __init__(
        self,
        schedule: Schedule,
        machine: Machine,
        match: Any = None,
        values: Mapping[str, Any] | None = None,
        fixed: Mapping[str, Any] | None = None,
    ) -> None:
        self.machine, self.match = machine, match
        #: Knob -> the one value that it has in this run.
        self.values = dict(values or {})
        self.run = Run()
        self.knobs: dict[str, Knob] = {}
        self.limited: list[tuple[Constraint, bool, tuple[str, ...]]] = []
        self.fixed = dict(fixed or {})
        self.schedule = schedule

    # ----- declaring

    def define_split(
        self,
        name: str,
        axis: str | int,
        policy: str = "factors",
        *,
        num_outputs: int = 2,
        max_factor: int | None = None,
        candidate: Sequence[Sequence[int]] | None = None,
        filter: Callable[[Any], Any] | None = None,
    ) -> Split:
        """Leave the factors of a loop open.

        Parameters
        ----------
        name : str
            Of the knob; the holes are called ``name_0``, ``name_1``, …, outermost first.
        axis : str or int
            A loop, or an extent. There are no rests: every factor divides. `Schedule.pad` makes room first. A loop
            that another knob has cut off may be cut again, without restrictions.
        policy : {"factors", "power2", "verbose", "candidate"}
            "power2": all but the outermost are powers of two. "verbose" is "factors", as there are no rests.
        num_outputs : int
            Number of loops that it becomes.
        max_factor : int, optional
            Of all but the outermost.
        candidate : sequence of sequence of int, optional
            The only ones to try; -1 is the rest.
        filter : callable, optional
            Gets an object with `size` and says whether to try it. An inequality between products, such as ``lambda e:
            e.size[1] * e.size[2] <= 32``, becomes a limit; anything that couples factors otherwise makes variants.

        Returns
        -------
        Split
            Also ``cfg[name]``; `apply` it to the loop.
        """
        extent = axis if isinstance(axis, int) else self.schedule.func.loop(is_a("axis", axis, str))[0].extent
        whole("num_outputs", num_outputs, 2)
        if not isinstance(extent, int):
            if policy not in ("factors", "verbose") or max_factor or candidate or filter:
                text = f"Loop {axis!r} has an open extent, {extent}, so knob {name!r} can have any of its factors only."
                raise TemplateError("template.knob", text, (name,), "cut the loop once, or say it with cfg.limit")
            again = Resplit(self, name, str(axis), extent, num_outputs)
            self._add(again)
            return again
        if policy == "candidate" and not candidate:
            raise TemplateError("template.knob", f"Knob {name!r} has no candidate.", (name,), "candidate=[[-1, 8]]")
        knob, limit = make_split(self, name, axis, extent, policy, num_outputs, max_factor, candidate, filter)
        self._add(knob)
        if limit is not None and not knob.closed:
            self.limit(f"filter of {name}", limit)
        return knob

    def define_knob(self, name: str, candidate: Sequence[Any]) -> Choice:
        """Leave a choice open.

        A choice of positive whole numbers that goes into steps and limits only becomes a hole. Once the function needs
        its value, in an ``if`` for instance, or a step takes no hole there, it makes variants instead.
        """
        knob = Choice(self, name, list(is_a("candidate", candidate, (list, tuple, range))))
        self._add(knob)
        return knob

    def define_reorder(
        self,
        name: str,
        axes: Sequence[str],
        policy: str = "all",
        *,
        candidate: Sequence[Sequence[str | int]] | None = None,
        interval: tuple[int, int] | None = None,
    ) -> Reorder:
        """Leave the order of loops open: "identity", "all", "interval_all" or "candidate". Every order is a variant."""
        knob = Reorder(self, name, axes, orders(name, axes, policy, candidate, interval))
        self._add(knob)
        return knob

    def define_annotate(self, name: str, axes: Sequence[str], policy: str) -> Annotate:
        """Leave marks of loops open: "none", "unroll", "vec", "try_unroll", "try_vec" or "try_unroll_vec"."""
        knob = Annotate(self, name, axes, list(marks(name, axes, policy)))
        self._add(knob)
        return knob

    def limit(self, label: str, expr: Number | Condition | Poly | bool, wish: bool = False) -> None:
        """Demand ``expr >= 0``, or an inequality such as ``rows * columns <= 512``, of open numbers.

        Parameters
        ----------
        label : str
            Says in words what has to hold.
        expr : number or inequality
        wish : bool
            Whether to drop it where nothing fulfils it.
        """
        if isinstance(expr, Condition | Arithmetic):
            dims = expr.dims if isinstance(expr, Condition) else (expr.dim,)
            self.limited += [(Constraint(label, d), wish, expr.knobs) for d in dims]
            return
        if isinstance(expr, Poly):
            self.limited.append((Constraint(label, expr), wish, ()))
            return
        holds = expr if isinstance(expr, bool) else expr >= 0
        if not holds and not wish:
            raise LeftOut(f"{label}: not so")

    def limits(self, limits: Iterable[tuple[str, Dim, bool]]) -> None:
        """Demand several: label, ``expr >= 0``, and whether it is a wish."""
        for label, expr, wish in limits:
            self.limit(label, expr, wish)

    # ----- asking

    def extent(self, loop: str) -> int:
        """Number of iterations of a loop that is not cut yet."""
        extent = self.schedule.func.loop(loop)[0].extent
        if not isinstance(extent, int):
            text = f"Loop {loop!r} has an open extent, {extent}."
            raise TemplateError("template.knob", text, (loop,), "ask before the loop is cut")
        return extent

    def __getitem__(self, name: str) -> Any:
        if name not in self.knobs:
            hint = did_you_mean(name, self.knobs, "knobs")
            raise TemplateError("template.knob", f"There is no knob {name!r}.", (name,), hint)
        return self.knobs[name]

    def __contains__(self, name: object) -> bool:
        return name in self.knobs

    def __iter__(self) -> Any:
        return iter(self.knobs)

    def __len__(self) -> int:
        return len(self.knobs)

    def _add(self, knob: Knob) -> None:
        if knob.name in self.knobs:
            text = f"There is a knob {knob.name!r} already."
            raise TemplateError("template.knob", text, (knob.name,), "every knob has a name of its own")
        self.knobs[knob.name] = knob
        if knob.name in self.fixed:
            try:
                self.values[knob.name] = knob.check(self.fixed[knob.name])
            except (ValueError, TypeError) as e:
                text = f"Knob {knob.name!r} cannot be {self.fixed[knob.name]!r}: {e}."
                raise TemplateError("template.fixed", text, (knob.name,), "see space.knobs()") from None
