"""What the widget says, and what survives, when kernels are interrupted, restarted or killed and pages are reloaded."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tiers import first

from browser.driver import Notebook, lab, new_notebook, tiny_model
from browser.view import LONG, MORE_TRIALS, View
from workbench.log import load_log

MATMUL = "import workbench as wb\nw = wb.Workbench(wb.workloads.matmul(64, 64, 64))\nw"
NETWORK = "import workbench as wb\nw = wb.Workbench('tiny.onnx', log={0!r})\nw"
LOOP = """
import time
from pathlib import Path
print("it runs", flush=True)
end = time.time() + 240
while not Path({0!r}).exists() and time.time() < end:
    time.sleep(0.02)
"""
MAIN_THREAD = {"@jupyterlab/apputils-extension:kernels-settings": {"commsOverSubshells": "disabled"}}


def opened(page: Any, address: str, folder: Path, name: str, code: str) -> tuple[Notebook, View]:
    """Open a new notebook and run `code`, which shows a workbench."""
    notebook = Notebook(page, address).open(new_notebook(folder / f"{name}.ipynb"))
    notebook.say(code)
    return notebook, View(notebook).wait()


def tuned(page: Any, address: str, folder: Path, name: str) -> tuple[Notebook, View, Path]:
    """Open a notebook in which tuning runs and has brought first trials."""
    tiny_model(folder / "tiny.onnx")
    notebook, view = opened(page, address, folder, name, NETWORK.format(f"{name}.tunelog.jsonl"))
    view.tab("tuning")
    view.start(240)
    view.state("Running")
    notebook.poll(MORE_TRIALS, LONG, 0)
    return notebook, view, folder / f"{name}.tunelog.jsonl"


def trials(log: Path) -> int:
    """Trials in a log that can be read from end to end; only a last line may be half written."""
    return len(load_log(log).records)


# ----------------------------------------------------------------------------------------------------- a busy machine


def test_the_header_says_that_other_programs_have_the_machine(page: Any, address: str, lab_folder: Path) -> None:
    """All the way: the browser says that it is there, the kernel reads the system's accounts, the chip appears."""
    notebook, view = opened(page, address, lab_folder, "load", MATMUL)
    with contextlib.ExitStack() as running:
        for _ in range(os.cpu_count() or 1):
            one = running.enter_context(subprocess.Popen([sys.executable, "-c", "while True: pass"]))
            running.callback(one.kill)
        notebook.poll("() => /^\\d+ % busy/.test(document.querySelector('[data-swb-value=load]')?.textContent)", LONG)
        chip = view.find("[data-swb-value=load]")
        assert re.fullmatch(r"\d+ % busy: \S.*", chip.text_content())
        assert "measured again when the machine is quiet" in chip.get_attribute("title")


# -------------------------------------------------------------------------------------- one thread for cells and clicks


