"""Values of one LLVM function as text: operands with their types, constants."""

from __future__ import annotations

import functools
import math
import struct
from dataclasses import dataclass

import numpy as np

from workbench.ir.dtypes import is_float

LLVM_TYPE = {
    "float32": "float",
    "float64": "double",
    "float16": "half",
    # Bits: every machine can widen and round them with integer operations, few have more.
    "bfloat16": "i16",
    "int8": "i8",
    "uint8": "i8",
    "int16": "i16",
    "uint16": "i16",
    "int32": "i32",
    "uint32": "i32",
    "int64": "i64",
    "uint64": "i64",
    "bool": "i1",
    "ptr": "ptr",
}


@dataclass(frozen=True, slots=True)
class Value:
    """An SSA value or literal: `text` as an operand, element type, number of lanes, scope depth where it exists."""

    text: str
    dtype: str
    lanes: int = 1
    depth: int = 0

    @property
    def type(self) -> str:
        """LLVM type."""
        scalar = LLVM_TYPE[self.dtype]
        return scalar if self.lanes == 1 else f"<{self.lanes} x {scalar}>"

    @property
    def typed(self) -> str:
        """``type text``, as an operand with its type."""
        return f"{self.type} {self.text}"

    @property
    def is_float(self) -> bool:
        """Whether the element type is a floating-point type."""
        return is_float(self.dtype)


def literal(value: float | int | bool, dtype: str, lanes: int = 1) -> Value:
    """A constant; vectors are splats."""
    if value != value:
        value = math.nan  # there is one, so that its text tells it; the sign of what was computed is dropped
    # The sign is part of the question: 0.0 and -0.0 are equal.
    return _literal(value, dtype, lanes, math.copysign(1.0, value) if value == 0 else 0.0)


@functools.lru_cache(maxsize=1024, typed=True)
def _literal(value: float | int | bool, dtype: str, lanes: int, _sign: float) -> Value:
    if dtype == "float64":
        text = "0x" + struct.pack(">d", float(value)).hex().upper()
    elif dtype.startswith("float"):
        text = "0x" + struct.pack(">d", float(np.dtype(dtype).type(value))).hex().upper()
    elif dtype == "bfloat16":
        text = str(int(np.asarray(value, dtype).view("uint16")))
    elif dtype == "bool":
        text = "true" if value else "false"
    else:
        text = str(int(value))
    if lanes > 1:
        text = f"splat ({LLVM_TYPE[dtype]} {text})"
    return Value(text, dtype, lanes)


def index(value: int) -> Value:
    """An i64 constant."""
    return Value(str(value), "int64")


def const_of(v: Value) -> int | None:
    """The int that a constant i64 stands for."""
    return None if v.text.startswith("%") else int(v.text)
