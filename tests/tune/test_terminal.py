"""The table on a real terminal (a pty): drawn in place, cut to its width, the result on standard output at the end."""

from __future__ import annotations

import os
import re
import struct
import subprocess
import sys

import pytest
from errors import models
from tiers import first

pty = pytest.importorskip("pty")


def on_a_terminal(command, columns, rows=40):
    """Run a command with a terminal as standard error; return exit code, standard output, and what was drawn."""
    import fcntl
    import termios

    outer, inner = pty.openpty()
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "COLUMNS": str(columns)}
    environment["LINES"] = str(rows)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=inner, env=environment)
    os.close(inner)
    drawn = b""
    while True:
        try:
            part = os.read(outer, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        drawn += part
    os.close(outer)
    assert process.stdout is not None
    out = process.stdout.read().decode()
    process.stdout.close()
    return process.wait(60), out, drawn.decode()


def screen(drawn, rows):
    """Play what was drawn on a screen that knows the few codes that the table uses."""
    lines, at = [""] * rows, 0
    for part in re.split(r"(\x1b\[\??\d*[A-Za-z]|\r?\n)", drawn):
        if part.endswith("\n"):
            at += 1
        elif part.startswith("\x1b[") and part.endswith("F"):
            at -= int(part[2:-1])
        elif part == "\x1b[J":
            lines[at:] = [""] * (rows - at)
        elif part and not part.startswith("\x1b"):
            lines[at] = part
        assert 0 <= at < rows
    return lines


@pytest.mark.parametrize("columns", first([66, 120]))
def test_the_table_is_drawn_in_place(tmp_path, columns):
    model = models.dense(tmp_path / "m.onnx")
    command = [sys.executable, "-m", "workbench", "tune", str(model), "--trials", "12", "--threads", "1"]
    code, out, drawn = on_a_terminal([*command, "--log", str(tmp_path / "a.jsonl")], columns)
    assert code == 0
    assert "End to end, measured at trial 1" in out
    assert drawn.count("Trials: ") > 2
    assert "\x1b[2J" not in drawn
    shown = [line for line in screen(drawn, 40) if line]
    assert sum("Estimated total latency" in line for line in shown) == 0, "what was measured stands in its place"
    assert sum(line.startswith("End to end: ") for line in shown) == 1
    assert sum(line.startswith("Kernels alone: ") for line in shown) == 1
    assert sum(line.startswith("  ID |") for line in shown) == 1
    assert max(map(len, shown)) < columns
    assert shown[-1].endswith("done")
