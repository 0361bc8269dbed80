"""Notebooks run for a grade: what fails is told with its cell, nothing outside is reached, time ends."""

from __future__ import annotations

import nbformat
import pytest

from workbench.errors import InputError
from workbench.labs.grading.running import executed, read_notebook


def notebook(path, *cells):
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in cells])
    for cell in made.cells:
        cell.outputs = [nbformat.v4.new_output("error", ename="Old", evalue="of another day")]
        cell.execution_count = 7
    made.cells[0]["id"] = "first-cell"
    nbformat.write(made, path)
    return path


def test_a_cell_that_fails_is_told_and_the_others_run(tmp_path):
    path = notebook(
        tmp_path / "n.ipynb",
        "open('lab.json').read() == 'x' or 1 / 0",
        "import urllib.request\nurllib.request.urlopen('http://example.org')",
        "import socket\nown = socket.create_server(('127.0.0.1', 0))\nsocket.create_connection(own.getsockname())",
        "import workbench as wb\nwb.Schedule(wb.workloads.matmul(8, 8, 8)).split('q', [2, 4])",
        "open('made', 'w').write('here')",
        "raise ValueError('\\x1b[31m' + 'long ' * 1000)",
    )
    (tmp_path / "lab.json").write_text("y")
    before = path.read_bytes()
    with executed(path, ("lab.json", "not there"), 60) as (folder, faults):
        assert (folder / "made").read_text() == "here"
    told = [str(fault) for fault in faults]
    assert [text.partition(":")[0] for text in told] == ["first-cell (cell 1)", "cell 2", "cell 4", "cell 6"]
    assert "ZeroDivisionError" in told[0]
    assert "asked for example.org [lab.network]" in told[1]
    assert "[loop.unknown]" in told[2]
    assert "\x1b" not in told[3]
    assert len(told[3]) < 600
    assert path.read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["lab.json", "n.ipynb"]


@pytest.mark.parametrize(
    ("cell", "told"), [("import time\ntime.sleep(60)", "stopped after 3 s"), ("import os\nos._exit(1)", "kernel died")]
)
def test_a_notebook_that_does_not_end_is_stopped(tmp_path, cell, told):
    with executed(notebook(tmp_path / "n.ipynb", "x = 1", cell, "y = 2"), (), 3) as (_, faults):
        assert [fault.cell for fault in faults] == ["cell 2"]
        assert told in faults[0].text


@pytest.mark.parametrize("content", [None, b"", b"{}", b"[1]", b"\xff\xfe", b'{"nbformat": 4, "cells": 3}'])
def test_what_is_no_notebook_is_told(tmp_path, content):
    path = tmp_path / "x.ipynb"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_notebook(path)
    assert caught.value.code == "lab.notebook"
