"""Types of arguments and results in LLVM text.

RISC-V wants a number of 32 bits in a register with its sign in all of them, and LLVM sees to that where it is told.
"""

from __future__ import annotations


def passed(type_: str, riscv: bool) -> str:
    """An argument's type."""
    return "i32 signext" if riscv and type_ == "i32" else type_


def returned(type_: str, riscv: bool) -> str:
    """A result's type."""
    return "signext i32" if riscv and type_ == "i32" else type_
