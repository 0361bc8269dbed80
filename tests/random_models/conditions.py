"""Conditions of excuses: what of a node's results a reason reaches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import onnx
from onnx import helper

from random_models import oracle
from random_models.draft import Step, model_of_step

FLOAT32 = float(np.finfo("f4").eps)
Mask: TypeAlias = np.ndarray | bool


@dataclass(frozen=True)
class Case:
    """A node that is wrong by itself.

    Operands by their places (None: absent), onnxruntime's results, ours, and which elements of each are wrong (None:
    another shape or type).
    """

    node: onnx.NodeProto
    opset: int
    x: list[Any]
    want: list[Any]
    got: list[Any]
    wrong: list[np.ndarray | None]

    def attr(self, name: str, default: Any = None) -> Any:
        found = next((a for a in self.node.attribute if a.name == name), None)
        return default if found is None else helper.get_attribute_value(found)

    def operand(self, i: int) -> Any:
        """An operand; None where it is absent."""
        return self.x[i] if i < len(self.x) else None

    def only(self, *masks: Mask) -> bool:
        """Whether elements are wrong only where the masks, one for each result, allow it."""
        pairs = zip(self.wrong, (*masks, *[False] * len(self.wrong)), strict=False)
        return all(w is not None and not (w & ~np.broadcast_to(m, w.shape)).any() for w, m in pairs)

    def apart(self) -> np.ndarray:
        """How far the first results are from each other."""
        return np.asarray(np.abs(self.want[0].astype("f8") - self.got[0].astype("f8")))


def nan(x: np.ndarray) -> np.ndarray:
    return np.isnan(x) if x.dtype.kind == "f" else np.zeros(x.shape, bool)


def lowest(x: np.ndarray) -> float:
    return float(np.finfo(x.dtype).min) if x.dtype.kind == "f" else -np.inf


def reduced(c: Case) -> tuple[int, ...]:
    """Axes of a reduction."""
    named = c.attr("axes") if c.operand(1) is None else c.operand(1).tolist()
    rank = c.x[0].ndim
    if not named and c.attr("noop_with_empty_axes", 0):
        return ()
    return tuple(a % rank for a in named) if named else tuple(range(rank))


def group_with_nan(c: Case) -> bool:
    keep = bool(c.attr("keepdims", 1))
    return c.only(nan(c.x[0]).any(axis=reduced(c), keepdims=keep) & nan(c.got[0]))


def beyond_integers(c: Case) -> bool:
    """Whether lengths of integers are wrong only where there are no such integers on the way."""
    if not whole(c):
        return False
    x = np.abs(c.x[0].astype("f8"))
    squares, total = np.square(x).sum, c.x[0].astype("f8").sum
    how = {"ReduceL1": x.sum, "ReduceL2": squares, "ReduceProd": x.prod, "ReduceSum": total, "ReduceSumSquare": squares}
    sizes, ends = how[c.node.op_type](axis=reduced(c)), np.iinfo(c.x[0].dtype)
    return c.only(((sizes > ends.max) | (sizes < ends.min)).reshape(c.want[0].shape))


def long_sums(c: Case) -> bool:
    """Whether means of integers are as near as a sum in float64 is."""
    keep = bool(c.attr("keepdims", 1))
    return whole(c) and c.only(c.apart() <= 2.0**-50 * np.abs(c.x[0].astype("f8")).sum(reduced(c), keepdims=keep))


def largest_alone(c: Case) -> bool:
    """Whether onnxruntime has the logarithm of a number of largest integers, and the largest."""
    x, how = c.x[0], {"axis": reduced(c), "keepdims": True}
    if not how["axis"] and whole(c):
        with np.errstate(all="ignore"):
            return c.only(c.want[0] == np.log(np.exp(x.astype("f8")).astype(x.dtype)).astype(x.dtype))
    top = x.max(**how)
    there = top + np.log((x == top).sum(**how)).astype(top.dtype)
    return whole(c) and c.only(c.want[0] == there.reshape(c.want[0].shape))


def some_with_nan(c: Case) -> bool:
    """Whether of maxima those alone are wrong that are NaN in one result, and their places."""
    odd = nan(c.want[0]) | nan(c.got[0])
    return any(nan(v).any() for v in c.x) and c.only(*[odd] * len(c.wrong))


def row_with(c: Case, odd: np.ndarray) -> np.ndarray:
    """Elements in a row with an odd one: along an axis, before opset 13 over all axes from one on."""
    axis = c.attr("axis", -1 if c.opset >= 13 else 1)
    axes = (axis,) if c.opset >= 13 else tuple(range(axis % odd.ndim, odd.ndim))
    return np.asarray(odd.any(axis=axes, keepdims=True))


def later_texts(c: Case) -> bool:
    """Whether texts are empty that do not begin what an index names."""
    block = c.x[0].shape[c.attr("axis", 0) % c.x[0].ndim + 1 :]
    later = (np.arange(np.prod(block, dtype=int)) > 0).reshape(block)
    return c.x[0].dtype == object and c.only(later & (c.want[0].astype(str) == ""))


def short_quotients(c: Case) -> bool:
    """Whether quotients of float16 numbers are wrong where they are rounded otherwise than those in float32."""
    x, scale, axis, block = c.x[0], c.x[1], c.attr("axis", 1), c.attr("block_size", 0)
    if block:
        scale = scale.repeat(block, axis).take(range(x.shape[axis]), axis)
    elif scale.size > 1:
        scale = scale.reshape(-1, *[1] * (x.ndim - 1 - axis % x.ndim))
    short, long = x / scale, x.astype("f4") / scale.astype("f4")
    return scale.dtype == np.float16 and c.only((c.apart() <= 1) & (np.rint(short) != np.rint(long)))


def overflow(c: Case) -> bool:
    """Whether results that are no numbers come of operands near the largest, or of a product that passes it."""
    top = float(np.finfo(c.want[0].dtype).max) if c.want[0].dtype.kind == "f" else np.inf
    floats = [np.nan_to_num(v.astype("f8"), posinf=0, neginf=0) for v in c.x if v is not None and v.dtype.kind == "f"]
    large = max((np.abs(v).max(initial=0) for v in floats), default=0)
    if floats and c.node.op_type == "ReduceProd":
        large = max(large, np.maximum(np.abs(floats[0]), 1).prod(axis=reduced(c)).max(initial=0))
    return bool(large > top / 2) and c.only(~np.isfinite(c.want[0]) | ~np.isfinite(c.got[0]))


def equal_numbers(c: Case) -> bool:
    """Groups of one number, over and over: NaN there, and 0 here."""
    axes = tuple(c.attr("axes", (0, 2, 3)))
    same = np.ptp(c.x[0], axis=axes, keepdims=True) == 0
    return c.only(same & np.isnan(c.want[0]) & (c.got[0] == 0))


def cancelled(c: Case) -> bool:
    """Whether differences are within rounding of the terms that cancel in x * scale + (bias - mean * scale), or these
    are beyond the type."""
    x, axes = c.x[0].astype("f8"), tuple(range(2, c.x[0].ndim))
    scale = c.x[1].reshape(-1, *[1] * len(axes)) / np.sqrt(x.var(axis=axes, keepdims=True) + c.attr("epsilon", 1e-5))
    kind, term = np.finfo(c.x[0].dtype), np.abs(x).max(axis=axes, keepdims=True, initial=0) * np.abs(scale)
    return c.only((c.apart() <= 4 * kind.eps * term) | np.isnan(c.want[0]) & (term > kind.max))


def float32_statistics(c: Case) -> bool:
    """Whether differences are within float32's rounding of what groups are divided by and of what is left."""
    x, eps = c.x[0], c.attr("epsilon", 1e-5)
    if c.node.op_type == "RMSNormalization":
        squares = np.square(x).mean(axis=tuple(range(c.attr("axis", -1) % x.ndim, x.ndim)))
    else:
        squares = x.reshape(x.shape[0], c.attr("num_groups"), -1).var(axis=-1)
    deviation = np.sqrt(squares + eps).min(initial=np.inf, where=np.isfinite(squares))
    shift = 0 if c.operand(2) is None else np.abs(c.x[2]).max(initial=0)
    largest = np.abs(x).max(initial=0, where=np.isfinite(x))
    size = largest / deviation * np.abs(c.x[1]).max(initial=0) + shift
    return x.dtype == np.float64 and c.only(c.apart() <= 4 * FLOAT32 * size)


