"""``workbench log``: merge, distill and summary of logs with all kinds of lines; damaged logs of every kind."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import math

import pytest
from errors.test_cli_errors import check_error, invoke
from hypothesis import given, settings
from hypothesis import strategies as st
from tune.fakes import tasks
from tune.test_log import HEADER, filled, record

from workbench.cli import main
from workbench.errors import LogError, UsageError, WorkbenchError
from workbench.log import Command, Comparison, LogWriter, NetworkTime, Record, Round, load_log
from workbench.log.docs import _EXAMPLES
from workbench.log.ledger.network import NetworkLedger, measured_at
from workbench.log.lines import KINDS, Unknown
from workbench.log.merge import merge_logs
from workbench.log.reader import read_log, write_log
from workbench.log.task_table import end_to_end, network_fields
from workbench.log.writer import check_writable, is_open
from workbench.tune.display.terminal_table import network_line
from workbench.tune.state.task_scheduler import GradientScheduler

COMPARISON = Comparison(
    task_key="k0", task="conv", trials=(0, 2, 3), latency_ms=(0.75, 1.5, math.nan), costs_ms=((0.75,), (1.5,), ()),
    winner=0, reason="new best", timestamp=9.0,
)  # fmt: skip
TRACE = 'Traceback (most recent call last):\n  File "a.py", line 3, in f\n    g()\n\nValueError: no such loop\nmore'


def full(path, **kwargs):
    """Write a log with everything in it."""
    records = [
        record(0, ms=1.0), record(1, status="run_error", error="signal 11\nin the kernel"), record(2, ms=0.9),
        record(3, ms=0.8, **kwargs), record(4, status="run_error", error="signal 11\nelsewhere"),
        record(5, status="run_error", error="signal 4"), record(6, status="build_error", error=TRACE),
        record(7, key="k1", ms=3.0),
    ]  # fmt: skip
    lines = [
        *records, COMPARISON,
        Round(task_key="k0", task="conv", round=0, spearman=0.75, ask_s=1.0, tell_s=0.5, measure_s=8.0),
        Command(name="pin", args={"hole": "j"}), Unknown({"kind": "note", "text": "hello"}),
    ]  # fmt: skip
    write_log(path, HEADER, lines)
    return path


def test_the_tables_of_all_kinds(tmp_path):
    log = full(tmp_path / "a.jsonl")
    frame = read_log(log)
    assert frame["rank"].fillna(0).tolist() == [1, 0, 2, 3, 0, 0, 0, 1], "trial 3 failed in the comparison"
    assert frame["confirmed"].tolist() == [True] + [False] * 7
    assert frame["ledger_ms"].tolist()[:4:2] == [1.0, 1.5]
    assert frame["best_ms"].fillna(0).tolist() == [1.0, 1.0, 0.9, 0.8, 0.8, 0.8, 1.0, 3.0]
    assert [bool(why) for why in frame["best_why"]] == [False] * 6 + [True, False]
    assert "conv: best 1 ms, 7 trials" in repr(frame)
    assert read_log(log, kind="comparison")["winner"].tolist() == [0]
    assert read_log(log, kind="round")["spearman"].tolist() == [0.75]
    assert read_log(log, kind="command")["args"].tolist() == [{"hole": "j"}]
    assert "ask_s" in read_log(filled(tmp_path / "b.jsonl"), kind="round").columns
    with pytest.raises(UsageError) as caught:
        read_log(log, kind="comparisons")
    assert caught.value.code == "usage.kind"
    assert "comparison" in (caught.value.hint or "")


def test_the_summary_tells_what_there_is(capfd, tmp_path):
    log = full(tmp_path / "a.jsonl", target="llvm -mcpu=host -threads=8", host="B", caches="warm")
    code, out, err = invoke(capfd, "log", "summary", log, "--json")
    data = json.loads(out)
    assert code == 0
    assert (data["tasks"][0]["latency_ms"], data["tasks"][0]["sure"]) == (1.0, "compared")
    assert data["failures"] == [
        {"status": "run_error", "count": 3, "error": "signal 11", "error_count": 2},
        {"status": "build_error", "count": 1, "error": "ValueError: no such loop", "error_count": 1},
    ]
    assert data["comparisons"] == {"count": 1, "new_best": 0}
    assert data["rounds"]["spearman"] == {"k0": 0.75}
    assert (data["commands"], data["unknown_lines"], data["hosts"]) == (1, {"note": 1}, {"": 7, "B": 1})
    assert "2 targets are in this log" in err
    assert "threads=8 instead of 2" in err
    assert "3 not told, 1 warm" in err
    code, out, _ = invoke(capfd, "log", "summary", log)
    for text in ("3 run_error: signal 11 (2 times)", "Comparisons: 1, of which 0", "8.0 s measuring, 1.5 s searching",
                 "Commands: 1", "unknown (7), B (1)", "passed over: 1 note"):  # fmt: skip
        assert text in out
    assert invoke(capfd, "log", "summary", filled(tmp_path / "b.jsonl"))[2] == ""


def test_the_summary_tells_what_the_network_takes(capfd, tmp_path):
    own, other = (NetworkTime(measured_ms=ms, untuned_ms=4.0, target=t) for ms, t in ((2.0, "llvm"), (1.0, "cuda")))
    write_log(tmp_path / "a", HEADER, [record(0, target="llvm"), own, other])
    assert json.loads(invoke(capfd, "log", "summary", tmp_path / "a", "--json")[1])["measured_ms"] == 2.0
    told = "End to end: 2.000 ms, 4.000 ms untuned, 2.00× as fast"
    assert told in invoke(capfd, "log", "summary", tmp_path / "a")[1]
    write_log(tmp_path / "b", HEADER, [record(0, target="llvm"), other])
    assert "End to end" not in invoke(capfd, "log", "summary", tmp_path / "b")[1]


@pytest.mark.parametrize(
    ("untuned_ms", "spread", "untuned_spread", "told"),
    [
        (2.4, 0.02, 0.03, "2.000 ms ± 0.020, 2.400 ms ± 0.036 untuned, 1.20× as fast"),
        (2.04, 0.02, 0.03, "2.000 ms ± 0.020, 2.040 ms ± 0.031 untuned, no difference shows"),
        (1.5, 0.02, 0.02, "2.000 ms ± 0.020, 1.500 ms ± 0.015 untuned, 1.33× slower"),
        (2.04, 0.02, None, "2.000 ms ± 0.020, 2.040 ms untuned, no difference shows"),
        (5.0, 0.4, 0.4, "2.000 ms ± 0.400, 5.000 ms ± 1.000 untuned, no difference shows"),
    ],
)
def test_where_both_spreads_meet_no_difference_shows(untuned_ms, spread, untuned_spread, told):
    line = NetworkTime(measured_ms=2.0, untuned_ms=untuned_ms, spread=spread, untuned_spread=untuned_spread)
    assert network_line(line) == f"End to end: {told}"
    shown = network_fields(line)
    drawn = str(end_to_end(shown, 1.5, 1.7, "sum of 3 kernels"))
    assert f"untuned: {shown['change']}</div>" in drawn
    assert "kernels alone: 1.50" in drawn
    assert "sum of" not in drawn, "the sum has no ratio of its own beside what was measured"
    assert drawn.count("untuned") == 1
    assert shown["change"] in told


def test_after_which_trial_it_was_measured_stands_beside_the_time(capfd, tmp_path):
    line = NetworkTime(measured_ms=2.0, untuned_ms=4.0, target="llvm", trials=1)
    write_log(tmp_path / "a", HEADER, [record(0, target="llvm"), line, *(record(k, target="llvm") for k in (1, 2))])
    out = invoke(capfd, "log", "summary", tmp_path / "a")[1]
    assert "2.00× as fast (measured at trial 1 of 3)\n" in out
    assert "Kernels alone: " in out
    assert "Estimated total latency" not in out
    assert (measured_at(line, 1), measured_at(dataclasses.replace(line, trials=0), 3)) == ("measured at trial 1", "")
    assert "(measured at trial 1 of 3)" in str(end_to_end(network_fields(line, 3), None, None, ""))


def test_a_disturbed_time_of_the_network_replaces_no_better_one():
    good = NetworkTime(measured_ms=4.67, untuned_ms=5.3, spread=0.05, untuned_spread=0.05, trials=159)
    later = dataclasses.replace(good, measured_ms=5.71, spread=0.53, trials=200)

    def last(*lines):
        ledger = NetworkLedger()
        for line in lines:
            ledger.take(line)
        return ledger.last

    assert last(good, later) == good
    assert last(good, dataclasses.replace(later, spread=0.02, clean=False)) == good
    assert last(good, dataclasses.replace(later, spread=0.02, untuned_spread=0.5)) == good
    assert last(good, calm := dataclasses.replace(later, spread=0.02)) == calm, "an undisturbed one is the newer word"
    assert last(good, less := dataclasses.replace(later, measured_ms=4.0)) == less, (
        "however disturbed, it takes no longer"
    )
    assert last(later, good) == good
    assert last(later, longer := dataclasses.replace(later, measured_ms=6.0)) == longer, (
        "neither says more than the other"
    )


def test_machines_that_share_a_target_are_told(capfd, tmp_path):
    write_log(tmp_path / "a", HEADER, [record(0, host="A"), record(1, host="B")])
    assert "several machines (A, B)" in invoke(capfd, "log", "summary", tmp_path / "a")[2]


def test_distilling_keeps_the_comparisons_of_what_is_kept(capfd, tmp_path):
    log = full(tmp_path / "a.jsonl")
    code, out, _ = invoke(capfd, "log", "distill", log, "-o", tmp_path / "b", "--json")
    assert (code, json.loads(out)["trials"], json.loads(out)["comparisons"]) == (0, 2, 1)
    small = load_log(tmp_path / "b")
    assert [r.trial for r in small.records] == [0, 7]
    assert [c.trials for c in small.comparisons] == [(0, 2, 3)]
    assert [u.data["text"] for u in small.unknown] == ["hello"]
    code, out, _ = invoke(capfd, "log", "best", tmp_path / "b", "--json")
    assert [(r["trial"], r["latency_ms"], r["trial_ms"]) for r in json.loads(out)["records"]] == [
        (0, 1.0, 1.0),
        (7, 3, 3),
    ]


def test_merging_on_the_command_line(capfd, tmp_path):
    a, b = full(tmp_path / "a.jsonl"), filled(tmp_path / "b.jsonl", 2)
    with open(b, "a") as file:
        file.write('{"kind"')
    write_log(tmp_path / "small", HEADER, [record(5), COMPARISON])
    code, out, err = invoke(capfd, "log", "merge", a, b, tmp_path / "small", "-o", tmp_path / "c", "--json")
    data = json.loads(out)
    assert code == 0
    assert (data["trials"], data["duplicates"], data["lost_comparisons"]) == (10, 1, 1)
    assert "b.jsonl is not complete" in err
    assert "1 comparisons are left out" in err
    assert len(load_log(tmp_path / "c").records) == 10
    check_error(capfd, ["log", "merge", a, b, "-o", tmp_path / "c"], "log.exists", 3)
    check_error(capfd, ["log", "merge", a, b, "-o", a], "log.exists", 3)
    check_error(capfd, ["log", "merge", a, tmp_path / "none", "-o", tmp_path / "d"], "log.missing", 3)
    check_error(capfd, ["log", "merge", a], "usage.arguments", 2)
    other = tmp_path / "other"
    write_log(other, None, [record(0, key="z")])
    check_error(capfd, ["log", "merge", a, other, "-o", tmp_path / "d"], "log.other_model", 3)
    assert invoke(capfd, "log", "merge", a, other, "-o", tmp_path / "d", "--force")[0] == 0


@pytest.mark.parametrize("name", ["a\0b", "a\ud800b", "x" * 5000])
def test_a_path_that_no_file_can_have_is_refused(tmp_path, name):
    good = filled(tmp_path / "good")
    path = str(tmp_path / name)
    for call, code in (
        (lambda: load_log(path), "log.unreadable"),
        (lambda: write_log(path, HEADER, []), "log.unwritable"),
        (lambda: LogWriter(path, HEADER), "log.unwritable"),
        (lambda: check_writable(path), "log.unwritable"),
        (lambda: merge_logs([good], path), "log.unwritable"),
        (lambda: merge_logs([good, path], tmp_path / "out"), "log.unreadable"),
    ):
        with pytest.raises(WorkbenchError) as caught:
            call()
        assert caught.value.code in (code, "usage.path")
        assert str(caught.value)
    assert not is_open(path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["good"]


def test_what_a_failed_write_has_begun_is_removed(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(LogError):
        write_log(tmp_path / "folder", HEADER, [record(0)])
    assert [p.name for p in tmp_path.iterdir()] == ["folder"]


def test_what_no_log_can_hold_is_damage_or_comes_back_as_null(tmp_path):
    """NaN is no JSON; 1e999 is, and no other reader could read what Python makes of it."""
    log = filled(tmp_path / "log", 1)
    deep = '{"kind":"note","x":' + "[" * 700 + "]" * 700 + "}"  # reading would do, but not writing
    for bad in ('{"kind":"note","x":NaN}', '{"kind":"note","x":[-Infinity]}', deep):
        (tmp_path / "bad").write_text(log.read_text() + bad + "\n")
        assert loaded(tmp_path / "bad")[1].where == (
            f"{tmp_path / 'bad'}:{len((tmp_path / 'bad').read_text().splitlines())}",
        )
    with open(log, "a") as file:
        file.write('{"kind":"note","x":[1e999]}\n' + json.dumps(record(1).to_json())[:-1] + ',"power":-1e999}\n')
    assert quiet("log", "merge", log, "-o", tmp_path / "out") == 0
    lines = [json.loads(line) for line in (tmp_path / "out").read_text().splitlines()]
    assert [line["x"] for line in lines if "x" in line] == [[None]]
    assert [line["power"] for line in lines if "power" in line] == [None]


def test_comparisons_that_say_nothing_are_passed_over(capfd, tmp_path):
    """A winner that did not take part, participants that are not there, times of nobody, numbers that stand twice."""
    slow = dataclasses.replace(COMPARISON, latency_ms=(1.25, 1.5, math.nan))
    odd = [
        dataclasses.replace(slow, trials=(1, 2), winner=0), dataclasses.replace(slow, winner=9),
        dataclasses.replace(COMPARISON, trials=(), latency_ms=(), costs_ms=(), winner=0),
        dataclasses.replace(COMPARISON, trials=(0, 8), latency_ms=(), costs_ms=((), (-1.0,))),
        dataclasses.replace(COMPARISON, trials=(2, 2), latency_ms=(-1.0, 0.0), winner=2),
        dataclasses.replace(COMPARISON, task_key="elsewhere"),
    ]  # fmt: skip
    other = dataclasses.replace(record(2, ms=0.7), key="other")
    records = [record(0, ms=1.0), record(1, ms=0.9), record(2, ms=0.8), other]
    log = tmp_path / "log"
    write_log(log, HEADER, [*records, *odd])
    frame = read_log(log)
    assert frame["rank"].tolist() == [4, 3, 2, 1]
    for tool in (("summary", log), ("best", log), ("distill", log, "-o", tmp_path / "b")):
        assert invoke(capfd, "log", *tool)[0] == 0
    scheduler = GradientScheduler(tasks(1), confirm=False)
    for line in [dataclasses.replace(x, task_key="key0") for x in (*records, *odd[:5])]:
        (scheduler.observe if isinstance(line, Record) else scheduler.compare)(line)
    assert scheduler.states[0].champion == 2


def loaded(path):
    try:
        return load_log(path), None
    except LogError as error:
        return None, error


def quiet(*arguments):
    """Return a command's exit code."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        return main([str(a) for a in arguments])


