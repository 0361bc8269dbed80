"""The workbench of a notebook in a panel beside it: the same widget, back after the page was loaded again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from browser.driver import Notebook, new_notebook

SHOWN = """() => { const panel = document.querySelector('.jp-ScheduleWorkbenchPanel .swb');
    return !!panel?.querySelector('.swb-nest [data-row]') && panel.checkVisibility(); }"""
STEPS = "() => [...document.querySelectorAll('.swb')].map(one => one.querySelectorAll('.swb-step').length)"
CODE = "import workbench as wb\nw = wb.Workbench(wb.Schedule(wb.workloads.matmul(32, 32, 32)), auto_measure=False)\nw"
WIDTH = "s => document.querySelector(s).getBoundingClientRect().width"


def shown(page: Any, address: str, folder: Path, name: str) -> tuple[Notebook, int]:
    """Open a new notebook with a workbench in a JupyterLab whose layout is kept."""
    page.goto(f"{address}/lab?reset")
    page.wait_for_selector(".jp-DirListing-item, .jp-Launcher", timeout=60_000)
    notebook = Notebook(page, address)
    page.cleared = address
    notebook.open(new_notebook(folder / name))
    cell = notebook.code(CODE)
    page.wait_for_selector(".swb-nest [data-row]", timeout=60_000)
    return notebook, cell


def test_the_workbench_goes_into_a_panel_and_is_there_after_a_reload(page: Any, address: str, folder: Path) -> None:
    shown(page, address, folder, "beside.ipynb")
    page.locator("[data-swb-do=panel]").click()
    page.wait_for_function(SHOWN, timeout=100_000)
    assert page.locator(".jp-ScheduleWorkbenchPanel [data-swb-do=panel]:visible").count() == 0, "it is in one"
    tab = page.locator(".lm-DockPanel-tabBar .lm-TabBar-tab", has_text="beside")
    assert tab.count() == 2, "the notebook's and its own"
    page.locator(".jp-ScheduleWorkbenchPanel .swb-nest [data-row='i']").click()
    page.wait_for_function(
        "() => new Set([...document.querySelectorAll('.swb-pal-head')].map(e => e.innerText)).size === 1"
    )
    page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save-all')")
    page.wait_for_timeout(1500)  # the layout is saved a while after it has changed
    page.goto(f"{address}/lab")
    page.wait_for_function(SHOWN, timeout=60_000)
    page.locator(".jp-ScheduleWorkbenchPanel .swb-nest [data-row='j']").click()
    page.wait_for_function(
        "() => document.querySelector('.jp-ScheduleWorkbenchPanel .swb-pal-head').innerText[0] === 'j'"
    )
    assert page.locator(".jp-ScheduleWorkbenchPanel").count() == 1


FOCUS = "() => !!document.activeElement.closest('.jp-ScheduleWorkbenchPanel .swb-nest [role=row]')"
PLACES = """() => [...window.jupyterapp.shell.widgets('main')].filter(one => one.isVisible)
    .map(one => one.node.getBoundingClientRect().width)"""
"""Widths of what is on the screen."""


def test_the_panel_has_the_whole_width_and_the_keyboard(page: Any, address: str, folder: Path) -> None:
    """Opened by the keyboard, and when the page is loaded again: every key means something at once."""
    shown(page, address, folder, "keys.ipynb")
    page.locator("[data-swb-do=panel]").focus()
    page.keyboard.press("Enter")
    page.wait_for_function(SHOWN, timeout=100_000)
    page.wait_for_function(FOCUS)
    [width] = page.evaluate(PLACES)
    assert width > 0.7 * page.viewport_size["width"], "over the notebook, not beside it"
    page.keyboard.press("?")
    page.locator(".jp-ScheduleWorkbenchPanel .swb-sheet[open]").wait_for()
    page.keyboard.press("Escape")
    page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save-all')")
    page.wait_for_timeout(1500)  # the layout is saved a while after it has changed
    page.goto(f"{address}/lab")
    page.wait_for_function(SHOWN, timeout=60_000)
    page.wait_for_function(FOCUS)


def test_a_narrow_area_is_not_split_again(page: Any, address: str, folder: Path) -> None:
    shown(page, address, folder, "split.ipynb")
    before = page.viewport_size
    beside = "placement => window.jupyterapp.commands.execute('schedule-workbench:panel', { placement })"
    try:
        page.set_viewport_size({"width": 1100, "height": 900})
        page.wait_for_function(f"() => ({PLACES})().every(width => width < 1000)")
        page.evaluate(beside, "right")
        page.wait_for_function(SHOWN, timeout=100_000)
        assert len(page.evaluate(PLACES)) == 1, "a tab over the notebook"
        page.evaluate("""() => [...window.jupyterapp.shell.widgets('main')].find(one => one.isVisible).dispose()""")
        page.set_viewport_size({"width": 1900, "height": 900})
        page.wait_for_function(f"() => ({PLACES})().some(width => width > 1000)")
        page.evaluate(beside, "right")
        page.wait_for_function(SHOWN, timeout=100_000)
        assert len(page.evaluate(PLACES)) == 2, "both are on the screen"
    finally:
        page.set_viewport_size(before)


@pytest.mark.checks
def test_the_panel_follows_its_cell_and_goes_with_its_notebook(page: Any, address: str, folder: Path) -> None:
    notebook, cell = shown(page, address, folder, "follow.ipynb")
    page.evaluate("() => window.jupyterapp.commands.execute('schedule-workbench:panel')")
    page.wait_for_function(SHOWN, timeout=100_000)
    page.evaluate(
        """i => { const { shell } = window.jupyterapp;
        const notebook = [...shell.widgets('main')].find(one => one.sessionContext);
        shell.activateById(notebook.id);
        notebook.content.widgets[i].model.sharedModel.setSource(
            notebook.content.widgets[i].model.sharedModel.source.replace('32, 32, 32', '48, 32, 32'));
        notebook.content.activeCellIndex = i; }""",
        cell,
    )
    notebook.run(cell)
    page.wait_for_function(
        "() => document.querySelector('.jp-ScheduleWorkbenchPanel .swb-crumb')?.innerText.includes('48')",
        timeout=100_000,
    )
    page.evaluate("() => [...window.jupyterapp.shell.widgets('main')].find(one => one.sessionContext).dispose()")
    assert page.locator(".jp-ScheduleWorkbenchPanel").count() == 0
