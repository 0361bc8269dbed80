"""Every declared search strategy keeps the promises of the protocol, on spaces drawn at random."""

from __future__ import annotations

import random
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from workbench import workloads
from workbench.cost_model import AnalyticModel, XGBoostModel
from workbench.errors import UsageError
from workbench.ir import Constraint
from workbench.registry import summary
from workbench.schedule import Hole, Schedule
from workbench.search import SEARCHES, Search, SearchOptions, make_search, strategy
from workbench.search.batch_selection import Doubt, doubt_of, drift
from workbench.space.space import make_space, space_from_schedule
from workbench.space.variant import Variant
from workbench.target import Target

TARGET = Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v4 -l1=48K -l2=2M -l3=32M -threads=2")
TASK = SimpleNamespace(key="task", flops=10**8)
NAMES = sorted(SEARCHES)
SMALL = SearchOptions(pool=128, generations=1, children=48)


def _func(rng: random.Random):
    kind = rng.choice(["matmul", "conv", "depthwise", "odd"])
    if kind == "matmul":
        return workloads.matmul(rng.choice([8, 24, 60]), rng.choice([16, 48, 96]), rng.choice([4, 32, 128]))
    if kind == "odd":
        return workloads.matmul(rng.choice([7, 13]), rng.choice([17, 30]), rng.choice([5, 66]))
    if kind == "conv":
        return workloads.conv2d_nhwc(rng.choice([7, 14]), 14, rng.choice([16, 24]), rng.choice([16, 48]), relu=True)
    return workloads.depthwise_conv2d_nhwc(14, rng.choice([14, 28]), 32)


@pytest.fixture(scope="module")
def spaces():
    rng = random.Random(11)
    return [make_space(_func(rng), TARGET) for _ in range(3)]


@pytest.fixture(scope="module")
def conv():
    return make_space(workloads.conv2d_nhwc(14, 14, 16, 48, bias=True, relu=True), TARGET)


def measured(candidate) -> SimpleNamespace:
    """A made-up machine: some programs fail, the others take a time that their key decides."""
    number = int(candidate.key, 16)
    if number % 11 == 0:
        return SimpleNamespace(status="run_error", ms=float("inf"))
    wide = max([v for h, v in candidate.row.items() if v % 16 == 0] or [1])
    return SimpleNamespace(status="ok", ms=1.0 + abs(np.log2(wide / 32)) + number % 97 / 970)


def record(candidate, m, number: int, space) -> SimpleNamespace:
    ok = m.status == "ok"
    return SimpleNamespace(
        key=candidate.key, variant=candidate.variant, row=dict(candidate.row), status=m.status, ok=ok,
        latency_ms=m.ms if ok else None, predicted=candidate.predicted, round=number, space=space.id,
    )  # fmt: skip


def rounds(search: Search, space, count: int, n: int = 7):
    """Ask and tell; returns batches and the records of a log of it."""
    batches, log = [], []
    for k in range(count):
        batch = search.ask(n)
        told = [(c, measured(c)) for c in batch]
        search.tell(told)
        batches.append(batch)
        log += [record(c, m, k, space) for c, m in told]
    return batches, log


def legal(space, candidate) -> bool:
    variant = space.variants[candidate.variant]
    picks = variant.sampler.find(candidate.row)
    return picks is not None and bool(variant.sampler.mask(picks[None])[0])


# ---- the registry


def test_strategies_are_declared():
    assert {"evolutionary", "random", "descent"} <= set(SEARCHES)
    for name, found in SEARCHES.items():
        assert found.name == name
        assert summary(found).endswith(".")


def test_a_new_strategy_is_one_declaration(conv):
    @strategy("first")
    class First(Search):
        """Proposes what is left, in no order."""

        def _propose(self, n, rng):
            return self.leftovers(n, [], rng)

    try:
        search = make_search("first", TASK, conv, AnalyticModel(), 0, SMALL)
        assert isinstance(search, First)
        batch = search.ask(5)
        assert len({c.key for c in batch}) == 5
        assert all(legal(conv, c) for c in batch)
    finally:
        del SEARCHES["first"]


