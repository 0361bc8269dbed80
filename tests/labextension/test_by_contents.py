"""A double click opens a log by what is in it, and every other file as JupyterLab always has."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .conftest import ROOT, installed, jupyterlab, open_lab

pytestmark = pytest.mark.checks

DATA = ROOT / "tests" / "data" / "logs"
EXPLORER, EDITOR = ".jp-ScheduleWorkbenchLog", ".jp-FileEditor"
LOGS = {
    "ansor.json": DATA / "ansor" / "ansor-matmul.json",
    "cache.json": DATA / "kernel-tuner" / "mm96-cpu-v1.5.0.json",
    "helion.csv": DATA / "helion" / "synthetic-autotune-v2.csv.gz",
    "bert.log": DATA / "autotvm" / "bert-cpu-excerpt.log.gz",
    "study.db": DATA / "optuna" / "matmul96.db.gz",
    "printed.txt": DATA / "inductor" / "max-autotune-2023-format.log",
}
OTHERS = {
    "package.json": ('{\n  "name": "x",\n  "version": "1.0.0"\n}\n', ".jp-RenderedJSON"),
    "usual.csv": ("a,b\n1,2.5\n2,3.5\n", ".jp-CSVViewer"),
    "usual.log": ("INFO the server has started\n", EDITOR),
    "usual.py": ("print(1)\n", EDITOR),
}
LONG = 40_000
WATCH = """() => { const { shell } = window.jupyterapp; window.seen = new Set();
    shell.layoutModified.connect(() => { for (const one of shell.widgets('main'))
        if (one.context) window.seen.add(`${one.context.path} ${one.content.node.className}`); }); }"""
OPEN = """async args => { const shown = await window.jupyterapp.commands.execute('docmanager:open', args);
    await shown.context.ready; return [shown.context.path, shown.content.node.className]; }"""
SAVE = "text => window.jupyterapp.serviceManager.settings.save('schedule-workbench:explorer', text)"


@pytest.fixture(scope="module")
def files(folder: Path, address: str) -> Path:
    for name, source in LOGS.items():
        data = source.read_bytes()
        (folder / name).write_bytes(gzip.decompress(data) if source.suffix == ".gz" else data)
    for name, (text, _) in OTHERS.items():
        (folder / name).write_text(text)
    return folder


def item(page: Any, name: str) -> Any:
    return page.locator(".jp-DirListing-item", has=page.get_by_text(name, exact=True))


def seen(page: Any) -> list[str]:
    return list(page.evaluate("() => [...window.seen]"))


@pytest.fixture
def lab(page: Any, address: str, files: Path) -> Iterator[Any]:
    open_lab(page, address)
    page.errors.clear()
    page.evaluate(WATCH)
    yield page
    assert page.errors == []


@pytest.mark.parametrize("name", LOGS)
def test_a_log_opens_in_the_explorer(lab: Any, name: str) -> None:
    item(lab, name).dblclick()
    lab.locator(f"{EXPLORER}:visible [data-swx=chosen]").wait_for(timeout=LONG)
    (one,) = seen(lab)  # and nothing was shown before
    assert EXPLORER[1:] in one


@pytest.mark.parametrize("name", OTHERS)
def test_another_file_opens_as_usual(lab: Any, name: str) -> None:
    item(lab, name).dblclick()
    lab.locator(f"{OTHERS[name][1]}:visible").wait_for(timeout=LONG)
    (one,) = seen(lab)
    assert EXPLORER[1:] not in one


def test_by_keyboard_and_command_and_with_another_viewer(lab: Any) -> None:
    item(lab, "ansor.json").click()
    lab.keyboard.press("Enter")
    lab.locator(f"{EXPLORER}:visible").wait_for(timeout=LONG)
    path, kind = lab.evaluate(OPEN, {"path": "bert.log"})  # the command returns what it has opened
    assert (path, EXPLORER[1:] in kind) == ("bert.log", True)
    path, kind = lab.evaluate(OPEN, {"path": "package.json"})
    assert (path, EXPLORER[1:] in kind) == ("package.json", False)
    path, kind = lab.evaluate(OPEN, {"path": "cache.json", "factory": "Editor"})
    assert EDITOR[1:] in kind
    item(lab, "cache.json").dblclick()  # a file that is open is shown as it is
    lab.wait_for_timeout(500)
    assert sum("cache.json" in one for one in seen(lab)) == 1
    item(lab, "helion.csv").click(button="right")
    lab.get_by_text("Open With", exact=True).hover()
    for viewer in ("CSV", "Editor", "Log explorer"):
        lab.locator(".lm-Menu-item", has_text=viewer).first.wait_for()
    lab.keyboard.press("Escape")
    lab.keyboard.press("Escape")


def test_an_explorer_is_there_again_when_the_page_is_loaded_again(lab: Any, address: str) -> None:
    item(lab, "cache.json").dblclick()
    lab.locator(f"{EXPLORER}:visible [data-swx=chosen]").wait_for(timeout=LONG)
    saved = "async () => JSON.stringify((await window.jupyterapp.serviceManager.workspaces.fetch('default')).data)"
    for _ in range(100):
        if "cache.json" in lab.evaluate(saved):
            break
        lab.wait_for_timeout(100)
    lab.goto(f"{address}/lab")
    lab.locator(f"{EXPLORER}:visible [data-swx=chosen]").wait_for(timeout=LONG)


def test_a_server_that_is_slow_is_not_waited_for_and_settings_turn_it_off(page: Any, address: str, files: Path) -> None:
    asked: list[str] = []
    try:
        for settings, times in (({"longestLookMs": 100}, 1), ({"byContents": False}, 0)):
            open_lab(page, address)
            page.evaluate(SAVE, json.dumps(settings))
            page.goto(f"{address}/lab?reset")
            item(page, "bert.log").wait_for(timeout=LONG)
            asked.clear()
            page.route("**/schedule-workbench/format*", lambda route: asked.append(route.request.url))
            item(page, "bert.log").dblclick()
            page.locator(f"{EDITOR}:visible").wait_for(timeout=LONG)
            assert len(asked) == times
            page.unroute("**/schedule-workbench/format*")
    finally:
        page.evaluate(SAVE, "{}")
        page.goto(f"{address}/lab?reset")


def test_without_the_server_extension_all_files_open_as_usual(page: Any, files: Path, tmp_path: Path) -> None:
    shutil.copytree(files, tmp_path / "files")
    off = "--ServerApp.jpserver_extensions={'workbench.server': False}"
    with jupyterlab(tmp_path / "files", installed(tmp_path / "share"), off) as address:
        open_lab(page, address)
        asked: list[int] = []
        page.on("response", lambda answer: "workbench/format" in answer.url and asked.append(answer.status))
        for name, viewer in (("bert.log", EDITOR), ("cache.json", ".jp-RenderedJSON"), ("helion.csv", ".jp-CSVViewer")):
            item(page, name).dblclick()
            page.locator(f"{viewer}:visible").wait_for(timeout=LONG)
        assert asked == [404]  # once
        page.goto("about:blank")
