"""What kernels can be made for with this installation: what runs, what could with a package more, what is missing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from workbench import host
from workbench.architectures import Architecture, architectures
from workbench.codegen.backend import backends
from workbench.codegen.c.cross_toolchain import find_toolchain
from workbench.errors import BuildError
from workbench.runtime.boards.toolchain import emulator
from workbench.target import Target
from workbench.target_kinds import Device, State, TargetKind, target_kinds

if TYPE_CHECKING:
    import pandas


def devices() -> pandas.DataFrame:
    """List what kernels can be made for.

    Returns
    -------
    DataFrame
        ``target`` (what to pass as a target), ``device`` (what it is), ``state``: "runs" (kernels run here), "compiles"
        (they are compiled and can be looked at), "prints" (their text is made), "missing"; ``note`` (what was found, or
        what is missing), ``install`` (the command that adds it).
    """
    import pandas

    columns = ("target", "device", "state", "note", "install")
    return pandas.DataFrame([dict(zip(columns, row.values(), strict=True)) for row in found()], columns=list(columns))


def found() -> list[dict[str, Any]]:
    """Return the rows of `devices`, JSON-ready."""
    return [asdict(device) for kind in target_kinds for device in _of_kind(kind)]


def _of_kind(kind: TargetKind) -> Iterator[Device]:
    if not kind.devices:
        yield from _processors(kind) if kind.processor else _backends(kind)
        return
    try:
        yield from kind.find_devices()
    except Exception as error:  # a driver may do anything; the other devices are there all the same
        yield Device(kind.name, kind.title, "missing", f"{type(error).__name__}: {error}")


def _backends(kind: TargetKind) -> Iterator[Device]:
    """What the backend of a kind says of itself."""
    target = Target(kind.name)
    for backend in backends:
        if backend.serves(target):
            problem, compiler = backend.run_problem(target), backend.compiler_problem(target)
            state: State = "runs" if problem is None else "compiles" if compiler is None else "prints"
            note, hint = ("", "") if problem is None else (problem.message, problem.hint)
            yield Device(kind.name, kind.title, state, note, hint if hint.startswith("pip install") else "")
            return
    yield Device(kind.name, kind.title, "missing", "no code generator serves it")


def _processors(kind: TargetKind) -> Iterator[Device]:
    """Return this machine and, through LLVM, those of other architectures."""
    here = Target(kind.name)
    wide = f"{here.threads} threads, vectors of {here.vector_bytes} bytes"
    for device in _backends(kind):
        model = host.detect().model if kind.name == "llvm" else kind.title
        yield Device(kind.name, f"{model} ({wide})", device.state, device.note, device.install)
    for made in architectures if kind.name == "llvm" else ():
        if made.name != here.arch and made.backend:
            yield _foreign(made)


def _foreign(made: Architecture) -> Device:
    """Another architecture: kernels are compiled; a board, or qemu, runs them."""
    target = Target(f"llvm -mtriple={made.name}-linux-gnu -mcpu=generic -threads=1")
    note, install = "on a board: wb.BoardRunner", ""
    try:
        find_toolchain(made.name)
        note += ", or emulated by qemu" if emulator(target) else "; qemu-user would emulate one"
    except BuildError as error:
        note, install = f"{error.message} A board needs one.", "pip install ziglang"
    return Device(f"llvm -mtriple={made.name}-linux-gnu -mcpu=…", made.summary, "compiles", note, install)


def text(rows: list[dict[str, Any]]) -> str:
    """Lay out the rows for the terminal."""
    width = max(len(row["target"]) for row in rows)
    lines = []
    for row in rows:
        lines.append(f"{row['target']:{width}}  {row['state']:8}  {row['title']}")
        lines += [f"{'':{width}}  {'':8}  {word}" for word in (row["note"], row["install"]) if word]
    return "\n".join(lines)
