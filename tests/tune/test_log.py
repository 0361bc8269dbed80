from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import textwrap
from dataclasses import replace

import pytest

from workbench.errors import LogError
from workbench.log import Database, Header, LogWriter, Record, load_log
from workbench.log.database import compatible
from workbench.log.reader import COLUMNS, iter_log, read_log, to_frame, write_log

HEADER = Header(tasks=(("k0", "conv"), ("k1", "dense")), target="llvm -mcpu=host -threads=2", model="a.onnx")


def record(trial=0, key="k0", ms=1.0, status="ok", **kwargs):
    defaults = {"target": HEADER.target, "row": {"i": trial}, "key": f"c{trial}", "flops": 2_000_000}
    return Record(
        task_key=key, task="conv", trial=trial, status=status, latency_ms=ms if status == "ok" else None,
        **{**defaults, **kwargs},
    )  # fmt: skip


def filled(path, n=3):
    with LogWriter(path, HEADER) as writer:
        for i in range(n):
            writer.append(record(i))
    return path


def code_of(call):
    with pytest.raises(LogError) as caught:
        call()
    assert caught.value.message
    assert caught.value.where
    return caught.value.code


def test_a_record_survives_the_round_trip():
    full = record(
        7, description="Ünïcode", trace=({"primitive": "split", "args": {"loop": "i", "factors": [4, 8]}},),
        costs_ms=(1.0, 1.1), error="line 1\nline 2", predicted=0.25, parent="c3", mutation="swap", max_rel_error=1e-6,
    )  # fmt: skip
    assert Record.from_json(json.loads(json.dumps(full.to_json()))) == full
    assert full.gflops == pytest.approx(2.0)


def test_fields_of_a_newer_version_are_kept_and_written_back(tmp_path):
    data = {**record().to_json(), "schema": 9, "power_w": 17.5}
    again = Record.from_json(data)
    assert again.extra == {"power_w": 17.5}
    assert again.to_json() == data
    log = tmp_path / "a.jsonl"
    log.write_text(
        json.dumps({"kind": "header", "tasks": [{"key": "k0"}], "cluster": "x"}) + "\n" + json.dumps(data) + "\n"
    )
    header = load_log(log).header
    assert header is not None
    assert header.to_json()["cluster"] == "x"


def test_numbers_that_json_cannot_hold_become_null():
    text = json.dumps(record(ms=float("inf"), predicted=float("nan")).to_json(), allow_nan=False)
    assert json.loads(text)["latency_ms"] is None


def test_the_table_has_the_promised_columns(tmp_path):
    frame = read_log(filled(tmp_path / "a.jsonl"))
    promised = "task_key task trial space trace row origin seed parent predicted status latency_ms gflops spread"
    promised += " elapsed_s error"
    assert set(promised.split()) <= set(frame.columns) == set(COLUMNS)
    assert frame["gflops"].iloc[0] == pytest.approx(2.0)
    empty = read_log(filled(tmp_path / "b.jsonl", 0))
    assert len(empty) == 0
    assert list(empty.columns) == list(COLUMNS)


def test_a_torn_last_line_is_tolerated_and_removed_on_resume(tmp_path):
    log = filled(tmp_path / "a.jsonl")
    whole = log.read_bytes()
    torn = json.dumps(record(3).to_json()).encode()
    for cut in (1, 10, len(torn) - 1):
        log.write_bytes(whole + torn[:cut])
        read = load_log(log)
        assert len(read.records) == 3
        assert read.torn == torn[:cut].decode()
        with LogWriter(log, HEADER, resume=True) as writer:
            assert writer.repaired == torn[:cut].decode()
            writer.append(record(3))
        assert [r.trial for r in load_log(log).records] == [0, 1, 2, 3]


def test_a_last_line_that_only_lacks_its_newline_is_kept(tmp_path):
    log = filled(tmp_path / "a.jsonl")
    log.write_bytes(log.read_bytes()[:-1])
    with LogWriter(log, HEADER, resume=True) as writer:
        assert writer.repaired is None
        assert len(writer.found.records) == 3
        writer.append(record(3))
    assert [r.trial for r in load_log(log).records] == [0, 1, 2, 3]


