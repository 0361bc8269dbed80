"""Types of all tensors, with the small constants that shapes are computed from followed on the way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from workbench.graph.evaluation import evaluate, infer
from workbench.graph.graph import Array, Node, TensorType, type_inference
from workbench.graph.opdef import opdef
from workbench.graph.operator_call import Call

#: Values are followed during inference up to this many elements: enough for any shape arithmetic, cheap for any weight.
FOLLOW = 4096


def infer_types(
    nodes: Iterable[Node], inputs: Mapping[str, TensorType], constants: Mapping[str, Array]
) -> dict[str, TensorType]:
    """Types of every tensor of a sorted list of nodes.

    Raises
    ------
    ModelError
        "model.unsupported_op", "model.shape_mismatch", "model.dynamic_value", "model.invalid_graph",
        "model.unsupported_attr".
    """
    types = dict(inputs)
    types.update({n: TensorType(a.shape, a.dtype.name) for n, a in constants.items()})
    values: dict[str, Array] = dict(constants)
    for node in nodes:
        call = make_call(node, types, values)
        out = infer(call)
        for name, t in zip(node.outputs, out, strict=False):
            if name:
                types[name] = t
        values.update(zip(node.outputs, follow(call, out), strict=False))
    return types


type_inference.provide(infer_types)


def make_call(node: Node, types: Mapping[str, TensorType], values: Mapping[str, Array]) -> Call:
    """Call of a node with what is known about its inputs."""
    return Call.of(node, types, values)


def follow(call: Call, outs: Sequence[TensorType]) -> tuple[Array, ...]:
    """Values of a node whose inputs are known and small (or of Shape, which needs only the type); none otherwise."""
    node = call.node
    if opdef(node).random or any(out.size > FOLLOW for out in outs):
        return ()
    if opdef(node).by_type:
        return evaluate(call, *(None for _ in node.inputs))
    if any(i and (v is None or v.size > FOLLOW) for i, v in zip(node.inputs, call.values, strict=True)):
        return ()
    return evaluate(call, *call.values)
