"""Batch normalisation, and other scaling per channel, folded into the convolution before it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from workbench.cooperative_yield import pause
from workbench.graph.graph import Array, Graph, Node
from workbench.graph.graph_editor import GraphEditor
from workbench.graph.opdef import opdef
from workbench.graph.passes.base import because, graph_pass
from workbench.graph.type_inference import make_call

#: Weights that are worked out between two moments in which others may go first.
_AT_ONCE = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class Affine:
    """``y = x * scale + shift``, one number of each per channel (in double precision)."""

    scale: Array
    shift: Array

    def then(self, later: Affine) -> Affine:
        """First this, then `later`."""
        return Affine(self.scale * later.scale, self.shift * later.scale + later.shift)


@graph_pass("fold_batch_norm")
def fold_batch_norm(graph: Graph) -> Graph:
    """Fold batch normalisation and scaling per channel into the convolution before, or into one scale and shift."""
    editor = GraphEditor(graph)
    consumers, producers = graph.consumers(), graph.producers()
    folded = merged = 0
    done: set[str] = set()
    for node in graph.nodes:
        pause()
        if node.name in done or channel_affine(graph, node) is None:
            continue
        chain, total = _chain(graph, node, consumers)
        done.update(n.name for n in chain)
        conv = producers.get(node.inputs[data_input(graph.constants, node)])
        conv = conv if conv is not None and _absorbs(graph, conv, consumers) else None
        weights = None if conv is None else _folded(graph.constants[conv.inputs[1]], total)
        if conv is not None and weights is not None:
            _into_conv(editor, conv, chain, weights, total)
            folded += len(chain)
        elif len(chain) > 2 or any(n.op == "BatchNormalization" for n in chain):
            _as_scale_and_shift(graph, editor, chain, total)
            merged += len(chain)
    if not folded + merged:
        return graph
    return editor.finish(
        f"fold_batch_norm: folded {folded} nodes into convolutions, merged {merged} into scale and shift"
    )


def representable(exact: Array, dtype: np.dtype[Any]) -> bool:
    """Whether numbers in double precision stay normal ones in another type: none overflows, none fades."""
    with np.errstate(all="ignore"):
        size = np.abs(exact.astype(dtype))
    return bool(np.isfinite(size).all() and ((size >= np.finfo(dtype).tiny) | (exact == 0)).all())


def _folded(w: Array, f: Affine) -> Array | None:
    """Weights of a convolution with the factor of each channel in them; None where one would leave its range.

    Worked out in double precision, some channels at a time.
    """
    if w.dtype.kind != "f":
        return None
    out = np.empty_like(w)
    step = max(1, _AT_ONCE * len(w) // max(1, w.size))
    for at in range(0, len(w), step):
        pause()
        some = slice(at, at + step)
        exact = w[some].astype(np.float64) * f.scale[some].reshape(-1, *(1,) * (w.ndim - 1))
        if not representable(exact, w.dtype):
            return None
        out[some] = exact
    return out


def channel_affine(graph: Graph, node: Node) -> Affine | None:
    """The node as ``x * scale + shift`` per channel (axis 1), when it is that with constants."""
    call = make_call(node, graph.types, graph.constants)
    if node.attrs.get("layout"):
        return None
    if node.op == "BatchNormalization":
        if any(v is None for v in call.values[1:5]):
            return None
        scale, bias, mean, var = (np.asarray(v, np.float64) for v in call.values[1:5])
        k = scale / np.sqrt(var + call.get_float("epsilon", 1e-5))
        return Affine(k, bias - mean * k)
    affine = type(opdef(node)).affine
    if affine is None or len(node.inputs) != 2:
        return None
    at = data_input(graph.constants, node)
    c = graph.constants.get(node.inputs[1 - at])
    x, y = graph.types[node.inputs[at]], graph.types[node.outputs[0]]
    if node.inputs[at] in graph.constants or c is None or x != y or x.rank < 2 or not x.dtype.startswith("float"):
        return None
    v = _per_channel(c, x.shape)
    return None if v is None else Affine(*affine(v))


def data_input(constants: Mapping[str, Array], node: Node) -> int:
    """The input that a node with a constant scales or shifts."""
    return int(opdef(node).commutative and node.inputs[0] in constants)


def _per_channel(c: Array, shape: tuple[int, ...]) -> Array | None:
    """Values of a broadcast constant along axis 1, when it varies along no other axis."""
    if c.ndim > len(shape):
        return None
    full = (1,) * (len(shape) - c.ndim) + c.shape
    if any(e != 1 for d, e in enumerate(full) if d != 1):
        return None
    return np.asarray(np.broadcast_to(c.astype(np.float64).reshape(-1), (shape[1],)))


def _chain(graph: Graph, first: Node, consumers: dict[str, list[Node]]) -> tuple[list[Node], Affine]:
    """Longest run of such nodes from `first` on, each the only reader of the one before."""
    total = channel_affine(graph, first)
    assert total is not None
    chain = [first]
    while True:
        out = chain[-1].outputs[0]
        users = consumers.get(out, [])
        if len(users) != 1 or out in graph.outputs:
            return chain, total
        nxt = channel_affine(graph, users[0])
        if nxt is None or users[0].inputs[data_input(graph.constants, users[0])] != out:
            return chain, total
        chain.append(users[0])
        total = total.then(nxt)


def _absorbs(graph: Graph, conv: Node, consumers: dict[str, list[Node]]) -> bool:
    """Whether a node is a convolution with constant weights whose result nothing else reads."""
    op, constant = opdef(conv), all(i in graph.constants for i in conv.inputs[1:] if i)
    return (
        op.image
        and constant
        and op.product_axes(make_call(conv, graph.types, graph.constants)) is not None
        and len(consumers[conv.outputs[0]]) == 1
        and conv.outputs[0] not in graph.outputs
    )


def _into_conv(editor: GraphEditor, conv: Node, chain: list[Node], weights: Array, f: Affine) -> None:
    conv = next(n for n in editor.nodes if n.name == conv.name)
    old = (
        editor.constants[conv.inputs[2]].astype(np.float64)
        if len(conv.inputs) > 2 and conv.inputs[2]
        else np.zeros(len(weights))
    )
    bias = (old * f.scale + f.shift).astype(weights.dtype)
    inputs = (
        conv.inputs[0],
        editor.constant(f"{conv.inputs[1]}.folded", weights),
        editor.constant(f"{conv.outputs[0]}.bias", bias),
    )
    because(f"folded into the weights of {conv.op} {conv.name}", *(n.name for n in chain))
    because("takes in the scale and shift that followed", conv.name)
    editor.swap(conv, [replace(conv, inputs=inputs, outputs=chain[-1].outputs[:1])])
    gone = {n.name for n in chain}
    editor.nodes = [n for n in editor.nodes if n.name not in gone]


def _as_scale_and_shift(graph: Graph, editor: GraphEditor, chain: list[Node], f: Affine) -> None:
    first, last = chain[0], chain[-1]
    x = first.inputs[data_input(graph.constants, first)]
    rank, dtype = graph.types[x].rank, graph.types[x].dtype
    shape = (-1, *(1,) * (rank - 2))
    scale = editor.constant(f"{first.name}.scale", f.scale.astype(dtype).reshape(shape))
    shift = editor.constant(f"{first.name}.shift", f.shift.astype(dtype).reshape(shape))
    mul = editor.make("Mul", (x, scale), f"{last.outputs[0]}.scaled")
    add = editor.make("Add", (mul.outputs[0], shift), last.outputs[0], exact=True)
    at = editor.nodes.index(next(n for n in editor.nodes if n.name == last.name))
    editor.nodes[at : at + 1] = [mul, add]
    gone = {n.name for n in chain}
    editor.nodes = [n for n in editor.nodes if n.name not in gone]
