"""Loops in the assembly of a kernel: from a label to the jump back to it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from workbench.analysis.loop_nest.code_listing import Line

_LABEL = re.compile(r"^\s*([.\w$]+):")
_JUMP = re.compile(r"^\s*(j[a-z]+|b(?:\.?[a-z]{2})?|cbnz|tbnz)\s+(?:\w+,\s*)*([.\w$]+)\s*$")
_STEP = re.compile(r"^\s*(?:addq\s+\$(\d+),|leaq\s+(\d+)\(%\w+\),|incq)\s*(%\w+)")
_LIMIT = re.compile(r"^\s*cmpq\s+\$(\d+),\s*(%\w+)")
_DIRECTIVE = re.compile(r"^\s*(\.\w+|#|//)")


@dataclass(frozen=True, slots=True)
class MachineLoop:
    """A loop without another one inside.

    Attributes
    ----------
    first : int
        Number of the line with its label in the listing, from 0.
    lines : tuple of Line
        From the label to the jump.
    row : str
        Row of the nest whose loop it is.
    trips : int or None
        Jumps of one run and one more, where the code says them: a counter from 0 by a step to a limit.
    """

    first: int
    lines: tuple[Line, ...]
    row: str
    trips: int | None

    @property
    def instructions(self) -> tuple[int, ...]:
        """Numbers of the lines that are instructions, from 0 within the loop."""
        return tuple(k for k, line in enumerate(self.lines) if is_instruction(line.text))


def is_instruction(text: str) -> bool:
    """Whether a line of assembly is an instruction: no label, directive or remark."""
    return bool(text.strip()) and not _LABEL.match(text) and not _DIRECTIVE.match(text)


def innermost(lines: Sequence[Line]) -> list[MachineLoop]:
    """Return the loops without another one inside, in the order of the code."""
    labels: dict[str, int] = {}
    found: list[tuple[int, int]] = []
    for k, line in enumerate(lines):
        if label := _LABEL.match(line.text):
            labels[label[1]] = k
        elif (jump := _JUMP.match(line.text)) and jump[2] in labels:
            found.append((labels[jump[2]], k))
    inner = [(a, b) for a, b in found if not any((a, b) != (c, d) and a <= c and d <= b for c, d in found)]
    return [_loop(lines, a, b) for a, b in dict.fromkeys(inner)]


def _loop(lines: Sequence[Line], first: int, last: int) -> MachineLoop:
    body = tuple(lines[first : last + 1])
    return MachineLoop(first, body, body[-1].row, _trips(body))


def _trips(body: Sequence[Line]) -> int | None:
    steps = {m[3]: int(m[1] or m[2] or 1) for line in body if (m := _STEP.match(line.text))}
    for line in body:
        if (m := _LIMIT.match(line.text)) and m[2] in steps and int(m[1]) % steps[m[2]] == 0:
            return int(m[1]) // steps[m[2]]
    return None
