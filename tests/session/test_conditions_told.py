"""Beside a time stands what the kernel found in the caches, in the same words in a notebook and in the workbench."""

from __future__ import annotations

import pytest
from session.conftest import split
from session.test_by_hand import head
from waiting import until

from workbench import Schedule, Session, Target, Task, workloads
from workbench.log.conditions import CACHES, found_in
from workbench.runtime.results.measure_options import FLUSHED, FOUND, WARM, MeasureOptions
from workbench.session.state.results import Result
from workbench.widgets.static_view import static_html

HOST = Target.host(threads=1)


def dense():
    """A product with constant weights."""
    return workloads.matmul(16, 16, 16, constant_b=True)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({}, WARM),
        ({"constants": "shared"}, "constants from beyond the cores' caches, inputs in place"),
        ({"constants": "memory"}, "constants from memory, inputs in place"),
        ({"flush_cache": True}, FLUSHED),
    ],
)
def test_a_measurement_says_what_it_found_in_the_caches(options, told):
    found = Schedule(dense(), HOST).measure(**options)
    assert found.ok
    assert found.caches == told
    assert f"; {told})" in str(found)
    assert told in found._repr_html_().replace("&#x27;", "'").replace("&#39;", "'")


def test_without_constants_there_is_one_condition():
    func = workloads.matmul(16, 16, 16)
    assert {MeasureOptions(constants=where).found(func.params) for where in FOUND} == {WARM}
    assert found_in(CACHES["shared"], constants=False) == WARM


def test_the_words_of_the_log_and_of_a_measurement_are_the_same():
    func = dense()
    for where, name in CACHES.items():
        assert found_in(name) == MeasureOptions(constants=where).found(func.params)
    assert found_in("flushed") == MeasureOptions(flush_cache=True).found(func.params)
    assert found_in("") == ""


def test_a_kernel_by_itself_and_one_of_a_model_say_so_in_the_header(tmp_path):
    one, other = (Task.of_func(workloads.matmul(n, 16, 16, constant_b=True), HOST) for n in (16, 32))
    for tasks, where in (([one], "near"), ([one, other], "shared")):
        s = Session(tasks if len(tasks) > 1 else one, auto_measure=False)
        try:
            s.run("open_task", task=0)
            s.run("measure")
            until(lambda s=s: s.flush(100) and head(s)["ms"])
            assert s.state.constants == where
            assert head(s)["caches"] == FOUND[where]
            (row,) = s.snapshot().slices["history"]["rows"]
            assert row["caches"] == FOUND[where]
            page = static_html(s.snapshot().slices).replace("&#x27;", "'").replace("&#39;", "'")
            assert FOUND[where] in page
        finally:
            s.close()


def test_times_of_other_conditions_are_not_compared(session, fake):
    s = session(auto_measure=False)
    for step, result in (
        (None, Result("ok", 2.0, 0.01, 10.0, caches=WARM)),
        ("j", Result("ok", 1.0, 0.01, 20.0, caches=FOUND["shared"])),
        ("k", Result("ok", 0.5, 0.01, 40.0, caches=FOUND["shared"])),
    ):
        if step:
            s.run("apply", step=split(step, None, 16))
        fake.result = result
        s.run("measure")
        until(lambda ms=result.ms: s.flush(100) and head(s)["ms"] == ms)
    change = s.snapshot().slices["history"]["change"]
    assert change["text"] == (
        "2.00× as fast as v1, cannot tell from v0: timed under other conditions (warm caches; constants from beyond the"
        " cores' caches, inputs in place)"
    )
    assert change["title"].endswith("each timed by itself, constants from beyond the cores' caches, inputs in place; "
                                    "each timed by itself")  # fmt: skip
