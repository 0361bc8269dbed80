"""Layouts: orders of memory, the cheapest choice against trying all, and what is written against what was meant."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from graph.checks import kept
from graph.layout_nets import BETWEEN, MORE, between, classifier, quantised, random_net
from graph.nets import close, conv, random_feeds, residual_net
from graph.small import net, weights
from hypothesis import example, given, settings
from hypothesis import strategies as st

from workbench.graph import Graph, Node, TensorType, load_onnx, run_reference
from workbench.graph.passes import DEFAULT, explain, run_pass
from workbench.graph.passes.layout import choose
from workbench.graph.passes.layout.layout_choice import cheapest, space
from workbench.graph.passes.layout.memory_order import PLAIN, Order, common_digits, last, split_rows, transposed
from workbench.graph.passes.layout.variable_elimination import Factor, solve
from workbench.graph.passes.layout.write import write

# ---- orders ----


@st.composite
def laid_out(draw):
    """A shape and a permutation of its axes."""
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=5)))
    return shape, tuple(draw(st.permutations(range(len(shape)))))


def memory(shape, perm):
    """Which element of the model's tensor is at each place in memory."""
    return np.arange(math.prod(shape)).reshape(shape).transpose(perm).reshape(-1).tolist()


@given(laid_out(), st.randoms())
def test_equal_orders_are_equal_memory(one, rng):
    shape, perm = one
    other = tuple(rng.sample(range(len(shape)), len(shape)))
    same = memory(shape, perm) == memory(shape, other)
    assert (Order.of(shape, perm) == Order.of(shape, other)) == same
    assert Order.of(shape, perm).plain == (memory(shape, perm) == list(range(math.prod(shape))))
    for found in Order.of(shape, perm).perms(shape):
        assert memory(shape, found) == memory(shape, perm)
    assert Order.of(shape, perm).perms(shape)


@given(laid_out(), st.randoms())
def test_a_transposition_left_where_it_lies(one, rng):
    shape, perm = one
    model = tuple(rng.sample(range(len(shape)), len(shape)))
    after = transposed(Order.of(shape, perm), shape, model)
    out = tuple(shape[p] for p in model)
    elements = np.arange(math.prod(shape)).reshape(shape).transpose(model).reshape(-1)
    (found,) = after.perms(out)[:1]
    assert elements[memory(out, found)].tolist() == memory(shape, perm)


@given(laid_out(), laid_out())
def test_digits_that_two_orders_share(one, other):
    size = math.prod(one[0])
    a = Order.of(*one)
    b = Order.of(*other) if math.prod(other[0]) == size else PLAIN
    found = common_digits(a, b, size)
    if found is None:
        return
    digits, pa, pb = found
    assert memory(digits, pa) == memory(*one)
    assert memory(digits, pb) == (memory(*other) if b != PLAIN else list(range(size)))


def test_orders_that_share_no_digits():
    twos, threes = Order.of((2, 3, 5), (1, 0, 2)), Order.of((3, 2, 5), (1, 0, 2))
    assert common_digits(twos, threes, 30) is None
    assert common_digits(twos, PLAIN, 30) == ((2, 3, 5), (1, 0, 2), (0, 1, 2))


@given(laid_out())
def test_rows_that_are_permuted_within(one):
    shape, perm = one
    rows, row = math.prod(shape[:-2]), math.prod(shape[-2:])
    found = split_rows(Order.of(shape, perm), (rows, row))
    place = np.array(memory(shape, perm)).reshape(rows, row)
    within = (place // row == np.arange(rows)[:, None]).all() and (place % row == place[0] % row).all()
    assert (found is not None) == (within and not Order.of(shape, perm).plain)
    if found is not None:
        assert found == (place[0] % row).tolist()


# ---- the solver ----


def least(sizes, factors):
    choices = itertools.product(*map(range, sizes))
    return min(sum(f.table[tuple(c[v] for v in f.variables)] for f in factors) for c in choices)


@st.composite
def problems(draw):
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=7))
    factors = []
    for _ in range(draw(st.integers(0, 10))):
        variables = tuple(draw(st.permutations(range(len(sizes))))[: draw(st.integers(0, 3))])
        shape = [sizes[v] for v in variables]
        costs = draw(st.lists(st.sampled_from([0.0, 1, 2, 5, 9]), min_size=math.prod(shape), max_size=math.prod(shape)))
        factors.append(Factor(variables, np.reshape(costs, shape)))
    return sizes, factors


