"""What a notebook shows of an error: a few lines in the user's words, and everything else as it was."""

from __future__ import annotations

import pickle
import traceback

import pytest
from IPython.core.interactiveshell import InteractiveShell

from workbench import Schedule, workloads
from workbench.errors import BuildError, InputError, WorkbenchError


@pytest.fixture
def shell():
    InteractiveShell.clear_instance()
    made = InteractiveShell.instance(colors="nocolor")
    made.run_cell("import workbench as wb\ns = wb.Schedule(wb.workloads.matmul(64, 64, 64))")
    yield made
    InteractiveShell.clear_instance()


def shown(shell, capsys, cell):
    capsys.readouterr()
    assert not shell.run_cell(cell).success
    return capsys.readouterr().out.splitlines()


def test_an_error_is_told_in_a_few_lines(shell, capsys):
    lines = shown(shell, capsys, "k = 7\ns.split('i', [None, k])")
    assert lines[0].endswith("[split.divides]")
    assert lines[1:] == [
        "  this cell, line 2: s.split('i', [None, k])",
        "  7 does not divide the extent 64 of loop 'i'.",
        "  at: i",
        '  hint: the nearest divisors of 64 are 4 and 8; the tail "guard" leaves out what is too much by a condition; '
        'the tail "peel" gives the rest a nest of its own',
    ]


def test_a_function_of_an_earlier_cell_is_named_beside_the_line_that_called_it(shell, capsys):
    shell.run_cell("def tile(s, k):\n    return s.split('i', [None, k])")
    lines = shown(shell, capsys, "tile(s, 7)")
    assert lines[1:3] == [
        "  this cell, line 1: tile(s, 7)",
        "  an earlier cell, line 2: return s.split('i', [None, k])",
    ]


def test_a_function_of_a_file_is_named_by_its_path(shell, capsys, tmp_path, monkeypatch):
    (tmp_path / "tiles_of_mine.py").write_text("def tile(s):\n    s.split('i', [None, 7])\n")
    monkeypatch.syspath_prepend(tmp_path)
    lines = shown(shell, capsys, "import tiles_of_mine\ntiles_of_mine.tile(s)")
    assert lines[1:3] == [
        "  this cell, line 2: tiles_of_mine.tile(s)",
        f"  {tmp_path / 'tiles_of_mine.py'}, line 2: s.split('i', [None, 7])",
    ]


def test_other_errors_keep_their_traceback(shell, capsys):
    text = "\n".join(shown(shell, capsys, "1 / 0"))
    assert "ZeroDivisionError" in text
    assert "Traceback" in text


def test_the_whole_traceback_can_still_be_had(shell, capsys):
    shown(shell, capsys, "s.split('i', [None, 7])")
    assert shell.run_cell("import sys, traceback\ntraceback.print_exception(sys.last_value)").success
    text = capsys.readouterr().err
    assert "Traceback (most recent call last)" in text
    assert "schedule.py" in text


def test_plain_python_is_unchanged():
    with pytest.raises(WorkbenchError) as caught:
        Schedule(workloads.matmul(8, 8, 8)).split("i", [None, 7])
    text = "".join(traceback.format_exception(caught.value))
    assert text.startswith("Traceback (most recent call last):")
    assert "schedule.py" in text


def test_without_place_hint_and_traceback_two_lines_are_left():
    assert InputError("x.y", "It is so.")._render_traceback_() == ["InputError [x.y]", "  It is so."]


def test_a_foreign_cause_and_notes_are_told():
    error = BuildError("build.x", "First line.\nSecond line.")
    error.__cause__ = KeyError("lanes")
    error.add_note("in step 3")
    assert error._render_traceback_() == [
        "BuildError [build.x]",
        "  First line.",
        "  Second line.",
        "  caused by KeyError: 'lanes'",
        "  note: in step 3",
    ]


def test_what_a_terminal_would_obey_is_not_printed():
    lines = InputError("x.y", "The node '\x1b[2J\x07' is odd.", ["\x1b]0;title\x07"])._render_traceback_()
    assert "\x1b" not in "".join(lines)
    assert "\x07" not in "".join(lines)
    assert "The node '\ufffd[2J\ufffd' is odd." in lines[1]


def test_a_pickled_error_renders_too():
    error = pickle.loads(pickle.dumps(InputError("x.y", "It is so.", ["a", "b"], "do that")))
    assert error._render_traceback_()[2:] == ["  at: a, b", "  hint: do that"]
