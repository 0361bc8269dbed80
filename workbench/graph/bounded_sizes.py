"""Typed graphs of models in which data decide how long a tensor is: boxes that are kept, elements that are not 0.

A tensor of that kind has its largest size in the graph, and a count beside it; what lies behind the count is 0 or
computed from zeros, and nobody reads it. What follows is compiled once, on the largest size, for as long as each slice
of a result follows from the same slice of what it reads. The nodes for which that does not hold (a Shape, a sum over
the slices, a further choice among them) are the graph's `tail`, which is typed when the count is known. So are nodes
whose types depend on values that a run brings, and what reads their results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from workbench.errors import ModelError
from workbench.graph.evaluation import infer
from workbench.graph.graph import Array, Graph, Node, TensorType
from workbench.graph.model import Declared, Program, within_bounds
from workbench.graph.opdef import opdef
from workbench.graph.open_sizes import fixed
from workbench.graph.operator_call import Call
from workbench.graph.ops.counted import Counted, counted
from workbench.graph.type_inference import follow
from workbench.model_files.element_types import DTYPES

#: Problems of a node that the values at run time may solve.
_OPEN = ("model.dynamic_value", "model.dynamic_shape")
#: Problems of inputs that arrays at run time may solve.
_UNTYPED = ("model.unresolved_dim", "model.unsupported_dtype")


def graph_of(program: Program, shapes: Mapping[str, Sequence[int]]) -> Graph:
    """Typed graph of a program, with the largest size of what data decide.

    What depends on values that a run brings, such as the shape of a Reshape, is its tail; so is what reads or makes
    elements that a typed graph cannot hold, and all of a network whose inputs are open or of such elements.

    Raises
    ------
    ModelError
        As `Program.graph` does, for what no run can bring.
    """
    try:
        types = program.types(shapes)
    except ModelError as e:
        if e.code not in _UNTYPED:
            raise
        return Graph.of_tail(fixed(program, shapes))
    try:
        return program.graph(shapes)
    except ModelError as e:
        if e.code not in (*_OPEN, *_UNTYPED):
            raise
        walk = _Walk(program, types)
        for node in program.nodes:
            walk.take(node)
    if not walk.ends:  # nothing to compile ahead
        return Graph.of_tail(fixed(program, {name: t.shape for name, t in types.items()}))
    return walk.graph(types)


within_bounds.provide(graph_of)


class _Walk:
    """The nodes of a program in order: those that are typed by largest sizes, and those that have to wait."""

    def __init__(self, program: Program, types: Mapping[str, TensorType]) -> None:
        self._program = program
        self._types = {**types, **{n: TensorType(a.shape, a.dtype.name) for n, a in program.constants.items()}}
        self._values: dict[str, Array] = dict(program.constants)
        self._cuts: dict[str, tuple[str, int]] = {}
        self._nodes: list[Node] = []
        self._late: list[Node] = []
        self._waits: set[str] = set()

    def take(self, node: Node) -> None:
        """Type a node, or let it wait for a count."""
        marked = {i: self._cuts[i] for i in node.inputs if i in self._cuts}
        if self._waits.isdisjoint(node.inputs) and not (marked and counted(node)):
            try:
                self._put(counted(node) or node, marked)
                return
            except ModelError as e:
                if e.code not in _OPEN:
                    raise
        self._late.append(node)
        self._waits.update(o for o in node.outputs if o)

    def _put(self, node: Node, marked: Mapping[str, tuple[str, int]]) -> None:
        call = Call.of(node, self._types, self._values)
        outs, op = infer(call), opdef(node)
        if any(t.dtype not in DTYPES for t in outs):
            raise call.error("dynamic_shape", "has results of a type that the stages after this one know")
        made = [o for o in node.outputs if o]
        if isinstance(op, Counted):
            found = {o: (node.outputs[-1], axis) for o, axis in zip(node.outputs, op.cut_axes(call), strict=False)
                     if o and axis is not None}  # fmt: skip
        elif marked:
            count, axis = (
                _one(call, marked),
                _axis_of_result(call, {node.inputs.index(i): a for i, (_, a) in marked.items()}, outs),
            )
            found = dict.fromkeys(made, (count, axis))
        else:
            found = {}
        self._types |= {o: t for o, t in zip(node.outputs, outs, strict=False) if o}
        self._cuts |= found
        if not marked:
            self._values.update(zip(node.outputs, follow(call, outs), strict=False))
        self._nodes.append(node)

    @property
    def ends(self) -> tuple[str, ...]:
        """Tensors that the typed part has to give: the outputs, or what the tail and its caller read."""
        program = self._program
        if not self._late:
            return program.outputs
        read = dict.fromkeys((*(i for n in self._late for i in n.inputs), *program.outputs))
        made = {o for n in self._nodes for o in n.outputs}
        return tuple(x for x in read if x and x in made)

    def graph(self, types: Mapping[str, TensorType]) -> Graph:
        """Graph of what was typed; what waits is its tail."""
        ends = self.ends
        cuts = {o: self._cuts[o] for o in ends if o in self._cuts}
        outputs = tuple(dict.fromkeys((*ends, *(count for count, _ in cuts.values()))))
        used = {i for n in self._nodes for i in n.inputs} | set(outputs)
        constants = {n: a for n, a in self._program.constants.items() if n in used}
        made = Graph.make(self._program.name, self._nodes, types, outputs, constants)
        return replace(made, cuts=cuts, tail=self._tail(types, ends) if self._late else None)

    def _tail(self, types: Mapping[str, TensorType], ends: Sequence[str]) -> Program:
        program = self._program
        read = {i for n in self._late for i in n.inputs} | set(program.outputs)
        given = []
        for name in (x for x in (*types, *ends) if x in read):
            t, cut = self._types[name], self._cuts.get(name)
            dims = (None if cut and cut[1] == d else n for d, n in enumerate(t.shape))
            given.append(Declared(name, t.dtype, tuple(dims)))
        constants = {n: a for n, a in program.constants.items() if n in read}
        return Program.make(program.name, self._late, given, program.outputs, constants)


def _one(c: Call, marked: Mapping[str, tuple[str, int]]) -> str:
    """The count that all tensors of a node have which data cut."""
    counts = {count for count, _ in marked.values()}
    if len(counts) > 1:
        raise c.error("dynamic_shape", "reads tensors of several lengths that are known at run time")
    return counts.pop()


def _axis_of_result(c: Call, axes: Mapping[int, int], outs: Sequence[TensorType]) -> int:
    """Axis of the results along which each slice follows from the same slice of the marked inputs."""
    found = _grown(c, axes, outs)
    if found is None or not all(opdef(c.node).keeps_slices(c, i, axis, found) for i, axis in axes.items()):
        raise c.error("dynamic_shape", "needs a length that is known at run time")
    return found


def _grown(c: Call, axes: Mapping[int, int], outs: Sequence[TensorType]) -> int | None:
    """The only axis of the results that grows as the marked inputs do, found by making them longer."""
    types, lengths = list(c.types), set[int]()
    for i, axis in axes.items():
        t = c.type(i)
        lengths.add(t.shape[axis])
        types[i] = TensorType((*t.shape[:axis], t.shape[axis] + 1, *t.shape[axis + 1 :]), t.dtype)
    values = tuple(None if i in axes else v for i, v in enumerate(c.values))
    try:
        larger = infer(replace(c, types=tuple(types), values=values))
    except ModelError:
        return None
    found = set[int]()
    for before, after in zip(outs, larger, strict=True):
        if before.rank != after.rank:
            return None
        changed = [d for d, (a, b) in enumerate(zip(before.shape, after.shape, strict=True)) if a != b]
        if len(changed) != 1 or lengths != {before.shape[changed[0]]}:
            return None
        found.add(changed[0])
        if after.shape[changed[0]] != before.shape[changed[0]] + 1:
            return None
    return found.pop() if len(found) == 1 else None
