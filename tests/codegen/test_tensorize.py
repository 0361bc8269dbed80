"""Intrinsics: what they describe, the interpreter and the instructions agree, for tiles of all kinds of products."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest
from codegen.running import compiled
from property import tensors

from workbench import host, te, workloads
from workbench.codegen.backend import build_func
from workbench.codegen.llvm import llvmlite_binding
from workbench.errors import BuildError, ScheduleError, TargetError
from workbench.intrinsics import registry
from workbench.ir import Func, loops
from workbench.ir.interpreter import interp
from workbench.ir.numpy_reference import evaluate
from workbench.runtime.measuring import operands
from workbench.schedule import Schedule
from workbench.target import Target

HERE = Target.host(threads=2)
WORDS = ("x86.avx2.dot4", "x86.avx2.signed4")
NAMES = tuple(tensors.TILES)  # those of accelerators are not of a processor's nests: test_vta


def needs(name: str) -> None:
    """Skip where the machine does not have the instruction."""
    missing = registry[name].missing(HERE)
    if missing:
        pytest.skip(f"this machine lacks {', '.join(missing)}")


def product(name: str, m: int, n: int, k: int, constant: bool = True) -> Func:
    """Matrix product of the intrinsic's types."""
    a = registry[name].func.buffer("A").dtype
    if a == "bfloat16":
        return workloads.matmul(m, n, k, dtype=a, constant_b=constant)
    return workloads.matmul_int8(m, n, k, signed=a == "int8", constant_b=constant)


def whole_range(func: Func, seed: int = 0) -> dict[str, np.ndarray]:
    """Inputs that reach the ends of their types."""
    rng, out = np.random.default_rng(seed), interp.random_inputs(func, seed)
    for b in func.inputs:
        if np.issubdtype(np.dtype(b.dtype), np.integer):
            info = np.iinfo(b.dtype)
            out[b.name] = rng.integers(info.min, info.max + 1, b.logical_shape()).astype(b.dtype)
    return out


def check(s: Schedule, seed: int = 0, interpret: bool = True) -> None:
    """Compiled code, interpreter and NumPy agree; integers to the bit."""
    inputs = whole_range(s.base, seed)
    want = evaluate.evaluate(s.base, inputs)
    got = compiled(s.func, **inputs)
    for b, y in zip(s.func.outputs, got if isinstance(got, tuple) else (got,), strict=True):
        exact = np.issubdtype(y.dtype, np.integer)
        scale = float(np.abs(want[b.name].astype("f8")).max())
        np.testing.assert_allclose(y, want[b.name], rtol=0, atol=0 if exact else 1e-5 * scale)
        if interpret:
            simulated = interp.run(s.func, inputs)[b.name]
            np.testing.assert_allclose(y, simulated, rtol=0, atol=0 if exact else 1e-5 * scale)


@pytest.mark.parametrize("name", NAMES)
def test_an_intrinsic_matches_its_own_description(name):
    intrinsic = registry[name]
    s = Schedule(intrinsic.func).tensorize(intrinsic.chain[0].name, name)
    needs(name)
    check(s)


def test_products_of_infinities_and_of_denormal_numbers():
    """As in the interpreter but for denormal numbers, which the instruction takes for 0 and never gives."""
    name = "x86.amx.bf16"
    needs(name)
    func = registry[name].func
    s = Schedule(func).tensorize(registry[name].chain[0].name, name)
    a, b = (np.zeros(func.buffer(n).shape, np.dtype("bfloat16")) for n in "AB")
    a[:4, 0] = [1e-39, 1e-20, np.inf, np.nan]
    b[0, :3, 0] = [1e30, 1e-20, 0]
    got, want = compiled(s.func, a, b), interp.run(s.func, {"A": a, "B": b})["C"]
    assert want[0, 0] > 1e-10
    assert 0 < want[1, 1] < 1e-38
    want[0, 0] = want[1, 1] = 0
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", NAMES)
def test_random_tiles(name, seed):
    needs(name)
    rng = random.Random(f"{name} {seed}")
    tile = tensors.TILES[name]
    m, n, k = (rng.randint(1, 5) * int(np.prod(t or (1,))) for t in (tile.i, tile.j, tile.k))
    for _ in range(3):
        s = Schedule(product(name, m, n, k))
        tensors.tensorized(rng, s, name)
        check(s, seed, interpret=m * n * k < 40_000)


