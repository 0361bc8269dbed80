"""While somebody looks, the machine is watched, and what was disturbed is measured again when it has become quiet."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from session.conftest import Mirror, own_threads, split
from session.fakes import FakeTuning
from session.test_doubt import WHY, disturbed, row, took
from waiting import until

from workbench.runtime.machine.system_load import Load
from workbench.session.measurement import machine_load as attention
from workbench.session.measurement.measurements import AGAIN
from workbench.session.state.results import Result

BUSY = Load(0.8, kernel=0.0, browser=0.7, other=0.1)
QUIET = Load(0.02, kernel=0.0, browser=0.01, other=0.01)


@pytest.fixture
def machine(monkeypatch):
    """A machine that is as busy as `now` says; seconds are hundredths."""

    class Watch:
        now, looks, forgotten = BUSY, 0, 0

        def look(self):
            Watch.looks += 1
            return Watch.now

        def forget(self):
            Watch.forgotten += 1

    monkeypatch.setattr(attention, "LoadWatch", Watch)
    monkeypatch.setattr(attention, "LASTS_S", 600.0)
    monkeypatch.setattr(attention, "LOOK_S", 0.025)
    monkeypatch.setattr(attention, "FIRST_LOOK_S", 0.01)
    monkeypatch.setattr(attention, "AGAIN_S", 0.05)
    return Watch


@pytest.fixture
def doubtful(session, fake, machine):
    """A session that is looked at, and whose one step was disturbed."""
    s = session(auto_measure=True)
    fake.result = Result.of(disturbed(0.248))
    s.run("apply", step=split("j", None, 16))
    until(lambda: row(s, 1)["status"] == "ok")
    s.attend()
    until(lambda: machine.looks > 3)
    return s


def status(s):
    return s.snapshot().slices["status"]["load"]


def test_nobody_looks_at_the_machine_until_somebody_looks_at_the_session(session, fake, machine):
    s = session()
    s.run("select", id="k")
    assert s.flush(100)
    time.sleep(0.1)
    assert machine.looks == 0
    assert status(s) is None
    s.attend()
    until(lambda: status(s) is not None)
    assert status(s)["text"] + status(s)["whose"] == "80 % busy: browser"
    assert "lately: browser 70 %, other programs 10 %. A kernel needs" in status(s)["about"]


def test_it_ends_when_nobody_looks_any_more(session, fake, machine, monkeypatch):
    monkeypatch.setattr(attention, "LASTS_S", 0.2)
    s = session()
    s.attend()
    until(lambda: machine.looks > 2)
    until(lambda: not own_threads())
    looks = machine.looks
    time.sleep(0.2)
    assert machine.looks == looks


def test_only_what_is_worth_telling_is_sent(session, fake, machine):
    s = session()
    mirror = Mirror(s)
    s.attend()
    until(lambda: status(s) is not None)
    assert s.flush(100)
    until(lambda: mirror.slices["status"]["load"] is not None)
    sent, looks = len(mirror.messages), machine.looks
    machine.now = replace(BUSY, busy=0.85)
    until(lambda: machine.looks > looks + 8)
    assert len(mirror.messages) == sent
    machine.now = QUIET
    until(lambda: mirror.slices["status"]["load"]["text"] == "")
    assert len(mirror.messages) == sent + 1
    assert mirror.sizes[-1] < 250
    assert mirror.agrees(s)


def test_it_is_measured_again_when_the_machine_is_quiet(doubtful, fake, machine):
    assert len(fake.seen) == 1, "the machine was busy"
    fake.result = Result.of(took(0.137))
    machine.now = QUIET
    until(lambda: row(doubtful, 1)["doubt"] is None)
    assert row(doubtful, 1)["ms"] == 0.137
    assert row(doubtful, 1)["remark"] == AGAIN
    assert doubtful.snapshot().slices["head"]["remark"] == AGAIN
    time.sleep(0.2)
    assert len(fake.seen) == 2, "it is known now"


def test_only_a_few_times_and_what_was_known_stays(doubtful, fake, machine):
    fake.result = Result.of(disturbed(0.5, least=0.2))
    machine.now = QUIET
    until(lambda: len(fake.seen) == 1 + attention.ATTEMPTS)
    time.sleep(0.3)
    assert len(fake.seen) == 1 + attention.ATTEMPTS
    until(lambda: row(doubtful, 1)["status"] == "ok")
    assert (row(doubtful, 1)["ms"], row(doubtful, 1)["doubt"]["text"]) == (0.248, WHY)
    assert len(doubtful.state.manual_trials._waiting) == 1, "the log has enough disturbed trials"


def test_not_where_steps_are_not_measured(doubtful, fake, machine):
    doubtful.run("auto_measure", on=False)
    machine.now, looks = QUIET, machine.looks
    until(lambda: machine.looks > looks + 6)
    assert len(fake.seen) == 1


def test_nothing_is_looked_at_while_something_is_measured_or_tuned(doubtful, fake, machine):
    fake.gate.clear()
    doubtful.run("measure")
    until(lambda: len(fake.seen) == 2)
    looks = machine.looks
    time.sleep(0.2)
    assert machine.looks <= looks + 1, "one was on its way"
    fake.gate.set()
    until(lambda: machine.looks > looks + 3)
    tuning = FakeTuning(doubtful.tasks).feed(1)
    doubtful.run(lambda: doubtful.state.attach(tuning, "task"))
    machine.now = QUIET
    doubtful.run("select", id="k")
    until(lambda: status(doubtful) is None)
    time.sleep(0.2)
    assert len(fake.seen) == 2
    tuning.end()
    until(lambda: len(fake.seen) > 2)
