"""Tiles that the threads of a warp compute together: right under the CPU's threads, and taken by NVRTC."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from codegen import warp_tile_nests as nests

from workbench.codegen.backend import backend_for, generate_func
from workbench.codegen.gpu import nvrtc, simt
from workbench.errors import BuildError, RunFailure, ScheduleError
from workbench.intrinsics import registry
from workbench.ir.interpreter import interp
from workbench.ir.numpy_reference import evaluate
from workbench.runtime.kernel import Kernel
from workbench.schedule import Schedule
from workbench.target import Target

SIMT = Target("cpu-simt", threads=1)
runs = pytest.mark.skipif(simt.problem() is not None, reason="there is no C++ compiler")
compiles = pytest.mark.skipif(
    nvrtc.problem() is not None, reason="there is no NVRTC (pip install nvidia-cuda-nvrtc-cu12)"
)
NAMES = [name for name in registry.names if name.startswith("cuda.wmma.")]


def check(s: Schedule) -> str:
    """The threads and NumPy agree; returns the text of the kernels."""
    inputs = interp.random_inputs(s.base)
    want = evaluate.evaluate(s.base, inputs)[s.base.outputs[0].name]
    kernel = s.build(SIMT)
    np.testing.assert_allclose(kernel(*inputs.values()), want, rtol=0, atol=1e-5 * float(np.abs(want).max()))
    return kernel.source.partition('extern "C" __global__')[2]


def changed(s: Schedule, change: Callable[[str], str]) -> Kernel:
    """The kernel of a text that was changed."""
    code = generate_func(s.func, SIMT)
    text = change(code.source)
    assert text != code.source
    return Kernel(s.func, replace(code, source=text, object=backend_for(SIMT).compile(text, SIMT)), SIMT)


@runs
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("dtype", list(nests.KINDS))
def test_sums_stay_in_registers_of_the_warp(dtype, transposed):
    text = check(nests.tiled(dtype=dtype, transposed=transposed))
    assert "wmma_sums C_sums[2][2] = {};" in text
    assert (text.count("wmma_store("), text.count("wmma_load(")) == (1, 0)
    assert re.search(r"wmma_b?f16(_transposed)?\(C_sums\[i_1\]\[j_1\], &A", text)
    assert "__syncthreads" not in text


@runs
@pytest.mark.parametrize(("dtype", "pipeline"), [("float16", False), ("bfloat16", True)])
def test_operands_through_shared_memory(dtype, pipeline):
    text = check(nests.fetched(dtype=dtype, transposed=pipeline, pipeline=pipeline))
    assert text.count("__syncthreads") == 2
    assert "&A_local" in text


@runs
@pytest.mark.parametrize("unrolled", [("k1",), ("k0",), ("k0", "k1"), ()])
@pytest.mark.parametrize("order", ["i0 j0 k0 k1 i1 j1 k2", "k0 i0 j0 k1 i1 j1 k2", "i0 k0 j0 k1 i1 j1 k2"])
def test_sums_do_not_depend_on_where_a_reducing_loop_stands_and_whether_it_is_unrolled(order, unrolled):
    s = Schedule(nests.product(32, 32, 64, "float16"))
    loops = dict(zip(("i0", "i1"), s.split("i", [None, 16]), strict=True))
    loops |= zip(("j0", "j1"), s.split("j", [None, 16]), strict=True)
    loops |= zip(("k0", "k1", "k2"), s.split("k", [None, 2, 16]), strict=True)
    s.reorder(*(loops[name] for name in order.split()))
    if order.startswith("i0 j0"):
        s.bind(loops["i0"], "blockIdx.x").bind(loops["j0"], "threadIdx.y")
    for name in unrolled:
        s.unroll(loops[name])
    check(s.tensorize(loops["i1"], "cuda.wmma.f16"))


@runs
def test_another_stage_of_the_block_waits_for_the_tiles():
    s = Schedule(nests.product(64, 64, 32, "float16", scale=True))
    (i0, i1), (j0, j1), (k0, k1) = (s.split(axis, [None, 16]) for axis in ("i", "j", "k"))
    s.reorder(i0, j0, k0, i1, j1, k1).bind(j0, "threadIdx.y").tensorize(i1, "cuda.wmma.f16")
    s.bind("D_i", "threadIdx.x")
    text = check(s)
    assert text.count("kernel1") == 0
    assert text.index("wmma_store") < text.index("__syncthreads();") < text.index("D[")


@runs
@pytest.mark.parametrize("seed", range(6))
def test_random_orders(seed):
    check(nests.drawn(random.Random(seed)))


@runs
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6, 200))
def test_many_random_orders(seed):
    check(nests.drawn(random.Random(seed)))


@runs
def test_random_orders_have_sums_of_all_kinds():
    texts = [generate_func(nests.drawn(random.Random(seed)).func, SIMT).source for seed in range(40)]
    assert {("wmma_load(C_sums" in t, "C_sums[" in t) for t in texts} == {(a, b) for a in (0, 1) for b in (0, 1)}


@runs
def test_a_warp_that_is_not_whole_is_noticed():
    s = nests.tiled()
    inputs = interp.random_inputs(s.base)
    want = evaluate.evaluate(s.base, inputs)["C"]
    kernel = changed(s, lambda text: text.replace("wmma_f16(C_sums", "if (lane != 5) wmma_f16(C_sums"))
    assert np.abs(kernel(*inputs.values()) - want).max() > 0.1


@runs
def test_a_missing_barrier_is_noticed():
    s, barrier = nests.fetched(), "__syncthreads();\n"

    def without(text: str) -> str:
        at = text.rindex(barrier)
        return text[:at] + text[at + len(barrier) :]

    with pytest.raises(RunFailure) as e:
        changed(s, without)(*interp.random_inputs(s.base).values())
    assert e.value.code == "gpu.race"


def test_the_interpreter_and_opencl_run_the_loops():
    s = nests.tiled(32, 32, 32)
    inputs = interp.random_inputs(s.base)
    want = evaluate.evaluate(s.base, inputs)["C"]
    np.testing.assert_allclose(interp.run(s.func, inputs)["C"], want, atol=1e-4)
    assert "wmma" not in generate_func(s.func, Target("opencl")).source


@compiles
@pytest.mark.parametrize("arch", ["sm_70", "sm_80", "sm_90"])
def test_nvrtc_takes_them(arch):
    target = Target(f"cuda -arch={arch}")
    for make in (nests.tiled, nests.fetched):
        for name in NAMES:
            if registry[name].missing(target):
                assert "bf16" in name
                assert arch == "sm_70"
                continue
            dtype = "bfloat16" if "bf16" in name else "float16"
            (kernel,) = make(dtype=dtype, transposed=name.endswith("transposed")).build(target).statistics
            assert kernel.code.registers > 20
            assert kernel.code.spilled_bytes == 0
            if nvrtc._disassembler() is not None and kernel.code.instructions:
                assert kernel.code.count("HMMA") > 0
                assert kernel.code.count("FFMA") == 0


# ---- refusals --------------------------------------------------------------------------------------------------------


def cut(i: int = 16, j: int = 16, n: int = 64, rows: int = 64) -> Schedule:
    s = Schedule(nests.product(rows, n, 64, "float16"))
    parts = [s.split(axis, [None, size]) for axis, size in (("i", i), ("j", j), ("k", 16))]
    return s.reorder(*(x for x, _ in parts), *(x for _, x in parts))


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: cut(j=8).tensorize("i.1", "cuda.wmma.f16"), "tensorize.extent"),
        (lambda: cut().tensorize("i.1", "cuda.wmma.bf16"), "tensorize.dtype"),
        (lambda: cut().tensorize("i.1", "cuda.wmma.f16.transposed"), "tensorize.stride"),
        (lambda: cut().bind("j.0", "threadIdx.x").tensorize("i.1", "cuda.wmma.f16"), "tensorize.warp"),
        (lambda: cut().tensorize("i.1", "cuda.wmma.f16").bind("j.0", "threadIdx.x"), "loop.mark"),
    ],
)
def test_what_does_not_fit_is_refused(make, code):
    with pytest.raises(ScheduleError) as e:
        make()
    assert e.value.code == code
    assert e.value.hint


@pytest.mark.parametrize("text", ["opencl", "llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=skylake-avx512"])
def test_a_target_without_tensor_cores(text):
    with pytest.raises(ScheduleError) as e:
        Schedule(registry["cuda.wmma.f16"].func, Target(text)).tensorize("i", "cuda.wmma.f16")
    assert e.value.code == "tensorize.target"
    assert "wmma-f16" in e.value.message


def refused(s: Schedule, target: str = "cuda -arch=sm_80") -> BuildError:
    with pytest.raises(BuildError) as e:
        generate_func(s.func, Target(target))
    assert e.value.hint
    return e.value


def test_what_a_gpu_cannot_do_is_said():
    old = refused(nests.tiled(dtype="bfloat16"), "cuda -arch=sm_70")
    assert (old.code, "'cuda -arch=sm_70' lacks wmma-bf16" in old.message) == ("build.intrinsic", True)
    s = cut()
    s.cache_read("C", "A")
    s.storage_align("A.local", 0, 68)
    rows = refused(s.tensorize("i.1", "cuda.wmma.f16"))
    assert (rows.code, rows.where) == ("gpu.tile", ("A.local",))


def test_threads_along_x_are_whole_warps():
    s = Schedule(nests.product(64, 64, 48, "float16"))
    parts = [s.split(axis, [None, 16]) for axis in "ijk"]
    s.reorder(*(x for x, _ in parts), *(x for _, x in parts))
    copy = s.cache_read("C", "A")
    s.compute_at(copy, "i.0")
    _, x = s.split(s.fuse(*(lp.name for lp in s.func.block(copy)[1][-2:])), [None, 48])
    s.bind(x, "threadIdx.x").bind("i.0", "blockIdx.x").tensorize("i.1", "cuda.wmma.f16")
    assert refused(s).code == "gpu.warp"
