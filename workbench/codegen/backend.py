"""The code generators as a registry: a `Target` chooses, and everything that builds a kernel asks here.

A backend is one class: which targets it serves, how a concrete function becomes text, how the text becomes object code
and assembly, and what it needs of the machine that does so. The contract tests, `workbench doctor`, the listings of
code and `build_func` follow from the declaration::

    @backend
    class Mine(Backend):
        '''What it is, in one line.'''

        name, kind, language = "mine", "mine", "Mine"

        def emit(self, func, target, symbol, poison): ...  # text, shared bytes, bytes per thread
        def compile(self, text, target): ...  # bytes
        def assembly(self, text, target): ...  # str

Another processor of LLVM needs no class: it is an `Architecture` (`workbench.architectures`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar

from workbench.codegen.assembly_listing import instructions
from workbench.codegen.code_line import Named
from workbench.codegen.lowering import ObjectCode, params_of
from workbench.codegen.runtime_kernels.declaration import KernelFunction
from workbench.errors import BuildError, TargetError, WorkbenchError
from workbench.ir import Func
from workbench.registry import Declarations, summary
from workbench.target import Target

#: A name that every assembler and language takes as it is.
_SYMBOL = re.compile("[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


class Statistics(Protocol):
    """What is known of one kernel before it runs."""

    def lines(self) -> Iterable[tuple[str, str]]:
        """Return it line by line, each with its row of the nest; "" for what is about the whole kernel."""


class Backend:
    """A code generator.

    Attributes
    ----------
    name : str
        Unique name.
    kind : str
        `Target.kind` that asks for it.
    language : str
        What its text is written in.
    arches : tuple of str or None
        `Target.arch` values that it serves; None for all.
    overlaps : bool
        Whether the code is right where an output lies over an input and `ir.in_place` says that the nest allows it.
    self_contained : bool
        Whether the same text becomes the same object code on every call, so that this may be kept: no compiler
        outside of our hands takes part.
    any_nest : bool
        Whether it takes every function; an accelerator takes what is scheduled for it and refuses all else.
    title : str
        What it is, in one line; by default the first line of the class's text.
    """

    name: str
    kind: str
    language: str
    title: str
    arches: tuple[str, ...] | None = None
    overlaps: bool = True
    self_contained: bool = False
    any_nest: bool = True

    def __init_subclass__(cls) -> None:
        cls.title = summary(cls)

    def serves(self, target: Target) -> bool:
        """Whether it generates code for the target."""
        return target.kind == self.kind and (self.arches is None or target.arch in self.arches)

    def emit(self, func: Func, target: Target, symbol: str, poison: bool) -> tuple[str, int, int]:
        """Return the text for a concrete function and the workspace in bytes: shared, per thread."""
        raise NotImplementedError

    def emit_kernel(self, kernel: KernelFunction, target: Target, symbol: str) -> tuple[str, int, int]:
        """Return the text for a runtime kernel and the workspace in bytes; LLVM's backends do that for all targets."""
        raise NotImplementedError

    def compile(self, text: str, target: Target) -> bytes:
        """Return the object file for a text."""
        raise NotImplementedError

    def assembly(self, text: str, target: Target) -> str:
        """Return the assembly for a text."""
        raise NotImplementedError

    def listing(self, func: Func, target: Target) -> list[Named]:
        """Return the lines of the text, each with the row of the nest that it belongs to ("" where that is unknown)."""
        return [(line, "") for line in self.emit(func, target, "kernel", False)[0].splitlines()]

    def asm_listing(self, func: Func, target: Target) -> list[Named]:
        """Return the instructions, each with the row of the nest that it belongs to ("" where that is unknown)."""
        return instructions(self.assembly(self.emit(func, target, "kernel", False)[0], target))

    def compiler_problem(self, target: Target) -> WorkbenchError | None:
        """Say why this machine cannot make object code for the target; None when it can."""
        return None

    def statistics(self, func: Func, target: Target) -> Sequence[Statistics]:
        """Return what is known of the code before it runs, a value for each kernel."""
        hint = "build for a GPU: schedule.build('cuda')"
        raise BuildError("build.statistics", f"Code in {self.language} has no statistics.", (self.name,), hint)

    def takes_cores(self, target: Target) -> bool:
        """Whether its kernels run on the cores of this machine, as compilers do."""
        return True

    def run_problem(self, target: Target) -> WorkbenchError | None:
        """Say why this machine cannot build and run a kernel for the target; None when it can."""
        try:
            target.require_here()
        except TargetError as error:
            return error
        return self.compiler_problem(target)


_B = TypeVar("_B", bound=type[Backend])


class _Backends(Declarations[Backend]):
    """All backends by name."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds of targets that some backend serves."""
        return tuple(dict.fromkeys(b.kind for b in self))