@pytest.fixture(scope="module")
def old_address(playwright: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A JupyterLab in which clicks reach the kernel on its main thread, between cells."""
    with lab(tmp_path_factory.mktemp("old") / "notebooks", MAIN_THREAD) as url:
        yield url


def old_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of that JupyterLab."""
    return next(tmp_path_factory.getbasetemp().glob("old*")) / "notebooks"


BUSY = """
import time
from pathlib import Path
print("it runs", flush=True)
end = time.time() + 240
while not Path({0!r}).exists() and time.time() < end:
    sum(range(1000))
"""
REACTS = """async () => { const word = () => document.querySelector('.swb-tuning-state').textContent;
    const [name, wanted] = word() === 'Running' ? ['pause', 'Paused'] : ['resume', 'Running'];
    const began = performance.now();
    document.querySelector(`[data-action=${name}]`).click();
    while (word() !== wanted && performance.now() - began < 60000) await new Promise(requestAnimationFrame);
    return [word() === wanted, performance.now() - began]; }"""
OLD_KERNEL = """() => Object.defineProperty(window.jupyterapp.shell.currentWidget.sessionContext.session.kernel,
    'supportsSubshells', { get: () => false })"""


def reaction(page: Any) -> float:
    """Milliseconds that a click on Pause or Resume takes until the new state stands there."""
    reached, ms = page.evaluate(REACTS)
    assert reached, "it never came"
    return float(ms)


@pytest.mark.parametrize(
    ("comms", "limit_ms"),
    [
        pytest.param("over subshells", 60_000, marks=pytest.mark.checks),
        pytest.param("over subshells", 1000, marks=pytest.mark.bench),
        pytest.param("over the main thread", 60_000, marks=pytest.mark.checks),
    ],
)
def test_pause_reacts_while_a_cell_computes(
    page: Any, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, comms: str, limit_ms: int
) -> None:
    there = request.getfixturevalue("address" if comms == "over subshells" else "old_address")
    folder = request.getfixturevalue("lab_folder") if comms == "over subshells" else old_folder(tmp_path_factory)
    name = "busy"
    notebook, view, _ = tuned(page, there, folder, name)
    cell = notebook.code(BUSY.format(f"{name}-go-on"), wait=False)
    notebook.wait_output(cell, "it runs")
    took: list[tuple[float, float]] = []
    while not any(max(there_and_back) < limit_ms for there_and_back in took):
        assert len(took) < 3, took  # other programs may have the cores for a moment
        took.append((reaction(page), reaction(page)))
        assert notebook.running(cell)
    view.find("[data-action=stop]").click()
    view.state("Stopped")
    assert notebook.running(cell)
    (folder / f"{name}-go-on").touch()
    notebook.wait_cell(cell)


@pytest.mark.checks
def test_clicks_wait_for_the_cell_where_there_is_one_thread(
    page: Any, old_address: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = old_folder(tmp_path_factory)
    notebook, view, _ = tuned(page, old_address, folder, "one")
    page.evaluate(OLD_KERNEL)
    view.see(".js-plotly-plot .main-svg")
    cell = notebook.code(LOOP.format("go-on"), wait=False)
    before = view.trials()
    view.find("[data-action=pause]").click()
    view.see(".swb-foot-link", "queued")
    view.see(".swb-note", "The kernel is busy")
    assert "pause" in view.find(".swb-note").first.inner_text()
    notebook.poll(MORE_TRIALS, LONG, before)
    assert notebook.running(cell), "tuning reports beside the cell, also when clicks wait for it"
    assert view.find(".swb-tuning-state").inner_text() == "Running"
    (folder / "go-on").touch()
    notebook.wait_cell(cell)
    view.state("Paused")
    view.find(".swb-note").wait_for(state="detached")
    assert "queued" not in view.find(".swb-foot-link").inner_text()
    view.tab("schedule")
    view.find(".swb-nest [data-row]").nth(1).click()
    view.see(".swb-nest [data-row][aria-selected=true]")
    view.see(".swb-foot-link", "idle")


# --------------------------------------------------------------------------------------------------- pages and kernels


TOO_SLOW = """const timeout = AbortSignal.timeout.bind(AbortSignal);
AbortSignal.timeout = ms => timeout(ms === 2000 ? 0 : ms);"""
"""As on a page that is busy for longer than the two seconds that anywidget gives to the module of a model."""


@pytest.mark.checks
@pytest.mark.parametrize("slow", first([False, True]))
def test_page_reloaded_in_mid_tuning(page: Any, address: str, lab_folder: Path, slow: bool) -> None:
    if slow:
        page.add_init_script(TOO_SLOW)
        page.spoiled, page.cleared = True, ""  # JupyterLab itself must load with it, and no other test
    notebook, view, log = tuned(page, address, lab_folder, f"reload-{slow}")
    task = view.find(".swb-crumb b").inner_text()
    notebook.save()
    page.reload()
    page.wait_for_selector("#jp-main-dock-panel", timeout=LONG)
    then = trials(log)
    view.wait()
    assert view.find(".swb-crumb b").inner_text() == task
    view.tab("tuning")
    view.state("Running")
    notebook.poll(MORE_TRIALS, LONG, then)
    assert trials(log) > then, "tuning went on while nobody watched"
    view.see(".js-plotly-plot .main-svg")
    view.find("[data-action=stop]").click()
    view.see(".swb-tuning-state", re.compile("^Stopped$"))
    whole = load_log(log)
    assert whole.torn is None
    assert len(whole.records) >= view.trials()
    notebook.say("w")
    again = View(notebook, 1).wait()
    again.tab("schedule")
    again.see(".swb-foot-link", "idle")
    given_up = any("[anywidget] Failed to initialize model" in text for text in page.errors)
    assert given_up or not slow, "the page was not too slow"


def test_interrupt_does_not_stop_tuning(page: Any, address: str, lab_folder: Path) -> None:
    notebook, view, log = tuned(page, address, lab_folder, "interrupt")
    cell = notebook.code(LOOP.format("never"), wait=False)
    # The kernel is busy for a moment with every message: only what the cell prints says that it has begun.
    notebook.wait_output(cell, "it runs")
    page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.interrupt()")
    notebook.wait_cell(cell)
    assert "KeyboardInterrupt" in notebook.outputs(cell)
    then = view.trials()
    notebook.poll(MORE_TRIALS, LONG, then)
    assert view.find(".swb-tuning-state").inner_text() == "Running"
    assert notebook.say("print(w.tuning.state)") == "running"
    view.find("[data-action=cancel]").click()
    view.state("Cancelled")
    assert trials(log) >= then


@pytest.mark.checks
def test_kernel_restarted_in_mid_tuning(page: Any, address: str, lab_folder: Path) -> None:
    notebook, view, log = tuned(page, address, lab_folder, "restart")
    page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()")
    view.see(".swb-note", "The kernel was restarted")
    assert "Run the cell again" in view.find(".swb-note").first.inner_text()
    assert view.find("[data-action=pause]").get_attribute("aria-disabled") == "true"
    assert "kernel" in str(view.find("[data-action=pause]").get_attribute("title"))
    assert view.trials() > 0, "the last numbers stay"
    view.tab("schedule")
    assert view.rows(), "the nest stays readable"
    assert view.find("[data-swb-do=measure]").get_attribute("aria-disabled") == "true"
    notebook.wait_kernel()
    before = trials(log)
    assert before > 0
    notebook.say(NETWORK.format("restart.tunelog.jsonl"))
    fresh = View(notebook, 1).wait()
    fresh.tab("tuning")
    assert fresh.trials() == before, "the new widget shows what the log has"
    fresh.start(60)
    fresh.state("Running")
    notebook.poll(MORE_TRIALS, LONG, before)
    fresh.find("[data-action=cancel]").click()
    fresh.state("Cancelled")
    assert trials(log) > before, "the run went on in the same log"


def test_kernel_killed(page: Any, address: str, lab_folder: Path) -> None:
    notebook, view, log = tuned(page, address, lab_folder, "killed")
    notebook.code("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", wait=False)
    note = view.see(".swb-note", re.compile("kernel|connect", re.IGNORECASE))
    note.filter(has_text=re.compile("run the cell again", re.IGNORECASE)).wait_for(timeout=LONG)
    assert view.find("[data-action=pause]").get_attribute("aria-disabled") == "true"
    assert view.trials() > 0
    assert trials(log) > 0
    # JupyterLab starts a new kernel; the same cell brings the widget back.
    if page.locator(".jp-Dialog").count():
        page.locator(".jp-Dialog button.jp-mod-accept").first.click()
    notebook.wait_kernel()
    notebook.run(1)  # the first is the empty one that JupyterLab adds
    view.see("[data-swb-do=measure]:not([aria-disabled=true])")


# ------------------------------------------------------------------------------------------------------ more than once


@pytest.mark.checks
def test_shown_twice(page: Any, address: str, lab_folder: Path) -> None:
    notebook, one = opened(page, address, lab_folder, "twice", MATMUL)
    notebook.say("w")
    two = View(notebook, 1).wait()
    one.select("j")
    two.see(".swb-nest [data-row][aria-label^='loop j,'][aria-selected=true]")
    two.apply("split")
    one.see("button[data-step='1'][aria-current=step]")
    assert two.measured(1) == one.measured(1)
    assert one.rows() == two.rows()
    one.find("[data-swb-do=undo]").click()
    two.see("button[data-step='0'][aria-current=step]")
    assert one.rows() == two.rows()
    notebook.say("w.close()")
    notebook.poll("() => document.querySelectorAll('.swb').length === 0", LONG)


@pytest.mark.checks
def test_single_panels_in_boxes_also_after_a_reload(page: Any, address: str, lab_folder: Path) -> None:
    notebook = Notebook(page, address).open(new_notebook(lab_folder / "boxes.ipynb"))
    notebook.say(
        "import ipywidgets, workbench as wb\nw = wb.Workbench(wb.workloads.matmul(64, 64, 64))\n"
        "ipywidgets.VBox([ipywidgets.HBox([w.show('nest'), w.show('palette')]), w.show('variants')])"
    )
    for reloaded in (False, True):
        nest = View(notebook, 0, "Loop nest").wait()
        palette = View(notebook, 0, "Primitives").wait()
        history = View(notebook, 0, "Variants").wait()
        loop = "j" if not reloaded else "k"
        nest.loop(loop).click()
        palette.see(".swb-pal-head", re.compile(rf"^{loop}\b"))
        palette.find("[data-swb-legal][data-swb-item=split]").click()
        palette.find("[data-swb-apply]:not([aria-disabled=true])").click()
        history.see(f"button[data-step='{2 if reloaded else 1}'][aria-current=step]")
        nest.loop(f"{loop}.1").wait_for()
        boxes = [v.root.bounding_box() for v in (nest, palette, history)]
        assert all(b and b["width"] > 150 and b["height"] > 40 for b in boxes), boxes
        assert boxes[0]["x"] < boxes[1]["x"]
        assert boxes[2]["y"] > boxes[0]["y"]
        if not reloaded:
            notebook.save()
            page.reload()
            page.wait_for_selector("#jp-main-dock-panel", timeout=LONG)


# ------------------------------------------------------------------------------------------------------------- mistakes


def test_an_object_that_cannot_be_shown(page: Any, address: str, lab_folder: Path) -> None:
    notebook = Notebook(page, address).open(new_notebook(lab_folder / "wrong.ipynb"))
    said = re.sub(r"\x1b\[[0-9;]*m", "", notebook.outputs(notebook.code("import workbench as wb\nwb.Workbench(3)")))
    assert "workbench.subject" in said
    assert "Graph" in said, "it says what can be shown"
    assert not re.search(r"\w+/(subject|root)\.py", said), "what goes on inside is no concern of the user"


FAILING = """
from workbench.session.state import results
results.measure = lambda view, target, *_: results.Result({0!r}, error="element [3, 5] is 1.0 but must be 2.0")
"""


def test_failed_measurements_are_told(page: Any, address: str, lab_folder: Path) -> None:
    notebook, view = opened(page, address, lab_folder, "failing", MATMUL)
    for step, (kind, words) in enumerate([("wrong_answer", "wrong answer"), ("timeout", "timeout")], start=1):
        notebook.say(FAILING.format(kind))
        view.select("k" if step == 1 else "j")
        view.apply("split")
        view.see(f"button[data-step='{step}'] .swb-step-ms", words)
        view.find(".swb-chosen").get_by_role("button", name="Why").click()
        view.see(".swb-why", "element [3, 5] is 1.0 but must be 2.0")
        view.find(".swb-why").get_by_role("button", name="Close").click()
    assert view.rows(), "the schedule is still there"
    view.find("[data-swb-do=undo]").click()
    view.see("button[data-step='1'][aria-current=step]")
