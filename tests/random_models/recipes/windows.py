"""Operators with windows: convolution, pooling, resizing, sampling."""

from __future__ import annotations

import numpy as np

from random_models.draft import Unfit
from random_models.recipes.base import recipe
from random_models.values import array


def image(d, op, ranks=(3, 4, 4, 4, 5), i=0):
    kind = "mild" if "Max" not in op else "usual"
    return d.tensor(d.dtype(op, i), rank=ranks, kind=kind, fits=lambda a: min(a.shape[1:]) > 0 and max(a.shape[2:]) > 1)


def window(d, spatial, dilate=True, ceil=False):
    """Attributes of a window that lies in an image somehow."""
    kernel = [d.whole(1, min(4, n + 1)) for n in spatial]
    attrs = {"kernel_shape": kernel, **d.maybe(strides=[d.choice(1, 1, 2, 3) for _ in spatial])}
    if dilate and d.flip(0.3):
        attrs["dilations"] = [d.whole(1, 3) for _ in spatial]
    draw = d.whole(0, 9)
    if draw < 2:
        attrs["auto_pad"] = d.choice("SAME_UPPER", "SAME_LOWER", "VALID")
    elif draw < 6:
        attrs["pads"] = [d.whole(0, k - 1) for _ in "ab" for k in kernel]
    if ceil:
        attrs |= d.maybe(ceil_mode=d.whole(0, 1))
    return attrs


