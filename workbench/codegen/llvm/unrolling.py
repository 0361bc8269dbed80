"""Copies of a loop's body for the iterations that follow: text for text, with the loop variable moved on.

Emitting a body once and copying its lines is several times faster than emitting it again. What is linear in the loop
variable is not computed again: the addresses of a copy are those of the first body plus a constant, which machines
take as a displacement.
"""

from __future__ import annotations

import re

from workbench.codegen.code_line import Line

#: ``%x = operation``: name and operation of a line.
_DEFINES = re.compile(r"  (%[\w.]+) = (.*)", re.DOTALL)
_NAME = re.compile(r"(%[\w.]+)")
_MUL = re.compile(r"mul nsw i64 (%[\w.]+), (-?\d+)$")
_ADD = re.compile(r"add nsw i64 (%[\w.]+), (-?[%\w.]+)$")
_GEP = re.compile(r"getelementptr (\w+), ptr (@?%?[\w.]+), i64 (-?[%\w.]+)$")
_BYTES = {"i8": 1, "i16": 2, "i32": 4, "i64": 8, "half": 2, "float": 4, "double": 8}


class Body:
    """Lines of a loop's body, to be copied.

    Parameters
    ----------
    lines : list of str
        The body for one iteration, without labels.
    variable : str
        Name of the loop variable.
    """

    def __init__(self, lines: list[str], variable: str) -> None:
        #: Value -> how much it grows with the loop variable; in bytes for addresses.
        self._slopes: dict[str, int] = {variable: 1}
        self._addresses: set[str] = set()
        self._defined: set[str] = set()
        kept = [line for line in lines if not self._linear(line)]
        #: Text and names of each line in turn: names are every second piece.
        self._pieces = [_NAME.split(line) for line in kept]
        self._rows = [line.row for line in kept if isinstance(line, Line)]

    @staticmethod
    def fits(lines: list[str]) -> bool:
        """Whether lines are straight code."""
        return all(line.startswith("  ") and not line.startswith("  br ") for line in lines)

    def _linear(self, line: str) -> bool:
        """Note what a line defines; whether it is a linear function of the loop variable."""
        found = _DEFINES.match(line)
        if found is None:
            return False
        name, text = found.groups()
        slope: int | None = None
        if (m := _MUL.match(text)) and m[1] in self._slopes:
            slope = self._slopes[m[1]] * int(m[2])
        elif m := _ADD.match(text):
            slope = self._slopes.get(m[1], 0) + self._slopes.get(m[2], 0) or None
            if self._defined & {m[1], m[2]}:
                slope = None
        elif (m := _GEP.match(text)) and m[1] in _BYTES and not self._defined & {m[2], m[3]}:
            slope = self._slopes.get(m[2], 0) + self._slopes.get(m[3], 0) * _BYTES[m[1]] or None
            if slope is not None:
                self._addresses.add(name)
        if slope is None:
            self._defined.add(name)
            return False
        self._slopes[name] = slope
        return True

    def copy(self, distance: int, suffix: str) -> list[str]:
        """Lines of the body `distance` iterations later; new names get the suffix."""
        out: list[str] = []
        moved = {name: name + suffix for name in self._defined}

        def moved_on(old: str) -> str:
            """An address or index of the first body, for this copy; what does not depend on the loop stays."""
            if old not in self._slopes:
                return old
            new, by = old + suffix, self._slopes[old] * distance
            if old in self._addresses:
                out.append(f"  {new} = getelementptr i8, ptr {old}, i64 {by}")
            else:
                out.append(f"  {new} = add nsw i64 {old}, {by}")
            return new

        for at, pieces in enumerate(self._pieces):
            line, begin = pieces[:], len(out)
            for k in range(1, len(line), 2):
                name = line[k]
                if name not in moved:
                    moved[name] = moved_on(name)
                line[k] = moved[name]
            out.append("".join(line))
            if self._rows:
                out[begin:] = [Line(text, self._rows[at]) for text in out[begin:]]
        return out
