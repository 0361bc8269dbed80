"""The folder with real models, and what of them is missing: listed at the end of a run, never passed over."""

from __future__ import annotations

import functools
import os
from pathlib import Path

import pytest

#: Environment variable with the folder that `fetch.py` has filled.
FOLDER = "WORKBENCH_REAL_MODELS"
#: Set where every model must be there: a missing one fails then.
REQUIRE = "WORKBENCH_REQUIRE_REAL_MODELS"

_MISSING = pytest.StashKey[dict[str, str]]()


@functools.cache
def _models(folder: str) -> list[Path]:
    walk = os.walk(folder, followlinks=True) if folder else ()
    return sorted(Path(where, name) for where, _, names in walk for name in names if name.endswith(".onnx"))


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_MISSING] = {}


@pytest.fixture
def real_model(request: pytest.FixtureRequest):
    """Path of a model by its file; skips, or fails where it must be there, and remembers it when it is missing."""

    def find(file: str, source: str) -> Path:
        found = [p for p in _models(os.environ.get(FOLDER, "")) if p.as_posix().endswith(f"/{file}")]
        if found:
            return found[0]
        request.config.stash[_MISSING][file] = source
        why = f"missing: {file} (from {source}); see tests/real_models/fetch.py"
        if os.environ.get(REQUIRE):
            pytest.fail(why)
        pytest.skip(why)

    return find


def pytest_terminal_summary(terminalreporter, config: pytest.Config) -> None:
    missing = config.stash[_MISSING]
    if not missing:
        return
    terminalreporter.section(f"{len(missing)} real models were NOT tested", red=True)
    folder = os.environ.get(FOLDER)
    where = f"not below {folder}" if folder else f"the environment variable {FOLDER} is not set"
    terminalreporter.line(f"{where}; python tests/real_models/fetch.py FOLDER brings them")
    for file, source in sorted(missing.items()):
        terminalreporter.line(f"  {file}  ({source})")
