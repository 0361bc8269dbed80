"""Figures of a function's machine code: bytes, vector registers, and what is kept on the stack for want of them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from workbench.analysis.loop_nest.code_listing import listing
from workbench.codegen.backend import build_func
from workbench.codegen.device_image import unwrapped
from workbench.errors import InputError
from workbench.ir import Func
from workbench.target import Target

#: Names of vector registers, of which the number is what tells them apart, and an operand on the stack.
_WRITTEN = {
    "x86_64": (re.compile(r"%[xyz]mm(\d+)"), re.compile(r"\(%r[sb]p\)")),
    "aarch64": (re.compile(r"\b[vzq](\d+)(?:\.|\b)"), re.compile(r"\[(?:sp|x29)\b")),
}


@dataclass(frozen=True, slots=True)
class CodeFigures:
    """What machine code is like.

    Attributes
    ----------
    nbytes : int
        Of all instructions.
    instructions : int
    registers : int or None
        Vector registers that occur; None for a machine whose assembly is not known here.
    spills : int or None
        Instructions that move a vector register to the stack or take an operand from there, or None. Elements of arrays
        on the stack, which an index picks, do not count.
    """

    nbytes: int
    instructions: int
    registers: int | None
    spills: int | None


def code_figures(func: Func, target: Target) -> CodeFigures:
    """Compile a function and look at its code.

    Parameters
    ----------
    func : Func
        Without open numbers.
    target : Target

    Raises
    ------
    WorkbenchError
        As `build_func`, and "code.kind" for what is no machine code of a processor.
    """
    from workbench.codegen.llvm.llvmlite_binding import code_bytes  # it costs 60 ms

    found = build_func(func, target)
    if unwrapped(found.object)[0]:
        raise InputError("code.kind", "Kernels of a device are no machine code of a processor", (target.kind,))
    lines = [line.text for line in listing(func, "asm", target).lines]
    code = [text for text in lines if text[:1].isspace()]
    written = _WRITTEN.get(target.arch)
    if written is None:
        return CodeFigures(code_bytes(found.object), len(code), None, None)
    names, stack = written
    vectors = [(text, names.findall(text)) for text in code]
    registers = len({number for _, numbers in vectors for number in numbers})
    spills = sum(1 for text, numbers in vectors if numbers and stack.search(text))
    return CodeFigures(code_bytes(found.object), len(code), registers, spills)
