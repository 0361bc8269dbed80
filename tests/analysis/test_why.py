"""What bounds a schedule: known cases, in words and with the primitive that changes it."""

from __future__ import annotations

from typing import Any

import pytest

from workbench import Hole, Schedule, Target, te, workloads
from workbench.advice import why
from workbench.advice.offer import replayed
from workbench.analysis import estimate
from workbench.space.default_schedule import default_schedule

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
    assert next(iter(found)) == "stride", "rows of a power of two: each element waits for a line in 2 sets"
    assert next(iter(codes(matmul(500)))) in ("scalar", "latency")
    assert found["scalar"].row == "j"
    assert str(found["scalar"].cure).startswith("split j by 64 + reorder k, j.1 + vectorize j.1 ≈ ")
    assert "a vector holds 16" in found["scalar"].says
    assert "1 in flight, 8 would hide" in found["latency"].says
    assert "for B: k steps through it by 2,048 bytes" in found["stride"].says
    assert found["stride"].row == "k"
    assert str(found["serial"].cure) == "parallel i ≈ 2.00×"


def test_after_a_reorder_the_steps_are_short_but_sums_go_through_memory() -> None:
    found = codes(matmul().reorder("k", "j"))
    assert "stride" not in found
    assert "reload" not in found, "one element an iteration: there is time to load and store it"
    found = codes(tiled())
    assert "stride" not in found
    assert "k is outside of j.1" in found["reload"].says


def test_after_vectors_lanes_and_after_threads_cores_are_no_reason_any_more() -> None:
    schedule = matmul().reorder("k", "j").vectorize("j")
    found = codes(schedule)
    assert {"scalar", "reload", "stride"}.isdisjoint(found)
    assert "65 values do not fit the 32 registers" in found["spill"].says
    assert str(found["spill"].cure).startswith("vectorize j taken back: split j by ")
    assert "serial" in found
    assert "serial" not in codes(schedule.parallel("i"))


def test_lanes_that_lie_apart_are_gathered() -> None:
    found = codes(matmul().reorder("j", "k", "i").vectorize("i"))
    assert "the lanes of i lie 2,048 bytes apart" in found["gather"].says


def test_what_a_cache_cannot_keep_is_said_with_the_loop() -> None:
    found = codes(matmul().reorder("k", "j").vectorize("j"))["cache"]
    assert found.says.startswith("L1 fetches ")
    assert found.says.endswith("for B: one run of k touches 1 MB, more than L1 keeps")
    assert found.row == "k"


def test_many_small_tasks_take_longer_than_their_work() -> None:
    found = why(matmul(8).parallel("i"))
    assert found is not None
    assert found.bound == "launch"
    assert "starting 8 tasks" in str(found)


@pytest.mark.parametrize("make", [lambda: workloads.matmul(64, 64, 64), lambda: workloads.conv2d_nhwc(28, 28, 64, 64)])
def test_shares_are_those_of_the_estimate_and_rows_exist(make: Any) -> None:
    for schedule in (Schedule(make(), TARGET), default_schedule(make(), TARGET)):
        found, guess = why(schedule), estimate(schedule)
        assert found is not None
        assert sum(found.share.values()) == pytest.approx(1.0)
        assert found.share["compute"] <= guess.share["compute"] + 1e-6
        assert found.share["launch"] == pytest.approx(guess.share["launch"], abs=1e-6)
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


def parted() -> Schedule:
    schedule = matmul()
    schedule.tile("i", "j", 8, 32)
    return schedule


def tiled() -> Schedule:
    return parted().reorder("k", "i.1", "j.1").vectorize("j.1")


PATH = (
    matmul,
    lambda: matmul().reorder("k", "j"),
    lambda: matmul().reorder("k", "j").vectorize("j"),
    parted,
    lambda: parted().reorder("k", "i.1", "j.1"),
    tiled,
    lambda: tiled().unroll("i.1"),
    lambda: tiled().unroll("i.1").parallel("i.0"),
    lambda: matmul().reorder("j", "k", "i").vectorize("i"),
    lambda: Schedule(workloads.conv2d_nhwc(28, 28, 64, 64), TARGET),
)


