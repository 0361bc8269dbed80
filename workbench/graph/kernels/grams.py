"""Counts of short runs of numbers, as texts are described by their words."""

from __future__ import annotations

import math

from workbench.codegen.runtime_kernels.language import Code, Number
from workbench.codegen.runtime_kernels.module import KernelEmitter


def counted_grams(k: KernelEmitter, longest: int, skips: int, mode: str) -> None:
    """How often each known run occurs in a row, with up to `skips` numbers left out between two of its own.

    Inputs are the rows, the numbers of all runs one after the other, ``[runs, 3]`` of length, place there and column of
    the result, and the weight of each column.
    """
    shape, columns = k.shape("in0"), k.shape("out0")[-1]
    length, runs = shape[-1], k.shape("in2")[0]

    def row(code: Code, number: Number) -> None:
        x, y, known = code.array("in0").at(number * length), code.array("out0").at(number * columns), code.array("in2")
        with code.loop(columns) as j:
            y[j] = 0.0
        with code.loop(runs) as run:
            size, run_of = known[run * 3], code.array("in1").at(known[run * 3 + 1])
            count = code.variable(0, "float32")
            steps = size.eq(1).select(2, code.number(skips + 2))
            with code.loop(steps, 1) as step, code.loop(length - (size - 1) * step) as start:
                same, i = code.variable(1, "bool"), code.variable(0)
                with code.repeat(lambda: same.now & (i.now < size)):
                    same.set(x[start + i.now * step].to("int64").eq(run_of[i.now]))
                    i.set(i.now + 1)
                with code.when(same.now):
                    count.set(count.now + 1.0)
            column = known[run * 3 + 2]
            found = count.now
            if mode != "TF":
                weight = code.array("in3")[column]
                found = (found > 0.0).select(weight, 0.0) if mode == "IDF" else found * weight
            y[column] = found

    k.rows(math.prod(shape[:-1]), row, runs * length * (skips + 1) * min(longest, 2))
