"""Version 2 of the log: rows say exactly what whole lines say, and keep the promises of the log."""

from __future__ import annotations

import gzip
import json
import math
import os
import random
import statistics
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tune.random_logs import random_log

from workbench.errors import LogError
from workbench.log import Comparison, Header, LogWriter, Record, load_log
from workbench.log.encoder import Encoder, as_written
from workbench.log.lines import parse_line
from workbench.log.merge import merge_logs
from workbench.log.reader import iter_log, write_log
from workbench.log.record import outcome
from workbench.log.replay import measurement_of
from workbench.log.rows import Decoder, is_row, is_shared
from workbench.logs import convert
from workbench.logs import open as open_log
from workbench.logs.analysis import noise
from workbench.runtime.results.measurement import Measurement

HEADER = Header(tasks=(("a", "conv"), ("b", "dense")), target="llvm")
SMALL = st.integers(-3, 99)
NUMBERS = st.one_of(SMALL, st.integers(-(2**53), 2**53), st.floats(allow_nan=False, allow_infinity=False))
WORDS = st.sampled_from(["split", "h", "#", "", "__proto__", "of", "é\ud800", "0"])
ARGUMENTS = st.recursive(
    st.one_of(NUMBERS, WORDS, st.booleans(), st.none()), lambda inner: st.lists(inner, max_size=3), max_leaves=6
)
STEPS = st.one_of(
    st.fixed_dictionaries({"primitive": WORDS, "args": st.dictionaries(WORDS, ARGUMENTS, max_size=3)}),
    st.dictionaries(WORDS, st.one_of(NUMBERS, WORDS), max_size=2),
)
TIMES = st.one_of(
    st.floats(1e-9, 1e4), st.integers(1, 9999).map(lambda n: n / 1e4), st.integers(1, 9999).map(lambda n: n / 1e7)
)
RECORDS = st.builds(
    Record, task_key=st.sampled_from("ab"), task=WORDS, trial=st.integers(-1, 5),
    status=st.sampled_from(["ok", "timeout"]), target=st.sampled_from(["llvm", ""]), description=WORDS, weight=SMALL,
    flops=st.integers(0, 2**60), host=WORDS, round=SMALL, space=WORDS, variant=SMALL,
    row=st.dictionaries(WORDS, st.integers(-(2**63), 2**63 - 1), max_size=3), key=WORDS, origin=WORDS,
    trace=st.lists(STEPS, max_size=4).map(tuple), parent=st.none() | WORDS, mutation=st.none() | WORDS, seed=SMALL,
    predicted=st.none() | TIMES, model=st.none() | WORDS, caches=WORDS, latency_ms=st.none() | TIMES,
    costs_ms=st.lists(TIMES | st.just(0.0), max_size=4).map(tuple), spread=st.none() | TIMES, clean=st.booleans(),
    why_not=WORDS, at_least_ms=TIMES, compile_s=TIMES, run_s=TIMES, max_rel_error=st.none() | TIMES, error=WORDS,
    elapsed_s=TIMES | st.just(0.0), schema=st.sampled_from([1, 9]),
    timestamp=st.sampled_from([0.0, 1.8e9, 1795384027.9576, 1795384027.9576116]) | TIMES,
    extra=st.dictionaries(st.sampled_from(["power", "places", "since", "holes", "n", "id", "of"]), NUMBERS, max_size=2),
)  # fmt: skip


def through(records):
    """Write records as rows and read them."""
    known, found = Decoder(), []
    for lines in as_written(records, 2):
        for data in json.loads(json.dumps(lines)):
            if is_shared(data):
                known.declare(data)
            else:
                found.append(known.record(data) if is_row(data) else Record.from_json(data))
    return found


@settings(max_examples=60, deadline=None)
@given(st.lists(RECORDS, max_size=4))
def test_rows_say_what_whole_lines_say(records):
    whole = [Record.from_json(json.loads(json.dumps(record.to_json()))) for record in records]
    found = through(records)
    assert found == whole
    assert [record.to_json() for record in found] == [record.to_json() for record in whole]
    assert [list(record.row) for record in found] == [list(record.row) for record in whole]  # their order, too
    assert through(found) == whole


