"""Reads from source code which errors it raises: code, class, message and hint, as far as they stand there."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple, TypeAlias

from workbench import errors

_Scope: TypeAlias = "ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef"

_CODE = re.compile(r"[a-z_]+\.[a-z_0-9]+")
#: Stands for what is filled in when it happens.
OPEN = "…"
#: Arguments of every error.
_ARGUMENTS = ("code", "message", "where", "hint")


class Raised(NamedTuple):
    """One place where an error is made; texts have `OPEN` for what is filled in."""

    code: str
    error: str
    message: str
    hint: str


def raised_errors(trees: Sequence[ast.Module]) -> Iterator[Raised]:
    """Yield what modules raise: by a call of a class of errors, then of what takes a code, which is more general."""
    source = _Source(trees)
    calls = [one for tree in trees for one in _calls(tree, ())]
    for path, call in sorted(calls, key=lambda one: _name(one[1].func) not in source.classes):
        yield from source.raised(call, path, {})


class _Source:
    """Classes of errors, each with the public one that it is, and functions and tables that take a code."""

    def __init__(self, trees: Sequence[ast.Module]) -> None:
        self.classes = _error_classes(trees)
        every = [s for tree in trees for s in _scopes(tree)]
        helpers = [s for s in every if s.name not in self.classes and "code" in _names(s)]
        self.methods, self.functions = ({s.name: s for s in helpers if _is_method(s) == own} for own in (True, False))

    def raised(self, call: ast.Call, path: tuple[_Scope, ...], known: Mapping[str, str]) -> Iterator[Raised]:
        """Yield what a call raises; `known` has texts of names."""
        name = known.get(_name(call.func)) or _name(call.func)
        if name == "__init__":  # of the class above
            name = next((s.name for s in reversed(path) if isinstance(s, ast.ClassDef)), name)
        methods = self.methods if isinstance(call.func, ast.Attribute) else {}
        helper = methods.get(name, self.functions.get(name))
        if name not in self.classes and (helper is None or helper in path):
            return
        names = _ARGUMENTS if helper is None else _names(helper)
        given = {**dict(zip(names, call.args, strict=False)), **_keywords(call)}
        for code in _either(given.get("code")):
            if helper is None:
                message, hint = (" ".join(_text(given.get(n), path, known).split()) for n in ("message", "hint"))
                error, full = self.classes[name], _text(code, path, known)
                if _CODE.fullmatch(full):
                    yield Raised(full, error, message, hint)
            elif OPEN not in (text := _text(code, path, known)) and text:
                inside = {n: self._bound(value, path, known) for n, value in {**_defaults(helper), **given}.items()}
                inside["code"] = text
                for around, one in _calls(helper, ()):
                    yield from self.raised(one, (helper, *around), inside)

    def _bound(self, value: ast.expr, path: tuple[_Scope, ...], known: Mapping[str, str]) -> str:
        """What a parameter stands for: a class of errors, or a text."""
        return self.classes.get(_name(value)) or _text(value, path, known)


def _error_classes(trees: Sequence[ast.Module]) -> dict[str, str]:
    """Names of all classes of errors and warnings with a code, and which public one each is."""
    public = inspect.getmembers(errors, inspect.isclass)
    known = {name: name for name, cls in public if issubclass(cls, Warning | errors.WorkbenchError)}
    declared = {n.name: [*map(_name, n.bases)] for tree in trees for n in ast.walk(tree) if isinstance(n, ast.ClassDef)}
    while more := {n: known[b] for n, bases in declared.items() for b in bases if b in known and n not in known}:
        known |= more
    return known


def _either(code: ast.expr | None) -> tuple[ast.expr | None, ...]:
    """What a code can be: one, or one of two."""
    return (code.body, code.orelse) if isinstance(code, ast.IfExp) else (code,)


# ---------------------------------------------------------------------------------------------------------------- text


def _text(node: ast.expr | None, path: tuple[_Scope, ...], known: Mapping[str, str]) -> str:
    """Return the text of an expression, as far as it stands there."""
    if node is None:
        return ""
    if (name := _name(node)) in known:
        return known[name]
    if isinstance(node, ast.Constant):
        return OPEN if node.value is None else str(node.value)
    if isinstance(node, ast.JoinedStr):
        return re.sub(f"{OPEN}+", OPEN, "".join(_text(part, path, known) for part in node.values))
    if isinstance(node, ast.FormattedValue):
        return known.get(_name(node.value), OPEN)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _text(node.left, path, known) + _text(node.right, path, known)
    if isinstance(node, ast.IfExp | ast.BoolOp):
        parts = [node.body, node.orelse] if isinstance(node, ast.IfExp) else node.values
        return max((_text(part, path, known) for part in parts), key=len)
    if isinstance(node, ast.Call):
        return {
            "did_you_mean": "The nearest names.",
            "option": _text(node.args[0], path, known) if node.args else "",
        }.get(_name(node.func), OPEN)
    value = _value(node.id, node.lineno, path) if isinstance(node, ast.Name) else None
    return OPEN if value is None else _text(value, path, known)


def _value(name: str, before: int, path: tuple[_Scope, ...]) -> ast.expr | None:
    """What a name stands for: what was assigned to it last above a line, or the default of a parameter; that of one
    which is called like it is what the name is outside.
    """
    for scope in reversed(path):
        found = [v for n, v, at in _assigned(scope) if n == name and at < before and not _is(v, name)]
        if found:
            return found[-1]
    return None


def _is(node: ast.expr, name: str) -> bool:
    """Whether an expression is nothing but a name."""
    return isinstance(node, ast.Name) and node.id == name


@cache
def _assigned(scope: _Scope) -> tuple[tuple[str, ast.expr, int], ...]:
    """Names, what is assigned to them in a function, and on which line; 0 for defaults of parameters."""
    if isinstance(scope, ast.ClassDef):
        return ()
    found = [(name, value, 0) for name, value in _defaults(scope).items()]
    for node in ast.walk(scope):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                pairs = [(target, node.value)]
                if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    pairs = list(zip(target.elts, node.value.elts, strict=False))
                found += [(t.id, value, node.lineno) for t, value in pairs if isinstance(t, ast.Name)]
    return tuple(found)


def _defaults(scope: _Scope) -> dict[str, ast.expr]:
    """Parameters of a function, or of a class, that need not be given."""
    if isinstance(scope, ast.ClassDef):
        begin = (f for f in scope.body if isinstance(f, ast.FunctionDef) and f.name == "__init__")
        return next(map(_defaults, begin), {})
    several, alone = scope.args.defaults, zip(scope.args.kwonlyargs, scope.args.kw_defaults, strict=True)
    last = [*scope.args.posonlyargs, *scope.args.args][-len(several) :] if several else []
    return {a.arg: value for a, value in (*zip(last, several, strict=True), *alone) if value is not None}


# -------------------------------------------------------------------------------------------------------------- syntax


def _calls(node: ast.AST, path: tuple[_Scope, ...]) -> Iterator[tuple[tuple[_Scope, ...], ast.Call]]:
    """Every call, with the classes and functions around it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Call):
            yield path, child
        inside = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        yield from _calls(child, (*path, child) if inside else path)  # type: ignore[arg-type]


def _scopes(tree: ast.AST) -> Iterator[_Scope]:
    return (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef))


def _is_method(scope: _Scope) -> bool:
    return not isinstance(scope, ast.ClassDef) and bool(scope.args.args) and scope.args.args[0].arg == "self"


def _names(scope: _Scope) -> list[str]:
    """Parameters of a function or of a class, without that of the object."""
    if isinstance(scope, ast.ClassDef):
        return [n for f in scope.body if isinstance(f, ast.FunctionDef) and f.name == "__init__" for n in _names(f)]
    names = [a.arg for a in (*scope.args.posonlyargs, *scope.args.args, *scope.args.kwonlyargs)]
    return [name for name in names if name not in ("self", "cls")]


def _keywords(call: ast.Call) -> dict[str, ast.expr]:
    return {k.arg: k.value for k in call.keywords if k.arg}


def _name(node: ast.expr | None) -> str:
    """The last part of a dotted name; of ``Registry[Lab]`` that of what stands before the bracket."""
    if isinstance(node, ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
