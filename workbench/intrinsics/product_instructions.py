"""Which instruction multiplies numbers of a type, and which types a processor has none for."""

from __future__ import annotations

import math
from collections.abc import Iterable

from workbench.intrinsics.declaration import Intrinsic, registry
from workbench.ir.product_type import product_type
from workbench.memoize import remembered_by_value
from workbench.target import Target

#: Types of floating-point numbers that are narrower than float32.
HALVES = ("bfloat16", "float16")


@remembered_by_value(64)
def instruction(target: Target, dtype: str) -> Intrinsic | None:
    """Return the fastest instruction of a target that multiplies numbers of a type and sums the products."""
    fitting = [i for i in registry if product_type(i.func) == dtype and not i.missing(target)]
    return max(fitting, key=lambda i: operations(i) / i.cycles, default=None)


def operations(intrinsic: Intrinsic) -> int:
    """Operations of one call; a multiply-add counts as two."""
    return 2 * math.prod(int(lp.extent) for lp in intrinsic.chain if isinstance(lp.extent, int))


def emulated(target: Target, dtypes: Iterable[str]) -> tuple[str, ...]:
    """Return those of some types of products that a target has no instruction for, each once."""
    return tuple(d for d in dict.fromkeys(dtypes) if d in HALVES and instruction(target, d) is None)
