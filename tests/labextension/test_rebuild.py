"""Building from the sources gives the committed files, byte for byte, in whatever folder it is done."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ASSETS = ("extensions/labextension", "workbench/widgets/static")
NO_NETWORK = ("ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ETIMEDOUT", "ENETUNREACH")


def _run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # jupyter-builder stands beside Python
    return subprocess.run(command, cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True)


def _files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_rebuild_gives_the_committed_files(tmp_path: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed: the committed front end cannot be compared with a fresh build")
    work = tmp_path / "somewhere else" / "extensions"
    shutil.copytree(
        ROOT / "extensions", work, ignore=shutil.ignore_patterns("node_modules", "lib", "labextension", "*.tsbuildinfo")
    )
    installed = _run([npm, "ci", "--ignore-scripts"], work)
    if installed.returncode and any(word in installed.stderr for word in NO_NETWORK):
        pytest.skip("npm reaches no package registry: the committed front end cannot be compared with a fresh build")
    assert installed.returncode == 0, installed.stderr[-3000:]
    built = _run([npm, "run", "build"], work)
    assert built.returncode == 0, (built.stdout + built.stderr)[-3000:]
    for place in ASSETS:
        fresh, committed = _files(work.parent / place), _files(ROOT / place)
        assert sorted(fresh) == sorted(committed), f"{place}: rebuild and commit it, see extensions/README.md"
        different = [name for name in fresh if fresh[name] != committed[name]]
        assert not different, f"{place}: rebuild and commit it, see extensions/README.md"
