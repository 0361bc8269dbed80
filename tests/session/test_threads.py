"""Who waits for a session is let go, and what is done in its own thread is shown like anything else."""

from __future__ import annotations

import os
import threading

import pytest
from session.conftest import split
from waiting import until

from workbench.errors import UsageError


def in_thread(work):
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def test_close_lets_go_of_who_waits_for_a_busy_session(session):
    s = session()
    gate, results = threading.Event(), []
    s.submit(lambda: gate.wait(20))

    def command():
        try:
            s.run("measure")
        except UsageError as error:
            results.append(error.code)

    waiting = [in_thread(lambda: results.append(s.flush())), in_thread(command)]
    until(lambda: len(s._calls) + len(s._flushes) == 2)
    closing = in_thread(s.close)
    until(lambda: s.closed)
    gate.set()
    for thread in (*waiting, closing):
        thread.join(100)
        assert not thread.is_alive()
    assert sorted(results, key=str) == [True, "session.closed"]


def test_a_step_taken_by_a_subscriber_on_the_schedule_is_shown(session):
    s = session()
    s.subscribe(lambda _message: s.schedule.trace or s.schedule.split("i", [None, 8]))
    s.submit("select", {"id": "i"})
    until(lambda: s.snapshot().slices["history"]["at"] == 1)


def test_a_command_run_by_a_subscriber_is_shown_when_it_returns(session):
    s = session()
    seen = []

    def subscriber(_message):
        if not seen:
            seen.append(0)
            s.run("apply", step=split("i", None, 8))
            seen.append(s.snapshot().slices["history"]["at"])

    s.subscribe(subscriber)
    s.submit("select", {"id": "i"})
    until(lambda: len(seen) == 2)
    assert seen == [0, 1]


@pytest.mark.parametrize("id", [None, 0, ["i"], {}])
def test_only_names_can_be_selected(session, id):
    s = session()
    with pytest.raises(UsageError) as caught:
        s.run("select", id=id)
    assert caught.value.code == "session.select"
    assert s.snapshot().slices["status"]["note"] is None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_can_use_the_session(session):
    s = session()
    s.run("select", id="k")  # the session has a thread now, which the fork does not get
    child = os.fork()
    if child == 0:
        done = in_thread(lambda: s.run("select", id="j"))
        done.join(100)
        os._exit(7 if done.is_alive() else 0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
