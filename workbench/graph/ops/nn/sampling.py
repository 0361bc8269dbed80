"""Images read at computed positions: GridSample, and AffineGrid, which makes such positions."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from workbench.codegen.runtime_kernels.declaration import KernelFunction
from workbench.graph.graph import Array
from workbench.graph.kernels.sampling import grid_sample
from workbench.graph.node_steps import Steps
from workbench.graph.opdef import OpDef, operator
from workbench.graph.operator_call import Call
from workbench.graph.ops.nn.resize import cubic_weight

#: Neighbours along a dimension, relative to the element at or before a position; None: the nearest element alone.
_TAPS = {"nearest": None, "linear": (0, 1), "bilinear": (0, 1), "cubic": (-1, 0, 1, 2), "bicubic": (-1, 0, 1, 2)}
#: Types that positions are computed in; elements of an image that 32 bits can number.
FLOATS, LARGEST = ("float16", "bfloat16", "float32", "float64"), 1 << 31
_PADDING = ("zeros", "border", "reflection")


@operator("GridSample", "opaque")
class GridSample(OpDef):
    """Elements of images at the positions that a grid names, from -1 to 1 along every dimension, the last one first."""

    def shape(self, c: Call) -> tuple[int, ...]:
        x, grid = c.shape(0), c.shape(1)
        mode, padding = c.get_str("mode", "linear"), c.get_str("padding_mode", "zeros")
        if mode not in _TAPS or padding not in _PADDING:
            raise c.error("unsupported_attr", f"reads by {mode!r} with {padding!r} around, which is not known")
        if len(x) < 3 or len(grid) != len(x) or grid[-1] != len(x) - 2 or grid[0] != x[0]:
            raise c.error("shape_mismatch", f"cannot read {list(x)} by a grid of shape {list(grid)}")
        return (*x[:2], *grid[1:-1])

    def kernel(self, c: Call) -> KernelFunction | None:
        if not {c.type(0).dtype, c.type(1).dtype} <= set(FLOATS) or math.prod(c.shape(0)[2:]) > LARGEST:
            return None
        taps = _TAPS[c.get_str("mode", "linear")]
        count = 1 if taps is None else len(taps)
        settings = count, c.get_str("padding_mode", "zeros"), bool(c.get_int("align_corners", 0))
        return KernelFunction(grid_sample, settings, 2 * math.prod(self.shape(c)) * count ** (len(c.shape(0)) - 2))

    def obstacle(self, c: Call) -> str:
        return f"positions in {c.type(0).dtype} by {c.type(1).dtype}"

    def reference(self, c: Call, x: Array, grid: Array) -> Array:
        size, aligned, padding = x.shape[2:], c.get_int("align_corners", 0), c.get_str("padding_mode", "zeros")
        taps = _TAPS[c.get_str("mode", "linear")]
        sides = []
        for d, n in enumerate(size):
            g = grid[..., len(size) - 1 - d].astype(np.float64)
            at = (g + 1) / 2 * (n - 1) if aligned else ((g + 1) * n - 1) / 2
            sides.append(_side(np.rint(at) if taps is None else at, n, taps, padding, bool(aligned)))
        batch = np.arange(len(x)).reshape(-1, *(1,) * len(size))
        last = np.moveaxis(x, 1, -1)
        y = np.zeros((*grid.shape[:-1], x.shape[1]), np.float64)
        for parts in itertools.product(*sides):
            weight = np.prod([w for _, w in parts], axis=0)
            y += last[(batch, *(i for i, _ in parts))] * weight[..., None]
        return np.ascontiguousarray(np.moveaxis(y, -1, 1)).astype(x.dtype)


def _side(at: Array, n: int, taps: tuple[int, ...] | None, padding: str, aligned: bool) -> list[tuple[Array, Array]]:
    """Places along a dimension that positions read, and how much of each."""
    if taps is None or len(taps) == 2:
        at = _inside(at, n, padding, aligned)
    first = np.rint(at) if taps is None else np.floor(at)
    found = []
    for tap in taps or (0,):
        place = first + tap
        distance = place - at
        one = np.ones_like(at)
        weight = one if taps is None else cubic_weight(distance, -0.75) if len(taps) > 2 else 1 - np.abs(distance)
        place = _inside(place, n, padding, aligned)
        weight = np.where((place < 0) | (place > n - 1), 0, weight)
        found.append((np.clip(place, 0, n - 1).astype(np.int64), weight))
    return found


def _inside(at: Array, n: int, padding: str, aligned: bool) -> Array:
    """Positions beyond an edge moved onto it, or mirrored; as they are where zeros stand there."""
    if padding == "border":
        return np.clip(at, 0, n - 1)
    low, span = (0.0, n - 1.0) if aligned else (-0.5, float(n))
    if padding == "zeros":
        return at
    if not span:
        return np.zeros_like(at)
    beyond = np.abs(at - low) % (2 * span)
    return np.asarray(np.where(beyond > span, 2 * span - beyond, beyond) + low)


@operator("AffineGrid", "opaque")
class AffineGrid(OpDef):
    """Positions that affine maps take the elements of an image to, as GridSample reads them."""

    parameters = (1,)

    def shape(self, c: Call) -> tuple[int, ...]:
        size = [int(d) for d in c.constant(1, "size").reshape(-1)]
        rank = len(size) - 2
        if rank not in (2, 3) or c.shape(0) != (size[0], rank, rank + 1):
            raise c.error("shape_mismatch", f"cannot map an image of shape {size} by {list(c.shape(0))}")
        return (size[0], *size[2:], rank)

    def points(self, c: Call) -> Array:
        """Positions of the elements of the image and a 1 for each, ``[elements, rank + 1]`` in float64."""
        shape, aligned = self.shape(c)[1:-1], c.get_int("align_corners", 0)
        sides = []
        for n in shape:
            whole = np.arange(n, dtype=np.float64)
            ends = whole * (2 / (n - 1)) - 1 if n > 1 else whole + 1  # a single one is the last, as onnxruntime has it
            sides.append(ends if aligned else (2 * whole + 1) / n - 1)
        places = np.meshgrid(*sides, indexing="ij")
        return np.stack([*reversed(places), np.ones(shape)], axis=-1).reshape(-1, len(sides) + 1)

    def reference(self, c: Call, theta: Array, *_: Any) -> Array:
        return np.asarray(self.points(c) @ np.swapaxes(theta, 1, 2)).reshape(self.shape(c)).astype(theta.dtype)

    def decompose(self, c: Call, steps: Steps) -> bool:
        """A product of the positions with the maps."""
        points = steps.constant("points", self.points(c).astype(c.type(0).dtype))
        maps = steps.transpose(steps.name(0), (0, 2, 1))
        steps.reshape(steps.add("MatMul", (points, maps), "mapped"), self.shape(c))
        return steps.finish()
