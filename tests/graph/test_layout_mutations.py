"""Deliberate bugs in the layout pass: each has to be noticed (see `graph.mutation`)."""

from __future__ import annotations

import functools
import itertools
import math
import random

import pytest
from graph.layout_nets import classifier, net_of, random_net
from graph.mutation import Mutation, assert_noticed
from graph.nets import close, conv, random_feeds
from graph.small import net, weights

from workbench.graph import Graph, Node, run_reference
from workbench.graph.passes import run_pass
from workbench.graph.passes.layout.layout_choice import cheapest, space
from workbench.graph.passes.layout.write import write

LAYOUT, OPS = "workbench.graph.passes.layout", "workbench.graph.ops"


def same(graph: Graph) -> str:
    """Whether the pass keeps the outputs and their names; "" when it does."""
    laid = run_pass(graph, "layout")
    feeds = random_feeds(graph)
    want, got = run_reference(graph, feeds), run_reference(laid, feeds)
    return next((o for o in want if not close(got[o], want[o], 1e-5)), "")


def any_choice(graph: Graph) -> str:
    """Whether nodes compute the same in some of the modes that they declare; "" when they do."""
    found = space(graph)
    feeds = random_feeds(graph)
    want = run_reference(graph, feeds)
    for seed in range(6):
        rng = random.Random(seed)
        got = run_reference(write(graph, {n: rng.choice(modes) for n, modes in found.modes.items()})[0], feeds)
        if wrong := next((o for o in want if not close(got[o], want[o], 1e-5)), ""):
            return wrong
    return ""


def best(graph: Graph) -> str:
    """Whether the choice is the cheapest of all, and costs what it says; "" when it does."""
    found = space(graph)
    names = list(found.modes)
    every = itertools.product(*(found.modes[n] for n in names))
    least = min(found.price(dict(zip(names, choice, strict=True))) for choice in every)
    chosen, solution = cheapest(found)
    if not solution.exact or not math.isclose(solution.cost, least):
        return f"{solution.cost} is not {least}"
    return "" if math.isclose(found.price(chosen), least) else "the choice is not the one that was meant"


def paid(graph: Graph) -> str:
    """Whether exactly what is written was paid for: nodes, and transpositions; "" when it was."""
    found = space(graph)
    chosen, solution = cheapest(found)
    _, moves = write(graph, chosen)
    ns = sum(m.cost for m in chosen.values()) + sum(found.move(m.tensor, m.source, m.target) for m in moves)
    return "" if math.isclose(ns, solution.cost) else f"{solution.cost} was paid for {ns}"


def small_tables(graph: Graph) -> str:
    """Whether a search with tables of a few entries is content with what it knows; "" when it is."""
    found = space(graph)
    _, exact = cheapest(found)
    _, rough = cheapest(found, limit=8)
    return "" if rough.bound <= exact.cost * (1 + 1e-9) <= rough.cost * (1 + 2e-9) else "the bound is none"


def two_readers() -> Graph:
    """An image that a convolution and two products read."""
    nodes = [
        conv("c", "x", "w", "a"),
        Node("m", "MatMul", ("a", "a"), ("y",)),
        Node("n", "MatMul", ("a", "k"), ("z",)),
        conv("d", "a", "v", "b"),
    ]
    constants = {"w": weights(16, 4, 1, 1), "v": weights(4, 16, 1, 1), "k": weights(1, 1, 6, 6)}
    return net(nodes, constants, outputs=("y", "z", "b"))


def two_inputs() -> Graph:
    """A product of two images."""
    nodes = [conv("c", "x", "w", "a"), conv("d", "x", "v", "b"), Node("m", "MatMul", ("a", "b"), ("y",))]
    return net(nodes, {"w": weights(16, 4, 1, 1), "v": weights(16, 4, 1, 1, seed=1)})


def an_inner_output() -> Graph:
    """An image that is an output, and read."""
    nodes = [conv("c", "x", "w", "a"), conv("d", "a", "v", "y")]
    return net(nodes, {"w": weights(16, 4, 1, 1), "v": weights(4, 16, 3, 3)}, outputs=("a", "y"))


def computed_weights() -> Graph:
    """A convolution whose weights are computed."""
    nodes = [Node("r", "Relu", ("w",), ("v",)), conv("c", "x", "v", "y")]
    return net(nodes, {}, (1, 4, 30, 30), w=(16, 4, 3, 3))


def two_equal_outputs() -> Graph:
    """Two outputs that are the same memory."""
    nodes = [conv("c", "x", "w", "a")]
    nodes += [Node(f"t{k}", "Transpose", ("a",), (f"y{k}",), {"perm": (0, 2, 3, 1)}) for k in range(2)]
    return net(nodes, {"w": weights(16, 4, 1, 1)}, outputs=("y0", "y1"))


