"""Searches that start from schedules by hand and from records: what is adapted, and what is said about it."""

from __future__ import annotations

import platform
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from workbench import workloads
from workbench.cost_model import AnalyticModel
from workbench.errors import UsageError
from workbench.ir import Constraint
from workbench.ir.poly import hole
from workbench.log import Record
from workbench.schedule import Hole, Schedule
from workbench.search import SEARCHES, SearchOptions, make_search
from workbench.search.seeds import adapt
from workbench.search.transfer import facts
from workbench.space.space import make_space, space_from_schedule
from workbench.space.trace_alignment import Trace, alike, unify, wanted
from workbench.space.variant import Variant
from workbench.target import Target
from workbench.tune.options import TuneOptions
from workbench.tune.plan.tune_context import TuneContext

TARGET = Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v4 -l1=48K -l2=2M -l3=32M -threads=2")
HERE = f"{platform.node()} {platform.machine()}"
SMALL = SearchOptions(pool=128, generations=1, children=48)
MATMUL = workloads.matmul(64, 96, 128)


@pytest.fixture(scope="module")
def space():
    return make_space(MATMUL, TARGET)


@pytest.fixture(scope="module")
def other():
    """A space of a similar task, with other extents."""
    return make_space(workloads.matmul(80, 64, 128), TARGET)


def record(of, variant=0, host=HERE, **change) -> Record:
    v = of.variants[variant]
    row = v.sampler.row(v.sampler.draw(64, np.random.default_rng(2))[5])
    s = v.schedule.fill(row)
    known = {
        "task_key": "m", "task": "matmul 64", "trial": 17, "status": "ok", "target": str(TARGET), "host": host,
        "space": of.id, "variant": variant, "row": row, "trace": tuple(s.to_json()), "key": "00000000000000ab",
        "latency_ms": 1.0,
    }  # fmt: skip
    return Record(**{**known, **change})


def by_hand(func=MATMUL, rows=8, columns=32) -> Schedule:
    s = Schedule(func, TARGET)
    s.split("i", [None, rows])
    s.split("j", [None, columns])
    s.reorder("i.0", "j.0", "k", "i.1", "j.1")
    s.unroll("i.1").vectorize("j.1")
    return s


def test_a_record_of_the_same_space_is_its_row(space):
    r = record(space)
    (seed,) = adapt(r, MATMUL, space)
    assert (seed.variant, dict(seed.row)) == (r.variant, dict(r.row))
    assert seed.note == "from matmul 64 trial 17: as it was"
    assert seed.parent == r.key


def test_a_record_of_the_same_task_in_another_space_is_found_by_its_trace(space):
    r = record(space, 1, host="far x86_64", space="of-another-version")
    (seed,) = adapt(r, MATMUL, space)
    assert (seed.variant, dict(seed.row)) == (1, dict(r.row))
    assert seed.note == "from matmul 64 trial 17 on another machine: as it was"


def test_a_record_of_a_similar_task_is_moved_to_the_nearest_legal_numbers(space, other):
    for k in range(min(len(space.variants), len(other.variants))):
        r = record(other, k)
        seeds = [s for s in adapt(r, MATMUL, space) if s.variant >= 0]
        assert len(seeds) == 1
        variant = space.variants[seeds[0].variant]
        picks = variant.sampler.find(seeds[0].row)
        assert variant.sampler.mask(picks[None])[0]
        assert seeds[0].key == f"{int(variant.keys(picks[None])[0]):016x}"
        np.testing.assert_array_equal(seeds[0].x, variant.features(picks[None])[0])
        assert alike(Trace(r.trace), variant.trace) == 1.0


def test_what_was_adapted_is_said_with_the_reason(space, other):
    v = other.variants[0]
    rows = v.sampler.draw(4096, np.random.default_rng(0))
    row = next(r for p in rows if (r := v.sampler.row(p))["i_1"] == 5 and r["j_2"] == 16)
    r = record(other, 0, row=row, trace=tuple(v.schedule.fill(row).to_json()))
    (seed,) = [s for s in adapt(r, MATMUL, space) if s.variant >= 0]
    assert f"i_1 5 → {seed.row['i_1']} because 5 does not divide 64" in seed.note
    assert seed.row["i_1"] in {4, 8}
    assert seed.row["j_2"] == 16  # the width stays, the rest of the axis gives way
    assert "j_2" not in seed.note.split("j_0, j_1")[0]


