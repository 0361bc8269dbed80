"""Declarations: which function of which dtype, how exact, and what emits it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from workbench.codegen.llvm.values import Value
from workbench.codegen.llvm.vmath.operations import Ops

Emit = Callable[..., Value]


@dataclass(frozen=True, slots=True)
class MathFunction:
    """One function of one dtype.

    Attributes
    ----------
    op : str
        Operator of the IR.
    dtype : str
        Of operands and result.
    ulp : float
        Largest error over the whole range, denormal arguments and results included, in units in the last place of the
        correct result; 0 where results are exact.
    emit : callable
        Receives `Ops` and the operands.
    note : str
        What else is promised, or not.
    flushes : bool
        Whether results of less than four times the least normal number may be 0, on machines without AVX-512.
    """

    op: str
    dtype: str
    ulp: float
    emit: Callable[..., Value]
    note: str = ""
    flushes: bool = False

    def __call__(self, m: Ops, *operands: Value) -> Value:
        return self.emit(m, *operands)


#: Every declared function by operator and dtype.
DECLARED: dict[tuple[str, str], MathFunction] = {}


def function(op: str, note: str = "", *, flushes: bool = False, **ulp: float) -> Callable[[Emit], Emit]:
    """Declare the decorated emitter for the dtypes given as keywords, each with its error in ULP."""

    def declare(emit: Emit) -> Emit:
        for dtype, error in ulp.items():
            DECLARED[op, dtype] = MathFunction(op, dtype, error, emit, note, flushes)
        return emit

    return declare
