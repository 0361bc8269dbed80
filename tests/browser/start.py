"""Fixtures that start a browser. A folder that imports them into its conftest starts one for all its files.

The folder has to be a package: otherwise the browser would stay until the end, and while it runs, other tests of the
process cannot use asyncio.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from browser.driver import FLAGS, chromium


def _no_browser() -> str:
    """Why browser tests cannot run here; empty when they can."""
    if chromium() is None:
        return "there is no Chromium on this machine"
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError:
        return "the Python package playwright is not installed"
    return ""


@pytest.fixture(scope="package")
def playwright() -> Iterator[Any]:
    """Skip, with the reason, where there is no browser; where the tests must run, that fails."""
    if reason := _no_browser():
        if os.environ.get("WORKBENCH_REQUIRE_BROWSER"):
            pytest.fail(f"browser tests must run here, but {reason}")
        pytest.skip(f"browser test not run: {reason}")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as p:
        yield p


@pytest.fixture(scope="package")
def chrome(playwright: Any) -> Iterator[Any]:
    """The system's Chromium, for pages that need no notebook."""
    browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
    yield browser
    browser.close()


class Kept:
    """A page that the tests of a folder use one after the other: a new one takes longer than what they show on it."""

    def __init__(self, browser: Any) -> None:
        self.browser, self.page = browser, None
        self.errors: list[str] = []

    def get(self, dress: Callable[[Any], None]) -> Any:
        """Return the page; `dress` says once what it is served and what runs before its scripts."""
        if self.page is None:
            self.page = self.browser.new_page(viewport={"width": 1300, "height": 900})
            self.page.set_default_timeout(5000)
            self.page.on("pageerror", lambda error: self.errors.append(str(error)))
            dress(self.page)
        return self.page

    def tidy(self) -> None:
        """Leave nothing that a new document would not undo: media that are emulated, and where the mouse is."""
        if self.page is not None:
            self.page.emulate_media(reduced_motion="null")
            self.page.mouse.move(1299, 1)

    def drop(self) -> None:
        """Close the page; the next test gets a new one."""
        if self.page is not None:
            self.page.close()
            self.page = None


@pytest.fixture(scope="package")
def _kept(chrome: Any) -> Kept:
    return Kept(chrome)


@pytest.fixture
def kept(_kept: Kept, failed: Callable[[], bool]) -> Iterator[Kept]:
    """The folder's page, for one test. An error on it fails the test; nothing of a test that failed is kept."""
    _kept.errors.clear()
    yield _kept
    if failed():
        _kept.drop()
    _kept.tidy()
    assert _kept.errors == []
