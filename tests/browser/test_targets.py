"""Another target, chosen by keyboard in a notebook: its schedule, its code, and the way back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from browser.driver import Notebook, new_notebook
from browser.view import View

MAKE = """import workbench as wb
w = wb.Workbench(wb.Task.of_func(wb.workloads.matmul(64, 64, 64)), auto_measure=False)
w"""


@pytest.mark.checks
def test_another_target_and_back(page: Any, address: str, lab_folder: Path) -> None:
    notebook = Notebook(page, address).open(new_notebook(lab_folder / "targets.ipynb"))
    notebook.say(MAKE)
    view = View(notebook).wait()
    view.apply("unroll")
    button = view.see("[data-swb-do=targets]", "for ")
    before = button.inner_text()
    button.press("o")
    use = view.find("[data-swb-device='cpu-simt'] button")
    use.press("Enter")
    view.see("[data-swb-do=targets]", "for cpu-simt")
    assert notebook.say("print(w.session.state.target.kind, len(w.schedule.trace))") == "cpu-simt 0"
    button.press("o")
    view.find("[data-swb-device='llvm'] button").press("Enter")
    view.see("[data-swb-do=targets]", before)
    assert notebook.say("print(w.session.state.target.kind, len(w.schedule.trace))") == "llvm 1"
    refused = notebook.say("try:\n    w.retarget('cudda')\nexcept wb.WorkbenchError as e:\n    print(e.code)")
    assert refused == "target.kind"
