"""Which tensors are kept in bfloat16, and which products multiply it.

Sums and everything else are computed in float32: only what lies in memory between two kernels is rounded, once, and
weights, once for all. Which tensors these are follows from what fusion makes one kernel:

- what a product or convolution reads, and its weights: its instruction takes them in bfloat16;
- what lies between two products, unless an operator reads it that makes large errors of small ones (`OpDef.sensitive`:
  softmax, normalisations, reductions), or a normalisation makes it for others than products: the sums of all later
  layers would carry that rounding on (a small BERT: 0.0096 in place of 0.0112 of the output);
- what shares its memory (views, parts of a concatenation) is kept alike.

Inputs and outputs of the network keep their type, and so does all that no product follows: probabilities, boxes.
A product of a tensor that stays in float32 gets a Cast before it.

Where a processor has no instruction that multiplies bfloat16, the same tensors are rounded to it and kept in float32:
the numbers are those of a processor that has one, and a product is one of float32, which reads nothing that has to be
converted first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

from workbench.graph.evaluation import ROUNDED, STORED
from workbench.graph.graph import Array, AttrValue, Graph, Node
from workbench.graph.graph_editor import GraphEditor
from workbench.graph.opdef import opdef
from workbench.graph.passes import fuse
from workbench.graph.passes.base import because, graph_pass
from workbench.graph.type_inference import make_call
from workbench.ir.dtypes import BFLOAT16

#: Numbers in ONNX, and its name.
_FLOAT32, _CODE, _NAME = 1, 16, BFLOAT16.name


@graph_pass("bfloat16", default=False)
def bfloat16(graph: Graph) -> Graph:
    """Products multiply numbers in bfloat16 and sum them in float32; between them tensors are stored in bfloat16."""
    return _written(graph, "bfloat16", _Writer)


@graph_pass("bfloat16_in_float32", default=False)
def bfloat16_in_float32(graph: Graph) -> Graph:
    """Products multiply numbers rounded to bfloat16 and kept in float32, where processors have no instruction."""
    return _written(graph, "bfloat16_in_float32", _RoundingWriter)


def _written(graph: Graph, name: str, kind: type[_Writer]) -> Graph:
    choice = _Choice(graph)
    if not choice.products:
        return graph.replace(history=(*graph.history, f"{name}: no product or convolution that would gain"))
    chosen = choice.chosen()
    editor = GraphEditor(graph)
    writer = kind(graph, editor, choice, chosen)
    editor.nodes = [writer.written(n) for n in graph.nodes]
    for source, cast in writer.casts.items():
        editor.nodes.append(Node(editor.fresh(f"{cast}.Cast"), "Cast", (source,), (cast,), writer.cast))
        because(f"{source} stays in float32, and a product reads it in bfloat16", editor.nodes[-1].name)
    stored = sum(choice.root(t) in chosen for t in choice.boundary)
    note = f"{name}: {len(choice.products)} products, {stored} of {len(choice.boundary)} tensors between kernels"
    return editor.finish(note)


@dataclass(slots=True)
class _Choice:
    """What is known of the graph, and which classes of tensors are rounded.

    Attributes
    ----------
    boundary : set of str
        Tensors between kernels; the others live in registers.
    products : dict of str to Node
        Products that multiply bfloat16, by name.
    """

    graph: Graph
    boundary: set[str] = field(init=False)
    products: dict[str, Node] = field(init=False)
    _group: dict[str, int] = field(init=False)
    _makers: dict[str, Node] = field(init=False)
    _readers: dict[str, list[Node]] = field(init=False)
    _up: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        graph = self.graph
        groups = (graph if graph.groups else fuse.fuse(graph)).groups
        self._group = {name: k for k, g in enumerate(groups) for name in g.nodes}
        self._makers, self._readers = graph.producers(), graph.consumers()
        self.products = {n.name: n for n in graph.nodes if self._multiplies(n)}
        self.boundary = {t for t in self._makers if graph.types[t].dtype == "float32" and self._leaves(t)}
        for node in graph.nodes:
            if self._shares(node):
                for t in node.inputs if opdef(node).joins else node.inputs[:1]:
                    if (top := self.root(t)) != (other := self.root(node.outputs[0])):
                        self._up[top] = other

    def _multiplies(self, node: Node) -> bool:
        call = make_call(node, self.graph.types, self.graph.constants)
        alike = all(t is not None and t.dtype == "float32" for t in call.types)
        return alike and not fuse.why_not_compiled(self.graph, node) and opdef(node).halved(call)

    def _leaves(self, t: str) -> bool:
        """Whether a tensor is read outside of the kernel that makes it."""
        own = self._group[self._makers[t].name]
        return t in self.graph.outputs or any(self._group[n.name] != own for n in self._readers.get(t, ()))

    def _shares(self, node: Node) -> bool:
        """Whether a node's result may lie in the memory of its inputs."""
        return opdef(node).joins or fuse.is_view(self.graph, node)

    def root(self, t: str) -> str:
        """Tensor that stands for all that are kept alike."""
        while t in self._up:
            t = self._up[t]
        return t

    def source(self, product: Node, i: int) -> tuple[Node, int]:
        """The node, and its input, by which an operand comes into the kernel of a product that reads through others."""
        reader, at = product, i
        while (maker := self._makers.get(reader.inputs[at])) is not None and self._inside(maker, product):
            reader, at = maker, 0
        return reader, at

    def _inside(self, maker: Node, product: Node) -> bool:
        return self._group[maker.name] == self._group[product.name] and opdef(maker).moves

    def chosen(self) -> set[str]:
        """Classes that are rounded."""
        wanted = {self.root(t) for t in self._operands()}
        after, before = self._reach()
        members: dict[str, list[str]] = {}
        for t in (*self.boundary, *self.graph.inputs, *self.graph.constants):
            members.setdefault(self.root(t), []).append(t)
        between = {
            root
            for root, all_ in members.items()
            if all(t in after and t in before and not self._read_by_sensitive(t) for t in all_)
        }
        fixed = {root for root, all_ in members.items() if any(self._keeps(t) for t in all_)}
        return (wanted | between) - fixed

    def _operands(self) -> Iterator[str]:
        """Tensors that products read."""
        for product in self.products.values():
            for i in (0, 1):
                reader, at = self.source(product, i)
                yield reader.inputs[at]

    def _reach(self) -> tuple[set[str], set[str]]:
        """Tensors that follow from a product or convolution, and those that a product in bfloat16 follows from."""
        after, before = set[str](), set[str]()
        for n in self.graph.nodes:
            if n.name in self.products or opdef(n).weights or not after.isdisjoint(n.inputs):
                after.update(n.outputs)
        for n in reversed(self.graph.nodes):
            if n.name in self.products or not before.isdisjoint(n.outputs):
                before.update(n.inputs)
        return after, before

    def _read_by_sensitive(self, t: str) -> bool:
        return any(opdef(n).sensitive or opdef(n).fusion == "reduction" for n in self._readers.get(t, ()))

    def _keeps(self, t: str) -> bool:
        """Whether a tensor has to stay in float32."""
        maker = self._makers.get(t)
        if maker is None or t in self.graph.outputs or t not in self.boundary:
            return True
        if opdef(maker).sensitive and not all(map(self._multiplies_or_moves, self._readers.get(t, ()))):
            return True
        return any(maker.outputs[1:]) or not all(map(self._is_nest, (maker, *self._readers.get(t, ()))))

    def _multiplies_or_moves(self, node: Node) -> bool:
        return node.name in self.products or opdef(node).moves or self._shares(node)

    def _is_nest(self, node: Node) -> bool:
        graph = self.graph
        return not fuse.why_not_compiled(graph, node) and fuse.runtime_kernel(graph, node) is None


