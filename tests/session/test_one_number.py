"""A program has one time: whatever shows it says what the ledger tells of the log, and names every other number."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from session.conftest import matmul, split
from session.test_by_hand import head, records, timed
from waiting import until

from workbench import logs, tune
from workbench.cli import main
from workbench.log import Comparison, Ledger, Record, load_log
from workbench.log.reader import write_log
from workbench.runtime.results.contest import Contest
from workbench.runtime.results.measurement import Measurement
from workbench.session.measurement import comparisons
from workbench.session.panels import reasons, way_to_best
from workbench.session.state.results import Result
from workbench.space.default_schedule import default_schedule
from workbench.tune.display.terminal_table import latency_text, render_table


def everywhere(s):
    """What the places of a session say that the task on show takes, whose best schedule is the variant on show."""
    slices = s.snapshot().slices
    (row,) = [r for r in slices["tasks"]["rows"] if r["id"] == slices["head"]["task"]]
    (variant,) = [r for r in slices["history"]["rows"] if r["id"] == slices["history"]["at"]]
    told = [slices["head"]["ms"], slices["head"]["best_ms"], row["ms"], variant["ms"], slices["tasks"]["total_ms"]]
    return {*told, slices["steering"]["task"]["ms"]} if slices["steering"] else set(told)


def measured(s, fake, path, ms):
    before = len(records(path))
    fake.result = timed(ms)
    s.run("measure")
    until(lambda: len(records(path)) == before + 1)
    until(lambda: s.flush(100) and not s.state.doing)
    s.flush(100)


@pytest.mark.parametrize(
    ("times", "told", "remark"),
    [
        ((1.0,), 1.0, ""),
        ((1.0, 1.02), 1.02, ""),
        ((1.02, 1.0), 1.02, "1 ms when it was timed last"),
        ((1.0, 1.3), 1.0, "two modes seen: 1 and 1.3 ms"),
        ((1.3, 1.0), 1.0, "two modes seen: 1 and 1.3 ms"),
        ((1.0, 1.3, 1.02), 1.02, "two modes seen: 1.02 and 1.3 ms"),
    ],
)
def test_who_measures_again_sees_one_number_everywhere(session, fake, tmp_path, capfd, times, told, remark):
    path = tmp_path / "mine.tunelog.jsonl"
    s = session(log=path)
    s.run("apply", step=split("j", None, 16))
    for ms in times:
        measured(s, fake, path, ms)
    assert everywhere(s) == {told}
    assert head(s)["remark"] == remark
    assert Ledger.of(load_log(path).lines).task(s.task.key).best.ms == told
    assert main(["log", "summary", str(path), "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["tasks"][0]["latency_ms"] == told
    again = session(matmul(), log=path)
    again.run("adopt")
    again.flush(100)
    assert everywhere(again) == {told}


def test_a_comparison_in_the_log_changes_the_variant_that_is_open(session, fake, tmp_path):
    path = tmp_path / "mine.tunelog.jsonl"
    s = session(log=path)
    s.run("apply", step=split("j", None, 16))
    measured(s, fake, path, 1.0)
    s.run("apply", step=split("i", None, 16))
    measured(s, fake, path, 0.9)
    assert everywhere(s) == {0.9}
    both = {"trials": (0, 1), "latency_ms": (1.02, 1.1), "winner": 0, "timestamp": 9e9}
    s.state.stats.add([Comparison(task_key=s.task.key, task=s.task.name, **both)])
    s.submit(lambda: None)
    s.flush(100)
    rows = {r["id"]: r["ms"] for r in s.snapshot().slices["history"]["rows"]}
    assert (rows[1], rows[2]) == (1.02, 1.1)
    assert (head(s)["ms"], head(s)["remark"]) == (1.1, "0.9 ms when it was timed last")
    assert head(s)["best_ms"] == s.snapshot().slices["tasks"]["rows"][0]["ms"] == 1.02


def test_an_undisturbed_time_stays_when_a_disturbed_one_follows(session, fake, tmp_path):
    path = tmp_path / "mine.tunelog.jsonl"
    s = session(log=path, auto_measure=False)
    s.run("apply", step=split("j", None, 16))
    measured(s, fake, path, 1.0)
    found = timed(2.0).measurement
    fake.result = Result.of(replace(found, why_not="other programs"))
    s.run("measure")
    until(lambda: len(records(path)) == 2)
    until(lambda: head(s)["remark"] == "2 ms when it was timed last, disturbed")
    assert everywhere(s) == {1.0}
    assert head(s)["doubt"] is None


def test_the_table_of_a_terminal_says_what_the_workbench_says(session, tmp_path):
    path, task = tmp_path / "mine.tunelog.jsonl", matmul()
    run = tune(task, log=str(path), trials=3, start=False)
    run.start()
    assert run.join(100)
    s = session(task, log=path)
    s.run("adopt")
    s.flush(100)
    (told,) = everywhere(s)
    near = (told * (1.0 - 5e-4), told, told * (1.0 + 5e-4))  # rounded to five digits
    table = "\n".join(render_table(run.snapshot(), 120))
    assert any(f"{latency_text(ms)} |" in table for ms in near), (told, table)


def test_the_default_schedule_by_hand_is_the_program_that_a_run_has_timed(session, fake, tmp_path):
    path, task = tmp_path / "mine.tunelog.jsonl", matmul()
    s = session(task, log=path)
    for step in default_schedule(task, task.target).to_json():
        s.run("apply", step=step)
    measured(s, fake, path, 1.0)
    measured(s, fake, path, 1.2)
    assert everywhere(s) == {1.2}
    assert head(s)["spread"] == pytest.approx(2 * 0.2 / 1.2, rel=0.01), "1.2 ± 0.2: both were seen"
    assert s.snapshot().slices["tasks"]["untuned_ms"] == 1.2


def played(*blocks):
    """A contest of participants that took so long in each round."""
    return Contest(measurements=tuple(Measurement(status="ok", costs_ms=costs) for costs in blocks))


def variant(s, node):
    return next(row for row in s.snapshot().slices["history"]["rows"] if row["id"] == node)


def test_a_contest_corrects_what_was_timed_alone(session, fake, monkeypatch):
    s = session()
    for ms in (1.0, 0.25):
        if ms < 1.0:
            s.run("apply", step=split("j", None, 16))
        fake.result = Result("ok", ms, 0.01, 10.0)
        s.run("measure")
        until(lambda ms=ms: s.flush(100) and head(s)["ms"] == ms)
    s.run("goto", step=0)
    assert head(s)["gflops"]
    even = (0.2,) * 8
    monkeypatch.setattr(comparisons.schedule_methods, "contest", lambda *args, **options: played(even, even))
    s.run("contest", a=0, b=1)
    until(lambda: s.flush(100) and head(s).get("same") == "= v1 in turns")
    assert head(s)["gflops"] is None, "four times as long as it can: that is no speed of the schedule"
    assert variant(s, 0)["same"] == "= v1 in turns"
    assert "same" not in variant(s, 1)
    (met,) = s.snapshot().slices["history"]["contests"]
    assert met["ms"] == [0.2, 0.2]


def test_a_program_that_takes_longer_than_it_can_has_no_share_of_the_peak(session, fake, tmp_path):
    path = tmp_path / "mine.tunelog.jsonl"
    s = session(log=path)
    for ms in (1.0, 1.01, 4.0):
        measured(s, fake, path, ms)
    now = head(s)
    assert (now["ms"], now["gflops"], now["peak_share"]) == (1.01, None, None)
    assert now["remark"] == "two modes seen: 1.01 and 4 ms"


def two_variants(session, fake, path, times=(1.0, 0.9)):
    """A session with a log, whose variants v1 and v2 took so long by themselves."""
    s = session(log=path, auto_measure=False)
    for loop, ms in zip("ji", times, strict=True):
        s.run("goto", step=0)
        s.run("apply", step=split(loop, None, 16))
        measured(s, fake, path, ms)
    return s


def against_each_other(s, monkeypatch, a, b, ratio):
    """Time two variants in turns; the second one takes `ratio` of the time of the first one."""
    first = tuple(1.0 + 0.001 * (k % 3) for k in range(12))
    second = tuple(ratio * ms for ms in first)
    outcome = lambda *args, **options: played(first, second)  # noqa: E731
    monkeypatch.setattr(comparisons.schedule_methods, "contest", outcome)
    s.run("contest", a=a, b=b)
    until(lambda: s.flush(100) and all(c["state"] == "" for c in s.snapshot().slices["history"]["contests"]))


def marked(s):
    return s.snapshot().slices["history"]["best"]


def test_who_wins_in_turns_is_the_best_in_the_tree_the_log_and_the_advice(session, fake, tmp_path, monkeypatch, capfd):
    path = tmp_path / "mine.tunelog.jsonl"
    s = two_variants(session, fake, path)
    assert marked(s) == 2
    against_each_other(s, monkeypatch, 2, 1, 0.8)
    until(lambda: s.flush(100) and "comparison" in [line["kind"] for line in records(path)])
    assert marked(s) == 1
    ledger = Ledger.of(load_log(path).lines).task(s.task.key)
    assert (ledger.best.record.trial, ledger.best.sure) == (0, "compared")
    assert logs.open(path).best().iloc[0]["value"] == 1.0
    assert head(s)["best_ms"] == ledger.best.ms == variant(s, 1)["ms"]
    s.run("goto", step=2)
    change = s.snapshot().slices["history"]["change"]
    s.run("adopt")
    assert s.snapshot().slices["history"]["at"] == 1, "Use the best goes to who has won"
    again = session(matmul(), log=path)
    again.run("adopt")
    again.flush(100)
    assert [str(step) for step in again.schedule.trace] == [str(step) for step in s.schedule.trace]
    assert change is None or "v1" not in change["text"]
    (met,) = again.snapshot().slices["history"]["contests"]
    assert met["text"].endswith("sure"), "what the log says of two variants is a comparison of theirs"
    again.run("goto", step=met["b"] if met["ratio"] > 1 else met["a"])
    again.flush(100)
    assert again.snapshot().slices["history"]["ahead"]["text"].endswith("sure, timed in turns")
    measured_again(again, monkeypatch, met)


def measured_again(s, monkeypatch, met):
    """What a new comparison of the two finds counts together with what the log says."""
    against_each_other(s, monkeypatch, met["a"], met["b"], met["ratio"])
    (now,) = s.snapshot().slices["history"]["contests"]
    assert now["text"].endswith("(in 2 comparisons)")


def test_without_a_log_who_wins_in_turns_is_the_best_too(session, fake, monkeypatch):
    s = session(auto_measure=False)
    for loop, ms in (("j", 1.0), ("i", 0.9)):
        s.run("goto", step=0)
        s.run("apply", step=split(loop, None, 16))
        fake.result = timed(ms)
        s.run("measure")
        until(lambda ms=ms: s.flush(100) and head(s)["ms"] == ms)
    assert marked(s) == 2
    against_each_other(s, monkeypatch, 1, 2, 1.25)
    assert marked(s) == 1
    assert variant(s, 1)["ms"] <= variant(s, 2)["ms"]
    s.run("adopt")
    assert s.snapshot().slices["history"]["at"] == 1


def test_ties_make_no_two_alike_that_turns_tell_apart(session, fake, monkeypatch):
    s = session(auto_measure=False)
    for loop, ms in (("j", 1.2), ("i", 1.0), ("k", 0.8)):
        s.run("goto", step=0)
        s.run("apply", step=split(loop, None, 16))
        fake.result = timed(ms)
        s.run("measure")
        until(lambda ms=ms: s.flush(100) and head(s)["ms"] == ms)
    against_each_other(s, monkeypatch, 1, 2, 1.0)
    against_each_other(s, monkeypatch, 2, 3, 1.0)
    assert variant(s, 1)["same"] == "= v2 in turns"
    assert variant(s, 2)["same"] == "= v3 in turns"
    against_each_other(s, monkeypatch, 3, 1, 0.9)  # v1 beats v3, whatever v2 says
    assert marked(s) == 1
    assert "same" not in variant(s, 1)
    assert "same" not in variant(s, 3)
    s.run("goto", step=3)
    node, state, found = s.state.tree.nodes[3], s.state, []
    s.run(lambda: found.append(reasons._faster(state, node)))
    assert found[0][0]["label"] == "v1, 1.11× as fast (timed in turns)"
    s.run(lambda: found.append(way_to_best._best(state, node)))
    assert found[1][1] == pytest.approx(0.9, rel=0.01), "alone v3 took 0.8 and v1 1.2 ms"
    assert s.snapshot().slices["history"]["ahead"]["text"] == "1.11× as fast as v3, sure, timed in turns"


def seen_by_hand(session, fake, *times, turns=()):
    """A session of two variants: v0 took so long by itself, and so long in turns with v1."""
    s = session(auto_measure=False)
    for k, ms in enumerate(times):
        fake.result = timed(ms)
        s.run("measure")
        until(lambda k=k: s.flush(100) and not s.state.doing and len(s.state.manual_trials.made(s.task.key)) == k + 1)
    s.run("apply", step=split("j", None, 16))
    fake.result = timed(0.0735)
    s.run("measure")
    until(lambda: s.flush(100) and head(s)["ms"] == 0.0735)
    for ms in turns:
        s.run(lambda ms=ms: s.state.meet(tuple(n.key for n in s.state.tree.nodes.values()), turn(ms, 0.0735)))
    s.run("goto", step=0)
    s.flush(100)
    return s


def turn(*each):
    return played(*(tuple(ms * (1.0 + 0.001 * (k % 3)) for k in range(12)) for ms in each))


def test_a_time_in_turns_does_not_take_the_place_of_a_clean_one(session, fake):
    s = seen_by_hand(session, fake, 1.31, turns=(1.32, 1.95))
    for row in (head(s), variant(s, 0)):
        assert row["ms"] == pytest.approx(1.31, rel=0.01)
        assert row["remark"].endswith("slower while it is timed with others: 1.95 ms in turns")
    assert head(s)["best_ms"] == pytest.approx(0.0735, rel=0.01)
    (met,) = s.snapshot().slices["history"]["contests"]
    assert "(in 2 comparisons that differ: 18.0× as fast to 26.5× as fast)" in met["text"], met["text"]
    low, high = (float(x) for x in met["text"].split("(between ")[1].split(")")[0].split(" and "))
    assert low < 1.31 / 0.0735 < high, "the interval has what separate measurements give"
    s.run("goto", step=1)
    s.flush(100)
    said = s.snapshot().slices["history"]["change"]["text"]
    assert said == f"21.8× as fast (between {low} and {high}) as v0", "the header has the interval, too"


def test_where_turns_and_times_by_themselves_are_of_two_modes_both_are_told(session, fake):
    s = seen_by_hand(session, fake, 1.31, turns=(1.95,))
    s.run("goto", step=1)
    s.flush(100)
    said = s.snapshot().slices["history"]["change"]["text"]
    assert said == "26.5× as fast as v0 (17.8× as fast where each is timed by itself)"


def test_the_spread_has_all_that_was_seen_of_a_program(session, fake):
    s = seen_by_hand(session, fake, 7.7, 8.1, turns=(6.8,))
    now = head(s)
    assert now["ms"] == 7.7
    assert now["ms"] * now["spread"] / 2.0 == pytest.approx(0.9, rel=0.01), "7.7 ± 0.9, not ± 0.01"


def test_a_slow_mode_is_told_beside_the_time_and_does_not_replace_it(session, fake):
    s = seen_by_hand(session, fake, 1.33, 2.2286)
    now = head(s)
    assert (now["ms"], now["remark"]) == (1.33, "two modes seen: 1.33 and 2.23 ms")
    assert now["ms"] * now["spread"] < 0.1, "the other mode is none of its spread"
    assert now["gflops"] is None, "of a machine that is slower now no share of the peak is told"


def test_a_trial_is_not_said_to_have_been_timed_again(session, fake, tmp_path):
    path, task = tmp_path / "mine.tunelog.jsonl", matmul()
    run = tune(task, log=str(path), trials=2, start=False)
    run.start()
    assert run.join(100)
    log = load_log(path)
    lines = [replace(r, latency_ms=1.0 if r.origin == "default" else 0.5, costs_ms=(), clean=True)
             for r in log.lines if isinstance(r, Record)]  # fmt: skip
    (record,) = (r for r in lines if r.origin != "default")
    met = {"trials": (0, 1), "latency_ms": (0.9, 0.55), "winner": record.trial, "timestamp": 9e9}
    met["latency_ms"] = met["latency_ms"] if record.trial else met["latency_ms"][::-1]
    write_log(path, log.header, [*lines, Comparison(task_key=task.key, task=task.name, **met)])
    s = session(task, log=path)
    s.run("open_trial", trial=record.trial)
    s.flush(100)
    key = s.state.tree.nodes[s.snapshot().slices["history"]["at"]].key
    assert s.state.history.results[key].ms == 0.5, "a trial took what its line says, whatever comparisons make of it"
    assert (head(s)["ms"], head(s)["remark"]) == (0.55, "0.5 ms in its trial"), "nobody has timed it since"
    assert head(s)["ms"] * head(s)["spread"] / 2.0 == pytest.approx(0.05, rel=0.02)
