"""Uses of Resize."""

from __future__ import annotations

from typing import Any

import numpy as np
from graph.uses.base import Use, f, grid, use, v, whole

MODES = ("nearest", "linear", "cubic")
PLACES = ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric")
X = f(1, 2, 4, 5)
NONE = np.zeros(0, np.float32)
BOX = v(0, 0, 0.2, -0.3, 1, 1, 0.7, 1.2, dtype=np.float32)


def to_scales(x: np.ndarray, *scales: float, **more: Any) -> Use:
    return use(x, None, v(*scales, dtype=np.float32), const=(2,), **more)


def to_sizes(x: np.ndarray, *sizes: int, **more: Any) -> Use:
    return use(x, None, None, v(*sizes), const=(3,), **more)


def plain() -> list[Use]:
    """All positions with all means, also as opset 11 writes them: what is absent has no elements."""
    out = list[Use]()
    for a in grid(mode=MODES, coordinate_transformation_mode=(*PLACES, "half_pixel_symmetric")):
        new = (19,) if a["coordinate_transformation_mode"] == "half_pixel_symmetric" else (13, 18, 19)
        for s in ((2, 3), (1.3, 0.7), (0.6, 2.5), (0.5, 0.5), (1, 1.4)):
            out.append(to_scales(X, 1, 1, *s, opsets=new if s == (2, 3) else new[-1:], **a))
        out += [to_sizes(X, 1, 2, *s, opsets=new[-1:], **a) for s in ((7, 9), (3, 2), (1, 1), (4, 5))]
        if len(new) > 1:
            out.append(use(X, NONE, v(1, 1, 2, 1.5, dtype=np.float32), opsets=(11,), const=(1, 2), **a))
            out.append(use(X, NONE, NONE, v(1, 2, 7, 2), opsets=(11,), const=(1, 2, 3), **a))
    return out


def filtered() -> list[Use]:
    """Means over more neighbours, and over those alone that lie inside."""
    out = list[Use]()
    for mode, place in (("linear", "half_pixel"), ("cubic", "half_pixel"), ("linear", "align_corners")):
        a = {"mode": mode, "coordinate_transformation_mode": place, "antialias": 1}
        out += [to_scales(X, 1, 1, *s, opsets=(18, 19), **a) for s in ((0.6, 0.4), (2, 0.5), (1.7, 1.2))]
        out += [to_sizes(X, 1, 2, 2, 3, **a)]
    more = grid(exclude_outside=(None, 1), cubic_coeff_a=(None, -0.5))
    return out + [to_scales(X, 1, 1, 1.4, 0.7, mode="cubic", opsets=(13, 18), **a) for a in more]


def regions() -> list[Use]:
    """A part of the image."""
    out = list[Use]()
    for a in grid(mode=MODES, extrapolation_value=(None, 7.5)):
        a["coordinate_transformation_mode"] = "tf_crop_and_resize"
        out += [use(X, BOX, NONE, v(1, 2, 5, 3), opsets=(11, 18), const=k, **a) for k in ((1, 2, 3), (2, 3))]
        out += [use(X, BOX, None, v(1, 2, 1, 1), const=(1, 3), **a)]
        out += [use(X, BOX[[2, 3, 6, 7]], None, v(5, 3), const=(1, 3), axes=(2, 3), **a)]
    return out


def axes() -> list[Use]:
    """Some axes alone, and sizes that keep the ratio."""
    out = [to_sizes(X, 7, 9, mode=m, axes=(2, 3)) for m in MODES]
    out += [to_scales(X, 2, 1.5, mode=m, axes=a) for m in MODES for a in ((2, 3), (-2, -1))]
    ratios = grid(mode=MODES, keep_aspect_ratio_policy=("not_larger", "not_smaller"))
    out += [to_sizes(X, 7, 7, axes=(2, 3), **a) for a in ratios]
    return out + [to_sizes(X, 1, 2, 9, 9, **a) for a in ratios if a["mode"] == "nearest"]


def others() -> list[Use]:
    """Other ranks, ways of rounding, element types, and results without elements."""
    out = [to_scales(f(2, 3, 6), 1, 1, s, mode=m) for m in ("nearest", "linear") for s in (0.4, 1.6)]
    out += [to_scales(f(1, 1, 3, 4, 5), 1, 1, 1.5, 0.7, 2, mode=m) for m in ("nearest", "linear")]
    out += [to_sizes(f(5), 8), *(to_sizes(f(3, 4), 6, 5, mode=m) for m in MODES)]
    out += [to_scales(X, 1, 1, 0.1, 1), to_scales(X, 1, 1, 0.1, 1, mode="linear")]
    ways = grid(
        nearest_mode=("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"), coordinate_transformation_mode=PLACES
    )
    out += [to_scales(X, 1, 1, *s, **a) for a in ways for s in ((1.5, 1.7), (1.4, 0.6))]
    out += [use(X, NONE, v(1, 1, 2, 0.6, dtype=np.float32), opsets=(11,), const=(1, 2), mode=m,
                coordinate_transformation_mode="tf_half_pixel_for_nn") for m in MODES]  # fmt: skip
    out += [use(X, v(1, 1, *s, dtype=np.float32), opsets=(10,), const=(1,), mode=m)
            for m in ("nearest", "linear") for s in ((2, 3), (0.5, 0.6), (1.5, 0.7))]  # fmt: skip
    bytes_ = [whole(1, 1, 3, 4, low=0, high=255, dtype=t) for t in (np.uint8, np.int32)]
    return out + [to_scales(x, 1, 1, 2, 4, mode=m) for x in bytes_ for m in ("nearest", "linear")]


UPSAMPLE = [use(X, v(1, 1, 2, 3, dtype=np.float32), opsets=(9,), const=(1,), mode=m) for m in ("nearest", "linear")]
UPSAMPLE += [use(X, opsets=(7, 8), scales=[1.0, 1.0, 1.5, 2.0], mode=m) for m in ("nearest", "linear")]
RESIZE = {"Upsample": UPSAMPLE, "Resize": [*plain(), *filtered(), *regions(), *axes(), *others()]}