def test_a_file_cut_in_its_header_is_started_anew(tmp_path):
    log = filled(tmp_path / "a.jsonl", 0)
    log.write_bytes(log.read_bytes()[:25])
    with LogWriter(log, HEADER, resume=True) as writer:
        writer.append(record(0))
    read = load_log(log)
    assert read.header is not None
    assert len(read.records) == 1


def test_an_empty_file_is_a_new_log(tmp_path):
    log = tmp_path / "a.jsonl"
    log.touch()
    assert len(load_log(filled(log)).records) == 3


def test_a_corrupt_line_is_named(tmp_path):
    log = tmp_path / "a.jsonl"
    write_log(log, replace(HEADER, schema=1), [record(i) for i in range(3)])
    lines = log.read_text().splitlines()
    for bad in ("{nonsense", "[1, 2]", '{"kind":"trial","task":"x"}', lines[2].replace('"trial":1', '"trial":"1"')):
        log.write_text("\n".join([*lines[:2], bad, *lines[2:]]) + "\n")
        with pytest.raises(LogError) as caught:
            read_log(log)
        assert caught.value.code == "log.corrupt"
        assert caught.value.where == (f"{log}:3",)
        assert code_of(lambda: LogWriter(log, HEADER, resume=True)) == "log.corrupt"


def test_lines_of_unknown_kind_are_skipped(tmp_path):
    log = filled(tmp_path / "a.jsonl")
    with open(log, "a") as file:
        file.write('{"kind":"note","text":"hello"}\n\n')
    assert len(load_log(log).records) == 3


def test_bad_places_are_refused_before_anything_happens(tmp_path):
    assert code_of(lambda: LogWriter(tmp_path / "none" / "a.jsonl", HEADER)) == "log.unwritable"
    assert code_of(lambda: LogWriter(tmp_path, HEADER)) == "log.unwritable"
    assert code_of(lambda: read_log(tmp_path / "none.jsonl")) == "log.missing"
    assert code_of(lambda: read_log(tmp_path)) == "log.unreadable"
    assert code_of(lambda: LogWriter(filled(tmp_path / "a.jsonl"), HEADER)) == "log.exists"
    text = tmp_path / "thesis.txt"
    text.write_text("no newline at the end")
    assert code_of(lambda: LogWriter(text, HEADER, resume=True)) == "log.corrupt"
    assert text.read_text() == "no newline at the end"


def test_a_log_of_another_model_is_refused_unchanged(tmp_path):
    log = filled(tmp_path / "a.jsonl")
    before = log.read_bytes()
    for tasks in ((("z", "other"),), (("k0", "conv"), ("z", "other"))):
        assert code_of(lambda t=tasks: LogWriter(log, Header(tasks=t), resume=True)) == "log.other_model"
    assert log.read_bytes() == before
    LogWriter(log, Header(tasks=(("k1", "dense"),)), resume=True).close()


def test_the_second_writer_is_refused_and_the_lock_ends_with_the_first(tmp_path):
    log = tmp_path / "a.jsonl"
    writer = LogWriter(log, HEADER)
    assert code_of(lambda: LogWriter(log, HEADER, resume=True)) == "log.locked"
    read_log(log)
    assert code_of(lambda: LogWriter(log, HEADER, resume=True)) == "log.locked"
    writer.close()
    writer.close()
    LogWriter(log, HEADER, resume=True).close()
    assert code_of(lambda: writer.append(record())) == "log.closed"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_the_lock_of_a_killed_process_is_gone_even_if_its_forked_worker_lives(tmp_path):
    log = tmp_path / "a.jsonl"
    script = textwrap.dedent(f"""
        import os, signal, sys, time
        sys.path.insert(0, {os.getcwd()!r})
        from workbench.log.reader import Header
        from workbench.log.writer import LogWriter
        writer = LogWriter({str(log)!r}, Header(tasks=(("k0", "conv"),)))
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(write, b"x")
            time.sleep(20)
            os._exit(0)
        os.read(read, 1)
        print(child, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    """)
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    child = int(process.stdout.readline())
    process.wait(60)
    try:
        LogWriter(log, Header(tasks=(("k0", "conv"),)), resume=True).close()
    finally:
        os.kill(child, 9)


