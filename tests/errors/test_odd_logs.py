"""Logs that other tools, other versions or an editor have touched."""

from __future__ import annotations

import json
import statistics

import pytest
from errors.test_cli_errors import check_error, invoke, write

from workbench.log.record import COSTS_KEPT, outcome
from workbench.runtime.results.measurement import Measurement


def change(log, **fields):
    """Change the first record of a log."""
    lines = log.read_text().splitlines()
    lines[1] = json.dumps({**json.loads(lines[1]), **fields})
    log.write_text("\n".join(lines) + "\n")
    return log


@pytest.mark.parametrize(
    "fields",
    [
        {"latency_ms": "3"}, {"latency_ms": -3.0}, {"latency_ms": 0.0}, {"latency_ms": float("nan")},
        {"latency_ms": float("inf")},
        {"elapsed_s": float("nan")}, {"costs_ms": ["a"]}, {"costs_ms": [None]}, {"trial": True}, {"row": []},
    ],
    ids=str,
)  # fmt: skip
def test_values_that_no_trial_can_have(capfd, tmp_path, fields):
    log = change(write(tmp_path / "a.jsonl"), **fields)
    error = check_error(capfd, ["log", "summary", log], "log.corrupt", 3)
    assert error["where"] == [f"{log}:2"]
    assert next(iter(fields)) in error["message"]


@pytest.mark.parametrize("line", ["[" * 100_000, '{"a":' * 100_000, "[1]", "1" * 10_000])
def test_json_that_is_no_record(capfd, tmp_path, line):
    log = write(tmp_path / "a.jsonl")
    log.write_text(log.read_text() + line + "\n")
    assert check_error(capfd, ["log", "summary", log], "log.corrupt", 3)["where"] == [f"{log}:5"]


def test_a_newer_version_is_read_and_written_back(capfd, tmp_path):
    log = change(write(tmp_path / "a.jsonl"), schema=99, colour="blue")
    code, _, err = invoke(capfd, "log", "distill", log, "-k", "9", "-o", tmp_path / "b.jsonl")
    assert (code, err) == (0, "")
    records = [json.loads(line) for line in (tmp_path / "b.jsonl").read_text().splitlines()]
    assert [r["colour"] for r in records if r.get("schema") == 99] == ["blue"]


def test_a_record_does_not_grow_with_the_number_of_repeats():
    costs = tuple(1e-4 * (1 + i % 7 / 3) for i in range(5000))
    fields = outcome(Measurement(status="ok", costs_ms=costs))
    assert fields["latency_ms"] == statistics.median(costs)
    assert COSTS_KEPT / 2 < len(fields["costs_ms"]) <= COSTS_KEPT
    assert outcome(Measurement(status="ok", costs_ms=(2.0, 1.0)))["costs_ms"] == (2.0, 1.0)
    assert outcome(Measurement(status="run_error", error="x"))["costs_ms"] == ()