def test_unknown_strategy(conv):
    with pytest.raises(UsageError) as e:
        make_search("evolutionery", TASK, conv, AnalyticModel())
    assert e.value.code == "usage.search"
    assert "evolutionary" in e.value.hint


# ---- what holds for all of them


@pytest.mark.parametrize("name", NAMES)
def test_proposals_are_legal_and_new(name, spaces):
    for k, space in enumerate(spaces):
        search = make_search(name, TASK, space, XGBoostModel(), k, SMALL)
        batches, _ = rounds(search, space, 4)
        keys = [c.key for batch in batches for c in batch]
        assert len(set(keys)) == len(keys)
        for c in (c for batch in batches for c in batch):
            assert legal(space, c)
            assert (
                c.key
                == f"{int(space.variants[c.variant].keys(space.variants[c.variant].sampler.find(c.row)[None])[0]):016x}"
            )
            assert not space.schedule(c).func.holes


@pytest.mark.parametrize("name", NAMES)
def test_small_spaces_are_exhausted(name):
    space = make_space(workloads.matmul(4, 32, 6), TARGET)
    every = {
        int(k) for v in space.variants for k in v.keys(v.sampler.draw(10**6, np.random.default_rng(0)))
    }  # fmt: skip
    search = make_search(name, TASK, space, AnalyticModel(), 3, SMALL)
    seen: list[str] = []
    while batch := search.ask(9):
        seen += [c.key for c in batch]
        search.tell([(c, measured(c)) for c in batch])
        assert len(seen) <= len(every)
    assert {int(k, 16) for k in seen} == every


@pytest.mark.parametrize("name", NAMES)
def test_proposals_follow_from_seed_and_log(name, conv):
    one, _ = rounds(make_search(name, TASK, conv, XGBoostModel(), 5, SMALL), conv, 3)
    two, _ = rounds(make_search(name, TASK, conv, XGBoostModel(), 5, SMALL), conv, 3)
    other, _ = rounds(make_search(name, TASK, conv, XGBoostModel(), 6, SMALL), conv, 3)
    assert one == two
    assert one != other


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("stop", [1, 4])
def test_restored_at_any_point_it_goes_on_as_if_nothing_had_happened(name, stop, conv):
    batches, log = rounds(make_search(name, TASK, conv, AnalyticModel(), 2, SMALL), conv, 6)
    resumed = make_search(name, TASK, conv, AnalyticModel(), 2, SMALL)
    resumed.restore([r for r in log if r.round < stop])
    again, _ = rounds(resumed, conv, 6 - stop)
    assert again == batches[stop:]


def test_restored_with_a_trained_model_it_goes_on_too(conv):
    batches, log = rounds(make_search("evolutionary", TASK, conv, XGBoostModel(), 2, SMALL), conv, 6, 12)
    resumed = make_search("evolutionary", TASK, conv, XGBoostModel(), 2, SMALL)
    resumed.restore([r for r in log if r.round < 4])
    again, _ = rounds(resumed, conv, 2, 12)
    assert again == batches[4:]
    assert resumed.quality.tau is not None


@pytest.mark.parametrize("name", NAMES)
def test_killed_in_the_middle_of_a_round_nothing_is_repeated(name, conv):
    _, log = rounds(make_search(name, TASK, conv, AnalyticModel(), 2, SMALL), conv, 4)
    kept = log[:-3]
    resumed = make_search(name, TASK, conv, AnalyticModel(), 2, SMALL)
    resumed.restore(kept)
    batches, _ = rounds(resumed, conv, 4)
    assert not {c.key for b in batches for c in b} & {r.key for r in kept}


@pytest.mark.parametrize("name", NAMES)
def test_cancelled_candidates_may_come_again_and_pending_ones_do_not(name, conv):
    search = make_search(name, TASK, conv, AnalyticModel(), 2, SMALL)
    first, second = search.ask(6), search.ask(6)
    assert not {c.key for c in first} & {c.key for c in second}
    search.tell([(c, SimpleNamespace(status="cancelled", ms=float("inf"))) for c in (*first, *second)])
    assert [c.key for c in search.ask(6)] == [c.key for c in first]


