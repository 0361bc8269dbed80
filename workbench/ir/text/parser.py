"""Read the text that `workbench.ir.text.printer` writes: ``parse(to_text(f)) == f``.

A hand-written recursive-descent parser; nothing in the text is ever evaluated. Errors say the line and column, show
the line with a caret, and say what was expected.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast, get_args

from workbench.arguments import is_a
from workbench.errors import ParseError, did_you_mean
from workbench.ir.affine import Affine
from workbench.ir.expr import Bound, Expr, Load
from workbench.ir.func import Align, Buffer, Constraint, Func, HoleInfo, LayoutStep, PadStep, Role, Scope
from workbench.ir.poly import Dim, Relation
from workbench.ir.stmt import Block, For, Iter, IterKind, LoopKind, Note, Stmt
from workbench.ir.text.expr_parser import ExprParser
from workbench.ir.text.lexer import describe, tokenize, unescape
from workbench.ir.wellformed import check
from workbench.ir.winograd_weights import KERNEL_MATRIX, WinogradStep

_LOOPS: dict[str, LoopKind] = {"for" if kind == "serial" else kind: kind for kind in get_args(LoopKind)}


def parse(text: str) -> Func:
    """Parse the text of one function.

    Parameters
    ----------
    text : str
        What `workbench.ir.text.printer.to_text` writes. Comments (``# …``) and blank lines are allowed.

    Returns
    -------
    Func
        Every part of it is well-formed, but what they mean together is not looked at: run `workbench.ir.verify.verify`
        on a text that a person wrote.

    Raises
    ------
    ParseError
        "parse.syntax", "parse.name" or "parse.indent", with the line, the column and a caret in the message;
        "parse.depth" when loops or parentheses lie too deep.
    InputError
        "verify.*" when a part is not well-formed, see `workbench.ir.wellformed`.
    """
    func = read(text)
    check(func)
    return func


def read(text: str) -> Func:
    """`parse` without the look at each part: any value of the right types comes back as it was printed."""
    is_a("text", text, str)
    try:
        return _FuncParser(text, tokenize(text)).function()
    except RecursionError:
        sentence = "Loops or parentheses lie too deep in each other."
        raise ParseError("parse.depth", sentence, ("text",), "fewer levels") from None


@dataclass(slots=True)
class _FuncParser(ExprParser):
    """Reads a whole function."""

    def function(self) -> Func:
        # Shapes may name holes, which are declared below them: collect the names first.
        self.holes = [
            self._declared(k)
            for k, t in enumerate(self.tokens[:-2])
            if t.text == "hole" and self.tokens[k + 1].text == "?"
        ]
        name = self.name("the name of the function")
        params = self.listed("()", self.param)
        self.open_body()
        said = self.declarations()
        body = self.statements()
        if self.token.kind != "end":
            self.fail(f"Expected the end of the text, found {describe(self.token)}.")
        temps, *others = map(tuple, said.values())
        return Func(name, (*params, *temps), body, *others)

    def declarations(self) -> dict[str, list[Any]]:
        """What is declared before the statements, by the word that it begins with, in the order of `Func`."""
        rules: dict[str, Callable[[], Any]] = {
            "temp": self.temp,
            "hole": self.hole_info,
            "relation": self.relation,
            "require": self.constraint,
            "alias": self.alias,
        }
        out: dict[str, list[Any]] = {word: [] for word in rules}
        while (word := self.accept(*rules)) is not None:
            out[word].append(rules[word]())
            self.end_line()
        return out

    def _declared(self, at: int) -> str:
        t = self.tokens[at + 2]
        return unescape(t.text) if t.kind == "quoted" else t.text

    def param(self) -> Buffer:
        name = self.name("the name of a buffer")
        self.expect(":")
        role = self.name("the role of a buffer")
        if role not in get_args(Role) or role == "temp":
            self.fail(
                f"{role!r} is no role of a parameter.", "one of: input, const, output", token=self.tokens[self.at - 1]
            )
        return self.typed(name, cast(Role, role))

    def temp(self) -> Buffer:
        name = self.name("the name of a buffer")
        self.expect(":")
        return self.typed(name, "temp")

    def typed(self, name: str, role: Role) -> Buffer:
        dtype = self.dtype()
        shape = tuple(self.listed("[]", self.dim))
        layout: list[LayoutStep | PadStep | WinogradStep] = []
        if self.accept("packed"):
            layout = self.listed("()", self.layout_step)
        made = Buffer(name, shape, dtype, role, tuple(layout), self.scope_of(), self.paddings())
        self.buffers[name] = made
        return made

    def scope_of(self) -> Scope:
        if not self.accept("scope"):
            return "auto"
        self.expect("(")
        scope = self.name("a scope")
        if scope not in get_args(Scope):
            self.fail(
                f"{scope!r} is no scope.",
                did_you_mean(scope, list(get_args(Scope)), "scopes"),
                "name",
                self.tokens[self.at - 1],
            )
        self.expect(")")
        return cast(Scope, scope)

    def paddings(self) -> tuple[Align, ...]:
        if not self.accept("align"):
            return ()
        return tuple(self.listed("()", self.padding))

    def padding(self) -> Align:
        dim = self.integer("a dimension")
        self.expect(":")
        factor = self.integer()
        return Align(dim, factor, self.integer() if self.accept("+") else 0)

    def layout_step(self) -> LayoutStep | PadStep | WinogradStep:
        if self.accept("winograd"):
            self.expect(":")
            tile = self.integer("the outputs of a tile")
            if tile not in KERNEL_MATRIX:
                self.fail(f"There is no transform for tiles of {tile}.", "one of: 2, 4", token=self.tokens[self.at - 1])
            return WinogradStep(tile)
        dim = self.integer("a dimension")
        self.expect(":")
        block = self.dim()
        if isinstance(block, int) and self.accept("zeros"):
            return PadStep(dim, block, self.integer("the size with zeros"))
        return LayoutStep(dim, block, bool(self.accept("here")))

    def hole_info(self) -> HoleInfo:
        name = self.hole_name()
        if not self.accept("in"):
            return HoleInfo(name)
        return HoleInfo(name, tuple(self.listed("{}", self.integer)))

    def relation(self) -> Relation:
        names = [self.hole_name()]
        while self.accept("*"):
            names.append(self.hole_name())
        self.expect("=")
        return Relation(tuple(names), self.integer())

    def alias(self) -> tuple[str, Dim]:
        old = self.hole_name()
        self.expect("=")
        return old, self.dim()

    def constraint(self) -> Constraint:
        label = unescape(self.expect_kind("string", "a label in quotes").text)
        self.expect(":")
        expr = self.dim()
        self.expect(">=")
        if self.integer() != 0:
            self.fail("A requirement has the form 'expression >= 0'.", token=self.tokens[self.at - 1])
        return Constraint(label, expr)

    # ---------------------------------------------------------------- statements

    def open_body(self) -> None:
        self.expect(":")
        self.expect_kind("newline", "the end of the line")
        self.expect_kind("indent", "an indented body")

    def end_line(self) -> None:
        self.expect_kind("newline", "the end of the line")

    def statements(self) -> tuple[Stmt, ...]:
        """Statements up to and including the end of the indentation."""
        out: list[Stmt] = []
        while self.token.kind != "dedent":
            if self.token.kind == "end":
                self.fail("Expected a loop or a block, found the end of the text.")
            out.append(self.block() if self.accept("block") else self.loop())
        self.next()
        return tuple(out)

    def loop(self) -> For:
        t = self.token
        kind = _LOOPS.get(t.text) if t.kind == "name" else None
        if kind is None:
            self.fail(
                f"Expected a loop or a block, found {describe(t)}.",
                did_you_mean(t.text, [*_LOOPS, "block"], "statements"),
            )
        self.next()
        name = self.name("the name of a loop")
        self.expect("in")
        extent = self.dim()
        intrin = self.name("the name of an intrinsic") if self.accept("intrin") else None
        notes = self.notes()
        self.open_body()
        self.scope.append(name)
        body = self.statements()
        self.scope.pop()
        return For(name, extent, body, kind, notes, intrin)

    def notes(self) -> tuple[Note, ...]:
        """Notes behind a loop or block: ``@key=number`` or ``@key="text"``."""
        out: list[Note] = []
        while self.accept("@"):
            key = self.name("the key of a note")
            self.expect("=")
            out.append((key, unescape(self.next().text) if self.token.kind == "string" else self.integer()))
        return tuple(out)

    def block(self) -> Block:
        name = self.name("the name of a block")
        axes = self.listed("()", self.axis)
        notes = self.notes()
        self.open_body()
        outer, self.scope = self.scope, [it.name for it, _ in axes]
        guard: tuple[Bound, ...] = ()
        if self.accept("when"):
            guard = self.bounds()
            self.end_line()
        init: Expr | None = None
        target: Load | None = None
        if self.accept("init"):
            target, init = self.assignment()
        start = self.token
        store, value = self.assignment()
        if target is not None and target != store:
            self.fail("The initial value and the update must be stored to the same element.", token=start)
        self.scope = outer
        self.expect_kind("dedent", "the end of the block")
        iters, binds = tuple(it for it, _ in axes), tuple(b for _, b in axes)
        return Block(name, iters, binds, store.buffer, store.index, value, init, guard, notes)

    def axis(self) -> tuple[Iter, Affine]:
        kind: IterKind = "S"
        if self.sees("reduce") and self.tokens[self.at + 1].text != ":":
            self.next()
            kind = "R"
        start = self.token
        name = self.name("the name of an axis")
        self.expect(":")
        extent = self.dim()
        if self.accept("="):
            return Iter(name, extent, kind), self.affine()
        if name not in self.scope:
            self.fail(
                f"There is no loop {name!r} around this block.",
                f"say what the axis is: {name}: … = form over the loops",
                "name",
                start,
            )
        return Iter(name, extent, kind), Affine.var(name)

    def assignment(self) -> tuple[Load, Expr]:
        target = self.load(self.token, self.name("the name of a buffer"))
        self.expect("=")
        value = self.expr()
        self.end_line()
        return target, value
