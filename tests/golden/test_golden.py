"""Printed nests, compared with text files. ``WORKBENCH_GOLDEN=write pytest tests/golden`` writes them anew."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from workbench import workloads
from workbench.ir.text.parser import parse
from workbench.ir.text.printer import to_text
from workbench.schedule import Hole, Schedule

FOLDER = Path(__file__).parent


def tiled_matmul():
    s = Schedule(workloads.matmul(512, 512, 512, constant_b=True))
    s.split("i", [None, 8])
    s.split("j", [None, 32])
    s.reorder("i.0", "j.0", "k", "i.1", "j.1")
    s.transform_layout("B", 1, 32)
    s.unroll("i.1").vectorize("j.1").parallel("i.0")
    return s


def open_matmul():
    s = Schedule(workloads.matmul(512, 512, 512, bias=True, relu=True))
    s.split("i", [Hole("i0"), Hole("i1"), Hole("i2")])
    s.split("j", [None, Hole("j1", choices=[8, 16, 32])])
    s.reorder("i.0", "j.0", "i.1", "k", "i.2", "j.1")
    s.compute_inline("bias_add")
    s.reverse_compute_at("relu", "j.0")
    s.vectorize("j.1")
    return s


def conv_with_cache():
    s = Schedule(workloads.conv2d_nhwc(56, 56, 64, 64, bias=True, relu=True))
    s.compute_inline("bias_add")
    s.split("w", [None, 7])
    s.split("o", [None, 32])
    s.split("c", [None, 8])
    s.reorder("n", "h", "w.0", "o.0", "c.0", "kh", "kw", "c.1", "w.1", "o.1")
    s.reverse_compute_at("relu", "o.0")
    s.compute_at("pad", "h")
    s.transform_layout("W", 3, 32)
    s.vectorize("o.1").unroll("w.1").parallel("n", "h")
    return s


def softmax_rows():
    s = Schedule(workloads.softmax(128, 1000))
    for block in ("inverse", "total", "exps", "largest"):
        s.compute_at(block, "softmax_i")
    s.parallel("softmax_i")
    return s


PLAIN = {name: workloads.ALL[name] for name in ("matmul", "conv_bias_relu", "softmax", "concat", "conv_grouped")}
SCHEDULED = {f.__name__: f for f in (tiled_matmul, open_matmul, conv_with_cache, softmax_rows)}


def compare(name: str, text: str) -> None:
    path = FOLDER / f"{name}.txt"
    if os.environ.get("WORKBENCH_GOLDEN") == "write":
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PLAIN)
def test_workload(name):
    compare(name, to_text(PLAIN[name]()))


@pytest.mark.parametrize("name", SCHEDULED)
def test_schedule(name):
    s = SCHEDULED[name]()
    compare(name, to_text(s.func))
    assert parse(to_text(s.func)) == s.func
