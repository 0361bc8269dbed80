"""Knobs of a template: what AutoTVM's configurations consist of, here with holes behind them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from workbench.arguments import is_a, shown
from workbench.errors import TemplateError, did_you_mean
from workbench.ir import Poly
from workbench.safe_text import shown_legibly
from workbench.schedule import Schedule
from workbench.schedule.hole_domain import factor_table, ways
from workbench.schedule.size_limits import MOST_WAYS
from workbench.space.template.symbolic_knobs import Closed, Condition, Number, Open

if TYPE_CHECKING:
    from workbench.space.template.config import Config


class Knob:
    """One thing that a template leaves open.

    Attributes
    ----------
    name : str
    candidates : tuple
        The values that it may have: what `fixed` takes, and what a variant has where the knob is not a hole.
    holes : tuple of str
        Names of the holes that stand for it; empty while it is not used as one.
    used : bool
        Whether the function has asked for its value.
    """

    kind: ClassVar[str] = "knob"

    def __init__(self, config: Config, name: str, candidates: Sequence[Any]) -> None:
        self.config, self.name, self.candidates = config, name, tuple(candidates)
        self.holes: tuple[str, ...] = ()
        self.used = False
        if not self.candidates:
            raise TemplateError(
                "template.knob", f"Knob {name!r} has no candidate.", (name,), "offer at least one value"
            )

    @property
    def closed(self) -> bool:
        """Whether it has one value in this run."""
        return self.name in self.config.values

    @property
    def is_fixed(self) -> bool:
        """Whether its value was given from outside."""
        return self.name in self.config.fixed

    @property
    def value(self) -> Any:
        """The one value of this run; where there is none yet, the run ends, and begins again for each candidate."""
        self.used = True
        if not self.closed:
            self.config.run.close((self.name,))
        return self.config.values[self.name]

    def check(self, value: Any) -> Any:
        """Bring a value from outside into the form of a candidate; ValueError with the reason where it is none."""
        for c in self.candidates:
            if c == value and isinstance(c, bool) == isinstance(value, bool):
                return c
        raise ValueError(f"it may be {_listed(self.candidates)}")

    def __bool__(self) -> bool:
        """Refuse: every object is true, so an ``if`` on a knob would not look at its value."""
        text = f"Knob {self.name!r} is neither true nor false."
        raise TemplateError("template.knob", text, (self.name,), "ask for its value, such as cfg[name].value")

    @shown_legibly
    def __repr__(self) -> str:
        return f"<{self.kind} {self.name}: {_listed(self.candidates)}>"


class Choice(Knob):
    """One of several values (`define_knob`)."""

    @property
    def val(self) -> Any:
        """The value: a hole while it is a positive number for steps and limits alone, else what this variant has."""
        numbers = all(isinstance(c, int | np.integer) and not isinstance(c, bool) and c >= 1 for c in self.candidates)
        if self.closed or not numbers:
            return self.value
        self.used = True
        self.holes = (self.name,)
        return Open(self.name, self.config.run, self.name, tuple(map(int, self.candidates)))

    def __bool__(self) -> bool:
        """Whether its value is true: ``if cfg["unroll"]:`` asks for it."""
        return bool(self.val)

    def __eq__(self, other: object) -> bool:
        """Whether its value is the other one: ``if cfg["order"] == "rows":`` asks for it."""
        return self is other or bool(self.val == other)

    __hash__ = Knob.__hash__


class Split(Knob):
    """Factors of a loop's extent (`define_split`)."""

    kind = "split"

    def __init__(self, config: Config, name: str, axis: str | int, extent: int, table: NDArray[np.int64]) -> None:
        super().__init__(config, name, [tuple(map(int, row)) for row in table])
        self.axis, self.extent, self.parts = axis, extent, table.shape[1]
        self.joint = False
        self._sets = [set(map(int, np.unique(table[:, k]))) for k in range(self.parts)]
        self._choices: list[set[int] | None] | None = None

    @property
    def size(self) -> tuple[Number, ...]:
        """Factors, outermost first: holes, or numbers where this variant has them."""
        if self.closed or self.joint:
            return tuple(self.value)
        self.used = True
        return self.open_sizes()

    def open_sizes(self) -> tuple[Open, ...]:
        """Factors as holes."""
        self.holes = tuple(f"{self.name}_{k}" for k in range(self.parts))
        run, self._choices = self.config.run, self._choices or self._needed()
        return tuple(
            Open(self.name, run, hole, None if choices is None else tuple(sorted(choices)))
            for hole, choices in zip(self.holes, self._choices, strict=True)
        )

    def _needed(self) -> list[set[int] | None]:
        """The values of each factor, None where those of the others already see to it."""
        out: list[set[int] | None] = [*self._sets]
        least = self._ways(out)
        for k in range(self.parts):
            without = [*out[:k], None, *out[k + 1 :]]
            out = without if self._ways(without) == least else out
        return out

    def _ways(self, sets: Sequence[set[int] | None]) -> int:
        table = factor_table(self.extent, self.parts)
        ok = np.ones(len(table), np.bool_)
        for k, allowed in enumerate(sets):
            ok &= True if allowed is None else np.isin(table[:, k], list(allowed))
        return int(ok.sum())

    def apply(self, s: Schedule, loop: str | None = None) -> tuple[str, ...]:
        """Split a loop by the factors; returns the new loops, outermost first.

        Parameters
        ----------
        s : Schedule
        loop : str, optional
            The loop that the knob was defined for when left out. A stage behind may have one of the same extent.
        """
        if loop is None and not isinstance(self.axis, str):
            text = f"Knob {self.name!r} was defined for the number {self.axis}, so it has no loop of its own."
            raise TemplateError("template.knob", text, (self.name,), "name the loop: apply(s, loop)")
        names: tuple[str, ...] = s.split(str(self.axis) if loop is None else loop, list(self.size))
        return names

    def check(self, value: Any) -> tuple[int, ...]:
        """Fill in the rest (-1 or None), and look the factors up."""
        given = [value] if isinstance(value, int | np.integer) else list(value)
        if len(given) == self.parts - 1:
            given.insert(0, -1)
        known = [int(v) for v in given if v is not None and v != -1]
        rest = self.extent // max(1, int(np.prod(known)))
        full = tuple(rest if v is None or v == -1 else int(v) for v in given)
        if full not in self.candidates:
            raise ValueError(f"it takes {self.parts} factors of {self.extent} that its restrictions allow")
        return full

    @property
    def is_box(self) -> bool:
        """Whether the candidates are all ways that the values of each factor, taken alone, leave."""
        return self._ways(self._sets) == len(self.candidates)


