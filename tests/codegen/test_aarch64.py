"""Code for AArch64, made here and read: no such machine is needed."""

from __future__ import annotations

import random
import re

import pytest
from property import tensors

from workbench import te, workloads
from workbench.codegen.backend import build_func
from workbench.codegen.llvm import llvmlite_binding
from workbench.errors import BuildError
from workbench.runtime.native import timing_loop
from workbench.runtime.native.emitter import Module
from workbench.runtime.thread_pool import native_pool
from workbench.schedule import Schedule
from workbench.target import Target

ARM = Target("llvm -mtriple=aarch64-unknown-linux-gnu -mcpu=neoverse-n1 -threads=4")


def hot_loop(asm: str, what: str = "fmla") -> list[str]:
    """Instructions of the innermost loop (a label up to a branch back to it) that has the most of `what`."""
    lines = [line.split("//")[0].rstrip() for line in asm.splitlines()]
    lines = [line for line in lines if line and not line.strip().startswith((".p2align", ".cfi", ".loc"))]
    where = {line.rstrip(":"): k for k, line in enumerate(lines) if re.fullmatch(r"\.LBB\d+_\d+:", line)}
    found: list[list[str]] = []
    for k, line in enumerate(lines):
        back = re.search(r"(\.LBB\d+_\d+)$", line)
        if back and where.get(back[1], k) < k:
            body = lines[where[back[1]] + 1 : k + 1]
            if not any(x.endswith(":") for x in body):
                found.append([x.strip() for x in body])
    assert found, asm
    return max(found, key=lambda body: sum(x.startswith(what) for x in body))


def spills(body: list[str]) -> list[str]:
    return [x for x in body if re.search(r"\[sp\b", x)]


def calls(asm: str) -> set[str]:
    return set(re.findall(r"^\s+bl\s+(\S+)", asm, re.MULTILINE))


def tiled_matmul(rows: int, columns: int) -> Schedule:
    s = Schedule(workloads.matmul(96, 96, 96), ARM)
    i0, i1 = s.split("i", [None, rows])
    j0, j1 = s.split("j", [None, columns])
    s.reorder(i0, j0, "k", i1, j1)
    s.vectorize(j1)
    s.unroll(i1)
    s.parallel(i0, j0)
    return s


def test_target():
    assert (ARM.vector_bytes, ARM.vector_registers, ARM.lanes("float32")) == (16, 32, 4)


@pytest.mark.parametrize(("rows", "columns"), [(4, 16), (8, 8), (6, 16)])
def test_matmul_tile_lives_in_registers(rows, columns):
    """Every multiply-add of the reducing loop is one fused vector instruction on an accumulator of its own."""
    asm = tiled_matmul(rows, columns).build().asm
    body = hot_loop(asm)
    fused = [x for x in body if re.match(r"fmla\s+v\d+\.4s", x)]
    tile = rows * columns // ARM.lanes("float32")
    assert len({re.match(r"fmla\s+(v\d+)", x)[1] for x in fused}) == tile
    assert len(fused) % tile == 0
    assert not [x for x in body if x.startswith(("fmul", "fadd", "st", "bl"))]
    assert not spills(body)
    assert not calls(asm)


def test_a_tile_that_is_too_large_spills():
    """The check for spills can fail."""
    body = hot_loop(tiled_matmul(12, 16).build().asm)
    assert spills(body)


def test_convolution():
    s = Schedule(workloads.conv2d_nhwc(8, 8, 16, 16, bias=True, relu=True), ARM)
    s.compute_inline("pad")
    w0, w1 = s.split("w", [None, 4])
    o0, o1 = s.split("o", [None, 16])
    s.reorder("h", w0, o0, "kh", "kw", "c", w1, o1)
    s.unroll(w1)
    s.vectorize(o1)
    asm = s.build().asm
    body = hot_loop(asm)
    assert len({x.split(",")[0] for x in body if re.match(r"fmla\s+v\d+\.4s", x)}) == 16
    assert not spills(body)
    assert not calls(asm)


