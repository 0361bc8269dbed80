"""Fixtures of the tests in a real JupyterLab."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from browser.driver import Notebook, lab, page_of

SEEN = """() => { const shown = window.jupyterapp?.shell?.currentWidget, session = shown?.sessionContext?.session;
    return { kernel: [session?.kernel?.connectionStatus, session?.kernel?.status,
                      session?.kernel?.handleComms ? 'comms' : 'no comms'], title: shown?.title?.label,
             dialog: document.querySelector('.jp-Dialog')?.textContent,
             text: document.querySelector('.jp-NotebookPanel')?.innerText.slice(-2000) }; }"""


@pytest.fixture(scope="module")
def lab_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lab") / "notebooks"


@pytest.fixture(scope="module")
def address(playwright: Any, lab_folder: Path) -> Any:
    """Address of a running ``workbench lab``."""
    with lab(lab_folder) as url:
        yield url


@pytest.fixture
def page(playwright: Any, tmp_path: Path) -> Any:
    with page_of(playwright, tmp_path / "profile") as p:
        yield p


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
