"""The best latency so far against trials, with what was measured, what was done by hand and what is possible."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.figures.style import SIZE, Colours, Theme, axis, colours, log_ticks
from workbench.analysis.figures.subplot import IN_PLOT, Part, Trace, alone, escaped, in_middle, note, trace
from workbench.analysis.trials.latency_curve import Curve, best_so_far
from workbench.log import NetworkTime
from workbench.markup import milliseconds, plural

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from workbench.analysis.trials.trial_reader import Source

#: Height of the crosses, as a share of the plot. Chosen by eye.
TOP = 0.97
#: Share of the newest among the trials of a curve that leaves some out. Chosen, not measured.
NEWEST = 5 / 8
#: Shares of the plot that stay free below the peak, for its name, and above the slowest that is shown. Chosen by eye.
BELOW, ABOVE = 0.12, 0.05
#: Sides of the names of the lines by hand and of the peak.
OUTER = ("top", "bottom")
#: Times as long as usual that a trial takes which may lie above the plot. Chosen by eye.
FAR = 3.0


def best_so_far_figure(
    source: Source,
    task: Any = None,
    tasks: Iterable[str] | None = None,
    *,
    by_hand: tuple[str, float] | None = None,
    peak_ms: float | None = None,
    most: int | None = None,
    theme: Theme = "auto",
) -> go.Figure:
    """Plot the best latency so far against trials.

    Parameters
    ----------
    source : DataFrame, path, TuningSession or iterable of Record and Comparison
    task : Task or str, optional
        A task, its key or its name; all tasks together when left out.
    tasks : iterable of str, optional
        As in `best_so_far`.
    by_hand : (str, float), optional
        Name and latency of what was found by hand, as a line.
    peak_ms : float, optional
        Latency at the peak of the machine, as a line.
    most : int, optional
        Most trials to draw as points; the figure says how many are left out. The line is always complete.
    theme : {"auto", "light", "dark"}

    Returns
    -------
    plotly.graph_objects.Figure
        Always the same seven traces, so that a live figure can be updated in place: measured trials, best so far, its
        end, failed trials, by hand, peak, and for all tasks together the whole network, measured end to end.
    """
    c = colours(theme)
    curve = best_so_far(source, getattr(task, "key", task), tasks)
    title = "Whole network, ms, log scale" if curve.network else curve.name
    return alone(best_part(curve, c, by_hand, peak_ms, most, title), c)


def best_part(
    curve: Curve,
    c: Colours,
    by_hand: tuple[str, float] | None = None,
    peak_ms: float | None = None,
    most: int | None = None,
    title: str = "Best so far",
) -> Part:
    """Return the plot of a curve."""
    kept = thinned(curve, most)
    aside = "ms, log scale"
    if len(kept) < (all_of := len(curve.latency_ms)):
        aside = f"1 of {round(all_of / len(kept))} shown · {aside}"
    notes = _notes(curve, c)
    if curve.network:
        aside = _legend(curve, c)
        notes = notes if not len(curve.best_ms) else []
    return Part(
        [
            _trials(curve, kept, c),
            *_best(curve, c),
            _failed(curve, most, c),
            *_levels(curve, by_hand, peak_ms, c),
            _end_to_end(curve, c),
        ],
        axis(c, "trials", rangemode="tozero", showgrid=False),
        axis(c, "", type="log", **_ticks(curve, by_hand, peak_ms)),
        notes,
        {"range": [0, 1], "visible": False, "fixedrange": True},
        title,
        aside,
    )


def _ticks(curve: Curve, by_hand: tuple[str, float] | None, peak_ms: float | None) -> dict[str, Any]:
    """Ticks for everything that is drawn, and how far the axis reaches."""
    shown = [*curve.latency_ms, *curve.best_ms, *(by_hand or ())[1:], *([] if peak_ms is None else [peak_ms])]
    shown += [one.line.measured_ms for one in curve.network]
    low, high = min(shown, default=0.1), max(shown, default=1.0)
    top = _top(curve)
    high = high if top is None else top
    reach = {} if top is None else {"clipmax": top * (top / low) ** ABOVE}
    below = peak_ms if by_hand is None or peak_ms is None or by_hand[1] >= peak_ms else by_hand[1]
    reach |= {"include": [low * (low / high) ** BELOW]} if low == below else {}
    return {**log_ticks(low, high), **({"autorangeoptions": reach} if reach else {})}


def _top(curve: Curve) -> float | None:
    """Where the axis ends, below what takes many times as long as the tuner's candidates: beside a nest as it was
    written, they would all lie on one line. None where everything is shown.
    """
    most = max((*curve.latency_ms, *curve.best_ms), default=0.0)
    return curve.usual_ms if curve.usual_ms is not None and most > FAR * curve.usual_ms else None


def thinned(curve: Curve, most: int | None) -> NDArray[np.intp]:
    """Return which of the measured trials to draw: all that were the best, the newest, an even sample of the others."""
    n = len(curve.latency_ms)
    everything = np.arange(n)
    if most is None or n <= most:
        return everything
    best = np.flatnonzero(np.diff(curve.best_ms[:n], prepend=np.inf))
    newest = everything[-round(NEWEST * most) :]
    rest = most - len(newest)
    even = np.linspace(0, n - 1, max(rest - len(best), 1)).astype(np.intp)
    return np.unique(np.concatenate([best[-rest:] if rest else best[:0], even[: max(rest, 0)], newest]))


def _steps(curve: Curve) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Corners of the line: where the best changes, and its end."""
    best = curve.best_ms
    if not len(best):
        return np.empty(0, np.int32), np.empty(0, np.float64)
    at = np.flatnonzero(np.diff(best, prepend=np.inf))
    x = np.append(curve.nth[at], curve.count).astype(np.int32)
    return x, np.append(best[at], best[-1])


