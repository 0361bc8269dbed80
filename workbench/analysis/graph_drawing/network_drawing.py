"""A network's kernels and a tensor program's stages as drawings: nodes with labels, edges, coordinates."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias

from workbench.arguments import is_a, shown, whole
from workbench.cooperative_yield import pause
from workbench.errors import UsageError, did_you_mean
from workbench.graph.graph import FusedNodes, Graph, Node
from workbench.graph.kernel_description import describe
from workbench.graph.opdef import opdef
from workbench.graph.operator_facts import dims
from workbench.graph.passes.explain import Change, Report
from workbench.graph.passes.fuse import is_view, runtime_kernel, why_not_compiled
from workbench.graph.tasks import Task
from workbench.graph_layout.block_folding import Unit, folded_frames
from workbench.graph_layout.drawing import Drawing, Leaf, drawn
from workbench.graph_layout.layered_layout import layout
from workbench.ir import Buffer, Dim, Func, accesses, blocks
from workbench.ir.bytes_moved import least_traffic
from workbench.ir.text.printer import dim_text
from workbench.markup import shortened

#: Characters of a label; the rest is cut. Chosen by eye.
LONGEST = 34

Level: TypeAlias = Literal["kernels", "nodes"]
LEVELS: tuple[Level, ...] = ("kernels", "nodes")
Side: TypeAlias = Literal["before", "after"]
SIDES: tuple[Side, ...] = ("before", "after")


def network(
    graph: Graph,
    tasks: Sequence[Task],
    *,
    level: Level = "kernels",
    expanded: Collection[str] = (),
    folded: bool = True,
) -> Drawing:
    """Draw a network: one node per kernel, light ones for views, inputs and outputs; repeated blocks once.

    Parameters
    ----------
    graph : Graph
        Optimised, as it was given to `extract_tasks`; `Graph.optimize` runs if no fusion has happened yet.
    tasks : sequence of Task
        Its tasks; the node of a kernel carries the position of its task.
    level : str
        "kernels", or "nodes" for the operators of every kernel.
    expanded : collection of str
        Ids of frames of which all instances are drawn, and ``kernel:ID`` for kernels whose operators are.
    folded : bool
        Whether blocks that are repeated are drawn once.

    Returns
    -------
    Drawing
        The id of a kernel is the name of its group, that of an operator its own. A concatenation that costs nothing,
        because its parts are written in place, counts as a view.

    Raises
    ------
    UsageError
        "usage.level".
    """
    is_a("graph", graph, Graph, "load a model with load_onnx(path) first")
    _known("level", level, LEVELS)
    fused = graph if graph.groups else graph.optimize()
    units = _Units(fused, tasks)
    for group in fused.groups:
        units.kernel(group)
    units.outputs()
    root, likes = folded_frames(units.all, units.reads, level == "nodes", expanded, folded)
    return drawn(root, likes, network_key(fused, tasks))


def network_key(graph: Graph, tasks: Sequence[Task]) -> str:
    """Return a short text that differs for networks that look different."""
    parts = (graph.name, *graph.inputs, *(g.nodes[-1] for g in graph.groups), *(t.key for t in tasks))
    return hashlib.blake2s("\n".join(parts).encode(), digest_size=8).hexdigest()


def pass_network(
    report: Report, at: int, side: Side = "after", *, expanded: Collection[str] = (), folded: bool = True
) -> Drawing:
    """Draw the operators of a network before or after one pass, with marks on what the pass removes, adds or changes.

    Parameters
    ----------
    report : Report
        What `Graph.explain` returns.
    at : int
        Number of the pass.
    side : str
        "before" or "after".
    expanded, folded
        As for `network`.

    Raises
    ------
    UsageError
        "usage.pass" for a number that no pass has, "usage.side".
    """
    _known("side", side, SIDES)
    if whole("at", at, None, "usage.pass") not in range(len(report.passes)):
        hint = f"give a number from 0 to {len(report.passes) - 1}"
        raise UsageError("usage.pass", f"There is no pass number {shown(at)}", (), hint)
    kinds = ("removed", "changed") if side == "before" else ("added", "changed")
    marks = {c.node: c for c in report.passes[at].changes if c.kind in kinds}
    graph = report.at(at, side)
    units = _Units(graph, (), marks)
    for group in graph.groups:
        units.kernel(group)
    for node in () if graph.groups else graph.nodes:
        units.operator(node)
    units.outputs()
    root, likes = folded_frames(units.all, units.reads, True, expanded, folded)
    return drawn(root, likes, f"{network_key(graph, ())}:{at}:{side}")


def _known(what: str, value: object, among: Sequence[str]) -> None:
    if value not in among:
        raise UsageError(
            f"usage.{what}", f"There is no {what} {shown(value)}", (), did_you_mean(value, among, f"{what}s")
        )


class _Units:
    """The kernels of a network with their operators, and which operator reads which."""

    def __init__(self, graph: Graph, tasks: Sequence[Task], marks: Mapping[str, Change] | None = None) -> None:
        self.graph, self.marks = graph, marks or {}
        self.number = {name: k for k, t in enumerate(tasks) for name in t.groups}
        self.traffic = [_traffic(t) for t in tasks]
        self.nodes = {n.name: n for n in graph.nodes}
        self.taken = set(self.nodes)
        self.maker: dict[str, str] = {}
        self.all: list[Unit] = []
        self.reads: dict[tuple[str, str], None] = {}
        for i in graph.inputs:
            self.maker[i] = self._end(i, "input")

    def _end(self, tensor: str, kind: str) -> str:
        """Take in an end of the network; returns its id, which is that of no operator."""
        id = f"{kind.removesuffix('put')}:{tensor}"
        while id in self.taken:  # an operator of that name, or a value that is returned twice
            id += "'"
        self.taken.add(id)
        leaf = Leaf(id, shortened(tensor, LONGEST), _size(self.graph, tensor), kind)
        self.all.append(Unit(leaf, (leaf,), (kind, id)))
        return id

    def _link(self, node: Node) -> None:
        self.reads |= {(self.maker[i], node.name): None for i in node.inputs if i in self.maker}
        self.maker |= {o: node.name for o in node.outputs if o}

    def outputs(self) -> None:
        """Take in what the network returns."""
        for o in self.graph.outputs:
            end = self._end(o, "output")
            if o in self.maker:
                self.reads[self.maker[o], end] = None

    def kernel(self, group: FusedNodes) -> None:
        """Take in a kernel."""
        pause()
        members = [self.nodes[name] for name in group.nodes]
        for n in members:
            self._link(n)
        leaf = self._leaf(members)
        ops = tuple(self._operator(n, leaf.task) for n in members) if len(members) > 1 else (leaf,)
        signature = (leaf.kind, leaf.task, leaf.label, leaf.sub, leaf.mark, *((o.label, o.sub, o.mark) for o in ops))
        self.all.append(Unit(leaf, ops, signature, tuple(n.name for n in members)))

    def _leaf(self, members: Sequence[Node]) -> Leaf:
        graph, first = self.graph, members[0]
        main = next((n for n in members if opdef(n).fusion != "injective"), first)
        size = _size(graph, _made(members[-1]))
        task = self.number.get(main.name)
        if is_view(graph, first):
            return Leaf(main.name, _word(main), size, "view")
        if task is not None:
            label, sub = kernel_label(describe(graph, members))
            moved, dtype = self.traffic[task], self._reads(main)
            return Leaf(main.name, label, sub or size, "task", task, moved, len(members), dtype)
        if main.op == "Concat":
            return Leaf(main.name, f"concat of {len(main.inputs)}", "written in place", "view")
        why = why_not_compiled(graph, first) or (runtime_kernel(graph, first) is not None and "runtime kernel") or ""
        about = shortened(why, LONGEST + 10) or size
        return Leaf(main.name, _word(main), about, "host", None, self._moved(members), dtype=self._reads(main))

    def _reads(self, node: Node) -> str:
        """Element type of the first input."""
        return next((self.graph.types[i].dtype for i in node.inputs if i), "")

    def _moved(self, members: Sequence[Node]) -> int:
        """Bytes of the distinct tensors that enter and leave."""
        inner = {o for n in members for o in n.outputs}
        read = {i for n in members for i in n.inputs if i} - inner
        return sum(self.graph.types[t].nbytes for t in (*read, *filter(None, members[-1].outputs)))

    def operator(self, node: Node) -> None:
        """Take in an operator of a network that is not in kernels yet."""
        pause()
        self._link(node)
        leaf = self._operator(node, None)
        self.all.append(Unit(leaf, (leaf,), (leaf.kind, leaf.label, leaf.sub, leaf.mark)))

    def _operator(self, node: Node, task: int | None) -> Leaf:
        kind = "view" if is_view(self.graph, node) else "op"
        found = self.marks.get(node.name)
        size, dtype = _size(self.graph, _made(node)), "" if kind == "view" else self._reads(node)
        leaf = Leaf(node.name, _word(node), size, kind, task, self._moved([node]), dtype=dtype)
        return leaf if found is None else replace(leaf, mark=found.kind, reason=found.reason)


def _traffic(task: Task) -> int:
    pause()
    return least_traffic(task.func)


def _made(node: Node) -> str:
    return next(o for o in node.outputs if o)


def _word(node: Node) -> str:
    return opdef(node).word.replace("_", " ")


def _size(graph: Graph, tensor: str) -> str:
    return dims(graph.types[tensor].shape).replace("x", "×")


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
        ``nodes`` (id, label, sub, task, kind, x, y, w, h), ``edges`` (a, b, points), ``width``, ``height``. The id of a
        stage is the name of its block, that of an input its buffer, that of an output ``out:BUFFER``. An edge leads
        from a block to those that read, later in the program, what it writes.
    """
    is_a("func", func, Func, "pass schedule.func")
    table = {b.name: b for b in func.buffers}
    stages = [b for b, _ in blocks(func.body)]
    names = {b.name for b in stages}
    inputs = {b.name: f"in:{b.name}" if b.name in names else b.name for b in func.inputs}
    shapes = [Leaf(id, name, _buffer(table[name]), "input") for name, id in inputs.items()]
    makers: dict[str, list[str]] = {name: [id] for name, id in inputs.items()}
    edges: dict[tuple[str, str], None] = {}
    for block in stages:
        shapes.append(Leaf(block.name, shortened(block.name, LONGEST), _buffer(table[block.buffer]), "task"))
        for a in accesses(block):
            edges |= {} if a.is_write else {(m, block.name): None for m in makers.get(a.buffer, ())}
        makers.setdefault(block.buffer, []).append(block.name)
    for b in func.outputs:
        shapes.append(Leaf(f"out:{b.name}", b.name, _buffer(b), "output"))
        edges |= {(m, f"out:{b.name}"): None for m in makers.get(b.name, ())}
    return _drawing(shapes, edges)


def _buffer(b: Buffer) -> str:
    return f"{_dims(b.shape)} {b.dtype}"


def _dims(shape: Iterable[Dim]) -> str:
    return "×".join(map(dim_text, shape)) or "1"


def _drawing(shapes: Sequence[Leaf], edges: Iterable[tuple[str, str]]) -> dict[str, Any]:
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
        {"a": a, "b": b, "points": [round(v) for p in points for v in p]}
        for (a, b), points in zip(pairs, found.edges, strict=True)
    ]
    return {"nodes": nodes, "edges": lines, "width": found.width, "height": found.height}
