"""What bounds a schedule on a GPU or an accelerator is said by the model of the device, as the search ranks it."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from codegen import vta_schedules
from codegen.gpu_nests import tiled_matmul

from workbench import te, workloads
from workbench.advice import why
from workbench.advice.device_bottlenecks import device_reasons
from workbench.advice.stage_placement import recipes
from workbench.analysis import estimate
from workbench.analysis.loop_nest.schedule_estimate import evaluated
from workbench.errors import ScheduleError
from workbench.machine_model import nest_summary
from workbench.machine_model.features import INDEX, features
from workbench.machine_model.machine_parameters import Machine
from workbench.schedule import Schedule
from workbench.space.space import make_space
from workbench.target import Target

CUDA = Target("cuda -arch=sm_80")


def codes(s: Schedule, target: Target) -> dict[str, str]:
    found = why(s, target, cures=False)
    assert found is not None
    return {r.code: r.says for r in found.reasons}


@pytest.mark.parametrize("text", ["cuda -arch=sm_80", "cuda -arch=sm_86", "vta"])
def test_the_estimate_is_the_one_that_the_search_ranks_by(text):
    target = Target(text)
    func = workloads.softmax(64, 256) if text != "vta" else vta_schedules.truncated_matmul(64, 64, 64)
    rng = np.random.default_rng(0)
    for v in make_space(func, target).variants:
        for row in v.sampler.draw(3, rng):
            s = v.schedule.fill(v.sampler.row(row))
            column = features(nest_summary.plan(s.func), {}, 1, Machine.of(target))[0, INDEX["estimate"]]
            found = estimate(s, target)
            assert found.cycles == pytest.approx(2.0 ** float(column), rel=1e-3)
            assert sum(found.share.values()) == pytest.approx(1.0)
            assert found.bytes == {}
            assert found.ms is not None


def test_a_schedule_without_threads():
    s = Schedule(workloads.matmul(512, 512, 512), CUDA)
    found = why(s)
    assert {"threads", "grid", "occupancy"} <= {r.code for r in found.reasons}
    assert "1 of the 32 threads" in next(r.says for r in found.reasons if r.code == "threads")
    cure = next(r.cure for r in found.reasons if r.code == "threads")
    assert cure.gain > 20
    better = cure.taken(s)
    assert any(lp.kind == "threadIdx.x" for lp in better.func.block("C")[1])
    assert estimate(better, CUDA).cycles < estimate(s, CUDA).cycles / 20


def test_threads_that_lie_apart_in_memory():
    x = te.placeholder((4096, 256), name="X")
    func = te.func(te.compute((4096, 256), lambda i, j: x[i, j] + 1.0, name="Y"))
    along, across = Schedule(func).bind("i", "blockIdx.x").bind("j", "threadIdx.x"), Schedule(func)
    i0, i1 = across.split("i", [None, 256])
    across.reorder(i0, "j", i1).bind(i0, "blockIdx.x").bind(i1, "threadIdx.x")
    assert "coalescing" not in codes(along, CUDA)
    assert "32 pieces of memory, 4 would hold it" in codes(across, CUDA)["coalescing"]


def test_copies_to_shared_memory_are_not_undone():
    s = tiled_matmul(256, 256, 256)
    for name in ("A.copy", "B.copy"):
        taken = []
        for recipe in recipes(s, name, CUDA):
            with contextlib.suppress(ScheduleError):
                taken.append(recipe(s.copy()))
        assert not [text for text in taken if "compute_inline" in text]
    host = Schedule(workloads.matmul(64, 64, 64))
    copy = host.cache_read("C", "A")
    assert next(iter(recipes(host, copy, Target.host())))(host.copy()) == f"compute_inline {copy}"


def test_fetches_that_nothing_hides():
    def of_the_copy(s: Schedule) -> dict[str, str]:
        machine = Machine.of(CUDA)
        (k,) = [k for k, (f, _) in enumerate(evaluated(s, machine)) if f.plan.name == "A.copy"]
        return {code: row for code, _, row, _ in device_reasons(s, machine, k, evaluated(s, machine)[k][1])}

    s = tiled_matmul(1024, 1024, 1024)
    step = of_the_copy(s)["waits"]
    assert "waits" not in of_the_copy(s.copy().pipeline(step))
    assert "one bank for A.local in 4 turns" in codes(s, CUDA)["banks"]
    assert "scalar" not in why(s, CUDA, cures=False).reasons[-1].says


def test_an_accelerator_that_loads_and_computes_in_turn():
    func, target = vta_schedules.truncated_matmul(256, 256, 256), Target("vta")
    one, two = (vta_schedules.matmul(func, (64, 4, 4), threads) for threads in (1, 2))
    assert "take turns" in codes(one, target)["waits"]
    assert "waits" not in codes(two, target)
    assert estimate(two, target).cycles < estimate(one, target).cycles
