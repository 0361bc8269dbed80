"""One kernel on NumPy arrays, and the native clock."""

import copy
import gc
import os
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest
from runtime.llvm_kernels import ADD, add_func, code

import workbench as wb
from workbench import te
from workbench.codegen.backend import backend_for, build_func
from workbench.errors import ShapeError, UsageError
from workbench.runtime.buffers import aligned_empty, is_ready, poison
from workbench.runtime.kernel import Kernel
from workbench.runtime.loaded_code import LoadedCode
from workbench.runtime.native import timing_loop
from workbench.runtime.thread_pool.launch_context import LaunchContext
from workbench.target import Target


@pytest.fixture(scope="module")
def kernel():
    return Kernel(add_func(256), code(ADD, 256, per_thread=64), Target.host(2))


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_call(kernel, threads):
    kernel.set_threads(threads)
    a = np.arange(512, dtype="float32")[::2]  # neither contiguous nor aligned
    result = kernel(a)
    np.testing.assert_array_equal(result, a + 1)
    assert is_ready(result)
    np.testing.assert_array_equal(kernel(A=a), a + 1)


@pytest.mark.parametrize("threads", [0, -1, 2.5, "2", True, 100_000])
def test_impossible_thread_counts(threads):
    s = wb.Schedule(wb.workloads.matmul(4, 4, 4))
    with pytest.raises(UsageError) as caught:
        s.build(threads=threads)
    assert caught.value.code == "run.threads"


@pytest.mark.parametrize(("repeat", "number"), [(0, 1), (-1, 1), (1, 0)])
def test_no_repetitions_are_not_timed(repeat, number):
    loaded = LoadedCode(code(ADD, 64))
    around = LaunchContext(1)
    with pytest.raises(UsageError) as caught:
        timing_loop.time_calls(loaded.address, 0, around.workspace, around.rt, repeat, number, timing_loop.wall_clock())
    assert caught.value.code == "usage.repeat"


def foreign(a: np.ndarray) -> dict[str, np.ndarray]:
    """The same numbers where and how callers may have them."""
    around, raw = np.zeros((18, 18), a.dtype), np.zeros(a.nbytes + 1, np.uint8)
    around[1:17, 1:17] = a
    raw[1:] = a.reshape(-1).view(np.uint8)
    frozen = a.copy()
    frozen.flags.writeable = False
    return {
        "window": around[1:17, 1:17], "columns": np.asfortranarray(a), "backwards": a[::-1].copy()[::-1],
        "off by a byte": raw[1:].view(a.dtype).reshape(a.shape), "read only": frozen,
        "every other": np.repeat(a, 2, axis=1)[:, ::2],
    }  # fmt: skip


@pytest.mark.parametrize("kind", ["llvm", "c"])
def test_arrays_wherever_they_lie(kind):
    target = Target(kind)
    if backend_for(target).run_problem(target):
        pytest.skip("there is no compiler")
    s = wb.Schedule(wb.workloads.matmul(16, 16, 16), target)
    s.reorder("k", "j")
    s.vectorize("j")
    kernel = s.build()
    a, b = (np.random.default_rng(k).integers(-4, 5, (16, 16)).astype(np.float32) for k in (0, 1))
    for how, given in foreign(a).items():
        before = given.copy()
        np.testing.assert_array_equal(kernel(given, given), a @ a, err_msg=how)
        np.testing.assert_array_equal(kernel(b, given), b @ a, err_msg=how)
        np.testing.assert_array_equal(given, before)


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda k: pickle.loads(pickle.dumps(k))])
def test_copies_own_their_code(again):
    kernel = wb.Schedule(wb.workloads.matmul(8, 8, 8)).build(threads=2)
    other, a = again(kernel), np.ones((8, 8), "f4")
    assert other.threads == 2
    assert other.source == kernel.source
    assert other._loaded.address != kernel._loaded.address
    del kernel
    gc.collect()
    assert (other(a, a) == 8).all()


def test_texts(kernel):
    assert "define void @kernel" in kernel.llvm
    assert "kernel" in kernel.asm
    assert kernel.source == kernel.llvm
    assert "C" in kernel.nest
    assert "256" in repr(kernel)


