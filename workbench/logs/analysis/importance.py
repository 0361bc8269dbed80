"""Which parameters matter, and which matter together."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.analysis.figures.style import axis, colours, shade
from workbench.analysis.figures.subplot import Part
from workbench.logs.analysis.charts import figure, name, nothing
from workbench.logs.analysis.model import FEWEST, Model, model_of
from workbench.logs.analysis.selection import Group, Source, noted, one_group

if TYPE_CHECKING:
    import pandas
    import plotly.graph_objects as go

REPEATS = 3
"""How often each parameter is permuted. Chosen: their spread is told."""

PAIRED = 8
"""Parameters whose pairs are looked at: the most important ones. Chosen for speed and to be read."""

DOUBTFUL = 0.5
"""R² of a model below which its importances are called doubtful. Chosen."""


def importance(source: Source, task: str | None = None) -> pandas.DataFrame:
    """Return how much each parameter matters for the value: permutation importance.

    Boosted trees learn the (logarithm of the) value on three quarters of the configurations. On the others each
    parameter is taken from another record, and R² drops by what the model knew through it. A drop of 1 is all of the
    variance; an unimportant parameter has 0. Trust it as far as R² of the model goes. Where a space has restrictions,
    such records may be none of it.

    Returns
    -------
    DataFrame
        One row per parameter that varies, the most important first: ``parameter importance spread r2 records``;
        `spread` is the standard deviation over permutations, `r2` that of the model on held-out records. Empty where
        there are too few records for a model; ``attrs["finding"]`` says so.

    Raises
    ------
    UsageError
        ``usage.task``, ``usage.one_task``
    """
    import pandas

    columns = ["parameter", "importance", "spread", "r2", "records"]
    group = one_group(source, task)
    model = model_of(group)
    if model is None:
        return noted(pandas.DataFrame(columns=columns), _no_model(group))
    drops = _drops(model)
    rows = [[n, d.mean(), d.std(ddof=1), model.r2, model.rows] for n, d in zip(model.names, drops, strict=True)]
    frame = pandas.DataFrame(rows, columns=columns)
    frame = frame.sort_values("importance", ascending=False, kind="stable", ignore_index=True)
    return noted(frame, _finding(frame, model), r2=model.r2)


def interactions(source: Source, task: str | None = None) -> pandas.DataFrame:
    """Return which pairs of parameters matter together: the best value of one depends on the other.

    It is what the drops of both parameters by themselves have in common: drop(a) + drop(b) - drop(a and b), where both
    are taken from the same other record. For a model that is a sum of functions of single parameters it is 0.

    Returns
    -------
    DataFrame
        One row per pair of the eight most important parameters, the strongest first:
        ``first second interaction joint r2``; `joint` is the drop of R² when both are permuted together.

    Raises
    ------
    UsageError
        ``usage.task``, ``usage.one_task``
    """
    import pandas

    columns = ["first", "second", "interaction", "joint", "r2"]
    group = one_group(source, task)
    model = model_of(group)
    if model is None:
        return noted(pandas.DataFrame(columns=columns), _no_model(group))
    alone = [float(drop.mean()) for drop in _drops(model)]
    top = sorted(sorted(range(len(alone)), key=lambda k: -alone[k])[:PAIRED])
    rows = []
    for a, b in combinations(top, 2):
        joint = _drop(model, (model.owners[a], model.owners[b]))
        rows.append([model.names[a], model.names[b], alone[a] + alone[b] - float(joint.mean()), joint.mean(), model.r2])
    frame = pandas.DataFrame(rows, columns=columns)
    frame = frame.sort_values("interaction", ascending=False, kind="stable", ignore_index=True)
    if frame.empty:
        return noted(frame, "Only one parameter varies.", r2=model.r2)
    if model.r2 <= 0:
        return noted(frame, _nothing_known(model), r2=model.r2)
    first = frame.iloc[0]
    text = f"{first['first']} and {first['second']} interact most ({first['interaction']:.2f} of R²)"
    return noted(frame, f"{text}; {_trust(model)}.", r2=model.r2)


def _no_model(group: Group) -> str:
    known = int(group.ok.sum())
    if known >= FEWEST:
        return f"There is no model: nothing varies, or fewer than {FEWEST} different configurations have a value."
    return (
        f"There is no model: it takes {FEWEST} configurations with a value, and {known} have one. Which values the "
        "best have more often is told all the same."
    )


def _drops(model: Model) -> list[np.ndarray]:
    return [_drop(model, (owner,)) for owner in model.owners]


def _drop(model: Model, owners: tuple[int, ...]) -> np.ndarray:
    """How far R² falls, per permutation; the same permutations for all parameters."""
    rng = np.random.default_rng(0)
    orders = [rng.permutation(len(model.y)) for _ in range(REPEATS)]
    return np.array([model.r2 - model.permuted(owners, order) for order in orders])


def _trust(model: Model) -> str:
    doubt = "" if model.r2 >= DOUBTFUL else ", too little to trust this"
    return f"the model explains {model.r2:.2f} of the variance of held-out values{doubt}"


def _nothing_known(model: Model) -> str:
    return (
        f"A model explains nothing of the held-out values (R² {model.r2:.2f}): what matters cannot be told from these."
    )


def _finding(frame: pandas.DataFrame, model: Model) -> str:
    if model.r2 <= 0:
        return _nothing_known(model)
    said = [f"{p} ({drop:.2f})" for p, drop in zip(frame["parameter"][:2], frame["importance"][:2], strict=True)]
    idle = int((frame["importance"] < 0.01).sum())
    text = f"{' and '.join(said)} matter{'s' * (len(said) == 1)} most, by how far R² falls without"
    text += f", {idle} of {len(frame)} parameters hardly at all" if idle else ""
    return f"{text}; {_trust(model)}."


def importance_figure(source: Source, task: str | None = None, theme: str = "auto") -> go.Figure:
    """Plot `importance` as bars with their spread; R² of the model stands beside the title."""
    frame = importance(source, task)
    c = colours(theme)
    if frame.empty:
        return nothing("Importance of parameters", "No model", frame, theme)
    shown = frame.head(20)[::-1]
    places = list(range(len(shown)))
    bars = {
        "type": "bar", "orientation": "h", "x": shown["importance"].to_numpy(), "y": places,
        "marker": {"color": c.accent}, "hovertemplate": "R² falls by %{x:.3f}<extra></extra>",
        "error_x": {"type": "data", "array": shown["spread"].to_numpy(), "color": c.faint, "thickness": 1, "width": 3},
    }  # fmt: skip
    y = axis(c, "", tickvals=places, ticktext=list(map(name, shown["parameter"])), showgrid=False)
    aside = f"held-out R² {frame['r2'].iloc[0]:.2f}"
    part = Part([bars], axis(c, "drop of R² when permuted"), y, title="Importance of parameters", aside=aside)
    return figure(part, frame, theme, 120 + 20 * len(shown), left=170)


def interactions_figure(source: Source, task: str | None = None, theme: str = "auto") -> go.Figure:
    """Plot `interactions` as a matrix."""
    frame = interactions(source, task)
    c = colours(theme)
    if frame.empty:
        return nothing("Interactions", "No pair", frame, theme)
    labels = list(dict.fromkeys([*frame["first"], *frame["second"]]))
    matrix = np.full((len(labels), len(labels)), np.nan)
    for row in frame.itertuples():
        a, b = labels.index(str(row.first)), labels.index(str(row.second))
        matrix[a, b] = matrix[b, a] = row.interaction
    places = list(range(len(labels)))
    ticks: dict[str, Any] = {"tickvals": places, "ticktext": [name(p, 20) for p in labels], "showgrid": False}
    cells = {
        "type": "heatmap", "z": matrix, "x": places, "y": places, "zmin": 0,
        "zmax": max(float(np.nanmax(matrix)), 0.01), "hoverongaps": False,
        "colorscale": [[k / 5, shade(c, k / 5)] for k in range(6)], "texttemplate": "%{z:.2f}", "showscale": False,
        "customdata": [[f"{a} × {b}" for b in ticks["ticktext"]] for a in ticks["ticktext"]],
        "hovertemplate": "%{customdata}: %{z:.3f}<extra></extra>",
    }  # fmt: skip
    part = Part([cells], axis(c, "", **ticks), axis(c, "", **ticks), title="Interactions of parameters",
                aside=f"held-out R² {frame['r2'].iloc[0]:.2f}")  # fmt: skip
    return figure(part, frame, theme, 140 + 34 * len(labels), left=150)
