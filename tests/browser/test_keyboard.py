"""The whole flow by keyboard alone, and what a screen reader is told on the way. No mouse, no clicks by script."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from browser.driver import Notebook, new_notebook
from browser.view import LONG, View

ACTIVE = """() => { const e = document.activeElement; return {
    inside: !!e.closest('.swb'), role: e.getAttribute('role') ?? e.tagName.toLowerCase(), row: e.dataset.row ?? '',
    label: e.getAttribute('aria-label') ?? e.textContent.trim(), item: e.dataset.swbItem ?? '',
    action: e.dataset.action ?? '', value: e.dataset.value ?? '', tab: e.dataset.swbTab ?? '', tag: e.tagName }; }"""

CODE = "import workbench as wb; w = wb.Workbench(wb.workloads.matmul(64, 64, 64), log='{0}'); w"


class Keys:
    """The keyboard, and what has the focus."""

    def __init__(self, page: Any, view: View) -> None:
        self.page, self.view = page, view

    def press(self, *keys: str) -> dict[str, Any]:
        for key in keys:
            self.page.keyboard.press(key)
        return self.active()

    def active(self) -> dict[str, Any]:
        found: dict[str, Any] = self.page.evaluate(ACTIVE)
        return found

    def until(self, key: str, condition: str, most: int = 80) -> dict[str, Any]:
        """Press a key until a JavaScript condition on the focused element `e` is true."""
        for _ in range(most):
            if self.page.evaluate(f"() => {{ const e = document.activeElement; return !!({condition}); }}"):
                return self.active()
            self.page.keyboard.press(key)
        raise AssertionError(f"{most} times {key} did not lead to {condition}; the focus is on {self.active()}")

    def back(self) -> None:
        """Return to the widget when the focus has fallen out of it."""
        if not self.active()["inside"]:
            self.until("Tab", "e.closest('.swb')")

    def wait(self, condition: str) -> dict[str, Any]:
        """Wait until a JavaScript condition on the focused element `e` is true."""
        self.page.wait_for_function(
            f"() => {{ const e = document.activeElement; return !!({condition}); }}", timeout=LONG, polling=50
        )
        return self.active()


def typed(page: Any, address: str, folder: Path, name: str) -> Keys:
    """Open a notebook, type a cell and run it, all by keyboard."""
    notebook = Notebook(page, address).open(new_notebook(folder / f"{name}.ipynb"))
    keys = Keys(page, View(notebook))
    keys.wait("e.closest('.jp-Notebook')")
    keys.press("Enter")
    keys.wait("e.closest('.cm-editor')")
    page.keyboard.type(CODE.format(f"{name}.tunelog.jsonl"))
    keys.press("Control+Enter")
    keys.view.wait()
    return keys


def test_the_flow_by_keyboard(page: Any, address: str, lab_folder: Path) -> None:
    keys = typed(page, address, lab_folder, "keys")
    view, notebook = keys.view, keys.view.notebook

    # Reach the widget from the cell.
    assert keys.until("Tab", "e.closest('.swb')")["inside"]

    # Walk the nest.
    assert keys.press("n")["role"] == "row"
    assert view.find(".swb-nest [role=treegrid]").get_attribute("aria-label") == "Loop nest"
    assert keys.press("Home")["label"].startswith("loop i, extent 64")
    keys.press("ArrowDown")
    row = keys.wait("e.matches('[role=row][aria-selected=true]') && e.ariaLabel.startsWith('loop j')")
    assert view.find(".swb-nest [aria-selected=true]").count() == 1
    assert view.find(".swb-nest [data-row][tabindex='0']").count() == 1, "one tab stop in the nest"
    assert view.find(f"[data-row='{row['row']}']").get_attribute("aria-level") == "2"
    view.see(".swb-pal-head", re.compile(r"^j\b"))
    keys.press("ArrowLeft")
    assert view.find(f"[data-row='{row['row']}']").get_attribute("aria-expanded") == "false"
    keys.press("ArrowRight")
    assert view.find(f"[data-row='{row['row']}']").get_attribute("aria-expanded") == "true"

    # Illegal primitives can be reached, and say why.
    assert keys.press("Enter")["item"], "Enter leads to the palette"
    illegal = keys.until("ArrowDown", "e.matches('[data-swb-item=vectorize]')")
    assert view.item("vectorize").get_attribute("aria-disabled") == "true"
    assert re.match("vectorize, not legal here: Loop 'j' holds", illegal["label"]), illegal

    # Open a form, choose a factor, apply.
    keys.until("ArrowUp", "e.matches('[data-swb-legal][data-swb-item=split]')")
    keys.press("Enter")
    assert view.item("split").get_attribute("aria-expanded") == "true"
    view.see("form[aria-label=split]")
    keys.until("Tab", "e.matches('form[aria-label=split] [role=radio]')")
    chosen = keys.until("ArrowRight", "e.dataset.value === '16'")
    assert chosen["role"] == "radio"
    assert view.find("form[aria-label=split] [role=radio][aria-checked=true]").inner_text() == "16"
    view.see("form[aria-label=split] .swb-equation", re.compile(r"j\.1 16"))
    keys.press("Enter")
    view.see("button[data-step='1'][aria-current=step]")
    view.loop("j.1").wait_for()
    assert keys.wait("e.closest('.swb-nest')")["role"] == "row", "the focus goes back to the nest"

    # Undo, redo, in both ways.
    for undo, redo in (("Control+z", "Control+Shift+z"), ("[", "]")):
        keys.press(undo)
        view.see("button[data-step='0'][aria-current=step]")
        assert keys.active()["inside"], "the focus stays in the widget"
        keys.press(redo)
        view.see("button[data-step='1'][aria-current=step]")
    view.measured(1)

    # The sheet of keys.
    keys.press("?")
    view.find("dialog[open][aria-label=Keyboard]").wait_for()
    keys.press("Escape")
    view.find("dialog[open]").wait_for(state="detached")
    assert keys.active()["inside"]

    # Tune: start, pause, resume, stop.
    keys.press("t")
    view.see("[role=tab][data-swb-tab=tuning][aria-selected=true]")
    assert keys.wait("e.dataset.action === 'start'")["action"] == "start"
    keys.press("Enter")
    view.state("Running")
    bar = view.find("[role=progressbar]")
    assert (bar.get_attribute("aria-valuemin"), bar.get_attribute("aria-valuemax")) == ("0", "100")
    notebook.poll("() => Number(document.querySelector('.swb [role=progressbar]').ariaValueNow) > 0", LONG)
    assert "trials" in str(bar.get_attribute("aria-valuetext"))
    keys.back()
    keys.press("t")
    view.state("Paused")
    assert keys.active()["inside"]
    keys.press("t")
    view.state("Running")
    keys.until("Tab", "e.dataset.action === 'stop'")
    keys.press("Enter")
    view.see(".swb-tuning-state", re.compile("^Done$"))
    adopt = view.find("[data-action=adopt]")
    assert adopt.get_attribute("aria-disabled") in ("false", None)

    # Back to the first screen by the tabs, and out.
    keys.back()
    keys.until("Shift+Tab", "e.matches('[role=tab]')")
    keys.press("ArrowLeft")
    view.see("[role=tab][data-swb-tab=schedule][aria-selected=true]")
    measure = view.find("[data-swb-do=redo]")
    assert measure.get_attribute("aria-disabled") == "true"
    assert "no step to redo" in str(measure.get_attribute("title")), "what cannot be pressed says why"
    keys.press("Escape")
    assert not keys.active()["inside"]
    assert keys.wait("e.closest('.jp-Notebook')")


def test_the_focus_stays_when_start_and_stop_go(page: Any, address: str, lab_folder: Path) -> None:
    keys = typed(page, address, lab_folder, "focus")
    keys.until("Tab", "e.closest('.swb')")
    keys.press("t")
    keys.wait("e.dataset.action === 'start'")
    keys.press("Enter")
    keys.view.state("Running")
    assert keys.active()["inside"]
    keys.until("Tab", "e.dataset.action === 'stop'")
    keys.press("Enter")
    keys.view.state("Done")
    assert keys.active()["inside"]
