"""A stored module of TVM as a function of ours: each block becomes a stage of the same name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench import te
from workbench.errors import WorkbenchError
from workbench.ir import Func
from workbench.logs.importer import UNREADABLE
from workbench.logs.replays.result import CannotReplay
from workbench.logs.tir import TirBlock, TirBuffer, TirFunction
from workbench.logs.tir.graph import TirNode
from workbench.logs.tir.module import buffer_of, dtype_of

_REDUCTIONS: Mapping[str, Callable[..., Any]] = {"Add": te.sum, "Mul": te.prod, "Max": te.max, "Min": te.min}
_BINARY: Mapping[str, Callable[[Any, Any], Any]] = {
    "Add": lambda a, b: a + b, "Sub": lambda a, b: a - b, "Mul": lambda a, b: a * b, "Div": lambda a, b: a / b,
    "FloorDiv": lambda a, b: a // b, "FloorMod": lambda a, b: a % b, "Max": te.maximum, "Min": te.minimum,
    "LT": lambda a, b: a < b, "LE": lambda a, b: a <= b, "GT": lambda a, b: a > b, "GE": lambda a, b: a >= b,
}  # fmt: skip
_CALLS: Mapping[str, Callable[[Any], Any]] = {
    "exp": te.exp, "log": te.log, "sqrt": te.sqrt, "rsqrt": te.rsqrt, "tanh": te.tanh, "sigmoid": te.sigmoid,
    "erf": te.erf, "fabs": te.abs, "floor": te.floor, "ceil": te.ceil, "round": te.round,
}  # fmt: skip
_LOADS, _IMMEDIATE = ("TensorLoad", "BufferLoad"), ("IntImm", "FloatImm")
_DEEPEST = 200


@dataclass(frozen=True, slots=True)
class Computation:
    """A function, and for each block of the module the loops of its stage in the order of the module's loops.

    Attributes
    ----------
    func : Func
        The computation.
    loops : mapping
        Name of a block -> names of its loops in `func`.
    """

    func: Func
    loops: Mapping[str, tuple[str, ...]]


def computation_of(function: TirFunction) -> Computation:
    """Translate a function.

    Raises
    ------
    CannotReplay
        Where a block computes what has no counterpart here.
    """
    try:
        tensors, order = _tensors(function)
        outputs = [tensors[buffer.place] for buffer in function.params if tensors[buffer.place].stages]
        func = te.func(outputs, function.name)
    except WorkbenchError as error:
        raise CannotReplay(f"the module has no counterpart here: {error.message} [{error.code}]") from None
    except UNREADABLE as error:
        raise CannotReplay(f"the module has another form ({type(error).__name__})") from None
    return Computation(func, {block.name: _loops(func, block, axes) for block, axes in order})


def _tensors(function: TirFunction) -> tuple[dict[int, te.Tensor], list[tuple[TirBlock, list[str]]]]:
    written = {_store(block)["buffer"].place for block in function.blocks}
    taken = {block.name for block in function.blocks}
    tensors: dict[int, te.Tensor] = {}
    for buffer in function.params:
        if buffer.place not in written:
            name = buffer.name + "_" * (buffer.name in taken)
            tensors[buffer.place] = te.placeholder(buffer.shape, buffer.dtype, name)
    order = []
    for block in function.blocks:
        tensor, axes = _stage(block, tensors)
        place = _store(block)["buffer"].place
        if place in tensors:
            raise CannotReplay(f"several blocks write what {block.name} writes")
        tensors[place] = tensor
        order.append((block, axes))
    return tensors, order


def _store(block: TirBlock) -> TirNode:
    if block.body is None or block.body.kind != "BufferStore":
        kind = "nothing" if block.body is None else block.body.kind
        raise CannotReplay(f"block {block.name} holds {kind} and not one assignment")
    return block.body


def _stage(block: TirBlock, tensors: Mapping[int, te.Tensor]) -> tuple[te.Tensor, list[str]]:
    """Return the stage of a block, and the names of its axes in the order of the stage."""
    store = _store(block)
    buffer = buffer_of(store["buffer"])
    places = [index.place if isinstance(index, TirNode) else -1 for index in store["indices"]]
    by_place = {axis.place: axis for axis in block.axes}
    spatial = [axis for axis in block.axes if not axis.reduced]
    if sorted(places) != sorted(axis.place for axis in spatial):
        raise CannotReplay(f"block {block.name} does not write at its axes themselves")
    if any(by_place[place].extent != size for place, size in zip(places, buffer.shape, strict=True)):
        raise CannotReplay(f"block {block.name} does not write all of {buffer.name}")
    reduced = [axis for axis in block.axes if axis.reduced]
    names = _names(block)
    made = {axis.place: te.reduce_axis(axis.extent, names[axis.place]) for axis in reduced}

    def at(*axes: te.Axis) -> Any:
        bound = dict(zip(places, axes, strict=True)) | made
        translation = _Translation(bound, tensors, buffer)
        if not reduced:
            return translation.value(store["value"])
        return translation.reduction(block, store, list(made.values()))

    named = _with_names(at, [names[place] for place in places])
    tensor = te.compute(buffer.shape, named, name=block.name)
    if tensor.dtype != buffer.dtype:
        raise CannotReplay(f"block {block.name} computes {tensor.dtype} and writes {buffer.dtype}")
    return tensor, [by_place[place].name for place in places] + [axis.name for axis in reduced]


def _names(block: TirBlock) -> dict[int, str]:
    """Return a name for each axis: that of its loop, where each has one of its own."""
    own = [binding for binding in block.bindings if binding]
    if len(own) == len(set(own)) == len(block.axes):
        return {axis.place: _name(name) for axis, name in zip(block.axes, block.bindings, strict=True)}
    return {axis.place: _name(axis.name) for axis in block.axes}


def _with_names(function: Callable[..., Any], names: Sequence[str]) -> Callable[..., Any]:
    """Return a function whose arguments have names; axes are called after them."""

    def named(*axes: te.Axis) -> Any:
        return function(*axes)

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    named.__signature__ = inspect.Signature([inspect.Parameter(n, kind) for n in names])  # type: ignore[attr-defined]
    return named


def _name(name: str) -> str:
    return name if name.isidentifier() else "".join(c if c.isalnum() else "_" for c in f"a_{name}")


class _Translation:
    """Expressions of a block, with what its axes and buffers are here."""

    def __init__(self, axes: Mapping[int, te.Axis], tensors: Mapping[int, te.Tensor], own: TirBuffer) -> None:
        self.axes, self.tensors, self.own = axes, tensors, own

    def reduction(self, block: TirBlock, store: TirNode, axes: list[te.Axis]) -> Any:
        """Return ``own = own + term`` as a reduction of the term."""
        value = store["value"]
        if block.init is None or value.kind not in _REDUCTIONS:
            raise CannotReplay(f"block {block.name} reduces with {value.kind}, or has no initial value")
        first, second = value["a"], value["b"]
        if self._is_own(second):
            first, second = second, first
        if not self._is_own(first):
            raise CannotReplay(f"block {block.name} does not add to what it writes")
        start = block.init["value"] if block.init.kind == "BufferStore" else None
        if not _neutral(value.kind, start):
            raise CannotReplay(f"block {block.name} does not begin with the neutral value of {value.kind}")
        return _REDUCTIONS[value.kind](self.value(second), axis=axes)

    def _is_own(self, node: TirNode) -> bool:
        return node.kind in _LOADS and node.get("source", "buffer").place == self.own.place

    def value(self, node: TirNode, depth: int = 0) -> Any:
        """Return what an expression is here."""
        if depth > _DEEPEST:
            raise RecursionError("an expression inside itself")
        down = depth + 1
        kind = node.kind
        if kind in _IMMEDIATE:
            number = node["value"]
            return number if kind == "IntImm" else te.const(float(number), dtype_of(node.get("ty", "dtype")))
        if kind == "Var":
            return self.axes[node.place]
        if kind in _LOADS:
            tensor = self.tensors[node.get("source", "buffer").place]
            return tensor[tuple(self.value(index, down) for index in node["indices"])]
        if kind == "And":
            return self.value(node["a"], down) & self.value(node["b"], down)
        if kind in _BINARY:
            return _BINARY[kind](self.value(node["a"], down), self.value(node["b"], down))
        if kind == "Cast":
            return te.cast(self.value(node["value"], down), dtype_of(node.get("ty", "dtype")))
        if kind == "Select":
            return te.select(*(self.value(node[f], down) for f in ("condition", "true_value", "false_value")))
        if kind == "Call":
            return self._call(node, down)
        raise CannotReplay(f"an expression of the kind {kind} has no counterpart here")

    def _call(self, node: TirNode, depth: int) -> Any:
        name = node["op"].text.rpartition(".")[2]
        args = [self.value(one, depth) for one in node["args"]]
        if name == "if_then_else" and len(args) == 3:
            return te.select(*args)
        if name in _CALLS and len(args) == 1:
            return _CALLS[name](args[0])
        if name in ("pow", "power") and len(args) == 2:
            return te.power(*args)
        raise CannotReplay(f"the function {name} has no counterpart here")


def _neutral(kind: str, start: Any) -> bool:
    if not isinstance(start, TirNode) or start.kind not in _IMMEDIATE:
        return False
    number = start["value"]
    if kind in ("Add", "Mul"):
        return bool(number == (kind == "Mul"))
    return bool(number <= -3.4e38 if kind == "Max" else number >= 3.4e38)


def _loops(func: Func, block: TirBlock, axes: Sequence[str]) -> tuple[str, ...]:
    """Return the loops of a stage in the order of the module's loops around the block."""
    _, path = func.block(block.name)
    by_axis = dict(zip(axes, (loop.name for loop in path), strict=True))
    bound = dict(zip(block.bindings, (axis.name for axis in block.axes), strict=True))
    if sorted(bound) != sorted(loop.name for loop in block.loops) or "" in bound:
        raise CannotReplay(f"block {block.name} does not have a loop for each axis")
    return tuple(by_axis[bound[loop.name]] for loop in block.loops)
