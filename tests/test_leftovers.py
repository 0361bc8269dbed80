"""A run of tests that leaves a process behind fails, says which, and ends it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import leftovers
import pytest

pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks for processes in /proc")

TIDY = """
import subprocess, sys
def test_tidy():
    subprocess.run([sys.executable, "-c", "pass"], check=True)
"""
#: A program whose parent has ended, and a child that runs no program.
ORPHAN = """
import subprocess, sys
def test_orphan():
    code = "import subprocess; subprocess.Popen(['sleep', '271'], start_new_session=True)"
    subprocess.run([sys.executable, "-c", code], check=True)
"""
FORK = """
import os, time
def test_fork():
    if not os.fork():
        time.sleep(300)
        os._exit(0)
"""


ALONE_OR_NOT = [
    pytest.param([], id="alone"),
    pytest.param(["-n", "2"], id="xdist", marks=pytest.mark.checks),
]


def run(folder, text, *options):
    (folder / "test_it.py").write_text(text)
    path = os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])
    command = [sys.executable, "-m", "pytest", "-p", "leftovers", "-p", "no:cacheprovider", *options, str(folder)]
    code = f"import leftovers, pytest, sys; leftovers.PATIENCE_S = 1; sys.exit(pytest.main({command[3:]!r}))"
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, env=environment, check=False
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize("options", ALONE_OR_NOT)
def test_a_tidy_run_passes(tmp_path, options):
    code, out = run(tmp_path, TIDY, *options)
    assert code == 0, out
    assert "left behind" not in out


@pytest.mark.parametrize("options", ALONE_OR_NOT)
def test_a_process_that_is_left_fails_the_run_and_is_ended(tmp_path, options):
    code, out = run(tmp_path, ORPHAN, *options)
    assert code == 1, out
    assert "left behind" in out
    assert ": sleep 271" in out
    mine = os.environ[leftovers.MARK].split()[-1]
    assert not [line for line in leftovers.marked(mine).values() if line == "sleep 271"]


def test_a_forked_child_counts(tmp_path):
    code, out = run(tmp_path, FORK)
    assert code == 1, out
    assert "left behind" in out
