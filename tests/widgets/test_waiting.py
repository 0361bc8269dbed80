"""A workbench that is closed or called at an awkward moment: nobody waits for ever, nothing is left behind."""

from __future__ import annotations

import threading

import pytest
from ipywidgets.widgets.widget import _instances
from waiting import until

from workbench import Target, Task, workloads
from workbench.errors import UsageError
from workbench.session.state import results as measuring
from workbench.session.state.results import Result
from workbench.session.tuning_run import charts
from workbench.widgets import Workbench


@pytest.fixture
def gate(monkeypatch):
    """Measurements wait for it."""
    out = threading.Event()

    def measure(view, target, *_):
        assert out.wait(100)
        return Result("ok", 1.5, 0.02, 3.0)

    monkeypatch.setattr(measuring, "measure", measure)
    monkeypatch.setattr(Target, "peak_gflops", lambda self, remeasure=False: 100.0)
    yield out
    out.set()


def matmul() -> Workbench:
    return Workbench(Task.of_func(workloads.matmul(64, 64, 64), Target.host(threads=1)), auto_measure=False)


def test_closing_during_measure_ends_the_wait(comms, gate):
    w, codes = matmul(), []

    def measure():
        try:
            w.measure()
        except UsageError as error:
            codes.append(error.code)

    waiting = threading.Thread(target=measure, daemon=True)
    waiting.start()
    until(lambda: w._measuring())
    w.close()
    waiting.join(100)
    assert codes == ["session.closed"]


def test_measure_in_an_observer_says_that_it_cannot_wait(comms, gate):
    w, codes = matmul(), []
    w.session.run("measure")

    def observer(_change):
        try:
            w.measure()
        except UsageError as error:
            codes.append(error.code)

    w.observe(observer, "selection")
    w.session.submit("select", {"id": "i"})
    assert w.session.flush(100)
    assert codes == ["session.thread"]


def test_closing_while_the_figure_is_made_leaves_no_figure(comms, gate, monkeypatch):
    w, making, go_on = matmul(), threading.Event(), threading.Event()
    make = charts.figure

    def slow(*args):
        making.set()
        assert go_on.wait(20)
        return make(*args)

    monkeypatch.setattr(charts, "figure", slow)
    w.comm.receive({"t": "do", "id": "a", "cmd": "figure", "args": {}})
    assert making.wait(20)
    threading.Timer(0.2, go_on.set).start()
    w.close()
    until(lambda: not [x for x in _instances.values() if "Figure" in type(x).__name__], 5)
