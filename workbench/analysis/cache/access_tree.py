"""A tree of loops with accesses as its leaves: what a nest touches, in order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from workbench.ir import Affine, Bound, Buffer

Mode: TypeAlias = Literal["generated", "written"]
Kind: TypeAlias = Literal["read", "write"]


@dataclass(frozen=True, slots=True)
class Unless:
    """Holds where one of the bounds does not."""

    bounds: tuple[Bound, ...]


Cond: TypeAlias = Bound | Unless


@dataclass(frozen=True, slots=True)
class Access:
    """One place of the nest that touches memory.

    Attributes
    ----------
    block, buffer, text : str
        The statement, the array, the element in the statement's axes.
    kind : {"read", "write"}
    form : Affine
        Address in bytes over the loops.
    nbytes : int
        Neighbouring bytes that are touched together: each of their lines once.
    conds : tuple of Bound or Unless
        Where it happens, over the loops.
    number : int
        Its place among all accesses.
    """

    block: str
    buffer: str
    text: str
    kind: Kind
    form: Affine
    nbytes: int
    conds: tuple[Cond, ...]
    number: int


@dataclass(frozen=True, slots=True)
class Repeat:
    """``loop`` has the values ``first + step * k`` for k below `count`; with `inside`, on top of the value it has.

    With `merged`, accesses of the body that touch the same line one after the other count once.
    """

    loop: str
    first: int
    step: int
    count: int
    body: tuple[Node, ...]
    inside: bool = False
    merged: bool = False


Node: TypeAlias = Access | Repeat


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop of the nest: how many are around it, and how often its body runs, each time and in all."""

    name: str
    depth: int
    extent: int
    iterations: int


@dataclass(frozen=True, slots=True)
class Program:
    """All accesses of a nest: `nodes` in order, where the buffers lie (bytes), and how far memory reaches."""

    nodes: tuple[Node, ...]
    accesses: tuple[Access, ...]
    loops: tuple[Loop, ...]
    buffers: tuple[Buffer, ...]
    bases: Mapping[str, int]
    nbytes: int


def count(nodes: Sequence[Node], line: int) -> int:
    """Return how many accesses nodes make, conditions aside."""
    own = sum(-(-n.nbytes // line) for n in nodes if isinstance(n, Access))
    return own + sum(n.count * count(n.body, line) for n in nodes if isinstance(n, Repeat))


def walk(nodes: Sequence[Node], path: tuple[Repeat, ...] = ()) -> Iterator[tuple[Access, tuple[Repeat, ...]]]:
    """Yield every access with what repeats it, outermost first."""
    for n in nodes:
        if isinstance(n, Access):
            yield n, path
        else:
            yield from walk(n.body, (*path, n))