@pytest.mark.parametrize(
    ("args", "named", "error"),
    [
        ((), {}, "shape.count"),
        ((np.zeros(256, "f4"),) * 2, {}, "shape.count"),
        ((np.zeros(255, "f4"),), {}, "shape.mismatch"),
        ((np.zeros(256, "f8"),), {}, "shape.dtype"),
        ((), {"B": np.zeros(256, "f4")}, "shape.name"),
        ((np.zeros(256, "f4"),), {"A": np.zeros(256, "f4")}, "shape.name"),
    ],
)
def test_bad_arguments(kernel, args, named, error):
    with pytest.raises(ShapeError) as caught:
        kernel(*args, **named)
    assert caught.value.code == error


def test_generated_kernel_with_two_outputs():
    a = te.placeholder((8, 4), name="A")
    b = te.compute((8, 4), lambda i, j: a[i, j] * 2.0, name="B")
    c = te.compute((8, 4), lambda i, j: a[i, j] + 1.0, name="C")
    func = te.func([b, c], "two")
    target = Target.host(1)
    x = np.random.default_rng(0).standard_normal((8, 4), dtype="float32")
    twice, more = Kernel(func, build_func(func, target, "kernel"), target)(x)
    np.testing.assert_allclose(twice, x * 2)
    np.testing.assert_allclose(more, x + 1)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("flush", [False, True])
def test_native_timing(threads, flush):
    n = 1 << 20
    loaded = LoadedCode(code(ADD, n))
    a, c = aligned_empty((n,), "float32"), aligned_empty((n,), "float32")
    a[...] = 1
    poison(c)
    assert np.isnan(c).all()
    around = LaunchContext(threads)
    around.ready()
    bufs = np.array([a.ctypes.data, c.ctypes.data], np.uintp)
    table = timing_loop.flush_table([a, c]) if flush else None
    clock = timing_loop.clock_for(threads)
    times = timing_loop.time_calls(loaded.address, bufs.ctypes.data, around.workspace, around.rt, 3, 2, clock, table)
    assert times.shape == (3,)
    assert (times > 10_000).all()  # 8 MiB cannot move in 10 us
    assert (c == 2).all()


def test_prepared_calls_share_their_outputs_and_see_inputs_change():
    kernel = wb.Schedule(wb.workloads.matmul(8, 8, 8, constant_b=True), wb.Target.host(threads=1)).build()
    a, b = aligned_empty((8, 8), "float32"), np.eye(8, dtype=np.float32)
    a[:] = 1.0
    call = kernel.prepare(a, b)
    first = call()
    assert np.all(first == 1.0)
    a[:] = 2.0
    assert call() is first
    assert np.all(first == 2.0)
    with pytest.raises(wb.WorkbenchError):
        kernel.prepare(a)


def huge_pages() -> int:
    """Kilobytes of this process on huge pages."""
    lines = Path("/proc/self/smaps").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("AnonHugePages"))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says which pages a process has")
def test_large_arrays_lie_on_huge_pages_of_their_own_process():
    setting = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    if not setting.exists() or "[never]" in setting.read_text():
        pytest.skip("the system has no huge pages")
    before = huge_pages()
    arrays = [aligned_empty((n,), "uint8") for n in (1 << 20, (5 << 20) + 3)]
    for array in arrays:
        array[...] = 1
    assert huge_pages() - before >= 3 * 2048
    child = os.fork()
    if child == 0:
        arrays[0][...] = 2
        os._exit(0)
    os.waitpid(child, 0)
    assert (arrays[0] == 1).all()


@pytest.mark.parametrize("nbytes", [0, 1, 63, 64, (1 << 19) - 1, 1 << 19, (2 << 20) + 5, (2 << 20) + (1 << 19)])
def test_aligned_memory_has_its_size_and_can_be_written(nbytes):
    array = aligned_empty((nbytes,), "uint8")
    assert array.shape == (nbytes,)
    assert array.ctypes.data % 64 == 0
    array[...] = 7
    assert (array == 7).all()
