"""Steps of a network that are not compiled."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.graph.evaluation import evaluate
from workbench.graph.graph import Array
from workbench.graph.operator_call import Call


@dataclass(frozen=True, slots=True)
class ReferenceStep:
    """A node that its operator's reference computes; which inputs and outputs there are says `given` and `wanted`."""

    call: Call
    given: tuple[bool, ...]
    wanted: tuple[bool, ...]

    def __call__(self, *arrays: Array) -> tuple[Array, ...]:
        rest = iter(arrays)
        values = evaluate(self.call, *(next(rest) if there else None for there in self.given))
        return tuple(v for there, v in zip(self.wanted, values, strict=False) if there)
