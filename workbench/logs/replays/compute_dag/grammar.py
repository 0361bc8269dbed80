"""The text of a compute DAG as values: stages, and expressions of a small grammar."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NoReturn, TypeAlias

import numpy as np

from workbench.errors import LogError
from workbench.logs.replays.compute_dag.winograd import OMITTED, table
from workbench.markup import clean, shortened

LONGEST, DEEPEST = 20_000, 100
"""Characters of a line and nested brackets that are read. Chosen: a convolution has 300 and 8."""


class DagError(LogError):
    """A text is no compute DAG that can be used: ``replay.dag``."""

    def __init__(self, message: str, where: str = "") -> None:
        hint = "the text is what TVM prints for task.compute_dag"
        super().__init__("replay.dag", message, (where,) if where else (), hint)


@dataclass(frozen=True, slots=True)
class Number:
    """A literal: an int is part of an index or a condition, a float a value."""

    value: int | float | bool


@dataclass(frozen=True, slots=True)
class Name:
    """An axis."""

    name: str


@dataclass(frozen=True, slots=True)
class Read:
    """An element of a stage, which `parse_dag` gives its unique name."""

    stage: str
    index: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """A function or an operator (``+``) of terms."""

    name: str
    args: tuple[Term, ...]


Term: TypeAlias = Number | Name | Read | Call


@dataclass(frozen=True, slots=True)
class Placeholder:
    """An input of the computation."""

    name: str
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Compute:
    """A stage: its axes, how it reduces ("" where it does not, ``+``, ``*``, ``max``, ``min``), and its value; `sizes`
    of its axes where the text has them.
    """

    name: str
    axes: tuple[str, ...]
    reduces: str
    value: Term
    sizes: tuple[int, ...] = ()

    @property
    def reads(self) -> tuple[Read, ...]:
        """What it reads, in the order of the text."""
        return tuple(t for t in terms(self.value) if isinstance(t, Read))

    @property
    def reduce_axes(self) -> tuple[str, ...]:
        """Names in the value that are no axes of the result, in the order of the text."""
        names = (t.name for t in terms(self.value) if isinstance(t, Name))
        return tuple(dict.fromkeys(n for n in names if n not in self.axes))


Stage: TypeAlias = Placeholder | Compute


@dataclass(frozen=True, slots=True)
class Dag:
    """A computation: its stages in the order of the text, and the key of the workload where the text has one."""

    stages: tuple[Stage, ...]
    key: str = ""

    @property
    def placeholders(self) -> tuple[Placeholder, ...]:
        """Its inputs."""
        return tuple(s for s in self.stages if isinstance(s, Placeholder))


def terms(term: Term) -> Iterator[Term]:
    """Yield a term and all in it, in the order of the text."""
    yield term
    inner = term.index if isinstance(term, Read) else term.args if isinstance(term, Call) else ()
    for t in inner:
        yield from terms(t)


def numbers_of_key(key: str) -> tuple[int, ...] | None:
    """Numbers of a workload's key, flat; None where it is no JSON list. A text among them is passed over."""
    try:
        value = json.loads(key)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, list):
        return None
    todo, found = list(reversed(value)), []
    while todo:
        x = todo.pop()
        if isinstance(x, list):
            todo += reversed(x)
        elif isinstance(x, int):
            found.append(int(x))
    return tuple(found)


_HEAD = re.compile(r"=+ Task \d+\s+\(workload key: (.*)\) =+\s*")
_PLACEHOLDER = re.compile(r"([A-Za-z_][\w.]*) = PLACEHOLDER \[([\d, ]+)\]\s*")
_COMPUTE = re.compile(r"([A-Za-z_][\w.]*)\(([\w, ]+)\) (\+|\*|max|min)?=\s*(.*)", re.DOTALL)


def parse_dags(text: str) -> list[Dag]:
    """Read a text with several computations, each under a line ``===== Task 0 (workload key: …) =====``.

    Computations that the grammar does not know are left out; a text without such lines is one computation.

    Raises
    ------
    DagError
        Where there is none.
    """
    lines = text.splitlines()
    starts = [k for k, line in enumerate(lines) if len(line) < LONGEST and _HEAD.fullmatch(line)]
    if not starts:
        return [parse_dag(text)]
    found, problem = [], ""
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        part = lines[start + 1 : end]
        stop = next((k for k, line in enumerate(part) if not line.strip()), len(part))
        head = _HEAD.fullmatch(lines[start])
        assert head is not None
        try:
            dag = parse_dag("\n".join(part[:stop]))
        except DagError as error:
            problem = problem or error.message
            continue
        found.append(Dag(dag.stages, head[1]))
    if not found:
        raise DagError(f"No computation of the text can be read: {problem}")
    return found


def parse_dag(text: str) -> Dag:
    """Read one computation, a stage per line.

    Raises
    ------
    DagError
    """
    stages: list[Stage] = []
    newest: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            stage = _stage(line.strip(), newest)
        except DagError as error:
            raise DagError(error.message, f"line {number} of the computation") from None
        name = _fresh(stage.name, {s.name for s in stages})
        newest[stage.name] = name
        stages.append(Placeholder(name, stage.shape) if isinstance(stage, Placeholder) else replace(stage, name=name))
    if not any(isinstance(s, Compute) for s in stages):
        raise DagError("The text has no stage that computes something.")
    return Dag(tuple(stages))


