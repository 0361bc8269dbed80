"""Expressions of a block as C text."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

import numpy as np

from workbench.codegen.c.identifiers import Names
from workbench.codegen.c.support_functions import VALUE_TYPE, Helpers, compute_dtype, math_name
from workbench.errors import BuildError
from workbench.ir import (
    Affine,
    Binary,
    Block,
    Bound,
    Buffer,
    Cast,
    Const,
    Digit,
    Expr,
    Index,
    Load,
    Pick,
    Select,
    Unary,
    Where,
)
from workbench.ir.affine import FREE, split_base, width
from workbench.ir.dtypes import is_float
from workbench.ir.expr import COMPARE_OPS, all_index_forms, loads, map_children
from workbench.ir.poly import concrete

#: How tightly an operator binds, as in C.
ATOM, UNARY, PRODUCT, SUM, COMPARE, BITS, AND, CHOICE = 9, 8, 7, 6, 5, 4, 3, 2

_SIGNS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
_TRUTH = {"add": "|", "max": "|", "or": "|", "mul": "&", "min": "&", "and": "&", "sub": "^"}
#: Operators of floats, and how tightly they bind.
INFIX = {"add": ("+", SUM), "sub": ("-", SUM), "mul": ("*", PRODUCT), "div": ("/", PRODUCT)}
_LIBRARY = {"exp": "exp", "log": "log", "sqrt": "sqrt", "tanh": "tanh", "erf": "erf", "floor": "floor", "ceil": "ceil",
            "round": "rint", "abs": "fabs", "pow": "pow"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Text:
    """C text of a value, its dtype, and how tightly its outermost operator binds."""

    text: str
    dtype: str
    level: int = ATOM
    literal: float | int | bool | None = None

    def at(self, level: int) -> str:
        """Text as an operand of an operator that binds like `level`."""
        return self.text if self.level >= level else f"({self.text})"


class ExprPrinter:
    """Prints expressions over loop variables."""

    def __init__(
        self, buffers: Mapping[str, Buffer], extents: Mapping[str, int], names: Names, helpers: Helpers
    ) -> None:
        self._buffers, self._extents, self._names, self._helpers = buffers, extents, names, helpers
        #: Buffers whose current element is in a local variable, and that variable.
        self.kept: dict[str, str] = {}
        #: Whether a load under a condition was printed for an innermost loop.
        self.careful = False
        #: Expressions whose value is in a local variable.
        self.known: dict[Expr, Text] = {}
        #: What the free digits of the load that is printed stand for, and how many values each has.
        self._picked: dict[str, tuple[Text, int]] = {}

    # ---- indices ---------------------------------------------------------------------------------------------------

    def form(self, form: Affine) -> Text:
        """Value of an index form."""
        plus: list[Text] = []
        minus: list[Text] = []
        for digit, c in form.terms:
            c, part = concrete(c), self._digit(digit)
            if abs(c) != 1:
                part = Text(f"{part.at(PRODUCT)} * {abs(c)}", "int64", PRODUCT)
            (plus if c > 0 else minus).append(part)
        const = concrete(form.const)
        if const > 0 or (not plus and not const):
            plus.append(Text(str(const), "int64"))
        elif const < 0:
            minus.append(Text(str(-const), "int64"))
        text = " + ".join(p.at(SUM) for p in plus) + "".join(f" - {p.at(PRODUCT)}" for p in minus)
        if len(plus) == 1 and not minus:
            return plus[0]
        return Text(text.strip() if plus else f"-{text.strip()[2:]}", "int64", SUM)

    def _digit(self, d: Digit) -> Text:
        if d.free:
            text, size = self._picked[d.var][0].at(ATOM), self._picked[d.var][1]
        else:
            text, size = self._names("loop", d.var), self._extents[d.var]
        level = ATOM
        if d.lower != 1:
            text, level = f"{text} / {d.lower}", PRODUCT
        if d.extent is not None and concrete(d.lower) * concrete(d.extent) < size:
            text, level = f"{text} % {d.extent}", PRODUCT
        # A quotient times something else must not be read from the left.
        return Text(text if level == ATOM else f"({text})", "int64")

    def element(self, buffer: str, index: Sequence[Affine]) -> str:
        """Element of a buffer as an lvalue."""
        if buffer in self.kept:
            return self.kept[buffer]
        forms, strides = list(index), self._buffers[buffer].strides()
        parts = []
        for form, stride in zip(forms, strides, strict=True):
            if form.terms or form.const:
                at = self.form(form)
                parts.append(at.at(SUM) if stride == 1 else f"{at.at(PRODUCT)} * {stride}")
        return f"{self._names('buffer', buffer)}[{' + '.join(parts) or '0'}]"

    def range(self, form: Affine) -> tuple[int, int]:
        """Smallest and largest value over the whole nest."""
        lowest = concrete(split_base(form, self._extents).const)
        return lowest, lowest + concrete(width(form, self._extents)) - 1

    def bounds(self, conds: Sequence[Bound]) -> Text | bool:
        """Conjunction of bounds; True or False where it is known."""
        parts: list[str] = []
        for c in conds:
            first, end = concrete(c.lo), concrete(c.hi)
            lo, hi = self.range(c.form)
            if first >= end or lo >= end or hi < first:
                return False
            value = self.form(c.form).at(SUM)
            parts += [f"{value} >= {first}"] if lo < first else []
            parts += [f"{value} < {end}"] if hi >= end else []
        if not parts:
            return True
        return Text(" && ".join(parts), "bool", AND if len(parts) > 1 else COMPARE)

    # ---- expressions -----------------------------------------------------------------------------------------------

    def expr(self, e: Expr) -> Text:
        """Text of an expression."""
        if e in self.known:
            return self.known[e]
        match e:
            case Const(value, dtype):
                return literal(value, dtype)
            case Load(buffer, index, at):
                return self._load_picked(buffer, index, at) if at else self._load(buffer, index)
            case Index(form):
                return self.form(form)
            case Unary(op, a):
                return self._unary(op, self.expr(a))
            case Cast(dtype, a):
                return self.cast(self.expr(a), dtype)
            case Binary(op, a, b):
                return self.binary(op, self.expr(a), self.expr(b))
            case Select(conds, a, b):
                cond = self.bounds(conds)
                if isinstance(cond, bool):
                    return self.expr(a if cond else b)
                self.careful |= any(True for x in (a, b) for _ in loads(x))
                return self._choice(cond, self.expr(a), self.expr(b))
            case Where(c, a, b):
                self.careful |= any(True for x in (a, b) for _ in loads(x))
                return self._choice(self.expr(c), self.expr(a), self.expr(b))
        assert_never(e)

    def _choice(self, cond: Text, a: Text, b: Text) -> Text:
        return Text(f"{cond.at(AND)} ? {a.at(AND)} : {b.at(CHOICE)}", a.dtype, CHOICE)

    def _load(self, buffer: str, index: Sequence[Affine]) -> Text:
        dtype, text = self._buffers[buffer].dtype, self.element(buffer, index)
        if dtype in ("float16", "bfloat16"):
            return Text(f"{self._helpers.conversion('from', dtype)}({text})", dtype)
        if dtype == "bool":
            return Text(f"{text} != 0", dtype, COMPARE)
        return Text(text, dtype)

    def _load_picked(self, buffer: str, index: Sequence[Affine], at: Sequence[Pick]) -> Text:
        """A load whose index has parts that are read first, and cut to what there is."""
        found: dict[str, tuple[Text, int]] = {}
        for k, pick in enumerate(at):
            extent, value = concrete(pick.extent), self.expr(pick.value)
            if value.dtype == "uint64":  # the largest of these are negative as int64
                value = self._call("min", "uint64", value, literal(extent - 1, "uint64"))
            wide = self.cast(value, "int64")
            found[f"{FREE}{k}"] = Text(f"{self._helpers.nearest()}({wide.text}, {extent})", "int64"), extent
        before, self._picked = self._picked, found
        try:
            return self._load(buffer, index)
        finally:
            self._picked = before

    def stored(self, value: Text, dtype: str) -> str:
        """Text of a value as it is stored in a buffer of `dtype`."""
        if dtype in ("float16", "bfloat16"):
            return f"{self._helpers.conversion('to', dtype)}({value.text})"
        return value.text

    def _unary(self, op: str, x: Text) -> Text:
        if op == "not":
            return Text(f"!{x.at(UNARY)}", "bool", UNARY)
        if op == "neg" and is_float(x.dtype):
            return Text(f"-{x.at(ATOM)}", x.dtype, UNARY)
        if not is_float(x.dtype) and (op in ("floor", "ceil", "round") or (op == "abs" and x.dtype.startswith("u"))):
            return x
        return self._call(op, x.dtype, x)

    def _call(self, op: str, dtype: str, *operands: Text) -> Text:
        name = self._helpers.name(op, dtype) or self.library(op, dtype)
        if name is None:
            raise BuildError(
                "build.operation", f"There is no {op!r} of {dtype}.", (), "cast the operand to a float type"
            )
        return Text(f"{name}({', '.join(x.text for x in operands)})", dtype)

    def library(self, op: str, dtype: str) -> str | None:
        """Name of the C library's function for an operation, None where it has none."""
        return math_name(_LIBRARY[op], dtype) if is_float(dtype) and op in _LIBRARY else None

    def binary(self, op: str, a: Text, b: Text) -> Text:
        """Text of a binary operation on operands of one dtype."""
        dtype = a.dtype
        if op in COMPARE_OPS:
            return Text(f"{a.at(SUM)} {_SIGNS[op]} {b.at(SUM)}", "bool", COMPARE)
        if dtype == "bool" and op in _TRUTH:
            return Text(f"{a.at(UNARY)} {_TRUTH[op]} {b.at(UNARY)}", "bool", BITS)
        if is_float(dtype):
            if op in INFIX:
                sign, level = INFIX[op]
                return Text(f"{a.at(level)} {sign} {b.at(level + 1)}", dtype, level)
            if op == "pow" and b.literal == 2:
                return self._call("square", dtype, a)
            if op in ("max", "min"):
                called, *operands = self.extreme(op, a, b)
                return self._call(called, dtype, *operands)
        if op in ("div", "mod") and b.literal is not None and b.literal > 0 and dtype.startswith("u"):
            return Text(f"{a.at(PRODUCT)} {'/' if op == 'div' else '%'} {b.text}", dtype, PRODUCT)
        return self._call(op, dtype, a, b)

    def extreme(self, op: str, a: Text, b: Text) -> tuple[str, Text, Text]:
        """Function for the larger or smaller one of two floats, and its operands in order."""
        if a.literal is not None:
            a, b = b, a
        if b.literal is not None and not math.isnan(b.literal):
            return "at_least" if op == "max" else "at_most", a, b
        return op, a, b

    def choices_outside(self, b: Block, loop: str) -> list[Expr]:
        """Largest parts of the block's value that choose between loads, the same way in every iteration of the loop."""
        found: list[Expr] = []

        def still(e: Expr) -> bool:
            forms = all_index_forms(e)
            return not any(loop in f.vars for f in forms) and all(ld.buffer != b.buffer for ld in loads(e))

        def look(e: Expr) -> Expr:
            if not isinstance(e, Select | Where):
                return map_children(e, look)
            if still(e) and any(True for _ in loads(e)):
                found.append(e)
            return e  # what lies under another condition stays there

        look(b.value)
        return list(dict.fromkeys(found))

    def cast(self, x: Text, dtype: str) -> Text:
        """Text of a conversion."""
        if x.dtype == dtype:
            return x
        if dtype == "bool":
            return Text(f"{x.at(SUM)} != 0", "bool", COMPARE)
        if dtype in ("float16", "bfloat16"):
            there, back = self._helpers.conversion("to", dtype), self._helpers.conversion("from", dtype)
            narrow = f"{self._helpers.to_odd()}({x.text})" if (x.dtype, dtype) == ("float64", "float16") else x.text
            return Text(f"{back}({there}({narrow}))", dtype)
        if is_float(x.dtype) and not is_float(dtype):
            return Text(f"{self._helpers.to_integer(x.dtype, dtype)}({x.text})", dtype)
        if compute_dtype(x.dtype) == dtype:
            return Text(x.text, dtype, x.level)
        return Text(f"({VALUE_TYPE[dtype]}){x.at(UNARY)}", dtype, UNARY)


