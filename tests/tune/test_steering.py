"""Commands to a running session: from Python, from a control file, on the command line; refusals and resume."""

from __future__ import annotations

import json
import subprocess
import sys
import threading

import pytest
from tune.fakes import FakeContext, FakeMeasurer, FakeSchedule, tasks
from waiting import until

from workbench.errors import TuneError, UsageError, WorkbenchError
from workbench.log import load_log
from workbench.tune.options import TuneOptions
from workbench.tune.plan.run_plan import RunPlan
from workbench.tune.run.tuning_session import TuningSession
from workbench.tune.steer.commands import STEERING_COMMANDS, documentation, read_command
from workbench.tune.steer.control_file import LINE_LIMIT, Mailbox, control_path, send


def make(log=None, *, delay=0.002, n=3, **kwargs):
    """A run that ends by itself after 3000 trials: `delay` says how soon."""
    kwargs.setdefault("trials", 400)
    measurer = kwargs.pop("measurer", None) or FakeMeasurer(delay=delay)
    return TuningSession(RunPlan(tasks(n), context=FakeContext(), measurer=measurer, log=log, **kwargs))


# ---- the commands ----


def test_every_command_is_documented_and_reads_what_it_writes():
    known = {c["name"]: c for c in documentation()}
    assert set(known) == {
        "pause", "resume", "stop", "cancel", "pin", "forbid", "release", "add", "budget", "epsilon",
    }  # fmt: skip
    assert TuningSession.commands() == documentation()
    for name, command in known.items():
        assert command["doc"].endswith(".")
        assert all(a["doc"] and a["values"] for a in command["arguments"])
        args = {"task": "0", "hole": "x", "value": 3, "values": [1, 2], "row": {"x": 1}, "variant": 0, "more": 4}
        given = {a["name"]: args[a["name"]] for a in command["arguments"] if a["name"] in args}
        order = read_command(name, given)
        assert STEERING_COMMANDS[name].read(order.to_json()) == order
        assert json.loads(json.dumps(order.to_json())) == order.to_json()


def test_a_pin_holds_for_what_is_proposed_later_and_can_be_released():
    session = make(trials=60)
    session.pin(0, "x", 7)
    session.forbid("conv1 3x3", "x", list(range(990)))
    session.start().wait(60)
    by_task = {key: [r.row["x"] for r in session.records if r.task_key == key and r.row] for key in ("key0", "key1")}
    assert by_task["key0"] == [7]
    assert by_task["key1"]
    assert min(by_task["key1"]) >= 990
    assert session._loop.run_state.requests["key0"].pins == {"x": 7}


def test_release_takes_back_one_or_all():
    session = make()
    session.pin(0, "x", 7)
    session.forbid(0, variant=2)
    session.release(0, "x")
    requests = session._loop.run_state.requests["key0"]
    assert (requests.pins, requests.variants) == ({}, {2})
    session.forbid(0, "x", 4)
    session.release(0)
    assert requests.variants == {2}, "whoever reads what was held is not disturbed"
    requests = session._loop.run_state.requests["key0"]
    assert (requests.forbids, requests.variants) == ({}, set())
    with pytest.raises(WorkbenchError) as caught:
        session.release(0)
    assert caught.value.code == "steer.nothing"
    session.cancel()


def test_a_candidate_by_hand_is_measured_next_and_told_to_the_search(tmp_path):
    log = tmp_path / "a.jsonl"
    measurer = FakeMeasurer()
    measurer.gate.clear()
    session = make(log, measurer=measurer).start()
    assert measurer.asked.wait(30)  # the first round is in the works
    task = 0 if session._loop.current != 0 else 1
    session.add(task, FakeSchedule(123))
    session.add(task, variant=0, row={"x": 124})
    measurer.gate.set()
    until(lambda: sum(r.origin == "manual" for r in session.records) >= 2)
    until(lambda: len(session.records) > 30)
    session.stop().wait(30)
    assert len({(r.task_key, r.key) for r in session.records}) == len(session.records)
    assert not session.held(task).added
    first = [r for r in session.records if r.task_key == f"key{task}"][:3]
    assert [(r.origin, r.variant) for r in first] == [("default", -1), ("manual", -1), ("manual", 0)]
    assert {123, 124} <= session._loop.searches.of(task).search.known
    with pytest.raises(TuneError) as caught:
        session.add(task, FakeSchedule(5))
    assert caught.value.code == "steer.ended"