def _fresh(name: str, taken: set[str]) -> str:
    """A name for a stage; TVM calls several ``T_add``."""
    new, k = name, 0
    while new in taken:
        k += 1
        new = f"{name}_{k}"
    return new


def _stage(line: str, newest: dict[str, str]) -> Stage:
    if len(line) > LONGEST:
        raise DagError(f"A line has more than {LONGEST} characters.")
    if match := _PLACEHOLDER.fullmatch(line):
        sizes = match[2].replace(" ", "").strip(",").split(",")
        if not all(s.isdigit() and 0 < len(s) < 10 for s in sizes):
            raise DagError(f"The shape of {shortened(clean(match[1]), 40)!r} is no list of sizes.")
        return Placeholder(match[1], tuple(map(int, sizes)))
    match = _COMPUTE.fullmatch(line)
    if match is None:
        raise DagError(f"This is neither a placeholder nor a stage: {shortened(clean(line), 60)}")
    axes = tuple(a.strip() for a in match[2].split(","))
    if len(set(axes)) < len(axes) or not all(axes):
        raise DagError(f"The axes of {match[1]!r} are not different names.")
    if OMITTED in line:
        return _table(match[1], axes, match[4])
    return Compute(match[1], axes, match[3] or "", _Parser(match[4], newest).parse())


def _table(name: str, axes: tuple[str, ...], text: str) -> Compute:
    """A stage of numbers, of which the text shows the corners."""
    values = table(name, text)
    if values is None or axes != ("i", "j"):
        raise DagError(f"TVM has left out a part of a long expression ({OMITTED!r}), so its value is not known.")
    term: Term = Number(0.0)
    for row, col in np.argwhere(values):
        here = Call("&&", tuple(Call("==", (Name(a), Number(int(n)))) for a, n in (("i", row), ("j", col))))
        term = Call("select", (here, Number(float(values[row, col])), term))
    return Compute(name, axes, "", term, values.shape)


_TOKEN = re.compile(
    r"\s*(?:(?P<float>\d+\.\d*(?:e[+-]?\d+)?f?|\d+(?:e[+-]?\d+)f?|\d+f)"
    r"|(?P<int>\d+)|(?P<bool>\(bool\)[01])|(?P<name>[A-Za-z_][\w.]*)|(?P<op>&&|\|\||[<>=!]=|[-+*/<>()\[\],]))"
)
_LEVELS: tuple[tuple[str, ...], ...] = (("||",), ("&&",), ("<", ">", "<=", ">=", "==", "!="), ("+", "-"), ("*", "/"))


class _Parser:
    """Recursive descent over the tokens of one expression."""

    def __init__(self, text: str, newest: dict[str, str]) -> None:
        self._tokens = list(_tokens(text))
        self._at = self._depth = 0
        self._newest = newest

    def parse(self) -> Term:
        term = self._level(0)
        if self._at < len(self._tokens):
            self._refuse()
        return term

    def _refuse(self) -> NoReturn:
        found = self._tokens[self._at][1] if self._at < len(self._tokens) else "the end"
        raise DagError(f"{shortened(clean(found), 40)!r} does not belong at this place of the expression.")

    def _take(self, *words: str) -> str:
        if self._at < len(self._tokens) and self._tokens[self._at][1] in words:
            self._at += 1
            return self._tokens[self._at - 1][1]
        return ""

    def _level(self, level: int) -> Term:
        if level == len(_LEVELS):
            return self._unary()
        left = self._level(level + 1)
        while op := self._take(*_LEVELS[level]):
            left = Call(op, (left, self._level(level + 1)))
        return left

    def _unary(self) -> Term:
        if self._take("-"):
            inner = self._unary()
            return Number(-inner.value) if isinstance(inner, Number) else Call("-", (Number(0), inner))
        return self._atom()

    def _atom(self) -> Term:
        self._depth += 1
        if self._depth > DEEPEST:
            raise DagError(f"More than {DEEPEST} brackets are inside each other.")
        if self._at >= len(self._tokens):
            self._refuse()
        kind, word = self._tokens[self._at]
        self._at += 1
        if kind == "name":
            term = self._named(word)
        elif word == "(":
            term = self._level(0)
            self._need(")")
        elif kind == "op":
            self._at -= 1
            self._refuse()
        else:
            term = Number(_value(kind, word))
        self._depth -= 1
        return term

    def _named(self, word: str) -> Term:
        if self._take("["):
            if word not in self._newest:
                raise DagError(f"{shortened(clean(word), 40)!r} is read before there is a stage of that name.")
            return Read(self._newest[word], self._list("]"))
        if self._take("("):
            return Call(word.removeprefix("tir.").removeprefix("T."), self._list(")"))
        return Name(word)

    def _list(self, end: str) -> tuple[Term, ...]:
        found = [self._level(0)]
        while self._take(","):
            found.append(self._level(0))
        self._need(end)
        return tuple(found)

    def _need(self, word: str) -> None:
        if not self._take(word):
            self._refuse()


def _value(kind: str, word: str) -> int | float | bool:
    if kind == "bool":
        return word.endswith("1")
    if kind == "float":
        return float(word.removesuffix("f"))
    if len(word) > 18:
        raise DagError("A number has more than 18 digits.")
    return int(word)


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    at = 0
    text = text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            raise DagError(f"{shortened(clean(text[at:]), 40)!r} is nothing that the grammar knows.")
        yield match.lastgroup, match[match.lastgroup]
        at = match.end()
