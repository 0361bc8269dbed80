"""The first flow in the notebook, as a user clicks through it, in a JupyterLab that ``workbench lab`` has started."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from notebooks.tour import CHECKS, NEST, NETWORK, TUNE

from browser.driver import Notebook, new_notebook, tiny_model
from browser.view import LONG, MORE_TRIALS, View

LOOP = """
import time
from pathlib import Path
end = time.time() + 240
while not Path({0!r}).exists() and time.time() < end:
    time.sleep(0.02)
"""
STEPS = "print([step.to_json() for step in w.schedule.trace])"


def test_the_first_tour_opens_and_runs(page: Any, address: str) -> None:
    page.goto(address)
    notebook = Notebook(page, address)
    notebook.poll(f"() => window.jupyterapp?.shell?.currentWidget?.context?.path === '{NETWORK.name}'", LONG)
    notebook.wait_kernel()
    run_all(notebook, NETWORK)
    (view,) = views(page)
    assert view.locator("g[data-node]").count() > 5
    assert view.locator(".swb-nest [data-row]").count() > 5
    assert page.outside == [], "nothing is fetched from elsewhere"
    assert [e for e in page.errors if "swb" in e.lower() or "workbench" in e.lower()] == []


@pytest.mark.checks
def test_the_second_tour_runs(page: Any, address: str) -> None:
    notebook = Notebook(page, address).open(NEST.name)
    run_all(notebook, NEST)
    _, slow = views(page)
    # Not `inner_text`: a browser gives none for what it has not painted yet, out of sight.
    assert "next element" in (slow.locator(".swb-accesses").text_content() or "")
    hand = View(notebook, 0)
    assert hand.find(".swb-step").count() > 5, "the steps of the cells are in the widget's history"


@pytest.mark.checks
def test_the_third_tour_runs(page: Any, address: str) -> None:
    notebook = Notebook(page, address).open(TUNE.name)
    run_all(notebook, TUNE)
    (live,) = views(page)
    assert live.locator(".swb-tasks tbody tr").count() > 5


def views(page: Any) -> list[Any]:
    return list(page.locator(".jp-OutputArea-output .swb[aria-label='Schedule Workbench']").all())


def run_all(notebook: Notebook, tour: Path) -> None:
    """Run every cell, and check what the tour has shown."""
    page = notebook.page
    page.evaluate("() => { window.jupyterapp.commands.execute('notebook:run-all-cells'); }")
    notebook.poll(
        """() => window.jupyterapp.shell.currentWidget.content.widgets.every(c => c.model.type !== 'code'
               || c.model.outputs.toJSON().some(o => o.output_type === 'error')
               || (c.model.executionCount !== null && !c.node.querySelector('.jp-InputPrompt')
                      .textContent.includes('*')))""",
        240_000,
    )
    outputs = page.evaluate(
        """() => Object.fromEntries(window.jupyterapp.shell.currentWidget.content.widgets
               .filter(c => c.model.type === 'code').map(c => [c.model.id, c.model.outputs.toJSON()]))"""
    )
    assert len(outputs) > 8
    errors = [o for cell in outputs.values() for o in cell if o["output_type"] == "error"]
    assert errors == []
    CHECKS[tour]({cell: "\n".join(map(_text, shown)) for cell, shown in outputs.items()})


def test_from_a_node_to_a_measured_schedule(page: Any, address: str, lab_folder: Path) -> None:
    notebook = Notebook(page, address).open(new_notebook(lab_folder / "hand.ipynb"))
    notebook.say("import workbench as wb\nw = wb.Workbench('light_squeezenet')\nw")
    view = View(notebook).wait()
    before = view.rows()
    name = view.find(".swb-crumb b").inner_text()
    node = view.find_node("3×3")
    label = str(node.get_attribute("aria-label"))
    node.click()
    view.see(".swb-crumb b", re.compile(r"^conv2d 3x3"))
    assert view.find(".swb-crumb b").inner_text() != name
    view.see(".swb-nest [data-row]", "conv[")
    assert view.rows() != before
    channels = re.search(r"→(\d+)", label)
    assert channels
    assert any(f"extent {channels[1]}," in row for row in view.rows()), "the nest is that of the clicked node"
    assert notebook.say("print(w.task.name)") == view.find(".swb-crumb b").inner_text()

    view.select("relu_c")
    form = view.open_form("split")
    form.locator("[role=radio][data-value='16']").click()
    view.see("form[aria-label=split] .swb-equation", re.compile(r"relu_c\.1 16"))
    view.press_apply(1)
    assert any(row.startswith("loop relu_c.1, extent 16") for row in view.rows())
    view.select("relu_c.1")
    view.apply("vectorize")
    assert any("lanes" in row for row in view.rows() if row.startswith("loop relu_c.1"))
    assert "ms" in view.measured(2)
    assert re.match(r"(≥\s)?\d", view.find("[data-swb-value=ms]").inner_text()), (
        "the header shows the time of the newest step"
    )
    told = notebook.say(STEPS)
    assert "split" in told
    assert "vectorize" in told

    view.select("c")
    refused = view.find(".swb-illegal").filter(has=page.locator("[data-swb-item=vectorize]"))
    assert "carries the reduction of block 'conv'" in refused.locator("p").inner_text()
    assert view.item("vectorize").get_attribute("aria-disabled") == "true"
    view.find("[data-swb-show=vectorize]").click()
    view.see(".swb-nest .is-marked")
    box = view.see(".swb-pop", "vectorize(c) would change the result")
    assert "iteration A" in box.inner_text()
    assert "iteration B" in box.inner_text()
    page.keyboard.press("Escape")
    box.wait_for(state="detached")
    assert view.find(".swb-step:not(.is-undone)").count() == 3, "nothing was applied"

    view.find("[data-swb-do=undo]").click()
    view.see("button[data-step='1'][aria-current=step]")
    assert not any("lanes" in row for row in view.rows())
    assert view.find(".swb-step.is-undone").count() == 1
    assert "split" in (told := notebook.say(STEPS))
    assert "vectorize" not in told


def test_tuning_is_live_while_a_cell_runs(page: Any, address: str, lab_folder: Path) -> None:
    notebook = Notebook(page, address).open(new_notebook(lab_folder / "tune.ipynb"))
    tiny_model(lab_folder / "tiny.onnx")
    notebook.say("import workbench as wb\nw = wb.Workbench('tiny.onnx', log='flow.tunelog.jsonl')\nw")
    view = View(notebook).wait()
    view.tab("tuning")
    view.start(240)
    view.state("Running")
    view.see(".js-plotly-plot .main-svg")
    cell = notebook.code(LOOP.format("stop-the-cell"), wait=False)
    notebook.poll(f"() => ({_running(cell)})")
    table, points, trials = view.table(), view.points(), view.trials()
    notebook.poll("(old) => document.querySelector('.swb-tasks tbody').innerText !== old", LONG, table)
    view.wait_points(points)
    assert notebook.running(cell), "the cell still ran when the second point came"
    grown = view.points()
    view.wait_points(grown)
    assert view.trials() > trials
    assert notebook.running(cell)

    for action, word in [("pause", "Paused"), ("resume", "Running"), ("pause", "Paused")]:
        view.find(f"[data-action={action}]").click()
        view.state(word)
    assert notebook.running(cell), "the buttons worked beside the running cell"
    log = lab_folder / "flow.tunelog.jsonl"
    settled = _lines_at_rest(page, log)
    page.wait_for_timeout(2500)
    assert _lines(log) == settled, "paused means paused"

    view.find("[data-action=resume]").click()
    view.state("Running")
    notebook.poll(MORE_TRIALS, LONG, view.trials())
    assert notebook.running(cell)
    view.find("[data-action=stop]").click()
    view.see(".swb-tuning-state", re.compile("^(Done|Cancelled|Stopped)$"))
    (lab_folder / "stop-the-cell").touch()
    notebook.wait_cell(cell)
    assert all(json.loads(line) for line in log.read_text().splitlines())
    _viewer_by_double_click(page, log, view.trials())


def test_launcher_tile(page: Any, address: str, lab_folder: Path) -> None:
    page.goto(f"{address}/lab?reset")
    page.wait_for_selector("#jp-main-dock-panel", timeout=LONG)
    page.wait_for_selector(".jp-DirListing-item", timeout=LONG)
    page.evaluate("() => window.jupyterapp.commands.execute('launcher:create')")
    page.locator(".jp-LauncherCard:visible", has_text="Workbench Tour").first.click()
    notebook = Notebook(page, address)
    notebook.poll("() => /tour\\/.*ipynb/.test(window.jupyterapp.shell.currentWidget?.context?.path ?? '')", LONG)
    notebook.wait_kernel()
    path = page.evaluate("window.jupyterapp.shell.currentWidget.context.path")
    assert path == f"Schedule Workbench tour/{NETWORK.name}", "the copy that is there is not touched"
    assert (lab_folder / path).exists()


def _text(output: dict[str, Any]) -> str:
    """Text and HTML of an output; the browser may have either in lines."""
    data = output.get("data", {})
    parts = (output.get("text", ""), data.get("text/plain", ""), data.get("text/html", ""))
    return "\n".join("".join(part) for part in parts)


def _running(cell: int) -> str:
    return f"""window.jupyterapp.shell.currentWidget.content.widgets[{cell}].node
        .querySelector('.jp-InputPrompt').textContent.includes('*')"""


def _lines(log: Path) -> int:
    return len(log.read_text().splitlines())


def _lines_at_rest(page: Any, log: Path) -> int:
    """Lines of the log once the trials that were under way are in it."""
    before = -1
    for _ in range(60):
        now = _lines(log)
        if now == before:
            return now
        before = now
        page.wait_for_timeout(1500)
    raise AssertionError("trials go on although tuning is paused")


def _viewer_by_double_click(page: Any, log: Path, trials: int) -> None:
    page.evaluate("() => window.jupyterapp.commands.execute('filebrowser:refresh')")
    page.locator(".jp-DirListing-item", has_text=log.name).dblclick()
    viewer = page.locator(".jp-ScheduleWorkbenchLog:visible")
    viewer.get_by_text(re.compile("following")).first.wait_for(timeout=LONG)
    assert str(trials) in viewer.inner_text()
    assert "conv2d" in viewer.inner_text()
