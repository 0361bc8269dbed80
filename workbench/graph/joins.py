"""Concatenation without copies: kernels write their part of the joined tensor in place.

A Concat needs no kernel when each of its parts is the result of a kernel of this network and is read by nothing else.
The kernels then get a `Part`: the compiler shifts their writes (`workbench.ir.view.widen`); the task that is tuned
stays the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from .graph import Graph
from .group import Group, Part


def join_in_place(graph: Graph, groups: Sequence[Group]) -> list[Group]:
    """Drop the concatenations whose parts can be written in place; their writers get a `Part`."""
    readers = Counter(t for g in groups for t in g.inputs)
    writers = {g.outputs[0]: k for k, g in enumerate(groups) if g.func is not None}
    out: list[Group | None] = list(groups)
    for k, g in enumerate(groups):
        if not _is_concat(g) or any(
            readers[t] != 1
            or t not in writers
            or t in graph.outputs
            or out[writers[t]] is None
            or out[writers[t]].part is not None  # type: ignore[union-attr]
            for t in g.inputs
        ):
            continue
        whole, offset = g.outputs[0], 0
        axis = _axis(g) % len(graph.types[whole].shape)
        for t in g.nodes[0].inputs:
            writer = out[writers[t]]
            assert writer is not None
            part = Part(axis, graph.types[whole].shape[axis], offset)
            args = tuple((name, whole if tensor == t else tensor) for name, tensor in writer.args)
            out[writers[t]] = replace(writer, outputs=(whole,), args=args, part=part)
            offset += graph.types[t].shape[axis]
        out[k] = None
    return [g for g in out if g is not None]


def _axis(g: Group) -> int:
    axis = g.nodes[0].attrs["axis"]
    assert isinstance(axis, int)
    return axis


def _is_concat(g: Group) -> bool:
    return (
        g.func is not None
        and len(g.nodes) == 1
        and g.nodes[0].op == "Concat"
        and len(set(g.inputs)) == len(g.nodes[0].inputs)
    )
