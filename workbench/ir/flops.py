"""Counting floating-point operations."""

from __future__ import annotations

import math

from workbench.ir.expr import COMPARE_OPS, Binary, Expr, Load, Select, Unary, children, walk
from workbench.ir.func import Func
from workbench.ir.stmt import blocks

_FREE = (*COMPARE_OPS, "and", "or")


def expr_flops(e: Expr) -> int:
    """Arithmetic operations of one evaluation: every ``+ - * / max min pow`` and every math function counts once; of
    the two sides of an index condition, the longer one.
    """
    parts = [0] if isinstance(e, Load) else [0, *map(expr_flops, children(e))]
    own = isinstance(e, Unary) or (isinstance(e, Binary) and e.op not in _FREE)
    return max(parts) if isinstance(e, Select) else own + sum(parts)


def count_flops(func: Func) -> int:
    """Arithmetic operations of one call of an unscheduled function; a multiply-add counts as two."""
    total = 0
    for b, _ in blocks(func.body):
        points = math.prod(int(it.extent) for it in b.iters if isinstance(it.extent, int))
        total += points * expr_flops(b.value)
    return total


def product_share(func: Func) -> float:
    """Share of the operations of an unscheduled function that are multiply-adds of sums; 0 where there are none."""
    products = sum(
        2 * math.prod(int(it.extent) for it in b.iters if isinstance(it.extent, int))
        for b, _ in blocks(func.body)
        if b.is_reduction and any(isinstance(e, Binary) and e.op == "mul" for e in walk(b.value))
    )
    return products / max(count_flops(func), 1)
