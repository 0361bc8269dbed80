"""The cache view in a real JupyterLab, by keyboard alone, compared with what the kernel counts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from browser.driver import Notebook, new_notebook

OPEN = """import workbench as wb
from workbench.analysis import Cache
one = wb.Schedule(wb.workloads.matmul(32, 32, 32))
two = one.copy()
two.reorder(["i", "k", "j"])
w = wb.CacheView(one, two, levels=[Cache("L1", 1024, 4), Cache("L2", 4096, 4)])
w"""
MISSES = ".swc-film:nth-child({}) [data-swc=misses-0]"


def test_a_run_is_played_and_stepped_by_keyboard(page: Any, address: str, lab_folder: Path) -> None:
    notebook = Notebook(page, address).open(new_notebook(lab_folder / "cache.ipynb"))
    notebook.code(OPEN)
    root = page.locator(".swc")
    root.locator("canvas").first.wait_for()
    # Also beside the styles of the explorer, whose canvases lie over a plot.
    assert root.locator("canvas").first.evaluate("c => getComputedStyle(c).position") == "static"
    root.focus()
    said = root.locator("[data-swc=said]")

    def misses(film: int) -> int:
        return int(re.sub(r"\D", "", root.locator(MISSES.format(film)).inner_text()))

    assert misses(1) == misses(2) == 0
    assert "comes from memory" in said.first.inner_text()
    page.keyboard.press("End")
    assert [misses(1), misses(2)] == [int(n) for n in notebook.say("print(*[c.misses() for c in w.counts])").split()]
    assert said.first.inner_text() == "the end of the run"
    root.focus()
    page.keyboard.press("Home")
    page.keyboard.press("Space")
    notebook.poll("() => Number(document.querySelector('[data-swc=place]').value) > 2", 20_000)
    page.keyboard.press("Space")
    assert root.locator("[data-swc=play]").inner_text() == "Play"
    page.keyboard.press("z")
    root.locator("[data-swc=single][aria-pressed=true]").wait_for()
    before = misses(1)
    missed = "miss in" in said.first.inner_text()
    page.keyboard.press("ArrowRight")
    assert misses(1) == before + missed
    page.keyboard.press("Escape")
    root.locator("[data-swc=single][aria-pressed=false]").wait_for()
    assert not page.errors
