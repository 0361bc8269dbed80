"""Factors and shifts around a product with constant weights become part of the weights."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from workbench.graph.graph import Array, Graph, Node
from workbench.graph.opdef import opdef
from workbench.graph.operator_call import Call
from workbench.graph.ops.nn.conv import conv_shape
from workbench.graph.passes.base import because, graph_pass
from workbench.graph.passes.fold_batch_norm import representable
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
    if node is None or node.op not in ("Gemm", "MatMul", "Conv") or node.attrs.get("layout"):
        return None
    w = s.value(node.inputs[1])
    if w is None or w.dtype.kind != "f" or node.inputs[0] in s.constants:
        return None
    if any(i not in s.constants for i in node.inputs[2:] if i):
        return None
    call = s.call(node)
    if node.op == "MatMul":
        return Product(node, w, 0, 1) if w.ndim == 2 and s.type(node.inputs[0]).rank > 1 else None
    if node.op == "Conv":
        return Product(node, w, 1, 0)
    plain = call.get_float("alpha", 1.0) == 1 and call.get_float("beta", 1.0) == 1 and not call.get_int("transA", 0)
    into = call.get_int("transB", 0)
    return Product(node, w, into, 1 - into) if plain and _row_bias(s, node) else None


def _row_bias(s: Site, node: Node) -> bool:
    """Whether the bias of a Gemm is the same for all rows."""
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
        at = 1 if node.op in ("Mul", "Add") and node.inputs[:1] and node.inputs[0] in s.constants else 0
        value = _constant_operand(s, node, at)
        if value is None or s.type(node.inputs[at]) != s.type(node.outputs[0]):
            return False
        path, x = list[Node](), node.inputs[at]
        same = value.size > 0 and bool((value == value.reshape(-1)[0]).all())
        while s.only(x) and same and node.op in ("Mul", "Div") and (move := _rearranging(s, x)) is not None:
            path.append(move)
            x = move.inputs[0]
        found = product(s, s.maker(x)) if s.only(x) else None
        if found is None or not self._free(node, found.node, *path):
            return False
        values = value.reshape(-1)[:1] if same else _channels(s, found, value, x)
        if values is None or (node.op in ("Add", "Sub") and found.node.op == "MatMul"):
            return False
        scale, shift = _affine(node.op, values)
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
        at = 1 if source.op in ("Mul", "Add") and source.inputs[:1] and source.inputs[0] in s.constants else 0
        value = _constant_operand(s, source, at)
        if value is None or s.type(source.inputs[at]) != s.type(source.outputs[0]):
            return False
        channels = _channels(s, found, value, node.inputs[0])
        if channels is None:
            return False
        scale, shift = _affine(source.op, channels)
        if np.any(shift) and (node.op == "MatMul" or _pads(s.call(node)) or _grouped(node)):
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
        at = 1 if source.op == "Mul" and source.inputs[0] in s.constants else 0
        value = _constant_operand(s, source, at)
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


def _constant_operand(s: Site, node: Node, at: int) -> Array | None:
    """The constant of an addition, subtraction, product or quotient of a tensor (input `at`) and a constant."""
    if node.op not in ("Add", "Sub", "Mul", "Div") or len(node.inputs) != 2:
        return None
    value = s.value(node.inputs[1 - at])
    if value is None or node.inputs[at] in s.constants or not np.isfinite(np.asarray(value, np.float64)).all():
        return None
    if value.dtype not in (np.float32, np.float64):  # narrow numbers are scaled where they are to stay in their range
        return None
    return None if node.op == "Div" and not value.all() else value


def _affine(op: str, values: Array) -> tuple[Array, Array]:
    """Scale and shift of an operator with a constant, in double precision."""
    v = values.astype(np.float64)
    one, zero = np.ones(1), np.zeros(1)
    return {"Add": (one, v), "Sub": (one, -v), "Mul": (v, zero), "Div": (1 / v, zero)}[op]


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
    return _along(value, shape, 1 if p.node.op == "Conv" else len(shape) - 1)


def _pads(call: Call) -> bool:
    return call.node.op == "Conv" and conv_shape(call).win.padded


def _grouped(node: Node) -> bool:
    return node.attrs.get("group", 1) != 1
