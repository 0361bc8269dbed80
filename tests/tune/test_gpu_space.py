"""Spaces of GPUs: what the rules make is right whatever the order of the threads, and fits the device."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from workbench import workloads
from workbench.codegen.backend import build_func
from workbench.codegen.gpu import simt
from workbench.codegen.gpu.module import GpuModule
from workbench.codegen.gpu.words import CUDA
from workbench.ir import Func, loops
from workbench.ir.numpy_reference.evaluate import evaluate
from workbench.runtime.kernel import Kernel
from workbench.runtime.measuring.random_inputs import draw
from workbench.schedule import Schedule
from workbench.space.default_schedule import default_schedule
from workbench.space.sketch import RULES
from workbench.space.space import make_space
from workbench.target import Target

SIMT = Target("cpu-simt")
needs_compiler = pytest.mark.skipif(simt.problem() is not None, reason="there is no C++ compiler")


def check(func: Func, s: Schedule, target: Target = SIMT) -> None:
    """The schedule's result, which the kernel itself compares between three orders of threads, is the reference's.

    What is stored as float16 may be rounded to the next number.
    """
    inputs = draw(func, 1)
    want = evaluate(func, inputs)[func.outputs[0].name].astype("f8")
    got = Kernel(s.func, build_func(s.func, target), target)(**inputs).astype("f8")
    next_to = 2.0**-10 if func.outputs[0].dtype == "float16" else 0
    np.testing.assert_allclose(got, want, rtol=next_to, atol=2e-5 * max(1.0, float(np.abs(want).max())))


def drawn(func: Func, count: int, seed: int, target: Target = SIMT) -> list[Schedule]:
    rng = np.random.default_rng(seed)
    return [
        v.schedule.fill(v.sampler.row(row))
        for v in make_space(func, target).variants
        for row in v.sampler.draw(count, rng)
    ]


@needs_compiler
@pytest.mark.parametrize("name", ["matmul_bias_relu", "conv", "softmax", "elementwise"])
def test_rows_compute_the_right_thing(name):
    func = workloads.ALL[name]()
    for s in (default_schedule(func, SIMT), *drawn(func, 1, 3)):
        check(func, s)


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(workloads.ALL))
def test_many_rows_compute_the_right_thing(name):
    func = workloads.ALL[name]()
    for s in (default_schedule(func, SIMT), *drawn(func, 12, 5)):
        check(func, s)


ODD = {
    "product": lambda: workloads.matmul(97, 61, 53),
    "epilogue": lambda: workloads.matmul(37, 83, 19, bias=True, relu=True),
    "conv": lambda: workloads.conv2d_nhwc(19, 19, 13, 17, bias=True),
}


@needs_compiler
@pytest.mark.parametrize("name", ODD)
def test_axes_without_divisors_are_padded(name):
    func = ODD[name]()
    space = make_space(func, SIMT)
    assert space.size > 1000
    assert "long" in next(r.reason for r in space.rules() if r.rule == "gpu_tile" and r.fired)
    check(func, default_schedule(func, SIMT))
    check(func, drawn(func, 1, 4)[-1])


def test_a_product_is_tiled_down_to_registers():
    """Blocks, virtual threads and threads around the sum, whose panels pass through shared memory."""
    variant, ahead = make_space(workloads.matmul(512, 512, 512), SIMT).variants
    func = variant.schedule.func
    assert (variant.label, ahead.label) == ("SSSRRSRS", "SSSRRSRS · pipeline")
    assert [lp.kind for lp in func.block("C")[1]][:4] == ["blockIdx.x", "serial", "threadIdx.x", "serial"]
    assert {b.name: b.scope for b in func.buffers if b.role == "temp"} == {
        "A.local": "shared",
        "B.local": "shared",
        "C.local": "local",
    }
    assert all(lp.kind == "threadIdx.x" for n in ("A.copy", "B.copy") for lp in func.block(n)[1][-2:-1])


@pytest.mark.parametrize(
    "options", ["", " -max_num_threads=256 -max_shared_memory_per_block=8K", " -max_num_threads=64"]
)
def test_every_row_fits_the_device(options):
    """What the masks let through is built without a refusal; there are rows that use most of what there is."""
    target, threads, shared = Target("cpu-simt" + options), [], []
    for s in drawn(workloads.matmul(512, 512, 512), 40, 0, target):
        (launch,) = GpuModule(s.func, "kernel", CUDA, target).launches()
        threads.append(np.prod(launch.block))
        shared.append(launch.shared)
        assert np.prod([lp.extent for lp, _ in loops(s.func.body) if lp.kind == "vthread"]) <= 8 * 8
    assert max(threads) == int(target.option("max_num_threads"))
    assert min(threads) >= 64
    limit = int(target.option("max_shared_memory_per_block"))
    assert limit / 2 < max(shared) <= limit


@needs_compiler
@pytest.mark.parametrize("name", ["matmul_bias_relu", "conv", "softmax", "layer_norm"])
def test_where_threads_run_one_by_one_the_rules_are_those_of_processors(name):
    """A grid over the parallel loops, tiles in the registers of one thread, no shared memory."""
    target = Target("cpu-simt -thread_warp_size=1")
    func = workloads.ALL[name]()
    assert not any("gpu" in r.rule for r in make_space(func, target).rules() if r.fired)
    for s in (default_schedule(func, target), *drawn(func, 1, 3, target)):
        launches = GpuModule(s.func, "kernel", CUDA, target).launches()
        assert all(n.threads == 1 for n in launches)
        check(func, s, target)


@pytest.mark.parametrize("threads", [16, 64, 128])
def test_default_schedules_fit_small_blocks(threads):
    """Rules that share out whole loops keep to what a block may have."""
    target = Target(f"cpu-simt -max_num_threads={threads}")
    for func in (workloads.elementwise(64, 128), workloads.elementwise(48, 1000), workloads.matmul(64, 64, 64)):
        launches = GpuModule(default_schedule(func, target).func, "kernel", CUDA, target).launches()
        assert max(n.threads for n in launches) <= threads


def test_rows_are_added_up_by_the_threads_of_a_block():
    """All stages of a row in one kernel; elements of a row stay in the registers of the thread that computes them."""
    func = workloads.softmax(8, 256)
    (s, *_) = drawn(func, 3, 1)
    module = GpuModule(s.func, "kernel", CUDA, SIMT)
    (launch,) = module.launches()
    assert launch.grid == (8, 1, 1)
    assert launch.block[0] % 32 == 0
    assert module.placed["exps"].memory == "local"
    if simt.problem() is None:
        check(func, s)


def test_rules_are_for_processors_or_for_devices():
    asked = {t: set(make_space(workloads.matmul(64, 64, 64), t).asked) for t in (None, SIMT)}
    assert "gpu_tile" in asked[SIMT]
    assert "tile" in asked[None]
    assert asked[None] & asked[SIMT] == {r.name for r in RULES if r.on == "any"}


@needs_compiler
def test_the_tuner_checks_what_it_finds_thread_by_thread(tmp_path):
    log = tmp_path / "simt.jsonl"
    with wb.tune(workloads.matmul(32, 32, 32), target="cpu-simt", trials=2, log=log) as session:
        session.wait()
    records = wb.read_log(log)
    assert list(records["status"]) == ["ok"] * 2
    assert session.state == "done"
