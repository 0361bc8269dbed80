"""Standard streams that are closed, full, or know only ASCII; names of files that are no text."""

from __future__ import annotations

import json
import os
import subprocess

import pytest
from errors import models
from errors.test_cli_errors import process, write

posix = pytest.mark.skipif(os.name != "posix", reason="file descriptors differ")


def closing(*numbers):
    """Close standard streams in the child before it starts."""

    def close():
        for number in numbers:
            os.close(number)

    return close


@posix
@pytest.mark.parametrize("as_json", [[], ["--json"]])
def test_closed_streams(tmp_path, as_json):
    log = write(tmp_path / "a.jsonl")
    before = log.read_bytes()
    for number in (0, 1, 2):
        with process("log", "summary", log, *as_json, stderr=subprocess.PIPE, stdout=subprocess.PIPE,
                     preexec_fn=closing(number)) as child:  # fmt: skip
            out, err = child.communicate(timeout=60)
        assert (child.returncode, err) == (0, ""), number
        assert number == 1 or out
    with process("log", "summary", tmp_path / "no", *as_json, stdout=subprocess.PIPE, preexec_fn=closing(2)) as child:
        out, _ = child.communicate(timeout=60)
    assert child.returncode == 3
    assert not as_json or json.loads(out)["error"]["code"] == "log.missing"
    assert log.read_bytes() == before


@pytest.mark.checks
@posix
def test_tuning_goes_on_when_nobody_reads_its_progress(tmp_path):
    model, log = models.dense(tmp_path / "m.onnx"), tmp_path / "log.jsonl"
    read, written = os.pipe()
    os.close(read)
    arguments = ("tune", model, "--trials", "8", "--threads", "1", "--log", log, "--json")
    with process(*arguments, stdout=subprocess.PIPE, stderr=written) as child:
        os.close(written)
        out, _ = child.communicate(timeout=120)
    assert child.returncode == 0
    assert json.loads(out)["trials"] == 8


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("as_json", [[], ["--json"]])
def test_a_full_disk_behind_standard_output(tmp_path, as_json):
    log = write(tmp_path / "a.jsonl")
    with (
        open("/dev/full", "w") as full,
        process("log", "summary", log, *as_json, stdout=full, stderr=subprocess.PIPE) as child,
    ):
        _, err = child.communicate(timeout=60)
    assert child.returncode == 4
    assert "[run.output]" in err
    assert "Traceback" not in err


def test_a_terminal_that_knows_only_ascii(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONIOENCODING", "ascii:strict")
    model = models.dense(tmp_path / "m.onnx")
    with process("tasks", model, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        out, err = child.communicate(timeout=60)
    assert (child.returncode, err) == (0, "")
    assert " * 64x128" in out
    head, _, *rows = out.split("\n\n")[0].splitlines()
    assert all(row[: head.index("Weight")].endswith("  ") for row in rows)
    with process("tasks", model, "--json", stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8") as child:
        out, _ = child.communicate(timeout=60)
    assert "→" in json.loads(out)["tasks"][0]["name"]


@posix
def test_a_file_name_that_is_no_text(tmp_path):
    log = write(tmp_path / "a.jsonl")
    odd = os.path.join(os.fsencode(tmp_path), b"\xff.jsonl")
    os.rename(log, odd)
    with process("log", "summary", os.fsdecode(odd), "--json", stdout=subprocess.PIPE) as child:
        out, _ = child.communicate(timeout=60)
    assert child.returncode == 0
    assert json.loads(out)["log"] == os.fsdecode(odd)