def infinite_mean(c: Case) -> bool:
    """Whether means are wrong only where they are NaN there, and infinite here as the rows say."""
    x = c.x[0].astype("f8")
    mean = x.mean(axis=tuple(range(c.attr("axis", -1) % x.ndim, x.ndim)), keepdims=True)
    return len(c.want) > 1 and c.only(False, np.isnan(c.want[1]) & np.isinf(mean) & (c.got[1] == mean))


def beyond_float32(c: Case) -> bool:
    """Whether rows are wrong only where they hold finite numbers that are infinite in float32."""
    x = c.x[0]
    axes = tuple(range(c.attr("axis", -1) % x.ndim, x.ndim))
    large = (np.isfinite(x) & (np.abs(x) > np.finfo("f4").max)).any(axis=axes, keepdims=True)
    return c.only(*[large] * len(c.want))


def windows(c: Case) -> Iterator[tuple[int, int, int, int]]:
    """Of each dimension that windows walk along: its padded size, kernel, span and stride."""
    kernel = c.attr("kernel_shape", c.x[1].shape[2:] if c.node.op_type == "ConvTranspose" else ())
    n = len(kernel)
    pads = c.attr("pads", [0] * 2 * n)
    each = zip(kernel, c.attr("dilations", [1] * n), c.attr("strides", [1] * n), strict=True)
    for k, (size, d, stride) in enumerate(each):
        yield c.x[0].shape[2 + k] + pads[k] + pads[k + n], size, (size - 1) * d + 1, stride


