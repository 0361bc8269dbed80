"""Slices that travel shorter than they are read: nothing is lost, and what stays the same does not travel again."""

from __future__ import annotations

import pytest

from workbench import Schedule, Target, workloads
from workbench.analysis import nest_rows
from workbench.session.core.encoding import UNSEEN, absolute, deep, lean, relative
from workbench.session.schedule_view.applicable_primitives import palette
from workbench.session.schedule_view.nest_listing import nest_slice


@pytest.fixture
def conv():
    s = Schedule(workloads.conv2d_nhwc(6, 6, 8, 16, bias=True, relu=True), Target("llvm", cpu="haswell", threads=2))
    s.split("o", [None, 8])
    s.split("h", [None, 2])
    s.vectorize("relu_o")
    return s


def places(schedule):
    return ("", "h.0", "h.1", "o.1", "n", "kh", "stmt:conv", "conv", "X", "pad_h", "stmt:relu")


def test_the_name_that_is_selected_travels_as_a_sign(conv):
    rows = nest_slice(conv.func, conv.target)["rows"]
    for place in places(conv):
        whole = palette(conv, place, rows)
        short = relative(whole)
        seen = [{k: v for k, v in row.items() if k not in UNSEEN} for row in whole["rows"]]
        assert absolute(short)["rows"] == seen, place
        assert [r["id"] for r in short["rows"]] == [r["id"] for r in whole["rows"]]
        assert (short["at"], short["about"]) == (whole["at"], whole["about"])
    assert short["name"] == "relu"


def test_a_name_is_replaced_as_a_whole_only():
    def sent(text, at="o.1"):
        return relative({"at": at, "about": "", "rows": [{"id": "x", "reason": text}]})["rows"][0]["reason"]

    assert sent("Loop 'o.1' and o.10, oo.1, o.1.0; o.1.") == "Loop '$' and o.10, oo.1, o.1.0; $."
    assert sent("split(o, 2)", "o") == "split($, 2)"
    assert sent("o_1 and o.1", "o") == "o_1 and o.1"


def test_texts_with_the_sign_stay_as_they_are():
    whole = {"at": "i", "about": "", "rows": [{"id": "x", "reason": "i costs 3 $"}]}
    assert relative(whole) == {**whole, "name": ""}
    assert absolute(relative(whole))["rows"] == whole["rows"]


def test_most_of_the_palette_is_the_same_for_the_next_loop(conv):
    rows = nest_slice(conv.func, conv.target)["rows"]
    here, there = (relative(palette(conv, place, rows))["rows"] for place in ("pad_h", "pad_w"))
    same = [a["id"] for a, b in zip(here, there, strict=True) if a == b]
    assert len(same) > len(here) / 2


def test_how_deep_a_row_lies_does_not_travel(conv):
    whole = nest_rows(conv.func, conv.target).to_json()
    short = lean(whole)
    assert not any("depth" in row for row in short["rows"])
    assert [row["depth"] for row in deep(short)["rows"]] == [row["depth"] for row in whole["rows"]]
    assert any(row["kinds"] for row in short["rows"])
    for row, full in zip(short["rows"], whole["rows"], strict=True):
        assert row["kinds"] == full["kinds"] or set(full["kinds"]) == {"run"}