def test_the_vector_width_comes_first(space):
    v = space.variants[0]
    steps = v.schedule.fill(v.sampler.row(v.sampler.draw(8, np.random.default_rng(0))[0])).to_json()
    for step in steps:
        if step["primitive"] == "split":
            step["args"]["factors"] = {"i": [64, 1, 1], "j": [1, 16, 32]}[step["args"]["loop"]]
    (seed,) = [s for s in adapt(record(space, trace=tuple(steps), space="x"), MATMUL, space) if s.variant >= 0]
    assert seed.row["j_2"] == 32  # with 16 lanes the middle factor could have stayed nearer to 16
    assert seed.row["j_1"] == 3


def test_limits_are_kept_and_named(space):
    v = space.variants[0]
    steps = v.schedule.fill(v.sampler.row(v.sampler.draw(8, np.random.default_rng(0))[0])).to_json()
    for step in steps:
        if step["primitive"] == "split":
            step["args"]["factors"] = {"i": [1, 1, 64], "j": [1, 3, 32]}[step["args"]["loop"]]
    seed = next(s for s in adapt(record(space, trace=tuple(steps), space="x"), MATMUL, space) if s.variant >= 0)
    assert v.sampler.mask(v.sampler.find(seed.row)[None])[0]
    assert "because of the limit 'the register tile and its operands fit the registers'" in seed.note


def test_a_schedule_by_hand_gives_itself_and_the_nearest_row(space):
    s = by_hand()
    concrete, near = adapt(s, MATMUL, space)
    assert concrete.variant == -1
    assert concrete.schedule.to_json() == s.to_json()
    assert concrete.note == "from a schedule by hand: as it was"
    assert near.variant >= 0
    assert near.schedule is None
    inner = space.variants[near.variant].schedule.func
    assert {near.row[h] for h in near.row if h in {"i_2", "i_3"}} == {8}
    assert {near.row[h] for h in near.row if h in {"j_2", "j_3"}} == {32}
    assert inner.holes
    assert near.note.startswith(f"from a schedule by hand in the form of variant {near.variant}: ")


def test_a_schedule_by_hand_needs_to_speak_of_the_holes_not_to_look_alike():
    func = workloads.matmul(64, 96, 128, constant_b=True)  # its variants also pack and fetch ahead
    space = make_space(func, TARGET)
    s = by_hand(func)
    s.parallel("i.0")
    concrete, near = adapt(s, func, space)
    assert concrete.variant == -1
    assert sorted(near.row.values())[-1] >= 32
    plain = Schedule(func, TARGET)
    plain.parallel("i")
    assert [x.variant for x in adapt(plain, func, space)] == [-1]


def test_a_schedule_by_hand_for_other_extents_is_only_moved(space):
    seeds = adapt(by_hand(workloads.matmul(64, 112, 128), columns=56), MATMUL, space)
    assert [s.variant >= 0 for s in seeds] == [True]
    assert "56 does not divide 96" in seeds[0].note


def test_a_filled_row_by_hand_is_that_row_once(space):
    v = space.variants[0]
    row = v.sampler.row(v.sampler.draw(8, np.random.default_rng(0))[3])
    filled = v.schedule.fill(row)
    (seed,) = adapt([filled, filled], MATMUL, space)
    assert (seed.variant, dict(seed.row)) == (0, row)


def test_what_the_source_says_nothing_about_is_chosen_by_the_estimate():
    func = workloads.conv2d_nhwc(14, 14, 32, 32, relu=True)
    space = make_space(func, TARGET)
    v = next(v for v in space.variants if any("pad" in h for g in v.sampler.domain.groups for h in g.holes))
    row = v.sampler.row(v.sampler.draw(8, np.random.default_rng(0))[1])
    steps = [s for s in v.schedule.fill(row).to_json() if "pad" not in str(s["args"].get("loop"))]
    seeds = adapt(record(space, v.index, trace=tuple(steps), space="x"), func, space)
    near = next(s for s in seeds if s.variant == v.index)
    assert "by the estimate" in near.note
    assert all(near.row[h] == row[h] for h in row if "pad" not in h)


def test_nothing_comes_of_what_is_like_no_variant(space):
    strange = ({"primitive": "split", "args": {"loop": "q", "factors": [2, 4]}},)
    assert adapt(record(space, trace=strange, space="x"), MATMUL, space) == []


