"""From a plan to a shared library and its header.

Nothing is compiled again but a few kilobytes of tables and the part that is the same for every network: the kernels'
object code is taken as it is (`elf` makes it fit), the constants are written once, and the system's linker joins them.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

from workbench.architectures import architecture
from workbench.arguments import is_a, whole
from workbench.arguments import path as as_path
from workbench.codegen.llvm import llvmlite_binding
from workbench.errors import ExportError
from workbench.files import replace_file
from workbench.host import machine
from workbench.intrinsics import x86_amx
from workbench.runtime.buffers import Array
from workbench.runtime.export.auxiliary_features import riscv_extensions
from workbench.runtime.export.cpu_features import LOOKED_FOR
from workbench.runtime.export.elf import for_library, write_constants
from workbench.runtime.export.header import header_text
from workbench.runtime.export.library_tables import MARK, PREFIX_LENGTH, About, tables_text
from workbench.runtime.export.linker import find_linker, link
from workbench.runtime.export.main_program import main_text
from workbench.runtime.export.native_calls import PUBLIC
from workbench.runtime.native.emitter import Module
from workbench.runtime.networks.execution_plan import CallPlan, ExecutablePlan, HostCall
from workbench.runtime.networks.plan_check import check_plan
from workbench.target import Target

#: Prefixes with which a public function would have the name of one of the C library's.
_TAKEN = ("cnd", "io", "mtx", "pthread", "sem", "thrd", "timer", "tss")


@dataclass(frozen=True, slots=True)
class Export:
    """What `Executable.export` wrote.

    Parameters
    ----------
    library, header : Path
        The two files.
    prefix : str
        What the names of all functions begin with.
    main : Path or None
        The C program, where there is to be one.
    """

    library: Path
    header: Path
    prefix: str
    main: Path | None = None

    def __str__(self) -> str:
        return str(self.library)


def export_library(
    plan: ExecutablePlan,
    path: str | os.PathLike[str],
    *,
    name: str | None = None,
    threads: int | None = None,
    main: bool = False,
) -> Export:
    """Write a network as a shared library for Linux on its target, with a C header beside it.

    The library holds kernels, constants, memory plan and thread pool; it needs nothing but the C library. The header
    says how to call it from C, `workbench.load_exported` opens it in Python.

    Parameters
    ----------
    plan : ExecutablePlan
        The network.
    path : path
        The library, for instance ``net.so``; the header gets the same name with the suffix ``.h``. Files that are
        there are replaced, without disturbing a process that has loaded them.
    name : str, optional
        What the names of all functions begin with; made from the network's name by default. Networks that are linked
        into one program need different ones.
    threads : int, optional
        Threads that a context gets unless it is asked for others; the plan's by default.
    main : bool
        Write a C program as well, ``net_main.c``: it runs the network on files and times it.

    Returns
    -------
    Export
        The paths, and the prefix of all names.

    Raises
    ------
    ExportError
        ``export.steps`` for a network with steps that are computed in Python, ``export.platform``, ``export.name``,
        ``export.unwritable``.
    BuildError
        ``build.linker`` without a linker, ``build.cross`` without one for another machine, ``build.link`` when it
        refuses, ``build.plan``.
    """
    check_plan(plan)
    calls = _compiled(plan)
    target = Target(plan.target) if plan.target else Target.host()
    library = check_destination(path, name, target)
    threads = plan.threads if threads is None else whole("threads", threads, code="run.threads")
    prefix = name or _prefix(plan.name)
    tiles = any(x86_amx.CONFIG.encode() in call.code.object for call in calls)
    needed = _needed(target, tiles, [call.code.object for call in calls])
    made_by, made_for = f"schedule-workbench {_version()}", plan.target or str(target)
    about = About(prefix, plan.name, made_by, made_for, threads, tuple(needed), tiles, target.arch)
    header, program = library.with_suffix(".h"), library.with_name(f"{library.stem}_main.c") if main else None
    texts = {header: header_text(plan.inputs, plan.outputs, about)}
    if program is not None:
        texts[program] = main_text(about, header.name, library.name)
    try:
        with tempfile.TemporaryDirectory(prefix=".workbench-export-", dir=library.parent) as folder:
            replace_file(_make(plan, calls, about, Path(folder), library.name), library)
            for path, text in texts.items():
                (Path(folder) / path.name).write_text(text, encoding="utf-8")
                replace_file(Path(folder) / path.name, path)
    except OSError as error:
        raise _unwritable(library, error.strerror or str(error)) from error
    return Export(library, header, prefix, program)


# ---- what can be exported ----


def check_destination(path: str | os.PathLike[str], name: str | None, target: Target) -> Path:
    """Return the library's path; raise what is wrong with path, prefix, platform and linker before any work is done."""
    _check_platform(target)
    if name is not None and _prefix(is_a("name", name, str)) != name:
        hint = "ASCII letters, digits and underscores, no digit or underscore at the beginning, for example 'resnet50'"
        raise ExportError("export.name", f"{name!r} cannot begin the names of functions", [name], hint)
    find_linker(target.arch)
    return _checked_path(path)


