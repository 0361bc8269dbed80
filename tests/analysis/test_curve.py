import json
from dataclasses import replace

import numpy as np
import pytest
from tune.random_logs import ranked

import workbench as wb
from workbench.analysis import best_so_far, best_so_far_figure, failures
from workbench.log import Comparison, Header, Record
from workbench.log.reader import to_frame, write_log


def record(trial, key, latency=None, status="ok", weight=1, error=""):
    return Record(
        task_key=key, task=f"task {key}", trial=trial, status=status, target="llvm", weight=weight, latency_ms=latency,
        error=error,
    )  # fmt: skip


RECORDS = (
    record(0, "a", 4.0),
    record(1, "a", status="timeout", error="took too long"),
    record(2, "b", 1.0, weight=3),
    record(3, "a", 5.0),
    record(4, "b", 0.5, weight=3),
    record(5, "a", 2.0),
    record(6, "a", status="timeout"),
)


@pytest.fixture
def path(tmp_path):
    write_log(tmp_path / "x.tunelog.jsonl", Header(tasks=(("a", "task a"), ("b", "task b"))), RECORDS)
    return tmp_path / "x.tunelog.jsonl"


def against(winner, *trials, ms=(), at=1.0):
    return Comparison(task_key="a", task="task a", trials=trials, latency_ms=ms, winner=winner, timestamp=at)


def test_what_lost_a_comparison_was_never_the_best(tmp_path):
    trials = [record(i, "a", ms) for i, ms in enumerate([4.2, 3.4, 2.0, 4.5, 1.0])]
    lines = [against(1, 0, 1, 2, ms=(4.1, 3.2, 3.6)), against(1, 1, 4, ms=(3.3, 3.4), at=2.0)]
    assert best_so_far([*trials, *lines], "a").best_ms.tolist() == [4.2, 3.4, 2.0, 2.0, 3.3]
    assert best_so_far([*lines, *trials]).best_ms.tolist() == [4.2, 3.3, 3.3, 3.3, 3.3], "nothing lucky is believed"
    curve = best_so_far([*trials[:3], lines[0], *trials[3:], lines[1]], "a")
    assert curve.best_ms.tolist() == [4.2, 3.4, 3.4, 3.4, 3.3]
    assert curve.latency_ms.tolist() == [4.2, 3.4, 3.6, 4.5, 3.4], "and none lies below the line"
    back = against(0, 1, 0, ms=(3.3, 2.9), at=3.0)  # an earlier one wins in the end
    assert best_so_far([*trials, *lines, back], "a").best_ms[-1] <= 3.3
    assert ranked(trials, [*lines, back])[0].record.trial == 0
    log = tmp_path / "c.jsonl"
    write_log(log, Header(tasks=(("a", "task a"),)), trials)
    with log.open("a") as file:
        file.writelines(json.dumps(line.to_json()) + "\n" for line in lines)
    assert best_so_far(log).best_ms[-1] == 3.3
    frame = wb.read_log(log)
    assert best_so_far(frame).best_ms.tolist() == best_so_far(log).best_ms.tolist() == [4.2, 3.4, 2.0, 2.0, 3.3]
    assert best_so_far(frame).reasons == best_so_far(log).reasons
    assert best_so_far(frame.drop(columns="best_ms")).best_ms[-1] == 1.0
    assert best_so_far(frame[frame["trial"] < 1]).best_ms.tolist() == [4.2]


def test_who_won_among_trials_that_were_timed_otherwise_is_not_ahead(tmp_path):
    caches = ("constants shared", "warm", "warm")
    trials = [
        replace(record(i, "a", ms), caches=c) for i, (ms, c) in enumerate(zip((0.8, 0.9, 0.85), caches, strict=True))
    ]
    lines = [*trials, against(2, 1, 2, ms=(0.78, 0.76)), against(0, 0, ms=(1.6,), at=2.0)]
    write_log(tmp_path / "d.jsonl", Header(tasks=(("a", "task a"),)), lines)
    for source in (lines, tmp_path / "d.jsonl", wb.read_log(tmp_path / "d.jsonl")):
        assert best_so_far(source, "a").best_ms.tolist() == [0.8, 0.8, 1.6]
        assert best_so_far(source, "a").reasons == ((3, "measured again: 1.6 ms, the first number was lucky (0.8 ms)"),)


def test_a_first_trial_that_lost_to_a_later_one_is_shown_until_that_comes():
    trials = [record(0, "a", 2.0), record(1, "a", 1.0)]
    curve = best_so_far([*trials, against(1, 1, 0, ms=(1.1, 1.9))], "a")
    assert curve.best_ms.tolist() == [2.0, 1.1]


