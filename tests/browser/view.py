"""A workbench in the page, addressed by what a person sees: rows, names of primitives, buttons, words."""

from __future__ import annotations

import re
from typing import Any

from browser.driver import Notebook

LONG = 100_000
"""Milliseconds to wait for something at most; whatever is waited for usually takes a small part of that."""

_POINTS = """() => Math.max(0, ...[...document.querySelectorAll('.js-plotly-plot')].map(
    plot => plot.data.reduce((sum, trace) => sum + (trace.y?.length ?? 0), 0)))"""

_TRIALS = """table => {
    const [head, ...rows] = [...table.rows].map(row => [...row.cells].map(cell => cell.textContent));
    const at = head.findIndex(text => text.includes('trials') && !text.includes('Δ'));
    return rows.reduce((sum, row) => sum + Number(row[at].replace(/\\D/g, '')), 0);
}"""

MORE_TRIALS = f"""n => [...document.querySelectorAll('.swb-tuning-grid .swb-tasks table')].reduce(
    (sum, table) => sum + ({_TRIALS})(table), 0) > n"""

_REACHED = """name => {
    const node = document.querySelector(`g[data-node="${name}"]`), box = node.getBoundingClientRect();
    return node.contains(document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2));
}"""


class View:
    """The n-th workbench of the page (or the n-th single panel called `name`)."""

    def __init__(self, notebook: Notebook, n: int = 0, name: str = "Schedule Workbench") -> None:
        self.notebook, self.page = notebook, notebook.page
        self.root = self.page.locator(f".swb[aria-label='{name}']").nth(n)

    def wait(self, timeout: int = LONG) -> View:
        """Wait until it is drawn with the kernel's state."""
        self.root.locator(".swb-header, .swb-slot").first.wait_for(timeout=timeout)
        return self

    def find(self, selector: str) -> Any:
        """Return a locator inside this view."""
        return self.root.locator(selector)

    def see(self, selector: str, text: str | re.Pattern[str] = "", timeout: int = LONG) -> Any:
        """Wait until an element with such a text can be seen, and return it."""
        found = self.find(selector).filter(has_text=text) if text else self.find(selector)
        found.first.wait_for(timeout=timeout)
        return found.first

    # ----- the nest and the palette

    def rows(self) -> list[str]:
        """What a screen reader says of each row of the nest."""
        return [str(t) for t in self.find(".swb-nest [data-row]").evaluate_all("r => r.map(e => e.ariaLabel)")]

    def loop(self, name: str) -> Any:
        """Return the row of the first loop of that name."""
        return self.find(f".swb-nest [data-row][aria-label^='loop {name},']").first

    def item(self, primitive: str) -> Any:
        """Return a primitive in the palette."""
        return self.find(f"[data-swb-item={primitive}]")

    def select(self, name: str) -> None:
        """Click a loop, and wait until the palette is about it."""
        self.loop(name).click()
        self.see(".swb-pal-head", re.compile(rf"^{re.escape(name)}\b"))

    def open_form(self, primitive: str) -> Any:
        """Open the form of a legal primitive."""
        self.find(f"[data-swb-legal][data-swb-item={primitive}]").click()
        return self.see(f"form[aria-label={primitive}]")

    def apply(self, primitive: str) -> None:
        """Apply a legal primitive as its form proposes it, and wait for the new step."""
        steps = self.find(".swb-step:not(.is-undone)").count()
        self.open_form(primitive)
        self.press_apply(steps)

    def press_apply(self, steps: int) -> None:
        """Press Apply in the open form, and wait for the step after `steps` others."""
        self.find("[data-swb-apply]:not([aria-disabled=true])").click()
        self.see(f".swb-step:not(.is-undone) button[data-step='{steps}'][aria-current=step]")

    def measured(self, step: int) -> str:
        """Wait until a step has been measured, and return what stands under it."""
        text = self.find(f"button[data-step='{step}'] .swb-step-ms")
        text.filter(has_text=re.compile(r"\d ms")).wait_for(timeout=LONG)
        return str(text.inner_text())

    # ----- the graph

    def find_node(self, text: str) -> Any:
        """Search the graph, and return the node it went to once a mouse can reach it."""
        field = self.find("input[aria-label^='Find a node']")
        field.fill(text)
        self.see(".swb-search [role=status]", re.compile(r"^\d+ found"))
        field.press("Enter")
        node = self.see("g[data-node][tabindex='0']", text)
        node.scroll_into_view_if_needed()
        self.notebook.poll(_REACHED, 5_000, node.get_attribute("data-node"))
        return node

    # ----- tuning

    def tab(self, name: str) -> None:
        """Go to a screen: "schedule" or "tuning"."""
        self.find(f"[data-swb-tab={name}]").click()
        self.see(f"[data-swb-tab={name}][aria-selected=true]")

    def start(self, amount: int, unit: str = "seconds", scope: str = "all") -> None:
        """Fill in the form of the tuning screen and start."""
        self.find(f"input[name=scope][value={scope}]").check()
        self.find("select[aria-label='Unit of the budget']").select_option(unit)
        self.find("input[aria-label=Budget]").fill(str(amount))
        self.find("[data-action=start]").click()

    def state(self, word: str, timeout: int = LONG) -> None:
        """Wait until tuning is in this state."""
        self.see(".swb-tuning-state", re.compile(rf"^{word}$"), timeout)

    def table(self) -> str:
        """Text of the table of tasks."""
        return str(self.find(".swb-tasks tbody").inner_text())

    def trials(self) -> int:
        """Trials, summed over the rows of the table of tasks."""
        return int(self.find(".swb-tasks table").evaluate(_TRIALS))

    def points(self) -> int:
        """Points in the data of the plot."""
        return int(self.page.evaluate(_POINTS))

    def wait_points(self, more_than: int) -> None:
        """Wait until the plot has more than so many points."""
        self.notebook.poll(f"(n) => ({_POINTS})() > n", LONG, more_than)
