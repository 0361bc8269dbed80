"""A linker for this machine or another one: from object files to a shared library."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from workbench.codegen.c.compiler import find_compiler
from workbench.codegen.c.cross_toolchain import find_toolchain
from workbench.errors import BuildError
from workbench.host import machine

#: Seconds for the linker. Chosen, not measured.
_TIMEOUT_S = 300
#: What the library is linked to: the C library, its threads where they are apart, its functions of numbers.
_LIBRARIES = ("libc.so.6", "libpthread.so.0", "libm.so.6")
#: Linkers that are asked where there is no compiler, best first.
_LINKERS = ("ld.lld", "ld.gold", "ld")


def find_linker(arch: str | None = None) -> tuple[tuple[str, ...], bool]:
    """Return the command that links for an architecture (this machine's by default), and whether it is a compiler's.

    Here the compiler is that of the C backend: ``$CC``, else ``cc``, ``gcc`` or ``clang``. Without one, LLVM's linker
    and the system's will do as well. For another machine: `workbench.codegen.c.cross_toolchain`.

    Raises
    ------
    BuildError
        ``build.linker`` where there is none, ``build.cross`` where there is none for another machine.
    """
    if arch not in (None, machine()):
        tools = find_toolchain(str(arch))
        return tools.linker, tools.driver
    if command := find_compiler():
        return command, True
    for name in _LINKERS:
        if path := shutil.which(name):
            return (path,), False
    wanted = os.environ.get("CC")
    compiler = f"the C compiler {wanted!r} (from $CC) is not there" if wanted else "there is no C compiler"
    raise BuildError(
        "build.linker",
        f"A shared library needs a linker: {compiler}, and neither is {', '.join(_LINKERS)}.",
        _LINKERS,
        "install gcc, clang or lld; compiling and running a network here needs none of them",
    )


def link(objects: Sequence[Path], out: Path, soname: str, exported: Sequence[str], arch: str | None = None) -> None:
    """Link object files to a shared library.

    Parameters
    ----------
    objects : sequence of path
        What it is made of.
    out : path
        The library; its folder takes a script for the linker as well.
    soname : str
        What programs that are linked to the library look for.
    exported : sequence of str
        Public symbols; all others are the library's own.
    arch : str, optional
        What it is for; this machine by default.

    Raises
    ------
    BuildError
        ``build.linker`` and ``build.cross`` where there is no linker; ``build.link`` with what it says when it refuses.
    """
    command, compiler = find_linker(arch)
    script = out.with_suffix(".map")
    script.write_text("{ global: " + " ".join(f"{name};" for name in exported) + " local: *; };\n")
    options = ["--version-script", str(script), "-soname", soname, "-z", "noexecstack", "-z", "relro", "-z", "now"]
    options.append("--build-id=none")  # a checksum of all constants takes as long as everything else
    if compiler:
        words = [*command, "-shared", "-o", str(out), *map(str, objects)]
        # Each word apart: -Wl,a,b would cut a name at its commas.
        words += [word for option in options for word in ("-Xlinker", option)] + ["-lpthread", "-lm"]
    else:
        words = [*command, "-shared", "-o", str(out), *map(str, objects), *options]
        # For another machine none is at hand: the program that uses the library has what it needs.
        words += ["--as-needed", *_libraries()] if arch in (None, machine()) else []
    private = os.environ | dict.fromkeys(("TMPDIR", "TMP", "TEMP"), str(out.parent))
    try:
        done = subprocess.run(words, capture_output=True, timeout=_TIMEOUT_S, check=False, env=private)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BuildError("build.link", f"The linker did not finish: {error}", (command[0],)) from error
    if done.returncode:
        said = "\n".join(done.stderr.decode(errors="replace").splitlines()[:12]) or f"exit code {done.returncode}"
        hint = "see whether this command links anything at all; the environment variable CC names another one"
        raise BuildError("build.link", f"The linker refused the library:\n{said}", (command[0],), hint)


def _libraries() -> list[str]:
    """Paths of the libraries that a bare linker has to be told; it finds what is loaded in this process."""
    try:
        lines = Path("/proc/self/maps").read_text().splitlines()
    except OSError:
        return []
    folders = {os.path.dirname(line.split(maxsplit=5)[5]) for line in lines if line.endswith("/libc.so.6")}
    return [path for folder in sorted(folders) for name in _LIBRARIES if os.path.exists(path := f"{folder}/{name}")]