@pytest.mark.parametrize(
    ("source", "code"),
    [(lambda: Schedule(MATMUL, TARGET).split("i", [None, Hole()]), "seed.holes"), (lambda: 3, "seed.source")],
)
def test_refusals(source, code, space):
    made = source()
    if code == "seed.holes":
        made = Schedule(MATMUL, TARGET)
        made.split("i", [None, Hole()])
    with pytest.raises(UsageError) as e:
        adapt([made], MATMUL, space)
    assert e.value.code == code


@pytest.mark.parametrize("name", sorted(SEARCHES))
def test_seeds_are_proposed_first_and_once(name, space):
    search = make_search(name, SimpleNamespace(key="m", flops=1), space, AnalyticModel(), 0, SMALL)
    seeds = adapt([by_hand(), record(space)], MATMUL, space)
    search.seed([*seeds, *seeds])
    batch = search.ask(8)
    assert [c.key for c in batch[:3]] == [s.key for s in seeds]
    assert [c.origin for c in batch].count("seed") == 3
    assert batch[0].schedule is not None
    assert batch[0].mutation == seeds[0].note
    search.tell([(c, SimpleNamespace(status="ok", ms=1.0)) for c in batch])
    search.seed(seeds)
    assert all(c.origin != "seed" for c in search.ask(8))


def test_a_measured_seed_that_is_no_row_is_restored(space):
    task = SimpleNamespace(key="m", flops=10**6)
    search = make_search("evolutionary", task, space, AnalyticModel(), 0, SMALL)
    seeds = adapt(by_hand(), MATMUL, space)
    search.seed(seeds)
    batch = search.ask(6)
    search.tell([(c, SimpleNamespace(status="ok", ms=1.0 + k)) for k, c in enumerate(batch)])
    log = [
        record(
            space, variant=0, key=c.key, row=dict(c.row), latency_ms=1.0 + k, origin=c.origin, predicted=c.predicted,
            trace=tuple((c.schedule or space.schedule(c)).to_json()),
        )
        for k, c in enumerate(batch)
    ]  # fmt: skip
    log = [
        replace(r, variant=c.variant, space=space.id if c.variant >= 0 else "") for r, c in zip(log, batch, strict=True)
    ]
    resumed = make_search("evolutionary", task, space, AnalyticModel(), 0, SMALL)
    resumed.restore(log)
    resumed.seed(seeds)
    assert resumed.ask(6) == search.ask(6)
    assert resumed.history.trials == search.history.trials
    assert -1 in resumed.history.trials


def test_seeds_that_a_pin_rules_out_are_not_proposed(space):
    search = make_search("evolutionary", SimpleNamespace(key="m", flops=1), space, AnalyticModel(), 0, SMALL)
    seeds = [s for s in adapt(by_hand(), MATMUL, space) if s.variant >= 0]
    wide = next(h for h in seeds[0].row if seeds[0].row[h] == 32)
    search.restrict({wide: 16})
    search.seed(seeds)
    assert all(c.origin != "seed" for c in search.ask(4))


def test_a_seed_that_is_ruled_out_comes_when_the_restriction_is_lifted(space):
    """So a run that is resumed after that proposes the same."""
    search = make_search("evolutionary", SimpleNamespace(key="m", flops=1), space, AnalyticModel(), 0, SMALL)
    (seed,) = adapt(record(space, 1), MATMUL, space)
    search.seed([seed])
    search.restrict(variants={1})
    assert all(c.origin != "seed" for c in search.ask(4))
    search.restrict()
    assert [c.key for c in search.ask(4) if c.origin == "seed"] == [seed.key]


def test_a_schedule_that_is_no_row_comes_as_it_is_and_its_nearest_row_waits(space):
    """It has no hole that a pin could hold, and the person has given both."""
    search = make_search("evolutionary", SimpleNamespace(key="m", flops=1), space, AnalyticModel(), 0, SMALL)
    hand, near = adapt(by_hand(), MATMUL, space)
    name = next(h for h in near.row if near.row[h] == 32)
    search.restrict(forbids={name: {32}})
    search.seed([near, hand])
    batch = search.ask(4)
    assert [c.key for c in batch if c.origin == "seed"] == [hand.key]
    assert all(c.row.get(name) != 32 for c in batch)
    search.restrict()
    assert search.ask(1)[0].key == near.key


