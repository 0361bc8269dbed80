"""Vector math: functions as straight-line arithmetic on any number of lanes, each with a stated error.

LLVM's ``llvm.exp`` and friends become one call of the C library per lane; these stay in vector registers, on every
machine. A function is one declaration (`declarations.MathFunction`): operator, dtype, largest error in ULP over the
whole range, emitter; `DECLARED` has them all, and the tests measure each against its statement. One module per family.

NaN gives NaN and infinities give the limits, everywhere. float16 and bfloat16 compute in float32 and round once more.
"""

from __future__ import annotations

from workbench.codegen.llvm.values import Value
from workbench.codegen.llvm.vmath import error_function, exponential, hyperbolic, logarithm, power, remainder, rounding
from workbench.codegen.llvm.vmath.declarations import DECLARED, MathFunction
from workbench.codegen.llvm.vmath.operations import FORMATS, Ops

__all__ = ["DECLARED", "FORMATS", "HALF_ULP", "MathFunction", "VectorMath"]

_FAMILIES = (error_function, exponential, hyperbolic, logarithm, power, remainder, rounding)
#: Largest error of every declared function in float16 and bfloat16: the rounding, and almost nothing besides.
HALF_ULP = 0.501


class VectorMath(Ops):
    """Emits math functions, and the single operations that they are made of, through a `FunctionBuilder`."""

    def emit(self, op: str, *operands: Value) -> Value:
        """Emit a declared function of operands that have one dtype and one number of lanes."""
        if operands[0].dtype == "float16":
            wide = self.emit(op, *(self.cast("fpext", v, "float32") for v in operands))
            return self.cast("fptrunc", wide, "float16")
        return DECLARED[op, operands[0].dtype](self, *operands)
