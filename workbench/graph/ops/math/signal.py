"""Fourier transforms: a kernel for products of small lengths, products with tables of sines and cosines for others."""

from __future__ import annotations

import math
from dataclasses import astuple
from typing import Any

import numpy as np

from workbench.codegen.runtime_kernels.declaration import KernelFunction
from workbench.graph.graph import Array, AttrValue
from workbench.graph.kernels.fourier import Transform, fourier
from workbench.graph.node_steps import OWN, Steps
from workbench.graph.opdef import OpDef, operator
from workbench.graph.operator_call import Call

#: Elements of a table, at most: a product with a larger one takes longer than a fast transform.
_LARGEST = 1 << 23
#: Shortest fast transform.
_SHORTEST = 16


def _mirrored(size: int, used: int, parts: int) -> Array:
    """Table ``[used, parts, size]`` of the inverse of half a transform: what each number of it adds to the result."""
    ones = np.eye(used)[:, None, :] * np.array([1, 1j])[:parts, None]
    return np.asarray(np.fft.irfft(ones, size, axis=-1))


def _table(size: int, used: int, parts: int, results: int, inverse: bool = False) -> Array:
    """Matrix of a transform of length `size`: ``[used, parts, results, 2]``, parts being real and imaginary."""
    turns = 2 * np.pi / size * (np.arange(used)[:, None] * np.arange(results) % size)
    cos, sin = np.cos(turns), np.sin(turns) * (1 if inverse else -1)
    both = np.stack([np.stack([cos, sin], -1), np.stack([-sin, cos], -1)], 1) / (size if inverse else 1)
    return np.asarray(both[:, :parts])


def _complex(x: Array) -> Array:
    """Numbers whose parts lie along the last axis."""
    return x[..., 0] + 1j * x[..., 1] if x.shape[-1] == 2 else x[..., 0]


def _parts(x: Array) -> Array:
    """Inverse of `_complex`."""
    return np.stack([x.real, x.imag], axis=-1)


def _pays(t: Transform) -> bool:
    """Whether a transform is faster than a product with a table."""
    return t.size >= _SHORTEST and bool(t.plan)


def _fast(steps: Steps, t: Transform, x: str, dtype: str, window: str = "") -> str:
    """Write a fast transform of rows ``[rows, numbers, parts]``; returns the name of its result."""
    table = t.table().astype("float64" if dtype == "float64" else "float32")
    inputs = (x, steps.constant("roots", table), *([window] if window else []))
    return steps.add("FourierTransforms", inputs, "transforms", {"transform": astuple(t)}, own=True)


@operator("FourierTransforms", "opaque", domain=OWN)
class FourierTransforms(OpDef):
    """Transforms of frames of rows; beside them the roots of unity, and perhaps what frames are multiplied by."""

    def _transform(self, c: Call) -> Transform:
        size, used, step, count, results, parts, inverse = c.get_ints("transform") or ()
        return Transform(size, used, step, count, results, parts, bool(inverse))

    def shape(self, c: Call) -> tuple[int, ...]:
        t = self._transform(c)
        return (c.shape(0)[0], t.count, t.results, 2)

    def reference(self, c: Call, x: Array, _roots: Array, window: Array | None = None) -> Array:
        t = self._transform(c)
        frames = _complex(x)[:, np.arange(t.count)[:, None] * t.step + np.arange(t.used)]
        frames = frames if window is None else frames * window
        found = (np.fft.ifft if t.inverse else np.fft.fft)(frames, t.size)
        return _parts(found[..., : t.results]).astype(x.dtype)

    def kernel(self, c: Call) -> KernelFunction:
        t = self._transform(c)
        return KernelFunction(fourier, (t,), int(5 * c.shape(0)[0] * t.count * t.length * math.log2(t.length + 1)))


