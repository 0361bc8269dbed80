"""Fourier transforms of all lengths against NumPy in float64, and random uses against onnxruntime."""

from __future__ import annotations

import numpy as np
import pytest
from graph.test_uses import by_onnxruntime, model_of

from workbench import load_onnx
from workbench.graph.kernels.fourier import Transform
from workbench.network.compile import compile
from workbench.runtime.networks.execution_plan import CallPlan

onnx = pytest.importorskip("onnx")

#: Products of small primes, primes, lengths with a large prime in them, and such with many stages.
LENGTHS = (16, 17, 31, 32, 60, 97, 100, 121, 210, 256, 400, 441, 514, 1155, 2048)


def run(x, attrs, opset=17, length=None, axis=None, threads=2):
    """Result of a DFT; by the calls of its plan nothing of it is left to a reference."""
    known = {}
    if length is not None:
        known["n"] = np.array(length)
    if axis is not None:
        known["a"] = np.array(axis)
    names = ["x", "n" if length is not None else "", *(["a"] if axis is not None else [])]
    model = model_of([onnx.helper.make_node("DFT", names, ["y"], **attrs)], {"x": x}, ["y"], opset, known)
    exe = compile(load_onnx(model), threads=threads)
    assert all(isinstance(c, CallPlan) for c in exe.plan.calls)
    return exe.run(x)["y"], model


def error(got, want):
    """Largest difference of each row to the exact result, as a part of the row's largest number."""
    got = got[..., 0].astype(np.float64) + 1j * got[..., 1].astype(np.float64)
    return (np.abs(got - want).max(-1) / np.maximum(np.abs(want).max(-1), 1e-300)).max()


def tolerance(dtype, size):
    """A product with a table sums up more rounding errors than a fast transform has."""
    fast = Transform(size, size, 0, 1, size, 2, False).plan
    return {"float64": 2e-15, "float32": 6e-7, "float16": 2e-3}[dtype] * (1 if fast else 4)


