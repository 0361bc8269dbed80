"""The drawn graph on a page: showing it, what the kernel answers, nodes by their names."""

from __future__ import annotations

from typing import Any

from frontend_model import states
from frontend_model.conftest import Json, Panels

OPEN = next(n["id"] for n in states.graph()["nodes"] if n["task"] == 3)  # on the screen at first


def show(panels: Panels, drawing: Json | None = None, *, folds: list[Json] | None = None, **options: Any) -> float:
    """Open the model's graph; returns the milliseconds until it was painted."""
    answer(panels, drawing or states.graph(), folds)
    slices = options.pop("slices", {})
    began = panels.open("graph", states.state(**slices), **options)
    return began + float(
        panels.page.evaluate(
            """async () => {
              const from = performance.now();
              while (!document.querySelector('.swb-dag-svg [data-node]')) await new Promise(requestAnimationFrame);
              await new Promise(done => requestAnimationFrame(() => setTimeout(done)));
              return performance.now() - from;
            }"""
        )
    )


def answer(panels: Panels, drawing: Json, folds: list[Json] | None = None) -> None:
    """What the kernel says to the question from now on."""
    value = states.columns(drawing, folds)
    panels.page.evaluate("value => { kernel.answers.graph = { ok: true, value } }", value)


def asked(panels: Panels) -> list[Json]:
    """Arguments of the questions for the graph so far."""
    return [args for q, args in panels.page.evaluate("kernel.asked") if q == "graph"]


def bring(panels: Panels, name: str) -> None:
    """Bring a node to the middle, drawn by itself, with the keyboard's place on it."""
    search = panels.page.get_by_role("searchbox")
    search.fill(name)
    search.press("Enter")
    search.press("Escape")
    panels.settle()


def node(panels: Panels, name: str) -> Any:
    return panels.page.locator(f'.swb-dag-svg [data-node="{name}"]')


def fit(panels: Panels) -> None:
    """Show the whole graph: every node is in the document then."""
    panels.page.get_by_role("button", name="Fit").click()
    panels.settle()


def scale(panels: Panels) -> float:
    text = panels.page.locator(".swb-dag-svg > g").get_attribute("transform")
    return float(text.split("scale(")[1].rstrip(")"))


def choose(panels: Panels, label: str, value: str) -> None:
    """Choose an entry of a list of choices."""
    panels.page.get_by_label(label, exact=True).select_option(value)
    panels.settle()
