"""Logs of any tuner in a real JupyterLab, without a kernel: by double click, pasted, damaged, cancelled."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from .conftest import ROOT, open_lab

LOG = ROOT / "tests" / "data" / "logs" / "kernel-tuner" / "convolution_milo-A100.json.gz"
MARKUP = "<img src='x' onerror='window.broken = 1'>"
PRINTED = f"""
W1123 10:00:00 torch/_inductor: {MARKUP}
AUTOTUNE mm(64x64, 64x64)
  triton_mm_1 0.0215 ms 100.0% BLOCK_K=32, num_warps=8
  triton_mm_2 0.0225 ms 95.5% BLOCK_K="{MARKUP}", num_warps=4
  mm 0.0234 ms 91.8%
"""
LONG = 40_000
KERNELS = "() => window.jupyterapp.serviceManager.kernels.runningCount"
OPEN = """path => { window.jupyterapp.commands.execute('docmanager:open', { path, factory: 'Log explorer' }); }"""


def shown(page: Any) -> Any:
    """The viewer that is on show, once the log is read."""
    view = page.locator(".jp-ScheduleWorkbenchLog:visible")
    view.locator("[data-swx=chosen]").wait_for(timeout=LONG)
    return view


def test_a_packed_log_opens_by_double_click_and_answers_without_a_kernel(page: Any, address: str, folder: Path) -> None:
    shutil.copy(LOG, folder)
    open_lab(page, address)
    page.errors.clear()
    page.locator(".jp-DirListing-item", has_text=LOG.name).dblclick()
    view = shown(page)
    assert "4201" in "".join(c for c in view.locator("[data-swx-status=ok]").inner_text() if c.isdigit())
    assert "0.5536" in view.locator("[data-swx=best-record]").inner_text()
    view.locator("[data-swx=filter]").fill('block_size_x == 32 and status != "ok"')
    page.keyboard.press("Enter")
    first = view.locator("tr[data-swx-record]").first
    first.click()
    view.locator(".swx-detail", has_text="did not").or_(view.locator(".swx-detail", has_text="failed")).wait_for()
    view.locator("[data-swx-tab=failures]").click()
    view.locator(".swx-figure .js-plotly-plot").wait_for(timeout=LONG)
    assert page.evaluate(KERNELS) == 0
    assert page.errors == []


@pytest.mark.checks
def test_a_notebook_goes_on(page: Any, address: str, folder: Path) -> None:
    shutil.copy(LOG, folder)
    open_lab(page, address)
    page.evaluate(OPEN, LOG.name)
    view = shown(page)
    view.get_by_role("button", name="Explore in a notebook").click()
    page.locator(".jp-NotebookPanel [data-swx=chosen]").wait_for(timeout=LONG)
    made = json.loads((folder / f"{LOG.name} explored.ipynb").read_text())
    assert f'wb.logs.open("{LOG.name}")' in "".join(made["cells"][0]["source"])
    assert "".join(made["cells"][1]["source"]) == "wb.LogExplorer(log)"


@pytest.mark.checks
def test_marked_files_are_compared_in_a_notebook(page: Any, address: str, folder: Path) -> None:
    names = ["first.json.gz", "second.json.gz"]
    for name, device in zip(names, ("A100", "A4000"), strict=True):
        shutil.copy(LOG.with_name(f"convolution_milo-{device}.json.gz"), folder / name)
    open_lab(page, address)
    page.locator(".jp-DirListing-item", has_text=names[0]).click(button="right")
    page.locator(".lm-Menu-item", has_text="Rename").wait_for()
    assert not page.locator(".lm-Menu-item", has_text="Explore Logs Together").is_visible()
    page.keyboard.press("Escape")
    page.locator(".jp-DirListing-item", has_text=names[0]).click()
    page.locator(".jp-DirListing-item", has_text=names[1]).click(modifiers=["Control"])
    page.locator(".jp-DirListing-item", has_text=names[1]).click(button="right")
    page.locator(".lm-Menu-item", has_text="Explore Logs Together").click()
    page.locator(".jp-NotebookPanel [data-swx-tab=compare]").click(timeout=LONG)
    page.locator(".swx-finding", has_text="The first run wins, 0.5536 ms against 1.021 ms").wait_for(timeout=LONG)
    (folder / "Logs explored.ipynb").unlink()


@pytest.mark.checks
def test_a_printed_table_is_pasted_with_the_keyboard_alone(page: Any, address: str, folder: Path) -> None:
    (folder / "any.txt").touch()
    open_lab(page, address)
    page.evaluate("() => { window.jupyterapp.commands.execute('schedule-workbench:paste-log'); }")
    page.wait_for_selector("textarea:focus")
    page.keyboard.insert_text("nothing that is known")
    page.keyboard.press("Control+Enter")
    page.locator("[role=alert]:visible", has_text="No tuner writes such a log").wait_for(timeout=LONG)
    page.wait_for_selector("textarea:focus")  # the text is still there, to be changed
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(PRINTED)
    page.keyboard.press("Control+Enter")
    view = shown(page)
    assert "inductor" in view.inner_text()
    assert "3 of 3 chosen" in view.inner_text()
    assert not page.evaluate("window.broken")


@pytest.mark.checks
def test_damage_is_told_by_its_line_and_reading_can_be_cancelled(page: Any, address: str, folder: Path) -> None:
    good = {
        "input": ["llvm", f"dense{MARKUP}", [["TENSOR", [8, 8], "float32"]], {}],
        "config": {"index": 1, "code_hash": "", "entity": [[f"tile{MARKUP}", "ot", 1]]},
        "result": [[1e-3], 0, 1.0, 100.0],
        "version": 0.2,
    }
    other = {**good, "input": ["llvm", "conv2d", [["TENSOR", [4, 4], "float32"]], {}]}
    lines = [json.dumps(good), json.dumps(other)]
    (folder / "torn.log").write_text("\n".join([*lines, *["{torn <b>"] * 5, ""]))
    open_lab(page, address)
    page.errors.clear()
    page.evaluate(OPEN, "torn.log")
    view = shown(page)
    view.locator("summary", has_text="5 damaged places, left out").press("Enter")
    assert "line 7: no record of AutoTVM" in view.inner_text()
    assert "2 tasks with the best of each" in view.inner_text()
    assert not page.evaluate("window.broken")
    page.evaluate("() => window.jupyterapp.shell.currentWidget.dispose()")
    page.evaluate(OPEN, "torn.log")
    page.get_by_role("button", name="Cancel").click()
    page.locator(".swbl-note:visible", has_text="was not read").wait_for()
    page.get_by_role("button", name="Read it again").click()
    shown(page)
    assert page.errors == []
