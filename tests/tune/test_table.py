from __future__ import annotations

import io
import re
from dataclasses import replace

from workbench.tune.display.terminal_table import TableDisplay, render_table, round_line
from workbench.tune.state.events import Progress, Snapshot, TaskRow


def snapshot(state="running", **kwargs):
    rows = (
        TaskRow(0, "k0", "conv2d 3x3 64->64 @56 + bias + relu", 3, 0.71234, 325.119, 24, 1, 3.5, "tuning"),
        TaskRow(1, "k1", "max pool 3x3", 1, None, None, 0, 0, None, "waiting"),
        TaskRow(2, "k2", "skipped one", 1, None, None, 0, 0, None, "skipped"),
    )
    progress = Progress(128, 256, 14.4, 14.2, 0.5, 9.06)
    return Snapshot(state, rows, kwargs.get("progress", progress), kwargs.get("total", 3.2141), 12.0, 0)


GOLDEN = """\
  ID | Task                                   | Latency (ms) |  GFLOP/s | Trials | State
-----+----------------------------------------+--------------+----------+--------+----------
   0 | conv2d 3x3 64->64 @56 + bias + relu ×3 |       0.7123 |   325.12 |     24 | tuning
   1 | max pool 3x3                           |            - |        - |      0 | waiting

Estimated total latency: 3.214 ms   Trials: 128/256   Used time: 14 s   Next task: 0
[############............]  50 %   9.1 trials/s   ETA 14 s"""


def test_golden_table():
    assert "\n".join(line.rstrip() for line in render_table(snapshot(), 100)) == GOLDEN


def test_spread_and_confidence_stand_behind_the_state_where_there_is_room():
    known = replace(snapshot().rows[0], state="measured", spread=0.021, confidence=0.998)
    shown = replace(snapshot(), rows=(known,))
    assert render_table(shown, 140)[2].endswith("| measured (±2%, 99.8% sure)")
    assert render_table(shown, 80)[2].endswith("| measured")


def test_nothing_known_is_shown_as_dashes():
    last = render_table(snapshot("paused", total=None, progress=Progress(0, None, 7300.0, None, 0.0, 0.0)), 100)[-2:]
    assert last[0].startswith("Estimated total latency: -   Trials: 0   Used time: 2 h 01 min")
    assert last[1].endswith("paused")


def test_the_table_fits_width_and_height():
    for width in (40, 60, 72, 80, 200):
        assert max(len(line) for line in render_table(snapshot(), width)) <= width
    assert any("…" in line for line in render_table(snapshot(), 72))
    low = render_table(snapshot(), 100, height=8)
    assert len(low) <= 8
    assert any("1 more task" in line for line in low)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_tty_is_redrawn_in_place():
    stream = Terminal()
    display = TableDisplay(stream, rate=1e9)
    display.update(snapshot())
    first = stream.getvalue()
    lines = first.count("\n")
    display.round(snapshot(), "x")
    assert stream.getvalue() == first
    display.update(snapshot())
    second = stream.getvalue()[len(first) :]
    assert f"\x1b[{lines}F" in second
    assert "\x1b[2J" not in second
    display.finish(snapshot("done"))


def test_a_fast_stream_of_updates_is_thinned_out():
    stream = Terminal()
    display = TableDisplay(stream, rate=1.0)
    for _ in range(50):
        display.update(snapshot())
    assert stream.getvalue().count("Estimated") == 1


def test_a_pipe_gets_plain_lines():
    stream = io.StringIO()
    display = TableDisplay(stream)
    display.update(snapshot())
    assert stream.getvalue() == ""
    display.round(snapshot(), "conv2d 3x3 64->64 @56 + bias + relu")
    display.finish(snapshot("done"))
    text = stream.getvalue()
    assert not re.search(r"\x1b", text)
    assert text.startswith("[14 s] trials 128/256  total 3.214 ms  task 0 0.7123 ms  conv2d")
    assert "Estimated total latency" in text
    assert round_line(snapshot(), "max pool 3x3").endswith("task 1 no valid trial  max pool 3x3")
