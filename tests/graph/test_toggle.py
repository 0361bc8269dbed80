"""Whatever passes run, in whatever order: every output keeps its name, its type and its value.

The networks are held against `run_reference`, node by node after the passes and kernel by kernel in planned memory.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest
from graph.checks import kept
from graph.nets import residual_net
from graph.random_nets import random_net
from graph.small import inner_value_is_an_output
from graph.test_combine import attention
from graph.test_factors import block
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.graph import Graph, list_passes, load_onnx
from workbench.graph.passes import DEFAULT

NAMES = [p.name for p in list_passes() if p.default]  # the others round values
SMALL = (residual_net, attention, block, inner_value_is_an_output)


def check(graph: Graph, order=None, without=(), **how) -> None:
    with np.errstate(all="ignore"):
        wrong = kept(graph, order, without, **how)
    assert not wrong, f"{wrong} with order {order} without {without}\n{graph}"


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6))
def test_random_networks(seed):
    check(random_net(seed))


@pytest.mark.parametrize("name", NAMES)
def test_each_pass_off_on_random_networks(name):
    for seed in range(5):
        check(random_net(1000 + seed), without=[name], kernels=seed < 2)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sets(st.sampled_from(NAMES)))
def test_random_subsets(seed, off):
    check(random_net(seed, 10), without=sorted(off))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.permutations(NAMES), st.integers(0, len(NAMES)))
def test_random_orders(seed, order, most):
    check(random_net(seed, 10), order[:most])


@pytest.mark.parametrize("net", SMALL)
@pytest.mark.parametrize("off", [(), *((n,) for n in NAMES), tuple(NAMES)], ids=lambda off: ",".join(off[:2]) or "none")
def test_small_networks(net, off):
    check(net(), without=off)


@pytest.mark.parametrize("net", SMALL)
def test_twice_in_a_row(net):
    once = net().optimize([n for n in DEFAULT if n != "fuse"])
    check(net(), [n for n in DEFAULT if n != "fuse"] * 2 + ["fuse"])
    assert len(once.optimize().nodes) <= len(once.nodes)


#: Model, and how many nodes that depend on its input are taken: a fire module, a residual block, a shuffle.
BEGINNINGS = {"light_squeezenet": 13, "light_resnet50": 16, "light_shufflenet": 22}


@functools.cache
def beginning(name: str) -> Graph:
    """The first nodes of a model, with random weights."""
    graph = load_onnx(name)
    live, taken = set(graph.inputs), list[str]()
    for node in graph.nodes:
        if not live.isdisjoint(node.inputs):
            live.update(node.outputs)
            taken.append(node.outputs[0])
    graph = graph.with_outputs([taken[BEGINNINGS[name] - 1]]).optimize(["fold_constants"])
    rng = np.random.default_rng(0)
    weights = {
        n: (rng.standard_normal(a.shape) / np.sqrt(a[0].size) if a.ndim > 1 else rng.uniform(0.5, 1.5, a.shape)).astype(
            "f4"
        )
        for n, a in graph.constants.items()
        if a.dtype == np.float32 and a.ndim
    }
    return graph.replace(constants={**graph.constants, **weights})


@pytest.mark.parametrize("name", BEGINNINGS)
def test_beginnings_of_models(name):
    assert len(beginning(name).nodes) == BEGINNINGS[name]
    check(beginning(name))


@pytest.mark.parametrize("off", NAMES)
@pytest.mark.parametrize("name", BEGINNINGS)
def test_beginnings_of_models_with_a_pass_off(name, off):
    check(beginning(name), without=[off], kernels=False)


@pytest.mark.slow
@settings(max_examples=600, deadline=None)
@given(st.integers(0, 10**6), st.permutations(NAMES), st.sets(st.sampled_from(NAMES)))
def test_many_random_networks(seed, order, off):
    check(random_net(seed, 20))
    check(random_net(seed, 20), order, off)