def _trials(curve: Curve, kept: NDArray[np.intp], c: Colours) -> Trace:
    disturbed = [curve.disturbed[k] for k in kept]
    said = [" at most: disturbed" if one else "" for one in disturbed] if any(disturbed) else ""
    # Without symbols the page may draw many dots as one.
    symbol = ["circle-open" if one else "circle" for one in disturbed] if said else None
    return trace(
        "measured", curve.nth[kept].astype(np.int32), curve.latency_ms[kept], mode="markers", meta="trial",
        customdata=curve.trials[kept].astype(np.int32), text=said,
        marker={"size": 5, "color": c.point, "opacity": 0.65, "symbol": symbol},
        hovertemplate="trial %{customdata}<br>%{y:.4g} ms%{text}<extra></extra>",
    )  # fmt: skip


def _best(curve: Curve, c: Colours) -> list[Trace]:
    x, y = _steps(curve)
    # Each of a task's corners is a trial, which says more and is what a click opens; those of a sum are not.
    whole = curve.name == "sum of kernels"
    reasons = dict(curve.reasons)
    why = [escaped(reasons.get(int(n), "")) for n in x[:-1]]
    line = trace(
        "best so far", x, y, mode="lines", line={"shape": "hv", "width": 2, "color": c.accent},
        hovertemplate="best after %{x} trials<br>%{y:.4g} ms<extra></extra>" if whole else None,
        text=why if any(why) else None,
        hoverinfo=None if whole else ["text" if one else "skip" for one in why] if any(why) else "skip",
    )  # fmt: skip
    return [line, trace("best", x[-1:], y[-1:], mode="markers", marker={"size": 8, "color": c.accent})]


