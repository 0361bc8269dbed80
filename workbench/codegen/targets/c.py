"""The C backend: readable C99 for any concrete nest, compiled by the system's compiler where there is one."""

from __future__ import annotations

from workbench.codegen.assembly_listing import instructions
from workbench.codegen.backend import Backend, backend
from workbench.codegen.c.compiler import assembly_of, compile_c, problem
from workbench.codegen.c.identifiers import is_taken
from workbench.codegen.c.module import list_module, print_module
from workbench.codegen.code_line import Named
from workbench.errors import BuildError, WorkbenchError
from workbench.ir.func import Func
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

    def emit(self, func: Func, target: Target, symbol: str, poison: bool) -> tuple[str, int, int]:
        if is_taken(symbol):
            raise BuildError("build.symbol", f"{symbol!r} means something in C.", (symbol,), "any other name")
        return print_module(func, target, symbol, poison)

    def compile(self, text: str, target: Target) -> bytes:
        return compile_c(text, target)

    def assembly(self, text: str, target: Target) -> str:
        return assembly_of(text, target)

    def listing(self, func: Func, target: Target) -> list[Named]:
        return list_module(func, target, "kernel")

    def asm_listing(self, func: Func, target: Target) -> list[Named]:
        lines = list_module(func, target, "kernel")
        text = "".join(f"{line}\n" for line, _ in lines)
        rows = [row for _, row in lines]
        said = assembly_of(text, target, "-g1")
        return instructions(said, lambda number: rows[number - 1] or None)

    def compiler_problem(self, target: Target) -> WorkbenchError | None:
        return problem(target)