def test_logs_of_both_versions_say_the_same(tmp_path):
    for seed in range(24):
        lines = random_log(seed, 30)
        for version in (1, 2):
            write_log(tmp_path / str(version), replace(HEADER, schema=version), lines)
        first, second = (load_log(tmp_path / str(version)) for version in (1, 2))
        assert first.lines == second.lines
        write_log(tmp_path / "again", second.header, second.lines)
        assert (tmp_path / "again").read_bytes() == (tmp_path / "2").read_bytes()
        merge_logs([tmp_path / "1", tmp_path / "2"], tmp_path / f"both{seed}")
        merge_logs([tmp_path / "1"], tmp_path / f"one{seed}")
        both, one = load_log(tmp_path / f"both{seed}"), load_log(tmp_path / f"one{seed}")
        assert {r.key for r in both.records} == {r.key for r in one.records}


ODD = {
    "a fraction that equals a hole's value": [{"row": {"j": 2}, "trace": ({"primitive": "p", "args": {"f": 2.0}},)}],
    "the same with a known schedule": [
        {"row": {"j": 2}, "trace": ({"primitive": "p", "args": {"f": f}},)} for f in (2, 2.0)
    ],
    "a long number": [{"trace": ({"primitive": "p", "args": {"f": 10**400}},)}],
    "arguments in a list": [{"trace": ({"primitive": "p", "args": [1, {"x": 2}]}, {"primitive": "q", "args": None})}],
    "a clock in nanoseconds": [{"timestamp": 1.0}, {"timestamp": 1.8e18}, {"timestamp": 1e300}],
    "a clock that is far off": [{"timestamp": 1e300, "elapsed_s": 1e300}, {"timestamp": -1e15}, {"timestamp": 1.8e9}],
    "times that nobody knows": [{"timestamp": math.inf, "elapsed_s": math.nan}, {"elapsed_s": math.inf}],
}  # fmt: skip


@pytest.mark.parametrize("told", ODD.values(), ids=ODD)
def test_odd_trials_are_rows_that_can_be_read(tmp_path, told):
    for version in (1, 2):
        records = [replace(trial(number), **more) for number, more in enumerate(told)]
        write_log(tmp_path / str(version), replace(HEADER, schema=version), records)
    assert load_log(tmp_path / "2").records == load_log(tmp_path / "1").records


def test_repeats_that_are_not_finite_are_none(tmp_path):
    found = outcome(Measurement(status="ok", costs_ms=(0.5, math.inf, 0.5, 0.5)))
    assert found["costs_ms"] == (0.5, 0.5, 0.5)


def trial(number, **more):
    steps = (
        {"primitive": "split", "args": {"loop": "h", "factors": [number, 4]}}, {"primitive": "parallel", "args": {}},
    )  # fmt: skip
    return Record(
        task_key="a", task="conv", trial=number, status="ok", target="llvm", row={"h_0": number, "h_1": 4}, trace=steps,
        key=f"{number:016x}", timestamp=1.8e9 + number, elapsed_s=float(number), latency_ms=0.04, origin="sketch",
        costs_ms=(0.04, 0.041), **more,
    )  # fmt: skip


def test_what_trials_share_stands_once(tmp_path):
    log = tmp_path / "log"
    with LogWriter(log, HEADER) as writer:
        for number in range(50):
            writer.append(trial(number))
    with LogWriter(log, HEADER, resume=True) as writer:
        for number in range(50, 99):
            writer.append(trial(number))
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert sum(map(is_row, lines)) == 99
    assert sum(map(is_shared, lines)) == 4  # the machine, the task, the space, the sketch
    assert lines[-1] == {
        "of": [0, 2, 3], "n": 98, "key": f"{98:016x}", "ms": 0.04, "e": 98.0, "costs": [3, 40, 41], "v": [98, 4],
    }  # fmt: skip
    assert load_log(log).records == tuple(trial(number) for number in range(99))
    assert log.read_text().count("parallel") == 1


def test_a_log_goes_on_as_it_began(tmp_path):
    for version in (1, 2):
        log = tmp_path / str(version)
        write_log(log, replace(HEADER, schema=version), [trial(0)])
        with LogWriter(log, HEADER, resume=True) as writer:
            writer.append(trial(1))
        assert [is_row(json.loads(line)) for line in log.read_text().splitlines()][-1] is (version == 2)
        assert load_log(log).records == (trial(0), trial(1))
    headless = tmp_path / "headless"
    headless.write_text((tmp_path / "1").read_text().split("\n", 1)[1])
    with LogWriter(headless, HEADER, resume=True) as writer:
        writer.append(trial(2))
    assert '"n":' not in headless.read_text()


