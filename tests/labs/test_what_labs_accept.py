"""Answers and nests of students that were refused although they are right, or accepted although they are wrong."""

import pytest

import workbench as wb
from workbench.analysis.figures.two_roofs import two_roofs
from workbench.labs import goals
from workbench.labs.catalog.forensics.made_tables import failures
from workbench.labs.catalog.threads import work
from workbench.labs.exercise import Setting
from workbench.labs.judging import judged
from workbench.labs.plan import plans

HERE = wb.Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=haswell", threads=1)


def asked(lab, exercise, name):
    found = next(e for e in plans()[lab].exercises if e.name == exercise)
    setting = Setting(HERE, {size: values[0] for size, values in found.variants.items()})
    return next(p for p in found.predictions if p.name == name), setting


@pytest.mark.parametrize(
    ("question", "said", "right"),
    [
        (("roofline", "intensity", "vectors"), 0.17, True),  # 1 / 6
        (("roofline", "intensity", "vectors"), "0.17 FLOP/B", True),
        (("roofline", "intensity", "vectors"), 0.2, False),
        (("roofline", "repair", "intensity"), 0.016, True),  # 1 / 64
        (("roofline", "repair", "intensity"), 0.015, False),
        (("roofline", "tile", "most"), 73, True),  # 3 * 73 * 73 * 4 is less than 64 KiB, and 3 * 74 * 74 * 4 is not
        (("roofline", "tile", "most"), 73.9, True),
        (("roofline", "tile", "most"), 74, False),
        (("threads", "balance", "share"), "67 %", True),  # 8 blocks in 2 rounds of 6 threads
        (("threads", "balance", "share"), "70 %", False),
        (("threads", "repair", "lines"), 16000, True),
        (("reductions", "softmax", "bytes"), 4 * 64 * 1024, False),  # the three small ones are missing
        (("reductions", "softmax", "bytes"), "256.75 KiB", True),
        (("fusion", "inline", "holds"), "1 MiB", False),  # 514 rows of 2 KiB
        (("fusion", "inline", "holds"), "1028 KiB", True),
    ],
)
def test_an_answer(question, said, right):
    assert judged(asked(*question)[0], said, asked(*question)[1]).good is right


def blocks_of(rows, loop="i", tail="exact"):
    s = wb.Schedule(work.product(Setting(HERE)), HERE)
    outer = s.split(loop, [None, rows], tail=tail)[0]
    if loop == "j":
        s.reorder(outer, "i")
    return s.parallel(outer)


@pytest.mark.parametrize(
    ("rows", "tail", "even", "told"),
    [
        (4, "exact", True, "128 iterations take 13 rounds of 10 threads: 98.5%"),
        (52, "guard", True, "1 round of 10 threads: 98.5%"),  # nine blocks of 52 rows, one of 44
        (56, "guard", False, "91.4%"),  # nine blocks of 56 rows, one of 8
        (51, "peel", True, "96.6%"),  # ten blocks of 51 rows, then 2 rows by one thread
        (50, "peel", False, "82.6%"),  # 12 rows by one thread
    ],
)
def test_even_shares_are_those_of_the_work(rows, tail, even, told):
    good, text = goals.busy_at_least(0.95, 10).reached(blocks_of(rows, tail=tail), Setting(HERE))
    assert (good, told in text) == (even, True), text


@pytest.mark.parametrize(("rows", "loop", "good"), [(8, "i", True), (64, "i", False), (8, "j", False)])
def test_blocks_of_eight_rows_are_no_others(rows, loop, good):
    assert work._eight_rows(blocks_of(rows, loop), Setting(HERE))[0] is good


@pytest.mark.parametrize(("rows", "loop", "good"), [(4, "i", True), (2, "i", False), (8, "j", False)])
def test_blocks_have_whole_rows(rows, loop, good):
    assert work._four_rows(blocks_of(rows, loop), Setting(HERE))[0] is good


@pytest.mark.parametrize("lab", ["vectors", "registers"])
def test_two_counts_the_wrong_way_round_are_right_for_no_code(lab):
    read = next(e for e in plans()[lab].exercises if e.name == "read")
    work = read.work.solution
    swapped = [goal.reached(lambda code: work(code)[::-1], Setting(HERE))[0] for goal in read.goals]
    assert swapped.count(True) <= (lab == "registers"), swapped  # code without a spill has 0 of both


def test_two_roofs_are_drawn_to_scale():
    roofs, ridge, kernels = two_roofs(100, 8, {"a": 0.5, "b": 20}).data
    assert [y / x for x, y in zip(roofs.x, roofs.y, strict=True)][:2] == [8, 8]
    assert (roofs.x[1], ridge.x[0], roofs.y[2]) == (12.5, 12.5, 100)
    assert list(kernels.y) == [4, 100]


@pytest.mark.parametrize(
    ("said", "told"),
    [(0.8, "share: 0.8 (taken as 80 %) is right."), ("80 %", "share: 80 % is right."), (1, "share: 1 ")],
)
def test_a_share_of_one_is_not_told_as_percent(said, told):
    question, setting = asked("threads", "balance", "share")
    assert told in judged(question, said, Setting(HERE, {**setting.variant, "threads": 10})).text


def test_what_a_student_changes_in_the_table_of_failures_is_still_judged():
    share, setting = asked("forensics", "fails", "share")
    right = share.answer(setting)
    table = failures()
    table["status"] = "ok"
    assert share.answer(setting) == right > 0
