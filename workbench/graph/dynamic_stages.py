"""Models whose shapes are known only when they run: cut into stages that are typed by what has arrived so far.

A stage is the longest run of nodes whose types follow from the shapes of what is there, and from the values of those
small tensors that say shapes (the target of a Reshape, the sizes of a Resize). Where even that is not enough (Loop,
sequences) one node is computed by its reference, and the next stage begins with its result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from workbench.errors import ModelError
from workbench.graph.evaluation import infer, obstacle
from workbench.graph.graph import Array, Graph, Node, TensorType
from workbench.graph.model import Program
from workbench.graph.opdef import opdef
from workbench.graph.operator_call import Call
from workbench.graph.ops.counted import Counted, counted
from workbench.graph.type_inference import FOLLOW, follow, make_call
from workbench.model_files.element_types import DTYPES

Values: TypeAlias = Mapping[str, Any]

#: Problems of a node that the values at run time may solve.
_OPEN = ("model.dynamic_value", "model.dynamic_shape")


@dataclass(frozen=True, slots=True, eq=False)
class Stage:
    """Nodes ``[start, stop)`` of a program as a typed graph; without a graph, one node for the reference.

    Attributes
    ----------
    start, stop : int
    graph : Graph or None
    pinned : tuple of str
        Tensors on whose values the types depend.
    cut : tuple of (str, int)
        Outputs that are larger than what counts of them, and the axes.
    count : str
        The output that says how much counts; "" where nothing is cut.
    """

    start: int
    stop: int
    graph: Graph | None
    pinned: tuple[str, ...] = ()
    cut: tuple[tuple[str, int], ...] = ()
    count: str = ""


def typed_arrays(values: Values) -> dict[str, TensorType]:
    """Types of those values that are tensors that a graph can hold."""
    return {
        n: TensorType(v.shape, v.dtype.name)
        for n, v in values.items()
        if isinstance(v, np.ndarray) and v.dtype.name in DTYPES
    }


def next_stage(program: Program, start: int, values: Values) -> Stage:
    """The stage that begins at node `start`, for the values that are there (the program's constants aside)."""
    types = typed_arrays(values)
    pinned: dict[str, Array] = {}
    while True:
        run = _Run(program, types, pinned)
        stop = run.extend(start)
        more = [t for t in run.missing if t not in pinned and t in types and np.size(values[t]) <= FOLLOW]
        if not more:
            break
        pinned |= {t: np.asarray(values[t]) for t in more}
    if stop == start:
        return _counted_stage(program, start, types, values) or Stage(start, start + 1, None)
    return Stage(start, stop, _graph(program, start, stop, types, pinned), tuple(pinned))


def _counted_stage(program: Program, at: int, types: Mapping[str, TensorType], values: Values) -> Stage | None:
    """One node whose data decide how large its result is; None where its largest size is not known either."""
    node = counted(program.nodes[at])
    every = {**types, **typed_arrays(program.constants)}
    if node is None or any(i and i not in every for i in node.inputs):
        return None
    op, more = opdef(node), {i: np.asarray(values[i]) for i in node.inputs if i in types and _is_parameter(node, i)}
    known = {**program.constants, **more}
    call = make_call(node, every, known)
    assert isinstance(op, Counted)
    infer(call)
    constants = {i: known[i] for i in node.inputs if i in known}
    inputs = {i: types[i] for i in node.inputs if i and i not in constants}
    graph = Graph.make(program.name, [node], inputs, [o for o in node.outputs if o], constants)
    cut = tuple((o, d) for o, d in zip(node.outputs, op.cut_axes(call), strict=False) if o and d is not None)
    return Stage(at, at + 1, graph, tuple(more), cut, node.outputs[-1])


def _is_parameter(node: Node, x: str) -> bool:
    return any(node.inputs[i] == x for i in opdef(node).parameters if i < len(node.inputs))


class _Run:
    """One pass of inference from a node on; `missing` are the given tensors whose values would take it further."""

    def __init__(self, program: Program, types: Mapping[str, TensorType], pinned: Mapping[str, Array]) -> None:
        self._program = program
        self._values: dict[str, Array] = {
            **program.constants,
            **pinned,
        }  # untyped ones too: no node of a stage reads them
        self._types = {**types, **typed_arrays(program.constants)}
        self._sources: dict[str, frozenset[str]] = {n: frozenset((n,)) for n in types}
        self.missing: frozenset[str] = frozenset()

    def extend(self, start: int) -> int:
        """Position behind the last node that can be typed."""
        for k in range(start, len(self._program.nodes)):
            if not self._type(self._program.nodes[k]):
                return k
        return len(self._program.nodes)

    def _type(self, node: Node) -> bool:
        if any(i and i not in self._types for i in node.inputs):
            return False
        sources = frozenset[str]().union(*(self._sources.get(i, frozenset()) for i in node.inputs))
        call = make_call(node, self._types, self._values)
        try:
            outs = infer(call)
        except ModelError as e:
            if e.code not in _OPEN:
                raise
            asked = [i for i in node.inputs if i and i not in self._values]
            asked = [i for i in asked if i in e.where[1:]] or asked
            self.missing = frozenset[str]().union(*(self._sources.get(i, frozenset()) for i in asked))
            return False
        if any(t.dtype not in DTYPES for t in outs) or self._wants_settings(call, outs):
            return False
        self._types.update({o: t for o, t in zip(node.outputs, outs, strict=False) if o})
        self._sources.update(dict.fromkeys(node.outputs, sources))
        self._values.update(zip(node.outputs, follow(call, outs), strict=False))
        return True

    def _wants_settings(self, c: Call, outs: Sequence[TensorType]) -> bool:
        """Whether the values of inputs that are part of the code, such as an axis, would let a node be compiled."""
        at = [c.node.inputs[i] for i in opdef(c.node).parameters if c.moving(i)]
        known = frozenset[str]().union(*(self._sources.get(i, frozenset()) for i in at)) - set(self._values)
        if not known or any(self._types[t].size > FOLLOW for t in known) or not obstacle(c, outs):
            return False
        self.missing = known
        return True


def _graph(
    program: Program, start: int, stop: int, types: Mapping[str, TensorType], pinned: Mapping[str, Array]
) -> Graph:
    nodes = program.nodes[start:stop]
    read = {i for n in nodes for i in n.inputs if i}
    made = [o for n in nodes for o in n.outputs if o]
    later = {i for n in program.nodes[stop:] for i in n.inputs} | set(program.outputs)
    constants = {n: a for n, a in {**program.constants, **pinned}.items() if n in read}
    inputs = {n: t for n, t in types.items() if n in read and n not in constants}
    outputs = [o for o in made if o in later]
    if not outputs:  # nothing of it is needed
        outputs = made[-1:]
    return Graph.make(program.name, nodes, inputs, outputs, constants)


def stage_key(stage_start: int, values: Values, pinned: Sequence[str]) -> tuple[Any, ...]:
    """What the typing of a stage depends on: shapes and dtypes of what is there, and the pinned values."""
    kinds = tuple(sorted((n, t.shape, t.dtype) for n, t in typed_arrays(values).items()))
    return stage_start, kinds, tuple((n, np.asarray(values[n]).tobytes()) for n in pinned)
