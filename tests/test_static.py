"""The static checks that CONTRIBUTING lists: lint, format, types."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize(
    "command",
    [["ruff", "check", "."], ["ruff", "format", "--check", "."], ["mypy"]],
    ids=["lint", "format", "types"],
)
def test_no_findings(command, tmp_path):
    module, *rest = command
    cache = ["--cache-dir", str(tmp_path)]
    done = subprocess.run([sys.executable, "-m", module, *rest, *cache], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