def test_best_of_a_task():
    c = best_so_far(RECORDS, "a")
    assert (c.name, c.count, c.missing) == ("task a", 5, 0)
    assert c.trials.tolist() == [0, 3, 5]
    assert c.nth.tolist() == [1, 3, 4]
    assert c.latency_ms.tolist() == [4.0, 5.0, 2.0]
    assert c.best_ms.tolist() == [4.0, 4.0, 2.0]
    assert (c.failed_trials.tolist(), c.failed_nth.tolist()) == ([1, 6], [2, 5])
    assert c.failed_status == ("timeout", "timeout")
    assert best_so_far(RECORDS, "task a").trials.tolist() == [0, 3, 5]


def test_the_whole_starts_once_every_task_has_a_value():
    c = best_so_far(RECORDS)
    assert c.trials.tolist() == [2, 3, 4, 5, 6]
    assert c.best_ms.tolist() == [7.0, 7.0, 5.5, 3.5, 3.5]
    assert not len(c.latency_ms)
    assert best_so_far(RECORDS[:2]).best_ms.tolist() == [4.0, 4.0]
    waiting = best_so_far(RECORDS, tasks=["a", "b", "c"])
    assert (len(waiting.best_ms), waiting.missing) == (0, 1)


def test_every_source_gives_the_same_curve(path):
    for source in (to_frame(RECORDS), path, str(path), wb.read_log(path), iter(RECORDS)):
        c = best_so_far(source)
        assert c.best_ms.tolist() == [7.0, 7.0, 5.5, 3.5, 3.5]
        assert c.failed_trials.tolist() == [1, 6]


def test_a_log_waits_for_all_tasks_of_its_header(tmp_path):
    write_log(tmp_path / "y.jsonl", Header(tasks=(("a", "A"), ("b", "B"), ("c", "C"))), RECORDS)
    assert best_so_far(tmp_path / "y.jsonl").missing == 1
    assert best_so_far(tmp_path / "y.jsonl", "c").count == 0
    assert not best_so_far(wb.read_log(tmp_path / "y.jsonl")).missing


def test_wrong_sources_are_told(path):
    for call, code in (
        (lambda: best_so_far(RECORDS, "q"), "curve.task"),
        (lambda: best_so_far(7), "usage.type"),
        (lambda: best_so_far([1]), "usage.type"),
        (lambda: best_so_far(wb.read_log(path).drop(columns="weight")), "curve.columns"),
    ):
        with pytest.raises(wb.WorkbenchError) as error:
            call()
        assert error.value.code == code


def test_failures_by_task_and_kind():
    frame = failures(to_frame(RECORDS))
    assert frame.to_dict("records") == [{"task": "task a", "status": "timeout", "count": 2, "error": "took too long"}]
    assert list(failures([]).columns) == ["task", "status", "count", "error"]


def test_the_figure_shows_points_line_end_and_crosses():
    fig = best_so_far_figure(RECORDS, "a")
    measured, line, end, failed, by_hand, peak, network = fig.data
    assert (list(measured.x), list(measured.y)) == ([1, 3, 4], [4.0, 5.0, 2.0])
    assert (list(line.x), list(line.y), line.line.shape) == ([1, 4, 5], [4.0, 2.0, 2.0], "hv")  # its corners
    assert (list(end.x), list(end.y)) == ([5], [2.0])
    assert list(failed.x) == [2, 5]
    assert (list(failed.customdata), failed.text) == ([1, 6], ("timeout", "timeout"))
    assert len(by_hand.x or ()) == len(peak.x or ()) == len(network.x or ()) == 0
    assert fig.layout.yaxis.type == "log"
    assert "2.00\u202fms" in fig.layout.annotations[0].text
    assert fig.layout.annotations[0].y == pytest.approx(np.log10(2.0))
    assert fig.layout.paper_bgcolor == "rgba(0,0,0,0)"


def test_the_figure_always_has_the_same_traces():
    names = [t.name for t in best_so_far_figure(RECORDS, "a").data]
    assert [t.name for t in best_so_far_figure(RECORDS).data] == names
    assert [t.name for t in best_so_far_figure([]).data] == names
    assert (
        best_so_far_figure(RECORDS, tasks=["a", "q"]).layout.annotations[0].text.startswith("No total yet: 1 task has")
    )


def test_a_point_stands_at_the_time_that_is_told_of_its_trial():
    lines = [record(0, "a", 4.0), record(1, "a", 3.0)]
    won = Comparison(task_key=lines[0].task_key, task="a", trials=(0, 1), latency_ms=(4.5, 2.0), winner=1)
    curve = best_so_far([*lines, won], lines[0].task_key)
    assert curve.latency_ms.tolist() == [4.5, 3.0]
    assert curve.best_ms.tolist() == [4.0, 3.0]
