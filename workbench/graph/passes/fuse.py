"""Fusion: which nodes become one kernel, decided by the class of each operator (TVM's scheme).

- *complex* (convolutions, products, poolings, normalisations): what follows element by element joins it;
- *injective* (element-wise, transpositions, slices): joins a following injective operator or reduction;
- *reduction*: takes the injective operators before it;
- *opaque*: alone.

A product of matrices reads through the transpositions and slices of its operands, and writes in the order of a
transposition behind it (`workbench.graph.memory.operand_views`): no data move for them. A product, the softmax of its
rows and the product with these rows are one kernel where the scores are large (`join_attention`).

A node is joined to what reads it only when everything on the way to its immediate post-dominator (the first node
that every path to the outputs goes through) can join too; so no value inside a group is needed outside of it, and
groups cannot depend on each other in a circle. Complex nodes claim their followers from the deepest to the
shallowest: a residual addition joins the convolution at the end of the longer branch, whose other operand is then
already there. (All blocks of a stage get the same kernel that way, whether their shortcut holds a convolution or
not.)

A kernel takes at most `MOST_OPERATORS`, as TVM has it (``relay.FuseOps.max_depth``): a long row of element-wise
operators becomes several. What would join them would be too much code for one loop nest, and too many statements for
anybody to look at.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from workbench.codegen.runtime_kernels.declaration import KernelFunction
from workbench.graph.evaluation import kernel_function, obstacle
from workbench.graph.graph import FusedNodes, Graph, Node
from workbench.graph.opdef import Fusion, opdef
from workbench.graph.passes.base import graph_pass
from workbench.graph.type_inference import make_call

_EXIT = "<outputs>"

#: Bytes of scores from which on attention is one kernel: with fewer, what one kernel writes is in L2 for the next.
LARGE_SCORES = 4 << 20
#: Keys come in so many at a time, and queries: tiles of other numbers would have rests.
KEYS, QUERIES = 32, 4

#: Operators of a kernel, at most; from TVM (``relay.FuseOps.max_depth``). More would be too much code for a loop nest.
MOST_OPERATORS = 256


@dataclass(slots=True)
class _Group:
    nodes: list[Node]
    rules: list[str] = field(default_factory=list)
    anchored: bool = False  # holds a complex node
    odd: int = 0  # nodes that are not injective


@graph_pass("fuse")
def fuse(graph: Graph) -> Graph:
    """Group nodes into kernels by operator class, with the reason of every decision."""
    f = _Fuser(graph)
    deep = f.depths()
    for node in sorted(graph.nodes, key=lambda n: -deep[n.name]):
        if f.kind[node.name] == "complex":
            f.grow_complex(node)
    for node in reversed(graph.nodes):
        f.read_through(node)
    for node in graph.nodes:
        if f.kind[node.name] == "injective" and not is_view(graph, node):
            f.grow_injective(node)
    for node in graph.nodes:
        if node.op == "Softmax":
            f.join_attention(node)
    order = {n.name: k for k, n in enumerate(graph.nodes)}
    groups = []
    for g in {id(v): v for v in f.group.values()}.values():
        g.nodes.sort(key=lambda n: order[n.name])
        if not g.rules:
            g.rules.append(alone(graph, g.nodes[0]))
        groups.append(FusedNodes(tuple(n.name for n in g.nodes), tuple(g.rules)))
    groups.sort(key=lambda g: order[g.nodes[-1]])
    fused = graph.replace(groups=tuple(groups))
    note = f"fuse: {len(graph.nodes)} nodes in {kernel_count(fused)} kernels"
    return fused.replace(history=(*graph.history, note))


def unfused(graph: Graph) -> Graph:
    """Every node as a kernel of its own."""
    groups = [FusedNodes((n.name,), (f"{n.op} {n.name}: alone, fusion is switched off",)) for n in graph.nodes]
    single = graph.replace(groups=tuple(groups))
    return single.replace(history=(*graph.history, f"no fusion: {kernel_count(single)} kernels"))


def is_view(graph: Graph, node: Node) -> bool:
    """Whether the node only gives its input another shape, so that no kernel is needed."""
    return opdef(node).view and node.inputs[0] not in graph.constants and not any(node.outputs[1:])


def kernel_count(graph: Graph) -> int:
    """How many kernels the groups of a graph are: a group of views is none, a Concat is one until it is compiled."""
    nodes = {n.name: n for n in graph.nodes}
    return sum(not all(is_view(graph, nodes[name]) for name in g.nodes) for g in graph.groups)


def why_not_compiled(graph: Graph, node: Node) -> str:
    """Why a node does not become (part of) a kernel; "" where it does."""
    outs = [graph.types[o] for o in node.outputs if o]
    return obstacle(make_call(node, graph.types, graph.constants), outs)


def runtime_kernel(graph: Graph, node: Node) -> KernelFunction | None:
    """The runtime kernel that computes a node; None where a loop nest does."""
    return kernel_function(make_call(node, graph.types, graph.constants))


def fusion_class(graph: Graph, node: Node) -> Fusion:
    """Class of a node: its operator's, and opaque where it becomes no loop nest."""
    nest = runtime_kernel(graph, node) is None and not why_not_compiled(graph, node)
    return opdef(node).fusion if nest else "opaque"


