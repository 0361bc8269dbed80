"""Lines and instructions know their rows; the code is the same whether anybody asks or not."""

from __future__ import annotations

import random
import re
import sys
from pathlib import Path

import pytest
from codegen.test_tensorize import tiled
from property import randoms

from workbench import Schedule, Target, workloads
from workbench.codegen import backend_for, backends
from workbench.codegen.assembly import instructions
from workbench.codegen.c.compiler import problem
from workbench.codegen.lowering import lowered
from workbench.errors import WorkbenchError
from workbench.ir.stmt import For, blocks, loops
from workbench.tune.default import default_schedule

HERE = Target.host(threads=2)
RAPIDS = Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=sapphirerapids -threads=2")
ARM = Target("llvm -mtriple=aarch64-unknown-linux-gnu -mcpu=neoverse-v1 -threads=2")


def conv(target=HERE):
    s = Schedule(workloads.conv2d_nhwc(28, 28, 16, 32), target)
    o, i = s.split("o", [None, 16])
    w, wi = s.split("w", [None, 7])
    s.reorder("h", w, o, "kh", "kw", "c", wi, i)
    s.compute_at("pad", w)
    return s.vectorize(i).unroll(wi).parallel("n", "h")


def unmarked(func, target):
    """Text and instructions as builds make them."""
    b = backend_for(target)
    text = b.emit(func, target, "kernel", False)[0]
    return text, [line for line, _ in instructions(b.assembly(text, target))]


def ids(func):
    """Rows that lines may be of."""
    names = {lp.name for lp, _ in loops(func.body)}
    return names | {f"{what}:{b.name}" for what in ("stmt", "init") for b, _ in blocks(func.body)} | {""}


def in_loops(listing):
    """Instructions between a label and a jump back to it."""
    labels = {m[1]: k for k, (line, _) in enumerate(listing) if (m := re.match(r"(\.?L[^\s:]+):", line))}
    inside = set()
    for k, (line, _) in enumerate(listing):
        for name in re.findall(r"[.\w]+$", line):
            if labels.get(name, k) < k:
                inside |= set(range(labels[name], k + 1))
    return [listing[k] for k in sorted(inside) if listing[k][0].startswith("\t")]


def below(s: For):
    """Rows of a loop and of all that is in it."""
    return {lp.name for lp, _ in loops((s,))} | {f"{w}:{b.name}" for w in ("stmt", "init") for b, _ in blocks((s,))}


def check(func, target):
    """The code is the same; loops that are loops have lines, and what is inside of them is known."""
    text, plain = unmarked(func, target)
    b = backend_for(target)
    lines, asm = b.listing(func, target), b.asm_listing(func, target)
    assert "\n".join(line for line, _ in lines) + "\n" == text
    assert [line for line, _ in asm] == plain
    for listing in (lines, asm):
        rows = {row for _, row in listing}
        assert rows <= ids(func)
        for lp, _ in loops(lowered(func).body):
            assert below(lp) & rows, lp.name
    own = in_loops(asm)
    assert sum(row != "" for _, row in own) >= 0.95 * len(own)
    return lines, asm


def test_every_loop_and_statement_of_a_convolution():
    func = conv().func
    lines, asm = check(func, HERE)
    for lp, path in loops(lowered(func).body):
        if lp.kind == "serial":
            for listing in (lines, asm):
                assert lp.name in {row for _, row in listing}, lp.name
                # A loop's own lines are what counts and jumps.
                assert sum(row == lp.name for _, row in listing) < 40, path
    of = {row: [line for line, own in asm if own == row] for row in {row for _, row in asm}}
    assert sum("fmadd" in line for line in of["stmt:conv"]) in (7, 14, 28)  # seven accumulators, iterations at once
    assert not any("fmadd" in line for row, part in of.items() if row != "stmt:conv" for line in part)
    assert [row for line, row in lines if "br i1" in line and "label %c_" in line] == ["c"]


@pytest.mark.parametrize(
    "target", [RAPIDS, ARM, Target("llvm -mcpu=haswell -mtriple=x86_64-unknown-linux-gnu")], ids=str
)
def test_other_machines(target):
    check(conv(target).func, target)


@pytest.mark.parametrize(("name", "stored"), [("x86.amx.bf16", "tilestored"), ("x86.vnni.dot4", "vmovdqu")])
def test_instructions_of_an_intrinsic_are_those_of_its_loop(name, stored):
    s, loop, (i0, j0, _, _) = tiled(name, 64, 128, 128, 2, 2, order="ijk")
    s.tensorize(loop, name).parallel(i0, j0)
    lines, asm = check(s.func, RAPIDS)
    computing = [(line, row) for line, row in asm if re.match(r"\t(tdp|vpdpb)", line)]
    assert {row for _, row in computing} == {loop}
    assert {row for line, row in asm if line.startswith(f"\t{stored}")} >= {"stmt:C"}
    assert any(row == "init:C" for _, row in lines)


@pytest.mark.parametrize("make", [lambda: workloads.softmax(8, 100), lambda: workloads.pool2d(9, 9, 8, "max", 3, 2, 1)])
def test_default_schedules(make):
    check(default_schedule(make(), HERE).func, HERE)


@pytest.mark.parametrize("seed", range(6))
def test_random_schedules(seed):
    rng = random.Random(seed)
    func = randoms.random_schedule(rng, rng.choice(list(randoms.WEIGHTS))).schedule.func
    for target in (HERE, Target("c")):
        try:
            text = backend_for(target).emit(func, target, "kernel", False)[0]
        except WorkbenchError:
            continue
        lines = backend_for(target).listing(func, target)
        assert "\n".join(line for line, _ in lines) + "\n" == text
        assert {row for _, row in lines} <= ids(lowered(func))
    text, plain = unmarked(func, HERE)
    assert [line for line, _ in backend_for(HERE).asm_listing(func, HERE)] == plain


def test_c_names_every_loop():
    s = conv()
    lines = backends["c"].listing(s.func, HERE)
    for name in ("h", "w.0", "o.0", "kh", "kw", "c", "w.1", "o.1", "pad_h", "pad_w", "pad_c"):
        own = [line.strip() for line, row in lines if row == name]
        assert any(line.startswith(("for (", "const int64_t")) for line in own), name
    assert [line.strip() for line, row in lines if row == "init:conv"][-1] == "}"
    assert any("+=" in line for line, row in lines if row == "stmt:conv")


@pytest.mark.skipif(problem(Target("c")) is not None, reason="no C compiler for this machine")
def test_instructions_of_a_c_compiler():
    target = Target("c -threads=2")
    func = conv().func
    _, plain = unmarked(func, target)
    asm = backend_for(target).asm_listing(func, target)
    assert [re.sub(r"\.L\w+", "L", line) for line, _ in asm] == [re.sub(r"\.L\w+", "L", line) for line in plain]
    own = in_loops(asm)
    assert sum(row != "" for _, row in own) >= 0.95 * len(own)
    assert {"stmt:conv", "stmt:pad", "c", "kw"} <= {row for _, row in asm}


def test_kernels_of_the_suite(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "benchmarks"))
    sys.modules.pop("suite", None)
    from suite.cases import CASES

    assert len(CASES) == 15
    for case in CASES.values():
        check(default_schedule(case.make(), HERE).func, HERE)
