"""The network in motion: what is shown before, while and after runs are recorded; calls by pointer and by keyboard."""

from __future__ import annotations

from typing import Any

import pytest

from frontend_model import states
from frontend_model.conftest import Json, Panels

EMPTY: Json = {"step": "", "at": 0, "of": 0, "error": None, "runs": [], "rows": [], "nodes": {}}


def run(name: str, number: int, ms: float) -> Json:
    return {
        "name": name, "number": number, "threads": 2, "runs": 7, "run_ms": 1.01 * ms, "calls_ms": 0.9 * ms,
        "gaps_ms": 0.1 * ms, "sum_ms": ms, "timed_ms": ms, "whole_ms": 1.02 * ms, "whole_spread": 0.1, "untuned": 0,
        "interrupted": -1, "has_gaps": True, "doubt": "",
    }  # fmt: skip


def row(task: int, calls: int, ms: list[float], gap: list[float], share: list[float], size: int, change: str) -> Json:
    return {
        "id": task,
        "calls": calls,
        "ms": ms,
        "gap": gap,
        "share": share,
        "bytes": size,
        "change": change,
        "far": "",
    }


SLICE: Json = {
    **EMPTY,
    "runs": [{**run("default", 1, 2.0), "change": ""}, {**run("best", 2, 1.0), "change": "2.00× as fast"}],
    "rows": [
        row(3, 2, [1.4, 0.55], [0.1, 0.05], [0.7, 0.55], 2048, "2.55× as fast"),
        row(-1, 1, [0.4, 0.35], [0.1, 0.05], [0.2, 0.35], 512, "no difference shows"),
        row(-2, 0, [0.2, 0.1], [0.0, 0.0], [0.1, 0.1], 0, ""),
    ],
    "nodes": {"n3": 0.3},
}


