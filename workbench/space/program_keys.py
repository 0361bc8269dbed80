"""Structural keys: one number for the program that a row of a variant is, worked out for a whole population.

A key is a hash of the filled nest as it runs: loops that run once are left out, also as parts of a fused one; names do
not count. A loop adds its extent, its kind and its notes; a block adds its name and, for each loop around it, how far
every access moves with that loop. So the parts of one axis in another order are another program, and rows of different
variants that come to the same nest have the same key.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from workbench.ir import Affine, Block, Buffer, Digit, Dim, For, Func, LayoutStep, Stmt
from workbench.ir.compact_temporaries import loop_axes
from workbench.ir.expr import loads
from workbench.ir.poly import evaluate

Keys: TypeAlias = NDArray[np.uint64]
_MASK = 0xFFFFFFFFFFFFFFFF
_MIX = np.uint64(0x9E3779B97F4A7C15)
_CLOSE, _WALK = 0x5BD1E995, 0x27D4EB2F


@dataclass(frozen=True, slots=True)
class _Part:
    """A digit that need not be the loop itself: ``(loop // lower) % extent``, as its numbers and the loop's extent."""

    loop: Dim
    lower: Dim
    extent: Dim | None
    coef: Dim
    token: int


@dataclass(frozen=True, slots=True)
class _Sum:
    """A number for how accesses move: ``const + sum(dim * weight)`` modulo 2**64, plus what the parts add.

    Being linear, it is the same whether its dims are open or filled.
    """

    const: int = 0
    terms: tuple[tuple[Dim, int], ...] = ()
    parts: tuple[_Part, ...] = ()


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A block: its token with what the accesses add to it, and for each loop around it how they move."""

    token: int
    const: _Sum
    walks: tuple[tuple[Dim, _Sum], ...]


@dataclass(frozen=True, slots=True)
class _Loop:
    token: int
    extent: Dim
    body: tuple[_Loop | _Leaf, ...]


@dataclass(frozen=True, slots=True)
class Outline:
    """A nest as far as keys look at it, collected once for all rows."""

    buffers: tuple[tuple[int, Dim], ...]
    body: tuple[_Loop | _Leaf, ...]

    @staticmethod
    def of(func: Func) -> Outline:
        """Outline of a function, with holes or without."""
        buffers = tuple(step for b in func.buffers for step in _stored(b))
        return Outline(buffers, tuple(_outline(s, ()) for s in loop_axes(func).body))

    def keys(self, columns: Mapping[str, NDArray[np.int64]], n: int) -> Keys:
        """Keys ``[N]`` of rows; equal ones mean the same program."""
        work = _Work(columns)
        state = np.full(n, 0x243F6A8885A308D3, np.uint64)
        with np.errstate(over="ignore"):
            for token, amount in self.buffers:
                state = _mix(state, token, work.value(amount))
            for node in self.body:
                state = work.visit(node, state)
        return state


def program_key(func: Func) -> str:
    """Key of a function without holes, as it stands in a log."""
    return f"{int(Outline.of(func).keys({}, 1)[0]):016x}"


# ----------------------------------------------------------------------------------------------------------- collecting


def _stored(b: Buffer) -> list[tuple[int, Dim]]:
    """How a buffer lies in memory, where that is not simply row by row."""
    out: list[tuple[int, Dim]] = []
    for step in b.layout:
        if isinstance(step, LayoutStep):
            out.append((_token(f"{b.name}:{step.dim}{step.here}"), step.block))
        else:
            out.append((_token(f"{b.name}:{step}"), 0))
    if b.scope != "auto" or b.align:
        out.append((_token(f"{b.name}:{b.scope}:{b.align}"), 0))
    return out


def _outline(s: Stmt, path: tuple[For, ...]) -> _Loop | _Leaf:
    if isinstance(s, Block):
        return _leaf(s, path)
    marks = "".join(f":{mark}" for mark in (*s.notes, *filter(None, [s.intrin])))
    return _Loop(_token(f"{s.kind}{marks}"), s.extent, tuple(_outline(c, (*path, s)) for c in s.body))


def _leaf(b: Block, path: tuple[For, ...]) -> _Leaf:
    """What a block does with the loops around it; its accesses are written in them."""
    own = b.own_load() if b.is_reduction else None
    found = [b.index, *(ld.index for ld in loads(b.value) if ld != own)]
    forms = [(_token(f"{a}.{d}"), form) for a, index in enumerate(found) for d, form in enumerate(index)]
    const = _sum([(token, Digit(""), form.const) for token, form in forms], 1)
    walks = tuple((lp.extent, _sum(_moves(forms, lp.name), lp.extent)) for lp in path if lp.extent != 1)
    return _Leaf(_token(b.name), const, walks)


def _moves(forms: Sequence[tuple[int, Affine]], loop: str) -> list[tuple[int, Digit, Dim]]:
    return [(token, digit, c) for token, form in forms for digit, c in form.terms if digit.var == loop]


def _sum(moves: Sequence[tuple[int, Digit, Dim]], loop: Dim) -> _Sum:
    """Sum of what digits of a loop add, given its extent."""
    const, weights, parts = 0, dict[Dim, int](), list[_Part]()
    for token, digit, c in moves:
        if not digit.plain:
            parts.append(_Part(loop, digit.lower, digit.extent, c, token))
        elif isinstance(c, int):
            const += c * token
        else:
            weights[c] = weights.get(c, 0) + token
    return _Sum(const & _MASK, tuple((d, w & _MASK) for d, w in weights.items()), tuple(parts))


@lru_cache(maxsize=4096)
def _token(text: str) -> int:
    # Tokens are added up, so a hash that changes by a constant with the last letter would not do.
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


# ----------------------------------------------------------------------------------------------------------- evaluating


class _Work:
    """One pass over the rows; equal dims are worked out once."""

    def __init__(self, columns: Mapping[str, NDArray[np.int64]]) -> None:
        self._columns = columns
        self._memo: dict[object, Any] = {}

    def value(self, d: Dim) -> Any:
        """Number or column of a dim."""
        return evaluate(d, self._columns, self._memo)

    def visit(self, node: _Loop | _Leaf, h: Keys) -> Keys:
        """Add a statement to the state of every row."""
        if isinstance(node, _Leaf):
            h = _mix(h, node.token, self._total(node.const))
            for size, form in node.walks:
                h = _where(np.asarray(self.value(size)) > 1, _mix(h, _WALK, self._total(form)), h)
            return h
        extent = self.value(node.extent)
        runs = np.asarray(extent) > 1
        if not runs.any():
            return self._inside(node, h)
        inside = self._inside(node, _where(runs, _mix(h, node.token, extent), h))
        return _where(runs, _mix(inside, _CLOSE, 0), inside)

    def _inside(self, node: _Loop, h: Keys) -> Keys:
        for child in node.body:
            h = self.visit(child, h)
        return h

    def _total(self, form: _Sum) -> Any:
        total: Any = np.uint64(form.const)
        for dim, weight in form.terms:
            total = total + _unsigned(self.value(dim)) * np.uint64(weight)
        for part in form.parts:
            total = total + self._part(part)
        return total

    def _part(self, part: _Part) -> Any:
        """What a digit adds: one that has a single value nothing, one that is the loop itself what a plain one does."""
        loop, lower, coef = self.value(part.loop), self.value(part.lower), self.value(part.coef)
        most = -(-loop // lower)
        size = most if part.extent is None else np.minimum(self.value(part.extent), most)
        found: Any = np.uint64(0)
        for k, x in enumerate((coef, lower, size)):
            found = found + _unsigned(x) * np.uint64((part.token + k * 0x9E3779B1) & _MASK)
        found = np.where(np.asarray(size) == loop, _unsigned(coef) * np.uint64(part.token), found)
        return np.where(np.asarray(size) == 1, np.uint64(0), found)


def _mix(h: Keys, token: int, amount: Any) -> Keys:
    x = (_unsigned(amount) + np.uint64(token)) * _MIX
    h = (h ^ x) * np.uint64(0xFF51AFD7ED558CCD)
    return h ^ (h >> np.uint64(33))


def _where(runs: NDArray[np.bool_], new: Keys, old: Keys) -> Keys:
    """The new state where a loop runs; mostly that is everywhere or nowhere."""
    if runs.ndim == 0:
        return new if runs else old
    return np.where(runs, new, old)


def _unsigned(x: Any) -> Any:
    return np.asarray(x).astype(np.uint64)
