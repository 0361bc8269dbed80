"""Which row of the nest an instruction serves that LLVM itself has put there: one that sets a register ahead of time.

Instructions of our own carry their row as a line number. First values of counters and accumulators do not: they were
operands of phi nodes, and get into registers at the end of some block. Whoever uses the register next says what for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from workbench.codegen.code_line import Named

#: A label or an instruction, and its row; None where nobody has said.
Told: TypeAlias = tuple[str, str | None]

#: Registers (and places of the stack) that an instruction names, and the one that it sets, if any.
Used: TypeAlias = tuple[tuple[str, ...], str]

_X86 = re.compile(r"%(?:[xyz](mm\d+)|(r\d+)[bwd]?|[re]?([abcd])[xlh]|[re]?([sd]i|[sb]p)l?)\b")
#: The last operand, behind which a mask may stand.
_X86_SET = re.compile(r"(%\w+)(?:\s*\{[^{}]*\})*\s*$")
_ARM = re.compile(r"(?<![\w.$])([vzqdshbxw])(\d+)\b")
#: A place of the stack.
_SLOT = re.compile(r"\d*\(%rsp\)|\[sp(?:, #\d+)?\]")
#: Instructions that read their first operand: comparisons, jumps.
_ARM_READS = re.compile(r"cmp|cmn|tst|fcmp|b\b|b\.|cb|tb|ret|prf")
#: Instructions that add to a register which they name once.
_SUMS = re.compile(r"vfn?m|vpdp|vdp|tdp|fml|bfm|ml[as]|[su]dot|usdot|\w?mmla|movk|ins")
#: Those of x86 that do not read what they set; the others change their last operand.
_X86_SETS = re.compile(r"v|mov|lea|pop|set|cvt|imul\w?\s+[$]")
#: What lay in memory meanwhile is no first value, unless it is a constant.
_RELOADS = re.compile(r"^(?!.*LCPI).*[(\[]")


def settled(lines: Sequence[Told], inits: frozenset[str]) -> list[Named]:
    """Give every line of a function a row; what serves nobody goes with the last line that says its own.

    A label that is jumped back to is the head of a loop and goes with that jump, any other one with what follows.

    Parameters
    ----------
    lines : sequence of Told
    inits : frozenset of str
        Rows of the first values that the code has, ``init:BLOCK``.
    """
    used = [_registers(text) for text, _ in lines]
    rows = [row for _, row in lines]
    summed: dict[int, bool] = {}
    for k in reversed(range(len(lines))):  # what serves another such instruction is told after that one
        if rows[k] is None and used[k][0]:
            found, summed[k] = _served(k, lines, used, rows, summed)
            first = found is not None and summed[k] and _begins(k, found, lines, used)
            init = f"init:{found.removeprefix('stmt:')}" if first and found else ""
            rows[k] = init if init in inits else found
    before, out = "", []
    for (_, told), row in zip(lines, rows, strict=True):
        before = told or before
        out.append(before if row is None else row)
    heads = _heads([text for text, _ in lines], out)
    for k in range(len(lines) - 2, 0, -1):
        if _is_label(lines[k][0]):
            out[k] = heads.get(k, out[k + 1])
    return [(text, row) for (text, _), row in zip(lines, out, strict=True)]


def _is_label(text: str) -> bool:
    return not text[:1].isspace()


def _registers(text: str) -> Used:
    """Return what an instruction names of registers and places of the stack, and which of them it sets."""
    if _is_label(text):
        return (), ""
    line, slots = text.strip(), tuple(_SLOT.findall(text))
    if "%" in text:
        last = _X86_SET.search(line)
        found = None if last is None else _X86.fullmatch(last[1])
        named = (*map(_name, _X86.finditer(line)), *slots)
        return named, _name(found) if found else slots[-1] if slots and line.endswith(slots[-1]) else ""
    named = tuple(f"{'x' if m[1] in 'xw' else 'v'}{m[2]}" for m in _ARM.finditer(line.partition("\t")[2])) + slots
    if line.startswith("st"):
        return named, slots[0] if slots else ""
    return named, named[0] if named and not _ARM_READS.match(line) else ""


def _name(found: re.Match[str]) -> str:
    return next(part for part in found.groups() if part)


def _served(
    at: int, lines: Sequence[Told], used: Sequence[Used], rows: Sequence[str | None], summed: Mapping[int, bool]
) -> tuple[str | None, bool]:
    """Return the row of the loop that counts with the register at hand, else of whoever uses it first, and whether
    that adds to it.
    """
    named, target = used[at]
    register, first = target or named[0], None
    for k in range(at + 1, len(lines)):
        names, sets = used[k]
        if register not in names:
            continue
        if sets == register and _overwrites(lines[k][0], names.count(register)):
            break
        row = rows[k]
        if row and sets == register and ":" not in row:
            return row, False
        if first is None and row is not None:
            first = row, summed.get(k, sets == register)
        if register[0] in "mv":  # no loop counts in a vector
            break
    return first or (None, False)


def _begins(at: int, row: str, lines: Sequence[Told], used: Sequence[Used]) -> bool:
    """Whether an instruction sets its register to a constant, or to another register's, before `row` has changed it."""
    named, target = used[at]
    if not target or _RELOADS.search(lines[at][0]):
        return False
    return set(named) == {target} or not any(lines[k][1] == row and used[k][1] == target for k in range(at))


def _overwrites(text: str, times: int) -> bool:
    """Whether an instruction sets a register, which it names so often, without reading it."""
    name = text.strip()
    return times == 1 and not _SUMS.match(name) and ("%" not in name or _X86_SETS.match(name) is not None)


def _heads(texts: Sequence[str], rows: Sequence[str]) -> dict[int, str]:
    """Return the rows of the labels that are jumped back to, by position: those of the last such jumps."""
    labels: dict[str, int] = {}
    out: dict[int, str] = {}
    for k, text in enumerate(texts):
        if _is_label(text):
            labels[text.partition(":")[0]] = k
        elif (to := labels.get(text.split()[-1])) is not None:
            out[to] = rows[k]
    return out