def test_a_log_that_is_torn_anywhere_goes_on(tmp_path):
    log, whole = tmp_path / "log", [trial(0), trial(1), replace(trial(2), space="other", origin="random")]
    write_log(log, HEADER, whole)
    data = log.read_bytes()
    rows = [k for k in range(len(data)) if data[k:].startswith(b'{"of":')]
    for cut in range(data.index(b"\n") + 1, len(data), 3):
        log.write_bytes(data[:cut])
        there = load_log(log).records
        ends = [data.index(b"\n", k) for k in rows if b"\n" in data[k:]]
        assert len(there) == sum(end <= cut for end in ends)
        with LogWriter(log, HEADER, resume=True) as writer:
            for record in whole[len(there) :]:
                writer.append(record)
        assert list(load_log(log).records) == whole


def test_what_could_not_be_written_is_written_again(tmp_path, monkeypatch):
    log = tmp_path / "log"
    with LogWriter(log, HEADER) as writer:
        writer.append(trial(0))
        with monkeypatch.context() as patch:
            patch.setattr("os.write", lambda *_: (_ for _ in ()).throw(OSError(28, "full")))
            with pytest.raises(LogError):
                writer.append(replace(trial(1), space="new"))
        writer.append(replace(trial(1), space="new"))
    assert load_log(log).records[1].space == "new"


def test_half_a_line_that_could_not_be_removed_is_removed_later(tmp_path, monkeypatch):
    log, write = tmp_path / "log", os.write

    def fails(*_):
        raise OSError(28, "full")

    def half(file, data):
        return write(file, data[: data.index(b"\n") + 9]) if b"new" in data else fails()

    with LogWriter(log, HEADER) as writer:
        writer.append(trial(0))
        with monkeypatch.context() as patch:
            patch.setattr("os.write", half)
            patch.setattr("os.ftruncate", fails)
            for _ in range(2):
                with pytest.raises(LogError):
                    writer.append(replace(trial(1), space="new"))
        writer.append(replace(trial(1), space="new"))
    assert load_log(log).records == (trial(0), replace(trial(1), space="new"))


@pytest.mark.parametrize("kind", ["cut", "flip", "swap", "drop"])
def test_damage_is_named_and_nothing_else_happens(tmp_path, kind):
    log = tmp_path / "log"
    write_log(log, HEADER, [trial(k % 7, error="x" * (k % 3)) for k in range(12)])
    data, rng = log.read_bytes(), random.Random(kind)
    for _ in range(150):
        lines = data.splitlines(keepends=True)
        a, b = rng.randrange(len(lines)), rng.randrange(len(lines))
        if kind == "swap":
            lines[a], lines[b] = lines[b], lines[a]
        elif kind == "drop":
            del lines[a]
        bad = bytearray(b"".join(lines))
        if kind == "cut":
            start = rng.randrange(len(bad))
            del bad[start : start + rng.randrange(1, 40)]
        elif kind == "flip":
            bad[rng.randrange(len(bad))] ^= 1 << rng.randrange(8)
        log.write_bytes(bad)
        told = ""
        try:
            json.dumps([record.to_json() for record in load_log(log).records])
        except LogError as error:
            told = error.code
        assert told in ("", "log.corrupt", "log.foreign")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"id":0,"task":"other"}', "has the number 0"), ('{"id":9,"of":[7]}', "shared line 7 is not there"),
        ('{"id":9,"trace":[5]}', "primitives that are not there"), ('{"id":9,"steps":[1]}', "'steps'"),
        ('{"id":9,"first":0,"steps":[["split",{}]]}', "number of another one"), ('{"id":"9"}', "'id'"),
        ('{"id":9,"weight":"many"}', "'weight'"), ('{"of":[1,1],"n":3}', "lacks"), ('{"of":{},"n":3}', "'of'"),
        (json.dumps({"id": 9, **{f"x{k}": 0 for k in range(200)}}), "more than 100 fields"),
    ],
)  # fmt: skip
def test_shared_lines_that_cannot_be_used(tmp_path, line, words):
    log = tmp_path / "log"
    write_log(log, HEADER, [trial(0)])
    log.write_text(log.read_text() + line + "\n")
    with pytest.raises(LogError, match=words) as caught:
        list(iter_log(log))
    assert caught.value.code == "log.corrupt"
    assert caught.value.where == (f"{log}:{log.read_text().count(chr(10))}",)


