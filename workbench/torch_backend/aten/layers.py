"""Products, convolutions, normalisations, pooling, attention."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from workbench.torch_backend.aten.reductions import safe_softmax
from workbench.torch_backend.aten.writer import Unsupported, Value, Writer, aten, integers

Sizes = Sequence[int] | int


@aten("mm", "bmm", "matmul")
def _mm(w: Writer, x: Value, y: Value) -> str:
    return str(w("MatMul", x, y))


@aten("addmm", "baddbmm")
def _addmm(w: Writer, bias: Value, x: Value, y: Value, *, beta: float = 1, alpha: float = 1) -> str:
    if w.call == "addmm":
        return str(w("Gemm", x, y, bias, alpha=float(alpha), beta=float(beta)))
    product = w("MatMul", x, y)
    product = product if alpha == 1 else w("Mul", product, w.cast(alpha))
    return str(w("Add", product, bias if beta == 1 else w("Mul", bias, w.cast(beta))))


def _each(sizes: Sizes, n: int) -> tuple[int, ...]:
    """A size for each of n dimensions."""
    given = (sizes,) if isinstance(sizes, int) else tuple(sizes)
    return given * n if len(given) == 1 else given


@aten("convolution")
def _convolution(
    w: Writer, x: Value, weight: Value, bias: Value | None, stride: Sizes, padding: Sizes, dilation: Sizes,
    transposed: bool, output_padding: Sizes, groups: int,
) -> str:  # fmt: skip
    n = x.rank - 2
    attrs: dict[str, Any] = {
        "kernel_shape": weight.shape[2:], "strides": _each(stride, n), "pads": _each(padding, n) * 2,
        "dilations": _each(dilation, n), "group": groups,
    }  # fmt: skip
    if transposed:
        return str(w("ConvTranspose", x, weight, bias, **attrs, output_padding=_each(output_padding, n)))
    return str(w("Conv", x, weight, bias, **attrs))


def _ones(w: Writer, weight: Value | None, shape: Sequence[int], value: int = 1) -> Any:
    return np.full(shape, value, np.dtype(w.dtype)) if weight is None else weight


@aten("_native_batch_norm_legit_no_training")
def _batch_norm(
    w: Writer, x: Value, weight: Value | None, bias: Value | None, mean: Value, var: Value, momentum: float, eps: float
) -> Any:
    w.only(0)
    scale, shift = _ones(w, weight, mean.shape), _ones(w, bias, mean.shape, 0)
    return w("BatchNormalization", x, scale, shift, mean, var, epsilon=eps, version=15), "", ""


@aten("_native_batch_norm_legit")
def _instance_norm(
    w: Writer, x: Value, weight: Value | None, bias: Value | None, training: bool, momentum: float, eps: float
) -> Any:
    if not training or x.shape[0] != 1 or x.rank < 3:
        raise Unsupported("statistics of a whole batch are needed")
    w.only(0)
    channels = x.shape[1:2]
    scale, shift = _ones(w, weight, channels), _ones(w, bias, channels, 0)
    return w("InstanceNormalization", x, scale, shift, epsilon=eps), "", ""


@aten("native_layer_norm")
def _layer_norm(
    w: Writer, x: Value, normalized_shape: Sequence[int], weight: Value | None, bias: Value | None, eps: float
) -> Any:
    w.only(0)
    scale = _ones(w, weight, normalized_shape)
    return w("LayerNormalization", x, scale, bias, axis=x.rank - len(normalized_shape), epsilon=eps), "", ""


@aten("native_group_norm")
def _group_norm(
    w: Writer, x: Value, weight: Value | None, bias: Value | None, batch: int, channels: int, size: int, group: int,
    eps: float,
) -> Any:  # fmt: skip
    w.only(0)
    scale, shift = _ones(w, weight, (channels,)), _ones(w, bias, (channels,), 0)
    flat = (batch, channels, size)
    inside = x if x.shape == flat else w("Reshape", x, integers(flat))
    found = w("GroupNormalization", inside, scale, shift, num_groups=group, epsilon=eps, version=21)
    return found if x.shape == flat else w("Reshape", found, integers(x.shape)), "", ""


def _window(kernel: Sizes, stride: Sizes, padding: Sizes, ceil_mode: bool, n: int) -> dict[str, Any]:
    return {
        "kernel_shape": _each(kernel, n), "strides": _each(stride if stride or stride == 0 else kernel, n),
        "pads": _each(padding, n) * 2, "ceil_mode": int(ceil_mode),
    }  # fmt: skip


@aten("max_pool2d_with_indices", "max_pool3d_with_indices")
def _max_pool(
    w: Writer, x: Value, kernel_size: Sizes, stride: Sizes = (), padding: Sizes = 0, dilation: Sizes = 1,
    ceil_mode: bool = False,
) -> Any:  # fmt: skip
    n = int(w.call[8])
    w.only(0)
    y, outer = _batched(w, x, n)
    how = _window(kernel_size, stride, padding, ceil_mode, n)
    return outer(w("MaxPool", y, **how, dilations=_each(dilation, n))), ""


@aten("avg_pool1d", "avg_pool2d", "avg_pool3d")
def _avg_pool(
    w: Writer, x: Value, kernel_size: Sizes, stride: Sizes = (), padding: Sizes = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: int | None = None,
) -> str:  # fmt: skip
    if divisor_override is not None:
        raise Unsupported(f"divisor_override={divisor_override}")
    n = int(w.call[8])
    y, outer = _batched(w, x, n)
    how = _window(kernel_size, stride, padding, ceil_mode, n)
    return str(outer(w("AveragePool", y, **how, count_include_pad=int(count_include_pad), version=19)))


def _batched(w: Writer, x: Value, n: int) -> tuple[str, Any]:
    """An image with a batch, and what takes that away again."""
    if x.rank == n + 2:
        return x.name, lambda found: found
    return w("Reshape", x, integers((1, *x.shape))), lambda found: w("Reshape", found, integers(w.shape))


@aten("_adaptive_avg_pool2d", "_adaptive_avg_pool3d")
def _adaptive_avg_pool(w: Writer, x: Value, output_size: Sequence[int]) -> str:
    n = len(output_size)
    given = x.shape[-n:]
    if any(a % b for a, b in zip(given, output_size, strict=True)):
        raise Unsupported(f"{'x'.join(map(str, given))} is not cut into equal windows")
    window = tuple(a // b for a, b in zip(given, output_size, strict=True))
    if window == given:
        return str(w("ReduceMean", x, integers(x.axes(list(range(-n, 0)))), keepdims=1))
    y, outer = _batched(w, x, n)
    return str(outer(w("AveragePool", y, kernel_shape=window, strides=window, version=19)))


@aten("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d", "upsample_linear1d", "upsample_bilinear2d",
      "upsample_trilinear3d", "upsample_bicubic2d")  # fmt: skip
def _upsample(w: Writer, x: Value, size: Any, *how: Any) -> str:
    mode = "nearest" if "nearest" in w.call else "cubic" if "cubic" in w.call else "linear"
    corners = mode != "nearest" and bool(how[0])
    scales = how[mode != "nearest" :]
    factors = scales[0] if len(scales) == 1 and not isinstance(scales[0], float) else scales
    where = "align_corners" if corners else "half_pixel"
    attrs: dict[str, Any] = {"mode": mode, "coordinate_transformation_mode": where}
    if mode == "nearest":
        attrs |= {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    if mode == "cubic":
        attrs |= {"cubic_coeff_a": -0.75}
    if factors and None not in factors and not corners:
        return str(w("Resize", x, None, np.asarray([1, 1, *factors], np.float32), **attrs, version=19))
    return str(w("Resize", x, None, None, integers(w.shape), **attrs, version=19))


@aten("grid_sampler_2d")
def _grid_sample(w: Writer, x: Value, grid: Value, interpolation: int, padding: int, align_corners: bool) -> str:
    mode, border = ("linear", "nearest", "cubic")[interpolation], ("zeros", "border", "reflection")[padding]
    return str(w("GridSample", x, grid, mode=mode, padding_mode=border, align_corners=int(align_corners), version=20))


@aten("_scaled_dot_product_flash_attention_for_cpu")
def _attention(
    w: Writer, query: Value, key: Value, value: Value, dropout_p: float = 0.0, is_causal: bool = False, *,
    attn_mask: Value | None = None, scale: float | None = None,
) -> Any:  # fmt: skip
    if dropout_p:
        raise Unsupported("it drops elements at random")
    w.only(0)
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    turned = w("Transpose", key, perm=(*range(key.rank - 2), key.rank - 1, key.rank - 2))
    scores = w("MatMul", w("Mul", query, w.cast(scale)), turned)
    if is_causal:
        later = np.triu(np.full((query.shape[-2], key.shape[-2]), -np.inf), 1)
        scores = w("Add", scores, later.astype(np.dtype(w.dtype)))
    if attn_mask is None:
        return w("MatMul", w("Softmax", scores, axis=query.rank - 1), value), ""
    if attn_mask.dtype == "bool":
        raise Unsupported("its mask is no sum")
    masked = w("Add", scores, w.cast(attn_mask))
    return w("MatMul", safe_softmax(w, masked, query.rank - 1), value), ""
