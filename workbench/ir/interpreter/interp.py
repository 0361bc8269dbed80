"""The meaning of a nest: run a concrete function, one element at a time.

This is the oracle that schedules and generated code are compared with, so it is written to be obviously right rather
than fast: the nest is turned into the Python loops that it denotes. Nothing is assumed about a schedule. Every output
and temporary starts as NaN (integers as a bit pattern that is unlikely to be a result), an axis that leaves its
extent and an index that leaves its buffer are errors, and the stores per element are counted on request. Values are
computed in double precision (integers exactly) and rounded where they are stored.

Parallel, vectorised and bound loops may also run in another order: a schedule that is right must not notice. Where a
temporary lives and how its rows are padded is invisible here, and a loop with an intrinsic runs the loops that describe
it.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from workbench.errors import InputError
from workbench.ir.affine import FREE, Affine
from workbench.ir.dtypes import is_float
from workbench.ir.expr import Binary, Bound, Cast, Const, Expr, Index, Load, Select, Unary, Where
from workbench.ir.expr_dtypes import dtype_of
from workbench.ir.func import Buffer, Func
from workbench.ir.interpreter.memory import counts_of, fresh, given, to_numpy, zeros
from workbench.ir.interpreter.scalar import HELPERS
from workbench.ir.poly import concrete
from workbench.ir.stmt import UNORDERED_KINDS, Block, For, Stmt, combined

Array: TypeAlias = NDArray[Any]
Order: TypeAlias = Literal["program", "reversed", "shuffled"]
Range: TypeAlias = tuple[int, int]

_INFIX = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "eq": "==",
    "ne": "!=",
    "and": "and",
    "or": "or",
}
#: Integer results of these may have to wrap.
_WRAPPED = ("add", "sub", "mul", "neg", "abs")
#: Nested blocks of the text; a deeper nest continues in a function of its own, since CPython compiles at most 20.
_MAX_DEPTH = 12


@dataclass(frozen=True, slots=True)
class Result:
    """What a run gives: arrays by buffer name, and how often each element was stored.

    `writes` counts the stores of spatial blocks and the initialisations of reductions, `updates` the accumulations;
    both hold an int64 array of the buffer's shape for every output and temporary, and are empty unless counting was
    asked for.
    """

    outputs: dict[str, Array]
    temps: dict[str, Array]
    writes: dict[str, NDArray[np.int64]]
    updates: dict[str, NDArray[np.int64]]


def run(
    func: Func,
    inputs: Mapping[str, Array],
    order: Order = "program",
    seed: int = 0,
    over: Mapping[str, str] | None = None,
) -> dict[str, Array]:
    """Run a concrete function.

    Parameters
    ----------
    func : Func
        A function without holes, under any schedule.
    inputs : mapping of str to ndarray
        One array per input and constant, in the shape that the user gives (packed constants are packed here).
    order : {"program", "reversed", "shuffled"}
        Order of the iterations of parallel, vectorised and bound loops.
    seed : int
        Seed of the shuffled order.
    over : mapping of str to str, optional
        Outputs that have the memory of an input (of as many elements and the same dtype).

    Returns
    -------
    dict of str to ndarray
        The outputs by name.
    """
    return trace_run(func, inputs, order, seed, count_writes=False, over=over).outputs


def trace_run(
    func: Func,
    inputs: Mapping[str, Array],
    order: Order = "program",
    seed: int = 0,
    count_writes: bool = True,
    over: Mapping[str, str] | None = None,
) -> Result:
    """Run a concrete function and also return its temporaries and write counts (see `run` for the parameters)."""
    if not func.is_concrete:
        raise InputError(
            "interp.holes",
            f"{func.name!r} still has holes and cannot run.",
            tuple(h.name for h in func.holes),
            "fill them first: schedule.fill({...})",
        )
    memory = {b.name: given(b, inputs) if b.role in ("input", "const") else fresh(b) for b in func.buffers}
    memory.update({output: memory[name] for output, name in (over or {}).items()})
    written = [b for b in func.buffers if b.role in ("temp", "output")]
    counters = {b.name: (zeros(b), zeros(b)) for b in written}
    source = _Source(func, count_writes).build()
    scope: dict[str, Any] = dict(HELPERS) | {"_order": _orders(order, seed)}
    for k, b in enumerate(func.buffers):
        scope[f"b{k}"] = memory[b.name]
        if b.name in counters:
            scope[f"w{k}"], scope[f"u{k}"] = counters[b.name]
    exec(compile(source, f"<nest {func.name}>", "exec"), scope)  # our own text, made of numbers and mangled names only
    scope["main"]()
    arrays = {b.name: to_numpy(b, memory[b.name]) for b in written}
    counts = counters if count_writes else {}
    return Result(
        {b.name: arrays[b.name] for b in written if b.role == "output"},
        {b.name: arrays[b.name] for b in written if b.role == "temp"},
        {b.name: counts_of(b, counts[b.name][0]) for b in written if b.name in counts},
        {b.name: counts_of(b, counts[b.name][1]) for b in written if b.name in counts},
    )


def random_inputs(func: Func, seed: int = 0) -> dict[str, Array]:
    """Make one array per input and constant: floats of unit scale, small integers."""
    rng = np.random.default_rng(seed)
    out: dict[str, Array] = {}
    for b in func.inputs:
        shape = tuple(concrete(d) for d in b.logical_shape())
        if is_float(b.dtype):
            out[b.name] = rng.standard_normal(shape).astype(b.dtype)
        else:
            low = 0 if b.dtype.startswith(("uint", "bool")) else -8
            out[b.name] = rng.integers(low, 2 if b.dtype == "bool" else 8, shape).astype(b.dtype)
    return out


@dataclass(slots=True)
class _Source:
    """Writer of the Python text of one nest. Loop variables are ``v0, v1, …``, axes ``a0, …``, buffers ``b0, …``."""

    func: Func
    count: bool
    lines: list[str] = field(default_factory=list)
    functions: list[list[str]] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    ranges: dict[str, Range] = field(default_factory=dict)
    buffers: dict[str, tuple[int, Buffer]] = field(default_factory=dict)
    ids: Iterable[int] = field(default_factory=itertools.count)

    def build(self) -> str:
        self.buffers = {b.name: (k, b) for k, b in enumerate(self.func.buffers)}
        self.emit(0, "def main():")
        self.emit(1, "pass")
        self.body(self.func.body, 1)
        return "\n".join([*itertools.chain.from_iterable(self.functions), *self.lines])

    def emit(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def number(self) -> int:
        return next(iter(self.ids))

    def body(self, body: Sequence[Stmt], depth: int) -> None:
        for s in body:
            if isinstance(s, For):
                self.loop(s, depth)
            else:
                self.block(s, depth)

    def loop(self, loop: For, depth: int) -> None:
        """Emit a chain of perfectly nested loops as one Python loop over the product of their ranges."""
        chain = [loop]
        while len(chain[-1].body) == 1 and isinstance(inner := chain[-1].body[0], For):
            chain.append(inner)
        variables, ranges = [], []
        for lp in chain:
            n = concrete(lp.extent)
            self.ranges[lp.name] = (0, n - 1)
            if n == 1:
                self.names[lp.name] = "0"
                continue
            self.names[lp.name] = f"v{self.number()}"
            variables.append(self.names[lp.name])
            any_order = lp.kind in UNORDERED_KINDS and combined(lp) is None  # the first term comes with the init
            ranges.append(f"_order({n})" if any_order else f"range({n})")
        if not variables:
            self.body(chain[-1].body, depth)
        elif depth >= _MAX_DEPTH:
            self.outlined(chain[-1].body, variables, ranges, depth)
        else:
            self.emit(depth, _for_line(variables, ranges))
            self.body(chain[-1].body, depth + 1)

    def outlined(self, body: Sequence[Stmt], variables: list[str], ranges: list[str], depth: int) -> None:
        """Continue a very deep nest in a function that gets the loop variables in scope."""
        name, scope = f"f{self.number()}", sorted({v for v in self.names.values() if v != "0"} - set(variables))
        live = [v for v in scope if any(v in line for line in self.lines)]
        self.emit(depth, f"{name}({', '.join(live)})")
        outer, self.lines = self.lines, [f"def {name}({', '.join(live)}):", "    " + _for_line(variables, ranges)]
        self.body(body, 2)
        self.functions.append(self.lines)
        self.lines = outer

    def block(self, b: Block, depth: int) -> None:
        axes: dict[str, str] = {}
        checks: list[str] = []
        for it, bind in zip(b.iters, b.binds, strict=True):
            text = self.form(bind, self.names)
            if bind.single_var() is None and not bind.is_const:
                name = f"a{self.number()}"
                self.emit(depth, f"{name} = {text}")
                text = name
            axes[it.name] = text
            lo, hi = _interval(bind, self.ranges)
            if lo < 0 or hi >= concrete(it.extent):
                checks.append(f"0 <= {text} < {concrete(it.extent)}")
        # A guard says which points exist, so it comes before the check that a point lies within the axes.
        if b.guard:
            self.emit(depth, f"if {self.bounds(b.guard, axes)}:")
            depth += 1
        if checks:
            self.emit(depth, f"if not ({' and '.join(checks)}): _axis({b.name!r})")
        self.store(b, axes, depth)

    def store(self, b: Block, axes: dict[str, str], depth: int) -> None:
        inside = {it.name: (0, concrete(it.extent) - 1) for it in b.iters}
        k, buffer = self.buffers[b.buffer]
        at, check = self.address(buffer, b.index, axes, inside)
        if check:
            self.emit(depth, f"if not ({check}): _index({b.name!r}, {b.buffer!r})")
        target = f"t{self.number()}"
        self.emit(depth, f"{target} = {at}")
        first = [axes[it.name] for it in b.iters if it.kind == "R"]
        if b.init is not None and not b.resumes:
            at_first = " and ".join(f"{a} == 0" for a in first) or "True"
            self.emit(depth, f"if {at_first}:")
            begin = self.rounded(b.init, self.expr(b.init, axes, inside), buffer.dtype)
            self.emit(depth + 1, f"b{k}[{target}] = {begin}")
            if self.count:
                self.emit(depth + 1, f"w{k}[{target}] += 1")
        value = self.expr(b.value, axes, inside)
        self.emit(depth, f"b{k}[{target}] = {self.rounded(b.value, value, buffer.dtype)}")
        if self.count:
            self.emit(depth, f"{'w' if b.init is None else 'u'}{k}[{target}] += 1")

    def form(self, form: Affine, names: Mapping[str, str]) -> str:
        parts = []
        for d, c in form.terms:
            text = names[d.var]
            if concrete(d.lower) != 1:
                text = f"({text} // {concrete(d.lower)})"
            if d.extent is not None:
                text = f"({text} % {concrete(d.extent)})"
            parts.append(text if c == 1 else f"{text} * {concrete(c)}")
        if form.const or not parts:
            parts.append(str(concrete(form.const)))
        return " + ".join(parts)

    def bounds(self, bounds: Iterable[Bound], axes: Mapping[str, str]) -> str:
        return " and ".join(f"{concrete(c.lo)} <= {self.form(c.form, axes)} < {concrete(c.hi)}" for c in bounds)

    def address(
        self, buffer: Buffer, index: tuple[Affine, ...], axes: Mapping[str, str], inside: Mapping[str, Range]
    ) -> tuple[str, str]:
        """Return the flat position of an element, and the condition that it exists ("" where the axes imply it)."""
        position, checks = "0", []
        for x, d in zip(index, buffer.shape, strict=True):
            n, text = concrete(d), self.form(x, axes)
            position = text if position == "0" else f"({position}) * {n} + {text}"
            lo, hi = _interval(x, inside)
            if lo < 0 or hi >= n:
                checks.append(f"0 <= {text} < {n}")
        return position, " and ".join(checks)

    def expr(self, e: Expr, axes: Mapping[str, str], inside: Mapping[str, Range]) -> str:
        def sub(x: Expr) -> str:
            return self.expr(x, axes, inside)

        match e:
            case Const(value):
                return (
                    f"float({str(value)!r})"
                    if isinstance(value, float) and not math.isfinite(value)
                    else f"({value!r})"
                )
            case Load(name, index, picks):
                k, buffer = self.buffers[name]
                if picks:
                    sizes = [concrete(p.extent) for p in picks]
                    chosen = {f"{FREE}{n}": f"_pick({sub(p.value)}, {sizes[n]})" for n, p in enumerate(picks)}
                    inside = {**inside, **{f"{FREE}{n}": (0, size - 1) for n, size in enumerate(sizes)}}
                    axes = {**axes, **chosen}
                at, check = self.address(buffer, index, axes, inside)
                return f"(b{k}[{at}] if {check} else _index('a load', {name!r}))" if check else f"b{k}[{at}]"
            case Index(form):
                return f"({self.form(form, axes)})"
            case Unary(op, a):
                return self.wrapped(e, f"_{op}({sub(a)})")
            case Binary(op, a, b):
                if op in _INFIX:
                    return self.wrapped(e, f"({sub(a)} {_INFIX[op]} {sub(b)})")
                kind = "i" if op in ("div", "mod") and not is_float(dtype_of(e, self.func)) else ""
                return f"_{kind}{op}({sub(a)}, {sub(b)})"
            case Select(conds, a, b):
                return f"({sub(a)} if {self.bounds(conds, axes) or 'True'} else {sub(b)})"
            case Where(cond, a, b):
                return f"_where({sub(cond)}, {sub(a)}, {sub(b)})"
            case Cast(dtype, Load(name)) if _widens(self.func.buffer(name).dtype, dtype):
                return sub(e.a)
            case Cast(dtype, a):
                return f"_cast({sub(a)}, {dtype!r})"
        raise AssertionError(e)

    def wrapped(self, e: Unary | Binary, text: str) -> str:
        """Text of an integer result as its dtype holds it: what grows wraps before it is compared or converted."""
        if e.op not in _WRAPPED:
            return text
        dtype = dtype_of(e, self.func)
        if is_float(dtype) or dtype == "bool":
            return text if dtype != "bool" else f"_cast({text}, {dtype!r})"
        info = np.iinfo(dtype)
        shift = f" - {-info.min}" if info.min else ""
        return f"((({text}) + {-info.min} & {info.max - info.min}){shift})"

    def rounded(self, e: Expr, text: str, dtype: str) -> str:
        """Text of the value as `dtype` holds it; ``array`` itself rounds to float32."""
        known = isinstance(e, Load | Cast) or (isinstance(e, Unary | Binary) and e.op in _WRAPPED)
        if dtype in ("float32", "float64") or (known and not is_float(dtype) and dtype_of(e, self.func) == dtype):
            return text
        return f"_cast({text}, {dtype!r})"


def _for_line(variables: list[str], ranges: list[str]) -> str:
    if len(variables) == 1:
        return f"for {variables[0]} in {ranges[0]}:"
    return f"for {', '.join(variables)} in _product({', '.join(ranges)}):"


def _interval(form: Affine, ranges: Mapping[str, Range]) -> Range:
    lo = hi = concrete(form.const)
    for d, c in form.terms:
        first, last = (x // concrete(d.lower) for x in ranges[d.var])
        if d.extent is not None and last >= concrete(d.extent):
            first, last = 0, concrete(d.extent) - 1
        ends = (concrete(c) * first, concrete(c) * last)
        lo, hi = lo + min(ends), hi + max(ends)
    return lo, hi


def _widens(have: str, want: str) -> bool:
    """Whether a cast keeps every value, and Python's type of it."""
    same = is_float(have) == is_float(want) and "bool" not in (have, want)
    return same and bool(np.can_cast(have, want, "safe"))


def _orders(order: Order, seed: int) -> Callable[[int], Iterable[int]]:
    rng = random.Random(seed)
    if order == "program":
        return range
    if order == "reversed":
        return lambda n: range(n - 1, -1, -1)
    if order == "shuffled":
        return lambda n: rng.sample(range(n), n)
    raise InputError("interp.order", f"There is no order {order!r}.", (), "one of: program, reversed, shuffled")
