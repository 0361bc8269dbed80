"""An expression over the parameters of a configuration, or the columns of a table."""

from __future__ import annotations

import ast
import copy
from functools import cached_property
from typing import TYPE_CHECKING, Any

from workbench.errors import UsageError, did_you_mean
from workbench.logs.expressions.columns import mask
from workbench.logs.expressions.computing import Computation, Names, NoValue
from workbench.logs.expressions.grammar import LONGEST_TEXT, parsed

if TYPE_CHECKING:
    import numpy
    import pandas


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
        self.tree = parsed(text)

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
        return tuple(dict.fromkeys(n.id for n in sorted(found, key=lambda n: (n.lineno, n.col_offset))))

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

    def with_values(self, values: Names) -> Expression:
        """Return the expression with numbers or texts in the place of some names."""
        tree = copy.deepcopy(self.tree)
        return Expression(ast.unparse(_Values(values).visit(tree)))

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
        self.check_names(frame.columns)
        return mask(self.tree, self.names, self.holds, frame)

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
        return Computation(configuration).of(self.tree)


class _Values(ast.NodeTransformer):
    """Puts values in the place of names."""

    def __init__(self, values: Names) -> None:
        self.values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Replace a name that is read."""
        known = isinstance(node.ctx, ast.Load) and node.id in self.values
        return ast.Constant(self.values[node.id]) if known else node


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
        None where the line declares no constraint of this parameter.

    Raises
    ------
    UsageError
        ``usage.expression`` where the line is no program, or the constraint no expression.
    """
    try:
        if len(source) > LONGEST_TEXT:
            raise ValueError("too long")
        tree = ast.parse(source.strip())
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        message = "The source of this constraint is cut off, or no Python"
        raise UsageError("usage.expression", message, (parameter,)) from error
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call) or not call.args or not isinstance(call.args[0], ast.Constant):
            continue
        given = [*call.args[1:], *(keyword.value for keyword in call.keywords)]
        lambdas = [part for part in given if isinstance(part, ast.Lambda)]
        if call.args[0].value == parameter and lambdas:
            return Expression(ast.unparse(lambdas[0].body))
    return None
