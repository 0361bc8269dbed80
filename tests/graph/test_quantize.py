"""Quantising: onnxruntime on what is written, NumPy and onnxruntime's calibrator on ranges, what is refused."""

from __future__ import annotations

import contextlib
import io

import numpy as np
import ort_session
import pytest
import tiers
from graph.test_quantised_networks import by_onnxruntime, image, network, weights

import workbench as wb
from workbench.errors import InputError, ModelError, ModelWarning, ShapeError, UsageError
from workbench.graph import Graph, Node, TensorType
from workbench.graph.onnx.writer import to_onnx
from workbench.graph.quantization import ranges
from workbench.graph.quantization.ranges import Observed
from workbench.network.samples import sample_list

IMAGES = [image(k) for k in range(4)]


@pytest.fixture(scope="module")
def cnn():
    return wb.load_onnx(network())


@pytest.fixture(scope="module")
def small(cnn):
    return wb.quantize(cnn, IMAGES)


@pytest.mark.parametrize("options", tiers.first([("entropy", "int8"), ("minmax", "uint8")]))
def test_onnxruntime_computes_the_same_of_what_is_written(cnn, tmp_path, options):
    calibration, activations = options
    q = wb.quantize(cnn, IMAGES, calibration=calibration, activations=activations)
    wb.save_onnx(q, tmp_path / "q.onnx")
    again = wb.load_onnx(tmp_path / "q.onnx")
    assert [n.op for n in again.nodes] == [n.op for n in q.nodes]
    executable = wb.compile(again)
    for seed in (9, 10):
        feeds = {"x": image(seed)}
        (want,) = by_onnxruntime(tmp_path / "q.onnx", feeds)
        (got,) = executable.run(feeds).values()
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
    ops = [n.op for n in q.optimize().nodes]
    assert "Conv" not in ops
    assert ops.count("ConvInteger") == 4


def test_error_is_small_and_told_by_layer(cnn, small):
    table = wb.accuracy(cnn, small, [image(9), image(10)], bound=0.02)
    y = table.set_index("tensor").loc["y"]
    both = wb.compile(cnn), wb.compile(small)
    pairs = [[e.run({"x": image(k)})["y"] for e in both] for k in (9, 10)]
    error = np.array([a.astype("f8") - b for a, b in pairs])
    assert y["max_error"] == pytest.approx(np.abs(error).max(), rel=1e-3)
    size = np.sqrt((np.array([a for a, _ in pairs]).astype("f8") ** 2).sum())
    assert y["relative"] == pytest.approx(np.sqrt((error**2).sum()) / size, rel=1e-3)
    assert 0 < y["relative"] < 0.05
    assert {"r0", "c3", "m", "f", "y"} <= set(table["tensor"])
    assert table.attrs["first_above"] in {"", *table["tensor"]}


def test_accuracy_tells_what_is_not_finite(cnn):
    bad = {**cnn.constants, "b4": np.full(10, np.inf, "f4")}
    table = wb.accuracy(cnn, cnn.replace(constants=bad), [image(9)]).set_index("tensor")
    assert np.isinf(table.loc["y", "relative"])
    assert table.loc["r2", "relative"] == 0


def test_nodes_are_excluded_by_name_and_by_operator(cnn):
    first = next(n.name for n in cnn.nodes if n.op == "Conv")
    table = wb.quantization.plan(cnn, exclude=[first, "Gemm"]).set_index("node")
    assert table.loc[first, "reason"] == "it is excluded"
    assert list(table[table["op"] == "Gemm"]["reason"]) == ["Gemm is excluded"]
    q = wb.quantize(cnn, IMAGES, exclude=[first, "Gemm"])
    real = [n for n in q.optimize().nodes if n.op in ("Conv", "Gemm", "MatMul")]
    assert len(real) == 2
    costs = [
        wb.accuracy(cnn, g, IMAGES).set_index("tensor").loc["r0", "relative"] for g in (q, wb.quantize(cnn, IMAGES))
    ]
    assert costs[0] < costs[1]  # rounding of its result is left, for those who read it


def test_sensitivity_names_the_node_that_bytes_suit_least(cnn):
    w = np.array(cnn.constants["w3"])
    w[0] *= 1e4  # one channel makes the range of all
    spoilt = cnn.replace(constants={**cnn.constants, "w3": w})
    table = wb.quantization.sensitivity(spoilt, IMAGES, bound=0.02)
    assert set(table["op"]) >= {"Conv", "Add", "Gemm"}
    assert table["relative"].is_monotonic_decreasing
    assert (table["propose"] == (table["relative"] > 0.02)).all()
    assert table["relative"].max() < 0.1  # the others have scales of their own


# ---- ranges ----------------------------------------------------------------------------------------------------------


