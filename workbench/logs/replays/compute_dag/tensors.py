"""From a compute DAG to tensor expressions."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from workbench import te
from workbench.errors import ExpressionError
from workbench.ir import Func
from workbench.logs.replays.compute_dag.extents import extents
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

Known: TypeAlias = te.Value | te.Axis | te.Cond | int | float | bool

_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "exp": te.exp, "tanh": te.tanh, "sqrt": te.sqrt, "rsqrt": te.rsqrt, "sigmoid": te.sigmoid, "log": te.log,
    "erf": te.erf, "fabs": te.abs, "abs": te.abs, "floor": te.floor, "ceil": te.ceil,
}  # fmt: skip
_TYPES = ("float32", "float64", "int32", "int64", "int8", "uint8")
_REDUCTIONS: Mapping[str, Callable[..., Any]] = {"+": te.sum, "*": te.prod, "max": te.max, "min": te.min}
_ARITHMETIC: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Computation:
    """A computation, and which block is which stage.

    Attributes
    ----------
    func : Func
        One nest per stage that computes something.
    stages : tuple of str
        Names in the order in which TVM counts stages, placeholders included; those of blocks are the same.
    """

    func: Func
    stages: tuple[str, ...]


def computation(dag: Dag, output: Sequence[int] | None = None, constants: Sequence[str] = ()) -> Computation:
    """Build a computation.

    Parameters
    ----------
    dag : Dag
    output : sequence of int, optional
        Shape of the result, where it is known.
    constants : sequence of str
        Placeholders whose values are known ahead of time: weights.

    Raises
    ------
    DagError
        Where an extent stays open, or something in the text has no tensor expression.
    """
    sizes = extents(dag, output)
    made: dict[str, te.Tensor] = {}
    for stage in dag.stages:
        if isinstance(stage, Placeholder):
            made[stage.name] = te.placeholder(stage.shape, "float32", stage.name, stage.name in constants)
            continue
        try:
            made[stage.name] = _stage(stage, sizes, made)
        except ExpressionError as error:
            raise DagError(f"{stage.name!r} has no tensor expression here: {error.message}") from None
    last = made[dag.stages[-1].name]
    used = {t for s in dag.stages if isinstance(s, Compute) for t in (r.stage for r in s.reads)}
    unread = [s.name for s in dag.stages[:-1] if isinstance(s, Compute) and s.name not in used]
    if not isinstance(dag.stages[-1], Compute):
        raise DagError("The last stage is an input; the result is expected in the last line.")
    if unread:
        raise DagError(f"Nothing reads {', '.join(unread)}; one result is expected, in the last line.")
    return Computation(te.func(last), tuple(s.name for s in dag.stages))


def _stage(stage: Compute, sizes: Mapping[tuple[str, str], int], made: Mapping[str, te.Tensor]) -> te.Tensor:
    reduced = {n: te.reduce_axis(sizes[stage.name, n], n) for n in stage.reduce_axes}
    if bool(stage.reduces) != bool(reduced):
        raise DagError(f"{stage.name!r} reduces over nothing, or uses a name that is no axis: {', '.join(reduced)}.")

    def value(*axes: te.Axis) -> Any:
        known = _Evaluation({**dict(zip(stage.axes, axes, strict=True)), **reduced}, made)
        found = known.of(stage.value)
        return _REDUCTIONS[stage.reduces](found, axis=list(reduced.values())) if reduced else found

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    value.__signature__ = inspect.Signature([inspect.Parameter(a, kind) for a in stage.axes])  # type: ignore[attr-defined]
    return te.compute([sizes[stage.name, a] for a in stage.axes], value, stage.name)


@dataclass(frozen=True, slots=True)
class _Evaluation:
    """Terms of one stage as tensor expressions."""

    axes: Mapping[str, te.Axis]
    tensors: Mapping[str, te.Tensor]

    def of(self, term: Term) -> Any:
        match term:
            case Number(value):
                return value
            case Name(name):
                return self.axes[name]
            case Read(stage, index):
                return self.tensors[stage][tuple(self.of(i) for i in index)]
            case Call(name, args):
                return self._call(name, tuple(map(self.of, args)))

    def _call(self, name: str, args: tuple[Any, ...]) -> Any:
        match name, args:
            case ("&&", (a, b)) if isinstance(a, te.Cond) and isinstance(b, te.Cond):
                return a & b
            case "select" | "if_then_else", (condition, a, b):
                return self._chosen(condition, a, b)
            case "floordiv", (a, b):
                return a // b
            case "floormod", (a, b):
                return a % b
            case "==", (te.Axis() as a, int(b)):
                return a.equal(b)
            case "max", (a, b):
                return te.maximum(a, b)
            case "min", (a, b):
                return te.minimum(a, b)
            case "/", (a, b) if not (_whole(a) and _whole(b)):
                return a / b
        if name in _TYPES and len(args) == 1:
            return _converted(name, args[0])
        if name in _FUNCTIONS and len(args) == 1:
            return _FUNCTIONS[name](args[0])
        if name in _ARITHMETIC and len(args) == 2 and not any(isinstance(a, te.Cond) for a in args):
            found = _ARITHMETIC[name](*args)
            return _plain(found)
        raise DagError(f"{name[:40]!r} of {len(args)} terms is nothing that can be computed here.")

    def _chosen(self, condition: Any, a: Any, b: Any) -> Any:
        if isinstance(condition, bool):
            return a if condition else b
        return te.select(condition, a, b)


def _whole(x: object) -> bool:
    """Whether it is part of an index."""
    return isinstance(x, te.Axis) or (isinstance(x, int) and not isinstance(x, bool))


def _plain(x: Any) -> Any:
    """A number in the place of an index without axes."""
    if isinstance(x, te.Axis) and x.form.is_const and isinstance(x.form.const, int):
        return x.form.const
    return x


def _converted(dtype: str, x: Any) -> Any:
    if isinstance(x, int | float):
        return float(x) if dtype.startswith("float") else int(x)
    return te.cast(x, dtype)
