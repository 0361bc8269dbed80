"""The dialog with what can be taken away, by keyboard and by pointer; files are made in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from .conftest import Bench

ARGUMENTS = {
    "Python script": {"what": "script", "theme": "light"},
    "Steps": {"what": "trace", "theme": "light"},
    "Page": {"what": "html", "theme": "auto", "charts": True},
    "Variants": {"what": "csv", "theme": "light", "panel": "variants"},
    "Trials": {"what": "csv", "theme": "light", "panel": "trials"},
    "SVG": {"what": "svg", "theme": "light", "panel": "nest"},
}
FILES = {
    "Python script": "v7.py", "Steps": "v7.json", "Page": "page.html", "Variants": "variants.csv",
    "Trials": "trials.csv", "SVG": "nest.svg",
}  # fmt: skip


def saved(bench: Bench, label: str) -> Path:
    with bench.page.expect_download() as waiting:
        bench.click(f".swb-export button:text-is('{label}')")
    found: Any = waiting.value
    assert found.suggested_filename
    return Path(found.path()).rename(Path(found.path()).with_name(found.suggested_filename))


@pytest.mark.parametrize("label", ARGUMENTS)
def test_every_kind_is_asked_for_and_saved(bench: Bench, label: str) -> None:
    bench.open()
    bench.click("[data-swb-do=export]")
    path = saved(bench, label)
    assert path.name == FILES[label]
    assert path.read_bytes()
    (asked,) = [m["args"] for m in bench.sent("ask") if m["q"] == "export"]
    assert asked == ARGUMENTS[label]
    bench.wait_for(f"document.querySelector('.swb-export-said').textContent.startsWith('Saved {path.name}: ')")


def test_pixels_are_made_of_the_drawing(bench: Bench) -> None:
    bench.open(theme="dark")
    bench.click("[data-swb-do=export]")
    bench.page.select_option(".swb-export select", "stages")
    path = saved(bench, "PNG")
    assert path.name == "stages.png"
    head = path.read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    assert (int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")) == (80, 40)  # twice as many
    (asked,) = [m["args"] for m in bench.sent("ask") if m["q"] == "export"]
    assert asked == {"what": "svg", "theme": "dark", "panel": "stages"}


def test_by_keyboard_and_back(bench: Bench) -> None:
    page = bench.open().page
    page.focus("[data-row='c']")
    page.keyboard.press("e")
    dialog = page.get_by_role("dialog", name="Export")
    dialog.wait_for()
    assert page.evaluate("document.activeElement.textContent") == "Python script"
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.textContent") == "Steps"
    with page.expect_download():
        page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    dialog.wait_for(state="detached")
    assert bench.focused("data-row") == "c"


def test_only_what_there_is_is_on_offer(bench: Bench) -> None:
    page = bench.open(fixture="matmul").page
    bench.click("[data-swb-do=export]")
    assert page.locator(".swb-export button:text-is('Tasks')").count() == 0
    drawings = page.eval_on_selector_all(".swb-export option", "all => all.map(e => e.value)")
    assert drawings == ["nest", "variants", "stages"]


def test_a_refusal_is_told_where_one_looks(bench: Bench) -> None:
    page = bench.open().page
    error = {"code": "x", "message": "There is no schedule", "where": [], "hint": "open a task"}
    refusal = {"q": "export", "args": {"theme": "light", "what": "script"}, "answer": {"ok": False, "error": error}}
    page.evaluate("refusal => { kernel.answers.push(refusal); }", refusal)
    bench.click("[data-swb-do=export]")
    bench.click(".swb-export button:text-is('Python script')")
    bench.wait_for("document.querySelector('.swb-export-said').textContent === 'There is no schedule. Open a task.'")


def test_without_a_kernel_the_buttons_say_so(bench: Bench) -> None:
    page = bench.open("dead").page
    bench.click("[data-swb-do=export]")
    button = page.locator(".swb-export button:text-is('Python script')")
    assert button.get_attribute("aria-disabled") == "true"
    assert "kernel" in (button.get_attribute("title") or "")
