"""Turns at measuring: one at a time, fair to users, whatever becomes of those who wait or measure."""

import contextlib
import io
import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from errors.test_cli_errors import invoke
from hypothesis import given
from hypothesis import strategies as st
from runtime.llvm_kernels import add_func
from waiting import until

from workbench import queue_settings
from workbench.doctor import doctor
from workbench.errors import InputError, RunError
from workbench.queue_settings import VARIABLE, Settings
from workbench.runtime.machine import turns
from workbench.runtime.machine.queue_line import History, MeasurementQueue, Ticket, Waiting, in_order
from workbench.runtime.results.measure_options import MeasureOptions
from workbench.runtime.schedule_methods import measure
from workbench.runtime.thread_pool import placement
from workbench.runtime.workers.batch import MeasureInput
from workbench.runtime.workers.local_runner import LocalRunner
from workbench.session import Session
from workbench.target import Target
from workbench.workloads import matmul

pytest.importorskip("fcntl")
FUNC = add_func(1024)

#: Takes some turns, and writes when each began and ended; "hang" stays in the first one.
TURNS = """
import sys, time
from workbench.runtime.machine import turns
times, each = int(sys.argv[1]), float(sys.argv[2])
for _ in range(times):
    with turns.turn():
        begin = time.monotonic()
        print("took", flush=True)
        time.sleep(each)
        print(begin, time.monotonic(), flush=True)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A queue that this process and those that it starts use."""
    where = tmp_path / "queue"
    MeasurementQueue.make(where, Settings(turn_s=0.02))
    monkeypatch.setenv(VARIABLE, str(where))
    return where


@pytest.fixture
def other():
    """Start a process that takes turns."""
    crew = []

    def start(user, times=1, each=60.0):
        command = [sys.executable, "-c", TURNS, str(times), str(each)]
        environment = {**os.environ, "JUPYTERHUB_USER": user}
        crew.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment))
        return crew[-1]

    yield start
    for process in crew:
        process.kill()
        process.communicate()


def waiters(where):
    return [ticket.user for ticket in MeasurementQueue(where).status()[1]]


@contextlib.contextmanager
def told():
    """What is said of waiting meanwhile."""
    heard = []
    before = turns.hear(heard.append)
    try:
        yield heard
    finally:
        before.var.reset(before)


# ---- the order ----

USERS = st.lists(st.sampled_from("abcd"), min_size=1, max_size=12)


@given(USERS, st.dictionaries(st.sampled_from("abcd"), st.floats(1, 100)))
def test_each_users_first_comes_before_any_second_and_nobody_is_lost(users, last):
    tickets = [Ticket(100 + k, user, 7, k) for k, user in enumerate(users)]
    line = in_order(tickets[::-1], last)
    assert sorted(line, key=tickets.index) == tickets
    seen = [[t.user for t in line[:k]].count(ticket.user) for k, ticket in enumerate(line)]
    assert seen == sorted(seen)
    for user in set(users):
        own = [t for t in line if t.user == user]
        assert own == sorted(own, key=lambda t: t.since_ns)
    firsts = [last.get(t.user, 0.0) for t in line[: len(set(users))]]
    assert firsts == sorted(firsts)


@given(st.lists(st.integers(1, 4), min_size=2, max_size=6))
def test_nobody_waits_for_more_than_one_turn_of_each_other_user(wishes):
    """Users with one to four notebooks each, all of which want the next turn as soon as they have had one."""
    line = [Ticket(k, str(user), k, k) for k, user in enumerate(u for u, n in enumerate(wishes) for _ in range(n))]
    last, now, turns_of = {}, 1000.0, []
    for step in range(40):
        ticket = in_order(line, last)[0]
        line.remove(ticket)
        line.append(Ticket(1000 + step, ticket.user, ticket.process, ticket.number))
        now += 1.0
        last[ticket.user] = now
        turns_of.append(ticket.user)
    for k in range(len(turns_of) - len(wishes)):
        assert set(turns_of[k : k + len(wishes)]) == {str(u) for u in range(len(wishes))}


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30) | st.just("a\udcff"))
def test_a_ticket_is_read_back_from_its_name(user):
    ticket = Ticket(123, user, 4, 5)
    assert "/" not in ticket.file
    assert Ticket.of(ticket.file) == ticket
    assert Ticket.of("." + ticket.file) is None


