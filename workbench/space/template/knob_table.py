"""The knob table of a template: what it leaves open, in text and in a notebook."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench import markup as m
from workbench.arguments import whole
from workbench.errors import TemplateError, did_you_mean
from workbench.ir.poly import concrete, substitute
from workbench.safe_text import legible_line
from workbench.space.template.knobs import Knob
from workbench.space.template.variant_expansion import Expansion, TemplateVariant

#: Candidates of a knob that the table shows. Chosen by eye.
_SHOWN = 6
_HEAD = ("Knob", "Kind", "Candidates", "Size", "Becomes")


@dataclass(frozen=True, slots=True)
class KnobRow:
    """One knob.

    Attributes
    ----------
    name, kind : str
        Kinds are "split", "knob", "reorder" and "annotate".
    candidates : tuple
        Its values; where variants have other ones, the longest list.
    becomes : str
        "3 holes", "variants", "fixed" or "unused"; several where that differs between variants.
    variants : tuple of int
        Those that have it.
    of : str
        What it cuts, where another knob decides that.
    """

    name: str
    kind: str
    candidates: tuple[Any, ...]
    becomes: str
    variants: tuple[int, ...]
    of: str = ""

    @property
    def size(self) -> int:
        """Number of candidates; 0 where another knob decides that."""
        return len(self.candidates)

    @property
    def text(self) -> str:
        """The first candidates."""
        if not self.candidates:
            return f"factors of {self.of}"
        listed = ", ".join(_short(c) for c in self.candidates[:_SHOWN])
        return listed + (", …" if self.size > _SHOWN else "")


@dataclass(frozen=True, slots=True)
class Knobs:
    """Knobs of a template for one computation, with the combinations that are no variants and why.

    Iterating gives rows; ``knobs["tile_i"]`` is one of them.
    """

    template: str
    rows: tuple[KnobRow, ...]
    left_out: tuple[tuple[Mapping[str, Any], str], ...]
    _leaves: tuple[TemplateVariant, ...]
    #: Number of the first of its variants in the space.
    first: int = 0

    @staticmethod
    def of(template: str, found: Expansion) -> Knobs:
        """Table of all variants together."""
        seen: dict[str, list[tuple[int, Knob]]] = {}
        for k, leaf in enumerate(found.leaves):
            for name, knob in leaf.config.knobs.items():
                seen.setdefault(name, []).append((k, knob))
        rows = tuple(_row(name, uses) for name, uses in seen.items())
        return Knobs(template, rows, tuple(found.left_out), tuple(found.leaves))

    def __iter__(self) -> Iterator[KnobRow]:
        return iter(self.rows)

    def __contains__(self, name: object) -> bool:
        return any(r.name == name for r in self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, name: str) -> KnobRow:
        for row in self.rows:
            if row.name == name:
                return row
        hint = did_you_mean(name, [r.name for r in self.rows], "knobs")
        raise TemplateError("template.knob", f"There is no knob {name!r}.", (str(name),), hint)

    def values(self, variant: int, row: Mapping[str, int]) -> dict[str, Any]:
        """Values of all knobs for one candidate: what `fixed` would take to get it again.

        Parameters
        ----------
        variant : int
            Position of the variant in the space.
        row : mapping
            Hole -> number.
        """
        at = whole("variant", variant, None) - self.first
        if not 0 <= at < len(self._leaves):
            text = f"Template {self.template!r} has {len(self._leaves)} variants, and none with number {variant}."
            raise TemplateError("template.knob", text, ("variant",), "see space.variants")
        out: dict[str, Any] = {}
        leaf = self._leaves[at]
        row = {**row, **{n: concrete(substitute(d, dict(row))) for n, d in leaf.draft.func.aliases}}
        for name, knob in leaf.config.knobs.items():
            if knob.closed:
                out[name] = knob.value
            elif knob.holes and all(h in row for h in knob.holes):
                numbers = tuple(int(row[h]) for h in knob.holes)
                out[name] = numbers if knob.kind == "split" else numbers[0]
        return out

    def __repr__(self) -> str:
        cells = [[r.name, r.kind, r.text, str(r.size or "–"), r.becomes] for r in self.rows]
        wide = [max(len(x) for x in column) for column in zip(_HEAD, *cells, strict=True)]
        lines = ["  ".join(x.ljust(w) for x, w in zip(row, wide, strict=True)).rstrip() for row in (_HEAD, *cells)]
        many = m.plural(len(self._leaves), "variant")
        gone = [f"left out: {_said(values)}: {reason}" for values, reason in self.left_out]
        head = f"template {self.template}: {m.plural(len(self.rows), 'knob')}, {many}"
        return "\n".join(legible_line(line) for line in (head, *lines, *gone))

    def _repr_html_(self) -> str:
        columns = [m.Column(name, number=name == "Size") for name in _HEAD]
        rows: list[Sequence[object]] = [
            [m.mono(r.name), r.kind, m.mono(r.text, 90), m.counted(r.size or None), m.text(r.becomes, 60)]
            for r in self.rows
        ]
        facts = (m.plural(len(self.rows), "knob"), m.plural(len(self._leaves), "variant"))
        gone = [m.line(m.faint("left out: "), _said(values), ": ", m.text(why, 300)) for values, why in self.left_out]
        parts = [m.heading("Template", self.template, *facts), m.table(columns, m.cut(rows, 60, "knobs"))]
        return m.page(*parts, *([m.fold(f"{m.plural(len(gone), 'combination')} left out", *gone)] if gone else []))


def _row(name: str, uses: list[tuple[int, Knob]]) -> KnobRow:
    knobs = [knob for _, knob in uses]
    most = max(knobs, key=lambda knob: len(knob.candidates))
    becomes = " or ".join(_becomes(knobs))
    return KnobRow(name, most.kind, most.candidates, becomes, tuple(k for k, _ in uses), getattr(most, "of", ""))


def _becomes(knobs: Sequence[Knob]) -> Iterator[str]:
    """Say what a knob is in the variants that have it."""
    if knobs[0].is_fixed:
        yield "fixed"
        return
    many = sorted({len(knob.holes) for knob in knobs if knob.holes and not knob.closed})
    if many:
        yield f"{many[0]} to {many[-1]} holes" if len(many) > 1 else m.plural(many[0], "hole")
    if any(knob.closed for knob in knobs):
        yield "variants"
    if not any(knob.used for knob in knobs):
        yield "unused"


def _short(value: Any) -> str:
    return "×".join(map(str, value)) if isinstance(value, tuple) and value else str(value)


def _said(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{n} = {_short(v)}" for n, v in values.items()) or "all of it"
