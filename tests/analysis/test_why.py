"""What bounds a schedule: known cases, in words and with the primitive that changes it."""

from __future__ import annotations

from typing import Any

import pytest

from workbench import Hole, Schedule, Target, workloads
from workbench.analysis import estimate, why
from workbench.schedule.primitive import registry
from workbench.tune.default import default_schedule

TARGET = Target(
    "llvm", cpu="skylake-avx512", triple="x86_64-unknown-linux-gnu", threads=2, l1_bytes=48 << 10, l2_bytes=2 << 20,
    l3_bytes=32 << 20, line_bytes=64,
)  # fmt: skip


def matmul(n: int = 512, target: Target = TARGET) -> Schedule:
    return Schedule(workloads.matmul(n, n, n), target)


def codes(schedule: Schedule) -> dict[str, Any]:
    found = why(schedule)
    assert found is not None
    return {one.code: one for one in found.reasons}


def test_a_product_as_written_goes_one_by_one_and_steps_through_a_matrix() -> None:
    found = codes(matmul())
    assert next(iter(found)) == "scalar"
    assert (found["scalar"].primitive, found["scalar"].row) == ("vectorize", "j")
    assert "a vector holds 16" in found["scalar"].says
    assert "1 in flight, 8 would hide" in found["latency"].says
    assert "for B: k steps through it by 2,048 bytes" in found["stride"].says
    assert (found["stride"].primitive, found["stride"].row) == ("reorder", "k")
    assert (found["serial"].primitive, found["serial"].row) == ("parallel", "i")


def test_after_a_reorder_the_steps_are_short_but_sums_go_through_memory() -> None:
    found = codes(matmul().reorder("k", "j"))
    assert "stride" not in found
    assert "k is outside of j" in found["reload"].says


def test_after_vectors_lanes_and_after_threads_cores_are_no_reason_any_more() -> None:
    schedule = matmul().reorder("k", "j").vectorize("j")
    found = codes(schedule)
    assert {"scalar", "reload", "stride"}.isdisjoint(found)
    assert "65 values do not fit the 32 registers" in found["spill"].says
    assert "serial" in found
    assert "serial" not in codes(schedule.parallel("i"))


def test_lanes_that_lie_apart_are_gathered() -> None:
    found = codes(matmul().reorder("j", "k", "i").vectorize("i"))
    assert "the lanes of i lie 2,048 bytes apart" in found["gather"].says


def test_what_a_cache_cannot_keep_is_said_with_the_loop() -> None:
    found = codes(matmul().reorder("k", "j").vectorize("j"))["cache"]
    assert found.says.startswith("L1 fetches ")
    assert found.says.endswith("for B: one run of k touches 1 MB, more than L1 keeps")
    assert (found.row, found.primitive) == ("k", "split")


def test_many_small_tasks_take_longer_than_their_work() -> None:
    found = why(matmul(8).parallel("i"))
    assert found is not None
    assert found.bound == "launch"
    assert "starting 8 tasks" in str(found)


@pytest.mark.parametrize("make", [lambda: workloads.matmul(64, 64, 64), lambda: workloads.conv2d_nhwc(28, 28, 64, 64)])
def test_shares_are_those_of_the_estimate_and_primitives_exist(make: Any) -> None:
    for schedule in (Schedule(make(), TARGET), default_schedule(make(), TARGET)):
        found, guess = why(schedule), estimate(schedule)
        assert found is not None
        assert sum(found.share.values()) == pytest.approx(1.0)
        assert found.share["compute"] <= guess.share["compute"] + 1e-6
        assert found.share["launch"] == pytest.approx(guess.share["launch"], abs=1e-6)
        assert {one.primitive for one in found.reasons} <= {"", *registry.names}
        names = {loop.name for loop in schedule.loops}
        assert {one.row for one in found.reasons} <= {"", *names, *(f"stmt:{b.name}" for b in schedule.blocks)}
        assert [one.part for one in found.reasons] == sorted((one.part for one in found.reasons), reverse=True)


def test_a_good_schedule_has_fewer_reasons_than_the_program_as_written() -> None:
    good = why(default_schedule(workloads.matmul(512, 512, 512), TARGET))
    assert good is not None
    assert {"scalar", "serial", "latency", "stride", "gather", "reload"}.isdisjoint(one.code for one in good.reasons)


def test_with_open_numbers_there_is_no_answer() -> None:
    open_ = matmul()
    open_.split("i", [None, Hole()])
    assert why(open_) is None
