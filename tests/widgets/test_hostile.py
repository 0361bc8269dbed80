"""Calls of a workbench that mean nothing: each is answered with one sentence and a code."""

from __future__ import annotations

import pytest

from workbench import Schedule, Target, Workbench, workloads
from workbench.errors import WorkbenchError

TARGET = Target("llvm", cpu="x86-64-v3", triple="x86_64-unknown-linux-gnu", threads=2)


@pytest.fixture
def workbench(comms):
    w = Workbench(Schedule(workloads.matmul(8, 8, 8), TARGET), auto_measure=False)
    yield w
    w.close()


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda w: w.goto("x"), "session.variant"),
        (lambda w: w.goto(10**5000), "session.variant"),
        (lambda w: w.variants["x" * 10_000], "session.variant"),
        (lambda w: w.compare(999, 0), "session.variant"),
        (lambda w: w.compare(0, 0, ["nest"]), "code.kind"),
        (lambda w: w.export("png"), "export.png"),
        (lambda w: w.export("csv", "no\0file"), "usage.path"),
        (lambda w: w.export("csv", "/no/such/folder/a.csv"), "export.path"),
        (lambda w: w.export("svg", theme=["dark"]), "export.theme"),
        (lambda w: w.add_task(3), "usage.type"),
        (lambda w: w.replay(0, "no such task"), "usage.task"),
        (lambda w: w.contest(0, 0), "session.contest"),
        (lambda w: w.tune(variant=99), "session.variant"),
    ],
)
def test_a_call_that_means_nothing_is_refused_in_a_sentence(workbench, call, code):
    with pytest.raises(WorkbenchError) as e:
        call(workbench)
    assert e.value.code == code
    assert len(str(e.value)) < 1_000


def test_a_closed_workbench_shows_nothing(workbench):
    workbench.close()
    with pytest.raises(WorkbenchError) as e:
        workbench.show("nest")
    assert e.value.code == "session.closed"


def test_variants_are_compared_for_the_machine_of_the_workbench(comms):
    other = Target("llvm", cpu="cortex-a72", triple="aarch64-unknown-linux-gnu", threads=2)
    w = Workbench(Schedule(workloads.matmul(8, 8, 8)), target=other, auto_measure=False)
    w.schedule.unroll("k")
    assert any("\tldr" in side[1] for row in w.compare(0, 1, "asm").rows for side in (row.left, row.right) if side)
    w.close()


def test_what_is_no_number_is_no_variant(workbench):
    assert 0 in workbench.variants
    assert [] not in workbench.variants