def literal(value: float | int | bool, dtype: str) -> Text:
    """A constant, exactly."""
    if dtype == "bool":
        return Text(str(int(bool(value))), dtype, ATOM, bool(value))
    if not is_float(dtype):
        return _integer(int(value), dtype)
    with np.errstate(over="ignore"):
        number = float(np.dtype(dtype).type(float(value)))
    if math.isnan(number):
        return Text("NAN", dtype, ATOM, number)
    sign = "-" if math.copysign(1.0, number) < 0 else ""
    if math.isinf(number):
        digits = "INFINITY"
    else:
        wide = compute_dtype(dtype) == "float64"
        digits = repr(abs(number)) if wide else f"{np.float32(abs(number))!s}f"
    return Text(sign + digits, dtype, UNARY if sign else ATOM, number)


def _integer(value: int, dtype: str) -> Text:
    if dtype == "int64" and value == -(1 << 63):
        return Text("INT64_MIN", dtype, ATOM, value)
    if dtype.endswith("64"):
        text = str(abs(value)) if abs(value) < 1 << 31 else f"{dtype.upper()}_C({abs(value)})"
    elif dtype == "int32" and value == -(1 << 31):
        return Text("INT32_MIN", dtype, ATOM, value)
    else:
        text = f"{abs(value)}u" if value >= 1 << 31 else str(abs(value))
    return Text(f"-{text}" if value < 0 else text, dtype, UNARY if value < 0 else ATOM, value)
