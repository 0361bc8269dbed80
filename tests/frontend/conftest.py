"""The widget's bundle in the system's Chromium, without a notebook: the development page with its recorded states."""

from __future__ import annotations

import mimetypes
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from browser import start
from browser.driver import ALL_WORDS

_kept, chrome, kept, playwright = start._kept, start.chrome, start.kept, start.playwright
ROOT = Path(__file__).parents[2]
STATIC = ROOT / "workbench" / "widgets" / "static"
BUNDLE = STATIC / "workbench.js"
HOST = "http://workbench.test/"

# Counts what is attached outside of the widget's own elements, where only a clean-up takes it away again.
COUNT = """
const ours = () => new Error().stack.includes('workbench.js');
window.attached = [];
for (const target of [window, document, MediaQueryList.prototype]) {
  const add = target.addEventListener, remove = target.removeEventListener;
  target.addEventListener = function (type, f, o) {
    if (ours()) attached.push([type, f]);
    return add.call(this, type, f, o);
  };
  target.removeEventListener = function (type, f, o) {
    const at = attached.findIndex(([t, g]) => t === type && g === f);
    if (at >= 0) attached.splice(at, 1);
    return remove.call(this, type, f, o);
  };
}
window.observing = new Set();
for (const name of ['MutationObserver', 'ResizeObserver']) {
  const { observe, disconnect } = window[name].prototype;
  window[name].prototype.observe = function (...a) { if (ours()) observing.add(this); return observe.apply(this, a); };
  window[name].prototype.disconnect = function () { observing.delete(this); return disconnect.call(this); };
}
"""


class Bench:
    """One page; `open` shows the widget there in a state of the development page."""

    def __init__(self, page: Any) -> None:
        self.page = page

    def open(self, state: str = "normal", *, wait: bool = True, **options: str) -> Bench:
        query = urlencode({"bare": "1", "state": state, **options})
        if not self.page.evaluate("query => window.remount?.(query) ?? false", query):
            self.page.goto(f"{HOST}extensions/dev/index.html?{query}")
            self.page.wait_for_function("() => window.settled")
        if wait:
            self.page.evaluate("window.settled")
        return self

    def sent(self, kind: str = "do") -> list[dict[str, Any]]:
        """Messages of a kind that the widget sent; the question that every nest asks by itself is not among them."""
        return [m for m in self.page.evaluate("model.sent") if m["t"] == kind and m.get("q") not in ("cures", "spills")]

    def commands(self) -> list[tuple[str, dict[str, Any]]]:
        """Commands that the widget sent; making the plot is not among them."""
        return [(m["cmd"], m["args"]) for m in self.sent() if m["cmd"] not in ("figure", "theme", "chart")]

    def wait_for(self, expression: str) -> None:
        self.page.wait_for_function(expression)

    def click(self, selector: str) -> None:
        self.page.click(selector)

    def press(self, selector: str) -> None:
        """Click even on what is disabled, which Playwright would wait for."""
        self.page.click(selector, force=True)

    def text(self, selector: str) -> str:
        return " ".join(str(self.page.inner_text(selector)).split())

    def focused(self, attribute: str) -> str | None:
        """An attribute of the element that has the focus."""
        value: str | None = self.page.evaluate("a => document.activeElement.getAttribute(a)", attribute)
        return value


def serve(route: Any) -> None:
    """Answer a request of the page from the working tree; nothing else is within its reach."""
    url = route.request.url
    path = ROOT / url.removeprefix(HOST).split("?")[0]
    if not url.startswith(HOST) or not path.is_file():
        route.fulfill(status=404)
        return
    if path.stem == BUNDLE.stem and path.parent == STATIC:
        path = Path(os.environ.get("WORKBENCH_BUNDLE", BUNDLE)).with_suffix(path.suffix)
    kind = "text/javascript" if path.suffix == ".js" else mimetypes.guess_type(path.name)[0]
    route.fulfill(body=path.read_bytes(), content_type=kind)


def dress(page: Any) -> None:
    page.add_init_script(COUNT)
    page.add_init_script(ALL_WORDS)
    page.route("**/*", serve)


@pytest.fixture
def bench(kept: Any) -> Bench:
    """A page for the widget; an error on the page fails the test."""
    return Bench(kept.get(dress))


@pytest.fixture
def alone(kept: Any) -> Iterator[Bench]:
    """One that no other test uses, for what cannot be undone, such as another clock."""
    kept.drop()
    yield Bench(kept.get(dress))
    kept.drop()
