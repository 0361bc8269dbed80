"""A saved workbench: small, readable, and nothing of it lost in a notebook that is not trusted."""

from __future__ import annotations

import pytest
from reprs.sanitizer import bars, sanitize

import workbench as wb
from workbench.analysis import difference
from workbench.session import Session
from workbench.session.registry import PANELS
from workbench.session.variants.table import variants
from workbench.widgets.static_view import LARGEST, saved_slices, static_html, static_text

HOSTILE = '<img src=x onerror="alert(1)"></td></table>\x1b[2J'


def seen(html):
    cleaned = sanitize(html)
    assert not cleaned.lost
    assert not cleaned.faults
    return cleaned


@pytest.fixture(scope="module")
def slices():
    schedule = wb.Schedule(wb.workloads.matmul(64, 64, 64))
    schedule.split("j", [None, 16])
    schedule.parallel("i")
    session = Session(schedule, auto_measure=False)
    session.run("select", id="k")
    taken = saved_slices(session)
    session.close()
    return taken


def task(k, **more):
    return {
        "id": k, "key": f"k{k}", "name": f"task {k}", "weight": 1 + k % 3, "flops": 10**6, "ms": 1.0 + k, "gflops": 3.5,
        "trials": 20, "failed": 0, "failures": {}, "untuned_ms": 9.0, "share": 1 / (k + 2), "state": "measured",
        "reason": "", "delta": None, "spark": [], **more,
    }  # fmt: skip


def row(k, **more):
    return {
        "id": f"i{k}", "parent": f"i{k - 1}" if k % 20 else None, "kind": "loop", "name": f"i{k}", "extent": 4,
        "mark": "serial", "chips": [], "text": "", "reduce": False, "iters": 4, "flops": 8, "bytes": 64, "ws": 64,
        "level": "L1", "block": None, **more,
    }  # fmt: skip


def nest(rows, **more):
    return {
        "rows": rows, "loops": len(rows), "statements": 0, "hidden": 0, "buffers": [], "holes": [], **more,
    }  # fmt: skip


def step(k, **more):
    return {
        "id": k, "text": f"unroll('i{k}')", "primitive": "unroll", "ms": 1.0, "spread": 0.01, "gflops": 2.0,
        "status": "ok", "error": "", "undone": False, "holes": 0, "by": "hand", **more,
    }  # fmt: skip


def history(rows, at):
    return {"rows": rows, "at": at, "can_undo": True, "can_redo": False, "auto": True}


def test_a_schedule_is_readable(slices):
    cleaned = seen(static_html(slices))
    for text in ("matmul", "j.0", "j.1", "parallel", "Loop nest", "Variants", "split('j', [None, 16])", "as written"):
        assert text in cleaned.text
    assert len(bars(cleaned)) >= len([r for r in slices["nest"]["rows"] if (r["iters"] or 0) > 1])


@pytest.mark.parametrize("panel", PANELS)
def test_one_part_shows_only_that_part(slices, panel):
    text = seen(static_html(slices, panel)).text
    marks = {
        "nest": "Loop nest", "palette": "Primitives", "variants": "Variants", "accesses": "Accesses while",
        "code": "The nest as text",
    }  # fmt: skip
    for name, mark in marks.items():
        assert (mark in text) == (name == panel)
    if panel in ("graph", "chart", "tuning"):
        assert "nothing to show" in text


def test_nothing_at_all():
    assert "Workbench" in seen(static_html({})).text
    assert static_text({}) == "Workbench"


def test_a_large_workbench_is_cut():
    slices = {
        "tasks": {
            "rows": [task(k, name=f"task {k} " + "x" * 60) for k in range(300)],
            "total_ms": 5.0,
            "untuned_ms": 9.0,
            "covers": "sum of 300 kernels",
        },
        "nest": nest([row(k, chips=["sum", "acc 14×32"]) for k in range(400)], hidden=2600),
        "history": history([step(k) for k in range(200)], 100),
    }
    html = static_html(slices)
    assert len(html.encode()) <= LARGEST
    text = seen(html).text
    assert "v100" in text
    assert "on show" in text
    for shown, total in (("tasks", 300), ("rows", 3000), ("variants", 200)):
        assert f"more {shown}" in text, total


