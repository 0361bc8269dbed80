"""The sources are linted, and give the committed files, byte for byte, in whatever folder they are built."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
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


@pytest.fixture(scope="module")
def npm(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Run npm in a copy of the front end with its dependencies installed; returns the copy."""
    command = shutil.which("npm")
    if command is None:
        pytest.skip("npm is not installed: the front end can be neither built nor linted")
    work = tmp_path_factory.mktemp("somewhere else") / "extensions"
    shutil.copytree(
        ROOT / "extensions", work, ignore=shutil.ignore_patterns("node_modules", "lib", "labextension", "*.tsbuildinfo")
    )
    # Scripts that are linted, not built; the glossary, of which terms have their meanings.
    for file in (*ROOT.glob("workbench/widgets/*.js"), ROOT / "docs" / "glossary.md"):
        (work.parent / file.relative_to(ROOT)).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, work.parent / file.relative_to(ROOT))
    installed = _run([command, "ci", "--ignore-scripts"], work)
    if installed.returncode and any(word in installed.stderr for word in NO_NETWORK):
        pytest.skip("npm reaches no package registry: the front end can be neither built nor linted")
    assert installed.returncode == 0, installed.stderr[-3000:]

    def run(*words: str) -> Path:
        done = _run([command, "run", *words], work)
        assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
        return work

    return run


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_rebuild_gives_the_committed_files(npm: Callable[..., Path]) -> None:
    work = npm("build")
    for place in ASSETS:
        fresh, committed = _files(work.parent / place), _files(ROOT / place)
        assert sorted(fresh) == sorted(committed), f"{place}: rebuild and commit it, see extensions/README.md"
        different = [name for name in fresh if fresh[name] != committed[name]]
        assert not different, f"{place}: rebuild and commit it, see extensions/README.md"


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("check", ["lint", "format:check"])
def test_sources_are_clean(npm: Callable[..., Path], check: str) -> None:
    npm(check)
