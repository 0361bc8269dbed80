"""Random tensor programs, each with a bound on how far two right evaluations of it may be apart.

Every value is tracked as ``n / 2**frac`` of magnitude at most `mag` with an error of at most `err`: while `err` is 0
all evaluations must agree to the bit, and only then a value is compared, rounded or converted to an integer.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from workbench import te
from workbench.ir import Func

EXTENTS = (1, 1, 2, 3, 4, 5, 7, 8, 11, 13, 16, 17, 24, 33, 40, 70)
DTYPES = ("float32", "float32", "float32", "float64", "int32", "int64", "int8", "uint8", "bool")
POINTS = 2500
EPS = 3e-7


@dataclass(frozen=True)
class Num:
    """A value under construction."""

    v: te.Value
    mag: float
    frac: int = 0
    err: float = 0.0

    @property
    def dtype(self) -> str:
        return self.v.dtype

    @property
    def is_float(self) -> bool:
        return self.dtype.startswith("float")


@dataclass(frozen=True)
class Made:
    """A tensor with what is known about its elements."""

    tensor: te.Tensor
    mag: float
    frac: int
    err: float


@dataclass(frozen=True)
class Program:
    """A function, its inputs, and the error that each output may have."""

    func: Func
    inputs: dict[str, np.ndarray]
    err: dict[str, float]


def top(dtype: str) -> float:
    return 1.0 if dtype == "bool" else float(np.iinfo(dtype).max) + 1


def settle(v: te.Value, mag: float, frac: int = 0, err: float = 0.0) -> Num:
    """Bound a result of the given magnitude by what its dtype can hold."""
    if not v.dtype.startswith("float"):
        return Num(v, min(mag, top(v.dtype)))
    if frac > 60 or mag * 2.0**frac >= 2**23:
        err += EPS * mag
    return Num(v, mag, min(frac, 60), err)


class Maker:
    """Makes one program from a seed."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.tensors: list[Made] = []
        self.inputs: dict[str, np.ndarray] = {}
        self.axes: list[te.Axis] = []
        #: How often an index is a number that the program computes: in every third program.
        self.picks = 0.2 if seed % 3 == 1 else 0.0

    # ---- programs ----------------------------------------------------------------------------------------------------

    def program(self) -> Program:
        rng = self.rng
        for k in range(rng.randint(1, 3)):
            self.placeholder(f"in{k}")
        stages = [self.stage(f"s{k}") for k in range(rng.randint(1, 4))]
        outs = [stages[-1]] + [m for m in stages[:-1] if rng.random() < 0.2]
        func = te.func([m.tensor for m in outs], name="program")
        used = {b.name for b in func.inputs}
        inputs = {n: a for n, a in self.inputs.items() if n in used}
        return Program(func, inputs, {m.tensor.name: m.err for m in outs})

    def shape(self, points: int = POINTS) -> tuple[int, ...]:
        out: list[int] = []
        for _ in range(self.rng.choice((1, 2, 2, 3, 3, 4))):
            fits = [e for e in EXTENTS if e * math.prod(out) <= points]
            out.append(self.rng.choice(fits))
        return tuple(out)

    def placeholder(self, name: str) -> None:
        rng, dtype, shape = self.rng, self.rng.choice(DTYPES), self.shape(600)
        values = np.random.default_rng(rng.randrange(2**31))
        tensor = te.placeholder(shape, dtype, name=name, constant=rng.random() < 0.3)
        if dtype.startswith("float"):
            self.inputs[name] = (values.integers(-8, 9, shape) / 4).astype(dtype)
            self.tensors.append(Made(tensor, 2, 2, 0.0))
        elif dtype == "bool":
            self.inputs[name] = values.random(shape) < 0.5
            self.tensors.append(Made(tensor, 1, 0, 0.0))
        else:
            low = 0 if dtype == "uint8" else -9
            self.inputs[name] = values.integers(low, 10, shape).astype(dtype)
            self.tensors.append(Made(tensor, 9, 0, 0.0))

    def stage(self, name: str) -> Made:
        kind = self.rng.choice(("map", "map", "reduce", "reduce", "concat"))
        made = getattr(self, f"_{kind}")(name)
        self.tensors.append(made)
        return made

    def _map(self, name: str) -> Made:
        got: list[Num] = []

        def fn(*axes: te.Axis) -> te.Value:
            self.axes = list(axes)
            got.append(self.stored(self.expr(self.rng.randint(1, 3))))
            return got[0].v

        tensor = te.compute(self.shape(), fn, name=name)
        return Made(tensor, got[0].mag, got[0].frac, got[0].err)

    def _reduce(self, name: str) -> Made:
        rng, got = self.rng, []
        reduce = [te.reduce_axis(rng.choice((1, 2, 3, 3, 4, 5, 7, 16)), f"k{d}") for d in range(rng.randint(1, 3))]
        n = math.prod(e for ax in reduce for _, e in ax.extents)
        op = rng.choice((te.sum, te.sum, te.max, te.min, te.prod))

        def fn(*axes: te.Axis) -> te.Reduction:
            self.axes = [*axes, *reduce]
            x = self.stored(self.expr(rng.randint(1, 2)))
            if op is te.prod and x.is_float:
                x = self.bounded(x)
            got.append(self.reduced(op, x, n))
            return op(x.v, axis=rng.sample(reduce, len(reduce)))

        tensor = te.compute(self.shape(max(1, POINTS // n)), fn, name=name)
        return Made(tensor, *got[0])

    def reduced(self, op: Callable[..., te.Reduction], x: Num, n: int) -> tuple[float, int, float]:
        if op in (te.max, te.min):
            return x.mag, x.frac, x.err
        if not x.is_float:
            return top(x.dtype), 0, 0.0
        if op is te.prod:
            return 1.0, 60, n * (x.err + EPS)
        mag, err = x.mag * n, x.err * n
        if x.err or mag * 2.0**x.frac >= 2**23:
            err += EPS * mag * n
        return mag, x.frac, err

    def _concat(self, name: str) -> Made:
        rng, base = self.rng, self.rng.choice(self.tensors)
        shape, parts = base.tensor.shape, []
        axis = rng.randrange(len(shape))
        bound = Made(base.tensor, base.mag, base.frac, base.err)
        for k in range(rng.randint(2, 3)):
            extent = rng.choice((1, 2, 3, 5, 8))
            dims = tuple(extent if d == axis else e for d, e in enumerate(shape))
            part = self.part(f"{name}p{k}", dims, base.tensor.dtype)
            self.tensors.append(part)
            parts.append(part.tensor)
            bound = replace(bound, mag=max(bound.mag, part.mag), frac=max(bound.frac, part.frac))
            bound = replace(bound, err=max(bound.err, part.err))
        return replace(bound, tensor=te.concat([base.tensor, *parts], axis, name))

    def part(self, name: str, shape: tuple[int, ...], dtype: str) -> Made:
        got: list[Num] = []

        def fn(*axes: te.Axis) -> te.Value:
            self.axes = list(axes)
            got.append(self.converted(self.stored(self.expr(1)), dtype))
            return got[0].v

        tensor = te.compute(shape, fn, name=name)
        return Made(tensor, got[0].mag, got[0].frac, got[0].err)

    # ---- indices -----------------------------------------------------------------------------------------------------

    def index(self) -> tuple[te.Axis, int, int]:
        """Return an index form with its smallest and largest value."""
        rng = self.rng
        form, low, high = te.reduce_axis(1, "zero") * 0, 0, 0
        for ax in rng.sample(self.axes, min(len(self.axes), rng.choice((1, 1, 1, 2, 2, 3)))):
            extent = ax.extents[0][1]
            by = rng.choice((2, 3, 4, 5))
            what = rng.choice(("plain", "plain", "plain", "//", "%", "both"))
            part, size = ax, extent
            if what == "//":
                part, size = ax // by, -(-extent // by)
            elif what == "%":
                part, size = ax % by, min(by, extent)
            elif what == "both":
                part, size = (ax // by) % 2, min(2, -(-extent // by))
            c = rng.choice((1, 1, 1, 1, 2, 3, -1, -2))
            form = form + part * c
            low, high = low + min(0, c * (size - 1)), high + max(0, c * (size - 1))
        form = te.Axis(form.form, tuple(p for p in form.extents if p[0] != "zero"),
                       tuple(n for n in form.reduce if n != "zero"))  # fmt: skip
        move = -low + rng.choice((0, 0, 0, 0, 1, 2, -1, -3))
        return form + move, low + move, high + move

    def load(self) -> Num:
        rng, made = self.rng, self.rng.choice(self.tensors[-4:])
        index: list[te.Axis | te.Value | int] = []
        cond: te.Cond | None = None
        for n in made.tensor.shape:
            if self.picks and rng.random() < self.picks:
                index.append(self.number(n))
                continue
            pad = rng.random() < 0.3
            found: te.Axis | int = rng.randrange(n)
            for _ in range(12):
                form, low, high = self.index()
                if low >= 0 and high < n:
                    found = form
                    break
                if pad and low < n and high >= 0:
                    found, cond = form, self.inside(cond, form, low, high, n)
                    break
            index.append(found)
        v = made.tensor[tuple(index)]
        x = Num(v, made.mag, made.frac, made.err)
        if cond is None:
            return x
        if rng.random() < 0.3:
            x = self.simple(x)
        other = self.literal(x.dtype) if rng.random() < 0.8 else self.converted(self.load(), x.dtype)
        if rng.random() < 0.4:
            other = Num(te.const(self.zero(x.dtype), x.dtype), 0)
        return self.either(te.select(cond, x.v, other.v), x, other)

    def number(self, n: int) -> te.Value:
        """A whole number that the program computes; it need not lie within the dimension."""
        often, self.picks = self.picks, self.picks / 3
        x = self.converted(self.expr(self.rng.choice((0, 0, 1))), self.rng.choice(("int32", "int64", "int8", "uint8")))
        self.picks = often
        return x.v if self.rng.random() < 0.5 else x.v % n

    def inside(self, cond: te.Cond | None, form: te.Axis, low: int, high: int, n: int) -> te.Cond | None:
        parts = [c for c, needed in ((form >= 0, low < 0), (form < n, high >= n)) if needed]
        for c in parts:
            cond = c if cond is None else cond & c
        return cond

    # ---- expressions -------------------------------------------------------------------------------------------------

    def zero(self, dtype: str) -> float | int | bool:
        return 0.0 if dtype.startswith("float") else False if dtype == "bool" else 0

    def literal(self, dtype: str) -> Num:
        if dtype.startswith("float"):
            x: float | int | bool = self.rng.randint(-8, 8) / 4
        elif dtype == "bool":
            x = self.rng.random() < 0.5
        else:
            x = self.rng.randint(0 if dtype[0] == "u" else -4, 6)
        return Num(te.const(x, dtype), abs(x), 2 if isinstance(x, float) else 0)

    def either(self, v: te.Value, a: Num, b: Num) -> Num:
        return settle(v, max(a.mag, b.mag), max(a.frac, b.frac), max(a.err, b.err))

    def expr(self, depth: int) -> Num:
        rng = self.rng
        if depth == 0:
            if rng.random() < 0.15:
                form, low, high = self.index()
                return Num(te.cast(form, "int64"), max(abs(low), abs(high)))
            return self.load()
        what = rng.choice(("arith", "arith", "arith", "simple", "math", "where", "bounds", "cast", "divide"))
        return getattr(self, f"e_{what}")(depth)

    def e_arith(self, depth: int) -> Num:
        a, b = self.expr(depth - 1), self.expr(self.rng.randrange(depth))
        op = self.rng.choice(("add", "sub", "mul", "max", "min"))
        if a.dtype == b.dtype == "bool" and op == "sub":
            op = "add"
        dtype = np.result_type(a.dtype, b.dtype).name
        a, b = self.converted(a, dtype), self.converted(b, dtype)
        if op in ("max", "min"):
            return self.either((te.maximum if op == "max" else te.minimum)(a.v, b.v), a, b)
        if op == "mul":
            return settle(a.v * b.v, a.mag * b.mag, a.frac + b.frac, a.mag * b.err + b.mag * a.err + a.err * b.err)
        v = a.v + b.v if op == "add" else a.v - b.v
        return settle(v, self.wrapping(v, a.mag + b.mag), max(a.frac, b.frac), a.err + b.err)

    def wrapping(self, v: te.Value, mag: float) -> float:
        """Unsigned differences wrap to anything."""
        return top(v.dtype) if v.dtype.startswith("u") else mag

    def e_simple(self, depth: int) -> Num:
        return self.simple(self.expr(depth - 1))

    def simple(self, x: Num) -> Num:
        ops = ["neg", "abs"] if x.dtype != "bool" else []
        if x.is_float and not x.err:
            ops += ["floor", "ceil", "round"]
        if not ops:
            return x
        op = self.rng.choice(ops)
        if op == "neg":
            return settle(-x.v, self.wrapping(x.v, x.mag), x.frac, x.err)
        v = getattr(te, op)(x.v)
        whole = op in ("floor", "ceil", "round")
        return settle(v, x.mag + whole, 0 if whole else x.frac, x.err)

    def e_math(self, depth: int) -> Num:
        x = self.floating(self.expr(depth - 1))
        op = self.rng.choice(("exp", "log", "sqrt", "rsqrt", "tanh", "sigmoid", "erf", "power"))
        if op in ("tanh", "sigmoid", "erf"):
            return Num(getattr(te, op)(x.v), 1.0, 60, 1.2 * x.err + 1e-6)
        if op == "exp":
            x = self.bounded(x)
            return Num(te.exp(x.v), math.e, 60, 3 * x.err + 1e-6)
        y = te.abs(x.v) + 1.0
        if op == "power":
            power = self.rng.choice((0.5, 2.0, 1.5))
            scale = (x.mag + 1) ** power
            return Num(te.power(y, power), scale, 60, 2 * power * (x.err + 1e-6) * max(1.0, scale))
        scale = x.mag + 1
        return Num(getattr(te, op)(y), scale, 60, x.err + 2e-6 * scale)

    def bounded(self, x: Num) -> Num:
        return Num(te.maximum(te.minimum(x.v, 1.0), -1.0), 1.0, x.frac, x.err)

    def floating(self, x: Num) -> Num:
        return x if x.is_float else self.converted(x, "float32")

    def e_divide(self, depth: int) -> Num:
        a, b = self.expr(depth - 1), self.expr(0)
        dtype = np.result_type(a.dtype, b.dtype).name
        if dtype == "bool":
            return a
        a, b = self.converted(a, dtype), self.converted(b, dtype)
        mod = self.rng.random() < 0.5
        if not a.is_float:
            return settle(a.v % b.v if mod else a.v / b.v, max(a.mag, b.mag, 1))
        below = te.abs(b.v) + 1.0
        if mod and not a.err and not b.err:
            return settle(a.v % below, b.mag + 1, max(a.frac, b.frac))
        return Num(a.v / below, a.mag, 60, a.err + a.mag * (b.err + 1e-6))

    def e_where(self, depth: int) -> Num:
        a, b, c, d = (self.expr(self.rng.randrange(depth)) for _ in range(4))
        if a.err or b.err:
            return self.e_arith(depth)
        dtype = np.result_type(c.dtype, d.dtype).name
        c, d = self.converted(c, dtype), self.converted(d, dtype)
        op = self.rng.choice(("__lt__", "__le__", "__gt__", "__ge__"))
        cond = getattr(a.v, op)(b.v)
        if self.rng.random() < 0.3:
            return Num(cond, 1)
        return self.either(te.select(cond, c.v, d.v), c, d)

    def e_bounds(self, depth: int) -> Num:
        a, b = self.expr(depth - 1), self.expr(self.rng.randrange(depth))
        dtype = np.result_type(a.dtype, b.dtype).name
        a, b = self.converted(a, dtype), self.converted(b, dtype)
        cond: te.Cond | None = None
        for _ in range(self.rng.randint(1, 3)):
            form, low, high = self.index()
            at = self.rng.randint(low, high + 1)
            part = self.rng.choice((form >= at, form < at, form.equal(at)))
            cond = part if cond is None else cond & part
        assert cond is not None
        return self.either(te.select(cond, a.v, b.v), a, b)

    def e_cast(self, depth: int) -> Num:
        return self.converted(self.expr(depth - 1), self.rng.choice(DTYPES))

    def converted(self, x: Num, dtype: str) -> Num:
        if x.dtype == dtype:
            return x
        if dtype.startswith("float"):
            return settle(te.cast(x.v, dtype), x.mag, x.frac, x.err)
        if dtype == "bool":
            return Num(te.cast(x.v, "bool") if not x.err else te.cast(x.v * 0.0, "bool"), 1)
        if not x.is_float:
            return Num(te.cast(x.v, dtype), top(dtype))
        if x.err:
            x = Num(x.v * 0.0, 0)
        if dtype == "uint8":
            x = Num(te.minimum(te.abs(x.v), 255.0), min(x.mag, 255), x.frac)
        elif x.mag >= 100:
            x = Num(te.maximum(te.minimum(x.v, 100.0), -100.0), 100, x.frac)
        return Num(te.cast(x.v, dtype), math.ceil(x.mag))

    def stored(self, x: Num) -> Num:
        """Keep what later stages read within bounds."""
        if x.is_float and (x.mag > 1e4 or x.err > 1e-2):
            return Num(te.tanh(x.v * (1 / 64)), 1.0, 60, x.err / 64 + 1e-5) if x.err < 1 else self.literal(x.dtype)
        return x


def program(seed: int) -> Program:
    """Make the program of a seed."""
    return Maker(seed).program()