def _failed(curve: Curve, most: int | None, c: Colours) -> Trace:
    kept = slice(None if most is None else -most // 4, None)
    x = curve.failed_nth[kept].astype(np.int32)
    return trace(
        "failed", x, np.full(len(x), TOP, np.float32), yaxis="y2", mode="markers", meta="failed",
        customdata=curve.failed_trials[kept].astype(np.int32),
        text=[s.replace("_", " ") for s in curve.failed_status[kept]],
        marker={"size": 7, "symbol": "x-thin", "line": {"width": 2, "color": c.danger}},
        hovertemplate="trial %{customdata} · %{text}<extra></extra>",
    )  # fmt: skip


def _levels(curve: Curve, by_hand: tuple[str, float] | None, peak_ms: float | None, c: Colours) -> list[Trace]:
    """Lines across the plot: what was found by hand, and what the machine could do."""

    def level(name: str, text: str, ms: float | None, dash: str, side: str) -> Trace:
        x, y, texts = ([0, curve.count], [ms, ms], [text, ""]) if ms is not None and curve.count > 0 else ([], [], [])
        return trace(
            name, x, y, mode="lines+text", line={"width": 1, "color": c.faint, "dash": dash}, text=texts,
            textposition=f"{side} right", textfont={"size": SIZE, "color": c.faint},
        )  # fmt: skip

    hand = "" if by_hand is None else f"{escaped(by_hand[0])}, by hand {by_hand[1]:.3g}"
    top = "" if peak_ms is None else f"\u2002machine peak {peak_ms:.3g}"
    # At the left: the end of the curve has a text, too. The two stand on the outer sides of their lines, which may lie
    # near each other.
    sides = ("bottom", "top") if by_hand is not None and peak_ms is not None and by_hand[1] < peak_ms else OUTER
    return [
        level("by hand", hand, by_hand and by_hand[1], "dash", sides[0]),
        level("machine peak", top, peak_ms, "solid", sides[1]),
    ]


def _end_to_end(curve: Curve, c: Colours) -> Trace:
    """The whole network, when it was measured; hollow where that was disturbed."""
    lines = [one.line for one in curve.network]
    return trace(
        "end to end", [one.at for one in curve.network], [line.measured_ms for line in lines], mode="markers",
        text=[_measured(line) for line in lines],
        marker={"size": 9, "color": c.ink, "symbol": ["diamond" if line.clean else "diamond-open" for line in lines]},
        hovertemplate="<b>%{y:.4g} ms</b> end to end, measured<br>%{text}<extra></extra>",
    )  # fmt: skip


def _measured(line: NetworkTime) -> str:
    """What a measurement of the network says beside its time: when it was, and what else was known then."""
    kernels = "" if line.sum_of_kernels_ms is None else f"; sum of kernels {line.sum_of_kernels_ms:.4g} ms"
    disturbed = "" if line.clean else "<br>disturbed: the least time that was seen"
    return (
        f"after {line.trials} trials, {line.elapsed_s:.0f} s: {escaped(line.reason)}<br>"
        f"untuned {line.untuned_ms:.4g} ms{kernels}{disturbed}"
    )


def _notes(curve: Curve, c: Colours) -> list[dict[str, Any]]:
    """The value at the end of the line, or why there is none; what lies above the plot."""
    if len(curve.best_ms):
        top = _top(curve)
        over = [] if top is None else [float(ms) for ms in curve.latency_ms if ms > top]
        best = float(curve.best_ms[-1])
        last = dict(curve.reasons).get(int(curve.nth[np.flatnonzero(np.diff(curve.best_ms, prepend=np.inf))[-1]]), "")
        text = f"<b>{milliseconds(best)}</b>" + (" · corrected" if last else "")
        more: dict[str, Any] = {"hovertext": escaped(last), "xshift": 0, "yshift": 6, "bgcolor": c.under}
        end = note(curve.count, math.log10(best), text, "bottom right", c.accent, 13, **more)
        aside = f"↑ {plural(len(over), 'trial')} above, up to {milliseconds(max(over))}" if over else ""
        return [end, note(0.0, 1.0, aside, "top left", c.faint, bgcolor=c.under, **IN_PLOT)]
    text = "No valid trial yet"
    if curve.name == "sum of kernels" and curve.missing:
        few = "1 task has" if curve.missing == 1 else f"{curve.missing} tasks have"
        text = f"No total yet: {few} no valid trial"
    return [in_middle(text, c, xshift=0, yshift=0)]


def _legend(curve: Curve, c: Colours) -> str:
    """Line and points with their names and last values: these lie too near to each other to be written beside them."""
    last = curve.network[-1].line
    rows = [(c.ink, "◆" if last.clean else "◇", "end to end", last.measured_ms)]
    rows += [(c.accent, "━", "sum of kernels", float(ms)) for ms in curve.best_ms[-1:]]
    return "<br>".join(
        f"<span style='color:{colour}'>{sign} {name} <b>{milliseconds(ms)}</b></span>"
        for colour, sign, name, ms in rows
    )
