"""Schedules under the roofs of the machine: how much arithmetic they do per byte, and how fast."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from workbench.analysis.figures.label_placement import Room
from workbench.analysis.figures.level_roofs import LevelRoof, level_roofs
from workbench.analysis.figures.style import DASHES, SIZE, Colours, Theme, axis, colours, log_ticks
from workbench.analysis.figures.subplot import FOOT, IN_PLOT, Part, Trace, alone, escaped, note, trace
from workbench.analysis.loop_nest.schedule_estimate import estimate
from workbench.ir.product_type import PLAIN, product_type
from workbench.machine_model import machine_parameters as parameters
from workbench.markup import plural
from workbench.runtime.machine.above_roofline import fewer_products, tile_of
from workbench.runtime.machine.measured_roofline import LEVELS, Roofs, all_threads, stored
from workbench.runtime.machine.measured_roofline import working_sets as level_sizes
from workbench.runtime.results.comparison_words import factor
from workbench.schedule import Schedule
from workbench.target import Target

if TYPE_CHECKING:
    import plotly.graph_objects as go


#: Schedules that are looked for room for their names, the most important first: each is compared with all. Chosen, not
#: measured.
NAMES = 60

#: Pixels of two lines below the axis for what is missing, or why a schedule stands above the roofs: no point lies
#: there. Chosen by eye.
NOTE = 33

#: Marks of levels that are at most so many times apart have one name. Chosen by eye.
TOGETHER = 1.5

#: Where along a roof of memory its name is tried: shares of the way to the peak. Chosen by eye.
ALONG = (0.5, 0.75, 0.25, 0.6, 0.4, 0.9, 0.15)


@dataclass(frozen=True, slots=True)
class Spot:
    """A schedule in the plot.

    Attributes
    ----------
    name : str
        Like ``v5``.
    intensity : float
        Operations per byte that L1 fetches, by the estimate.
    gflops : float
        Measured speed, or the estimated one.
    measured : bool
    by : {"hand", "tuner", "trial"}
        A trial is a point without a name, one of many.
    path, current : bool
        Whether it is one of the steps to the current one, or that itself.
    node : int
        What a click opens, a variant or a trial by its number; -1 for nothing.
    above : str
        Why it is above the peak, where it is.
    levels : tuple of LevelRoof
        What each level allows it; drawn of the current one.
    fewer : float
        How many times fewer multiplications its algorithm does than are counted (Winograd's); the current one's peak is
        as much higher.
    """

    name: str
    intensity: float
    gflops: float
    measured: bool = False
    by: Literal["hand", "tuner", "trial"] = "hand"
    path: bool = True
    current: bool = False
    node: int = -1
    above: str = ""
    levels: tuple[LevelRoof, ...] = ()
    fewer: float = 1.0


def roofline_figure(
    variants: Iterable[Schedule | Spot],
    target: Target | None = None,
    *,
    theme: Theme = "auto",
    product: str | None = None,
) -> go.Figure:
    """Plot schedules under the roofs that were measured on this machine; nothing is measured here.

    Parameters
    ----------
    variants : iterable of Schedule or Spot
        Schedules are shown as estimated, joined by a line in their order; the last one is the current one.
    target : Target, optional
        That of the first schedule, else this machine. `runtime.machine.measured_roofline.roofs` measures its memory,
        `Target.peak_gflops` its arithmetic.
    theme : {"auto", "light", "dark"}
    product : str, optional
        Element type of the numbers that are multiplied, whose peak is the roof: by default that of the last schedule.

    Returns
    -------
    plotly.graph_objects.Figure
        Always the same ten traces: the roof of arithmetic, three of memory, the tuner's trials, the path, schedules by
        hand, by the tuner, the current one, and its operations per byte at each level.
    """
    given = list(variants)
    schedules = [v for v in given if not isinstance(v, Spot)]
    target = target or next((s.target for s in schedules if s.target is not None), None) or Target.host()
    spots = [v if isinstance(v, Spot) else _spot(v, k, k == len(given) - 1, target) for k, v in enumerate(given)]
    c = colours(theme)
    product = product or (product_type(schedules[-1].base) if schedules else PLAIN)
    part = roofline_part([s for s in spots if s is not None], c, target, product)
    return alone(part, c, below=NOTE)


def _spot(schedule: Schedule, number: int, current: bool, target: Target) -> Spot | None:
    found = estimate(schedule, target)
    if found.gflops is None or found.intensity is None:
        return None
    top, _ = all_threads(target, product_type(schedule.base))
    fewer = fewer_products(tile_of(schedule.func))
    levels = level_roofs(found, stored_roofs(target), top and top * fewer) if current else ()
    return Spot(f"v{number}", found.intensity, found.gflops, current=current, levels=levels, fewer=fewer)


def working_sets(target: Target) -> dict[str, int]:
    """Return bytes that all threads read together to see a level alone, for the levels that show alone."""
    found = parameters.Machine.of(target)
    return level_sizes(found.threads, found.l1, found.l2, found.l3)


def stored_roofs(target: Target) -> dict[str, Roofs]:
    """Return the roofs of memory that were measured before, by level."""
    found = {level: stored(target, target.threads, size) for level, size in working_sets(target).items()}
    return {level: roof for level, roof in found.items() if roof is not None}


def roofline_part(spots: Sequence[Spot], c: Colours, target: Target, product: str = PLAIN) -> Part:
    """Return the plot."""
    (top, measured), roofs = all_threads(target, product), stored_roofs(target)
    lacking = [level for level in working_sets(target) if level not in roofs]
    low, high = _range(spots, top, roofs)
    least = min([s.gflops for s in spots] + [r.gbytes * low for r in roofs.values()], default=1.0)
    fewer = max((s.fewer for s in spots if s.current), default=1.0)
    y_top = 2.0 * max([(top or 0.0) * fewer, *(s.gflops for s in spots), 2.0 * least])
    across, up = np.log10([low, high]).tolist(), np.log10([least / 1.6, y_top]).tolist()
    named, trials = [s for s in spots if s.by != "trial"], [s for s in spots if s.by == "trial"]
    rest = [s for s in named if not s.current]
    why = {id(s): _above(s, top, roofs) for s in spots}
    levels = _levels(roofs, low, top, c, Room((across, up), _logs(spots)))
    places = _places(spots, (across, up), levels)
    traces = [
        _compute(top, low, high, roofs, c, measured, fewer),
        *(_memory(k, level, roofs.get(level), low, top and top * fewer, c) for k, level in enumerate(LEVELS)),
        _trials(trials, c, why),
        _points("path", [s for s in named if s.path], mode="lines", line={"width": 1, "color": c.accent}),
        _spots("by hand", [s for s in rest if s.by == "hand"], "circle-open", c.ink, c, why, places),
        _spots("by the tuner", [s for s in rest if s.by == "tuner"], "diamond", c.scale[2], c, why, places),
        _spots("current", [s for s in named if s.current], "circle", c.accent, c, why, places),
        _at_levels([s for s in named if s.current], c),
    ]
    dots = f"dots: {plural(len(trials), 'trial')} · " if trials else ""
    return Part(
        traces,
        axis(c, "FLOP per byte into L1, estimated", type="log", range=across, showgrid=False, **log_ticks(low, high)),
        axis(c, "GFLOP/s", type="log", range=up, **log_ticks(least, y_top)),
        [*_missing(spots, top, roofs, c, next(filter(None, why.values()), ""), lacking),
         *_named(top, across[1], c, measured, product, fewer), *levels],
        None, "Roofline", f"{dots}the operator's FLOPs are counted",
    )  # fmt: skip


def _range(spots: Sequence[Spot], top: float | None, roofs: Mapping[str, Roofs]) -> tuple[float, float]:
    ridges = [top / r.gbytes for r in roofs.values()] if top else []
    x = [s.intensity for s in spots] + ridges + [one.intensity for s in spots for one in s.levels]
    return (min(x) / 2.0, 3.0 * max(x)) if x else (0.1, 100.0)


def _compute(
    top: float | None, low: float, high: float, roofs: Mapping[str, Roofs], c: Colours, measured: bool, fewer: float
) -> Trace:
    """The roof of arithmetic, from where the fastest memory reaches it; dashed where it is an estimate. Above it stands
    that of an algorithm that does `fewer` multiplications than are counted.
    """
    line = {"width": 2, "color": c.ink, "dash": "solid" if measured else "dash"}
    fastest = max((r.gbytes for r in roofs.values()), default=None)
    x: list[float | None] = []
    y: list[float | None] = []
    for roof in (top, top * fewer if fewer > 1.0 else None) if top else ():
        if roof is not None:
            x += [*([None] if x else []), low if fastest is None else max(low, roof / fastest), high]
            y += [*([None] if y else []), roof, roof]
    return trace("arithmetic", x, y, mode="lines", line=line)


def _named(
    top: float | None, end: float, c: Colours, measured: bool, product: str, fewer: float
) -> list[dict[str, Any]]:
    """The name of the roof of arithmetic, above its right end; and of that of an algorithm with fewer products."""
    if top is None:
        return []
    of = "" if product == PLAIN else f", {product}"
    text = f"{top:.3g} GFLOP/s{of}" if measured else f"≈ {top:.3g} GFLOP/s, one core's times the threads"
    named = [note(end, math.log10(top), text, "bottom right", c.faint, yshift=2)]
    if fewer > 1.0:
        text = f"{top * fewer:.3g} GFLOP/s by Winograd's algorithm: {factor(fewer)}× fewer products"
        named.append(note(end, math.log10(top * fewer), text, "bottom right", c.faint, yshift=2))
    return named


def _memory(k: int, level: str, roof: Roofs | None, low: float, top: float | None, c: Colours) -> Trace:
    """The roof of a level, up to that of arithmetic."""
    end = _end(roof, low, top)
    x = [low, (low * end) ** 0.5, end] if roof is not None else []
    y = [roof.gbytes * v for v in x] if roof is not None else []
    line = {"width": 2 if k == 0 else 1, "dash": DASHES[k], "color": c.ink if k == 0 else c.faint}
    return trace(level, x, y, mode="lines", line=line)


def _end(roof: Roofs | None, low: float, top: float | None) -> float:
    return top / roof.gbytes if top and roof is not None else 10.0 * low


def _logs(spots: Iterable[Spot]) -> list[tuple[float, float]]:
    return [(math.log10(s.intensity), math.log10(s.gflops)) for s in spots]


def _levels(roofs: Mapping[str, Roofs], low: float, top: float | None, c: Colours, room: Room) -> list[dict[str, Any]]:
    """The name of each roof of memory at its own line, on no point and on no other name: of the fastest above it, and
    of the others below, where slower ones leave room.
    """
    order, named = sorted(roofs, key=lambda level: -roofs[level].gbytes), []
    rates = [roofs[level].gbytes for level in order]
    for k, level in enumerate(order):
        text, rate = f"{level} {rates[k]:.3g} GB/s", rates[k]
        above = k + 1 < len(order) and (k == 0 or rate / rates[k + 1] < rates[k - 1] / rate)
        side = "top left" if above else "bottom right"
        along = [low ** (1 - share) * _end(roofs[level], low, top) ** share for share in ALONG]
        places = [(math.log10(x), math.log10(rate * x)) for x in along]
        at = next((at for at in places if room.free(at, text, side)), places[0])
        room.keep(at, text, side)
        anchor, shift = ("bottom right", -4) if above else ("top left", 4)
        named.append(note(*at, text, anchor, c.faint, xshift=shift, yshift=-shift))
    return named


def _points(name: str, spots: Sequence[Spot], **more: Any) -> Trace:
    return trace(name, [s.intensity for s in spots], [s.gflops for s in spots], **more)


def _above(spot: Spot, top: float | None, roofs: Mapping[str, Roofs]) -> str:
    """Why a schedule stands above the roofs, where it does by more than measurements err."""
    if top is not None and spot.gflops > 1.05 * top:
        return f"above the peak: {spot.above}" if spot.above else "above the peak"
    fastest = max((r.gbytes for r in roofs.values()), default=None)
    if fastest is not None and spot.gflops > 1.05 * fastest * spot.intensity:
        return "above the roof: its bytes are an estimate, and fewer are moved"
    return ""


def _places(
    spots: Sequence[Spot], ranges: tuple[Sequence[float], Sequence[float]], levels: Sequence[dict[str, Any]] = ()
) -> dict[int, str]:
    """Return where the names of schedules stand: on no point, on no other name and on none of a roof. One that finds
    no room has none.
    """
    named = [s for s in spots if s.by != "trial"]
    best = max((s for s in named if s.measured), key=lambda s: s.gflops, default=None)
    first = sorted(named, key=lambda s: (not s.current, s is not best, s.name == f"v{s.node}", not s.path))
    others = [s for s in spots if s.by == "trial"]
    room = Room(ranges, _logs([*first, *others]))
    for level in levels:
        side = "bottom right" if level["xanchor"] == "left" else "top left"
        room.keep((level["x"], level["y"]), level["text"], side)
    for s in named:
        for one, text in zip(s.levels, _level_names(s.levels), strict=True):
            if text and s.current:  # what stands below its mark
                room.keep((math.log10(one.intensity), math.log10(s.gflops)), text, "bottom center")
    return {id(s): place for k, s in enumerate(first[:NAMES]) if (place := room.place(k, _name(s)))}


def _name(spot: Spot) -> str:
    return spot.name if spot.measured else f"≈ {spot.name}"


def _trials(trials: Sequence[Spot], c: Colours, why: Mapping[int, str]) -> Trace:
    """What the tuner measured and nobody has opened yet."""
    return _points(
        "trials", trials, mode="markers", meta="trial",
        customdata=[s.node for s in trials], hovertext=[_told(why[id(s)]) for s in trials],
        marker={"size": 6, "color": c.point, "opacity": 0.6},
        hovertemplate="<b>trial %{customdata}</b><br>%{y:.3g} GFLOP/s, measured<br>%{x:.3g} FLOP per byte, estimated"
        "%{hovertext}<br>click: its schedule<extra></extra>",
    )  # fmt: skip


def _told(why: str) -> str:
    return why and f"<br>{why.replace(', and', ',<br>and')}"


def _spots(
    name: str,
    spots: Sequence[Spot],
    symbol: str,
    colour: str,
    c: Colours,
    why: Mapping[int, str],
    places: Mapping[int, str],
) -> Trace:
    return _points(
        name, spots, mode="markers+text", meta="variant",
        text=[escaped(_name(s)) if id(s) in places else "" for s in spots],
        textposition=[places.get(id(s), "middle right") for s in spots] or "middle right",
        textfont={"size": SIZE, "color": c.ink}, customdata=[s.node for s in spots],
        hovertext=[
            f"<b>{escaped(s.name)}</b><br>{'' if s.measured else '≈ '}{s.gflops:.3g} GFLOP/s, "
            f"{'measured' if s.measured else 'estimated'}<br>{s.intensity:.3g} FLOP per byte, estimated"
            f"{_told(why[id(s)])}" for s in spots
        ],
        marker={"size": 9, "symbol": symbol, "color": colour, "line": {"width": 1.5, "color": c.ink}},
        hovertemplate="%{hovertext}<extra></extra>",
    )  # fmt: skip


def _at_levels(current: Sequence[Spot], c: Colours) -> Trace:
    """The speed of the current schedule over its operations per byte from each level: how far below that roof it is."""
    found = [(one, s.gflops) for s in current for one in s.levels]
    told = ["" if one.most is None else f"<br>its roof allows {one.most:.3g} GFLOP/s" for one, _ in found]
    return trace(
        "levels", [one.intensity for one, _ in found], [speed for _, speed in found], mode="lines+markers+text",
        line={"width": 1, "dash": "dot", "color": c.accent},
        marker={"size": 9, "symbol": "line-ns", "line": {"width": 2, "color": c.accent}},
        text=_level_names([one for one, _ in found]), textposition="bottom center",
        textfont={"size": SIZE, "color": c.faint},
        hovertext=[
            f"<b>{one.level}</b><br>{one.intensity:.3g} FLOP per byte from there, estimated{more}"
            for (one, _), more in zip(found, told, strict=True)
        ],
        hovertemplate="%{hovertext}<extra></extra>",
    )  # fmt: skip


def _level_names(levels: Sequence[LevelRoof]) -> list[str]:
    """What stands at the marks of levels: nothing at the first one, where the schedule is, and one name for several
    that lie together.
    """
    names, waiting = [""] * len(levels), list[str]()
    for k, one in enumerate(levels[1:], 1):
        waiting.append(one.level)
        if k + 1 == len(levels) or levels[k + 1].intensity > TOGETHER * one.intensity:
            names[k], waiting = ", ".join(waiting), []
    return names


def _missing(
    spots: Sequence[Spot], top: float | None, roofs: Mapping[str, Roofs], c: Colours, above: str, lacking: Sequence[str]
) -> list[dict[str, Any]]:
    """What could not be drawn, and why; why one stands `above` the roofs. Below the axis, where nothing else is."""
    words = []
    if top is None:
        words.append("the peak was not measured")
    if not roofs:
        words.append("the roofs of memory were not measured")
    elif lacking:
        words.append(f"the roof of {' and '.join(lacking)} was not measured")
    if not spots:
        words.append("no variant has a speed yet")
    told = (above.partition(";")[0], ", ".join(words))  # the whole sentence is at the point
    lines = [line[:1].upper() + line[1:] for line in told if line]
    return [note(0.0, 0.0, "<br>".join(lines), "top left", c.faint, yshift=-FOOT + 4, align="left", **IN_PLOT)]
