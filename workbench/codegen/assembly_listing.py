"""Reading what a compiler writes as assembly: the instructions, and which line of the text each one was made of."""

from __future__ import annotations

import re
from collections.abc import Callable
from difflib import SequenceMatcher

from workbench.codegen.code_line import Named
from workbench.codegen.def_use_attribution import Told, settled

_LOC = re.compile(r"\s+\.loc\s+\d+\s+(\d+)")
_LABEL = re.compile(r"([^\s:]+):")
_SECTION = re.compile(r"\s+\.(?:text\b|section\s+(\S+))")
#: Labels that only debug information and tables speak of.
_IDLE = re.compile(r"\.?L(?:(?:tmp|func_begin|func_end|FB|FE|VL|VU|debug|text|etext|ASF|info|line)\w*|B[BEI]\d+)")


def instructions(
    assembly: str, row_of: Callable[[int], str | None] = lambda number: None, inits: frozenset[str] = frozenset()
) -> list[Named]:
    """Return functions, labels and instructions of an assembler's text; `row_of` gives the row of a line, from 1 on.

    Where nobody knows what an instruction was made of (line 0, or no row), `def_use_attribution` tells what for;
    `inits` are the rows of first values.
    """
    out: list[Named] = []
    function: list[Told] = []
    row: str | None = ""
    code = True
    for line in assembly.splitlines():
        if section := _SECTION.match(line):
            code = not section[1] or "text" in section[1]
        elif place := _LOC.match(line):
            row = row_of(int(place[1])) if int(place[1]) else None
        elif not code or not line.strip() or re.match(r"\s+\.", line) or re.match(r"\s*[#/]", line):
            continue
        elif label := _LABEL.match(line):
            if _IDLE.fullmatch(label[1]):
                continue
            if not label[1].startswith((".L", "L")):
                out += settled(function, inits)
                function, row = [], ""
            function.append((line, row))
        else:
            function.append((line, row))
    return out + settled(function, inits)


def aligned(plain: list[Named], marked: list[Named]) -> list[Named]:
    """Give the instructions of one text the rows of another, which hardly differs.

    Debug information changes no instruction, but some machines' schedulers do not move others across what it says of a
    function's first ones.
    """
    texts, others = [text for text, _ in plain], [text for text, _ in marked]
    if texts == others:
        return marked
    rows: dict[int, str] = {}
    for a, b, size in SequenceMatcher(None, texts, others, autojunk=False).get_matching_blocks():
        rows |= {a + k: marked[b + k][1] for k in range(size)}
    out: list[Named] = []
    row = ""
    for k, text in enumerate(texts):
        row = rows.get(k, row)
        out.append((text, row))
    return out
