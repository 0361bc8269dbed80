"""Factors and shifts around a product with constant weights become part of the weights."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from workbench.graph.graph import Array, Graph, Node
from workbench.graph.opdef import opdef
from workbench.graph.operator_call import Call
from workbench.graph.operator_facts import BIAS
from workbench.graph.ops.nn.conv import conv_shape
from workbench.graph.passes.base import because, graph_pass
from workbench.graph.passes.fold_batch_norm import data_input, representable
from workbench.graph.passes.rules.rewriting import Site


@dataclass(frozen=True, slots=True, eq=False)
class Product:
    """A node that multiplies by constant weights, seen as a matrix.

    Attributes
    ----------
    node : Node
    weights : array
        As the node has them.
    into, out : int
        Axis of the weights along which the input's channels and the results lie.
    """

    node: Node
    weights: Array
    into: int
    out: int

    def along(self, axis: int, values: Array) -> Array:
        """`values` along an axis of the weights."""
        return values.reshape([-1 if d == axis else 1 for d in range(self.weights.ndim)])


@graph_pass("fold_scale")
def fold_scale(graph: Graph) -> Graph:
    """Fold factors and shifts into the constant weights of the product or convolution that they follow or precede."""
    counts = dict.fromkeys(("behind", "before", "through"), 0)
    while True:
        folder = _Folder(graph)
        for node in graph.nodes:
            for side, rule in (("behind", folder.behind), ("before", folder.before), ("through", folder.through)):
                if rule(node):
                    counts[side] += 1
                    break
        if not folder.touched:
            break
        graph = folder.site.editor.finish()
    if not any(counts.values()):
        return graph
    did = f"fold_scale: folded {counts['behind']} behind products, {counts['before']} before"
    did += f", moved {counts['through']} behind products" if counts["through"] else ""
    return graph.replace(history=(*graph.history, did))


def product(s: Site, node: Node | None) -> Product | None:
    """The node as a product with constant weights, where it is one and its bias is constant too."""
    axes = None if node is None else opdef(node).product_axes(s.call(node))
    w = None if node is None or axes is None else s.value(node.inputs[1])
    if node is None or axes is None or w is None or w.dtype.kind != "f" or node.inputs[0] in s.constants:
        return None
    if any(i not in s.constants for i in node.inputs[2:] if i):
        return None
    fits = s.type(node.inputs[0]).rank > 1 and (opdef(node).image or _row_bias(s, node))
    return Product(node, w, *axes) if fits else None


def _row_bias(s: Site, node: Node) -> bool:
    """Whether the bias of a product of matrices is the same for all rows."""
    bias = s.value(node.inputs[2]) if len(node.inputs) > 2 and node.inputs[2] else None
    return bias is None or (bias.size in (1, s.type(node.outputs[0]).shape[1]) and bias.shape[:-1] in ((), (1,)))


def _rearranging(s: Site, x: str) -> Node | None:
    """What makes a tensor, where a factor that is the same everywhere may be moved past it."""
    node = s.maker(x)
    return node if node is not None and opdef(node).rearranges else None


class _Folder:
    """One walk over the graph; nodes that were changed are not looked at again before the next one."""

    def __init__(self, graph: Graph) -> None:
        self.site = Site(graph)
        self.touched: set[str] = set()

    def _free(self, *nodes: Node) -> bool:
        return self.touched.isdisjoint(n.name for n in nodes)

    # ---- behind ----

    def behind(self, node: Node) -> bool:
        """Fold a node into the product whose result it scales or shifts."""
        s = self.site
        at, value = _constant_operand(s, node)
        if value is None or s.type(node.inputs[at]) != s.type(node.outputs[0]):
            return False
        path, x = list[Node](), node.inputs[at]
        same = value.size > 0 and bool((value == value.reshape(-1)[0]).all())
        while s.only(x) and same and _only_scales(node) and (move := _rearranging(s, x)) is not None:
            path.append(move)
            x = move.inputs[0]
        found = product(s, s.maker(x)) if s.only(x) else None
        if found is None or not self._free(node, found.node, *path):
            return False
        values = value.reshape(-1)[:1] if same else _channels(s, found, value, x)
        if values is None or not (_only_scales(node) or BIAS in opdef(found.node).inputs):
            return False
        scale, shift = _affine(node, values)
        spread = found.along(found.out, scale) if scale.size > 1 else scale
        if not representable(found.weights * spread, found.weights.dtype):
            return False
        because(f"folded into the weights of {found.node.op} {found.node.name}", node.name)
        self._rewrite(found, spread, scale, shift)
        self._forward(node, node.inputs[at])
        self.touched.update(n.name for n in (node, found.node, *path))
        return True

    def _rewrite(self, p: Product, factor: Array, scale: Array, shift: Array) -> None:
        """Weights times `factor`; bias times `scale`, plus `shift`."""
        editor, node = self.site.editor, p.node
        weights = (p.weights.astype(np.float64) * factor).astype(p.weights.dtype)
        inputs = [node.inputs[0], editor.constant(f"{node.inputs[1]}.folded", weights)]
        old = self.site.value(node.inputs[2]) if len(node.inputs) > 2 and node.inputs[2] else None
        if old is not None or np.any(shift):
            n = p.weights.shape[p.out]
            before = np.zeros(n) if old is None else old.astype(np.float64).reshape(-1)
            bias = np.broadcast_to(before * scale + shift, (n,)).astype(p.weights.dtype)
            inputs.append(editor.constant(f"{node.outputs[0]}.bias", bias))
        because("takes in a factor or shift around it", node.name)
        self._replace(node, replace(node, inputs=tuple(inputs)))

    def _replace(self, old: Node, new: Node) -> None:
        nodes = self.site.editor.nodes
        nodes[next(k for k, n in enumerate(nodes) if n.name == old.name)] = new

    def _forward(self, node: Node, x: str) -> None:
        """Let the tensor `x`, which only `node` reads, take the name of the node's result."""
        editor, out = self.site.editor, node.outputs[0]
        editor.nodes = [
            replace(n, outputs=tuple(out if o == x else o for o in n.outputs)) if x in n.outputs else n
            for n in editor.nodes
            if n.name != node.name
        ]

    # ---- before ----

    def before(self, node: Node) -> bool:
        """Fold into a product what scales or shifts its input."""
        s = self.site
        found = product(s, node)
        source = s.maker(node.inputs[0]) if found else None
        if found is None or source is None or not s.only(node.inputs[0]) or not self._free(node, source):
            return False
        at, value = _constant_operand(s, source)
        if value is None or s.type(source.inputs[at]) != s.type(source.outputs[0]):
            return False
        channels = _channels(s, found, value, node.inputs[0])
        if channels is None:
            return False
        scale, shift = _affine(source, channels)
        if np.any(shift) and (BIAS not in opdef(node).inputs or _pads(s.call(node)) or _grouped(node)):
            return False
        if _grouped(node) and scale.size > 1:
            return False
        spread = found.along(found.into, scale) if scale.size > 1 else scale
        if not representable(found.weights * spread, found.weights.dtype):
            return False
        because(f"folded into the weights of {node.op} {node.name}", source.name)
        add = np.zeros(1)
        if np.any(shift):
            every = np.broadcast_to(shift, (found.weights.shape[found.into],))
            axes = tuple(d for d in range(found.weights.ndim) if d != found.out)
            add = (found.weights.astype(np.float64) * found.along(found.into, every)).sum(axis=axes)
        reading = replace(node, inputs=(source.inputs[at], *node.inputs[1:]))
        self._rewrite(replace(found, node=reading), spread, np.ones(1), add)
        self.touched.update((node.name, source.name))
        return True

    # ---- through ----

    def through(self, node: Node) -> bool:
        """Move a number that scales an operand of a product of two computed tensors behind the product."""
        s = self.site
        if node.op != "MatMul" or any(i in s.constants for i in node.inputs):
            return False
        return any(self._through(node, i) for i in node.inputs)

    def _through(self, node: Node, x: str) -> bool:
        s, path = self.site, [node]
        while s.only(x) and (move := _rearranging(s, x)) is not None:
            path.append(move)
            x = move.inputs[0]
        source = s.maker(x, "Mul", "Div") if s.only(x) else None
        if source is None or path[-1].inputs.count(x) != 1 or not self._free(source, *path):
            return False
        at, value = _constant_operand(s, source)
        if value is None or s.type(source.inputs[at]) != s.type(x) or not (value == value.reshape(-1)[:1]).all():
            return False
        editor, reader, out = s.editor, path[-1], node.outputs[0]
        because(f"scales the result of MatMul {node.name}, in its kernel", source.name)
        number = editor.constant(f"{source.inputs[1 - at]}.number", value.reshape(-1)[0])
        product = editor.fresh(f"{out}.product")
        now = replace(reader, inputs=tuple(source.inputs[at] if i == x else i for i in reader.inputs))
        self._replace(reader, now)
        if reader is not node:
            now = node
        self._replace(node, replace(now, outputs=(product,)))
        editor.nodes = [n for n in editor.nodes if n.name != source.name]
        editor.nodes.append(replace(source, inputs=(product, number), outputs=(out,)))
        self.touched.update(n.name for n in (source, *path))
        return True


