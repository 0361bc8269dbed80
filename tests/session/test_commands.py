"""Commands, whatever their order: the state stays whole, and the mirror of a front end stays equal to it."""

from __future__ import annotations

import logging
import threading
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from session.conftest import Mirror, matmul, own_threads, split
from waiting import until

from workbench import Schedule, Session, Target, workloads
from workbench.errors import ScheduleError, UsageError
from workbench.schedule.primitive import registry
from workbench.session import readable
from workbench.session.schedule_view.applicable_primitives import QUICK

REFUSED = ScheduleError, UsageError


def test_the_first_state_is_complete(session):
    s = session()
    slices = s.snapshot().slices
    assert set(slices) == {
        "meta", "graph", "tasks", "head", "stages", "nest", "accesses", "why", "selection", "palette", "history",
        "tuning", "steering", "chart", "precision", "timeline", "lengths", "leave_one_out", "comparison", "status",
        "target",
    }  # fmt: skip
    assert slices["meta"]["kind"] == "task"
    assert slices["graph"] is None
    assert [r["id"] for r in slices["nest"]["rows"] if r["kind"] == "loop"] == ["i", "j", "k"]
    assert slices["selection"] == {"id": "k"}
    assert slices["history"]["rows"][0]["text"] == "as written"
    assert len(slices["stages"]["nodes"]) >= 3


def test_every_primitive_is_listed_with_a_reason_where_it_is_not_legal(session):
    s = session()
    for row in ("i", "k", "stmt:C", "A", ""):
        s.run("select", id=row)
        palette = s.snapshot().slices["palette"]
        assert palette["at"] == row
        assert palette["about"]
        assert [i["id"] for i in palette["rows"]] == list(registry.names)
        for item in palette["rows"]:
            assert item["legal"] or item["reason"]
            assert len(item["quick"]) <= (QUICK if item["legal"] else 1), "what is legal, or one example of a refusal"
    s.run("select", id="i")
    items = {i["id"]: i for i in s.snapshot().slices["palette"]["rows"]}
    assert items["split"]["divisors"] == [1, 2, 4, 8, 16, 32, 64]
    assert "statement" in items["compute_inline"]["hint"]


def test_every_quick_move_that_is_called_legal_can_be_applied(session):
    s = session()
    for row in ("i", "k", "stmt:C", ""):
        s.run("select", id=row)
        palette = readable(s.snapshot().slices)["palette"]
        for item in palette["rows"]:
            for quick in item["quick"]:
                step = {"primitive": item["id"], "args": quick["args"]}
                if item["legal"]:
                    s.run("apply", step=step)
                    s.run("undo")
                else:
                    with pytest.raises(REFUSED):
                        s.run("apply", step=step)


def test_the_selection_moves_on_to_what_the_step_made_and_back(session):
    s = session()
    s.run("select", id="k")
    s.run("apply", step=split("k", None, 8))
    assert s.snapshot().slices["selection"]["id"] == "k.0"
    s.run("select", id="k.1")
    s.run("undo")
    assert s.snapshot().slices["selection"]["id"] == "k"
    s.run("redo")
    assert s.snapshot().slices["selection"]["id"] == "k.1"
    s.run("apply", step={"primitive": "fuse", "args": {"loops": ["k.0", "k.1"]}})
    assert s.snapshot().slices["selection"]["id"] == s.schedule.loops[-1].name


def test_commands_in_quick_succession_share_patches(session):
    s = session()
    mirror = Mirror(s)
    for k in range(100):
        s.submit("select", {"id": "jk"[k % 2]}, str(k))
    assert s.flush(60)
    assert sorted(mirror.done, key=int) == [str(k) for k in range(100)]
    assert len(mirror.messages) < 50
    assert mirror.agrees(s)


def test_goto_walks_both_ways(session):
    s = session()
    for step in (split("i", None, 8), split("j", None, 8), split("k", None, 8)):
        s.run("apply", step=step)
    nests = {}
    for k in (1, 3, 0, 2, 1, 3):
        s.run("goto", step=k)
        slices = s.snapshot().slices
        assert slices["history"]["at"] == k
        assert [r["undone"] for r in slices["history"]["rows"]] == [n > k for n in range(4)]
        assert nests.setdefault(k, slices["nest"]) == slices["nest"]
    with pytest.raises(UsageError) as e:
        s.run("goto", step=4)
    assert e.value.code == "session.variant"


