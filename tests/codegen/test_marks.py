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
from workbench.codegen.assembly_listing import instructions
from workbench.codegen.backend import backend_for, backends
from workbench.codegen.c.compiler import problem
from workbench.codegen.lowering import lowered
from workbench.errors import WorkbenchError
from workbench.ir import For, blocks, loops
from workbench.space.default_schedule import default_schedule

HERE = Target.host(threads=2)
RAPIDS = Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=sapphirerapids -threads=2")
HASWELL = Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=haswell -threads=2")
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


def tiled_matmul(target):
    s = Schedule(workloads.matmul(64, 64, 64), target)
    s.split("j", [None, 16])
    s.split("i", [None, 4])
    s.split("k", [None, 8])
    return s.reorder("i.0", "j.0", "k.0", "k.1", "i.1", "j.1").vectorize("j.1").unroll("i.1")


def runs(listing):
    """Rows in order, each run of lines once."""
    return [row for k, (_, row) in enumerate(listing) if k == 0 or listing[k - 1][1] != row]


@pytest.mark.parametrize("target", [HASWELL, ARM], ids=str)
def test_the_instructions_of_a_tiled_product(target):
    """Golden: where each loop begins and ends, where accumulators get their first values and where they are stored."""
    s = tiled_matmul(target)
    _, asm = check(s.func, target)
    loops = ["i.0", "j.0", "k.0", "k.1"]
    if target is HASWELL:  # the other machine's scheduler mixes what does not depend on each other
        # fmt: off
        assert runs(asm) == [
            "", "i.0", "stmt:C", "j.0", "stmt:C", "init:C", "k.0", "stmt:C", "k.1", "stmt:C",
            "k.1", "k.0", "stmt:C", "j.0", "i.0", "",
        ]
        # fmt: on
    labels = [(line, row) for line, row in asm if not line.startswith("\t")][1:]
    assert [row for _, row in labels] == loops
    jumps = [row for line, row in asm if re.search(r"\.LBB\d+_\d+$", line)]
    assert jumps == loops[::-1]
    zeros = [row for line, row in asm if re.match(r"\t(vxorps|movi)\t", line)]
    assert zeros == ["init:C"] * len(zeros)
    assert len(zeros) == (8 if target is HASWELL else 16)
    counters = [row for line, row in asm if re.match(r"\t(xorl\t|mov\tx\d+, xzr)", line)]
    assert sorted(set(counters)) == loops
    stores = [row for line, row in asm if re.match(r"\t(vmovups\t%ymm|st[pr]\tq)", line)]
    assert set(stores) == {"stmt:C"}


#: What LLVM may write: a counter, an accumulator that is spilled at once, a constant that lies on the stack, and a
#: function that begins without any row.
WRITTEN = """
kernel:
\t.loc\t1 1 0
\tpushq\t%rbx
\t.loc\t1 0 0
\txorl\t%esi, %esi
\tvxorps\t%xmm0, %xmm0, %xmm0
\tvbroadcastss\t.LCPI0_0(%rip), %ymm9
\tvmovaps\t%ymm9, 32(%rsp)
\tvmovaps\t%ymm0, %ymm1
.LBB0_1:
\t.loc\t1 3 0
\tvfmadd231ps\t(%rax,%rsi,4), %ymm2, %ymm0
\tvaddps\t%ymm1, %ymm3, %ymm1
\t.loc\t1 0 0
\tvmovaps\t%ymm1, %ymm4
\tvmovaps\t%ymm4, %ymm1
\t.loc\t1 2 0
\tincq\t%rsi
\tjb\t.LBB0_1
\t.loc\t1 4 0
\tja\t.LBB0_3
\tvmaxps\t32(%rsp), %ymm0, %ymm0
.LBB0_3:
\t.loc\t1 1 0
\tpopq\t%rbx
other:
\tvxorps\t%xmm5, %xmm5, %xmm5
"""
EXPECTED = [
    "kernel:|", "pushq|", "xorl|k", "vxorps|init:C", "vbroadcastss|stmt:relu", "vmovaps|stmt:relu", "vmovaps|init:C",
    ".LBB0_1:|k", "vfmadd231ps|stmt:C", "vaddps|stmt:C", "vmovaps|stmt:C", "vmovaps|stmt:C", "incq|k", "jb|k",
    "ja|stmt:relu", "vmaxps|stmt:relu", ".LBB0_3:|", "popq|", "other:|", "vxorps|",
]  # fmt: skip


def test_what_the_compiler_puts_there_belongs_to_whom_it_serves():
    rows = ["", "k", "stmt:C", "stmt:relu"]
    found = instructions(WRITTEN, lambda number: rows[number - 1], frozenset({"init:C"}))
    assert [f"{line.split()[0]}|{row}" for line, row in found] == EXPECTED
    found = instructions(WRITTEN, lambda number: rows[number - 1])
    assert not any(row.startswith("init:") for _, row in found)  # a code without first values has none


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
    sums = 7 * max(1, 16 // HERE.lanes("float32"))  # vectors of accumulators
    assert sum("fmadd" in line for line in of["stmt:conv"]) in (sums, 2 * sums, 4 * sums)  # iterations at once
    assert not any("fmadd" in line for row, part in of.items() if row != "stmt:conv" for line in part)
    assert [row for line, row in lines if "br i1" in line and "label %c_" in line] == ["c"]
    assert {row for line, row in asm if re.match(r"\tv?xorps\t", line)} == {"init:conv"}
    heads = [row for line, row in asm if line.startswith(".L") and row and ":" not in row]
    assert heads == ["h", "w.0", "pad_h", "pad_w", "pad_c", "o.0", "kh", "kw", "c"]


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
