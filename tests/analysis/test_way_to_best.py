"""The way to a faster schedule: which decisions differ, and steps there that are legal one after the other."""

from __future__ import annotations

import pytest

from workbench import Schedule, Target, workloads
from workbench.advice import Way, plan, way_to, why
from workbench.advice.offer import Offer
from workbench.analysis import estimate
from workbench.errors import UsageError
from workbench.schedule.holes import Hole
from workbench.space.default_schedule import default_schedule

TARGET = Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=haswell -l1=32K -l2=1M -l3=8M -threads=2")
FUNC = workloads.depthwise_conv2d_nhwc(14, 14, 64, bias=True, relu=True)


def tiled(rows: int, inline: bool) -> Schedule:
    """A convolution in tiles of so many rows, with its padding inlined or by itself."""
    s = Schedule(FUNC, TARGET)
    s.split("h", [None, rows])
    s.split("c", [None, 8])
    s.reorder("h.0", "c.0", "w", "kh", "kw", "h.1", "c.1")
    s.unroll("h.1").vectorize("c.1")
    if inline:
        s.compute_inline("pad")
    else:
        s.vectorize("pad_c")
    return s.parallel("n", "h.0", "c.0") if inline else s.parallel("n", "h.0")


def walked(schedule: Schedule, way: Way, best: Schedule) -> list[Offer]:
    """Take every row by itself: each is legal, and the last one ends at the best."""
    ends = [offer.taken(schedule) for offer in way.offers]
    assert all(end.is_concrete for end in ends)
    assert ends[-1].trace == best.trace
    return list(way.offers)


def test_each_decision_that_differs_is_a_row_and_a_difference_in_words() -> None:
    mine, best = tiled(7, False), tiled(2, True)
    way = way_to(mine, best, TARGET)
    assert way.differences == ("tiles of 2 × 8 results, not 7 × 8", "56 parallel pieces, not 2", "pad inlined")
    rows = walked(mine, way, best)
    said = [row["label"] for row in way.rows()]
    assert said[0].startswith("split h by 2, not 7")
    assert any(label.startswith("compute_inline pad, without vectorize pad_c") for label in said)
    assert len({row["id"] for row in way.rows()}) == len(rows) >= 3


def test_who_takes_one_row_and_asks_again_gets_the_rest() -> None:
    at, best, rounds = tiled(7, False), tiled(2, True), 0
    while at.trace != best.trace:
        at, rounds = way_to(at, best, TARGET).offers[0].taken(at), rounds + 1
        assert rounds < 12, "it does not come nearer"
    assert rounds > 1
    assert way_to(at, best, TARGET) == Way((), ())


def test_from_the_program_as_it_was_written_rows_are_steps_that_gain() -> None:
    plain, best = Schedule(FUNC, TARGET), default_schedule(FUNC, TARGET)
    way = way_to(plain, best, TARGET)
    rows = walked(plain, way, best)
    assert not any(offer.without for offer in rows)
    assert all(offer.gain > 1.0 for offer in rows)
    assert "bias_add inlined" in way.differences


def test_a_step_too_many_is_taken_back() -> None:
    best = tiled(2, True)
    mine = best.copy()
    mine.annotate("kh", "prefetch", 1)
    way = way_to(mine, best, TARGET)
    walked(mine, way, best)
    assert next(row["label"] for row in way.rows()).startswith("without annotate kh")
    assert way.offers[0].steps, "a front end sends a step at least"


def test_the_way_is_between_two_schedules_of_one_computation_without_open_numbers() -> None:
    best, open_ = default_schedule(FUNC, TARGET), Schedule(FUNC, TARGET)
    open_.split("h", [Hole(), Hole()])
    other = Schedule(workloads.depthwise_conv2d_nhwc(7, 7, 64, bias=True, relu=True), TARGET)
    for pair in ((open_, best), (best, open_), (best, other), (best, None)):
        with pytest.raises(UsageError) as e:
            way_to(*pair)
        assert e.value.code == "way.schedule"


@pytest.mark.parametrize("say", [why, plan, estimate])
def test_places_of_constants_that_do_not_exist_are_refused(say) -> None:
    with pytest.raises(UsageError) as e:
        say(Schedule(FUNC, TARGET), constants="far")
    assert e.value.code == "usage.constants"
