"""Nodes and programs of ours as the onnx package writes them, for feeding other runtimes."""

from __future__ import annotations

import numpy as np

from workbench.graph import Node
from workbench.graph.model import Program


def attribute(value):
    """Attribute value for `onnx.helper.make_node`."""
    from onnx import numpy_helper

    if isinstance(value, Program):
        return graph_of(value)
    if isinstance(value, np.ndarray):
        return numpy_helper.from_array(value)
    return list(value) if isinstance(value, tuple) else value


def node_of(node: Node):
    """NodeProto without what bodies capture, which the file format leaves unsaid."""
    from onnx import helper

    captures = node.attrs.get("captures", ())
    inputs = node.inputs[: len(node.inputs) - len(captures)]
    attrs = {k: attribute(v) for k, v in node.attrs.items() if k != "captures"}
    return helper.make_node(node.op, inputs, node.outputs, name=node.name, domain=node.domain, **attrs)


def graph_of(program: Program):
    """GraphProto of a program."""
    from onnx import ValueInfoProto, helper, numpy_helper

    def info(v):
        if not v.dtype:
            return ValueInfoProto(name=v.name)
        return helper.make_tensor_value_info(v.name, helper.np_dtype_to_tensor_dtype(np.dtype(v.dtype)), v.dims)

    return helper.make_graph(
        [node_of(n) for n in program.nodes],
        program.name,
        [info(v) for v in program.inputs],
        [ValueInfoProto(name=o) for o in program.outputs],
        [numpy_helper.from_array(a, n) for n, a in program.constants.items()],
    )
