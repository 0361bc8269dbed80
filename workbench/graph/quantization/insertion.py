"""The network that says which tensors are bytes: QuantizeLinear and DequantizeLinear around the nodes of a plan.

A tensor that a quantised node makes keeps its name after the dequantisation; what the node itself makes is called
``NAME.real``. So readers and outputs of the network stay as they are, and tensors are compared by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from workbench.graph.graph import Array, Graph, Node
from workbench.graph.graph_editor import GraphEditor
from workbench.graph.quantization.plan import Plan
from workbench.graph.quantization.ranges import covering, symmetric

#: Opset in which (de)quantisations are written: the first with a scale for each channel.
_OPSET = 13
#: Largest bias in units of the sums; half of what int32 holds, the rest is for the sums.
_MOST = 2.0**30


def insert(plan: Plan, ranges: Mapping[str, tuple[float, float]], dtype: str) -> Graph:
    """Network with the tensors of a plan as bytes.

    Parameters
    ----------
    plan : Plan
    ranges : mapping
        Tensor -> least and largest number that bytes stand for, of each tensor that has a scale of its own.
    dtype : str
        "uint8" or "int8", of tensors; weights are int8.
    """
    return _Insertion(plan, ranges, dtype).graph()


def each_alone(
    plan: Plan, ranges: Mapping[str, tuple[float, float]], dtype: str
) -> tuple[Graph, dict[str, tuple[str, str]]]:
    """Network on real numbers with every node of a plan a second time, which reads exact numbers as bytes.

    Returns
    -------
    tuple
        The network, and for each node of the plan the tensors with its result: on real numbers, and by bytes.
    """
    return _Insertion(plan, ranges, dtype).alone()


class _Insertion:
    def __init__(self, plan: Plan, ranges: Mapping[str, tuple[float, float]], dtype: str) -> None:
        self.plan, self.source = plan, plan.graph
        self.editor = GraphEditor(plan.graph)
        self.scales = {x: covering(*r, dtype) for x, r in ranges.items()}
        self.names: dict[str, tuple[str, str]] = {}  # tensor -> names of its scale and zero point
        self.read: dict[str, str] = {}  # tensor that quantised nodes read by another name
        self.made: dict[str, str] = {}  # tensor -> what it is called before it becomes bytes
        self.weights: dict[tuple[str, int | None, str], tuple[str, Array]] = {}
        self.nodes: list[Node] = []

    def graph(self) -> Graph:
        makers = self.source.producers()
        inside = self.plan.nodes | self.plan.cuts
        for x in self.plan.tensors:
            maker = makers.get(x)
            if maker is not None and maker.name in inside:
                self.made[x] = self.editor.fresh(f"{x}.real")
            else:
                self.read[x] = self.editor.fresh(f"{x}.dequantized")
        for x in self.read:
            if x in self.source.inputs:
                self._bytes(x, x, self.read[x])
        for node in self.source.nodes:
            node = self._node(node) if node.name in self.plan.nodes else node
            self.nodes.append(replace(node, outputs=tuple(self.made.get(o, o) for o in node.outputs)))
            for x in node.outputs:
                if x in self.made:
                    self._bytes(x, self.made[x], x)
                elif x in self.read:
                    self._bytes(x, x, self.read[x])
        self.editor.nodes = self.nodes
        of = f"{len(self.plan.nodes)} of {len(self.source.nodes)} nodes"
        return self.editor.finish(f"quantize: {of} compute with bytes, {len(self.plan.tensors)} tensors are bytes")

    def alone(self) -> tuple[Graph, dict[str, tuple[str, str]]]:
        self.read = {x: self.editor.fresh(f"{x}.dequantized") for x in self.plan.tensors}
        pairs: dict[str, tuple[str, str]] = {}
        self.nodes = list(self.source.nodes)
        for x, back in self.read.items():
            self._bytes(x, x, back)
        for node in self.source.nodes:
            if node.name not in self.plan.nodes:
                continue
            x = node.outputs[0]
            y = self._copy(self._node(node))
            cut = next((n for n in self.source.nodes if n.name in self.plan.cuts and n.inputs[0] == x), None)
            if cut is not None:
                x = cut.outputs[0]
                y = self._copy(replace(cut, inputs=(y, *cut.inputs[1:])))
            if x in self.read:
                back = self.editor.fresh(f"{x}.alone")
                self._bytes(x, y, back)
                y = back
            pairs[node.name] = x, y
        self.editor.nodes = self.nodes
        self.editor.outputs = list(dict.fromkeys(y for pair in pairs.values() for y in pair))
        return self.editor.finish("every quantised node alone"), pairs

    def _copy(self, node: Node) -> str:
        """Another node of the same kind; returns the name of its result."""
        out = self.editor.fresh(f"{node.outputs[0]}.copy")
        self.nodes.append(replace(node, name=self.editor.fresh(f"{node.name}.copy"), outputs=(out,)))
        return out

    def _bytes(self, x: str, real: str, back: str) -> None:
        """Quantise a tensor, and dequantise it again."""
        scale, zero = self._scale(x)
        small = self.editor.fresh(f"{x}.bytes")
        self.nodes.append(self._linear("QuantizeLinear", (real, scale, zero), small))
        self.nodes.append(self._linear("DequantizeLinear", (small, scale, zero), back))

    def _linear(self, op: str, inputs: tuple[str, ...], out: str, axis: int | None = None) -> Node:
        attrs = {} if axis is None else {"axis": axis}
        return Node(self.editor.fresh(f"{out}.{op}"), op, inputs, (out,), attrs, "", _OPSET)

    def _scale(self, x: str) -> tuple[str, str]:
        x = self.plan.same.get(x, x)
        if x not in self.names:
            scale, zero = self.scales[x]
            self.names[x] = self.editor.constant(f"{x}.scale", scale), self.editor.constant(f"{x}.zero", zero)
        return self.names[x]

    def _node(self, node: Node) -> Node:
        """A node that reads what was bytes."""
        inputs = [self.read.get(i, i) for i in node.inputs]
        if node.op in ("Conv", "Gemm", "MatMul") and (w := self.source.constants.get(node.inputs[1])) is not None:
            unit = float(self.scales[self.plan.same.get(node.inputs[0], node.inputs[0])][0])
            axis = _channels(node, w.ndim)
            bias = node.inputs[2] if len(node.inputs) > 2 else ""
            inputs[1], scale = self._small(node.inputs[1], axis, bias, unit)
            if bias:
                inputs[2] = self._bias(bias, unit * scale.astype(np.float64))
        return replace(node, inputs=tuple(inputs))

    def _small(self, w: str, axis: int | None, bias: str, unit: float) -> tuple[str, Array]:
        """Weights in int8, dequantised, and their scales."""
        key = (w, axis, bias)
        if key not in self.weights:
            least = np.abs(self.source.constants[bias].astype(np.float64)) / (unit * _MOST) if bias else 0.0
            value, scale = symmetric(self.source.constants[w], axis, least if axis is not None else np.max(least))
            names = self.editor.constant(f"{w}.bytes", value), self.editor.constant(f"{w}.scale", scale)
            zero = self.editor.constant(f"{w}.zero", np.zeros(scale.shape, np.int8))
            out = self.editor.fresh(f"{w}.dequantized")
            self.nodes.append(self._linear("DequantizeLinear", (*names, zero), out, axis))
            self.weights[key] = out, scale
        return self.weights[key]

    def _bias(self, bias: str, unit: Array) -> str:
        """Bias in units of the sums, dequantised."""
        value = self.source.constants[bias].astype(np.float64)
        value = np.broadcast_to(value, np.broadcast_shapes(value.shape, unit.shape))
        scale = np.broadcast_to(unit, value.shape).astype(np.float32)
        whole = self.editor.constant(f"{bias}.sums", np.rint(value / scale).astype(np.int32))
        zero = self.editor.constant(f"{bias}.zero", np.zeros(value.shape, np.int32))
        out = self.editor.fresh(f"{bias}.dequantized")
        self.nodes.append(
            self._linear("DequantizeLinear", (whole, self.editor.constant(f"{bias}.scale", scale), zero), out, 0)
        )
        return out


def _channels(node: Node, rank: int) -> int | None:
    """Axis of the weights along which results differ; None where a scale for each is not possible."""
    if node.op == "Conv":
        return 0
    if node.op == "Gemm":
        return 0 if node.attrs.get("transB", 0) else 1
    return 1 if rank == 2 else None
