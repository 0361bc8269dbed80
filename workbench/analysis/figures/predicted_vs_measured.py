"""What the cost model predicted against what was measured: every prediction was made before its measurement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.figures.style import Colours, Theme, axis, colours
from workbench.analysis.figures.subplot import IN_PLOT, Part, Trace, alone, note, trace
from workbench.analysis.trials.trial_reader import RunHistory, Trial, read
from workbench.cost_model.prediction_quality import ranks, spearman
from workbench.machine_model.machine_parameters import Machine
from workbench.target import Target

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from workbench.analysis.trials.trial_reader import Source

FEWEST = 8
"""Trials of which a rank correlation is told. Chosen: of four in random order one in six has at least 0.8."""


def prediction_figure(
    source: Source, task: Any = None, *, target: Target | None = None, theme: Theme = "auto"
) -> go.Figure:
    """Plot predicted against measured speed, with the rank correlation of both.

    Parameters
    ----------
    source : DataFrame, path, TuningSession or iterable of Record
    task : Task or str, optional
        A task, its key or its name; all tasks together when left out.
    target : Target, optional
        The machine of the measurements, by default this one. A prediction is in operations per cycle; where the peak
        of the machine was never measured, its clock is not known, and both axes are ranks.
    theme : {"auto", "light", "dark"}

    Returns
    -------
    plotly.graph_objects.Figure
        Always the same three traces: earlier trials, those of the newest round, the diagonal.
    """
    c = colours(theme)
    return alone(prediction_part(read(source), c, getattr(task, "key", task), clock(target)), c)


def clock(target: Target | None, peak_gflops: float | None = None) -> float | None:
    """Return cycles in a nanosecond, as the model counts them, where the machine's peak is known."""
    from workbench.analysis.loop_nest.schedule_estimate import cycles_per_ms

    target = target if target is not None else Target.host()
    found = cycles_per_ms(Machine.of(target), peak_gflops if peak_gflops is not None else target.stored_peak())
    return None if found is None else found / 1e6


def prediction_part(
    lines: RunHistory, c: Colours, task: str | None = None, ghz: float | None = None, most: int | None = None
) -> Part:
    """Return the plot; `most` is how many earlier trials are drawn at most."""
    mine = [t for t in lines.trials if t.ok and t.predicted is not None and t.flops]
    if task is not None:
        mine = [t for t in mine if t.key == task] or [t for t in mine if t.name == task]
    last = max((t.round for t in mine), default=0)
    newest = np.array([t.round == last for t in mine], np.bool_)
    predicted, measured = _speeds(mine, ghz)
    older = np.flatnonzero(~newest)
    if most is not None and len(older) > most:
        older = older[np.linspace(0, len(older) - 1, most).astype(np.intp)]
    numbers = np.array([t.trial for t in mine], np.int32)
    unit = "GFLOP/s" if ghz is not None else "rank"
    traces = [
        _points("earlier", predicted, measured, numbers, older, c.point, unit),
        _points("newest round", predicted, measured, numbers, np.flatnonzero(newest), c.accent, unit),
        _diagonal(predicted, measured, c),
    ]
    few = f"1 of {round((~newest).sum() / len(older))} shown · " if len(older) < (~newest).sum() else ""
    title = "Predicted against measured"
    end = {"rangemode": "tozero"}
    return Part(
        traces, axis(c, f"predicted {unit}", showgrid=False, **end), axis(c, "", **end),
        _notes(predicted, measured, newest, c, _judged(lines, mine)), None, title, f"{unit} · {few}n = {len(mine)}",
    )  # fmt: skip


def _speeds(mine: Sequence[Trial], ghz: float | None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Predicted and measured speed in GFLOP/s; ranks where the clock is not known."""
    score = np.array([t.predicted for t in mine], np.float64)
    measured = np.array([t.flops / ((t.latency_ms or 0.0) * 1e6) for t in mine], np.float64)
    if ghz is None:
        return (ranks(score), ranks(measured)) if mine else (score, measured)
    return np.exp2(np.minimum(score, 60.0)) * ghz, measured


def _points(
    name: str, x: NDArray[np.float64], y: NDArray[np.float64], numbers: NDArray[np.int32], at: NDArray[np.intp],
    colour: str, unit: str,
) -> Trace:  # fmt: skip
    return trace(
        name, x[at].astype(np.float32), y[at].astype(np.float32), mode="markers", meta="trial", customdata=numbers[at],
        marker={"size": 5, "color": colour, "opacity": 0.75},
        hovertemplate=f"trial %{{customdata}}<br>predicted %{{x:.3g}}, measured %{{y:.3g}} {unit}<extra></extra>",
    )  # fmt: skip


def _diagonal(x: NDArray[np.float64], y: NDArray[np.float64], c: Colours) -> Trace:
    end = [0.0, float(min(x.max(), y.max()))] if len(x) else []
    return trace("right", end, end, mode="lines", line={"width": 1, "dash": "dot", "color": c.faint})


def _judged(lines: RunHistory, mine: Sequence[Trial]) -> float | None:
    """The rank correlation that the rounds of a task tell, as the panel says it; None for several tasks, or no round.

    It is within rounds: between them the model has learned, so one number over all points would tell of another thing.
    """
    keys = {t.key for t in mine}
    known = (r.spearman for r in reversed(lines.rounds) if r.task_key in keys and r.spearman is not None)
    return next(known, None) if len(keys) == 1 else None


def _notes(
    x: NDArray[np.float64], y: NDArray[np.float64], newest: NDArray[np.bool_], c: Colours, judged: float | None
) -> list[dict[str, Any]]:
    """The rank correlation where there are enough trials for one, or what is missing."""
    text = "No trial with a prediction yet"
    if 0 < len(x) < FEWEST:
        text = f"n = {len(x)}: too few for a rank correlation"
    elif len(x):
        found = spearman(x, y) if judged is None else judged
        text = "<b>rank correlation " + ("unknown" if found is None else f"{found:.2f}") + "</b>"
    new = "● newest round" if newest.any() else ""
    return [
        note(0.02, 0.98, text, "top left", c.ink, bgcolor=c.under, **IN_PLOT),
        note(0.02, 0.98, new, "top left", c.accent, bgcolor=c.under, yshift=-16, **IN_PLOT),
    ]
