"""What the palette tells a form: what fields hold, why a primitive has nothing to offer, what is left open."""

from __future__ import annotations

import pytest

import workbench as wb
from workbench.advice.step_legality import verdict
from workbench.errors import ScheduleError
from workbench.schedule import Schedule
from workbench.session import Session
from workbench.session.schedule_view.applicable_primitives import palette, primitives
from workbench.session.schedule_view.nest_listing import nest_slice


@pytest.fixture
def conv():
    return Schedule(wb.workloads.conv2d_nhwc(6, 6, 8, 16), wb.Target("llvm", cpu="haswell", threads=2))


def fields(primitive):
    return {f["name"]: f for p in primitives() if p["name"] == primitive for f in p["fields"]}


def item(schedule, at, primitive):
    rows = nest_slice(schedule.func, schedule.target)["rows"]
    return next(r for r in palette(schedule, at, rows)["rows"] if r["id"] == primitive)


def test_fields_say_what_they_name_and_which_words_they_hold():
    assert fields("set_scope")["buffer"]["names"] == "buffer"
    assert {"shared", "local"} <= set(fields("set_scope")["scope"]["options"])
    assert (fields("pad")["axis"]["names"], fields("pad")["axis"]["of"]) == ("axis", "block")
    assert (fields("tile")["factors"]["of"], fields("tile")["others"]["of"]) == ("first", "second")
    note = fields("annotate")
    assert note["at"]["names"] == "nest"
    assert "prefetch" in note["key"]["options"]
    assert note["key"]["free"]
    assert note["value"]["free"]


def test_every_field_that_is_chosen_has_something_to_choose_from():
    for info in primitives():
        for field in info["fields"]:
            if field["widget"] in ("select", "multiselect"):
                assert "names" in field or field["options"], (info["name"], field["name"])


def test_the_nest_has_axes_of_blocks_and_how_buffers_lie(conv):
    conv.storage_align("pad", 2, 16, 4)
    conv.set_scope("pad", "global")
    found = nest_slice(conv.func, conv.target)
    assert found["axes"]["conv"] == ["n", "h", "w", "o", "kh", "kw", "c"]
    assert found["storage"] == {"pad": ["global", "stride 2 = 16n + 4"]}
    assert palette(conv, "pad", found["rows"])["about"] == (
        "temporary float32[1, 8, 8, 8] · global · stride 2 = 16n + 4"
    )


def test_a_refusal_is_about_what_is_selected(conv):
    refused = item(conv, "conv", "set_scope")
    assert (refused["code"], refused["where"]) == ("set_scope.role", ["conv"])
    assert item(conv, "h", "tensorize")["code"] == "", "no word was guessed for a loop"
    packing = item(conv, "W", "transform_layout")
    assert packing["code"] != "transform_layout.divides", "the dimension that could be packed says more"


def test_an_offer_is_made_once(conv):
    conv.split("o", [None, 8])
    for at in ("W", "pad", "h", "o.1", ""):
        rows = nest_slice(conv.func, conv.target)["rows"]
        for row in palette(conv, at, rows)["rows"]:
            offers = [str(quick["args"]) for quick in row["quick"]]
            assert len(offers) == len(set(offers)), (at, row["id"])


def test_the_verdict_asks_the_target_too():
    s = Schedule(wb.workloads.matmul_int8(64, 64, 64, constant_b=True), wb.Target("llvm", cpu="haswell", threads=1))
    s.split("j", [None, 16])
    s.split("k", [None, 4])
    s.reorder("i", "j.0", "k.0", "j.1", "k.1")
    s.transform_layout("B", 1, 16).transform_layout("B", 1, 4, count="here")
    step = {"primitive": "tensorize", "args": {"loop": "j.1", "intrin": "x86.vnni.dot4"}}
    found = verdict(s, step)
    assert (found["legal"], found["code"]) == (False, "tensorize.target")
    assert verdict(Schedule.from_json(s.base, [p.to_json() for p in s.trace]), step)["legal"]


def test_a_choice_that_is_left_open_counts_as_open():
    s = Schedule(wb.workloads.conv2d_nhwc(6, 6, 8, 16), wb.Target.host(threads=1))
    session = Session(s)
    try:
        args = {"block": "pad", "loop": {"hole": None, "choices": ["h", "w"]}}
        session.run("apply", step={"primitive": "compute_at", "args": args})
        slices = session.snapshot().slices
        assert slices["head"]["holes"] == 1
        assert slices["history"]["rows"][-1]["holes"] == 1
        assert slices["history"]["rows"][-1]["status"] == "", "it is not measured"
        with pytest.raises(ScheduleError, match="loop of compute_at is open") as caught:
            session.run("measure")
        assert caught.value.code == "schedule.open"
    finally:
        session.close()