def test_a_full_disk_is_reported_and_leaves_no_half_line(tmp_path):
    resource = pytest.importorskip("resource")
    log = tmp_path / "a.jsonl"
    script = textwrap.dedent(f"""
        import resource, signal, sys
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))
        from tune.test_log import HEADER, LogError, LogWriter, record
        writer = LogWriter({str(log)!r}, HEADER)
        try:
            for i in range(50):
                writer.append(record(i))
        except LogError as error:
            print(error.code, i)
    """)
    assert resource
    path = os.pathsep.join(sys.path)
    out = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}
    )
    code, count = out.stdout.split()
    assert code == "log.unwritable"
    read = load_log(log)
    assert len(read.records) == int(count) > 0
    assert read.torn is None


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="needs /dev/zero")
def test_devices_are_refused():
    assert code_of(lambda: read_log("/dev/zero")) == "log.unreadable"
    assert code_of(lambda: LogWriter("/dev/null", HEADER)) == "log.unwritable"


def test_the_best_of_a_task_is_found(tmp_path):
    records = [
        record(0, ms=2.0), record(1, ms=1.0), record(2, ms=0.5, status="wrong_answer"), record(3, ms=0.7, key="k1"),
        record(4, ms=1.5, key="k0") , record(5, ms=0.9, key="k0", target="cuda"),
        record(6, ms=1.2, target="llvm -mcpu=host -threads=1"),
    ]  # fmt: skip
    records.append(record(7, ms=0.99).__class__(**{**_fields(record(7, ms=0.99)), "key": "c1"}))
    database = Database(records)
    assert len(database) == 2
    assert set(database) == {"k0", "k1"}
    best = database.best("k0", HEADER.target)
    assert best is not None
    assert best.trial == 1
    assert [one.ms for one in database.told("k0", 1, target=HEADER.target)] == [1.0]
    assert [r.trial for r in database.top("k0", 9, HEADER.target)] == [1, 4, 0, 6]
    assert database.best("k9") is None
    other = database.best("k0", "llvm -mcpu=host -threads=1")
    assert other is not None
    assert other.trial == 6
    assert write_log(tmp_path / "b.jsonl", HEADER, records) == 8
    assert len(Database.load(tmp_path / "b.jsonl").top("k0", 9)) == 5


def _fields(item):
    return {name: getattr(item, name) for name in Record.__slots__}


def test_targets_that_differ_in_threads_only_are_compatible():
    assert compatible("llvm -mcpu=a -threads=2", "llvm -mcpu=a -threads=1")
    assert not compatible("llvm -mcpu=a", "llvm -mcpu=b")
    assert compatible("llvm -mcpu=a -mattr=+avx2 -l3=1M", "llvm -mcpu=b -mattr=+avx2 -l3=2M")
    assert not compatible("llvm -mcpu=a -mattr=+avx2", "llvm -mcpu=a -mattr=+avx")
    assert compatible("anything", None)


@pytest.mark.parametrize(
    ("name", "value"), [("latency_ms", 0), ("latency_ms", -1), ("latency_ms", 10**400), ("spread", math.nan)]
)
def test_numbers_that_cannot_be_measured_are_told(name, value):
    data = {**record(ms=1.0).to_json(), name: value}
    with pytest.raises(LogError) as caught:
        Record.from_json(data)
    assert caught.value.code == "log.corrupt"


@pytest.mark.parametrize(
    "text",
    [
        '# A comment.\n# Another.\n{"i": [["[1]", "llvm"], [[], []]], "r": [[0.1], 0, 1, 2], "v": "v0.5"}\n',
        '{"input": ["llvm -keys=cpu", "dense_nopack.x86", []], "config": {}, "result": [[3e-05], 0, 2, 1]}',
    ],
)
def test_a_log_of_tvm_is_no_damaged_one(tmp_path, text):
    log = tmp_path / "tvm.json"
    log.write_text(text)
    with pytest.raises(LogError) as caught:
        list(iter_log(log))
    assert caught.value.code == "log.foreign"
    assert "wb.logs.open" in caught.value.hint


def test_a_log_says_what_was_not_timed_undisturbed() -> None:
    known = record()
    assert (known.clean, known.why_not) == (True, "")
    older = {name: value for name, value in known.to_json().items() if name not in ("clean", "why_not")}
    assert Record.from_json(older) == known, "older logs do not say it"
    busy = replace(known, clean=False, why_not="the second thread had 55 % of a core")
    assert Record.from_json(busy.to_json()) == busy
    assert to_frame([known, busy])["clean"].tolist() == [True, False]
