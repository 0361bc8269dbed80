"""What nobody should say, and what still has to come out right: the errors, the numbers, what is kept."""

from __future__ import annotations

import csv
import io
import json
import threading

import pytest
from session.conftest import matmul, split
from waiting import until

from workbench.errors import UsageError
from workbench.log import Record
from workbench.runtime.results.contest import Contest
from workbench.runtime.results.measurement import Measurement
from workbench.session.export.exporters import prepare
from workbench.session.measurement import comparisons as contests
from workbench.session.state import history

LONG = "x" * 10_000


def asked(s, q, **args):
    """The answer to a question."""
    answers, came = [], threading.Event()
    s.ask(q, args, lambda message: (answers.append(message), came.set()))
    assert came.wait(30)
    return answers[0]


def row(s, node):
    return next(r for r in s.snapshot().slices["history"]["rows"] if r["id"] == node)


@pytest.mark.parametrize(
    ("cmd", "args", "code"),
    [
        ("goto", {"step": LONG}, "session.variant"),
        ("goto", {"step": 10**5000}, "session.variant"),
        ("select", {"id": LONG}, "session.select"),
        ("chart", {"name": [LONG]}, "session.chart"),
        (LONG, {}, "session.command"),
    ],
)
def test_a_refusal_is_short_whatever_was_said(session, cmd, args, code):
    with pytest.raises(UsageError) as e:
        session().run(cmd, **args)
    assert e.value.code == code
    assert len(json.dumps(e.value.to_json())) < 1_000


@pytest.mark.parametrize(
    ("q", "args", "code"),
    [
        ("code", {"kind": ["nest"]}, "code.kind"),
        ("code", {"kind": LONG}, "code.kind"),
        ("diff", {"a": 0, "b": 0, "kind": {}}, "code.kind"),
        ("diff", {"a": 0, "b": 0, "kind": "nest", "row": ["k"]}, "usage.type"),
        ("drops", {"row": None}, "usage.type"),
        ("drops", {"row": LONG}, "nest.row"),
        ("export", {"what": "csv", "panel": ["variants"]}, "export.panel"),
        ("export", {"what": "svg", "panel": {"a": 1}}, "export.panel"),
        ("export", {"what": "svg", "theme": ["dark"]}, "export.theme"),
        ("export", {"what": LONG}, "export.what"),
        (LONG, {}, "session.question"),
    ],
)
def test_a_question_that_means_nothing_is_refused_in_a_sentence(session, q, args, code):
    answer = asked(session(), q, **args)
    assert answer["error"]["code"] == code
    assert len(json.dumps(answer)) < 1_000


def test_a_name_is_what_a_file_can_hold(session):
    s = session()
    s.run("name", node=0, text=" a\0b\ud800 \x1b[1m\tc ")
    name = row(s, 0)["name"]
    name.encode()
    assert name.split() == ["a\ufffdb\ufffd", "\ufffd[1m", "c"]


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@x"])
def test_a_table_holds_no_formula(session, name):
    s = session()
    s.run("name", node=0, text=name)
    (one,) = csv.DictReader(io.StringIO(prepare(s, {"what": "csv"})().text))
    assert one["name"] == f"'{name}"
    assert float(one["x"]) == 0


def test_contests_of_two_tasks_do_not_take_each_other_s_place(session, monkeypatch):
    times = tuple(1.0 + 0.001 * k for k in range(12))
    played, gate = Contest(measurements=(Measurement(status="ok", costs_ms=times),) * 2), threading.Event()
    monkeypatch.setattr(contests.schedule_methods, "contest", lambda *args, **options: gate.wait(20) and played)
    s = session([matmul(), matmul(128)])
    for task in (0, 1):
        s.run("open_task", task=task)
        s.run("apply", step=split("k", None, 8))
    s.run("contest", a=1, b=0)  # under way: both others wait
    s.run("apply", step=split("i", None, 8))
    s.run("contest", a=1, b=2)
    s.run("open_task", task=0)
    s.run("apply", step=split("i", None, 8))
    s.run("contest", a=1, b=2)
    gate.set()
    until(lambda: all(match.state == "" for match in s.state.history.contests.values()))
    assert len(s.state.history.contests) == 3


def test_a_trial_may_be_the_program_as_it_was_written(session):
    s = session()
    key = s.state.infos[0].key
    common = {"task_key": key, "task": "t", "target": "", "status": "ok"}
    s.run(lambda: s.state.stats.add([Record(trial=7, latency_ms=2.0, trace=[], **common)]))
    s.run("apply", step=split("i", None, 8))
    s.run("open_trial", trial=7)
    assert (s.snapshot().slices["history"]["at"], row(s, 0)["trial"], row(s, 0)["ms"]) == (0, 7, 2.0)


def test_what_is_forgotten_takes_no_room(session, monkeypatch):
    monkeypatch.setattr(history, "MOST", 4)
    s = session()
    for n in (2, 4, 8, 16, 32):
        for loop in ("i", "j"):
            s.run("goto", step=0)
            s.run("apply", step=split(loop, None, n))
    s.run("goto", step=0)
    s.run("forget", node=max(r["id"] for r in s.snapshot().slices["history"]["rows"]))  # what `redo` would lead to
    assert not s.snapshot().slices["history"]["can_redo"]
    kept = s.state.history
    states = {node.key for node in kept.trees[0].nodes.values()}
    assert len(states) == 3
    until(lambda: s.flush(100) and states <= kept.estimates.keys())
    for table in (kept.estimates, kept.selected, kept._holes, kept._made):
        assert table.keys() <= states
