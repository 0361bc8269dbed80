"""Channels last: convolutions and poolings in NHWC, the layout in which generated code vectorises over channels.

One walk in topological order. Every image tensor may exist in both layouts; the channels-last copy is used as long
as the operators understand it, and a transposition appears only where one does not (at the network's borders, as a
rule).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..edit import GraphEditor
from ..graph import Array, AttrValue, Graph, Node
from ..infer import make_call
from ..opdef import opdef
from ..ops.reduce import Reduce
from ..ops.tensor import Pad
from .base import graph_pass

#: Operators that take a `layout` attribute.
SPATIAL = (
    "Conv",
    "MaxPool",
    "AveragePool",
    "GlobalAveragePool",
    "GlobalMaxPool",
    "InstanceNormalization",
    "LRN",
    "BatchNormalization",
)


@graph_pass("layout_nhwc")
def layout_nhwc(graph: Graph) -> Graph:
    """Move images to channels-last layout and weights to HWIO, and carry the layout through what lies between."""
    walk = _Walk(graph)
    for node in graph.nodes:
        walk.visit(node)
    for out in graph.outputs:
        walk.plain(out)
    if not walk.count:
        return graph
    walk.editor.nodes = walk.nodes
    return walk.editor.finish(f"layout_nhwc: {walk.count} nodes in NHWC, {walk.moves} transpositions at the borders")


def _to_last(rank: int) -> tuple[int, ...]:
    return (0, *range(2, rank), 1)


def _to_first(rank: int) -> tuple[int, ...]:
    return (0, rank - 1, *range(1, rank - 1))


class _Walk:
    def __init__(self, graph: Graph) -> None:
        self.graph, self.editor = graph, GraphEditor(graph)
        self.nodes: list[Node] = []
        self.last: dict[str, str] = {}  # tensor -> its channels-last copy
        self.have = set(graph.inputs) | set(graph.constants)  # tensors that exist as the model has them
        self.count = self.moves = 0

    # ---- getting a tensor in one layout or the other ----

    def nhwc(self, x: str) -> str:
        """Name of the channels-last copy of `x`, made when there is none yet."""
        if x not in self.last:
            rank = self.graph.types[x].rank
            if x in self.graph.constants:
                self.last[x] = self.editor.constant(f"{x}.nhwc", np.transpose(self.graph.constants[x], _to_last(rank)))
            else:
                self.last[x] = self._move(x, self.graph.types[x].shape, _to_last(rank), f"{x}.nhwc")
        return self.last[x]

    def plain(self, x: str) -> str:
        """Make sure that `x` exists as the model has it; returns `x`."""
        if x and x not in self.have:
            t = self.graph.types[x]
            shape = tuple(t.shape[p] for p in _to_last(t.rank))
            self._move(self.last[x], shape, _to_first(t.rank), x, exact=True)
            self.have.add(x)
        return x

    def _move(self, x: str, shape: tuple[int, ...], perm: tuple[int, ...], base: str, exact: bool = False) -> str:
        """Transpose, or only reshape where no data moves."""
        if [p for p in perm if shape[p] != 1] == [p for p in range(len(shape)) if shape[p] != 1]:
            node = self.editor.reshape(x, tuple(shape[p] for p in perm), base, exact)
        else:
            node = self.editor.make("Transpose", (x,), base, {"perm": perm}, exact)
            self.moves += 1
        self.nodes.append(node)
        return node.outputs[0]

    def _known(self, x: str) -> bool:
        return x in self.last and x not in self.graph.constants

    # ---- nodes ----

    def visit(self, node: Node) -> None:
        """Emit the node in one layout or the other."""
        rule = self._rule(node)
        new = rule(node) if rule is not None else None
        if new is None:
            for i in node.inputs:
                self.plain(i)
            self.nodes.append(node)
            self.have.update(o for o in node.outputs if o)
            return
        if new.outputs == node.outputs:  # the result is in the model's layout (a view, a reduction)
            self.have.update(node.outputs)
        else:
            self.last[node.outputs[0]] = new.outputs[0]
        self.nodes.append(new)
        self.count += 1

    def _rule(self, node: Node) -> Callable[[Node], Node | None] | None:
        x = node.inputs[0] if node.inputs else ""
        rank = self.graph.types[x].rank if x else 0
        op = opdef(node)
        if node.op in SPATIAL and not any(node.outputs[1:]):
            return self._spatial if 3 <= rank <= 5 and not node.attrs.get("layout") else None
        if op.view and not op.elementwise:
            return self._view if self._known(x) else None
        if not any(self._known(i) for i in node.inputs):
            return None
        if op.elementwise:
            return self._elementwise
        if isinstance(op, Reduce):
            return self._reduce
        return {"Concat": self._axis, "Softmax": self._axis, "Pad": self._pad}.get(node.op)

    def _result(self, node: Node, inputs: tuple[str, ...], attrs: dict[str, AttrValue]) -> Node:
        out = self.editor.fresh(f"{node.outputs[0]}.nhwc")
        return replace(node, inputs=inputs, outputs=(out,), attrs=attrs)

    def _spatial(self, node: Node) -> Node:
        inputs = [self.nhwc(node.inputs[0]), *node.inputs[1:]]
        if node.op == "Conv":
            inputs[1] = self._weights(node.inputs[1])
        for i in inputs[2:]:
            self.plain(i)
        return self._result(node, tuple(inputs), {**node.attrs, "layout": "NHWC"})

    def _weights(self, w: str) -> str:
        rank = self.graph.types[w].rank
        perm = (*range(2, rank), 1, 0)
        if w in self.graph.constants:
            return self.editor.constant(f"{w}.hwio", np.transpose(self.graph.constants[w], perm))
        return self._move(self.plain(w), self.graph.types[w].shape, perm, f"{w}.hwio")

    def _elementwise(self, node: Node) -> Node | None:
        rank = self.graph.types[node.outputs[0]].rank
        if any(self._low_rank(i, rank) for i in node.inputs if i):
            return None
        return self._result(node, tuple(self._operand(i, rank) if i else "" for i in node.inputs), dict(node.attrs))

    def _low_rank(self, x: str, rank: int) -> bool:
        """Whether `x` is a run-time operand that broadcasts along missing leading dimensions."""
        t = self.graph.types[x]
        return x not in self.graph.constants and t.rank < rank and t.size > 1

    def _operand(self, x: str, rank: int) -> str:
        t = self.graph.types[x]
        if t.size == 1 and t.rank < rank:
            return self.plain(x)
        if x not in self.graph.constants:
            return self.nhwc(x)
        full = self.graph.constants[x].reshape((1,) * (rank - t.rank) + t.shape)
        moved: Array = np.transpose(full, _to_last(rank))
        lead = next((d for d, e in enumerate(moved.shape) if e != 1), rank - 1)
        return self.editor.constant(f"{x}.nhwc", moved.reshape(moved.shape[lead:]))

    def _axis(self, node: Node) -> Node | None:
        """Concat, Softmax: the axis gets its new place."""
        rank = self.graph.types[node.inputs[0]].rank
        axis = node.attrs.get("axis", 1 if node.op == "Concat" else -1)
        if not isinstance(axis, int) or (node.op == "Softmax" and node.version < 13):
            return None
        at = _to_last(rank).index(axis % rank)
        return self._result(node, tuple(self.nhwc(i) for i in node.inputs), {**node.attrs, "axis": at})

    def _reduce(self, node: Node) -> Node | None:
        op = opdef(node)
        assert isinstance(op, Reduce)
        call = make_call(node, self.graph.types, self.graph.constants)
        rank, axes, keep = call.type(0).rank, op.axes(call), call.get_int("keepdims", 1)
        new = tuple(sorted(_to_last(rank).index(a) for a in axes))
        inputs = (self.nhwc(node.inputs[0]),)
        attrs: dict[str, AttrValue] = {"axes": new, "keepdims": keep}
        if keep:
            return replace(self._result(node, inputs, attrs), version=11)
        rest = [p for d, p in enumerate(_to_last(rank)) if d not in new]
        return replace(node, inputs=inputs, attrs=attrs, version=11) if rest == sorted(rest) else None

    def _pad(self, node: Node) -> Node | None:
        call = make_call(node, self.graph.types, self.graph.constants)
        op = opdef(node)
        assert isinstance(op, Pad)
        rank = call.type(0).rank
        pads = op.pads(call)
        order = _to_last(rank)
        flat = tuple(pads[p][0] for p in order) + tuple(pads[p][1] for p in order)
        attrs: dict[str, AttrValue] = {"pads": flat, "mode": call.get_str("mode", "constant"), "value": op.fill(call)}
        return replace(self._result(node, (self.nhwc(node.inputs[0]),), attrs), version=10)

    def _view(self, node: Node) -> Node | None:
        """A reshape reads the channels-last copy as it is when the image is one pixel."""
        x = self.graph.types[node.inputs[0]]
        if x.rank < 3 or any(e != 1 for e in x.shape[2:]) or node.inputs[0] in self.have:
            return None
        out = node.outputs[0]
        return self.editor.reshape(self.last[node.inputs[0]], self.graph.types[out].shape, out, exact=True)