@pytest.mark.parametrize("size", LENGTHS)
def test_real_rows_are_as_exact_as_their_type(size):
    """Also quiet rows beside loud ones."""
    rng = np.random.default_rng(size)
    x = rng.standard_normal((5, size)) * 10.0 ** np.array([[0], [6], [-6], [0], [3]])
    for dtype, onesided in (("float32", 1), ("float32", 0), ("float64", 1)):
        rows = x.astype(dtype)
        got, _ = run(rows[..., None], {"axis": 1, "onesided": onesided})
        exact = np.fft.fft(rows.astype(np.float64))
        assert error(got, exact[:, : size // 2 + 1] if onesided else exact) < tolerance(dtype, size)


@pytest.mark.parametrize("inverse", [0, 1])
@pytest.mark.parametrize("size", LENGTHS[::2])
def test_complex_rows_are_as_exact_as_their_type(size, inverse):
    x = np.random.default_rng(size).standard_normal((3, size, 2))
    for dtype in ("float32", "float64"):
        rows = x.astype(dtype)
        got, _ = run(rows, {"axis": 1, "inverse": inverse})
        both = rows[..., 0].astype(np.float64) + 1j * rows[..., 1]
        assert error(got, (np.fft.ifft if inverse else np.fft.fft)(both)) < tolerance(dtype, size)


HALVES = [((3, 9, 2), 1, None), ((2, 6, 3, 2), 1, 9), ((1, 4, 2), 1, 12), ((2, 3, 33, 1), 2, 20)]


@pytest.mark.parametrize(("shape", "axis", "length"), HALVES)
def test_the_inverse_of_half_a_transform_is_real(shape, axis, length):
    x = np.random.default_rng(0).standard_normal(shape).astype("f4")
    got, _ = run(x, {"inverse": 1, "onesided": 1}, 20, length, axis)
    both = x[..., 0].astype(np.float64) + (1j * x[..., 1] if shape[-1] == 2 else 0)
    want = np.fft.irfft(both, length or 2 * (shape[axis] - 1), axis)
    assert got.shape == (*want.shape, 1)
    np.testing.assert_allclose(got[..., 0], want, atol=1e-6)


def test_half_precision_is_transformed_in_single_precision():
    x = np.random.default_rng(0).standard_normal((3, 400, 1)).astype(np.float16)
    got, _ = run(x, {"axis": 1, "onesided": 1})
    assert got.dtype == np.float16
    assert error(got, np.fft.rfft(x[..., 0].astype(np.float64))) < tolerance("float16", 400)


@pytest.mark.parametrize("seed", range(16))
def test_random_transforms(seed):
    """Axes, lengths that are cut off or followed by zeros, both opsets, both directions."""
    rng = np.random.default_rng(seed)
    rank = int(rng.integers(2, 5))
    shape = [int(n) for n in rng.integers(1, 4, rank)]
    axis = int(rng.integers(rank - 1))
    shape[axis], shape[-1] = int(rng.integers(1, 70)), int(rng.integers(1, 3))
    x = rng.standard_normal(shape).astype(np.float32)
    length = None if rng.random() < 0.4 else int(rng.integers(1, 90))
    attrs = {"inverse": int(rng.integers(2))} if shape[-1] == 2 else {"onesided": int(rng.integers(2))}
    opset = int(rng.choice([17, 20]))
    named = axis - rank * int(rng.integers(2)) if opset == 20 else None
    got, model = run(x, attrs if opset == 20 else {**attrs, "axis": axis}, opset, length, named)
    both = x[..., 0].astype(np.float64) + (1j * x[..., 1] if shape[-1] == 2 else 0)
    want = (np.fft.ifft if attrs.get("inverse") else np.fft.fft)(both, length or shape[axis], axis)
    want = np.take(want, range(got.shape[axis]), axis)
    np.testing.assert_allclose(got, np.stack([want.real, want.imag], -1), rtol=0, atol=2e-6 * np.abs(want).max())
    assert model is not None


@pytest.mark.parametrize("seed", range(12))
def test_random_frames_agree_with_onnxruntime(seed):
    pytest.importorskip("onnxruntime")
    rng = np.random.default_rng(seed)
    size, count = int(rng.integers(2, 130)), int(rng.integers(1, 9))
    step = int(rng.integers(1, 50))
    parts = int(rng.integers(1, 3))
    attrs = {"onesided": int(rng.integers(2)) if parts == 1 else 0}
    x = rng.standard_normal((2, size + (count - 1) * step + int(rng.integers(step)), parts)).astype(np.float32)
    feeds, known, names = {"x": x}, {"s": np.array(step)}, ["x", "s"]
    if rng.random() < 0.7:
        names.append("w")
        (known if rng.random() < 0.5 else feeds)["w"] = rng.random(size).astype(np.float32)
    else:
        names += ["", "n"]
        known["n"] = np.array(size)
    model = model_of([onnx.helper.make_node("STFT", names, ["y"], **attrs)], feeds, ["y"], 17, known)
    exe = compile(load_onnx(model), threads=2)
    assert all(isinstance(c, CallPlan) for c in exe.plan.calls)
    (theirs,) = by_onnxruntime(model, feeds)
    got = exe.run(feeds)["y"]
    np.testing.assert_allclose(got, theirs, rtol=0, atol=1e-3 * np.abs(theirs).max())  # its own sums are not exact
    frames = x[:, np.arange(theirs.shape[1])[:, None] * step + np.arange(size)].astype(np.float64)
    both = (frames[..., 0] + (1j * frames[..., 1] if parts == 2 else 0)) * {**known, **feeds}.get("w", 1)
    assert error(got, np.fft.fft(both)[..., : theirs.shape[2]]) < tolerance("float32", size)


def test_lengths_with_a_large_prime_have_no_plan():
    assert Transform(97, 97, 0, 1, 97, 2, False).plan == ()
    assert Transform(96, 96, 0, 1, 96, 2, False).plan
