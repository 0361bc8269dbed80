"""The variants of a task as a value: a table to read, and schedules to go on with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from workbench import markup as m
from workbench.arguments import shown
from workbench.errors import UsageError
from workbench.legible import shown_legibly
from workbench.runtime.results.comparison_words import ONCE
from workbench.schedule import Schedule
from workbench.session.state.session_state import SessionState

if TYPE_CHECKING:
    import pandas

_COLUMNS = (
    m.Column(""), m.Column("Variant"), m.Column("From"), m.Column("Step", code=True), m.Column("Latency", number=True),
    m.Column("±", number=True), m.Column("Estimate", number=True), m.Column("GFLOP/s", number=True), m.Column(""),
)  # fmt: skip


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
        return str(m.table(_COLUMNS, [self._cells(row) for row in self._rows]))

    def _cells(self, row: Mapping[str, Any]) -> list[object]:
        notes = [m.chip("on show")] if row["id"] == self.at else []
        notes += [m.chip(f"trial {row['trial']}")] if row["trial"] is not None else []
        notes += [m.chip(m.plural(row["holes"], "open number"))] if row["holes"] else []
        if row["status"] not in ("", "ok", "queued", "measuring"):
            notes.append(m.bad(row["status"].replace("_", " "), 90))
        if row["doubt"]:
            notes.append(m.bad(row["doubt"]["text"], 90))
        spread = row["ms"] * row["spread"] / 2 if row["ms"] is not None and row["spread"] is not None else None
        once = ONCE if row["ms"] is not None and not row["doubt"] else ""
        return [
            "★" if row["star"] else "", m.text(f"v{row['id']} {row['name']}".rstrip(), 60),
            "" if row["parent"] is None else f"v{row['parent']}", m.text(row["text"], 90),
            m.row_time(row), m.milliseconds(spread) if spread is not None else once,
            f"≈ {m.milliseconds(row['est'])}" if row["est"] is not None else "",
            m.digits(row["gflops"]) if row["gflops"] else "", m.Html(" ".join(notes)),
        ]  # fmt: skip


def variants(state: SessionState) -> Variants:
    """Return the variants of the task on show; call it in the session's thread."""
    tree = state.tree
    return Variants(state.history.rows(tree, state.doing), {n.id: n.schedule for n in tree.nodes.values()}, tree.at)
