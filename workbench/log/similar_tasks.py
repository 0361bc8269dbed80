"""What a log knows that is of use for a task which is not in it: the same task elsewhere, or one of its kind.

A log does not hold the computations, but it holds their names, and names say what the main computation is and how
large: ``conv2d 3x3/2 64→128 @56x56 + bias + relu``. Two tasks are of one kind when the main computations of their names
differ in numbers only; how far apart they are is the sum of the logarithms of the ratios of these numbers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from workbench.log.record import Record

if TYPE_CHECKING:
    from workbench.log.database import Database

Relation = Literal["exact", "target", "similar", "none"]

_NUMBER = re.compile(r"(?<![A-Za-z0-9_])\d+(?:x\d+)*(?![A-Za-z0-9_])")
_COPY = re.compile(r" \(\d+\)$")

_DIGITS = 18
"""No extent has more digits; a name may come from a log that somebody wrote by hand."""

EPILOGUE = 0.5
"""What an operation that only one of two kernels has counts, in doublings of an extent. Chosen, not measured."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """What was found for a task.

    Attributes
    ----------
    relation : {"exact", "target", "similar", "none"}
        Of this task and target; of this task for another target; of another task of its kind; nothing.
    records : tuple of Record
        Best first.
    how : str
        One sentence that says where they come from.
    distance : float
        How many doublings of extents lie between that task and this one.
    """

    relation: Relation
    records: tuple[Record, ...]
    how: str
    distance: float = 0.0


@dataclass(frozen=True, slots=True)
class Shape:
    """What a task's name says: the kind of its main computation, its numbers, and what else the kernel does."""

    kind: str
    numbers: tuple[int, ...]
    around: tuple[str, ...]

    def distance(self, other: Shape) -> float:
        """Return how many doublings of extents lie between two tasks; infinite for different kinds."""
        if self.kind != other.kind or len(self.numbers) != len(other.numbers):
            return math.inf
        pairs = zip(self.numbers, other.numbers, strict=True)
        far = sum(abs(math.log2(max(a, 1)) - math.log2(max(b, 1))) for a, b in pairs)
        return far + EPILOGUE * len(set(self.around) ^ set(other.around))


def shape_of(name: str) -> Shape:
    """Read a task's name."""
    parts = _COPY.sub("", name).split(" + ")
    main = max(range(len(parts)), key=lambda i: (len(_NUMBER.findall(parts[i])), -i))
    text = _written_out(parts[main])
    found = _NUMBER.findall(text)
    kind = _NUMBER.sub(lambda m: "x".join("n" * len(m.group().split("x"))), text)
    numbers = tuple(int(n[:_DIGITS]) for group in found for n in group.split("x"))
    return Shape(kind, numbers, tuple(p for i, p in enumerate(parts) if i != main))


def _written_out(text: str) -> str:
    """Put in what names leave out: a stride, a batch, a number of rows of 1."""
    words = text.split()
    if len(words) > 1 and words[0].startswith(("conv", "depthwise", "max_pool", "avg_pool")):
        words[1] += "" if "/" in words[1] else "/1"
        at = next((i for i, word in enumerate(words) if word.startswith("@")), None)
        if at is not None and "batch" not in words:
            words[at] += " batch 1"
    if len(words) > 1 and words[0] == "dense" and "x" not in words[1]:
        words[1] = "1x" + words[1]
    return " ".join(words)


class NamedTask(Protocol):
    """What a lookup needs to know of a task; `workbench.Task` has it."""

    @property
    def key(self) -> str: ...
    @property
    def name(self) -> str: ...


def lookup(database: Database, task: NamedTask, target: str | None, k: int = 4) -> Lookup:
    """Find records for a task: exact ones, else those of another machine, else those of the nearest task."""
    exact = database.select(task.key, k, lambda r: target is None or r.target == target, target)
    if exact:
        return Lookup("exact", tuple(exact), f"{task.name} has {_counted(len(exact))} of its own for this target")
    others = database.top(task.key, k, target) or database.select(task.key, k, lambda r: True, target)
    if others:
        where = differences(others[0].target, target or "")
        source = f"{task.name} was measured on another machine ({where})"
        return Lookup("target", tuple(others), f"{source}; its records are taken from there")
    return _similar(database, task, target, k)


def _similar(database: Database, task: NamedTask, target: str | None, k: int) -> Lookup:
    wanted = shape_of(task.name)
    near: list[tuple[float, bool, str, str]] = []
    for key, name, targets in _tasks(database):
        distance = wanted.distance(shape_of(name))
        if math.isfinite(distance):
            near.append((distance, target is not None and target not in targets, name, key))
    if not near:
        return Lookup("none", (), f"nothing of the kind of {task.name} is known")
    distance, elsewhere, name, key = min(near)
    records = database.top(key, k, target) or database.select(key, k, lambda r: True, target)
    how = f"{task.name} has no record; the nearest of its kind is {name} ({_apart(wanted, shape_of(name))})"
    if elsewhere:
        how += f", measured on another machine ({differences(records[0].target, target or '')})"
    return Lookup("similar", tuple(records), how, distance)


def _tasks(database: Database) -> Iterator[tuple[str, str, set[str]]]:
    for key in database:
        records = database.records(key)
        yield key, records[0].task, {r.target for r in records}


def _apart(wanted: Shape, found: Shape) -> str:
    """Say in which numbers and operations two tasks of a kind differ."""
    pairs = zip(wanted.numbers, found.numbers, strict=True)
    numbers = [f"{b} for {a}" for a, b in pairs if a != b]
    more = [f"with {p}" for p in found.around if p not in wanted.around]
    less = [f"without {p}" for p in wanted.around if p not in found.around]
    return ", ".join([*numbers, *more, *less]) or "the same numbers, computed in another form"


def differences(recorded: str, wanted: str) -> str:
    """Say in which options two targets differ, for instance "threads=2 instead of threads=8"."""
    have, want = _options(recorded), _options(wanted)
    words = []
    for name in dict.fromkeys([*have, *want]):
        a, b = have.get(name), want.get(name)
        if a == b:
            continue
        if name == "mattr":
            words.append(_extensions(a or "", b or ""))
        else:
            words.append(f"{name}={a} instead of {b}" if a and b else f"{name} {a}" if a else f"no {name}")
    return "; ".join(words) or "the same target"


def _options(target: str) -> dict[str, str]:
    out: dict[str, str] = {}
    for word in target.split():
        name, _, value = word.lstrip("-").partition("=")
        out[name if value else "kind"] = value or name
    return out


def _extensions(have: str, want: str) -> str:
    a, b = set(have.split(",")), set(want.split(","))
    more, less = _names(a - b), _names(b - a)
    return " and ".join([*([f"with {more}"] if more else []), *([f"without {less}"] if less else [])])


def _names(words: Iterable[str]) -> str:
    return ", ".join(sorted(w.lstrip("+") for w in words if w))


def _counted(n: int) -> str:
    return "a record" if n == 1 else f"{n} records"
