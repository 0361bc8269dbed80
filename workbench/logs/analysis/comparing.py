"""Two runs beside each other: who wins which task, and what they say of the configurations that both tried."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.analysis.figures.style import axis, colours, log_ticks
from workbench.analysis.figures.subplot import Part, trace
from workbench.errors import UsageError
from workbench.logs.analysis.alignment import Alignment, Pairs, difference, paired
from workbench.logs.analysis.charts import above, drawn, figure, keys, name, names, nothing, percent, thinned
from workbench.logs.analysis.progress import elapsed
from workbench.logs.analysis.selection import Floats, Group, Source, noted
from workbench.logs.cells import readable, shown

if TYPE_CHECKING:
    import pandas
    import plotly.graph_objects as go

COLUMNS = [
    "task", "device", "objective", "statistic_first", "statistic_second", "first", "second", "unit", "ratio", "winner",
    "records_first", "records_second", "cost_first", "cost_second", "both", "ratio_of_both", "disagree",
    "first_in_second", "second_in_first", "differ",
]  # fmt: skip
PAIRS = ["task", "params", "record_first", "record_second", "first", "second", "unit", "ratio", "status_first",
         "status_second", "disagree"]  # fmt: skip

SAME = 1e-9
"""Relative difference of values that are the same. Chosen: more than what a change of the unit loses."""

BARS = 30
"""Tasks that the figure shows. Chosen by eye."""

Renames = Mapping[str, str] | None


def compare(
    first: Source, second: Source, task: str | None = None, rename: Renames = None, tasks: Renames = None
) -> pandas.DataFrame:
    """Compare two runs, task by task.

    Tasks are matched by their names, or the only ones of each log; where a log has a task on several devices, for
    several targets or objectives, by these, too. Configurations are matched by the values of the parameters that both
    have, whose names are compared without regard to upper and lower case.

    Parameters
    ----------
    first, second : TuningLog or DataFrame
    task : str, optional
        This task only.
    rename : mapping, optional
        Names of parameters in the second, and what the first calls them.
    tasks : mapping, optional
        Names of tasks in the second, and what the first calls them.

    Returns
    -------
    DataFrame
        One row per common task: ``task device objective statistic_first statistic_second first second unit ratio
        winner records_first records_second cost_first cost_second both ratio_of_both disagree first_in_second
        second_in_first differ``. `first` and `second` are the best values in `unit`, `ratio` second ÷ first; `winner`
        is "first", "second" or "" (equal, or none has a value); `device` names both where they differ; costs are
        seconds of tuning (missing where the log does not say). `both` counts the configurations that both tried,
        `ratio_of_both` is the median of second ÷ first over those that are ok in both, `disagree` counts those that
        failed in one only. ``first_in_second``: how much of the second's best the first's winner reaches there.
        `differ` says how the winners differ; the statistics are what each best value is of its repeats (mean, median,
        min). ``attrs["only_first"]`` and ``attrs["only_second"]`` name the tasks of one run alone,
        ``attrs["not_compared"]`` has the reason for each of several common tasks that cannot be compared.

    Raises
    ------
    UsageError
        ``usage.task``, ``usage.one_task``, ``usage.units``, ``usage.parameters``.
    """
    import pandas

    pairs = paired(first, second, task, tasks)
    aligned, refused = _aligned(pairs, rename)
    frame = pandas.DataFrame([_row(one) for one in aligned], columns=COLUMNS)
    alone = {f"only_{side}": _names(found) for side, found in zip(("first", "second"), pairs.alone, strict=True)}
    return noted(
        frame, _finding(frame, refused, alone), only=[one.only for one in aligned], not_compared=refused, **alone
    )


def _aligned(pairs: Pairs, rename: Renames) -> tuple[list[Alignment], dict[str, str]]:
    """Return what can be compared; of several tasks those that cannot, with the reason, of the only one the error."""
    found, refused = [], {}
    for a, b in pairs.common:
        try:
            found.append(Alignment.of([a, b], [{}, rename or {}]))
        except UsageError as error:
            if len(pairs.common) == 1 or error.code not in ("usage.parameters", "usage.units"):
                raise
            refused[_names([a])[0]] = error.message
    return found, refused


def _names(found: Sequence[Group]) -> list[str]:
    """Names of tasks, and what else tells them apart."""
    return list(dict.fromkeys(" on ".join(filter(None, (g.key["task"], _device(g)))) for g in found))


def _device(group: Group) -> str:
    return group.key["device"] or group.key["target"]


def both_tried(
    first: Source, second: Source, task: str | None = None, rename: Renames = None, tasks: Renames = None
) -> pandas.DataFrame:
    """Return the configurations that two runs have both tried, and what each says.

    Returns
    -------
    DataFrame
        One row per configuration, those that failed in one only first, then by how far the values are apart: ``task
        params record_first record_second first second unit ratio status_first status_second disagree``; of a
        configuration that a run tried more than once, its best record. `disagree` is whether it failed in one only.

    Raises
    ------
    UsageError
        As `compare` does.
    """
    import pandas

    aligned, _ = _aligned(paired(first, second, task, tasks), rename)
    parts = [_pairs(one.groups[0].key["task"], one) for one in aligned]
    frame = pandas.concat(parts, ignore_index=True) if parts else pandas.DataFrame(columns=PAIRS)
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = np.abs(np.log(frame["ratio"].to_numpy(np.float64)))
    order = np.lexsort([-np.nan_to_num(apart, nan=-1.0), ~frame["disagree"].to_numpy(bool)])
    frame = frame.iloc[order].reset_index(drop=True)
    return noted(frame, _agreement(frame))


def quotient(a: Floats | float, b: Floats | float) -> Floats:
    """Return a ÷ b; NaN or infinite where b is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.divide(a, b), np.float64)


