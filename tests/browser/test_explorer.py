"""The explorer of logs in a real JupyterLab, by mouse and by keyboard alone, compared with pandas in the kernel."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from browser.driver import Notebook, new_notebook

LONG = 20_000
"""Milliseconds to wait for something at most."""


LOG = Path(__file__).parents[1] / "data" / "logs" / "kernel-tuner" / "convolution_milo-A100.json.gz"
OPEN = f"""import workbench as wb
w = wb.Workbench({str(LOG)!r})
w"""
ORACLE = """import pandas as pd
t = pd.DataFrame(w.log.records["params"].tolist()).assign(ok=w.log.records["status"] == "ok", ms=w.log.records["value"])
print({expression})"""


class Explored:
    """An explorer in the page."""

    def __init__(self, notebook: Notebook) -> None:
        self.notebook, self.page = notebook, notebook.page
        self.root = self.page.locator(".swx")
        self.root.locator("[data-swx=chosen]").wait_for(timeout=LONG)

    def chosen(self) -> int:
        return int(re.sub(r"\D", "", self.root.locator("[data-swx=chosen] b").inner_text()))

    def until(self, n: int) -> None:
        js = r"""n => Number(document.querySelector('[data-swx=chosen] b').textContent.replace(/\D/g, '')) === n"""
        self.notebook.poll(js, LONG, n)

    def drag(self, selector: str, start: tuple[float, float], end: tuple[float, float]) -> None:
        self.root.locator(selector).scroll_into_view_if_needed()
        box = self.root.locator(selector).bounding_box()
        at = [(box["x"] + box["width"] * x, box["y"] + box["height"] * y) for x, y in (start, end)]
        self.page.mouse.move(*at[0])
        self.page.mouse.down()
        self.page.mouse.move(*at[1], steps=6)
        self.page.mouse.up()

    def expect(self, expression: str) -> int:
        """What pandas counts in the kernel."""
        return int(self.notebook.say(ORACLE.replace("{expression}", expression)))


def test_a_range_narrows_everything_by_mouse_and_by_keyboard(page: Any, address: str, lab_folder: Path) -> None:
    notebook = Notebook(page, address).open(new_notebook(lab_folder / "explorer.ipynb"))
    notebook.code(OPEN)
    view = Explored(notebook)
    view.until(4362)
    rows = view.root.locator("tr[data-swx-record]")
    assert rows.first.get_attribute("data-swx-record") == notebook.say("print(w.log.tasks['best_record'][0])")

    view.drag("[data-swx-rail=use_shmem]", (0.5, 0.02), (0.5, 0.45))  # the upper half: use_shmem = 1
    view.until(view.expect("(t.use_shmem == 1).sum()"))
    view.root.locator("[data-swx-status=run]").click()
    view.until(view.expect("((t.use_shmem == 1) & (w.log.records.status == 'run')).sum()"))
    view.root.focus()
    page.keyboard.press("Escape")
    view.until(4362)

    view.root.locator("[data-swx-axis=block_size_x]").focus()
    for key in ("ArrowRight", "ArrowUp", "Shift+ArrowUp"):  # the next axis, its lowest value, then the next one too
        page.keyboard.press(key)
    view.until(view.expect("t.block_size_y.isin(sorted(t.block_size_y.unique())[:2]).sum()"))
    view.root.locator("[data-swx-axis=block_size_y]").focus()
    page.keyboard.press("Alt+ArrowLeft")
    notebook.poll("() => document.querySelector('[data-swx-axis]').dataset.swxAxis === 'block_size_y'")
    page.keyboard.press("/")
    page.keyboard.type("cost < 1")
    view.until(view.expect("(t.block_size_y.isin(sorted(t.block_size_y.unique())[:2]) & t.ok & (t.ms < 1)).sum()"))

    rows.first.click()
    detail = view.root.locator(".swx-detail")
    detail.wait_for()
    assert "block_size_x" in detail.inner_text()
    view.root.locator("[data-swx-tab=failures]").click()
    view.root.locator(".swx-finding").wait_for(timeout=LONG)
    assert "configurations failed" in view.root.locator(".swx-finding").inner_text()
    assert not page.outside
