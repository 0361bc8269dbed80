"""FX graphs of ATen's operators as graphs of ours."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx import GraphModule, Node
from torch.fx.node import map_arg

from workbench.errors import ModelError
from workbench.graph import Graph
from workbench.graph.graph import Array, TensorType
from workbench.torch_backend.aten import ATEN, Unsupported, Value, Writer, dtype_name


@dataclass(frozen=True, slots=True)
class Converted:
    """A graph, and where its tensors come from and go.

    Attributes
    ----------
    graph : Graph
    inputs : tuple of (int, str)
        Position among the FX graph's inputs -> input of the graph.
    outputs : tuple of str, int, float, bool or None
        What the FX graph returns, in order: names of outputs, and numbers, which follow from the shapes.
    single : bool
        Whether it returns one thing, not a tuple.
    """

    graph: Graph
    inputs: tuple[tuple[int, str], ...]
    outputs: tuple[str | int | float | bool | None, ...]
    single: bool


def arrays_of(tensor: Any) -> Array:
    """The elements of a tensor, where they lie."""
    tensor = tensor.detach()
    if tensor.dtype is torch.bfloat16:
        return np.asarray(tensor.view(torch.int16).numpy().view(np.dtype("bfloat16")))
    return np.asarray(tensor.numpy())


def tensor_of(array: Array) -> Any:
    """A tensor of an array's elements, where they lie."""
    if array.dtype == np.dtype("bfloat16"):
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(np.asarray(array))


def convert(module: GraphModule, inputs: Sequence[Any], fixed: Mapping[int, Array]) -> Converted:
    """Write an FX graph for inputs of these shapes.

    Parameters
    ----------
    module : GraphModule
        Calls of ATen's operators.
    inputs : sequence of tensor or int
        Their shapes, element types and numbers count.
    fixed : mapping
        Position of an input -> its elements, where they are part of the network.

    Raises
    ------
    Unsupported
        For a call that cannot be written.
    ModelError
        For what cannot be typed, or is typed otherwise than by torch ("torch.types").
    """
    walk = Walk(module, inputs, fixed)
    for node in module.graph.nodes:
        walk.step(node)
    (last,) = (n for n in module.graph.nodes if n.op == "output")
    return _finished(walk, last.args[0])


def obstacles(module: GraphModule, inputs: Sequence[Any]) -> dict[Node, str]:
    """Return the calls of an FX graph that cannot be written for such inputs, and why."""
    walk, found = Walk(module, inputs, {}), dict[Node, str]()
    for node in module.graph.nodes:
        try:
            walk.step(node)
        except Unsupported as e:
            found[node] = str(e)
    return found


