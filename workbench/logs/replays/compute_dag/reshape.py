"""A compute DAG with inputs of other sizes."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from workbench.logs.replays.compute_dag.extents import guards, linear
from workbench.logs.replays.compute_dag.grammar import Call, Compute, Dag, Name, Number, Placeholder, Read, Stage, Term


def reshaped(dag: Dag, numbers: Sequence[int]) -> Dag | None:
    """Give the inputs other shapes; paddings follow, as wide behind as in front.

    Parameters
    ----------
    dag : Dag
    numbers : sequence of int
        Shapes of the inputs and of the output, one after the other, each with as many dimensions as in `dag`.

    Returns
    -------
    Dag or None
        None where the numbers are no such shapes, or a padding does not follow from them.
    """
    last = dag.stages[-1]
    rest = list(numbers)
    shapes: dict[str, tuple[int, ...]] = {}
    for p in dag.placeholders:
        shapes[p.name] = tuple(rest[: len(p.shape)])
        del rest[: len(p.shape)]
    if not isinstance(last, Compute) or len(rest) != len(last.axes) or min(numbers, default=0) < 1:
        return None
    stages: list[Stage] = []
    for stage in dag.stages:
        if isinstance(stage, Placeholder):
            stages.append(dataclasses.replace(stage, shape=shapes[stage.name]))
            continue
        moved = _padding(dag, stage, shapes, rest)
        if moved is None:
            return None
        stages.append(moved)
    return Dag(tuple(stages), dag.key)


def _padding(dag: Dag, stage: Compute, shapes: Mapping[str, tuple[int, ...]], output: Sequence[int]) -> Compute | None:
    """The stage with the conditions and offsets of its padding for the new sizes."""
    kept = guards(stage.value)
    new: dict[str, tuple[int, int]] = {}
    for axis in kept:
        read = next((r for r in stage.reads if r.stage in shapes), None)
        dim = stage.axes.index(axis)
        reach = _reach(dag, stage.name, dim, shapes, output)
        if read is None or reach is None:
            return None
        size = shapes[read.stage][dim]
        before = max(-(-(reach - size) // 2), 0)
        new[axis] = (before, before + size)
    return dataclasses.replace(stage, value=_with_limits(stage.value, kept, new)) if new else stage


def _reach(dag: Dag, name: str, dim: int, shapes: Mapping[str, tuple[int, ...]], output: Sequence[int]) -> int | None:
    """How far the readers of a stage go along a dimension: by the output's size, and by the weights' for a kernel."""
    for reader in (s for s in dag.stages if isinstance(s, Compute)):
        for read in reader.reads:
            form = linear(read.index[dim]) if read.stage == name else None
            if form is None or form[1]:
                continue
            total = 1
            for axis, factor in form[0].items():
                if axis in reader.axes:
                    place = reader.axes.index(axis)
                    extent: int | None = output[place] if place < len(output) else None
                else:
                    extent = _kernel(reader, axis, shapes)
                if extent is None:
                    return None
                total += factor * (extent - 1)
            return total
    return None


def _kernel(reader: Compute, axis: str, shapes: Mapping[str, tuple[int, ...]]) -> int | None:
    """Extent of a reduction, by an input that it alone indexes."""
    for read in reader.reads:
        for dim, index in enumerate(read.index):
            if read.stage in shapes and index == Name(axis):
                return shapes[read.stage][dim]
    return None


def _with_limits(term: Term, old: Mapping[str, tuple[int, int]], new: Mapping[str, tuple[int, int]]) -> Term:
    """A padding's value with other limits, and what is read moved by the lower one."""
    match term:
        case Call(">=", (Name(axis), Number())) if axis in new:
            return Call(">=", (Name(axis), Number(new[axis][0])))
        case Call("<", (Name(axis), Number())) if axis in new:
            return Call("<", (Name(axis), Number(new[axis][1])))
        case Call("-", (Name(axis), Number(value))) if axis in new and value == old[axis][0]:
            return Call("-", (Name(axis), Number(new[axis][0])))
        case Call(name, args):
            return Call(name, tuple(_with_limits(t, old, new) for t in args))
        case Read(stage, index):
            return Read(stage, tuple(_with_limits(t, old, new) for t in index))
    return term
