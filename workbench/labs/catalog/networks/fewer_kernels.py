"""Exercises on passes: bytes of kernels, a normalisation that is folded, nodes that become one kernel."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from workbench.graph import Graph, Node, TensorType
from workbench.labs.catalog.networks.residual import kernels_of, optimised, sizes_of, tensor_kib
from workbench.labs.exercise import Exercise, Function, Goal, Misconception, Prediction, Setting
from workbench.labs.goals import Case, right_for

VARIANTS = {"n": (64, 48, 32), "c": (32, 24, 16)}


def _graphs(n: int, channels: int) -> dict[str, Graph]:
    return {
        "every node a kernel": optimised(n, channels, "fuse", "fold_batch_norm"),
        "normalisations folded": optimised(n, channels, "fuse"),
        "folded and fused": optimised(n, channels),
    }


@cache
def _counts() -> tuple[int, int, int, int]:
    """Nodes and kernels as trained, nodes when folded, kernels when fused: the same for all sizes."""
    apart, folded, fused = _graphs(8, 4).values()
    return len(apart.nodes), len(kernels_of(apart)), len(folded.nodes), len(kernels_of(fused))


# ------------------------------------------------------------------------------------------------ traffic


def _traffic(kernels: Any, sizes: Any) -> Any:
    return sum(sizes[tensor] for reads, writes in kernels for tensor in {*reads, *writes})


def _stages(at: Setting) -> Iterator[Case]:
    """The network with its bytes, as trained, folded and fused."""
    for name, graph in _graphs(at["n"], at["c"]).items():
        kernels, sizes = kernels_of(graph), sizes_of(graph)
        yield (kernels, sizes), _traffic(kernels, sizes), f"the network, {name}"


_TWICE = [(("a", "a"), ("b",)), (("b", "a"), ("c",))], {"a": 64, "b": 128, "c": 4, "other": 1000}

TRAFFIC = Exercise(
    name="traffic",
    title="What a kernel of its own costs",
    task=lambda at: (
        f"The network has {_counts()[0]} nodes, as it was trained; one of them, "
        "Flatten, is a view: it gives the same memory another shape, so there is nothing to run. If each other node is "
        "a kernel of its own, how many kernels are there? When all normalisations are folded into convolutions, and "
        "each ReLU and Add joins a convolution, how many are left?\n\n"
        "Each kernel reads its operands from memory and writes its result. How many KiB does one ReLU of the first "
        f"stage move, for a float32 tensor of 1 x {at['c']} x {at['n']} x {at['n']}?\n\n"
        "Write traffic(kernels, sizes): the bytes that all kernels together read and write. A kernel is a pair "
        "(reads, writes) of tuples of names; sizes has the bytes of each tensor. What a kernel reads twice counts once."
    ),
    predictions=(
        Prediction(
            "kernels",
            "How many kernels are there, if each node but the view is one?",
            lambda at: _counts()[1],
            "kernels",
            (
                Misconception(lambda at: _counts()[0], "One of the nodes has nothing to run."),
                Misconception(
                    lambda at: _counts()[2], "That is without normalisations. Here each of them is a kernel."
                ),
            ),
            within=0,
        ),
        Prediction(
            "left",
            "How many kernels are left after folding and fusing?",
            lambda at: _counts()[3],
            "kernels",
            (
                Misconception(lambda at: _counts()[3] + 1, "A view is no kernel, here either."),
                Misconception(
                    lambda at: _counts()[3] - 2,
                    "That is the number of convolutions. What comes after the last of them?",
                ),
                Misconception(lambda at: _counts()[3] + 5, "Each Add joins a convolution, too."),
            ),
            within=0,
        ),
        Prediction(
            "relu",
            "How many KiB does one ReLU of the first stage move?",
            lambda at: 2 * tensor_kib(at),
            "KiB",
            (
                Misconception(tensor_kib, "It reads, and it writes."),
                Misconception(lambda at: tensor_kib(at) / 2, "These are elements. A float32 has four bytes."),
                Misconception(lambda at: 3 * tensor_kib(at), "It has one operand and one result."),
            ),
        ),
    ),
    work=Function("traffic", _traffic),
    goals=(
        right_for("It is right for the network: as trained, folded, and fused.", _stages),
        right_for("It is right for a kernel that reads a tensor twice.", [(_TWICE, 64 + 128 + 128 + 64 + 4)]),
    ),
    hints=(
        "Go through the kernels; for each, add the sizes of what it reads and of what it writes.",
        "A set holds each name once: {*reads, *writes}.",
    ),
    why="A ReLU has hardly any arithmetic, but moves its tensor twice. So a network is not made faster by a better "
    "ReLU but by none: it happens while the convolution's result is still in a register.",
    variants=VARIANTS,
)


# ------------------------------------------------------------------------------------------------ fold


def _fold(w: Any, scale: Any, bias: Any, mean: Any, variance: Any, epsilon: Any) -> Any:
    factor = scale / (variance + epsilon) ** 0.5
    return w * factor.reshape(-1, 1, 1, 1), bias - mean * factor


def _folds(fold: Any, seed: int, epsilon: float) -> tuple[bool, str]:
    rng = np.random.default_rng(seed)
    w, patch = rng.standard_normal((6, 4, 3, 3)), rng.standard_normal((5, 4, 3, 3))
    scale, bias, mean = rng.standard_normal((3, 6))
    variance = rng.uniform(0.01, 2.0, 6)
    given = [x.copy() for x in (w, scale, bias, mean, variance)]
    plain = np.einsum("oikl,pikl->po", w, patch)
    wanted = scale * (plain - mean) / np.sqrt(variance + epsilon) + bias
    new, shift = fold(*given, epsilon)
    if np.shape(new) != w.shape or np.shape(shift) != bias.shape:
        return (
            False,
            f"Weights {w.shape} become {np.shape(new)}, and there are {np.shape(shift)} shifts for 6 channels.",
        )
    if not all(np.array_equal(a, b) for a, b in zip(given, (w, scale, bias, mean, variance), strict=True)):
        return False, "The function changes the arrays that it is given."
    off = float(np.max(np.abs(np.einsum("oikl,pikl->po", new, patch) + shift - wanted)))
    return off < 1e-9, f"With epsilon = {epsilon:g} the largest difference to the normalised result is {off:.2g}."


FOLD = Exercise(
    name="fold",
    title="A normalisation that disappears",
    task="When a network is used, BatchNormalization has fixed numbers per channel: it makes "
    "scale · (y - mean) / sqrt(variance + epsilon) + bias of each value y of a convolution. The convolution is linear, "
    "so the same can be had from other weights and one number to add.\n\n"
    "A channel has scale 3, mean 2, variance 4, bias 1, and epsilon is 0. By which factor are its weights multiplied? "
    "What is added to the result?\n\n"
    "Write fold(w, scale, bias, mean, variance, epsilon), which returns the new weights and what is added per channel. "
    "w is of the shape (output channels, input channels, height, width), the others have a number per output channel.",
    predictions=(
        Prediction(
            "factor",
            "By which factor are the weights multiplied?",
            1.5,
            misconceptions=(
                Misconception(3, "The normalisation divides, too."),
                Misconception(0.75, "It divides by the root of the variance."),
                Misconception(6, "It divides by the root, it does not multiply."),
            ),
        ),
        Prediction(
            "added",
            "What is added to the result?",
            -2,
            misconceptions=(
                Misconception(1, "That is the bias alone. What becomes of the mean?"),
                Misconception(-1, "The mean is scaled as well, before the bias is added."),
                Misconception(4, "The mean is taken away."),
                Misconception(-0.5, "It divides by the root of the variance."),
            ),
        ),
    ),
    work=Function("fold", _fold),
    goals=(
        Goal("A convolution with the new weights gives the normalised result.", lambda f, at: _folds(f, 1, 0.0)),
        Goal("It holds with an epsilon that matters, too.", lambda f, at: _folds(f, 2, 0.5)),
    ),
    hints=(
        "Write the formula as factor · y + rest: what is the factor, what is the rest?",
        "factor = scale / (variance + epsilon) ** 0.5, and the rest is bias - mean * factor.",
        "Each output channel of w has one factor: factor.reshape(-1, 1, 1, 1) has the shape that multiplies it.",
    ),
    why="factor · (w ∗ x) = (factor · w) ∗ x. The work is done once, when the network is compiled. The sums are "
    "rounded in another place, so results differ in the last digits: a pass like this has to be allowed, not only "
    "correct.",
)


# ------------------------------------------------------------------------------------------------ fuse


POINTWISE = ("Relu", "Add", "Sigmoid", "Mul")


def _fuse(graph: Any) -> Any:
    readers = graph.consumers()
    kernels: Any = []
    kernel_of: Any = {}
    for node in graph.nodes:
        alone = [t for t in node.inputs if t in kernel_of and len(readers[t]) == 1 and t not in graph.outputs]
        if node.op in POINTWISE and alone:
            kernel = kernel_of[alone[0]]
        else:
            kernel = []
            kernels.append(kernel)
        kernel.append(node.name)
        if node.op != "Flatten":
            kernel_of[node.outputs[0]] = kernel
    return kernels


def _fault(graph: Graph, kernels: Any) -> str:
    """What is wrong with kernels; "" where they can run."""
    named = [name for k in kernels for name in k]
    if sorted(named) != sorted(n.name for n in graph.nodes):
        return "Each node has to be in exactly one kernel."
    readers = graph.consumers()
    for kernel in kernels:
        inside = [n for n in graph.nodes if n.name in kernel]
        for k, node in enumerate(inside):
            if k and node.op not in POINTWISE:
                return f"{node.name} ({node.op}) is not the first of its kernel, and not element-wise."
            if k and inside[0].op == "Flatten":
                return f"{node.name} is in one kernel with a view."
            where = {r.name for r in readers.get(node.outputs[0], [])}
            inner = where and where <= {n.name for n in inside} and node.outputs[0] not in graph.outputs
            if node is not inside[-1] and not inner:
                return f"{node.name} is inside a kernel, but its result is needed outside, or by nobody there."
    return ""


@cache
def _forks() -> dict[str, Graph]:
    """Graphs in which a result has two readers, is an output, meets another convolution's, or becomes a view."""
    w = {"w": np.ones((4, 4, 1, 1), "float32")}
    conv = [Node("conv", "Conv", ("x", "w"), ("c",)), Node("relu", "Relu", ("c",), ("r",))]
    two = [Node("sigmoid", "Sigmoid", ("c",), ("s",)), Node("mul", "Mul", ("r", "s"), ("y",))]
    more = [Node("again", "Conv", ("r", "w"), ("d",)), Node("last", "Sigmoid", ("d",), ("y",))]
    both = [Node("other", "Conv", ("x", "w"), ("d",)), Node("sum", "Add", ("d", "r"), ("y",))]
    view = [Node("flat", "Flatten", ("r",), ("f",)), Node("after", "Sigmoid", ("f",), ("y",))]
    cases = {"two readers": (two, ["y"]), "an output inside": (more, ["y", "c"]), "two convolutions": (both, ["y"])}
    cases["a view inside"] = view, ["y"]
    of = {"x": TensorType((1, 4, 8, 8))}
    return {name: Graph.make(name, [*conv, *nodes], of, outs, w) for name, (nodes, outs) in cases.items()}