def lengths(c: Case) -> Iterator[tuple[int, int]]:
    """Of each dimension that windows walk along: onnxruntime's length of it, and ours."""
    return zip(c.want[0].shape[2:], c.got[0].shape[2:], strict=True)


def unfit_windows(c: Case) -> bool:
    """Whether there is one window there and none here along just those dimensions in which none fits."""
    both = zip(lengths(c), windows(c), strict=True)
    return all(a == b or (size < span and (a, b) == (1, 0)) for (a, b), (size, _, span, _) in both)


def dilated(c: Case) -> bool:
    """Whether kernels are dilated, and lengths less than size / stride just along dimensions in which they are."""
    if not c.attr("auto_pad", b"").startswith(b"SAME"):
        return False
    both = [(*n, size, stride, span > k) for n, (size, k, span, stride) in zip(lengths(c), windows(c), strict=True)]
    return any(w for *_, w in both) and all(a == b or (w and a < b == -(-s // t)) for a, b, s, t, w in both)


def cropping(c: Case) -> bool:
    """Whether along some dimension SAME windows need less than no padding."""
    if not c.attr("auto_pad", b"").startswith(b"SAME"):
        return False
    return any((b - 1) * t + w < n for (_, b), (n, _, w, t) in zip(lengths(c), windows(c), strict=True))


def short_kernel(c: Case) -> bool:
    """Whether a result of ConvTranspose is shorter just where strides are wider than kernels."""
    both = zip(lengths(c), windows(c), c.x[0].shape[2:], strict=True)
    same = c.attr("auto_pad", b"").startswith(b"SAME")
    return same and all(a == b or (t > w and a < b == n * t) for (a, b), (_, _, w, t), n in both)


def without_elements(c: Case) -> np.ndarray:
    """Which windows of a pooling operator with pads hold nothing but padding."""
    empty, n = np.zeros(c.want[0].shape, bool), c.want[0].ndim - 2
    pads, dilations, strides = c.attr("pads", [0] * 2 * n), c.attr("dilations", [1] * n), c.attr("strides", [1] * n)
    if c.attr("auto_pad", b"NOTSET") != b"NOTSET":
        return empty
    for d, kernel in enumerate(c.attr("kernel_shape")):
        first = np.arange(empty.shape[2 + d])[:, None] * strides[d] - pads[d]
        at = first + np.arange(kernel) * dilations[d]
        outside = ((at < 0) | (at >= c.x[0].shape[2 + d])).all(axis=1)
        empty |= outside.reshape(-1, *[1] * (n - 1 - d))
    return empty


def far_end(c: Case) -> bool:
    ends, steps = c.x[2], c.operand(4)
    return steps is not None and bool(((steps < 0) & (ends >= 2**31 - 1)).any())


def kept_length(c: Case) -> bool:
    """Whether some axis with a region of its own keeps its length."""
    if c.attr("coordinate_transformation_mode") != b"tf_crop_and_resize":
        return False
    first, last = c.operand(1).reshape(2, -1)
    axes = c.attr("axes", range(c.x[0].ndim))
    same = [c.x[0].shape[a] == c.want[0].shape[a] for a in axes]
    return bool((np.array(same) & ((first != 0) | (last != 1))).any())


def _of_others(c: Case, x: np.ndarray) -> np.ndarray:
    """What onnxruntime makes of another first operand."""
    given = {n: v for n, v in zip(c.node.input, c.x, strict=False) if n}
    given[c.node.input[0]] = x
    step = Step(c.node, tuple(given), tuple(c.node.output))
    return np.asarray(oracle.run(oracle.session(model_of_step(step, given, {}, c.opset)), given)[0])


def on_the_cut(c: Case) -> bool:
    """Whether means of integers are off by one only where they are whole numbers but for rounding."""
    if not whole(c) or c.attr("antialias"):
        return False
    mean = _of_others(c, c.x[0].astype("f4"))
    return c.only((c.apart() <= 1) & (np.abs(mean - np.rint(mean)) < 1e-4))


def zero_times_infinite(c: Case) -> bool:
    """Whether results are wrong only where they are NaN there, and would be ours if all numbers were finite."""
    if c.x[0].dtype.kind != "f" or np.isfinite(c.x[0]).all():
        return False
    others = _of_others(c, np.where(np.isfinite(c.x[0]), c.x[0], 0).astype(c.x[0].dtype))
    return c.only(np.isnan(c.want[0]) & np.isclose(c.got[0], others, rtol=1e-5, atol=1e-6))


def odd(c: Case) -> np.ndarray:
    """Which texts hold white space that is no blank, end in a blank behind the last split that is allowed, or are empty
    where the standard says what splits them.
    """
    given, limited = bool(c.attr("delimiter", b"")), c.attr("maxsplit") is not None
    strange = [str(s) == "" if given else "\t" in str(s) or (limited and str(s)[-1:] == " ") for s in c.x[0].flat]
    return np.reshape(strange, c.x[0].shape).astype(bool)


def odd_counts(c: Case) -> bool:
    """Whether texts are counted otherwise just where they are odd; the longest decides how long the lists are."""
    return c.wrong[1] is not None and not (c.wrong[1] & ~odd(c)).any()


def rough_softplus(c: Case) -> bool:
    """Whether elements are wrong only where onnxruntime's are 0, infinite or NaN, by little, or after such a state."""
    if b"Softplus" not in c.attr("activations", ()):
        return False
    after = _after_infinite_states(c)
    return all(
        not (w & ~free & np.isfinite(a) & (a != 0) & (np.abs(a - b) > 1e-3 * np.abs(a))).any()
        for w, free, a, b in zip(c.wrong, (after, *[after.any(axis=0)] * 2), c.want, c.got, strict=False)
    )


def _after_infinite_states(c: Case) -> np.ndarray:
    """From which steps on a state of onnxruntime's is infinite or NaN: [steps, directions, batch, 1]."""
    lost = ~np.isfinite(c.want[0]).all(axis=-1, keepdims=True)
    for d in range(lost.shape[1]):
        back = d == 1 or c.attr("direction") == b"reverse"
        steps = lost[::-1, d] if back else lost[:, d]
        steps[:] = np.logical_or.accumulate(steps, axis=0)
    return np.asarray(lost)


def gates_without_bounds(c: Case) -> bool:
    names = set(c.attr("activations", ()))
    endless = names & {b"Relu", b"LeakyRelu", b"Elu", b"Softplus", b"Affine", b"ThresholdedRelu"}
    results = zip(c.wrong, c.want, c.got, strict=True)
    near = [~w | (np.abs(a - b) <= 1e-5 * np.abs(a).max(initial=0)) for w, a, b in results]
    return b"Sigmoid" in names and bool(endless) and all(n.all() for n in near)


def whole(c: Case) -> bool:
    return bool(c.x[0].dtype.kind in "iu")
