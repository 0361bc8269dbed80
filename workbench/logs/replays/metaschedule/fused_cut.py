"""Loops that a trace fuses and then cuts in two: cut first and fuse afterwards, where the cut goes between digits."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from workbench.logs.replays.taking import Taking
from workbench.logs.tvm.metaschedule_trace import Instruction


def fused_and_cut(instructions: Sequence[Instruction]) -> Mapping[str, Instruction]:
    """Return for each fused loop that is only cut in two, an open factor and a number, the instruction that cuts it."""
    used: dict[str, list[Instruction]] = {}
    for one in instructions:
        for name in one.inputs:
            if isinstance(name, str):
                used.setdefault(name, []).append(one)
    found = {}
    for one in instructions:
        if one.kind != "Fuse" or len(one.inputs) < 2 or len(one.outputs) != 1:
            continue
        users = used.get(one.outputs[0], [])
        if len(users) == 1 and users[0].kind == "Split" and len(users[0].inputs) == 3:
            cut = users[0]
            if cut.inputs[1] in (None, "None") and isinstance(cut.inputs[2], int) and cut.inputs[2] > 0:
                found[one.outputs[0]] = cut
    return found


def cut_together(taking: Taking, loops: Sequence[str], inner: int) -> tuple[str, str]:
    """Make two loops of several: the second has `inner` iterations, or as many as divide the loop that is cut.

    The iterations run in the order in which the fused loop would run them.

    Returns
    -------
    outside, inside : str
    """
    rest, place = inner, len(loops) - 1
    while place > 0 and rest % taking.extent(loops[place]) == 0:
        rest //= taking.extent(loops[place])
        place -= 1
    extent = taking.extent(loops[place])
    size = math.gcd(rest, extent)
    if size != rest:
        made = inner // rest * size
        taking.note(
            f"a fused loop is cut into pieces of {made} and not {inner}, which would go through the middle of rows"
        )
    first, second = taking.do("split", loops[place], [extent // size, size])
    outside, inside = [*loops[:place], first], [second, *loops[place + 1 :]]
    return _fused(taking, outside), _fused(taking, inside)


def _fused(taking: Taking, loops: Sequence[str]) -> str:
    return loops[0] if len(loops) == 1 else str(taking.do("fuse", *loops))
