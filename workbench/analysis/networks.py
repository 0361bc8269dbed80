"""A network's kernels and a tensor program's stages as drawings: nodes with labels, edges, coordinates."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.analysis.layered import Box, layout
from workbench.arguments import is_a
from workbench.graph.describe import describe, dims, word
from workbench.graph.graph import FusedNodes, Graph
from workbench.graph.opdef import opdef
from workbench.graph.passes.fuse import is_view
from workbench.graph.tasks import Task
from workbench.ir.func import Buffer, Func
from workbench.ir.poly import Dim
from workbench.ir.printer import dim_text
from workbench.ir.stmt import accesses, blocks
from workbench.markup import shortened

#: Pixels of a character of the label (12 px) and of the line below it (11 px), and what surrounds them.
LABEL, SUB, PAD = 6.9, 6.0, 20.0
LONGEST = 34


@dataclass(frozen=True, slots=True)
class _Shape:
    id: str
    label: str
    sub: str
    kind: str
    task: int | None = None

    @property
    def box(self) -> Box:
        width = max(48.0, LABEL * len(self.label), SUB * len(self.sub)) + PAD
        return Box(self.id, width, 40.0 if self.sub else 26.0)


def model_graph(graph: Graph, tasks: Sequence[Task]) -> dict[str, Any]:
    """Draw a network: one node per kernel, light ones for views, inputs and outputs.

    Parameters
    ----------
    graph : Graph
        Optimised, as it was given to `extract_tasks`; `Graph.optimize` runs if no fusion has happened yet.
    tasks : sequence of Task
        Its tasks; the node of a kernel carries the position of its task.

    Returns
    -------
    dict
        ``nodes`` (id, label, sub, task, kind, x, y, w, h), ``edges`` (a, b, points), ``width``, ``height``; the id of a
        kernel is the name of its group. A concatenation that costs nothing, because its parts are written in place,
        counts as a view.
    """
    is_a("graph", graph, Graph, "load a model with load_onnx(path) first")
    fused = graph if graph.groups else graph.optimize()
    number = {name: k for k, t in enumerate(tasks) for name in t.groups}
    shapes = [
        _Shape(f"in:{i}", shortened(i, LONGEST), dims(fused.types[i].shape).replace("x", "×"), "input")
        for i in fused.inputs
    ]
    maker = {i: f"in:{i}" for i in fused.inputs}
    nodes = {n.name: n for n in fused.nodes}
    edges: dict[tuple[str, str], None] = {}
    for group in fused.groups:
        shape = _kernel(fused, group, number)
        shapes.append(shape)
        members = [nodes[name] for name in group.nodes]
        inner = {o for n in members for o in n.outputs}
        edges |= {(maker[i], shape.id): None for n in members for i in n.inputs if i in maker and i not in inner}
        maker |= dict.fromkeys(inner, shape.id)
    for o in fused.outputs:
        shapes.append(_Shape(f"out:{o}", shortened(o, LONGEST), dims(fused.types[o].shape).replace("x", "×"), "output"))
        edges |= {(maker[o], f"out:{o}"): None} if o in maker else {}
    return _drawing(shapes, edges)


def _kernel(graph: Graph, group: FusedNodes, number: dict[str, int]) -> _Shape:
    members = [graph.node(name) for name in group.nodes]
    main = next((n for n in members if opdef(n).fusion != "injective"), members[0])
    size = dims(graph.types[members[-1].outputs[0]].shape).replace("x", "×")
    if is_view(graph, members[0]):
        return _Shape(main.name, word(main.op).replace("_", " "), size, "view")
    task = number.get(main.name)
    if task is None and main.op == "Concat":
        return _Shape(main.name, f"concat of {len(main.inputs)}", "written in place", "view")
    label, sub = kernel_label(describe(graph, members))
    return _Shape(main.name, label, sub or size, "task", task)


def kernel_label(description: str) -> tuple[str, str]:
    """Split a description into a short label and the rest.

    >>> kernel_label("conv2d 3x3/2 64→64 @56x56 + bias + relu")
    ('conv 3×3 /2 64→64', '+ bias + relu · 56×56')
    """
    text = re.sub(r"(?<=\d)x(?=\d)", "×", description).replace("_", " ")
    text = re.sub(r"(?<=\d)/(?=\d)", " /", text.replace("conv2d", "conv"))
    parts = text.split(" + ")
    main = next((k for k, p in enumerate(parts) if "@" in p), 0)
    head, _, size = parts[main].partition(" @")
    if not size:
        head, _, size = head.partition(" to ")
        if found := re.fullmatch(r"([a-z ]+) (\d+(?:×\d+)+)", head):
            head, size = found[1], size or found[2]
    rest = "".join(f"{p} ahead " for p in parts[:main]) + "".join(f"+ {p} " for p in parts[main + 1 :])
    return shortened(head, LONGEST), shortened(" · ".join(x for x in (rest.strip(), size) if x), LONGEST + 10)


def stage_graph(func: Func) -> dict[str, Any]:
    """Draw a tensor program: one node per block, light ones for the parameters.

    Parameters
    ----------
    func : Func
        Under any schedule.

    Returns
    -------
    dict
        As `model_graph`. The id of a stage is the name of its block, that of an input its buffer, that of an output
        ``out:BUFFER``. An edge leads from a block to those that read, later in the program, what it writes.
    """
    is_a("func", func, Func, "pass schedule.func")
    table = {b.name: b for b in func.buffers}
    stages = [b for b, _ in blocks(func.body)]
    names = {b.name for b in stages}
    inputs = {b.name: f"in:{b.name}" if b.name in names else b.name for b in func.inputs}
    shapes = [_Shape(id, name, _buffer(table[name]), "input") for name, id in inputs.items()]
    makers: dict[str, list[str]] = {name: [id] for name, id in inputs.items()}
    edges: dict[tuple[str, str], None] = {}
    for block in stages:
        shapes.append(_Shape(block.name, shortened(block.name, LONGEST), _buffer(table[block.buffer]), "task"))
        for a in accesses(block):
            edges |= {} if a.is_write else {(m, block.name): None for m in makers.get(a.buffer, ())}
        makers.setdefault(block.buffer, []).append(block.name)
    for b in func.outputs:
        shapes.append(_Shape(f"out:{b.name}", b.name, _buffer(b), "output"))
        edges |= {(m, f"out:{b.name}"): None for m in makers.get(b.name, ())}
    return _drawing(shapes, edges)


def _buffer(b: Buffer) -> str:
    return f"{_dims(b.shape)} {b.dtype}"


def _dims(shape: Iterable[Dim]) -> str:
    return "×".join(map(dim_text, shape)) or "1"


def _drawing(shapes: Sequence[_Shape], edges: Iterable[tuple[str, str]]) -> dict[str, Any]:
    boxes, pairs = [s.box for s in shapes], list(edges)
    found = layout(boxes, pairs)
    nodes = [
        {
            "id": s.id, "label": s.label, "sub": s.sub, "task": s.task, "kind": s.kind, "x": found.positions[s.id][0],
            "y": found.positions[s.id][1], "w": round(b.w, 2), "h": b.h,
        }
        for s, b in zip(shapes, boxes, strict=True)
    ]  # fmt: skip
    lines = [
        {"a": a, "b": b, "points": [list(p) for p in points]} for (a, b), points in zip(pairs, found.edges, strict=True)
    ]
    return {"nodes": nodes, "edges": lines, "width": found.width, "height": found.height}
