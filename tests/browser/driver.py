"""Drive a real JupyterLab in the system's Chromium."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
QUIET = {"@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False}}
OPEN_SERVER = [
    "--IdentityProvider.token=",
    "--ServerApp.password=",
    "--ServerApp.disable_check_xsrf=True",
    "--expose-app-in-browser",
]


def chromium() -> str | None:
    """Path of the system's Chromium."""
    return next((p for name in ("chromium", "chromium-browser", "google-chrome") if (p := shutil.which(name))), None)


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


@contextlib.contextmanager
def lab(
    folder: Path,
    settings: dict[str, Any] | None = None,
    timeout: float = 60.0,
    env: dict[str, str] | None = None,
) -> Iterator[str]:
    """Run ``workbench lab FOLDER`` without opening a browser; yields its address.

    `settings` override JupyterLab's, `env` is added to the environment of the server and of its kernels.
    """
    port = free_port()
    command = [sys.executable, "-m", "workbench", "lab", str(folder), "--no-browser", "--port", str(port), "--"]
    options = [f"--{app}.app_settings_dir={{overrides}}" for app in ("LabServerApp", "LabApp")]
    with _serving(folder, [*command, *OPEN_SERVER, *options], port, settings, timeout, env) as address:
        yield address


@contextlib.contextmanager
def notebook7(folder: Path, settings: dict[str, Any] | None = None, timeout: float = 60.0) -> Iterator[str]:
    """Run Jupyter Notebook on `folder`, which is made; yields its address."""
    folder.mkdir(exist_ok=True)
    port = free_port()
    command = [sys.executable, "-m", "notebook", "--no-browser", "--port", str(port), f"--ServerApp.root_dir={folder}"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")
    options = [f"--{app}.app_settings_dir={{overrides}}" for app in ("LabServerApp", "JupyterNotebookApp")]
    with _serving(folder, [*command, *OPEN_SERVER, *options], port, settings, timeout) as address:
        yield address


@contextlib.contextmanager
def _serving(
    folder: Path,
    command: list[str],
    port: int,
    settings: dict[str, Any] | None = None,
    timeout: float = 60.0,
    env: dict[str, str] | None = None,
) -> Iterator[str]:
    """Run a server with a home of its own beside `folder`; yields its address."""
    state = folder.parent / f"{folder.name}-jupyter"
    overrides = state / "overrides"
    overrides.mkdir(parents=True, exist_ok=True)
    (overrides / "overrides.json").write_text(json.dumps({**QUIET, **(settings or {})}))
    environment = {
        **os.environ,
        "JUPYTER_CONFIG_DIR": str(state / "config"),
        "JUPYTER_DATA_DIR": str(state / "data"),
        "JUPYTER_RUNTIME_DIR": str(state / "runtime"),
        "JUPYTERLAB_WORKSPACES_DIR": str(state / "workspaces"),
        "JUPYTERLAB_SETTINGS_DIR": str(state / "settings"),
        "PYTHONUNBUFFERED": "1",
        **_other_bundle(state),
        **(env or {}),
    }
    log = state / "server.log"
    with log.open("w") as out:
        server = subprocess.Popen(
            [part.replace("{overrides}", str(overrides)) for part in command],
            stdout=out,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
        )
    address = f"http://127.0.0.1:{port}"
    try:
        deadline = time.monotonic() + timeout
        while not _answers(f"{address}/api/status"):
            if server.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"The server did not start:\n{log.read_text()[-4000:]}")
            time.sleep(0.1)
        yield address
    finally:
        stop_server(server)


def _other_bundle(state: Path) -> dict[str, str]:
    """Let the kernels send the bundle that ``WORKBENCH_BUNDLE`` names instead of the built one, where it is set."""
    bundle = os.environ.get("WORKBENCH_BUNDLE")
    if not bundle:
        return {}
    startup = state / "ipython" / "profile_default" / "startup"
    startup.mkdir(parents=True, exist_ok=True)
    files = {"_esm": bundle, "_css": str(Path(bundle).with_suffix(".css"))}
    lines = [f"_r.Workbench.{name} = open({file!r}, encoding='utf-8').read()" for name, file in files.items()]
    text = "\n".join(["import workbench.widgets.root as _r", *lines, ""])
    (startup / "00-bundle.py").write_text(text)
    return {"IPYTHONDIR": str(state / "ipython")}


