"""The C backend: readable C99 for any concrete nest, compiled by the system's compiler where there is one."""

from __future__ import annotations

from workbench.codegen.assembly_listing import instructions
from workbench.codegen.backend import Backend, backend
from workbench.codegen.c.compiler import assembly_of, compile_c, problem
from workbench.codegen.c.identifiers import is_taken
from workbench.codegen.c.module import HINTS, Module
from workbench.codegen.code_line import Named, named
from workbench.errors import BuildError, WorkbenchError
from workbench.ir import Func
from workbench.target import Target


@backend
class C(Backend):
    """Portable C99: the schedule's loops as C loops; the system's compiler vectorises and allocates registers.

    Exponentials, logarithms, powers, tanh and erf are calls of the C library, one for each element: no compiler makes
    vectors of them without options that change results. The LLVM backends have vector code of their own.

    Without a compiler a kernel has its text and nothing else: `Kernel.source` can be read and taken elsewhere, calling
    or measuring it is an error "build.compiler".
    """

    name = "c"
    kind = "c"
    language = "C"
    overlaps = False  # its parameters are `restrict`

    #: Definitions of the macros for hints, and further options of the compiler.
    hints = HINTS
    options: tuple[str, ...] = ()

    def emit(self, func: Func, target: Target, symbol: str, poison: bool) -> tuple[str, int, int]:
        if is_taken(symbol):
            raise BuildError("build.symbol", f"{symbol!r} means something in C.", (symbol,), "any other name")
        return Module(func, target, symbol, poison, self.hints).text()

    def compile(self, text: str, target: Target) -> bytes:
        return compile_c(text, target, *self.options)

    def assembly(self, text: str, target: Target) -> str:
        return assembly_of(text, target, *self.options)

    def listing(self, func: Func, target: Target) -> list[Named]:
        return [named(line) for line in Module(func, target, "kernel", hints=self.hints).lines()]

    def asm_listing(self, func: Func, target: Target) -> list[Named]:
        lines = self.listing(func, target)
        text = "".join(f"{line}\n" for line, _ in lines)
        rows = [row for _, row in lines]
        said = assembly_of(text, target, *self.options, "-g1")
        return instructions(said, lambda number: rows[number - 1] or None)

    def compiler_problem(self, target: Target) -> WorkbenchError | None:
        return problem(target)
