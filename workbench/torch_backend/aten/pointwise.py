"""Operators that compute each element by itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.torch_backend.aten.writer import ATEN, Operand, Unsupported, Value, Writer, aten

_UNARY = {
    "relu": "Relu", "sigmoid": "Sigmoid", "tanh": "Tanh", "exp": "Exp", "log": "Log", "sqrt": "Sqrt", "neg": "Neg",
    "abs": "Abs", "floor": "Floor", "ceil": "Ceil", "sin": "Sin", "cos": "Cos", "tan": "Tan", "asin": "Asin",
    "acos": "Acos", "atan": "Atan", "sinh": "Sinh", "cosh": "Cosh", "asinh": "Asinh", "acosh": "Acosh",
    "atanh": "Atanh", "erf": "Erf", "reciprocal": "Reciprocal", "sign": "Sign", "mish": "Mish",
}  # fmt: skip
_BINARY = {"mul": "Mul", "maximum": "Max", "minimum": "Min", "pow": "Pow"}
_COMPARISONS = {"eq": "Equal", "lt": "Less", "le": "LessOrEqual", "gt": "Greater", "ge": "GreaterOrEqual"}
_LOGICAL = {"and": "And", "or": "Or", "xor": "Xor"}


def _declare() -> None:
    for name, op in _UNARY.items():
        ATEN[name] = lambda w, x, op=op: w(op, w.cast(x))
    for name, op in _BINARY.items():
        ATEN[name] = lambda w, x, y, op=op: w(op, w.cast(x), w.cast(y))
    for name, op in _COMPARISONS.items():
        ATEN[name] = lambda w, x, y, op=op: w(op, *_alike(w, x, y))
    for name, op in _LOGICAL.items():
        ATEN[f"logical_{name}"] = lambda w, x, y, op=op: w(op, _truth(w, x), _truth(w, y))
        ATEN[f"bitwise_{name}"] = lambda w, x, y, op=op: w(
            op if w.dtype == "bool" else f"Bitwise{op}", w.cast(x), w.cast(y)
        )


_declare()


def common_dtype(*operands: Operand) -> str:
    """Element type that torch computes operands in."""
    import torch

    def like(x: Operand) -> Any:
        return torch.empty((1,) * min(x.rank, 1), dtype=getattr(torch, x.dtype)) if isinstance(x, Value) else x

    return str(torch.result_type(*map(like, operands))).removeprefix("torch.")


def _alike(w: Writer, x: Operand, y: Operand) -> tuple[str, str]:
    dtype = common_dtype(x, y)
    return w.cast(x, dtype), w.cast(y, dtype)


def _truth(w: Writer, x: Operand) -> str:
    return w.cast(x, "bool")


def _is_float(dtype: str) -> bool:
    return dtype.endswith(("float16", "float32", "float64"))


@aten("ne")
def _ne(w: Writer, x: Operand, y: Operand) -> str:
    return str(w("Not", w("Equal", *_alike(w, x, y))))


@aten("logical_not", "bitwise_not")
def _not(w: Writer, x: Value) -> str:
    if w.dtype == "bool":
        return str(w("Not", _truth(w, x)))
    return str(w("BitwiseNot", x))


@aten("add", "sub", "rsub")
def _sum(w: Writer, x: Operand, y: Operand, *, alpha: float = 1) -> str:
    second = w.cast(y) if alpha == 1 else w("Mul", w.cast(y), w.cast(alpha))
    return str(w(_SUM[w.call], *((second, w.cast(x)) if w.call == "rsub" else (w.cast(x), second))))


_SUM = {"add": "Add", "sub": "Sub", "rsub": "Sub"}


@aten("div")
def _div(w: Writer, x: Operand, y: Operand, *, rounding_mode: str | None = None) -> str:
    a, b = w.cast(x), w.cast(y)
    if rounding_mode is None or (rounding_mode == "trunc" and not _is_float(w.dtype)):
        return str(w("Div", a, b))
    if _is_float(w.dtype):
        quotient = w("Div", a, b)
        return str(w("Floor", quotient)) if rounding_mode == "floor" else _trunc(w, quotient)
    return str(w("Div", w("Sub", a, w("Mod", a, b)), b))  # integers are divided towards zero


@aten("trunc")
def _trunc(w: Writer, x: Operand) -> str:
    return str(w("Where", w("Less", x, w.cast(0)), w("Ceil", x), w("Floor", x)))


@aten("remainder")
def _remainder(w: Writer, x: Operand, y: Operand) -> str:
    a, b = w.cast(x), w.cast(y)
    if not _is_float(w.dtype):
        return str(w("Mod", a, b))
    rest = w("Mod", a, b, fmod=1)  # has the sign of a
    other = w("Less", w("Mul", rest, b), w.cast(0))
    return str(w("Where", other, w("Add", rest, b), rest))


@aten("fmod")
def _fmod(w: Writer, x: Operand, y: Operand) -> str:
    return str(w("Mod", w.cast(x), w.cast(y), fmod=1))


@aten("rsqrt")
def _rsqrt(w: Writer, x: Value) -> str:
    return str(w("Reciprocal", w("Sqrt", w.cast(x))))


@aten("round")
def _round(w: Writer, x: Value, *, decimals: int = 0) -> str:
    if decimals:
        raise Unsupported(f"decimals={decimals}")
    return str(w("Round", x)) if _is_float(x.dtype) else x.name


@aten("log2", "log10")
def _log_to(w: Writer, x: Value) -> str:
    return str(w("Div", w("Log", w.cast(x)), w.cast(np.log({"log2": 2.0, "log10": 10.0}[w.call]))))


@aten("log1p")
def _log1p(w: Writer, x: Value) -> str:
    # What 1 + x loses of a small x is put right by the quotient.
    x_, one = w.cast(x), w.cast(1)
    u = w("Add", x_, one)
    lost = w("Sub", u, one)
    exact = w("Or", w("Equal", lost, w.cast(0)), w("IsInf", u))
    safe = w("Where", exact, one, lost)
    return str(w("Where", exact, w("Where", w("IsInf", u), u, x_), w("Div", w("Mul", w("Log", u), x_), safe)))


@aten("expm1")
def _expm1(w: Writer, x: Value) -> str:
    x_, one = w.cast(x), w.cast(1)
    small = w("Less", w("Abs", x_), one)
    t = w("Tanh", w("Mul", w("Where", small, x_, w.cast(0)), w.cast(0.5)))
    near = w("Div", w("Mul", t, w.cast(2)), w("Sub", one, t))
    return str(w("Where", small, near, w("Sub", w("Exp", x_), one)))


@aten("isnan", "isinf")
def _special(w: Writer, x: Value) -> str:
    if not _is_float(x.dtype):
        raise Unsupported("its elements are integers")
    return str(w("IsNaN" if w.call == "isnan" else "IsInf", x, version=20))


@aten("silu")
def _silu(w: Writer, x: Value) -> str:
    return str(w("Mul", x, w("Sigmoid", x)))


@aten("gelu")
def _gelu(w: Writer, x: Value, *, approximate: str = "none") -> str:
    return str(w("Gelu", x, version=20, approximate=approximate))


@aten("elu")
def _elu(w: Writer, x: Value, alpha: float = 1, scale: float = 1, input_scale: float = 1) -> str:
    if input_scale != 1:
        raise Unsupported(f"input_scale={input_scale}")
    found = w("Elu", x, alpha=float(alpha))
    return str(found if scale == 1 else w("Mul", found, w.cast(scale)))


@aten("leaky_relu")
def _leaky_relu(w: Writer, x: Value, negative_slope: float = 0.01) -> str:
    return str(w("LeakyRelu", x, alpha=float(negative_slope)))


@aten("_prelu_kernel")
def _prelu(w: Writer, x: Value, weight: Value) -> str:
    return str(w("PRelu", x, weight))


@aten("hardsigmoid", "hardswish")
def _hardsigmoid(w: Writer, x: Value) -> str:
    share = w("HardSigmoid", x, alpha=1 / 6, beta=0.5)
    return str(share if w.call == "hardsigmoid" else w("Mul", x, share))


@aten("softplus")
def _softplus(w: Writer, x: Value, beta: float = 1, threshold: float = 20) -> str:
    scaled = x if beta == 1 else w("Mul", x, w.cast(beta))
    found = w("Softplus", scaled)
    found = found if beta == 1 else w("Div", found, w.cast(beta))
    over = w("Greater", scaled, w.cast(threshold))
    return str(w("Where", over, x, found))


@aten("hardtanh", "clamp")
def _clamp(w: Writer, x: Value, min: Operand = None, max: Operand = None) -> str:
    if w.call == "hardtanh":
        min, max = -1 if min is None else min, 1 if max is None else max
    bounds = [b if b is None else w.cast(b) for b in (min, max)]
    if any(isinstance(b, Value) for b in (min, max)):
        found = w.cast(x)
        for op, b in zip(("Max", "Min"), bounds, strict=True):
            found = found if b is None else w(op, found, b)
        return str(found)
    return str(w("Clip", w.cast(x), *bounds))


@aten("where")
def _where(w: Writer, condition: Value, x: Operand, y: Operand) -> str:
    return str(w("Where", _truth(w, condition), w.cast(x), w.cast(y)))
