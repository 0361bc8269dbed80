"""The estimate of a schedule: the numbers of the search, as time, with bytes and shares."""

from __future__ import annotations

import functools
import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as options
from hypothesis import strategies as st

from workbench import Schedule, Target, workloads
from workbench.analysis import Estimate, estimate
from workbench.analysis.loop_nest.schedule_estimate import evaluated
from workbench.errors import UsageError
from workbench.machine_model.features import COLUMNS, INDEX
from workbench.machine_model.machine_parameters import Machine
from workbench.schedule import Hole
from workbench.schedule.primitive import from_json
from workbench.search.seeds import features_of
from workbench.space.default_schedule import default_schedule
from workbench.space.space import make_space, space_from_schedule

TARGET = Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=haswell -l1=32K -l2=1M -l3=8M -threads=2")
FUNCS = (
    workloads.matmul(64, 64, 64),
    workloads.matmul(32, 32, 32, bias=True, relu=True),
    workloads.conv2d_nhwc(8, 8, 8, 16, bias=True, relu=True),
    workloads.softmax(16, 64),
)


def split(loop, *factors):
    return from_json({"primitive": "split", "args": {"loop": loop, "factors": list(factors)}})


def unrolled(func, loop):
    s = Schedule(func, TARGET)
    s.unroll(loop)
    return s


def columns(schedule, *names):
    """Features of the search, with the logarithms taken back."""
    x = features_of(schedule, Machine.of(schedule.target)).astype(float)
    return [2.0 ** x[INDEX[n]] - (1.0 if COLUMNS[INDEX[n]].log else 0.0) for n in names]


def summed(schedule, column):
    return sum(columns(schedule, f"main.{column}", f"before.{column}", f"after.{column}"))


@pytest.mark.parametrize("func", FUNCS, ids=lambda f: f"{f.name}{len(f.body)}")
@pytest.mark.parametrize("tuned", [False, True])
def test_the_numbers_are_those_of_the_search(func, tuned):
    s = default_schedule(func, TARGET) if tuned else Schedule(func, TARGET)
    found = estimate(s, peak_gflops=64.0)
    assert found.cycles == pytest.approx(columns(s, "estimate")[0], rel=1e-4)
    assert found.ms == pytest.approx(found.cycles / (64.0 / (4 * 8)) / 1e6)
    assert (found.low_ms, found.high_ms) == (found.ms, found.ms)
    for level in ("l1", "l2"):
        assert found.bytes[level.upper()] == pytest.approx(summed(s, f"{level}_bytes"), rel=1e-3, abs=8)
    assert found.gflops == pytest.approx(found.flops / found.ms / 1e6)
    assert found.intensity == pytest.approx(found.flops / found.bytes["L1"])


@functools.cache
def sketched():
    return make_space(FUNCS[2], TARGET)


@options(max_examples=20)
@given(st.integers(0, 10_000))
def test_shares_are_the_whole_and_bytes_do_not_grow_outwards(seed):
    variants = sketched().variants
    variant = variants[seed % len(variants)]
    picks = variant.sampler.draw(64, np.random.default_rng(seed))
    s = variant.schedule.fill(variant.sampler.row(picks[seed % len(picks)]))
    found = estimate(s)
    assert sum(found.share.values()) == pytest.approx(1.0)
    assert all(value >= 0.0 for value in found.share.values())
    assert found.bytes["L1"] >= found.bytes["L2"] > 0
    assert found.bytes["L2"] >= found.bytes["L3"]
    assert (found.share["launch"] > 0) == (features_of(s, Machine.of(TARGET))[INDEX["regions"]] > 0)


def test_open_numbers_give_a_range_of_what_they_could_become():
    s = Schedule(FUNCS[0], TARGET)
    for loop, hole in (("i", "ti"), ("j", "tj"), ("k", "tk")):
        s.apply(split(loop, None, {"hole": hole}))
    found = estimate(s, peak_gflops=64.0, samples=10_000)
    variant = space_from_schedule(s).variants[0]
    picks = variant.sampler.draw(10_000, np.random.default_rng(0))
    each = [estimate(s.copy().fill(variant.sampler.row(p)), peak_gflops=64.0).ms for p in picks[::7]]
    assert min(each) <= found.low_ms <= found.ms <= found.high_ms <= max(each) * (1 + 1e-6)
    every = estimate(s, peak_gflops=64.0)
    assert every == estimate(s, peak_gflops=64.0)  # the same rows every time
    assert every.low_ms <= every.ms <= every.high_ms


