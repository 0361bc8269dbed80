"""Operators that take elements one by one."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper

from random_models.draft import Unfit
from random_models.recipes.base import broadcast, either_way, operand_like, recipe, safe_cast
from random_models.values import NUMBERS, PLAIN, UNSIGNED, WHOLE, array


@recipe("""Abs Ceil Erf Exp Floor Identity IsNaN Neg Not Reciprocal Relu Round Sigmoid Sign Sqrt Softplus Softsign Tanh
    Atan Asinh BitwiseNot HardSwish Mish""")
def unary(d, op):
    d.add(op, [d.tensor(d.dtype(op), kind=d.choice("usual", "usual", "special"))])


@recipe("Acos Acosh Asin Atanh Cos Cosh Log Sin Sinh Tan")
def of_mild_numbers(d, op):
    d.add(op, [d.tensor(d.dtype(op), kind="mild")])


@recipe("IsInf")
def is_inf(d, op):
    d.add(op, [d.tensor(d.dtype(op), kind="special")], **d.maybe(detect_negative=d.whole(0, 1), detect_positive=0))


FACTORS = {
    "Celu": "alpha", "Elu": "alpha", "HardSigmoid": "alpha beta", "LeakyRelu": "alpha", "Selu": "alpha gamma",
    "Shrink": "bias lambd", "ThresholdedRelu": "alpha",
}  # fmt: skip


@recipe(" ".join(FACTORS))
def with_factors(d, op):
    attrs = {name: d.choice(0.0, 0.1, 0.5, 1.0, 1.5, 3.0, -0.5) for name in FACTORS[op].split()}
    attrs = {k: v or 1.0 if op in ("Celu", "Elu", "Selu") else v for k, v in attrs.items()}
    d.add(op, [d.tensor(d.dtype(op))], **d.maybe(**attrs))


@recipe("Swish")
def swish(d, op):
    d.add(op, [d.tensor(d.dtype(op))], **d.maybe(alpha=d.choice(1.0, 0.5, -1.5)))


@recipe("SwiGLU")
def gated(d, op):
    x = d.tensor(d.dtype(op))
    d.add(op, [x, d.tensor(d.dtype_of(x), shape=d.shape(x))], **d.maybe(alpha=d.choice(1.0, 0.5, -1.5)))


@recipe("Gelu")
def gelu(d, op):
    d.add(op, [d.tensor(d.dtype(op))], **d.maybe(approximate=d.choice("none", "tanh")))


@recipe("""Add Sub Mul And Or Xor BitwiseAnd BitwiseOr BitwiseXor Equal Greater Less GreaterOrEqual LessOrEqual""")
def binary(d, op):
    x = d.tensor(d.dtype(op))
    d.add(op, either_way(d, x, operand_like(d, x)))


@recipe("Div")
def divide(d, op):
    x = d.tensor(d.dtype(op))
    whole = d.dtype_of(x) in WHOLE
    d.add(op, [x, d.fresh(array(d.rng, d.dtype_of(x), broadcast(d, d.shape(x)), "positive" if whole else "usual"))])


@recipe("Mod")
def modulo(d, op):
    x = d.tensor(d.dtype(op))
    y = array(d.rng, d.dtype_of(x), broadcast(d, d.shape(x)), "positive")
    y = -y if d.dtype_of(x) not in UNSIGNED and d.flip(0.4) else y
    d.add(op, [x, d.fresh(y)], fmod=1 if d.dtype_of(x) not in WHOLE else d.whole(0, 1))


@recipe("Pow")
def power(d, op):
    x = d.tensor(d.dtype(op), kind="mild")
    kind = d.dtype(op, 1) if d.opset >= 12 else d.dtype_of(x)
    shape = broadcast(d, d.shape(x))
    y = d.rng.choice([0, 1, 2, 3], shape).astype(kind)
    if kind not in WHOLE and d.flip(0.4):
        y = d.rng.choice([-1, -2, 0.5, 1.5, -0.5], shape).astype(kind)
    if d.dtype_of(x) in WHOLE and (kind not in WHOLE or np.abs(d.value(x).astype("f8")).max(initial=0) > 100):
        raise Unfit("does not fit the integers")
    d.add(op, [x, d.fresh(y)])


@recipe("BitShift")
def shift(d, op):
    x = d.tensor(d.dtype(op))
    y = d.rng.integers(0, 8, broadcast(d, d.shape(x))).astype(d.dtype_of(x))
    d.add(op, [x, d.fresh(y)], direction=d.choice("LEFT", "RIGHT"))


@recipe("PRelu")
def prelu(d, op):
    x = d.tensor(d.dtype(op))
    dims = [1 if d.flip(0.4) else n for n in d.shape(x)]
    d.add(op, [x, d.fresh(array(d.rng, d.dtype_of(x), tuple(dims[d.whole(0, len(dims)) :])))])


@recipe("Max Min Sum Mean")
def several(d, op):
    x = d.tensor(d.dtype(op))
    more = [operand_like(d, x) for _ in range(d.whole(0, 3))]
    d.add(op, [*more, x] if d.flip(0.3) else [x, *more])


@recipe("Where")
def where(d, op):
    x = d.tensor(d.dtype(op, 1))
    c = d.tensor("bool", shape=broadcast(d, d.shape(x)))
    d.add(op, [c, *either_way(d, x, operand_like(d, x))])


@recipe("Clip")
def clip(d, op):
    x = d.tensor(d.dtype(op))
    low, high = (d.choice(-1, 0, 1, 0.5), d.choice(0, 1, 2, 6, -0.5))
    if d.opset < 11:
        d.add(op, [x], **d.maybe(min=float(low), max=float(high)))
        return
    kind = d.dtype_of(x)
    bounds = [d.fresh(np.array(abs(v) if kind in UNSIGNED else v).astype(kind), True) if d.flip(0.75) else ""
              for v in (low, high)]  # fmt: skip
    d.add(op, [x, *bounds[: d.whole(0, 2)]])


@recipe("Cast")
def cast(d, op):
    to = d.choice(*PLAIN)
    if d.flip(0.1):  # through text
        y = d.add(op, [d.tensor(("int64", "int32"))], to=TensorProto.STRING)
        return d.add(op, y, to=helper.np_dtype_to_tensor_dtype(np.dtype(d.choice("int64", "float32"))))
    x = d.tensor(d.dtype(op), fits=lambda a: safe_cast(a, to))
    return d.add(op, [x], to=helper.np_dtype_to_tensor_dtype(np.dtype(to)))


@recipe("CastLike")
def cast_like(d, op):
    like = d.tensor(NUMBERS)
    d.add(op, [d.tensor(d.dtype(op), fits=lambda a: safe_cast(a, d.dtype_of(like))), like])


@recipe("Dropout")
def dropout(d, op):
    x = d.tensor(d.dtype(op))
    if d.opset < 12:
        d.add(op, [x], **d.maybe(ratio=0.3))
        return
    rest = [d.fresh(np.float32(0.4), True), *([d.fresh(np.array(False), True)] if d.flip() else [])]
    d.add(op, [x, *(rest if d.flip() else [])], outputs=d.choice(1, 1, 2))
