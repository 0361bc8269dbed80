"""Fixtures of the tests in a real JupyterLab."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from browser import start
from browser.driver import Notebook, clear, lab, page_of

chrome, playwright = start.chrome, start.playwright
SEEN = """() => { const shown = window.jupyterapp?.shell?.currentWidget, session = shown?.sessionContext?.session;
    return { kernel: [session?.kernel?.connectionStatus, session?.kernel?.status,
                      session?.kernel?.handleComms ? 'comms' : 'no comms'], title: shown?.title?.label,
             dialog: document.querySelector('.jp-Dialog')?.textContent,
             text: document.querySelector('.jp-NotebookPanel')?.innerText.slice(-2000) }; }"""


@pytest.fixture(scope="package")
def lab_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lab") / "notebooks"


@pytest.fixture(scope="package")
def address(playwright: Any, lab_folder: Path) -> Any:
    """Address of a running ``workbench lab``, in which the tour tunes for a moment only."""
    with lab(lab_folder, env={"WORKBENCH_TOUR_SECONDS": "4"}) as url:
        yield url


class Pages:
    """The page that the tests here use one after the other: to load JupyterLab takes longer than most tests."""

    def __init__(self, playwright: Any, profile: Path) -> None:
        self.playwright, self.profile = playwright, profile
        self.open = contextlib.ExitStack()
        self.page: Any = None

    def get(self) -> Any:
        if self.page is None:
            self.page = self.open.enter_context(page_of(self.playwright, self.profile))
        return self.page

    def drop(self) -> None:
        self.open.close()
        self.page = None


@pytest.fixture(scope="package")
def pages(playwright: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    made = Pages(playwright, tmp_path_factory.mktemp("profile"))
    yield made
    made.drop()


@pytest.fixture
def page(pages: Pages, failed: Callable[[], bool]) -> Any:
    """A JupyterLab in which nothing is open; a new page after a test that failed, or that set ``spoiled`` on it."""
    page = pages.get()
    page.outside.clear()
    page.errors.clear()
    yield page
    cleared = False
    with contextlib.suppress(Exception):  # also after a failure: a run that goes on takes its time from the next test
        cleared = clear(page)
    if failed() or not cleared or getattr(page, "spoiled", False):
        pages.drop()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Any:
    """Say what stood on the page when a test failed: the failure may not come again."""
    report = yield
    page = getattr(item, "funcargs", {}).get("page")
    if report.failed and report.when == "call" and page is not None:
        with contextlib.suppress(Exception):
            report.sections.append(("page", json.dumps(page.evaluate(SEEN), indent=1)))
            report.sections.append(("console", "\n".join(page.errors[-20:])))
    return report


@pytest.fixture
def notebook(page: Any, address: str) -> Notebook:
    return Notebook(page, address)
