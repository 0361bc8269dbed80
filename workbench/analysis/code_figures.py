"""Figures of a function's machine code: bytes, vector registers, and what loops keep on the stack for want of them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from workbench.analysis.loop_nest.code_listing import listing
from workbench.analysis.loop_nest.machine_loops import innermost
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
    spilled : tuple of (str, int), or None
        For each innermost loop that has some, the row of the nest and how many instructions of one iteration move a
        vector register to the stack or take an operand from there, most first; without any loop, of the whole code,
        whose row is "". What is put aside around these loops costs little. Elements of arrays on the stack, which an
        index picks, do not count. None where `registers` is.
    scalar_spills : int or None
        The most that one innermost loop has of other operands on the stack: addresses and counters for which there were
        too few registers; without any loop, those of the whole code.
    """

    nbytes: int
    instructions: int
    registers: int | None
    spilled: tuple[tuple[str, int], ...] | None
    scalar_spills: int | None = None

    @property
    def spills(self) -> int | None:
        """The most that one loop has."""
        return None if self.spilled is None else max((n for _, n in self.spilled), default=0)


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
    lines = listing(func, "asm", target).lines
    code = [line.text for line in lines if line.text[:1].isspace()]
    written = _WRITTEN.get(target.arch)
    if written is None:
        return CodeFigures(code_bytes(found.object), len(code), None, None)
    names, stack = written
    registers = len({number for text in code for number in names.findall(text)})
    spilled: dict[str, int] = {}
    scalar = 0
    for row, body in [(one.row, one.lines) for one in innermost(lines)] or [("", lines)]:
        count = sum(1 for line in body if stack.search(line.text) and names.search(line.text))
        scalar = max(scalar, sum(1 for line in body if stack.search(line.text)) - count)
        if count > spilled.get(row, 0):  # the rest of a loop is a loop, too
            spilled[row] = count
    most_first = tuple(sorted(spilled.items(), key=lambda one: -one[1]))
    return CodeFigures(code_bytes(found.object), len(code), registers, most_first, scalar)
