"""Which nodes of a network compute with bytes, and why the others do not.

Products and convolutions with constant weights gain most, so each of them is chosen. What stands between them (sums,
pooling, concatenations, reshapes) is chosen where it has bytes on both sides: then no number goes through memory as
float32. Everything else stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from workbench.errors import ModelError
from workbench.graph.as_loaded import require_as_loaded
from workbench.graph.graph import Graph, Node
from workbench.graph.opdef import opdef, operators
from workbench.graph.passes.base import run_pass
from workbench.graph.passes.quantized.qdq_to_integer import cut_range

#: Passes that run first: what they fold away needs no scale.
PREPARATION = ("dead_code", "fold_constants", "drop_identities", "fold_pads", "fold_batch_norm", "fold_scale")
#: Operators on real numbers that have one on quantised ones; those with weights stand in `_WEIGHTED`.
_PAIRED = frozenset(op.real for op in operators(lambda op: op.real).values()) | {"Concat"}
_WEIGHTED = ("Conv", "Gemm", "MatMul")
#: What the range of a quantised tensor does by itself.
_CUTS = ("Relu", "Clip")


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a node computes with bytes, and why (not)."""

    node: str
    op: str
    quantised: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What is quantised.

    Attributes
    ----------
    graph : Graph
        The network after `PREPARATION`.
    decisions : tuple of Decision
        One for each of its nodes.
    tensors : tuple of str
        Tensors that become bytes, in the order in which they are made.
    same : mapping
        Tensor -> the one whose scale it has, because a node only moves or chooses elements.
    cuts : frozenset of str
        Nodes (Relu, Clip) that do what the range of the bytes does.
    """

    graph: Graph
    decisions: tuple[Decision, ...]
    tensors: tuple[str, ...]
    same: Mapping[str, str]
    cuts: frozenset[str]

    @property
    def nodes(self) -> frozenset[str]:
        """Names of the nodes that compute with bytes."""
        return frozenset(d.node for d in self.decisions if d.quantised)


def prepared(graph: Graph) -> Graph:
    """Network as it is quantised: normalisations folded into convolutions, sums of two tensors as additions.

    Raises
    ------
    ModelError
        "model.already_quantised".
    """
    for n in graph.nodes:
        if "QuantizeLinear" in n.op or "DequantizeLinear" in n.op or "Integer" in n.op or n.op.startswith("QLinear"):
            text = f"The graph {graph.name!r} is quantised already: {n.name!r} is {n.op}."
            raise ModelError("model.already_quantised", text, (n.name, n.op), "compile it as it is")
    require_as_loaded(graph, "quantised")
    for name in PREPARATION:
        graph = run_pass(graph, name)
    return graph.rebuilt([_usual(n, graph) for n in graph.nodes], graph.constants, graph.outputs)


def _usual(node: Node, graph: Graph) -> Node:
    """A node by the name under which there is one on bytes: sums of two tensors, means of whole channels."""
    if node.op == "Sum" and len(node.inputs) == 2:
        return replace(node, op="Add", version=14)
    if node.op == "AveragePool":
        whole, out = (graph.types[x].shape[2:] for x in (node.inputs[0], node.outputs[0]))
        unpadded = not any(np.ravel(np.asarray(node.attrs.get("pads", ()))))
        if unpadded and node.attrs.get("kernel_shape") == whole and out == (1,) * len(whole):
            return replace(node, op="GlobalAveragePool", attrs={}, version=1)
    return node


def make_plan(graph: Graph, excluded: Mapping[str, str] | None = None) -> Plan:
    """Decide about every node of a prepared graph; `excluded` has the reasons of nodes that have to stay."""
    return _Planner(graph, excluded or {}).plan()


class _Planner:
    def __init__(self, graph: Graph, excluded: Mapping[str, str]) -> None:
        self.graph, self.excluded = graph, excluded
        self.makers, self.readers = graph.producers(), graph.consumers()
        self.chosen: dict[str, str] = {}  # node -> reason
        self.cuts: dict[str, str] = {}  # node that a range replaces -> node before it

    def plan(self) -> Plan:
        left: dict[str, str] = {}
        for node in self.graph.nodes:
            if why := self._obstacle(node):
                left[node.name] = why
            else:
                self.chosen[node.name] = "weights are constant" if node.op in _WEIGHTED else "bytes on both sides"
        for node in reversed(self.graph.nodes):
            if node.name in self.chosen and node.op not in _WEIGHTED and not self._has_reader(node.outputs[0]):
                del self.chosen[node.name]
                left[node.name] = "no node that computes with bytes reads it"
        cuts = {cut: before for cut, before in self.cuts.items() if before in self.chosen}
        left |= {cut: f"part of {before}: its bytes end where this node cuts off" for cut, before in cuts.items()}
        decisions = tuple(
            Decision(n.name, n.op, n.name in self.chosen, self.chosen.get(n.name) or left[n.name])
            for n in self.graph.nodes
        )
        tensors, same = self._tensors()
        return Plan(self.graph, decisions, tensors, same, frozenset(cuts))

    # ---- one node ----

    def _obstacle(self, node: Node) -> str:
        """Why a node does not compute with bytes; "" where it does, as far as what is before it says."""
        if node.name in self.excluded:
            return self.excluded[node.name]
        if node.domain not in ("", "ai.onnx"):
            return "there is no such operator on bytes"
        if node.op in _WEIGHTED:
            return self._weights_obstacle(node)
        if node.op in _CUTS and self._cut(node):
            return "its input is no bytes"
        if node.op not in _PAIRED and not opdef(node).on_quantised:
            return "there is no such operator on bytes"
        data = self._data(node)
        if not data or not all(self._real(x) for x in data):
            return "an input is constant, or not float32"
        if any(node.outputs[1:]):
            return "it has several results"
        few = node.op in ("Add", "Mul") and self.graph.types[node.outputs[0]].size < 2
        return "" if any(self._made_in_bytes(x) for x in data) and not few else "no input is made in bytes"

    def _weights_obstacle(self, node: Node) -> str:
        graph, (x, w, *more) = self.graph, node.inputs
        weights, bias = graph.constants.get(w), more[0] if more else ""
        if not self._real(x) or graph.types[w].dtype != "float32":
            return "an input is constant, or not float32"
        if weights is not None and not np.isfinite(weights).all():
            return "weights are not finite"
        if node.op == "MatMul":
            ranks = graph.types[x].rank, graph.types[w].rank
            return "" if min(ranks) >= 2 else "it is no product of matrices"
        if weights is None:
            return "weights are computed"
        value = graph.constants.get(bias) if bias else None
        if bias and (value is None or value.ndim != 1 or not np.isfinite(value).all()):
            return "the bias is computed, or has other dimensions than one"
        if node.op == "Gemm":
            scaled = any(node.attrs.get(k, 1.0) != 1.0 for k in ("alpha", "beta")) or node.attrs.get("transA", 0)
            return "it scales or transposes its operands" if scaled else ""
        return ""

    def _cut(self, node: Node) -> bool:
        """Whether Relu or Clip follows a node in bytes so that the range of the bytes takes its place."""
        before = self.makers.get(node.inputs[0])
        alone = len(self.readers[node.inputs[0]]) == 1 and node.inputs[0] not in self.graph.outputs
        if before is None or before.name not in self.chosen or opdef(before).on_quantised or not alone:
            return False
        limits = [self.graph.constants.get(i) for i in node.inputs[1:] if i]
        if any(v is None for v in limits):
            return False
        low, high = cut_range(node, [None if v is None else float(v.reshape(())) for v in limits])
        if low <= 0 <= high:
            self.cuts[node.name] = before.name
        return low <= 0 <= high

    def _data(self, node: Node) -> tuple[str, ...]:
        return node.inputs if node.op in _PAIRED else node.inputs[:1]

    def _real(self, x: str) -> bool:
        return x not in self.graph.constants and self.graph.types[x].dtype == "float32"

    def _source(self, x: str) -> str:
        """Name of the node whose result a tensor is, but for what the range of bytes does; "" of an input."""
        maker = self.makers.get(x)
        return "" if maker is None else self.cuts.get(maker.name, maker.name)

    def _made_in_bytes(self, x: str) -> bool:
        return self._source(x) in self.chosen

    def _has_reader(self, x: str) -> bool:
        after = self.readers.get(x, [])
        cut = next((n for n in after if n.name in self.cuts), None)
        return self._has_reader(cut.outputs[0]) if cut else any(n.name in self.chosen for n in after)

    # ---- tensors ----

    def _tensors(self) -> tuple[tuple[str, ...], dict[str, str]]:
        chosen: dict[str, None] = {}
        same: dict[str, str] = {}
        for node in self.graph.nodes:
            if node.name not in self.chosen:
                continue
            data = self._operands(node)
            chosen |= dict.fromkeys(data)
            if node.op not in ("Gemm", "MatMul"):  # what nobody reads as bytes leaves those as real numbers
                out = self._out(node)
                chosen[out] = None
                if opdef(node).on_quantised:
                    same[out] = same.get(data[0], data[0])
        return tuple(chosen), same

    def _operands(self, node: Node) -> list[str]:
        names = node.inputs[:2] if node.op in _WEIGHTED else self._data(node)
        return [x for x in names if x not in self.graph.constants]

    def _out(self, node: Node) -> str:
        """Tensor that has the result after what the range of the bytes does."""
        return next((self.graph.node(c).outputs[0] for c, b in self.cuts.items() if b == node.name), node.outputs[0])