@given(problems())
def test_elimination_finds_the_least(problem):
    sizes, factors = problem
    found = solve(sizes, factors)
    assert found.cost == pytest.approx(least(sizes, factors))
    assert found.bound == pytest.approx(found.cost)
    assert found.exact


@given(problems())
@example(([2, 2, 2], [Factor(p, np.array([[0.0, 1], [1, 0]])) for p in ((0, 1), (1, 2), (0, 2))]))
def test_tables_that_are_too_large_give_a_bound(problem):
    sizes, factors = problem
    start = [s - 1 for s in sizes]
    found, best = solve(sizes, factors, start, limit=3), least(sizes, factors)
    assert found.bound <= best + 1e-9
    assert found.cost >= best - 1e-9
    assert found.cost <= sum(f.table[tuple(start[v] for v in f.variables)] for f in factors) + 1e-9
    assert found.cost == pytest.approx(sum(f.table[tuple(found.values[v] for v in f.variables)] for f in factors))
    assert not found.exact or found.cost == pytest.approx(best)


def test_a_problem_without_small_tables():
    """Every pair of 14 variables costs something: far beyond the limit, and still a bound and a good choice."""
    rng = np.random.default_rng(0)
    factors = [Factor(p, rng.random((2, 2))) for p in itertools.combinations(range(14), 2)]
    found, exact = solve([2] * 14, factors, [0] * 14, limit=64), solve([2] * 14, factors)
    assert exact.exact
    assert not found.exact
    assert found.bound < exact.cost <= found.cost < 1.1 * exact.cost


# ---- the problem ----


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6))
def test_the_cheapest_choice_of_a_small_graph(seed):
    """Every combination of modes is priced by itself: nodes, and every other order in which a tensor is read."""
    found = space(random_net(seed, 5))
    names = list(found.modes)
    if math.prod(len(found.modes[n]) for n in names) > 20_000:
        return
    every = itertools.product(*(found.modes[n] for n in names))
    best = min(found.price(dict(zip(names, choice, strict=True))) for choice in every)
    chosen, solution = cheapest(found)
    assert solution.exact
    assert solution.cost == pytest.approx(best)
    assert found.price(chosen) == pytest.approx(best)


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 10**6), st.randoms())
def test_what_is_written_is_what_was_paid_for(seed, rng):
    graph = random_net(seed)
    found = space(graph)
    for chosen in (cheapest(found)[0], {n: rng.choice(modes) for n, modes in found.modes.items()}):
        _, moves = write(graph, chosen)
        ns = sum(m.cost for m in chosen.values()) + sum(found.move(m.tensor, m.source, m.target) for m in moves)
        assert found.price(chosen) == pytest.approx(ns)


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 10**6), st.randoms())
def test_any_choice_computes_the_same(seed, rng):
    """Not the cheapest modes only: whatever a node declares has to be true."""
    graph = random_net(seed)
    found = space(graph)
    feeds = random_feeds(graph)
    want = run_reference(graph, feeds)
    for chosen in (cheapest(found)[0], {n: rng.choice(modes) for n, modes in found.modes.items()}):
        got = run_reference(write(graph, chosen)[0], feeds)
        assert list(got) == list(want)
        for name, value in want.items():
            assert close(got[name], value, 1e-5), name


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6))
def test_kernels_of_random_networks(seed):
    assert not kept(random_net(seed))


# ---- what is carried ----


def transpositions(graph):
    return sum(n.op == "Transpose" for n in graph.nodes)


@pytest.mark.parametrize("name", BETWEEN)
def test_order_is_carried_through(name):
    graph = between(name)
    feeds = random_feeds(graph)
    laid = run_pass(graph, "layout")
    assert close(run_reference(laid, feeds)["y"], run_reference(graph, feeds)["y"], 1e-5)
    assert transpositions(laid) == MORE.get(name, 2)
    assert all(n.attrs.get("layout") == "NHWC" for n in laid.nodes if n.op in ("Conv", "ConvTranspose", "MaxPool"))
    assert not kept(graph)


def test_a_matrix_takes_the_pixels_in_any_order():
    laid = run_pass(classifier(), "layout")
    assert [n.op for n in laid.nodes] == ["Transpose", "Conv", "Reshape", "Gemm"]
    assert not kept(classifier())


