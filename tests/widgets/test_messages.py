"""How much the widget says: budgets of messages and bytes, seen at the comm."""

from __future__ import annotations

import json
import time

import pytest
from session.fakes import FakeTuning
from waiting import until

from workbench import Schedule, Target, Task, workloads
from workbench.errors import WorkbenchError
from workbench.runtime.machine.system_load import Load, LoadWatch
from workbench.widgets import Workbench


def convolution() -> Task:
    """A 3x3 convolution of ResNet-50."""
    return Task.of_func(workloads.conv2d_nhwc(56, 56, 64, 64, bias=True, relu=True), Target.host(threads=1))


def opened(task, **options):
    """A workbench that a browser has greeted."""
    w = Workbench(task, **options)
    w.comm.receive({"t": "hello", "v": 2, "theme": "light"})
    assert w.session.flush(100)
    return w


def size_since(comms, n):
    return len(comms) - n, sum(size for _, _, _, size in comms[n:])


def test_hello_is_answered_with_the_whole_state(comms, sent):
    w = opened(convolution())
    states = [m for m in sent(w) if m["t"] == "state"]
    assert len(states) == 1
    assert {"meta", "nest", "palette", "history", "status", "selection", "head"} <= states[0]["slices"].keys()


def test_the_browser_knows_the_comm_by_the_key(comms):
    w = opened(convolution(), auto_measure=False)
    assert w.comm.comm_id == w.model_id == w.key == w.show("nest").key


def test_opening_stays_under_250_kilobytes(comms):
    opened(convolution())
    assert sum(size for _, _, _, size in comms) < 250_000


@pytest.mark.parametrize("factors", [[None, 16], [None, 8, 4]])
def test_one_primitive_is_two_messages_and_four_kilobytes(comms, sent, factors):
    w = opened(convolution())
    w.comm.receive({"t": "do", "id": "a", "cmd": "select", "args": {"id": "relu_h"}})
    w.session.flush(100)
    n = len(comms)
    step = {"primitive": "split", "args": {"loop": "o", "factors": factors}}
    w.comm.receive({"t": "do", "id": "b", "cmd": "apply", "args": {"step": step}})
    until(lambda: any(r["status"] == "ok" for r in w.session.snapshot().slices["history"]["rows"][1:]))
    w.session.flush(100)
    count, size = size_since(comms, n)
    assert count <= 2
    assert size <= 4_096, {k: len(json.dumps(v)) for m in sent(w)[-2:] for k, v in m["ops"].items()}
    assert sent(w)[-2]["done"] == ["b"]


def tuned(monkeypatch, trials):
    """A workbench with all charts on show, which has followed a run on four tasks: a hundred trials a second."""
    monkeypatch.setattr(Target, "peak_gflops", lambda self, remeasure=False: 100.0)
    tasks = [Task.of_func(workloads.matmul(64, 64, 16 * k), Target.host(threads=1)) for k in (1, 2, 3, 4)]
    tuning = FakeTuning(tasks, rate=100.0)
    w = opened(tuning, auto_measure=False)
    w.comm.receive({"t": "do", "id": "f", "cmd": "figure", "args": {}})
    w.session.flush(100)
    tuning.start()
    w.comm.receive({"t": "do", "id": "s", "cmd": "steer", "args": {"name": "epsilon", "args": {"value": 0.2}}})
    until(lambda: tuning.new_trials > trials)
    tuning.stop()
    w.session.flush(100)
    return w, tuning


def test_of_a_run_nothing_is_missing_at_the_end(comms, monkeypatch):
    w, tuning = tuned(monkeypatch, 100)
    rows = w.session.snapshot().slices["tasks"]["rows"]
    assert sum(row["trials"] for row in rows) == tuning.new_trials
    w.close()


@pytest.mark.bench
@pytest.mark.parametrize("seconds", [4, 60])
def test_a_minute_of_tuning_is_500_messages(comms, monkeypatch, seconds):
    began = time.monotonic()
    w, _ = tuned(monkeypatch, 100 * seconds)
    minutes = (time.monotonic() - began) / 60
    count, size = size_since(comms, 0)
    assert count <= 500 * minutes
    assert size < 12_000_000 * minutes
    w.close()


