"""What files can have that they should not, for every importer: taken for what it is, or told where it is."""

import gzip
import json
import os
import pickle
import re
import sqlite3
import sys
import time
import zlib

import pytest
from tuner_files import HERE

import workbench as wb
from workbench.errors import LogError, UsageError
from workbench.logs import IMPORTERS
from workbench.logs.reading.literals import keywords, literal
from workbench.logs.reading.pickles import plain_pickle
from workbench.logs.source import sound


@pytest.fixture(params=sorted(IMPORTERS))
def importer(request):
    return IMPORTERS[request.param]()


@pytest.fixture
def log(importer, tmp_path):
    path = tmp_path / "log"
    importer.write_example(path)
    if path.is_dir():
        pytest.skip("a folder")
    return path


def opened(importer, path):
    found = wb.logs.open(path, **importer.example_hints).records
    return found[["task", "params", "status", "value", "unit", "error", "extra"]].astype(str).to_dict("records")


def is_text(path):
    return b"\0" not in path.read_bytes()


def test_packed(importer, log):
    whole = opened(importer, log)
    log.write_bytes(gzip.compress(log.read_bytes()))
    assert opened(importer, log) == whole


def test_lines_that_end_with_carriage_returns_and_a_byte_order_mark(importer, log):
    if not is_text(log):
        return
    whole = opened(importer, log)
    log.write_bytes(b"\xef\xbb\xbf" + log.read_bytes().replace(b"\n", b"\r\n"))
    assert opened(importer, log) == whole


def test_utf_16_as_some_shells_write_it(importer, log):
    if not is_text(log):
        return
    whole = opened(importer, log)
    text = log.read_bytes().decode()
    for encoding in ("utf-16", "utf-16-be"):
        log.write_bytes(("\ufeff" * (encoding == "utf-16-be") + text).encode(encoding))
        assert opened(importer, log) == whole


def test_a_comment_behind_a_byte_order_mark_and_blank_lines(tmp_path):
    lines = gzip.decompress((HERE / "autotvm" / "bert-cpu-excerpt.log.gz").read_bytes()).splitlines(keepends=True)
    path = tmp_path / "log"
    path.write_bytes(b"\xef\xbb\xbf# a comment\n" + b"  \n".join(lines) + b" \t\n")
    found = wb.logs.open(path)
    assert (len(found), found.faults) == (len(lines), [])


def test_halves_of_characters_are_replaced(importer, log):
    """JSON can say them, Python reads them, and neither Arrow nor a file in UTF-8 takes them."""
    raw = log.read_bytes()
    for half in (rb"\ud800", rb"\uDFff", rb"\ud800\ud800"):
        log.write_bytes(re.sub(rb'"(?=[A-Za-z])', rb'"' + half.replace(b"\\", b"\\\\"), raw))
        try:
            found = wb.logs.open(log, **importer.example_hints)
        except LogError:
            continue
        json.dumps(found.records.astype(object).to_dict("records"), ensure_ascii=False, default=str).encode()
        json.dumps([found.raw(k) for k in range(len(found))], ensure_ascii=False, default=str).encode()
    assert sound(rb'"\ud83d\ude00"') == rb'"\ud83d\ude00"'
    assert sound(rb'"\ud83d \ude00"') == rb'"\ufffd \ufffd"'


