"""Kernels timed with constants that come from beyond the near caches."""

import ctypes
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from runtime.llvm_kernels import ADD, add_func, code

from workbench import host, te
from workbench.network.kernel_builder import build_kernels
from workbench.runtime.loaded_code import LoadedCode
from workbench.runtime.measuring import candidate_run
from workbench.runtime.measuring import cold_constants as streaming
from workbench.runtime.measuring.jobs import SetupJob, TrialJob
from workbench.runtime.native import timing_loop
from workbench.runtime.results.measure_options import MeasureOptions
from workbench.runtime.thread_pool.launch_context import LaunchContext
from workbench.target import Target


def operands(nbytes):
    x = te.placeholder((16,), "float32", "X")
    w = te.placeholder((nbytes // 4,), "float32", "W", constant=True)
    params = te.func(te.compute((16,), lambda i: x[i] + w[i], "Y"), "f").params
    arrays = [np.full(b.shape, k, b.dtype) for k, b in enumerate(params)]
    return params, arrays, next(k for k, b in enumerate(params) if b.role == "const")


@pytest.mark.parametrize(("nbytes", "count"), [(64, 64), (1 << 20, 16), (3 << 20, 6), (16 << 20, 1), (40 << 20, 1)])
def test_as_many_copies_as_fill_the_near_caches(nbytes, count):
    params, arrays, at = operands(nbytes)
    stream = streaming.Stream(16 << 20)
    found = stream.tables(params, arrays)
    assert found.shape == (count, len(params))
    assert [int(p) for p in found[0]] == [a.ctypes.data for a in arrays]
    spans = sorted((int(p), int(p) + nbytes) for p in found[:, at])
    assert all(left[1] <= right[0] for left, right in pairwise(spans))
    for row in found:
        assert np.array_equal(floats(row[at], nbytes), arrays[at])
        assert all(row[k] == arrays[k].ctypes.data for k in range(len(arrays)) if k != at)
    assert all(int(p) % 64 == 0 for p in found[1:, at])
    other = [a + 1 if k == at else a for k, a in enumerate(arrays)]
    for row in stream.tables(params, other):  # the ring holds others now
        assert np.array_equal(floats(row[at], nbytes), other[at])


def floats(address, nbytes):
    return np.frombuffer((ctypes.c_char * nbytes).from_address(int(address)), np.float32)


def test_several_constants_lie_beside_each_other():
    x = te.placeholder((16,), "float32", "X")
    w, v = te.placeholder((16,), "float32", "W", constant=True), te.placeholder((1,), "float32", "V", constant=True)
    params = te.func(te.compute((16,), lambda i: x[i] + w[i] * v[0], "Y"), "f").params
    arrays = [np.full(b.shape, k, b.dtype) for k, b in enumerate(params)]
    stream = streaming.Stream(16 << 20)  # the copies are its own
    found = stream.tables(params, arrays)
    assert found.shape == (streaming.MOST_COPIES, len(params))
    for row in found:
        for address, array, buffer in zip(row, arrays, params, strict=True):
            if buffer.role == "const":
                assert np.array_equal(floats(address, array.nbytes), array)


def test_what_has_no_constants_is_not_copied():
    arrays = [np.zeros(8, np.float32)] * 3
    assert streaming.Stream(16 << 20).tables(add_func(8).params, arrays).tolist() == [[a.ctypes.data for a in arrays]]


@pytest.mark.parametrize("number", [1, 7])
def test_every_operand_list_is_called(number):
    n = 64
    loaded, around = LoadedCode(code(ADD, n, 1.0)), LaunchContext(1)
    lists = [[np.full(n, k, np.float32), np.zeros(n, np.float32)] for k in range(5)]
    tables = np.array([[a.ctypes.data for a in arrays] for arrays in lists], np.uintp)
    cycle = streaming.CallCycle(loaded.address, tables, timing_loop.clock_for(1))
    around.ready()
    times = cycle.times(8, number, around.workspace, around.rt)
    assert len(times) == 8
    assert all(t > 0 for t in times)
    assert all((c == a + 1.0).all() for a, c in lists)


@pytest.mark.parametrize("where", ["shared", "memory"])
def test_a_trial_with_constants_from_afar_is_checked_and_timed(where):
    x = te.placeholder((64, 64), "float32", "X")
    w = te.placeholder((64,), "float32", "W", constant=True)
    func = te.func(te.compute((64, 64), lambda i, j: x[i, j] * w[j], "Y"), "scale")
    (compiled,) = build_kernels([func], Target.host(threads=1))
    runner = candidate_run.TrialRunner()
    runner.setup(SetupJob("t", func, 0))
    done = runner.run(TrialJob("t", compiled, func.params, 1, MeasureOptions(constants=where)))
    assert done.status == "ok", done.error
    assert len(done.costs_ms) >= 10
    assert done.max_rel_error == 0


@pytest.mark.parametrize(
    ("threads", "l2", "l3", "expected"),
    [(2, 512 << 10, 32 << 20, 4), (2, 2 << 20, 64 << 20, 16), (8, 1 << 20, 32 << 20, 8), (4, 1 << 20, 0, 16)],
)
def test_copies_outgrow_the_own_caches_and_leave_most_of_the_shared_one(threads, l2, l3, expected):
    found = replace(host.detect(), threads=threads, l2_bytes=l2, l3_bytes=l3)
    assert streaming.ring_bytes(found) == expected << 20


def test_a_contest_finds_its_constants_where_a_trial_does():
    x = te.placeholder((64, 64), "float32", "X")
    w = te.placeholder((64,), "float32", "W", constant=True)
    func = te.func(te.compute((64, 64), lambda i, j: x[i, j] * w[j], "Y"), "scale")
    (compiled,) = build_kernels([func], Target.host(threads=1))
    runner = candidate_run.TrialRunner()
    runner.setup(SetupJob("t", func, 0))
    job = TrialJob("t", compiled, func.params, 1, MeasureOptions(constants="shared"))
    for place in range(3):
        runner.candidate(job, place).close()
    assert len({stream._nbytes for stream in runner._streams}) == 1
