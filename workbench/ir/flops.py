"""Counting floating-point operations."""

from __future__ import annotations

import math

from workbench.ir.expr import COMPARE_OPS, Binary, Cast, Expr, Select, Unary, Where
from workbench.ir.func import Func
from workbench.ir.stmt import blocks

_FREE = (*COMPARE_OPS, "and", "or")


def expr_flops(e: Expr) -> int:
    """Arithmetic operations of one evaluation: every ``+ - * / max min pow`` and every math function counts once; of
    the two sides of an index condition, the longer one.
    """
    match e:
        case Select(_, a, b):
            return max(expr_flops(a), expr_flops(b))
        case Unary(_, a):
            return 1 + expr_flops(a)
        case Cast(_, a):
            return expr_flops(a)
        case Binary(op, a, b):
            return int(op not in _FREE) + expr_flops(a) + expr_flops(b)
        case Where(cond, a, b):
            return expr_flops(cond) + expr_flops(a) + expr_flops(b)
    return 0


def count_flops(func: Func) -> int:
    """Arithmetic operations of one call of an unscheduled function; a multiply-add counts as two."""
    total = 0
    for b, _ in blocks(func.body):
        points = math.prod(int(it.extent) for it in b.iters if isinstance(it.extent, int))
        total += points * expr_flops(b.value)
    return total
