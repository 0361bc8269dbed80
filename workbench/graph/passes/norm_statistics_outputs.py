"""A normalisation that also gives its statistics becomes one without, and kernels for the statistics beside it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from workbench.graph.graph import AttrValue, Graph, Node
from workbench.graph.graph_editor import GraphEditor
from workbench.graph.passes.base import graph_pass, replace_each
from workbench.graph.type_inference import make_call

#: Code of float32 in the standard.
FLOAT = 1


@graph_pass("part_statistics")
def part_statistics(graph: Graph) -> Graph:
    """Compute the mean and the deviation that a LayerNormalization gives beside its result in kernels of their own."""
    return replace_each(
        graph,
        partial(_parted, graph),
        "a kernel has one result: its statistics have their own",
        lambda nodes: f"part_statistics: {', '.join(n.name for n in nodes)}",
    )


def _parted(graph: Graph, editor: GraphEditor, node: Node) -> list[Node] | None:
    floats = node.op == "LayerNormalization" and graph.types[node.inputs[0]].dtype in ("float32", "float64")
    if not floats or not any(node.outputs[1:]):
        return None
    x, call = node.inputs[0], make_call(node, graph.types, graph.constants)
    rank, dtype = graph.types[x].rank, graph.types[x].dtype
    first = call.axis(call.get_int("axis", -1), rank)
    over: dict[str, AttrValue] = {"axes": tuple(range(first, rank)), "keepdims": 1}
    y, mean, deviation = (*node.outputs, "", "")[:3]
    made: list[Node] = []

    def add(op: str, inputs: tuple[str, ...], name: str = "", attrs: dict[str, AttrValue] | None = None) -> str:
        new = editor.make(op, inputs, name or f"{node.name}.{op.lower()}", attrs, exact=bool(name))
        made.append(replace(new, version=13))
        return new.outputs[0]

    def finish(op: str, inputs: tuple[str, ...], name: str, attrs: dict[str, AttrValue] | None = None) -> str:
        """Last node of a statistic; in float64 it is given as float32."""
        if not name or graph.types[name].dtype == dtype:
            return add(op, inputs, name, attrs)
        exact = add(op, inputs, "", attrs)
        add("Cast", (exact,), name, {"to": FLOAT})
        return exact

    if y:
        made.append(replace(node, outputs=(y,)))
    mean = finish("ReduceMean", (x,), mean, over)
    if deviation:
        apart = add("Sub", (x, mean))
        variance = add("ReduceMean", (add("Mul", (apart, apart)),), "", over)
        least = editor.constant(f"{node.name}.epsilon", np.asarray(call.get_float("epsilon", 1e-5), dtype))
        finish("Reciprocal", (add("Sqrt", (add("Add", (variance, least)),)),), deviation)
    return made
