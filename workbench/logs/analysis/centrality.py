"""How hard a space is to search: the proportion of centrality of its good local minima."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.figures.style import axis, colours
from workbench.analysis.figures.subplot import Part, trace
from workbench.logs.analysis.charts import above, figure, hue, keys, nothing, percent
from workbench.logs.analysis.parameters import Parameters
from workbench.logs.analysis.selection import Floats, Group, Source, noted, one_group

if TYPE_CHECKING:
    import pandas
    import plotly.graph_objects as go

Neighbours = Literal["step", "any"]
COLUMNS = ["neighbours", "within", "proportion", "minima", "good_minima", "configurations", "tried"]

DAMPING = 0.85
"""Share of the walks of PageRank that go on along an edge, as the definition has it."""

LARGEST = 300_000
"""Combinations of values for which the graph is made; a walk visits all of them a hundred times. Chosen: seconds."""

ROUNDS, TOLERANCE = 200, 1e-8
"""Rounds of the power iteration at most, and the change (summed) at which it ends."""

NEIGHBOURS = {"step": "next value of one parameter", "any": "any value of one parameter"}


def centrality(source: Source, task: str | None = None) -> pandas.DataFrame:
    """Return how likely a local search is to end in a good minimum: the proportion of centrality.

    The graph has a node for every combination of the values, and an edge to each neighbour that is not slower: one
    parameter one value further (``neighbours`` "step"), or one parameter with any other value ("any"). Combinations
    without a value (failed, forbidden, not tried) are slower than all others. The centrality of a node is its
    PageRank (damping 0.85); the proportion is that of the local minima within p of the optimum ÷ that of all local
    minima. Definition: Schoonhoven, van Werkhoven, Batenburg, arXiv 2210.01465. It is meant for complete logs.

    Returns
    -------
    DataFrame
        One row per kind of neighbours and p = 0 … 15 %: ``neighbours within proportion minima good_minima
        configurations tried``; `minima` counts the local minima, `configurations` the nodes, `tried` those with a
        record. Empty where nothing has a value, or the combinations are more than 300,000;
        ``attrs["finding"]`` says so.

    Raises
    ------
    UsageError
        ``usage.task``, ``usage.one_task``
    """
    import pandas

    group = one_group(source, task)
    cost, tried, size = grid(group)
    empty = pandas.DataFrame(columns=COLUMNS)
    if cost is None:
        text = f"The parameters have {size:,} combinations, more than {LARGEST:,}: no graph." if size else _NOTHING
        return noted(empty, text)
    low = float(cost.min())
    kinds: tuple[Neighbours, ...] = ("step", "any")
    rows = []
    for kind in kinds:
        minima = local_minima(cost, kind)
        rank = page_rank(cost, kind)
        whole = float(rank[minima].sum())
        for percents in range(16):
            good = minima & (cost <= low + percents / 100 * abs(low))
            rows.append([kind, percents / 100, float(rank[good].sum()) / whole, int(minima.sum()), int(good.sum()),
                         size, tried])  # fmt: skip
    frame = pandas.DataFrame(rows, columns=COLUMNS)
    return noted(frame, _finding(frame))


_NOTHING = "No record has a value, or nothing varies: no graph."


def grid(group: Group) -> tuple[Floats | None, int, int]:
    """Return the costs of all combinations, how many have a record, and how many there are. The costs have an axis per
    parameter that varies, and are infinite where there is no value; None where there is no such array.
    """
    parameters = Parameters.of(group.params())
    axes = parameters.varying
    shape = [len(parameters.levels[k]) for k in axes]
    size = math.prod(shape)
    if not axes or not group.ok.any():
        return None, 0, 0
    if size > LARGEST:
        return None, len(np.unique(parameters.configuration)), size
    have = (parameters.codes[:, axes] >= 0).all(axis=1)
    place = np.ravel_multi_index(tuple(parameters.codes[have][:, axes].T), shape)
    cost = np.full(size, np.inf)
    np.fmin.at(cost, place, np.where(group.ok, group.cost, np.inf)[have])
    if not np.isfinite(cost).any():  # records with a value lack a parameter
        return None, 0, 0
    return cost.reshape(shape), len(np.unique(place)), size


def local_minima(cost: Floats, kind: Neighbours) -> NDArray[np.bool_]:
    """Return which configurations with a value have no faster neighbour."""
    out = np.isfinite(cost)
    for at in range(cost.ndim):
        along = np.moveaxis(cost, at, 0)
        mine = np.moveaxis(out, at, 0)
        if kind == "any":
            mine &= along <= along.min(axis=0)
        else:
            mine[1:] &= along[1:] <= along[:-1]
            mine[:-1] &= along[:-1] <= along[1:]
    return out


def page_rank(cost: Floats, kind: Neighbours) -> Floats:
    """Return PageRank on the graph with edges to neighbours that are not slower; the sum is 1.

    A walk that has nowhere to go on starts anywhere. No edge is stored: those of a parameter run along its axis.
    """
    spread = _Steps(cost) if kind == "step" else _Any(cost)
    out = spread.out_degree()
    rank = np.full(cost.shape, 1 / cost.size)
    for _ in range(ROUNDS):
        each = np.divide(rank, out, out=np.zeros_like(rank), where=out > 0)
        lost = float(rank[out == 0].sum())
        new = DAMPING * (spread.received(each) + lost / cost.size) + (1 - DAMPING) / cost.size
        change, rank = float(np.abs(new - rank).sum()), new
        if change < TOLERANCE:
            break
    return np.asarray(rank / rank.sum(), np.float64)


class _Steps:
    """Edges to the value before and after."""

    def __init__(self, cost: Floats) -> None:
        self.shape = cost.shape
        lanes = [np.moveaxis(cost, at, 0) for at in range(cost.ndim)]
        self.edges = [(lane[1:] <= lane[:-1], lane[:-1] <= lane[1:]) for lane in lanes]  # up, down

    def out_degree(self) -> NDArray[np.int64]:
        out = np.zeros(self.shape, np.int64)
        for at, (up, down) in enumerate(self.edges):
            lane = np.moveaxis(out, at, 0)
            lane[:-1] += up
            lane[1:] += down
        return out

    def received(self, each: Floats) -> Floats:
        out = np.zeros(self.shape)
        for at, (up, down) in enumerate(self.edges):
            to, by = np.moveaxis(out, at, 0), np.moveaxis(each, at, 0)
            to[1:] += by[:-1] * up
            to[:-1] += by[1:] * down
        return out


class _Any:
    """Edges to every value of one parameter that is not slower: in the order of costs, what comes later gives to what
    comes earlier, and equal ones to each other.

    Per parameter there is a table, a column for each combination of the other parameters and in it the configurations
    from the slowest to the fastest: `at` has their numbers, `last` those in the table of what the last equal one got.
    """

    def __init__(self, cost: Floats) -> None:
        self.shape = cost.shape
        numbers = np.arange(cost.size).reshape(cost.shape)
        self.at, self.last, self.count = [], [], []
        for k in range(cost.ndim):
            along, here = (np.moveaxis(of, k, 0).reshape(cost.shape[k], -1) for of in (cost, numbers))
            order = np.argsort(along, axis=0, kind="stable")[::-1]
            ranked = np.take_along_axis(along, order, 0)
            place = np.arange(len(ranked))[:, None]
            ends = np.append(ranked[1:] != ranked[:-1], np.ones((1, ranked.shape[1]), np.bool_), axis=0)
            begins = np.roll(ends, 1, axis=0)
            first = np.maximum.accumulate(np.where(begins, place, 0), axis=0)
            last = np.minimum.accumulate(np.where(ends, place, len(ranked))[::-1], axis=0)[::-1]
            self.at.append(np.take_along_axis(here, order, 0))
            self.last.append(last * ranked.shape[1] + np.arange(ranked.shape[1]))
            self.count.append(len(ranked) - 1 - first)  # as many as are not slower, but itself

    def out_degree(self) -> NDArray[np.int64]:
        out = np.zeros(self.shape, np.int64)
        for at, count in zip(self.at, self.count, strict=True):
            out.reshape(-1)[at] += count
        return out

    def received(self, each: Floats) -> Floats:
        out = np.zeros(self.shape)
        for at, last in zip(self.at, self.last, strict=True):
            given = each.reshape(-1)[at]
            out.reshape(-1)[at] += np.cumsum(given, axis=0).reshape(-1)[last] - given
        return out


def _finding(frame: pandas.DataFrame) -> str:
    near = frame[frame["within"] == 0.05]
    step, any_ = (near[near["neighbours"] == kind].iloc[0] for kind in ("step", "any"))
    text = (
        f"With steps of one value {percent(step['proportion'])} of the centrality of {int(step['minima']):,} local "
        f"minima is within 5 % of the optimum ({int(step['good_minima']):,} of them); with any value of one parameter "
        f"{percent(any_['proportion'])} of {int(any_['minima']):,}"
    )
    tried, size = int(step["tried"]), int(step["configurations"])
    if tried < size:
        text += f"; {tried:,} of {size:,} combinations have a record, the others count as failures"
    return f"{text}."


def centrality_figure(source: Source, task: str | None = None, theme: str = "auto") -> go.Figure:
    """Plot `centrality` against the distance from the optimum: high and early is an easy space."""
    frame = centrality(source, task)
    c = colours(theme)
    if frame.empty:
        return nothing("Search difficulty", "No graph", frame, theme)
    traces: list[dict[str, Any]] = []
    for k, (kind, words) in enumerate(NEIGHBOURS.items()):
        part = frame[frame["neighbours"] == kind]
        traces.append(
            trace(words, part["within"].to_numpy(), part["proportion"].to_numpy(), mode="lines+markers",
                  line={"color": hue(k), "width": 2}, marker={"size": 5}, customdata=part["good_minima"].to_numpy(),
                  hovertemplate="%{y:.1%}, %{customdata} minima within %{x:.0%}<extra>%{fullData.name}</extra>")
        )  # fmt: skip
    aside = above(keys((hue(k), words) for k, words in enumerate(NEIGHBOURS.values())))
    plot = Part(traces, axis(c, "distance from the optimum", tickformat=".0%"),
                axis(c, "proportion of centrality", tickformat=".0%", range=[0, 1.02]), title="Search difficulty",
                aside=aside)  # fmt: skip
    return figure(plot, frame, theme)