def _row(both: Alignment) -> list[Any]:
    tried = both.tried.all(axis=1)
    value, ok = both.value[tried], np.isfinite(both.value[tried])
    fine = ok.all(axis=1)
    ratio = quotient(value[fine, 1], value[fine, 0]) if fine.any() else np.array([np.nan])
    best = [both.best(k) for k in (0, 1)]
    values = [float(both.value[b, k]) if b is not None else np.nan for k, b in enumerate(best)]
    shares = both.shares()
    crossed = [float(shares[b, 1 - k]) if b is not None else np.nan for k, b in enumerate(best)]
    winner = ""
    if best[0] is None or best[1] is None:
        winner = "second" if best[1] is not None else "first" if best[0] is not None else ""
    elif not np.isclose(values[0], values[1], rtol=SAME, atol=0.0):
        winner = "first" if (values[0] < values[1]) == both.smaller_is_better else "second"
    params = [both.params[b] if b is not None else {} for b in best]
    group, statistics = both.groups[0], [_statistic(both, k) for k in (0, 1)]
    devices = ", ".join(dict.fromkeys(filter(None, map(_device, both.groups))))
    return [
        group.key["task"], devices, group.key["objective"], *statistics, *values, both.unit,
        float(quotient(values[1], values[0])), winner, *(len(g.records) for g in both.groups),
        *(_cost(both, k) for k in (0, 1)), int(tried.sum()), float(np.median(ratio)),
        int((ok[:, 0] != ok[:, 1]).sum()), *crossed, difference(*params) if all(params) else "",
    ]  # fmt: skip


def _statistic(both: Alignment, k: int) -> str:
    """Return what the best value of a run is of its repeats."""
    group = both.groups[k]
    return str(group.records["statistic"].iloc[group.best]) if group.ok.any() else ""


def _cost(both: Alignment, k: int) -> float:
    time, _ = elapsed(both.groups[k])
    return float(time.max()) if len(time) else np.nan