def test_what_a_cell_does_to_the_schedule_is_shown(comms, sent):
    s = Schedule(workloads.matmul(64, 64, 64), Target.host(threads=1))
    w = Workbench(s, auto_measure=False)
    w.comm.receive({"t": "hello", "v": 2, "theme": "light"})
    w.session.flush(100)
    s.split("i", [None, 8])
    w.session.flush(100)
    rows = w.session.snapshot().slices["nest"]["rows"]
    assert {"i.0", "i.1"} <= {r["id"] for r in rows}
    assert sent(w)[-1]["t"] == "patch"


def test_the_machine_is_watched_while_a_browser_says_that_it_is_there(comms, sent, monkeypatch):
    busy = Load(0.8, kernel=0.1, browser=0.6, other=0.1)
    monkeypatch.setattr(LoadWatch, "look", lambda self: busy)
    w = Workbench(Schedule(workloads.matmul(64, 64, 64), Target.host(threads=1)), auto_measure=False)
    w.comm.receive({"t": "hello", "v": 2, "theme": "light"})
    w.session.flush(100)
    assert w.session.snapshot().slices["status"]["load"] is None
    w.comm.receive({"t": "here"})
    until(lambda: w.session.snapshot().slices["status"]["load"] is not None)
    assert w.session.snapshot().slices["status"]["load"]["whose"] == ": browser"
    w.close()


@pytest.mark.parametrize(
    "content",
    [
        None,
        [],
        "hello",
        {},
        {"t": "do"},
        {"t": "do", "id": 3, "cmd": "apply", "args": []},
        {"t": "do", "id": "x", "cmd": "nothing", "args": {}},
        {"t": "do", "id": "x", "cmd": "apply", "args": {"step": {"primitive": "split"}}},
        {"t": "do", "id": "x", "cmd": "__init__", "args": {}},
        {"t": "ask", "id": "x", "q": "judge", "args": {"step": 3}},
        {"t": "ask", "id": "x", "q": "nothing", "args": {}},
    ],
)
def test_odd_messages_do_no_harm(comms, sent, caplog, content):
    w = opened(convolution(), auto_measure=False)
    w.comm.receive(content)
    w.session.flush(100)
    assert "Traceback" not in caplog.text
    w.comm.receive({"t": "do", "id": "ok", "cmd": "select", "args": {"id": "o"}})
    w.session.flush(100)
    assert any("ok" in m.get("done", []) for m in sent(w))


def test_copies_that_cannot_be_made_are_an_answer_too(comms, sent, monkeypatch):
    """Who has saved a notebook waits for it."""
    w = opened(convolution(), auto_measure=False)
    w.comm.receive({"t": "ask", "id": "now", "q": "copies", "args": {}})
    w.session.flush(100)
    monkeypatch.setattr("workbench.widgets.root.copies", lambda *_: 1 / 0)
    w.comm.receive({"t": "ask", "id": "not", "q": "copies", "args": {}})
    w.session.flush(100)
    now, not_now = (next(m for m in sent(w) if m.get("t") == "ret" and m["id"] == id) for id in ("now", "not"))
    assert list(now["value"]) == [w.model_id]
    assert not_now["error"]["code"] == "internal"


def test_a_failed_command_says_why(comms, sent):
    w = opened(convolution(), auto_measure=False)
    step = {"primitive": "parallel", "args": {"loops": ["kh"]}}
    w.comm.receive({"t": "do", "id": "p", "cmd": "apply", "args": {"step": step}})
    w.session.flush(100)
    failed = [f for m in sent(w) for f in m.get("failed", [])]
    assert [f["id"] for f in failed] == ["p"]
    assert failed[0]["error"]["code"].startswith("parallel.")
    assert failed[0]["error"]["message"]


def test_selection_is_a_trait_both_ways(comms):
    w = opened(convolution(), auto_measure=False)
    w.selection = "kh"
    w.session.flush(100)
    assert w.session.snapshot().slices["selection"]["id"] == "kh"
    w.comm.receive({"t": "do", "id": "s", "cmd": "select", "args": {"id": "o"}})
    w.session.flush(100)
    until(lambda: w.selection == "o")


def test_a_step_that_is_none_is_refused_in_words(comms):
    w = opened(convolution(), auto_measure=False)
    with pytest.raises(WorkbenchError, match="step has to be a Primitive") as e:
        w.apply(3)
    assert e.value.code == "usage.type"
    assert not w.schedule.trace