@dataclass(slots=True)
class _Writer:
    """Nodes as they are with the chosen tensors in bfloat16; `casts` are those that products need besides."""

    graph: Graph
    editor: GraphEditor
    choice: _Choice
    chosen: set[str]
    casts: dict[str, str] = field(default_factory=dict)
    _weights: dict[str, str] = field(default_factory=dict)
    _moved: set[str] = field(default_factory=set)  # nodes that a product reads bfloat16 through
    _moved_results: set[str] = field(default_factory=set)
    _read: dict[tuple[str, int], str] = field(default_factory=dict)  # node and input -> what it reads instead

    #: What happens to a result.
    verb: ClassVar[str] = "stored in"
    #: Attributes of a Cast that a product needs.
    cast: ClassVar[Mapping[str, AttrValue]] = {"to": _CODE}

    def __post_init__(self) -> None:
        makers = self.graph.producers()
        for product in self.choice.products.values():
            for i in (0, 1):
                reader, at = self.choice.source(product, i)
                self._read[reader.name, at] = self._halved(reader.inputs[at])
                node = product
                while node is not reader:
                    node = makers[node.inputs[i if node is product else 0]]
                    self._moved.add(node.name)
                    self._moved_results.update(node.outputs)

    def _rounded(self, t: str) -> bool:
        return t in self.choice.boundary and self.choice.root(t) in self.chosen

    def _halved(self, t: str) -> str:
        """The tensor in bfloat16."""
        if self._rounded(t):
            return t
        if t in self.graph.constants:
            if t not in self._weights:
                self._weights[t] = self.editor.constant(f"{t}.{_NAME}", self.weight(self.graph.constants[t]))
            return self._weights[t]
        if t not in self.casts:
            self.casts[t] = self.editor.fresh(f"{t}.{_NAME}")
        return self.casts[t]

    @staticmethod
    def weight(x: Array) -> Array:
        """A constant, as products read it."""
        return x.astype(BFLOAT16)

    def kept(self, node: Node, rounded: bool) -> Mapping[str, AttrValue]:
        """Attributes that say how the result of a node is kept."""
        return {STORED: _NAME if rounded else "float32"}

    def written(self, node: Node) -> Node:
        """The node, with what it reads and how its result is stored."""
        inputs = tuple(self._read.get((node.name, i), x) for i, x in enumerate(node.inputs))
        rounded = bool(node.outputs[0]) and self._rounded(node.outputs[0])
        reads = inputs != node.inputs or any(self._rounded(x) or x in self._moved_results for x in node.inputs)
        if not (rounded or reads) or node.name in self._moved or fuse.is_view(self.graph, node):
            return node if inputs == node.inputs else replace(node, inputs=inputs)
        because(self._reason(node, rounded), node.name)
        return replace(node, inputs=inputs, attrs={**node.attrs, **self.kept(node, rounded)})

    def _reason(self, node: Node, rounded: bool) -> str:
        what = "multiplies bfloat16 and sums in float32" if node.name in self.choice.products else "computes in float32"
        if rounded:
            return f"{what}, and its result is {self.verb} bfloat16"
        inner = node.outputs[0] not in self.choice.boundary
        return f"{what}, and its result {'stays in registers' if inner else 'is kept in float32'}"


class _RoundingWriter(_Writer):
    """Nodes whose chosen tensors are rounded to bfloat16, in float32."""

    verb = "rounded to"
    cast: ClassVar[Mapping[str, AttrValue]] = {"to": _FLOAT32, ROUNDED: _NAME}

    @staticmethod
    def weight(x: Array) -> Array:
        return x.astype(BFLOAT16).astype(x.dtype)

    def kept(self, node: Node, rounded: bool) -> Mapping[str, AttrValue]:
        return {ROUNDED: _NAME} if rounded and not self._passes_on(node) else {}

    def _passes_on(self, node: Node) -> bool:
        """Whether each element of a result is one that was rounded before."""
        op = opdef(node)
        read = node.inputs if op.joins else node.inputs[:1] if op.moves or op.picks else ()
        return bool(read) and all(map(self._rounded, read))
