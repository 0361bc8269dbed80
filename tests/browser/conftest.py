"""Fixtures of the browser tests. Without Chromium they are reported as not run; where they must run, that fails."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from browser.driver import Notebook, chromium, lab, page_of

REQUIRED = bool(os.environ.get("WORKBENCH_REQUIRE_BROWSER"))


def _why_not() -> str:
    if chromium() is None:
        return "no Chromium on this machine (looked for chromium, chromium-browser, google-chrome)"
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError:
        return "the Python package playwright is not installed"
    return ""


@pytest.fixture(scope="session")
def browser_here() -> None:
    """Skip, with the reason, where there is no browser; fail where the tests must run."""
    reason = _why_not()
    if reason and REQUIRED:
        pytest.fail(f"browser tests must run here, but: {reason}")
    if reason:
        pytest.skip(f"browser test not run: {reason}")


@pytest.fixture(scope="module")
def lab_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lab") / "notebooks"


@pytest.fixture(scope="module")
def address(browser_here: None, lab_folder: Path) -> Any:
    """Address of a running ``workbench lab``."""
    with lab(lab_folder) as url:
        yield url


@pytest.fixture(scope="module")
def playwright(browser_here: None) -> Any:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as p:
        yield p


@pytest.fixture
def page(playwright: Any, tmp_path: Path) -> Any:
    with page_of(playwright, tmp_path / "profile") as p:
        yield p


@pytest.fixture
def notebook(page: Any, address: str) -> Notebook:
    return Notebook(page, address)