def stop_server(server: subprocess.Popen[Any]) -> None:
    """Ask a server to stop; one that takes its time, as on a busy machine, is stopped."""
    server.terminate()
    try:
        server.wait(20)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:
            return answer.status == 200
    except (urllib.error.URLError, OSError):
        return False


KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}


def new_notebook(path: Path) -> str:
    """Write a notebook without cells; return its name."""
    path.write_text(json.dumps({"cells": [], "metadata": {"kernelspec": KERNEL}, "nbformat": 4, "nbformat_minor": 5}))
    return path.name


def tiny_model(path: Path) -> None:
    """Write a network of three convolutions: tuning it brings something new for every task many times a second."""
    import numpy as np
    import onnx

    rng = np.random.default_rng(0)
    channels, nodes, weights = (8, 16, 32, 16), [], []
    for i, (a, b) in enumerate(itertools.pairwise(channels)):
        weights.append(onnx.numpy_helper.from_array(rng.standard_normal((b, a, 3, 3), np.float32), f"w{i}"))
        nodes.append(onnx.helper.make_node("Conv", [f"x{i}", f"w{i}"], [f"y{i}"], pads=[1, 1, 1, 1]))
        nodes.append(onnx.helper.make_node("Relu", [f"y{i}"], [f"x{i + 1}"]))
    ends = [
        onnx.helper.make_tensor_value_info(f"x{i}", onnx.TensorProto.FLOAT, [1, channels[i], 24, 24]) for i in (0, 3)
    ]
    graph = onnx.helper.make_graph(nodes, "tiny", ends[:1], ends[1:], weights)
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), path)


LAB, NOTEBOOK = "lab/tree/{}?reset", "notebooks/{}"
"""Where a notebook is opened: in JupyterLab, in Jupyter Notebook."""
OPEN = "path => window.jupyterapp.commands.execute('docmanager:open', { path, factory: 'Notebook' })"
CLEAR = """async () => { const app = window.jupyterapp;
    if (!app?.serviceManager) return false;
    for (const shown of [...app.shell.widgets('main')]) shown.dispose();
    const late = new Promise(done => setTimeout(done, 20000));
    await Promise.race([app.serviceManager.sessions.shutdownAll(), late]);
    return !document.querySelector('.jp-Dialog, .swb'); }"""


ALL_WORDS = """try { localStorage['schedule-workbench:more'] ??= '1'; } catch { /* a page without an origin */ }"""
"""The tuning panel begins with all that it knows, not with what a beginner needs."""


