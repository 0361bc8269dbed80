"""One example for each primitive: what its entry shows the nest before and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from workbench import workloads
from workbench.schedule import Schedule
from workbench.schedule.primitive import Primitive, registry

#: A step as its name and arguments.
Step = tuple[str, *tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Example:
    """A ready-made computation, the steps that prepare it, and the step that is shown.

    Attributes
    ----------
    workload : str
        The call, by its name and numbers.
    numbers : tuple of int
    options : dict
        Keyword arguments of the workload.
    before : sequence of steps
    step : step
    """

    workload: str
    numbers: tuple[int, ...]
    step: Step
    before: Sequence[Step] = ()
    options: tuple[tuple[str, bool], ...] = ()

    def schedules(self) -> tuple[Schedule, Schedule]:
        """Return the schedules before and after the step."""
        func = getattr(workloads, self.workload)(*self.numbers, **dict(self.options))
        first = Schedule(func)
        for step in self.before:
            first.apply(_made(step))
        second = first.copy()
        second.apply(_made(self.step))
        return first, second

    def source(self) -> str:
        """Return the lines of Python that make the schedule after the step."""
        arguments = [*map(str, self.numbers), *(f"{name}={value}" for name, value in self.options)]
        lines = ["import workbench as wb", "", f"s = wb.Schedule(wb.workloads.{self.workload}({', '.join(arguments)}))"]
        steps = (_made(step).to_python().replace("'", '"') for step in (*self.before, self.step))
        return "\n".join([*lines, *steps])


def _made(step: Step) -> Primitive:
    name, *arguments = step
    return registry[name].make(*arguments)


_CONSTANT = (("constant_b", True),)
_RELU = (("relu", True),)
_TILED: tuple[Step, ...] = (
    ("split", "i", [None, 8]),
    ("split", "j", [None, 16]),
    ("reorder", "i.0", "j.0", "i.1", "j.1", "k"),
)
_CACHED: tuple[Step, ...] = (*_TILED, ("cache_write", "C"), ("reverse_compute_at", "C.copy", "j.0"))
_FETCHED: tuple[Step, ...] = (
    ("split", "k", [None, 8]),
    ("reorder", "k.0", "i", "j", "k.1"),
    ("cache_read", "C", "B"),
    ("compute_at", "B.copy", "k.0"),
    ("set_scope", "B.local", "shared"),
)
_PANELS: tuple[Step, ...] = (("split", "j", [None, 16]), ("reorder", "i", "j.0", "k", "j.1"))
_DOT: tuple[Step, ...] = (
    ("split", "j", [None, 16]),
    ("split", "k", [None, 4]),
    ("reorder", "i", "j.0", "k.0", "j.1", "k.1"),
    ("transform_layout", "B", 1, 16),
    ("transform_layout", "B", 1, 4, "here"),
)

EXAMPLES: dict[str, Example] = {
    "parallel": Example("matmul", (64, 64, 64), ("parallel", "i")),
    "vectorize": Example("matmul", (64, 64, 64), ("vectorize", "j"), [("reorder", "i", "k", "j")]),
    "unroll": Example("matmul", (64, 64, 64), ("unroll", "k.1"), [("split", "k", [None, 4])]),
    "annotate": Example("matmul", (64, 64, 64), ("annotate", "k", "prefetch", 4)),
    "bind": Example("matmul", (64, 64, 64), ("bind", "i", "blockIdx.x")),
    "blockize": Example("matmul", (64, 64, 64), ("blockize", "k")),
    "cache_write": Example("matmul", (64, 64, 64), ("cache_write", "C")),
    "cache_read": Example("matmul", (64, 64, 64), ("cache_read", "C", "B")),
    "compute_at": Example("conv2d_nhwc", (16, 16, 8, 8), ("compute_at", "pad", "h")),
    "reverse_compute_at": Example("matmul", (64, 64, 64), ("reverse_compute_at", "relu", "i"), options=_RELU),
    "compute_inline": Example("conv2d_nhwc", (16, 16, 8, 8), ("compute_inline", "pad")),
    "reverse_compute_inline": Example("dense", (64, 64, 64), ("reverse_compute_inline", "relu"), options=_RELU),
    "fuse": Example("elementwise", (64, 64), ("fuse", "i", "j")),
    "reorder": Example("matmul", (64, 64, 64), ("reorder", "i", "k", "j")),
    "pipeline": Example("matmul", (64, 64, 64), ("pipeline", "k.0"), _FETCHED),
    "pad": Example("matmul", (60, 64, 64), ("pad", "C", "i", 64)),
    "decompose_reduction": Example("matmul", (64, 64, 64), ("decompose_reduction", "C", "i")),
    "rfactor": Example("reduce", (16, 4096), ("rfactor", "k.0"), [("split", "k", [8, None])]),
    "split": Example("matmul", (64, 64, 64), ("split", "i", [None, 8])),
    "tile": Example("matmul", (64, 64, 64), ("tile", "i", "j", [None, 8], [None, 16])),
    "set_scope": Example("matmul", (64, 64, 64), ("set_scope", "C.local", "local"), _CACHED),
    "storage_align": Example("softmax", (64, 64), ("storage_align", "exps", 0, 16, 1)),
    "tensorize": Example("matmul_int8", (16, 32, 64), ("tensorize", "j.1", "x86.vnni.dot4"), _DOT, _CONSTANT),
    "transform_layout": Example("matmul", (64, 64, 64), ("transform_layout", "B", 1, 16), _PANELS, _CONSTANT),
    "winograd": Example("conv2d_nhwc", (16, 16, 8, 8), ("winograd", "conv", 2)),
}
