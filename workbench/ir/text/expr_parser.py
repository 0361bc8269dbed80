"""The part of the grammar that stands inside brackets and right of ``=``: numbers, index forms, scalar expressions."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from workbench.errors import did_you_mean
from workbench.ir.affine import FREE, Affine, Digit
from workbench.ir.dtypes import element_type, is_float
from workbench.ir.expr import (
    UNARY_OPS,
    Binary,
    Bound,
    Cast,
    Const,
    Expr,
    Index,
    Load,
    Pick,
    Select,
    Unary,
    Where,
    free_digit,
    tidy,
)
from workbench.ir.func import Buffer
from workbench.ir.poly import Dim, hole
from workbench.ir.size_limits import EXTENT_LIMIT, MOST_POWER
from workbench.ir.text.lexer import Reader, Token, describe
from workbench.ir.text.printer import INFIX, SUFFIXES

_NUMBER = re.compile(r"(?P<digits>\d+(?P<fraction>\.\d+)?(?P<exponent>[eE][+-]?\d+)?)(?P<suffix>[a-z]+\d+)?")
_DTYPES = {v: k for k, v in SUFFIXES.items()}
_SIGNS = {sign: (op, level) for op, (sign, level) in INFIX.items()}
_COMPARE_LEVEL = INFIX["lt"][1]
_CALLS = {"max": 2, "min": 2, "pow": 2} | {op: 1 for op in UNARY_OPS if op != "not"}


@dataclass(slots=True)
class ExprParser(Reader):
    """Reads forms and expressions; knows which buffers, holes and loops (or axes) have been declared."""

    buffers: dict[str, Buffer] = field(default_factory=dict)
    holes: list[str] = field(default_factory=list)
    scope: list[str] = field(default_factory=list)
    #: What the index that is being read picks its elements by; None outside of the index of a load.
    picks: list[Pick] | None = None

    # ---------------------------------------------------------------- dims and index forms

    def hole_name(self) -> str:
        self.expect("?")
        return self.name("the name of a hole")

    def dim(self) -> Dim:
        start = self.token
        form = self.affine()
        if form.terms:
            self.fail(
                f"{start.text!r} is a loop, but a number is wanted here.",
                "a hole is written with a question mark: ?name",
                token=start,
            )
        return form.const

    def affine(self) -> Affine:
        """Sum of products; a product has at most one factor that is a digit of a loop."""
        out = self.signed_term()
        while (sign := self.accept("+", "-")) is not None:
            out = out + self.term() * (1 if sign == "+" else -1)
        return out

    def signed_term(self) -> Affine:
        sign = -1 if self.accept("-") else 1
        return self.term() * sign

    def term(self) -> Affine:
        start = self.token
        out = self.factor()
        while self.accept("*"):
            other = self.factor()
            if out.terms and other.terms:
                self.fail("A product of two loops is not affine.", token=start)
            out = out * other.const if out.terms else other * out.const
        return out

    def factor(self) -> Affine:
        t = self.token
        if t.kind == "number":
            return Affine((), self.integer())
        if self.sees("?"):
            return Affine((), self.hole_power())
        if self.accept("("):
            return self.parenthesis()
        if self.picking():
            return Affine(((self.pick(), 1),))
        if t.kind in ("name", "quoted"):
            return Affine.var(self.variable())
        self.fail(f"Expected an index or a number, found {describe(t)}.")

    def parenthesis(self) -> Affine:
        """``(v // lower % extent)``, or a sum in parentheses."""
        if self.picking():
            begin, count = self.at, len(self.picks or ())
            whole = self.pick()
            if self.sees("//", "%"):
                return self.part(whole.var)
            self.at = begin
            del (self.picks or [])[count:]
        elif self.token.kind in ("name", "quoted") and self.tokens[self.at + 1].text in ("//", "%"):
            return self.part(self.variable())
        inner = self.affine()
        self.expect(")")
        return inner

    def part(self, var: str) -> Affine:
        """The rest of ``(v // lower % extent)`` behind the variable."""
        start = self.token
        lower = self.dim_factor() if self.accept("//") else 1
        extent = self.dim_factor() if self.accept("%") else None
        if any(isinstance(n, int) and n < 1 for n in (lower, extent)):
            self.fail("A divisor is at least 1.", token=start)
        if extent is None and var.startswith(FREE):
            self.fail("A part of what is picked ends somewhere: (at(...) // n % m).", token=start)
        self.expect(")")
        return Affine(((Digit(var, lower, extent), 1),))

    def picking(self) -> bool:
        """Whether ``at(...)`` follows, in an index that may hold it."""
        return self.picks is not None and self.token.text == "at" and self.tokens[self.at + 1].text == "("

    def pick(self) -> Digit:
        """``at(value, extent)``: the digit that stands for it."""
        self.next()
        self.expect("(")
        value = self.expr()
        self.expect(",")
        extent = self.dim()
        self.expect(")")
        assert self.picks is not None
        self.picks.append(Pick(value, extent))
        return free_digit(len(self.picks) - 1, extent)

    def dim_factor(self) -> Dim:
        start = self.token
        form = self.factor()
        while self.sees("*"):
            self.next()
            form = form * self.dim_factor()
        if form.terms:
            self.fail(f"{start.text!r} is a loop, but a number is wanted here.", token=start)
        return form.const

    def hole_power(self) -> Dim:
        start = self.token
        name = self.hole_name()
        if name not in self.holes:
            self.fail(f"There is no hole ?{name}.", did_you_mean(name, self.holes, "holes"), "name", start)
        out: Dim = hole(name)
        if self.accept("**"):
            power = self.integer()
            if not 1 <= power <= MOST_POWER:
                self.fail(f"A power is from 1 to {MOST_POWER}.", token=start)
            for _ in range(power - 1):
                out = out * hole(name)
        return out

    def dtype(self) -> str:
        t = self.expect_kind("name", "a dtype")
        if element_type(t.text) != t.text:
            self.fail(
                f"{t.text!r} is no dtype.",
                did_you_mean(t.text, ["float32", "float64", "int32", "int64", "int8", "uint8", "bool"]),
                "name",
                t,
            )
        return t.text

    def variable(self) -> str:
        start = self.token
        name = self.name("a loop or an axis")
        if name not in self.scope:
            self.fail(
                f"There is no loop or axis {name!r} here.", did_you_mean(name, self.scope, "in scope"), "name", start
            )
        return name

    def bounds(self) -> tuple[Bound, ...]:
        out = [self.bound()]
        while self.accept("&"):
            out.append(self.bound())
        return tuple(out)

    def bound(self) -> Bound:
        start = self.token
        first = self.affine()
        if self.accept(">="):
            return Bound(first, self.dim(), EXTENT_LIMIT)
        if self.accept("=="):
            value = self.dim()
            return Bound(first, value, value + 1)
        if self.accept("<"):
            return Bound(first, -EXTENT_LIMIT, self.dim())
        self.expect("<=", ", '<', '>=' or '=='")
        form = self.affine()
        self.expect("<")
        if first.terms:
            self.fail("The lower limit of a bound must be a number.", token=start)
        return Bound(form, first.const, self.dim())

    # ---------------------------------------------------------------- scalar expressions

    def expr(self, level: int = 0) -> Expr:
        """Operators that bind at least as tightly as `level`, grouped to the left."""
        if self.sees("not") and level <= 3:
            self.next()
            left: Expr = Unary("not", self.expr(3))
        else:
            left = self.unary()
        while (
            self.token.kind in ("sign", "name")
            and (operator := _SIGNS.get(self.token.text)) is not None
            and operator[1] >= level
        ):
            op, own = operator
            self.next()
            left = Binary(op, left, self.expr(own + 1))
            if own == _COMPARE_LEVEL and _SIGNS.get(self.token.text, ("", 0))[1] == own:
                self.fail("Comparisons do not chain.", "join them: a < b and b < c")
        return left

    def unary(self) -> Expr:
        if self.accept("-"):
            t = self.token
            if t.kind == "number" or (t.kind == "name" and t.text == "inf"):
                return self.literal(-1)
            return Unary("neg", self.unary())
        return self.atom()

    def atom(self) -> Expr:
        t = self.token
        if self.accept("("):
            inner = self.expr()
            self.expect(")")
            return inner
        if t.kind == "number" or (t.kind == "name" and t.text in ("inf", "nan", "true", "false")):
            return self.literal(1)
        if t.kind == "quoted":
            return self.load(t, self.name("a buffer"))
        if t.kind != "name":
            self.fail(f"Expected a value, found {describe(t)}.")
        self.next()
        if self.sees("("):
            return self.call(t)
        return self.load(t, t.text)

    def call(self, t: Token) -> Expr:
        self.expect("(")
        match t.text:
            case "index":
                made: Expr = Index(self.affine())
            case "select":
                conds = self.bounds()
                made = Select(conds, self.argument(), self.argument())
            case "where":
                made = Where(self.expr(), self.argument(), self.argument())
            case "cast":
                dtype = self.dtype()
                made = Cast(dtype, self.argument())
            case op if op in _CALLS:
                first = self.expr()
                made = Unary(op, first) if _CALLS[op] == 1 else Binary(op, first, self.argument())
            case _:
                self.fail(
                    f"There is no function {t.text!r}.",
                    did_you_mean(t.text, [*_CALLS, "select", "where", "cast", "index"], "functions"),
                    "name",
                    t,
                )
        self.expect(")")
        return made

    def argument(self) -> Expr:
        self.expect(",")
        return self.expr()

    def load(self, start: Token, name: str) -> Load:
        buffer = self.buffers.get(name)
        if buffer is None:
            self.fail(f"There is no buffer {name!r}.", did_you_mean(name, self.buffers, "buffers"), "name", start)
        around, self.picks = self.picks, []
        index, at = tuple(self.listed("[]", self.affine)), tuple(self.picks)
        self.picks = around
        if len(index) != len(buffer.shape):
            self.fail(f"{name!r} has {len(buffer.shape)} dimensions but is indexed with {len(index)}.", token=start)
        return tidy(Load(name, index, at))

    def literal(self, sign: int) -> Const:
        t = self.next()
        if t.kind == "name":
            if t.text in ("true", "false"):
                return Const(t.text == "true", "bool")
            dtype = _DTYPES.get(self.name("a dtype"), "float32") if self.accept(":") else "float32"
            return Const(sign * float(t.text), dtype)
        m = _NUMBER.fullmatch(t.text)
        assert m is not None, t
        suffix = m["suffix"]
        if suffix is not None and suffix not in _DTYPES:
            self.fail(f"{suffix!r} is no dtype of a literal.", f"one of: {', '.join(_DTYPES)}", token=t)
        whole = m["fraction"] is None and m["exponent"] is None
        dtype = _DTYPES[suffix] if suffix else "int64" if whole else "float32"
        if is_float(dtype):
            return Const(sign * float(m["digits"]), dtype)
        if not m["digits"].isdecimal() or len(m["digits"]) > 20:
            self.fail(f"{m['digits'][:30]} is no {dtype}.", token=t)
        return Const(sign * int(m["digits"]), dtype)
