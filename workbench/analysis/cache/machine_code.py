"""The accesses of a nest and the simulated caches as one piece of machine code."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from workbench.analysis.cache.access_tree import Access, Cond, Node, Program, Repeat, Unless, walk
from workbench.analysis.cache.levels import Cache
from workbench.analysis.cache.lru import State, tell, touch
from workbench.ir import Affine, Bound, Digit
from workbench.ir.poly import concrete
from workbench.runtime.native.emitter import I64, Emitter, Native, Value
from workbench.runtime.native.jit import load

if TYPE_CHECKING:
    from workbench.codegen.llvm.llvmlite_binding import Library

_PART = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


class Code:
    """Machine code of a program: one function for each of its outermost nodes.

    Parameters
    ----------
    program : Program
    levels : sequence of Cache
        Only the first one is part of the code; the others are memory that it reads.
    watched : sequence of str, optional
        Somebody may look before any access, and is told the values of these loops.
    """

    def __init__(self, program: Program, levels: Sequence[Cache], watched: Sequence[str] | None = None) -> None:
        parts = [_part(f"cache_{k}", node, levels[0], watched) for k, node in enumerate(program.nodes)]
        self._library: Library | None = load(*parts) if parts else None
        self._calls = [_PART(self._library[p.symbol]) for p in parts] if self._library else []

    def run(self, part: int, state: int, first: int, stop: int) -> None:
        """Run iterations of an outermost loop on the state at an address; an access has one."""
        self._calls[part](state, first, stop)


def _part(symbol: str, node: Node, first: Cache, watched: Sequence[str] | None) -> Native:
    def body(f: Emitter, state: State, start: I64, stop: I64) -> None:
        nest = _Nest(f, state, first, watched)
        outermost = node if isinstance(node, Repeat) else Repeat("", 0, 1, 1, (node,))
        nest.repeat(outermost, start, stop)

    return Native(body, symbol, internal=False)


class _Nest:
    """Emits nodes. Addresses are summed from the outside in: each loop adds its part once an iteration."""

    def __init__(self, f: Emitter, state: Value, first: Cache, watched: Sequence[str] | None) -> None:
        self._f, self._state, self._first, self._watched = f, state, first, watched
        self._shift = first.line.bit_length() - 1
        self._env: dict[str, Value] = {}
        self._sums: dict[int, Value] = {}
        self._last: Value | None = None

    def repeat(self, r: Repeat, start: Value | None = None, stop: Value | None = None) -> None:
        """Emit a loop, or its iterations from `start` to below `stop`."""
        f, last = self._f, self._last
        if r.merged:
            self._last = f.local(-1)
        with f.range(f.const(r.count) if stop is None else stop - (start or 0), once=True) as k:
            at = (k if start is None else k + start) * r.step + r.first
            with self._set(r.loop, at + self._env[r.loop] if r.inside and r.loop in self._env else at):
                self._with_sums(r)
        self._last = last

    @contextmanager
    def _set(self, loop: str, value: Value) -> Iterator[None]:
        before = self._env.get(loop)
        self._env[loop] = value
        if self._watched and loop in self._watched:
            self._state["loops"].load().as_("i64")[self._watched.index(loop)].store(value)
        yield
        if before is None:
            del self._env[loop]
        else:
            self._env[loop] = before

    def _with_sums(self, r: Repeat) -> None:
        before = dict(self._sums)
        known: dict[tuple[tuple[Digit, int], ...], Value] = {}
        for access, path in walk(r.body):
            mine = tuple((d, concrete(c)) for d, c in access.form.terms if d.var == r.loop)
            if mine and not any(inner.loop == r.loop for inner in path):
                part = known[mine] = known.get(mine) or self._sum(mine)
                old = self._sums.get(access.number)
                self._sums[access.number] = part if old is None else old + part
        for n in r.body:
            self._node(n)
        self._sums = before

    def _node(self, n: Node) -> None:
        if isinstance(n, Repeat):
            self.repeat(n)
            return
        with self._where(n.conds):
            at = self._sums.get(n.number)
            base = concrete(n.form.const)
            self._lines(n, self._f.const(base) if at is None else at + base)

    @contextmanager
    def _where(self, conds: Sequence[Cond]) -> Iterator[None]:
        if not conds:
            yield
            return
        with self._f.when(self._all(conds)):
            yield

    def _all(self, conds: Sequence[Cond]) -> Value:
        """Whether all conditions hold."""
        good = self._f.const(1, "i1")
        for c in conds:
            good = good & (self._all(c.bounds).eq(0) if isinstance(c, Unless) else self._inside(c))
        return good

    def _inside(self, b: Bound) -> Value:
        x = self._form(b.form)
        return x.sge(concrete(b.lo)) & x.slt(concrete(b.hi))

    def _lines(self, a: Access, address: Value) -> None:
        """Touch every line of an access."""
        f, line = self._f, address >> self._shift
        if self._last is not None:
            with f.when(self._last.load().ne(line)):
                self._last.store(line)
                self._touch(a, line)
            return
        self._touch(a, line)
        if _fits_line(a, self._first.line):
            return
        end = (address + (a.nbytes - 1)) >> self._shift
        with f.block() as rest:
            rest.leave(end.eq(line))
            with f.range(end - line, once=True) as k:
                self._touch(a, line + k + 1)

    def _touch(self, a: Access, line: Value) -> None:
        f, state, write = self._f, self._state, a.kind == "write"
        if self._watched is None:
            touch(f, state, self._first, line, a.number, write)
            return
        with f.when(state["time"].load().ult(state["stop"].load())):
            tell(f, state, line, f.const(a.number))
            touch(f, state, self._first, line, a.number, write)

    def _form(self, form: Affine) -> Value:
        return self._sum([(d, concrete(c)) for d, c in form.terms]) + concrete(form.const)

    def _sum(self, terms: Sequence[tuple[Digit, int]]) -> Value:
        total = self._f.const(0)
        for d, c in terms:
            value = self._env[d.var]
            if d.lower != 1:
                value = value // concrete(d.lower)
            if d.extent is not None:
                value = value % concrete(d.extent)
            total = total + value * c
        return total


def _fits_line(a: Access, line: int) -> bool:
    """Whether an access never crosses the end of a line."""
    steps: Mapping[str, int] = {str(k): concrete(c) for k, (_, c) in enumerate(a.form.terms)}
    aligned = all(c % a.nbytes == 0 for c in (*steps.values(), concrete(a.form.const)))
    return line % a.nbytes == 0 and aligned
