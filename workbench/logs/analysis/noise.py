"""Repeats and noise: which configurations cannot be told from the best, and ranks that flip."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.figures.style import axis, colours, log_ticks
from workbench.analysis.figures.subplot import Part, trace
from workbench.cost_model.prediction_quality import spearman
from workbench.logs.analysis.charts import above, drawn, figure, keys, nothing, percent, thinned
from workbench.logs.analysis.selection import MOST, Floats, Group, Source, noted, one_group
from workbench.logs.cells import readable, shown
from workbench.logs.evaluation import OF_ALL

if TYPE_CHECKING:
    import pandas
    import plotly.graph_objects as go

COLUMNS = [
    "record", "rank", "value", "unit", "repeats", "mean", "median", "min", "spread", "first", "low", "high",
    "equal_to_best", "rank_by_median",
]  # fmt: skip

DRAWN = 200
"""Configurations whose intervals the figure shows: the best ones. Chosen by eye."""


def noise(source: Source, task: str | None = None) -> pandas.DataFrame:
    """Return how repeatable the values are, and which configurations are statistically equal to the best.

    A configuration is equal to the best (by `value`) where Welch's test at 5 % does not tell the means of their repeats
    apart, without a correction for the many comparisons. Repeats that come from one process, one after the other, are
    more alike than those of another day: read it as a lower bound.

    Returns
    -------
    DataFrame
        One row per ok record, the best first, 20,000 at most:
        ``record rank value unit repeats mean median min spread first low high equal_to_best rank_by_median``.
        `repeats` is their number; `spread` their standard deviation ÷ mean; `first` the
        first ÷ the median of the others (a cold start where it is far from 1); `low` and `high` are the 95 % interval
        of the mean (NaN with fewer than two repeats); ``equal_to_best`` is missing where there is no interval.
        ``attrs`` has `equal` (how many are equal to the best), ``rank_correlation`` of the means of even and of odd
        repeats, ``top10_common`` (of ten, how many are the ten best by both) and ``median_winner`` (record that is the
        best by the median).

    Raises
    ------
    UsageError
        ``usage.task``, ``usage.one_task``
    """
    import pandas

    group = one_group(source, task)
    rows = np.flatnonzero(group.ok)
    rows = rows[np.argsort(group.cost[rows], kind="stable")][:MOST]
    if not len(rows):
        return noted(pandas.DataFrame(columns=COLUMNS), "No record has a value.")
    table = _Repeats.of(group, rows)
    frame = pandas.DataFrame(
        {
            "record": group.records["record"].to_numpy()[rows], "rank": np.arange(1, len(rows) + 1),
            "value": group.value[rows], "unit": group.unit, **table.columns(),
            "equal_to_best": pandas.array(table.equal(), dtype="boolean"), "rank_by_median": table.order(table.median),
        }
    )[COLUMNS]  # fmt: skip
    sampled = group.records["statistic"].astype(str).str.endswith(OF_ALL).to_numpy()[rows]
    finding = _finding(frame, group, table, frame[~sampled])
    return noted(frame, finding, **table.halves(), equal=int(frame["equal_to_best"].sum()),
                 median_winner=int(frame["record"].iloc[int(frame["rank_by_median"].argmin())]))  # fmt: skip


class _Repeats:
    """All repeats of some records, as a matrix ``[N, most repeats]`` that is filled up with NaN."""

    def __init__(self, values: Floats, smaller_is_better: bool) -> None:
        self.values, self.sign = values, 1.0 if smaller_is_better else -1.0
        self.count = np.isfinite(values).sum(axis=1)
        some = self.count > 0
        rows = values[some]
        self.mean, self.median, self.least, self.std = (np.full(len(values), np.nan) for _ in range(4))
        if len(rows):
            self.mean[some], self.median[some] = np.nanmean(rows, axis=1), np.nanmedian(rows, axis=1)
            self.least[some] = np.nanmin(rows, axis=1)
        many = self.count > 1
        if many.any():
            self.std[many] = np.nanstd(values[many], axis=1, ddof=1)

    @classmethod
    def of(cls, group: Group, rows: NDArray[np.intp]) -> _Repeats:
        repeats = list(group.records["repeats"].iloc[rows])
        matrix = np.full((len(rows), max(map(len, repeats), default=0) or 1), np.nan)
        for k, some in enumerate(repeats):
            matrix[k, : len(some)] = some
        return cls(matrix, group.smaller_is_better)

    def columns(self) -> dict[str, Any]:
        error = self.std / np.sqrt(np.maximum(self.count, 1)) * quantile(self.count - 1.0)
        with np.errstate(invalid="ignore", divide="ignore"):
            spread = self.std / np.abs(self.mean)
        return {
            "repeats": self.count, "mean": self.mean, "median": self.median, "min": self.least, "spread": spread,
            "first": self.first(), "low": self.mean - error, "high": self.mean + error,
        }  # fmt: skip

    def first(self) -> Floats:
        many = self.count > 1
        ratio = np.full(len(self.values), np.nan)
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio[many] = self.values[many, 0] / np.nanmedian(self.values[many, 1:], axis=1)
        return ratio

    def equal(self) -> list[bool | None]:
        """Whether each mean can be told from that of the first row: Welch's test."""
        part = self.std**2 / np.maximum(self.count, 1)
        both = part + part[0]
        with np.errstate(invalid="ignore", divide="ignore"):
            degrees = both**2 / (part**2 / (self.count - 1.0) + part[0] ** 2 / (self.count[0] - 1.0))
            t = np.abs(self.mean - self.mean[0]) / np.sqrt(both)
        same = np.where(both > 0, t <= quantile(degrees), self.mean == self.mean[0])
        return [bool(s) if k > 1 and self.count[0] > 1 else None for s, k in zip(same, self.count, strict=True)]

    def order(self, by: Floats) -> NDArray[np.intp]:
        """Ranks from 1 by another statistic; NaN last."""
        ranks = np.empty(len(by), np.intp)
        ranks[np.argsort(self.sign * by, kind="stable")] = np.arange(1, len(by) + 1)
        return ranks

    def halves(self) -> dict[str, Any]:
        """How well the ranks by every second repeat agree with those by the others."""
        many = self.count > 1
        if many.sum() < 2:
            return {"rank_correlation": None, "top10_common": None}
        odd, even = (np.nanmean(self.values[many, k::2], axis=1) for k in (0, 1))
        best = min(10, int(many.sum()))
        top = [set(np.argsort(self.sign * half, kind="stable")[:best].tolist()) for half in (odd, even)]
        return {"rank_correlation": spearman(odd, even), "top10_common": len(top[0] & top[1])}


