"""What `accuracy` returns: errors of tensors, as a table that a notebook shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pandas

from workbench import markup as m

#: Tensors that a notebook shows: a screen.
SHOWN = 40
_COLUMNS = (m.Column("Tensor"), m.Column("Node"), m.Column("Operator"), m.Column("Error", number=True),
            m.Column("Largest", number=True), m.Column("dB", number=True), m.Column(""))  # fmt: skip


class Accuracy(pandas.DataFrame):
    """One row per tensor, see `workbench.network.accuracy.accuracy`."""

    @property
    def _constructor(self) -> Callable[..., pandas.DataFrame]:
        return pandas.DataFrame

    def _repr_html_(self) -> str | None:
        if not pandas.get_option("display.notebook_repr_html"):
            return None
        return accuracy_html(self) if "first_above" in self.attrs else self.to_html(max_rows=60, max_cols=20)


def accuracy_html(frame: Accuracy) -> str:
    """Return what a notebook shows: the outputs, then all layers in their order."""
    a = frame.attrs
    above = m.mono(a["first_above"], 60) if a["first_above"] else "none"
    kind = "random inputs" if a["random"] else "inputs"
    rows = [
        [m.text(r["tensor"], 50), m.text(r["node"], 50), r["op"], f"{r['relative']:.1e}", f"{r['max_relative']:.1e}",
         f"{r['sqnr_db']:.1f}", _said(r, a["bound"])]
        for r in sorted(frame.to_dict("records"), key=lambda r: not r["output"])
    ]  # fmt: skip
    head = m.heading("Accuracy", "", m.plural(len(frame), "tensor"), f"{a['samples']} {kind}")
    words = "Error: root mean square of the difference against that of the numbers. Largest: against the largest one."
    first = m.label(f"first above {a['bound']:g}", above)
    return m.page(head, first, m.table(_COLUMNS, m.cut(rows, SHOWN, "tensors", len(frame))), m.line(m.faint(words)))


def _said(row: Mapping[Any, Any], bound: float) -> m.Html:
    output = "output" if row["output"] else ""
    above = row["relative"] > bound
    return m.join(output, " " if output and above else "", m.bad("above the bound") if above else "")
