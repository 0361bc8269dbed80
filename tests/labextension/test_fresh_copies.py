"""A saved notebook keeps a readable copy of its workbenches as they were when it was saved, not when cells were run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from browser.driver import Notebook, new_notebook
from waiting import until

from labextension.conftest import open_lab

CODE = """import workbench as wb
w = wb.Workbench(wb.Schedule(wb.workloads.matmul(32, 32, 32)), auto_measure=False)
w"""


def copies(path: Path) -> list[str]:
    try:
        cells = json.loads(path.read_text())["cells"]
    except json.JSONDecodeError:  # it is being written
        return []
    outputs = [o for cell in cells for o in cell.get("outputs", ())]
    return ["".join(o["data"]["text/html"]) for o in outputs if "text/html" in o.get("data", {})]


def test_saving_brings_the_copies_up_to_date_and_leaves_the_views_alive(page: Any, address: str, folder: Path) -> None:
    name = new_notebook(folder / "fresh.ipynb")
    open_lab(page, address)
    notebook = Notebook(page, address).open(name)
    notebook.code(CODE)
    page.wait_for_selector(".swb-nest [data-row]", timeout=60_000)
    notebook.say("w.show('variants')")
    notebook.say("_ = w.schedule.split('i', [None, 4])")
    page.wait_for_selector(".swb-nest [data-row='i.1']", timeout=60_000)
    page.evaluate("() => { document.querySelector('.swb').mark = 1; }")
    notebook.save()
    until(lambda: ["split" in text for text in copies(folder / "fresh.ipynb")] == [True, True])
    assert page.evaluate("() => document.querySelector('.swb').mark") == 1, "it is the same view"
    page.wait_for_function("() => !window.jupyterapp.shell.currentWidget.context.model.dirty")
    before = (folder / "fresh.ipynb").stat().st_mtime_ns
    page.evaluate("() => { window.saves = 0; }")
    page.evaluate(
        "() => window.jupyterapp.shell.currentWidget.context.saveState.connect("
        "(_, s) => { window.saves += s === 'completed'; })"
    )
    notebook.save()
    until(lambda: (folder / "fresh.ipynb").stat().st_mtime_ns > before)
    page.wait_for_timeout(1000)
    assert page.evaluate("() => window.saves") == 1, "where nothing is new it is saved once"