def test_more_budget_for_one_task_goes_before_everything_else():
    session = make(trials=40, options=TuneOptions(scheduler="round-robin"))
    line = session.budget(task=2, more=30)
    assert line.args["until"] == 30
    assert line.args["trials"] == 70
    session.start().wait(60)
    assert len(session.records) == 70
    assert {r.task_key for r in session.records[:30]} == {"key2"}


@pytest.mark.parametrize(
    ("name", "args", "kwargs"), [("pin", (), {}), ("pin", (0, "x", 1, 2, 3, 4), {}), ("budget", (), {"trial": 3})]
)
def test_a_call_that_does_not_fit_a_method_is_told_with_its_usage(name, args, kwargs):
    with pytest.raises(UsageError) as e:
        getattr(make(), name)(*args, **kwargs)
    assert e.value.code == "steer.argument"
    assert e.value.hint.startswith(f"usage: {name}(")


def test_budgets_and_epsilon_can_be_changed_while_it_runs():
    session = make(trials=100_000)

    def steer(event):
        if event.kind == "trial" and event.record.trial == 5:
            session.epsilon(0.5)
            session.budget(trials=60)

    session.events.subscribe(steer)
    assert session.start().wait(60)
    assert 60 <= len(session.records) <= 61
    assert {w.search.epsilon for w in session._loop.searches._made.values()} == {0.5}
    session = make(trials=100_000).start()
    session.budget(seconds=0.2)
    assert session.wait(60)
    assert len(session.records) < 3000


REFUSALS = [
    ("halt", {}, "steer.command"),
    ("pin", {}, "steer.argument"),
    ("pin", {"task": 0, "hole": "x", "value": "seven"}, "steer.argument"),
    ("pin", {"task": 0, "hole": "x", "value": 1.5}, "steer.argument"),
    ("pin", {"task": 0, "hole": ["x"], "value": 1}, "steer.argument"),
    ("pin", {"task": 0, "hole": "x", "value": 1, "colour": "red"}, "steer.argument"),
    ("pin", {"task": 9, "hole": "x", "value": 1}, "usage.task"),
    ("pin", {"task": 0, "hole": "y", "value": 1}, "steer.hole"),
    ("pin", {"task": 0, "hole": "x", "value": 5000}, "steer.value"),
    ("pause", {"task": 0}, "steer.argument"),
    ("forbid", {"task": 0}, "steer.argument"),
    ("forbid", {"task": 0, "hole": "x"}, "steer.argument"),
    ("release", {"task": 0}, "steer.nothing"),
    ("add", {"task": 0}, "steer.argument"),
    ("add", {"task": 0, "variant": 0, "row": {"x": 5000}}, "steer.row"),
    ("add", {"task": 0, "variant": 0, "row": {"x": 1}, "trace": [{}]}, "steer.argument"),
    ("add", {"task": 0, "trace": "import os"}, "steer.argument"),
    ("add", {"task": 0, "trace": [{"args": 3}]}, "steer.failed"),
    ("budget", {}, "steer.argument"),
    ("budget", {"trials": -4}, "steer.argument"),
    ("budget", {"trials": 4, "more": 4}, "steer.argument"),
    ("budget", {"task": 0}, "steer.argument"),
    ("budget", {"task": 2, "more": 4}, "steer.task"),
    ("budget", {"seconds": float("nan")}, "steer.argument"),
    ("epsilon", {"value": 1.5}, "steer.argument"),
    ("epsilon", {"value": 10**400}, "steer.argument"),
]


