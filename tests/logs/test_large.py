"""Large logs: read in parts by several processes into columns; what they say is the same as of small ones."""

import gc
import gzip
import json
import subprocess
import sys
import tempfile

import numpy as np
import pandas
import pytest
from benchmarks import big_logs
from hypothesis import given, settings
from hypothesis import strategies as st
from tuner_files import HERE

import workbench as wb
from workbench.errors import LogError, UsageError
from workbench.logs import IMPORTERS
from workbench.logs.source import Fault
from workbench.logs.table import columns as table_columns
from workbench.logs.table import kept, parts, unpacked
from workbench.logs.table.columns import Collector, Columns
from workbench.logs.table.lazy_array import LazyArray, Listed
from workbench.logs.table.packed import Packed

RECORD = (
    '{"i": [["[\\"a1b2\\", 64, 64]", "llvm -mcpu=core-avx2", [8, 64, 64, 0, 0, 0, 0, 0], "", 1], [[], [["SP", 2, 0, '
    '64, [4, 8], 1], ["AN", 2, 0, 3]]]], "r": [[0.000121, 0.000125], 0, 0.41, 1600000000], "v": "v0.5"}\n'
)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.dates(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@pytest.fixture(autouse=True)
def one_process(monkeypatch):
    monkeypatch.setattr(parts, "PROCESSES", 1)


@pytest.fixture
def sample(tmp_path):
    path = tmp_path / "sample.json"
    path.write_text(RECORD + RECORD.replace("a1b2", "c3d4").replace("[4, 8]", "[2, 2, 2]"))
    return path


@pytest.fixture
def large(tmp_path, sample):
    """A log of 3,000 records, with damage, that is read as large ones are."""
    path = tmp_path / "large.json"
    big_logs.ansor(path, 3000, sample)
    lines = path.read_bytes().splitlines(keepends=True)
    lines[700] = lines[700].replace(b'"r"', b"r")
    lines[1500] = b'{"i": [[]]}\n'
    lines[2999] = b"\xff\n"
    path.write_bytes(b"".join(lines)[:-20])
    return path


def both(path, monkeypatch, **hints):
    small = wb.logs.open(path, **hints)
    monkeypatch.setattr(parts, "LARGE", 0)
    return small, wb.logs.open(path, **hints)


def test_a_large_log_says_what_a_small_one_says(large, monkeypatch):
    monkeypatch.setattr(parts, "PROCESSES", 3)
    small, big = both(large, monkeypatch)
    assert big.faults == small.faults
    assert [fault.where for fault in big.faults] == ["line 701", "line 1501", "line 3000", "line 3001"]
    assert isinstance(big.records["params"].array, LazyArray)
    plain = big.records.astype(dict.fromkeys(("params", "extra", "repeats"), object)).astype({"where": "str"})
    pandas.testing.assert_frame_equal(plain, small.records)
    pandas.testing.assert_frame_equal(big.tasks, small.tasks)
    pandas.testing.assert_frame_equal(big.table(), small.table())
    assert big.params == small.params
    assert [big.raw(k) for k in (0, 5, 2990)] == [small.raw(k) for k in (0, 5, 2990)]


@pytest.mark.parametrize("name", sorted(IMPORTERS))
def test_every_format_that_is_read_line_by_line(name, tmp_path, monkeypatch):
    if not getattr(IMPORTERS[name], "by_itself", False):
        return
    path = tmp_path / "log"
    IMPORTERS[name].write_example(path)
    small, big = both(path, monkeypatch)
    assert repr(big.records.to_dict("records")) == repr(small.records.to_dict("records"))


def test_a_packed_log_is_unpacked_beside_and_removed(large, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "beside"))
    (tmp_path / "beside").mkdir()
    monkeypatch.setattr(unpacked, "WORTH_LOOKING", 0)
    packed = tmp_path / "packed.json.gz"
    packed.write_bytes(gzip.compress(large.read_bytes(), 1))
    monkeypatch.setattr(parts, "LARGE", 0)
    plain, log = wb.logs.open(large), wb.logs.open(packed)
    assert log.faults == plain.faults
    assert log.records["value"].equals(plain.records["value"])
    assert log.table().equals(plain.table())
    assert log.raw(7) == plain.raw(7)
    assert len(list((tmp_path / "beside").iterdir())) == 1
    packed.write_bytes(gzip.compress(large.read_bytes() + b"\n" + RECORD.encode(), 1))
    assert (log.refresh(), len(log)) == (1, len(plain) + 1)
    params = log.records["params"]
    del log
    assert params.iloc[0] == plain.records["params"].iloc[0], "a table holds the file that its values are in"
    del params
    gc.collect()
    assert not list((tmp_path / "beside").iterdir())


