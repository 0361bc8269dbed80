"""Fixtures of the tests in a real JupyterLab."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from browser.driver import Notebook, lab, page_of


@pytest.fixture(scope="module")
def lab_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lab") / "notebooks"


@pytest.fixture(scope="module")
def address(playwright: Any, lab_folder: Path) -> Any:
    """Address of a running ``workbench lab``."""
    with lab(lab_folder) as url:
        yield url


@pytest.fixture
def page(playwright: Any, tmp_path: Path) -> Any:
    with page_of(playwright, tmp_path / "profile") as p:
        yield p


@pytest.fixture
def notebook(page: Any, address: str) -> Notebook:
    return Notebook(page, address)
