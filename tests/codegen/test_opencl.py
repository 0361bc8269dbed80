"""OpenCL C on a driver of this machine: PoCL runs it on the processor, Oclgrind looks at every access."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from codegen.gpu_nests import tiled_matmul

import workbench as wb
from workbench import te, workloads
from workbench.codegen.backend import backend_for, generate_func
from workbench.codegen.gpu import opencl
from workbench.codegen.gpu.launch import Launch, launches_of
from workbench.errors import BuildError, RunError, TargetError
from workbench.ir import blocks
from workbench.ir.numpy_reference.evaluate import evaluate
from workbench.runtime.device_code import opencl as device_code
from workbench.runtime.measuring.candidate_run import TrialRunner
from workbench.runtime.measuring.jobs import SetupJob, TrialJob
from workbench.runtime.results.measure_options import MeasureOptions
from workbench.runtime.results.measurement import Measurement
from workbench.schedule import Schedule
from workbench.target import Target

try:
    opencl.find_device("portable")
except TargetError as missing:
    pytestmark = pytest.mark.skip(reason=f"{missing.message} (pip install pyopencl pocl-binary-distribution)")

POCL = Target("opencl -device=portable")


def operands(func) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal(b.shape).astype("f4") for b in func.inputs]


def changed(func, text: str) -> TrialJob:
    """A trial of another text for a function."""
    code = generate_func(func, POCL)
    code = replace(code, object=backend_for(POCL).compile(text, POCL))
    return TrialJob("t", code, tuple(func.params), 1, MeasureOptions(repeat=2))


def test_a_text_says_how_it_is_launched():
    launch = Launch("kernel0", (3, 2, 1), (8, 8, 1), ((0, 0), (2, 0), (None, 256)), 2048, 1)
    assert launches_of(f"/* a) b\n *\n{launch.row()}\n */\n{launch.row()}") == [launch]
    none = Launch("k", (1, 1, 1), (1, 1, 1), (), 0, 0)
    assert launches_of(f"name\n{none.row()}\n{launch.row()}") == [none, launch]


@pytest.mark.parametrize("vector", [1, 4])
def test_a_product(vector):
    s = tiled_matmul(vector=vector)
    a, b = operands(s.func)
    np.testing.assert_allclose(s.build(POCL)(a, b), a.astype("f8") @ b, atol=1e-4)


def test_threads_may_call_one_kernel_at_the_same_time():
    """Each gets the result of its own operands, though all use the same memory of the device."""
    x = te.placeholder((4096,), name="x")
    kernel = Schedule(te.func(te.compute((4096,), lambda i: x[i] + 1.0, name="y"))).build(POCL)
    arrays = [np.full(4096, k, "f4") for k in range(24)]
    with ThreadPoolExecutor(8) as pool:
        for a, y in zip(arrays, pool.map(kernel, arrays), strict=True):
            np.testing.assert_array_equal(y, a + 1)


ALONE = Target("opencl -device=portable -thread_warp_size=1")


def test_processors_compute_in_vectors():
    """Vectorised loops are statements on vectors, sums stay in registers, a scalar is spread where it has to be."""
    s = Schedule(workloads.matmul(32, 48, 16, bias=True, relu=True), ALONE)
    for name in [b.name for b, _ in blocks(s.func.body)]:
        i, j, *sums = (lp.name for lp in s.func.block(name)[1])
        j, lane = s.split(j, [None, 16])
        s.reorder(i, j, *sums, lane).vectorize(lane)
    code = generate_func(s.func, ALONE).source
    assert "LOCAL(16, C_acc[j_1]) += A[i * 16 + k] * GLOBAL(16, B[k * 48 + j_0 * 16 + j_1]);" in code
    assert "= (float16)(0.0f);" in code
    assert "at_least_float32x16(" in code
    assert "GLOBAL(" not in generate_func(s.func, POCL).source
    inputs = operands(s.func)
    want = np.maximum(inputs[0].astype("f8") @ inputs[1] + inputs[2], 0)
    np.testing.assert_allclose(s.build()(*inputs), want, atol=1e-4)


@pytest.mark.parametrize(
    ("make", "vectors"),
    [
        (lambda x, i: te.exp(te.tanh(x[i])) * te.sigmoid(x[i]) + te.sqrt(te.abs(x[i])), True),
        (lambda x, i: te.max(x[i], 0.5) - te.min(x[i], x[0]), True),
        (lambda x, i: te.erf(-x[i]) / (1.5 - te.rsqrt(x[i] * x[i] + 1.0)), True),
        (lambda x, i: x[63 - i], False),
        (lambda x, i: te.cast(te.cast(x[i], "int32"), "float32"), False),
        (lambda x, i: te.select(x[i] > 0.0, x[i], 0.0), False),
    ],
)
def test_functions_of_vectors(make, vectors):
    x = te.placeholder((64,), name="x")
    s = Schedule(te.func(te.compute((64,), lambda i: make(x, i), name="y")), ALONE)
    s.vectorize("i")
    assert ("GLOBAL(16, y[" in generate_func(s.func, ALONE).source) == vectors
    (value,) = operands(s.func)
    value[5], value[9] = np.nan, 0.0
    want = evaluate(s.base, {"x": value})["y"]
    np.testing.assert_allclose(s.build()(value), want, rtol=2e-6, atol=1e-6)


def test_temporaries_between_kernels():
    s = Schedule(workloads.softmax(8, 12), POCL)
    s.bind("inverse_i", "blockIdx.x")
    code = generate_func(s.func, POCL)
    assert code.shared_bytes
    assert [n.kernel for n in launches_of(code.source)] == ["kernel0", "kernel1", "kernel2"]
    (x,) = operands(s.func)
    want = np.exp(x.astype("f8"))
    np.testing.assert_allclose(s.build()(x), want / want.sum(1, keepdims=True), rtol=1e-5)


def test_a_kernel_measured_by_the_clock_of_the_device():
    m = Schedule(workloads.layer_norm(16, 32), POCL).measure(repeat=5)
    assert m.ok
    assert m.clock == "device"
    assert m.repeats == 5
    assert m.max_rel_error <= 1


@pytest.mark.slow
def test_tuning_writes_a_log_and_goes_on_with_it(tmp_path):
    log = tmp_path / "pocl.tunelog.jsonl"
    for trials in (3, 6):
        with wb.tune(workloads.matmul(32, 32, 32), trials=trials, target=POCL, log=log, resume=trials > 3) as run:
            run.wait()
    frame = wb.read_log(log)
    assert len(frame) >= 5
    assert (frame["status"] == "ok").all()
    best = run.best(run.tasks[0])
    a, b = operands(best.func)
    np.testing.assert_allclose(best.build(POCL)(a, b), a.astype("f8") @ b, atol=1e-4)


def test_what_a_kernel_does_wrong_is_its_own_failure():
    """A wrong result, writes behind an output and a failing launch, one after the other, in one runner."""
    x = te.placeholder((64,), name="x")
    func = te.func(te.compute((64,), lambda i: x[i] + 1.0, name="y"))
    text = generate_func(func, POCL).source
    runner = TrialRunner()

    def run(text: str) -> Measurement:
        runner.setup(SetupJob("t", func, 0))
        return runner.run(changed(func, text))

    assert run(text).ok
    assert run(text.replace("+ 1.0f", "+ 1.5f")).status == "wrong_answer"
    beyond = run(text.rpartition("}")[0] + "y[64] = 1.0f;\n}\n")
    assert beyond.status == "wrong_answer"
    assert "outside y" in beyond.error
    with pytest.raises(RunError) as e:
        run(text.replace("kernel0", "other").replace("* other(", "* kernel0("))
    assert e.value.code == "run.device"
    assert run(text).ok


def test_compile_errors_and_limits():
    with pytest.raises(BuildError) as e:
        backend_for(POCL).compile("this is no program", POCL)
    assert e.value.code == "build.opencl"
    s = tiled_matmul(256, 256, 256, threads=16, tile=8, step=64)
    with pytest.raises(BuildError) as e:
        s.build(POCL)
    assert e.value.code == "gpu.shared"
    assert s.measure(target=POCL).status == "build_error"
    assert "[gpu.shared]" in s.measure(target=POCL).error
    device = opencl.find_device("portable")

    class Small:
        name, platform, max_work_group_size, max_work_item_sizes, local_mem_size = (
            device.name, device.platform, 32, [32, 32, 32], 1024,
        )  # fmt: skip

    for code, launch in (("gpu.threads", (64, 1, 1)), ("gpu.shared", (8, 1, 1))):
        with pytest.raises(BuildError) as e:
            opencl._check(Small(), [Launch("k", (1, 1, 1), launch, (), 2048, 0)])
        assert e.value.code == code
        assert "32" in e.value.hint or "1024" in e.value.hint


def test_devices_that_are_not_there(monkeypatch):
    with pytest.raises(TargetError) as e:
        opencl.find_device("riva")
    assert e.value.code == "target.device"
    s = Schedule(workloads.matmul(8, 8, 8), "opencl -device=riva")
    with pytest.raises(TargetError, match="riva"):
        s.measure()
    assert s.build().source.startswith("/* matmul")
    rows = list(device_code.devices())
    assert rows[0].state == "runs"
    alone = [r.target.endswith(" -thread_warp_size=1") for r in rows]
    assert alone == [opencl.is_processor(Target(r.target)) for r in rows]
    opencl.devices.cache_clear()
    monkeypatch.setattr(opencl.importlib.util, "find_spec", lambda name: None)
    try:
        (row,) = device_code.devices()
        assert (row.state, row.install) == ("prints", "pip install pyopencl")
    finally:
        opencl.devices.cache_clear()


def test_a_failing_device_is_said():
    device = device_code._device("portable")
    with pytest.raises(RunError) as e:
        device.load(b"no program at all")
    assert e.value.code == "run.device"
    assert "PoCL" in device.title or "Portable" in device.title