# ---- epsilon


def test_epsilon_is_the_share_of_random_proposals(conv):
    def origins(epsilon: float) -> list[str]:
        search = make_search("evolutionary", TASK, conv, AnalyticModel(), 1, SMALL)
        rounds(search, conv, 1)
        search.epsilon = epsilon
        batches, _ = rounds(search, conv, 3, 10)
        return [c.origin for b in batches for c in b]

    assert origins(0.0).count("random") == 0
    assert origins(1.0).count("random") == 30
    assert 3 <= origins(0.4).count("random") <= 21


@pytest.mark.parametrize("name", ["evolutionary", "descent"])
def test_epsilon_also_holds_while_all_trials_fail(name, conv):
    search = make_search(name, TASK, conv, AnalyticModel(), 1, SMALL)
    search.epsilon = 1.0
    failed = SimpleNamespace(status="build_error", ms=float("inf"))
    batch = search.ask(10)
    assert {c.origin for c in batch} == {"sketch"}, "before anything was measured"
    search.tell([(c, failed) for c in batch])
    assert [c.origin for c in search.ask(10)] == ["random"] * 10


@pytest.mark.parametrize("value", [-0.1, 1.5, float("nan"), "much"])
def test_epsilon_is_a_share(value, conv):
    search = make_search("random", TASK, conv, AnalyticModel())
    with pytest.raises(UsageError) as e:
        search.epsilon = value
    assert e.value.code == "usage.epsilon"
    assert search.epsilon == SearchOptions().epsilon


# ---- pins and forbids


@pytest.mark.parametrize("name", NAMES)
def test_pins_and_forbids_hold_for_all_that_follows(name, conv):
    search = make_search(name, TASK, conv, AnalyticModel(), 4, SMALL)
    rounds(search, conv, 3)
    search.restrict({"o_2": 16}, {"h_0": {1, 2}}, {1})
    batches, _ = rounds(search, conv, 6)
    after = [c for b in batches for c in b]
    assert len(after) == 42
    assert any("o_2" in c.row for c in after)
    for c in after:
        assert legal(conv, c)
        assert c.variant != 1
        assert c.row.get("o_2", 16) == 16
        assert c.row.get("h_0") not in {1, 2}
    search.restrict()
    batches, _ = rounds(search, conv, 8)
    released = [c for b in batches for c in b]
    assert any(c.row.get("o_2", 16) != 16 or c.row.get("h_0") in {1, 2} or c.variant == 1 for c in released)


@pytest.mark.parametrize(
    ("pins", "forbids", "variants", "code", "word"),
    [
        ({"o_7": 3}, {}, (), "steer.hole", "o_7"),
        ({}, {"nothing": {1}}, (), "steer.hole", "nothing"),
        ({"o_2": 13}, {}, (), "steer.value", "13"),
        ({}, {}, (999,), "steer.variant", "999"),
        ({"h_0": 14, "h_1": 14}, {}, (), "steer.empty", "h_0 = 14"),
        ({"h_0": 2}, {"h_0": {2}}, (), "steer.empty", "h_0 ≠ 2"),
        ({}, {}, range(99), "steer.variant", ""),
        ({"o_2": "16"}, {}, (), "steer.value", "o_2"),
        ({"o_2": 16.0}, {}, (), "steer.value", "16.0"),
        ({}, {"o_2": 16}, (), "steer.value", "o_2"),
        ({}, {"o_2": [None]}, (), "steer.value", "None"),
        ({}, {}, ("first",), "steer.variant", "first"),
    ],
)
def test_what_nothing_can_meet_is_refused_and_changes_nothing(pins, forbids, variants, code, word, conv):
    search = make_search("evolutionary", TASK, conv, AnalyticModel(), 4, SMALL)
    same = make_search("evolutionary", TASK, conv, AnalyticModel(), 4, SMALL)
    with pytest.raises(UsageError) as e:
        search.restrict(pins, forbids, variants)
    assert e.value.code == code
    assert word in str(e.value)
    assert search.ask(5) == same.ask(5)