@pytest.mark.parametrize(
    ("cmd", "args", "code"),
    [
        ("nothing", {}, "session.command"),
        ("__init__", {}, "session.command"),
        (3, {}, "session.command"),
        ("undo", {"z": 1}, "session.arguments"),
        ("undo", [], "session.arguments"),
        ("undo", {"n": "x"}, "usage.number"),
        ("select", {"id": "nope"}, "session.select"),
        ("apply", {"step": 3}, "trace.step"),
        ("apply", {"step": {"primitive": "nope"}}, "primitive.unknown"),
        ("apply", {"step": split("i", None, 7)}, "split.divides"),
        ("open_task", {"task": 9}, "usage.task"),
        ("goto", {"step": -1}, "session.variant"),
        ("tune", {"scope": "world"}, "session.scope"),
        ("tune", {"scope": "schedule"}, "usage.no_holes"),
        ("pause", {}, "session.no_tuning"),
        ("adopt", {}, "usage.nothing_measured"),
        ("star", {"node": 9}, "session.variant"),
        ("name", {"node": 0, "text": "x" * 61}, "session.name"),
        ("forget", {"node": 0}, "session.forget"),
        ("unfold", {"node": 0}, "session.unfold"),
    ],
)
def test_a_command_that_fails_says_why_and_changes_nothing(session, cmd, args, code):
    s = session()
    mirror = Mirror(s)
    before = s.snapshot()
    s.submit(cmd, args, "a")
    assert s.flush(100)
    assert set(mirror.failed["a"]) == {"code", "message", "where", "hint"}
    assert mirror.failed["a"]["code"] == code
    assert s.snapshot().slices == before.slices
    s.submit("select", {"id": "k"}, "b")
    assert s.flush(100)
    assert mirror.done == ["b"]


