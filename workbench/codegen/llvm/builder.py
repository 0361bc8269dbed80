"""Building the text of one LLVM function, loop by loop.

A stack of open scopes (function body, then one per open loop) each collects its own lines. A pure operation goes into
the outermost scope where all of its operands exist, and equal operations are emitted once per scope: address
arithmetic, broadcasts and loads of read-only memory therefore leave the loops that do not change them, without any
LLVM pass that would do it (measured: the short pass pipeline compiles several times faster for the same speed).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field

from workbench.codegen.constants import Unrolling
from workbench.codegen.llvm.unrolling import Body
from workbench.codegen.llvm.values import LLVM_TYPE, Value, const_of, index

_ANYWHERE: AbstractContextManager[None] = nullcontext()


@dataclass(slots=True)
class Scope:
    """What is emitted into the function's body, or into an open loop or branch: its last label, lines, and values."""

    label: str
    lines: list[str] = field(default_factory=list)
    known: dict[str, Value] = field(default_factory=dict)


class FunctionBuilder:
    """Collects one function; see the module docstring for where an operation ends up."""

    def __init__(self, isa: Iterable[str] = ()) -> None:
        #: Vector extensions of the machine: which instructions may be asked for.
        self.isa = frozenset(isa)
        self._scopes = [self.open_scope("entry")]
        self._branches = [0]
        self._allocas: list[str] = []
        self._sums: dict[str, tuple[Value, int]] = {}
        self._count = 0
        self.declarations: dict[str, str] = {}
        self._exits: dict[str, None] = {}

    def open_scope(self, label: str) -> Scope:
        """Make a scope that begins at a label."""
        return Scope(label)

    def at(self, row: str, pinned: bool = False) -> AbstractContextManager[None]:
        """Say which row of the nest is being emitted, for who notes it (`workbench.codegen.llvm.source_map`)."""
        return _ANYWHERE

    @property
    def depth(self) -> int:
        """Depth of the innermost open scope; 0 is the function body."""
        return len(self._scopes) - 1

    def fresh(self, prefix: str = "v") -> str:
        """New local name."""
        self._count += 1
        return f"%{prefix}{self._count}"

    @property
    def guarded(self) -> int:
        """Depth of the innermost open branch, 0 outside of branches: what may trap must not leave it."""
        return self._branches[-1]

    @property
    def guarded_scope(self) -> int:
        """Identity of the innermost open branch, 0 outside of branches."""
        return 0 if self._branches[-1] == 0 else id(self._scopes[self._branches[-1]])

    def scope(self, depth: int) -> object:
        """Identity of the open scope at a depth: what was emitted there may be used while it is open."""
        return self._scopes[depth]

    def pure(self, text: str, dtype: str, lanes: int, operands: tuple[Value, ...], floor: int = 0) -> Value:
        """Emit an operation without side effects, once, as far out as its operands (and `floor`) allow."""
        depth = floor
        for v in operands:
            if v.depth > depth:
                depth = v.depth
        scope = self._scopes[depth]
        got = scope.known.get(text)
        if got is None:
            got = Value(self.fresh(), dtype, lanes, depth)
            scope.lines.append(f"  {got.text} = {text}")
            scope.known[text] = got
        elif got.dtype != dtype:
            # The text of an operation does not say whether its integers are signed.
            return Value(got.text, dtype, lanes, depth)
        return got

    def here(self, text: str, dtype: str, lanes: int, key: str | None = None) -> Value:
        """Emit at the current place; with `key`, reuse an equal operation of the same scope."""
        scope = self._scopes[-1]
        if key is not None and (got := scope.known.get(key)) is not None:
            return got
        value = Value(self.fresh(), dtype, lanes, self.depth)
        scope.lines.append(f"  {value.text} = {text}")
        if key is not None:
            scope.known[key] = value
        return value

    def effect(self, text: str, depth: int | None = None) -> None:
        """Append a line with side effects to the scope at `depth` (default: the innermost)."""
        self._scopes[self.depth if depth is None else depth].lines.append("  " + text)

    def hint(self, text: str, depth: int | None = None) -> None:
        """As `effect`, for what says nothing new when it is said again in the same scope."""
        known = self._scopes[self.depth if depth is None else depth].known
        if text not in known:
            known[text] = Value("", "ptr")
            self.effect(text, depth)

    def alloca(self, type_: str, align: int = 64) -> Value:
        """Stack slot for the whole function."""
        name = self.fresh("slot")
        self._allocas.append(f"  {name} = alloca {type_}, align {align}")
        return Value(name, "ptr")

    def declare(self, name: str, signature: str) -> str:
        """Declare an external function or intrinsic; returns its name."""
        self.declarations.setdefault(name, signature)
        return name

    def at_exit(self, text: str) -> None:
        """Emit a line with side effects at the end of the function, once."""
        self._exits["  " + text] = None

    def loop(
        self,
        start: Value,
        stop: Value,
        step: int,
        body: Callable[[Value], None],
        label: str = "loop",
        copies: int = 1,
        once: Callable[[Value], None] | None = None,
    ) -> None:
        """Counted loop that runs at least once; the bounds exist outside of it.

        With `copies`, each round runs the body for that many values, ``step / copies`` apart; `once` runs once a round.
        """
        with self.counting(start, stop, step, label) as iv:
            self._rounds(iv, body, copies, step // copies)
            if once is not None:
                once(iv)

    @contextmanager
    def counting(self, start: Value, stop: Value, step: int = 1, label: str = "loop") -> Iterator[Value]:
        """Emit what follows for each number of a range that has some; the bounds exist outside of the loop."""
        self._count += 1
        head, done = f"{_clean(label)}{self._count}", f"{_clean(label)}{self._count}.end"
        iv, following = self.fresh("i"), self.fresh("n")
        self._scopes.append(self.open_scope(head))
        yield Value(iv, "int64", 1, self.depth)
        inner = self._scopes.pop()
        outer = self._scopes[-1]
        counters = [(iv, start.text, following, f"add nuw nsw i64 {iv}, {step}")]
        if inner.label == head and start.text == "0":
            counters += _multiples(inner.lines, iv, step)
        outer.lines += [
            f"  br label %{head}",
            f"{head}:",
            *(f"  {x} = phi i64 [ {first}, %{outer.label} ], [ {n}, %{inner.label} ]" for x, first, n, _ in counters),
            *inner.lines,
            *(f"  {n} = {text}" for _, _, n, text in counters),
            f"  {following}.c = icmp ult i64 {following}, {stop.text}",
            f"  br i1 {following}.c, label %{head}, label %{done}, !llvm.loop !0",
            f"{done}:",
        ]
        outer.label = done

    def _rounds(self, iv: Value, body: Callable[[Value], None], copies: int, apart: int) -> None:
        body(iv)
        lines = self._scopes[-1].lines
        if copies > 1 and Body.fits(lines):
            first = Body(list(lines), iv.text)
            for k in range(1, copies):
                lines += first.copy(k * apart, f".{k}")
            return
        for k in range(1, copies):
            body(self.add(iv, index(k * apart)))

    @contextmanager
    def repeating(self, going: Callable[[], Value]) -> Iterator[None]:
        """Emit what follows again and again while the scalar that `going` emits holds."""
        self._count += 1
        head, body, done = (f"while{self._count}{part}" for part in ("", ".body", ".end"))
        self._scopes.append(self.open_scope(head))
        self._branches.append(self.depth)
        condition, scope = going(), self._scopes[-1]
        scope.lines += [f"  br i1 {condition.text}, label %{body}, label %{done}", f"{body}:"]
        scope.label = body
        yield
        self._branches.pop()
        inner, outer = self._scopes.pop(), self._scopes[-1]
        outer.lines += [f"  br label %{head}", f"{head}:", *inner.lines, f"  br label %{head}", f"{done}:"]
        outer.label = done

    @contextmanager
    def branching(self, cond: Value | None) -> Iterator[None]:
        """Emit what follows for where the scalar `cond` holds; None: everywhere."""
        if cond is None:
            yield
            return
        self._count += 1
        then, done = f"then{self._count}", f"then{self._count}.end"
        self._scopes.append(self.open_scope(then))
        self._branches.append(self.depth)
        yield
        self._branches.pop()
        inner = self._scopes.pop()
        outer = self._scopes[-1]
        outer.lines += [
            f"  br i1 {cond.text}, label %{then}, label %{done}",
            f"{then}:",
            *inner.lines,
            f"  br label %{done}",
            f"{done}:",
        ]
        outer.label = done

    def branch(self, cond: Value, body: Callable[[], None]) -> None:
        """Run `body` where the scalar `cond` holds."""
        with self.branching(cond):
            body()

    def lines(self, signature: str) -> list[str]:
        """Finish: the lines of the function's definition."""
        assert self.depth == 0
        head, end = [f"define {signature} #0 {{", "entry:"], ["  ret void", "}"]
        return [*head, *self._allocas, *self._scopes[0].lines, *self._exits, *end]

    # ---- arithmetic on i64 indices ---------------------------------------------------------------------------------

    def add(self, a: Value, b: Value) -> Value:
        """i64 sum, folded for constants."""
        if a.text == "0":
            return b
        if b.text == "0":
            return a
        ca, cb = const_of(a), const_of(b)
        if ca is not None and cb is not None:
            return index(ca + cb)
        got = self.pure(f"add nsw i64 {a.text}, {b.text}", "int64", 1, (a, b))
        if cb is not None:
            root, c = self.parts(a)
            self._sums[got.text] = (root, c + cb)
        return got

    def parts(self, v: Value) -> tuple[Value, int]:
        """An i64 as another one plus a constant: addresses take the constant as their displacement."""
        return self._sums.get(v.text, (v, 0))

    def mul(self, a: Value, k: int) -> Value:
        """i64 product with a constant."""
        if k == 1:
            return a
        if k == 0:
            return index(0)
        if (c := const_of(a)) is not None:
            return index(c * k)
        return self.pure(f"mul nsw i64 {a.text}, {k}", "int64", 1, (a,))

    def udiv(self, a: Value, k: int) -> Value:
        """Quotient of a non-negative i64 by a constant."""
        if k == 1:
            return a
        if (c := const_of(a)) is not None:
            return index(c // k)
        return self.pure(f"udiv i64 {a.text}, {k}", "int64", 1, (a,))

    def urem(self, a: Value, k: int) -> Value:
        """Remainder of a non-negative i64 by a constant."""
        if (c := const_of(a)) is not None:
            return index(c % k)
        return self.pure(f"urem i64 {a.text}, {k}", "int64", 1, (a,))

    def gep(self, base: Value, offset: Value, elem: str) -> Value:
        """Address of an element of LLVM type `elem`."""
        if offset.text == "0":
            return base
        return self.pure(f"getelementptr {elem}, ptr {base.text}, i64 {offset.text}", "ptr", 1, (base, offset))

    def broadcast(self, v: Value, lanes: int) -> Value:
        """Give a scalar `lanes` equal lanes."""
        if v.lanes == lanes:
            return v
        if not v.text.startswith("%"):
            return Value(f"splat ({v.typed})", v.dtype, lanes)
        vec = f"<{lanes} x {LLVM_TYPE[v.dtype]}>"
        one = self.pure(f"insertelement {vec} poison, {v.typed}, i64 0", v.dtype, lanes, (v,))
        return self.pure(
            f"shufflevector {vec} {one.text}, {vec} poison, <{lanes} x i32> zeroinitializer", v.dtype, lanes, (one,)
        )

    def gather(self, parts: list[Value]) -> Value:
        """One vector of scalars."""
        first = parts[0]
        out = Value("poison", first.dtype, len(parts))
        for lane, x in enumerate(parts):
            text = f"insertelement {out.typed}, {x.typed}, i64 {lane}"
            out = self.pure(text, first.dtype, len(parts), (out, x))
        return out


def _multiples(lines: list[str], iv: str, step: int) -> list[tuple[str, str, str, str]]:
    """Take the products of an innermost loop's counter with constants out of its lines: they count by themselves.

    Then no instruction of the body computes addresses, and none overwrites what another address is made of.
    """
    head = f" = mul nsw i64 {iv}, "
    out: list[tuple[str, str, str, str]] = []
    for line in [line for line in lines if head in line][: Unrolling.COUNTERS]:
        lines.remove(line)
        name, factor = line.strip().split(head)
        out.append((name, "0", f"{name}.n", f"add nsw i64 {name}, {step * int(factor)}"))
    return out


def _clean(name: str) -> str:
    """A name as the first part of a label: LLVM takes letters of ASCII, and no digit at the beginning."""
    text = "".join(c if (c.isascii() and c.isalnum()) or c in "._" else "_" for c in name)
    return f"_{text}_" if text[:1].isdigit() else f"{text}_"
