"""Graphs as ONNX models."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from workbench.arguments import is_a
from workbench.errors import ModelError
from workbench.graph.graph import AttrValue, Graph, Node, TensorType
from workbench.graph.model import Program
from workbench.graph.onnx.model_proto_file import save_onnx as write
from workbench.graph.onnx.sparse_blocks import BLOCKS, text_of
from workbench.graph.operator_facts import BLOCK

if TYPE_CHECKING:
    import onnx

#: Opset from which on (de)quantisation knows a scale for each channel; what is older is written as this one.
OLDEST = 13
#: Attributes that the standard does not have: what bodies read, and in what blocks weights are zeros.
_OURS = ("captures", BLOCK)
#: Version of the file format for the oldest opsets that are written; newer opsets need newer ones.
_OLDEST_IR = 8


def save_onnx(graph: Graph, path: str | os.PathLike[str]) -> None:
    """Write a graph as an ONNX model, in the newest opset that one of its nodes is written in.

    Parameters
    ----------
    graph : Graph
        As `load_onnx` or `quantize` returns it; one that was optimised has operators that no other program knows.
    path : path
        Weights stand in the same file, which ends at 2 GiB.

    Raises
    ------
    ModelError
        "model.not_writable" for a node that ONNX does not have in that opset, "model.file_too_large",
        "model.unwritable".
    """
    write(to_onnx(graph), path)


def to_onnx(graph: Graph) -> onnx.ModelProto:
    """Graph as a model in memory; raises "model.not_writable" as `save_onnx` does."""
    import onnx

    is_a("graph", graph, Graph, "load a model with load_onnx(path) first")
    if graph.tail is not None:
        text = f"Of the graph {graph.name!r} only what comes before {graph.tail.nodes[0].name!r} has types to write."
        hint = "write graph.with_outputs(names), or load it with shapes: load_onnx(path, shapes)"
        raise ModelError("model.not_writable", text, (graph.name,), hint)
    opset = max([OLDEST, *(n.version for n in graph.nodes if _domain(n) == "")])
    made = _Writer(opset)
    nodes = [p for n in graph.nodes for p in made.node(n, graph.types)]
    if graph.groups or any(n.domain == "workbench" for n in nodes):
        raise ModelError(
            "model.not_writable",
            f"The graph {graph.name!r} is optimised: its nodes are those of our kernels, not of ONNX.",
            (graph.name,),
            "write the graph as it was before (graph.origin.graph)",
        )
    inputs, outputs = ([_declared(n, graph.types[n]) for n in names] for names in (graph.inputs, graph.outputs))
    weights = [onnx.numpy_helper.from_array(_stored(v), k) for k, v in (*graph.constants.items(), *made.constants)]
    proto = onnx.helper.make_graph(nodes, graph.name, inputs, outputs, weights)
    others = {_domain(n): n.version for n in graph.nodes if _domain(n)}
    opsets = [onnx.helper.make_opsetid(d, v) for d, v in {"": opset, **others}.items()]
    needed = max(_OLDEST_IR, onnx.helper.find_min_ir_version_for(opsets, ignore_unknown=True))
    model = onnx.helper.make_model(proto, opset_imports=opsets, ir_version=needed, producer_name="workbench")
    if blocks := text_of(graph.nodes):
        model.metadata_props.add(key=BLOCKS, value=blocks)
    return model


def _domain(node: Node) -> str:
    return "" if node.domain == "ai.onnx" else node.domain


def _stored(
    value: np.ndarray[tuple[int, ...], np.dtype[np.generic]],
) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
    return np.ascontiguousarray(value).reshape(value.shape)


def _declared(name: str, t: TensorType) -> onnx.ValueInfoProto:
    import onnx

    code = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(t.dtype))
    return onnx.helper.make_tensor_value_info(name, code, t.shape)


class _Writer:
    """Nodes of one model; `constants` are those that newer forms of older nodes need."""

    def __init__(self, opset: int) -> None:
        self.opset = opset
        self.constants: list[tuple[str, np.ndarray[tuple[int, ...], np.dtype[np.generic]]]] = []

    def node(self, node: Node, types: Mapping[str, TensorType]) -> list[onnx.NodeProto]:
        """One node, or those that do the same in the opset of the model."""
        import onnx

        captured = node.attrs.get("captures", ())
        inputs = node.inputs[: len(node.inputs) - len(captured)] if isinstance(captured, tuple) else node.inputs
        proto = onnx.helper.make_node(node.op, inputs, node.outputs, node.name, domain=_domain(node))
        proto.attribute.extend(self._attribute(node, k, v) for k, v in node.attrs.items() if k not in _OURS)
        if _domain(node) or _same(node.op, node.version, self.opset):
            return [proto]
        if any(isinstance(v, Program) for v in node.attrs.values()):
            raise _refused(node, self.opset, "it has bodies")
        return self._newer(node, proto, types)

    def _newer(self, node: Node, proto: onnx.NodeProto, types: Mapping[str, TensorType]) -> list[onnx.NodeProto]:
        """What the converter of the onnx package makes of a node; new tensors get the node's name in theirs."""
        import onnx
        import onnx.version_converter

        inputs = [_declared(i, types[i]) for i in dict.fromkeys(node.inputs) if i]
        outputs = [_declared(o, types[o]) for o in node.outputs if o]
        graph = onnx.helper.make_graph([proto], "node", inputs, outputs)
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", node.version)])
        try:
            done = onnx.version_converter.convert_version(model, self.opset).graph
        except (RuntimeError, ValueError, onnx.checker.ValidationError) as e:
            raise _refused(node, self.opset, str(e).strip().splitlines()[0] if str(e).strip() else "") from None
        own = {i for i in (*node.inputs, *node.outputs) if i}

        def named(names: Iterable[str]) -> list[str]:
            return [n if n in own or not n else f"{node.name}.{n}" for n in names]

        self.constants += [(f"{node.name}.{t.name}", onnx.numpy_helper.to_array(t)) for t in done.initializer]
        for k, n in enumerate(done.node):
            n.name = node.name if len(done.node) == 1 else f"{node.name}.{k}"
            n.input[:], n.output[:] = named(n.input), named(n.output)
        return list(done.node)

    def _attribute(self, node: Node, name: str, value: AttrValue) -> onnx.AttributeProto:
        import onnx

        if isinstance(value, Program):
            raise _refused(node, self.opset, "it has bodies")
        if isinstance(value, np.ndarray):
            return onnx.helper.make_attribute(name, onnx.numpy_helper.from_array(_stored(value)))
        if isinstance(value, tuple) and not value:
            return onnx.helper.make_attribute(name, value, attr_type=onnx.AttributeProto.INTS)
        return onnx.helper.make_attribute(name, value)


def _same(op: str, version: int, opset: int) -> bool:
    """Whether an operator has the same declaration in two opsets."""
    import onnx

    try:
        before, now = (onnx.defs.get_schema(op, v) for v in (version, opset))
    except onnx.defs.SchemaError:
        return False
    return bool(before.since_version == now.since_version)


def _refused(node: Node, opset: int, why: str) -> ModelError:
    text = f"Node {node.name!r} ({node.op}) cannot be written in opset {opset}{': ' if why else ''}{why}."
    return ModelError("model.not_writable", text, (node.name, node.op))
