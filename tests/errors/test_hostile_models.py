"""Models that ask for the impossible: an error with a stable code that names the node, in little memory and time."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from errors.hostile import CASES

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are set and read as Linux does")


@pytest.fixture(scope="module")
def outcomes():
    """What every model led to, each in a process of its own."""
    script = Path(__file__).with_name("hostile.py")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=280, check=False)
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert done.returncode == 0, done.stderr
    return {o["name"]: o for o in found}


@pytest.mark.parametrize("name", CASES)
def test_a_clear_error_in_little_memory_and_time(outcomes, name):
    case, found = CASES[name], outcomes[name]
    assert found["code"] == case.code, found
    if case.code:
        assert case.word in found["text"], found["text"]
    assert found["seconds"] < 10
    assert found["mib"] < 256