@dataclass(slots=True)
class Walk:
    """A walk through an FX graph: `fakes` has what torch says of each result, `values` what was written."""

    module: GraphModule
    given: Sequence[Any]
    fixed: Mapping[int, Array]
    writer: Writer = field(default_factory=Writer)
    inputs: dict[str, tuple[int, TensorType]] = field(default_factory=dict)
    fakes: dict[Node, Any] = field(default_factory=dict)
    values: dict[Node, Any] = field(default_factory=dict)
    _mode: Any = field(default_factory=lambda: FakeTensorMode(allow_non_fake_inputs=True))
    _count: int = 0

    def step(self, node: Node) -> None:
        """Take the next node.

        Raises
        ------
        Unsupported
            When it cannot be written; what follows can still be taken.
        """
        if node.op == "placeholder":
            self._input(node)
        elif node.op == "get_attr":
            self._constant(node)
        elif node.op == "call_function":
            self._call(node)
        elif node.op != "output":
            raise Unsupported(f"FX calls it by {node.op}")

    def _input(self, node: Node) -> None:
        k, self._count = self._count, self._count + 1
        x = self.given[k]
        if not isinstance(x, torch.Tensor):
            self.fakes[node] = self.values[node] = x
            return
        shape = tuple(map(int, x.shape))
        with self._mode:
            self.fakes[node] = torch.empty_strided(shape, tuple(map(int, x.stride())), dtype=x.dtype, device=x.device)
        value = _value(node.name, self.fakes[node])
        self.values[node] = value
        if k in self.fixed:
            self.writer.constants[value.name] = self.fixed[k]
        else:
            self.inputs[value.name] = k, TensorType(shape, value.dtype)

    def _constant(self, node: Node) -> None:
        found = operator.attrgetter(str(node.target))(self.module)
        if not isinstance(found, torch.Tensor):
            raise Unsupported("it is no tensor")
        self.fakes[node] = self._mode.from_tensor(found)
        self.values[node] = value = _value(node.name, self.fakes[node])
        self.writer.constants[value.name] = arrays_of(found)

    def _call(self, node: Node) -> None:
        target: Any = node.target
        if not all(n in self.fakes for n in node.all_input_nodes):
            raise Unsupported("what it reads has no known shape")
        args, kwargs = map_arg((node.args, node.kwargs), self.fakes.__getitem__)
        fake = self.fakes[node] = self._as_torch_says(target, args, kwargs)
        args, kwargs = map_arg((node.args, node.kwargs), self._known)
        if target is operator.getitem:
            self.values[node] = target(*args)
            return
        results = _tensors(fake)
        if not results:  # a number
            self.values[node] = fake
            return
        self._begin(node, target, results)
        names = _writes(target, args, kwargs)(self.writer)
        named = names if isinstance(names, tuple) else (names,)
        found = tuple(_value(n, f) if n else None for n, f in zip(named, results, strict=True))
        self.values[node] = found if isinstance(fake, tuple | list) else found[0]

    def _as_torch_says(self, target: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        try:
            with self._mode:
                return target(*args, **kwargs)
        except Exception as e:
            raise Unsupported(f"torch cannot say its shape: {type(e).__name__}") from e

    def _begin(self, node: Node, target: Any, results: Sequence[Any]) -> None:
        w = self.writer
        w.call = target.overloadpacket.__name__ if isinstance(target, torch._ops.OpOverload) else str(target)
        w.used = {u.args[1] for u in node.users if u.target is operator.getitem}
        w.result = [_value("", f, needed=not k or k in w.used) for k, f in enumerate(results)]

    def _known(self, node: Node) -> Any:
        """Value of a node; a stand-in where it was not written, so that the next call is asked, too."""
        if node in self.values:
            return self.values[node]
        fake = self.fakes.get(node)
        found = tuple(_value(f"{node.name}.{k}", f, needed=False) for k, f in enumerate(_tensors(fake)))
        return found if isinstance(fake, tuple | list) else found[0]


def _tensors(fake: Any) -> list[Any]:
    several = fake if isinstance(fake, tuple | list) else (fake,)
    return [f for f in several if isinstance(f, torch.Tensor)]


def _value(name: str, fake: Any, needed: bool = True) -> Value:
    if needed and fake.device.type != "cpu":
        raise Unsupported(f"it is on the device {fake.device.type}")
    if needed and fake.layout is not torch.strided:
        raise Unsupported("it is sparse")
    if needed and 0 in fake.shape:
        raise Unsupported("it has no elements")
    dtype = dtype_name(fake.dtype) if needed else str(fake.dtype).removeprefix("torch.")
    return Value(name, tuple(map(int, fake.shape)), dtype)


def _writes(target: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Callable[[Writer], Any]:
    """What writes a call."""
    if not isinstance(target, torch._ops.OpOverload) or target.namespace != "aten":
        raise Unsupported("no operator of ATen")
    name = target.overloadpacket.__name__
    if name not in ATEN:
        raise Unsupported("not known")
    function = ATEN[name]
    named = {k: v for k, v in kwargs.items() if k not in ("pin_memory", "memory_format", "layout", "device")}
    try:
        inspect.signature(function).bind(None, *args, **named)
    except TypeError:
        raise Unsupported(f"not known with the arguments of {target}") from None
    return lambda writer: function(writer, *args, **named)


def _finished(walk: Walk, returned: Any) -> Converted:
    w, names, outputs = walk.writer, dict[str, None](), list[Any]()
    for item in returned if isinstance(returned, tuple | list) else (returned,):
        value = walk.values[item] if isinstance(item, Node) else item
        if not isinstance(value, Value):
            outputs.append(value)
            continue
        name = value.name
        if name in walk.inputs or name in w.constants:
            name = w("Identity", name)
        names[name] = None
        outputs.append(name)
    graph = Graph.make("torch", w.nodes, {n: t for n, (_, t) in walk.inputs.items()}, tuple(names), w.constants)
    _check_types(walk, graph)
    places = tuple((k, name) for name, (k, _) in walk.inputs.items())
    return Converted(graph, places, tuple(outputs), not isinstance(returned, tuple | list))


def _check_types(walk: Walk, graph: Graph) -> None:
    """Refuse a graph whose tensors are not what torch says they are: then an operator was not written as meant."""
    for node, value in walk.values.items():
        if isinstance(value, Value) and value.name in graph.types:
            found, wanted = graph.types[value.name], TensorType(value.shape, value.dtype)
            if found != wanted:
                text = f"The result of {node.target} is {found} here and {wanted} in torch."
                raise ModelError(
                    "torch.types", text, (node.name,), "this is a fault of the workbench: please report it"
                )