def logs(tmp_path):
    """Two logs, each with schedules and spaces of its own."""
    lines = [[trial(k, space=name, why_not=name) for k in range(3)] for name in "xy"]
    for name, some in zip("ab", lines, strict=True):
        write_log(tmp_path / name, HEADER, some)
    return *((tmp_path / name).read_bytes() for name in "ab"), *lines


def test_logs_one_behind_the_other_are_told(tmp_path, monkeypatch):
    """What the first one shares must not become what the second one's trials say."""
    first, second, lines, _ = logs(tmp_path)
    for both in (first + second, first + first, first + second.split(b"\n", 1)[1]):
        for large in (False, True):
            monkeypatch.setattr("workbench.logs.table.parts.LARGE", 1 if large else 1 << 30)
            path = tmp_path / f"{hash(both)}{large}.tunelog.jsonl"
            path.write_bytes(both)
            with pytest.raises(LogError, match=r"Another (log|shared line)") as caught:
                load_log(path)
            assert caught.value.code == "log.corrupt"
            assert "merge" in caught.value.hint
            assert "remove" not in caught.value.hint
            with pytest.raises(LogError):
                LogWriter(path, HEADER, resume=True)
            opened = open_log(path)
            assert [dict(params) for params in opened.records["params"]] == [dict(line.row) for line in lines]
            assert len(opened.faults) >= 4
            assert path.read_bytes() == both


def test_a_log_whose_begin_was_cut_off_is_told(tmp_path):
    *_, row = logs(tmp_path)[0].splitlines(keepends=True)
    for text in (row, row + row):
        (tmp_path / "tail").write_bytes(text)
        with pytest.raises(LogError, match="is not there") as caught:
            load_log(tmp_path / "tail")
        assert '"id"' in caught.value.hint
        opened = open_log(tmp_path / "tail")
        assert (len(opened.records), len(opened.faults)) == (0, text.count(b"\n"))


def test_what_other_tools_do_to_lines(tmp_path):
    steps = ({"primitive": "p", "args": {"z": 1, "a": {"y": [2, 3], "b": 4}, "k": 5}},)
    whole = [replace(trial(k), trace=steps, row={"z": 1, "k": 5}) for k in range(3)]
    write_log(tmp_path / "log", HEADER, whole)
    log = (tmp_path / "log").read_text()
    lines = [json.loads(line) for line in log.splitlines()]
    changed = {
        "names are sorted": "".join(json.dumps(line, sort_keys=True) + "\n" for line in lines),
        "spaces": "".join(json.dumps(line, indent=1).replace("\n", " ") + "\n" for line in lines),
        "ends of lines": log.replace("\n", "\r\n"),
        "lines twice": "".join(line + line for line in log.splitlines(True)[1:]),
        "a mark at the begin": "\ufeff" + log,
    }  # fmt: skip
    for name, text in changed.items():
        (tmp_path / name).write_bytes(text.encode())
        found = load_log(tmp_path / name).records
        assert list(dict.fromkeys(r.trial for r in found)) == [0, 1, 2], name
        assert all(r == whole[r.trial] for r in found), name
        (tmp_path / f"{name}.tunelog.jsonl").write_bytes(text.encode())
        assert len(open_log(tmp_path / f"{name}.tunelog.jsonl").records) == len(found), name


def test_a_log_with_other_ends_of_lines_is_not_a_torn_header(tmp_path):
    write_log(tmp_path / "log", HEADER, [trial(0)])
    text = (tmp_path / "log").read_bytes().replace(b"\n", b"\r")
    (tmp_path / "log").write_bytes(text)
    with pytest.raises(LogError, match="not a tuning log"):
        LogWriter(tmp_path / "log", HEADER, resume=True)
    assert (tmp_path / "log").read_bytes() == text


def test_what_a_newer_version_adds_is_kept(tmp_path):
    log = tmp_path / "log"
    write_log(log, HEADER, [trial(0)])
    *head, row = log.read_text().splitlines()
    more = [row.replace('{"of"', '{"power_w":3,"of"'), '{"id":77,"colour":"blue"}', row.replace('"of":[', '"of":[77,')]
    log.write_text("\n".join([*head, *more]) + "\n")
    assert [r.extra for r in load_log(log).records] == [{"power_w": 3}, {"colour": "blue"}]
    merge_logs([log], tmp_path / "out")
    assert "power_w" in (tmp_path / "out").read_text()


