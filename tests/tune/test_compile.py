"""Compiling whole networks: memory, constants, shared kernels, partial logs; against the NumPy reference."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from errors import models
from errors.test_cli_errors import invoke

import workbench as wb
from workbench import workloads
from workbench.codegen.gpu import simt
from workbench.errors import LogError, TargetError
from workbench.graph import load_onnx, run_reference
from workbench.graph.tasks import Task
from workbench.ir import Func
from workbench.log import load_log
from workbench.log.reader import write_log
from workbench.network.compile import compile, execute
from workbench.network.kernel_builder import KernelBuilder, build_kernels
from workbench.target import Target
from workbench.target_kinds import target_kinds
from workbench.tune.run.start import tune

TARGET = Target.host(threads=1)


def check(graph, executable, seed=0):
    rng = np.random.default_rng(seed)
    feeds = {n: rng.standard_normal(t.shape).astype(t.dtype) for n, t in graph.input_types().items()}
    expected = run_reference(graph, feeds, graph.outputs)
    executable.poison()
    found = executable.run(feeds)
    assert list(found) == list(graph.outputs)
    for name in graph.outputs:
        scale = max(1e-12, np.abs(expected[name]).max())
        assert found[name].shape == expected[name].shape
        assert np.abs(found[name] - expected[name]).max() <= 2e-4 * scale, name


def chain(path, count=4, n=32):
    """`count` equal layers with different weights, and every second result an output of the network."""
    from onnx import helper

    rng = np.random.default_rng(0)
    constants = {f"w{i}": (rng.standard_normal((n, n)) / 6).astype("float32") for i in range(count)}
    nodes, last = [], "x"
    for i in range(count):
        nodes += [
            helper.make_node("MatMul", [last, f"w{i}"], [f"m{i}"]),
            helper.make_node("Relu", [f"m{i}"], [f"r{i}"]),
        ]
        last = f"r{i}"
    outputs = {f"r{i}": [8, n] for i in range(1, count, 2)}
    return load_onnx(models.save(path, nodes, {"x": [8, n]}, outputs, constants))


@pytest.fixture(scope="module")
def tuned(tmp_path_factory):
    """A chain and the log of a short run of it."""
    folder = tmp_path_factory.mktemp("chain")
    graph, log = chain(folder / "m.onnx"), folder / "a.jsonl"
    with tune(graph, trials=6, log=log, target=TARGET) as session:
        assert session.wait(60)
    return graph, log


def test_equal_kernels_are_built_once(tmp_path, monkeypatch):
    built: list[Func] = []
    original = KernelBuilder.add
    monkeypatch.setattr(KernelBuilder, "add", lambda self, func: (built.append(func), original(self, func)))
    graph = chain(tmp_path / "m.onnx")
    executable = compile(graph, target=TARGET)
    assert len(built) == 1
    assert len({id(call.code) for call in executable.plan.calls}) == 1
    assert len(executable.plan.calls) == 4
    assert len(executable.plan.constants) == 4
    check(graph, executable)
    check(graph, executable, seed=1)


def test_views_inputs_and_constants_as_outputs(tmp_path):
    from onnx import helper

    constants = {"c": np.arange(6, dtype="float32").reshape(2, 3), "shape": np.array([6])}
    nodes = [
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node("Reshape", ["r", "shape"], ["v"]),
        helper.make_node("Add", ["x", "c"], ["s"]),
    ]
    path = models.save(tmp_path / "m.onnx", nodes, {"x": [2, 3]}, {"v": [6], "r": [2, 3], "s": [2, 3]}, constants)
    graph = load_onnx(path)
    check(graph, compile(graph, target=TARGET))


def test_a_partial_log_is_enough(tmp_path):
    graph = load_onnx(models.dense(tmp_path / "m.onnx"))
    with tune(graph, trials=6, log=tmp_path / "a.jsonl", target=TARGET, only_tasks=[1]) as session:
        assert session.wait(60)
    executable = compile(graph, tmp_path / "a.jsonl", TARGET)
    assert len(executable.untuned) == 1
    assert [call.tuned for call in executable.plan.calls] == [False, True]
    check(graph, executable)
    assert len(compile(graph, target=TARGET).untuned) == 2
    other = load_onnx(models.dense(tmp_path / "o.onnx", n=48))
    with pytest.raises(LogError) as caught:
        compile(other, tmp_path / "a.jsonl", TARGET)
    assert caught.value.code == "log.other_model"


def test_a_task_without_a_record_gets_the_nearest_one_adapted(tuned, tmp_path, capfd):
    _, log = tuned
    wider = chain(tmp_path / "w.onnx", n=48)
    with pytest.raises(LogError) as caught:
        compile(wider, log, TARGET)
    assert caught.value.code == "log.other_model"
    executable = compile(wider, log, TARGET, nearest=True)
    assert executable.untuned == ()
    ((task, how),) = executable.borrowed.items()
    assert task == "matmul 8x48 · 48x48 + relu"
    assert "nearest of its kind is matmul 8x32 · 32x32 + relu (32 for 48" in how
    assert " trial " in how
    check(wider, executable)
    arguments = ["run", tmp_path / "w.onnx", "--log", log, "--nearest", "--threads", 1]
    code, out, err = invoke(capfd, *arguments, "--json")
    assert code == 0
    assert json.loads(out)["borrowed"] == executable.borrowed
    assert f"borrowed for {task}" in err
    from onnx import helper

    path = models.save(tmp_path / "r.onnx", [helper.make_node("Relu", ["x"], ["y"])], {"x": [8, 32]}, {"y": [8, 32]})
    other = compile(load_onnx(path), log, TARGET, nearest=True)  # nothing of its kind
    assert (other.borrowed, len(other.untuned)) == ({}, 1)


def test_what_looks_much_slower_than_the_default_schedule_is_not_adapted(tuned, tmp_path):
    log = load_log(tuned[1])
    slow = ({"primitive": "reorder", "args": {"loops": ["j", "k", "i"]}},)
    records = [dataclasses.replace(r, trace=slow, row={}, variant=-1, space="") for r in log.records if r.ok]
    write_log(tmp_path / "s.jsonl", log.header, records)
    executable = compile(chain(tmp_path / "w.onnx", n=48), tmp_path / "s.jsonl", TARGET, nearest=True)
    assert (executable.borrowed, len(executable.untuned)) == ({}, 1)


def test_a_record_for_other_threads_is_used_and_told(tuned):
    graph, log = tuned
    assert compile(graph, log, TARGET).borrowed == {}
    executable = compile(graph, log, Target.host(threads=2))
    assert [how.split(" for ", 1)[1] for how in executable.borrowed.values()] == ["threads=1 instead of 2"]
    assert executable.untuned == ()


def test_a_record_of_a_machine_with_other_instructions_is_only_borrowed(tuned, tmp_path):
    graph, log = tuned[0], load_log(tuned[1])
    foreign = [dataclasses.replace(r, target="llvm -mcpu=other -mattr=+sve2 -threads=1") for r in log.records]
    write_log(tmp_path / "b.jsonl", log.header, foreign)
    assert len(compile(graph, tmp_path / "b.jsonl", TARGET).untuned) == 1
    executable = compile(graph, tmp_path / "b.jsonl", TARGET, nearest=True)
    (how,) = executable.borrowed.values()
    assert "was measured on another machine" in how
    assert "sve2" in how
    check(graph, executable)


def test_a_trace_that_does_not_apply_is_reported(tuned, tmp_path):
    graph, log = tuned[0], load_log(tuned[1])
    step = {"primitive": "split", "args": {"loop": "nowhere", "factors": [None, 4]}}
    broken = [dataclasses.replace(r, trace=(step,)) for r in log.records]
    write_log(tmp_path / "b.jsonl", log.header, broken)
    with pytest.raises(LogError) as caught:
        compile(graph, tmp_path / "b.jsonl", TARGET)
    assert caught.value.code == "log.replay"
    assert "nowhere" in str(caught.value.message)


def test_execute_gives_the_outputs_that_are_asked_for(tmp_path):
    graph = chain(tmp_path / "m.onnx").with_outputs(["m2"])
    x = np.random.default_rng(0).standard_normal((8, 32)).astype("float32")
    found = execute(graph, {"x": x}, ["m2"], TARGET)
    expected = run_reference(graph, {"x": x}, ["m2"])["m2"]
    assert np.abs(found["m2"] - expected).max() <= 2e-4 * np.abs(expected).max()


@pytest.mark.parametrize("kind", sorted(k.name for k in target_kinds if not k.processor))
def test_networks_are_for_processors(tmp_path, kind):
    with pytest.raises(TargetError) as e:
        compile(chain(tmp_path / "m.onnx", 2), target=kind)
    assert (e.value.code, e.value.where) == ("target.network", (kind,))
    way = "wb.offload(graph" if kind == "vta" else "wb.tune(task"
    assert f"{way}, target='{kind}')" in e.value.hint


@pytest.mark.skipif(simt.problem() is not None, reason="there is no C++ compiler")
def test_tasks_of_a_network_are_tuned_for_a_device(tmp_path):
    log = tmp_path / "log.jsonl"
    with tune(chain(tmp_path / "m.onnx", 2), target="cpu-simt", trials=2, log=log) as session:
        session.wait()
    assert {r.status for r in load_log(log).records} == {"ok"}
    assert not [e for e in session.events if e["type"] == "network"]


def test_an_accelerator_refuses_tasks_that_it_does_not_compute(tmp_path):
    with pytest.raises(TargetError) as e:
        tune(chain(tmp_path / "m.onnx", 2), target="vta", trials=2)
    assert e.value.code == "target.tasks"
    product = workloads.matmul_int8(32, 32, 32, signed=True, constant_b=True, shift=6)
    with pytest.raises(TargetError):
        tune([Task.of_func(f, Target("vta")) for f in (product, workloads.elementwise(8, 8))], target="vta")
    tune(product, target="vta", start=False)


@pytest.mark.parametrize("helpers", [0, 2])
def test_helpers_compile_the_same(helpers):
    funcs: list[Func] = [wb.workloads.matmul(8, 8, 8 + i) for i in range(24)]
    codes = build_kernels(funcs, TARGET, helpers)
    assert [code.params[0].shape for code in codes] == [(8, 8 + i) for i in range(24)]
    assert all(code.object for code in codes)


def test_tuning_a_schedule_with_holes_fills_only_the_holes():
    schedule = wb.Schedule(wb.workloads.matmul(64, 64, 64), TARGET)
    schedule.split("j", [None, wb.Hole()])
    with wb.tune(schedule, trials=5, target=TARGET) as session:
        assert session.wait(60)
    best = session.best()
    steps = best.to_json()
    assert [step["primitive"] for step in steps] == ["split"]
    assert all(isinstance(f, int) for f in steps[0]["args"]["factors"] if f is not None)
    measured = {tuple(sorted(r.row.items())) for r in session.records if r.variant >= 0}
    assert len(measured) == sum(r.variant >= 0 for r in session.records)
    assert best.measure().ok


def test_a_function_can_be_tuned_as_it_is():
    with wb.tune(wb.workloads.matmul(16, 16, 16), trials=3, target=TARGET) as session:
        session.wait(60)
    assert session.best().is_concrete
    assert len(session.frame()) == 3


def test_what_cannot_be_tuned_is_refused():
    with pytest.raises(wb.WorkbenchError) as caught:
        wb.tune(3)
    assert caught.value.code == "usage.tune"
    with pytest.raises(wb.WorkbenchError) as caught:
        wb.tune(wb.Schedule(wb.workloads.matmul(8, 8, 8), TARGET))
    assert caught.value.code == "usage.no_holes"
