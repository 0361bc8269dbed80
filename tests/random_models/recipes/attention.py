"""Attention, its relatives with a state, and what goes with them."""

from __future__ import annotations

import numpy as np
from onnx import helper

from random_models.draft import Unfit
from random_models.recipes.base import recipe
from random_models.values import array


def _numbers(d, kind, *shape):
    return d.tensor(kind, shape=shape, kind="mild")


@recipe("Attention")
def attention(d, op):
    kind, flat = d.dtype(op), d.flip(0.4)
    b, groups, heads, q, k, size, wide = (d.whole(1, 3) for _ in range(7))
    many, past = groups * heads, d.whole(1, 3) if d.flip(0.3) else 0

    def of(count, length, depth):
        return _numbers(d, kind, *((b, length, count * depth) if flat else (b, count, length, depth)))

    inputs = [of(many, q, size), of(heads, k, size), of(heads, k, wide)]
    attrs = {"q_num_heads": many, "kv_num_heads": heads} if flat else {}
    attrs |= d.maybe(is_causal=d.whole(0, 1)) | (d.maybe(scale=0.7, softcap=d.choice(0.0, 2.0)) if d.flip(0.4) else {})
    if d.flip(0.5):
        shape = d.choice((q, k + past), (b, 1, q, k + past), (b, many, q, k + past))
        keep = np.where(d.rng.random(shape) < 0.8, True, False)
        keep[..., 0] = True  # a row that sees nothing is the standard's own trouble
        mask = keep if d.flip() else np.where(keep, array(d.rng, kind, shape, "mild"), -9).astype(kind)
        inputs.append(d.fresh(mask))
    if past:
        inputs += [""] * (4 - len(inputs))
        inputs += [_numbers(d, kind, b, heads, past, size), _numbers(d, kind, b, heads, past, wide)]
    d.add(op, inputs, outputs=3 if past else 1, **attrs)


@recipe("RotaryEmbedding")
def rotary(d, op):
    kind, flat = d.dtype(op), d.flip(0.4)
    b, heads, steps, half = d.whole(1, 2), d.whole(1, 3), d.whole(1, 4), d.whole(1, 3)
    size = 2 * half + (d.choice(0, 0, 2))
    x = _numbers(d, kind, *((b, steps, heads * size) if flat else (b, heads, steps, size)))
    attrs = {"num_heads": heads} if flat else {}
    attrs |= {"rotary_embedding_dim": 2 * half} if size > 2 * half else {}
    places, cache = [], (b, steps, half)
    if d.flip(0.6):
        cache = (d.whole(2, 6), half)
        places = [d.fresh(d.rng.integers(0, cache[0], (b, steps)), static=d.flip())]
    d.add(op, [x, _numbers(d, kind, *cache), _numbers(d, kind, *cache), *places], **attrs, **d.maybe(interleaved=1))


@recipe("RMSNormalization")
def by_the_mean_square(d, op):
    x = d.tensor(d.dtype(op), rank=(1, 2, 3, 4), kind="mild")
    axis = d.axis(len(d.shape(x)))
    scale = d.fresh(array(d.rng, d.dtype_of(x), d.shape(x)[axis:], "mild"), static=True)
    d.add(op, [x, scale], axis=axis, **d.maybe(epsilon=d.choice(1e-5, 1e-2)))


@recipe("TensorScatter")
def into_a_cache(d, op):
    b, kept, size = d.whole(1, 3), d.whole(2, 5), d.whole(1, 3)
    new, mode = d.whole(1, kept), d.choice("linear", "circular")
    kind, rank = d.dtype(op), d.choice(3, 4)
    heads = (d.whole(1, 2),) * (rank - 3)
    cache, update = (d.tensor(kind, shape=(b, *heads, n, size)) for n in (kept, new))
    last = kept - new if mode == "linear" else kept - 1
    at = [d.fresh(d.rng.integers(0, last + 1, b), static=d.flip())] if d.flip(0.7) else []
    d.add(op, [cache, update, *at], **d.maybe(mode=mode) if mode == "linear" else {"mode": mode})


@recipe("CausalConvWithState")
def causal(d, op):
    kind, b, c, n, k = d.dtype(op), d.whole(1, 2), d.whole(1, 3), d.whole(1, 5), d.whole(1, 4)
    inputs = [_numbers(d, kind, b, c, n), _numbers(d, kind, c, 1, k), _numbers(d, kind, c) if d.flip() else ""]
    inputs += [_numbers(d, kind, b, c, k - 1)] if d.flip() and k > 1 else []
    while inputs[-1] == "":
        inputs.pop()
    d.add(op, inputs, outputs=2, **d.maybe(activation=d.choice("none", "silu")))


@recipe("LinearAttention")
def linear(d, op):
    kind = d.dtype(op)
    b, n, heads, size, wide, groups = d.whole(1, 2), d.whole(1, 4), *(d.whole(1, 2) for _ in range(4))
    rule = d.choice("linear", "gated", "delta", "gated_delta")
    inputs = [_numbers(d, kind, b, n, groups * heads * size), _numbers(d, kind, b, n, heads * size)]
    inputs += [_numbers(d, kind, b, n, heads * wide)]
    inputs += [_numbers(d, kind, b, heads, size, wide) if d.flip(0.4) else ""]
    inputs += [_numbers(d, kind, b, n, heads) if "gated" in rule else ""]
    inputs += [_numbers(d, kind, b, n, heads) if "delta" in rule else ""]
    while inputs[-1] == "":
        inputs.pop()
    attrs = {"q_num_heads": groups * heads, "kv_num_heads": heads, "update_rule": rule}
    d.add(op, inputs, outputs=2, **attrs, **d.maybe(scale=0.5))


@recipe("BitCast")
def other_type_of_the_same_bits(d, op):
    x = d.tensor(d.dtype(op))
    if x not in {**d.inputs, **d.initializers, **d.literals} and (d.value(x) != d.value(x)).any():
        raise Unfit("which NaN comes of arithmetic is open, and so are its bits")
    size = np.dtype(d.dtype_of(x)).itemsize
    alike = [t for t in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32",
                         "float64") if np.dtype(t).itemsize == size]  # fmt: skip
    d.add(op, [x], to=int(helper.np_dtype_to_tensor_dtype(np.dtype(d.choice(*alike)))))
