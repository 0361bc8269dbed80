"""A search space in a notebook: its variants, and which rules applied to which block."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from workbench import markup as m
from workbench.space.rule_report import RuleRecord, spans
from workbench.space.sketch import Trouble
from workbench.space.variant import Variant

#: Most variants, blocks, and rules of a block that are shown.
VARIANTS, BLOCKS, RULES = 40, 24, 40
_VARIANTS = (m.Column("#", number=True), m.Column("Variant"), m.Column("Rows", number=True), m.Column("Open numbers"))
_RULES = (m.Column(""), m.Column("Rule"), m.Column("Variants"), m.Column("Why"))


def space_html(
    name: str,
    size: int,
    variants: Sequence[Variant],
    rules: Sequence[RuleRecord],
    troubles: Sequence[Trouble],
    knobs: str | None,
) -> str:
    """Return what a notebook shows of a space; `knobs` is the table of those of its template."""
    every = len(variants)
    rows = [
        [
            v.index,
            m.text(v.label, 80),
            m.counted(v.sampler.size),
            m.text(", ".join(h.name for h in v.schedule.holes), 60),
        ]
        for v in variants[:VARIANTS]
    ]
    facts = m.plural(every, "variant"), m.plural(size, "row")
    shown = m.cut(rows, VARIANTS, "variants", every)
    parts: list[object] = [m.heading("Space", name, *facts), m.table(_VARIANTS, shown)]
    parts += [m.line(m.text(str(t), 300)) for t in troubles[:RULES]]
    parts += [m.fold("knobs", m.Html(knobs))] if knobs is not None else []
    found = [(block, list(records)) for block, records in groupby(rules, key=lambda r: r.block)]
    parts += [_block(block, records, every) for block, records in found[:BLOCKS]]
    if len(found) > BLOCKS:
        parts.append(m.line(m.faint(f"… {len(found) - BLOCKS} more blocks")))
    return m.page(*parts)


def _block(name: str, records: list[RuleRecord], variants: int) -> m.Html:
    """Rules of one block: those that applied, and behind a click those that did not."""
    fired = [r for r in records if r.fired]
    silent = [r for r in records if not r.fired]
    rows = [["+", m.text(r.rule, 40), _where(r, variants), m.text(r.reason, 160)] for r in fired]
    rest = [[m.faint("-"), m.text(r.rule, 40), _where(r, variants), m.text(r.reason, 160)] for r in silent]
    names = m.text(", ".join(dict.fromkeys(r.rule for r in fired)) or "no rule", 60)
    said = m.join(m.mono(name, 60), " ", m.faint(names))
    return m.fold(said, m.table(_RULES, m.cut([*rows, *rest], RULES, "rules")))


def _where(r: RuleRecord, variants: int) -> str:
    return "all" if len(r.variants) == variants else spans(r.variants)