def test_a_cancelled_seed_comes_again_before_all_others(space):
    search = make_search("evolutionary", SimpleNamespace(key="m", flops=1), space, AnalyticModel(), 0, SMALL)
    seeds = adapt([by_hand(), record(space, 1)], MATMUL, space)
    search.seed(seeds)
    first = search.ask(2)
    search.tell([(c, SimpleNamespace(status="cancelled", ms=float("inf"))) for c in first])
    again = search.ask(len(seeds))
    assert [c.key for c in again] == [s.key for s in seeds]
    search.tell([(c, SimpleNamespace(status="build_error", ms=float("inf"))) for c in again])
    assert all(c.origin != "seed" for c in search.ask(4)), "one that failed is known"


def test_a_trial_that_failed_is_no_seed(space):
    assert adapt(record(space, status="build_error", latency_ms=None), MATMUL, space) == []


def test_a_record_of_this_space_that_breaks_a_limit_here_is_moved(space):
    """The same variants, but fewer registers: another machine may have run it."""
    r = record(space)
    v = space.variants[0]
    tight = Variant(0, v.schedule, v.machine, v.notes, v.skips, (*v.limits, Constraint("narrow", 16 - hole("j_2"))))
    wide = dict(r.row) | {"j_0": 1, "j_1": 3, "j_2": 32}
    there = record(space, row=wide, trace=tuple(v.schedule.fill(wide).to_json()), host="far x86_64")
    here = replace(space, variants=(tight, *space.variants[1:]))
    near = next(s for s in adapt(there, MATMUL, here) if s.variant == 0)
    assert near.row["j_2"] == 16
    assert "because of the limit 'narrow'" in near.note or "because it may only be" in near.note
    assert near.note.startswith("from matmul 64 trial 17 on another machine")
    search = make_search("evolutionary", SimpleNamespace(key="m", flops=1), here, AnalyticModel(), 0, SMALL)
    search.seed(adapt(there, MATMUL, space))
    assert all(c.row.get("j_2", 16) == 16 for c in search.ask(4) if c.variant == 0)


def test_keys_of_another_version_are_told_apart_from_programs(space):
    """A resumed search knows a program by what it is, whatever key the log has for it."""
    search = make_search("random", SimpleNamespace(key="m", flops=1), space, AnalyticModel(), 0, SMALL)
    batch = search.ask(6)
    log = [record(space, variant=c.variant, row=dict(c.row), key=f"{k + 1:016x}") for k, c in enumerate(batch)]
    resumed = make_search("random", SimpleNamespace(key="m", flops=1), space, AnalyticModel(), 0, SMALL)
    resumed.restore(log)
    keys = {c.key for _ in range(4) for c in resumed.ask(50)}
    assert not keys & {c.key for c in batch}
    resumed.compared(log[0].key, [log[1].key, "default:m", "of nobody"])
    assert [b.number for b in resumed.history.ranked()][:1] == [1]


def test_the_fastest_seed_is_bred_from(space):
    search = make_search("evolutionary", SimpleNamespace(key="m", flops=10**6), space, AnalyticModel(), 0, SMALL)
    search.seed(adapt(record(space, 1), MATMUL, space))
    batch = first = search.ask(8)
    parents = set()
    for _ in range(8):
        search.tell([(c, SimpleNamespace(status="ok", ms=0.1 if c.origin == "seed" else 5.0)) for c in batch])
        batch = search.ask(8)
        parents |= {c.parent for c in batch}
    assert first[0].key in parents


def test_numbers_are_read_off_traces_step_by_step():
    pattern = [
        {"primitive": "split", "args": {"loop": "i", "factors": [{"hole": "a"}, {"hole": "b"}, {"hole": "c"}]}},
        {"primitive": "transform_layout", "args": {"buffer": "W", "dim": 3, "block": "c"}},
    ]
    same = [
        {"primitive": "split", "args": {"loop": "i", "factors": [2, 3, 4]}},
        {"primitive": "transform_layout", "args": {"buffer": "W", "dim": 3, "block": 4}},
    ]
    assert alike(Trace(same), Trace(pattern)) == 1.0
    assert wanted(Trace(same), Trace(pattern)) == {"a": 2, "b": 3, "c": 4}
    fewer = [{"primitive": "split", "args": {"loop": "i", "factors": [6, 4]}}]
    assert wanted(Trace(fewer), Trace(pattern)) == {"a": 6, "b": 1, "c": 4}
    more = [{"primitive": "split", "args": {"loop": "i", "factors": [None, 5, 3, 4]}}]
    assert wanted(Trace(more), Trace(pattern)) == {"b": 3, "c": 4}
    other = [{"primitive": "split", "args": {"loop": "j", "factors": [6, 4]}}]
    assert wanted(Trace(other), Trace(pattern)) == {}
    assert alike(Trace([]), Trace(pattern)) == 0.0