@pytest.mark.parametrize("make", PATH)
def test_every_cure_can_be_taken_and_gains_what_it_says(make: Any) -> None:
    before = make()
    for code, one in codes(before).items():
        if one.cure is None:
            continue
        after = replayed(before, one.cure.without)
        for step in one.cure.steps:
            after.apply(step)
        gain = estimate(before).cycles / estimate(after).cycles
        assert gain >= 1.05, code
        assert gain == pytest.approx(one.cure.gain, rel=1e-6)
        assert one.cure.row in {lp.name for lp in before.loops} | {f"stmt:{b.name}" for b in before.blocks}


def test_sums_in_memory_are_cured_by_registers_and_not_by_moving_the_sum_out() -> None:
    found = codes(tiled())["reload"]
    assert [str(step) for step in found.cure.steps] == ["unroll('i.1')"]
    assert 1.5 < found.cure.gain < 6.0, "measured: 2.8 to 3.5"
    assert str(found.cure).startswith("unroll i.1 ≈ ")


def test_no_cure_leads_back() -> None:
    before = matmul()
    after = before.copy()
    for step in codes(before)["stride"].cure.steps:
        after.apply(step)
    assert codes(after)
    for one in codes(after).values():
        assert one.cure is None or one.cure.steps[0].name != "reorder"


def test_a_reason_that_nothing_cures_has_no_steps_and_none_are_looked_for_unless_wanted() -> None:
    done = codes(tiled().unroll("i.1").parallel("i.0"))
    assert done
    assert all(one.cure is None for one in done.values())
    quick = why(matmul(), cures=False)
    assert quick is not None
    assert [one.cure for one in quick.reasons] == [None] * 4


@pytest.mark.parametrize(
    ("pieces", "threads", "waiting"), [(7, 2, 1 / 8), (8, 2, 0.0), (3, 8, 5 / 8), (9, 8, 7 / 16), (7, 1, 0.0)]
)
def test_threads_that_wait_for_the_one_with_most_pieces_are_told(pieces: int, threads: int, waiting: float) -> None:
    target = Target("llvm", cpu="x86-64-v3", threads=threads)
    schedule = Schedule(workloads.matmul(pieces * 8, 64, 64), target)
    outer, _ = schedule.split("i", [pieces, None])
    schedule.parallel(outer)
    told = [one for one in why(schedule, target, cures=False).reasons if one.code == "balance"]
    assert [round(one.part, 6) for one in told] == ([round(waiting, 6)] if waiting else [])
    if told:
        assert told[0].says.startswith(f"{pieces} pieces for {threads} threads: ")
        assert told[0].row == outer


@pytest.mark.parametrize(
    ("constant", "cure"), [(False, "copy B first, 16 lanes side by side"), (True, "transform_layout")]
)
def test_what_is_read_across_its_lines_is_stored_the_other_way_round(constant: bool, cure: str) -> None:
    """A copy pays where it is made once; a constant is stored so ahead of time."""
    a, b = te.placeholder((256, 256), name="A"), te.placeholder((256, 256), name="B", constant=constant)
    k = te.reduce_axis(256, "k")
    c = te.compute((256, 256), lambda i, j: te.sum(a[i, k] * b[j, k], axis=k), name="C")
    s = Schedule(te.func(c), TARGET)
    s.split("i", [None, 8])
    s.split("j", [None, 16])
    s.reorder("i.0", "j.0", "k", "i.1", "j.1").unroll("i.1").vectorize("j.1")
    (reason,) = [one for one in why(s, TARGET).reasons if one.code == "gather"]
    assert reason.cure is not None
    assert cure in str(reason.cure)
    after = reason.cure.taken(s)
    assert "gather" not in [one.code for one in why(after, TARGET).reasons]
    assert after.build() is not None
