"""Words of the extension in another language: whatever a page of it says comes through JupyterLab's translator."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .test_any_log import LOG
from .test_any_log import OPEN as EXPLORE
from .test_model import OPENED, PAGE, network

pytestmark = pytest.mark.checks

WORDS = {
    "Explore the records": ["DIE EINTRÄGE"],
    "Explore in a notebook": ["IM NOTIZBUCH"],
    "Newest trials": ["NEUESTE"],
    "%2 task": ["%2 AUFGABE", "%2 AUFGABEN"],
    "Best: trial %1, %2 ms%3%4.": ["BESTER: VERSUCH %1, %2 ms%3%4."],
    "Workbench Tour": ["RUNDGANG"],
    "Tune": ["ABSTIMMEN"],
}
HEAD = {"domain": "schedule_workbench", "language": "de-DE", "plural_forms": "nplurals=2; plural=(n != 1);"}


@pytest.fixture
def german(page: Any) -> Iterator[Any]:
    """JupyterLab whose server gives these words."""
    answer = json.dumps({"data": {"schedule_workbench": {"": HEAD, **WORDS}}, "message": ""})
    address = "**/api/translations/*"
    page.route(address, lambda route: route.fulfill(status=200, body=answer, content_type="application/json"))
    yield page
    page.unroute(address)
    page.goto("about:blank")


def trial(n: int, ms: float) -> dict[str, Any]:
    return {
        "kind": "trial", "schema": 1, "trial": n, "task": "matmul", "task_key": "k", "status": "ok",
        "latency_ms": ms, "costs_ms": [ms] * 3, "trace": [], "origin": "sketch",
    }  # fmt: skip


def test_a_log_a_model_and_the_launcher_speak_it(german: Any, address: str, folder: Path) -> None:
    page = german
    (folder / "w.tunelog.jsonl").write_text("".join(json.dumps(trial(n, 3.0 - n)) + "\n" for n in (1, 2)))
    shutil.copy(LOG, folder)
    network(folder / "w.onnx", 3)
    page.goto(f"{address}/lab?reset")
    page.wait_for_selector(".jp-DirListing-item", timeout=60_000)
    page.get_by_text("RUNDGANG").first.wait_for()
    page.evaluate("() => window.jupyterapp.commands.execute('docmanager:open', { path: 'w.tunelog.jsonl' })")
    view = page.locator(".jp-ScheduleWorkbenchLog:visible")
    view.get_by_role("button", name="DIE EINTRÄGE").wait_for(timeout=60_000)
    text = view.inner_text()
    assert "NEUESTE" in text
    assert "1 AUFGABE" in text
    assert "BESTER: VERSUCH 2, 1.00 ms" in text
    page.evaluate(EXPLORE, LOG.name)
    page.locator(".jp-ScheduleWorkbenchLog:visible").get_by_role("button", name="IM NOTIZBUCH").wait_for(timeout=60_000)
    page.evaluate(OPENED, "w.onnx")
    page.locator(f"{PAGE} button", has_text="ABSTIMMEN").wait_for(timeout=60_000)
