"""Slices, commands and questions are found where they are declared; each by itself; answers come in their order."""

from __future__ import annotations

import ast
import threading
import time
from pathlib import Path

import pytest
from session.conftest import Mirror, matmul, split
from waiting import until

from workbench import Session
from workbench.cooperative_yield import pause
from workbench.errors import UsageError
from workbench.session import panels
from workbench.session.compute_slices import Slices
from workbench.session.core import threads as worker
from workbench.session.core.identity_cache import IdentityCache
from workbench.session.core.threads import Lanes
from workbench.session.registry import COMMANDS, KEPT, QUESTIONS, SLICES, command, needed, question, slice_


@pytest.fixture
def declared():
    """Forgets what a test declares."""
    tables = (COMMANDS, QUESTIONS, SLICES)
    before = [dict(table) for table in tables]
    yield
    for table, old in zip(tables, before, strict=True):
        table.clear()
        table.update(old)


def test_one_function_each_is_all_it_takes(session, declared):
    @slice_("counted")
    def counted(look):
        return {"n": look.state.note["n"] if look.state.note else 0}

    @command
    def count(host, n):
        host.state.note = {"n": n}

    @question("twice")
    def twice(host, args):
        return 2 * needed(args, "twice", "n")

    s = session()
    s.run("count", n=3)
    assert s.snapshot().slices["counted"] == {"n": 3}
    answers = []
    for args in ({"n": 2}, {}, 3):
        s.ask("twice", args, answers.append)
        s.flush(100)
    assert answers[0] == {"ok": True, "value": 4}
    assert [a["error"]["code"] for a in answers[1:]] == ["session.arguments"] * 2
    assert "twice needs a n" in answers[1]["error"]["message"]


