"""The best configurations: which they are, and which values they share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.analysis.figures.style import axis, colours, shade
from workbench.analysis.figures.subplot import Part
from workbench.arguments import share as a_share
from workbench.arguments import whole
from workbench.logs.analysis.charts import above, apart, drawn, figure, hue, keys, name, names, nothing, percent
from workbench.logs.analysis.parameters import ABSENT, Parameters, said
from workbench.logs.analysis.selection import MOST, Group, Source, groups, noted, one_group, sample
from workbench.logs.cells import shown

if TYPE_CHECKING:
    import pandas
    import plotly.graph_objects as go

COLUMNS = ["task", "device", "run", "rank", "record", "evaluation", "value", "unit", "share", "ahead", "params"]
ROWS, VALUES = 30, 16
"""Tasks and parameters that the figure of winners shows. Chosen by eye."""

NAMED = 4
"""Groups whose best the sentence names. Chosen: more are read in the table."""

BARS = 24
"""Values that the figure of traits shows. Chosen by eye."""


def winners(source: Source, task: str | None = None, n: int = 1) -> pandas.DataFrame:
    """Return the best records of each group.

    Returns
    -------
    DataFrame
        Up to `n` rows per group, the best first: ``task device run rank record evaluation value unit share ahead
        params``. `evaluation` is with which evaluation of the group it came, `share` its value as a share of the best,
        `ahead` how many times better it is than the next different configuration (missing where there is none).

    Raises
    ------
    UsageError
        ``usage.task``
    """
    import pandas

    n, found = whole("n", n), groups(source, task)
    frame = pandas.DataFrame([row for group in found for row in _rows(group, n)], columns=COLUMNS)
    if frame.empty:
        return noted(frame, "No record has a value.")
    first = frame[frame["rank"] == 1]
    if len(first) == 1:
        row = first.iloc[0]
        text = f"The best is {shown(row['value'], row['unit'])}, evaluation {row['evaluation']:,}"
        ahead = f", {percent(row['ahead'] - 1)} ahead of the next configuration" if row["ahead"] == row["ahead"] else ""
        return noted(frame, f"{text}{ahead}: {', '.join(f'{k} {said(v)}' for k, v in row['params'].items())}.")
    return noted(frame, _several(first, [len(g.records) for g in found if g.ok.any()]))


def _several(first: pandas.DataFrame, of: Sequence[int]) -> str:
    """Return what is said of the best of several groups: each by name where they are few."""
    share = percent(float((first["evaluation"] / of).median()))
    late = f"They came after {share} of the evaluations of their group, in the median"
    if len(first) > NAMED:
        return f"{len(first)} groups have a best record, one in each row. {late}."
    each = zip(apart(_titles(first)), first["value"], first["unit"], strict=True)
    return f"The best: {'; '.join(f'{label} {shown(value, unit)}' for label, value, unit in each)}. {late}."


def _titles(frame: pandas.DataFrame) -> list[str]:
    columns = zip(frame["task"], frame["device"], frame["run"], strict=True)
    return [" ".join(filter(None, one)) for one in columns]


def _rows(group: Group, n: int) -> list[list[Any]]:
    order = np.flatnonzero(group.ok)
    order = order[np.argsort(group.cost[order], kind="stable")][: max(n, 1) + 50]
    if not len(order):
        return []
    parameters = Parameters.of(group.params(order))
    key = [group.key[column] for column in ("task", "device", "run")]
    best = float(group.value[order[0]])
    rows = []
    for k, row in enumerate(order[:n]):
        others = np.flatnonzero(parameters.configuration[k + 1 :] != parameters.configuration[k])
        value = float(group.value[row])
        ahead = 1 / float(group.share(float(group.value[order[k + 1 + others[0]]]), value)) if len(others) else np.nan
        rows.append([*key, k + 1, int(group.records["record"].iloc[row]), int(row) + 1, value, group.unit,
                     float(group.share(value, best)), ahead, parameters.at(k)])  # fmt: skip
    return rows


def traits(source: Source, task: str | None = None, share: float = 0.05) -> pandas.DataFrame:
    """Return which values the best configurations have more often than all.

    Parameters
    ----------
    source : TuningLog or DataFrame
    task : str, optional
        This task only.
    share : float
        Which part of the ok records counts as the best, between 0 and 1.

    Returns
    -------
    DataFrame
        One row per value of a parameter (of a list, per element), the most telling first: ``parameter value best of
        share usual lift``. `best` counts the best records with the value, `of` all ok ones with it; `share` is the
        share of the best with the value, `usual` that of all, `lift` their quotient.

    Raises
    ------
    UsageError
        ``usage.task``, ``usage.one_task``
    """
    import pandas

    share, group = a_share("share", share), one_group(source, task)
    ok = np.flatnonzero(group.ok)
    ok = ok[sample(len(ok), MOST)]
    columns = ["parameter", "value", "best", "of", "share", "usual", "lift"]
    features = Parameters.of(group.params(ok)).features
    if len(ok) < 2 or not features.names:
        return noted(pandas.DataFrame(columns=columns), "There are too few records with a value, or nothing varies.")
    count = max(1, round(share * len(ok)))
    top = np.argsort(group.cost[ok], kind="stable")[:count]
    rows = []
    for k, label in enumerate(features.names):
        codes = features.codes[:, k] + 1
        of = np.bincount(codes, minlength=len(features.levels[k]) + 1)
        best = np.bincount(codes[top], minlength=len(of))
        for code in np.flatnonzero(of):
            value = said(features.levels[k][code - 1]) if code else ABSENT
            rows.append([label, value, int(best[code]), int(of[code]), best[code] / count, of[code] / len(ok)])
    frame = pandas.DataFrame(rows, columns=columns[:-1])
    frame["lift"] = frame["share"] / frame["usual"]
    order = (frame["share"] - frame["usual"]).sort_values(ascending=False, kind="stable").index
    frame = frame.loc[order].reset_index(drop=True)
    first = frame.iloc[0]
    text = (
        f"Of the best {count:,} configurations {percent(first['share'])} have {first['parameter']} = {first['value']}"
    )
    return noted(frame, f"{text}, of all {percent(first['usual'])}.", best=count)


def traits_figure(source: Source, task: str | None = None, share: float = 0.05, theme: str = "auto") -> go.Figure:
    """Plot `traits`: the values that the best configurations have more often than all."""
    frame = traits(source, task, share)
    c = colours(theme)
    more = frame[frame["lift"] > 1] if len(frame) else frame
    if more.empty:
        return nothing("Values of the best", "Nothing to tell", frame, theme)
    top = more.head(BARS)[::-1]
    places = list(range(len(top)))
    labels = [name(f"{p} = {v}", 34) for p, v in zip(top["parameter"], top["value"], strict=True)]
    count = np.stack([top["best"], top["of"]], axis=1)
    traces = [
        {"type": "bar", "orientation": "h", "name": words, "x": top[column].to_numpy(), "y": places,
         "marker": {"color": colour}, "customdata": count,
         "hovertemplate": "%{x:.1%}, %{customdata[0]:,} of the best, %{customdata[1]:,} of all<extra></extra>"}
        for column, words, colour in (("usual", "all", c.point), ("share", "the best", hue(0)))
    ]  # fmt: skip
    y = axis(c, "", tickvals=places, ticktext=labels, showgrid=False)
    aside = above(keys([(hue(0), f"best {frame.attrs['best']:,}"), (c.point, "all")]),
                  drawn(len(top), len(more), "values"))  # fmt: skip
    part = Part(traces, axis(c, "share of the configurations with the value", tickformat=".0%"), y,
                title="Values of the best", aside=aside)  # fmt: skip
    return figure(part, frame, theme, 120 + 24 * len(top), left=210, barmode="group")


def winners_figure(source: Source, task: str | None = None, n: int = 1, theme: str = "auto") -> go.Figure:
    """Plot `winners`: their parameters, coloured by the place of the value among those that occur."""
    frame = winners(source, task, n)
    c = colours(theme)
    parameters = Parameters.of(list(frame["params"]))
    if frame.empty or not parameters.names:
        return nothing("Winners", "No value yet", frame, theme)
    rows, columns = list(range(len(frame)))[:ROWS], list(range(len(parameters.names)))[:VALUES]
    size = np.array([max(len(levels) - 1, 1) for levels in parameters.levels])
    place = np.where(parameters.codes >= 0, parameters.codes / size, np.nan)[np.ix_(rows, columns)]
    text = [[name(said(parameters.at(r).get(parameters.names[k], "")), 12) for k in columns] for r in rows]
    titles = names(_titles(frame))
    labels = [f"{label} {rank}" if n > 1 else label for label, rank in zip(titles, frame["rank"], strict=True)]
    cells = {
        "type": "heatmap", "z": place, "x": columns, "y": rows, "zmin": 0, "zmax": 1, "showscale": False, "text": text,
        "texttemplate": "%{text}", "colorscale": [[k / 5, shade(c, k / 5)] for k in range(6)], "hoverongaps": False,
        "hoverinfo": "skip",
    }  # fmt: skip
    x = axis(c, "", tickvals=columns, ticktext=[name(parameters.names[k], 16) for k in columns], showgrid=False,
             automargin=True)  # fmt: skip
    y = axis(c, "", tickvals=rows, ticktext=labels[: len(rows)], autorange="reversed", showgrid=False)
    aside = above(drawn(len(rows), len(frame), "records"), drawn(len(columns), len(parameters.names), "parameters"))
    return figure(Part([cells], x, y, title="Winners", aside=aside), frame, theme, 130 + 26 * len(rows), left=252)
