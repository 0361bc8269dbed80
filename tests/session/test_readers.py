"""The same log, read by every reader: the same best, number, share and total."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path
from typing import Any

import pytest
from tiers import first
from tune.random_logs import random_log, write

import workbench as wb
from workbench import Target, workloads
from workbench.analysis import best_so_far
from workbench.analysis.trials.task_rounds import turns
from workbench.cli import main
from workbench.graph.tasks import Task
from workbench.log import Database, Ledger, load_log
from workbench.log.log_frame import task_rows
from workbench.log.merge import merge_logs
from workbench.session import Session
from workbench.session.state.session_input import timed
from workbench.session.state.statistics import rounded
from workbench.tune.options import TuneOptions
from workbench.tune.run.start import tune

#: Random logs, and in how many parts they are read.
LOGS, PARTS = 1000, 14


def told(*args: object) -> Any:
    """What the command line says."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        assert main([*map(str, args), "--json"]) == 0
    return json.loads(out.getvalue())


def check(path: Path, meant: dict[str, Any], folder: Path, also: bool, orderly: bool) -> None:
    """Compare what all readers say of a log with the ledger's JSON. Merging wants lines in the order of a run."""
    frame, database, summary = wb.read_log(path), Database.load(path), told("log", "summary", path)
    curves = {task["key"]: best_so_far(path, task["key"]) for task in meant["tasks"]}
    rows = {row["name"]: row for row in task_rows(frame)}
    names = dict(load_log(path).header.tasks)
    assert summary["total_latency_ms"] == meant["total_ms"]
    for task, line in zip(meant["tasks"], summary["tasks"], strict=True):
        key, best, ms = task["key"], task["best"], task["best"] and task["best"]["ms"]
        assert (line["key"], line["latency_ms"], line["share"]) == (key, ms, task["share"])
        assert (line["trials"], line["untuned_ms"]) == (task["trials"], task["untuned_ms"])
        found = database.told(key, 1)
        assert [(one.record.trial, one.ms, one.sure) for one in found] == (
            [] if best is None else [tuple(best.values())]
        )
        if best is None:
            continue
        mine = frame[frame["task_key"] == key]
        assert rows[names[key]]["ms"] == ms
        assert mine["best_ms"].iloc[-1] == ms
        if mine["target"].nunique() == 1:
            first = mine[mine["rank"] == 1]
            assert (first["trial"].tolist(), first["ledger_ms"].tolist()) == ([best["trial"]], [ms])
            listed = next(r for r in told("log", "best", path)["records"] if r["task_key"] == key) if also else None
            assert listed is None or (listed["trial"], listed["latency_ms"]) == (best["trial"], ms)
        for curve in (curves[key], best_so_far(frame, key), best_so_far([*timed(load_log(path))], key)):
            assert curve.best_ms[-1] == ms
            assert list(curve.best_ms) == list(curves[key].best_ms), "the course is the same as well"
            assert (curve.latency_ms >= curve.best_ms).all(), "no dot lies below the line"
        if mine["round"].is_monotonic_increasing:
            assert [t.after_ms for t in turns(path, [key])][-1] == ms
    whole = best_so_far(path)
    assert list(whole.best_ms[-1:]) == [ms for ms in [meant["total_ms"]] if ms is not None]
    if meant["total_ms"] is not None:
        assert sum(row["share"] for row in rows.values()) == pytest.approx(1.0)
    if orderly:
        merged = folder / "merged"
        merged.unlink(missing_ok=True)
        merge_logs([path], merged)
        ledger = Ledger.of(load_log(merged).lines)
        again = [ledger.task(task["key"]).best for task in meant["tasks"]]
        assert [one and one.ms for one in again] == [task["best"] and task["best"]["ms"] for task in meant["tasks"]]


def check_session(path: Path, meant: dict[str, Any]) -> None:
    """Compare what a workbench shows of a log."""
    session = Session(str(path), auto_measure=False)
    try:
        for task, row in zip(meant["tasks"], session.snapshot().slices["tasks"]["rows"], strict=True):
            ms = task["best"] and rounded(task["best"]["ms"])
            assert (row["key"], row["ms"], row["trials"]) == (task["key"], ms, task["trials"])
            assert row["share"] == (task["share"] and round(task["share"], 4))
            assert (row["untuned_ms"], row["sure"]) == (
                rounded(task["untuned_ms"]),
                (task["best"] or {"sure": ""})["sure"],
            )
            session.run("open_task", task=row["id"])
            head, steering = session.snapshot().slices["head"], session.snapshot().slices["steering"]
            assert head["best_ms"] == ms
            assert head["best_why"] == (task["course"][-1][-1] if task["course"] else "")
            assert steering is None or steering["task"]["ms"] == ms
        assert session.snapshot().slices["tasks"]["total_ms"] == rounded(meant["total_ms"])
    finally:
        session.close()


@pytest.mark.parametrize("part", first(range(PARTS)))
def test_every_reader_of_a_log_says_the_same(part: int, tmp_path: Path) -> None:
    for seed in range(part, LOGS, PARTS):
        path = write(tmp_path / "log.tunelog.jsonl", random_log(seed))
        meant = Ledger.of(load_log(path).lines).to_json(dict(load_log(path).header.tasks))
        check(path, meant, tmp_path, also=seed % 5 == 0, orderly=seed % 2 == 0)
        if seed % 20 == 0:
            check_session(path, meant)


def test_a_run_and_the_readers_of_its_log_say_the_same(tmp_path: Path) -> None:
    """At its end and after every line, as far as the log had been written by then."""
    path, host = tmp_path / "real.tunelog.jsonl", Target.host(threads=1)
    tasks = [Task.of_func(workloads.matmul(n, 64, 64), host) for n in (32, 64)]
    options = TuneOptions(model="analytic", repeat=3, min_repeat_ms=1)
    run = tune(tasks, trials=24, log=str(path), options=options, start=False)
    seen: list[tuple[int, tuple[Any, ...]]] = []

    def look(event: Any) -> None:
        bests = tuple(state.ledger.best for state in run._loop.scheduler.states)
        seen.append((len(run.lines), tuple(b and (b.record.trial, b.ms, b.sure) for b in bests)))

    run.events.subscribe(look)
    run.start()
    assert run.wait(120)
    lines = run.lines
    for count, bests in seen[:-1]:
        ledger = Ledger.of(lines[:count])
        found = [ledger.task(t.key).best for t in tasks]
        assert tuple(b and (b.record.trial, b.ms, b.sure) for b in found) == bests
    meant = Ledger.of(load_log(path).lines).to_json([t.key for t in tasks])
    check(path, meant, tmp_path, also=True, orderly=True)
    check_session(path, meant)
    now = run.snapshot()
    assert now.total_ms == meant["total_ms"]
    assert [(row.latency_ms, row.trial) for row in now.rows] == [
        (task["best"]["ms"], task["best"]["trial"]) for task in meant["tasks"]
    ]
    session = Session(run, auto_measure=False)
    assert [row["ms"] for row in session.snapshot().slices["tasks"]["rows"]] == [
        rounded(r.latency_ms) for r in now.rows
    ]
    session.close()