def observed(x):
    seen = Observed()
    seen.see(x)
    seen.count(x)
    return seen


def distributions():
    rng = np.random.default_rng(0)
    normal = rng.standard_normal(200_000)
    yield "normal", normal
    yield "relu", np.maximum(normal, 0)
    yield "laplace", rng.laplace(size=200_000)
    yield "shifted", normal + 3
    yield "negative", -np.abs(normal)


@pytest.mark.parametrize(("name", "x"), [*distributions()])
@pytest.mark.parametrize("percent", [99.0, 99.9, 100.0])
def test_percentile_is_numpys_up_to_a_bin(name, x, percent):
    low, high = ranges.percentile(observed(x), percent)
    one_sided = (x >= 0).all() or (x <= 0).all()
    cut = (100 - percent) / (1 if one_sided else 2)
    bin_ = 2 * np.abs(x).max() / ranges.BINS
    if not (x >= 0).all():
        assert low == pytest.approx(np.percentile(x, cut), abs=1.5 * bin_)
    else:
        assert low == x.min()
    if not (x <= 0).all():
        assert high == pytest.approx(np.percentile(x, 100 - cut), abs=1.5 * bin_)
    else:
        assert high == x.max()


@pytest.mark.parametrize(("name", "x"), [*distributions()])
def test_entropy_is_that_of_onnxruntimes_calibrator(name, x):
    """Within an eighth. Where it cuts far more (behind Relu), ours errs less."""
    calibrate = pytest.importorskip("onnxruntime.quantization.calibrate")
    seen, levels = observed(x), 128
    m = seen.magnitude
    edges = np.linspace(-m, m, ranges.BINS + 1).astype("f4")
    collector = calibrate.HistogramCollector("entropy", False, ranges.BINS, levels, 99.9, "all")
    with contextlib.redirect_stdout(io.StringIO()):
        theirs = max(map(abs, collector.get_entropy_threshold((seen.counts, edges, edges[0], edges[-1]), levels)))
    ours = ranges.threshold(seen.counts, m, levels)

    def error(limit):
        return np.mean((x - np.clip(np.rint(x / limit * 64) * limit / 64, -limit, limit)) ** 2)

    assert ours == pytest.approx(theirs, rel=0.125) or error(ours) < error(theirs) / 2


def test_scales_cover_a_range_and_zero():
    for dtype, (least, most) in {"uint8": (0, 255), "int8": (-128, 127)}.items():
        for low, high in [(-1, 3), (0, 6), (2, 5), (-4, -1), (-1e-30, 1e30)]:
            scale, zero = ranges.covering(low, high, dtype)
            ends = [(q - float(zero)) * float(scale) for q in (least, most)]
            assert ends[0] <= min(low, 0) + scale / 2 * 1.001
            assert ends[1] >= max(high, 0) - scale / 2 * 1.001
            assert zero.dtype == dtype
    w = np.array([[1.0, -2.0], [0.0, 0.0]], "f4")
    q, scale = ranges.symmetric(w, 0)
    np.testing.assert_array_equal(q, [[64, -127], [0, 0]])
    np.testing.assert_allclose(scale, [2 / 127, 1.0], rtol=1e-6)


def test_a_bias_that_does_not_fit_makes_the_weights_coarser():
    c = {"w": np.full((4, 2, 1, 1), 1e-9, "f4"), "b": np.full(4, 1e6, "f4")}
    g = Graph.make("g", [Node("c", "Conv", ("x", "w", "b"), ("y",), {})], {"x": TensorType((1, 2, 3, 3))}, ["y"], c)
    x = np.random.default_rng(0).standard_normal((1, 2, 3, 3)).astype("f4")
    (got,) = wb.compile(wb.quantize(g, [x])).run({"x": x}).values()
    np.testing.assert_allclose(got, 1e6, rtol=5e-3)


# ---- samples ---------------------------------------------------------------------------------------------------------


def test_samples_in_all_their_forms(cnn):
    stacked = np.concatenate(IMAGES)
    forms = [IMAGES, [{"x": a} for a in IMAGES], {"x": stacked}, stacked, np.stack(IMAGES), (a for a in IMAGES)]
    for form in forms:
        found = sample_list(cnn, form)
        assert len(found) == 4
        np.testing.assert_array_equal(np.concatenate([f["x"] for f in found]), stacked)


def bad_samples():
    nan = image(0)
    nan[0, 0, 0, 0] = np.nan
    yield [], InputError, "samples.empty"
    yield {"x": np.zeros((0, 3, 12, 12), "f4")}, InputError, "samples.empty"
    yield [nan], InputError, "samples.not_finite"
    yield [{"z": image(0)}], ShapeError, "shape.name"
    yield [{}], ShapeError, "shape.name"
    yield [image(0)[:, :, 1:]], ShapeError, "shape.mismatch"
    yield {"x": image(0)[:, :1]}, ShapeError, "shape.mismatch"
    yield [np.array(["a"])], InputError, "samples.type"
    yield "samples.npz", UsageError, "samples.type"
    yield 3, UsageError, "samples.type"
    yield [np.ones((1, 3, 12, 12), "f4")] * 2, InputError, "samples.constant"