def alone(graph: Graph, node: Node) -> str:
    """Why a node did not join anything."""
    if is_view(graph, node):
        return f"{node.op} {node.name}: a view, no data move"
    if reason := why_not_compiled(graph, node):
        return f"{node.op} {node.name}: not tunable, {reason}"
    if runtime_kernel(graph, node) is not None:
        return f"{node.op} {node.name}: a runtime kernel, stays alone"
    why = {
        "opaque": "opaque, stays alone",
        "complex": "complex, and nothing element-wise follows that only reads it",
        "injective": "injective, but what reads it cannot take it in",
        "reduction": "reduction, with nothing injective before that only it reads",
    }
    return f"{node.op} {node.name}: {why[opdef(node).fusion]}"


class _Fuser:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.consumers = graph.consumers()
        self.makers = {o: n for n in graph.nodes for o in n.outputs}
        self.kind = {n.name: fusion_class(graph, n) for n in graph.nodes}
        self.group: dict[str, _Group] = {n.name: self._own(n) for n in graph.nodes}
        self.next = self._post_dominators()
        self.reads: set[str] = set()  # nodes that their readers read through
        self.walked: set[str] = set()  # nodes from which a step towards the outputs was tried

    def _own(self, node: Node) -> _Group:
        kind = self.kind[node.name]
        return _Group([node], [], kind == "complex", int(kind != "injective"))

    def depths(self) -> dict[str, int]:
        """Length of the longest path from an input to each node."""
        at: dict[str, int] = {}
        out: dict[str, int] = {}
        for n in self.graph.nodes:
            out[n.name] = 1 + max((at.get(i, 0) for i in n.inputs), default=0)
            at.update({o: out[n.name] for o in n.outputs if o})
        return out

    def _post_dominators(self) -> dict[str, str]:
        """Immediate post-dominator of every node, by name; `_EXIT` for the end."""
        depth = {_EXIT: 0}
        parent: dict[str, str] = {}
        for node in reversed(self.graph.nodes):
            succ = [c.name for o in node.outputs if o for c in self.consumers.get(o, [])]
            if any(o in self.graph.outputs for o in node.outputs) or not succ:
                succ.append(_EXIT)
            top = succ[0]
            for s in succ[1:]:
                while top != s:
                    if depth[top] < depth[s]:
                        s = parent[s]
                    else:
                        top = parent[top]
            parent[node.name] = top
            depth[node.name] = depth[top] + 1
        return parent

    def _between(self, node: Node, end: str) -> list[Node]:
        """Nodes on the paths from `node` (exclusive) to `end` (inclusive)."""
        found: dict[str, Node] = {}
        todo = [c for o in node.outputs if o for c in self.consumers.get(o, [])]
        while todo:
            n = todo.pop()
            if n.name in found:
                continue
            found[n.name] = n
            if n.name != end:
                todo += [c for o in n.outputs if o for c in self.consumers.get(o, [])]
        return list(found.values())

    def _join(self, group: _Group, nodes: list[Node], rule: str) -> None:
        for n in nodes:
            other = self.group[n.name]
            if other is group:
                continue
            group.nodes += other.nodes
            group.rules += other.rules
            group.anchored |= other.anchored
            group.odd += other.odd
            for m in other.nodes:
                self.group[m.name] = group
        group.rules.append(rule)

    def _fits(self, group: _Group, nodes: list[Node], last: Node) -> bool:
        """Whether a kernel stays within the limit when these nodes join it; it says so where it would not."""
        others = {id(g): g for n in nodes if (g := self.group[n.name]) is not group}
        if len(group.nodes) + sum(len(g.nodes) for g in others.values()) <= MOST_OPERATORS:
            return True
        rule = f"{last.op} {last.name}: does not join, a kernel has at most {MOST_OPERATORS} operators"
        if rule not in group.rules:
            group.rules.append(rule)
        return False

    def grow_complex(self, anchor: Node) -> None:
        """Let element-wise followers of the same shape join a complex node."""
        group, at = self.group[anchor.name], self._written_in_order(anchor)
        shape = self.graph.types[at.outputs[0]].shape
        while (end := self.next[at.name]) != _EXIT:
            path = self._between(at, end)
            if not all(self._follows(n, shape, group) for n in path):
                return
            last = next(n for n in path if n.name == end)
            if not self._fits(group, path, last):
                return
            note = ", with its other operand from an earlier kernel" if _is_residual(self.graph, last, group) else ""
            self._join(group, path, f"{last.op} {last.name}: element-wise after {anchor.op} {anchor.name}{note}")
            at = last

    def _written_in_order(self, anchor: Node) -> Node:
        """Let a transposition that alone reads a product join it; returns the last node so far."""
        move = self._only_reader(anchor)
        reads = opdef(anchor).reads_through
        if not reads or move is None or not opdef(move).transposes or is_view(self.graph, move):
            return anchor
        rule = f"Transpose {move.name}: {anchor.op} {anchor.name} writes in that order"
        self._join(self.group[anchor.name], [move], rule)
        return move

    def _only_reader(self, node: Node) -> Node | None:
        """The one node that reads a node's result."""
        readers = self.consumers.get(node.outputs[0], [])
        return readers[0] if len(readers) == 1 and node.outputs[0] not in self.graph.outputs else None

    def read_through(self, move: Node) -> None:
        """Let a transposition or slice that only one product reads join it."""
        reader = self._only_reader(move) if opdef(move).moves and self.kind[move.name] == "injective" else None
        if reader is None or move.inputs[0] in self.graph.constants or any(move.outputs[1:]):
            return
        group = self.group[reader.name]
        before = opdef(reader).moves and reader.name in self.reads
        if not (opdef(reader).reads_through or before) or self.group[move.name] is group:
            return
        if not self._fits(group, [move], move):
            return
        self.reads.add(move.name)
        self._join(group, [move], f"{move.op} {move.name}: {reader.op} {reader.name} reads through it")

    def join_attention(self, softmax: Node) -> None:
        """Let a product, the softmax of its rows and the product with these rows be one kernel, where scores are large.

        Neither scores nor their softmax are written to memory then: a few rows at a time stay in cache.
        """
        made, types = self.makers.get(softmax.inputs[0]), self.graph.types
        scores, last = types[softmax.outputs[0]], self._only_reader(softmax)
        if (
            made is None
            or last is None
            or not opdef(last).reads_through
            or not _of_rows(self.graph, softmax)
            or self._only_reader(made) is not softmax
        ):
            return
        before, behind = self.group[made.name], self.group[last.name]
        first = [n for n in before.nodes if opdef(n).reads_through]
        alone = last.inputs[1] != softmax.outputs[0] == last.inputs[0] and len(self.group[softmax.name].nodes) == 1
        plain = all(n is last or opdef(n).moves for n in behind.nodes)
        if not (alone and plain and len(first) == 1) or types[last.inputs[1]].rank != scores.rank:
            return
        if types[first[0].outputs[0]].shape != scores.shape or any(
            t and types[t].dtype != "float32" for n in (*before.nodes, last) for t in n.inputs
        ):
            return
        size = f"{scores.size * 4 >> 20} MiB of scores are not written"
        rule = f"{last.op} {last.name}: reads {softmax.op} {softmax.name} of {first[0].name} row by row, {size}"
        self._join(before, [softmax, last], rule)

    def _follows(self, n: Node, shape: tuple[int, ...], group: _Group) -> bool:
        op, mine = opdef(n), self.group[n.name]
        free = mine is group or (not mine.anchored and len(mine.nodes) == 1)
        plain = op.elementwise and not op.view and self.kind[n.name] == "injective"
        return plain and free and self.graph.types[n.outputs[0]].shape == shape

    def grow_injective(self, node: Node) -> None:
        """Let an injective node join the injective operators or the reduction that follow it.

        What an earlier walk tried is not tried again: groups only grow, so it would end in the same way.
        """
        group, at = self.group[node.name], node
        while (end := self.next[at.name]) != _EXIT and not group.anchored and at.name not in self.walked:
            self.walked.add(at.name)
            path = self._between(at, end)
            last = next(n for n in path if n.name == end)
            inner = [n for n in path if n is not last]
            if not all(self._joinable(n, ("injective",)) for n in inner) or not self._joinable(
                last, ("injective", "reduction")
            ):
                return
            if not self._fits(group, path, last):
                return
            kind = self.kind[last.name]
            where = "the reduction" if kind == "reduction" else "injective"
            self._join(group, path, f"{at.op} {at.name}: injective before {where} {last.op} {last.name}")
            if kind == "reduction":
                return
            at = last

    def _joinable(self, n: Node, kinds: tuple[str, ...]) -> bool:
        mine, kind = self.group[n.name], self.kind[n.name]
        others_plain = not mine.anchored and mine.odd == (kind != "injective")
        return kind in kinds and not is_view(self.graph, n) and others_plain


def _of_rows(graph: Graph, node: Node) -> bool:
    """Whether a softmax is of rows that are many and long, and that tiles divide."""
    call, x = make_call(node, graph.types, graph.constants), graph.types[node.inputs[0]]
    rows = x.rank >= 3 and call.get_int("axis", -1 if call.version >= 13 else 1) in (-1, x.rank - 1)
    return rows and x.size * 4 >= LARGE_SCORES and x.shape[-1] % KEYS == 0 and x.shape[-2] % QUERIES == 0


def _is_residual(graph: Graph, node: Node, group: _Group) -> bool:
    made = {o for n in group.nodes for o in n.outputs}
    shape = graph.types[node.outputs[0]].shape
    return any(i and i not in made and i not in graph.constants and graph.types[i].shape == shape for i in node.inputs)
