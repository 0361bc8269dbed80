"""Whole networks are timed in turns, in a worker process of their own."""

from dataclasses import replace

import numpy as np
import onnx.helper as oh
import pytest
from onnx import TensorProto
from runtime.llvm_kernels import ADD, CRASH, code

import workbench as wb
from workbench.errors import RunError
from workbench.runtime.execution.alternating_runs import NetworkJob, PlanTime, time_in_turns
from workbench.runtime.execution.executable import Executable
from workbench.runtime.networks.execution_plan import ArraySpec, CallPlan, ExecutablePlan, HostCall, Slot
from workbench.runtime.workers.network_worker import measure_networks

N = 1 << 16


def plan(calls, threads=1):
    """A chain of additions, each of which reads what the one before has written."""
    kernel = code(ADD, N, 1.0)
    places = [Slot("input", 0), *(Slot("arena", 4 * N * (k % 2)) for k in range(calls - 1)), Slot("output", 0)]
    steps = tuple(CallPlan(f"call {k}", kernel, (places[k], places[k + 1])) for k in range(calls))
    spec = (ArraySpec("x", (N,)),), (ArraySpec("y", (N,)),)
    return ExecutablePlan(*spec, constants=(), arena_bytes=8 * N, calls=steps, threads=threads)


def test_each_plan_has_its_time_and_that_of_its_calls():
    short, long = measure_networks([plan(2), plan(20)], 0.2)
    assert (len(short.calls_ms), len(long.calls_ms)) == (2, 20)
    assert all(ms > 0 for ms in (short.ms, long.ms, *short.calls_ms, *long.calls_ms))


@pytest.mark.bench
def test_more_calls_take_longer_and_are_what_takes_the_time():
    short, long = measure_networks([plan(2), plan(20)], 0.2)
    assert short.ms < long.ms
    assert sum(long.calls_ms) > 0.3 * long.at_least_ms


def test_a_disturbed_time_is_the_least_one():
    assert PlanTime((3.0, 1.0, 2.0), ()).ms == 2.0
    assert PlanTime((3.0, 1.0, 2.0), (), "somebody was there").ms == 1.0


def test_turns_leave_the_results_right():
    before = Executable(plan(3))
    found = time_in_turns(NetworkJob((before.plan, plan(5)), 0.05))
    assert len(found) == 2
    assert np.array_equal(before.run(np.zeros(N, np.float32))["y"], np.full(N, 3, np.float32))


def test_a_crash_ends_the_worker_and_nobody_else():
    broken = replace(plan(1), calls=(CallPlan("crash", code(CRASH, N), (Slot("input", 0), Slot("output", 0))),))
    with pytest.raises(RunError, match="SIGSEGV") as caught:
        measure_networks([broken], 0.05)
    assert caught.value.code == "run.network"


def test_a_step_that_no_other_process_can_be_given_is_an_error_of_ours():
    spec = ArraySpec("x", (N,))
    step = HostCall("step", lambda x: (x,), ((Slot("input", 0), spec),), ((Slot("output", 0), spec),), "", "Step")
    with pytest.raises(RunError, match="cannot be given to a worker") as caught:
        measure_networks([replace(plan(1), calls=(step,))], 0.05)
    assert caught.value.code == "run.network"


def test_steps_that_are_not_compiled_are_timed_too():
    split = oh.make_node("RandomUniformLike", ["m"], ["d"])
    inputs = [oh.make_tensor_value_info("m", TensorProto.FLOAT, [4, 4])]
    outputs = [oh.make_tensor_value_info("d", TensorProto.FLOAT, [4, 4])]
    model = oh.make_model(oh.make_graph([split], "g", inputs, outputs), opset_imports=[oh.make_opsetid("", 17)])
    network = wb.compile(wb.load_onnx(model), threads=1)
    assert any(isinstance(call, HostCall) for call in network.plan.calls)
    (found,) = measure_networks([network.plan], 0.05)
    assert found.ms > 0


def test_a_measurement_can_be_given_up():
    assert measure_networks([plan(2)], 1000.0, going_on=lambda: False) == ()  # before the test's time is up
