"""Runs a notebook from top to bottom in a fresh kernel, in a folder of its own, and says what failed and where."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from ipykernel.kernelspec import write_kernel_spec
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from jupyter_core.utils import run_sync
from nbclient import NotebookClient
from nbclient.exceptions import CellTimeoutError, DeadKernelError

from workbench.errors import InputError, RunFailure
from workbench.labs.sources import percent
from workbench.safe_text import legible_line

#: Characters of a message that are kept.
_LONGEST = 500


@dataclass(frozen=True, slots=True)
class Fault:
    """What went wrong in a notebook, and where.

    Attributes
    ----------
    cell : str
        Its name, where it has one, and its place from 1: ``"traffic-do (cell 17)"``. Empty for the whole notebook.
    text : str
        What happened, in one line.
    """

    cell: str
    text: str

    def __str__(self) -> str:
        return f"{self.cell}: {self.text}" if self.cell else self.text


def read_notebook(path: Path) -> nbformat.NotebookNode:
    """Read a notebook.

    Raises
    ------
    InputError
        "lab.notebook" where the file cannot be read, or holds no notebook.
    """
    hint = "name a notebook, as in 02_tiling.ipynb"
    try:
        found: nbformat.NotebookNode = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    except OSError as error:
        text = f"'{path}' cannot be read: {error.strerror or error}"
        raise InputError("lab.notebook", text, [str(path)], hint) from None
    except Exception as error:  # of nbformat, of JSON, of a wrong encoding: they share no class
        reason = legible_line(str(error).strip().partition("\n")[0])[:200]
        raise InputError("lab.notebook", f"'{path}' is no notebook: {reason}", [str(path)], hint) from None
    return found


@contextlib.contextmanager
def executed(
    path: Path, beside: tuple[str, ...], seconds: float, prepare: Callable[[Path], object] = lambda folder: None
) -> Iterator[tuple[Path, list[Fault]]]:
    """Run a copy of a notebook; yield the folder in which it ran, and what failed. A cell that fails ends nothing.

    Parameters
    ----------
    path : Path
        The notebook, which stays as it is.
    beside : tuple of str
        Names of files that are copied with it where they are there.
    seconds : float
        Time for the whole notebook.
    prepare : callable
        Gets the folder before the run.
    """
    notebook = read_notebook(path)
    with tempfile.TemporaryDirectory(prefix="workbench-check-") as made:
        folder = Path(made, "notebook")
        folder.mkdir()
        for name in beside:
            with contextlib.suppress(FileNotFoundError):
                shutil.copyfile(path.parent / name, folder / name)
        prepare(folder)
        yield folder, _run(notebook, folder, Path(made), seconds)


def _run(notebook: nbformat.NotebookNode, folder: Path, specs: Path, seconds: float) -> list[Fault]:
    for cell in notebook.cells:  # what it said when it was saved is not what it says now
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    extra = ["--IPKernelApp.exec_lines=import workbench.labs.grading.offline"]
    write_kernel_spec(str(specs / "kernels" / "python3"), extra_arguments=extra)
    where = {"transport": "ipc", "ip": str(specs / "kernel")} if os.name == "posix" else {}  # nobody else reaches it
    known = KernelSpecManager(kernel_dirs=[str(specs / "kernels")], ensure_native_kernel=False)
    kernel = AsyncKernelManager(kernel_name="python3", kernel_spec_manager=known, **where)
    begun: list[int] = []
    client = NotebookClient(
        notebook,
        on_cell_execute=lambda cell, cell_index: begun.append(cell_index),
        km=kernel,
        timeout_func=_until(time.monotonic() + seconds),
        allow_errors=True,
        store_widget_state=False,
        resources={"metadata": {"path": str(folder)}},
    )
    try:
        client.execute()
    except CellTimeoutError:
        text = f"stopped after {seconds:g} s, the time for a notebook"
        return [*_faults(notebook), Fault(_last(notebook, begun), text)]
    except DeadKernelError:
        return [*_faults(notebook), Fault(_last(notebook, begun), "the kernel died here")]
    except RuntimeError as error:  # it did not begin
        raise RunFailure("lab.kernel", f"No kernel could be started: {error}", (), "see 'workbench doctor'") from None
    finally:
        if client.kc is not None:
            client.kc.stop_channels()
        run_sync(kernel.shutdown_kernel)(now=True)
    return _faults(notebook)


def _until(end: float) -> Callable[[object], float]:
    """Return what says how many seconds a cell may still take."""
    return lambda cell: max(1.0, end - time.monotonic())


def _place(number: int, cell: Any) -> str:
    name = str(cell.get("id", ""))
    return f"{name} (cell {number})" if percent.is_name(name) else f"cell {number}"


def _last(notebook: nbformat.NotebookNode, begun: Sequence[int]) -> str:
    """The cell that was running."""
    return _place(begun[-1] + 1, notebook.cells[begun[-1]]) if begun else ""


def _faults(notebook: nbformat.NotebookNode) -> list[Fault]:
    found = []
    for number, cell in enumerate(notebook.cells, 1):
        for output in cell.get("outputs", ()):
            if output.output_type == "error":
                text = legible_line(f"{output.ename}: {output.evalue}".strip())
                found.append(Fault(_place(number, cell), text[:_LONGEST]))
    return found