def test_choices_of_the_structure_are_counted_in():
    func, loops = workloads.matmul(16, 64, 64), ("i", "j", "k")
    s = unrolled(func, Hole("which", choices=loops))
    assert not s.is_concrete
    alone = sorted(estimate(unrolled(func, loop), peak_gflops=64.0).ms for loop in loops)
    found = estimate(s, peak_gflops=64.0)
    assert alone[0] < alone[-1]
    assert found.ms == pytest.approx(alone[1])
    assert alone[0] <= found.low_ms < found.high_ms <= alone[-1]


def test_without_a_peak_there_are_cycles_and_no_time():
    found = estimate(Schedule(FUNCS[0], TARGET))
    assert (found.ms, found.low_ms, found.high_ms, found.gflops) == (None, None, None, None)
    assert found.cycles > 0
    assert found.to_json()["ms"] is None
    assert "cycles" in str(found)


def test_a_level_that_the_target_does_not_have_is_left_out():
    small = Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=haswell -l1=32K -l2=256K -l3=0 -threads=1")
    assert list(estimate(Schedule(FUNCS[0], small)).bytes) == ["L1", "L2"]
    assert list(estimate(Schedule(FUNCS[0]), small).bytes) == ["L1", "L2"]


def test_the_json_is_short_and_plain():
    data = estimate(Schedule(FUNCS[0], TARGET), peak_gflops=64.0).to_json()
    assert list(data) == ["ms", "bytes"]
    assert len(json.dumps(data, allow_nan=False)) < 100
    wide = Estimate(2.0, 1.0, 3.00049, {}, 0, {"compute": 1.0}, 1.0)
    assert wide.to_json() == {"ms": 2.0, "low": 1.0, "high": 3.0, "bytes": {}}
    nothing = Estimate(None, None, None, {"L1": 0}, 0, {"compute": 1.0}, 1.0)
    assert nothing.to_json() == {"ms": None, "bytes": {"L1": 0}}


def test_a_number_of_samples_has_to_be_one():
    with pytest.raises(UsageError):
        estimate(Schedule(FUNCS[0], TARGET), samples=0)


@pytest.mark.parametrize(("func", "slower"), [(workloads.dense(1, 1000, 1024), True), (FUNCS[3], False)])
def test_constants_that_come_from_memory_take_time(func, slower):
    near, memory = (estimate(Schedule(func, TARGET), constants=where) for where in ("near", "memory"))
    assert (memory.cycles > near.cycles) is slower
    if slower:
        assert memory.share["memory"] > near.share["memory"]
        with_large_cache = estimate(Schedule(func, replace(TARGET, l3_bytes=1 << 30)), constants="memory")
        assert with_large_cache.cycles == pytest.approx(memory.cycles), "no cache keeps them"


def test_what_the_last_cache_keeps_comes_from_no_memory():
    s = Schedule(workloads.matmul(256, 256, 256, constant_b=True), TARGET)
    assert estimate(s).bytes["L3"] == 0
    assert estimate(s, constants="memory").bytes["L3"] == 4 * 256 * 256, "the weights alone"
    small = replace(TARGET, l2_bytes=128 << 10, l3_bytes=256 << 10)
    assert estimate(Schedule(s.func, small)).bytes["L3"] >= 3 * 4 * 256 * 256


def stencil(target, rows):
    """A depthwise convolution, 3x3, written out for so many rows of two results."""
    s = Schedule(workloads.depthwise_conv2d_nhwc(14, 14, 64), target)
    s.split("h", [None, rows])
    s.split("w", [None, 2])
    s.split("c", [None, 8])
    s.reorder("h.0", "w.0", "c.0", "kh", "kw", "h.1", "w.1", "c.1")
    for loop in ("kh", "kw", "h.1", "w.1"):
        s.unroll(loop)
    return s.vectorize("c.1")


def loaded_again(schedule, registers):
    found = evaluated(schedule, replace(Machine.of(TARGET), registers=registers))
    return next(float(facts.again[0]) for facts, _ in found if facts.plan.is_reduction)


def test_what_the_steps_of_a_sum_share_needs_registers():
    """4 results of 16 registers leave room for the 8 values that a next row shares; 14 of 32 do not for
    its 28 (LLVM spills 28 vectors there, and 172 of 16 registers).
    """
    small, large = stencil(TARGET, 2), stencil(TARGET, 7)
    assert loaded_again(small, 16) == 0.0
    assert 20 < loaded_again(large, 32) < 45
    assert 70 < loaded_again(large, 16) < 90, "of 126 values 36 are different ones"


def test_a_sum_that_shares_nothing_loads_nothing_again():
    s = Schedule(workloads.matmul(64, 64, 64), TARGET)
    s.split("i", [None, 16])
    s.split("k", [None, 4])
    s.split("j", [None, 8])
    s.reorder("i.0", "j.0", "k.0", "k.1", "i.1", "j.1")
    s.unroll("k.1").unroll("i.1").vectorize("j.1")
    assert loaded_again(s, 16) == 0.0