class Notebook:
    """A notebook that is open in the browser, run through the application itself rather than through its editors."""

    def __init__(self, page: Any, address: str, place: str = LAB) -> None:
        self.page, self.address, self.place = page, address, place

    def open(self, path: str) -> Notebook:
        """Open a notebook and wait until its kernel is connected and idle; a JupyterLab that is there stays."""
        if self.place == LAB and getattr(self.page, "cleared", "") == self.address:
            self.page.cleared = ""
            self.page.evaluate(OPEN, path)
        else:
            self.page.goto(f"{self.address}/{self.place.format(path)}")
        self.page.wait_for_selector(".jp-NotebookPanel", timeout=60_000)
        self.wait_kernel()
        return self

    def wait_kernel(self, timeout_ms: int = 60_000) -> None:
        # The toolbar says idle before there is a kernel at all, so ask the session.
        self.poll(
            """() => { const w = window.jupyterapp?.shell?.currentWidget;
                       const k = w?.sessionContext?.session?.kernel;
                       return !!k && k.connectionStatus === 'connected' && k.status === 'idle'; }""",
            timeout_ms,
        )

    def poll(self, expression: str, timeout_ms: int = 20_000, arg: Any = None) -> None:
        """Wait until a JavaScript function gives true."""
        self.page.wait_for_function(expression, arg=arg, timeout=timeout_ms, polling=50)

    def run(self, cell: int, wait: bool = True) -> None:
        """Run a cell by its number among all cells; without `wait` return at once."""
        self.page.evaluate(
            """async ([i, wait]) => { const app = window.jupyterapp, nb = app.shell.currentWidget.content;
                   nb.activeCellIndex = i; const done = app.commands.execute('notebook:run-cell');
                   if (wait) await done; }""",
            [cell, wait],
        )

    def code(self, text: str, wait: bool = True) -> int:
        """Append a code cell, run it, and return its number."""
        index = self.page.evaluate(
            """(source) => { const nb = window.jupyterapp.shell.currentWidget.content, m = nb.model.sharedModel;
                   m.insertCell(m.cells.length, { cell_type: 'code', source, metadata: { trusted: true } });
                   return m.cells.length - 1; }""",
            text,
        )
        self.run(int(index), wait)
        return int(index)

    def say(self, text: str) -> str:
        """Append a code cell, run it to its end, and return what it printed; an error in it fails the test."""
        cell = self.code(text)
        js = "(i) => window.jupyterapp.shell.currentWidget.content.widgets[i].model.outputs.toJSON()"
        failed = [o for o in self.page.evaluate(js, cell) if o["output_type"] == "error"]
        assert not failed, failed[0]["evalue"]
        return self.outputs(cell).strip()

    def running(self, cell: int) -> bool:
        """Whether a cell is being executed at this moment."""
        js = """(i) => window.jupyterapp.shell.currentWidget.content.widgets[i]
            .node.querySelector('.jp-InputPrompt').textContent.includes('*')"""
        return bool(self.page.evaluate(js, cell))

    def wait_cell(self, cell: int, timeout_ms: int = 60_000) -> None:
        """Wait until a cell that was started has ended."""
        js = """(i) => { const c = window.jupyterapp.shell.currentWidget.content.widgets[i];
            return !c.node.querySelector('.jp-InputPrompt').textContent.includes('*')
                && c.model.executionCount !== null; }"""
        self.poll(js, timeout_ms, cell)

    def wait_output(self, cell: int, text: str) -> None:
        """Wait until a cell that was started has printed something."""
        js = """([i, text]) => { const c = window.jupyterapp.shell.currentWidget.content.widgets[i];
            return (c.model.outputs?.toJSON() || []).some(o => [].concat(o.text ?? '').join('').includes(text)); }"""
        self.poll(js, 60_000, [cell, text])

    def save(self) -> None:
        """Save the notebook, whatever else is open."""
        self.page.evaluate("() => window.jupyterapp.shell.currentWidget.context.save()")

    def outputs(self, cell: int) -> str:
        """Text of a cell's outputs."""
        js = """(i) => {
            const c = window.jupyterapp.shell.currentWidget.content.widgets[i];
            const text = o => o.text ?? o.traceback?.join('\\n') ?? o.data?.['text/plain'] ?? '';
            return (c.model.outputs?.toJSON() || []).map(o => [].concat(text(o)).join('')).join('\\n'); }"""
        return str(self.page.evaluate(js, cell))


@contextlib.contextmanager
def page_of(playwright: Any, profile: Path, size: tuple[int, int] = (1300, 1000)) -> Iterator[Any]:
    """A page in a fresh profile; requests that leave this machine are recorded in ``page.outside``."""
    context = playwright.chromium.launch_persistent_context(
        str(profile),
        executable_path=chromium(),
        headless=True,
        args=FLAGS,
        viewport={"width": size[0], "height": size[1]},
    )
    page = context.pages[0] if context.pages else context.new_page()
    page.add_init_script(ALL_WORDS)
    page.outside, page.errors = [], []
    page.on("request", lambda r: None if _local(r.url) else page.outside.append(r.url))
    page.on("pageerror", lambda e: page.errors.append(str(e)))
    page.on("console", lambda m: page.errors.append(m.text) if m.type == "error" else None)
    try:
        yield page
    finally:
        context.close()


def clear(page: Any) -> bool:
    """Close what is open in a JupyterLab and end all its kernels; gives whether another test can use the page."""
    page.cleared = page.url.partition("/lab")[0]
    return bool(page.evaluate(CLEAR))


def _local(url: str) -> bool:
    return url.startswith(
        ("http://127.0.0.1", "http://localhost", "ws://127.0.0.1", "data:", "blob:", "about:", "chrome")
    )