@pytest.mark.parametrize("line", [example for _, _, example in _EXAMPLES], ids=lambda line: line.kind)
@pytest.mark.parametrize("bad", [[], {}, "x", -1.5, True, [None], [["x"]], 10**400], ids=str)
def test_a_wrong_value_in_any_field_is_a_corrupt_line_or_harmless(tmp_path, line, bad):
    """Every field of every kind with a value of another type: told with its line, or read as what it says."""
    plain = line.to_json()
    for name in plain:
        path = tmp_path / "log"
        lines = [HEADER.to_json(), {**plain, name: bad}]
        path.write_text("".join(json.dumps(x) + "\n" for x in lines))
        log, error = loaded(path)
        if log is None:
            assert (error.code, error.where) == ("log.corrupt", (f"{path}:2",))
            continue
        assert isinstance(read_log(path).shape, tuple)
        if name != "kind" and line.kind in KINDS and type(bad) is not type(plain[name]):
            assert log.lines[0].to_json()[name] == bad or plain[name] is None or bad == [] or isinstance(bad, float)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_damaged_logs_never_crash(tmp_path_factory, data):
    """Bytes changed, cut out and put in; fields of any value: a `LogError` or a log, and the tools work on it."""
    folder = tmp_path_factory.getbasetemp()
    path = folder / "fuzzed.jsonl"
    lines = [example.to_json() for _, _, example in _EXAMPLES] + [record(3).to_json(), COMPARISON.to_json()]
    for line in data.draw(st.lists(st.sampled_from(lines), max_size=2)):
        name = data.draw(st.sampled_from([*line, "new"]))
        line[name] = data.draw(VALUES)
    raw = bytearray("".join(json.dumps(x) + "\n" for x in lines).encode())
    for at in data.draw(st.lists(st.integers(0, len(raw) - 1), max_size=2)):
        raw[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    path.write_bytes(raw)
    log, error = loaded(path)
    if log is None:
        assert error.code == "log.corrupt"
        assert error.where
        return
    out = folder / "fuzzed.out"
    out.unlink(missing_ok=True)
    assert quiet("log", "summary", path) == 0
    assert quiet("log", "distill", path, "-o", out) == 0
    out.unlink()
    assert quiet("log", "merge", path, path, "-o", out) == 0
    assert len(load_log(out).records) <= len(log.records)
    if log.header is not None:
        LogWriter(path, log.header, resume=True).close()
        assert load_log(path).torn is None