@pytest.mark.parametrize(("samples", "kind", "code"), [*bad_samples()])
def test_bad_samples_are_told(cnn, samples, kind, code):
    with pytest.raises((kind, UsageError)) as e:
        wb.quantize(cnn, samples)
    assert e.value.code == code
    assert e.value.hint or code == "shape.mismatch"


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"calibration": "best"}, "usage.calibration"),
        ({"activations": "int4"}, "usage.activations"),
        ({"percentile": 10}, "usage.number"),
        ({"exclude": "conv_that_is_not"}, "usage.exclude"),
        ({"exclude": 3}, "usage.type"),
    ],
)
def test_bad_options_are_told(cnn, options, code):
    with pytest.raises(UsageError) as e:
        wb.quantize(cnn, IMAGES, **options)
    assert e.value.code == code


def one(op, *inputs, constants=None, attrs=None):
    return Graph.make("g", [Node("n", op, inputs, ("y",), attrs or {})], {"x": TensorType((2, 4))}, ["y"], constants)


def test_what_cannot_be_quantised_is_told(cnn, small):
    x = np.random.default_rng(0).standard_normal((2, 4)).astype("f4")
    with pytest.raises(ModelError) as e:
        wb.quantize(one("Softmax", "x"), [x])
    assert (e.value.code, "Softmax" in e.value.hint) == ("model.nothing_to_quantise", True)
    with pytest.raises(ModelError) as e:
        wb.quantize(small, IMAGES)
    assert e.value.code == "model.already_quantised"
    with pytest.raises(ModelError) as e:
        wb.quantize(cnn.optimize(), IMAGES)
    assert e.value.code == "model.optimised"
    w = {"w": np.ones((4, 4), "f4")}
    g = Graph.make(
        "g",
        [Node("l", "Log", ("x",), ("l",)), Node("m", "MatMul", ("l", "w"), ("y",))],
        {"x": TensorType((2, 4))}, ["y"], w,
    )  # fmt: skip
    with pytest.raises(ModelError) as e:
        wb.quantize(g, [x])
    assert (e.value.code, e.value.where) == ("model.not_finite", ("l",))


def test_a_tensor_that_is_always_zero_leaves_the_nodes_around_it_real(cnn):
    dead = cnn.replace(constants={**cnn.constants, "b1": np.full(8, -1e6, "f4")})
    with pytest.warns(ModelWarning, match="constant_activation"):
        q = wb.quantize(dead, IMAGES)
    ops = [n.op for n in q.optimize().nodes]
    assert ops.count("Conv") == 2  # the one that makes it, and the one that reads it
    assert ops.count("ConvInteger") == 2
    assert wb.accuracy(dead, q, IMAGES).set_index("tensor").loc["y", "relative"] < 0.05


# ---- what is in between ----------------------------------------------------------------------------------------------


def chain(*nodes, **constants):
    return Graph.make("g", nodes, {"x": TensorType((1, 4, 6, 6))}, [nodes[-1].outputs[0]], constants)


@pytest.mark.parametrize("limits", tiers.first([(0.0, 6.0), (-1.0, 1.0), (-0.5, 0.25)]))
def test_clip_is_what_the_range_of_the_bytes_does(limits, tmp_path):
    rng = np.random.default_rng(0)
    c = {"w": weights(rng, 4, 4, 3, 3), "v": weights(rng, 4, 4, 1, 1)}
    c |= {k: np.array(v, "f4") for k, v in zip(("low", "high"), limits, strict=True)}
    g = chain(
        Node("a", "Conv", ("x", "w"), ("a",), {"pads": (1,) * 4}),
        Node("b", "Clip", ("a", "low", "high"), ("b",)),
        Node("c", "Conv", ("b", "v"), ("y",)),
        **c,
    )
    xs = [rng.standard_normal((1, 4, 6, 6)).astype("f4") * 3 for _ in range(3)]
    q = wb.quantize(g, xs)
    wb.save_onnx(q, tmp_path / "q.onnx")
    ops = {n.op for n in q.optimize().nodes}
    assert "Conv" not in ops
    (want,), (got,) = by_onnxruntime(tmp_path / "q.onnx", {"x": xs[0]}), wb.compile(q).run({"x": xs[0]}).values()
    step = min(np.diff(np.unique(np.abs(want))))
    np.testing.assert_allclose(got, want, atol=step * 1.01)
    assert (limits[0] < 0) or "Clip" not in ops  # a low limit beside a step is cut once more


