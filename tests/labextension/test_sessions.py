"""The sidebar of tuning sessions, with two kernels behind the address of a JupyterHub, in a real JupyterLab."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser.driver import Notebook, new_notebook
from session.test_opening import model

from .conftest import installed, jupyterlab

TUNE = """
import workbench as wb
task = wb.Task.of_func(wb.workloads.matmul({n}, 96, 96), wb.Target.host(threads=1))
session = wb.tune([task], trials=1000000, log='{name}.tunelog.jsonl', progress=False)
"""
STATE = """([title, states]) => [...document.querySelectorAll('.swbl-session')].some(
    one => one.innerText.startsWith(title) && states.includes(one.dataset.state))"""
SHOW = "() => window.jupyterapp.commands.execute('schedule-workbench:sessions')"
LATE = 120_000


@pytest.fixture(scope="module")
def hub(playwright: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A JupyterLab as JupyterHub serves it; its address and its folder."""
    share = installed(tmp_path_factory.mktemp("hub"))
    folder = share.parent / f"{share.name}-notebooks"
    folder.mkdir()
    with jupyterlab(folder, share, base="/user/x") as url:
        yield url, folder


def wait_state(page: Any, title: str, *states: str) -> None:
    page.wait_for_function(STATE, arg=[title, list(states)], timeout=LATE)


def picture(page: Any, name: str) -> None:
    """Keep a picture where somebody wants to look at it."""
    if folder := os.environ.get("WORKBENCH_PICTURES"):
        page.screenshot(path=f"{folder}/{name}.png")


def open_below(page: Any, address: str) -> None:
    page.goto(f"{address}/lab?reset")
    page.wait_for_selector(".jp-DirListing-item, .jp-Launcher", timeout=LATE)


@pytest.mark.checks
def test_two_kernels_are_seen_paused_and_stopped(page: Any, hub: tuple[str, Path]) -> None:
    address, folder = hub
    for name, n in (("one", 96), ("two", 64)):
        new_notebook(folder / f"{name}.ipynb")
        open_below(page, address)
        notebook = Notebook(page, address)
        page.cleared = address
        notebook.open(f"{name}.ipynb").say(TUNE.format(name=name, n=n))
    page.evaluate(SHOW)
    wait_state(page, "one.ipynb", "running")
    wait_state(page, "two.ipynb", "running")
    picture(page, "sessions")
    page.get_by_role("button", name="Pause one.ipynb").click()
    wait_state(page, "one.ipynb", "paused")
    wait_state(page, "two.ipynb", "running")

    page.goto(f"{address}/lab")
    page.wait_for_selector(".jp-NotebookPanel, .jp-Launcher", timeout=LATE)
    page.evaluate(SHOW)
    wait_state(page, "one.ipynb", "paused")
    page.get_by_role("button", name="Resume one.ipynb").click()
    wait_state(page, "one.ipynb", "running")
    page.get_by_role("button", name="Stop two.ipynb").click()
    wait_state(page, "two.ipynb", "done")
    page.locator(".jp-toast-message", has_text="two.ipynb: tuning is stopped").wait_for(timeout=LATE)
    picture(page, "sessions-stopped")

    page.evaluate("""async () => { const { kernels } = window.jupyterapp.serviceManager;
        for (const one of kernels.running()) await kernels.connectTo({ model: one }).restart(); }""")
    wait_state(page, "one.ipynb", "lost", "cancelled")
    picture(page, "sessions-ended")
    page.get_by_role("button", name="Dismiss two.ipynb").click()
    page.wait_for_function(f"asked => !({STATE})(asked)", arg=["two.ipynb", ["done"]], timeout=LATE)
    wait_state(page, "one.ipynb", "lost", "cancelled")  # those of kernels of other tests may stand there, too


@pytest.mark.checks
def test_a_model_opens_below_another_address(page: Any, hub: tuple[str, Path]) -> None:
    address, folder = hub
    model(folder / "m.onnx", ["batch", 64])
    open_below(page, address)
    page.locator(".jp-DirListing-item", has_text="m.onnx").dblclick()
    page.wait_for_selector(".swbl-model .swb-node", timeout=LATE)
    page.locator(".jp-DirListing-item", has_text="m.onnx").click(button="right")
    assert page.locator(".lm-Menu-itemLabel", has_text="Open in Schedule Workbench").count() == 1
    page.keyboard.press("Escape")


@pytest.mark.checks
def test_the_menu_opens_a_log_of_any_name(page: Any, hub: tuple[str, Path]) -> None:
    address, folder = hub
    (folder / "printed.txt").write_text("AUTOTUNE mm(64x64, 64x64)\n  mm 0.0234 ms 91.8%\n")
    open_below(page, address)
    page.locator(".jp-DirListing-item", has_text="printed.txt").click(button="right")
    page.locator(".lm-Menu-itemLabel", has_text="Open in Schedule Workbench").click()
    page.locator(".swbl-log .swx", has_text="inductor").first.wait_for(timeout=LATE)
