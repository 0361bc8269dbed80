"""Pruning: weights become zeros in blocks where kernels that leave these out are faster, measured."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from workbench.arguments import is_a, real, whole
from workbench.errors import ModelError, UsageError, did_you_mean
from workbench.graph import Graph
from workbench.graph.as_loaded import require_as_loaded
from workbench.graph.graph import Array, Node, TensorType
from workbench.graph.operator_facts import BLOCK
from workbench.graph.ops.math.sparse import block_weights, turned_weights
from workbench.graph.type_inference import make_call
from workbench.network.compile import compile
from workbench.network.turns import in_turns
from workbench.target import Target

if TYPE_CHECKING:
    from workbench.log import Database

#: Share of the dense kernel's time that the sparse one may take. Less is no gain that another measurement finds again.
_GAIN = 0.95


@dataclass(frozen=True, slots=True)
class Choice:
    """What became of one product: whether it is sparse now, why, and the milliseconds of both kernels, where timed."""

    node: str
    sparse: bool
    reason: str
    dense_ms: float | None = None
    sparse_ms: float | None = None

    def __str__(self) -> str:
        return f"sparsify: {self.node} {'is sparse' if self.sparse else 'stays dense'}: {self.reason}"


def sparsify(
    graph: Graph,
    sparsity: float | None = 0.9,
    block: Sequence[int] = (16, 1),
    *,
    exclude: Iterable[str] | str = (),
    log: Database | str | None = None,
    target: Target | str | None = None,
    seconds: float = 0.2,
) -> Graph:
    """Make weights of products sparse where it pays: the blocks of the least magnitude become zeros.

    Both kernels of each product are timed. Where the sparse one is not faster, the weights stay as they are.

    Parameters
    ----------
    graph : Graph
        As `load_onnx` returns it.
    sparsity : float, optional
        Share of the weights that become zeros, at least 0 and below 1. Each strip of neighbouring columns keeps as many
        blocks, those with the largest sums of magnitudes. None prunes nothing: zeros that are there are used.
    block : (int, int)
        Columns of the result, and rows of the weights (what is summed over), of a block. The first divides the columns;
        the lanes of a register or twice as many are fast.
    exclude : str or iterable of str
        Names of nodes that stay as they are.
    log : path or Database, optional
        Where kernels have their schedules from, see `compile`.
    target : Target or str, optional
        What the kernels are timed for; this machine by default.
    seconds : float
        How long each product is timed.

    Returns
    -------
    Graph
        Not optimised. Its `history` has a line for each product: what was measured, or why it stays dense. `compile`
        makes sparse kernels of it, `save_onnx` writes its zeros.

    Raises
    ------
    UsageError
        "usage.sparsity", "usage.block", "usage.exclude".
    ModelError
        "model.optimised", "model.dynamic_shape" for lengths that are open, "model.nothing_to_sparsify" where no node
        multiplies by constant weights.
    """
    is_a("graph", graph, Graph, "load a model with load_onnx(path) first")
    require_as_loaded(graph, "pruned")
    if sparsity is not None and not 0 <= real("sparsity", sparsity) < 1:
        text = f"sparsity has to be at least 0 and below 1, not {sparsity:g}"
        raise UsageError("usage.sparsity", text, ["sparsity"], "0.9 makes nine weights of ten zeros")
    width, rows = _block(block)
    excluded = _excluded(graph, exclude)
    timed = _Timed(graph, (width, rows), Target(target) if isinstance(target, str) else target, log, seconds)
    nodes, constants, choices = list[Node](), dict(graph.constants), list[Choice]()
    for node in graph.nodes:
        weights = (
            turned_weights(make_call(node, graph.types, graph.constants)) if node.op in ("MatMul", "Gemm") else None
        )
        if weights is None:
            nodes.append(node)
            continue
        if node.name in excluded:
            choice, new = Choice(node.name, False, "it is excluded"), None
        else:
            choice, new = timed.choose(node, weights, sparsity)
        choices.append(choice)
        nodes.append(node if new is None else _with_weights(graph, node, new, (width, rows), constants))
    if not choices:
        text = f"No node of the network {graph.name!r} multiplies by constant weights of two dimensions."
        raise ModelError("model.nothing_to_sparsify", text, (graph.name,))
    made = graph.rebuilt(nodes, constants, graph.outputs)
    return made.replace(history=(*graph.history, *map(str, choices)))


def _block(block: Sequence[int]) -> tuple[int, int]:
    """Columns and rows of a block, checked."""
    sizes = is_a("block", block, Sequence, "give columns and rows: (16, 1)")
    if len(sizes) != 2:
        raise UsageError("usage.block", f"A block has two sizes, not {len(sizes)}", ["block"], "give (16, 1)")
    width, rows = (whole("each size of a block", n, code="usage.block") for n in sizes)
    return width, rows


def _excluded(graph: Graph, exclude: Iterable[str] | str) -> tuple[str, ...]:
    """Names of nodes that stay as they are, checked."""
    excluded = (exclude,) if isinstance(exclude, str) else tuple(exclude)
    names = [n.name for n in graph.nodes]
    if unknown := [n for n in excluded if n not in names]:
        hint = did_you_mean(str(unknown[0]), names, "nodes")
        raise UsageError("usage.exclude", f"The network has no node {str(unknown[0])!r}", [str(unknown[0])], hint)
    return excluded


def _with_weights(
    graph: Graph, node: Node, weights: Array, block: tuple[int, int], constants: dict[str, Array]
) -> Node:
    """The node with pruned weights of its own."""
    if graph.constants[node.inputs[1]].shape != weights.shape or node.attrs.get("transB"):
        weights = np.ascontiguousarray(weights.T)
    name = f"{node.inputs[1]}.sparse"
    while name in graph.types or (name in constants and not np.array_equal(constants[name], weights)):
        name += "_"
    constants[name] = weights
    return replace(node, inputs=(node.inputs[0], name, *node.inputs[2:]), attrs={**node.attrs, BLOCK: block})


def pruned(weights: Array, sparsity: float, block: tuple[int, int]) -> Array:
    """Weights ``[k, n]`` with zeros in the blocks of the least magnitude; each strip of columns keeps as many."""
    (k, n), (width, rows) = weights.shape, block
    blocks = weights.reshape(k // rows, rows, n // width, width)
    sizes = np.abs(blocks).sum((1, 3))
    count = max(1, round((1 - sparsity) * len(sizes)))
    kept = np.argsort(-sizes, axis=0, kind="stable")[:count]
    mask = np.zeros(sizes.shape, bool)
    np.put_along_axis(mask, kept, True, axis=0)
    return np.where(mask[:, None, :, None], blocks, 0).astype(weights.dtype).reshape(k, n)


class _Timed:
    """Dense and sparse kernels of products, each kind timed once."""

    def __init__(
        self,
        graph: Graph,
        block: tuple[int, int],
        target: Target | None,
        log: Database | str | None,
        seconds: float,
    ) -> None:
        self.graph, self.block, self.target, self.log, self.seconds = graph, block, target, log, seconds
        self.found: dict[tuple[object, ...], dict[str, float]] = {}

    def choose(self, node: Node, weights: Array, sparsity: float | None) -> tuple[Choice, Array | None]:
        """What becomes of a product, and its weights where it is sparse."""
        (k, n), (width, rows) = weights.shape, self.block
        if n % width or k % rows:
            why = f"its weights {k}x{n} are not cut into blocks of {width} columns by {rows} rows"
            return Choice(node.name, False, why), None
        new = weights if sparsity is None else pruned(weights, sparsity, self.block)
        count = block_weights(new, self.block)[1].shape[1]
        most = k // rows
        if count == most:
            return Choice(node.name, False, "no block of some strip of its weights is zero"), None
        x = self.graph.types[node.inputs[0]]
        key = (x.shape, x.dtype, k, n, count)
        if key not in self.found:
            self.found[key] = self._times(x, new)
        dense, sparse = self.found[key]["dense"], self.found[key]["sparse"]
        gain = sparse < _GAIN * dense
        text = f"{sparse:.3g} ms with {100 * count / most:.0f} % of the blocks, {dense:.3g} ms with all"
        return Choice(node.name, gain, text, dense, sparse), new if gain else None

    def _times(self, x: TensorType, weights: Array) -> dict[str, float]:
        runs = {}
        for name, attrs in {"dense": {}, "sparse": {BLOCK: self.block}}.items():
            node = Node("product", "MatMul", ("x", "w"), ("y",), attrs)
            one = Graph.make("product", [node], {"x": x}, ["y"], {"w": weights})
            exe = compile(one, self.log, self.target)
            feeds = exe.empty_inputs()
            feeds["x"][...] = np.random.default_rng(0).standard_normal(x.shape)
            runs[name] = exe.bind(feeds)
        return in_turns(runs, self.seconds)