def test_what_is_before_the_damage_of_a_packed_file(tmp_path):
    packed = (HERE / "ktt" / "pnpoly-RTX_3090.json.gz").read_bytes()
    (tmp_path / "log").write_bytes(packed[: len(packed) // 2])
    found = wb.logs.open(tmp_path / "log")
    assert 1500 < len(found) < 2600  # of 4,092
    assert any("damaged after" in fault.what for fault in found.faults)
    small = gzip.compress((HERE / "kernel-tuner" / "mm96-cpu-v1.5.0.json").read_bytes())
    (tmp_path / "log").write_bytes(small[:-20])  # less than what tells the format was unpacked without damage
    assert wb.logs.open(tmp_path / "log").format == "kernel-tuner"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_what_is_no_file_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    os.symlink("loop", tmp_path / "loop")
    for path in (tmp_path / "pipe", tmp_path / "loop", "/dev/zero"):
        with pytest.raises(LogError) as caught:
            wb.logs.open(path)
        assert caught.value.code == "log.unreadable"


def test_a_line_of_ten_megabytes(importer, log):
    if not is_text(log):
        return
    whole = opened(importer, log)
    log.write_bytes(log.read_bytes() + b"\n" + b'{"x": "' + b"a" * (10 << 20) + b'"}\n')
    began = time.monotonic()
    found = opened(importer, log)
    assert found[: len(whole)] == whole or len(found) >= len(whole) - 1
    assert time.monotonic() - began < 5


def test_nothing_and_noise(tmp_path):
    for data in (b"", b"\n\n", os.urandom(5000), b"\x1f\x8b" + os.urandom(500), b"\0" * 5000, b"[" * 100_000, b"{" * 9):
        path = tmp_path / "log"
        path.write_bytes(data)
        with pytest.raises(LogError) as caught:
            wb.logs.open(path)
        assert caught.value.code in ("log.unknown_format", "log.no_records")
    for name in IMPORTERS:
        try:  # also where somebody says what it is
            assert not len(wb.logs.open(path, format=name))
        except LogError as error:
            assert error.code.startswith("log.")  # noqa: PT017


def test_no_sqlite_file(tmp_path):
    path = tmp_path / "matmul.db"
    path.write_bytes(b"SQLite format 3\0" + os.urandom(8000))
    with pytest.raises(LogError) as caught:
        wb.logs.open(path)
    assert caught.value.code == "log.unknown_format"
    for name in ("optuna", "opentuner", "tinygrad-cache"):
        found = wb.logs.open(path, format=name)
        assert len(found) == 0
        assert "no SQLite file" in str(found.faults[0])


class Hostile:
    """What runs a command when it is unpickled."""

    def __reduce__(self):
        return os.mkdir, (os.environ["HOSTILE"],)


@pytest.fixture
def hostile(tmp_path, monkeypatch):
    monkeypatch.setenv("HOSTILE", str(tmp_path / "executed"))
    return tmp_path / "executed"


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_are_not_executed(hostile, protocol):
    data = pickle.dumps({"tile": Hostile()}, protocol)
    with pytest.raises(ValueError, match="more than to hold values"):
        plain_pickle(data)
    inert = plain_pickle(data, objects=True)
    assert inert["tile"].name.endswith("mkdir")
    assert not hostile.exists()


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_plain_pickles_are_read(protocol):
    value = {"tile": 8, "big": 2**80, "share": 0.5, "order": "ikj", "on": True, "none": None, "list": [1, [2.5]],
             "pair": (1, "x", None, -7), "empty": {}, "text": "ä" * 300}  # fmt: skip
    for data in (pickle.dumps(value, protocol), zlib.compress(pickle.dumps(value, protocol))):
        assert plain_pickle(data) == value


def test_pickles_without_bounds():
    nested = []
    for _ in range(30):
        nested = [nested, nested]  # a billion lists when it is written out
    for data in (
        pickle.dumps(nested),
        zlib.compress(b"\0" * (1 << 26)),
        b"",
        b".",
        b"\x80\x04",
        b"}" * 10,
        b"(" * 300_000,
    ):
        with pytest.raises(ValueError, match=r"pickle|value"):
            plain_pickle(data)


def test_a_hostile_configuration_is_a_fault(tmp_path, hostile):
    path = tmp_path / "tuner.db"
    IMPORTERS["opentuner"].write_example(path)
    with sqlite3.connect(path) as base:
        base.execute("UPDATE configuration SET data = ? WHERE id = 1", (zlib.compress(pickle.dumps(Hostile())),))
    base.close()
    log = wb.logs.open(path)
    assert [str(fault).partition(" (")[0] for fault in log.faults] == [
        "configuration 1: its parameters are not read: the pickle does more than to hold values"
    ]
    assert log.records["params"].tolist() == [{}, {"tile": 16}]
    assert not hostile.exists()


def test_expressions_are_not_evaluated(hostile):
    text = "Config(a=__import__('os').mkdir('x'), b=[1, (2, 3)], c={'k': {1, }}, d=1 + 2j, e=-4, f=None)"
    found = keywords(text)
    assert found == {
        "a": "__import__('os').mkdir('x')", "b": [1, [2, 3]], "c": {"k": [1]}, "d": "(1+2j)", "e": -4, "f": None,
    }  # fmt: skip
    for bad in ("Config(1)", "Config(**x)", "x", "Config(a=", "(" * 5000, "Config(a=" + "9" * 70_000 + ")", "a\0b"):
        with pytest.raises(ValueError, match=r"expression|call"):
            keywords(bad)
    assert literal("1e400") == float("inf")
    assert literal("not a literal") == "not a literal"


HTML = "<script>alert(1)</script><img src=x onerror=alert(2)>"


def test_names_are_kept_and_shown_escaped(tmp_path, capsys):
    path = tmp_path / "k.autotune.json"
    path.write_text(IMPORTERS["triton"].example.replace("4096", HTML).replace("BLOCK", f"{HTML}\\u001b[31m"))
    log = wb.logs.open(path)
    assert HTML in log.tasks["task"][0]
    assert all(HTML in next(iter(params)) for params in log.records["params"])
    shown = repr(log) + str(log.warnings)
    assert "\x1b" not in shown


def test_what_a_fault_says_is_short(importer, log):
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join([*lines, b'{"a": "', b"x" * 100_000, b"\x1b[31m\n"]))
    try:
        found = wb.logs.open(log, **importer.example_hints)
    except LogError as error:
        assert len(str(error)) < 2000  # noqa: PT017
        return
    assert all(len(str(fault)) < 300 and "\x1b" not in str(fault) for fault in found.faults)
    assert sys.getsizeof(str(found.warnings)) < 3000


VALUES = {
    "auto-scheduler": ("[0.000121]", "[@]"), "autotvm": ("[1e-06]", "[@]"), "clblast": ('"time": 2.345', '"time": @'),
    "clblast-database": ('"64,64", 2.345', '"64,64", @'), "columns": ("0.25", "@"), "helion": ("0.0275", "@"),
    "inductor": ("0.0492 ms", "@ ms"), "inductor-json": ('result": 0.0492', 'result": @'),
    "inductor-mm": ('"time": 0.0485', '"time": @'), "kernel-tuner": ('"time": 0.03,', '"time": @,'),
    "ktt": ('"TotalDuration": 40.5', '"TotalDuration": @'), "ktt-csv": ("77.408", "@"),
    "metaschedule": ("[0.0003,0.0002]", "[@]"), "optuna-journal": ("[0.25]", "[@]"),
    "pyatf": ('"cost": 0.5', '"cost": @'),
    "t4": ('"value": 0.02', '"value": @'), "tinygrad": ("2.89us run", "@us run"),
    "triton": ("[0.2171, 0.2163, 0.2189]", "[@, @, @]"),
    "workbench": ('"costs_ms":[0.0021,0.0019],"latency_ms":0.0019', '"costs_ms":[@],"latency_ms":@'),
}  # fmt: skip
"""What stands for a time in the example of a format, and the same with another number in its place."""


@pytest.mark.parametrize(
    "code", ["1e9", "1000000000.0", "1e10", "10000000000", "1e20", "1e308", "0", "-1.0", "Infinity", "NaN"]
)
@pytest.mark.parametrize("name", sorted(VALUES))
def test_what_stands_for_a_failure_is_no_time(name, code, tmp_path):
    text, place = IMPORTERS[name].example, VALUES[name]
    assert place[0] in text
    (tmp_path / "log").write_text(text.replace(place[0], place[1].replace("@", code), 1))
    hints = {"unit": "ms"} if name in ("pyatf", "optuna-journal") else {}
    log = wb.logs.open(tmp_path / "log", name, **IMPORTERS[name].example_hints, **hints)
    good = log.records[log.records["status"] == "ok"]
    assert good["value"].between(0, 1e6, inclusive="neither").all()


def test_a_second_in_nanoseconds_is_a_time_and_codes_are_counted(tmp_path):
    (tmp_path / "log.csv").write_text("tile,time\n1,1000000000.5\n2,0\n3,-2\n4,5.0\n")
    hints = {"columns": {"cost": "time", "params": ["tile"]}}
    log = wb.logs.open(tmp_path / "log.csv", unit="ns", **hints)
    assert log.records["cost_s"].dropna().tolist() == pytest.approx([1.0000000005, 5e-9])
    assert log.records["told"].tolist() == ["", "0 ns", "-2 ns", ""]
    assert any(warning.startswith("2 records have a time of 0 or less") for warning in log.warnings)
    scores = wb.logs.open(tmp_path / "log.csv", unit="points", direction="max", **hints)
    assert scores.records["value"].tolist() == [1000000000.5, 0.0, -2.0, 5.0]


def test_runs_with_different_objectives_are_not_compared(tmp_path):
    logs = []
    for name, unit in (("loss", ""), ("fitness", ""), ("time", "ms"), ("time2", "us")):
        path = tmp_path / f"{name}.csv"
        path.write_text(f"tile,{name}\n1,3\n2,4\n")
        hints = {"columns": {"cost": name, "params": ["tile"]}, "unit": unit, "direction": "min"}
        logs.append(wb.logs.open(path, **hints))
    for a, b in ((0, 1), (0, 2), (1, 2)):
        with pytest.raises(UsageError) as caught:
            wb.logs.analysis.compare(logs[a], logs[b])
        assert caught.value.code == "usage.units"
    assert wb.logs.analysis.compare(logs[2], logs[3])["ratio"].tolist() == [pytest.approx(1e-3)]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("odd", ["text", [], {}, True, 1e400, 10**400, float("nan"), [[1]], "\x1b[31m"], ids=repr)
def test_fields_of_a_converted_log_that_hold_something_else(odd, tmp_path):
    log = wb.logs.open(HERE / "kernel-tuner" / "mm96-cpu-v1.5.0.json")
    path = tmp_path / "out.tunelog.jsonl"
    wb.logs.convert(log, path)
    lines = path.read_text().splitlines()
    shared = [line for line in lines if not line.startswith('{"of"')]
    first, *rest = [line for line in lines if line.startswith('{"of"')][:4]
    for name in (
        "value",
        "repeats",
        "generation",
        "verify_s",
        "search_s",
        "spent_s",
        "beside",
        "params",
        "unit",
        "told",
    ):
        path.write_text("\n".join([*shared, json.dumps(json.loads(first) | {name: odd}), *rest]) + "\n")
        found = wb.logs.open(path)
        assert len(found) + len(found.faults) == 4, name
        assert found.records["cost_s"].iloc[-1] == log.records["cost_s"].iloc[3]
        assert found._repr_html_()
        assert len(found.table()) == len(found)