def quantile(degrees: Floats) -> Floats:
    """Return the two-sided 95 % quantile of Student's t: exact for 1 and 2 degrees of freedom, else the expansion of
    Cornish and Fisher around the normal one (four terms; within 0.15 % from 3 on); NaN below 1.
    """
    n = np.maximum(degrees, 1.0)
    z = 1.959963984540054
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    wide = z + sum(term / n ** (k + 1) for k, term in enumerate(terms))
    p = 0.95
    exact = np.where(n < 1.5, math.tan(math.pi * p / 2), p * math.sqrt(2 / (1 - p**2)))
    return np.where(degrees < 1, np.nan, np.where(n < 2.5, exact, wide))


def _finding(frame: pandas.DataFrame, group: Group, table: _Repeats, whole: pandas.DataFrame) -> str:
    """Say what was found; `whole` are the rows with all repeats that their values are made of."""
    many = frame[frame["repeats"] > 1]
    if len(many) < 2:
        return f"No noise is known: {len(frame) - len(many):,} of {len(frame):,} values have no repeats."
    equal = int(frame["equal_to_best"].sum())
    spread = percent(float(many["spread"].median()))
    text = f"{equal:,} of {len(frame):,} configurations are statistically equal to the best"
    if equal <= 1:
        text = f"No other of {len(frame):,} configurations is statistically equal to the best"
    elif math.isfinite(worst := float(frame.loc[frame["equal_to_best"].fillna(False), "mean"].iloc[-1])):
        text += f" (means up to {shown(worst, group.unit)})"
    text += f"; repeats spread by {spread} in the median"
    first = float(many["first"].median())
    if abs(first - 1) > max(0.01, float(many["spread"].median())):
        text += f", and the first is {first:.2f} times the others"
    if odd := _contradicting(whole):
        return f"{text}; {odd:,} values are neither mean, median nor minimum of their repeats, and contradict them."
    by_median = int(frame["rank_by_median"].iloc[0])
    return f"{text}." if by_median == 1 else f"{text}; by the median the best one would be number {by_median:,}."


def _contradicting(frame: pandas.DataFrame) -> int:
    """How many values are none of the usual statistics of their repeats."""
    told = frame["value"].to_numpy()[:, None]
    known = frame[["mean", "median", "min"]].to_numpy()
    near = np.abs(known - told) <= 1e-3 * np.abs(told)
    return int((~near.any(axis=1) & (frame["repeats"].to_numpy() > 0)).sum())


def noise_figure(source: Source, task: str | None = None, theme: str = "auto") -> go.Figure:
    """Plot `noise`: the best configurations with the intervals of their means, those equal to the best in colour."""
    frame = noise(source, task)
    c = colours(theme)
    many = frame[frame["low"].notna()]
    if many.empty:
        return nothing("Noise", "No repeats", frame, theme)
    top = many.head(DRAWN)
    kept = thinned(len(many) - len(top), most=500) + len(top)
    factor, unit = readable(float(top["mean"].iloc[0]), str(frame["unit"].iloc[0]))
    traces = [trace("others", many["rank"].to_numpy()[kept], factor * many["mean"].to_numpy()[kept], mode="markers",
                    marker={"size": 3, "color": c.grid})]  # fmt: skip
    for label, colour, mine in (("different", c.point, False), ("equal to the best", c.accent, True)):
        part = top[top["equal_to_best"].fillna(False) == mine]
        mean = factor * part["mean"].to_numpy()
        traces.append(
            trace(label, part["rank"].to_numpy(), mean, mode="markers", customdata=part["record"].to_numpy(),
                  marker={"size": 5, "color": colour}, hovertemplate="record %{customdata}: %{y:.4g}<extra></extra>",
                  error_y={"type": "data", "array": factor * part["high"].to_numpy() - mean, "color": colour,
                           "thickness": 1, "width": 2})
        )  # fmt: skip
    low, high = factor * many["mean"].min(), factor * many["mean"].max()
    scale = {"type": "log", **log_ticks(low, high)} if low > 0 else {}
    aside = above(keys([(c.accent, "equal to the best"), (c.point, "different")]),
                  drawn(len(top) + len(kept), len(many), "configurations"))  # fmt: skip
    plot = Part(traces, axis(c, "rank by value", type="log"), axis(c, f"mean of repeats, {unit}", **scale),
                title="Noise", aside=aside)  # fmt: skip
    return figure(plot, frame, theme)
