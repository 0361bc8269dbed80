"""Results below the least normal number: zero inside a network, in all of its threads, and nowhere else."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from onnx import TensorProto, helper

import workbench as wb
from workbench import te
from workbench.runtime.execution.executable import Executable
from workbench.runtime.networks.execution_plan import HostCall
from workbench.target import Target

TINY = np.finfo(np.float32).tiny
N = 1 << 18
WIDE = {"x": np.full(N, 2 * TINY, np.float32), "y": np.full(N, 0.25, np.float32)}

x86 = pytest.mark.skipif(not Target.host().arch.startswith("x86"), reason="others lose nothing by such numbers")


def network(*nodes, shapes, out):
    """Return an executable of two threads."""
    given = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]
    made = helper.make_tensor_value_info(out, TensorProto.FLOAT, None)
    graph = helper.make_graph(list(nodes), "g", given, [made])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    return wb.compile(wb.load_onnx(model), threads=2)


def denormal(array):
    """Whether any number is not zero and below the least normal one."""
    return bool(((array != 0) & (np.abs(array) < TINY)).any())


@x86
def test_a_softmax_of_far_apart_scores_has_none():
    """Those would take each later product a hundred cycles; the rest is as exact as ever."""
    scores = np.linspace(-110, 0, 12 * 64 * 64, dtype=np.float32).reshape(12, 64, 64)[:, ::-1]
    scores = np.concatenate([scores, np.zeros((12, 64, 1), np.float32)], axis=2)
    exe = network(helper.make_node("Softmax", ["x"], ["z"], axis=-1), shapes={"x": scores.shape}, out="z")
    e = np.exp(scores.astype(np.float64) - scores.max(axis=-1, keepdims=True))
    wanted = e / e.sum(axis=-1, keepdims=True)
    assert denormal(wanted.astype(np.float32))
    got = exe.run({"x": scores})["z"]
    assert not denormal(got)
    np.testing.assert_allclose(got, wanted, rtol=2e-6, atol=4 * TINY)  # exp gives 0 below that


@x86
def test_all_threads_flush_and_the_caller_goes_on_as_before():
    """Every element of a long product is zero; NumPy in this thread has its denormal results afterwards."""
    exe = network(helper.make_node("Mul", ["x", "y"], ["z"]), shapes={"x": [N], "y": [N]}, out="z")
    assert not exe.run(WIDE)["z"].any()
    assert (WIDE["x"] * WIDE["y"] == TINY / 2).all()


def test_given_numbers_are_read_as_they_are():
    """What is given below the least normal number counts."""
    exe = network(helper.make_node("Mul", ["x", "y"], ["z"]), shapes={"x": [N], "y": [N]}, out="z")
    x, y = np.full(N, TINY / 4, np.float32), np.full(N, 16.0, np.float32)
    assert (exe.run({"x": x, "y": y})["z"] == 4 * TINY).all()


def test_a_kernel_alone_keeps_them_in_every_thread():
    """A kernel that is called by hand computes as its caller does, also right after a network has run."""
    exe = network(helper.make_node("Mul", ["x", "y"], ["z"]), shapes={"x": [N], "y": [N]}, out="z")
    exe.run(WIDE)
    x, y = (te.placeholder((N,), name=name) for name in "xy")
    s = wb.Schedule(te.func(te.compute((N,), lambda i: x[i] * y[i], name="z")))
    (loop,) = s.func.block("z")[1]
    s.parallel(s.split(loop.name, [64, None])[0])
    got = s.build(Target.host(threads=2))(**WIDE)
    assert (np.asarray(got) == TINY / 2).all()


def test_a_step_of_python_computes_as_python_does():
    """So do threads that it starts, which inherit how the caller computes."""
    given = helper.make_tensor_value_info("x", TensorProto.DOUBLE, [8])
    made = helper.make_tensor_value_info("z", TensorProto.DOUBLE, None)
    graph = helper.make_graph([helper.make_node("Sin", ["x"], ["z"])], "g", [given], [made])
    exe = wb.compile(wb.load_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])))
    (call,) = exe.plan.calls
    assert isinstance(call, HostCall), "sine in double precision is a step of Python"

    def product():
        return float((np.full(64, 2 * TINY, np.float32) * np.float32(0.25))[0])

    with ThreadPoolExecutor(1) as pool:

        def step(x):
            return (np.full_like(x, product() + pool.submit(product).result()),)

        found = Executable(replace(exe.plan, calls=(replace(call, run=step),))).run({"x": np.zeros(8)})
        assert (found["z"] == float(TINY)).all()
        assert pool.submit(product).result() == TINY / 2
