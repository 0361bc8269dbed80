"""The variants of a task as a value: a table to read, and schedules to go on with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from workbench import markup as m
from workbench.arguments import shown
from workbench.errors import UsageError
from workbench.runtime.results.comparison_words import ONCE
from workbench.safe_text import shown_legibly
from workbench.schedule import Schedule
from workbench.session.state.session_state import SessionState

if TYPE_CHECKING:
    import pandas

_COLUMNS = (
    m.Column("Variant"), m.Column("From"), m.Column("Step", code=True), m.Column("Latency", number=True),
    m.Column("±", number=True), m.Column(""), m.Column("GFLOP/s", number=True), m.Column(""),
)  # fmt: skip

CALM = ("", "ok", "queued", "measuring")
"""States of a measurement that are no failure."""


def variant_table(rows: Sequence[Mapping[str, Any]], at: int, limit: int) -> m.Html:
    """Return a table of variants, given as rows of the slice `history`; of many those around the one on show.

    Parameters
    ----------
    at : int
        The one on show.
    limit : int
        Rows at most.
    """
    place = next((k for k, row in enumerate(rows) if row["id"] == at), 0)
    start = max(0, min(place - limit // 2, len(rows) - limit))  # the current one is always among those shown
    slowest = max((r["ms"] for r in rows if r["ms"] is not None and not r.get("doubt")), default=0.0)
    cells = [_cells(row, at, slowest) for row in rows[start : start + limit]]
    before = m.line(m.faint(f"… {m.plural(start, 'earlier variant')}")) if start else ""
    return m.join(before, m.table(_COLUMNS, m.cut(cells, limit, "variants", len(rows) - start)))


def _cells(row: Mapping[str, Any], at: int, slowest: float) -> list[object]:
    doubt, parent, text = row.get("doubt"), row.get("parent"), m.text(row["text"], 90)
    ms = None if doubt else row["ms"]
    spread = ms * row["spread"] / 2 if ms is not None and row.get("spread") is not None else None
    guess = f"≈ {m.milliseconds(row['est'])}" if row.get("est") is not None else ""
    return [
        m.text(" ".join(filter(None, (f"v{row['id']}", row.get("name"), row.get("star") and "★"))), 60),
        "" if parent is None else f"v{parent}", m.faint(text) if row["undone"] else text,
        m.row_time(row) or (m.faint(guess) if guess else ""),
        m.milliseconds(spread) if spread is not None else ONCE if ms is not None else "",
        m.bar(ms / slowest if ms is not None and slowest else None), m.digits(row["gflops"]) if row["gflops"] else "",
        m.Html(" ".join(_notes(row, at))),
    ]  # fmt: skip


def _notes(row: Mapping[str, Any], at: int) -> Iterator[m.Html]:
    """Yield what is to be said of a variant beside its numbers."""
    trial = "" if row.get("trial") is None else f"trial {row['trial']}"
    words = (
        "on show" if row["id"] == at else "", "undone" if row["undone"] else "",
        trial or ("tuner" if row["by"] == "tuner" else ""),
        m.plural(row["holes"], "open number") if row["holes"] else "",
        row["status"] if row["status"] in ("queued", "measuring") else "",
    )  # fmt: skip
    yield from map(m.chip, filter(None, words))
    if row["status"] not in CALM:
        last = m.last_line(row["error"])
        yield m.bad(row["status"].replace("_", " ") + (f": {last}" if last else ""), 90)
    if row.get("same"):
        yield m.chip(row["same"])
    if row.get("doubt"):
        yield m.bad(row["doubt"]["text"], 90)


class Variants(Mapping[int, Schedule]):
    """Number -> schedule, with what is known of each; a copy, which later steps do not change.

    Attributes
    ----------
    at : int
        The one on show.
    """

    def __init__(self, rows: Sequence[Mapping[str, Any]], schedules: Mapping[int, Schedule], at: int) -> None:
        self._rows, self._schedules, self.at = tuple(rows), dict(schedules), at

    def __getitem__(self, node: int) -> Schedule:
        try:
            return self._schedules[node].copy()
        except (KeyError, TypeError):
            hint = f"there are {', '.join(f'v{n}' for n in list(self)[:8])}" + (", ..." if len(self) > 8 else "")
            raise UsageError("session.variant", f"There is no variant {shown(node)}", (), hint) from None

    def __iter__(self) -> Iterator[int]:
        return iter(self._schedules)

    def __len__(self) -> int:
        return len(self._schedules)

    def __contains__(self, node: object) -> bool:
        return isinstance(node, int) and node in self._schedules

    def frame(self) -> pandas.DataFrame:
        """Return a table with the columns of the panel's rows, indexed by number."""
        import pandas

        return pandas.DataFrame([dict(row) for row in self._rows]).set_index("id")

    @shown_legibly
    def __repr__(self) -> str:
        return "\n".join(self._line(row) for row in self._rows)

    def _line(self, row: Mapping[str, Any]) -> str:
        ms = f"≈ {row['est']:.3g} ms est." if row["ms"] is None and row["est"] else ""
        if row["ms"] is not None:
            ms = m.row_time(row) if row["doubt"] else f"{row['ms']:.4g} ms"
        mark = ">" if row["id"] == self.at else "*" if row["star"] else " "
        origin = "" if row["parent"] is None else f"from v{row['parent']}"
        doubt = f" ({row['doubt']['text']})" if row["doubt"] else ""
        return f"{mark} v{row['id']:<4} {origin:<10} {ms:<16} {row['name'] or row['text']}{doubt}".rstrip()

    def _repr_html_(self) -> str:
        return str(variant_table(self._rows, self.at, len(self._rows)))


def variants(state: SessionState) -> Variants:
    """Return the variants of the task on show; call it in the session's thread."""
    tree = state.tree
    return Variants(state.history.rows(tree, state.doing), {n.id: n.schedule for n in tree.nodes.values()}, tree.at)