def answer(name: str, number: int, ms: float) -> Json:
    end = int(ms * 1e6)
    return {
        **run(name, number, ms), "names": ["a: conv", "b: conv", "c: softmax"], "task": [3, 3, -1],
        "stamps": [0, end // 4, end // 2, end], "gaps": [end // 10, 0, 0], "ms": [ms / 4, ms / 4, ms / 2],
        "share": [0.25, 0.25, 0.5], "bytes": [1024, 1024, 512], "gflops": [100.0, 100.0, None],
        "gbytes": [10.0, 10.0, 5.0], "roof": ["compute", "L3", "memory"], "roof_share": [0.5, 0.25, 1.59],
        "above": ["", "", "faster than memory delivers: its data are nearer"],
        "tuned": [1, 1, 0],
        "work": {"thread": [0, 1, 0], "call": [0, 0, 1], "begin": [0, 0, end // 4], "end": [end // 5] * 2 + [end // 2],
                 "busy": [1, 1, 1]},
        "memory": {"arena": 4096, "constants": 64, "names": ["x", "y"], "start": [0, 2048], "bytes": [2048, 1024],
                   "first": [0, 1], "last": [1, 2], "live": [2048, 3072, 1024]},
    }  # fmt: skip


def show(panels: Panels, **more: Any) -> Any:
    runs = [answer("default", 1, 2.0), answer("best", 2, 1.0)]
    panels.page.evaluate(
        """runs => { kernel.answers = {
            get timeline() { return { ok: true, value: runs[kernel.asked.at(-1)[1].number - 1] }; }
        }; }""",
        runs,
    )
    panels.open("timeline", states.state(timeline={**EMPTY, **more}))
    return panels.page.locator(".swb-timeline")


def press(panels: Panels) -> str:
    """The button, by the keyboard; returns what it says."""
    button = panels.page.locator("[data-swb-do=timeline]")
    button.focus()
    panels.page.keyboard.press("Enter")
    return str(button.inner_text())


def test_a_button_starts_and_cancels(panels: Panels) -> None:
    box = show(panels)
    assert box.locator("table").count() == 0
    assert press(panels) == "Record the network"
    assert panels.sent == [("record_timeline", {})]
    panels.patch({"timeline": {"=": {**EMPTY, "step": "Recording runs", "at": 3, "of": 3}}})
    panels.settle()
    assert "Recording runs … (step 3 of 3)" in box.get_by_role("status").inner_text()
    assert press(panels) == "Cancel"
    assert panels.sent[1:] == [("cancel_timeline", {})]


def test_runs_and_shares_side_by_side(panels: Panels) -> None:
    box = show(panels, **SLICE)
    assert box.locator("[data-sum=default]").inner_text().startswith("default schedules 2.00 ms = 1.80 ms in calls + ")
    assert "takes 1.02 ms ± 0.05 (+2.0 %), 2.00× as fast" in " ".join(
        box.locator("[data-sum=best]").inner_text().split()
    )
    rows = box.locator("tbody tr").evaluate_all("rows => rows.map(r => [...r.cells].map(c => c.textContent))")
    name = next(r["name"] for r in states.tasks()["rows"] if r["id"] == 3)
    assert rows[0] == [name, "2", "1.40", "0.550", "2.55× as fast", "55.0\u00a0%", "0.0500", "2.00\u00a0KB"]
    assert (rows[1][0], rows[1][4]) == ("of no task", "no difference shows")
    assert rows[2] == ["between kernels", "", "0.200", "0.100", "", "10.0\u00a0%", "", ""]
    run = box.locator("tfoot td").all_inner_texts()
    assert run[:4] == ["sum of the rows", "3", "2.00", "1.00"]
    assert run[4:] == ["measured run, without a clock between the calls", "", "2.04", "1.02"]
    for column in (2, 3):
        assert sum(float(r[column]) for r in rows) == pytest.approx(float(run[column]))


def test_what_is_not_to_be_trusted_is_said(panels: Panels) -> None:
    doubt = "disturbed: runs spread by 40.0 %; record again when the machine is quiet"
    rows = [{**SLICE["rows"][0], "far": "best drawn at 1.90× its median"}, *SLICE["rows"][1:]]
    box = show(panels, **{**SLICE, "runs": [SLICE["runs"][0], {**SLICE["runs"][1], "doubt": doubt}], "rows": rows})
    assert box.locator("[data-sum=best] .swb-careful").inner_text() == f"; {doubt}"
    assert box.locator("[data-sum=default] .swb-careful").count() == 0
    marked = box.locator("tbody tr .swb-careful")
    assert marked.count() == 1
    assert "best drawn at 1.90× its median" in marked.inner_text()


def test_without_parallel_regions_there_are_no_gaps_to_show(panels: Panels) -> None:
    runs = [{**one, "has_gaps": False, "gaps_ms": 0.0} for one in SLICE["runs"]]
    box = show(panels, **{**SLICE, "runs": runs, "rows": SLICE["rows"][:2]})
    assert "gaps" not in box.locator("thead").inner_text()
    assert "between kernels" not in box.inner_text()
    assert "2.00 ms in calls, one after the other" in box.locator("[data-sum=default]").inner_text()


def test_a_row_opens_its_task_and_its_calls_stand_out(panels: Panels) -> None:
    """By pointer and by keyboard; the page stays where it is."""
    box = show(panels, **SLICE)
    panels.settle()
    rows, tracks = box.locator("tbody tr"), box.locator("[data-run=default]")
    alpha = """box => { const s = devicePixelRatio, c = box.querySelector('canvas').getContext('2d');
        return [150, 700].map(x => c.getImageData(x * s, 31 * s, 1, 1).data[3]); }"""
    before = tracks.evaluate(alpha)
    assert before[0] == before[1] == 255
    top = rows.first.bounding_box()["y"]
    rows.first.locator("td").nth(1).click()
    panels.settle()
    assert panels.sent == [("open_task", {"task": 3})]
    assert rows.first.get_attribute("aria-selected") == "true"
    assert rows.first.bounding_box()["y"] == top
    own, other = tracks.evaluate(alpha)
    assert own == 255
    assert other < 80
    panels.page.keyboard.press("Escape")
    panels.settle()
    assert rows.first.get_attribute("aria-selected") == "false"
    assert tracks.evaluate(alpha) == before
    rows.nth(1).get_by_role("button").focus()
    panels.page.keyboard.press("Enter")
    panels.settle()
    assert panels.sent[1:] == [], "no task is there to open"
    assert tracks.get_attribute("data-lit") == "-1"
    rows.first.get_by_role("button").first.focus()
    panels.page.keyboard.press("Enter")
    assert panels.sent[1:] == [("open_task", {"task": 3})]
    assert [row.get_attribute("aria-selected") for row in rows.all()[:2]] == ["true", "false"]


def test_a_long_name_is_cut_at_its_end_and_is_never_dots_alone(panels: Panels) -> None:
    box = show(panels, **SLICE)
    box.evaluate("e => { e.style.width = '560px'; }")
    panels.settle()
    link = box.locator("tbody .swb-link").first.bounding_box()
    cell = box.locator("tbody td.swb-name").first.bounding_box()
    assert link["width"] > 30
    assert link["x"] + link["width"] <= cell["x"] + cell["width"]


def test_calls_are_walked_through_and_zoomed(panels: Panels) -> None:
    box = show(panels, **SLICE)
    assert box.locator(".swb-run").count() == 2
    best = box.locator("[data-run=best]")
    best.focus()
    keys, said = panels.page.keyboard, box.locator(".swb-run-readout")
    keys.press("ArrowRight")
    assert "best, call 0: 250 µs here, median 250 µs" in said.inner_text()
    assert "gaps 100 µs" in said.inner_text()
    assert "50.0\u00a0% of the peak of arithmetic" in said.inner_text()
    assert "makes x" in said.inner_text()
    keys.press("ArrowRight")
    assert "call 1" in said.inner_text()
    assert "3.00\u00a0KB live" in said.inner_text()
    assert "25.0\u00a0% of what L3 delivers" in said.inner_text()
    keys.press("Enter")
    assert panels.sent == [("open_task", {"task": 3})]
    whole = box.get_by_role("button", name="Whole run")
    assert whole.get_attribute("aria-disabled") == "true"
    keys.press("+")
    assert whole.get_attribute("aria-disabled") is None
    keys.press("Home")
    assert whole.get_attribute("aria-disabled") == "true"
    place = best.bounding_box()
    panels.page.mouse.move(place["x"] + place["width"] * 0.45, place["y"] + 28)
    assert "call 2" in said.inner_text()
    assert "159" not in said.inner_text()
    assert "faster than memory delivers: its data are nearer" in said.inner_text()


def test_what_is_drawn_is_the_threads_and_the_memory(panels: Panels) -> None:
    """Pixels: a thread that waits has none, the arena has those of what lies in it."""
    box = show(panels, **SLICE)
    panels.settle()
    inked = """(box, [x, y]) => { const c = box.querySelectorAll('canvas'); const s = devicePixelRatio;
        const all = [...c].map(one => one.getBoundingClientRect()); const top = all[0].top;
        const k = all.findIndex(r => top + y < r.bottom); const r = all[k];
        return c[k].getContext('2d').getImageData(x * s, (top + y - r.top) * s, 1, 1).data[3] > 0; }"""
    best = box.locator("[data-run=default]")

    def at(x: int, y: int) -> bool:
        return bool(best.evaluate(inked, [x, y]))

    assert at(90, 18 + 10)  # the first call
    assert at(90, 18 + 50)  # thread 1 in it
    assert not at(700, 18 + 50)  # it waits in the last one
    assert at(90, 18 + 64 + 140)  # the first tensor lies at the beginning of the arena
    assert not at(700, 18 + 64 + 140)