def test_softmax_calls_no_library():
    """The exponential is vector code of our own."""
    s = Schedule(workloads.softmax(64, 256), ARM)
    for b in s.blocks:
        loop = s.func.block(b.name)[1][-1].name
        if not any(it.kind == "R" for it in s.func.block(b.name)[0].iters):
            s.vectorize(loop)
    asm = s.build().asm
    assert not calls(asm) - {"memset"}
    assert len([x for x in hot_loop(asm) if ".4s" in x]) >= 8


@pytest.mark.parametrize("name", sorted(workloads.ALL))
def test_no_workload_needs_another_machine(name):
    """Nothing in the text belongs to x86, whatever the workload."""
    kernel = Schedule(workloads.ALL[name](), ARM).build()
    assert "x86" not in kernel.llvm
    assert "prefer-vector-width" not in kernel.llvm
    assert re.search(r"^kernel:", kernel.asm, re.MULTILINE)
    assert not calls(kernel.asm) - {"memset", "memcpy"}


@pytest.mark.parametrize("cpu", ["cortex-a72", "neoverse-v1", "apple-m1"])
def test_other_cpus(cpu):
    triple = "arm64-apple-darwin23" if cpu.startswith("apple") else "aarch64-unknown-linux-gnu"
    s = Schedule(workloads.matmul(16, 16, 16), Target(f"llvm -mtriple={triple} -mcpu={cpu}"))
    s.reorder("k", "j")
    s.vectorize("j")
    asm = s.build().asm
    assert "fmla" in asm
    assert not re.search(r"\bz\d+\.s", asm)  # no SVE


@pytest.mark.parametrize("extra", ["", ",+fullfp16"])
def test_extensions_that_are_left_out_are_off(extra):
    """The name of a CPU that has them does not bring them back."""
    target = Target(f"llvm -mtriple=aarch64-unknown-linux-gnu -mcpu=neoverse-v1 -mattr=+neon{extra}")
    wanted = {"+neon", "-dotprod", "-sve", "-i8mm", "+fullfp16" if extra else "-fullfp16"}
    assert wanted <= set(llvmlite_binding.feature_string(target.features, target.triple).split(","))
    x = te.placeholder((64,), "float16", name="X")
    s = Schedule(te.func(te.compute((64,), lambda i: x[i] + x[i], name="Y")), target)
    s.vectorize("i")
    assert bool(re.search(r"fadd\s+v\d+\.8h", s.build().asm)) == bool(extra)


@pytest.mark.parametrize("cpu", ["cortex-a72", "neoverse-n1", "neoverse-v1"])
def test_dot_products_are_where_the_cpu_has_them(cpu):
    target = Target(f"llvm -mtriple=aarch64-unknown-linux-gnu -mcpu={cpu} -threads=1")
    s = Schedule(tensors.NESTS["signed_dots"](), None)
    tensors.tensorized(random.Random(0), s, "arm.dotprod.sdot")
    if cpu == "cortex-a72":
        with pytest.raises(BuildError) as unbuilt:
            build_func(s.func, target)
        assert unbuilt.value.code == "build.intrinsic"
        return
    body = hot_loop(s.build(target=target).asm, "sdot")
    assert [x for x in body if re.match(r"sdot\s+v\d+\.4s, v\d+\.16b, v\d+\.16b", x)]
    assert not spills(body)


@pytest.mark.parametrize("system", ["linux", "darwin"])
def test_runtime_pieces_are_not_x86_only(system):
    """The thread pool and the clock in the machine's own words: `yield`, the futex call, cache lines by address."""
    pool = llvmlite_binding.assembly(Module(system, "aarch64").text(*native_pool.ENTRIES), ARM)
    assert "yield" in pool
    own = {"drain", "region", "all_here", "find_self", "wb_wake"}
    assert calls(pool) - own <= {"syscall", "pthread_self", "sched_yield", "usleep"}
    assert ("syscall" in calls(pool)) == (system == "linux")
    # LLVM here has the assembler of this machine only, so inline assembly is read as text.
    harness = Module(system, "aarch64").text(*timing_loop.ENTRIES)
    assert "x86" not in harness
    assert '"dc civac, $0"' in harness
    assert '"dsb ish"' in harness
