"""Uses of Resize."""

from __future__ import annotations

from typing import Any

import numpy as np
from graph.uses.base import Use, f, grid, use, v, whole

MODES = ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric")
X = f(1, 2, 4, 5)


def to_scales(x: np.ndarray, *scales: float, **more: Any) -> Use:
    return use(x, None, v(*scales, dtype=np.float32), const=(2,), **more)


def to_sizes(x: np.ndarray, *sizes: int, **more: Any) -> Use:
    return use(x, None, None, v(*sizes), const=(3,), **more)


def resizes() -> list[Use]:
    out = list[Use]()
    for mode in ("nearest", "linear", "cubic"):
        for how in (*MODES, "half_pixel_symmetric"):
            o = (19,) if how == "half_pixel_symmetric" else (11, 13, 18, 19)
            a: dict[str, Any] = {"mode": mode, "coordinate_transformation_mode": how}
            out += [
                to_scales(X, 1, 1, *s, opsets=o if s == (2, 3) else o[-1:], **a)
                for s in ((2, 3), (1.3, 0.7), (0.6, 2.5), (0.5, 0.5))
            ]
            out += [to_sizes(X, 1, 2, *s, opsets=o[-1:], **a) for s in ((7, 9), (3, 2), (1, 1), (4, 5))]
    for mode, how in (
        ("linear", "half_pixel"),
        ("cubic", "half_pixel"),
        ("linear", "align_corners"),
        ("cubic", "asymmetric"),
    ):
        a = {"mode": mode, "coordinate_transformation_mode": how}
        out += [to_scales(X, 1, 1, *s, antialias=1, opsets=(18, 19), **a) for s in ((0.6, 0.4), (2, 0.5), (1.7, 1.2))]
        out += [to_sizes(X, 1, 2, 2, 3, antialias=1, **a)]
    out += [
        to_scales(X, 1, 1, 1.4, 0.7, mode="cubic", opsets=(13, 18), **a)
        for a in grid(exclude_outside=(None, 1), cubic_coeff_a=(None, -0.5))
    ]
    for a in grid(mode=("nearest", "linear", "cubic"), extrapolation_value=(None, 7.5)):
        crop = v(0, 0, 0.2, -0.3, 1, 1, 0.7, 1.2, dtype=np.float32)
        out += [
            use(
                X,
                crop,
                None,
                v(1, 2, 5, 3),
                const=(1, 3),
                coordinate_transformation_mode="tf_crop_and_resize",
                opsets=(11, 18),
                **a,
            )
        ]
    out += [to_sizes(X, 7, 9, mode=m, axes=(2, 3)) for m in ("nearest", "linear", "cubic")]
    out += [to_scales(X, 1.5, 2, mode=m, axes=(-1, 2)) for m in ("nearest", "linear", "cubic")]
    out += [
        to_sizes(X, 7, 7, mode=m, axes=(2, 3), keep_aspect_ratio_policy=k)
        for m in ("nearest", "linear", "cubic")
        for k in ("not_larger", "not_smaller")
    ]
    out += [to_sizes(X, 1, 2, 9, 9, keep_aspect_ratio_policy=k) for k in ("not_larger", "not_smaller")]
    out += [to_scales(f(2, 3, 6), 1, 1, s, mode=m) for m in ("nearest", "linear", "cubic") for s in (0.4, 1.6)]
    out += [to_scales(f(1, 1, 3, 4, 5), 1, 1, 1.5, 0.7, 2, mode=m) for m in ("nearest", "linear")]
    out += [to_sizes(f(5), 8, mode=m) for m in ("nearest", "linear")] + [
        to_sizes(f(3, 4), 6, 5, mode=m) for m in ("nearest", "linear", "cubic")
    ]
    out += [
        to_scales(X, 1, 1, 0.1, 1),
        to_scales(X, 1, 1, 0.1, 1, mode="linear"),
        to_sizes(X, 1, 2, 0, 3, mode="linear"),
    ]
    out += [
        to_scales(X, 1, 1, 1.5, 1.7, nearest_mode=r, coordinate_transformation_mode=h)
        for r in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
        for h in MODES
    ]
    out += [
        to_scales(whole(1, 1, 3, 4, low=0, high=255, dtype=t), 1, 1, 2, 1.5, mode=m)
        for t in (np.uint8, np.int32)
        for m in ("nearest", "linear")
    ]
    return out


RESIZE = {"Resize": resizes()}
