"""The figure of the charts in a real JupyterLab, where plotly takes seconds to load."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from browser.driver import Notebook, new_notebook
from browser.view import LONG, View

SLOW = """() => { const make = URL.createObjectURL;
    const wait = 'await new Promise(done => setTimeout(done, 4000));\\n';
    const late = what => what.size > 1e6 ? new Blob([wait, what], { type: what.type }) : what;
    URL.createObjectURL = what => make.call(URL, late(what)); }"""
"""Large modules take longer to load than the two seconds after which anywidget drops what the kernel sends."""

MAKE = """
import sys
sys.path.insert(0, {tests!r})
import workbench as wb
from session.fakes import FakeTuning
tasks = [wb.Task.of_func(wb.workloads.matmul(n, 32, 32), wb.Target.host()) for n in (16, 48)]
fake = FakeTuning(tasks).feed(40)
w = wb.Workbench(fake, auto_measure=False)
w
"""

DRAWN = """n => { const plot = document.querySelector('.js-plotly-plot');
    const trace = plot?.data?.find(t => t.name === 'measured');
    return (trace?.y?.length ?? 0) >= n && plot.querySelectorAll('.scatterlayer .point').length > 0; }"""


@pytest.mark.slow
def test_the_figure_is_complete_and_follows_however_long_plotly_takes_to_load(
    page: Any, address: str, lab_folder: Path
) -> None:
    notebook = Notebook(page, address).open(new_notebook(lab_folder / "figure.ipynb"))
    page.evaluate(SLOW)
    notebook.say(MAKE.format(tests=str(Path(__file__).parents[1])))
    view = View(notebook).wait()
    view.tab("tuning")
    view.see(".js-plotly-plot .main-svg")
    notebook.poll(DRAWN, LONG, 10)
    notebook.say("fake.feed(200)")
    notebook.poll(DRAWN, LONG, 100)
