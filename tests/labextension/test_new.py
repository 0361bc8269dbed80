"""File → New: a model or a log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .conftest import open_lab
from .test_own_model import VISIBLE, go_to

LOG = '{"kind": "log", "version": 1}\n'
TITLE = "() => window.jupyterapp.shell.currentWidget?.title.label"


def choose(page: Any, name: str) -> None:
    page.locator(f"{VISIBLE} button", has_text="Choose").click()
    page.locator(".jp-Dialog .jp-DirListing-item", has_text=name).click()
    page.locator(".jp-Dialog button.jp-mod-accept").click()


def test_file_new_asks_for_a_model_or_a_log(page: Any, address: str, folder: Path) -> None:
    (folder / "earlier.tunelog.jsonl").write_text(LOG)
    open_lab(page, address)
    go_to(page, "/")
    page.locator("#jp-MainMenu .lm-MenuBar-item", has_text="File").click()
    page.locator(".lm-Menu-item", has_text="New").first.hover()
    page.locator(".lm-Menu-item", has_text="Schedule Workbench").first.click()
    page.locator(VISIBLE).wait_for(timeout=60_000)
    choose(page, "earlier.tunelog.jsonl")
    page.wait_for_function(f"() => ({TITLE})() === 'earlier.tunelog.jsonl'", timeout=60_000)
    assert page.locator(".swbl-open").count() == 0, "the log has taken the panel's place"
