"""Where the time of a tuning run went."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.analysis.figures.style import axis, colours
from workbench.analysis.figures.subplot import Part
from workbench.logs.analysis.charts import above, drawn, figure, hue, keys, names, nothing, percent
from workbench.logs.analysis.progress import elapsed
from workbench.logs.analysis.selection import Floats, Group, Source, groups, noted
from workbench.logs.evaluation import STATUSES
from workbench.markup import duration

if TYPE_CHECKING:
    import pandas
    import plotly.graph_objects as go

PARTS = {"compile_s": "compile", "run_s": "run", "verify_s": "verify", "search_s": "search", "": "not told apart"}
"""Columns of the records, and what the seconds went to."""

COLUMNS = ["task", "device", "run", "status", "part", "records", "seconds", "share", "wall_s"]

BARS = 20
"""Groups that the figure shows. Chosen by eye."""

GAP = 20
"""How many times longer than the usual distance between two records a stall is. Chosen."""


def budget(source: Source, task: str | None = None) -> pandas.DataFrame:
    """Return where the tuning time went: compiling, running, verifying, searching, by what became of the record.

    Returns
    -------
    DataFrame
        One row per group, status and part with any time: ``task device run status part records seconds share wall_s``.
        `part` is compile, run, verify, search, or "not told apart" (what the whole took beyond these); `share` is of
        the seconds of the group; `wall_s` is the time from the group's first record to its last, as the log tells it
        (less than the seconds where evaluations ran side by side), else missing. ``attrs`` has `stalls`: gaps between
        records (in seconds, with the record after each) that are twenty times as long as usual; and `unfinished`: how
        many records were begun and have no end.

    Raises
    ------
    UsageError
        ``usage.task``
    """
    import pandas

    found = groups(source, task)
    frame = pandas.DataFrame([row for group in found for row in _rows(group)], columns=COLUMNS)
    stalls = pandas.DataFrame([s for group in found for s in _stalls(group)], columns=["record", "seconds"])
    unfinished = sum(int((group.records["status"] == "started-only").sum()) for group in found)
    stalled = stalls.sort_values("seconds", ascending=False, kind="stable").to_dict("records")
    return noted(frame, _finding(frame, stalls, unfinished), stalls=stalled, unfinished=unfinished)


def _numbers(group: Group, column: str) -> Floats:
    return group.records[column].to_numpy(np.float64, na_value=np.nan)


def _rows(group: Group) -> list[list[Any]]:
    status = group.records["status"].astype(str).to_numpy()
    parts = {name: np.nan_to_num(_numbers(group, column)) for column, name in PARTS.items() if column}
    told = np.sum(list(parts.values()), axis=0)
    parts[PARTS[""]] = np.maximum(np.nan_to_num(_numbers(group, "spent_s")) - told, 0)
    whole = float(np.sum([seconds.sum() for seconds in parts.values()]))
    time, clock = elapsed(group)
    wall = float(np.ptp(time)) if clock == "timestamps" else float(time.max()) if clock == "told" else np.nan
    key = [group.key[column] for column in ("task", "device", "run")]
    rows = []
    for kind in STATUSES:
        mine = status == kind
        for name, seconds in parts.items():
            if (spent := float(seconds[mine].sum())) > 0:
                rows.append([*key, kind, name, int(mine.sum()), spent, spent / whole, wall])
    return rows


def _stalls(group: Group) -> list[tuple[int, float]]:
    time, clock = elapsed(group)
    if clock not in ("told", "timestamps") or len(time) < 3:
        return []
    order = np.argsort(time, kind="stable")
    gaps = np.diff(time[order])
    usual = float(np.median(gaps[gaps > 0])) if (gaps > 0).any() else np.inf
    record = group.records["record"].to_numpy()[order]
    return [(int(record[k + 1]), float(gaps[k])) for k in np.flatnonzero(gaps > GAP * usual)]


def _finding(frame: pandas.DataFrame, stalls: pandas.DataFrame, unfinished: int) -> str:
    if frame.empty:
        return "The log does not say how long its evaluations took."
    whole = float(frame["seconds"].sum())
    parts = frame.groupby("part")["seconds"].sum().sort_values(ascending=False) / whole
    words = ", ".join(f"{percent(share)} {part}" for part, share in parts.items() if share >= 0.005)
    text = f"The evaluations took {duration(whole)}: {words}"
    lost = float(frame.loc[frame["status"] != "ok", "seconds"].sum()) / whole
    text += f"; {percent(lost)} of it went to configurations that failed" if lost else ""
    if len(stalls):
        text += f"; {len(stalls):,} stall{'s' * (len(stalls) > 1)} lasted {duration(float(stalls['seconds'].sum()))}"
    text += f"; {unfinished:,} {'record has' if unfinished == 1 else 'records have'} no end" if unfinished else ""
    return f"{text}."


def budget_figure(source: Source, task: str | None = None, theme: str = "auto") -> go.Figure:
    """Plot `budget`: seconds per group by what they went to; failures of all parts together are a part of their own."""
    frame = budget(source, task)
    c = colours(theme)
    if frame.empty:
        return nothing("Budget", "No times", frame, theme)
    found = [group for group in groups(source, task) if _rows(group)]
    labels = names([group.label for group in found])
    keyed = frame.assign(part=frame["part"].where(frame["status"] == "ok", "failed configurations"))
    table = keyed.groupby(["task", "device", "run", "part"], sort=False)["seconds"].sum()
    where = [tuple(group.key[k] for k in ("task", "device", "run")) for group in found]
    totals = [float(table.loc[key].sum()) for key in where]
    top = sorted(range(len(found)), key=lambda k: -totals[k])[:BARS][::-1]
    parts = [p for p in (*PARTS.values(), "failed configurations") if p in set(keyed["part"])]
    colour = {part: hue(k) for k, part in enumerate((*PARTS.values(), "failed configurations"))}
    scale, unit = (3600.0, "hours") if max(totals) > 7200 else (60.0, "minutes") if max(totals) > 120 else (1.0, "s")
    traces = [
        {"type": "bar", "orientation": "h", "name": part, "y": list(range(len(top))), "marker": {"color": colour[part]},
         "x": [float(table.get((*where[k], part), 0.0)) / scale for k in top],
         "hovertemplate": f"%{{x:.4g}} {unit}<extra>{part}</extra>"}
        for part in parts
    ]  # fmt: skip
    y = axis(c, "", tickvals=list(range(len(top))), ticktext=[labels[k] for k in top], showgrid=False)
    aside = above(keys((colour[part], part) for part in parts), drawn(len(top), len(found), "groups"))
    part = Part(traces, axis(c, f"time of the evaluations, {unit}"), y, title="Budget", aside=aside)
    return figure(part, frame, theme, 130 + 22 * len(top), left=252, barmode="stack")
