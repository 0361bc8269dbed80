"""The whole flow by keyboard alone, and what a screen reader is told on the way. No mouse, no clicks by script."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from browser.driver import Notebook, new_notebook, tiny_model
from browser.view import LONG, View

ACTIVE = """() => { const e = document.activeElement; return {
    inside: !!e.closest('.swb'), role: e.getAttribute('role') ?? e.tagName.toLowerCase(), row: e.dataset.row ?? '',
    label: e.getAttribute('aria-label') ?? e.textContent.trim(), item: e.dataset.swbItem ?? '',
    action: e.dataset.action ?? '', value: e.dataset.value ?? '', tab: e.dataset.swbTab ?? '', tag: e.tagName }; }"""

NETWORK = "import workbench as wb; w = wb.Workbench('tiny.onnx', log='{0}'); w"
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
        told = f"() => {{ const e = document.activeElement; return !!({condition}); }}"
        try:
            self.page.wait_for_function(told, timeout=LONG / 2, polling=50)
        except Exception as error:
            raise AssertionError(f"waited for {condition}; the focus is on {self.active()}") from error
        return self.active()


def typed(page: Any, address: str, folder: Path, name: str, code: str = CODE) -> Keys:
    """Open a notebook, type a cell and run it, all by keyboard."""
    notebook = Notebook(page, address).open(new_notebook(folder / f"{name}.ipynb"))
    keys = Keys(page, View(notebook))
    keys.wait("e.closest('.jp-Notebook')")
    keys.press("Enter")
    keys.wait("e.closest('.cm-editor')")
    page.keyboard.type(code.format(f"{name}.tunelog.jsonl"))
    keys.press("Control+Enter")
    keys.view.wait()
    return keys


class Flow:
    """The way through a workbench, one method for each part of it."""

    def __init__(self, keys: Keys) -> None:
        self.keys, self.view = keys, keys.view

    def model_to_task(self) -> None:
        """Find a kernel in the graph and open its task."""
        keys, view = self.keys, self.view
        view.find("[data-node]").first.wait_for(timeout=LONG)  # keys find nothing in a graph that is not drawn yet
        keys.press("/")
        assert keys.wait("e.matches('input[type=search]')")["label"].startswith("Find a node")
        keys.page.keyboard.type("16→32")
        view.see(".swb-search [role=status]", " found")
        keys.press("Enter", "ArrowDown")
        node = keys.wait("e.matches('[data-node]')")
        assert node["role"] == "button"
        assert "conv 3×3 16→32" in node["label"]
        keys.press("Enter")
        view.see(".swb-crumb b", "conv2d 3x3 16→32 @24x24 + relu")
        assert view.find("[data-node][aria-current=true]").count() >= 1

    def walk_the_nest(self) -> None:
        """Rows, one tab stop, levels; folding by arrows; typing the name of a loop."""
        keys, view = self.keys, self.view
        assert keys.press("n")["role"] == "row"
        assert view.find(".swb-nest [role=treegrid]").get_attribute("aria-label") == "Loop nest"
        keys.press("Home")
        row = keys.until("ArrowDown", "e.ariaLabel?.startsWith('loop o, extent 32')")
        keys.wait("e.matches('[role=row][aria-selected=true]')")
        assert view.find(".swb-nest [aria-selected=true]").count() == 1
        assert view.find(".swb-nest [data-row][tabindex='0']").count() == 1, "one tab stop in the nest"
        assert view.find(f"[data-row='{row['row']}']").get_attribute("aria-level") == "4"
        view.see(".swb-pal-head", re.compile(r"^o\b"))
        keys.press("ArrowLeft")
        assert view.find(f"[data-row='{row['row']}']").get_attribute("aria-expanded") == "false"
        keys.press("ArrowRight")
        assert view.find(f"[data-row='{row['row']}']").get_attribute("aria-expanded") == "true"
        assert "o" in view.see(".swb-accesses caption").inner_text()

    def preview_and_apply(self) -> None:
        """Open a form, look at what it would make of the nest, take the step."""
        keys, view = self.keys, self.view
        assert keys.press("Enter")["item"], "Enter leads to the palette"
        keys.until("ArrowUp", "e.matches('[data-swb-legal][data-swb-item=split]')")
        keys.press("Enter")
        assert view.item("split").get_attribute("aria-expanded") == "true"
        view.see("form[aria-label=split]")
        keys.wait("e.matches('form[aria-label=split] .swb-size')")
        keys.until("Shift+Tab", "e.matches('[role=radio]')")
        chosen = keys.until("ArrowRight", "e.dataset.value === '8'")
        assert chosen["role"] == "radio"
        assert view.find("form[aria-label=split] [role=radio][aria-checked=true]").inner_text() == "8"
        view.see("form[aria-label=split] .swb-equation", re.compile(r"o\.1 8"))
        view.see(".swb-nest [role=status]", "preview of")
        assert view.find(".swb-nest .is-ghost[data-row='o.1']").count() == 1
        keys.press("Enter")
        view.see("button[data-step='1'][aria-current=step]")
        view.loop("o.1").wait_for()
        assert view.find(".swb-nest .is-ghost").count() == 0
        assert keys.wait("e.closest('.swb-nest')")["role"] == "row", "the focus goes back to the nest"

    def refusal(self) -> None:
        """What is not legal can be reached, says why, and shows two iterations that disagree."""
        keys, view = self.keys, self.view
        keys.press("n")
        keys.until("ArrowDown", "e.ariaLabel?.startsWith('loop c, extent 16')")
        view.see(".swb-pal-head", re.compile(r"^c\b"))
        keys.press("p")
        refused = keys.until("ArrowDown", "e.matches('[data-swb-item=vectorize]')")
        assert view.item("vectorize").get_attribute("aria-disabled") == "true"
        assert re.match("vectorize, not legal here: Loop 'c' carries the reduction", refused["label"]), refused
        keys.press("Enter")
        box = view.see("[role=dialog][aria-label^=vectorize]")
        assert "conv[" in box.inner_text()
        keys.press("Escape")
        box.wait_for(state="detached")
        assert keys.active()["inside"], "the focus stays in the widget"

    def branch(self) -> None:
        """A step from an earlier variant begins a branch; it is named, and found in the tree."""
        keys, view = self.keys, self.view
        for undo, redo in (("Control+z", "Control+Shift+z"), ("[", "]")):
            keys.press(undo)
            view.see("button[data-step='0'][aria-current=step]")
            assert keys.active()["inside"], "the focus stays in the widget"
            keys.press(redo)
            view.see("button[data-step='1'][aria-current=step]")
        keys.press("[")
        view.see("button[data-step='0'][aria-current=step]")
        keys.press("n", "Home")
        keys.until("ArrowDown", "e.ariaLabel?.startsWith('loop h, extent 24')")
        view.see(".swb-pal-head", re.compile(r"^h\b"))
        keys.press("p", "Home")
        keys.until("ArrowDown", "e.matches('[data-swb-legal][data-swb-item=split]')")
        keys.press("Enter")
        keys.wait("e.matches('form[aria-label=split] .swb-size')")
        keys.press("6", "Enter")
        view.see("button[data-step='2'][aria-current=step]")
        assert view.find("[role=tree][aria-label=Variants] [role=treeitem]").count() == 3
        levels = [view.find(f"[role=treeitem][data-step='{n}']").get_attribute("aria-level") for n in (0, 1, 2)]
        assert levels == ["1", "2", "2"], "two branches of one variant"
        keys.press("v")
        assert keys.wait("e.matches('[role=treeitem]')")["role"] == "treeitem"
        assert view.find("[role=treeitem][tabindex='0']").count() == 1, "one tab stop in the tree"
        keys.press("s")
        view.see("[role=treeitem][data-step='2']", "★")

    def difference_and_code(self) -> None:
        """The two branches beside each other; then the code, whose lines know their loops."""
        keys, view = self.keys, self.view
        keys.press("v")
        keys.wait("e.dataset.step === '2'")
        keys.press("Shift+Enter")
        keys.until("ArrowUp", "e.dataset.step === '1'")
        keys.press("Shift+Enter")
        assert view.find("[role=treeitem][aria-selected=true]").count() == 2
        keys.press("d")
        view.see("[role=tab][data-swb-tab=diff][aria-selected=true]")
        view.see(".swb-diff [role=listbox] [role=option]")
        assert "changed row" in view.see(".swb-diff").inner_text()
        keys.press("c")
        view.see("[role=tab][data-swb-tab=code][aria-selected=true]")
        lines = view.see(".swb-code-panel [role=listbox]")
        assert "for" in lines.inner_text()
        keys.back()
        keys.press("n")
        view.see("[role=tab][data-swb-tab=nest][aria-selected=true]")

    def tune(self) -> None:
        """Start, pause, resume and stop."""
        keys, view = self.keys, self.view
        keys.back()
        keys.press("t")
        view.see("[role=tab][data-swb-tab=tuning][aria-selected=true]")
        assert keys.wait("e.dataset.action === 'start'")["action"] == "start"
        keys.press("Enter")
        view.state("Running")
        bar = view.find("[role=progressbar]")
        assert (bar.get_attribute("aria-valuemin"), bar.get_attribute("aria-valuemax")) == ("0", "100")
        view.notebook.poll("() => Number(document.querySelector('.swb [role=progressbar]').ariaValueNow) > 0", LONG)
        assert "trials" in str(bar.get_attribute("aria-valuetext"))
        keys.back()
        keys.press("t")
        view.state("Paused")
        assert keys.active()["inside"]
        keys.press("t")
        view.state("Running")
        keys.until("Tab", "e.dataset.action === 'stop'")
        keys.press("Enter")
        view.see(".swb-tuning-state", re.compile("^Stopped$"))
        adopt = view.find("[data-action=adopt]")
        assert adopt.get_attribute("aria-disabled") in ("false", None)

    def open_a_trial(self) -> None:
        """The best trial becomes a branch; the keyboard lands in its nest."""
        keys, view = self.keys, self.view
        keys.back()
        keys.until("Tab", "/^(trial )?\\d+$/.test(e.textContent) && e.closest('.swb-slot-tuning')")
        keys.press("Enter")
        view.see("[role=tab][data-swb-tab=schedule][aria-selected=true]")
        keys.wait("e.closest('.swb-nest')")
        label = str(view.see("[role=treeitem][aria-current=step]").get_attribute("aria-label"))
        assert re.search(r"\btrial \d+", label), "the default schedule's is not the tuner's"

    def export(self) -> None:
        """A script is saved; the focus returns to where it was."""
        keys, view = self.keys, self.view
        keys.press("e")
        view.find("dialog[open][aria-label=Export]").wait_for()
        assert keys.active()["label"] == "Python script"
        with keys.page.expect_download() as waiting:
            keys.press("Enter")
        assert Path(waiting.value.path()).read_text().startswith("# tiny")
        view.see(".swb-export [role=status]", "Saved ")
        keys.press("Escape")
        view.find("dialog[open]").wait_for(state="detached")
        assert keys.active()["inside"]

    def sheet(self) -> None:
        """All keys on one sheet."""
        keys, view = self.keys, self.view
        keys.press("?")
        sheet = view.find("dialog[open][aria-label=Keyboard]")
        sheet.wait_for()
        told = sheet.inner_text()
        assert all(word in told for word in ("palette", "code", "diff", "variants", "export", "measure"))
        keys.press("Escape")
        view.find("dialog[open]").wait_for(state="detached")
        assert keys.active()["inside"]

    def leave(self) -> None:
        """What cannot be pressed says why; Escape stays in the view, and Shift Tab leaves it."""
        keys, view = self.keys, self.view
        redo = view.find("[data-swb-do=redo]")
        assert redo.get_attribute("aria-disabled") == "true"
        assert "no step to redo" in str(redo.get_attribute("title")), "what cannot be pressed says why"
        keys.press("Escape", "Escape")
        assert keys.wait("e.matches('.swb')"), "what is typed next is no command to the cell"
        keys.press("Shift+Tab")
        assert not keys.active()["inside"]


@pytest.mark.checks
def test_the_flow_by_keyboard(page: Any, address: str, lab_folder: Path) -> None:
    tiny_model(lab_folder / "tiny.onnx")
    keys = typed(page, address, lab_folder, "keys", NETWORK)
    assert keys.until("Tab", "e.closest('.swb')")["inside"], "the widget is reached from the cell"
    flow = Flow(keys)
    flow.model_to_task()
    flow.walk_the_nest()
    flow.preview_and_apply()
    flow.refusal()
    flow.branch()
    flow.difference_and_code()
    flow.sheet()
    flow.tune()
    flow.open_a_trial()
    flow.export()
    flow.leave()


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
    keys.view.state("Stopped")
    assert keys.active()["inside"]
