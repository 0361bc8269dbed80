"""What is measured by hand is a trial of the log: compiling a network uses it, and a slow one makes nothing slower."""

from __future__ import annotations

import pytest
from graph.small import inner_value_is_an_output
from session.conftest import matmul, split
from session.fakes import FakeTuning
from waiting import until

from workbench import Target, Task, compile, read_log, workloads
from workbench.log import Database, Header, LogWriter, load_log
from workbench.runtime.results.measurement import Measurement
from workbench.session.state.results import Result
from workbench.space.default_schedule import default_schedule


def timed(ms):
    """A measurement of so many milliseconds."""
    return Result.of(Measurement(status="ok", costs_ms=(ms, ms), max_rel_error=0.0, flops=1000))


def records(path):
    """Lines of a log without its header, as far as they are whole."""
    return [line.to_json() for line in load_log(path).lines] if path.exists() else []


def head(s):
    return s.snapshot().slices["head"]


def two():
    host = Target.host(threads=1)
    return [Task.of_func(workloads.matmul(n, 64, 64), host) for n in (32, 64)]


def test_a_variant_is_a_trial_of_the_log_that_was_checked_against_the_oracle(session, tmp_path):
    path = tmp_path / "mine.tunelog.jsonl"
    s = session(log=path)
    s.run("apply", step=split("j", None, 16))
    s.run("measure")
    until(lambda: records(path))
    (line,) = records(path)
    assert (line["origin"], line["status"], line["trial"], line["caches"]) == ("manual", "ok", 0, "warm")
    assert line["max_rel_error"] is not None
    until(lambda: head(s)["logged"] == "trial 0 of the log")  # written before it is shown
    assert line["latency_ms"] == pytest.approx(head(s)["best_ms"], rel=1e-4)
    assert head(s)["best_by"] == "hand"
    rebuilt = Database.load(path).best(s.task.key)
    assert [step["primitive"] for step in rebuilt.trace] == ["split"]


def test_a_run_begins_with_the_default_schedule_whatever_was_measured_by_hand(session, fake, tmp_path):
    path = tmp_path / "mine.tunelog.jsonl"
    s = session(log=path)
    fake.result = timed(8.0)
    s.run("apply", step=split("j", None, 16))
    s.run("measure")
    until(lambda: records(path))
    s.run("tune", scope="task", trials=2)
    assert s.tuning.wait(60)
    found = [line for line in records(path) if line["kind"] == "trial"]
    assert [line["trial"] for line in found] == [0, 1, 2]
    assert [line["origin"] for line in found][:2] == ["manual", "default"]


def test_a_wrong_answer_is_a_failed_trial(session, fake, tmp_path):
    path = tmp_path / "mine.tunelog.jsonl"
    s = session(log=path)
    fake.result = Result.of(Measurement(status="wrong_answer", error="differs"))
    s.run("apply", step=split("j", None, 16))
    s.run("measure")
    until(lambda: records(path))
    assert [line["status"] for line in records(path)] == ["wrong_answer"]


def test_of_a_network_the_default_schedule_is_timed_too_and_a_slower_one_by_hand_is_not_used(session, fake, tmp_path):
    path = tmp_path / "mine.tunelog.jsonl"
    tasks = two()
    usual = {t.key: [str(p) for p in default_schedule(t, t.target).trace] for t in tasks}
    s = session(tasks, log=path)
    key = s.task.key
    fake.result = lambda view: timed(1.0 if [str(p) for p in view.trace] == usual[key] else 8.0)
    s.run("apply", step=split("j", None, 16))
    s.run("measure")
    until(lambda: len(records(path)) == 2)
    assert [(line["origin"], line["latency_ms"]) for line in records(path)] == [("manual", 8.0), ("default", 1.0)]
    assert Database.load(path).best(key).origin == "default"
    until(lambda: s.snapshot().slices["tasks"]["rows"][s.state.index]["ms"] == 1.0)
    fake.result = timed(0.5)
    s.run("apply", step=split("i", None, 16))
    s.run("measure")
    until(lambda: len(records(path)) == 3)
    assert Database.load(path).best(key).latency_ms == 0.5, "the default is timed once"
    assert [r["trial"] for r in records(path)] == [0, 1, 2]


def test_without_a_log_it_says_so_and_a_slow_variant_does_not_raise_the_total(session, fake):
    s = session(two())
    s.flush(100)
    until(lambda: s.snapshot().slices["tasks"]["est_ms"] is not None)
    before = s.snapshot().slices["tasks"]["est_ms"]
    fake.result = timed(500.0)
    s.run("apply", step=split("j", None, 16))
    s.run("measure")
    until(lambda: head(s)["ms"] == 500.0)
    assert head(s)["logged"] == "not in a log"
    assert s.snapshot().slices["tasks"]["est_ms"] == before
    assert head(s)["best_ms"] is None, "what should take less without tuning has no time that counts"
    fake.result = timed(1e-6)
    s.run("measure")
    until(lambda: head(s)["remark"] == "two modes seen: 1e-06 and 500 ms")
    assert head(s)["ms"] == 1e-6
    until(lambda: s.snapshot().slices["tasks"]["est_ms"] < before)