def test_a_packed_log_that_is_far_larger_unpacked_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "beside"))
    (tmp_path / "beside").mkdir()
    monkeypatch.setattr(unpacked, "WORTH_LOOKING", 0)
    monkeypatch.setattr(unpacked, "LARGEST_DOCUMENT", 1 << 20)
    packed = tmp_path / "packed.json.gz"
    packed.write_bytes(gzip.compress(RECORD.encode() + bytes(20 << 20)))
    with pytest.raises(LogError) as caught:
        wb.logs.open(packed)
    assert caught.value.code == "log.too_large"
    gc.collect()
    assert not list((tmp_path / "beside").iterdir())


def test_of_a_packed_log_that_is_damaged_there_is_what_stands_before(large, tmp_path, monkeypatch):
    monkeypatch.setattr(unpacked, "WORTH_LOOKING", 0)
    packed = tmp_path / "packed.json.gz"
    whole = gzip.compress(large.read_bytes())
    packed.write_bytes(whole[: len(whole) // 2])
    small, big = both(packed, monkeypatch)
    assert abs(len(small) - len(big)) < 1000
    assert "the file is damaged from here on" in big.faults[-1].what
    assert big.records["value"].iloc[:100].equals(small.records["value"].iloc[:100])


def test_records_of_any_format_are_packed_when_they_are_many(monkeypatch):
    path = HERE / "kernel-tuner" / "pnpoly-RTX_3090-every-10th.json.gz"
    plain = wb.logs.open(path)
    monkeypatch.setattr(table_columns, "PACKED_FROM", 1)
    log = wb.logs.open(path)
    assert isinstance(log.records["params"].array, LazyArray)
    names = ["params", "extra", "where", "repeats"]
    assert log.records[names].astype(object).equals(plain.records[names].astype(object))
    assert [log.raw(k) for k in (0, 17)] == [plain.raw(k) for k in (0, 17)]
    assert log.params == plain.params


@given(st.lists(VALUES, max_size=20), st.data())
def test_what_is_packed_comes_back_as_it_was(values, data):
    found = Packed(values)
    assert repr([found[k] for k in range(len(values))]) == repr(values)
    places = data.draw(st.lists(st.integers(0, max(0, len(values) - 1)), max_size=9 if values else 0))
    assert repr(found.get(np.array(places, dtype=np.int64))) == repr([values[k] for k in places])


def test_it_tells_how_far_it_is(large, monkeypatch):
    monkeypatch.setattr(parts, "LARGE", 0)
    told = []
    wb.logs.open(large, progress=lambda done, size: told.append((done, size)))
    assert told == sorted(told)
    assert told[-1][0] > 0.9 * told[-1][1]
    assert {size for _, size in told} == {large.stat().st_size}


def test_a_process_that_dies_costs_time_only(large, monkeypatch):
    small = wb.logs.open(large)
    monkeypatch.setattr(parts, "LARGE", 0)
    monkeypatch.setattr(parts, "PROCESSES", 2)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    assert wb.logs.open(large).records["value"].equals(small.records["value"])


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux bounds what a process allocates")
def test_helpers_share_the_memory_that_a_process_may_take():
    code = (
        "import resource; from workbench.logs.table.part_reader import share_memory; share_memory(4); "
        "resource.setrlimit(resource.RLIMIT_DATA, (8 << 30, resource.RLIM_INFINITY)); share_memory(4); "
        "print(resource.getrlimit(resource.RLIMIT_DATA)[0] >> 30)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "2\n"


def test_lines_that_are_too_long_are_passed_over(sample, monkeypatch, tmp_path):
    path = tmp_path / "log"
    path.write_text(RECORD + "[" * (18 << 20) + "\n" + RECORD)
    small, big = both(path, monkeypatch)
    assert big.faults == small.faults == [Fault("line 2", "the line is longer than 16 MiB")]
    assert big.records["where"].tolist() == ["line 1", "line 3"]


def test_a_log_that_was_changed_is_not_misread(large, monkeypatch):
    _, log = both(large, monkeypatch)
    large.write_bytes(large.read_bytes()[:9000])
    with pytest.raises(LogError) as caught:
        log.records["params"].tolist()
    assert caught.value.code == "log.changed"
    with pytest.raises(UsageError):
        log.raw(10**6)


def test_packed_logs_are_read_whole(large, tmp_path, monkeypatch):
    packed = tmp_path / "log.gz"
    packed.write_bytes(gzip.compress(large.read_bytes()))
    monkeypatch.setattr(parts, "LARGE", 0)
    assert len(wb.logs.open(packed)) == len(wb.logs.open(large))


def test_tables_of_several_logs_stay_lazy(large, sample, monkeypatch):
    monkeypatch.setattr(parts, "LARGE", 0)
    log = wb.logs.open([large, sample, large])
    assert isinstance(log.records["params"].array, LazyArray)
    one, two = len(wb.logs.open(large)), 2
    assert log.records["params"].iloc[one + two] == log.records["params"].iloc[0] == log.table().iloc[0, :2].to_dict()
    assert log.raw(one)["r"] == json.loads(RECORD)["r"]


values = st.lists(st.one_of(st.integers(), st.tuples(st.integers()), st.dictionaries(st.text(), st.integers())))


@settings(max_examples=50, deadline=None)
@given(values, st.data())
def test_the_lazy_array_is_an_array_of_pandas(found, data):
    series = pandas.Series(LazyArray(Listed(found), np.arange(len(found))))
    assert series.tolist() == found
    assert series.map(repr).tolist() == list(map(repr, found))
    order = data.draw(st.permutations(range(len(found))))
    assert series.iloc[order].tolist() == [found[k] for k in order]
    assert pandas.concat([series, series[::-1]]).tolist() == found + found[::-1]
    assert series.reindex([*range(len(found)), -1]).tolist() == [*found, None]
    assert list(series.astype(object)) == found
    assert series.to_frame().to_dict("list") == {0: found}
    assert not series.isna().any()
    repr(series)
    mask = data.draw(st.lists(st.booleans(), min_size=len(found), max_size=len(found)))
    assert series[np.array(mask, dtype=bool)].tolist() == [x for x, yes in zip(found, mask, strict=True) if yes]


def test_columns_become_bytes_and_back(large):
    importer = IMPORTERS["auto-scheduler"]()
    found = [importer.evaluation(json.loads(RECORD))] * 5000
    columns = Collector().extend(found).columns()
    again, told = Columns.from_bytes(columns.to_bytes({"a": [1]}))
    assert told == {"a": [1]}
    assert again.words["task"][1] == columns.words["task"][1]
    for name in ("lines", "offsets", "repeats", "ends"):
        assert (getattr(again, name) == getattr(columns, name)).all()
    assert again.numbers.keys() == {"value", "timestamp", "spent_s"}


def test_the_process_imports_little():
    code = (
        "import sys, workbench.logs.table.part; print([m for m in ('plotly', 'xgboost', 'onnx') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("WORKBENCH_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("WORKBENCH_CACHE", raising=False)
    monkeypatch.setattr(parts, "LARGE", 0)


def lines_read(monkeypatch):
    """The lines that are decoded from now on."""
    read = []
    evaluation = IMPORTERS["auto-scheduler"]._evaluation
    monkeypatch.setattr(
        IMPORTERS["auto-scheduler"], "_evaluation", lambda *args: read.append(1) or evaluation(*args), raising=True
    )
    return read


def test_a_log_that_was_opened_before_is_not_read_again(large, cache, monkeypatch):
    first = wb.logs.open(large)
    read = lines_read(monkeypatch)
    again = wb.logs.open(large)
    assert not read
    pandas.testing.assert_frame_equal(again.records, first.records)
    assert (again.faults, again.warnings) == (first.faults, first.warnings)
    read.clear()
    large.write_text(large.read_text(errors="surrogateescape")[:-30] + "\n" + RECORD, errors="surrogateescape")
    grown = wb.logs.open(large)
    assert len(grown) == len(first) + 1
    assert len(read) == 1, "only the line behind what is kept"
    changed = large.read_bytes().replace(b"1606960999", b"1606960998")
    large.write_bytes(changed)
    assert len(wb.logs.open(large)) == len(grown)
    assert len(read) > 1000, "another content of the same size"


def test_damaged_and_surplus_entries_go(large, cache, monkeypatch):
    first = wb.logs.open(large)
    ((entry, status),) = kept.entries()
    entry.write_bytes(entry.read_bytes()[:-300])
    assert wb.logs.open(large).records["value"].equals(first.records["value"])
    assert kept.entries()[0][1].st_size == status.st_size
    monkeypatch.setattr(kept, "LIMIT", 100)
    kept.clear()
    wb.logs.open(large)
    assert not kept.entries()
    monkeypatch.setenv("WORKBENCH_CACHE", "0")
    wb.logs.open(large)


@pytest.mark.parametrize("least", [0, 1 << 30])
def test_a_growing_log_is_followed(least, tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "LARGE", least)
    path = tmp_path / "log"
    path.write_text(RECORD + RECORD[:-40])
    log = wb.logs.open(path)
    assert (len(log), len(log.faults), log.refresh()) == (1, 1, 0)
    with path.open("a") as file:
        file.write(RECORD[-40:] + RECORD.replace("a1b2", "c3d4") + "{}\n")
    assert log.refresh() == 2
    assert log.records["record"].tolist() == [0, 1, 2]
    assert [fault.where for fault in log.faults] == ["line 4"]
    assert len(log.tasks) == 2
    assert len(log.table()) == 3
    assert log.raw(2)["i"][0][0].startswith('["c3d4"')
    assert log.refresh() == 0
    path.write_text(RECORD.replace("0.000121", "0.000991"))
    log.refresh()
    assert log.records["repeats"].tolist() == [(0.000991, 0.000125)]
    assert any("read anew" in text for text in log.warnings) == (least == 0)


def test_a_log_that_is_gone_stays_as_it_was(sample):
    log = wb.logs.open(sample)
    sample.unlink()
    assert log.refresh() == 0
    assert len(log) == 2
