"""Spaces of products for tensor cores: what the rule makes is right on every thread, and NVRTC takes it."""

from __future__ import annotations

import numpy as np
import pytest
from codegen import warp_tile_nests as nests
from onnx import TensorProto, helper
from tune.test_gpu_space import check, drawn

import workbench as wb
from workbench import workloads
from workbench.codegen.gpu import nvrtc, simt
from workbench.codegen.gpu.module import GpuModule
from workbench.codegen.gpu.words import CUDA
from workbench.ir import loops
from workbench.machine_model import nest_summary
from workbench.machine_model.features import INDEX, features
from workbench.machine_model.machine_parameters import Machine
from workbench.space.default_schedule import default_schedule
from workbench.space.space import make_space
from workbench.target import Target

SIMT = Target("cpu-simt")
runs = pytest.mark.skipif(simt.problem() is not None, reason="there is no C++ compiler")
compiles = pytest.mark.skipif(
    nvrtc.problem() is not None, reason="there is no NVRTC (pip install nvidia-cuda-nvrtc-cu12)"
)
#: Rows, columns, length of the sum, type, second operand by columns, twice the result behind it.
PRODUCTS = [
    (64, 128, 64, "float16", False, True),
    (64, 64, 96, "bfloat16", True, False),
    (37, 40, 24, "float16", False, True),
    (28, 130, 33, "bfloat16", True, True),
]


def called(s) -> set[str]:
    return {lp.intrin for lp, _ in loops(s.func.body) if lp.intrin}


@runs
@pytest.mark.parametrize("product", [PRODUCTS[0], *(pytest.param(p, marks=pytest.mark.slow) for p in PRODUCTS[1:])])
def test_rows_compute_the_right_thing(product):
    func = nests.product(*product)
    for s in (default_schedule(func, SIMT), *drawn(func, 1, 3)):
        assert called(s) == {nests.name_of(product[3], product[4])}
        check(func, s)


@runs
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(25))
def test_many_rows_of_random_products(seed):
    rng = np.random.default_rng(seed)
    m, n, k = (int(x) for x in rng.integers(12, 100, 3))
    func = nests.product(m, n, k, str(rng.choice(["float16", "bfloat16"])), *(bool(x) for x in rng.integers(0, 2, 2)))
    for s in drawn(func, 1, seed):
        check(func, s)


def test_every_row_fits_the_device():
    """Operands of all warps pass through shared memory; a stage behind takes the results from there."""
    func = nests.product(256, 512, 128, "float16", scale=True)
    used = []
    for s in drawn(func, 6, 0):
        (launch,) = GpuModule(s.func, "kernel", CUDA, SIMT).launches()
        assert launch.block[0] == 32
        assert launch.threads in (128, 256)
        used.append(launch.shared)
    assert 24 << 10 < max(used) <= 48 << 10


def test_older_gpus_have_no_bfloat16_and_float32_is_no_tile():
    func = nests.product(64, 64, 64, "bfloat16")
    for arch, there in (("sm_70", False), ("sm_80", True)):
        labels = [v.label for v in make_space(func, Target(f"cuda -arch={arch}")).variants]
        assert any("wmma.bf16" in label for label in labels) == there
    rules = make_space(workloads.matmul(64, 64, 64), SIMT).rules()
    assert "no instruction" in next(r.reason for r in rules if r.rule == "gpu_warp_tiles")
    assert not any("wmma" in v.label for v in make_space(func, Target("opencl")).variants)


def test_the_estimate_knows_warps_and_tensor_cores():
    tiles, plain = nests.product(512, 512, 512, "float16"), workloads.matmul(512, 512, 512)
    best = []
    for func in (tiles, plain):
        rows = [features(nest_summary.plan(s.func), {}, 1, Machine.of(SIMT))[0] for s in drawn(func, 10, 1)]
        best.append(min(row[INDEX["estimate"]] for row in rows))
        if func is tiles:
            assert {float(row[INDEX["gpu.threads"]]) for row in rows} == {
                np.float32(np.log2(1 + n)) for n in (128, 256)
            }
    assert best[0] < best[1] - 0.5


@compiles
@pytest.mark.parametrize("arch", ["sm_70", "sm_80", pytest.param("sm_90", marks=pytest.mark.slow)])
def test_nvrtc_takes_them(arch):
    target = Target(f"cuda -arch={arch}")
    for dtype in ("float16", "bfloat16"):
        for s in drawn(nests.product(256, 512, 256, dtype, scale=True), 1, 5, target):
            assert called(s) or (dtype, arch) == ("bfloat16", "sm_70")
            for kernel in s.build(target).statistics:
                assert kernel.code.registers > 20
                assert kernel.code.spilled_bytes <= 64


def task_of(op: str, x: tuple[int, ...], w: tuple[int, ...], target: Target, **attributes) -> wb.Task:
    """The task that a network of float16 has for a node, with what is fused behind it."""
    values = [helper.make_tensor_value_info(n, TensorProto.FLOAT16, d) for n, d in (("x", x), ("w", w), ("z", None))]
    nodes = [helper.make_node(op, ["x", "w"], ["y"], **attributes), helper.make_node("Relu", ["y"], ["z"])]
    graph = helper.make_graph(nodes, "net", values[:2], values[2:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    tasks = wb.extract_tasks(wb.load_onnx(model), target)
    return next(task for task in tasks if "transpose" not in task.name)


@runs
@pytest.mark.slow
@pytest.mark.parametrize("shape", [(64, 128), (3, 40, 64)])
def test_products_of_networks_are_tiles(shape):
    """In batches, too."""
    task = task_of("MatMul", shape, (*shape[:-2], shape[-1], 96), SIMT)
    for s in drawn(task.func, 1, 2):
        assert called(s) == {"cuda.wmma.f16"}
        check(task.func, s)


def convolution(
    target: Target, inputs: int, outputs: int, size: int, kernel: int = 3, stride: int = 1, dilation: int = 1
) -> wb.Task:
    x, w, around = (1, inputs, size, size), (outputs, inputs, kernel, kernel), kernel // 2 * dilation
    return task_of("Conv", x, w, target, pads=[around] * 4, strides=[stride] * 2, dilations=[dilation] * 2)


@runs
@pytest.mark.slow
@pytest.mark.parametrize("layer", [(32, 32, 14), (32, 64, 14, 3, 2), (48, 32, 7), (16, 32, 20, 3, 1, 2)])
def test_convolutions_of_networks_are_tiles(layer):
    """Rows of a tile are places of one line of the image, whatever lies between them; short lines are padded."""
    task = convolution(SIMT, *layer)
    for s in drawn(task.func, 1, 2):
        assert called(s) == {"cuda.wmma.f16"}
        check(task.func, s)


@compiles
@pytest.mark.slow
@pytest.mark.parametrize("arch", ["sm_70", "sm_80", "sm_90"])
@pytest.mark.parametrize("layer", [(64, 128, 56, 3, 2), (512, 512, 7)])
def test_nvrtc_takes_convolutions(arch, layer):
    target = Target(f"cuda -arch={arch}")
    s = drawn(convolution(target, *layer).func, 1, 3, target)[0]
    assert called(s) == {"cuda.wmma.f16"}
    for kernel in s.build(target).statistics:
        assert kernel.code.spilled_bytes <= 64
