"""A run is steered in a real JupyterLab: from the forms of the tuning panel, while it runs, and the log says so."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from browser.driver import Notebook, new_notebook
from browser.view import LONG, View
from workbench.log import load_log

MAKE = """
import workbench as wb
task = wb.Task.of_func(wb.workloads.matmul(96, 96, 96), wb.Target.host(threads=1))
w = wb.Workbench(task, log='steer.tunelog.jsonl', auto_measure=False)
w
"""


def _picture(page: Any, name: str) -> None:
    """Keep a picture where somebody wants to look at it."""
    if folder := os.environ.get("WORKBENCH_PICTURES"):
        page.screenshot(path=f"{folder}/{name}.png")


def _wait_logged(page: Any, log: Path, origin: str) -> None:
    """Wait until a trial that came about in such a way is in the log."""
    for _ in range(LONG // 100):
        if any(record.origin == origin for record in load_log(log).records):
            return
        page.wait_for_timeout(100)
    raise AssertionError(f"no trial with the origin {origin!r} in {log.name}")


def test_a_run_is_steered_from_the_panel(page: Any, address: str, lab_folder: Path) -> None:
    notebook = Notebook(page, address).open(new_notebook(lab_folder / "steer.ipynb"))
    notebook.say(MAKE)
    view = View(notebook).wait()
    view.select("i")
    view.apply("split")
    view.tab("tuning")
    view.start(240, scope="task")
    view.state("Running")
    view.see(".swb-tuning-more .swb-facts", re.compile(r"Best\s*trial \d+ "))

    view.find("[data-swb-order=pin]").click()
    form = view.see("form[aria-label=pin]")
    hole = form.locator("[data-swb-arg=hole]")
    form.locator("[data-swb-arg=hole] option[value=j_0]").wait_for(state="attached", timeout=LONG)
    hole.select_option("j_0")
    form.locator("[data-swb-arg=value]").select_option(index=2)
    value = form.locator("[data-swb-arg=value]").input_value()
    form.locator("[data-swb-send]").click()
    held = view.see(".swb-held button", f"j_0 = {value}")
    form.locator("[role=status]").filter(has_text="Accepted").wait_for(timeout=LONG)
    _picture(page, "lab-pinned")

    view.find("[data-action=add]").click()
    view.find("[data-swb-order=epsilon]").click()
    form = view.see("form[aria-label=epsilon]")
    form.locator("[data-swb-arg=value]").fill("7")
    page.keyboard.press("Enter")
    refused = form.get_by_role("alert")
    refused.wait_for(timeout=LONG)
    assert "0 to 1" in refused.inner_text() or "between" in refused.inner_text(), refused.inner_text()
    _picture(page, "lab-refused")
    form.locator("[data-swb-arg=value]").fill("0.3")
    page.keyboard.press("Enter")
    form.locator("[role=status]").filter(has_text="Accepted").wait_for(timeout=LONG)

    held.click()
    held.wait_for(state="detached", timeout=LONG)
    notebook.say("w.session.tuning.forbid(0, variant=0)")
    view.see(".swb-asked summary", re.compile(r"last: forbid sketch 0 .*by python"))
    view.find(".swb-asked summary").click()
    _picture(page, "lab-asked")
    _wait_logged(page, lab_folder / "steer.tunelog.jsonl", "manual")
    view.find("[data-action=stop]").click()
    view.see(".swb-tuning-state", re.compile("^Stopped$"))

    log = load_log(lab_folder / "steer.tunelog.jsonl")
    said = [(c.name, c.source, c.accepted) for c in log.commands if c.name != "start"]
    assert said == [
        ("pin", "widget", True),
        ("add", "widget", True),
        ("epsilon", "widget", False),
        ("epsilon", "widget", True),
        ("release", "widget", True),
        ("forbid", "python", True),
        ("stop", "widget", True),
    ]
    assert [r.trace[0]["primitive"] for r in log.records if r.origin == "manual"] == ["split"]

    trial = view.see("[data-swb-trial]")
    trial.click()
    view.see("[data-swb-tab=schedule][aria-selected=true]")
    view.see("button[data-step][aria-current=step]", re.compile("trial|default schedule"))  # the best may be either
    view.find("[data-swb-do=undo]").click()
    view.see("button[data-step][aria-current=step]", re.compile(r"^(?!.*(trial|default))", re.DOTALL))
    view.see("button[data-step='1']", "split")
