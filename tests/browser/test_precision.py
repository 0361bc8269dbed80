"""The precisions of a model side by side, in a notebook: begun with a button, and then seen in the model's colours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from browser.driver import Notebook, new_notebook, tiny_model
from browser.view import View


@pytest.mark.checks
def test_a_button_compares_the_precisions_of_a_model(page: Any, address: str, lab_folder: Path) -> None:
    notebook = Notebook(page, address).open(new_notebook(lab_folder / "precise.ipynb"))
    tiny_model(lab_folder / "precise.onnx")
    notebook.say("import workbench as wb\nw = wb.Workbench('precise.onnx', auto_measure=False)\nw")
    view = View(notebook).wait()
    view.tab("tuning")
    view.find("[data-swb-do=precision]").press("Enter")
    view.see("[data-swb-do=precision]", "Cancel")
    view.see(".swb-precision [role=status]", "step")
    view.see("[data-swb-do=precision]", "Compare again")
    rows = view.find(".swb-precision tbody").first.inner_text().splitlines()
    assert [row.split()[0] for row in rows] == ["float32", "bfloat16", "int8"]
    told = notebook.say("print(w.session.snapshot().slices['precision']['answer']['rows'][0]['error'][0])")
    assert told == "None"
    view.tab("schedule")
    view.find("select[aria-label='Colour of the nodes']").select_option("int8")
    view.see(".swb-dag-corner", "%")
