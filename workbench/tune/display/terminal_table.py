"""The task table in a terminal: redrawn in place on a TTY, one plain line per round elsewhere."""

from __future__ import annotations

import shutil
import sys
import time
from typing import TextIO

from workbench.log import NetworkTime
from workbench.log.ledger.network import measured_at, network_change
from workbench.safe_text import legible, legible_line
from workbench.tune.state.events import FINAL, Snapshot, TaskRow
from workbench.tune.state.run_end import end_word


class Width:
    """Characters of a line of the table; they follow from the columns in `render_table`."""

    #: Of a table that goes to a file or a pipe. Chosen.
    PLAIN = 120
    #: Of the shortest name of a task that says anything. Chosen.
    NAME = 12
    #: Of all that is not the name; of these, of the GFLOP/s column, which a narrow terminal goes without.
    FIXED, RATE = 58, 11
    #: Of spread and confidence behind the state, where there is room.
    SURE = 32


def render_table(snapshot: Snapshot, width: int = 100, height: int | None = None) -> list[str]:
    """Return the lines of the table and of the summary below it.

    Parameters
    ----------
    width : int
        Columns to fit into; long task names are cut with an ellipsis.
    height : int, optional
        Lines to fit into: when there are more tasks, those that matter least to the total are left out, with a note.
    """
    rows, hidden = _choose_rows(snapshot, height)
    longest = max([len(_label(r)) for r in rows] + [len("Task")])
    rate = width >= Width.FIXED + Width.NAME
    name = max(Width.NAME, min(longest, width - Width.FIXED + (0 if rate else Width.RATE)))
    speed, rule = (f"{'GFLOP/s':>8} | ", f"{'-' * 8}-+-") if rate else ("", "")
    lines = [
        f"{'ID':>4} | {'Task':<{name}} | {'Latency (ms)':>12} | {speed}{'Trials':>6} | State",
        f"{'-' * 4}-+-{'-' * name}-+-{'-' * 12}-+-{rule}{'-' * 6}-+----------",
    ]
    sure = width >= Width.FIXED + name + Width.SURE
    lines += [_line(row, name, rate, sure) for row in rows]
    if hidden:
        lines.append(f"{'':>4} | … and {hidden} more tasks")
    lines += ["", *summary_lines(snapshot)]
    return [legible_line(line)[:width] for line in lines]


def _choose_rows(snapshot: Snapshot, height: int | None) -> tuple[list[TaskRow], int]:
    rows = [row for row in snapshot.rows if row.state != "skipped"]
    room = len(rows) if height is None else max(1, height - 7)
    if len(rows) <= room:
        return rows, 0
    heavy = sorted(rows, key=lambda r: (r.id != snapshot.next_id, -(r.latency_ms or 1e9) * r.weight, r.id))
    shown = {row.id for row in heavy[:room]}
    return [row for row in rows if row.id in shown], len(rows) - room


def _label(row: TaskRow, width: int | None = None) -> str:
    """Return name and weight; a name that is too long is cut, the weight never."""
    weight = f" ×{row.weight}" if row.weight > 1 else ""
    if width is None or len(row.name) + len(weight) <= width:
        return row.name + weight
    return row.name[: width - len(weight) - 1] + "…" + weight


def _line(row: TaskRow, name: int, with_rate: bool = True, with_sure: bool = False) -> str:
    label = _label(row, name)
    latency = "-" if row.latency_ms is None else latency_text(row.latency_ms)
    latency = f"<= {latency}" if row.sure == "disturbed" else latency
    rate = "-" if row.gflops is None else f"{row.gflops:.2f}"
    speed = f"{rate:>8} | " if with_rate else ""
    sure = _sure(row) if with_sure else ""
    return f"{row.id:>4} | {label:<{name}} | {latency:>12} | {speed}{row.trials:>6} | {row.state}{sure}"


def _sure(row: TaskRow) -> str:
    """Return how much the best trial's repeats differ, and how sure the last comparison was of it; of one that was
    disturbed, nothing but that.
    """
    if row.sure == "disturbed":
        return " (disturbed)"
    parts = [] if row.spread is None else [f"±{row.spread:.0%}"]
    parts += [] if row.confidence is None else [f"{int(1000 * row.confidence) / 10:g}% sure"]
    return f" ({', '.join(parts)})" if parts else ""


def latency_text(milliseconds: float, decimals: int = 4) -> str:
    """Return a latency with so many decimals, or with three significant digits where those would say nothing."""
    return f"{milliseconds:.{decimals}f}" if milliseconds >= 0.01 else f"{milliseconds:.3g}"


def summary_lines(snapshot: Snapshot) -> list[str]:
    """Return the lines below the table: totals, what the whole network takes where that was measured, progress."""
    progress = snapshot.progress
    trials = f"{progress.trials}" + (f"/{progress.total}" if progress.total is not None else "")
    following = "-" if snapshot.next_id is None else str(snapshot.next_id)
    total = sum_text(snapshot.total_ms, snapshot.network)
    first = f"{total}   Trials: {trials}   Used time: {_seconds(progress.elapsed_s)}   Next task: {following}"
    return [*_end_to_end(snapshot), first, progress_line(snapshot)]