# ---- processes ----


def test_one_at_a_time(folder, other):
    crew = [other(user, times=6, each=0.01) for user in "abca"]
    stretches = []
    for process in crew:
        out, _ = process.communicate(timeout=100)
        assert process.returncode == 0
        stretches += [tuple(map(float, line.split())) for line in out.splitlines() if line != "took"]
    assert len(stretches) == 24
    stretches.sort()
    assert all(end <= begin for (_, end), (begin, _) in itertools.pairwise(stretches))
    assert MeasurementQueue(folder).tickets() == []
    assert list((folder / "line").iterdir()) == []


def test_who_is_killed_in_a_turn_or_in_the_line_holds_nobody_up(folder, other):
    holder = other("a")
    assert holder.stdout.readline() == "took\n"
    waiting = other("b")
    until(lambda: waiters(folder) == ["b"])
    seen, _, _ = MeasurementQueue(folder).status()
    assert (seen["user"], seen["process"]) == ("a", holder.pid)
    waiting.kill()
    waiting.wait()
    holder.send_signal(signal.SIGKILL)
    with turns.turn() as turn:
        assert turn.waited_s < 100
        assert waiters(folder) == []
    assert list((folder / "line").iterdir()) == []


def test_a_long_turn_is_given_away_between_two_repetitions(folder):
    begun, over = threading.Event(), threading.Event()
    waited = []

    def measure_for_long():
        with turns.turn() as turn:
            begun.set()
            while not over.is_set():
                if turn.due():
                    turn.again()
            waited.append(turn.waited_s)

    thread = threading.Thread(target=measure_for_long)
    thread.start()
    begun.wait()
    for _ in range(3):
        with turns.turn():
            time.sleep(0.01)
    over.set()
    thread.join()
    assert waited[0] >= 0.02  # the last of the three may have begun after it had ended
    assert MeasurementQueue(folder).status()[0] is None


def test_a_turn_inside_a_turn_is_the_same_one(folder):
    with turns.turn() as outer, turns.turn() as inner:
        assert inner is outer
    assert MeasurementQueue(folder).status()[0] is None


