from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from workbench import workloads
from workbench.cost_model import (
    AnalyticModel,
    XGBoostModel,
)  # fmt: skip
from workbench.search import EvolutionarySearch
from workbench.space.space import make_space
from workbench.target import Target

TARGET = Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v4 -l1=48K -l2=2M -l3=32M -threads=2")
FUNC = workloads.conv2d_nhwc(14, 14, 64, 64, bias=True, relu=True)
TASK = SimpleNamespace(key="conv", flops=2 * 14 * 14 * 64 * 64 * 9)


@pytest.fixture(scope="module")
def space():
    return make_space(FUNC, TARGET)


def cost(candidate) -> float:
    """A made-up machine that likes tiles of 32 lanes and 4 rows; milliseconds."""
    row = candidate.row
    wide = row.get("o_2", row.get("o_3", 16))
    level = 3 if "h_3" in row else 2
    rows = row.get(f"h_{level}", 14) * row.get(f"w_{level}", 14)  # Winograd's variants have other holes
    return 1.0 + 0.3 * abs(np.log2(wide / 32)) + 0.4 * abs(np.log2(rows / 4)) + 0.05 * candidate.variant


def ok(ms: float):
    return SimpleNamespace(status="ok", ms=ms)


def run(space, model, rounds=4, seed=0, batch=6):
    search = EvolutionarySearch(TASK, space, model, seed)
    told = []
    for _ in range(rounds):
        results = [(c, ok(cost(c))) for c in search.ask(batch)]
        search.tell(results)
        told += results
    return search, told


def test_proposals_follow_from_seed_and_measurements(space):
    _, a = run(space, XGBoostModel())
    _, b = run(space, XGBoostModel())
    _, c = run(space, XGBoostModel(), seed=1)
    assert [x.key for x, _ in a] == [x.key for x, _ in b]
    assert [x.key for x, _ in a] != [x.key for x, _ in c]
    assert [x.predicted for x, _ in a] == [x.predicted for x, _ in b]


def test_no_program_is_proposed_twice(space):
    _, told = run(space, AnalyticModel(), rounds=6)
    keys = [c.key for c, _ in told]
    assert len(set(keys)) == len(keys)


def test_candidates_are_complete_and_legal(space):
    _, told = run(space, XGBoostModel())
    for c, _ in told:
        assert c.origin in {"sketch", "mutation", "crossover", "random", "polish"}
        assert c.predicted is not None
        assert (c.parent is None) == (c.origin not in {"mutation", "crossover", "polish"}) or c.origin == "random"
        assert not space.schedule(c).func.holes
    assert {c.variant for c, _ in told} <= set(range(len(space.variants)))
    assert len({c.variant for c, _ in told}) > 1


def test_it_learns_what_the_machine_likes(space):
    search, told = run(space, XGBoostModel(), rounds=5, batch=16)
    first, last = [m.ms for _, m in told[:16]], [m.ms for _, m in told[-16:]]
    assert min(last) <= min(first)
    assert np.median(last) < np.median(first)
    assert search.quality.tau is not None


def test_restored_search_goes_on_without_repeating(space):
    _, told = run(space, XGBoostModel(), rounds=3)
    records = [
        SimpleNamespace(key=c.key, variant=c.variant, row=dict(c.row), ok=True, status="ok", latency_ms=m.ms)
        for c, m in told
    ]
    model = XGBoostModel()
    resumed = EvolutionarySearch(TASK, space, model, 0)
    resumed.restore(records)
    batch = resumed.ask(8)
    assert not {c.key for c in batch} & {r.key for r in records}
    assert model.trained
    again = EvolutionarySearch(TASK, space, XGBoostModel(), 0)
    again.restore(records)
    assert [c.key for c in again.ask(8)] == [c.key for c in batch]


def test_restore_ignores_what_it_cannot_place(space):
    search = EvolutionarySearch(TASK, space, XGBoostModel(), 0)
    search.restore([
        SimpleNamespace(key="default:x", variant=-1, row={}, ok=True, status="ok", latency_ms=1.0),
        SimpleNamespace(key="ab", variant=99, row={}, ok=True, status="ok", latency_ms=1.0),
        SimpleNamespace(key="cd", variant=0, row={"nobody": 1}, ok=True, status="ok", latency_ms=1.0),
        SimpleNamespace(key="", variant=0, row={"h_0": 3}, ok=False, status="build_error", latency_ms=None),
    ])  # fmt: skip
    assert len(search.ask(4)) == 4


def test_failures_and_cancelled_trials(space):
    search = EvolutionarySearch(TASK, space, XGBoostModel(), 0)
    a, b, *rest = search.ask(10)
    failed, cancelled = (SimpleNamespace(status=s, ms=float("inf")) for s in ("build_error", "cancelled"))
    search.tell([(a, failed), (b, cancelled), *[(c, ok(cost(c))) for c in rest]])
    assert not {c.key for c in search.ask(10)} & {a.key, b.key}


def test_small_space_is_exhausted_and_then_empty():
    space = make_space(workloads.matmul(2, 16, 2), TARGET)
    search = EvolutionarySearch(SimpleNamespace(key="m", flops=128), space, AnalyticModel(), 0)
    seen: set[str] = set()
    while batch := search.ask(16):
        assert not {c.key for c in batch} & seen
        seen |= {c.key for c in batch}
        search.tell([(c, ok(1.0)) for c in batch])
        assert len(seen) < 500
    assert seen
    assert search.ask(0) == []


def test_a_model_trained_on_one_task_helps_another(space):
    model = XGBoostModel()
    run(space, model)
    other = make_space(workloads.conv2d_nhwc(28, 28, 64, 64, bias=True, relu=True), TARGET)
    batch = EvolutionarySearch(SimpleNamespace(key="other", flops=1), other, model, 0).ask(8)
    assert len(batch) == 8


def test_a_winner_stays_behind_what_beat_it_before():
    from workbench.search import RandomSearch
    from workbench.search.history import History

    search = RandomSearch.__new__(RandomSearch)
    search.history = History()
    search.compared("a", ["b"])
    search.compared("b", ["c"])
    assert search.history.beaten == {0xB: 0xA, 0xC: 0xB}
    search.compared("b", ["a"])
    assert search.history.beaten == {0xA: 0xB, 0xC: 0xB}, "the newer comparison holds"