def measured_beside_a_run(session, fake, folder):
    """A variant that is measured by hand while another one holds the log."""
    path, task = folder / "mine.tunelog.jsonl", matmul()
    holder = LogWriter(path, Header(tasks=((task.key, task.name),)))
    tuning = FakeTuning([task], log=str(path)).feed(3)
    s = session(tuning)
    fake.result = timed(1.0)
    s.run("apply", step=split("j", None, 16))
    s.run("measure")
    until(lambda: head(s)["ms"] == 1.0)
    return path, holder, tuning, s


def test_while_a_run_holds_the_log_it_waits(session, fake, tmp_path):
    path, holder, tuning, s = measured_beside_a_run(session, fake, tmp_path)
    assert head(s)["logged"] == "not yet in the log"
    assert not records(path)
    holder.close()
    tuning.end()
    until(lambda: [line["origin"] for line in records(path)] == ["manual"])


@pytest.mark.parametrize("live", [False, True])
def test_what_waits_is_written_when_the_session_is_closed(session, fake, tmp_path, live):
    path, holder, tuning, s = measured_beside_a_run(session, fake, tmp_path)
    if live:
        s.close()
    holder.close()
    tuning.end()
    if not live:
        s.close()
    until(lambda: len(records(path)) == 1)


def test_another_models_log_is_told(session, fake, tmp_path):
    path = tmp_path / "other.tunelog.jsonl"
    s = session(log=path)
    LogWriter(path, Header(tasks=(("other", "other"),))).close()
    fake.result = timed(1.0)
    s.run("apply", step=split("j", None, 16))
    s.run("measure")
    until(lambda: s.snapshot().slices["status"]["note"] is not None)
    assert s.snapshot().slices["status"]["note"]["code"] == "log.other_model"
    assert head(s)["logged"] == "not in a log"


def test_a_network_is_compiled_with_what_was_made_by_hand(session, fake, tmp_path):
    path = tmp_path / "net.tunelog.jsonl"
    graph = inner_value_is_an_output()
    s = session(graph, log=path, target=Target.host(threads=1))
    fake.result = timed(1e-5)
    loops = s.schedule.loops
    s.run("apply", step=split(loops[0].name, None, 1))
    s.run("measure")
    until(lambda: any(line["origin"] == "manual" for line in records(path)))
    s.close()
    assert list(read_log(path)["origin"]).count("manual") == 1
    net = compile(graph, str(path), Target.host(threads=1))
    assert s.task.name not in net.untuned


def test_what_was_made_by_hand_comes_back_from_the_log_as_it_was(session, fake, tmp_path):
    path, times = tmp_path / "mine.tunelog.jsonl", iter((8.0, 4.0, 2.0))
    fake.result = lambda view: timed(next(times))
    s = session(matmul(), log=path)
    for step in ("i", "j"):
        s.run("apply", step=split(step, None, 16))
        s.run("measure")
        until(lambda step=step: len(records(path)) == (1 if step == "i" else 2))
    s.run("open_default")
    s.run("measure")
    until(lambda: len(records(path)) == 3)
    s.close()
    again = session(matmul(), log=path)
    history = again.snapshot().slices["history"]
    told = [(r["by"], r["text"], r["ms"], r["trial"]) for r in history["rows"][1:]]
    assert [one[0] for one in told] == ["hand", "hand", "template"]
    assert told[1][1] == "split('j', [None, 16])"
    assert [one[2:] for one in told] == [(8.0, 0), (4.0, 1), (2.0, 2)]
    assert (told[2][1], history["at"], again.schedule.trace) == ("default schedule", 0, ())
    assert (head(again)["best_ms"], head(again)["best_by"]) == (2.0, "template")
    again.run("adopt")
    assert again.snapshot().slices["history"]["at"] == 3, "the variant that is there, and no other"
    again.run("open_trial", trial=1)
    after = again.snapshot().slices["history"]
    assert (after["at"], [(r["by"], r["text"]) for r in after["rows"][1:]]) == (2, [one[:2] for one in told])
    assert head(again)["logged"] == "trial 1 of the log"


def test_using_the_best_says_nothing_else_of_a_variant_that_is_open(session, fake, tmp_path):
    path = tmp_path / "mine.tunelog.jsonl"
    fake.result = timed(4.0)
    s = session(matmul(), log=path)
    s.run("apply", step=split("i", None, 16))
    s.run("measure")
    until(lambda: records(path))
    before = s.snapshot().slices["history"]["rows"][1]
    s.run("undo")
    s.run("adopt")
    now = s.snapshot().slices["history"]
    assert (now["at"], len(now["rows"])) == (1, 2)
    assert [now["rows"][1][k] for k in ("by", "text", "edge")] == [before[k] for k in ("by", "text", "edge")]
    assert before["by"] == "hand"
