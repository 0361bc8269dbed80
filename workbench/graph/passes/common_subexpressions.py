"""What is computed twice is computed once, and what nobody needs not at all."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

import numpy as np

from workbench.graph.graph import AttrValue, Graph, Node
from workbench.graph.graph_editor import GraphEditor
from workbench.graph.model import Program
from workbench.graph.opdef import opdef
from workbench.graph.passes.base import because, graph_pass

#: Constants with more elements are not compared: models hold large weights once, and looking at all of them takes time.
_MOST = 1 << 14


@graph_pass("common_subexpressions")
def common_subexpressions(graph: Graph) -> Graph:
    """Compute equal nodes (same operator, attributes and inputs) once; constants of equal contents count as one."""
    same = _equal_constants(graph)
    first: dict[Hashable, Node] = {}
    to: dict[str, str] = dict(same)
    kept: list[Node] = []
    dropped = 0
    for node in graph.nodes:
        inputs = tuple(to.get(i, i) for i in node.inputs)
        node = replace(node, inputs=inputs) if inputs != node.inputs else node
        key = _key(node)
        twin = first.get(key) if key is not None else None
        if twin is None or any(o in graph.outputs for o in node.outputs):
            kept.append(node)
            if key is not None:
                first.setdefault(key, node)
            continue
        because(f"computes what {twin.op} {twin.name} computes", node.name)
        to.update({o: t for o, t in zip(node.outputs, twin.outputs, strict=True) if o})
        dropped += 1
    if not dropped and not same:
        return graph
    editor = GraphEditor(graph)
    editor.nodes = kept
    note = f"common_subexpressions: dropped {dropped} nodes" + (f" and {len(same)} constants" if same else "")
    return editor.finish(note)


def _key(node: Node) -> Hashable | None:
    """What two nodes must share to compute the same; None for what may differ each time or holds a program."""
    if opdef(node).random or any(isinstance(v, Program) for v in node.attrs.values()):
        return None
    attrs = tuple(sorted((name, _comparable(value)) for name, value in node.attrs.items()))
    used = tuple(bool(o) for o in node.outputs)
    return node.op, node.domain, node.version, node.inputs, used, attrs


def _comparable(value: AttrValue) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.shape}{value.tobytes()!r}"
    return f"{type(value).__name__}{value!r}"


def _equal_constants(graph: Graph) -> dict[str, str]:
    """Constants whose contents an earlier one has too -> that one."""
    first: dict[Hashable, str] = {}
    out: dict[str, str] = {}
    for name, array in graph.constants.items():
        if name in graph.outputs or array.size > _MOST:
            continue
        known = first.setdefault((array.dtype.str, array.shape, array.tobytes()), name)
        if known != name:
            out[name] = known
    return out


@graph_pass("dead_code")
def dead_code(graph: Graph) -> Graph:
    """Drop nodes and constants that no output needs; what a later pass leaves over, it drops itself."""
    alive = GraphEditor(graph).finish()
    gone = len(graph.nodes) - len(alive.nodes)
    if not gone and len(alive.constants) == len(graph.constants):
        return graph
    because("no output needs it", *({n.name for n in graph.nodes} - {n.name for n in alive.nodes}))
    return alive.replace(history=(*graph.history, f"dead_code: dropped {gone} nodes"))
