"""Examples of operators: pointwise."""

from __future__ import annotations

import numpy as np
from graph.examples.case import Case, cases, sample

from workbench.graph.graph import AttrValue
from workbench.graph.ops.nn.activations import Gelu
from workbench.graph.ops.pointwise import Pointwise


@cases.register
def _pointwise(op: Pointwise) -> list[Case]:
    a, b = (sample(2, 3, 4, seed=k, low=op.low) for k in (0, 1))
    column = sample(3, 1, low=op.low)
    if op.boolean:
        a, b, column = a > 0, b > 0, column > 0
    elif op.result:  # a comparison, or a test for what is no number
        a[0, 0, 0], a[1, 1, 1], a[0, 1, 0], b[1, 0] = np.nan, np.inf, np.nan, a[1, 0]
    if op.arity == 1:
        other = {name: 0.6 * value + 0.1 for name, value in op.numbers.items()}
        images = sample(1, 4, 3, 2, low=op.low)
        found = [Case("3d", (a * 3 if op.fractions else a,)), Case("other", (b,), other)]
        return found if op.boolean else [*found, Case("4d", (images,))]
    found = [Case("same", (a, b)), Case("both ways", (a[:, :1], column))]
    if not op.boolean:
        found.append(Case("trailing", (a, sample(4, low=op.low)), const=(1,)))
        found.append(Case("scalar", (a, np.array(1.5, np.float32)), const=(1,)))
    if op.result and not op.boolean:
        found.append(Case("ints", (np.array([1, -2, 3]), np.array([1, 2, -3]))))
    return [*found, Case("one", (a,)), Case("three", (a, b, column))] if op.variadic else found


@cases.register
def _gelu(op: Gelu) -> list[Case]:
    forms: list[dict[str, AttrValue]] = [{}, {"approximate": "none"}, {"approximate": "tanh"}]
    return [Case(f"form {k}", (sample(2, 3, 4) * 3,), attrs, version=20) for k, attrs in enumerate(forms)]