def test_without_a_queue_there_is_nothing(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    with turns.turn() as turn:
        assert not turn.due()
        turn.again()
        assert turn.waited_s == 0.0
    turns.check()


# ---- measurements ----


def test_waiting_costs_a_measurement_none_of_its_time(folder):
    target = Target.host(1)
    with told() as heard:
        assert measure(FUNC, FUNC, target).waited_s < 0.4  # nobody is there; workers are up
        held = threading.Event()

        def hold():
            with turns.turn():
                held.set()
                until(lambda: any(w.ahead for w in heard))
                time.sleep(0.6)

        thread = threading.Thread(target=hold)
        thread.start()
        held.wait()
        found = measure(FUNC, FUNC, target, timeout_s=0.4)
        thread.join()
    assert found.ok, found
    assert found.waited_s >= 0.5
    assert found.run_s < found.waited_s + 0.4
    assert str(heard[0]).startswith("waiting for another measurement")
    assert (heard[-1].ahead, heard[-1].waited_s) == (0, pytest.approx(found.waited_s, abs=0.1))


def test_who_is_first_in_the_line_hears_of_it_again_while_it_takes_long(folder):
    held, done = threading.Event(), threading.Event()

    def hold():
        with turns.turn():
            held.set()
            done.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()

    def heard_late(waiting):
        if waiting.waited_s >= 0.5:
            done.set()

    before = turns.hear(heard_late)
    try:
        with turns.turn():
            assert done.is_set()
    finally:
        done.set()
        before.var.reset(before)
    thread.join()


@contextlib.contextmanager
def held_until(condition):
    """A turn is held by another thread until something is the case."""
    held = threading.Event()

    def hold():
        with turns.turn():
            held.set()
            until(condition, 20)

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(30)
    yield
    thread.join()


def test_a_session_hears_of_its_own_measurements_and_the_others_are_printed(folder, monkeypatch):
    printed = []
    monkeypatch.setattr(turns, "_print", printed.append)
    session = Session(matmul(16, 16, 16), target=Target.host(1), auto_measure=False)
    with held_until(lambda: any(w.ahead for w in printed)):
        assert measure(FUNC, FUNC, Target.host(1)).ok
    assert session.flush(100)
    assert session.state.in_line == ""
    printed.clear()
    with held_until(lambda: session.state.in_line.startswith("waiting for another measurement")):
        session.run("measure")
    until(lambda: not session.state.doing)
    assert not printed
    session.close()


def test_what_waits_can_be_cancelled(folder):
    with LocalRunner(Target.host(1), MeasureOptions(), builders=1) as runner, told() as heard:
        with turns.turn():
            results = runner.measure_many([MeasureInput("t", FUNC, FUNC)])
            until(lambda: any(w.ahead for w in heard))
            runner.cancel()
            assert list(results) == []
            until(lambda: waiters(folder) == [])
        assert runner.measure(MeasureInput("t", FUNC, FUNC)).ok


def test_who_is_not_interested_any_more_leaves_the_line(folder):
    """As after an interrupt in a notebook."""
    with LocalRunner(Target.host(1), MeasureOptions(), builders=1) as runner, told() as heard:
        with turns.turn():
            results = runner.measure_many([MeasureInput("t", FUNC, FUNC)])
            until(lambda: any(w.ahead for w in heard))
            results.close()
            until(lambda: waiters(folder) == [])
        assert runner.measure(MeasureInput("t", FUNC, FUNC)).ok


def test_an_interrupt_ends_waiting_in_this_process(folder, other):
    holder = other("a")
    holder.stdout.readline()
    timer = threading.Timer(0.3, os.kill, [os.getpid(), signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt), turns.turn():
        pass
    timer.join()
    assert MeasurementQueue(folder).tickets() == []


def test_a_folder_that_cannot_be_used_is_told(tmp_path, monkeypatch):
    for where in (tmp_path / "nowhere", Path(__file__)):
        monkeypatch.setenv(VARIABLE, str(where))
        with pytest.raises(RunError) as caught:
            measure(FUNC, FUNC, Target.host(1))
        assert caught.value.code == "run.queue"
        assert "workbench queue" in caught.value.hint


@pytest.mark.parametrize("text", ["[", "[]", '{"cores": 3}', '{"cores": ["x"]}', '{"turn_s": 0}', '{"cores": [-1]}'])
def test_settings_that_make_no_sense_are_told(folder, text):
    (folder / "queue.json").write_text(text)
    with pytest.raises(RunError) as caught, turns.turn():
        pass
    assert caught.value.code == "run.queue"
    assert queue_settings.measuring_cores() == frozenset()


def test_a_damaged_history_is_begun_anew(folder):
    damaged = (
        b"",
        b"\xff{",
        b"[1]",
        b'{"last": 3}',
        b'{"seconds": ["x"]}',
        b'{"holder": {"since": "x"}}',
        b'{"holder": 3}',
    )
    for text in damaged:
        (folder / "turn").write_bytes(text)
        with turns.turn():
            pass
        assert len(json.loads((folder / "turn").read_text())["seconds"]) == 1


def test_a_long_name_is_a_user_like_any_other(folder, monkeypatch):
    monkeypatch.setenv("JUPYTERHUB_USER", "\N{SNOWMAN}" * 100)
    for _ in range(2):
        with turns.turn(), MeasurementQueue(folder).place() as ticket:
            assert len(ticket.file) < 255
    history = History.read(MeasurementQueue(folder).open_turn())
    assert list(history.last) == [ticket.user]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_has_no_turn(folder):
    with turns.turn():
        pid = os.fork()
        if pid == 0:
            os._exit(getattr(turns._turns, "held", None) is not None)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert MeasurementQueue(folder).status()[0] is None


# ---- processors ----


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system places no threads")
def test_measurements_run_on_their_processors_and_nothing_else_does(folder):
    core = max(os.sched_getaffinity(0))
    MeasurementQueue.make(folder, Settings(frozenset({core})))
    before = os.sched_getaffinity(0)
    with placement.confined({core}):
        assert os.sched_getaffinity(0) == {core}
    assert os.sched_getaffinity(0) == before
    assert queue_settings.measuring_cores() == {core}
    assert measure(FUNC, FUNC, Target.host(1)).ok
    assert os.sched_getaffinity(0) == before
    assert [p["code"] for p in doctor()["problems"] if "queue" in p["code"]] == ["doctor.queue"]


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system places no threads")
def test_processors_that_are_out_of_reach_are_told():
    with pytest.raises(RunError) as caught, placement.confined({1 << 12}):
        pass
    assert caught.value.code == "run.queue_cores"
    with pytest.raises(FileNotFoundError), placement.confined(os.sched_getaffinity(0)):
        raise FileNotFoundError  # what goes wrong there has nothing to do with processors


def test_lists_of_processors():
    assert queue_settings.cores_of("2-4, 8") == {2, 3, 4, 8}
    for text in ("", "a", "1-", "-1", "1,,2", "9" * 30, "5-2", "0-99999999"):
        with pytest.raises(InputError) as caught:
            queue_settings.cores_of(text)
        assert caught.value.code == "queue.cores"


# ---- words ----


def test_words():
    assert str(Waiting(3, 4.04)) == "waiting for 3 others, about 4 s"
    assert str(Waiting(1)) == "waiting for another measurement"
    assert History(None, {}, (1.0, 3.0)).usual_s == 2.0


def test_a_line_is_printed_after_a_while_and_cleared(monkeypatch):
    screen = io.StringIO()
    monkeypatch.setattr(sys, "stderr", screen)
    for waiting in (Waiting(2, 1.0), Waiting(2, 1.0, 0.7), Waiting(1, 0.5, 0.9), Waiting(0, 0.0, 1.2), Waiting(0)):
        turns.announce(waiting)
    lines = [line.strip() for line in screen.getvalue().split("\r")]
    assert lines == ["", "waiting for 2 others, about 1 s", "waiting for another measurement, about 0.5 s", "", ""]


def test_in_a_notebook_it_stands_among_the_results(monkeypatch):
    notebook = type("OutStream", (io.StringIO,), {"__module__": "ipykernel.iostream"})()
    monkeypatch.setattr(sys, "stdout", notebook)
    for waiting in (Waiting(2, 1.0, 0.7), Waiting(0, 0.0, 1.24), Waiting(0, 0.0, 0.01)):
        turns.announce(waiting)
    lines = [line.strip() for line in notebook.getvalue().split("\r")]
    assert lines == ["", "waiting for 2 others, about 1 s", "waited for 1.2 s"]


def test_command_line(folder, other, capfd):
    holder = other("ann")
    holder.stdout.readline()
    other("bob")
    until(lambda: waiters(folder) == ["bob"])
    code, out, _ = invoke(capfd, "queue", "--json")
    found = json.loads(out)
    assert (code, found["measures"]["user"], found["waits"][0]["user"]) == (0, "ann", "bob")
    code, out, _ = invoke(capfd, "queue", str(folder), "--turn", "0.25", "--cores", "0")
    assert code == 0
    assert "Measures: ann" in out
    assert "1. bob" in out
    assert f"export {VARIABLE}=" in out
    assert queue_settings.settings(folder) == Settings(frozenset({0}), 0.25)
    code, _, err = invoke(capfd, "queue", str(folder), "--cores", "70000")
    assert (code, "queue.cores" in err) == (3, True)