@pytest.mark.parametrize(("name", "args", "code"), REFUSALS)
def test_what_makes_no_sense_is_refused_and_the_log_says_why(tmp_path, name, args, code):
    log = tmp_path / "a.jsonl"
    session = make(log, only_tasks=[0, 1])
    before = (session._loop.run_state.budget.trials, dict(session._loop.run_state.requests["key0"].pins))
    with pytest.raises(WorkbenchError) as caught:
        session.steer(name, **args)
    assert caught.value.code == code
    assert (session._loop.run_state.budget.trials, session._loop.run_state.requests["key0"].pins) == before
    session.cancel()
    refused = load_log(log).commands[1]
    assert (refused.accepted, refused.source) == (False, "python")
    assert refused.error.endswith(f"[{code}]")


def test_a_candidate_is_not_measured_twice():
    session = make(trials=20).start()
    session.wait(60)
    taken = next(r for r in session.records if r.row)
    again = make(trials=20)
    again._loop.run_state.take(taken)
    index = int(taken.task_key[-1])
    for _ in range(2):
        with pytest.raises(WorkbenchError, match=f"trial {taken.trial}") as caught:
            again.add(index, variant=0, row=taken.row)
        assert caught.value.code == "steer.measured"
    free = next(x for x in range(1000) if f"x{x}" not in again._loop.run_state.measured[taken.task_key])
    again.add(index, variant=0, row={"x": free})
    with pytest.raises(WorkbenchError, match="waits"):
        again.add(index, variant=0, row={"x": free})
    again.cancel()


def test_an_unknown_source_is_refused():
    session = make()
    with pytest.raises(WorkbenchError) as caught:
        session.steer("epsilon", value=0.1, source="telepathy")
    assert caught.value.code == "steer.source"
    session.steer("epsilon", value=0.1, source="widget")
    assert session._loop.run_state.commands[-1].source == "widget"
    session.cancel()


def test_commands_hold_after_a_resume_and_a_new_budget_is_the_last_word(tmp_path):
    log = tmp_path / "a.jsonl"
    session = make(log, trials=30)
    session.pin(0, "x", 7)
    session.add(1, variant=0, row={"x": 77})
    session.budget(trials=50)
    session.epsilon(0.25)
    session.cancel()  # as if it had been killed: nothing was measured
    again = make(log, trials=30, resume=True)
    run_state = again._loop.run_state
    assert run_state.requests["key0"].pins == {"x": 7}
    assert [a["key"] for a in run_state.requests["key1"].added] == ["x77"]
    assert (run_state.budget.trials, run_state.epsilon) == (50, 0.25)
    assert again.start().wait(60)
    assert len(again.records) == 50
    third = make(log, trials=30, resume=True)
    assert third._loop.run_state.budget.trials == 50
    third.cancel()
    fourth = make(log, trials=80, resume=True)
    assert fourth._loop.run_state.budget.trials == 80
    assert fourth._loop.run_state.epsilon == 0.25
    fourth.cancel()


def test_a_new_epsilon_is_the_last_word_as_well(tmp_path):
    log = tmp_path / "a.jsonl"
    for options, steered, expected in ((0.3, 0.5, 0.3), (0.3, None, 0.5), (0.4, None, 0.4), (0.4, None, 0.4)):
        session = make(log, options=TuneOptions(epsilon=options), resume=True)
        assert session._loop.run_state.epsilon == expected
        if steered is not None:
            session.epsilon(steered)
        session.cancel()


# ---- from another process ----


def test_a_control_file_is_obeyed_and_answered_in_the_log(tmp_path):
    log = tmp_path / "a.jsonl"
    session = make(log, trials=100_000, delay=0.02).start()
    until(lambda: len(session.records) > 3)
    for value in (1, 2, 3):
        name = send(log, "pin", {"task": "0", "hole": "x", "value": value})
        until(lambda name=name: session._loop.run_state.knows(name))
    bad = send(log, "pin", {"task": "0", "hole": "nonsense", "value": 3})
    until(lambda: session._loop.run_state.knows(bad))
    send(log, "stop", {})
    assert session.wait(30)
    answers = {c.id: c for c in load_log(log).commands}
    assert answers[name].accepted
    assert answers[name].source == "command line"
    assert not answers[bad].accepted
    assert "steer.hole" in answers[bad].error
    assert not control_path(log).exists()


