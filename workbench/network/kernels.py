"""The kernels of a network: each is scheduled, by a log or by default, and compiled once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from workbench.codegen.backend import backend_for
from workbench.codegen.runtime_kernels.declaration import KernelFunction
from workbench.graph.group import Group
from workbench.ir import Func
from workbench.ir.in_place import overwritable
from workbench.ir.parameter_strides import widen
from workbench.log import Database
from workbench.log.replay import schedule_of
from workbench.log.similar_tasks import differences
from workbench.network.adapted_schedule import borrow
from workbench.network.code_cache import code_cache
from workbench.network.kernel_builder import KernelBuilder
from workbench.runtime.kernel import logical_shape
from workbench.space.default_schedule import default_schedule
from workbench.target import Target

if TYPE_CHECKING:
    from workbench.codegen.lowering import ObjectCode

#: Task key, and for each parameter the shape of the larger array that its elements lie in (None: they lie alone).
Variant: TypeAlias = tuple[str, tuple[tuple[int, ...] | None, ...]]


@dataclass(frozen=True, slots=True)
class Kernels:
    """The kernels of a network, each once.

    Attributes
    ----------
    funcs : dict of Variant to Func or KernelFunction
        Scheduled functions, by task key and by how far apart the rows of their parameters lie, and runtime kernels.
    codes : dict of Variant to ObjectCode
        The same, compiled.
    untuned : dict of str to str
        Task key -> description, of the tasks that have their default schedule.
    reuses : dict of Variant to tuple of (int, int)
        Positions of an operand and of the result that the kernel may write over it.
    borrowed : dict of str to (str, str)
        Task key -> description, and where the schedule comes from, of the tasks that have that of another machine, or
        (adapted) of another task.
    """

    funcs: dict[Variant, Func | KernelFunction]
    codes: dict[Variant, ObjectCode]
    untuned: dict[str, str]
    reuses: dict[Variant, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    borrowed: dict[str, tuple[str, str]] = field(default_factory=dict)


def make_kernels(groups: Sequence[Group], database: Database, target: Target, nearest: bool = False) -> Kernels:
    """Schedule and compile every distinct kernel once."""
    scheduled: dict[str, Func] = {}
    funcs: dict[Variant, Func | KernelFunction] = {}
    untuned: dict[str, str] = {}
    borrowed: dict[str, tuple[str, str]] = {}
    expected = len({variant_of(g) for g in groups if g.key})
    with KernelBuilder(target, cache=code_cache(target), expected=expected) as builder:
        for group in groups:
            if group.kernel is not None and variant_of(group) not in funcs:
                funcs[variant_of(group)] = group.kernel
                builder.add(group.kernel)
            if group.func is None or variant_of(group) in funcs:
                continue
            if group.key in scheduled:
                pass
            elif (record := database.best(group.key, str(target))) is not None:
                scheduled[group.key] = schedule_of(group.func, record).func
                if record.target != str(target):
                    apart = differences(record.target, str(target))
                    borrowed[group.key] = group.description, f"trial {record.trial} was measured for {apart}"
            elif nearest and (other := borrow(group, database, target)) is not None:
                scheduled[group.key] = other.schedule.func
                borrowed[group.key] = group.description, other.how
            else:
                scheduled[group.key] = default_schedule(group.func, target).func
                untuned[group.key] = group.description
            funcs[variant_of(group)] = func = _widened(scheduled[group.key], variant_of(group))
            builder.add(func)
        codes = builder.codes()
    overlaps = backend_for(target).overlaps
    reuses = {variant: _overwritten(func, overlaps) for variant, func in funcs.items()}
    return Kernels(funcs, dict(zip(funcs, codes, strict=True)), untuned, reuses, borrowed)


def _overwritten(func: Func | KernelFunction, overlaps: bool) -> tuple[tuple[int, int], ...]:
    """Positions of an operand and of the result that may lie over it; `overlaps`: whether nests may do so."""
    if isinstance(func, KernelFunction):
        return func.reuses
    return overwritable(func) if overlaps else ()


def variant_of(group: Group) -> Variant:
    """Return which kernel a group needs."""
    wide: list[tuple[int, ...] | None] = []
    for (_, tensor), buffer in zip(group.args, group.func.params, strict=True) if group.func else ():
        spot = group.spots.get(tensor)
        wide.append(None if spot is None else spot.widened(logical_shape(buffer)))
    return group.key, tuple(wide)


def _widened(func: Func, variant: Variant) -> Func:
    """Let a kernel read and write parts of larger tensors."""
    for buffer, shape in zip(func.params, variant[1], strict=True):
        if shape is not None:
            func = widen(func, buffer.name, shape)
    return func
