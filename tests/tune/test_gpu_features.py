"""The estimate of GPUs: which threads touch what, how full a multiprocessor is, and known facts that it ranks by."""

from __future__ import annotations

import numpy as np
import pytest

from workbench import te, workloads
from workbench.codegen.gpu.module import GpuModule
from workbench.codegen.gpu.words import CUDA
from workbench.ir import Func
from workbench.machine_model import nest_summary
from workbench.machine_model.batched_values import Values
from workbench.machine_model.features import COLUMNS, INDEX, features
from workbench.machine_model.gpu_facts import gpu_facts
from workbench.machine_model.machine_parameters import Gpu, Machine
from workbench.schedule import Schedule
from workbench.space.space import make_space
from workbench.target import Target

SIMT = Target("cpu-simt")
MACHINE = Machine.of(SIMT)


def of(s: Schedule, target: Target = SIMT) -> dict[str, float]:
    row = features(nest_summary.plan(s.func), {}, 1, Machine.of(target))[0]
    return {c.name: float(x) for c, x in zip(COLUMNS, row, strict=True)}


def read_every(step: int, width: int = 64) -> Func:
    x = te.placeholder((256, width * step), name="X")
    return te.func(te.compute((256, width), lambda i, j: x[i, j * step] + 1.0, name="Y"))


def bound(func: Func, threads: str = "j", grid: str = "i") -> Schedule:
    return Schedule(func).bind(grid, "blockIdx.x").bind(threads, "threadIdx.x")


@pytest.mark.parametrize(("step", "sectors"), [(1, 4), (2, 8), (4, 16), (8, 32), (16, 32)])
def test_pieces_of_memory_that_a_warp_touches(step, sectors):
    """32 floats side by side lie in 4 pieces of 32 bytes; from 8 apart on each has a piece of its own."""
    func = bound(read_every(step)).func
    (block,) = nest_summary.plan(func).blocks
    write, read = gpu_facts(block, Values({}), 1, Gpu()).accesses
    assert (write.sectors[0], write.least[0]) == (4, 4)
    assert (read.sectors[0], read.least[0]) == (sectors, 4)
    assert read.requests[0] == 2 * 256


def tiled_transpose(pad: int) -> Schedule:
    """A tile of 32x32 passes through shared memory, read by columns."""
    s = Schedule(workloads.transpose(256, 256))
    i, j = (lp.name for lp in s.loops)
    (i0, i1), (j0, j1) = s.split(i, [None, 32]), s.split(j, [None, 32])
    s.reorder(i0, j0, i1, j1)
    copy = s.cache_read(s.blocks[0].name, s.func.inputs[0].name)
    s.compute_at(copy, j0)
    rows, columns = (lp.name for lp in s.func.block(copy)[1][-2:])
    name = s.func.block(copy)[0].buffer
    s.set_scope(name, "shared")
    if pad:
        s.storage_align(name, 0, 32, pad)
    s.bind(i0, "blockIdx.y").bind(j0, "blockIdx.x").bind(i1, "threadIdx.y").bind(j1, "threadIdx.x")
    return s.bind(rows, "threadIdx.y").bind(columns, "threadIdx.x")


@pytest.mark.parametrize(("pad", "turns"), [(0, 32), (1, 1), (2, 2), (4, 4), (16, 16)])
def test_conflicts_of_banks(pad, turns):
    assert of(tiled_transpose(pad))["gpu.turns"] == turns


@pytest.mark.parametrize(
    "make",
    [
        lambda: workloads.matmul(128, 128, 64, bias=True, relu=True),
        lambda: workloads.softmax(64, 512),
        lambda: workloads.transpose(256, 256),
    ],
)
def test_columns_say_what_the_printed_kernel_does(make):
    """Counted thread by thread from the printed loops, by code that knows no columns."""
    for variant in make_space(make(), SIMT).variants:
        picks = variant.sampler.draw(6, np.random.default_rng(7))
        for pick, row in zip(picks, variant.features(picks), strict=True):
            module = GpuModule(variant.schedule.fill(variant.sampler.row(pick)).func, "kernel", CUDA, SIMT)
            module.lines()
            found = [a for accesses in module.warp_accesses().values() for a in accesses]
            for memory, column in (("global", "gpu.sectors"), ("shared", "gpu.turns")):
                want = max([1.0, *(a.transactions / a.least for a in found if a.memory == memory)])
                assert row[INDEX[column]] == pytest.approx(want), (memory, variant.sampler.row(pick))


def test_known_facts_rank():
    """Side by side beats strided, no conflicts beat conflicts, many threads beat few, tiles beat none."""
    near, far = (of(bound(read_every(step, 1024)))["estimate"] for step in (1, 16))
    assert near < far
    assert of(tiled_transpose(1))["estimate"] < of(tiled_transpose(0))["estimate"]
    func = workloads.matmul(512, 512, 512)
    naive = Schedule(func).bind("i", "blockIdx.x").bind("j", "threadIdx.x")
    one = Schedule(func).bind("i", "blockIdx.x")
    speeds = [v.features(v.sampler.draw(200, np.random.default_rng(0)))[:, INDEX["estimate"]].min()
              for v in make_space(func, SIMT).variants]  # fmt: skip
    assert max(speeds) < of(naive)["estimate"] < of(one)["estimate"]


def test_occupancy_and_its_limits():
    """Of a product: 64 threads with few sums fill a multiprocessor more than many sums or much shared memory do."""
    (variant, _) = make_space(workloads.matmul(512, 512, 512), SIMT).variants
    x = variant.features(variant.sampler.draw(400, np.random.default_rng(1)))
    held, shared, share = (x[:, INDEX[f"gpu.{n}"]] for n in ("registers", "shared", "occupancy"))
    assert 0 < share.min() < share.max() <= 1
    assert np.corrcoef(held, share)[0, 1] < -0.3
    assert np.corrcoef(shared, share)[0, 1] < -0.2


def test_a_faster_device_takes_less_time():
    s = bound(read_every(1, 1024))
    slow, fast = (of(s, Target(f"cpu-simt -memory_gbytes={n}"))["estimate"] for n in (300, 3000))
    assert fast < slow


@pytest.mark.parametrize("name", ["matmul_bias_relu", "conv", "softmax", "transpose", "layer_norm"])
def test_a_row_has_the_features_of_its_filled_schedule(name):
    for variant in make_space(workloads.ALL[name](), SIMT).variants:
        picks = variant.sampler.draw(5, np.random.default_rng(2))
        rows = variant.features(picks)
        assert np.isfinite(rows).all()
        for pick, row in zip(picks, rows, strict=True):
            filled = nest_summary.plan(variant.schedule.fill(variant.sampler.row(pick)).func, variant.work)
            np.testing.assert_allclose(features(filled, {}, 1, MACHINE)[0], row, rtol=1e-5, atol=1e-5)


def test_processors_have_no_such_columns():
    (variant, *_) = make_space(workloads.matmul(64, 64, 64), Target.host(threads=2)).variants
    x = variant.features(variant.sampler.draw(8, np.random.default_rng(0)))
    assert not x[:, [INDEX[c.name] for c in COLUMNS if c.name.startswith("gpu.")]].any()
