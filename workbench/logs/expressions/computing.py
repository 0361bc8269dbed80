"""The value of an expression's tree for one configuration, node by node, within bounds."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

MOST_STEPS = 2_000_000
MOST_ITEMS = 1_000_000
MOST_BITS = 4_096
"""Bounds: steps, items of a list and bits of a number of a value. Chosen: far above what restrictions of real spaces
need, and computed in at most about a second.
"""

Names = Mapping[str, Any]


class NoValue(Exception):
    """An expression has no value for a configuration: a division by zero, a comparison of text with a number."""


def function_of(call: ast.Call) -> Callable[..., Any] | None:
    """Return the function that is called; None for one that is not allowed."""
    func = call.func
    if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id == "math":
        return FUNCTIONS.get(func.attr)
    return FUNCTIONS.get(func.id) if isinstance(func, ast.Name) else None


class Computation:
    """The value of one tree, for one configuration."""

    def __init__(self, names: Names) -> None:
        self.names, self.steps = names, 0

    def of(self, node: ast.AST) -> Any:
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise NoValue("it takes too many steps")
        try:
            value = _VALUES[type(node)](self, node)
            self.steps += len(value) if isinstance(value, str | list) else 0
            return value
        except (TypeError, ValueError, ArithmeticError, LookupError) as error:
            raise NoValue(str(error)) from error

    def named(self, node: ast.Name) -> Any:
        if node.id not in self.names:
            raise NoValue(f"there is nothing named {node.id!r}")
        return self.names[node.id]

    def both(self, node: ast.BoolOp) -> Any:
        all_of = isinstance(node.op, ast.And)
        value: Any = None
        for part in node.values:
            value = self.of(part)
            if bool(value) != all_of:
                break
        return value

    def compared(self, node: ast.Compare) -> bool:
        left = self.of(node.left)
        for op, right_node in zip(node.ops, node.comparators, strict=True):
            right = self.of(right_node)
            if not COMPARISONS[type(op)](left, right):
                return False
            left = right
        return True

    def binary(self, node: ast.BinOp) -> Any:
        left, right = self.of(node.left), self.of(node.right)
        _bounded(node.op, left, right)
        return OPERATIONS[type(node.op)](left, right)

    def chosen(self, node: ast.IfExp) -> Any:
        return self.of(node.body if self.of(node.test) else node.orelse)

    def called(self, node: ast.Call) -> Any:
        function = function_of(node)
        assert function is not None, "checked when it was parsed"
        return function(*map(self.of, node.args))

    def items(self, node: ast.List | ast.Tuple | ast.Set) -> list[Any]:
        return [self.of(item) for item in node.elts]

    def item(self, node: ast.Subscript) -> Any:
        return self.of(node.value)[self.of(node.slice)]

    def comprehension(self, node: ast.ListComp | ast.GeneratorExp) -> list[Any]:
        found: list[Any] = []
        self._loop(node, 0, found)
        return found

    def _loop(self, node: ast.ListComp | ast.GeneratorExp, level: int, found: list[Any]) -> None:
        if level == len(node.generators):
            found.append(self.of(node.elt))
            return
        generator, outside = node.generators[level], self.names
        assert isinstance(generator.target, ast.Name), "checked when it was parsed"
        for item in self.of(generator.iter):
            self.names = {**outside, generator.target.id: item}
            if all(self.of(test) for test in generator.ifs):
                self._loop(node, level + 1, found)
        self.names = outside


def _bounded(op: ast.operator, left: Any, right: Any) -> None:
    """Raise where a result would be too large to be meant."""
    if isinstance(left, str | list) or isinstance(right, str | list):
        lengths = [len(side) if isinstance(side, str | list) else abs(int(side)) for side in (left, right)]
        large = math.prod(lengths) if isinstance(op, ast.Mult) else sum(lengths)
        if large > MOST_ITEMS or isinstance(op, ast.Mod):
            raise NoValue("a text or list is too long" if large > MOST_ITEMS else "texts are not formatted here")
    elif isinstance(left, int) and isinstance(right, int):
        bits = left.bit_length() * (abs(right) if isinstance(op, ast.Pow) else 1) + (
            abs(right) if isinstance(op, ast.LShift) else right.bit_length()
        )
        if bits > MOST_BITS:
            raise NoValue("a number is too large")


def _rounded(value: float, digits: int = 0) -> Any:
    if abs(digits) > 400:
        raise NoValue("there are no so many digits")
    return round(value, digits) if digits else round(value)


def _summed(values: Any) -> Any:
    return sum(values)  # without the beginning that Python's takes: a list there grows without bounds


def _range(*bounds: Any) -> list[int]:
    numbers = range(*bounds)
    if len(numbers) > MOST_ITEMS:
        raise NoValue("a list is too long")
    return list(numbers)


FUNCTIONS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "abs": abs, "all": all, "any": any, "bool": bool, "ceil": math.ceil, "float": float, "floor": math.floor,
        "int": int, "len": len, "list": list, "log2": math.log2, "max": max, "min": min, "range": _range,
        "round": _rounded, "sqrt": math.sqrt, "sum": _summed,
    }
)  # fmt: skip
"""Functions that an expression may call; those of ``math`` also by that name."""

COMPARISONS: Mapping[type[ast.cmpop], Callable[[Any, Any], Any]] = MappingProxyType(
    {
        ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
        ast.GtE: operator.ge, ast.In: lambda a, b: a in b, ast.NotIn: lambda a, b: a not in b,
    }
)  # fmt: skip
OPERATIONS: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = MappingProxyType(
    {
        ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
        ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow, ast.BitAnd: operator.and_,
        ast.BitOr: operator.or_, ast.BitXor: operator.xor, ast.LShift: operator.lshift, ast.RShift: operator.rshift,
    }
)  # fmt: skip
_SIGNS: Mapping[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.Not: operator.not_, ast.USub: operator.neg, ast.UAdd: operator.pos,
}  # fmt: skip
_VALUES: Mapping[type[ast.AST], Callable[[Computation, Any], Any]] = {
    ast.Constant: lambda self, node: node.value,
    ast.Name: Computation.named,
    ast.BoolOp: Computation.both,
    ast.Compare: Computation.compared,
    ast.BinOp: Computation.binary,
    ast.UnaryOp: lambda self, node: _SIGNS[type(node.op)](self.of(node.operand)),
    ast.IfExp: Computation.chosen,
    ast.Call: Computation.called,
    ast.List: Computation.items,
    ast.Tuple: Computation.items,
    ast.Set: Computation.items,
    ast.Subscript: Computation.item,
    ast.ListComp: Computation.comprehension,
    ast.GeneratorExp: Computation.comprehension,
}
NODES = (*_VALUES, *COMPARISONS, *OPERATIONS, *_SIGNS, ast.And, ast.Or, ast.comprehension, ast.Load, ast.Store)
"""Kinds of nodes that have a value, or are a part of one that has."""