def sum_text(total_ms: float | None, network: NetworkTime | None) -> str:
    """Return what the kernels take together: an estimate of the whole, unless that was measured."""
    total = "-" if total_ms is None else f"{latency_text(total_ms, 3)} ms"
    return f"Estimated total latency: {total}" if network is None else f"Kernels alone: {total}"


def _end_to_end(snapshot: Snapshot) -> list[str]:
    network, why = snapshot.network, snapshot.untimed
    lines = [] if network is None else [network_line(network, snapshot.progress.trials)]
    return [*lines, f"End to end: not measured{' again' if lines else ''}: {why}"] if why else lines


def network_line(network: NetworkTime, trials: int | None = None) -> str:
    """Return what the whole network takes, measured, and after which of so many trials that was."""
    tuned, untuned = network_times(network)
    notes = ", ".join(part for part in ("" if network.clean else "disturbed", measured_at(network, trials)) if part)
    said = f"End to end: {tuned}, {untuned} untuned, {network_change(network)}"
    return f"{said} ({notes})" if notes else said


def network_times(network: NetworkTime) -> tuple[str, str]:
    """Return what a run takes with the best and with the default schedules, each with its ±."""
    both = (network.measured_ms, network.spread), (network.untuned_ms, network.untuned_spread)
    now, before = (
        f"{latency_text(ms, 3)} ms" + ("" if spread is None else f" ± {latency_text(ms * spread / 2, 3)}")
        for ms, spread in both
    )
    return now, before


def progress_line(snapshot: Snapshot) -> str:
    """Return a bar with the share of the budget, the rate and the time left."""
    progress = snapshot.progress
    bar = round(24 * progress.fraction)
    if snapshot.state in FINAL or snapshot.state in ("paused", "stopping"):
        tail = end_word(snapshot.state, snapshot.end)
    else:
        tail = "ETA -" if progress.eta_s is None else f"ETA {_seconds(progress.eta_s)}"
    return f"[{'#' * bar}{'.' * (24 - bar)}] {100 * progress.fraction:3.0f} %   {progress.rate:.1f} trials/s   {tail}"


def _seconds(value: float) -> str:
    whole = round(value)
    if whole < 120:
        return f"{whole} s"
    if whole < 7200:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def round_line(snapshot: Snapshot, task: str) -> str:
    """Return the one line that a finished round is worth where there is no TTY."""
    progress = snapshot.progress
    row = next((r for r in snapshot.rows if r.name == task), None)
    trials = f"{progress.trials}" + (f"/{progress.total}" if progress.total is not None else "")
    latency = "no valid trial" if row is None or row.latency_ms is None else f"{latency_text(row.latency_ms)} ms"
    total = "-" if snapshot.total_ms is None else f"{latency_text(snapshot.total_ms, 3)} ms"
    number = row.id if row else "-"
    return f"[{_seconds(progress.elapsed_s)}] trials {trials}  total {total}  task {number} {latency}  {task}"


class TableDisplay:
    """Shows a session's snapshots on a stream.

    On a TTY the table is overwritten in place, at most `rate` times a second, in one write and without clearing the
    screen first, so it does not flicker. On anything else every finished round gives one line, and `finish` the table.
    """

    def __init__(self, stream: TextIO | None = None, rate: float = 8.0) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._interval = 1.0 / rate
        self._drawn = 0
        self._last = 0.0
        self.live = bool(getattr(self._stream, "isatty", lambda: False)())

    def update(self, snapshot: Snapshot) -> None:
        """Redraw on a TTY if the last drawing is old enough."""
        now = time.monotonic()
        if self.live and now - self._last >= self._interval:
            self._last = now
            self._draw(snapshot)

    def round(self, snapshot: Snapshot, task: str) -> None:
        """Tell about a finished round where there is no TTY."""
        if not self.live:
            self._stream.write(legible_line(round_line(snapshot, task)) + "\n")
            self._stream.flush()

    def say(self, text: str) -> None:
        """Write a line where there is no TTY; on one, the table would be drawn over it."""
        if not self.live:
            self._stream.write(legible(text) + "\n")
            self._stream.flush()

    def finish(self, snapshot: Snapshot) -> None:
        """Draw the last state, whatever the stream is."""
        if self.live:
            self._draw(snapshot)
        else:
            self._stream.write("\n".join(render_table(snapshot, Width.PLAIN)) + "\n")
        self._drawn = 0
        self._stream.flush()

    def _draw(self, snapshot: Snapshot) -> None:
        size = shutil.get_terminal_size((100, 40))
        lines = render_table(snapshot, max(40, size.columns - 1), size.lines)
        up = f"\x1b[{self._drawn}F" if self._drawn else ""
        body = "".join(f"{line}\x1b[K\n" for line in lines)
        self._stream.write(
            f"\x1b[?25l{up}{body}\x1b[J\x1b[?25h"
        )  # cursor up, lines, erase what was below, in one write
        self._stream.flush()
        self._drawn = len(lines)