def _pairs(task: str, both: Alignment) -> pandas.DataFrame:
    import pandas

    at = np.flatnonzero(both.tried.all(axis=1))
    value = both.value[at]
    records = [g.records.iloc[both.rows[at, k]] for k, g in enumerate(both.groups)]
    ok = np.isfinite(value)
    ratio = quotient(value[:, 1], value[:, 0])
    return pandas.DataFrame(
        {
            "task": task, "params": [both.params[c] for c in at], "record_first": records[0]["record"].to_numpy(),
            "record_second": records[1]["record"].to_numpy(), "first": value[:, 0], "second": value[:, 1],
            "unit": both.unit, "ratio": ratio, "status_first": records[0]["status"].astype(str).to_numpy(),
            "status_second": records[1]["status"].astype(str).to_numpy(), "disagree": ok[:, 0] != ok[:, 1],
        }
    )[PAIRS]  # fmt: skip


def _finding(frame: pandas.DataFrame, refused: Mapping[str, str], alone: Mapping[str, Sequence[str]]) -> str:
    said = [_compared(frame)] if len(frame) else []
    if frame.empty and not refused:
        of = zip(("first", "second"), alone.values(), strict=True)
        names = [f"the {side} has {n[0]}{f' and {len(n) - 1} more' if n[1:] else ''}" for side, n in of if n]
        said = [f"The logs have no task in common{': ' * bool(names)}{', '.join(names)}."]
    if refused:
        said.append(f"Tasks in common that cannot be compared: {len(refused)}.")
    statistics = [frame["statistic_first"], frame["statistic_second"]]
    mixed = frame[(statistics[0] != statistics[1]) & (statistics[0] != "") & (statistics[1] != "")]
    if len(mixed):
        a, b = (mixed[f"statistic_{side}"].iloc[0] for side in ("first", "second"))
        where = f" ({len(mixed)} tasks)" if len(mixed) > 1 else ""
        said.append(f"The first run's best is the {a} of its repeats, the second's the {b}{where}.")
    return " ".join(said)


def _compared(frame: pandas.DataFrame) -> str:
    if len(frame) == 1:
        row = frame.iloc[0]
        values = f"{shown(row['first'], row['unit'])} against {shown(row['second'], row['unit'])}"
        text = f"The {row['winner']} run wins, {values}" if row["winner"] else f"No run wins, {values}"
        if differ := row["differ"].replace("; ", ", "):
            text += f"; the winners differ in {differ}"
        elif np.isfinite([row["first"], row["second"]]).all():
            text += "; the winners are the same configuration"
        if not row["both"]:
            return f"{text}; no configuration was tried by both."
        text += f"; of {row['both']:,} configurations that both tried {row['disagree']:,} failed in one only"
        return f"{text}, and where both have a value, second ÷ first is {row['ratio_of_both']:.2f} in the median."
    wins = [int((frame["winner"] == side).sum()) for side in ("first", "second")]
    ratio = float(np.exp(np.nanmean(np.log(frame["ratio"]))))
    return (
        f"Of {len(frame)} common tasks the first run wins {wins[0]}, the second {wins[1]}; the best values of the "
        f"second are {ratio:.2f} times those of the first in the geometric mean."
    )


def _agreement(frame: pandas.DataFrame) -> str:
    if frame.empty:
        return "No configuration was tried by both runs."
    ratio = frame.loc[np.isfinite(frame["ratio"]), "ratio"]
    failed = int(frame["disagree"].sum())
    if ratio.empty:
        return f"{len(frame):,} configurations were tried by both runs, none is ok in both; {failed:,} are in one."
    low, middle, high = ratio.quantile([0.0, 0.5, 1.0])
    return (
        f"Of {len(frame):,} configurations that both runs tried, {failed:,} failed in one only "
        f"({percent(failed / len(frame))}); second ÷ first is {middle:.2f} in the median, from {low:.2f} to {high:.2f}."
    )


