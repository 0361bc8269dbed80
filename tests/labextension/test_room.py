"""Sizes, themes and settings: the page of a model and the sidebar of sessions in a real JupyterLab."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser.faults import FAULTS, SCREENS, ZOOMS, shown_at

from workbench.tune.display import session_file

from .conftest import open_lab
from .test_any_log import LOG, shown
from .test_any_log import OPEN as EXPLORE
from .test_by_contents import EXPLORER
from .test_model import OPENED, PAGE, network, wait_drawn
from .test_own_model import go_to, item
from .test_sessions import SHOW, picture, wait_state

SIDEBAR = ".swbl-sessions:visible"
THEME = "theme => window.jupyterapp.commands.execute('apputils:change-theme', { theme: `JupyterLab ${theme}` })"
SET = """async ([plugin, name, value]) => {
    await window.jupyterapp.serviceManager.settings.save(plugin, JSON.stringify({ [name]: value })); }"""
OPEN = "schedule-workbench:open"
PLACES = "[...document.querySelectorAll('.swbl-session')]"
#: Whether the focus is where a session was: on what dismisses the next, else on its tasks.
IN_PLACE = f"""at => {{ const all = {PLACES}, next = all[Math.min(at, all.length - 1)];
    const wanted = next.querySelector('[aria-label^=Dismiss]') ?? next.querySelector('summary');
    return document.activeElement === wanted; }}"""
#: Change a setting as the editor of settings does; null resets it.
CHANGE = """async ([plugin, key, value]) => { const app = window.jupyterapp;
    const token = [...app.pluginRegistry._services.keys()].find(one => one.name.endsWith(':ISettingRegistry'));
    const registry = await app.resolveRequiredService(token);
    await (value === null ? registry.remove(plugin, key) : registry.set(plugin, key, value)); }"""
#: What a double click opens logs and models with.
USUAL = """() => ['a.tunelog.jsonl', 'a.onnx']
    .map(path => window.jupyterapp.docRegistry.defaultWidgetFactory(path).name)"""


@pytest.fixture
def sized(page: Any) -> Iterator[Any]:
    size = page.viewport_size
    yield page
    page.set_viewport_size(size)
    page.evaluate(THEME, "Light")


def nothing_is_cut(page: Any, selector: str, name: str) -> None:
    """On screens from 1000 to 2560 pixels, at 100 and 200 %."""
    for screen in SCREENS:
        for zoom in ZOOMS:
            with shown_at(page, screen, zoom) as width:
                page.wait_for_timeout(300)
                picture(page, f"{name}-{screen[0]}-{zoom}")
                assert page.locator(selector).evaluate(FAULTS) == [], (width, zoom)


def session(id: str, folder: Path, **told: Any) -> None:
    """Write what a kernel tells of a session."""
    one = {
        "pid": os.getpid(), "born": None, "notebook": str(folder / f"{id}.ipynb"),
        "log": str(folder / f"{id}.tunelog.jsonl"), "state": "running", "end": "", "trials": 1234, "total": 4000,
        "elapsed_s": 80.0, "eta_s": 180.0, "fraction": 0.31, "ms": 3.217, "untuned_ms": 9.8,
        "rows": [{"name": "conv2d_nchw_1x64x56x56_relu_add", "ms": 0.61, "trials": 320, "state": "tuning"}],
        "more": 3, "updated": time.time(),
    } | told  # fmt: skip
    session_file._write(id, one)


@pytest.fixture
def sessions(folder: Path, address: str, page: Any) -> Iterator[Path]:
    """One session in each state."""
    (folder / "running.ipynb").touch()
    session("running", folder)
    session("paused", folder, state="paused", eta_s=None)
    session("busy", folder, updated=time.time() - 95)
    session("anewnotebookwithalongname_without_any_space_in_it", folder, state="done", fraction=1.0, trials=4000)
    session("failed", folder, state="failed", ms=None)
    session("nolog", folder, log=None)
    yield folder
    for id in session_file.sessions():
        session_file.forget(id)
    page.evaluate("() => window.jupyterapp.commands.execute('filebrowser:activate')")


@pytest.mark.checks
@pytest.mark.parametrize("theme", ["Light", "Dark"])
def test_nothing_is_cut_in_the_sidebar(sized: Any, address: str, sessions: Path, theme: str) -> None:
    page = sized
    open_lab(page, address)
    page.evaluate(THEME, theme)
    page.evaluate(SHOW)
    wait_state(page, "busy.ipynb", "running")
    text = page.locator(SIDEBAR).inner_text()
    assert "No news for 1 min" in text
    assert "lost" not in text
    page.locator(f"{SIDEBAR} summary").first.click()
    nothing_is_cut(page, SIDEBAR, f"sidebar-{theme}")


@pytest.mark.checks
def test_the_focus_stays_and_news_are_told(page: Any, address: str, sessions: Path) -> None:
    open_lab(page, address)
    page.evaluate(SHOW)
    wait_state(page, "running.ipynb", "running")
    news = page.locator(f"{SIDEBAR} [role=status]")
    assert news.inner_text() == ""
    page.get_by_role("button", name="Pause running.ipynb").focus()
    session("running", sessions, state="paused")
    wait_state(page, "running.ipynb", "paused")
    focused = "() => document.activeElement.ariaLabel ?? document.activeElement.innerText"
    assert page.evaluate(focused) == "Resume running.ipynb"
    assert news.inner_text() == "running.ipynb: paused."
    page.get_by_role("button", name="Stop running.ipynb").press("Enter")
    session("running", sessions, state="stopping")
    wait_state(page, "running.ipynb", "stopping")
    page.wait_for_function("() => document.activeElement.matches('[data-session=running] summary')")
    at = page.evaluate(f"() => {PLACES}.findIndex(one => one.dataset.session === 'failed')")
    page.get_by_role("button", name="Dismiss failed.ipynb").press("Enter")
    page.get_by_role("button", name="Dismiss failed.ipynb").wait_for(state="detached")
    assert page.evaluate(IN_PLACE, at), "Enter again opens nothing and pauses nothing"


@pytest.mark.checks
@pytest.mark.parametrize("theme", ["Light", "Dark"])
def test_nothing_is_cut_on_the_page_of_a_model(sized: Any, address: str, folder: Path, theme: str) -> None:
    page = sized
    network(folder / "a model with a name that is much longer than its tab_and_without_a_space_at_the_end.onnx", 12)
    open_lab(page, address)
    page.evaluate(THEME, theme)
    page.evaluate(OPENED, "a model with a name that is much longer than its tab_and_without_a_space_at_the_end.onnx")
    page.wait_for_selector(f"{PAGE} .swbl-bars")
    nothing_is_cut(page, PAGE, f"model-{theme}")
    page.set_viewport_size({"width": 1000, "height": 800})
    page.locator(f"{PAGE} button", has_text="Tune").click()
    page.wait_for_selector(".swbl-open:visible form", timeout=60_000)
    nothing_is_cut(page, ".swbl-open:visible", f"tune-{theme}")
    page.locator(f"{PAGE} button", has_text="Tune").click()
    page.locator(".swbl-open").wait_for(state="detached")


@pytest.mark.checks
@pytest.mark.parametrize("theme", ["Light", "Dark"])
def test_nothing_is_cut_in_the_explorer(sized: Any, address: str, folder: Path, theme: str) -> None:
    page = sized
    shutil.copy(LOG, folder)
    open_lab(page, address)
    page.evaluate(THEME, theme)
    page.evaluate(EXPLORE, LOG.name)
    shown(page).locator("tr[data-swx-record]").first.click()
    nothing_is_cut(page, f"{EXPLORER}:visible", f"explorer-{theme}")


@pytest.mark.checks
def test_settings_say_how_models_open(page: Any, address: str, folder: Path) -> None:
    network(folder / "set.onnx", 40)
    open_lab(page, address)
    try:
        page.evaluate(SET, [OPEN, "models", "graph and form"])
        page.goto(f"{address}/lab?reset")
        page.wait_for_selector(".jp-DirListing-item", timeout=60_000)
        go_to(page, "/")
        item(page, "set.onnx").dblclick()
        page.wait_for_selector(".swbl-open:visible form", timeout=60_000)
        page.evaluate("() => window.jupyterapp.shell.currentWidget.close()")

        page.evaluate(SET, [OPEN, "mostNodes", 100])
        page.goto(f"{address}/lab?reset")
        page.wait_for_selector(".jp-DirListing-item", timeout=60_000)
        item(page, "set.onnx").dblclick()
        told = page.locator(f"{PAGE} [role=alert]")
        told.wait_for(timeout=60_000)
        assert "The model has 160 nodes; up to 100 are drawn" in told.inner_text()
        page.evaluate(CHANGE, [OPEN, "mostNodes", 1000])  # without another page
        page.locator(f"{PAGE} button", has_text="Read again").click()
        told.wait_for(state="detached", timeout=60_000)
        wait_drawn(page)
        page.evaluate("() => window.jupyterapp.commands.execute('settingeditor:open', { query: 'Schedule Workbench' })")
        page.get_by_text("Largest graph").first.wait_for(timeout=60_000)
        picture(page, "settings")
    finally:
        page.evaluate(SET, [OPEN, "mostNodes", 20000])
        page.goto("about:blank")  # the next test loads the page, and these settings


@pytest.mark.checks
def test_a_setting_decides_for_its_own_files_alone(page: Any, address: str, folder: Path) -> None:
    """What JupyterLab's settings of viewers say stays, and comes back."""
    (folder / "any.txt").touch()
    open_lab(page, address)
    viewers = "@jupyterlab/docmanager-extension:plugin"
    became = "names => JSON.stringify((" + USUAL + ")()) === JSON.stringify(names)"
    try:
        page.evaluate(CHANGE, [viewers, "defaultViewers", {"tunelog": "Editor"}])
        page.wait_for_function(became, arg=["Editor", "Schedule Workbench"])
        page.evaluate(CHANGE, [OPEN, "mostNodes", 30000])
        page.wait_for_timeout(300)
        assert page.evaluate(USUAL) == ["Editor", "Schedule Workbench"]
        page.evaluate(CHANGE, [OPEN, "models", "not in the workbench"])
        page.wait_for_function(became, arg=["Editor", "Editor"])
        page.evaluate(CHANGE, [OPEN, "logs", "viewer"])
        page.wait_for_function(became, arg=["Tuning log", "Editor"])
        page.evaluate(CHANGE, [OPEN, "logs", None])
        page.evaluate(CHANGE, [OPEN, "models", None])
        page.wait_for_function(became, arg=["Editor", "Schedule Workbench"])
    finally:
        page.evaluate(SET, [OPEN, "mostNodes", 20000])
        page.evaluate(CHANGE, [viewers, "defaultViewers", None])
        page.goto("about:blank")