# ---- what the model learns from


def test_facts_of_records_are_features_and_speeds_by_task_and_machine(space, other):
    far = {"host": "far x86_64", "space": "of-another-version", "flops": 10**6}
    records = [
        record(space, 0, flops=10**6), record(space, 1, flops=10**6, status="run_error", latency_ms=None),
        record(space, 1, **far), record(space, 0, status="cancelled"), record(other, 0, task_key="unknown"),
    ]  # fmt: skip
    found = facts(records, {"m": space})
    assert [len(x) for x, _ in found.values()] == [2, 1]
    (x, speed), (away, _) = found.values()
    assert speed[0] == pytest.approx(0.0)
    assert np.isnan(speed[1])
    variant = space.variants[1]
    np.testing.assert_array_equal(away[0], variant.features(variant.sampler.find(records[2].row)[None])[0])
    np.testing.assert_array_equal(x[1], away[0])


def test_facts_of_many_records_keep_the_fastest_and_some_of_the_others(space):
    records = [record(space, 0, flops=10**6, trial=k, latency_ms=1.0 + k) for k in range(100)]
    ((x, speed),) = facts(records, {"m": space}, most=20).values()
    assert 15 <= len(x) <= 20
    np.testing.assert_allclose(speed[:10], [-np.log2(1.0 + k) for k in range(10)], atol=1e-12)
    assert speed.min() < -6.0


def test_facts_of_schedules_that_split_a_part_again():
    """The trace has the number of the hole that the second split replaced; the row of the record has not."""
    s = Schedule(MATMUL, TARGET)
    s.split("j", [Hole("far"), Hole("near")])
    s.split("j.1", [Hole(), Hole(choices=[8, 16])])
    space = space_from_schedule(s)
    v = space.variants[0]
    row = v.sampler.row(v.sampler.draw(1, np.random.default_rng(0))[0])
    filled = v.schedule.fill(row)
    assert "near" not in row
    here = record(space, row=row, trace=tuple(filled.to_json()), flops=10**6)
    elsewhere = replace(here, space="of-another-version")
    odd = replace(here, row={h: n for h, n in row.items() if h != "far"}, trace=())
    for records in ([here, elsewhere], [elsewhere, here], [here, odd]):
        ((x, speed),) = facts(records, {"m": space}).values()
        assert len(x) == len(speed) == sum(r is not odd for r in records)
        np.testing.assert_array_equal(x[0], x[-1])
        np.testing.assert_array_equal(x[0], v.features(v.sampler.find(row)[None])[0])


def test_a_trace_is_a_row_only_where_all_but_the_holes_is_the_same(space):
    r = record(space, 1)
    pattern = space.variants[1].schedule.to_json()
    assert unify(r.trace, pattern) == dict(r.row)
    assert unify(r.trace, space.variants[0].schedule.to_json()) is None
    assert unify(r.trace[:-1], pattern) is None
    changed = [dict(s) for s in r.trace]
    changed[0] = {"primitive": "split", "args": {**changed[0]["args"], "loop": "elsewhere"}}
    assert unify(changed, pattern) is None


def test_a_session_with_seeds_starts_with_what_they_measured(space):
    v = space.variants[1]
    rows = [v.sampler.row(p) for p in v.sampler.draw(24, np.random.default_rng(0))]
    records = [
        record(space, 1, row=row, trial=k, flops=10**6, latency_ms=1.0 + k, trace=tuple(v.schedule.fill(row).to_json()))
        for k, row in enumerate(rows)
    ]
    task = SimpleNamespace(key="m", name="matmul 64", func=MATMUL, flops=10**6)
    assert TuneContext(TARGET, TuneOptions(model="xgboost"), seeds=records).search(task, space, 0).model.trained
    assert not TuneContext(TARGET, TuneOptions(model="xgboost")).search(task, space, 0).model.trained
