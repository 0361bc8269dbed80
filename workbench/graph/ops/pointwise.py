"""Operators whose result at a place follows from the inputs there: each is a function of NumPy and one of te."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from workbench import te
from workbench.graph.graph import Array, Node
from workbench.graph.opdef import OpDef, operator
from workbench.graph.operator_call import Call
from workbench.graph.ops.lowering import at, broadcast_shape, compute, operand
from workbench.ir.dtypes import is_float


class Pointwise(OpDef):
    """One function of all inputs, which broadcast, and of the attributes `numbers` (name -> default)."""

    numpy: Callable[..., Any]
    scalar: Callable[..., Any]
    numbers: ClassVar[Mapping[str, float]] = MappingProxyType({})
    arity: ClassVar[int] = 1
    variadic: ClassVar[bool] = False  # any number of inputs, taken together two at a time
    mean: ClassVar[bool] = False  # what is taken together is divided by the number of inputs
    mixed: ClassVar[bool] = False  # the inputs may have different types
    boolean: ClassVar[bool] = False  # of truth values
    fractions: ClassVar[bool] = False  # no function of integers
    stage: ClassVar[str] = ""  # block of the kernel; by default the operator's name
    low: ClassVar[float | None] = None  # examples have no number below

    def shape(self, c: Call) -> tuple[int, ...]:
        types = [c.type(i) for i in range(max(len(c.types), 1 if self.variadic else self.arity))]
        if not self.mixed and any(t.dtype != types[0].dtype for t in types):
            raise c.error("shape_mismatch", f"mixes element types {', '.join(t.dtype for t in types)}")
        return broadcast_shape(c, [t.shape for t in types])

    def idle(self, c: Call) -> bool:
        return self.variadic and len(c.types) == 1

    def numbers_of(self, c: Call) -> list[float]:
        """Value of each number, in the order of their declaration."""
        return [c.get_float(name, value) for name, value in self.numbers.items()]

    def apply(self, c: Call, function: Callable[..., Any], values: list[Any]) -> Any:
        """The function of values at one place, or of whole arrays."""
        if not self.variadic:
            return function(*values, *self.numbers_of(c))
        all_together = functools.reduce(function, values)
        return all_together * (1.0 / len(values)) if self.mean else all_together

    def reference(self, c: Call, *args: Array) -> Array:
        values = [x.astype(np.float64) if self.fractions and x.dtype.kind != "f" else x for x in args]
        return np.asarray(self.apply(c, type(self).numpy, values)).astype(self.dtype(c), copy=False)

    def obstacle(self, c: Call) -> str:
        whole = self.fractions and not is_float(c.type(0).dtype)
        return "it is computed in fractions, of integers" if whole else ""

    def lower(self, c: Call, *args: te.Tensor | None) -> te.Tensor:
        reads = [
            operand(c, i, args) if self.scalars or t is None else functools.partial(at, t) for i, t in enumerate(args)
        ]
        stage = self.stage or self.name.lower()
        return compute(self.shape(c), lambda *i: self.apply(c, type(self).scalar, [r(i) for r in reads]), c.name(stage))


class Broadcast(Pointwise):
    """Arithmetic, comparisons and logic of two inputs."""

    arity = 2
    scalars = broadcasts = True

    def accepts(self, node: Node) -> bool:
        return not (node.version < 7 and node.attrs.get("broadcast"))


def pointwise(
    name: str,
    doc: str,
    numpy: Callable[..., Any],
    scalar: Callable[..., Any],
    base: type[Pointwise] = Pointwise,
    domain: str = "",
    **facts: Any,
) -> None:
    """Declare an operator by its two functions; `facts` are attributes of `Pointwise`."""
    functions = {"numpy": numpy, "scalar": scalar, **{k: facts.pop(k) for k in list(facts) if callable(facts[k])}}
    members = {**{k: staticmethod(f) for k, f in functions.items()}, "__doc__": doc}
    operator(name, "injective", elementwise=True, domain=domain, **facts)(type(name, (base,), members))
