"""The panels of the model and of tuning in the system's Chromium, without a notebook: a page with a fake kernel."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from browser import start
from browser.driver import ALL_WORDS

_kept, chrome, kept, playwright = start._kept, start.chrome, start.kept, start.playwright
HERE = Path(__file__).parent
BUNDLE = HERE.parents[1] / "workbench" / "widgets" / "static" / "workbench.js"
ADDRESS = "http://workbench.test/"

Json = dict[str, Any]


class Panels:
    """One page; `open` shows a panel of the widget there."""

    def __init__(self, page: Any) -> None:
        self.page = page

    def load(self) -> None:
        """Show the page with nothing in it."""
        if not self.page.evaluate("() => window.anew?.() ?? false"):
            self.page.goto(ADDRESS)
            self.page.wait_for_function("window.here === true")

    def open(self, panel: str, slices: Json, *, width: int = 860, height: int = 480) -> float:
        """Show a panel; returns the milliseconds until it was painted."""
        style = f"width:{width}px;height:{height}px"
        return float(self.page.evaluate("a => kernel.open(...a)", [panel, slices, style]))

    @property
    def sent(self) -> list[tuple[str, Json]]:
        """Commands that the front end sent."""
        return [(cmd, args) for cmd, args in self.page.evaluate("kernel.sent")]

    def patch(self, ops: Json) -> None:
        self.page.evaluate("ops => kernel.patch(ops)", ops)

    def settle(self) -> None:
        """Wait until what was sent is drawn."""
        self.page.evaluate("() => new Promise(done => requestAnimationFrame(() => setTimeout(done, 30)))")

    def focused(self, attribute: str) -> str | None:
        """An attribute of the element that has the focus."""
        value: str | None = self.page.evaluate("a => document.activeElement.getAttribute(a)", attribute)
        return value


def dress(page: Any) -> None:
    page.add_init_script(ALL_WORDS)
    bundle = Path(os.environ.get("WORKBENCH_BUNDLE", BUNDLE))
    page.route(ADDRESS, lambda r: r.fulfill(body=(HERE / "page.html").read_text(), content_type="text/html"))
    styles = bundle.with_suffix(".css")
    page.route(ADDRESS + "workbench.css", lambda r: r.fulfill(body=styles.read_text(), content_type="text/css"))
    page.route(ADDRESS + "workbench.js", lambda r: r.fulfill(body=bundle.read_text(), content_type="text/javascript"))


@pytest.fixture
def panels(kept: Any) -> Panels:
    """A page where one panel can be opened; an error on the page fails the test."""
    found = Panels(kept.get(dress))
    found.load()
    return found
