"""Tuning through a session: it is steered, followed, shown sparingly, and outlives the session."""

from __future__ import annotations

import itertools
import json
import time
from dataclasses import replace

import pytest
from browser.driver import tiny_model
from session.conftest import Mirror, matmul, own_threads, split
from session.fakes import FakeTuning
from waiting import until

from workbench import Target, tune
from workbench.errors import UsageError
from workbench.log import Header, Record
from workbench.log.conditions import mixed
from workbench.log.reader import write_log
from workbench.session.state.results import Result
from workbench.session.state.statistics import Statistics, delta, spark
from workbench.session.state.trial_origin import BY
from workbench.session.tuning_run import start
from workbench.tune.constants import Budgets
from workbench.tune.plan.run_plan import RunPlan
from workbench.tune.run.tuning_session import TuningSession

FINAL = {"done", "cancelled", "failed"}


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """Logs are written to the working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def slice_of(s, name="tuning"):
    return s.snapshot().slices[name]


def finished(s):
    until(lambda: slice_of(s)["state"] in FINAL, 60)
    assert s.tuning.join(100)
    until(lambda: s.state.watch.told)
    assert s.flush(100)


@pytest.mark.parametrize(("scope", "trials"), [("all", None), ("task", 1), ("all", 7)])
def test_a_model_is_tuned_as_the_network_that_it_is(session, tmp_path, monkeypatch, scope, trials):
    tiny_model(tmp_path / "tiny.onnx")
    s = session(str(tmp_path / "tiny.onnx"), log=str(tmp_path / "run.tunelog.jsonl"))
    asked = []

    def started(what, **options):
        asked.append((what, options["trials"]))
        return FakeTuning(s.tasks)

    monkeypatch.setattr(start, "tune", started)
    s.run("tune", scope=scope, trials=trials)
    assert asked == [(s.state.opened.graph, trials or Budgets.TRIALS_PER_TASK * len(s.tasks))]


def test_a_small_run_with_real_workers(session):
    s = session([matmul(64), matmul(128)])
    mirror = Mirror(s)
    s.run("tune", scope="all", trials=24)
    assert slice_of(s)["scope"] == "all"
    assert slice_of(s, "status")["log"] == "2-tasks.tunelog.jsonl"
    with pytest.raises(UsageError) as e:
        s.run("tune", scope="all", trials=2)
    assert e.value.code == "session.tuning"
    finished(s)
    tuning, tasks = slice_of(s), slice_of(s, "tasks")
    assert (tuning["trials"], tuning["total"], tuning["fraction"], tuning["best_ready"]) == (24, 24, 1.0, True)
    assert sum(r["trials"] for r in tasks["rows"]) == 24
    assert sum(r["share"] for r in tasks["rows"]) == pytest.approx(1.0, abs=1e-3)
    assert tasks["total_ms"] == pytest.approx(sum(r["ms"] * r["weight"] for r in tasks["rows"]), rel=1e-3)
    until(lambda: mirror.agrees(s), 5)
    s.run("adopt", task=0)
    best = s.state.best(0).record
    assert slice_of(s, "head")["best_by"] == BY.get(best.origin, "tuner"), "the default schedule may be the fastest"
    s.run("undo")
    assert not s.schedule.trace
    assert len(s.state.stats.records) == 24
    assert [(c.name, c.source) for c in s.tuning.steered] == [("start", "python")]
    assert "est_share" not in tasks["rows"][0], "nothing is estimated where all is measured"
    assert slice_of(s, "steering")["commands"][-1]["text"] == "trials 24"
    reopened = session(s.tuning.log)
    last = {line.task_key: line for line in s.tuning.rounds}
    for row in slice_of(reopened, "tasks")["rows"]:
        assert row["optimism"] == pytest.approx(last[row["key"]].optimism, rel=1e-2)
        assert row["reason"] == f"before its last round: {last[row['key']].reason}"
        assert row["rounds"] == sum(one.task_key == row["key"] for one in s.tuning.rounds)


def test_a_log_says_of_its_trials_what_the_run_said(session, fake, here):
    run = FakeTuning([matmul(16), matmul(48)]).feed(200)
    write_log(here / "x.tunelog.jsonl", Header(tasks=tuple((t.key, t.name) for t in run.tasks)), run.records)
    with open(here / "x.tunelog.jsonl", "a") as file:
        file.writelines(json.dumps(line.to_json()) + "\n" for line in (*run.comparisons, *run.rounds))
    live, log = session(run), session("x.tunelog.jsonl")
    key = slice_of(log, "tasks")["rows"][slice_of(log, "head")["task"]]["key"]
    live.run("open_task", task=key)
    now, then = slice_of(live, "steering")["task"], slice_of(log, "steering")["task"]
    assert now["failures"]
    assert now["compared"]
    for name in ("trial", "ms", "spread", "origin", "quality", "failures", "compared", "won", "last"):
        assert then[name] == now[name], name
    rows = {r["key"]: r for r in slice_of(live, "tasks")["rows"]}
    for row in slice_of(log, "tasks")["rows"]:
        for name in ("failures", "compared", "spread", "ms"):
            assert row[name] == rows[row["key"]][name], name
    assert (slice_of(log)["trials"], slice_of(log)["failed"]) == (200, slice_of(live)["failed"])
    assert slice_of(log)["elapsed_s"] == pytest.approx(run.records[-1].elapsed_s, rel=1e-2)


def test_a_trial_is_opened_by_its_number_whatever_its_task(session, fake):
    run = FakeTuning([matmul(16), matmul(48)]).feed(100)
    s = session(run)
    other = next(r for r in run.records if r.task_key != s.state.infos[s.state.index].key and r.trace)
    s.run("open_trial", trial=other.trial)
    assert s.state.infos[s.state.index].key == other.task_key
    row = slice_of(s, "history")["rows"][-1]
    assert (row["trial"], row["by"], s.schedule.to_json()) == (other.trial, "tuner", list(other.trace))


def test_shares_are_estimated_until_all_tasks_have_a_time(session, fake):
    target = Target.host(threads=1)
    s = session([matmul(64), matmul(128), matmul(256)], target=target)
    s.state.peak = 100.0
    s.flush(100)
    until(lambda: slice_of(s, "tasks")["est_ms"] is not None)
    tasks = slice_of(s, "tasks")
    assert [row["share"] for row in tasks["rows"]] == [None] * 3
    shares = [row["est_share"] for row in tasks["rows"]]
    assert sum(shares) == pytest.approx(1.0, abs=0.01)
    assert shares == sorted(shares), "the largest matrix dominates"
    assert tasks["est_ms"] == pytest.approx(sum(row["est"] for row in tasks["rows"]), rel=0.01)
    measured = tasks["rows"][0]["est"] / 1e3
    fake.result = Result("ok", measured, 0.02, 3.0)
    s.run("open_task", task=0)
    s.run("measure")
    until(lambda: slice_of(s, "tasks")["rows"][0]["ms"] == pytest.approx(measured))
    rows = slice_of(s, "tasks")["rows"]
    assert rows[0]["est_share"] < shares[0] / 500, "what is measured counts, beside what is estimated"
    assert "est" not in rows[0]


def test_a_log_that_fits_is_gone_on_with_and_another_is_left_alone(session, here):
    name = "matmul-64x64-64x64-64x64.tunelog.jsonl"
    s = session(matmul(64))
    s.run("tune", scope="task", trials=3)
    finished(s)
    assert s.tuning.log == name
    s.run("tune", scope="task", trials=3)
    assert slice_of(s, "status")["note"]["code"] == "session.resumed"
    finished(s)
    assert (s.tuning.log, s.tuning.new_trials, slice_of(s)["trials"]) == (name, 3, 6)
    other = tune([matmul(128)], trials=2, log=here / "x.jsonl")
    other.wait(60)
    (here / name).write_bytes((here / "x.jsonl").read_bytes())
    s.run("tune", scope="task", trials=2)
    finished(s)
    assert s.tuning.log == name.replace(".tunelog", "-2.tunelog")


def test_pause_resume_stop_cancel(session):
    s = session(matmul(64))
    for end, state in (("stop", "done"), ("cancel", "cancelled")):
        s.run("tune", scope="task", seconds=60.0)
        until(lambda: s.tuning.new_trials > 0, 60)
        s.run("pause")
        assert slice_of(s)["state"] == "paused"
        s.run("resume")
        assert slice_of(s)["state"] == "running"
        s.run(end)
        finished(s)
        over = slice_of(s)
        assert (over["state"], over["end"]) == (state, "stopped" if end == "stop" else "cancelled")
        assert over["fraction"] < 1, "the bar stands where the run was ended"
        note = slice_of(s, "status")["note"]
        assert note is None or note["code"] != "session.resumed", "it was about the run that has ended"


def test_open_numbers_are_tuned(session):
    s = session(matmul(64))
    for step in (split("j", None, {"hole": "tj"}), split("i", None, {"hole": "ti"})):
        s.run("apply", step=step)
    assert slice_of(s, "head")["holes"] == 2, "what is left of a loop follows from the number that is chosen"
    s.run("tune", scope="schedule", trials=100)
    finished(s)
    assert slice_of(s)["message"].startswith("every candidate of this schedule has been measured")
    s.run("adopt")
    assert slice_of(s, "head")["holes"] == 0
    assert [p.name for p in s.schedule.trace] == ["split", "split"]


def test_everything_in_a_model_is_timed_with_the_caches_of_its_runs(session, fake, here, monkeypatch):
    runs = []
    monkeypatch.setattr(start, "tune", lambda what, **options: runs.append(options) or FakeTuning([first]))
    first = matmul(64)
    network, single = session([first, matmul(128)]), session(first)
    for s in (network, single):
        s.run("apply", step=split("j", None, 8))
        s.run("measure")
        s.run("apply", step=split("i", None, {"hole": "ti"}))
        s.run("tune", scope="schedule", trials=2)
    until(lambda: len(fake.constants) == 2)
    assert fake.constants == ["shared", "near"]
    assert [run["options"].constants for run in runs] == ["shared", "near"]
    old = FakeTuning([first]).feed(3)
    write_log(here / "x.tunelog.jsonl", Header(tasks=()), [replace(record, caches="warm") for record in old.records])
    note = slice_of(session([first, matmul(128)], log="x.tunelog.jsonl"), "status")["note"]
    assert note["code"] == "session.conditions"
    assert "3 warm) than what is measured here (constants shared)" in note["text"]
    assert slice_of(session(first, log="x.tunelog.jsonl"), "status")["note"] is None
    lines = [replace(record, caches=("warm", "flushed")[record.trial % 2]) for record in old.records]
    write_log(here / "y.tunelog.jsonl", Header(tasks=()), lines)
    note = slice_of(session(first, log="y.tunelog.jsonl"), "status")["note"]
    assert note["text"] == "; ".join(mixed(lines))


def test_a_measurement_by_hand_holds_tuning_meanwhile(session, fake):
    s = session(matmul(64))
    s.run("tune", scope="task", seconds=60.0)
    until(lambda: s.tuning.new_trials > 0, 60)
    fake.gate.clear()
    s.run("measure")
    until(lambda: fake.seen)
    s.flush(100)
    assert s.tuning.state == "paused"
    assert slice_of(s)["state"] == "running"
    assert slice_of(s, "status")["busy"] == "measuring v0; tuning waits for it"
    fake.gate.set()
    until(lambda: s.tuning.state == "running")
    fake.gate.clear()
    s.run("measure")
    until(lambda: len(fake.seen) == 2)
    s.run("pause")
    fake.gate.set()
    until(lambda: not s.state.doing)
    assert s.tuning.state == "paused"  # a person paused it, so it stays so
    s.run("resume")
    s.run("stop")
    finished(s)


def test_a_run_of_another_cell_is_attached_and_outlives_the_session(session):
    tuning = tune([matmul(64)], seconds=60.0)
    try:
        s = session(tuning)
        mirror = Mirror(s)
        until(lambda: mirror.slices["tuning"]["trials"] > 2, 60)
        s.run("pause")
        assert tuning.state == "paused"
        s.run("resume")
        s.close()
        count = len(mirror.messages)
        time.sleep(0.5)
        assert tuning.state == "running"
        assert len(mirror.messages) == count
        assert not own_threads()
        assert s.tuning is tuning
    finally:
        tuning.cancel()
        tuning.join(100)


def test_a_front_end_that_follows_a_run_shows_its_end(session):
    s = session([matmul(64), matmul(128)])
    mirror = Mirror(s)
    s.run("tune", scope="all", trials=8)
    finished(s)
    assert s.tuning.new_trials == 8
    assert mirror.agrees(s)


@pytest.mark.bench
def test_few_messages_while_tuning(session):
    s = session([matmul(64), matmul(128)])
    mirror = Mirror(s)
    time.sleep(1.0)
    began = time.monotonic()
    s.run("tune", scope="all", seconds=4.0)
    finished(s)
    took = time.monotonic() - began
    times = mirror.times[1:]
    assert s.tuning.new_trials > 0
    assert max(sum(t <= x < t + 1 for x in times) for t in times) <= 8
    assert len(times) <= 4 * took + 8
    gaps = [b - a for a, b in itertools.pairwise(times)]
    assert sum(g < 0.2 for g in gaps) <= 4


def test_the_table_has_what_the_scheduler_expects_of_every_task_while_it_runs(session):
    tuning = FakeTuning([matmul(64), matmul(128), matmul(192)], trials=400).feed(160)
    s = session(tuning)
    mirror = Mirror(s)
    rows = slice_of(s, "tasks")["rows"]
    for row in rows:
        terms = tuning.terms(row["key"])
        assert [row[name] for name in ("gain", "backward", "optimism", "similarity")] == pytest.approx(
            [terms.gain, terms.backward, terms.optimism, terms.similarity], rel=1e-2
        )
        told = tuning.snapshot().rows[row["id"]]
        assert (row["confidence"], row["compared"], row["rounds"]) == (0.99, told.compared, told.rounds)
    assert sum(row["more"] for row in rows) == 240
    assert tuple(row["more"] for row in rows) == tuning.forecast()
    before = mirror.messages[-1]
    tuning.feed(16)
    until(lambda: slice_of(s)["trials"] == 176)
    assert sum(row["more"] for row in slice_of(s, "tasks")["rows"]) == 224
    tuning.feed(3)
    until(lambda: slice_of(s)["trials"] == 179)
    assert sum(row["more"] for row in slice_of(s, "tasks")["rows"]) <= 221, "no more to come than are left"
    tuning.stop()
    until(lambda: slice_of(s)["state"] == "done")
    for row in slice_of(s, "tasks")["rows"]:
        assert row["gain"] == pytest.approx(tuning.terms(row["key"]).gain, rel=1e-2), "it stays to be read"
        assert row["more"] is None, "nothing comes next"
    s.flush(100)
    assert mirror.messages[-1] is not before
    assert mirror.agrees(s)


def test_failures_are_told_by_kind_with_the_newest_of_each(session):
    tuning = FakeTuning([matmul(64)]).feed(200)
    s = session(tuning)
    failures = slice_of(s, "steering")["task"]["failures"]
    failed = [r for r in tuning.records if not r.ok]
    assert {f["kind"]: f["count"] for f in failures} == slice_of(s, "tasks")["rows"][0]["failures"]
    assert [f["count"] for f in failures] == sorted((f["count"] for f in failures), reverse=True)
    for one in failures:
        newest = [r for r in failed if r.status == one["kind"]][-1]
        assert (one["trial"], one["error"], one["opens"]) == (newest.trial, "it did not work", bool(newest.trace))
        if one["opens"]:
            s.run("open_trial", trial=one["trial"])
            assert s.schedule.to_json() == list(newest.trace)
    tuning.cancel()


class Broken:
    """A measurer whose machine fails."""

    def start(self):
        pass

    def measure(self, task, schedules, best_ms):
        raise OSError("the disk is on fire")

    def kill(self):
        pass

    def close(self):
        time.sleep(0.3)


def test_a_failed_run_says_why(session):
    from workbench.tune.options import TuneOptions
    from workbench.tune.plan.tune_context import TuneContext

    context = TuneContext(Target.host(threads=1), TuneOptions(model="random"))
    tuning = TuningSession(RunPlan([matmul(64)], context=context, measurer=Broken(), trials=4))
    s = session(tuning)
    mirror = Mirror(s)
    tuning.start()
    until(lambda: slice_of(s, "status")["note"] is not None)
    s.flush(100)
    assert mirror.slices["tuning"]["state"] == "failed"
    assert "on fire" in mirror.slices["status"]["note"]["text"]
    assert mirror.slices["status"]["note"]["level"] == "error"
    s.run("dismiss")
    assert slice_of(s, "status")["note"] is None


def trial(n, ms=None, **more):
    return Record(task_key="t", task="t", trial=n, status="ok" if ms else "timeout", target="", latency_ms=ms, **more)


def test_trials_are_counted_as_they_come():
    stats = Statistics()
    stats.add([trial(0, 4.0, origin="default"), trial(1), trial(2, 2.0), trial(2, 2.0)])
    task = stats.of("t")
    assert (task.trials, task.best.ms, task.untuned_ms, dict(task.failures)) == (3, 2.0, 4.0, {"timeout": 1})
    assert spark(task) == [4.0, 4.0, 2.0]
    assert delta(task) is None
    stats.add(trial(n, 1.0 if n > 90 else 3.0) for n in range(3, 100))
    assert len(spark(task)) == 24
    assert (spark(task)[0], spark(task)[-1]) == (4.0, 1.0)
    assert delta(task) == -0.5
    assert spark(stats.of("unknown")) == []


def test_the_small_curve_of_the_best_never_rises():
    stats = Statistics()
    lines = [trial(0, 4.0), trial(1, 1.0), trial(1, 3.0), *(trial(n, 3.5) for n in range(2, 30)), trial(30, 0.9)]
    stats.add(replace(line, timestamp=1.0 + k) for k, line in enumerate(lines))
    task = stats.of("t")
    assert [step.ms for step in task.course] == [4.0, 1.0, 3.0, 0.9], "the first time of trial 1 did not hold"
    assert (spark(task)[0], max(spark(task)[1:-1]), spark(task)[-1]) == (4.0, 3.0, 0.9)
    assert spark(task) == sorted(spark(task), reverse=True)
    lucky = Statistics()
    lucky.add(replace(trial(0, ms), timestamp=ms) for ms in (2.0, 2.5))
    assert spark(lucky.of("t")) == [2.5, 2.5]
    lucky.add(replace(trial(n, 3.0), timestamp=9.0 + n) for n in range(1, 20))
    assert delta(lucky.of("t")) == 0.0


def test_adopting_leaves_what_was_measured_by_hand_to_the_hand(session, fake):
    fake.result = Result("ok", 1e-6, 0.02, 3.0)
    s = session(matmul(64), auto_measure=True)
    s.run("apply", step=split("i", None, 8))
    until(lambda: slice_of(s, "head")["best_by"] == "hand")
    s.run("apply", step=split("j", None, {"hole": "tj"}))
    s.run("tune", scope="schedule", trials=3)
    finished(s)
    assert slice_of(s, "steering")["task"]["chosen"].startswith("tj = "), "the number, not who proposed it"
    s.run("adopt")
    assert slice_of(s, "history")["at"] == 1, "the best is by hand"
    s.run("open_trial", trial=s.state.stats.of(s.task.key).best.record.trial)
    rows = slice_of(s, "history")["rows"]
    assert [r["by"] for r in rows] == ["hand", "hand", "hand", "tuner"]
    assert (rows[3]["edge"], rows[3]["parent"], rows[3]["holes"]) == ("fill", 2, 0), "it fills what was left open"
    assert rows[3]["text"].startswith("tj = ")
    assert (slice_of(s, "head")["best_ms"], slice_of(s, "head")["best_by"]) == (1e-6, "hand")
