"""The model in three precisions side by side: what is shown before, while and after it is compared."""

from __future__ import annotations

from typing import Any

from frontend_model import states
from frontend_model.conftest import Json, Panels

EMPTY: Json = {"step": "", "at": 0, "of": 0, "error": None, "answer": None}


def whole(precision: str, **more: Any) -> Json:
    row = {"precision": precision, "ms": 2.4, "error": 0.0, "first_above": "", "bytes": 3072, "weights": 2048}
    return {**row, "note": "", **more}


ANSWER: Json = {
    "precisions": [
        whole("float32"), whole("bfloat16", ms=1.2, error=0.0114, note="emulated here"),
        whole("int8", ms=0.8, error=0.25, first_above="fire2"),
    ],
    "made": ["float32", "bfloat16", "int8"],
    "rows": [
        {"id": 3, "kernels": 2, "ms": [0.2, 0.1, 0.05], "bytes": [2048, 1024, 512], "error": [None, 0.01, 0.2]},
        {"id": -1, "kernels": 1, "ms": [None, None, 0.03], "bytes": [None, None, 256], "error": [None, None, 1e300]},
    ],
    "nodes": {"bfloat16": {"n3": 0.01, "n4": 0.0}, "int8": {"n3": 0.2, "n4": 1e300}},
    "random": True,
    "bound": 0.1,
}  # fmt: skip


def show(panels: Panels, **more: Any) -> Any:
    panels.open("precision", states.state(precision={**EMPTY, **more}))
    return panels.page.locator(".swb-precision")


def press(panels: Panels) -> str:
    """The button, by the keyboard; returns what it says."""
    button = panels.page.locator("[data-swb-do=precision]")
    button.focus()
    panels.page.keyboard.press("Enter")
    return str(button.inner_text())


def test_a_button_starts_and_cancels(panels: Panels) -> None:
    box = show(panels)
    assert box.locator("table").count() == 0
    assert "random inputs" in box.inner_text()
    assert press(panels) == "Compare float32, bfloat16, int8"
    assert panels.sent == [("compare_precisions", {})]
    busy = {**EMPTY, "step": "Compiling int8", "at": 4, "of": 6}
    panels.patch({"precision": {"=": busy}})
    panels.settle()
    assert "Compiling int8" in box.get_by_role("status").inner_text()
    bar = box.get_by_role("progressbar")
    assert (bar.get_attribute("aria-valuenow"), bar.get_attribute("aria-valuemax")) == ("4", "6")
    assert bar.bounding_box()["height"] < 10
    assert press(panels) == "Cancel"
    assert panels.sent[1:] == [("cancel_precisions", {})]


def test_network_and_tasks_side_by_side(panels: Panels) -> None:
    box = show(panels, answer=ANSWER)
    rows = box.locator("tbody tr").evaluate_all("rows => rows.map(r => [...r.cells].map(c => c.textContent))")
    assert rows[0][:4] == ["float32", "2.40", "", ""]
    assert rows[1][:5] == ["bfloat16", "1.20", "2.00× as fast", "1.1\u00a0%", "none"]
    assert rows[2][3:5] == ["25.0\u00a0%", "fire2"]
    name = next(r["name"] for r in states.tasks()["rows"] if r["id"] == 3)
    assert rows[3][:6] == [name, "0.200", "0.100", "0.0500", "1.0\u00a0%", "20.0\u00a0%"]
    assert rows[4][:6] == ["1 kernel of no task", "–", "–", "0.0300", "–", "∞"]
    assert box.locator(".swb-careful").all_inner_texts() == ["25.0\u00a0%", "20.0\u00a0%", "∞"]
    assert "inputs are random" in box.inner_text()
    assert "bfloat16: emulated here" in box.inner_text()
    panels.patch({"precision": {"=": {**EMPTY, "answer": {**ANSWER, "random": False}}}})
    panels.settle()
    assert "random" not in box.inner_text()


def test_why_there_is_no_answer(panels: Panels) -> None:
    error = {"code": "model.op", "message": "There is no kernel for it.", "where": [], "hint": "cut the model there"}
    box = show(panels, error=error)
    said = box.get_by_role("alert").inner_text()
    assert "There is no kernel for it." in said
    assert "cut the model there" in said
    assert press(panels).startswith("Compare")