def test_bytes_are_transposed_rather_than_numbers():
    """Quantised networks: everything in between is carried, and what moves is a quarter as large."""
    graph = quantised()
    laid = graph.optimize()
    assert [n.inputs[0] for n in laid.nodes if n.op == "Transpose"] == ["a", "e.nhwc"]
    assert not kept(graph)


def test_a_model_that_is_channels_last_itself_needs_no_transposition():
    nodes = [
        Node("t1", "Transpose", ("x",), ("a",), {"perm": (0, 3, 1, 2)}),
        conv("c", "a", "w", "b"),
        Node("t2", "Transpose", ("b",), ("c",), {"perm": (0, 2, 3, 1)}),
        Node("r", "Relu", ("c",), ("y",)),
    ]
    graph = net(nodes, {"w": weights(8, 4, 1, 1)}, (1, 6, 5, 4))
    laid = run_pass(graph, "layout")
    assert [n.op for n in laid.nodes] == ["Conv", "Relu"]
    assert laid.nodes[1].outputs == ("y",)
    assert not kept(graph)


def test_two_outputs_that_are_the_same_memory():
    nodes = [conv("c", "x", "w", "a")]
    nodes += [Node(f"t{k}", "Transpose", ("a",), (f"y{k}",), {"perm": (0, 2, 3, 1)}) for k in range(2)]
    graph = net(nodes, {"w": weights(16, 4, 1, 1)}, outputs=("y0", "y1"))
    laid = run_pass(graph, "layout")
    assert [n.op for n in laid.nodes] == ["Transpose", "Conv", "Identity"]
    assert not kept(graph, ["layout", "fuse"])


def test_transpositions_cancel_through_element_wise_operators():
    nodes = [
        Node("t1", "Transpose", ("x",), ("a",), {"perm": (0, 2, 1)}),
        Node("e", "Exp", ("a",), ("b",)),
        Node("m", "Mul", ("b", "a"), ("c",)),
        Node("t2", "Transpose", ("c",), ("y",), {"perm": (0, 2, 1)}),
    ]
    laid = run_pass(net(nodes, {}, (2, 30, 50)), "layout")
    assert [n.op for n in laid.nodes] == ["Exp", "Mul"]


def test_readers_share_a_transposition():
    nodes = [
        conv("c", "x", "w", "a"),
        *(Node(f"t{k}", "MatMul", ("a", "a"), (f"m{k}",)) for k in range(3)),
        conv("d", "a", "v", "b"),
    ]
    graph = net(nodes, {"w": weights(16, 4, 1, 1), "v": weights(4, 16, 1, 1)}, outputs=("m0", "m1", "m2", "b"))
    laid = run_pass(graph, "layout")
    assert transpositions(laid) == 3  # the input, what all products read, and b
    assert not kept(graph)


def test_the_smaller_side_is_transposed():
    """Pooling makes an image smaller: a transposition that something behind it needs comes after it."""
    nodes = [
        conv("c", "x", "w", "a"),
        Node("p", "MaxPool", ("a",), ("b",), {"kernel_shape": (3, 3), "strides": (3, 3)}),
        Node("m", "MatMul", ("b", "b"), ("y",)),
    ]
    _, said = choose(net(nodes, {"w": weights(16, 4, 1, 1)}, (1, 4, 36, 36)))
    assert [m.tensor for m in said.moves] == ["x", "b"]


def test_what_is_cheaper_as_the_model_has_it_stays():
    nodes = [Node("p", "MaxPool", ("x",), ("y",), {"kernel_shape": (2, 2)})]
    graph = net(nodes)
    assert run_pass(graph, "layout") is graph
    plain = net([Node("r", "Relu", ("x",), ("y",))])
    assert run_pass(plain, "layout") is plain


def test_twice_is_once():
    graph = run_pass(residual_net(), "layout")
    assert run_pass(graph, "layout") is graph


LIGHT = {  # transpositions that one walk from the inputs on, channels last wherever it can be, leaves in each model
    "bvlc_alexnet": 2,
    "densenet121": 1,
    "inception_v1": 1,
    "inception_v2": 1,
    "resnet50": 1,
    "shufflenet": 49,
    "squeezenet": 1,
    "vgg19": 2,
    "zfnet512": 2,
}


