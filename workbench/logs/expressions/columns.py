"""An expression for all rows of a table at once.

Columns are computed whole where that gives exactly what the rows give one by one; where it would not (a
division by zero, an integer beyond 2**53, texts compared with numbers), the rows are computed one by one.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.logs.expressions.computing import COMPARISONS, OPERATIONS, Computation, Names, NoValue, function_of

if TYPE_CHECKING:
    import pandas

Array = np.ndarray[Any, Any]

EXACT = 2**53
"""Integers up to here are exact as float64, and so are their comparisons."""

MOST_REMEMBERED = 100_000
"""Different rows whose outcome is kept while rows are computed one by one. Chosen: some tens of MB."""


class _ByRow(Exception):
    """Whole columns would not give what rows give."""


def mask(tree: ast.expr, names: Sequence[str], holds: Callable[[Names], bool], frame: pandas.DataFrame) -> Array:
    """Return for each row of a table whether an expression holds, as an array of bool.

    Parameters
    ----------
    tree, names
        The expression, and the columns that it needs; the table has them.
    holds : callable
        What is asked of a row where whole columns would not give the same.
    frame : pandas.DataFrame
    """
    columns = {name: _values(frame[name]) for name in names}
    try:
        with np.errstate(all="ignore"):
            return _Columns(columns, len(frame)).truth(tree)
    except _ByRow:
        return _row_by_row(holds, columns, len(frame))


def _values(column: pandas.Series) -> Array:
    """Return a column as int64, float64, bool or objects; a number that is missing is NaN."""
    import pandas

    if isinstance(column.dtype, pandas.CategoricalDtype):
        column = column.astype(object)
    if pandas.api.types.is_bool_dtype(column.dtype) and not column.isna().any():
        return column.to_numpy(dtype=bool)
    if pandas.api.types.is_integer_dtype(column.dtype) and not column.isna().any():
        return column.to_numpy(dtype=np.int64 if column.empty or column.max() < 2**63 else object)
    if pandas.api.types.is_numeric_dtype(column.dtype):
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    return column.to_numpy(dtype=object)


def _row_by_row(holds: Callable[[Names], bool], columns: Mapping[str, Array], length: int) -> Array:
    """Ask for each row, once for rows that are alike."""
    if not columns:
        return np.full(length, holds({}))
    seen: dict[Any, bool] = {}
    found = np.zeros(length, dtype=bool)
    for place, row in enumerate(zip(*(column.tolist() for column in columns.values()), strict=True)):
        key = (*row, *map(type, row))  # 1, 1.0 and True are equal
        known = seen.get(key) if _hashable(row) else None
        if known is None:
            known = holds(dict(zip(columns, row, strict=True)))
            if len(seen) < MOST_REMEMBERED and _hashable(row):
                seen[key] = known
        found[place] = known
    return found


def _hashable(row: tuple[Any, ...]) -> bool:
    return not any(isinstance(value, list | dict) for value in row)


class _Columns:
    """The values of a tree for rows of a table: arrays of their length, or what is the same for all of them."""

    def __init__(self, columns: Mapping[str, Array], length: int) -> None:
        self.columns, self.length = columns, length

    def truth(self, node: ast.expr) -> Array:
        """Return an array of bool."""
        if isinstance(node, ast.BoolOp):
            return self._both(node.values, isinstance(node.op, ast.And))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return ~self.truth(node.operand)
        value = self.value(node)
        if not isinstance(value, np.ndarray):
            return np.full(self.length, bool(value))
        if value.dtype == object:
            try:
                return np.fromiter(map(bool, value), dtype=bool, count=len(value))
            except (TypeError, ValueError) as error:
                raise _ByRow from error
        return value.astype(bool)

    def value(self, node: ast.expr) -> Any:
        """Return an array, or one value for all rows."""
        computed = _VALUES.get(type(node))
        if computed is None:
            raise _ByRow
        return computed(self, node)

    def _both(self, parts: list[ast.expr], all_of: bool) -> Array:
        """Look at each part only where those before it have not decided: it may have no value elsewhere."""
        found = self.truth(parts[0])
        if len(parts) > 1:
            open_rows = found if all_of else ~found
            found = found.copy()
            found[open_rows] = self._of_rows(open_rows)._both(parts[1:], all_of)
        return found

    def _of_rows(self, rows: Array) -> _Columns:
        columns = {name: column[rows] for name, column in self.columns.items()}
        return _Columns(columns, int(rows.sum()))

    def _compared(self, node: ast.Compare) -> Array:
        found: Any = np.ones(self.length, dtype=bool)
        operands = [node.left, *node.comparators]
        for place, (op, right) in enumerate(zip(node.ops, node.comparators, strict=True)):
            left = self.value(operands[place])
            if isinstance(op, ast.In | ast.NotIn):
                found = found & self._contained(left, right, isinstance(op, ast.In))
            else:
                found = found & _compared(type(op), left, self.value(right), self.length)
        return np.asarray(found)

    def _contained(self, left: Any, among: ast.expr, inside: bool) -> Array:
        if not isinstance(among, ast.List | ast.Tuple | ast.Set):
            raise _ByRow
        found = np.zeros(self.length, dtype=bool)
        for item in among.elts:
            found |= _compared(ast.Eq, left, self.value(item), self.length)
        return found if inside else ~found

    def _binary(self, node: ast.BinOp) -> Any:
        left, right = _number(self.value(node.left)), _number(self.value(node.right))
        if not _has_rows(left, right):
            return self._same_for_all(node)
        if not _exact(type(node.op), left, right):
            raise _ByRow
        return OPERATIONS[type(node.op)](left, right)

    def _signed(self, node: ast.UnaryOp) -> Any:
        if isinstance(node.op, ast.Not):
            return self.truth(node)
        value = _number(self.value(node.operand))
        if _largest(value) > EXACT:
            raise _ByRow
        return -value if isinstance(node.op, ast.USub) else value

    def _called(self, node: ast.Call) -> Any:
        values = [_number(self.value(part)) for part in node.args]
        function = function_of(node)
        if not _has_rows(*values):
            return self._same_for_all(node)
        if function is abs and len(values) == 1:
            return np.abs(values[0])
        if function in (min, max) and len(values) > 1:
            best = values[0]
            for other in values[1:]:
                best = np.where(other < best if function is min else other > best, other, best)
            return best
        raise _ByRow

    def _same_for_all(self, node: ast.expr) -> Any:
        try:
            return Computation({}).of(node)
        except NoValue as error:
            raise _ByRow from error

    def _named(self, node: ast.Name) -> Array:
        return self.columns[node.id]


def _compared(op: type[ast.cmpop], left: Any, right: Any, length: int) -> Array:
    """Compare two arrays or values; equality of what cannot be equal is false, an order of it has no value."""
    kinds = _kind(left), _kind(right)
    if "object" not in kinds and kinds[0] != kinds[1]:
        if op not in (ast.Eq, ast.NotEq):
            raise _ByRow
        return np.full(length, op is ast.NotEq)
    if kinds == ("number", "number") and not (_largest(left) <= EXACT and _largest(right) <= EXACT):
        raise _ByRow
    try:
        return np.broadcast_to(np.asarray(COMPARISONS[op](left, right), dtype=bool), (length,))
    except (TypeError, ValueError) as error:
        raise _ByRow from error


def _kind(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return "object" if value.dtype == object else "number"
    if value is None or isinstance(value, str):
        return "text" if isinstance(value, str) else "nothing"
    return "number"


def _number(value: Any) -> Any:
    """Return numbers with which Python and NumPy compute alike: a bool counts as 0 or 1."""
    if _kind(value) != "number":
        raise _ByRow
    if isinstance(value, np.ndarray):
        return value.astype(np.int64) if value.dtype == bool else value
    return int(value) if isinstance(value, bool) else value


def _largest(value: Any) -> int:
    """Return the largest absolute value of integers; 0 for floats, which are computed alike everywhere."""
    if not isinstance(value, np.ndarray):
        return abs(value) if isinstance(value, int) else 0
    if value.dtype.kind != "i" or not value.size:
        return 0
    return max(abs(int(value.min())), abs(int(value.max())))


def _has_rows(*values: Any) -> bool:
    return any(isinstance(value, np.ndarray) for value in values)


def _exact(op: type[ast.operator], left: Any, right: Any) -> bool:
    """Whether NumPy gives exactly Python's result for all rows."""
    most_left, most_right = _largest(left), _largest(right)
    whole = _is_whole(left) and _is_whole(right)
    if most_left > EXACT or most_right > EXACT:
        return False
    if op in (ast.Add, ast.Sub):
        return most_left + most_right <= EXACT
    if op is ast.Mult:
        return most_left * most_right <= EXACT
    if op is ast.Div:
        return bool(np.all(right != 0))
    if op in (ast.FloorDiv, ast.Mod):
        return whole and bool(np.all(right != 0))
    return whole and op in (ast.BitAnd, ast.BitOr, ast.BitXor)


def _is_whole(value: Any) -> bool:
    return value.dtype.kind == "i" if isinstance(value, np.ndarray) else isinstance(value, int)


_VALUES: Mapping[type[ast.expr], Callable[[_Columns, Any], Any]] = {
    ast.Constant: lambda self, node: node.value,
    ast.Name: _Columns._named,
    ast.Compare: _Columns._compared,
    ast.BinOp: _Columns._binary,
    ast.UnaryOp: _Columns._signed,
    ast.Call: _Columns._called,
}
