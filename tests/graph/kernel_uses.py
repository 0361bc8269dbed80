"""Random uses of operators with runtime kernels: regions of images, and bits; `test_runtime_kernels` compares them."""

from __future__ import annotations

from functools import partial

import numpy as np


def roi_align(rng):
    images, channels, high, wide = (int(n) for n in rng.integers(1, [4, 40, 20, 30]))
    count = int(rng.integers(1, 6))
    start = rng.random((count, 2)) * [wide, high] * 1.4 - 2
    boxes = np.concatenate([start, start + rng.random((count, 2)) * [wide, high] * rng.choice([-0.2, 1.2])], 1)
    dtype = rng.choice(["float32", "float64"])
    inputs = {"x": rng.standard_normal((images, channels, high, wide)).astype(dtype), "boxes": boxes.astype(dtype)}
    attrs = {"output_height": int(rng.integers(1, 8)), "output_width": int(rng.integers(1, 8))}
    attrs |= {"sampling_ratio": int(rng.integers(0, 4)), "spatial_scale": float(rng.choice([1.0, 0.5, 2.0]))}
    attrs["coordinate_transformation_mode"] = str(rng.choice(["half_pixel", "output_half_pixel"]))
    attrs["mode"] = str(rng.choice(["avg", "max"]))
    return {**inputs, "images": rng.integers(0, images, count)}, (), attrs, 1, 16


def max_roi_pool(rng):
    images, channels, high, wide = (int(n) for n in rng.integers(1, [4, 9, 20, 30]))
    count = int(rng.integers(1, 6))
    start = rng.random((count, 2)) * [wide, high] * 1.4 - 2
    ends = start + rng.random((count, 2)) * [wide, high] * rng.choice([-0.2, 1.2])
    rois = np.concatenate([rng.integers(0, images, (count, 1)), start, ends], 1).astype(np.float32)
    attrs = {"pooled_shape": [int(n) for n in rng.integers(1, 8, 2)], "spatial_scale": float(rng.choice([1, 0.5, 2]))}
    return {"x": rng.standard_normal((images, channels, high, wide)).astype(np.float32), "rois": rois}, (), attrs, 1, 16


def bits(rng, count, opset, shift=False):
    dtype = rng.choice(["uint8", "uint32", "uint64"] if shift else ["int8", "int32", "int64", "uint16"])
    shape = tuple(int(n) for n in rng.integers(1, 20, rng.integers(1, 4)))
    shape = (rng.choice([7, 4096, 9000]),) if rng.random() < 0.2 else shape
    other = tuple(n if rng.random() < 0.7 else 1 for n in shape)
    low, high = (0, 8) if shift else (0 if dtype == "uint16" else -100, 100)
    drawn = [rng.integers(low, high, s).astype(dtype) for s in (shape, other)]
    attrs = {"direction": str(rng.choice(["LEFT", "RIGHT"]))} if shift else {}
    return dict(zip("ab", drawn[:count], strict=False)), (), attrs, 1, opset


def det(rng):
    n = int(rng.integers(1, 9))
    many = tuple(int(v) for v in rng.integers(1, 4, rng.integers(0, 3)))
    x = rng.standard_normal((*many, n, n)).round(int(rng.integers(0, 3)))
    return {"x": x.astype(np.float32)}, (), {}, 1, 11


def tensor_scatter(rng):
    shape = tuple(int(n) for n in rng.integers(1, 9, rng.integers(3, 5)))
    axis = int(rng.integers(1, len(shape)))
    count, circular = int(rng.integers(1, shape[axis] + 1)), bool(rng.integers(2))
    x, new = (
        rng.standard_normal((*shape[:axis], n, *shape[axis + 1 :])).astype(np.float32) for n in (shape[axis], count)
    )
    first = rng.integers(0, shape[axis] if circular else shape[axis] - count + 1, shape[0])
    attrs = {"axis": axis - len(shape) * int(rng.integers(2)), "mode": "circular" if circular else "linear"}
    return {"x": x, "new": new, "first": first}, (), attrs, 1, 24


USES = {
    "TensorScatter": tensor_scatter,
    "Det": det,
    "RoiAlign": roi_align,
    "MaxRoiPool": max_roi_pool,
    **{name: partial(bits, count=2, opset=18) for name in ("BitwiseAnd", "BitwiseOr", "BitwiseXor")},
    "BitwiseNot": partial(bits, count=1, opset=18),
    "BitShift": partial(bits, count=2, opset=11, shift=True),
}
#: No opset that onnxruntime has knows these.
NEWER = {"BitCast", "CumProd"}
