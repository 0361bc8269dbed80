"""The workbench in Jupyter Notebook 7: shown, worked with, tuned, paused beside a running cell, saved, reloaded."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from browser.driver import NOTEBOOK, Notebook, new_notebook, notebook7, tiny_model
from browser.faults import FAULTS, shown_at
from browser.view import LONG, View

pytestmark = [
    pytest.mark.checks,
    pytest.mark.skipif(find_spec("notebook") is None, reason="Jupyter Notebook is not installed: [test]"),
]

OPEN = "import workbench as wb\nw = wb.Workbench('tiny.onnx', log='seven.tunelog.jsonl')\nw"
BUSY = """
import time
from pathlib import Path
print("it runs", flush=True)
end = time.time() + 240
while not Path("go-on").exists() and time.time() < end:
    sum(range(1000))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("seven") / "notebooks"


@pytest.fixture(scope="module")
def address(folder: Path) -> Any:
    """Address of a running Jupyter Notebook."""
    with notebook7(folder) as url:
        yield url


@pytest.fixture
def notebook(page: Any, address: str, folder: Path) -> Notebook:
    tiny_model(folder / "tiny.onnx")
    return Notebook(page, address, NOTEBOOK).open(new_notebook(folder / "seven.ipynb"))


def test_the_whole_way_in_notebook_7(notebook: Notebook, page: Any, folder: Path) -> None:
    assert page.locator("#jp-main-dock-panel").count() == 0, "this is not JupyterLab"
    notebook.say(OPEN)
    view = View(notebook).wait()
    for width in (640, 1300):  # a narrow cell, too
        with shown_at(page, (width, 1000), 1):
            page.wait_for_timeout(500)
            assert view.root.evaluate(FAULTS) == [], width
    # A step by hand.
    view.select("h")
    view.apply("split")
    view.measured(1)
    assert "split" in notebook.say("print([step.name for step in w.schedule.trace])")
    # A run, with its charts, and a pause that does not wait for the cell.
    view.tab("tuning")
    view.start(120)
    view.state("Running")
    view.see(".js-plotly-plot .main-svg")
    view.wait_points(5)
    cell = notebook.code(BUSY, wait=False)
    notebook.wait_output(cell, "it runs")
    view.find("[data-action=pause]").click()
    view.state("Paused", 10_000)
    assert notebook.running(cell)
    (folder / "go-on").touch()
    notebook.wait_cell(cell)
    view.find("[data-action=cancel]").click()
    view.state("Cancelled")
    # One part by itself, and the page as it is saved.
    notebook.say("w.show('tasks')")
    single = View(notebook, 0, "Tasks").wait()
    assert single.find("tr[data-task]").count() == view.find("tr[data-task]").count() > 0
    notebook.save()
    saved = json.loads((folder / "seven.ipynb").read_text())
    html = ["".join(o["data"].get("text/html", "")) for c in saved["cells"] for o in c["outputs"] if "data" in o]
    assert any("conv2d 3x3" in text for text in html), "a reader without a kernel sees the state"
    assert page.outside == [], "no request leaves this machine"
    assert not [e for e in page.errors if "workbench" in e.lower() or "swb" in e]


def test_a_reloaded_page_is_live_again(notebook: Notebook, page: Any) -> None:
    notebook.say("import workbench as wb\nw = wb.Workbench(wb.workloads.matmul(64, 64, 64))\nw")
    View(notebook).wait()
    notebook.save()
    page.reload()
    page.wait_for_selector(".jp-NotebookPanel", timeout=LONG)
    notebook.wait_kernel()
    view = View(notebook).wait()
    view.select("j")
    assert notebook.say("print(w.selection)") == "j"
