"""Where the constants of the estimate come from."""

from __future__ import annotations

import json

import numpy as np
import pytest

from workbench import workloads
from workbench.analysis import estimate
from workbench.analysis.loop_nest.schedule_estimate import evaluated
from workbench.cost_model import AnalyticModel, load
from workbench.machine_model import machine_parameters as machine_module
from workbench.machine_model.constants import Rates
from workbench.machine_model.features import INDEX, features
from workbench.machine_model.machine_parameters import Machine, measure_pace
from workbench.runtime.machine import measured_roofline as roofs_module
from workbench.schedule import Schedule
from workbench.space.default_schedule import default_schedule
from workbench.space.space import make_space
from workbench.target import Target

TARGET = Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v4 -l1=48K -l2=2M -l3=64M -threads=2")
CYCLES = 2.0  # cycles per nanosecond


@pytest.fixture
def measured(tmp_path, monkeypatch):
    """Let the cache directory hold reading rates, in bytes per cycle and thread, by working set."""
    monkeypatch.setenv("WORKBENCH_CACHE_DIR", str(tmp_path))

    def keep(rates):
        for nbytes, rate in rates.items():
            path, key = roofs_module._place(TARGET, 2, nbytes)
            path.parent.mkdir(parents=True, exist_ok=True)
            gflops = CYCLES * 4.0 * TARGET.lanes("float32") * 2
            path.write_text(json.dumps({"gflops": gflops, "gbytes": rate * CYCLES * 2, "key": key}), encoding="utf-8")
        machine_module._stored_pace.cache_clear()
        return Machine.of(TARGET)

    yield keep
    machine_module._stored_pace.cache_clear()


def test_without_measurements_the_fitted_constants_hold(measured):
    machine = measured({})
    assert machine.pace == (1.0, 1.0)
    assert machine.constants == "fitted"
    assert AnalyticModel(machine=machine).version.endswith("-fitted")


def test_measured_rates_scale_the_constants(measured, tmp_path):
    near, far = Rates.FITTED
    machine = measured({1 << 20: near * 2.0, 16 << 20: far / 2.0})
    assert machine.pace == (2.0, 0.5)
    model = AnalyticModel(machine=machine)
    assert model.version.endswith("-measured(2,0.5)")
    model.save(tmp_path / "m.json")
    assert load(tmp_path / "m.json").version == model.version


def test_noise_of_measurements_is_no_news_and_nonsense_is_bounded(measured):
    near, far = Rates.FITTED
    assert measured({1 << 20: near * 1.05, 16 << 20: far * 0.95}).constants == "fitted"
    assert measured({1 << 20: near * 1e6, 16 << 20: far * 1e-6}).pace == (4.0, 0.25)


def test_a_process_keeps_to_the_constants_that_it_has_seen(measured):
    near, far = Rates.FITTED
    machine = measured({1 << 20: near, 16 << 20: far})
    path, _ = roofs_module._place(TARGET, 2, 1 << 20)
    path.unlink()
    assert Machine.of(TARGET) == machine


def test_slow_caches_cost_those_who_need_them():
    slow, fast = Machine.of(TARGET), Machine.of(TARGET)
    object.__setattr__(slow, "pace", (1.0, 0.25))
    variant = make_space(workloads.matmul(1024, 1024, 1024, constant_b=True), TARGET).variants[0]
    columns = variant.sampler.columns(variant.sampler.draw(256, np.random.default_rng(0)))
    a, b = (features(variant.plan, columns, 256, m) for m in (slow, fast))
    lost = b[:, INDEX["speed"]] - a[:, INDEX["speed"]]
    assert lost.min() >= 0
    assert lost.max() > 0.1
    np.testing.assert_array_equal(a[:, INDEX["main.l2_bytes"]], b[:, INDEX["main.l2_bytes"]])


def test_measuring_takes_the_working_sets_that_show_one_level_each(measured, monkeypatch):
    asked = []
    monkeypatch.setattr(roofs_module, "roofs", lambda target, threads, nbytes: asked.append((threads, nbytes)))
    measure_pace(TARGET)
    assert asked == [(2, 1 << 20), (2, 16 << 20)]
    asked.clear()
    small = Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v4 -l1=48K -l2=256K -l3=1M -threads=2")
    measure_pace(small)
    assert asked == [], "no size from 1 MiB up lies in one level alone"


