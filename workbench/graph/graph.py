"""A network as an immutable value: nodes in topological order, typed tensors, constants.

Every tensor has a name and a static `TensorType`. Names from the ONNX file are kept as they are (``gpu_0/data_0``).
A pass maps one graph to another; `GraphEditor` (edit.py) is the mutable scratch pad that passes work on.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from workbench.errors import ModelError, did_you_mean
from workbench.late_binding import Provided
from workbench.markup import Drawn
from workbench.safe_text import shown_legibly

if TYPE_CHECKING:
    from workbench.graph.model import Program
    from workbench.graph.open_sizes import OpenSizes
    from workbench.graph.passes.explain import Report

Array: TypeAlias = NDArray[Any]
AttrValue: TypeAlias = "int | float | str | tuple[int, ...] | tuple[float, ...] | tuple[str, ...] | Array | Program"

#: What methods of `Graph` leave to modules above: `infer`, `passes.order` and `passes.explain`.
type_inference: Provided[[Iterable[Node], Mapping[str, TensorType], Mapping[str, Array]], dict[str, TensorType]]
type_inference = Provided("inference of types")
pass_runner: Provided[[Graph, Sequence[str] | None, Iterable[str] | str, str], Graph] = Provided("graph passes")
pass_explainer: Provided[[Graph, Sequence[str] | None, Iterable[str] | str, str], Report] = Provided(
    "reports of passes"
)


@dataclass(frozen=True, slots=True)
class TensorType:
    """Static shape and dtype (NumPy name) of a tensor."""

    shape: tuple[int, ...]
    dtype: str = "float32"

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return self.size * np.dtype(self.dtype).itemsize

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """One operator call. An absent input is ``""``; `version` is the opset that its attributes are written in."""

    name: str
    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attrs: Mapping[str, AttrValue] = field(default_factory=dict)
    domain: str = ""
    version: int = 18

    @shown_legibly
    def __str__(self) -> str:
        attrs = ", ".join(f"{k}={_short(v)}" for k, v in self.attrs.items())
        args = ", ".join(i or "-" for i in self.inputs)
        return f"{', '.join(o for o in self.outputs if o)} = {self.op}({args}{'; ' + attrs if attrs else ''})"


@dataclass(frozen=True, slots=True)
class FusedNodes:
    """Nodes that become one kernel, and the rules by which they came together (one sentence per edge)."""

    nodes: tuple[str, ...]
    rules: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Source:
    """Where a graph was read from: a file, or the name of a model that the onnx package carries.

    Attributes
    ----------
    path : str
        Absolute, or that name.
    seed : int, optional
        Of its weights, where they were filled in.
    """

    path: str
    seed: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """The graph that another one was optimised from, and how."""

    graph: Graph
    passes: tuple[str, ...]
    without: tuple[str, ...] = ()

    def explain(self) -> Report:
        """Run the same passes again, and keep what each of them did."""
        return self.graph.explain(self.passes, self.without)


@dataclass(frozen=True, slots=True, eq=False)
class Graph(Drawn):
    """A typed network; make one with `load_onnx` or `Graph.make`.

    Attributes
    ----------
    nodes : tuple of Node
        In topological order.
    inputs, outputs : tuple of str
        Tensor names that a caller gives and gets.
    constants : mapping
        Tensor name -> array: weights and everything folded.
    types : mapping
        Tensor name -> `TensorType`, for every tensor.
    groups : tuple of FusedNodes
        What the fusion pass decided; empty before it ran.
    history : tuple of str
        One line per pass that ran, with what it changed.
    origin : Origin, optional
        What `optimize` was called on. Constants that no pass touched are the same arrays in both, those that were only
        transposed or reshaped the same memory; the others (scaled by a normalisation, say) are kept as they were for as
        long as this graph is, and ``graph.replace(origin=None)`` lets go of them.
    source : Source, optional
        What reading it again needs; None for one from memory or one that was changed since.
    cuts : mapping
        Output whose length data decide -> the output that says how much of it counts, and the axis. The tensor has the
        largest size; what runs the network gives the part that counts.
    tail : Program, optional
        What follows, where its shapes depend on such a length: it reads inputs and outputs, and gives the network's own
        outputs.
    open_sizes : OpenSizes, optional
        The network as its file has it, where that leaves dimensions open, and the lengths that they can have. The types
        here are those of the largest ones.
    """

    name: str
    nodes: tuple[Node, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    constants: Mapping[str, Array]
    types: Mapping[str, TensorType]
    groups: tuple[FusedNodes, ...] = ()
    history: tuple[str, ...] = ()
    origin: Origin | None = None
    source: Source | None = None
    cuts: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    tail: Program | None = None
    open_sizes: OpenSizes | None = None

    @staticmethod
    def make(
        name: str,
        nodes: Iterable[Node],
        inputs: Mapping[str, TensorType],
        outputs: Sequence[str],
        constants: Mapping[str, Array] | None = None,
        history: tuple[str, ...] = (),
    ) -> Graph:
        """Check the names, sort the nodes and infer every type.

        Raises
        ------
        ModelError
            "model.duplicate_name", "model.cycle", "model.invalid_graph" (a tensor that nothing produces), or what
            inference finds: "model.unsupported_op", "model.shape_mismatch", "model.dynamic_value".
        """
        constants = dict(constants or {})
        order = topological(tuple(nodes), set(inputs) | set(constants), outputs)
        types = type_inference(order, inputs, constants)
        return Graph(name, order, tuple(inputs), tuple(outputs), constants, types, (), history)

    @property
    def open(self) -> OpenSizes | None:
        """`open_sizes`, of this graph or of the one that it was optimised from."""
        return self.open_sizes if self.origin is None else self.origin.graph.open_sizes

    @property
    def dynamic(self) -> Mapping[str, tuple[int, ...]]:
        """Open dimension -> the lengths for which the network is compiled; empty for one of fixed shapes."""
        return self.open.ranges if self.open else {}

    @staticmethod
    def of_tail(program: Program) -> Graph:
        """Graph of a program of which nothing is typed before a run brings shapes."""
        return Graph(program.name, (), (), (), {}, {}, tail=program)

    @property
    def untyped(self) -> Program | None:
        """The network, where all of it waits for shapes or values that a run brings."""
        return None if self.nodes else self.tail

    def typed(self) -> Graph:
        """Return this graph; refused where all of it waits for shapes or values that a run brings.

        Raises
        ------
        ModelError
            "model.unresolved_dim", "model.unsupported_dtype", "model.dynamic_value", "model.dynamic_shape": what is not
            known ahead.
        """
        if (program := self.untyped) is None:
            return self
        return replace(program.graph(), source=self.source, open_sizes=self.open_sizes)

    def type(self, tensor: str) -> TensorType:
        """Type of a tensor; `ModelError` "model.unknown_tensor" when there is none of that name."""
        try:
            return self.types[tensor]
        except KeyError:
            raise ModelError(
                "model.unknown_tensor",
                f"The graph has no tensor {tensor!r}.",
                (tensor,),
                did_you_mean(tensor, self.types, "tensors"),
            ) from None

    def node(self, name: str) -> Node:
        """Node by name; `ModelError` "model.unknown_node" when there is none."""
        for n in self.nodes:
            if n.name == name:
                return n
        raise ModelError(
            "model.unknown_node",
            f"The graph has no node {name!r}.",
            (name,),
            did_you_mean(name, [n.name for n in self.nodes], "nodes"),
        )

    def producers(self) -> dict[str, Node]:
        """Tensor name -> the node that makes it."""
        return {o: n for n in self.nodes for o in n.outputs if o}

    def consumers(self) -> dict[str, list[Node]]:
        """Tensor name -> the nodes that read it, in topological order, each once."""
        out: dict[str, list[Node]] = {}
        for n in self.nodes:
            for i in dict.fromkeys(n.inputs):
                if i:
                    out.setdefault(i, []).append(n)
        return out

    def input_types(self) -> dict[str, TensorType]:
        """Graph inputs with their types, in order."""
        return {i: self.types[i] for i in self.inputs}

    def with_outputs(self, outputs: Sequence[str]) -> Graph:
        """Same network with other outputs; what they do not need is dropped, and so is the `tail`."""
        self.typed()
        for o in outputs:
            self.type(o)
        counts = (self.cuts[o][0] for o in outputs if o in self.cuts)
        return replace(self, tail=None).rebuilt(self.nodes, self.constants, tuple(dict.fromkeys((*outputs, *counts))))

    def rebuilt(
        self, nodes: Sequence[Node], constants: Mapping[str, Array], outputs: Sequence[str], note: str = ""
    ) -> Graph:
        """Checked graph with the same inputs, of those nodes and constants that the outputs need."""
        live = needed_nodes(nodes, outputs)
        needed = {*outputs, *(i for n in live for i in n.inputs)}
        kept = {n: a for n, a in constants.items() if n in needed}
        history = (*self.history, note) if note else self.history
        made = Graph.make(self.name, live, self.input_types(), outputs, kept, history)
        return replace(made, cuts={o: cut for o, cut in self.cuts.items() if o in outputs}, tail=self.tail)

    def optimize(
        self,
        passes: Sequence[str] | None = None,
        without: Iterable[str] | str = (),
        precision: str = "float32",
    ) -> Graph:
        """Run passes; every output keeps its name, type and, in float32, its value.

        Parameters
        ----------
        passes : sequence of str, optional
            Names in the order in which to run them; `workbench.graph.passes.DEFAULT` by default, which ends with
            fusion. `workbench.graph.list_passes` says what there is.
        without : str or iterable of str
            Passes to leave out. Without "fuse" every node becomes a kernel of its own.
        precision : str
            "float32", or "bfloat16": products multiply numbers of 8 bits of precision and sum them in float32, see
            the pass of that name. Where `passes` are given they decide.

        Raises
        ------
        UsageError
            "usage.pass" for a name that is unknown, "usage.pass_order" where a pass stands before one that it
            requires, "usage.precision" for a precision that there is not.
        """
        return pass_runner(self, passes, without, precision)

    def to_precision(self, precision: str) -> Graph:
        """Return the graph optimised for a precision, as `optimize` does it."""
        return self.optimize(precision=precision)

    def explain(
        self, passes: Sequence[str] | None = None, without: Iterable[str] | str = (), precision: str = "float32"
    ) -> Report:
        """Optimise, and keep what every pass did to which node and why; see `workbench.graph.explain`."""
        return pass_explainer(self, passes, without, precision)

    def replace(self, **changes: Any) -> Graph:
        """Copy with some fields replaced; the copy is not what was read or optimised: no `origin`, no `source`."""
        return replace(self, **{"origin": None, "source": None, "open_sizes": None, **changes})

    @shown_legibly
    def __str__(self) -> str:
        if (program := self.untyped) is not None:
            return str(program)
        lines = [f"graph {self.name} ({len(self.nodes)} nodes, {len(self.constants)} constants)"]
        lines += [f"  input  {i}: {self.types[i]}" for i in self.inputs]
        lines += [f"  {n}" + "".join(f" : {self.types[o]}" for o in n.outputs if o) for n in self.nodes]
        lines += [f"  output {o}: {self.types[o]}" for o in self.outputs]
        lines += ["", f"then, typed by what a run brings: {self.tail}"] if self.tail is not None else []
        return "\n".join(lines)

    @shown_legibly
    def __repr__(self) -> str:
        if (program := self.untyped) is not None:
            return f"<Graph {self.name}: {len(program.nodes)} nodes, {program.ends}, typed by what a run brings>"
        late = f", then {len(self.tail.nodes)} typed by what a run brings" if self.tail is not None else ""
        ends = f"inputs {', '.join(self.inputs)}, outputs {', '.join(self.outputs)}"
        return f"<Graph {self.name}: {len(self.nodes)} nodes, {ends}{late}>"


def needed_nodes(nodes: Sequence[Node], outputs: Sequence[str]) -> list[Node]:
    """Those nodes on which some output depends, in their order."""
    producer = {o: n for n in nodes for o in n.outputs if o}
    stack, seen = [producer[o] for o in outputs if o in producer], set[str]()
    while stack:
        n = stack.pop()
        if n.name not in seen:
            seen.add(n.name)
            stack += [producer[i] for i in n.inputs if i in producer]
    return [n for n in nodes if n.name in seen]


def topological(nodes: tuple[Node, ...], given: set[str], outputs: Sequence[str]) -> tuple[Node, ...]:
    """Sort nodes so that each comes after what it reads, otherwise in the given order.

    Raises
    ------
    ModelError
        "model.duplicate_name", "model.invalid_graph" or "model.cycle".
    """
    producer = _producers(nodes, given)
    for n in nodes:
        for i in n.inputs:
            if i and i not in given and i not in producer:
                raise ModelError(
                    "model.invalid_graph", f"Node {n.name!r} ({n.op}) reads {i!r}, which nothing produces.", (n.name, i)
                )
    for o in outputs:
        if o not in given and o not in producer:
            raise ModelError("model.invalid_graph", f"Nothing produces the output {o!r}.", (o,))
    order: list[Node] = []
    done: dict[str, bool] = {}
    for root in nodes:
        stack = [(root, iter(root.inputs))]
        if root.name in done:
            continue
        done[root.name] = False
        while stack:
            node, rest = stack[-1]
            nxt = next((producer[i] for i in rest if i in producer and done.get(producer[i].name) is not True), None)
            if nxt is None:
                stack.pop()
                done[node.name] = True
                order.append(node)
            elif nxt.name in done:
                loop = [n.name for n, _ in stack]
                loop = loop[loop.index(nxt.name) :]
                shown = [*loop[:8], *(["…"] if len(loop) > 8 else []), loop[0]]
                text = f"The graph has a cycle: {' -> '.join(shown)}."
                raise ModelError("model.cycle", text, tuple(loop[:8]))
            else:
                done[nxt.name] = False
                stack.append((nxt, iter(nxt.inputs)))
    return tuple(order)


def _producers(nodes: tuple[Node, ...], given: set[str]) -> dict[str, Node]:
    producer: dict[str, Node] = {}
    names: set[str] = set()
    for n in nodes:
        if n.name in names:
            raise ModelError("model.duplicate_name", f"Two nodes are called {n.name!r}.", (n.name,))
        names.add(n.name)
        for o in n.outputs:
            if o and (o in producer or o in given):
                who = producer[o].name if o in producer else "a graph input or constant"
                raise ModelError(
                    "model.duplicate_name", f"Two things produce the tensor {o!r}: {who} and {n.name}.", (o, n.name)
                )
            if o:
                producer[o] = n
    return producer


def _short(value: AttrValue) -> str:
    if isinstance(value, np.ndarray):
        return f"<{value.dtype}{list(value.shape)}>"
    return "x".join(map(str, value)) if isinstance(value, tuple) else str(value)