def test_an_unexpected_error_is_told_and_logged(session, caplog):
    s = session()
    mirror = Mirror(s)
    with caplog.at_level(logging.ERROR, "workbench"):
        s.submit(lambda: 1 // 0, {}, "a")
        assert s.flush(100)
    assert mirror.failed["a"]["code"] == "internal"
    assert "ZeroDivisionError" in mirror.failed["a"]["message"]
    assert "ZeroDivisionError" in caplog.text
    s.run("select", id="k")


def test_a_fault_in_what_is_shown_is_told_and_the_session_goes_on(session, monkeypatch, caplog):
    s = session()
    mirror = Mirror(s)
    with monkeypatch.context() as patch:
        patch.setattr("workbench.session.schedule_view.nest_listing.nest_rows", lambda *_: 1 // 0)
        s.run("apply", step=split("i", None, 8))
        assert s.flush(100)
    assert "ZeroDivisionError" in mirror.slices["status"]["note"]["text"]
    assert "ZeroDivisionError" in caplog.text
    s.run("apply", step=split("j", None, 8))
    assert s.flush(100)
    assert "i.0" in {r["id"] for r in mirror.slices["nest"]["rows"]}
    assert mirror.slices["status"]["note"] is None
    assert mirror.agrees(s)


def test_a_subscriber_that_raises_does_no_harm(session, caplog):
    s = session()
    s.subscribe(lambda message: 1 // 0)
    mirror = Mirror(s)
    s.run("apply", step=split("i", None, 8))
    assert s.flush(100)
    assert mirror.agrees(s)


def test_judge_answers_what_apply_would_do(session):
    s = session()
    answers = []
    s.ask("judge", {"step": split("i", None, 8)}, answers.append)
    s.flush(100)
    s.ask("judge", {"step": split("i", None, 7)}, answers.append)
    s.flush(100)
    s.ask("judge", {"step": {"primitive": "parallel", "args": {"loops": ["k"]}}}, answers.append)
    s.flush(100)
    s.ask("else", {}, answers.append)
    s.flush(100)
    assert answers[0]["value"]["legal"]
    assert answers[0]["value"]["makes"] == ["i.0", "i.1"]
    assert answers[1]["value"]["code"] == "split.divides"
    assert not answers[1]["value"]["legal"]
    assert answers[2]["value"]["reason"]
    assert answers[3]["ok"] is False
    assert answers[3]["error"]["code"] == "session.question"
    assert not s.schedule.trace


def test_a_newer_question_takes_the_place_of_one_that_waits(session):
    s = session()
    gate, answers = threading.Event(), {}
    s.submit(lambda: gate.wait(10))
    for k in (2, 4, 8):
        s.ask("judge", {"step": split("i", None, k)}, lambda a, k=k: answers.__setitem__(k, a))
    gate.set()
    s.flush(100)
    assert answers[8]["ok"]
    assert {answers[k]["error"]["code"] for k in (2, 4)} == {"session.superseded"}


def test_a_schedule_is_shared_with_its_user(session):
    mine = Schedule(workloads.matmul(64, 64, 64), Target.host(threads=1))
    s = session(mine)
    mirror = Mirror(s)
    assert s.schedule is mine
    mine.split("i", [None, 8])
    assert s.flush(100)
    assert "i.0" in {r["id"] for r in mirror.slices["nest"]["rows"]}
    s.run("apply", step=split("j", None, 8))
    assert [p.name for p in mine.trace] == ["split", "split"]
    mine.undo(2)
    assert s.flush(100)
    assert mirror.slices["history"]["can_redo"]
    assert mirror.agrees(s)
    s.close()
    mine.redo()


def test_tasks_keep_their_schedules(session):
    s = session([matmul(64), matmul(128)])
    s.run("open_task", task=0)
    s.run("apply", step=split("i", None, 8))
    s.run("open_task", task=s.tasks[1].name)
    assert s.task is s.tasks[1]
    assert not s.schedule.trace
    s.run("open_task", task=s.tasks[0].key)
    assert len(s.schedule.trace) == 1


FACTORS = st.sampled_from([2, 8, 7])
MOVES = st.one_of(
    st.builds(
        lambda name, k: ("apply", {"step": split(name, None, k)}), st.sampled_from("ijk"), st.sampled_from([2, 8, 7])
    ),
    st.sampled_from([("apply", {"step": {"primitive": "fuse", "args": {"loops": ["i", "j"]}}})]),
    st.sampled_from([("apply", {"step": {"primitive": "parallel", "args": {"loops": ["i"]}}})]),
    st.builds(lambda n: ("undo", {"n": n}), st.integers(0, 3)),
    st.builds(lambda n: ("redo", {"n": n}), st.integers(0, 3)),
    st.builds(lambda n: ("goto", {"step": n}), st.integers(0, 4)),
    st.builds(lambda name: ("select", {"id": name}), st.sampled_from(["i", "i.0", "k", "A", "", "stmt:C"])),
    st.builds(lambda n: ("open_task", {"task": n}), st.integers(0, 2)),
    st.sampled_from([("measure", {}), ("dismiss", {}), ("branch", {}), ("odd", {})]),
)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(MOVES, max_size=12))
def test_any_order_of_commands_keeps_the_state_whole(fake, moves):
    s = Session([matmul(64), matmul(128)], auto_measure=True)
    try:
        mirror = Mirror(s)
        for k, (cmd, args) in enumerate(moves):
            s.submit(cmd, args, str(k))
        assert s.flush(100)
        until(lambda: not s.state.doing)
        assert s.flush(100)
        assert sorted([*mirror.done, *mirror.failed], key=int) == [str(k) for k in range(len(moves))]
        assert mirror.agrees(s)
        history, nest = s.snapshot().slices["history"], s.snapshot().slices["nest"]
        rows = {r["id"]: r for r in history["rows"]}
        assert [rows[n]["text"] for n in history["path"][1:]] == [str(step) for step in s.schedule.trace]
        assert history["can_redo"] == any(r["undone"] for r in history["rows"])
        assert s.snapshot().slices["selection"]["id"] in {"", *(r["id"] for r in nest["rows"]), *nest["buffers"]}
        if history["can_undo"]:
            s.run("undo")
            s.run("redo")
            assert s.snapshot().slices["nest"] == nest
        s.run("undo", n=len(history["path"]))
        assert s.snapshot().slices["nest"] == Session(s.task, auto_measure=False).snapshot().slices["nest"]
    finally:
        s.close()


def test_four_threads_may_submit(session):
    s = session()
    mirror = Mirror(s)

    def work(me: int) -> None:
        for k in range(25):
            cmd, args = [("apply", {"step": split("i", None, 2)}), ("undo", {}), ("select", {"id": "k"})][(k + me) % 3]
            s.submit(cmd, args, f"{me}.{k}")

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert s.flush(100)
    assert len(mirror.done) + len(mirror.failed) == 100
    assert {e["code"] for e in mirror.failed.values()} <= {"loop.unknown"}
    assert mirror.agrees(s)


def test_run_may_be_called_from_a_subscriber(session):
    s = session()
    seen = []

    def follow(message):
        if not seen:
            seen.append(message)
            s.run("select", id="k")

    s.subscribe(follow)
    s.run("apply", step=split("i", None, 8))
    assert s.flush(100)
    assert s.snapshot().slices["selection"]["id"] == "k"


def test_threads_end_when_idle_and_at_the_end(session):
    s = session()
    assert not own_threads()
    s.run(lambda: None)
    until(lambda: not own_threads())
    s.run("select", id="j")
    s.close()
    assert not own_threads()
    s.submit("select", {"id": "i"})
    assert s.flush(1)
    with pytest.raises(UsageError) as e:
        s.run("select", id="i")
    assert e.value.code == "session.closed"
    assert s.snapshot().slices["selection"]["id"] == "j"


def test_closing_lets_go_of_who_waits(session):
    s = session()
    gate, errors = threading.Event(), []

    def wait() -> None:
        try:
            s.run("select", id="k")
        except UsageError as error:
            errors.append(error.code)

    s.submit(lambda: gate.wait(10))
    waiting = threading.Thread(target=wait)
    waiting.start()
    time.sleep(0.1)
    closing = threading.Thread(target=s.close)
    closing.start()
    time.sleep(0.1)
    gate.set()
    waiting.join(100)
    closing.join(100)
    assert errors == ["session.closed"]


def test_a_schedule_may_name_its_target(session):
    s = session(Schedule(workloads.matmul(8, 8, 8), "llvm -mcpu=skylake-avx512"))
    assert s.state.target.cpu == "skylake-avx512"
