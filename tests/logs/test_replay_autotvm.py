"""AutoTVM's records as schedules: each template's result against NumPy, and which records do not replay."""

import numpy as np
import pytest
from logs.real_files import files

import workbench as wb
from workbench.logs.replays import replay
from workbench.logs.replays.replayers.autotvm import replay_autotvm
from workbench.logs.replays.result import CannotReplay, Request
from workbench.logs.tvm.autotvm_templates import call
from workbench.target import Target


def tensor(*shape):
    return ["TENSOR", list(shape), "float32"]


def splits(**factors):
    return [[name, "sp" if isinstance(value, list) else "ot", value] for name, value in factors.items()]


def rebuilt(name, args, entities):
    raw = {"input": ["llvm", name, args, {}], "config": {"index": 0, "entity": entities}}
    schedule, steps, notes = replay_autotvm(Request(None, 0, raw, None, Target("llvm")))
    assert schedule.is_concrete
    assert sum(len(step.ours) for step in steps) == len(schedule.trace)
    return schedule, notes


DENSE = [tensor(16, 24), tensor(40, 24), None, "float32"]


@pytest.mark.parametrize(
    ("name", "entities"),
    [
        ("dense_nopack.x86", splits(tile_y=[-1, 4], tile_x=[-1, 5], tile_k=[-1, 8])),
        ("dense_nopack.x86", splits(tile_y=[-1, 16], tile_x=[-1, 1], tile_k=[-1, 1])),
        ("dense_nopack.x86", splits(tile_y=[-1, 1], tile_x=[-1, 40], tile_k=[-1, 24])),
        ("dense_pack.x86", splits(tile_y=[-1, 2, 4], tile_x=[-1, 1, 8], tile_k=[-1, 6])),
        ("dense_pack.x86", splits(tile_y=[-1, 1, 1], tile_x=[-1, 5, 1], tile_k=[-1, 1])),
        ("dense_pack.x86", splits(tile_y=[-1, 1, 16], tile_x=[-1, 1, 40], tile_k=[-1, 24])),
        ("dense_pack.x86", splits(tile_y=[-1, 2, 8], tile_x=[-1, 2, 4], tile_k=[-1, 4], tile_inner=[-1, 2])),
    ],
)
def test_dense(name, entities):
    schedule, _ = rebuilt(name, DENSE, entities)
    rng = np.random.default_rng(0)
    data, weight = rng.standard_normal((16, 24), np.float32), rng.standard_normal((40, 24), np.float32)
    got = schedule.build()(data=data, weight=weight)
    np.testing.assert_allclose(got, data @ weight.T, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("factors", [(4, 8, 16), (1, 1, 1), (24, 16, 32), (3, 2, 4)])
def test_batch_matmul(factors):
    y, x, k = factors
    entities = splits(tile_y=[-1, y], tile_x=[-1, x], tile_k=[-1, k])
    schedule, _ = rebuilt("batch_matmul.x86", [tensor(3, 24, 32), tensor(3, 16, 32), [3, 24, 16]], entities)
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((3, 24, 32), np.float32), rng.standard_normal((3, 16, 32), np.float32)
    np.testing.assert_allclose(schedule.build()(A=a, B=b), a @ b.transpose(0, 2, 1), rtol=1e-4, atol=1e-4)


def blocked(image, block):
    n, c, h, w = image.shape
    return np.ascontiguousarray(image.reshape(n, c // block, block, h, w).transpose(0, 1, 3, 4, 2))


def convolved(image, kernel, stride, padding, groups=1):
    top, left, bottom, right = padding
    padded = np.pad(image, ((0, 0), (0, 0), (top, bottom), (left, right)))
    filters, own, high, wide = kernel.shape
    out_h, out_w = (padded.shape[2] - high) // stride + 1, (padded.shape[3] - wide) // stride + 1
    out = np.zeros((image.shape[0], filters, out_h, out_w), np.float64)
    for f in range(filters):
        channels = slice(f // (filters // groups) * own, f // (filters // groups) * own + own)
        for y in range(out_h):
            for x in range(out_w):
                window = padded[:, channels, y * stride : y * stride + high, x * stride : x * stride + wide]
                out[:, f, y, x] = (window * kernel[f]).sum((1, 2, 3))
    return out


@pytest.mark.parametrize(
    ("kernel", "stride", "padding", "knobs"),
    [
        (3, 1, [1, 1, 1, 1], {"tile_ow": [-1, 3], "unroll_kw": True}),
        (3, 2, [1, 0, 1, 1], {"tile_ow": [-1, 2], "unroll_kw": False}),
        (3, 1, [1, 1, 1, 1], {"tile_ow": [-1, 4], "unroll_kw": False}),  # does not divide 9 columns
        (1, 1, [0, 0, 0, 0], {"tile_ow": [-1, 3], "tile_oh": 2}),
        (1, 2, [0, 0, 0, 0], {"tile_ow": [-1, 4], "tile_oh": 1}),  # does not divide 5 columns
    ],
)
def test_convolution(kernel, stride, padding, knobs):
    args = [tensor(1, 8, 8, 9), tensor(12, 8, kernel, kernel), [stride] * 2, padding, [1, 1], "NCHW", "NCHW", "float32"]
    entities = splits(tile_ic=[-1, 4], tile_oc=[-1, 6], **knobs)
    schedule, _ = rebuilt("conv2d_NCHWc.x86", args, entities)
    rng = np.random.default_rng(0)
    image, weight = rng.standard_normal((1, 8, 8, 9), np.float32), rng.standard_normal(args[1][1], np.float32)
    packed = weight.reshape(2, 6, 2, 4, kernel, kernel).transpose(0, 2, 4, 5, 3, 1)
    got = schedule.build()(data=blocked(image, 4), kernel=np.ascontiguousarray(packed))
    want = convolved(image, weight, stride, padding)
    np.testing.assert_allclose(got, blocked(want, 6), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("stride", "unroll"), [(1, True), (2, False)])
def test_depthwise(stride, unroll):
    args = [tensor(1, 8, 8, 9), tensor(8, 1, 3, 3), [stride] * 2, [1, 1, 1, 1], [1, 1], "NCHW", "NCHW", "float32"]
    entities = splits(tile_ic=[-1, 4], tile_oc=[-1, 4], tile_ow=[-1, 2], unroll_kw=unroll)
    schedule, _ = rebuilt("depthwise_conv2d_NCHWc.x86", args, entities)
    rng = np.random.default_rng(0)
    image, weight = rng.standard_normal((1, 8, 8, 9), np.float32), rng.standard_normal((8, 1, 3, 3), np.float32)
    packed = weight.reshape(2, 4, 3, 3).transpose(0, 2, 3, 1)
    got = schedule.build()(data=blocked(image, 4), kernel=np.ascontiguousarray(packed))
    np.testing.assert_allclose(got, blocked(convolved(image, weight, stride, [1] * 4, 8), 4), rtol=1e-4, atol=1e-4)


CPU = files("bert-cpu*.log*", "graph*.log*", "tophub-llvm*.log*", "*8124m.log")


@pytest.mark.parametrize("path", CPU, ids=lambda path: path.name)
def test_every_cpu_record_replays(path):
    log = wb.logs.open(path)
    step = max(1, len(log) // 60)
    found = [replay(log, record) for record in range(0, len(log), step)]
    assert all(one.ok for one in found), [one.reason for one in found if not one.ok][:3]
    assert all(one.then_ms is not None for one in found if log.records["status"][one.record] == "ok")


@pytest.mark.parametrize(
    ("name", "args", "entities", "reason"),
    [
        ("conv2d_packed.vta", [], [], "conv2d_packed.vta is not known here"),
        ("dense_nopack.x86", DENSE, [], "the knob tile_k is missing"),
        ("dense_nopack.x86", [tensor(16, 24), tensor(40, 24), tensor(40), "float32"], [], "adds a bias"),
        ("dense_nopack.x86", [["TENSOR", [4, 4], "int8"], tensor(4, 4)], [], "float32, int8"),
        ("dense_nopack.x86", ["float32"], splits(tile_k=[1, 2]), "another form"),
        ("dense_nopack.x86", DENSE, splits(tile_k=[-1, "x"]), "another form"),
        ("dense_nopack.x86", DENSE, splits(tile_k=[-1, 0]), "makes no sense"),
    ],
)
def test_why_a_record_does_not_replay(name, args, entities, reason):
    with pytest.raises(CannotReplay) as caught:
        rebuilt(name, args, entities)
    assert reason in caught.value.reason, call(name, args)
