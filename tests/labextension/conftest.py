"""One JupyterLab with the committed extension for all tests here, and a page in it."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import start
from browser.driver import OPEN_SERVER, clear, free_port, page_of, stop_server
from notebooks.tour import TOURS

playwright = start.playwright
ROOT = Path(__file__).parents[2]


@contextlib.contextmanager
def jupyterlab(folder: Path, share: Path, *options: str, base: str = "") -> Iterator[str]:
    """Run a JupyterLab that finds the extension in `share` and keeps its own state there; yields its address.

    `base` is the path below which it is served.
    """
    (share / "settings").mkdir()
    config = share / "config" / "jupyter_server_config.d"
    config.mkdir(parents=True)
    shutil.copy(ROOT / "extensions" / "jupyter_server.json", config)
    settings = {
        "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
        "schedule-workbench:explorer": {"longestLookMs": 10_000},  # the machine may be busy
    }
    (share / "settings" / "overrides.json").write_text(json.dumps(settings))
    places = {
        "JUPYTER_PATH": "",
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "run",
        "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
        "JUPYTERLAB_SETTINGS_DIR": "user",
    }
    port = free_port()
    command = [
        sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1", f"--port={port}",
        f"--ServerApp.root_dir={folder}", f"--LabApp.app_settings_dir={share / 'settings'}", *OPEN_SERVER,
        f"--ServerApp.base_url={base}/", *options,
    ]  # fmt: skip
    environment = {**os.environ, **{name: str(share / place) for name, place in places.items()}}
    with (share / "lab.log").open("w") as out:
        server = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env=environment)
    address = f"http://127.0.0.1:{port}{base}"
    try:
        for _ in range(600):
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"{address}/api/status", timeout=2).close()
                break
            assert server.poll() is None, (share / "lab.log").read_text()[-3000:]
            time.sleep(0.1)
        yield address
    finally:
        stop_server(server)


@pytest.fixture(scope="package")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("labextension") / "notebooks"


def installed(share: Path) -> Path:
    """Put the committed extension where a JupyterLab with this folder finds it."""
    place = share / "labextensions" / "schedule-workbench"
    shutil.copytree(ROOT / "extensions" / "labextension", place)
    for tour in TOURS:
        shutil.copy(tour, place / "static")
    return share


@pytest.fixture(scope="package")
def address(playwright: Any, folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """JupyterLab with the committed extension, whatever is installed."""
    share = installed(tmp_path_factory.mktemp("share"))
    folder.mkdir()
    with jupyterlab(folder, share) as url:
        yield url


@pytest.fixture(scope="package")
def page(playwright: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with page_of(playwright, tmp_path_factory.mktemp("profile")) as shown:
        yield shown


EMPTY = """async () => { const { commands } = window.jupyterapp;
    await commands.execute('filebrowser:refresh');
    if (!document.querySelector('.jp-Launcher')) await commands.execute('launcher:create'); }"""


def open_lab(page: Any, address: str) -> None:
    """Show a JupyterLab with nothing but the launcher open; one that is loaded is emptied, which is quicker."""
    if page.url.startswith(f"{address}/lab") and clear(page):
        page.evaluate(EMPTY)
    else:
        page.goto(f"{address}/lab?reset")
    page.wait_for_selector(".jp-DirListing-item", timeout=60_000)