def test_long_names_do_not_make_it_large():
    long = "n" * 5000
    slices = {
        "meta": {"title": long, "target": "t", "panels": []},
        "head": {"name": long, "weight": 1, "step": "v1", "flops": 8, "holes": 90},
        "nest": nest(
            [row(k, name=long, extent="?" + long, chips=[long] * 50) for k in range(60)],
            holes=[{"name": long, "choices": list(range(500))} for _ in range(90)],
        ),
        "history": history([step(k, text=long, error=long, status="run_error") for k in range(60)], 59),
    }
    html = static_html(slices)
    seen(html)
    assert len(html.encode()) <= LARGEST


def test_what_is_cut_adds_up():
    slices = {"nest": nest([row(k) for k in range(50)], hidden=2950)}
    cleaned = seen(static_html(slices, "nest"))
    drawn = cleaned.html.count("<tr>") - 1  # the last line tells what is missing
    assert f"… {3000 - drawn:,} more rows".replace(",", "\u202f") in cleaned.text


def test_variants_say_where_they_come_from():
    rows = [
        step(0, parent=None), step(1, parent=0, name="first idea", star=True), step(4, parent=1, ms=None, est=0.5),
        step(7, parent=1, by="tuner", trial=12, text="j_0 = 16"),
    ]  # fmt: skip
    cleaned = seen(static_html({"history": history(rows, 7)}, "variants"))
    for text in (
        "first idea",
        "★",
        "trial 12",
        "≈ 500 µs" if "µs" in cleaned.text else "≈ 0.500",
        "j_0 = 16",
        "on show",
    ):
        assert text in cleaned.text.replace("\u202f", " "), cleaned.text
    assert cleaned.text.index("v7") < cleaned.text.index("j_0 = 16") < cleaned.text.index("trial 12")


def test_the_table_of_variants_and_a_difference_survive_the_sanitiser():
    schedule = wb.Schedule(wb.workloads.matmul(64, 64, 64))
    schedule.split("j", [None, 16])
    session = Session(schedule, auto_measure=False)
    session.run("name", node=1, text=HOSTILE)
    told = seen(variants(session.state)._repr_html_()).text
    session.close()
    assert "split('j', [None, 16])" in told
    assert "onerror" in told, "a name is text, whatever it holds"
    changed = seen(difference(schedule.copy().undo(), schedule)._repr_html_()).text
    assert "j.0" in changed


def test_hostile_names_stay_text():
    slices = {
        "meta": {"title": HOSTILE, "target": HOSTILE, "panels": ["tasks"]},
        "tasks": {
            "rows": [task(0, name=HOSTILE, failed=1, failures={HOSTILE: 1})],
            "total_ms": 1.0,
            "untuned_ms": 2.0,
            "covers": "one kernel",
        },
        "head": {"name": HOSTILE, "weight": 2, "step": "v1", "flops": 8, "ms": 1.0, "best_by": HOSTILE, "best_ms": 1.0},
        "nest": nest([row(0, name=HOSTILE, chips=[HOSTILE]), row(1, kind="stmt", text=HOSTILE)]),
        "history": history([step(0, text=HOSTILE, status="run_error", error=HOSTILE)], 0),
        "tuning": {"state": "failed", "trials": 3, "elapsed_s": 2, "failed": 1, "message": HOSTILE},
    }
    cleaned = seen(static_html(slices))
    assert cleaned.text.count("<img src=x onerror") == 11
    assert "\x1b" not in cleaned.text
    assert "\x1b" not in static_text(slices)


def test_failures_are_told_in_words():
    slices = {
        "tasks": {
            "rows": [task(0, failed=3, failures={"timeout": 1, "wrong_answer": 2})],
            "total_ms": 1,
            "untuned_ms": 2,
            "covers": "one kernel",
        },
        "history": history([step(0), step(1, status="wrong_answer", ms=None, gflops=None, error="a\nlast line")], 1),
        "tuning": {"state": "failed", "trials": 3, "elapsed_s": 2, "failed": 3, "message": "The disk is full"},
    }
    text = seen(static_html(slices)).text
    assert "2 wrong answer, 1 timeout" in text
    assert "wrong answer: last line" in text
    assert "The disk is full" in text


def test_the_text_form_says_what_it_is(slices):
    first, second = static_text(slices).splitlines()
    assert first.startswith("Workbench: matmul")
    assert "v2" in second
