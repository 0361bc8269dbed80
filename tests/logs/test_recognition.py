"""Whether a file is a log, by its first bytes: each importer's example, files that are none, files made to mislead."""

from __future__ import annotations

import gzip
import json
import random
import time
from pathlib import Path

import pytest

from workbench import logs
from workbench.logs.recognition import format_at_a_glance
from workbench.logs.source import HEAD

DATA = Path(__file__).parents[1] / "data" / "logs"
TABLE = "tile,unroll,took\n8,1,0.25\n16,0,0.5\n"
BINARY = {"optuna", "opentuner", "tinygrad-cache"}


@pytest.mark.parametrize("name", sorted(set(logs.IMPORTERS) - BINARY - {"columns"}))
def test_each_log_in_text_is_known_whatever_it_is_called(name: str, tmp_path: Path) -> None:
    importer = logs.IMPORTERS[name]
    path = tmp_path / "data.txt"
    importer.write_example(path)
    if path.is_dir():
        path = next(one for one in sorted(path.iterdir()) if "record" in one.name)
    assert format_at_a_glance(path) == name
    packed = tmp_path / "packed"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert format_at_a_glance(packed) == name


@pytest.mark.parametrize(
    "text",
    [
        "", "\n", "some words\nand more\n", TABLE, '{"name": "x", "version": "1.0.0", "dependencies": {"i": "^1"}}\n',
        '{\n  "name": "x",\n  "scripts": {"build": "tsc"}\n}\n', '{"a": 1, "b": 2.5}\n{"a": 2, "b": 3.5}\n',
        "[1, 2, 3]\n", "2026-01-01 12:00:00 INFO the server has started in 0.5 ms\n", "\0\1\2", "\x1f\x8b broken",
    ],
)  # fmt: skip
def test_other_files_are_no_logs(text: str, tmp_path: Path) -> None:
    (tmp_path / "file.json").write_bytes(text.encode("latin-1"))
    assert format_at_a_glance(tmp_path / "file.json") == ""


def test_a_space_alone_is_no_log() -> None:
    assert format_at_a_glance(DATA / "kernel-tuner" / "pnpoly-T1.json") == ""


def test_what_is_no_file_is_no_log(tmp_path: Path) -> None:
    assert format_at_a_glance(tmp_path) == ""
    assert format_at_a_glance(tmp_path / "missing.json") == ""
    assert format_at_a_glance(Path("/dev/null")) == ""


def test_a_table_of_ones_own_is_a_log_once_its_columns_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBENCH_CACHE_DIR", str(tmp_path / "cache"))
    path = tmp_path / "mine.csv"
    path.write_text(TABLE)
    assert format_at_a_glance(path) == ""
    logs.open(path, columns={"cost": "took", "params": ["tile", "unroll"]}, unit="ms")
    assert format_at_a_glance(path) == "columns"


@pytest.mark.parametrize("times", [1, 2])
def test_no_more_than_the_begin_is_read(times: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is packed is unpacked no further, and once."""
    data = b"\n" * (8 << 20)
    for _ in range(times):
        data = gzip.compress(data, mtime=0)
    (tmp_path / "file.log").write_bytes(data)
    read = list[int]()
    usual = gzip.GzipFile.read1

    def counted(self: gzip.GzipFile, size: int = -1) -> bytes:
        read.append(len(found := usual(self, size)))
        return found

    monkeypatch.setattr(gzip.GzipFile, "read1", counted)
    assert format_at_a_glance(tmp_path / "file.log") == ""
    assert sum(read) <= 2 * HEAD


@pytest.mark.parametrize(
    "part", ["\n", " ", "[", "{", '{"i":', "(", "config=", "=best config", "AUTOTUNE a(", "AAAA\t"]
)
def test_no_text_takes_long(part: str, tmp_path: Path) -> None:
    (tmp_path / "file.txt").write_text(part * (HEAD // len(part)))
    begin = time.process_time()
    assert format_at_a_glance(tmp_path / "file.txt") == ""
    assert time.process_time() - begin < 2


def test_damage_does_not_matter(tmp_path: Path) -> None:
    """Cut off anywhere, and with bits turned over, a file is a log or none, and nothing is raised."""
    draw = random.Random(17)
    path = tmp_path / "file"
    for source in (
        "ansor/ansor-matmul.json",
        "kernel-tuner/mm96-cpu-v1.5.0.json",
        "triton/print-autotuning-excerpts.log",
    ):
        whole = (DATA / source).read_bytes()[:20_000]
        for _ in range(20):
            data = bytearray(whole[: draw.randrange(1, len(whole))])
            for _ in range(draw.randrange(4)):
                data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
            path.write_bytes(bytes(data))
            assert format_at_a_glance(path) in {*logs.IMPORTERS, ""}


def test_utf_16_is_told_by_its_mark(tmp_path: Path) -> None:
    good = json.dumps({"input": ["llvm", "dense", [["TENSOR", [8, 8], "float32"]], {}], "config": {}}) + "\n"
    (tmp_path / "file.log").write_bytes((good * 2).encode("utf-16"))
    assert format_at_a_glance(tmp_path / "file.log") == "autotvm"
