"""Steps left out and variants in a table: what is shown before, while and after they are measured; by keyboard."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest

from frontend_model import states
from frontend_model.conftest import Json, Panels
from workbench import Target, workloads
from workbench.analysis.cache.films import Films
from workbench.analysis.cache.levels import checked, levels_of

IDLE: Json = {"step": "", "at": 0, "of": 0, "error": None}
VARIANT: Json = {
    "edge": "step", "steps": 1, "text": "", "primitive": "", "name": "", "star": False, "by": "hand", "trial": None,
    "holes": 0, "y": 0, "ms": None, "spread": None, "gflops": None, "est": None, "est_high": None, "status": "",
    "error": "", "undone": False,
}  # fmt: skip
HISTORY: Json = {
    "rows": [{**VARIANT, "id": k, "parent": k - 1 if k else None, "x": k} for k in range(3)], "at": 2,
    "path": [0, 1, 2],
    "can_undo": True, "can_redo": False, "auto": False, "best": None, "hidden": 0, "contests": [], "change": None,
}  # fmt: skip
WITHOUT: list[Json] = [
    {"number": 0, "step": "split('i', [None, 4])", "ratio": None, "known": "", "confidence": None,
     "why_not": "step 1 needs it", "text": "", "ms": None, "whole_ms": None},
    {"number": 1, "step": "vectorize('j')", "ratio": 2.5, "known": "apart", "confidence": 0.999, "why_not": "",
     "text": "sure", "ms": 5.0, "whole_ms": 2.0},
    {"number": 2, "step": "unroll('k')", "ratio": 0.99, "known": "same", "confidence": None, "why_not": "",
     "text": "take the same time", "ms": 1.98, "whole_ms": 2.0},
]  # fmt: skip
LEVELS = ["L1", "L2"]


def compared(id: int, ms: float | None, misses: list[int], **more: Any) -> Json:
    row = {"id": id, "ms": ms, "ratio": ms, "text": "", "status": "ok", "error": "", "nbytes": 100 * id + 100,
           "instructions": 30, "registers": 4, "spills": 0, "scalar_spills": 2, "misses": misses, "share": 1.0,
           "note": ""}  # fmt: skip
    return {**row, **more}


ROWS = [
    compared(0, 2.0, [10, 1], text="v2 is twice as fast as v0, sure"),
    compared(1, None, [], status="build_error", error="no"),
    compared(2, 1.0, [30, 2]),
]


def show(panels: Panels, panel: str, slice_: Json, history: Json = HISTORY) -> Any:
    panels.open(panel, states.state(history=history, **{panel: {**IDLE, **slice_}}))
    return panels.page.locator(f".swb-{panel.replace('_', '-')}")


def press(panels: Panels, name: str) -> str:
    """A button, by the keyboard; returns what it says."""
    button = panels.page.locator(f"[data-swb-do={name}]")
    button.focus()
    panels.page.keyboard.press("Enter")
    return str(button.inner_text())


@pytest.mark.parametrize(
    ("panel", "button", "says", "command", "args", "cancel"),
    [
        ("leave_one_out", "measure-steps", "Leave out each step of v2", "measure_steps", {"node": 2}, "cancel_steps"),
        ("comparison", "compare-variants", "Compare 3 variants", "compare_variants", {"nodes": [0, 1, 2]},
         "cancel_comparison"),
    ],
)  # fmt: skip
def test_a_button_begins_and_cancels(
    panels: Panels, panel: str, button: str, says: str, command: str, args: Json, cancel: str
) -> None:
    empty: Json = {"node": None, "rows": [], "levels": []}
    box = show(panels, panel, empty)
    assert press(panels, button) == says
    assert panels.sent == [(command, args)]
    panels.patch({panel: {"=": {**IDLE, **empty, "step": "Without it", "at": 2, "of": 4}}})
    panels.settle()
    assert "Without it … (step 2 of 4)" in box.get_by_role("status").inner_text()
    assert box.get_by_role("progressbar").get_attribute("aria-valuenow") == "2"
    assert press(panels, button) == "Cancel"
    assert panels.sent[1:] == [(cancel, {})]
    error = {"code": "x", "message": "It does not run here.", "where": [], "hint": "choose another target"}
    panels.patch({panel: {"=": {**IDLE, **empty, "error": error}}})
    panels.settle()
    assert "choose another target" in box.get_by_role("alert").inner_text()


def test_steps_with_what_they_are_worth(panels: Panels) -> None:
    box = show(panels, "leave_one_out", {"node": 2, "rows": WITHOUT})
    rows = box.locator("tbody tr").evaluate_all("rows => rows.map(r => [...r.cells].map(c => c.textContent))")
    assert rows[0] == ["0", "split('i', [None, 4])", "not timed: step 1 needs it"]
    assert rows[1] == ["1", "vectorize('j')", "5.00 / 2.00", "2.50× slower", "", "99.9\u00a0%", "sure"]
    assert rows[2][5:] == ["", "take the same time"], "nothing is sure, and nothing is marked as slower"
    assert box.locator("tbody tr").nth(2).locator(".swb-careful").count() == 0
    written = {**HISTORY, "at": 0, "path": [0]}
    show(panels, "leave_one_out", {"node": 2, "rows": []}, written)
    panels.page.evaluate("kernel.sent.length = 0")
    press(panels, "measure-steps")
    assert panels.sent == []
    assert "no step was taken" in str(panels.page.locator("[data-swb-do=measure-steps]").get_attribute("title"))


def test_variants_are_sorted_and_left_out(panels: Panels) -> None:
    box = show(panels, "comparison", {"levels": LEVELS, "rows": ROWS})

    def order() -> list[str]:
        return [str(text).split()[0] for text in box.locator("tbody tr td:first-child").all_inner_texts()]

    assert order() == ["v2", "v0", "v1"]  # one without a time comes last
    assert "build error" in box.locator("tbody tr").last.inner_text()
    assert "v1: no" in box.inner_text()
    assert "v2 is twice as fast as v0, sure" in box.locator("tbody tr").nth(1).inner_text()
    head = box.get_by_role("button", name="L1 misses")
    head.focus()
    panels.page.keyboard.press("Enter")
    panels.settle()
    assert order() == ["v0", "v2", "v1"]
    assert box.locator("th[aria-sort]").inner_text().startswith("L1 misses")
    box.get_by_role("checkbox").first.focus()
    panels.page.keyboard.press("Space")
    assert press(panels, "compare-variants") == "Compare 2 variants"
    assert panels.sent == [("compare_variants", {"nodes": [1, 2]})]
    box.get_by_role("button", name="v0").focus()
    panels.page.keyboard.press("Enter")
    assert panels.sent[-1] == ("goto", {"step": 0})


def test_marks_are_of_one_task(panels: Panels) -> None:
    box = show(panels, "comparison", {"levels": LEVELS, "rows": ROWS})
    button = panels.page.locator("[data-swb-do=compare-variants]")
    box.get_by_role("checkbox").first.click()
    assert button.inner_text() == "Compare 2 variants"
    head = states.state()["head"]
    panels.patch({"head": {"=": {**head, "name": "renamed"}}})
    panels.settle()
    assert button.inner_text() == "Compare 2 variants"
    panels.patch({"head": {"=": {**head, "task": head["task"] + 1}}})
    panels.settle()
    assert button.inner_text() == "Compare 3 variants"


def test_those_that_were_measured_are_chosen_at_first_and_all_or_none_by_one_press(panels: Panels) -> None:
    rows = [{**row, "ms": 1.0 if row["id"] != 1 else None, "holes": 0} for row in HISTORY["rows"]]
    box = show(panels, "comparison", {"levels": LEVELS, "rows": []}, {**HISTORY, "rows": rows})
    button = panels.page.locator("[data-swb-do=compare-variants]")
    assert button.inner_text() == "Compare 2 variants"
    box.get_by_role("button", name="all").click()
    assert button.inner_text() == "Compare 3 variants"
    box.get_by_role("button", name="none").click()
    assert button.get_attribute("aria-disabled") == "true"
    box.get_by_role("checkbox").nth(1).click()
    box.get_by_role("checkbox").nth(2).click()
    assert press(panels, "compare-variants") == "Compare 2 variants"
    assert panels.sent == [("compare_variants", {"nodes": [1, 2]})]


def test_a_column_that_goes_leaves_the_order_of_times(panels: Panels) -> None:
    box = show(panels, "comparison", {"levels": LEVELS, "rows": ROWS})
    box.get_by_role("button", name="L1 misses").click()
    panels.settle()
    rows = [{**row, "misses": []} for row in ROWS]
    panels.patch({"comparison": {"=": {**IDLE, "levels": [], "rows": rows}}})
    panels.settle()
    first = box.locator("tbody tr td:first-child").all_inner_texts()
    assert [text.split()[0] for text in first] == ["v2", "v0", "v1"]
    assert box.locator("th[aria-sort]").inner_text().startswith("ms")


def test_variants_with_the_same_pictures_keep_their_names(panels: Panels) -> None:
    target = Target("llvm", cpu="haswell", triple="x86_64-unknown-linux-gnu")
    func, levels = workloads.matmul(8, 8, 8), checked(levels_of(target))
    made = [Films([(f"v{k}", func, target, levels)]) for k in (1, 2)]
    answers = [{"films": one.about, "pictures": b64encode(one.pictures).decode()} for one in made]
    assert answers[0]["pictures"] == answers[1]["pictures"]
    panels.page.evaluate(
        """answers => { kernel.answers = {
            get cache() { return { ok: true, value: answers[kernel.asked.at(-1)[1].nodes[0] - 1] }; }
        }; }""",
        answers,
    )
    panels.open("cache", states.state(history={**HISTORY, "at": 1, "path": [0, 1]}))
    box = panels.page.locator(".swb-cache")
    box.get_by_role("region", name="v1", exact=True).wait_for()
    panels.patch({"history": {"=": HISTORY}})
    box.get_by_role("region", name="v2", exact=True).wait_for(timeout=5000)
    assert box.get_by_role("region", name="v1", exact=True).count() == 0
