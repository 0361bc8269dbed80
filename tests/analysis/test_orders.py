"""The first things that one tries on a product: the estimate orders them as a machine does.

Times in the comments are measured (ms, one core of a Zen 4 at 3.7 GHz, least of many, with this code generator); what
is asserted is what they say. Nothing is timed here.
"""

from __future__ import annotations

from functools import cache
from itertools import permutations

import pytest

from workbench import Schedule, Target, te, workloads
from workbench.advice import why
from workbench.analysis import estimate
from workbench.cost_model import spearman


def zen4(l3: int = 32 << 20) -> Target:
    return Target(
        "llvm", cpu="znver4", triple="x86_64-unknown-linux-gnu", threads=1, l1_bytes=32 << 10, l2_bytes=1 << 20,
        l3_bytes=l3, line_bytes=64,
    )  # fmt: skip


ZEN4 = zen4()
PEAK = 117.7  # measured as well

#: Products of n x n: the six orders, then the variants of `schedules`.
MEASURED = {
    128: (1.476, 0.598, 1.488, 3.734, 0.591, 3.300, 0.0729, 0.0835, 0.656, 0.819, 0.692, 0.0363),
    500: (130.4, 37.44, 129.8, 172.2, 38.51, 146.8, 5.279, 8.155, 55.89, 43.43, 76.35, 3.078),
    512: (320.9, 53.73, 322.5, 1084.7, 50.22, 1055.1, 6.549, 8.847, 54.15, 184.7, 537.4, 2.412),
    1024: (4033.0, 340.4, 3664.0, 17624.0, 326.7, 16764.0, 69.16, 91.16, 538.5, 2482.0, 12199.0, 23.87),
}


@cache
def schedules(n: int) -> dict[str, Schedule]:
    def plain() -> Schedule:
        return Schedule(workloads.matmul(n, n, n), ZEN4)

    found = {"".join(order): plain().reorder(*order) for order in permutations("ijk")}
    for order in ("ikj", "kij"):
        found[f"{order}, vectors"] = found[order].copy().vectorize("j")
    block = 32 if n % 32 == 0 else 25
    tiles = plain()
    for loop in "ijk":
        tiles.split(loop, [None, block])
    for order in ("ikj", "ijk", "kji"):
        inner = [f"{loop}.1" for loop in order]
        found[f"tiles, {order}"] = tiles.copy().reorder("i.0", "j.0", "k.0", *inner)
    rows, columns = (8, 32) if n % 32 == 0 else (10, 20)
    held = plain()
    held.tile("i", "j", rows, columns)
    found["registers"] = held.reorder("k", "i.1", "j.1").vectorize("j.1").unroll("i.1")
    return found


@cache
def guessed(n: int) -> dict[str, float]:
    return {name: float(estimate(s, peak_gflops=PEAK).ms or 0.0) for name, s in schedules(n).items()}


@pytest.mark.parametrize("n", MEASURED)
def test_every_order_and_variant_is_within_twice_its_time_and_they_are_ranked(n: int) -> None:
    pairs = dict(zip(schedules(n), zip(guessed(n).values(), MEASURED[n], strict=True), strict=True))
    for name, (guess, ms) in pairs.items():
        assert 0.5 < guess / ms < 2.0, (name, guess, ms)
    for (one, (guess, ms)), (other, (more, longer)) in permutations(pairs.items(), 2):
        assert guess < more or 2.5 * ms > longer, f"{one} is 2.5 times as fast as {other}"
    assert spearman(*zip(*pairs.values(), strict=True)) >= 0.88, "of twenty that were measured: 0.90 to 0.98"


@pytest.mark.parametrize("n", [128, 200, 256, 500, 512, 1024])
def test_the_sum_outside_of_an_independent_loop_is_no_chain(n: int) -> None:
    """i, k, j and k, i, j take one tick of the clock for an iteration, i, j, k waits: 128: 0.6 and 1.5."""
    found = guessed(n)
    assert found["ikj"] == pytest.approx(found["kij"], rel=0.05)
    assert 1.5 * found["ikj"] < min(found["ijk"], found["jik"])


def scalar(n: int) -> float:
    """Cycles for each multiply-add of a product of one row, with the sum outside."""
    schedule = Schedule(workloads.matmul(1, n, 512), ZEN4).reorder("k", "j")
    return estimate(schedule).cycles / (512 * n)


def test_a_short_loop_inside_does_not_hide_the_way_through_memory() -> None:
    """Ticks of an update, two a cycle: 6.6 with 2 in flight, 3.3 with 4, 1.7 with 8, 1.1 from 16 on."""
    ticks = {n: 2.0 * scalar(n) for n in (2, 4, 8, 16, 64)}
    assert [round(ticks[n], 1) for n in (2, 4, 8)] == pytest.approx([6.8, 3.5, 1.9], abs=0.3)
    assert ticks[16] == pytest.approx(ticks[64], rel=0.05)
    reasons = why(Schedule(workloads.matmul(1, 2, 512), ZEN4).reorder("k", "j"), cures=False)
    assert reasons is not None
    assert any("read back 2 iterations later" in one.says for one in reasons.reasons)


def test_short_sums_overlap_with_the_next_ones() -> None:
    """Ticks per multiply-add of i, j, k: 1.8 of 64, 2.6 of 128, 3.9 of 500; the chain alone would be 4."""
    each = [2.0 * estimate(Schedule(workloads.matmul(32, 32, n), ZEN4)).cycles / (32 * 32 * n) for n in (16, 64, 500)]
    assert each == sorted(each)
    assert each[0] < 2.0
    assert 3.0 < each[2] < 5.0


def test_steps_of_a_power_of_two_cost_what_their_sets_cost() -> None:
    """j, k, i walks down columns: 5.1 ticks an iteration at 500, 30 at 512, 60 at 1024."""
    ticks = {n: guessed(n)["jki"] / n**3 * 3.68e6 for n in (500, 512, 1024)}
    assert 3.0 < ticks[500] < 10.0
    assert ticks[512] > 2.5 * ticks[500]
    assert ticks[1024] > 1.7 * ticks[512]
    found = why(schedules(512)["jki"], cures=False)
    assert found is not None
    assert found.bound == "memory"
    assert found.reasons[0].code == "stride"
    assert "which all go to 2 of the 64 sets of L1" in found.reasons[0].says
    plain = why(schedules(500)["jki"], cures=False)
    assert plain is not None
    assert not any("sets of" in one.says for one in plain.reasons)


def test_a_column_that_stays_is_no_walk() -> None:
    """At 64 two columns fill ways exactly and stay: i innermost is as fast as j innermost (0.085 and 0.077 ms)."""
    assert guessed(64)["jki"] == pytest.approx(guessed(64)["ikj"], rel=0.1)


def test_what_the_last_cache_keeps_is_not_fetched_from_memory_again() -> None:
    """Kernels are timed, and run in networks, with their operands in the shared cache where that holds them."""
    x = te.placeholder((1 << 16, 16), name="X")
    func = te.func(te.compute((1 << 16, 16), lambda i, j: x[i, j] + 1.0, name="Y"))
    held, fetched = (estimate(Schedule(func, zen4(l3)).vectorize("j")) for l3 in (32 << 20, 2 << 20))
    assert (held.bytes["L2"], held.bytes["L3"]) == (fetched.bytes["L2"], 0)
    assert fetched.bytes["L3"] > 0
    assert 1.5 * held.cycles < fetched.cycles