@recipe("Conv")
def conv(d, op):
    x = image(d, op)
    kind, (_, c, *spatial) = d.dtype_of(x), d.shape(x)
    groups = d.choice(1, 1, *(g for g in range(1, c + 1) if c % g == 0))
    attrs = window(d, spatial)
    outs = groups * d.whole(1, 3)
    w = d.tensor(kind, shape=(outs, c // groups, *attrs["kernel_shape"]), kind="mild")
    bias = [d.tensor(kind, shape=(outs,), kind="mild")] if d.flip() else []
    if d.flip(0.3):
        del attrs["kernel_shape"]
    d.add(op, [x, w, *bias], **({"group": groups} if groups > 1 else {}), **attrs)


@recipe("ConvTranspose")
def transposed(d, op):
    x = image(d, op)
    kind, (_, c, *spatial) = d.dtype_of(x), d.shape(x)
    groups = d.choice(1, 1, *(g for g in range(1, c + 1) if c % g == 0))
    attrs = window(d, spatial)
    strides = attrs.get("strides", [1] * len(spatial))
    per = d.whole(1, 3)
    w = d.tensor(kind, shape=(c, per, *attrs["kernel_shape"]), kind="mild")
    bias = [d.tensor(kind, shape=(groups * per,), kind="mild")] if d.flip() else []
    if d.flip(0.3):
        attrs["output_padding"] = [d.whole(0, max(0, s - 1)) for s in strides]
    elif d.flip(0.2):
        attrs["output_shape"] = [n * s + d.whole(-1, 1) for n, s in zip(spatial, strides, strict=True)]
        attrs.pop("pads", None)
    if d.flip(0.3):
        del attrs["kernel_shape"]
    d.add(op, [x, w, *bias], **({"group": groups} if groups > 1 else {}), **attrs)


@recipe("ConvInteger")
def conv_integer(d, op):
    x = image(d, op, (3, 4, 4))
    _, c, *spatial = d.shape(x)
    attrs = window(d, spatial)
    kind = d.dtype(op, 1)
    w = d.tensor(kind, shape=(d.whole(1, 3), c, *attrs["kernel_shape"]))
    zeros = [d.fresh(array(d.rng, d.dtype_of(x), ()), True), d.fresh(array(d.rng, kind, d.choice((), ())), True)]
    d.add(op, [x, w, *zeros[: d.whole(0, 2)]], **attrs)


@recipe("MaxPool")
def max_pool(d, op):
    x = image(d, op)
    attrs = window(d, d.shape(x)[2:], dilate=d.opset >= 10, ceil=d.opset >= 10)
    outputs = d.choice(1, 1, 2) if d.opset >= 8 else 1
    d.add(op, [x], outputs=outputs, **attrs, **(d.maybe(storage_order=d.whole(0, 1)) if outputs > 1 else {}))


@recipe("AveragePool LpPool")
def average(d, op):
    x = image(d, op)
    newer = d.opset >= (19 if op == "AveragePool" else 18)
    attrs = window(d, d.shape(x)[2:], dilate=newer, ceil=newer or (op == "AveragePool" and d.opset >= 10))
    attrs |= d.maybe(count_include_pad=d.whole(0, 1)) if op == "AveragePool" else d.maybe(p=d.whole(1, 3))
    d.add(op, [x], **attrs)


@recipe("GlobalAveragePool GlobalMaxPool GlobalLpPool")
def whole_image(d, op):
    d.add(op, [image(d, op)], **(d.maybe(p=d.whole(1, 3)) if op == "GlobalLpPool" else {}))


@recipe("MaxUnpool")
def unpool(d, op):
    n, c, h, w = (d.whole(1, 2) for _ in range(4))
    x = d.tensor(d.dtype(op), shape=(n, c, h, w), kind="mild")
    at = d.rng.permutation(n * c * h * w * 4)[: n * c * h * w].reshape(n, c, h, w)
    d.add(op, [x, d.fresh(np.sort(at.reshape(-1)).reshape(at.shape))], kernel_shape=[2, 2], strides=[2, 2])


@recipe("MaxRoiPool")
def roi_pool(d, op):
    x = d.tensor(d.dtype(op), shape=(1, d.whole(1, 3), 6, 6), kind="mild")
    rois = np.array([[0, 0, 0, 3, 3], [0, 1, 2, 5, 4]], "f4")[: d.whole(1, 2)]
    d.add(op, [x, d.fresh(rois)], pooled_shape=[d.whole(1, 3), 2], **d.maybe(spatial_scale=0.5))


@recipe("RoiAlign")
def roi_align(d, op):
    x = d.tensor(d.dtype(op), shape=(2, d.whole(1, 3), 6, 5), kind="mild")
    rois = np.array([[0, 0, 3, 3], [1, 2, 5, 4], [-1.0, 0.5, 2.25, 7.0]], d.dtype_of(x))[: d.whole(1, 3)]
    at = d.rng.integers(0, 2, len(rois))
    attrs = d.maybe(
        output_height=2, output_width=3, sampling_ratio=d.whole(0, 2), spatial_scale=0.5, mode=d.choice("avg", "max")
    )
    if d.opset >= 16:
        attrs |= d.maybe(coordinate_transformation_mode=d.choice("half_pixel", "output_half_pixel"))
    d.add(op, [x, d.fresh(rois), d.fresh(at)], **attrs)


@recipe("Upsample")
def upsample(d, op):
    if d.opset > 9:
        raise Unfit("ended")
    x = d.tensor(d.dtype(op), shape=(1, d.whole(1, 2), d.whole(1, 4), d.whole(1, 4)), kind="mild")
    scales = [1.0, 1.0, d.choice(1.0, 2.0, 1.5, 3.0), d.choice(1.0, 2.0, 2.5)]
    mode = d.choice("nearest", "linear")
    if d.opset < 9:
        d.add(op, [x], scales=scales, mode=mode)
    else:
        d.add(op, [x, d.fresh(np.array(scales, "f4"), True)], mode=mode)


MODES = (
    "half_pixel",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
    "tf_crop_and_resize",
    "half_pixel_symmetric",
)


@recipe("Resize")
def resize(d, op):
    x = d.tensor(d.dtype(op), rank=(2, 3, 4, 4), kind="mild", fits=lambda a: a.size > 0)
    shape = d.shape(x)
    mode = d.choice("nearest", "linear", "linear", "cubic")
    lead = max(0, len(shape) - 2)
    factors = [1.0] * lead + [d.choice(1.0, 2.0, 0.5, 1.5, 0.7, 3.0, 2.3) for _ in shape[lead:]]
    sizes = [*shape[:lead], *(max(1, int(n * f)) for n, f in zip(shape[lead:], factors[lead:], strict=True))]
    if d.opset < 11:
        d.add(op, [x, d.fresh(np.array(factors, "f4"), True)], mode=d.choice("nearest", "linear"))
        return
    how = d.choice(*MODES[: 6 if d.opset >= 19 else 5])
    attrs = {"mode": mode, **d.maybe(coordinate_transformation_mode=how, nearest_mode=d.choice(*NEAREST))}
    if mode == "cubic":
        attrs |= d.maybe(cubic_coeff_a=-0.5, exclude_outside=d.whole(0, 1))
    roi = ""
    if attrs.get("coordinate_transformation_mode") == "tf_crop_and_resize":
        roi = d.fresh(
            np.array([0.0] * lead + [0.1] * (len(shape) - lead) + [1.0] * lead + [0.8] * (len(shape) - lead), "f4"),
            True,
        )
        attrs |= d.maybe(extrapolation_value=2.5)
    if d.opset >= 18 and mode != "nearest" and d.flip(0.3):
        attrs["antialias"] = 1
    axes = list(range(lead, len(shape)))
    if d.opset >= 18 and lead and not roi and d.flip(0.3):
        attrs["axes"], factors, sizes = axes, factors[lead:], sizes[lead:]
    if d.flip():
        d.add(
            op,
            [x, roi or d.choice("", d.fresh(np.zeros(0, "f4"), True)), d.fresh(np.array(factors, "f4"), True)],
            **attrs,
        )
    else:
        if d.opset >= 18 and d.flip(0.3):
            attrs["keep_aspect_ratio_policy"] = d.choice("not_larger", "not_smaller", "stretch")
        empty = d.fresh(np.zeros(0, "f4"), True) if d.opset < 13 or d.flip(0.2) else ""
        d.add(op, [x, roi, empty, d.ints(sizes)], **attrs)


NEAREST = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")


@recipe("GridSample")
def grid_sample(d, op):
    x = d.tensor(d.dtype(op), shape=(d.whole(1, 2), d.whole(1, 2), d.whole(2, 4), d.whole(2, 4)), kind="mild")
    grid = d.rng.uniform(-1.3, 1.3, (d.shape(x)[0], d.whole(1, 3), d.whole(1, 3), 2)).astype("f4")
    modes = ("linear", "nearest", "cubic") if d.opset >= 20 else ("bilinear", "nearest", "bicubic")
    attrs = d.maybe(
        mode=d.choice(*modes), padding_mode=d.choice("zeros", "border", "reflection"), align_corners=d.whole(0, 1)
    )
    d.add(op, [x, d.fresh(grid)], **attrs)


@recipe("AffineGrid")
def affine_grid(d, op):
    n = d.whole(1, 2)
    theta = d.tensor(d.dtype(op), shape=(n, 2, 3), kind="mild")
    d.add(op, [theta, d.ints([n, 2, d.whole(2, 4), d.whole(2, 4)])], **d.maybe(align_corners=d.whole(0, 1)))


@recipe("Col2Im")
def col2im(d, op):
    h, w, a, b = d.whole(2, 5), d.whole(2, 5), d.whole(1, 2), d.whole(1, 2)
    x = d.tensor(d.dtype(op), shape=(d.whole(1, 2), d.whole(1, 2) * a * b, (h - a + 1) * (w - b + 1)), kind="mild")
    d.add(op, [x, d.ints([h, w]), d.ints([a, b])])
