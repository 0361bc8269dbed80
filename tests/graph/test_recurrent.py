"""Recurrences become a product and a runtime kernel, which computes the same."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from graph.checks import kept
from graph.examples import Case, cases

from workbench.graph import Graph, partition, run_reference
from workbench.graph.graph import TensorType
from workbench.graph.opdef import registry
from workbench.network.compile import compile
from workbench.runtime.networks.execution_plan import CallPlan

RECURRENT = ("RNN", "GRU", "LSTM")
CASES = [pytest.param(n, c, id=f"{n}-{c.label}") for n in RECURRENT for c in cases(registry()[n])]


def net(name: str, case: Case, known: tuple[int, ...] = (1, 2, 3, 4, 7)) -> Graph:
    node = case.call(name).node
    given = {n: a for n, a in zip(node.inputs, case.inputs, strict=True) if n}
    constants = {n: a for n, a in given.items() if node.inputs.index(n) in known}
    inputs = {n: TensorType(a.shape, a.dtype.name) for n, a in given.items() if n not in constants}
    return Graph.make("recurrent", [node], inputs, list(node.outputs), constants)


def compiled(graph: Graph, threads: int = 2) -> None:
    """The compiled network has no step in Python, and computes what the reference does."""
    rng = np.random.default_rng(1)
    feeds = {n: rng.standard_normal(t.shape).astype(t.dtype) for n, t in graph.input_types().items()}
    exe = compile(graph, threads=threads)
    assert all(isinstance(c, CallPlan) for c in exe.plan.calls)
    exe.poison()
    got, want = exe.run(feeds), run_reference(graph, feeds)
    for name in graph.outputs:
        np.testing.assert_allclose(got[name].astype("f8"), want[name].astype("f8"), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("name", "case"), CASES)
def test_recurrences_become_a_product_and_steps(name, case):
    graph = net(name, case)
    assert kept(graph) == ""
    compiled(graph)
    product, steps = (g for g in partition(graph.optimize()) if not g.view)
    assert product.func is not None
    assert steps.kernel is not None


@pytest.mark.parametrize("name", RECURRENT)
def test_weights_may_be_computed(name):
    case = next(c for c in cases(registry()[name]) if c.label == "both ways")
    graph = net(name, case, known=(4,))
    compiled(graph)


@pytest.mark.parametrize("name", RECURRENT)
def test_without_its_pass_a_recurrence_is_a_step_that_says_why(name):
    off = net(name, next(c for c in cases(registry()[name]) if c.label == "all")).optimize(without="decompose")
    assert [g.obstacle for g in partition(off)] == ["a recurrence that was not decomposed"]


ACTIVATIONS = ("Sigmoid", "Tanh", "Relu", "LeakyRelu", "ThresholdedRelu", "HardSigmoid", "Elu", "Softsign", "Softplus",
               "Affine", "ScaledTanh")  # fmt: skip


@pytest.mark.parametrize("which", ACTIVATIONS)
def test_every_activation(which):
    case = next(c for c in cases(registry()["RNN"]) if c.label == "both ways")
    numbers = {"activation_alpha": (0.7, 0.3), "activation_beta": (0.2, 0.6)}
    compiled(net("RNN", replace(case, attrs={**case.attrs, "activations": (which, which), **numbers})))


@pytest.mark.parametrize("dtype", ["float16", "float64"])
@pytest.mark.parametrize("name", RECURRENT)
def test_other_floats(name, dtype):
    case = next(c for c in cases(registry()[name]) if c.label == "all")
    inputs = tuple((a * 0.1).astype(dtype) if a is not None and a.dtype == np.float32 else a for a in case.inputs)
    graph = net(name, replace(case, inputs=inputs))
    feeds = {n: a for n, a in zip(case.call(name).node.inputs, inputs, strict=True) if n in graph.inputs}
    got, want = compile(graph).run(feeds), run_reference(graph, feeds)
    for out in graph.outputs:
        rtol = 1e-9 if dtype == "float64" else 1e-2
        np.testing.assert_allclose(got[out].astype("f8"), want[out].astype("f8"), rtol=rtol, atol=rtol)


@pytest.mark.parametrize("name", RECURRENT)
def test_time_in_the_second_place(name):
    case = next(c for c in cases(registry()[name]) if c.label == "both ways")
    x, w, r, b, lengths, *states = case.inputs
    turned = (x.swapaxes(0, 1), w, r, b, lengths, *(s.swapaxes(0, 1) for s in states))
    graph = net(name, replace(case, inputs=turned, attrs={**case.attrs, "layout": 1}))
    assert kept(graph) == ""
    compiled(graph)
    feeds = {f"x{k}": a for k, a in enumerate(turned) if k not in (1, 2, 3, 4)}
    got = list(run_reference(graph, feeds).values())
    plain = run_reference(net(name, case), {f"x{k}": a for k, a in enumerate(case.inputs) if k not in (1, 2, 3, 4)})
    every, *last = plain.values()
    np.testing.assert_allclose(got[0], every.transpose(2, 0, 1, 3), rtol=1e-6)
    for a, b in zip(got[1:], last, strict=True):
        np.testing.assert_allclose(a, b.swapaxes(0, 1), rtol=1e-6)


@pytest.mark.parametrize("name", RECURRENT)
@pytest.mark.parametrize("direction", ["forward", "reverse"])
def test_sequences_of_different_lengths_end_each_at_its_own_place(name, direction):
    """As onnxruntime has it: zeros behind the end, the last state is that of the end."""
    case = next(c for c in cases(registry()[name]) if c.label == "all")
    attrs = {**case.attrs, "direction": direction}
    both = replace(case, inputs=(*case.inputs[:4], np.array([3, 1], np.int32), *case.inputs[5:]), attrs=attrs)
    every, *last = registry()[name].reference(both.call(name), *both.inputs)
    compiled(net(name, both))
    x, w, r, b, _, *states = both.inputs
    for k, length in enumerate([3, 1]):
        alone = (x[:length, k : k + 1], w, r, b, None, *(s[:, k : k + 1] for s in states))
        one = replace(both, inputs=alone)
        want, *end = registry()[name].reference(one.call(name), *alone)
        np.testing.assert_allclose(every[:length, :, k : k + 1], want, rtol=1e-5, atol=1e-6)
        assert not every[length:, :, k].any()
        for a, e in zip(last, end, strict=True):
            np.testing.assert_allclose(a[:, k : k + 1], e, rtol=1e-5, atol=1e-6)
