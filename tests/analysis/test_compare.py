"""Differences between the code of two schedules."""

from __future__ import annotations

import random
from difflib import SequenceMatcher
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench import Hole, Schedule, Target, workloads
from workbench.analysis import difference, estimate, listing
from workbench.analysis.loop_nest.code_diff import changes, common, rows_inside
from workbench.analysis.loop_nest.code_listing import Line, Listing
from workbench.errors import WorkbenchError

HERE = Target.host(threads=2)


def pair():
    a = Schedule(workloads.conv2d_nhwc(8, 8, 16, 32), HERE)
    b = a.copy()
    b.split("o", [None, 16])
    b.parallel("n", "h")
    return a, b


def marks(found):
    return [(one.mark, one.left and one.left[1].strip(), one.right and one.right[1].strip()) for one in found.rows]


def test_changed_rows_stand_side_by_side():
    a, b = pair()
    found = difference(a, b, context=0)
    assert marks(found)[:3] == [
        ("~", "for n in 1:", "parallel n in 1:"),
        ("~", "for h in 8:", "parallel h in 8:"),
        ("-", "for o in 32:", None),
    ]
    assert {mark for mark, *_ in marks(found)} == {"~", "-", "+"}
    assert found.changed == len(found.rows)
    assert [one.row for one in found.rows][:2] == ["n", "h"]


def test_indentation_is_no_change():
    a, b = pair()
    deeper = [one for one in difference(a, b, context=None).rows if one.row == "kh"]
    assert [one.mark for one in deeper] == [" "]
    assert deeper[0].left[1] != deeper[0].right[1]


def test_a_nest_that_moves_into_another_one_changes():
    a = Schedule(workloads.conv2d_nhwc(8, 8, 16, 32), HERE)
    b = a.copy()
    b.compute_at("pad", "n")
    assert ("~", "for pad_h in 10:", "for pad_h in 10:") not in marks(difference(a, b))
    changed = marks(difference(a, b, context=0))
    assert ("~", "for pad_n in 1:", "for pad_n in 1:") in changed
    assert ("+", None, "for n in 1:") in changed


def test_the_same_has_no_changes():
    a, _ = pair()
    for kind in ("nest", "c", "llvm", "asm"):
        found = difference(a, a, kind)
        assert (found.rows, found.changed, found.folded) == ((), 0, len(listing(a, kind)))


@pytest.mark.parametrize("kind", ["nest", "c", "llvm", "asm"])
def test_every_line_of_both_sides_is_there_once_and_in_order(kind):
    a, b = pair()
    left, right = listing(a, kind), listing(b, kind)
    found = changes(left, right, context=None)
    assert [one.left for one in found.rows if one.left] == [(n, line.text) for n, line in enumerate(left)]
    assert [one.right for one in found.rows if one.right] == [(n, line.text) for n, line in enumerate(right)]
    assert found.folded == 0
    near = changes(left, right, context=2)
    assert near.folded + len(near.rows) == len(found.rows)
    assert near.changed == found.changed > 0


def test_other_names_of_the_same_values_are_no_change():
    one = Listing("llvm", (Line("  %v3 = fadd <16 x float> %v1, %v2", "stmt:C"), Line("c_12:", "c")))
    other = Listing("llvm", (Line("  %v9 = fadd <16 x float> %v7, %v8", "stmt:C"), Line("c_15:", "c")))
    narrow = Listing("llvm", (Line("  %v9 = fadd <8 x float> %v7, %v8", "stmt:C"), Line("c_15:", "c")))
    assert changes(one, other).changed == 0
    assert [row.mark for row in changes(one, narrow, context=0).rows] == ["~"]
    one = Listing("asm", (Line("\tvfmadd231ps\t(%rax), %zmm1, %zmm2", ""), Line("\tjb\t.LBB0_4", "")))
    other = Listing("asm", (Line("\tvfmadd231ps\t(%r9), %zmm11, %zmm12", ""), Line("\tjb\t.LBB1_7", "")))
    third = Listing("asm", (Line("\tvfmadd231ps\t64(%r9), %ymm11, %ymm12", ""), Line("\tjb\t.LBB1_7", "")))
    assert changes(one, other).changed == 0
    assert [row.mark for row in changes(one, third, context=0).rows] == ["~"]
    third = Listing("asm", (Line("\tvmulps\t(%rax), %zmm1, %zmm2", ""),))
    assert [row.mark for row in changes(one, third, context=0).rows] == ["-", "-", "+"]


def test_lines_of_no_row_stand_beside_what_begins_alike():
    a, b = Listing("c", (Line("/* pad */"), Line("static void f(a) {"))), Listing("c", (Line("static void f(a, b) {"),))
    assert [row.mark for row in changes(a, b).rows] == ["-", "~"]


def test_only_a_row_and_what_is_inside_of_it():
    a, b = pair()
    found = difference(a, b, row="c", context=None)
    assert {one.row for one in found.rows} <= rows_inside(a.func, "c") | rows_inside(b.func, "c")
    assert "h" not in {one.row for one in found.rows}
    assert "o.1" not in rows_inside(a.func, "c")
    assert rows_inside(a.func, "c") == {"c", "stmt:conv", "init:conv"}


def test_estimates_and_text():
    a, b = pair()
    found = difference(a, b)
    assert found.estimates == (estimate(a), estimate(b))
    assert found.bytes["L1"] == tuple(one.bytes["L1"] for one in found.estimates)
    text = str(found)
    assert f"estimate: {found.estimates[0]} -> {found.estimates[1]}" in text
    assert "-     for h in 8:\n+     parallel h in 8:\n" in text
    assert "<table" in found._repr_html_()


def test_long_listings_are_compared_in_part_and_it_is_said():
    def lines(n, step):
        return Listing("c", tuple(Line(f"x = {k * step % 977};", "stmt:x") for k in range(n)))

    found = changes(lines(4_500, 3), lines(4_200, 5))
    assert "first 4" in found.cut
    assert changes(lines(100, 3), lines(90, 5)).cut == ""


def test_open_numbers():
    a, b = pair()
    b.split("c", [None, Hole("t")])
    assert difference(a, b).changed > 0
    with pytest.raises(WorkbenchError) as caught:
        difference(a, b, "c")
    assert caught.value.code == "build.holes"


letters = st.lists(st.sampled_from("abc"), max_size=12)


def longest(a, b):
    best = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in range(len(a)):
        for j in range(len(b)):
            best[i + 1][j + 1] = best[i][j] + 1 if a[i] == b[j] else max(best[i][j + 1], best[i + 1][j])
    return best[-1][-1]


@given(letters, letters)
def test_the_common_part_is_one_and_the_longest(a, b):
    found = common(a, b)
    assert all(a[i] == b[j] for i, j in found)
    assert all(p[0] < q[0] and p[1] < q[1] for p, q in pairwise(found))
    assert len(found) == longest(a, b)


def test_long_sequences_of_few_words():
    rng = random.Random(0)
    a, b = ([rng.choice("abcdefgh") for _ in range(1_500)] for _ in range(2))
    matched = SequenceMatcher(None, a, b, autojunk=False).get_matching_blocks()
    assert len(common(a, b)) >= sum(block.size for block in matched)
