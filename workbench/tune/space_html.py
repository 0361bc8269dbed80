"""A search space in a notebook: its variants, and which rules applied to which block."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from workbench import markup as m
from workbench.tune.sketch.report import RuleRecord, spans

if TYPE_CHECKING:
    from workbench.tune.space import Space

_VARIANTS = (m.Column("#", number=True), m.Column("Variant"), m.Column("Rows", number=True), m.Column("Open numbers"))
_RULES = (m.Column(""), m.Column("Rule"), m.Column("Variants"), m.Column("Why"))


def space_html(space: Space) -> str:
    """Return what a notebook shows of a space."""
    variants = [
        [v.index, v.label, m.counted(v.sampler.size), m.text(", ".join(h.name for h in v.schedule.holes), 60)]
        for v in space.variants
    ]
    facts = m.plural(len(variants), "variant"), m.plural(space.size, "row")
    parts: list[object] = [m.heading("Space", space.id, *facts), m.table(_VARIANTS, variants)]
    for block, records in groupby(space.rules(), key=lambda r: r.block):
        parts.append(_block(block, list(records), len(variants)))
    return m.page(*parts)


def _block(name: str, records: list[RuleRecord], variants: int) -> m.Html:
    """Rules of one block: those that applied, and behind a click those that did not."""
    fired = [r for r in records if r.fired]
    silent = [r for r in records if not r.fired]
    rows = [["+", r.rule, _where(r, variants), m.text(r.reason, 160)] for r in fired]
    rest = [[m.faint("-"), r.rule, _where(r, variants), m.text(r.reason, 160)] for r in silent]
    said = m.join(m.mono(name), m.faint(f" {', '.join(dict.fromkeys(r.rule for r in fired)) or 'no rule'}"))
    return m.fold(said, m.table(_RULES, [*rows, *rest]))


def _where(r: RuleRecord, variants: int) -> str:
    return "all" if len(r.variants) == variants else spans(r.variants)
