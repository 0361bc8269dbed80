"""Counting floating-point operations."""

from __future__ import annotations

import math

from .expr import COMPARE_OPS, Binary, Expr, Unary, walk
from .func import Func
from .stmt import blocks


def expr_flops(e: Expr) -> int:
    """Arithmetic operations of one evaluation: every ``+ - * / max min pow`` and every math function counts once."""
    skip = (*COMPARE_OPS, "and", "or")
    return sum(1 for x in walk(e) if isinstance(x, Unary) or (isinstance(x, Binary) and x.op not in skip))


def count_flops(func: Func) -> int:
    """Arithmetic operations of one call of an unscheduled function; a multiply-add counts as two."""
    total = 0
    for b, _ in blocks(func.body):
        points = math.prod(int(it.extent) for it in b.iters if isinstance(it.extent, int))
        total += points * expr_flops(b.value)
    return total
