"""Steering a tuning run through a session: forms from declarations, choices from the space, refusals, what is known."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Annotated

import pytest
from session.conftest import Mirror, matmul, split
from session.fakes import FakeTuning
from waiting import until

from workbench import tune
from workbench.errors import TuneError, UsageError, WorkbenchError
from workbench.forms import Flag, Whole
from workbench.log import Comparison, Record, load_log
from workbench.session.state.statistics import Statistics
from workbench.session.tuning_run.steering_forms import _best, forms
from workbench.tune.state.events import TaskRow
from workbench.tune.steer import command_forms as orders


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def steering(s):
    return s.snapshot().slices["steering"]


def code(s, cmd, **args):
    with pytest.raises(WorkbenchError) as e:
        s.run(cmd, **args)
    return e.value.code


def test_forms_come_from_the_declarations(monkeypatch):
    by_name = {f["name"]: {x["name"]: x for x in f["fields"]} for f in forms()}
    assert not {"pause", "resume", "stop", "cancel"} & set(by_name), "those have buttons"
    assert by_name["pin"]["hole"] == {
        "name": "hole", "widget": "text", "label": "the hole, by its name in the schedule", "required": True,
        "names": "hole",
    }  # fmt: skip
    assert by_name["pin"]["value"]["of"] == "hole"
    assert by_name["forbid"]["values"]["widget"] == "numbers"
    assert list(by_name["add"]) == ["task", "trace"], "nobody writes a row into a form"
    assert "of" not in by_name["epsilon"]["value"]
    monkeypatch.setitem(orders.STEERING_COMMANDS, "polish", None)

    @orders.steering_command("polish")
    @dataclass(frozen=True, slots=True)
    class Polish(orders.SteeringCommand):
        """Try what is near the best."""

        task: Annotated[str, orders.TaskRef("the task")]
        steps: Annotated[int | None, Whole("how many")] = None
        hard: Annotated[bool, Flag("how hard")] = False

    found = forms()[-1]
    assert (found["name"], found["summary"]) == ("polish", "Try what is near the best.")
    assert [f["widget"] for f in found["fields"]] == ["text", "number", "checkbox"]
    assert found["fields"][0]["names"] == "task"


def test_a_run_is_steered_and_says_so(session, here):
    s = session(matmul(64))
    key = s.task.key
    assert steering(s) is None
    assert code(s, "steer", name="epsilon", args={"value": 0.2}) == "session.no_tuning"
    replies = []
    s.ask("space", {"task": key}, replies.append)
    s.flush(100)
    assert replies.pop()["error"]["code"] == "session.no_tuning"
    s.run("tune", scope="task", trials=40)
    s.run("pause")
    mirror = Mirror(s)
    s.ask("space", {"task": key}, replies.append)
    s.flush(100)
    space = replies.pop()["value"]
    assert space["variants"][0] == {
        "id": 0,
        "label": space["variants"][0]["label"],
        "rows": space["variants"][0]["rows"],
    }
    hole = space["holes"][0]
    assert len(hole["values"]) > 1
    s.run("steer", name="pin", args={"task": key, "hole": hole["name"], "value": hole["values"][1]})
    assert [h["text"] for h in steering(s)["held"]] == [f"{hole['name']} = {hole['values'][1]}"]
    assert code(s, "steer", name="pin", args={"task": key, "hole": hole["name"], "value": 1001}) == "steer.value"
    s.run("steer", name="epsilon", args={"value": 0.3})
    assert steering(s)["values"]["epsilon"] == {"value": 0.3}
    s.run("steer", name="budget", args={"trials": 24})
    assert s.snapshot().slices["tuning"]["total"] == 24
    assert code(s, "steer", name="add", args={"task": key, "trace": True}) == "steer.trace", "nothing was done yet"
    s.run("apply", step=split("i", None, {"hole": "ti"}))
    assert code(s, "steer", name="add", args={"task": key, "trace": True}) == "steer.trace", "a number is open"
    s.run("undo")
    s.run("apply", step=split("i", None, 8))
    s.run("steer", name="add", args={"task": key, "trace": True})
    assert steering(s)["task"]["waiting"] == 1
    assert code(s, "steer", name="add", args={"task": key, "trace": True}) == "steer.measured"
    s.run("steer", name="release", args=steering(s)["held"][0]["args"])
    assert steering(s)["held"] == []
    for name, args, wanted in (
        ("polish", {}, "steer.command"),
        ("pin", {"task": key}, "steer.argument"),
        ("pin", {"task": "nobody", "hole": "i", "value": 1}, "usage.task"),
        ("epsilon", {"value": 7}, "steer.argument"),
        ("epsilon", {"value": 0.1, "source": "python"}, "session.arguments"),
        ("epsilon", [1], "session.arguments"),
    ):
        assert code(s, "steer", name=name, args=args) == wanted
    s.run("resume")
    assert s.tuning.wait(60)
    until(lambda: steering(s)["next"] is None and s.snapshot().slices["tuning"]["trials"] == 24)
    s.flush(100)
    assert mirror.agrees(s)
    log = load_log(here / s.tuning.log)
    manual = [r for r in log.records if r.origin == "manual"]
    assert [r.trace[0]["args"]["factors"] for r in manual] == [[None, 8]]
    said = [(c.name, c.accepted, c.source) for c in log.commands]
    assert [name for name, accepted, source in said if name != "start" and source == "python" and accepted] == [
        "pause", "pin", "epsilon", "budget", "add", "release", "resume",
    ]  # fmt: skip
    assert steering(s)["refused"] == sum(not accepted for _, accepted, _ in said) >= 4
    assert code(s, "steer", name="epsilon", args={"value": 0.1}) == "steer.ended"
    s.run("open_trial", trial=manual[0].trial)
    assert [step.name for step in s.schedule.trace] == ["split"]
    assert s.snapshot().slices["head"]["ms"] == pytest.approx(manual[0].latency_ms, rel=1e-3)
    s.run("undo")
    assert not s.schedule.trace
    assert code(s, "open_trial", trial=999) == "session.trial"


def test_what_the_run_knows(session):
    s = session([matmul(64), matmul(128)])
    s.run("tune", scope="all", trials=48)
    found = []

    def now():
        found.append(steering(s)["next"])
        return found[-1] is not None and found[-1]["reason"]

    until(now)
    assert {"name", "reason", "gain", "backward", "optimism", "similarity"} == set(found[-1])
    assert s.tuning.wait(60)
    until(lambda: s.snapshot().slices["tuning"]["state"] == "done")
    s.flush(100)
    row = s.tuning.snapshot().rows[s.state.index]
    task = steering(s)["task"]
    lines = [c for c in s.tuning.comparisons if c.task_key == row.key]
    assert (task["trial"], task["compared"], task["won"]) == (row.trial, len(lines), sum(c.new_best for c in lines))
    assert task["ms"] == pytest.approx(row.latency_ms, rel=1e-4)
    assert s.snapshot().slices["tasks"]["rows"][s.state.index]["ms"] == task["ms"]
    if lines:
        assert task["last"]["trials"] == list(lines[-1].trials)
    json.dumps(steering(s), allow_nan=False)


def test_a_measurement_by_hand_is_no_command(session, fake):
    s = session(matmul(64))
    s.run("tune", scope="task", seconds=60.0)
    until(lambda: s.tuning.new_trials > 0, 60)
    s.run("measure")
    until(lambda: s.snapshot().slices["head"]["ms"] == 1.5)
    until(lambda: s.tuning.state == "running")
    assert [c.name for c in s.tuning.steered if c.name in ("pause", "resume")] == []
    s.run("cancel")
    assert [c.source for c in s.tuning.steered if c.name == "cancel"] == ["python"]
    s.run("cancel")
    s.run("pause")  # neither means anything any more
    with pytest.raises(TuneError):
        s.run("steer", name="pause")


def test_commands_of_others_are_shown(session):
    tuning = tune([matmul(64)], seconds=60.0)
    try:
        s = session(tuning)
        until(lambda: tuning.new_trials > 0, 60)
        mirror = Mirror(s)
        with pytest.raises(UsageError):
            tuning.pin(0, "nowhere", 1)
        tuning.epsilon(0.25)
        until(lambda: (mirror.slices["steering"]["commands"] or [{}])[0].get("name") == "epsilon")
        newest, refused = mirror.slices["steering"]["commands"][:2]
        assert (newest["source"], newest["text"], newest["accepted"]) == ("python", "value 0.25", True)
        assert not refused["accepted"]
        assert "nowhere" in refused["error"]
    finally:
        tuning.cancel()
        tuning.join(100)


def trial(n, ms, **more):
    return Record(task_key="t", task="t", trial=n, status="ok", target="", latency_ms=ms, **more)


def against(winner, *trials, ms=None):
    times = ms or tuple(1.0 for _ in trials)
    return Comparison(
        task_key="t", task="t", trials=trials, latency_ms=times, winner=winner, timestamp=float(sum(trials))
    )


def test_a_trial_that_lost_is_not_the_best():
    stats = Statistics()
    stats.add([trial(0, 4.2), trial(1, 3.0)])
    assert stats.of("t").best.record.trial == 1
    line = against(0, 0, 1, ms=(4.1, 4.5))
    stats.add([line, line])
    task = stats.of("t")
    assert (task.best.record.trial, task.best.ms, [step.ms for step in task.course]) == (0, 4.2, [4.2, 3.0, 4.2])
    assert task.course[-1].reason == "measured again: 4.2 ms, the first number of trial 1 was lucky (3 ms)"
    stats.add([trial(2, 3.5)])
    assert task.best.ms == 4.2, "a single time below 4.1 ms did not hold before"
    stats.add([against(2, 0, 2, ms=(4.0, 3.6))])
    assert (task.best.record.trial, task.best.ms) == (2, 3.6)
    stats.add([trial(3, 9.0, caches="constants shared")])
    assert task.best.record.trial == 3, "timed as in a network"
    assert "other conditions" in task.course[-1].reason


def test_a_comparison_in_a_restless_minute_makes_nothing_slower():
    stats = Statistics()
    stats.add([trial(0, 0.83, origin="default"), trial(1, 0.8), against(0, 0, 1, ms=(0.775, 0.79))])
    stats.add([trial(2, 0.81), against(0, 0, 2, ms=(1.63, 1.64))])
    task = stats.of("t")
    assert (task.best.record.trial, task.best.ms, task.untuned_ms) == (0, 0.8, 0.8), "it beat one that takes 0.8"
    assert [step.ms for step in task.course] == [0.83, 0.8, 0.8]


def row(n, ms):
    return TaskRow(0, "t", "t", 1, ms, None, 1, 0, None, "measured", "", trial=n)


def test_a_run_that_timed_otherwise_does_not_take_the_place_of_the_best():
    stats = Statistics()
    stats.add([trial(0, 0.775, caches="constants shared"), trial(1, 0.9, caches="constants shared")])
    stats.add([trial(2, 0.76, caches="warm")])
    line = _best(SimpleNamespace(stats=stats), "t", row(2, 0.76))
    assert (line["trial"], line["ms"], line["run"]) == (0, 0.775, {"trial": 2, "ms": 0.76})
    assert _best(SimpleNamespace(stats=stats), "t", row(0, 0.775))["run"] is None


def test_the_best_says_after_how_many_trials_a_comparison_made_it_that():
    stats = Statistics()
    timed = [trial(n, ms, elapsed_s=float(n + 1)) for n, ms in enumerate((1.0, 0.9, 0.91, 0.95))]
    stats.add(timed)
    assert _best(SimpleNamespace(stats=stats), "t")["since"] is None, "its own trial did"
    stats.add([replace(against(2, 1, 2, ms=(0.93, 0.9)), elapsed_s=5.0)])
    line = _best(SimpleNamespace(stats=stats), "t")
    assert (line["trial"], line["since"]) == (2, 4), "there the curve changes, not at trial 2"
    stats.add([trial(4, 0.8, elapsed_s=6.0), replace(against(4, 2, 4, ms=(0.92, 0.81)), elapsed_s=7.0)])
    line = _best(SimpleNamespace(stats=stats), "t")
    assert (line["trial"], line["since"]) == (4, None)
    assert line["spread"] == pytest.approx(2 * 0.01 / 0.81, rel=0.01), "its trial and its turns are within the ±"


def test_the_log_says_who_has_asked(session):
    tuning = FakeTuning([matmul(64)]).feed(3)
    s = session(tuning)
    s.submit("steer", {"name": "epsilon", "args": {"value": 0.1}}, id="1")
    s.run("steer", name="epsilon", args={"value": 0.2})
    assert [line.source for line in tuning.steered] == ["widget", "python"]
    tuning.cancel()
    given = {"trials": 2, "start": False}
    assert tune([matmul(64)], source="widget", **given).steered[0].source == "widget"
    with pytest.raises(UsageError, match="no source"):
        tune([matmul(64)], source="somebody", **given)


def test_what_was_added_and_never_measured_is_told(session):
    run = tune([matmul(64)], trials=8, log="x.jsonl", start=False)
    s = session(run)
    s.run("apply", step=split("i", None, 8))
    s.run("steer", name="add", args={"task": 0, "trace": True})
    added = steering(s)["commands"][0]
    assert (added["name"], added["text"]) == ("add", "the schedule, waits for its turn")
    run.stop()
    until(lambda: s.snapshot().slices["tuning"]["end"] == "stopped")
    assert s.snapshot().slices["tuning"]["message"] == (
        f"1 candidate added by hand was not measured; a run that goes on with {run.log} measures it first"
    )
    assert next(c["text"] for c in steering(s)["commands"] if c["name"] == "add") == "the schedule, not measured"