@operator("DFT", "opaque")
class DFT(OpDef):
    """Fourier transform along an axis, of so many elements as asked for: cut off, or followed by zeros.

    The inverse of half a transform is real: the other half mirrors it.
    """

    parameters = (1, 2)

    def _is_real(self, c: Call) -> bool:
        return bool(c.get_int("inverse", 0) and c.get_int("onesided", 0))

    def _axis(self, c: Call) -> int:
        rank = len(c.shape(0))
        if c.version < 20:
            return c.axis(c.get_int("axis", 1), rank)
        return c.axis(int(c.constant(2, "axis").reshape(-1)[0]) if c.has(2) else -2, rank)

    def _sizes(self, c: Call) -> tuple[int, int, int]:
        """The axis, the length of the transform, and how much of it is given."""
        x, axis = c.shape(0), self._axis(c)
        whole = 2 * (x[axis] - 1) if self._is_real(c) else x[axis]
        size = int(c.constant(1, "length").reshape(-1)[0]) if c.has(1) else whole
        if size < 1 or x[-1] not in (1, 2) or axis == len(x) - 1:
            raise c.error("shape_mismatch", f"transforms {size} elements along axis {axis} of {list(x)}")
        return axis, size, size // 2 + 1 if c.get_int("onesided", 0) and not self._is_real(c) else size

    def shape(self, c: Call) -> tuple[int, ...]:
        axis, _, results = self._sizes(c)
        return (*c.shape(0)[:axis], results, *c.shape(0)[axis + 1 : -1], 1 if self._is_real(c) else 2)

    def reference(self, c: Call, x: Array, *_: Any) -> Array:
        axis, size, results = self._sizes(c)
        if self._is_real(c):
            return np.fft.irfft(_complex(x), size, axis)[..., None].astype(x.dtype)
        found = (np.fft.ifft if c.get_int("inverse", 0) else np.fft.fft)(_complex(x), size, axis)
        return _parts(np.take(found, range(results), axis)).astype(x.dtype)

    def decompose(self, c: Call, steps: Steps) -> bool:
        """A fast transform, or a product with a table."""
        axis, size, results = self._sizes(c)
        x, rank, inverse = c.shape(0), len(c.shape(0)), bool(c.get_int("inverse", 0))
        real, used = self._is_real(c), min(size // 2 + 1 if self._is_real(c) else size, x[axis])
        perm = (*(d for d in range(rank) if d not in (axis, rank - 1)), axis, rank - 1)
        back = tuple(perm.index(d) for d in range(rank))
        at, rest = steps.name(0), tuple(x[d] for d in perm[:-2])
        fast = Transform(size, used, 0, 1, results, x[-1], inverse)
        if not real and _pays(fast) and c.type(0).size:
            at = steps.reshape(steps.transpose(at, perm), (math.prod(rest), x[axis], x[-1]))
            at = _fast(steps, fast, at, c.type(0).dtype)
            steps.transpose(steps.reshape(at, (*rest, results, 2)), back, "back")
            return steps.finish()
        if used * x[-1] * results * 2 > _LARGEST:
            return False
        table = (_mirrored(size, used, x[-1]) if real else _table(size, used, x[-1], results, inverse)).astype(
            c.type(0).dtype
        )
        if used < x[axis]:
            attrs: dict[str, AttrValue] = {"starts": (0,), "ends": (used,), "axes": (axis,)}
            at = steps.add("Slice", (at,), "used", attrs, version=9)
        at = steps.reshape(steps.transpose(at, perm), (*rest, used * x[-1]))
        at = steps.add("MatMul", (at, steps.constant("table", table.reshape(used * x[-1], -1))), "product")
        steps.transpose(steps.reshape(at, (*rest, results, 1 if real else 2)), back, "back")
        return steps.finish()


@operator("STFT", "opaque")
class STFT(OpDef):
    """Fourier transforms of the frames of a signal; of one without imaginary part only half of each, unless asked."""

    parameters = (1, 3)

    def _frames(self, c: Call) -> tuple[int, int, int]:
        """Step, length and number of frames."""
        step = int(c.constant(1, "frame_step").reshape(-1)[0])
        size = int(c.constant(3, "frame_length").reshape(-1)[0]) if c.has(3) else c.shape(2)[0] if c.has(2) else 0
        if step < 1 or not 1 <= size <= c.shape(0)[1] or (c.has(2) and c.shape(2) != (size,)):
            text = f"cuts a signal of shape {list(c.shape(0))} into frames of {size}, {step} apart"
            raise c.error("shape_mismatch", text)
        return step, size, (c.shape(0)[1] - size) // step + 1

    def _half(self, c: Call) -> bool:
        return bool(c.get_int("onesided", 1)) and c.shape(0)[2:] in ((), (1,))

    def shape(self, c: Call) -> tuple[int, ...]:
        if len(c.shape(0)) not in (2, 3):
            raise c.error("shape_mismatch", f"needs a batch of signals, but has {list(c.shape(0))}")
        _, size, count = self._frames(c)
        return (c.shape(0)[0], count, size // 2 + 1 if self._half(c) else size, 2)

    def reference(self, c: Call, x: Array, _step: Any, window: Array | None = None, *_: Any) -> Array:
        step, size, count = self._frames(c)
        frames = _complex(x.reshape(*x.shape[:2], -1))[:, np.arange(count)[:, None] * step + np.arange(size)]
        frames = frames if window is None else frames * window
        found = np.fft.rfft(frames) if self._half(c) else np.fft.fft(frames)
        return _parts(found).astype(x.dtype)

    def decompose(self, c: Call, steps: Steps) -> bool:
        """Fast transforms, or a product of the frames with a table, which has a constant window in it."""
        step, size, count = self._frames(c)
        (batch, _, results, _), dtype = self.shape(c), c.type(0).dtype
        parts = 2 if c.shape(0)[2:] == (2,) else 1
        fast = Transform(size, size, step, count, results, parts, False)
        if _pays(fast):
            x = steps.reshape(steps.name(0), (batch, c.shape(0)[1], parts))
            steps.reshape(_fast(steps, fast, x, dtype, steps.name(2)), self.shape(c))
            return steps.finish()
        if size * parts * results * 2 > _LARGEST:
            return False
        table, window = _table(size, size, parts, results), c.values[2] if c.has(2) else np.ones(size)
        places = steps.constant("places", np.arange(count)[:, None] * step + np.arange(size))
        frames = steps.add("Gather", (steps.name(0), places), "frames", {"axis": 1})
        if window is None:
            frames = steps.reshape(frames, (batch, count, size, parts))
            frames = steps.add("Mul", (frames, steps.reshape(steps.name(2), (size, 1))), "windowed")
        else:
            table = table * window.reshape(-1, 1, 1, 1)
        frames = steps.reshape(frames, (batch, count, size * parts))
        factors = steps.constant("table", table.reshape(size * parts, -1).astype(dtype))
        steps.reshape(steps.add("MatMul", (frames, factors), "product"), self.shape(c))
        return steps.finish()
