"""Boxes in images."""

from __future__ import annotations

import numpy as np

from ..graph import Array, TensorType
from ..opdef import Call, Case, OpDef, operator
from .common import sample


@operator("NonMaxSuppression", "opaque")
class NonMaxSuppression(OpDef):
    """Of boxes that overlap the one with the highest score, for each image and class: [image, class, box]."""

    def infer(self, c: Call) -> tuple[TensorType, ...]:
        hint = "cut the model there, or run it with `workbench.onnx_backend`"
        raise c.error("dynamic_shape", "gives as many boxes as its values at run time let it", hint)

    def reference(self, c: Call, *args: Array | None) -> Array:
        boxes, scores, most, overlap, least = (*args, None, None, None)[:5]
        assert boxes is not None
        assert scores is not None
        count, limit = (0 if v is None else v.reshape(-1)[0].item() for v in (most, overlap))
        floor = -np.inf if least is None else least.reshape(-1)[0]
        found = list[tuple[int, int, int]]()
        for b in range(len(boxes)):
            corners = _corners(boxes[b], bool(c.get_int("center_point_box", 0)))
            for k in range(scores.shape[1]):
                found += [(b, k, box) for box in _chosen(corners, scores[b, k], int(count), limit, floor)]
        return np.array(found, np.int64).reshape(-1, 3)

    def cases(self) -> list[Case]:
        boxes = np.array([[[0, 0, 1, 1], [0, 0.1, 1, 1.1], [3, 3, 5, 4]]], np.float32)
        limits = (np.array([2]), np.array([0.5], np.float32))
        return [Case("all scores", (boxes, sample(1, 2, 3), *limits)), Case("nothing", (boxes, sample(1, 2, 3)))]


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
