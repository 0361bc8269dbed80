"""What a model of 100 MB costs to import: less than three times its size in the whole process, and seconds."""

from __future__ import annotations

import sys

import pytest
from benchmarks.bench_import import MB, made_up, measure


@pytest.mark.skipif(sys.platform == "win32", reason="peak memory is read as Unix gives it")
def test_a_hundred_megabytes_take_less_than_three_times_their_size(tmp_path):
    path = made_up(tmp_path / "m.onnx")
    found = measure(path, repeat=1)
    assert found["size"] > 99 * MB
    assert found["ratio"] < 3
    assert found["seconds"] < 30  # the claim of 3 s, on a quiet machine, is the next test's


@pytest.mark.bench
@pytest.mark.skipif(sys.platform == "win32", reason="peak memory is read as Unix gives it")
def test_a_hundred_megabytes_take_less_than_three_seconds(tmp_path):
    assert measure(made_up(tmp_path / "m.onnx"))["seconds"] < 3