@pytest.mark.parametrize("name", NAMES)
def test_on_a_target_without_it(name):
    plain = Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64 -threads=1")
    s = Schedule(tensors.NESTS[tensors.TILES[name].nest](), plain)
    with pytest.raises(ScheduleError) as refused:
        tensors.tensorized(random.Random(0), s, name)
    assert refused.value.code == "tensorize.target"
    assert registry[name].requires[-1] in refused.value.message
    grey = [m for m in s.moves() if m.primitive == "tensorize" and m.args["intrin"] == name]
    assert [m.code for m in grey] == ["tensorize.target"]
    free = Schedule(s.base)
    tensors.tensorized(random.Random(0), free, name)
    with pytest.raises(BuildError) as unbuilt:
        build_func(free.func, plain)
    assert unbuilt.value.code == "build.intrinsic"
    inputs = whole_range(free.base)
    got, want = interp.run(free.func, inputs)["C"], evaluate.evaluate(free.base, inputs)["C"]
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-4)


def tiled(name: str, m: int, n: int, k: int, mi: int, nj: int, panel: int | None = None, order: str = "ikj"):
    """The usual nest: a block of tiles in registers inside a loop over (a panel of) the sum."""
    s = Schedule(product(name, m, n, k))
    tile = tensors.TILES[name]
    i0, i1, *i2 = s.split("i", [None, mi, *tile.i])
    j0, j1, j2 = s.split("j", [None, nj, *tile.j])
    k0, k1, *k2 = s.split("k", [None, panel or k // int(np.prod(tile.k)), *tile.k])
    outer = {"i": i0, "j": j0, "k": k0}
    s.reorder(*(outer[x] for x in order), k1, i1, j1, *i2, j2, *k2)
    s.transform_layout("B", 1, tile.j[0]).transform_layout("B", 1, tile.k[-1], "here")
    s.unroll(i1).unroll(j1)
    return s, (i2 or [j2])[0], (i0, j0, i1, j1)


@pytest.mark.parametrize("order", ["ikj", "kij", "jik"])
@pytest.mark.parametrize("name", ["x86.amx.bf16", "x86.amx.u8s8", "x86.vnni.dot4", "x86.vnni.signed4", *WORDS])
def test_sums_go_on_over_panels(name, order):
    needs(name)
    size = int(np.prod(tensors.TILES[name].k))
    s, loop, _ = tiled(name, 32, 64, 6 * size, 2, 2, 2, order)
    check(s.tensorize(loop, name), interpret=False)


@pytest.mark.parametrize("name", ["x86.amx.bf16", "x86.vnni.dot4", *WORDS])
def test_more_results_than_registers(name):
    needs(name)
    mi = 4 if name == "x86.amx.bf16" else 16
    s, loop, _ = tiled(name, 64, 64, 128, mi, 2)
    check(s.tensorize(loop, name), interpret=False)


@pytest.mark.parametrize("name", ["x86.amx.s8s8", "x86.vnni.dot4", "x86.vnni.signed4", *WORDS])
def test_in_parallel(name):
    needs(name)
    s, loop, (i0, j0, _, _) = tiled(name, 64, 128, 128, 2, 2, order="ijk")
    check(s.tensorize(loop, name).parallel(i0, j0), interpret=False)


def test_tiles_are_set_up_again_after_a_parallel_region():
    """The caller's thread works in the region too, and gives its tiles back at the end of it."""
    name = "x86.amx.u8s8"
    needs(name)

    def stage(c: str) -> te.Tensor:
        a, b = te.placeholder((32, 64), "uint8", f"A{c}"), te.placeholder((64, 16), "int8", f"B{c}", constant=True)
        k = te.reduce_axis(64, "k")
        return te.compute(
            (32, 16),
            lambda i, j: te.sum(te.cast(a[i, k], "int32") * te.cast(b[k, j], "int32"), axis=k),
            name=c,
        )

    s = Schedule(te.func([stage("C"), stage("D"), stage("E")]), HERE)
    for c in "CDE":
        i, j, k = (lp.name for lp in s.func.block(c)[1])
        i0, i1 = s.split(i, [None, 16])
        k1, k2 = s.split(k, [None, 4])
        s.reorder(i0, i1, j, k1, k2).transform_layout(f"B{c}", 0, 4, "here")
        s.tensorize(i1, name)
        if c == "D":
            s.parallel(i0)
    measured = s.measure(repeat=1)  # in a process of its own: a tile that is not set up ends it
    assert measured.ok, measured.error


@pytest.mark.parametrize("name", ["x86.amx.bf16", "x86.vnni.dot4", "x86.avx2.dot4"])
def test_a_result_that_goes_on_to_other_stages(name):
    needs(name)
    func = product(name, 32, 32, 64)
    if name == "x86.amx.bf16":
        func = workloads.matmul(32, 32, 64, bias=True, relu=True, dtype="bfloat16", constant_b=True)
    else:
        a, b = te.placeholder((32, 64), "uint8", "A"), te.placeholder((64, 32), "int8", "B", constant=True)
        k = te.reduce_axis(64, "k")
        c = te.compute(
            (32, 32), lambda i, j: te.sum(te.cast(a[i, k], "int32") * te.cast(b[k, j], "int32"), axis=k), name="C"
        )
        func = te.func(te.compute((32, 32), lambda i, j: te.maximum(c[i, j], 0) / 3, name="D"))
    s = Schedule(func)
    tensors.tensorized(random.Random(1), s, name)
    for block in s.blocks[1:-1]:
        s.compute_inline(block.name)
    top = s.func.body[0]
    check(s)
    check(s.parallel(top.name))


def copied(name: str, m: int, n: int, k: int, whole: tuple[int, int, int]) -> tuple[Schedule, str, str]:
    """Inputs that are copied and packed inside the kernel, and padded to whole tiles; the copy of B, and the tile."""
    s = Schedule(product(name, m, n, k, constant=False))
    tile = tensors.TILES[name]
    s.cache_read("C", "A")
    copy = s.cache_read("C", "B")
    b = s.func.block(copy)[0]
    for axis, old, new in zip("ijk", (m, n, k), whole, strict=True):
        if old != new:
            s.pad("C", axis, new)
    i0, i1, *i2 = s.split("i", [None, 1, *tile.i])
    j0, j1, j2 = s.split("j", [None, 1, *tile.j])
    k0, *k2 = s.split("k", [None, *tile.k])
    s.reorder(j0, i0, k0, i1, j1, *i2, j2, *k2)
    s.transform_layout(b.buffer, 1, tile.j[0]).transform_layout(b.buffer, 1, tile.k[-1], "here")
    return s, b.name, (i2 or [j2])[0]


@pytest.mark.parametrize("name", ["x86.amx.bf16", "x86.vnni.dot4", *WORDS])
def test_packed_inside_the_kernel(name):
    needs(name)
    s, copy, loop = copied(name, 32, 48, 64, (32, 48, 64))
    s.compute_at(copy, s.func.block("C")[1][0].name)
    check(s.tensorize(loop, name))


@pytest.mark.parametrize("name", ["x86.amx.bf16", "x86.amx.u8s8", "x86.vnni.dot4", *WORDS])
def test_axes_of_any_length_are_padded(name):
    needs(name)
    s, _, loop = copied(name, 35, 37, 41, (48, 48, 64))
    check(s.tensorize(loop, name))


def test_a_later_step_may_not_move_an_operand():
    name = "x86.vnni.dot4"
    s, copy, loop = copied(name, 4, 32, 8, (4, 32, 8))
    s.tensorize(loop, name)
    before = s.func
    with pytest.raises(ScheduleError) as refused:
        s.storage_align(s.func.block(copy)[0].buffer, 2, 8)
    assert refused.value.code == "loop.mark"
    assert name in refused.value.message
    assert s.func is before


@pytest.mark.parametrize(
    ("name", "machine", "instruction"),
    [
        ("arm.dotprod.sdot", "-mtriple=aarch64-unknown-linux-gnu -mcpu=neoverse-n1", r"\tsdot"),
        ("x86.avx512bw.dot4", "-mtriple=x86_64-unknown-linux-gnu -mcpu=skylake-avx512", r"\tvpmaddwd.*%zmm"),
        ("x86.avx2.signed4", "-mtriple=x86_64-unknown-linux-gnu -mcpu=haswell", r"\tvpmaddwd.*%ymm"),
    ],
)
def test_another_machine(name, machine, instruction):
    """The instruction is there in code for a machine that this one is not."""
    target = Target(f"llvm {machine} -threads=1")
    s = Schedule(tensors.NESTS[tensors.TILES[name].nest](), target)
    tensors.tensorized(random.Random(0), s, name)
    assert re.search(instruction, llvmlite_binding.assembly(build_func(s.func, target).source, target))
    inputs = whole_range(s.base)
    got, want = interp.run(s.func, inputs)["C"], evaluate.evaluate(s.base, inputs)["C"]
    np.testing.assert_array_equal(got, want)


def test_portable_c_runs_the_loops():
    s = Schedule(tensors.NESTS["dots"]())
    tensors.tensorized(random.Random(0), s, "x86.vnni.dot4")
    text = s.build(target="c").source
    assert "vpdpbusd" not in text
    assert "for (" in text


def test_no_step_cuts_through():
    s = Schedule(tensors.NESTS["dots"]())
    tensors.tensorized(random.Random(0), s, "x86.vnni.dot4")
    inner = next(lp for lp, path in loops(s.func.body) if path and path[-1].intrin)
    with pytest.raises(ScheduleError) as refused:
        s.split(inner.name, [None, 2])
    assert refused.value.code == "unit.inside"


def test_where_the_system_grants_no_tiles(monkeypatch):
    """The kernel's interface is asked before the code can run, and its refusal is an error that says what to do."""
    name = "x86.amx.bf16"
    needs(name)
    s, loop, _ = tiled(name, 32, 32, 32, 2, 2)
    code = build_func(s.tensorize(loop, name).func, HERE)
    plain = build_func(workloads.matmul(4, 4, 4), HERE)
    monkeypatch.setattr(host, "_ARCH_REQ_XCOMP_PERM", 0x7FFF)
    host.request_tiles.cache_clear()
    try:
        with pytest.raises(TargetError) as refused:
            llvmlite_binding.load_object(code.object, (code.symbol,))
        llvmlite_binding.load_object(plain.object, (plain.symbol,))
    finally:
        host.request_tiles.cache_clear()
    assert refused.value.code == "target.tiles"
    assert "arch_prctl" in refused.value.message


def test_a_bfloat16_answer_is_checked():
    """The runner sees a wrong element of a type that NumPy does not know as a float."""
    x = te.placeholder((4, 8), "bfloat16", "X")
    func = te.func(te.compute((4, 8), lambda i, j: x[i, j] * 2.0, name="Y"))
    task = operands.prepare(func, 0)
    good = task.expected["Y"].array.copy()
    assert task.expected["Y"].worst(good) == 0
    good[1, 2] += 1
    assert task.expected["Y"].worst(good) > 10
