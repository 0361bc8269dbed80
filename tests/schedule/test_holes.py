from __future__ import annotations

import numpy as np
import pytest

from workbench import workloads
from workbench.errors import ScheduleError
from workbench.schedule import Hole, Schedule, drop_unit_loops, fill
from workbench.schedule.hole_domain import factor_table
from workbench.schedule.holes import complete_row, divisors


def tiled(**choices) -> Schedule:
    s = Schedule(workloads.matmul(12, 16, 8))
    s.split("i", [None, Hole("a"), Hole("b", **choices)])
    s.split("j", [None, Hole("t")])
    return s


def test_factor_tables_hold_every_ordered_factoring():
    for extent in (1, 7, 12, 64):
        for parts in (1, 2, 3):
            table = factor_table(extent, parts)
            brute = {tuple(x) for x in np.ndindex(*[extent] * parts)}
            want = {tuple(v + 1 for v in x) for x in brute if np.prod([v + 1 for v in x]) == extent}
            assert {tuple(r) for r in table.tolist()} == want
            assert len(table) == len(want)
    assert divisors(36) == (1, 2, 3, 4, 6, 9, 12, 18, 36)


def test_domain_is_a_product_of_tables():
    d = tiled().domain
    assert d.columns == ("i_0", "a", "b", "j_0", "t")
    assert d.size == len(factor_table(12, 3)) * len(factor_table(16, 2))
    rows = d.all_rows()
    assert len({tuple(r) for r in rows.tolist()}) == d.size
    assert (rows[:, :3].prod(axis=1) == 12).all()
    assert (rows[:, 3:].prod(axis=1) == 16).all()


def test_choices_restrict_the_domain():
    d = tiled(choices=[2, 5, 6]).domain
    assert set(d.all_rows()[:, 2]) == {2, 6}
    with pytest.raises(ScheduleError) as caught:
        _ = tiled(choices=[5]).domain
    assert caught.value.code == "hole.empty"


def test_sampling_is_seeded_and_respects_limits():
    s = Schedule(workloads.matmul(4096, 16, 8))
    s.split("i", [None, Hole("u")])
    s.unroll("i.1")
    d = s.domain
    rows = d.sample(100, np.random.default_rng(7))
    assert (rows == d.sample(100, np.random.default_rng(7))).all()
    assert rows.shape == (100, 2)
    assert rows[:, 1].max() <= 512
    assert d.mask(np.array([[8, 512], [4, 1024]])).tolist() == [True, False]


@pytest.mark.parametrize(
    ("row", "code"),
    [
        ({"a": 2, "b": 3, "t": 4, "x": 1}, "hole.unknown"),
        ({"a": 0, "b": 3, "t": 4}, "hole.value"),
        ({"a": 2.5, "b": 3, "t": 4}, "hole.value"),
        ({"a": 5, "b": 3, "t": 4}, "hole.factor"),
        ({"i_0": 1, "a": 2, "b": 3, "t": 4}, "hole.product"),
        ({"a": 6, "b": 4, "t": 4}, "hole.product"),
        ({"a": 2, "t": 4}, "hole.missing"),
        ([1, 2, 3], "hole.missing"),
    ],
)
def test_bad_rows(row, code):
    with pytest.raises(ScheduleError) as caught:
        tiled().fill(row)
    assert caught.value.code == code
    assert caught.value.where


def test_a_choice_outside_of_the_list_is_refused():
    with pytest.raises(ScheduleError) as caught:
        tiled(choices=[2, 6]).fill({"a": 1, "b": 3, "t": 4})
    assert caught.value.code == "hole.choice"


def test_the_rest_is_inferred():
    assert complete_row(tiled().func, {"a": 2, "b": 3, "t": 4}) == {"i_0": 2, "a": 2, "b": 3, "j_0": 4, "t": 4}
    assert tiled().fill(np.array([2, 2, 3, 4, 4])).func == tiled().fill({"a": 2, "b": 3, "t": 4}).func


def test_replaced_holes_are_understood():
    s = Schedule(workloads.matmul(12, 16, 8))
    s.split("i", [None, Hole("t")])
    s.split("i.1", [None, Hole("u")])
    full = complete_row(s.func, {"t": 6, "u": 2})
    assert full == {"i_0": 2, "i_1_0": 3, "u": 2, "t": 6}
    filled = s.fill({"i_0": 2, "u": 2})
    assert [p.to_json()["args"]["factors"] for p in filled.trace] == [[None, 6], [None, 2]]
    with pytest.raises(ScheduleError) as caught:
        s.fill({"i_0": 2, "u": 2, "t": 4})
    assert caught.value.code == "hole.product"


def test_filled_functions_are_concrete():
    s = tiled()
    func = fill(s.func, {"a": 2, "b": 3, "t": 4})
    assert func.is_concrete
    assert func.relations == func.constraints == func.aliases == ()
    assert all(isinstance(lp.extent, int) for lp in Schedule(func).loops)


def test_unit_loops_are_dropped():
    s = tiled().fill({"a": 1, "b": 12, "t": 16})
    assert [lp.name for lp in Schedule(drop_unit_loops(s.func)).loops] == ["i.2", "j.1", "k"]


def test_a_hole_is_never_redefined():
    s = tiled()
    with pytest.raises(ScheduleError) as caught:
        s.split("k", [None, Hole("t")])
    assert caught.value.code == "split.undecided"
    with pytest.raises(ScheduleError) as caught:
        s.split("k", [Hole("z"), Hole("z")])
    assert caught.value.code == "split.arity"


def test_names_of_anonymous_holes_are_fresh():
    s = Schedule(workloads.matmul(12, 16, 8))
    s.split("i", [None, Hole()])
    s.split("i.0", [None, Hole()])
    s.split("i.1", [None, Hole("i_0_0_a")])
    assert len({h.name for h in s.holes}) == len(s.holes)
