"""Whole networks: plans, runs, benchmark, profile."""

import threading
from dataclasses import replace

import numpy as np
import pytest
from runtime.llvm_kernels import ADD, code

from workbench.errors import BuildError, RunError, ShapeError, UsageError
from workbench.runtime.execution.executable import Executable
from workbench.runtime.networks.execution_plan import ArraySpec, CallPlan, ExecutablePlan, HostCall, Slot

N = 256
BYTES = 4 * N


def plan(threads=1):
    """y = x + 3 through the arena, z = constant + 1, w = x."""
    one, two = code(ADD, N, 1.0), code(ADD, N, 2.0, shared=128, per_thread=64)
    return ExecutablePlan(
        inputs=(ArraySpec("x", (16, 16)),),
        outputs=(ArraySpec("gpu_0/y", (N,)), ArraySpec("z", (N,)), ArraySpec("w", (16, 16)), ArraySpec("t", (N,))),
        constants=(np.full(N, 7, "float32"),),
        arena_bytes=BYTES + 64,
        calls=(
            CallPlan("first", one, (Slot("input", 0), Slot("arena", 64)), flops=N, task="a", tuned=True),
            CallPlan("second", two, (Slot("arena", 64), Slot("output", 0))),
            CallPlan("third", one, (Slot("const", 0), Slot("output", 1)), flops=N),
        ),
        threads=threads,
        output_slots=(Slot("output", 0), Slot("output", 1), Slot("input", 0), Slot("arena", 64)),
        untuned=("b",),
    )


@pytest.fixture(scope="module", params=[1, 2])
def network(request):
    return Executable(plan(request.param))


def test_run(network):
    x = np.random.default_rng(0).standard_normal((16, 16), dtype="float32")
    network.poison()
    out = network.run({"x": x})
    assert list(out) == ["gpu_0/y", "z", "w", "t"]
    np.testing.assert_allclose(out["gpu_0/y"], x.reshape(-1) + 3, rtol=1e-6)
    np.testing.assert_array_equal(out["z"], 8)
    np.testing.assert_array_equal(out["w"], x)
    np.testing.assert_array_equal(out["t"], x.reshape(-1) + 1)
    again = network.run(x + 1)
    np.testing.assert_array_equal(out["w"], x)  # the first result is the caller's
    np.testing.assert_allclose(again["gpu_0/y"], out["gpu_0/y"] + 1, rtol=1e-5, atol=1e-5)
    assert network.untuned == ("b",)


def test_threads_can_change(network):
    x = np.ones((16, 16), "float32")
    before = network.threads
    for threads in (3, 1, before):
        network.set_threads(threads)
        assert network.threads == threads
        np.testing.assert_array_equal(network.run(x=x)["gpu_0/y"], 4)
    with pytest.raises(UsageError):
        network.set_threads(0)
    assert network.threads == before


def test_many_callers(network):
    results = []

    def call(value):
        for _ in range(50):
            out = network.run(np.full((16, 16), value, "float32"))["gpu_0/y"]
            results.append(bool((out == value + 3).all()))

    callers = [threading.Thread(target=call, args=(v,)) for v in (0.0, 5.0, 9.0)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(100)
    assert len(results) == 150
    assert all(results)


@pytest.mark.parametrize(
    ("args", "error"),
    [
        ((), "shape.count"),
        ((np.zeros((16, 16), "f4"),) * 2, "shape.count"),
        (({"X": np.zeros((16, 16), "f4")},), "shape.name"),
        (({"x": np.zeros((16, 15), "f4")},), "shape.mismatch"),
        (({"x": np.zeros((16, 16), "f8")},), "shape.dtype"),
    ],
)
def test_bad_inputs(network, args, error):
    with pytest.raises(ShapeError) as caught:
        network.run(*args)
    assert caught.value.code == error


def test_benchmark(network):
    result = network.benchmark(repeat=5, min_repeat_ms=0.2)
    assert len(result.costs_ms) == 5
    assert 0 < result.min_ms <= result.median_ms <= result.max_ms
    lines = str(result).splitlines()
    assert lines[0] == "Execution time summary:"
    assert lines[1].split("(ms)")[0].strip() == "mean"
    assert len(lines[2].split()) == 5
    names = {"mean_ms", "median_ms", "max_ms", "min_ms", "std_ms", "threads", "first_ms", "repeats", "clean", "why_not"}
    assert set(result.to_json()) == names
    with pytest.raises(UsageError):
        network.benchmark(repeat=0)


def test_profile(network):
    table = network.profile({"x": np.ones((16, 16), "float32")}, repeat=5)
    assert list(table["call"]) == ["first", "second", "third"]
    assert abs(table["share"].sum() - 1) < 1e-9
    assert np.isnan(table["gflops"][1])
    assert table["gflops"][0] > 0
    np.testing.assert_array_equal(network.run(np.ones((16, 16), "f4"))["gpu_0/y"], 4)


def bad_plans():
    good = plan()
    first = good.calls[0]

    def with_args(*args):
        return replace(good, calls=(replace(first, args=args),))

    yield with_args(Slot("input", 0))
    yield with_args(Slot("input", 1), Slot("arena", 0))
    yield with_args(Slot("input", 0), Slot("arena", 128))
    yield with_args(Slot("input", 0), Slot("arena", 4))
    yield with_args(Slot("arena", 0), Slot("input", 0))
    yield replace(good, output_slots=good.output_slots[1:])
    yield replace(good, constants=(np.zeros(3, "float32"),))


@pytest.mark.parametrize("bad", list(bad_plans()))
def test_inconsistent_plans_are_refused(bad):
    with pytest.raises(BuildError) as caught:
        Executable(bad)
    assert caught.value.code == "build.plan"


def test_empty_network():
    x = np.arange(4, dtype="float32")
    spec = (ArraySpec("x", (4,)),)
    out = Executable(ExecutablePlan(spec, spec, (), 0, (), output_slots=(Slot("input", 0),))).run(x)
    np.testing.assert_array_equal(out["x"], x)


def test_a_step_in_python_that_fails_is_named():
    def fail(x):
        raise KeyError("nothing here")

    spec = ArraySpec("x", (4,))
    call = HostCall("look up", fail, ((Slot("input", 0), spec),), ((Slot("output", 0), spec),), "a test", "Look")
    executable = Executable(ExecutablePlan((spec,), (ArraySpec("y", (4,)),), (), 0, (call,)))
    for use in (lambda: executable.run(np.zeros(4, np.float32)), lambda: executable.benchmark(repeat=2)):
        with pytest.raises(RunError, match="look up") as e:
            use()
        assert e.value.code == "run.step"


def test_a_step_in_python_has_to_give_what_was_said():
    spec = ArraySpec("x", (4,))
    call = HostCall(
        "half", lambda x: (x[:2],), ((Slot("input", 0), spec),), ((Slot("output", 0), spec),), "a test", "Half"
    )
    executable = Executable(ExecutablePlan((spec,), (ArraySpec("y", (4,)),), (), 0, (call,)))
    with pytest.raises(ShapeError, match=r"half gave \[2\]"):
        executable.run(np.zeros(4, np.float32))