def compare_figure(
    first: Source,
    second: Source,
    task: str | None = None,
    rename: Renames = None,
    theme: str = "auto",
    tasks: Renames = None,
) -> go.Figure:
    """Plot `compare`: of one task the configurations that both tried, one value against the other; of several tasks the
    ratio of the best values.
    """
    frame = compare(first, second, task, rename, tasks)
    if frame.empty:
        return nothing("Two runs", "No common task", frame, theme)
    if len(frame) > 1:
        return _ratios(frame, theme)
    pairs = both_tried(first, second, task, rename, tasks)
    if not np.isfinite(pairs["ratio"]).any():
        return nothing("Two runs", "No configuration is ok in both", frame, theme)
    return figure(_scatter(pairs, theme), frame, theme, 420)


def _scatter(pairs: pandas.DataFrame, theme: str) -> Part:
    c = colours(theme)
    factor, unit = readable(float(pairs["first"].min()), str(pairs["unit"].iloc[0]))
    fine = pairs[np.isfinite(pairs["ratio"])]
    kept = fine.iloc[thinned(len(fine))]
    values = factor * fine[["first", "second"]].to_numpy()
    low, high = float(values.min()), float(values.max())
    log = low > 0
    one_failed = pairs[pairs["disagree"]].iloc[:2000]
    edge = [low * 0.97, low * 0.97] if log else [low, low]
    lost = [factor * one_failed[side].fillna(edge[k] / factor).to_numpy() for k, side in enumerate(("first", "second"))]
    records = kept[["record_first", "record_second"]].to_numpy()
    failed = one_failed[["record_first", "record_second"]].to_numpy()
    cross = {"size": 7, "symbol": "x-thin", "line": {"width": 1.5, "color": c.danger}}
    traces = [
        trace("equal", [low, high], [low, high], mode="lines", line={"color": c.faint, "width": 1, "dash": "dash"}),
        trace("both ok", factor * kept["first"].to_numpy(), factor * kept["second"].to_numpy(), mode="markers",
              customdata=records, marker={"size": 4, "color": c.accent, "opacity": 0.5},
              hovertemplate="%{x:.4g} and %{y:.4g}<br>records %{customdata[0]} and %{customdata[1]}<extra></extra>"),
        trace("failed in one", *lost, mode="markers", marker=cross, customdata=failed,
              hovertemplate="failed in one run<br>records %{customdata[0]} and %{customdata[1]}<extra></extra>"),
    ]  # fmt: skip
    scale = {"type": "log", **log_ticks(low, high)} if log else {}
    aside = above(keys([(c.accent, "ok in both"), (c.danger, "failed in one")]), drawn(len(kept), len(fine)))
    x, y = (axis(c, f"{side} run, {unit}".rstrip(", "), **scale) for side in ("first", "second"))
    return Part(traces, x, y, title="Two runs", aside=aside)


def _ratios(frame: pandas.DataFrame, theme: str) -> Any:
    c = colours(theme)
    order = frame["ratio"].sort_values(kind="stable").index
    kept = order[np.linspace(0, len(order) - 1, min(BARS, len(order))).astype(int)]
    rows = frame.loc[kept]
    labels = dict(zip(frame.index, names(list(frame["task"])), strict=True))
    bars = {
        "type": "bar", "orientation": "h", "x": rows["ratio"].to_numpy() - 1, "base": 1, "y": list(range(len(rows))),
        "marker": {"color": [c.accent if w == "second" else c.point for w in rows["winner"]]},
        "customdata": [name(text, 80) for text in rows["differ"]],
        "hovertemplate": "%{x:.3f}<br>%{customdata}<extra></extra>",
    }  # fmt: skip
    y = axis(c, "", tickvals=list(range(len(rows))), ticktext=[labels[k] for k in kept], showgrid=False)
    aside = above(keys([(c.point, "first wins"), (c.accent, "second wins")]), drawn(len(rows), len(frame), "tasks"))
    part = Part([bars], axis(c, "best of the second ÷ best of the first"), y, title="Two runs", aside=aside)
    return figure(part, frame, theme, 120 + 20 * len(rows), left=252)
