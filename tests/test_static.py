"""The static checks that CONTRIBUTING lists: lint, format, types, layers. Their caches lie in the checkout."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import workbench

ROOT = Path(__file__).parent.parent
LAYERS = "import sys; from importlinter.cli import lint_imports_command as run; sys.argv = ['lint-imports']; run()"


@pytest.mark.checks
@pytest.mark.parametrize(
    "command",
    [["-m", "ruff", "check", "."], ["-m", "ruff", "format", "--check", "."], ["-m", "mypy"], ["-c", LAYERS]],
    ids=["lint", "format", "types", "layers"],
)
def test_no_findings(command):
    home = Path(workbench.__file__).parents[1]  # whose imports are looked at
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(home), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run([sys.executable, *command], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
