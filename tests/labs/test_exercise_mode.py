"""What a lab keeps off says so, in Python and in a session; and is on again for the next lab."""

from __future__ import annotations

import threading

import pytest

import workbench as wb
from workbench import labs
from workbench.errors import UsageError

TARGET = wb.Target.host(threads=1)


def opened(tmp_path, **settings):
    labs.LabFile(student="Ada", settings=settings).write(tmp_path)
    return labs.open("tiling", folder=tmp_path)


def refused(call, *arguments, **named):
    with pytest.raises(UsageError) as caught:
        call(*arguments, **named)
    assert caught.value.code == "lab.mode"
    return str(caught.value)


@pytest.fixture
def session():
    session = wb.Session(wb.workloads.matmul(64, 64, 64), target=TARGET, auto_measure=False)
    yield session
    session.close()


def asked(session, question, **args):
    """What the session answers."""
    replies, came = [], threading.Event()
    session.ask(question, args, lambda message: (replies.append(message), came.set()))
    assert came.wait(30)
    return replies[0]["value"]


def test_advice_and_tuner_say_that_they_are_off(tmp_path):
    opened(tmp_path, advice=False, tuner=False)
    s = wb.Schedule(wb.workloads.matmul(64, 64, 64), TARGET)
    assert "Advice is off in the lab “Tiling by hand”" in refused(wb.advice.why, s)
    assert "The tuner is off" in refused(wb.tune, s, trials=4)


def test_settings_turn_them_on(tmp_path):
    opened(tmp_path, advice=True, tuner=True)
    s = wb.Schedule(wb.workloads.matmul(64, 64, 64), TARGET)
    assert wb.advice.why(s).reasons
    opened(tmp_path, advice=False)
    refused(wb.advice.why, s)
    opened(tmp_path, advice=True)
    assert wb.advice.why(s).reasons


def test_a_session_offers_neither(tmp_path, session):
    opened(tmp_path, advice=False, tuner=False)
    session.run("open_task", task=0)
    slices = session.snapshot().slices if hasattr(session.snapshot(), "slices") else session.snapshot()
    assert slices["why"] == {
        "text": "",
        "rows": [],
        "measured": "",
        "off": "Advice is off in the lab “Tiling by hand”.",
    }
    assert slices["tuning"]["off"] == "The tuner is off in the lab “Tiling by hand”."
    assert not slices["tuning"]["best_ready"]
    assert asked(session, "cures")["rows"] == []
    for command in ("tune", "open_default", "adopt"):
        refused(session.run, command)


def test_a_refused_step_is_explained_without_ways_round_it(tmp_path, session):
    step = {"primitive": "vectorize", "args": {"loop": "i"}}
    assert asked(session, "witness", step=step)["instead"]
    opened(tmp_path, advice=False)
    answer = asked(session, "witness", step=step)
    assert answer["instead"] == []
    assert not answer["verdict"]["legal"]