def test_what_was_in_the_control_file_before_is_stale(tmp_path):
    log = tmp_path / "a.jsonl"
    send(log, "stop", {})
    session = make(log, trials=100_000, delay=0.02).start()
    later = send(log, "epsilon", {"value": 0.5})  # lines are obeyed in their order
    until(lambda: session._loop.run_state.knows(later))
    assert session.state == "running"
    send(log, "stop", {})
    assert session.wait(30)
    assert [line.name for line in load_log(log).commands] == ["start", "epsilon", "stop"]


def test_a_command_that_comes_twice_is_carried_out_once(tmp_path):
    log = tmp_path / "a.jsonl"
    session = make(log, trials=100_000, delay=0.02).start()
    line = json.dumps({"id": "abc", "name": "budget", "args": {"more": 10}})
    with open(control_path(log), "a") as file:
        file.write(f"{line}\n{line}\n")
    later = send(log, "epsilon", {"value": 0.5})
    until(lambda: session._loop.run_state.knows(later))
    assert session._loop.run_state.budget.trials == 100_010
    session.cancel()


HOSTILE = [
    b"\x00\xff\xfe not text\n",
    b"{\n",
    b"[" * 100_000 + b"\n",
    b"null\n3\n[]\n",
    b'{"id": 5, "name": "stop"}\n',
    b'{"id": "", "name": "stop"}\n',
    b'{"id": "' + b"a" * 100 + b'", "name": "stop"}\n',
    b'{"id": "h1", "name": ["stop"]}\n',
    b'{"id": "h2", "name": "stop", "args": [1]}\n',
    b'{"id": "h3", "name": "pin", "args": {"task": {"a": 1}, "hole": "x", "value": 1e999}}\n',
    b'{"id": "h4", "name": "__class__", "args": {}}\n',
    b'{"id": "h5", "name": "stop", "args": {"self": 1}}\n',
    b'{"id": "h6", "name": "pin", "args": {"task": 0, "hole": "x", "value": NaN}}\n',
    b'{"id": "h7", "name": "epsilon", "args": {"value": ' + b"9" * 4000 + b"}}\n",
    b"x" * (3 * LINE_LIMIT) + b"\n",
    b'{"id": "huge", "name": "' + b"y" * (2 * LINE_LIMIT) + b'"}\n',
]


def test_hostile_lines_harm_nothing(tmp_path):
    log = tmp_path / "a.jsonl"
    session = make(log, trials=100_000, delay=0.02).start()
    warnings = []
    session.events.subscribe(lambda e: warnings.append(e.message) if e.kind == "warning" else None)
    with open(control_path(log), "ab") as file:
        for line in HOSTILE:
            file.write(line)
    name = send(log, "epsilon", {"value": 0.75})
    until(lambda: session._loop.run_state.knows(name))
    assert session.state == "running"
    assert session._loop.run_state.epsilon == 0.75
    session.stop().wait(30)
    answered = {c.id: c for c in load_log(log).commands}
    assert {"h1", "h2", "h3", "h4", "h5", "h6", "h7"} <= set(answered)
    assert not any(answered[f"h{k}"].accepted for k in range(1, 8))
    assert any("bytes" in w for w in warnings)
    assert any("JSON" in w for w in warnings)


def test_half_a_line_waits_for_its_end_and_does_not_spoil_the_next(tmp_path):
    log = tmp_path / "a.jsonl"
    box = Mailbox(log)
    path = control_path(log)
    whole = json.dumps({"id": "a", "name": "stop"}).encode()
    with open(path, "ab", buffering=0) as file:
        file.write(whole[:10])
        assert box.poll() == []
        file.write(whole[10:])
        assert box.poll() == []
        file.write(b"\n")
    assert [m.id for m in box.poll()] == ["a"]
    with open(path, "ab") as file:
        file.write(whole[:10])  # whoever wrote this was killed
    name = send(log, "stop", {})
    assert [m.id for m in box.poll()] == ["", name]
    assert box.poll() == []