def one_pixel() -> Graph:
    """A gate: an image of one pixel between convolutions."""
    nodes = [
        conv("c", "x", "w", "a"),
        Node("g", "GlobalAveragePool", ("a",), ("p",)),
        conv("d", "p", "v", "q"),
        Node("r", "Relu", ("q",), ("s",)),
        Node("m", "Mul", ("a", "s"), ("y",)),
    ]
    return net(nodes, {"w": weights(16, 4, 1, 1), "v": weights(16, 16, 1, 1)})


@functools.cache
def nets() -> tuple[Graph, ...]:
    """Random networks with few enough choices to try them all."""
    found = (random_net(seed, 6) for seed in range(200))
    few = [g for g in found if 8 < math.prod(len(m) for m in space(g).modes.values()) < 3000]
    return tuple(few[:12])


def number(k: int):
    def make() -> Graph:
        return nets()[k]

    make.__name__ = f"random {k}"
    return make


RANDOM = tuple(number(k) for k in range(12))


def at(where: str, what: str, old: str, new: str, *on, check=same) -> Mutation:
    return Mutation(
        "layout",
        where if where.startswith("workbench") else f"{LAYOUT}.{where}",
        what,
        old,
        new,
        tuple(net_of(n) if isinstance(n, str) else n for n in on),
        check,
    )