def _fewest(graph: Graph) -> int:
    """Every element-wise node saves a kernel, where it alone reads something that another kernel makes."""
    readers, made = graph.consumers(), {n.outputs[0] for n in graph.nodes if n.op != "Flatten"}
    free = {t for t in made if len(readers.get(t, [])) == 1 and t not in graph.outputs}
    return sum(n.op not in POINTWISE or free.isdisjoint(n.inputs) for n in graph.nodes)


def _judged(fuse: Any, graphs: dict[str, Graph]) -> tuple[bool, str]:
    for name, graph in graphs.items():
        kernels, fewest = [list(k) for k in fuse(graph)], _fewest(graph)
        if fault := _fault(graph, kernels):
            return False, f"{name}: {fault}"
        if len(kernels) > fewest:
            return False, f"{name}: {len(kernels)} kernels for {len(graph.nodes)} nodes are legal, but not the fewest."
    return True, f"Legal, and as few as can be: {', '.join(graphs)}."


FUSE = Exercise(
    name="fuse",
    title="What may be one kernel",
    task=lambda at: (
        "An element-wise node (Relu, Add, Sigmoid, Mul) joins the kernel that makes one of its operands, if nobody "
        "else needs that operand. A convolution, a pooling or a product begins a kernel, and a kernel has one of "
        "them at most. A view (Flatten) stays alone, in a list of its own.\n\n"
        "Block four has six nodes: conv foura and its ReLU, conv fourb, conv fours (the shortcut), the Add of both, "
        "and a ReLU; its normalisations are folded. How many kernels is that? The stem's ReLU is read by conv onea and "
        "by the Add of block one: may that Add join the stem's kernel? A block of the first stage ends with a "
        "convolution, an Add and a ReLU: how many KiB are not moved any more when these three kernels become one?\n\n"
        "Write fuse(graph): a list of kernels, each a list of names of nodes. graph.nodes are in order, node.op, "
        "node.inputs and node.outputs say what a node is; graph.consumers()[tensor] are the nodes that read a "
        "tensor, and graph.outputs are tensors that the caller needs."
    ),
    predictions=(
        Prediction(
            "four",
            "How many kernels does block four become?",
            3,
            "kernels",
            (
                Misconception(2, "Two convolutions in one kernel? Each begins one of its own."),
                Misconception(4, "The Add alone needs what conv fourb makes, so it can join it."),
                Misconception(6, "That is one per node."),
            ),
            within=0,
        ),
        Prediction(
            "stem",
            "May the Add of block one join the stem's kernel?",
            "no",
            choices=("yes", "no"),
            misconceptions=(
                Misconception("yes", "Then the value before the Add would not be in memory. Who else needs it?"),
            ),
        ),
        Prediction(
            "saved",
            "How many KiB are not moved any more?",
            lambda at: 4 * tensor_kib(at),
            "KiB",
            (
                Misconception(lambda at: 2 * tensor_kib(at), "Two tensors are in between, each written and read."),
                Misconception(lambda at: 5 * tensor_kib(at), "The Add's other operand is still read."),
                Misconception(lambda at: 6 * tensor_kib(at), "The last result is still written, the shortcut read."),
            ),
        ),
    ),
    work=Function("fuse", _fuse),
    goals=(
        Goal(
            "The network has legal kernels, as few as this rule allows.",
            lambda f, at: _judged(f, {"the network": _graphs(at["n"], at["c"])["normalisations folded"]}),
        ),
        Goal(
            "So have networks with forks, an output inside, two convolutions that are added, and a view inside.",
            lambda f, at: _judged(f, _forks()),
        ),
    ),
    hints=(
        "Go through graph.nodes in order and keep, for each tensor, the kernel (a list) that makes it.",
        "A node may join where it is element-wise, len(graph.consumers()[tensor]) is 1 and tensor is not in "
        "graph.outputs.",
        "Join the kernel of the first operand for which that holds; otherwise begin a new list. Keep no kernel for "
        "what a Flatten makes: nothing joins a view.",
    ),
    why="What is inside a kernel never reaches memory. So it may have no other reader, and may not be an output: "
    "this is TVM's rule, in which the nearest node that all paths go through has to be able to join, too.",
    variants=VARIANTS,
)
