"""The arena of real networks against the most bytes that live at once."""

from __future__ import annotations

import pytest
from graph.nets import reuses

from workbench.graph import Graph, load_onnx, tasks
from workbench.graph.memory.plan import MemoryPlan, plan_memory

#: Peak of intermediate results, relative to the least possible.
PEAK = 1.15


def planned(graph: Graph) -> MemoryPlan:
    groups = tasks.partition(graph)
    return plan_memory(graph, groups, reuses(groups))


def check(path, monkeypatch) -> None:
    """The arena is small against what lives at once, also against that without any part in place."""
    graph = load_onnx(path).optimize()
    plan = planned(graph)
    assert plan.bound_bytes <= plan.live_bytes
    assert plan.bound_bytes <= plan.arena_bytes <= PEAK * plan.bound_bytes
    assert plan.arena_bytes < plan.total_bytes
    monkeypatch.setattr(tasks, "join_in_place", lambda graph, groups: list(groups))
    copied = planned(graph)
    assert copied.arena_bytes <= PEAK * copied.bound_bytes
    assert plan.arena_bytes <= PEAK * copied.bound_bytes


@pytest.mark.parametrize(
    "name", ["squeezenet", "resnet50", "densenet121", "inception_v1", "inception_v2", "shufflenet"]
)
def test_peak(light, name, monkeypatch):
    check(light(name), monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["vgg19", "bvlc_alexnet", "zfnet512"])
def test_peak_of_networks_with_large_weights(light, name, monkeypatch):
    check(light(name), monkeypatch)


def test_results_over_operands_save_memory(light):
    """In ResNet-50 a block's sum lies over its shortcut."""
    graph = load_onnx(light("resnet50")).optimize()
    groups = tasks.partition(graph)
    plan, without = plan_memory(graph, groups, reuses(groups)), plan_memory(graph, groups)
    assert len(plan.reused) >= 12
    assert plan.arena_bytes < 0.8 * without.arena_bytes