def test_all_variants_forbidden_is_refused(conv):
    search = make_search("evolutionary", TASK, conv, AnalyticModel(), 4, SMALL)
    with pytest.raises(UsageError) as e:
        search.restrict(variants=range(len(conv.variants)))
    assert e.value.code == "steer.empty"


# ---- what makes each of them what it is


def test_random_search_is_uniform_over_the_legal_rows_of_all_variants():
    space = make_space(workloads.conv2d_nhwc(28, 28, 64, 64, relu=True), TARGET)
    got = np.bincount(
        [c.variant for c in make_search("random", TASK, space, XGBoostModel(), 0).ask(800)],
        minlength=len(space.variants),
    )
    rng = np.random.default_rng(1)
    rows = np.array([v.sampler.size * v.sampler.legal_share(20_000, rng) for v in space.variants])
    expected = 800 * rows / rows.sum()
    assert expected.max() > 20 * np.sort(expected)[1] or (expected > 30).sum() > 1
    assert (abs(got - expected) <= 4 * np.sqrt(expected) + 3).all()


@pytest.mark.parametrize("name", NAMES)
def test_a_space_of_one_row_is_proposed_once(name):
    s = Schedule(workloads.matmul(8, 16, 4), TARGET)
    s.split("j", [None, Hole(choices=[8])])
    search = make_search(name, TASK, space_from_schedule(s), AnalyticModel(), 0, SMALL)
    (only,) = search.ask(4)
    search.tell([(only, measured(only))])
    assert search.ask(4) == []


@pytest.mark.parametrize("name", NAMES)
def test_a_variant_without_rows_is_passed_over(name, conv):
    none = Variant(0, conv.variants[0].schedule, conv.variants[0].machine, limits=(Constraint("never", -1),))
    space = replace(conv, variants=(none, replace(conv.variants[1])))
    found = make_search(name, TASK, space, AnalyticModel(), 0, SMALL).ask(6)
    assert [c.variant for c in found] == [1] * 6
    empty = replace(conv, variants=(none,))
    assert make_search(name, TASK, empty, AnalyticModel(), 0, SMALL).ask(6) == []


def test_random_search_asks_no_model(conv):
    search = make_search("random", TASK, conv, model := XGBoostModel(), 0)
    rounds(search, conv, 4)
    assert not model.trained
    assert all(c.predicted is None for c in search.ask(3))


def test_descent_changes_one_group_of_the_best(conv):
    search = make_search("descent", TASK, conv, AnalyticModel(), 0, SMALL)
    search.epsilon = 0.0
    _, log = rounds(search, conv, 3)
    measured_rows = {r.key: r for r in log if r.ok}
    found = search.ask(60)
    near = [c for c in found if c.origin == "polish"]
    assert near
    speeds = [measured_rows[c.parent].latency_ms for c in near]
    assert speeds == sorted(speeds), "the neighbours of the fastest first"
    known = {r.key for r in log} | {c.key for c in found}
    faster = [r for r in measured_rows.values() if r.latency_ms < speeds[-1]]
    assert faster
    assert all(neighbours(search, conv, r) <= known for r in faster), "none of a faster one is passed over"
    for c in near:
        best = measured_rows[c.parent]
        groups = conv.variants[best.variant].sampler.domain.groups
        changed = [g for g in groups if any(c.row[h] != best.row[h] for h in g.holes)]
        assert len(changed) == 1
        assert c.mutation == ", ".join(changed[0].holes)


def test_descent_reaches_a_local_optimum_and_starts_again(conv):
    search = make_search("descent", TASK, conv, AnalyticModel(), 0, SMALL)
    search.epsilon = 0.0
    _, log = rounds(search, conv, 12, 20)
    best = min((r for r in log if r.ok), key=lambda r: r.latency_ms)
    assert neighbours(search, conv, best) <= {r.key for r in log}
    assert len(log) == 240


