"""Logs that other tools, other versions or an editor have touched."""

from __future__ import annotations

import json
import statistics

import pytest
from errors.test_cli_errors import check_error, invoke, write

from workbench.log.record import TRIAL_COSTS, outcome
from workbench.runtime.results.measurement import Measurement


def change(log, **fields):
    """Change the first record of a log; return the log and the number of the line."""
    lines = log.read_text().splitlines()
    first = next(k for k, line in enumerate(lines) if '"n":' in line)
    lines[first] = json.dumps({**json.loads(lines[first]), **fields})
    log.write_text("\n".join(lines) + "\n")
    return log, first + 1


@pytest.mark.parametrize(
    "fields",
    [
        {"latency_ms": "3"}, {"latency_ms": -3.0}, {"latency_ms": 0.0}, {"latency_ms": float("nan")},
        {"latency_ms": float("inf")},
        {"elapsed_s": float("nan")}, {"costs_ms": ["a"]}, {"costs_ms": [None]}, {"trial": True}, {"row": 3},
        {"n": "1"}, {"ms": 0.0}, {"p": "x"}, {"v": [1, 2, 3]}, {"costs": [1.5]}, {"of": [77]}, {"of": [True]},
    ],
    ids=str,
)  # fmt: skip
def test_values_that_no_trial_can_have(capfd, tmp_path, fields):
    log, number = change(write(tmp_path / "a.jsonl"), **fields)
    error = check_error(capfd, ["log", "summary", log], "log.corrupt", 3)
    assert error["where"] == [f"{log}:{number}"]
    assert next(iter(fields)) in error["message"] or fields == {"of": [77]}


@pytest.mark.parametrize("line", ["[" * 100_000, '{"a":' * 100_000, "[1]", "1" * 10_000])
def test_json_that_is_no_record(capfd, tmp_path, line):
    log = write(tmp_path / "a.jsonl")
    log.write_text(log.read_text() + line + "\n")
    last = len(log.read_text().splitlines())
    assert check_error(capfd, ["log", "summary", log], "log.corrupt", 3)["where"] == [f"{log}:{last}"]


def test_a_newer_version_is_read_and_written_back(capfd, tmp_path):
    log, _ = change(write(tmp_path / "a.jsonl"), schema=99, colour="blue")
    code, _, err = invoke(capfd, "log", "distill", log, "-k", "9", "-o", tmp_path / "b.jsonl")
    assert (code, err) == (0, "")
    records = [json.loads(line) for line in (tmp_path / "b.jsonl").read_text().splitlines()]
    assert [r["colour"] for r in records if r.get("schema") == 99] == ["blue"]


def test_a_record_does_not_grow_with_the_number_of_repeats():
    costs = tuple(1e-4 * (1 + i % 7 / 3) for i in range(5000))
    fields = outcome(Measurement(status="ok", costs_ms=costs))
    assert fields["latency_ms"] == statistics.median(costs)
    assert TRIAL_COSTS / 2 < len(fields["costs_ms"]) <= TRIAL_COSTS
    assert outcome(Measurement(status="ok", costs_ms=(2.0, 1.0)))["costs_ms"] == (2.0, 1.0)
    assert outcome(Measurement(status="run_error", error="x"))["costs_ms"] == ()