_WIDE = "+avx,+avx2,+fma,+f16c,+avx512f,+avx512bw,+avx512vl,+avx512dq,+avx512bf16"
WIDE = f"llvm -mtriple=x86_64-unknown-linux-gnu -mcpu={{}} -mattr={_WIDE} -l1=32K -l2=1M -l3=32M -threads=2"


def test_cores_that_execute_wide_vectors_in_halves_have_constants_of_their_own(tmp_path):
    halves, whole = (Machine.of(Target(WIDE.format(cpu))) for cpu in ("znver4", "cooperlake"))
    assert (halves.halves, whole.halves) == (True, False)
    model = AnalyticModel(machine=halves)
    assert model.version.endswith("-fitted-halves")
    model.save(tmp_path / "m.json")
    assert load(tmp_path / "m.json").version == model.version
    # What is short of multiply-adds to overlap loses less where one of them takes twice as long.
    variant = make_space(workloads.matmul(512, 512, 512, constant_b=True), TARGET).variants[0]
    columns = variant.sampler.columns(variant.sampler.draw(256, np.random.default_rng(0)))
    a, b = (features(variant.plan, columns, 256, m) for m in (halves, whole))
    few, many = a[:, INDEX["main.accumulators"]] < np.log2(5), a[:, INDEX["main.accumulators"]] > np.log2(12)
    gained = a[:, INDEX["main.cycles_body"]] - b[:, INDEX["main.cycles_body"]]
    assert few.any()
    assert many.any()
    assert np.median(gained[few]) < np.median(gained[many])


def depthwise(tiles, lanes):
    """A depthwise convolution of 7x7 pixels, of `tiles` pixels in registers."""
    s = Schedule(workloads.depthwise_conv2d_nhwc(7, 7, 960, 3, 1, 1), Target(WIDE.format("znver4")))
    for loop, factors in zip("hwc", ((None, tiles[0]), (None, tiles[1]), (None, lanes)), strict=True):
        s.split(loop, list(factors))
    s.reorder("n", "c.0", "h.0", "w.0", "kh", "kw", "h.1", "w.1", "c.1")
    s.transform_layout("W", 2, lanes).compute_inline("pad")
    return s.unroll("kh").unroll("kw").unroll("h.1").unroll("w.1").vectorize("c.1")


def test_what_later_steps_of_a_sum_share_needs_registers_until_then():
    """A row is shared by steps that are three columns apart: two vectors of seven rows do not fit 32 registers as long
    (LLVM spills 72 of them; such a kernel took 1.4 to 2.1 times as long).
    """
    rows, columns = (estimate(depthwise(tiles, 32)).cycles for tiles in ((7, 1), (1, 7)))
    assert rows > 1.3 * columns
    rows, columns = (estimate(depthwise(tiles, 16)).cycles for tiles in ((7, 1), (1, 7)))
    assert rows == pytest.approx(columns, rel=0.1)


def test_conditions_that_unrolled_loops_decide_are_not_tested():
    def tested(tiles):
        found = evaluated(depthwise(tiles, 16), Machine.of(Target(WIDE.format("znver4"))))
        return next(float(facts.guards[0]) for facts, _ in found if facts.plan.is_reduction)

    assert tested((7, 7)) == 0.0, "every place is a number in the code"
    # 60 blocks of channels, 7 columns, and in each body both conditions of 9 steps (those of columns are the same ones)
    assert 0.0 < tested((7, 1)) <= 60 * 7 * 2 * 3


def test_padding_with_few_uses_is_a_condition_by_default():
    target = Target(WIDE.format("znver4"))
    few = default_schedule(workloads.depthwise_conv2d_nhwc(56, 56, 96, 3, 2, 1), target)
    assert "compute_inline" in [step.name for step in few.trace]
    many = default_schedule(workloads.conv2d_nhwc(28, 28, 64, 64), target)
    assert "compute_at" in [step.name for step in many.trace]
