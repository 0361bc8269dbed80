"""Recurrences: what is unrolled computes the same, what is not says why."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from graph.checks import kept
from graph.examples import Case, cases
from graph.mutation import Mutation, assert_noticed

from workbench.graph import Graph, partition, run_reference
from workbench.graph.graph import TensorType
from workbench.graph.opdef import registry
from workbench.graph.ops.nn.recurrent import MOST_STEPS
from workbench.graph.passes import run_pass

RECURRENT = ("RNN", "GRU", "LSTM")
CASES = [pytest.param(n, c, id=f"{n}-{c.label}") for n in RECURRENT for c in cases(registry()[n])]


def net(name: str, case: Case, known: tuple[int, ...] = (1, 2, 3, 4, 7)) -> Graph:
    node = case.call(name).node
    given = {n: a for n, a in zip(node.inputs, case.inputs, strict=True) if n}
    constants = {n: a for n, a in given.items() if node.inputs.index(n) in known}
    inputs = {n: TensorType(a.shape, a.dtype.name) for n, a in given.items() if n not in constants}
    return Graph.make("recurrent", [node], inputs, list(node.outputs), constants)


@pytest.mark.parametrize(("name", "case"), CASES)
def test_unrolled_recurrences_compute_the_same(name, case):
    graph = net(name, case)
    assert not [n for n in run_pass(graph, "unroll_recurrences").nodes if n.op in RECURRENT]
    assert kept(graph) == ""
    assert all(g.func is not None or g.view for g in partition(graph.optimize()))


@pytest.mark.parametrize("name", RECURRENT)
def test_time_in_the_second_place(name):
    case = next(c for c in cases(registry()[name]) if c.label == "both ways")
    x, w, r, b, lengths, *states = case.inputs
    turned = (x.swapaxes(0, 1), w, r, b, lengths, *(s.swapaxes(0, 1) for s in states))
    graph = net(name, replace(case, inputs=turned, attrs={**case.attrs, "layout": 1}))
    assert kept(graph) == ""
    feeds = {f"x{k}": a for k, a in enumerate(turned) if k not in (1, 2, 3, 4)}
    got = list(run_reference(graph, feeds).values())
    plain = run_reference(net(name, case), {f"x{k}": a for k, a in enumerate(case.inputs) if k not in (1, 2, 3, 4)})
    every, *last = plain.values()
    np.testing.assert_allclose(got[0], every.transpose(2, 0, 1, 3), rtol=1e-6)
    for a, b in zip(got[1:], last, strict=True):
        np.testing.assert_allclose(a, b.swapaxes(0, 1), rtol=1e-6)


@pytest.mark.parametrize("name", RECURRENT)
def test_what_stays_a_step_says_why(name):
    case = next(c for c in cases(registry()[name]) if c.label == "all")
    long = replace(case, inputs=(np.zeros((MOST_STEPS + 1, 2, 4), np.float32), *case.inputs[1:]))
    uneven = replace(case, inputs=(*case.inputs[:4], np.array([3, 1], np.int32), *case.inputs[5:]))
    for graph, why in [
        (net(name, long), f"a recurrence over {MOST_STEPS + 1} steps"),
        (net(name, case, ()), "a recurrence whose weights are computed"),
        (net(name, uneven), "a recurrence over sequences of different lengths"),
    ]:
        assert [g.obstacle for g in partition(graph.optimize())] == [why]
    off = net(name, case).optimize(without="unroll_recurrences")
    assert [g.obstacle for g in partition(off)] == ["a recurrence that was not unrolled"]


@pytest.mark.parametrize("name", RECURRENT)
@pytest.mark.parametrize("direction", ["forward", "reverse"])
def test_sequences_of_different_lengths_end_each_at_its_own_place(name, direction):
    """As onnxruntime has it: zeros behind the end, the last state is that of the end."""
    case = next(c for c in cases(registry()[name]) if c.label == "all")
    attrs = {**case.attrs, "direction": direction}
    both = replace(case, inputs=(*case.inputs[:4], np.array([3, 1], np.int32), *case.inputs[5:]), attrs=attrs)
    every, *last = registry()[name].reference(both.call(name), *both.inputs)
    x, w, r, b, _, *states = both.inputs
    for k, length in enumerate([3, 1]):
        alone = (x[:length, k : k + 1], w, r, b, None, *(s[:, k : k + 1] for s in states))
        one = replace(both, inputs=alone)
        want, *end = registry()[name].reference(one.call(name), *alone)
        np.testing.assert_allclose(every[:length, :, k : k + 1], want, rtol=1e-5, atol=1e-6)
        assert not every[length:, :, k].any()
        for a, e in zip(last, end, strict=True):
            np.testing.assert_allclose(a[:, k : k + 1], e, rtol=1e-5, atol=1e-6)


def _like(name: str, label: str) -> Graph:
    return net(name, next(c for c in cases(registry()[name]) if c.label == label))


def _bug(function: str, what: str, old: str, new: str, name: str, label: str) -> Mutation:
    where = f"workbench.graph.passes.unroll_recurrences:_Unrolled.{function}"
    return Mutation("unroll_recurrences", where, what, old, new, (lambda: _like(name, label),))


MUTATIONS = (
    _bug("direction", "always forwards", '== "reverse"', '== "never"', "RNN", "backwards"),
    _bug("direction", "a bias twice", "np.where(apart, np.zeros_like(w.rb), w.rb)", "w.rb", "GRU", "all, reset late"),
    _bug("first", "both begin with the state of one", "int(self.turned), d, d + 1", "0, 0, 1", "GRU", "both ways"),
    _bug("lstm", "gates in another order", "i, o, f, new =", "i, f, o, new =", "LSTM", "all"),
    _bug("lstm", "what enters the last activation is clipped", ", clipped=False", "", "LSTM", "clipped"),
    _bug("gru", "the gate the other way round", '"Sub", (h, new)', '"Sub", (new, h)', "GRU", "all"),
    _bug("__post_init__", "the first step for the last", "self.reshape(value", "self.reshape(outs[0]", "RNN", "all"),
)  # fmt: skip


@pytest.mark.checks
@pytest.mark.parametrize("mutation", MUTATIONS, ids=str)
def test_the_mutation_is_noticed(mutation):
    assert_noticed(mutation)
