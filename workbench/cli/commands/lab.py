"""Copy the notebooks to a folder and open JupyterLab on the first tour."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import workbench
from workbench.arguments import path as as_path
from workbench.cli import arguments as shared
from workbench.cli.arguments import Parser
from workbench.cli.output import Output
from workbench.errors import InputError, RunFailure

TOUR = "01_tour_1_see_a_network.ipynb"
_META = "workbench"


def arguments(command: Parser) -> None:
    """Declare the arguments."""
    command.usage = "workbench lab [-h] [--port N] [--no-browser] [DIR] [-- JUPYTER ARGUMENTS]"
    command.add_argument(
        "folder",
        metavar="DIR",
        nargs="?",
        default="workbench-notebooks",
        help="folder for the notebooks (default: workbench-notebooks); files that are there are kept",
    )
    command.add_argument(
        "--port", type=shared.port, metavar="N", help="port of JupyterLab (default: a free one from 8888 on)"
    )
    command.add_argument("--no-browser", action="store_true", help="only print the address")


def lab(options: Namespace, output: Output) -> int:
    """Run the command; its exit code is that of JupyterLab."""
    if find_spec("jupyterlab") is None:
        hint = f"run '{sys.executable} -m pip install jupyterlab'"
        raise RunFailure("lab.no_jupyterlab", f"JupyterLab is not installed for {sys.executable}", (), hint)
    if options.port is not None:
        _check_port(options.port)
    folder = Path(as_path("the folder", options.folder)).absolute()
    copy_notebooks(shipped_notebooks(), folder, output)
    with _kernel_of_this_python() as environment:
        command = _command(options, folder)
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            command.append("--allow-root")
            output.say("You are root, so JupyterLab is started with --allow-root: whoever reaches it acts as root.")
        return _run([*command, *options.jupyter], environment)


# ------------------------------------------------------------------------------------------------------ the notebooks


def shipped_notebooks() -> Path:
    """Return the folder with the notebooks: inside the installed package, or beside it in a source tree.

    Raises
    ------
    RunFailure
        "lab.no_notebooks" when the installation is not complete.
    """
    package = Path(workbench.__file__).resolve().parent
    for folder in (package / "notebooks", package.parent / "notebooks"):
        if (folder / TOUR).is_file():
            return folder
    hint = "install it again with pip"
    raise RunFailure("lab.no_notebooks", "This installation carries no notebooks", (str(package),), hint)


def copy_notebooks(source: Path, folder: Path, output: Output) -> None:
    """Copy the notebooks that `folder` does not have; a file that is there stays as it is.

    Raises
    ------
    InputError
        "lab.not_a_folder" and "lab.unwritable".
    """
    if folder.exists() and not folder.is_dir():
        hint = "name a folder, or nothing for ./workbench-notebooks"
        raise InputError("lab.not_a_folder", f"'{folder}' is a file, not a folder", (str(folder),), hint)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for notebook in sorted(source.glob("*.ipynb")):
            output.say(_copy(notebook, folder / notebook.name))
    except OSError as error:
        text = f"The notebooks cannot be written to '{folder}': {error.strerror or error}"
        raise InputError("lab.unwritable", text, (str(folder),), "name a folder that you may write to") from None


def _copy(notebook: Path, to: Path) -> str:
    """Copy one notebook unless something of that name is there; return what happened."""
    content = json.loads(notebook.read_text(encoding="utf-8"))
    mark = _digest(content)
    # The copy remembers what it was made from: its own cells will change as soon as somebody works with it.
    content["metadata"][_META] = {"copy_of": mark}
    try:
        with to.open("x", encoding="utf-8") as file:
            file.write(json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    except FileExistsError:
        if _copied_from(to) == mark:
            return f"kept {to}"
        return f"kept {to}; this version of the workbench has a newer one: {notebook} (rename yours to get it)"
    return f"wrote {to}"


def _digest(content: dict[str, Any]) -> str:
    cells = [[cell["cell_type"], "".join(cell["source"])] for cell in content["cells"]]
    return hashlib.sha256(json.dumps(cells).encode()).hexdigest()[:16]


def _copied_from(path: Path) -> str | None:
    try:
        digest = json.loads(path.read_text(encoding="utf-8"))["metadata"][_META]["copy_of"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return digest if isinstance(digest, str) else None


# --------------------------------------------------------------------------------------------------------- JupyterLab


def _check_port(port: int) -> None:
    """Say it now when the port is taken: JupyterLab would start and end again behind pages of messages."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            hint = "choose another one, or leave --port out: JupyterLab then finds a free one"
            text = f"Port {port} cannot be used: {error.strerror or error}"
            raise InputError("lab.port", text, (str(port),), hint) from None


def _command(options: Namespace, folder: Path) -> list[str]:
    # As the default address it is also in what JupyterLab prints, for those who open the browser themselves.
    opened = [f"--ServerApp.root_dir={folder}", f"--LabApp.default_url=/lab/tree/{TOUR}"]
    command = [sys.executable, "-m", "jupyterlab", *opened]
    if options.port is not None:
        command += [f"--port={options.port}", "--ServerApp.port_retries=0"]
    if options.no_browser:
        command.append("--no-browser")
    return command


@contextmanager
def _kernel_of_this_python() -> Iterator[dict[str, str]]:
    """Yield an environment in which the kernel "python3" is this interpreter, whatever the user has installed."""
    from ipykernel.kernelspec import write_kernel_spec

    with tempfile.TemporaryDirectory(prefix="workbench-kernel-") as folder:
        write_kernel_spec(str(Path(folder) / "kernels" / "python3"))
        paths = [folder, *filter(None, [os.environ.get("JUPYTER_PATH")])]
        yield {**os.environ, "JUPYTER_PATH": os.pathsep.join(paths)}


def _run(command: Sequence[str], environment: dict[str, str]) -> int:
    """Run JupyterLab until it ends.

    At a terminal Ctrl-C reaches JupyterLab as well as us, and it asks back; elsewhere a signal reaches only us, and we
    pass it on in a form that ends it without questions. What is ignored from the start (in the background of a script)
    stays so.
    """
    with subprocess.Popen(command, env=environment) as process:

        def pass_on(number: int, frame: object) -> None:
            if number != signal.SIGINT or not sys.stdin or not sys.stdin.isatty():
                process.terminate()

        heard = [n for n in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(n) != signal.SIG_IGN]
        before = {number: signal.signal(number, pass_on) for number in heard}
        try:
            code = process.wait()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
    return 128 - code if code < 0 else code
