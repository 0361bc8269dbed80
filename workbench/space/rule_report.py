"""Which rule did what to which block, and which did nothing and why: gathered from the drafts of a space."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from workbench.ir import blocks
from workbench.space.variant import Variant


@dataclass(frozen=True, slots=True)
class RuleRecord:
    """What one rule said of one block.

    Attributes
    ----------
    block, rule : str
    fired : bool
        Whether it changed the schedule.
    reason : str
        Why, or why not.
    variants : tuple of int
        Where.
    """

    block: str
    rule: str
    fired: bool
    reason: str
    variants: tuple[int, ...]


def rule_records(variants: Sequence[Variant], rules: Iterable[str]) -> list[RuleRecord]:
    """Records by block in program order, then by rule in the order of application; every rule speaks of every block of
    the computation.
    """
    if not variants:
        return []
    base = [b.name for b, _ in blocks(variants[0].schedule.base.body)]
    order = list(rules)
    said: dict[tuple[str, str, bool, str], list[int]] = {}
    for v in variants:
        for note in (*v.notes, *v.skips):
            for block in note.blocks or base:
                said.setdefault((block, note.rule, note.fired, note.reason), []).append(v.index)
    known = {(block, name) for block, name, _, _ in said}
    every = tuple(v.index for v in variants)
    for block in base:
        for name in order:
            if (block, name) not in known:
                said[block, name, False, _silent(variants, name)] = list(every)
    rank = {name: k for k, name in enumerate(dict.fromkeys([*base, *(block for block, *_ in said)]))}
    place = {name: k for k, name in enumerate(dict.fromkeys([*order, *(name for _, name, _, _ in said)]))}
    found = [RuleRecord(*key, tuple(dict.fromkeys(where))) for key, where in said.items()]
    return sorted(found, key=lambda r: (rank[r.block], place[r.rule], not r.fired, r.variants))


def _silent(variants: Sequence[Variant], rule: str) -> str:
    """Why a rule has nothing to say of a block: it is about others, or was never asked."""
    others = dict.fromkeys(b for v in variants for n in (*v.notes, *v.skips) if n.rule == rule for b in n.blocks)
    if others:
        return f"the rule is about {', '.join(list(others)[:3])}"
    closers = dict.fromkeys(v.notes[-1].rule for v in variants if v.notes)
    return f"{' or '.join(closers)} has scheduled the whole function before"


def report(records: Sequence[RuleRecord], variants: int) -> list[str]:
    """Lines for each block: what was done to it (+) and what was not (-); rules that say the same share a line."""
    lines: list[str] = []
    for block, of_block in groupby(records, key=lambda r: r.block):
        lines.append(f"  {block}")
        same: dict[tuple[bool, str, tuple[int, ...]], list[str]] = {}
        for r in of_block:
            same.setdefault((r.fired, r.reason, r.variants), []).append(r.rule)
        for (fired, reason, where), names in sorted(same.items(), key=lambda x: not x[0][0]):
            some = "" if len(where) == variants else f" [{spans(where)}]"
            lines.append(f"    {'+' if fired else '-'} {', '.join(names)}{some}: {reason}")
    return lines


def spans(numbers: Sequence[int]) -> str:
    """``0-3, 5``."""
    out: list[list[int]] = []
    for n in sorted(numbers):
        if out and out[-1][-1] == n - 1:
            out[-1][1:] = [n]
        else:
            out.append([n])
    return ", ".join("-".join(map(str, run)) for run in out)
