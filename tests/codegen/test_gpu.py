"""Code for GPUs, run on the CPU thread by thread."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from codegen.gpu_nests import tiled_matmul

from workbench import te, workloads
from workbench.codegen.backend import backend_for, generate_func
from workbench.codegen.constants import Device
from workbench.codegen.gpu import simt
from workbench.codegen.gpu.module import GpuModule
from workbench.codegen.gpu.words import CUDA, OPENCL
from workbench.errors import BuildError, RunFailure, ScheduleError
from workbench.ir import Func
from workbench.ir.interpreter import interp
from workbench.ir.verify import verify
from workbench.runtime.kernel import Kernel
from workbench.schedule import Schedule
from workbench.target import Target

SIMT = Target("cpu-simt", threads=1)
pytestmark = pytest.mark.skipif(simt.problem() is not None, reason="there is no C++ compiler")


def run(func: Func, text: str, *arrays: np.ndarray) -> np.ndarray:
    """Compile a text for the function, changed or not, and run it."""
    code = replace(generate_func(func, SIMT), source=text)
    return Kernel(func, replace(code, object=backend_for(SIMT).compile(text, SIMT)), SIMT, poison=True)(*arrays)


def operands(s: Schedule) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal(b.shape).astype("f4") for b in s.func.inputs]


@pytest.mark.parametrize("vector", [1, 4])
def test_a_product_through_shared_memory(vector):
    s = tiled_matmul(vector=vector)
    a, b = operands(s)
    kernel = s.build("cpu-simt")
    np.testing.assert_allclose(kernel(a, b), a.astype("f8") @ b, atol=1e-4)
    assert "ALIGNED float C_local[16]; /* 4x4 */" in kernel.source
    assert ("float4" in kernel.source.partition("kernel0")[2]) == (vector == 4)
    (launch,) = GpuModule(s.func, "kernel", CUDA, SIMT).launches()
    assert (launch.grid, launch.block) == ((2, 2, 1), (8, 8, 1))
    assert launch.barriers == 2
    assert launch.shared == 2 * 4 * 8 * 32


def test_what_the_threads_do_wrong_is_said():
    s = tiled_matmul()
    text, barrier = generate_func(s.func, SIMT).source, "__syncthreads();\n"
    first = text.index(barrier, text.index("C, init"))
    second = text.index(barrier, first + 1)
    changed = {
        "gpu.race": [text[:at] + text[at + len(barrier) :] for at in (first, second)],
        "gpu.barrier": [text[:first] + "if (threadIdx.x < 4) " + text[first:]],
        "gpu.index": [text.replace("B_local[C_k_1 * 32", "B_local[(C_k_1 + 1) * 32")],
    }
    for code, texts in changed.items():
        for one in texts:
            with pytest.raises(RunFailure) as e:
                run(s.func, one, *operands(s))
            assert e.value.code == code


def test_a_local_temporary_belongs_to_one_thread_in_all_nests():
    for scope in ("local", "auto"):
        module = GpuModule(tiled_matmul(scope=scope).func, "kernel", CUDA, SIMT)
        assert module.placed["C.local"].memory == "local"
        assert module.placed["C.local"].nbytes == 4 * 4 * 4
    with pytest.raises(ScheduleError) as e:
        tiled_matmul(swap=True)
    assert e.value.code == "set_scope.shared"
    s = tiled_matmul(swap=True, scope="auto")
    a, b = operands(s)
    module = GpuModule(s.func, "kernel", CUDA, SIMT)
    assert module.placed["C.local"].memory == "shared"
    assert module.launches()[0].barriers == 3
    np.testing.assert_allclose(s.build("cpu-simt")(a, b), a.astype("f8") @ b, atol=1e-4)


@pytest.mark.parametrize(("columns", "barriers"), [(False, 0), (True, 3)])
def test_barriers_stand_where_threads_meet(columns, barriers):
    """Rows that a thread computes and reads itself need none, columns that another thread has written do."""
    s = Schedule(workloads.softmax(8, 32))
    for loop in ("i", "exps_i", "total_i", "inverse_i", "softmax_i"):
        s.bind(loop, "threadIdx.y")
    for loop in ("j", "softmax_j") if columns else ():
        s.bind(loop, "threadIdx.x")
    (launch,) = GpuModule(s.func, "kernel", CUDA, SIMT).launches()
    assert launch.barriers == barriers
    (x,) = operands(s)
    want = np.exp(x) / np.exp(x).sum(1, keepdims=True)
    np.testing.assert_allclose(s.build("cpu-simt")(x), want, rtol=1e-5)


@pytest.mark.parametrize(
    ("code", "make"),
    [
        ("gpu.shared", lambda: tiled_matmul(256, 256, 256, threads=16, tile=8, step=64)),
        ("gpu.threads", lambda: _both(64, 64)),
        ("gpu.scope", lambda: _apart()),
        ("gpu.local", lambda: _alone()),
        ("gpu.grid", lambda: _tall()),
    ],
)
def test_more_than_a_device_has(code, make):
    with pytest.raises(BuildError) as e:
        GpuModule(make().func, "kernel", CUDA, SIMT)
    assert e.value.code == code
    assert e.value.hint


def _both(rows: int, columns: int) -> Schedule:
    """Two nests of one kernel whose loops over threads are long along different axes."""
    s = Schedule(workloads.elementwise(rows, columns))
    loops = [lp.name for lp in s.loops if not s.func.loop(lp.name)[1]]
    return s.bind(loops[0], "threadIdx.x").bind(loops[1], "threadIdx.y")


def _apart() -> Schedule:
    """A kernel of its own between two that share a temporary."""
    s = Schedule(workloads.softmax(8, 12))
    return s.set_scope("exps", "shared").bind("inverse_i", "blockIdx.x")


def _alone() -> Schedule:
    s = Schedule(workloads.elementwise(256, Device.THREAD_BYTES // 4))
    return s.set_scope("add", "local")


def _tall() -> Schedule:
    return Schedule(workloads.transpose(2, 1 << 17)).bind("j", "blockIdx.y")


@pytest.mark.parametrize(("threads", "rows", "inside"), [(8, 1, True), (7, 1, False), (12, 4, True), (3, 2, False)])
@pytest.mark.parametrize("name", ["sum", "max"])
def test_threads_reduce_together(name, threads, rows, inside):
    """Whatever the number of threads, with several rows in a block, and with steps around or inside of the threads."""
    s = Schedule(rows_of(name, 8, 4 * threads * 3))
    i, k = (lp.name for lp in s.loops)
    (i0, i1), (k0, k1, k2) = s.split(i, [None, rows]), s.split(k, [None, threads, 4])
    s.reorder(i0, i1, *((k1, k0, k2) if inside else (k0, k1, k2)))
    s.bind(i0, "blockIdx.x").bind(i1, "threadIdx.y").bind(k1, "threadIdx.x")
    verify(s.func)
    (x,) = operands(s)
    kernel = s.build("cpu-simt")
    want = getattr(np, name)(x.astype("f8"), axis=1)
    np.testing.assert_allclose(kernel(x), want, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(interp.run(s.func, {"X": x}, order="shuffled")["Y"], want, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(s.build()(x), want, rtol=1e-5, atol=1e-5)
    barrier = "__syncthreads();\n"
    at = [m.start() for m in re.finditer(re.escape(barrier), kernel.source)]
    assert len(at) >= int(np.log2(threads))
    with pytest.raises(RunFailure):
        run(s.func, kernel.source[: at[0]] + kernel.source[at[0] + len(barrier) :], x)


@pytest.mark.parametrize(("vector", "step"), [(1, 8), (4, 8), (2, 16), (1, 32)])
def test_a_pipeline_fetches_an_iteration_ahead(vector, step):
    """With one barrier in an iteration, without which the result is found wrong; twice the shared memory."""
    plain = tiled_matmul(vector=vector, step=step)
    s = plain.copy().pipeline("C_k.0")
    a, b = operands(s)
    kernel = s.build("cpu-simt")
    np.testing.assert_allclose(kernel(a, b), a.astype("f8") @ b, atol=1e-4)
    np.testing.assert_array_equal(s.build()(a, b), plain.build()(a, b))
    if step == 32:
        return  # there is one iteration, and nothing to fetch ahead
    was, now = (GpuModule(x.func, "kernel", CUDA, SIMT) for x in (plain, s))
    assert now.launches()[0].shared == 2 * was.launches()[0].shared
    assert {now.placed[f"{x}.local.next"].memory for x in "AB"} == {"local"}
    barrier = "__syncthreads();\n"
    at = [m.start() for m in re.finditer(re.escape(barrier), kernel.source)]
    (inside,) = [k for k in at if k > kernel.source.index("for (int C_k_0")]
    with pytest.raises(RunFailure):
        run(s.func, kernel.source[:inside] + kernel.source[inside + len(barrier) :], a, b)


def test_a_pipeline_stays_one():
    s = tiled_matmul().pipeline("C_k.0")
    for step in (("set_scope", "A.local", "global"), ("split", "C_k.0", [None, 2])):
        if step[0] == "set_scope":
            s.copy().set_scope(*step[1:])  # B is fetched ahead still
        else:
            with pytest.raises(ScheduleError) as e:
                s.copy().split(*step[1:])
            assert e.value.code == "loop.mark"


def rows_of(name: str, rows: int, terms: int) -> Func:
    x = te.placeholder((rows, terms), name="X")
    k = te.reduce_axis(terms, "k")
    return te.func(te.compute((rows,), lambda i: getattr(te, name)(x[i, k], axis=k), name="Y"))


def test_partial_results_of_rfactor_are_combined_by_threads():
    s = Schedule(rows_of("sum", 4, 64))
    _, k1 = s.split("k", [None, 16])
    partial = s.rfactor(k1, -1)
    i, v = (lp.name for lp in s.func.block("Y")[1])
    s.compute_at(partial, i)
    s.bind(i, "blockIdx.x").bind(v, "threadIdx.x").bind(s.func.block(partial)[1][-1].name, "threadIdx.x")
    (x,) = operands(s)
    np.testing.assert_allclose(s.build("cpu-simt")(x), x.astype("f8").sum(1), rtol=1e-5, atol=1e-5)


def test_opencl_has_other_words():
    text = "\n".join(GpuModule(tiled_matmul(vector=4).func, "kernel", OPENCL, SIMT).lines())
    assert (
        "__kernel __attribute__((reqd_work_group_size(8, 8, 1))) void kernel0(__global const float *restrict A" in text
    )
    assert text.count("barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);") == 2
    assert "vstore4(vload4(0, &B[" in text
    assert "threadIdx" not in text.replace("(threadIdx.", "")
