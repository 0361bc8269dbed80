"""Types of expressions, and the constants that belong to a type."""

from __future__ import annotations

import math

import numpy as np

from workbench.ir.dtypes import is_float
from workbench.ir.expr import COMPARE_OPS, Binary, Cast, Const, Expr, Index, Load, Select, Unary, Where
from workbench.ir.func import Func

_TRUTHS = (*COMPARE_OPS, "and", "or")


def dtype_of(e: Expr, func: Func) -> str:
    """Return the dtype of an expression's value."""
    match e:
        case Const(_, dtype) | Cast(dtype, _):
            return dtype
        case Load(buffer, _):
            return func.buffer(buffer).dtype
        case Index():
            return "int64"
        case Unary(op, a):
            return "bool" if op == "not" else dtype_of(a, func)
        case Binary(op, a, _):
            return "bool" if op in _TRUTHS else dtype_of(a, func)
        case Select(_, a, _) | Where(_, a, _):
            return dtype_of(a, func)
    raise AssertionError(e)


def zero(dtype: str) -> Const:
    """The zero of a dtype, False for bool."""
    return Const(0.0 if is_float(dtype) else False if dtype == "bool" else 0, dtype)


def neutral(op: str, dtype: str) -> Const:
    """Neutral element of a reduction operator."""
    if dtype == "bool":
        return Const(op in ("mul", "min"), dtype)
    if op in ("add", "mul"):
        one = int(op == "mul")
        return Const(float(one) if is_float(dtype) else one, dtype)
    if is_float(dtype):
        return Const(-math.inf if op == "max" else math.inf, dtype)
    info = np.iinfo(dtype)
    return Const(int(info.min if op == "max" else info.max), dtype)
