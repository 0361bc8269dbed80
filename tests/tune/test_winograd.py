"""Winograd's algorithm where schedules are chosen: in spaces, under measurement, from a log, and in a network."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from errors import models

from workbench import workloads
from workbench.graph import extract_tasks, load_onnx, run_reference
from workbench.graph.tasks import Task
from workbench.ir.flops import count_flops
from workbench.ir.interpreter.interp import random_inputs
from workbench.ir.numpy_reference.evaluate import evaluate
from workbench.ir.text.parser import parse
from workbench.ir.text.printer import to_text
from workbench.ir.verify import verify
from workbench.log import Database, Record
from workbench.machine_model.features import INDEX
from workbench.network.compile import compile
from workbench.runtime.results.measure_options import MeasureOptions
from workbench.runtime.schedule_methods import measure
from workbench.schedule import Schedule
from workbench.space.default_schedule import default_schedule
from workbench.space.space import make_space
from workbench.target import Target
from workbench.tune.options import TuneOptions
from workbench.tune.plan.tune_context import TuneContext

TARGET = Target.host(threads=2)
DATA = Path(__file__).parent.parent / "data" / "tvm-tutorial-resnet50-tasks.txt"
QUICK = MeasureOptions(repeat=1)


def is_winograd(variant) -> bool:
    return any(step.name == "winograd" for step in variant.schedule.trace)


def variants(func, target=TARGET):
    return [v for v in make_space(func, target).variants if is_winograd(v)]


def tiles(found) -> list[int]:
    return [step.args["m"] for v in found for step in v.schedule.trace if step.name == "winograd"]


@pytest.mark.parametrize(
    ("options", "threads", "m"),
    [
        ({"h": 12, "w": 12, "ci": 32, "co": 32, "bias": True, "relu": True}, 2, 4),
        ({"h": 9, "w": 6, "ci": 5, "co": 19, "batch": 2, "bias": True, "relu": True, "residual": True}, 2, 4),
        ({"h": 7, "w": 7, "ci": 16, "co": 16}, 1, 4),
        ({"h": 6, "w": 7, "ci": 16, "co": 24, "bias": True, "relu": True}, 2, 2),
        ({"h": 5, "w": 5, "ci": 16, "co": 16}, 1, 2),
    ],
    ids=["even", "odd", "bare", "few tiles", "few tiles, bare"],
)
def test_rows_of_the_sketches_are_right(options, threads, m):
    func, target = workloads.conv2d_nhwc(**options), Target.host(threads=threads)
    if m == 2:  # a machine that does not keep the weights of these few tiles near
        target = replace(target, l1_bytes=4 << 10, l2_bytes=8 << 10)
    given = random_inputs(func, seed=1)
    (want,) = evaluate(func, given, precise=True).values()
    found = variants(func, target)
    assert tiles(found) == [m, m]
    for variant in found:
        (row,) = variant.sampler.draw(1, np.random.default_rng(7))
        schedule = variant.schedule.fill(variant.sampler.row(row))
        verify(schedule.func)
        got = schedule.build(poison=True)(**given)
        assert np.abs(got - want).max() < 2e-5 * np.abs(want).max()


def test_other_convolutions_have_no_such_variant():
    for func in (
        workloads.conv2d_nhwc(8, 8, 16, 16, stride=2),
        workloads.conv2d_nhwc(8, 8, 16, 16, kernel=1, padding=0),
        workloads.conv2d_nhwc(8, 8, 16, 16, groups=2),
        workloads.conv2d_nhwc(8, 8, 509, 16),  # it could, but 509 channels do not fall into vectors
        workloads.matmul(32, 32, 32),
    ):
        assert not variants(func)


def test_scores_compare_algorithms_by_the_operations_of_the_convolution():
    """Where it clearly pays, the untrained model expects Winograd variants to be faster than direct ones."""
    func = workloads.conv2d_nhwc(56, 56, 64, 64, bias=True, relu=True)
    best = {}
    for variant in make_space(func, TARGET).variants:
        x = variant.features(variant.sampler.draw(256, np.random.default_rng(0)))
        cycles = 2.0 ** x[:, INDEX["estimate"]].astype("f8")
        np.testing.assert_allclose(x[:, INDEX["speed"]], np.log2(count_flops(func) / cycles), rtol=1e-5)
        best.setdefault(is_winograd(variant), []).append(x[:, INDEX["speed"]].max())
    assert max(best[True]) > max(best[False]) + math.log2(1.3)


@pytest.mark.parametrize(
    ("shape", "why"),
    [
        ((56, 56, 64, 64), "tiles of 4x4 do the fewest multiplications: 196 tiles of 4x4 would share 0.6 MB"),
        ((14, 14, 256, 256), "16 tiles of 4x4 would share 9.0 MB of transformed weights, and 8 are enough"),
        ((7, 7, 512, 512), "tiles of 2x2 have fewer weights to fetch: 4 tiles of 4x4 would share 36.0 MB"),
        ((14, 14, 67, 16), "67 channels do not fall into vectors"),
        ((14, 14, 16, 4), "4 channels fill no vectors"),
    ],
)
def test_the_explanation_says_which_tile_and_why(shape, why):
    target = Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v4 -l1=48K -l2=2M -l3=32M -threads=2")
    space = make_space(workloads.conv2d_nhwc(*shape), target)
    rules = [r for r in space.rules() if r.rule == "winograd" and r.block == "conv"]
    said = {fired: [r.reason for r in rules if r.fired == fired] for fired in (False, True)}
    made = any(is_winograd(v) for v in space.variants)
    assert made == ("tiles" in why)
    assert any(why in reason for reason in said[False]), "also where it is the form without"
    assert made == any(why in reason for reason in said[True])
    assert why in space.explain()


@pytest.mark.parametrize(("size", "tiles"), [(14, {2, 4}), (28, {4}), (7, {2})])
def test_both_tiles_are_tried_where_either_may_win(size, tiles):
    """Fewer weights against fewer multiplications: measurements decide."""
    target = Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v4 -l1=48K -l2=2M -l3=32M -threads=2")
    space = make_space(workloads.conv2d_nhwc(size, size, 512, 512), target)
    assert {step.args["m"] for v in space.variants for step in v.schedule.trace if step.name == "winograd"} == tiles


def test_an_estimate_counts_weights_that_come_from_memory():
    """Those of 4x4 are more than twice as many: from memory it is not as far ahead as where a cache has them."""
    target = Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v4 -l1=48K -l2=2M -l3=256M -threads=2")
    task = Task.of_func(workloads.conv2d_nhwc(14, 14, 512, 512), target)
    ahead = []
    for where in ("near", "memory"):
        space = TuneContext(target, TuneOptions(constants=where)).space(task)
        best = {4: [], 2: []}
        for v in space.variants:
            x = v.features(v.sampler.draw(256, np.random.default_rng(0)))
            for step in v.schedule.trace:
                if step.name == "winograd":
                    best[step.args["m"]].append(x[:, INDEX["speed"]].max())
        ahead.append(max(best[4]) - max(best[2]))
    assert ahead[1] < ahead[0] - 0.2


def test_the_default_schedule_is_direct():
    func = workloads.conv2d_nhwc(8, 8, 16, 16)
    assert all(step.name != "winograd" for step in default_schedule(func, TARGET).trace)


def winograd_schedule(func, m=4):
    found = next(v for v in variants(func) if any(p.name == "winograd" and p.args["m"] == m for p in v.schedule.trace))
    return found.schedule.fill(found.sampler.row(found.sampler.draw(1, np.random.default_rng(0))[0]))


def test_a_measurement_accepts_right_results_with_room_to_spare():
    schedule = winograd_schedule(workloads.conv2d_nhwc(12, 12, 512, 16))
    found = measure(schedule.func, schedule.base, TARGET, repeat=1)
    assert found.ok, found.error
    assert found.max_rel_error is not None
    assert 1e-4 < found.max_rel_error < 0.2, "the bound is that of the algorithm: a direct sum has far less room"
    assert found.flops == count_flops(schedule.base)


@pytest.mark.parametrize(
    ("right", "wrong"), [(" * -5.0", " * 5.0"), (" * 8.0", " * 4.0"), ("conv.M[5, ", "conv.M[0, ")]
)
def test_a_measurement_catches_a_wrong_transform(right, wrong):
    schedule = winograd_schedule(workloads.conv2d_nhwc(8, 8, 16, 16))
    text = to_text(schedule.func)
    assert right in text
    found = measure(parse(text.replace(right, wrong)), schedule.base, TARGET, repeat=1)
    assert found.status == "wrong_answer", found


def network(path):
    """Two equal convolutions with different weights, with a residual connection."""
    from onnx import helper

    rng = np.random.default_rng(0)
    constants = {f"w{k}": (rng.standard_normal((16, 16, 3, 3)) / 12).astype("float32") for k in range(2)}
    constants |= {f"b{k}": rng.standard_normal(16).astype("float32") for k in range(2)}
    nodes, last = [], "x"
    for k in range(2):
        nodes.append(helper.make_node("Conv", [last, f"w{k}", f"b{k}"], [f"c{k}"], pads=[1, 1, 1, 1]))
        nodes.append(helper.make_node("Relu", [f"c{k}"], [f"r{k}"]))
        last = f"r{k}"
    return models.save(path, nodes, {"x": [1, 16, 9, 9]}, {last: [1, 16, 9, 9]}, constants)


def test_a_log_brings_the_algorithm_into_a_network(tmp_path):
    graph = load_onnx(network(tmp_path / "m.onnx")).optimize()
    (task,) = [t for t in extract_tasks(graph, TARGET) if "3x3" in t.name]
    schedule = winograd_schedule(task.func)
    record = Record(
        task_key=task.key, task=task.name, trial=0, status="ok", target=str(TARGET), costs_ms=(1.0,), latency_ms=1.0,
        trace=tuple(schedule.to_json()),
    )  # fmt: skip
    executable = compile(graph, Database([record]), TARGET)
    tuned = [call for call in executable.plan.calls if call.tuned]
    assert len(tuned) == 2
    assert len({id(call.code) for call in tuned}) == 1
    feeds = {n: np.random.default_rng(1).standard_normal(t.shape).astype("f4") for n, t in graph.input_types().items()}
    want = run_reference(graph, feeds, graph.outputs)
    executable.poison()
    for name, got in executable.run(feeds).items():
        assert np.abs(got - want[name]).max() < 2e-5 * np.abs(want[name]).max()


# ------------------------------------------------------------------------------------------------- the tutorial's tasks


def tutorial() -> list[tuple[int, list[tuple[int, ...]], str]]:
    """Number, shapes and stages of the tutorial's tasks that are Winograd."""
    parts = re.split(r"=+ Task (\d+)  ", DATA.read_text())[1:]
    found = []
    for number, text in zip(parts[::2], parts[1::2], strict=True):
        if "winograd" in text:
            shapes = re.findall(r"\[([\d, ]+)\]", text.split("\n")[0])
            found.append((int(number), [tuple(int(d) for d in s.split(",")) for s in shapes], text))
    return found