def test_areas_do_not_import_each_other():
    for path in Path(panels.__file__).parent.glob("[!_]*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                assert "panels" not in (node.module or "").split("."), f"{path.name} imports {node.module}"


def test_slices_are_computed_after_those_they_follow(declared, session):
    order = []
    for name, after in (("late", ("*",)), ("second", ("first",)), ("first", ("tuning",))):
        slice_(name, after=after)(lambda look, name=name: order.append(name))
    session()
    assert [name for name in order if name != "late"] == ["first", "second"]
    assert list(Slices(session().state).first())[-2:] in (["status", "late"], ["late", "status"])


def test_a_slice_that_fails_is_told_once_and_the_others_stay_right(session, declared, caplog):
    broken = threading.Event()

    @slice_("shaky")
    def shaky(look):
        if broken.is_set():
            raise ZeroDivisionError("x / 0")
        return look.state.selected

    s = session()
    mirror = Mirror(s)
    broken.set()
    s.run("select", id="j")
    assert s.flush(100)
    assert mirror.slices["shaky"] == "k", "as it was"
    assert mirror.slices["palette"]["at"] == "j"
    assert "x / 0" in mirror.slices["status"]["note"]["text"]
    s.run("dismiss")
    s.run("select", id="k")
    assert s.flush(100)
    assert mirror.slices["status"]["note"] is None
    assert caplog.text.count("could not work out what to show") == 1
    broken.clear()
    s.run("select", id="i")
    broken.set()
    s.run("select", id="j")
    assert "x / 0" in s.snapshot().slices["status"]["note"]["text"], "it had recovered"
    broken.clear()
    s.run("select", id="k")
    assert s.snapshot().slices["status"]["note"] is None
    assert s.snapshot().slices["shaky"] == "k"
    assert s.flush(100)
    assert mirror.agrees(s)


def test_a_slice_that_fails_at_the_start_is_an_error(declared):
    @slice_("broken")
    def broken(look):
        raise UsageError("x.y", "It cannot be shown")

    with pytest.raises(UsageError, match="cannot be shown"):
        Session(matmul())


def test_what_is_kept_is_made_again_only_of_something_else():
    cache, made, one = IdentityCache(KEPT), [], object()

    def get(*of):
        return cache.of(of, lambda: made.append(of) or [])

    assert get(one, "x") is get(one, "x")
    first = get(one, "y")
    assert get(object(), "y") is not first
    assert len(made) == 3
    assert get(one, "y") is first  # going back finds what was made before
    assert get(one, "x") is get(one, "x")
    assert len(made) == 3
    for n in range(KEPT):
        get(n)
    assert get(one, "y") is not first  # but not for ever


def test_an_answer_that_takes_long_is_worked_out_in_a_lane(session, declared):
    where, gate, answers = [], threading.Event(), {}

    @question("slow", lane="test")
    def slow(host, args):
        where.append(threading.current_thread().name)
        n = args["n"]

        def work():
            where.append(threading.current_thread().name)
            assert gate.wait(10)
            if n == 5:
                raise UsageError("test.five", "Not five")
            return n, host.state is not None

        return work

    s = session()
    s.ask("slow", {"n": 1}, lambda a: answers.setdefault(1, a))
    until(lambda: len(where) == 2)
    assert where == ["workbench-session", "workbench-session-test"]
    for n in (2, 3):  # the first runs, the second waits, the third takes its place
        s.ask("slow", {"n": n}, lambda a, n=n: answers.setdefault(n, a))
        assert s.flush(100)
    assert answers[2]["error"]["code"] == "session.superseded"
    s.run("select", id="k")
    assert set(answers) == {2}, "nobody waited for it"
    gate.set()
    until(lambda: set(answers) == {1, 2, 3})
    assert answers[1]["value"] == (1, True)
    s.ask("slow", {"n": 5}, lambda a: answers.setdefault(5, a))
    until(lambda: 5 in answers)
    assert answers[5]["error"]["code"] == "test.five"
    s.ask("slow", {}, lambda a: answers.setdefault(6, a))
    until(lambda: 6 in answers)
    assert answers[6]["error"]["code"] == "internal"


def test_an_answer_comes_after_the_patch_of_what_was_done_before(session, monkeypatch):
    s = session()
    seen = []
    s.subscribe(lambda message: seen.extend(message["done"]))
    for k in range(5):  # more than may be sent at once
        s.submit("apply", {"step": split(f"i{'.0' * k}", None, 2)}, f"step {k}")
        s.ask("judge", {"step": split(f"i{'.0' * (k + 1)}", None, 2)}, lambda a, k=k: seen.append(f"answer {k}"))
        assert s.flush(100)
    for k in range(5):
        assert seen.index(f"step {k}") < seen.index(f"answer {k}")


def test_commands_can_do_what_takes_long_beside_the_session(session, declared):
    gate, threads = threading.Event(), []

    @command
    def long(host, fails):
        def work():
            assert gate.wait(10)
            threads.append(threading.current_thread().name)
            if fails:
                raise UsageError("test.long", "It did not work")

            def then():
                threads.append(threading.current_thread().name)
                host.state.selected = "k"

            return then

        host.later("long", work)

    s = session()
    s.run("long", fails=False)
    s.run("select", id="j")
    gate.set()
    until(lambda: s.snapshot().slices["selection"]["id"] == "k")
    assert threads == ["workbench-session-work", "workbench-session"]
    s.run("long", fails=True)
    until(lambda: (s.snapshot().slices["status"]["note"] or {}).get("code") == "test.long")


def test_a_lane_after_the_end_does_nothing():
    lanes, done = Lanes(threading.Event()), []
    lanes.close()
    lanes.lane("x").submit("a", lambda: done.append(1))
    assert lanes.lane("x") is lanes.lane("x")
    assert not done


@pytest.mark.parametrize("patience", [100.0, 0.001])
def test_a_lane_waits_at_its_steps_while_the_session_is_busy(monkeypatch, patience):
    monkeypatch.setattr(worker, "PATIENCE_S", patience)
    session = worker.Worker("busy", lambda: None)
    lanes, steps = Lanes(session.idle), []
    end, held, free, gate = (threading.Event() for _ in range(4))

    def work():
        while not end.is_set():
            pause()
            steps.append(1)
            time.sleep(0.001)

    try:
        lanes.lane("x").submit("a", work)
        until(lambda: len(steps) > 2)
        session.put(lambda: free.wait(20))  # nobody waits for this
        before = len(steps)
        until(lambda: len(steps) > before + 2)
        free.set()
        session.put(lambda: (held.set(), gate.wait(100)), awaited=True)
        assert held.wait(100)
        before = len(steps) + 1  # it may be in the middle of one
        if patience < 1:
            until(lambda: len(steps) > before)  # a session that is busy for long does not stop it for ever
            return
        time.sleep(0.1)
        assert len(steps) <= before
        gate.set()
        until(lambda: len(steps) > before)
    finally:
        end.set()
        gate.set()
        lanes.close()
        session.close(5)