def _check_platform(target: Target) -> None:
    """Refuse what no library is made for, and code of this machine that can only be loaded."""
    here = target.arch == machine()
    if here and (sys.platform != "linux" or target.arch != "x86_64"):
        raise ExportError(
            "export.platform",
            f"Libraries for this machine itself are made on Linux for x86-64, not on {sys.platform} for {target.arch}.",
            (sys.platform, target.arch),
            "running the network works here; on x86-64, compile(graph, target=…).export(path) makes it for others",
        )
    if target.arch not in LOOKED_FOR or "linux" not in target.triple:
        raise ExportError(
            "export.platform",
            f"Libraries can be made for Linux on {', '.join(LOOKED_FOR)}, not for {target.triple}.",
            (target.triple,),
            "name such a machine: llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72",
        )


def _compiled(plan: ExecutablePlan) -> list[CallPlan]:
    """Return the calls of a network without steps in Python."""
    steps = [call for call in plan.calls if isinstance(call, HostCall)]
    if steps:
        shown = "; ".join(f"{step.name} ({step.reason})" for step in steps[:5]) + ("; …" if len(steps) > 5 else "")
        raise ExportError(
            "export.steps",
            f"{len(steps)} of {len(plan.calls)} steps are computed in Python and cannot be exported: {shown}.",
            [step.name for step in steps],
            "compute them outside of the network, or replace them by operators that are compiled",
        )
    return [call for call in plan.calls if isinstance(call, CallPlan)]


def _checked_path(path: str | os.PathLike[str]) -> Path:
    library = Path(as_path("path", path))
    if library.suffix == ".h":
        text = f"{library.name} would be both the library and its header"
        raise ExportError("export.unwritable", text, [str(library)], "give the library's path, such as net.so")
    try:
        if library.is_dir():
            raise _unwritable(library, "it is a directory")
        if not library.parent.is_dir():
            raise _unwritable(library, f"there is no directory {library.parent}")
    except OSError as error:
        raise _unwritable(library, error.strerror or str(error)) from error
    return library


def _unwritable(path: Path, why: str) -> ExportError:
    hint = "choose a file in a directory that exists and that you may write to"
    return ExportError("export.unwritable", f"The library cannot be written there: {why}", [str(path)], hint)


def _prefix(name: str) -> str:
    """Return the network's name as one that C takes."""
    plain = re.sub("[^A-Za-z0-9_]+", "_", name).strip("_")[: PREFIX_LENGTH - 8] or "network"
    return f"net_{plain}" if plain[0].isdigit() or plain in _TAKEN else plain


def _version() -> str:
    try:
        return version("schedule-workbench")
    except PackageNotFoundError:
        return "(from a source tree)"


# ---- making it ----


def _make(plan: ExecutablePlan, calls: Sequence[CallPlan], about: About, folder: Path, soname: str) -> Path:
    """Write all object files to a folder and link them."""
    symbols: dict[tuple[str, bytes], str] = {}
    for call in calls:
        symbols.setdefault((call.code.symbol, call.code.object), f"wb_kernel{len(symbols)}")
    text = Module("linux", about.arch, about.prefix).text(*PUBLIC.values())
    text += tables_text(plan, calls, [symbols[c.code.symbol, c.code.object] for c in calls], about)
    files = {"network": for_library(llvmlite_binding.compile_ir(text, _any_processor(about.arch)))}
    files |= {new: for_library(code, (old, new)) for (old, code), new in symbols.items()}
    paths = []
    for name, data in files.items():
        paths.append(folder / f"{name}.o")
        paths[-1].write_bytes(data)
    paths.append(folder / "constants.o")
    constants: list[Array] = [np.ascontiguousarray(a) for a in plan.constants]
    with paths[-1].open("wb") as file:
        write_constants(file, constants, "wb_constants", files["network"])
    out = folder / "library"
    link(paths, out, soname, [*(f"{about.prefix}_{name}" for name in PUBLIC), MARK], about.arch)
    return out


def _any_processor(arch: str) -> Target | None:
    """The target of code that asks what a processor has, and so needs nothing of it."""
    return None if arch == machine() else Target(f"llvm -mtriple={arch}-unknown-linux-gnu -mcpu=generic -mattr=")


def _needed(target: Target, tiles: bool, objects: Sequence[bytes] = ()) -> list[str]:
    """Features that the code may use: what the compiler was allowed, without tiles where no kernel has them."""
    allowed = llvmlite_binding.feature_string(target.features, target.triple).split(",")
    named = [f[1:] for f in allowed if f.startswith("+") and (tiles or not f.startswith("+amx"))]
    used = riscv_extensions(objects) if target.arch == "riscv64" else ()
    return [*named, *architecture(target.arch).beyond.get(target.cpu, ()), *used]
