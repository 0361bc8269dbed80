"""Dropping rows of the nest: every place means a step, and a legal one puts the row where it was dropped."""

from __future__ import annotations

import threading
import time

import pytest

import workbench as wb
from workbench import workloads
from workbench.advice.drop_targets import MOST, drops
from workbench.errors import InputError
from workbench.schedule import Schedule
from workbench.target import Target

TARGET = Target("llvm", cpu="haswell", threads=2)


@pytest.fixture
def conv():
    return Schedule(workloads.conv2d_nhwc(6, 6, 8, 16, relu=True), TARGET)


@pytest.fixture
def tiled(conv):
    conv.split("w", [None, 3])
    conv.split("o", [None, 8])
    conv.reorder("h", "w.0", "o.0", "kh", "kw", "c", "w.1", "o.1")
    conv.compute_at("pad", "w.0")
    conv.reverse_compute_at("relu", "o.0")
    return conv


def steps(schedule, row, legal=True):
    return {(d.place, d.onto): str(d.move.step) for d in drops(schedule, row) if d.move.legal is legal}


def refusals(schedule, row):
    return {(d.place, d.onto): d.move.code for d in drops(schedule, row) if not d.move.legal}


def path(schedule, block):
    return [lp.name for lp in schedule.func.block(block)[1]]


def test_a_loop_goes_before_those_around_it_and_after_those_inside():
    s = Schedule(workloads.matmul(8, 8, 8), TARGET)
    assert steps(s, "j") == {("before", "i"): "reorder('j', 'i')", ("after", "k"): "reorder('k', 'j')"}
    assert steps(s, "i") == {("after", "j"): "reorder('j', 'i')", ("after", "k"): "reorder('j', 'k', 'i')"}
    assert steps(s, "k") == {("before", "i"): "reorder('k', 'i', 'j')", ("before", "j"): "reorder('k', 'j')"}


@pytest.mark.parametrize("name", ["conv", "tiled"])
def test_a_legal_drop_puts_the_row_where_it_was_dropped(request, name):
    schedule = request.getfixturevalue(name)
    rows = [*(lp.name for lp in schedule.loops), *(f"stmt:{b.name}" for b in schedule.blocks)]
    seen = 0
    for row in rows:
        for drop in drops(schedule, row):
            if not drop.move.legal:
                continue
            seen += 1
            after = schedule.copy()
            after.apply(drop.move.step)
            if drop.place == "on":
                assert drop.onto in path(after, drop.move.args["block"])
                continue
            outer, inner = (row, drop.onto) if drop.place == "before" else (drop.onto, row)
            child = after.func.loop(inner)[1][-1].name
            assert child == outer, (row, drop.place, drop.onto)
    assert seen > 20


def test_a_loop_of_an_imperfect_nest_stays_inside_and_says_why(tiled):
    assert set(steps(tiled, "c")) >= {("before", "kh"), ("before", "kw"), ("after", "w.1"), ("after", "o.1")}
    assert refusals(tiled, "c")["before", "o.0"] == "reorder.perfect"
    assert refusals(tiled, "h")["after", "kh"] == "reorder.perfect"


def test_a_statement_goes_to_those_that_read_it_or_to_what_it_reads(conv):
    assert steps(conv, "stmt:pad")["on", "h"] == "compute_at('pad', 'h')"
    assert steps(conv, "stmt:relu")["on", "w"] == "reverse_compute_at('relu', 'w')"
    assert steps(conv, "init:conv")["on", "relu_w"] == "compute_at('conv', 'relu_w')"
    assert refusals(conv, "stmt:pad")["on", "relu_w"] == "compute_at.consumers"
    assert refusals(conv, "stmt:relu")["on", "kh"] == "reverse_compute_at.unfinished"
    assert refusals(conv, "stmt:relu")["on", "pad_h"] == "reverse_compute_at.producer"
    assert ("on", "pad_h") not in steps(conv, "stmt:pad"), "its own loops are no place"


def test_a_nest_of_one_statement_goes_as_a_whole(conv):
    assert steps(conv, "pad_n")["on", "h"] == "compute_at('pad', 'h')"
    assert steps(conv, "pad_n")["after", "pad_h"] == "reorder('pad_h', 'pad_n')"
    assert steps(conv, "relu_n")["on", "h"] == "reverse_compute_at('relu', 'h')"


def test_a_statement_is_not_dropped_where_it_is(tiled):
    places = {d.onto for d in drops(tiled, "stmt:pad")}
    assert "w.0" not in places
    assert {"h", "o.0"} <= places
    assert not {"pad_h", "pad_c"} & places


def test_what_would_change_the_result_is_refused():
    s = Schedule(workloads.matmul(8, 8, 8), TARGET).parallel("i")
    assert refusals(s, "k")["before", "i"]
    assert ("before", "j") in steps(s, "k")


def test_a_buffer_cannot_be_moved_and_a_row_that_is_not_there_is_an_error(conv):
    assert drops(conv, "pad") != (), "a buffer that a statement is named after goes by the name of the statement"
    assert drops(conv, "X") == ()
    with pytest.raises(InputError) as error:
        drops(conv, "stmt:nothing")
    assert error.value.code == "nest.row"


def test_a_large_nest_has_few_places():
    x = wb.te.placeholder((4,) * 24, name="X")
    func = wb.te.func(wb.te.compute((4,) * 24, lambda *i: x[i] * 2.0, name="Y"), "deep")
    s = Schedule(func, TARGET)
    for _ in range(2):
        for lp in list(s.loops)[:20]:
            s.split(lp.name, [None, 2]) if lp.extent == 4 else None
    found = drops(s, s.loops[0].name)
    assert len(found) == MOST


def test_the_question_is_answered_as_the_front_end_reads_it(session):
    s = session()
    answers, done = [], threading.Event()
    s.ask("drops", {"row": "k"}, lambda message: (answers.append(message), done.set()))
    assert done.wait(20)
    assert answers[0]["ok"]
    first = answers[0]["value"]["targets"][0]
    assert first["onto"] == "i"
    assert first["place"] == "before"
    assert first["step"] == {"primitive": "reorder", "args": {"loops": ["k", "i", "j"]}}
    assert first["legal"]
    s.run("apply", step=first["step"])
    assert [r["id"] for r in s.snapshot().slices["nest"]["rows"] if r["kind"] == "loop"] == ["k", "i", "j"]


@pytest.mark.bench
def test_places_of_a_resnet_convolution_are_found_in_50_ms():
    s = Schedule(workloads.conv2d_nhwc(56, 56, 64, 64, relu=True), TARGET)
    for row in (*(lp.name for lp in s.loops), *(f"stmt:{b.name}" for b in s.blocks)):
        begin = time.perf_counter()
        drops(s, row)
        assert time.perf_counter() - begin < 0.05, row
