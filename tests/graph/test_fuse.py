"""Which nodes become one kernel: as the rule reads when every walk goes to its end and every member is asked."""

import random

import pytest
from graph.random_nets import random_net

from workbench.errors import ModelError
from workbench.graph import Graph, Node, TensorType
from workbench.graph.passes import fuse

ELEMENTWISE = ("Relu", "Neg", "Sigmoid", "Add", "Mul", "Max", "Sub")
OTHERS = ("Transpose", "ReduceMax", "MatMul", "Softmax", "Identity")
ATTRS = {"Transpose": {"perm": (1, 0)}, "Softmax": {"axis": -1}, "ReduceMax": {"keepdims": 1}}


class Plain(fuse._Fuser):
    """Walks from every node, whatever was tried before, and asks every member of a group."""

    def grow_injective(self, node):
        self.walked = set()
        super().grow_injective(node)

    def _joinable(self, n, kinds):
        mine = self.group[n.name]
        plain = not mine.anchored and all(self.kind[m.name] == "injective" for m in mine.nodes if m is not n)
        return self.kind[n.name] in kinds and not fuse.is_view(self.graph, n) and plain


def tangle(seed):
    """A few dozen operators that read the newest values, each value by any number of others."""
    rng = random.Random(seed)
    nodes, names = [], ["x"]
    for k in range(rng.randrange(3, 40)):
        op = rng.choice(ELEMENTWISE if rng.random() < 0.8 else OTHERS)
        two = op in ("Add", "Mul", "Max", "Sub", "MatMul")
        nodes.append(
            Node(f"n{k}", op, tuple(rng.choice(names[-6:]) for _ in range(1 + two)), (f"t{k}",), ATTRS.get(op, {}))
        )
        names.append(f"t{k}")
    read = {i for n in nodes for i in n.inputs}
    outputs = [o for o in names[1:] if o not in read] + [rng.choice(names[1:])]
    return Graph.make("tangle", nodes, {"x": TensorType((4, 4))}, list(dict.fromkeys(outputs)))


def chain(n):
    nodes = [Node(f"n{k}", ("Relu", "Neg", "Sigmoid")[k % 3], (f"t{k - 1}",), (f"t{k}",)) for k in range(n)]
    return Graph.make("chain", nodes, {"t-1": TensorType((8,))}, [f"t{n - 1}"])


def grouped(graph):
    return [(g.nodes, sorted(set(g.rules))) for g in fuse.fuse(graph).groups]


def test_groups_are_those_of_the_rule_as_it_reads(monkeypatch):
    graphs = [random_net(seed) for seed in range(20)]
    for seed in range(300):
        try:
            graphs.append(tangle(seed))
        except ModelError:
            continue  # a reduction left one column, which nothing can be multiplied with
    assert len(graphs) > 200
    found = [grouped(g) for g in graphs]
    monkeypatch.setattr(fuse, "_Fuser", Plain)
    assert found == [grouped(g) for g in graphs]


@pytest.mark.parametrize("graph", [chain(30), tangle(1), random_net(3)], ids=["chain", "tangle", "random"])
def test_every_edge_has_one_sentence(graph):
    for group in fuse.fuse(graph).groups:
        assert len(group.rules) == len(set(group.rules))


def test_a_long_chain_is_walked_once(monkeypatch):
    steps = []
    between = fuse._Fuser._between
    monkeypatch.setattr(fuse._Fuser, "_between", lambda *a: steps.append(a) or between(*a))
    found = fuse.fuse(chain(400)).groups
    assert sum(len(g.nodes) for g in found) == 400
    assert len(steps) == 399


def test_a_kernel_takes_so_many_operators_and_not_more():
    (whole,) = fuse.fuse(chain(fuse.MOST_OPERATORS)).groups
    assert not any("at most" in rule for rule in whole.rules)
    first, second, rest = fuse.fuse(chain(2 * fuse.MOST_OPERATORS + 3)).groups
    assert [len(g.nodes) for g in (first, second, rest)] == [fuse.MOST_OPERATORS, fuse.MOST_OPERATORS, 3]
    assert [any("at most" in rule for rule in g.rules) for g in (first, second, rest)] == [True, True, False]
    assert first.nodes == tuple(f"n{k}" for k in range(fuse.MOST_OPERATORS)), "in their order, from the first on"


@pytest.mark.parametrize("most", [2, 3, 7])
def test_kernels_that_are_cut_short_do_not_wait_for_each_other(monkeypatch, most):
    monkeypatch.setattr(fuse, "MOST_OPERATORS", most)
    for seed in range(60):
        try:
            graph = fuse.fuse(tangle(seed))
        except ModelError:
            continue
        made = {o: k for k, g in enumerate(graph.groups) for n in g.nodes for o in graph.node(n).outputs}
        for k, group in enumerate(graph.groups):
            assert len(group.nodes) <= most
            assert all(made.get(i, -1) <= k for n in group.nodes for i in graph.node(n).inputs), "they run in order"
