"""What `Schedule.build` and `Schedule.measure` do: the runtime's side of `workbench.schedule.hooks`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.codegen import build_func
from workbench.ir.flops import count_flops
from workbench.runtime.kernel import Kernel
from workbench.runtime.measure import measure_func
from workbench.runtime.results import Measurement, MeasureOptions

if TYPE_CHECKING:
    from workbench.ir.func import Func
    from workbench.target import Target


def build(func: Func, original: Func, target: Target | None, poison: bool = False) -> Kernel:
    """Compile a concrete function for `target`, the host by default."""
    del original
    where = _target(target)
    return Kernel(func, build_func(func, where, poison=poison), where)


def measure(func: Func, original: Func, target: Target | None, **options: Any) -> Measurement:
    """Compile, compare with the unscheduled `original`, and time; `options` are those of `MeasureOptions`."""
    return measure_func(func, _target(target), MeasureOptions(**options), original, count_flops(original))


def _target(target: Target | None) -> Target:
    from workbench.target import Target

    return target or Target.host()
