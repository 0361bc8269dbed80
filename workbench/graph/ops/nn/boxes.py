"""Boxes in images."""

from __future__ import annotations

import numpy as np

from workbench.codegen.runtime_kernels.declaration import KernelFunction
from workbench.graph.graph import Array, TensorType
from workbench.graph.kernels.regions import largest_of_bins, largest_of_windows, means_of_bins
from workbench.graph.opdef import OpDef, foreign, operator
from workbench.graph.operator_call import Call


@operator("NonMaxSuppression", "opaque")
class NonMaxSuppression(OpDef):
    """Of boxes that overlap the one with the highest score, for each image and class: [image, class, box]."""

    def infer(self, c: Call) -> tuple[TensorType, ...]:
        hint = "cut the model there; `wb.compile(graph)` compiles it for what a run brings"
        raise c.error("dynamic_shape", "gives as many boxes as its values at run time let it", hint)

    def reference(
        self, c: Call, boxes: Array, scores: Array,
        most: Array | None = None, overlap: Array | None = None, least: Array | None = None,
    ) -> Array:  # fmt: skip
        count, limit = (0 if v is None else v.reshape(-1)[0].item() for v in (most, overlap))
        floor = -np.inf if least is None else least.reshape(-1)[0]
        found = list[tuple[int, int, int]]()
        for b in range(len(boxes)):
            corners = _corners(boxes[b], bool(c.get_int("center_point_box", 0)))
            for k in range(scores.shape[1]):
                found += [(b, k, box) for box in _chosen(corners, scores[b, k], int(count), limit, floor)]
        return np.array(found, np.int64).reshape(-1, 3)


def _corners(boxes: Array, centred: bool) -> Array:
    """Least and greatest coordinates of boxes, in two halves."""
    first, second = boxes[:, :2], boxes[:, 2:]
    if centred:
        return np.concatenate([first - second / 2, first + second / 2], axis=1)
    return np.concatenate([np.minimum(first, second), np.maximum(first, second)], axis=1)


def _chosen(boxes: Array, scores: Array, count: int, limit: float, floor: float) -> list[int]:
    """Numbers of at most `count` boxes, by falling scores, that overlap none before them by more than `limit`."""
    area = np.prod(boxes[:, 2:] - boxes[:, :2], axis=1)
    kept = list[int]()
    for box in np.argsort(-scores, kind="stable"):
        if len(kept) >= count or not scores[box] > floor:
            break
        low, high = np.maximum(boxes[kept, :2], boxes[box, :2]), np.minimum(boxes[kept, 2:], boxes[box, 2:])
        common = np.prod(np.maximum(high - low, 0), axis=1)
        union = area[kept] + area[box] - common
        if not np.any((common > 0) & (common > limit * union)):
            kept.append(int(box))
    return kept


@operator("MaxRoiPool", "opaque")
class MaxRoiPool(OpDef):
    """Maximum over a grid of windows in each region ``[image, x1, y1, x2, y2]``, whose corners belong to it."""

    def shape(self, c: Call) -> tuple[int, ...]:
        grid = c.get_ints("pooled_shape")
        if len(c.shape(0)) != 4 or len(c.shape(1)) != 2 or c.shape(1)[1] != 5 or not grid or len(grid) != 2:
            given = f"{list(c.shape(0))}, {list(c.shape(1))} and {grid}"
            raise c.error("shape_mismatch", f"takes images, regions of five numbers and a grid, not {given}")
        return (c.shape(1)[0], c.shape(0)[1], *grid)

    def kernel(self, c: Call) -> KernelFunction | None:
        return KernelFunction(largest_of_windows, (c.get_float("spatial_scale", 1.0),))

    def reference(self, c: Call, x: Array, rois: Array) -> Array:
        grid = c.get_ints("pooled_shape") or ()
        out = np.zeros((len(rois), x.shape[1], *grid), x.dtype)
        scale = np.float32(c.get_float("spatial_scale", 1.0))
        for image, to, corners in zip(rois[:, 0].astype(int), out, rois[:, 1:], strict=True):
            left, top, right, bottom = (int(np.floor(v * scale + 0.5)) for v in corners)
            rows = _bins(top, bottom, grid[0], x.shape[2])
            cols = _bins(left, right, grid[1], x.shape[3])
            for i, h in enumerate(rows):
                for j, w in enumerate(cols):
                    part = x[image, :, h, w]
                    if part.size:
                        to[:, i, j] = part.max(axis=(1, 2))
        return out


def _bins(first: int, last: int, count: int, size: int) -> list[slice]:
    """Parts of a dimension that cover a range in equal steps, as far as the image goes."""
    step = np.float32(max(last - first + 1, 1)) / np.float32(count)
    starts = (int(np.floor(k * step)) + first for k in range(count))
    ends = (int(np.ceil((k + 1) * step)) + first for k in range(count))
    return [slice(min(max(a, 0), size), min(max(b, 0), size)) for a, b in zip(starts, ends, strict=True)]


@operator("RoiAlign", "opaque")
class RoiAlign(OpDef):
    """Mean, or maximum, over samples in a grid of bins in each region ``[x1, y1, x2, y2]`` of an image."""

    def shape(self, c: Call) -> tuple[int, ...]:
        x, regions = c.shape(0), c.shape(1)
        if len(x) != 4 or len(regions) != 2 or regions[1] != 4 or c.shape(2) != regions[:1]:
            given = f"{list(x)}, {list(regions)} and {list(c.shape(2))}"
            raise c.error("shape_mismatch", f"takes images, regions of four numbers and a number for each, not {given}")
        return (regions[0], x[1], c.get_int("output_height", 1), c.get_int("output_width", 1))

    def keeps_slices(self, c: Call, i: int, axis: int, at: int) -> bool:
        return i in (1, 2) and axis == at == 0

    def kernel(self, c: Call) -> KernelFunction | None:
        body = means_of_bins if c.get_str("mode", "avg") == "avg" else largest_of_bins
        half = c.get_str("coordinate_transformation_mode", "half_pixel") == "half_pixel"
        return KernelFunction(body, (c.get_int("sampling_ratio", 0), c.get_float("spatial_scale", 1.0), half))

    def reference(self, c: Call, x: Array, regions: Array, images: Array) -> Array:
        other = foreign("", self.name, c.version)
        assert other is not None
        return np.asarray(other.reference(c, x, regions, images)[0])
