"""`then_and_now`: what the records of a log took where it was written, and what they take here."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from workbench.analysis.figures.style import axis, colours, log_ticks
from workbench.analysis.figures.subplot import Part
from workbench.logs.analysis.charts import figure, hue, name, nothing
from workbench.logs.replays.replaying import replay
from workbench.logs.replays.result import Replay
from workbench.logs.table.parts import Progress
from workbench.logs.tuning_log import TuningLog
from workbench.runtime.results.measurement import Measurement
from workbench.target import Target

if TYPE_CHECKING:
    import pandas
    import plotly.graph_objects as go

COLUMNS = (
    "record", "task", "device", "then_ms", "now_ms", "low_ms", "high_ms", "ratio", "gflops", "status", "why_not",
)  # fmt: skip


def then_and_now(
    log: TuningLog,
    records: Sequence[int] | None = None,
    task: Any = None,
    target: Target | str | None = None,
    *,
    rounds: int = 3,
    progress: Progress | None = None,
    **options: Any,
) -> pandas.DataFrame:
    """Replay records and measure them here, in turns: all of them once, then all again.

    Parameters
    ----------
    log : TuningLog
        From `workbench.logs.open`.
    records : sequence of int, optional
        Numbers of records; the best one of each task by default.
    task, target
        As for `workbench.logs.replay`.
    rounds : int
        How often each record is measured.
    progress : callable, optional
        Called with the number of measurements that are done and of all.
    **options
        As for `workbench.Schedule.measure`.

    Returns
    -------
    pandas.DataFrame
        A row per record. ``then_ms`` is the time in the log, ``now_ms`` the median of the rounds' times, ``low_ms`` and
        ``high_ms`` the least and the greatest of them, ``ratio`` now over then. Rounds that other programs disturbed
        count only where all were. ``status`` is that of the measurement,
        ``refused`` where the record does not replay and ``device`` where it is for a GPU. ``why_not`` says why there is
        no time, or why it is not to be trusted: what kept the kernel from running. ``attrs["finding"]`` is the result
        in a sentence.

    Raises
    ------
    UsageError
        As for `workbench.logs.replay`.
    """
    import pandas

    numbers = [int(n) for n in log.tasks["best_record"].dropna()] if records is None else list(records)
    replays = [replay(log, number, task, target) for number in numbers]
    timed = [found for found in replays if found.ok and not found.for_a_gpu]
    results: dict[int, list[Measurement]] = {found.record: [] for found in timed}
    total = max(rounds, 1) * len(timed)
    for k, found in enumerate(timed * max(rounds, 1)):
        if all(m.ok for m in results[found.record]):  # what fails once is not tried again
            results[found.record].append(found.measure(**options))
        if progress:
            progress(k + 1, total)
    rows = [_row(found, results.get(found.record, [])) for found in replays]
    frame = pandas.DataFrame(rows, columns=list(COLUMNS))
    frame.attrs["finding"] = _finding(frame)
    return frame


def _row(found: Replay, measured: Sequence[Measurement]) -> tuple[Any, ...]:
    then = math.nan if found.then_ms is None else found.then_ms
    bad = next((m for m in measured if not m.ok), None)
    if bad is not None or not measured:
        status, why = ("device", "it is for a GPU") if found.for_a_gpu else ("refused", found.reason)
        if bad is not None:
            status, why = bad.status, (bad.error.strip().splitlines() or [""])[-1]
        return (found.record, found.task, found.device, then, *[math.nan] * 5, status, why)
    counted = [m for m in measured if m.clean] or measured
    times = [m.ms for m in counted]
    now = statistics.median(times)
    why = counted[0].why_not
    speed = measured[0].flops / (now * 1e6)
    return (
        found.record, found.task, found.device, then, now, min(times), max(times), now / then, speed, "ok", why,
    )  # fmt: skip


def _finding(frame: pandas.DataFrame) -> str:
    ok = frame[frame["status"] == "ok"]
    both = ok.dropna(subset=["then_ms"])
    parts = [f"{len(ok)} of {len(frame)} records are measured here"]
    if len(both):
        parts.append(f"{both['then_ms'].sum():.3g} ms then, {both['now_ms'].sum():.3g} ms now in all")
    for status, text in (("refused", "do not replay"), ("device", "are for a GPU")):
        if count := int((frame["status"] == status).sum()):
            parts.append(f"{count} {text}")
    if failed := int((~frame["status"].isin(("ok", "refused", "device"))).sum()):
        parts.append(f"{failed} fail")
    if disturbed := int((ok["why_not"] != "").sum()):
        parts.append(f"other programs disturbed {disturbed}, which may be faster than shown")
    return "; ".join(parts) + "."


def then_and_now_figure(frame: pandas.DataFrame, theme: str = "auto") -> go.Figure:
    """Plot what `then_and_now` has measured.

    Parameters
    ----------
    frame : pandas.DataFrame
        From `then_and_now`.
    theme : {"auto", "light", "dark"}

    Returns
    -------
    plotly.graph_objects.Figure
        A point per record, the log's time against the time here, both in ms; the bar goes from the fastest round to the
        slowest one. Records on a line that is parallel to the dashed one (equal times) have the same ratio. Times that
        other programs disturbed are open circles.
    """
    title = "Then and now"
    shown = frame[(frame["status"] == "ok") & (frame["then_ms"] > 0)]
    if shown.empty:
        return nothing(title, "no record has a time there and here", frame, theme)
    c = colours(theme)
    x, y = shown["then_ms"].to_numpy(), shown["now_ms"].to_numpy()
    bars = {
        "type": "data", "symmetric": False, "color": c.faint, "array": shown["high_ms"].to_numpy() - y,
        "arrayminus": y - shown["low_ms"].to_numpy(),
    }  # fmt: skip
    symbols = ["circle-open" if why else "circle" for why in shown["why_not"]]
    points = {
        "type": "scatter", "mode": "markers", "x": x, "y": y, "error_y": bars,
        "marker": {"color": hue(0), "size": 8, "symbol": symbols},
        "customdata": [
            f"record {row['record']}, {name(row['task'], 60)}<br>{row['ratio']:.2f} times as long as then"
            for _, row in shown.iterrows()
        ],
        "hovertemplate": "%{customdata}<br>%{x:.4g} ms then, %{y:.4g} ms now<extra></extra>",
    }  # fmt: skip
    wide = (x.min() / 1.3, x.max() * 1.3)
    high = (min(x.min(), shown["low_ms"].min()) / 1.3, shown["high_ms"].max() * 1.3)
    equal = {
        "type": "scatter", "mode": "lines+text", "x": wide, "y": wide, "text": ["", "equal times"], "hoverinfo": "skip",
        "textposition": "top left", "textfont": {"color": c.faint},
        "line": {"color": c.faint, "dash": "dash", "width": 1},
    }  # fmt: skip
    across, up = (
        axis(c, text, type="log", range=[math.log10(e) for e in ends], **log_ticks(*ends))
        for text, ends in (("then, ms in the log", wide), ("now, ms here", high))
    )
    part = Part([equal, points], across, up, title=title)
    return figure(part, frame, theme, height=420)
