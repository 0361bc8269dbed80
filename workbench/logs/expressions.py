"""One small grammar for the expressions that logs hold and that people type: Python's, by a list of what is allowed.

T1 files write restrictions and lists of values in it, pyATF its constraints, the explorer its filters. A text becomes a
syntax tree; a tree with anything that is not listed here is refused, and the rest is computed node by node, within
bounds on numbers, lengths and steps. Nothing is compiled, nothing is executed.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from workbench.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    import numpy
    import pandas

LONGEST_TEXT = 10_000
MOST_NODES = 2_000
DEEPEST = 100
MOST_STEPS = 2_000_000
MOST_ITEMS = 1_000_000
MOST_BITS = 4_096
"""Bounds: characters, nodes and depth of an expression; steps, items of a list and bits of a number of its value.
Chosen: far above what restrictions of real spaces need, and computed in at most about a second.
"""

Names = Mapping[str, Any]


class NoValue(Exception):
    """An expression has no value for a configuration: a division by zero, a comparison of text with a number."""


class Expression:
    """An expression over the parameters of a configuration, or the columns of a table.

    Comparisons (also chained), ``and or not in``, arithmetic, numbers, texts, lists and comprehensions over them,
    ``a if c else b``, and the functions of `FUNCTIONS`. A name that is no Python name stands in backticks:
    ```` `GFLOP/s` > 100 ````. A lambda is read as its body.

    Parameters
    ----------
    text : str
        The expression.

    Raises
    ------
    UsageError
        ``usage.expression`` where the text is none, or holds what is not allowed; the place is the column.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._quoted: dict[str, str] = {}
        self.tree = self._parsed()

    def __repr__(self) -> str:
        return f"Expression({self.text!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expression) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of parameters or columns that it needs, in the order of the text."""
        own = {n.id for n in ast.walk(self.tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        called = {id(n.func) for n in ast.walk(self.tree) if isinstance(n, ast.Call)}
        found = [n for n in ast.walk(self.tree) if isinstance(n, ast.Name) and id(n) not in called and n.id not in own]
        return tuple(dict.fromkeys(self.name(n) for n in sorted(found, key=lambda n: (n.lineno, n.col_offset))))

    def name(self, node: ast.Name) -> str:
        """Return the name of a parameter or column, without backticks."""
        return self._quoted.get(node.id, node.id)

    def value(self, configuration: Names) -> Any:
        """Return its value for a configuration.

        Raises
        ------
        UsageError
            ``usage.expression_value`` where it has none: a missing name, a division by zero, a number out of bounds.
        """
        try:
            return self._computed(configuration)
        except NoValue as error:
            message = f"{self.text!r} has no value: {error}"
            raise UsageError(
                "usage.expression_value", message, (), "say the condition of this case before it"
            ) from error

    def holds(self, configuration: Names) -> bool:
        """Whether a configuration fulfils it; one for which it has no value does not."""
        try:
            return bool(self._computed(configuration))
        except (NoValue, TypeError, ValueError):  # the last two of what a value says to be neither true nor false
            return False

    def mask(self, frame: pandas.DataFrame) -> numpy.ndarray[Any, Any]:
        """Return for each row of a table whether `holds` is true of it, as an array of bool.

        Raises
        ------
        UsageError
            ``usage.expression_name`` for a column that the table does not have; the place is that in the text.
        """
        from workbench.logs.expression_columns import mask  # it imports numpy and pandas, and this module

        self.check_names(frame.columns)
        return mask(self, frame)

    def check_names(self, known: Any) -> None:
        """Raise ``usage.expression_name`` where a name is not known."""
        names = [str(name) for name in known]
        for name in self.names:
            if name not in names:
                column = self.text.find(name) + 1
                hint = did_you_mean(name, names, "names")
                raise UsageError(
                    "usage.expression_name", f"There is nothing named {name!r}", (f"column {column}",), hint
                )

    def _computed(self, configuration: Names) -> Any:
        return Computation(self, configuration).of(self.tree)

    def _parsed(self) -> ast.expr:
        if len(self.text) > LONGEST_TEXT:
            raise self._refused(f"An expression has at most {LONGEST_TEXT} characters", 0)
        try:
            tree = ast.parse(self._without_backticks().lstrip(), mode="eval").body
        except SyntaxError as error:
            at = self._place(error.lineno or 1, (error.offset or 1) - 1)
            raise self._refused("This is no expression", at, _habit(self.text)) from error
        except (ValueError, RecursionError, MemoryError) as error:  # a NUL, or too deep for the parser
            raise self._refused("This is no expression", 0) from error
        if isinstance(tree, ast.Lambda):
            tree = tree.body
        if sum(1 for _ in ast.walk(tree)) > MOST_NODES:
            raise self._refused(f"An expression has at most {MOST_NODES} parts", 0)
        self._check(tree, 0)
        return tree

    def _without_backticks(self) -> str:
        """Put a Python name of the same length where a name stands in backticks, so that columns stay what they are."""

        def stand_in(found: re.Match[str]) -> str:
            name = f"_{len(self._quoted)}".ljust(len(found[0]), "_")
            if name in self.text:
                raise self._refused(f"{name!r} stands for a name in backticks, and is one", found.start())
            self._quoted[name] = found[1]
            return name

        return re.sub(r"`([^`\n]+)`", stand_in, self.text)

    def _check(self, node: ast.AST, depth: int) -> None:
        """Refuse what is not allowed, with its place."""
        refused = _refusal(node, depth)
        if refused:
            before = getattr(node, "col_offset", 0)  # in bytes of UTF-8
            line = self.text.lstrip().split("\n")[getattr(node, "lineno", 1) - 1]
            column = len(line.encode("utf-8", "replace")[:before].decode("utf-8", "replace"))
            raise self._refused(refused, self._place(getattr(node, "lineno", 1), column), _ALLOWED)
        for child in ast.iter_child_nodes(node):
            if not (isinstance(node, ast.Call) and child is node.func):
                self._check(child, depth + 1)

    def _place(self, line: int, column: int) -> int:
        """Return the place in the text of a column (from 0) of a line (from 1) of the text without leading blanks."""
        begun = self.text.lstrip()
        before = sum(len(part) + 1 for part in begun.split("\n")[: line - 1])
        return min(len(self.text) - len(begun) + before + column, len(self.text))

    def _refused(self, message: str, at: int, hint: str = "") -> UsageError:
        shown = f"{message}: {_around(self.text, at)}"
        return UsageError("usage.expression", shown, (f"column {at + 1}",), hint)


def constraints_in(source: str, parameter: str) -> Expression | None:
    """Return the lambda with which a line of a Python program declares a parameter, as pyATF keeps it.

    Parameters
    ----------
    source : str
        The line: ``TI = TP("TI", Interval(8, 96), lambda TI: N % TI == 0)``.
    parameter : str
        Name of the parameter, a first argument in this line.

    Returns
    -------
    Expression or None
        None where the line is no program, or declares no constraint of this parameter.
    """
    if len(source) > LONGEST_TEXT:
        return None
    try:
        tree = ast.parse(source.strip())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call) or not call.args or not isinstance(call.args[0], ast.Constant):
            continue
        given = [*call.args[1:], *(keyword.value for keyword in call.keywords)]
        lambdas = [part for part in given if isinstance(part, ast.Lambda)]
        if call.args[0].value == parameter and lambdas:
            return Expression(ast.unparse(lambdas[0].body))
    return None


_ALLOWED = "allowed: comparisons, and, or, not, in, arithmetic, names, numbers, texts, lists and a few functions"


def _around(text: str, at: int) -> str:
    """Return the text about a place."""
    begin = max(0, at - 30)
    return ("…" if begin else "") + repr(text[begin : at + 30]) + ("…" if at + 30 < len(text) else "")


def _habit(text: str) -> str:
    """Return what to write in the place of what other languages have."""
    for pattern, hint in (
        (r"&&", "write 'and' for '&&'"),
        (r"\|\|", "write 'or' for '||'"),
        (r"[!~](?!=)", "write 'not' for '!' and '~'"),
        (r"(?<![=<>!])=(?!=)", "write '==' to compare"),
    ):
        if re.search(pattern, text):
            return hint
    return 'for example: status == "ok" and block_size_x >= 32'


def _refusal(node: ast.AST, depth: int) -> str:
    """Return why a node is not allowed; "" where it is."""
    if depth > DEEPEST:
        return f"An expression is at most {DEEPEST} deep"
    if isinstance(node, ast.Call):
        if function_of(node) is None:
            return "This function is not allowed"
        return "Functions take no named arguments" if node.keywords else ""
    if isinstance(node, ast.Constant):
        return "" if isinstance(node.value, bool | int | float | str | None) else "This constant is not allowed"
    if isinstance(node, ast.comprehension):
        return "This comprehension is not allowed" if node.is_async or not isinstance(node.target, ast.Name) else ""
    if isinstance(node, ast.Invert):
        return "'~' is not allowed, write 'not'"
    return "" if isinstance(node, _NODES) else f"{type(node).__name__} is not allowed"


def function_of(call: ast.Call) -> Callable[..., Any] | None:
    """Return the function that is called; None for one that is not allowed."""
    func = call.func
    if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id == "math":
        return FUNCTIONS.get(func.attr)
    return FUNCTIONS.get(func.id) if isinstance(func, ast.Name) else None


class Computation:
    """The value of one tree, for one configuration."""

    def __init__(self, expression: Expression, names: Names) -> None:
        self.expression, self.names, self.steps = expression, names, 0

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
        name = self.expression.name(node)
        if name not in self.names:
            raise NoValue(f"there is nothing named {name!r}")
        return self.names[name]

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
_NODES = (*_VALUES, *COMPARISONS, *OPERATIONS, *_SIGNS, ast.And, ast.Or, ast.comprehension, ast.Load, ast.Store)