class Resplit(Split):
    """Factors of a loop whose extent another knob decides: any that divide it."""

    def __init__(self, config: Config, name: str, axis: str, extent: Poly, parts: int) -> None:
        Knob.__init__(self, config, name, (None,))
        self.axis, self.extent, self.parts = axis, 0, parts
        self.candidates, self.joint, self.of = (), False, str(extent)
        self._choices = None

    @property
    def value(self) -> Any:
        if not self.closed:
            text = f"Knob {self.name!r} cuts a loop of {self.of} iterations, so its values cannot be listed."
            raise TemplateError("template.knob", text, (self.name,), f"ask for {self.of} first, or use it as a hole")
        return super().value

    def _needed(self) -> list[set[int] | None]:
        return [None] * self.parts

    def check(self, value: Any) -> tuple[int, ...]:
        text = f"the loop has {self.of} iterations; fix that first"
        raise ValueError(text)


class _OfLoops(Knob):
    """Something about several loops: one part of a value for each of them."""

    def __init__(self, config: Config, name: str, axes: Sequence[str], candidates: Sequence[tuple[Any, ...]]) -> None:
        super().__init__(config, name, candidates)
        self.axes = tuple(axes)

    def check(self, value: Any) -> tuple[Any, ...]:
        """Parts in any sequence."""
        return tuple(super().check(tuple(value)))


class Reorder(_OfLoops):
    """An order of loops (`define_reorder`)."""

    kind = "reorder"

    @property
    def perm(self) -> tuple[int, ...]:
        """Positions of the loops, outermost first."""
        return tuple(self.value)

    def apply(self, s: Schedule, axes: Sequence[str] | None = None) -> tuple[str, ...]:
        """Put the loops into this order; returns them in it."""
        loops = self.axes if axes is None else tuple(axes)
        order = tuple(loops[k] for k in self.perm)
        now = tuple(lp.name for lp in s.loops if lp.name in order)
        if len(order) > 1 and order != now:
            s.reorder(*order)
        return order

    def check(self, value: Any) -> tuple[int, ...]:
        """Positions, or names of the loops."""
        return super().check(self.axes.index(v) if isinstance(v, str) else int(v) for v in value)


class Annotate(_OfLoops):
    """Marks of loops (`define_annotate`): "none", "unroll" or "vec" for each."""

    kind = "annotate"

    @property
    def anns(self) -> tuple[str, ...]:
        """Marks, one for each loop."""
        return tuple(self.value)

    def apply(self, s: Schedule, axes: Sequence[str] | None = None) -> None:
        """Mark the loops."""
        for loop, mark in zip(self.axes if axes is None else axes, self.anns, strict=True):
            if mark != "none":
                (s.unroll if mark == "unroll" else s.vectorize)(loop)


# ------------------------------------------------------------------------------------------------------- declarations


