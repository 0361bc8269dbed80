"""Extents of axes, which the text of a compute DAG does not have: they follow from inputs, output and conditions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from workbench.logs.replays.compute_dag.grammar import (
    Call,
    Compute,
    Dag,
    DagError,
    Name,
    Number,
    Placeholder,
    Read,
    Term,
)

Linear: TypeAlias = tuple[dict[str, int], int]
"""A sum of axes by their factors, and a constant."""

_PASSES = 100
"""Rounds of working out; each gives an extent at least, and a computation has fewer axes."""


def linear(term: Term) -> Linear | None:
    """A sum of multiples of axes; None where the term is something else."""
    match term:
        case Number(value) if isinstance(value, int):
            return {}, int(value)
        case Name(name):
            return {name: 1}, 0
        case Call("+" | "-" as op, (a, b)):
            x, y = linear(a), linear(b)
            if x is None or y is None:
                return None
            sign = 1 if op == "+" else -1
            factors = {n: x[0].get(n, 0) + sign * y[0].get(n, 0) for n in {**x[0], **y[0]}}
            return {n: c for n, c in factors.items() if c}, x[1] + sign * y[1]
        case Call("*", (a, b)):
            x, y = linear(a), linear(b)
            if x is None or y is None or (x[0] and y[0]):
                return None
            (factors, const), by = (x, y[1]) if x[0] else (y, x[1])
            return {n: c * by for n, c in factors.items() if c * by}, const * by
    return None


@dataclass
class _Work:
    """Shapes known so far: of placeholders, and of axes by stage and name."""

    dag: Dag
    shapes: dict[str, list[int | None]] = field(default_factory=dict)
    axes: dict[tuple[str, str], int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for s in self.dag.stages:
            if isinstance(s, Placeholder):
                self.shapes[s.name] = [*s.shape]
            else:
                self.axes.update(((s.name, axis), size) for axis, size in zip(s.axes, s.sizes, strict=False))

    def extent(self, stage: Compute, axis: str) -> int | None:
        return self.axes.get((stage.name, axis))

    def learn(self, stage: Compute, axis: str, extent: int) -> bool:
        if (stage.name, axis) in self.axes or extent < 1:
            return False
        self.axes[stage.name, axis] = extent
        return True

    def size(self, name: str, dim: int) -> int | None:
        """Size of a dimension of what is read."""
        if name in self.shapes:
            shape = self.shapes[name]
            return shape[dim] if dim < len(shape) else None
        stage = self.compute(name)
        return self.extent(stage, stage.axes[dim]) if dim < len(stage.axes) else None

    def compute(self, name: str) -> Compute:
        return next(s for s in self.dag.stages if isinstance(s, Compute) and s.name == name)

    def computes(self) -> Sequence[Compute]:
        return [s for s in self.dag.stages if isinstance(s, Compute)]

    def uses(self) -> Iterator[tuple[Compute, str, int, Linear]]:
        """Each dimension that is read at a linear form: reader, what it reads, which dimension, the form."""
        for stage in self.computes():
            for read in stage.reads:
                for dim, index in enumerate(read.index):
                    form = linear(index)
                    if form is not None:
                        yield stage, read.stage, dim, form

    def indices(self, name: str, dim: int) -> list[tuple[Compute, Term]]:
        """What a dimension is read at, and by which stage."""
        return [(s, read.index[dim]) for s in self.computes() for read in s.reads if read.stage == name]

    def top(self, stage: Compute, term: Term) -> int | None:
        """Greatest value of an index that only adds, multiplies and takes quotients and remainders."""
        match term:
            case Call("floormod" | "floordiv" as op, (a, Number(by))):
                high = self.top(stage, a)
                return None if high is None else min(high, int(by) - 1) if op == "floormod" else high // int(by)
            case Call("+", (a, b)):
                x, y = self.top(stage, a), self.top(stage, b)
                return None if x is None or y is None else x + y
            case Call("*", (a, Number(by))) if by > 0:
                high = self.top(stage, a)
                return None if high is None else high * int(by)
        form = linear(term)
        return self.highest(stage, form) if form is not None else None

    def highest(self, stage: Compute, form: Linear) -> int | None:
        """Greatest value of a form."""
        extents = [(self.extent(stage, axis), c) for axis, c in form[0].items()]
        if any(e is None for e, _ in extents):
            return None
        return form[1] + sum(c * (e - 1) for e, c in extents if e is not None and c > 0)


def extents(dag: Dag, output: Sequence[int] | None) -> Mapping[tuple[str, str], int]:
    """Work out the extent of every axis.

    Parameters
    ----------
    dag : Dag
    output : sequence of int, optional
        Shape of the last stage, where the key of the workload says it.

    Returns
    -------
    mapping
        (stage, axis) -> extent.

    Raises
    ------
    DagError
        Where the text leaves one open.
    """
    work = _Work(dag)
    last = work.computes()[-1]
    if output is not None:
        if len(output) != len(last.axes):
            raise DagError(f"{last.name!r} has {len(last.axes)} axes, and the workload's output {len(output)}.")
        for axis, size in zip(last.axes, output, strict=True):
            work.learn(last, axis, size)
    rules = (_same, _padded, _reaching, _inside, _demanded)
    for _ in range(_PASSES):
        # The surest rule that says something new; then all of them from the start.
        if not any(rule(work) for rule in rules):
            break
    for stage in work.computes():
        for axis in (*stage.axes, *stage.reduce_axes):
            if work.extent(stage, axis) is None:
                raise DagError(f"The text does not say how long axis {axis!r} of {stage.name!r} is.")
    return work.axes


def _same(work: _Work) -> bool:
    """An axis that alone is an index is as long as the dimension."""
    new = False
    for stage, name, dim, (factors, const) in work.uses():
        if const or list(factors.values()) != [1]:
            continue
        axis = next(iter(factors))
        size, have = work.size(name, dim), work.extent(stage, axis)
        if size is not None and have is None:
            new |= work.learn(stage, axis, size)
        elif have is not None and size is None:
            made = work.compute(name)
            new |= work.learn(made, made.axes[dim], have)
    return new


def guards(term: Term) -> dict[str, tuple[int, int]]:
    """Axes with the values ``lo <= axis < hi`` for which a stage reads something, where it is a padding."""
    match term:
        case Call("if_then_else" | "select", (condition, Read(), Number())):
            found: dict[str, tuple[int, int]] = {}
            for part in _conjunction(condition):
                match part:
                    case Call(">=", (Name(axis), Number(value))):
                        found[axis] = (int(value), found.get(axis, (0, -1))[1])
                    case Call("<", (Name(axis), Number(value))):
                        found[axis] = (found.get(axis, (0, -1))[0], int(value))
            return {axis: (lo, hi) for axis, (lo, hi) in found.items() if hi > lo}
    return {}


def _conjunction(term: Term) -> Iterator[Term]:
    if isinstance(term, Call) and term.name == "&&":
        for t in term.args:
            yield from _conjunction(t)
    else:
        yield term


def _padded(work: _Work) -> bool:
    """A padding is as wide behind as in front; one that is read in tiles is as wide as these need."""
    new = False
    for stage in work.computes():
        for axis, (lo, hi) in guards(stage.value).items():
            dim = stage.axes.index(axis)
            if all(linear(index) is not None for _, index in work.indices(stage.name, dim)):
                new |= work.learn(stage, axis, lo + hi)
    return new


def _reaching(work: _Work) -> bool:
    """A reduction goes as far as to the last element that is no padding."""
    for stage, name, dim, form in work.uses():
        open_ = [a for a in form[0] if work.extent(stage, a) is None]
        if len(open_) != 1 or open_[0] not in stage.reduce_axes or form[0][open_[0]] != 1:
            continue
        size = work.size(name, dim)
        if name not in work.shapes:
            made = work.compute(name)
            size = guards(made.value).get(made.axes[dim], (0, size))[1]
        rest = work.highest(stage, ({a: c for a, c in form[0].items() if a != open_[0]}, form[1]))
        if size is not None and rest is not None and work.learn(stage, open_[0], size - rest):
            return True
    return False


def _inside(work: _Work) -> bool:
    """An axis of a result goes as far as what it reads; a padding goes further."""
    for stage, name, dim, form in work.uses():
        open_ = [a for a in form[0] if work.extent(stage, a) is None]
        if len(open_) != 1 or open_[0] not in stage.axes or form[0][open_[0]] < 1 or open_[0] in guards(stage.value):
            continue
        size = work.size(name, dim)
        rest = work.highest(stage, ({a: c for a, c in form[0].items() if a != open_[0]}, form[1]))
        if size is not None and rest is not None and size > rest:
            return work.learn(stage, open_[0], (size - 1 - rest) // form[0][open_[0]] + 1)
    return False


def _demanded(work: _Work) -> bool:
    """A stage in between is as long as its readers need."""
    for made in work.computes():
        for dim, axis in enumerate(made.axes):
            if work.extent(made, axis) is not None:
                continue
            tops = [
                work.top(s, read.index[dim]) for s in work.computes() for read in s.reads if read.stage == made.name
            ]
            known = [t for t in tops if t is not None]
            if known and len(known) == len(tops):
                return work.learn(made, axis, max(known) + 1)
    return False