def walk(found):
    """One walk in topological order: channels last where an operator can, else as its inputs are."""
    lies = dict.fromkeys(found.graph.inputs, PLAIN)
    chosen = {}
    for n in found.graph.nodes:
        modes = found.modes[n.name]

        def fits(m, n=n):
            return all(o is None or lies.get(i, PLAIN) == o for i, o in zip(n.inputs, m.inputs, strict=True))

        first = [m for m in modes if m.layout == "last"] or [m for m in modes if fits(m)] or modes
        chosen[n.name] = first[0]
        lies.update({o: found.made(first[0], n, o) for o in n.outputs if o})
    return chosen


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.slow) if n in ("bvlc_alexnet", "vgg19", "zfnet512") else n for n in LIGHT],
)
def test_never_worse_than_a_walk(light, name):
    graph = load_onnx(light(name)).optimize(DEFAULT[: DEFAULT.index("layout")])
    found = space(graph)
    chosen, solution = cheapest(found)
    assert solution.exact
    assert found.price(chosen) == pytest.approx(solution.cost)
    walked = found.price(walk(found))
    assert solution.cost <= walked * (1 + 1e-9)
    assert walked < found.price(found.as_model())
    left = transpositions(write(graph, chosen)[0])
    assert left == (17 if name == "shufflenet" else 1)  # the shuffles themselves, and the input
    assert left <= LIGHT[name]


# ---- what is shown ----


def test_the_decision_is_recorded():
    report = next(p for p in explain(residual_net()).passes if p.name == "layout")
    said = report.detail
    assert said.exact
    assert said.cost_ns < said.model_ns
    assert [(m.tensor, m.source, m.target) for m in said.moves] == [("data", "as the model has it", "channels last")]
    by = {n.node: n for n in said.nodes}
    assert (by["c3"].layout, by["c3"].order) == ("last", "channels last")
    assert by["a2"].layout == "carried"
    assert by["flat"].layout == "named"
    assert by["dense"].layout == "model"
    assert all(n.reason for n in said.nodes)
    assert "1 transposition moves" in said.summary
    assert report.notes == (f"layout: {said.summary}",)
    assert report.to_json()["detail"]["moves"][0]["tensor"] == "data"
    assert "channels last" in said._repr_html_()
    assert "data: as the model has it -> channels last" in str(said)
    reasons = {c.node: c.reason for c in report.changes}
    assert reasons["c3"] == by["c3"].reason


def test_an_image_of_one_pixel_is_not_moved():
    assert Order.of((1, 8, 1, 1), last(4)) == PLAIN
    nodes = [conv("c", "x", "w", "a"), Node("g", "GlobalMaxPool", ("a",), ("y",))]
    laid = run_pass(net(nodes, {"w": weights(16, 4, 1, 1)}), "layout")
    assert [n.op for n in laid.nodes] == ["Transpose", "Conv", "GlobalMaxPool", "Reshape"]


def test_a_lookup_in_a_vector_keeps_its_form():
    """Its result has more dimensions than what it reads."""
    table = np.arange(5, dtype=np.float32)
    where = np.array([[[0, 4], [3, 1]]])
    node = Node("pick", "Gather", ("x", "i"), ("y",), {"axis": 0})
    graph = Graph.make("g", [node], {"x": TensorType((5,)), "i": TensorType((1, 2, 2), "int64")}, ["y"])
    found = run_reference(graph.optimize(), {"x": table, "i": where})["y"]
    np.testing.assert_array_equal(found, table[where])


def test_what_is_computed_of_constants_keeps_its_dimensions():
    """Channels last, it has those of one element as well."""
    zeros, one = np.zeros((1, 4, 2), np.float16), np.float32(1)
    nodes = [Node("f", "Cast", ("z",), ("t",), {"to": 1}), Node("a", "Mul", ("t", "k"), ("u",)),
             Node("j", "Concat", ("u", "x"), ("v",), {"axis": 2}), conv("c", "v", "w", "y")]  # fmt: skip
    graph = net(nodes, {"z": zeros, "k": one, "w": weights(16, 4, 3)}, (1, 4, 30))
    laid, feeds = run_pass(graph, "layout"), random_feeds(graph, 0)
    assert any(n.attrs.get("layout") == "NHWC" for n in laid.nodes)
    assert close(run_reference(laid, feeds)["y"], run_reference(graph, feeds)["y"])
