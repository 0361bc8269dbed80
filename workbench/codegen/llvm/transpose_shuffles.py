"""Shuffles: lanes of two vectors, and transposing a square tile of vectors."""

from __future__ import annotations

from workbench.codegen.llvm.builder import FunctionBuilder
from workbench.codegen.llvm.values import Value


def transposed(fb: FunctionBuilder, rows: list[Value], column: int) -> Value:
    """Lane l of the result is lane `column` of row l; there are as many rows as lanes, a power of two.

    Each stage swaps the two squares off the diagonal in squares of twice the size. Only the shuffles that this column
    needs are emitted, and equal ones once, so that all columns together cost one shuffle for each row and stage.
    """
    count = len(rows)

    def after(stage: int, row: int) -> Value:
        """Row of the tile after the stages whose distance is below `stage`."""
        distance = stage // 2
        if distance == 0:
            return rows[row]
        low, high = row & ~distance, row | distance
        a, b = after(distance, low), after(distance, high)
        shift = distance if row & distance else 0
        # Where the lane's bit is clear from the upper row, else from the lower one.
        picks = [lane + shift if not lane & distance else count + lane - distance + shift for lane in range(count)]
        return joined(fb, a, b, picks)

    return after(count, column)


def joined(fb: FunctionBuilder, a: Value, b: Value, picks: list[int]) -> Value:
    """Lanes of two vectors, of which those of the second have the higher numbers."""
    mask = ", ".join(f"i32 {k}" for k in picks)
    text = f"shufflevector {a.typed}, {b.typed}, <{len(picks)} x i32> <{mask}>"
    return fb.pure(text, a.dtype, len(picks), (a, b))
