"""Determinants by elimination."""

from __future__ import annotations

import math

from workbench.codegen.runtime_kernels.language import Code, Number
from workbench.codegen.runtime_kernels.module import KernelEmitter


def determinants(k: KernelEmitter) -> None:
    """Determinant of each matrix, in float64, with the largest element of a column as its pivot."""
    *many, n, _ = k.shape("in0")
    k.scratch("matrix", n * n, "float64")

    def one(code: Code, number: Number) -> None:
        x, m, det = code.array("in0").at(number * (n * n)), code.array("matrix"), code.variable(1, "float64")
        with code.loop(n * n) as i:
            m[i] = x[i].to("float64")
        with code.loop(n) as p:
            best = code.variable(p)
            with code.loop(n, p + 1) as r, code.when(m[r * n + p].apply("abs") > m[best.now * n + p].apply("abs")):
                best.set(r)
            with code.when(best.now.ne(p)):
                det.set(-det.now)
                with code.loop(n) as j:
                    one, other = m[p * n + j], m[best.now * n + j]
                    m[p * n + j] = other
                    m[best.now * n + j] = one
            pivot = m[p * n + p]
            det.set(det.now * pivot)
            with code.when(pivot.ne(0.0)), code.loop(n, p + 1) as r:
                factor = m[r * n + p] / pivot
                with code.loop(n, p + 1) as j:
                    m[r * n + j] = m[r * n + j] - factor * m[p * n + j]
        y = code.array("out0")
        y[number] = det.now.to(y.dtype)

    k.rows(math.prod(many), one, n * n * n)
