"""Winograd's algorithm as a step: what it computes, what it looks like, and what may be done with its stages."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest
from references import conv

from workbench import te, workloads
from workbench.codegen.backend import build_func
from workbench.errors import ScheduleError, UsageError
from workbench.ir import Buffer, blocks
from workbench.ir.compact_temporaries import compact
from workbench.ir.flops import count_flops, expr_flops
from workbench.ir.func import pack
from workbench.ir.interpreter import interp
from workbench.ir.text.parser import parse
from workbench.ir.text.printer import to_text
from workbench.ir.verify import verify
from workbench.ir.winograd_weights import KERNEL_MATRIX, WinogradStep
from workbench.schedule import Hole, Schedule, drop_unit_loops
from workbench.target import Target

#: Largest error over the largest result that the documentation states, per tile, for at most 512 channels.
STATED = {2: 2e-6, 4: 2e-5}
SHAPES = {
    "whole": {"h": 8, "w": 8, "ci": 3, "co": 5},
    "odd": {"h": 7, "w": 9, "ci": 5, "co": 3},
    "bare": {"h": 7, "w": 10, "ci": 3, "co": 4, "padding": 0},
    "wide_frame": {"h": 4, "w": 5, "ci": 2, "co": 3, "padding": 2},
    "batch": {"h": 5, "w": 6, "ci": 3, "co": 4, "batch": 2, "bias": True, "relu": True, "residual": True},
    "small": {"h": 3, "w": 1, "ci": 2, "co": 2, "relu": True},
}


def expected(func, given, options):
    y = conv(given, padding=options.get("padding", 1))
    y = y + given["bias"] if "bias" in given else y
    y = y + given["R"] if "R" in given else y
    return np.maximum(y, 0) if options.get("relu") else y


def error(got, want):
    return np.abs(got - want).max() / np.abs(want).max()


@pytest.mark.parametrize("inlined", [False, True], ids=["pad_stage", "pad_condition"])
@pytest.mark.parametrize("m", sorted(KERNEL_MATRIX))
@pytest.mark.parametrize("shape", SHAPES)
def test_result_is_that_of_the_convolution(shape, m, inlined):
    options = SHAPES[shape]
    schedule = Schedule(workloads.conv2d_nhwc(**options), Target.host(threads=1))
    given = interp.random_inputs(schedule.func, seed=3)
    want = expected(schedule.func, given, options)
    if inlined and options.get("padding", 1):
        schedule.compute_inline("pad")
    names = schedule.winograd("conv", m)
    cropped = ("conv.crop",) if options["h"] % m or options["w"] % m or options.get("padding") == 0 else ()
    assert names[:5] == ("conv.T", "conv.V", "conv", "conv.Y", "conv.out")
    assert set(names[5:]) <= set(cropped) | {"conv.crop"}
    func = schedule.func
    verify(func)
    assert parse(to_text(func)) == func
    result = interp.trace_run(func, given, "shuffled")
    (out,) = func.outputs
    assert (result.writes[out.name] == 1).all()
    assert error(result.outputs[out.name], want) < STATED[m]
    kernel = schedule.build(poison=True)
    assert error(kernel(**given), want) < STATED[m]
    assert Schedule.from_json(schedule.base, schedule.to_json()).func == func


def test_products_are_fewer_and_the_weights_are_transformed_ahead_of_time():
    schedule = Schedule(workloads.conv2d_nhwc(8, 8, 4, 8))
    schedule.winograd("conv")
    func = schedule.func
    sizes = [it.extent for it in func.block("conv")[0].iters]
    assert np.prod(sizes) == 36 * 4 * 4 * 8  # 36 products for 16 outputs, instead of 144
    weights = func.buffer("W")
    assert weights.shape == (6, 6, 4, 8)
    assert weights.logical_shape() == (3, 3, 4, 8)
    assert "packed(winograd: 4)" in schedule.nest()


@pytest.mark.parametrize("m", sorted(KERNEL_MATRIX))
def test_a_packed_kernel_is_transformed_along_both_dimensions(m, rng):
    kernel = rng.standard_normal((3, 3, 2, 4)).astype("float32")
    buffer = Buffer("W", (m + 2, m + 2, 2, 4), role="const", layout=(WinogradStep(m),))
    g = np.array(KERNEL_MATRIX[m])
    got = pack(buffer, kernel)
    assert got.dtype == np.float32
    for c, o in itertools.product(range(2), range(4)):
        np.testing.assert_allclose(got[:, :, c, o], g @ kernel[:, :, c, o].astype("f8") @ g.T, rtol=1e-6)


@pytest.mark.parametrize("m", sorted(KERNEL_MATRIX))
def test_the_matrices_are_an_algorithm_in_exact_arithmetic(m):
    """One tile of whole numbers through the three transforms, in float64, is the convolution to the last digits."""
    options = {"h": m, "w": m, "ci": 1, "co": 1, "padding": 0}
    func = workloads.conv2d_nhwc(m + 2, m + 2, 1, 1, padding=0)
    func = parse(to_text(func).replace("float32", "float64").replace("= 0.0", "= 0.0f64"))
    schedule = Schedule(func)
    schedule.winograd("conv", m)
    given = {"X": np.arange((m + 2) ** 2, dtype="f8").reshape(1, m + 2, m + 2, 1) ** 2 % 17}
    given["W"] = np.array([3, 1, 4, 1, 5, 9, 2, 6, 5], "f8").reshape(3, 3, 1, 1)
    want = expected(func, given, options)
    np.testing.assert_allclose(interp.run(schedule.func, given)["conv"], want, rtol=1e-12)


@pytest.mark.parametrize("m", sorted(KERNEL_MATRIX))
def test_errors_are_what_the_documentation_states(m):
    """Both ways: 64 channels stay below the bound, and the bound is not a hundred times what is seen."""
    func = workloads.conv2d_nhwc(12, 12, 64, 16)
    schedule = Schedule(func, Target.host(threads=1))
    schedule.winograd("conv", m)
    given = interp.random_inputs(func, seed=1)
    seen = error(schedule.build()(**given), conv(given))
    assert STATED[m] / 100 < seen < STATED[m]


def tiled(m=4, **options):
    """Everything inside blocks of tiles, as a person would write it, with holes."""
    s = Schedule(workloads.conv2d_nhwc(8, 12, 16, 32, relu=True, **options), Target.host(threads=2))
    s.compute_inline("pad")
    s.winograd("conv", m)
    s.compute_inline("conv.out")
    h0, h1, h2 = s.split("relu_h", [Hole(), Hole(), m])
    w0, w1, w2 = s.split("relu_w", [Hole(), Hole(), m])
    o0, o1 = s.split("relu_o", [None, Hole("lanes", choices=(8, 16))])
    s.reorder("relu_n", h0, w0, h1, w1, o0, h2, w2, o1)
    s.compute_at("conv.Y", o0)
    s.compute_at("conv", w0)
    s.compute_at("conv.V", w0)
    c0, c1 = s.split("conv.V_c", [None, 16])
    s.reorder("conv.V_n", "conv.V_ty", "conv.V_tx", c0, "conv.V_a", "conv.V_b", c1)
    s.compute_at("conv.T", c0)
    for loop in (h2, w2, "conv.Y_y", "conv.Y_b", "conv.V_a", "conv.V_b", "conv.T_x", "conv.T_a"):
        s.unroll(loop)
    for loop in (o1, "conv.Y_o", c1, "conv.T_c"):
        s.vectorize(loop)
    p0, p1 = s.split("conv_o", [None, "lanes"])
    t0, t1 = s.split("conv_tx", [Hole(), Hole()])
    s.reorder("conv_a", "conv_b", p0, "conv_n", "conv_ty", t0, "conv_c", t1, p1)
    s.transform_layout("W", 3, "lanes")
    s.unroll(t1)
    s.vectorize(p1)
    s.parallel("relu_n", h0, w0)
    return s


def test_stages_take_holes_and_every_row_is_right():
    s = tiled()
    given = interp.random_inputs(s.base, seed=2)
    want = np.maximum(conv(given), 0)
    for row in s.domain.sample(4, np.random.default_rng(0)):
        filled = s.fill([int(v) for v in row])
        verify(filled.func)
        result = interp.trace_run(filled.func, given, "shuffled")
        assert error(result.outputs["relu"], want) < STATED[4]
        assert (result.writes["relu"] == 1).all()
        assert error(interp.run(drop_unit_loops(compact(filled.func)), given)["relu"], want) < STATED[4]
        again = Schedule.from_json(s.base, filled.to_json())
        assert drop_unit_loops(again.func).body == drop_unit_loops(filled.func).body
        assert again.func.buffer("W") == filled.func.buffer("W")
    assert filled.func.buffer("W").logical_shape() == (3, 3, 16, 32)


def test_unrolled_transforms_are_nothing_but_shared_loads_and_sums():
    s = tiled()
    rows = s.domain.sample(64, np.random.default_rng(0))
    filled = next(f for f in (s.fill([int(v) for v in row]) for row in rows) if f.func.loop("conv_o.1")[0].extent == 16)
    given = interp.random_inputs(s.base, seed=2)
    assert error(filled.build(poison=True)(**given), np.maximum(conv(given), 0)) < STATED[4]
    text = build_func(filled.func, s.target).source
    lanes = min(16, s.target.lanes("float32"))
    factors = set(re.findall(rf"fmul contract <{lanes} x float> %\S+, splat \(float (0x\w+)\)", text))
    # Nothing is multiplied by 0 or 1.
    assert {float(np.array(int(x, 16), "u8").view("f8")) for x in factors} == {-5.0, -4.0, -2.0, 2.0, 4.0, 8.0}
    # For each of the 6 + 6 columns of data 3 differences and 8 products with a factor, for each of the 6 + 4 columns of
    # products 2 and 3: what a load that is not shared, or a condition that is left, would repeat.
    vectors = 16 // lanes
    assert len(re.findall(rf"fsub contract <{lanes} x float>", text)) == vectors * (12 * 3 + 10 * 2)
    assert len(re.findall(rf"fmul contract <{lanes} x float> %\S+, splat", text)) == vectors * (12 * 8 + 10 * 3)


def test_everything_the_data_is_computed_from_may_be_inlined():
    x, w = te.placeholder((1, 6, 6, 4), name="X"), te.placeholder((3, 3, 4, 4), name="W", constant=True)
    r = te.compute(x.shape, lambda n, h, w, c: te.maximum(x[n, h, w, c], 0.0), name="first")
    kh, kw, c = te.reduce_axis(3, "kh"), te.reduce_axis(3, "kw"), te.reduce_axis(4, "c")
    y = te.compute(
        (1, 4, 4, 4),
        lambda n, h, v, o: te.sum(r[n, h + kh, v + kw, c] * w[kh, kw, c, o], axis=[kh, kw, c]),
        name="conv",
    )
    s = Schedule(te.func(y, "relu_conv"))
    s.compute_inline("first")
    s.winograd("conv")
    given = interp.random_inputs(s.func, seed=0)
    want = conv({"X": np.maximum(given["X"], 0), "W": given["W"]}, padding=0)
    assert error(interp.run(s.func, given)["conv"], want) < STATED[4]


def test_weights_that_are_an_input_or_have_other_readers_are_refused():
    text = Schedule(workloads.conv2d_nhwc(6, 6, 4, 8)).nest()
    given = Schedule(parse(text.replace("W: const", "W: input")))
    with pytest.raises(ScheduleError, match="is an input of the function") as caught:
        given.winograd("conv")
    assert caught.value.code == "winograd.weights"
    x, w = te.placeholder((1, 6, 6, 4), name="X"), te.placeholder((3, 3, 4, 4), name="W", constant=True)
    kh, kw, c = te.reduce_axis(3, "kh"), te.reduce_axis(3, "kw"), te.reduce_axis(4, "c")
    y = te.compute(
        (1, 4, 4, 4),
        lambda n, h, v, o: te.sum(x[n, h + kh, v + kw, c] * w[kh, kw, c, o], axis=[kh, kw, c]),
        name="conv",
    )
    z = te.compute((3, 3, 4, 4), lambda i, j, k, o: w[i, j, k, o] * 2.0, name="Z")
    with pytest.raises(ScheduleError, match="is read by Z too"):
        Schedule(te.func([y, z])).winograd("conv")


def test_marked_loops_and_guests_are_not_thrown_away():
    s = Schedule(workloads.conv2d_nhwc(6, 6, 4, 8))
    s.parallel("n", "h")
    with pytest.raises(ScheduleError, match="'n' is marked") as caught:
        s.winograd("conv")
    assert caught.value.code == "winograd.nest"
    depthwise = Schedule(workloads.depthwise_conv2d_nhwc(6, 6, 4))
    with pytest.raises(ScheduleError) as caught:
        depthwise.winograd("conv")
    assert caught.value.code == "winograd.groups"


def test_the_size_of_tiles_may_be_left_open():
    s = Schedule(workloads.conv2d_nhwc(8, 8, 4, 8))
    s.winograd("conv", Hole(choices=[4, 2]))
    assert [v.trace[0].args["m"] for v in s.variants()] == [4, 2]
    assert Schedule.from_json(s.base, s.to_json()).trace == s.trace
    with pytest.raises(UsageError, match="needs choices"):
        s.winograd("conv", Hole())


def test_operations_of_a_transform_are_those_of_one_row():
    s = Schedule(workloads.conv2d_nhwc(8, 8, 4, 8, padding=0))
    direct = count_flops(s.func)
    assert direct == 2 * 9 * 6 * 6 * 4 * 8
    s.winograd("conv", 2)
    stages = {b.name: (expr_flops(b.value), [it.extent for it in b.iters]) for b, _ in blocks(s.func.body)}
    assert [stages[f"conv{k}"][0] for k in (".T", ".V", "", ".Y", ".out")] == [1, 1, 2, 2, 2]
    assert count_flops(s.func) < direct