backends = _Backends("backend", "backends", "backend.unknown", TargetError, f"{__package__}.targets")


def backend(cls: _B) -> _B:
    """Declare a backend; for use as a decorator of its class."""
    backends.add(cls())
    return cls


def backend_for(target: Target) -> Backend:
    """Return the backend that serves a target; `TargetError` "target.backend" where none does."""
    for candidate in backends:
        if candidate.serves(target):
            return candidate
    served = sorted({a for b in backends if b.kind == target.kind for a in b.arches or ()})
    raise TargetError(
        "target.backend",
        f"No code generator of kind {target.kind!r} serves {target.arch!r}; there is one for {', '.join(served)}.",
        (target.triple,),
        "the kind 'c' serves every machine that has a C compiler: c -mtriple=…",
    )


def backends_here() -> list[dict[str, object]]:
    """Say of every backend what it can do on this machine.

    Returns
    -------
    list of dict
        JSON-ready: ``name title kind arches`` (None for all), ``runs`` (builds and runs kernels for this machine),
        ``compiles`` (makes object code and assembly, here or for another machine) and ``reason`` where it does not run.
    """
    out: list[dict[str, object]] = []
    for b in backends:
        here = Target(b.kind)
        other = f"{b.kind} -mtriple={(b.arches or ('',))[0]}-unknown-linux-gnu -mcpu=generic"
        target = here if b.serves(here) else Target(other)
        problem = b.run_problem(target)
        compiles = b.compiler_problem(target) is None
        reason = "" if problem is None else problem.message
        out.append({"name": b.name, "title": b.title, "kind": b.kind, "arches": list(b.arches) if b.arches else None,
                    "runs": problem is None, "compiles": compiles, "reason": reason})  # fmt: skip
    return out


def require_compilable(target: Target) -> None:
    """Raise what keeps this machine from building kernels for a processor, whether or not it can run them.

    Raises
    ------
    TargetError
        "target.host" when the code can only be made on the machine itself, "target.backend".
    BuildError
        "build.compiler" when the backend needs a compiler that is not there.
    """
    backend = backend_for(target)
    problem = backend.compiler_problem(target) if backend.self_contained else backend.run_problem(target)
    if problem:
        raise problem


def require_runnable(target: Target) -> None:
    """Raise what keeps this machine from building and running kernels for the target.

    Raises
    ------
    TargetError
        "target.host" when the machine lacks what the target has, "target.backend".
    BuildError
        "build.compiler" when the backend needs a compiler that is not there.
    """
    if problem := backend_for(target).run_problem(target):
        raise problem


def _build_kernel(kernel: KernelFunction, target: Target, symbol: str) -> ObjectCode:
    """Generate object code for a runtime kernel, through LLVM whatever the kind of the target."""
    machine = target if target.kind == "llvm" else Target.host(target.threads)
    backend = backend_for(machine)
    text, shared, per_thread = backend.emit_kernel(kernel, machine, symbol)
    return ObjectCode(backend.compile(text, machine), symbol, text, kernel.params, shared, per_thread)


def generate_func(func: Func, target: Target, symbol: str = "kernel", poison: bool = False) -> ObjectCode:
    """Generate the text for a concrete function and compile nothing; parameters and errors as for `build_func`."""
    if not _SYMBOL.fullmatch(symbol):
        raise BuildError(
            "build.symbol",
            f"{symbol!r} cannot be the name of a function.",
            (symbol,),
            "ASCII letters, digits and underscores, no digit at the beginning",
        )
    text, shared, per_thread = backend_for(target).emit(func, target, symbol, poison)
    return ObjectCode(b"", symbol, text, params_of(func), shared, per_thread)


def build_func(func: Func | KernelFunction, target: Target, symbol: str = "kernel", poison: bool = False) -> ObjectCode:
    """Generate object code for a concrete function.

    Parameters
    ----------
    func : Func or KernelFunction
        Scheduled or not; no open holes.
    target : Target
        Machine to generate for; its kind and architecture choose the backend.
    symbol : str
        Name of the entry point: an identifier.
    poison : bool
        Fill stack temporaries with NaN first, so that a read before a write shows (for tests).

    Raises
    ------
    TargetError
        "target.backend" when no backend serves the target.
    BuildError
        "build.holes" when a number is still open; "build.symbol"; "build.too_large", "build.llvm"; "build.compiler" and
        "build.c" of the C backend.
    """
    if isinstance(func, KernelFunction):
        return _build_kernel(func, target, symbol)
    code = generate_func(func, target, symbol, poison)
    image = backend_for(target).compile(code.source, target)
    return ObjectCode(image, symbol, code.source, code.params, code.shared_bytes, code.per_thread_bytes)
