"""Python literals in text: `Config(name=value, …)` and `KEY=value, …`, read from their syntax tree, never evaluated."""

from __future__ import annotations

import ast
import warnings
from typing import Any

LONGEST = 1 << 16
"""Characters of an expression that is read. Chosen: configurations have some hundred."""


def json_value(value: Any) -> Any:
    """Return a literal as JSON has it: tuples and sets as lists, what JSON lacks as its text."""
    if isinstance(value, list | tuple | set | frozenset):
        return [json_value(v) for v in value]
    if isinstance(value, dict):
        return {json_value(str(key)): json_value(v) for key, v in value.items()}
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()  # no halves of characters, which nothing writes or shows
    return value if value is None or isinstance(value, bool | int | float) else repr(value)


def literal(text: str) -> Any:
    """Return the value of a Python literal as JSON has it, or the text itself where it is none."""
    try:
        return _value(_parsed(text))
    except ValueError:
        return text


def keywords(text: str) -> dict[str, Any]:
    """Return the keywords of a call that is given as text, such as ``Config(block_sizes=[64, 32], num_warps=4)``.

    A value that is no literal is kept as its text.

    Raises
    ------
    ValueError
        Where the text is no call with keywords alone.
    """
    call = _parsed(text)
    if not isinstance(call, ast.Call) or call.args or any(word.arg is None for word in call.keywords):
        raise ValueError("no call with keywords alone")
    return {str(word.arg): _value(word.value) for word in call.keywords}


def _value(node: ast.expr) -> Any:
    try:
        return json_value(ast.literal_eval(node))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return ast.unparse(node)


def _parsed(text: str) -> ast.expr:
    if len(text) > LONGEST:
        raise ValueError(f"an expression of {len(text)} characters")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # of a text that nobody here has written
            return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, MemoryError, RecursionError) as error:  # the last two where brackets are deeply nested
        raise ValueError(f"no expression ({type(error).__name__})") from None