def test_the_tutorial_has_two_such_tasks():
    assert [number for number, _, _ in tutorial()] == [5, 7]


@pytest.mark.parametrize("which", [0, 1])
def test_tasks_of_the_tutorial_are_schedules_of_ours(which):
    """The same six stages (ours transform in two passes each), over the same numbers of tiles and channels."""
    _, (image, kernel, bias, result), text = tutorial()[which]
    n, h, w, c = image
    o, (tiles,) = kernel[-1], {int(p) for p in re.findall(r"floordiv\(p, (\d+)\), \(\(floormod", text)}
    func = workloads.conv2d_nhwc(h, w, c, o, batch=n, bias=True, relu=True)
    schedule = Schedule(func, TARGET)
    schedule.winograd("conv", kernel[0] - 2)
    buffers = {b.name: b.shape for b in schedule.func.buffers}
    assert buffers["X"] == image
    assert buffers["W"] == kernel  # [6, 6, 256, 256]; there with the last two dimensions exchanged
    assert buffers["bias"] == (bias[-1],)
    assert buffers["relu"] == result
    assert math.prod(buffers["conv.V"]) == kernel[0] * kernel[1] * n * tiles * c  # data_pack
    assert math.prod(buffers["conv.M"]) == kernel[0] * kernel[1] * n * tiles * o  # bgemm
    assert buffers["conv.Y"][:2] == (4, 6)  # half of the way to inverse[4, 4, p, co]