def _constant_operand(s: Site, node: Node) -> tuple[int, Array | None]:
    """Which input a node scales or shifts by a constant, and that constant; None where it does nothing of the kind."""
    at = data_input(s.constants, node)
    value = s.value(node.inputs[1 - at]) if opdef(node).affine is not None and len(node.inputs) == 2 else None
    if value is None or node.inputs[at] in s.constants or value.dtype not in (np.float32, np.float64):
        return at, None  # narrow numbers are scaled where they are to stay in their range
    finite = np.isfinite(value).all() and np.isfinite(_affine(node, value)[0]).all()
    return at, value if finite else None


def _affine(node: Node, values: Array) -> tuple[Array, Array]:
    """Scale and shift of an operator with a constant, in double precision."""
    affine = type(opdef(node)).affine
    assert affine is not None
    with np.errstate(all="ignore"):
        return affine(values.astype(np.float64))


def _only_scales(node: Node) -> bool:
    return not np.any(_affine(node, np.ones(1))[1])


def _along(value: Array, shape: tuple[int, ...], axis: int) -> Array | None:
    """Values of a broadcast constant along one axis, when it varies along no other."""
    if value.ndim > len(shape):
        return None
    full = (1,) * (len(shape) - value.ndim) + value.shape
    axis %= len(shape)
    return value.reshape(-1) if all(e == 1 for d, e in enumerate(full) if d != axis) else None


def _channels(s: Site, p: Product, value: Array, x: str) -> Array | None:
    """Values of a constant for each channel of the tensor `x` that a product reads or makes."""
    shape = s.type(x).shape
    return _along(value, shape, 1 if opdef(p.node).image else len(shape) - 1)


def _pads(call: Call) -> bool:
    return opdef(call.node).image and conv_shape(call).win.padded


def _grouped(node: Node) -> bool:
    return node.attrs.get("group", 1) != 1