def neighbours(search: Search, space, r) -> set[str]:
    """Keys of all rows that differ from a measured one in one group of holes."""
    variant = space.variants[r.variant]
    near, _ = search.allowed.around(r.variant, search.allowed.wide(variant.sampler.find(r.row)[None])[0])
    return {f"{int(k):016x}" for k in variant.keys(search.allowed.narrow(r.variant, near))}


def test_the_evolutionary_search_polishes_more_when_it_stalls(conv):
    search = make_search("evolutionary", TASK, conv, AnalyticModel(), 0, SMALL)
    search.epsilon = 0.0
    shares = []
    for k in range(8):
        batch = search.ask(10)
        shares.append(sum(c.origin == "polish" for c in batch))
        search.tell([(c, SimpleNamespace(status="ok", ms=2.0**-k if k < 3 else 1.0)) for c in batch])
    assert shares == [0, 4, 4, 4, 4, 4, 6, 6]


def test_variants_are_tried_as_often_as_they_may_be_the_best(conv):
    """What trials say about the model's error of a whole variant moves it; few trials leave doubt."""
    search = make_search("evolutionary", TASK, conv, AnalyticModel(), 0, SMALL)
    told = search.ask(12)
    good = told[-1].variant
    search.tell([(c, SimpleNamespace(status="ok", ms=0.5 if c.variant == good else 2.0)) for c in told])
    both = drift(search, 8000, np.random.default_rng(0))
    likely, guess = both[::2], both[1::2]
    assert (likely == likely[0]).all()
    tried = {c.variant for c in told}
    for v in range(len(conv.variants)):
        trials = sum(c.variant == v for c in told)
        assert guess[:, v].std() == pytest.approx(doubt_of(search.history) / (1 + trials) ** 0.5, rel=0.1)
        if v not in tried:
            assert abs(guess[:, v].mean()) < 0.05
        elif v != good:
            assert guess[:, v].mean() < guess[:, good].mean() - 0.3


def test_a_variant_that_fails_is_tried_less(conv):
    search = make_search("evolutionary", TASK, conv, AnalyticModel(), 0, SMALL)
    told = search.ask(12)
    bad = told[0].variant
    failed = SimpleNamespace(status="build_error", ms=float("inf"))
    search.tell([(c, failed if c.variant == bad else measured(c)) for c in told])
    assert drift(search, 1000, np.random.default_rng(0))[:, bad].mean() < -0.5


def test_doubt_grows_while_nothing_is_gained(conv):
    search = make_search("evolutionary", TASK, conv, AnalyticModel(), 0, SMALL)
    doubts = [doubt_of(search.history)]
    for _ in range(12):
        search.tell([(c, SimpleNamespace(status="ok", ms=1.0)) for c in search.ask(12)])
        doubts.append(doubt_of(search.history))
    assert doubts == sorted(doubts)
    assert doubts[-1] == Doubt.MOST > 3 * doubts[0]


def test_what_lost_a_comparison_is_not_built_upon(conv):
    """A trial that was fast by chance ranks behind the program that beat it, also in a restored search."""
    search = make_search("descent", TASK, conv, AnalyticModel(), 0, SMALL)
    search.epsilon = 0.0
    batch = search.ask(16)
    lucky, true = batch[5], batch[9]
    told = [(c, SimpleNamespace(status="ok", ms={lucky.key: 0.5, true.key: 1.0}.get(c.key, 2.0))) for c in batch]
    search.compared(true.key, [lucky.key])  # a loop compares before it tells
    search.tell(told)
    assert [b.number for b, _ in search.placed(2)] == [int(true.key, 16), int(lucky.key, 16)]
    near = [c.parent for c in search.ask(4)]
    assert near[0] == true.key
    resumed = make_search("descent", TASK, conv, AnalyticModel(), 0, SMALL)
    resumed.epsilon = 0.0
    resumed.restore([record(c, m, 0, conv) for c, m in told])
    assert resumed.placed(1)[0][0].number == int(lucky.key, 16)
    resumed.compared(true.key, [lucky.key])
    assert [c.parent for c in resumed.ask(4)] == near
    search.compared(lucky.key, [true.key])  # the other way round in a later comparison
    assert search.placed(1)[0][0].number == int(lucky.key, 16)