def make_split(
    config: Config,
    name: str,
    axis: str | int,
    extent: int,
    policy: str,
    num_outputs: int,
    max_factor: int | None,
    candidate: Sequence[Sequence[int]] | None,
    filter: Callable[[Any], Any] | None,
) -> tuple[Split, Condition | None]:
    """A split and, where its filter is a limit on open factors, that limit."""
    _one_of("policy", policy, ("factors", "power2", "verbose", "candidate"), name)
    parts = num_outputs if candidate is None else len(candidate[0])
    if parts < 2 or ways(extent, parts) > MOST_WAYS:
        text = f"Knob {name!r} cannot cut {extent} into {parts} factors."
        raise TemplateError("template.knob", text, (name,), "2 to 5 outputs")
    rules: list[Callable[[Sequence[int]], bool]] = []
    if max_factor is not None:
        rules.append(lambda row: max(row[1:]) <= max_factor)
    if policy == "power2":
        rules.append(lambda row: all(f & (f - 1) == 0 for f in row[1:]))
    if candidate is not None:
        rules.append(lambda row: any(all(v in (f, -1, None) for f, v in zip(row, c, strict=False)) for c in candidate))
    table = factor_table(extent, parts)
    ok = np.array([all(rule(row) for rule in rules) for row in table.tolist()], np.bool_)
    if filter is None:
        knob = Split(config, name, axis, extent, table[ok])
        knob.joint = not knob.is_box
        return knob, None
    good = np.array([bool(filter(_Sizes(tuple(row)))) for row in table], np.bool_)
    knob = Split(config, name, axis, extent, table[ok & good])
    if knob.is_box:
        return knob, None
    wide = Split(config, name, axis, extent, table[ok])
    condition = _as_limit(wide, filter) if wide.is_box else None
    if condition is None:
        knob.joint = True
        return knob, None
    wide.candidates = knob.candidates  # what the limit will leave
    return wide, condition


@dataclass(frozen=True, slots=True)
class _Sizes:
    """What a filter sees of one candidate."""

    size: tuple[Any, ...]


def _as_limit(knob: Split, filter: Callable[[Any], Any]) -> Condition | None:
    """What the filter says about open factors, where that is one inequality or several."""
    run = knob.config.run
    before = run.needed
    try:
        said = filter(_Sizes(knob.open_sizes()))
    except Closed:
        run.needed = before  # the filter was only asked whether it can do without
        return None
    return said if isinstance(said, Condition) else None


def orders(
    name: str,
    axes: Sequence[str],
    policy: str,
    candidate: Sequence[Sequence[str | int]] | None,
    interval: tuple[int, int] | None,
) -> list[tuple[int, ...]]:
    """Orders that a policy offers: "identity", "all", "interval_all" (only those from `interval[0]` to `interval[1]`
    change places), "candidate".
    """
    _one_of("policy", policy, ("identity", "all", "interval_all", "candidate"), name)
    every = range(len(axes))
    if policy == "candidate":
        found = [tuple(list(axes).index(a) if isinstance(a, str) else int(a) for a in row) for row in candidate or ()]
        bad = [row for row in found if sorted(row) != list(every)]
        if bad:
            text = f"Knob {name!r}: {bad[0]} does not name each of {len(axes)} loops once."
            raise TemplateError("template.knob", text, (name,), f"an order of {', '.join(axes)}")
        return found
    if policy == "identity":
        return [tuple(every)]
    begin, end = interval if policy == "interval_all" and interval is not None else (0, len(axes))
    inner = itertools.permutations(range(begin, end))
    return [(*range(begin), *p, *range(end, len(axes))) for p in itertools.islice(inner, 5041)]


def marks(name: str, axes: Sequence[str], policy: str) -> Iterator[tuple[str, ...]]:
    """Marks that a policy offers: "none", "unroll", "try_unroll", "try_vec", "try_unroll_vec"; lanes only innermost."""
    allowed = {
        "none": ("none",), "unroll": ("unroll",), "vec": ("vec",), "try_unroll": ("none", "unroll"),
        "try_vec": ("none", "vec"), "try_unroll_vec": ("none", "unroll", "vec"),
    }  # fmt: skip
    _one_of("policy", policy, tuple(allowed), name)
    outer = [a for a in allowed[policy] if a != "vec"] or ["none"]
    yield from itertools.product(*[outer] * (len(axes) - 1), allowed[policy])


def _one_of(what: str, value: object, known: Sequence[str], knob: str) -> None:
    is_a(what, value, str)
    if value not in known:
        text = f"Knob {knob!r} has no {what} {shown(value)}."
        raise TemplateError("template.knob", text, (knob,), did_you_mean(value, known, f"{what}:"))


def _listed(values: Sequence[Any]) -> str:
    shown_ = [shown(v) for v in values[:8]]
    return ", ".join(shown_) + (f", … ({len(values)} in all)" if len(values) > 8 else "")