def test_a_control_file_that_was_replaced_is_read_from_its_start(tmp_path):
    log = tmp_path / "a.jsonl"
    send(log, "stop", {})
    box = Mailbox(log)
    control_path(log).unlink()
    name = send(log, "pause", {})
    assert [m.id for m in box.poll()] == [name]


WRITER = """
import sys
from workbench.tune.steer.control_file import send
for k in range(200):
    send(sys.argv[1], "epsilon", {"value": 0.5, "n": [k] * 50})
"""


def test_two_processes_may_write_at_once(tmp_path):
    log = tmp_path / "a.jsonl"
    box = Mailbox(log)
    running = [subprocess.Popen([sys.executable, "-c", WRITER, str(log)]) for _ in range(2)]
    found = []
    while any(p.poll() is None for p in running):
        found += box.poll()
    found += box.poll()
    assert [p.returncode for p in running] == [0, 0]
    assert len({m.id for m in found}) == len(found) == 400
    assert not any(m.problem for m in found)


def test_the_command_line_steers_a_session(tmp_path):
    log = tmp_path / "a.jsonl"
    session = make(log, trials=1_000_000, delay=0.05).start()

    def steer(*words):
        command = [sys.executable, "-m", "workbench", "steer", str(log), *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)

    done = steer("pin", "1", "x", "12", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["args"] == {"task": "key1", "hole": "x", "value": 12}
    refused = steer("pin", "task=1", "hole=nothing", "value=12")
    assert refused.returncode == 2
    assert "steer.hole" in refused.stderr
    row = tmp_path / "row.json"
    row.write_text('{"x": 400}')
    assert steer("add", "2", "0", f"@{row}").returncode == 0
    until(lambda: any(r.origin == "manual" for r in session.records))
    assert "Done: stop" in steer("stop").stdout
    assert session.wait(30)
    gone = steer("stop")
    assert gone.returncode == 4
    assert "steer.no_session" in gone.stderr


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["missing.jsonl", "stop"], "log.missing"),
        ([], "usage.arguments"),
        (["LOG"], "usage.arguments"),
        (["LOG", "halt"], "steer.command"),
        (["LOG", "pause", "now"], "steer.argument"),
        (["LOG", "pin", "0", "x", "seven"], "steer.argument"),
        (["LOG", "add", "0", "trace=@missing.json"], "steer.file"),
        (["LOG", "stop", "--wait", "0.3"], "steer.timeout"),
    ],
)
def test_the_command_line_says_what_is_wrong(tmp_path, monkeypatch, capsys, words, code):
    from workbench.cli import main

    monkeypatch.chdir(tmp_path)
    session = make(tmp_path / "log.jsonl")  # holds the log, and does not run
    assert main(["steer", *[word.replace("LOG", "log.jsonl") for word in words], "--json"]) != 0
    assert json.loads(capsys.readouterr().out)["error"]["code"] == code
    session.cancel()


def test_the_list_of_commands_needs_no_session(capsys):
    from workbench.cli import main

    assert main(["steer", "--list"]) == 0
    out = capsys.readouterr().out
    assert "pin: Hold a hole" in out
    assert "until" not in out.replace("until all", "")


def test_threads_of_a_session_end_with_it(tmp_path):
    session = make(tmp_path / "a.jsonl", trials=20).start()
    session.wait(30)
    until(lambda: not [t for t in threading.enumerate() if t.name.startswith("workbench-control")])


def test_a_candidate_for_a_task_that_is_not_tuned_is_refused():
    session = make(only_tasks=[0])
    with pytest.raises(WorkbenchError) as caught:
        session.add(1, variant=0, row={"x": 1})
    assert caught.value.code == "steer.task"
    session.cancel()