MUTATIONS = (
    # orders
    at(
        "memory_order:transposed",
        "the permutation and its inverse are mixed up",
        "back[a] for a",
        "perm[a] for a",
        "shuffled channels",
        "to channels last and back",
        *RANDOM,
        check=any_choice,
    ),
    at(
        "memory_order:split_rows",
        "rows stay where they are",
        "lead for x in memory[lead:]]).reshape",
        "lead for x in sorted(memory[lead:])]).reshape",
        classifier,
    ),
    at(
        "memory_order:Order.of",
        "digits are not sorted",
        "sorted(range(len(runs)), key=lambda r: runs[r][0])",
        "list(range(len(runs)))",
        *RANDOM,
        check=any_choice,
    ),
    # constants
    at(
        "workbench.graph.operator_facts:Weights.perm",
        "input and output channels are mixed up",
        "if self.input_first else",
        "if not self.input_first else",
        "transposed convolution",
    ),
    at(
        "carriers:Elementwise._constant",
        "a constant is not transposed",
        "np.transpose(c.reshape(_widened(c.shape, len(perm))), perm)",
        "c.reshape(_widened(c.shape, len(perm)))",
        "per pixel",
        "per channel",
    ),
    at(
        "carriers:Elementwise._constant",
        "leading dimensions count from the end",
        "full.reshape(full.shape[lead:])",
        "full.reshape(full.shape[lead:][::-1])",
        "per pixel",
        "per row and channel",
    ),
    at(
        "carriers:Product.write",
        "columns are permuted for rows",
        "axis=site.op.summed_axis(site.call)",
        "axis=1 - site.op.summed_axis(site.call)",
        classifier,
    ),
    at("carriers:Product.write", "the weights stay as they are", 'rows, "rows")', 'weights, "rows")', classifier),
    at(
        "write:Writer.moved",
        "a constant part is not transposed",
        "np.transpose(site.value(i), perm)",
        "site.value(i)",
        "concatenation of channels",
    ),
    # run-time operands
    at(
        "carriers:Elementwise._operand",
        "an operand of lower rank is not widened",
        "Order.of(_widened(site.shape(i), len(perm)), perm)",
        "PLAIN",
        "an image without its batch computed at run time",
        check=paid,
    ),
    at(
        "carriers:Image.write",
        "weights at run time stay as they are",
        "in perms else w.plain(x)",
        "in perms and not i else w.plain(x)",
        computed_weights,
    ),
    # axes
    at(
        f"{OPS}.arrays.movement:Concat.permuted",
        "the axis stays",
        "c.moved_axis(perm, 1)",
        "c.get_int('axis', 1)",
        "concatenation of channels",
        "concatenation of rows",
    ),
    at(
        "workbench.graph.operator_call:Call.moved_axis",
        "an axis is looked up the wrong way round",
        'perm.index(self.get_int("axis", default) % len(perm))',
        'perm[self.get_int("axis", default) % len(perm)]',
        "softmax over channels",
        "softmax over columns",
        "concatenation of rows",
    ),
    at(
        f"{OPS}.nn.softmax:AlongAxis.permuted",
        "the last axis stays the last",
        "c.moved_axis(perm, -1)",
        "-1",
        "softmax over channels",
        "softmax over columns",
    ),
    at(
        f"{OPS}.math.reduce:Reduce.permuted",
        "the axes stay",
        "perm.index(a) for a in axes",
        "a for a in axes",
        "sum over rows",
        "maximum over channels",
    ),
    at(
        f"{OPS}.math.arg_extremes:Arg.permuted",
        "the axis stays",
        "perm.index(axis)}, out)",
        "axis}, out)",
        "where the maximum is",
    ),
    at(
        f"{OPS}.arrays.movement:Slice.permuted",
        "the axes stay",
        "perm.index(a % len(perm))",
        "a % len(perm)",
        "slice of channels",
        "slice with steps",
    ),
    at(
        f"{OPS}.arrays.movement:Slice.permuted",
        "a list of axes keeps its order",
        "{3: ints(*moved)}",
        "{3: ints(*sorted(moved))}",
        "slice with steps",
    ),
    at(
        f"{OPS}.arrays.movement:Pad.permuted",
        "the ends are not permuted",
        "pads[p][1] for p in perm",
        "pads[p][1] for p in range(len(perm))",
        "padding",
        "padding by inputs",
    ),
    at(
        f"{OPS}.arrays.movement:Pad.permuted",
        "the value is lost",
        ', "value": self.fill(c)',
        "",
        "padding",
        "padding by inputs",
    ),
    at(f"{OPS}.nn.resize:Resize.permuted", "the scales stay", "[list(perm)]", "", "twice the size", "another size"),
    at(f"{OPS}.arrays.repeat:Tile.permuted", "the repeats stay", "[list(perm)]", "", "repeated"),
    at(f"{OPS}.arrays.gather:Gather.permuted", "the axis stays", "perm.index(axis)}", "axis}", "one row"),
    at(
        "workbench.graph.operator_facts:left_axes",
        "the result keeps a hole",
        "left.index(a) for a in perm",
        "left.index(a) for a in sorted(perm)",
        "one row",
    ),
    at(
        f"{OPS}.quantized.quantize_linear:_Linear.permuted",
        "the axis stays",
        "c.moved_axis(perm, 1)}",
        "1}",
        "quantised per channel",
    ),
    # what moves
    at(
        "write:Writer.rename",
        "a view of something else",
        "self.stored[x, source]",
        "next(v for (t, _), v in self.stored.items() if t == x)",
        "shuffled channels",
        *RANDOM,
        check=any_choice,
    ),
    at(
        "write:Writer._move",
        "a transposition goes backwards",
        "tuple(first.index(p) for p in second)",
        "tuple(second.index(p) for p in first)",
        "per channel",
        "shuffled channels",
    ),
    at(
        "write:Writer.read",
        "a transposition is missing",
        "self._move(x, self.origin[x], order, shape)",
        "self.stored[x, order] = self.stored[next(k for k in self.stored if k[0] == x)]",
        "per channel",
    ),
    at(
        "write:Writer.keep",
        "an operator reads what it does not understand",
        "self.plain(i) for i",
        "next((n for (t, _), v in self.stored.items() if t == i for n, _ in v), i) for i",
        two_readers,
    ),
    at(
        "write:Writer.finish",
        "an output is what lies there",
        "self.plain(out) for out",
        "next(v[0][0] for (t, _), v in self.stored.items() if t == out) for out",
        an_inner_output,
    ),
    at(
        "write:Writer.finish",
        "an output takes the name of another one",
        "first.get(name, name)",
        "name",
        two_equal_outputs,
    ),
    # what it costs
    at(
        "layout_choice:Space.demands",
        "only the first input has to be there",
        "zip(node.inputs, mode.inputs, strict=True)",
        "[*zip(node.inputs, mode.inputs, strict=True)][:1]",
        two_inputs,
        *RANDOM,
        check=paid,
    ),
    at(
        "layout_choice:_Ends.factors",
        "every reader pays for itself",
        "for b in s) for s in sets]",
        "for b in s) * len(self.readers) for s in sets]",
        two_readers,
        an_inner_output,
        *RANDOM,
        check=best,
    ),
    at(
        "layout_choice:_Ends.factors",
        "a reader takes what is not there",
        "0.0 if w <= s else np.inf",
        "0.0",
        two_readers,
        *RANDOM,
        check=best,
    ),
    at(
        "layout_choice:_Ends.factors",
        "outputs are not asked for",
        "[(None, [{PLAIN}])] if self.is_output else []",
        "[]",
        an_inner_output,
        *RANDOM,
        check=best,
    ),
    at(
        "layout_choice:_Ends.factors",
        "an output that nothing reads is free",
        "else [{PLAIN}]\n",
        "else [set()]\n",
        "per channel",
        *RANDOM,
        check=best,
    ),
    at(
        "variable_elimination:_decode", "the dearest value", "np.argmin(total)", "np.argmax(total)", *RANDOM, check=best
    ),
    at(
        "variable_elimination:_joined",
        "axes are not sorted",
        "np.transpose(f.table, order)",
        "f.table",
        *RANDOM,
        check=best,
    ),
    at(
        "variable_elimination:_eliminate",
        "the mean instead of the least",
        ".min(axis=0)",
        ".mean(axis=0)",
        *RANDOM,
        check=best,
    ),
    at(
        "variable_elimination:_split",
        "a split counts its costs twice",
        "                break\n",
        "                pass\n",
        *RANDOM,
        check=small_tables,
    ),
)


@pytest.mark.parametrize("mutation", MUTATIONS, ids=str)
def test_the_text_to_change_is_there(mutation):
    mutation.code()


@pytest.mark.checks
@pytest.mark.parametrize("mutation", MUTATIONS, ids=str)
def test_the_mutation_is_noticed(mutation):
    assert_noticed(mutation)
