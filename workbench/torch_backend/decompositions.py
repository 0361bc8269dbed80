"""What torch computes by one operator for speed, in its own smaller ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch._decomp import core_aten_decompositions
from torch.nn import functional as F

from workbench.torch_backend.aten import ATEN


def packet(op: Any) -> str:
    """Name of an operator without its overload."""
    return str(op).removeprefix("aten.").partition(".")[0]


def decompositions() -> Mapping[Any, Callable[..., Any]]:
    """Those of torch, without what we know as it is, and those of the layers of a transformer."""
    known = {op: f for op, f in core_aten_decompositions().items() if packet(op) not in ATEN}
    aten = torch.ops.aten
    return known | {
        aten._native_multi_head_attention.default: _attention,
        aten._transformer_encoder_layer_fwd.default: _encoder_layer,
    }


def _mask(mask: Any, kind: int | None, like: Any) -> Any:
    """What is added to scores of batch, head, query and key: 0, or minus infinity where a mask is not 0."""
    if mask is None:
        return None
    mask = mask[:, None, None, :] if kind == 1 and mask.dim() == 2 else mask  # of keys; else of pairs
    return torch.zeros_like(mask, dtype=like.dtype).masked_fill(mask.bool(), float("-inf"))


def _attention(
    query: Any, key: Any, value: Any, size: int, heads: int, qkv: Any, qkv_bias: Any, out: Any, out_bias: Any,
    mask: Any = None, need_weights: bool = True, average: bool = True, mask_type: int | None = None,
) -> Any:  # fmt: skip
    batch, steps = query.shape[0], query.shape[1]
    parts = zip((query, key, value), qkv.chunk(3), qkv_bias.chunk(3), strict=True)
    q, k, v = (F.linear(x, m, b).unflatten(-1, (heads, size // heads)).transpose(1, 2) for x, m, b in parts)
    scores = (q * (size // heads) ** -0.5) @ k.transpose(-1, -2)
    added = _mask(mask, mask_type, scores)
    shares = torch.softmax(scores if added is None else scores + added, -1)
    found = F.linear((shares @ v).transpose(1, 2).reshape(batch, steps, size), out, out_bias)
    weights = shares if need_weights else query.new_empty(0)
    return found, weights.mean(1) if need_weights and average else weights


def _encoder_layer(
    x: Any, size: int, heads: int, qkv: Any, qkv_bias: Any, out: Any, out_bias: Any, gelu: bool, norm_first: bool,
    eps: float, scale1: Any, shift1: Any, scale2: Any, shift2: Any, up: Any, up_bias: Any, down: Any, down_bias: Any,
    mask: Any = None, mask_type: int | None = None,
) -> Any:  # fmt: skip
    def attended(y: Any) -> Any:
        return _attention(y, y, y, size, heads, qkv, qkv_bias, out, out_bias, mask, False, False, mask_type)[0]

    def forwarded(y: Any) -> Any:
        inside = F.linear(y, up, up_bias)
        return F.linear(F.gelu(inside) if gelu else F.relu(inside), down, down_bias)

    def first(y: Any) -> Any:
        return F.layer_norm(y, (size,), scale1, shift1, eps)

    def second(y: Any) -> Any:
        return F.layer_norm(y, (size,), scale2, shift2, eps)

    if norm_first:
        x = x + attended(first(x))
        return x + forwarded(second(x))
    x = first(x + attended(x))
    return second(x + forwarded(x))
