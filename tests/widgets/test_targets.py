"""Another target in the widget: the whole state of another session, patches of one at a time, and the way back."""

from __future__ import annotations

import threading

import pytest
from session.fakes import FakeTuning
from waiting import until

from workbench import Session, Target, Task, workloads
from workbench.errors import TargetError, UsageError
from workbench.widgets import Workbench, target_methods

HOST = Target.host(threads=1)
SPLIT = {"primitive": "split", "args": {"loop": "j", "factors": [None, 16]}}


@pytest.fixture
def opened(comms):
    """A workbench that a browser has greeted."""
    w = Workbench(Task.of_func(workloads.matmul(64, 64, 64), HOST), auto_measure=False)
    w.comm.receive({"t": "hello", "v": 2, "theme": "light"})
    assert w.session.flush(100)
    yield w
    w.close()


def asks(w, target, name="t"):
    w.comm.receive({"t": "do", "id": name, "cmd": "retarget", "args": {"target": target}})


def whole(sent, w):
    """The targets of the states that were sent."""
    return [m["slices"]["target"]["text"].split()[0] for m in sent(w) if m["t"] == "state"]


def test_the_browser_gets_the_state_of_the_other_target(opened, sent):
    w, first = opened, opened.session
    w.session.run("apply", step=SPLIT)
    asks(w, "cpu-simt")
    until(lambda: whole(sent, w) == ["llvm", "cpu-simt"])
    assert w.session is not first
    assert len(w.schedule.trace) == 0
    w.comm.receive({"t": "do", "id": "b", "cmd": "apply", "args": {"step": SPLIT}})
    until(lambda: any("b" in m.get("done", ()) for m in sent(w)))
    assert [len(s.schedule.trace) for s in (first, w.session)] == [1, 1]
    asks(w, str(HOST), "back")
    until(lambda: whole(sent, w) == ["llvm", "cpu-simt", "llvm"])
    assert w.session is first
    assert len(w.schedule.trace) == 1
    assert {"t", "back"} <= {name for m in sent(w) for name in m.get("done", ())}


def test_patches_are_those_of_the_session_on_show(opened, sent):
    """One that was left only says how its commands have ended."""
    w, first = opened, opened.session
    w.retarget("cpu-simt")
    assert w.session.flush(100)
    n = len(sent(w))
    first.submit("apply", {"step": SPLIT}, id="late")
    first.submit("select", {"id": "k"})
    assert first.flush(100)
    (told,) = sent(w)[n:]
    assert (told["rev"], told["ops"], told["done"]) == (0, {}, ["late"])
    assert len(first.schedule.trace) == 1


def test_from_python_and_back(opened):
    w, first = opened, opened.session
    assert w.retarget("cpu-simt") is w
    assert w.task.target == Target("cpu-simt")
    simt = w.session
    assert w.retarget(HOST).session is first
    assert w.retarget(Target("cpu-simt")).session is simt


@pytest.mark.parametrize("target", ["cudda", "cuda -arch=sm_1", "", None, 3])
def test_what_is_no_target_changes_nothing(opened, sent, target):
    w, first = opened, opened.session
    asks(w, target)
    until(lambda: any(f["id"] == "t" for m in sent(w) for f in m.get("failed", ())))
    (error,) = [f["error"] for m in sent(w) for f in m.get("failed", ())]
    assert error["code"].startswith(("target.", "usage."))
    assert error["hint"]
    assert w.session is first
    with pytest.raises((TargetError, UsageError)):
        w.retarget(target)


def test_tuning_is_not_left(opened, sent):
    w, first = opened, opened.session
    tuning = FakeTuning([first.task]).feed(2)
    first.run(lambda: first.state.attach(tuning, "task"))
    with pytest.raises(UsageError) as refused:
        w.retarget("cpu-simt")
    assert refused.value.code == "session.tuning"
    asks(w, "cpu-simt")
    until(lambda: any(f["error"]["code"] == "session.tuning" for m in sent(w) for f in m.get("failed", ())))
    assert w.session is first
    tuning.end()


def test_while_one_is_made_it_is_said_and_no_other_begun(opened, sent, monkeypatch):
    w, first = opened, opened.session
    gate, real = threading.Event(), target_methods.retargeted
    monkeypatch.setattr(target_methods, "retargeted", lambda *a: (gate.wait(100), real(*a))[1])
    asks(w, "cpu-simt")
    until(lambda: first.snapshot().slices["target"]["step"] == "Making the tasks for cpu-simt")
    asks(w, "opencl", "second")
    until(lambda: any(f["error"]["code"] == "session.busy" for m in sent(w) for f in m.get("failed", ())))
    first.run("select", id="k")
    assert w.selection == "k", "the workbench goes on meanwhile"
    gate.set()
    until(lambda: whole(sent, w)[-1] == "cpu-simt")
    assert first.snapshot().slices["target"]["step"] == ""


def test_what_goes_wrong_is_told_and_everything_stays(opened, monkeypatch):
    w, first = opened, opened.session

    def fail(*_):
        raise TargetError("target.tasks", "Nothing of it is computed there", (), "choose another one")

    monkeypatch.setattr(target_methods, "retargeted", fail)
    asks(w, "vta")
    until(lambda: first.snapshot().slices["target"]["error"])
    assert first.snapshot().slices["target"]["error"]["code"] == "target.tasks"
    assert w.session is first


def test_tuning_that_began_meanwhile_is_not_left(opened, monkeypatch):
    w, first = opened, opened.session
    gate, real = threading.Event(), target_methods.retargeted
    monkeypatch.setattr(target_methods, "retargeted", lambda *a: (gate.wait(100), real(*a))[1])
    asks(w, "cpu-simt")
    tuning = FakeTuning([first.task]).feed(2)
    first.run(lambda: first.state.attach(tuning, "task"))
    gate.set()
    until(lambda: (first.snapshot().slices["status"]["note"] or {}).get("code") == "session.tuning")
    assert w.session is first
    tuning.end()


def test_a_figure_is_drawn_of_the_session_on_show(opened):
    w = opened
    w.comm.receive({"t": "do", "id": "f", "cmd": "figure", "args": {}})
    until(lambda: w.figure)
    figure = w._figure.widget()
    w.retarget("cpu-simt")
    assert w.session.flush(100)
    assert w._figure._session is w.session
    assert w._figure.widget() is figure


def test_variants_have_a_file_for_each_target(comms, tmp_path):
    w = Workbench(Task.of_func(workloads.matmul(8, 8, 8), HOST), auto_measure=False, variants=tmp_path / "kept.json")
    w.retarget("cpu-simt")
    w.session.run("apply", step={"primitive": "unroll", "args": {"loop": "k"}})
    w.close()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["kept-cpu-simt.json", "kept.json"]
    assert '"unroll"' in (tmp_path / "kept-cpu-simt.json").read_text()
    assert '"unroll"' not in (tmp_path / "kept.json").read_text()


def test_all_sessions_end_with_the_workbench_but_one_that_was_given(comms):
    given = Session(Task.of_func(workloads.matmul(8, 8, 8), HOST), auto_measure=False)
    w = Workbench(given, auto_measure=False)
    other = w.retarget("cpu-simt").session
    w.close()
    assert other.closed
    assert not given.closed
    given.close()
