"""A page that somebody saved, on another machine: its variants, measured here, beside the times that it shows."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench import markup as m
from workbench.arguments import path as as_path
from workbench.errors import UsageError
from workbench.session.state.variant_tree import ROOT, TreeNode
from workbench.target import Target
from workbench.widgets.html_page import STATE_BEGINS
from workbench.widgets.root import Workbench

if TYPE_CHECKING:
    import pandas

HINT = "give a page that Workbench.export('html', path) has written"


@dataclass(frozen=True, slots=True)
class PageTime:
    """A variant of a page, with its time there and here.

    Attributes
    ----------
    variant : int
        Its number on the page, and in the workbench that was opened of it.
    name, step : str
        What somebody called it, and its last step.
    there_ms, here_ms : float or None
        Milliseconds of one run; None where there is none.
    status : str
        How measuring it here went: "" before that, "ok", or what failed.
    there_doubt, here_doubt : str
        Why a time is no more than what was seen; "" for one that nothing disturbed.
    there_spread, here_spread : float or None
        Distance of the quartiles, as a share of the time.
    """

    variant: int
    name: str
    step: str
    there_ms: float | None
    here_ms: float | None = None
    status: str = ""
    there_doubt: str = ""
    here_doubt: str = ""
    there_spread: float | None = None
    here_spread: float | None = None

    @property
    def doubt(self) -> str:
        """What disturbed the times, there and here; "" where nothing did."""
        told = {"there": self.there_doubt, "here": self.here_doubt}
        return "; ".join(f"{where} {why}" for where, why in told.items() if why)

    @property
    def ratio(self) -> float | None:
        """Time here over the time there; None where one of them is missing."""
        return None if self.there_ms is None or self.here_ms is None else self.here_ms / self.there_ms


class SavedPage(m.Drawn, Sequence[PageTime]):
    """What a saved page shows, in a kernel: a workbench with its variants, and a table of their times there and here.

    Attributes
    ----------
    workbench : Workbench
        Opened of the page: show it to go on.
    there : str
        The target that the page's times were measured for.
    """

    def __init__(self, workbench: Workbench, there: str, rows: Sequence[PageTime]) -> None:
        self.workbench, self.there, self._rows = workbench, there, list(rows)

    def measure(self, variants: Sequence[int] | None = None) -> SavedPage:
        """Measure variants here, one after the other, and wait for it.

        Parameters
        ----------
        variants : sequence of int, optional
            Their numbers; by default those that have a time on the page, or that on show where none has.

        Returns
        -------
        SavedPage
            Itself, so that a cell shows the table.

        Raises
        ------
        UsageError
            "session.variant" for a number that the page does not have.
        """
        known = {row.variant: k for k, row in enumerate(self._rows)}
        before = self.workbench.variants.at
        timed = [row.variant for row in self._rows if row.there_ms is not None]
        wanted = (timed or [before]) if variants is None else variants
        for number in wanted:
            if number not in known:
                hint = f"it has {', '.join(f'v{n}' for n in known)}"
                raise UsageError("session.variant", f"The page has no variant {number!r}", (), hint)
            self.workbench.goto(number).measure()
            self._rows[known[number]] = self._measured(self._rows[known[number]])
        self.workbench.goto(before)
        return self

    def _measured(self, row: PageTime) -> PageTime:
        state = self.workbench.session.state
        result = self.workbench._ask(lambda: state.history.results[state.variant(row.variant).key])
        return replace(
            row, status=result.status, here_ms=result.ms, here_spread=result.spread, here_doubt=result.why_not
        )

    def frame(self) -> pandas.DataFrame:
        """Return the table: a row for each variant, with its step, milliseconds there and here, their spreads as shares
        of them, their ratio, and what disturbed them.
        """
        import pandas

        columns = (
            "variant", "name", "step", "there_ms", "there_spread", "here_ms", "here_spread", "ratio", "status", "doubt",
        )  # fmt: skip
        return pandas.DataFrame([{c: getattr(row, c) for c in columns} for row in self._rows]).set_index("variant")

    def __getitem__(self, index: Any) -> Any:
        return self._rows[index]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[PageTime]:
        return iter(self._rows)

    def __repr__(self) -> str:
        return "\n".join(
            f"v{r.variant:<3} {_ms(r.there_ms, r.there_spread):>20} there {_ms(r.here_ms, r.here_spread):>20} here"
            f" {_ratio(r):>6}  {r.step}{f' ({_why(r)})' if _why(r) else ''}"
            for r in self
        )


@m.drawn.register(SavedPage)
def _table(page: SavedPage) -> m.Html:
    columns = [
        m.Column("Variant"), m.Column("Step", code=True), m.Column("There", number=True), m.Column("Here", number=True),
        m.Column("Here ÷ there", number=True), m.Column(""),
    ]  # fmt: skip
    rows = [
        [
            m.text(f"v{row.variant} {row.name}".strip(), 60), m.text(row.step, 90),
            _ms(row.there_ms, row.there_spread), _ms(row.here_ms, row.here_spread), _ratio(row),
            m.bad(row.status.replace("_", " "), 90) if row.status not in ("", "ok") else m.faint(row.doubt),
        ]
        for row in page
    ]  # fmt: skip
    here = str(page.workbench.session.state.target)
    words = m.line("There: ", m.text(page.there, 200)), m.line("Here: ", m.text(here, 200))
    title = page.workbench.session.state.opened.title
    return m.page(m.heading("Page of", title, "times there and here"), *words, m.table(columns, rows))


def _ms(value: float | None, spread: float | None) -> str:
    return "" if value is None else " ".join(filter(None, (f"{m.digits(value)} ms", m.plus_minus(value, spread))))


def _ratio(row: PageTime) -> str:
    return "" if row.ratio is None else f"{row.ratio:.3g}×"


def _why(row: PageTime) -> str:
    return row.status.replace("_", " ") if row.status not in ("", "ok") else row.doubt


def open_page(path: str | os.PathLike[str], *, target: Target | None = None) -> SavedPage:
    """Open a page that somebody saved, to measure its variants on this machine.

    Nothing in the page is executed: its programs and steps are read as text and JSON, and checked as any others.

    Parameters
    ----------
    path : path
        A page that ``Workbench.export("html", path)`` has written.
    target : Target, optional
        What to compile for; this machine by default.

    Returns
    -------
    SavedPage
        ``open_page(path).measure()`` is a table of the page's times beside those of here.

    Raises
    ------
    UsageError
        "page.missing" for a file that cannot be read, "page.file" for one that is no such page or shows no schedule,
        "view.file", "view.program" for what is wrong with what it shows.
    ScheduleError
        "view.steps" where a step is not legal here.
    """
    view = _view(as_path("path", path))
    made = Workbench(view=view, target=target, auto_measure=False)
    saved = [node for task in view["tasks"] if task["key"] == view["task"] for node in task["nodes"]]
    rows = made._ask(lambda: [_row(made, node) for node in saved])
    return SavedPage(made, str(view.get("target", "")), [row for row in rows if row is not None])


def _row(made: Workbench, saved: dict[str, Any]) -> PageTime | None:
    """Return a variant with its time on the page; None for one whose steps are not legal here."""
    node = _same(made, saved)
    if node is None:
        return None
    return PageTime(
        node.id, node.name, node.label, saved.get("ms"),
        there_doubt=m.clean(saved.get("why_not", "")), there_spread=saved.get("spread"),
    )  # fmt: skip


def _same(made: Workbench, saved: dict[str, Any]) -> TreeNode | None:
    tree = made.session.state.tree
    if saved["id"] == ROOT:
        return tree.node(ROOT)
    return next((n for n in tree.nodes.values() if list(n.schedule.to_json()) == saved["trace"]), None)


def _view(path: str) -> dict[str, Any]:
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it is no text"
        raise UsageError("page.missing", f"The page cannot be read: {why}", (path,), HINT) from error
    _, begins, rest = text.partition(STATE_BEGINS)
    try:
        view = json.loads(rest.partition("</script>")[0])["view"] if begins else None
    except (ValueError, KeyError, TypeError, RecursionError):
        view = None
    if not isinstance(view, dict):
        raise UsageError("page.file", "This page shows no schedule that can be measured here", (path,), HINT)
    return view