def test_an_older_log_is_converted(tmp_path):
    for seed in range(5):
        old, new = tmp_path / "old.tunelog.jsonl", tmp_path / f"new{seed}.tunelog.jsonl"
        write_log(old, replace(HEADER, schema=1), [trial(99), *random_log(seed, 30)])
        assert convert(open_log(old), new) == len(load_log(old).records)
        assert load_log(new).lines == load_log(old).lines
        assert not any('"kind":"trial"' in line for line in new.read_text().splitlines())


def test_the_median_of_replayed_repeats_is_exact():
    rng = random.Random(0)
    for _ in range(2000):
        middle = rng.uniform(1e-4, 9)
        costs = tuple(middle * rng.choice([1.0, 1 + 1e-6, rng.uniform(1, 1.5)]) for _ in range(rng.randrange(1, 30)))
        record = replace(trial(0), **outcome(Measurement(status="ok", costs_ms=costs)))
        again = measurement_of(record)
        assert again.ms == record.latency_ms == float(f"{statistics.median(costs):.9g}")
        assert len(again.costs_ms) == len(record.costs_ms)


def test_a_packed_log_is_converted_with_all_its_lines(tmp_path):
    log, packed, new = tmp_path / "log", tmp_path / "log.tunelog.jsonl.gz", tmp_path / "new.tunelog.jsonl"
    write_log(log, HEADER, random_log(3, 30))
    whole = gzip.compress(log.read_bytes())
    packed.write_bytes(whole)
    convert(open_log(packed), new)
    assert load_log(new).lines == load_log(log).lines
    packed.write_bytes(whole[: len(whole) * 3 // 4])
    convert(open_log(packed), new)
    there = load_log(new).lines
    assert 0 < len(there) < len(load_log(log).lines)
    assert there == load_log(log).lines[: len(there)]


def test_of_a_packed_log_the_damage_is_told_by_its_own_name(tmp_path):
    packed = tmp_path / "log.tunelog.jsonl.gz"
    write_log(tmp_path / "log", HEADER, random_log(3, 30))
    lines = (tmp_path / "log").read_bytes().splitlines(keepends=True)
    packed.write_bytes(gzip.compress(b"".join([*lines[:9], b"damage\n", *lines[10:]])))
    with pytest.raises(LogError) as caught:
        convert(open_log(packed), tmp_path / "new.tunelog.jsonl")
    assert (caught.value.code, caught.value.where) == ("log.corrupt", (f"{packed}:10",))


def test_repeats_that_are_kept_do_not_contradict_the_time_of_all(tmp_path):
    log, rng = tmp_path / "a.tunelog.jsonl", random.Random(0)
    costs = [[rng.lognormvariate(0, 0.3) for _ in range(60)] for _ in range(9)]
    told = [outcome(Measurement(status="ok", costs_ms=tuple(each))) for each in costs]
    told.append(outcome(Measurement(status="ok", costs_ms=(0.5, 1.0, 2.0), why_not="another program", at_least_ms=0.4)))
    write_log(log, HEADER, [replace(trial(number), **more) for number, more in enumerate(told)])
    opened = open_log(log)
    *clean, disturbed = opened.records["value"].tolist()
    assert clean == [float(f"{statistics.median(each):.9g}") for each in costs]
    assert math.isnan(disturbed), "it is a bound, and no time"
    assert opened.records["statistic"].tolist() == ["median of all"] * 9 + ["min of all"]
    assert "contradict" not in noise(opened).attrs["finding"]


def test_a_measured_trial_is_short():
    costs = tuple(0.0422 + k * 1e-5 for k in range(5000))
    measured = Measurement(
        status="ok", costs_ms=costs, compile_s=0.01283676, run_s=0.00722552, max_rel_error=0.26505526
    )
    record = replace(trial(1), predicted=6.19119, **outcome(measured))
    *_, row = Encoder().lines(record)
    assert len(json.dumps(row, separators=(",", ":"))) < 250


def test_lines_of_other_kinds_leave_out_what_is_as_usual():
    line = Comparison(task_key="k", task="t", trials=(1, 2), latency_ms=(1.0, 2.0), winner=1)
    (told,) = Encoder().lines(line)
    assert told.keys() == {"kind", "task_key", "task", "trials", "latency_ms", "winner"}
    assert parse_line(told) == line