@pytest.mark.parametrize("op", ["Conv", "MatMul", "Gemm"])
def test_products_with_a_real_result_are_computed_in_integers(op):
    rng = np.random.default_rng(1)
    shape = (2, 4, 5, 5) if op == "Conv" else (3, 4)
    w = weights(rng, 6, 4, 3, 3) if op == "Conv" else weights(rng, 4, 6)
    bias = () if op == "MatMul" else ("b",)
    nodes = [
        Node("q", "QuantizeLinear", ("x", "s", "z"), ("xq",), {}, "", 13),
        Node("d", "DequantizeLinear", ("xq", "s", "z"), ("xd",), {}, "", 13),
        Node("dw", "DequantizeLinear", ("w", "sw"), ("wd",), {"axis": 0 if op == "Conv" else 1}, "", 13),
        Node("p", op, ("xd", "wd", *bias), ("p",), {}, "", 13),
        Node("t", "Tanh", ("p",), ("y",), {}, "", 13),
    ]
    small, scale = ranges.symmetric(w, 0 if op == "Conv" else 1)
    c = {"w": small, "sw": scale, "s": np.array(0.03, "f4"), "z": np.array(100, "u1"), "b": rng.standard_normal(6)}
    c["b"] = np.float32(np.rint(c["b"] / (0.03 * scale)) * 0.03 * scale)
    g = Graph.make("g", nodes, {"x": TensorType(shape)}, ["y"], c)
    assert not {n.op for n in g.optimize().nodes} & {"Conv", "MatMul", "Gemm"}
    x = rng.standard_normal(shape).astype("f4")
    (want,) = ort_session.session(to_onnx(g), exact=False).run(None, {"x": x})
    (got,) = wb.compile(g).run({"x": x}).values()
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


def test_sums_of_two_and_means_of_whole_channels_are_bytes():
    rng = np.random.default_rng(0)
    g = chain(
        Node("a", "Conv", ("x", "w"), ("a",)),
        Node("s", "Sum", ("a", "x"), ("s",), {}, "", 8),
        Node("p", "AveragePool", ("s",), ("p",), {"kernel_shape": (6, 6)}, "", 7),
        Node("r", "Reshape", ("p", "to"), ("r",), {}, "", 13),
        Node("m", "MatMul", ("r", "v"), ("y",), {}, "", 13),
        w=weights(rng, 4, 4, 1, 1),
        v=weights(rng, 4, 3),
        to=np.array([1, 4]),
    )
    assert wb.quantization.plan(g)["quantised"].all()
    xs = [rng.standard_normal((1, 4, 6, 6)).astype("f4") for _ in range(3)]
    assert wb.accuracy(g, wb.quantize(g, xs), xs)["relative"].max() < 0.05


# ---- writing ---------------------------------------------------------------------------------------------------------


def test_what_is_optimised_is_not_written(cnn, tmp_path):
    with pytest.raises(ModelError) as e:
        wb.save_onnx(cnn.optimize(), tmp_path / "m.onnx")
    assert e.value.code == "model.not_writable"


def test_older_nodes_are_written_in_the_newest_opset(tmp_path):
    nodes = [
        Node("c", "Clip", ("x",), ("c",), {"min": 0.0, "max": 1.0}, "", 6),
        Node("s", "Squeeze", ("c",), ("s",), {"axes": (0,)}, "", 1),
        Node("g", "Softmax", ("s",), ("y",), {"axis": 1}, "", 11),
    ]
    g = Graph.make("g", nodes, {"x": TensorType((1, 3, 4))}, ["y"])
    wb.save_onnx(g, tmp_path / "m.onnx")
    x = np.random.default_rng(0).standard_normal((1, 3, 4)).astype("f4")
    (want,) = by_onnxruntime(tmp_path / "m.onnx", {"x": x})
    (got,) = wb.compile(g).run({"x": x}).values()
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def test_command_line(tmp_path, capsys):
    import json

    import onnx

    from workbench.cli import main

    onnx.save(network(), tmp_path / "m.onnx")
    np.savez(tmp_path / "s.npz", x=np.concatenate(IMAGES))
    base = ["quantize", str(tmp_path / "m.onnx"), "--samples", str(tmp_path / "s.npz"), "-o", str(tmp_path / "q.onnx")]
    assert main([*base, "--calibration", "entropy", "--exclude", "Gemm", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert {n["quantised"] for n in data["nodes"] if n["op"] == "Gemm"} == {False}
    assert {e["tensor"] for e in data["errors"] if e["output"]} == {"y"}
    assert by_onnxruntime(tmp_path / "q.onnx", {"x": image(9)})[0].shape == (1, 10)
    assert main([*base, "--exclude", "Gem"]) == 2
