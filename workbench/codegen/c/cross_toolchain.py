"""A C compiler and a linker for another machine: gcc for it, zig (``pip install ziglang``) or clang."""

from __future__ import annotations

import functools
import importlib.util
import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from workbench.codegen.c.compiler import find_compiler
from workbench.errors import BuildError
from workbench.host import machine

#: Environment variable with the command of a cross compiler, which is asked first.
VARIABLE = "WORKBENCH_CROSS_CC"
#: Seconds for a compiler or linker. Chosen, not measured; zig builds a C library at its first use.
_TIMEOUT_S = 300
_FREESTANDING = ("-O1", "-ffreestanding", "-fno-stack-protector", "-fno-pie", "-fno-asynchronous-unwind-tables", "-w")


@dataclass(frozen=True, slots=True)
class Toolchain:
    """Commands for one architecture.

    Attributes
    ----------
    compiler : tuple of str
        Compiles C, and links programs with a C library.
    linker : tuple of str
        Links object files; the compiler's own words come before its options where it is a compiler (`driver`).
    driver : bool
        Whether the linker is a compiler.
    """

    compiler: tuple[str, ...]
    linker: tuple[str, ...]
    driver: bool = True

    def compile(self, text: str, out: Path, *options: str) -> None:
        """Compile C to an object file."""
        source = out.with_suffix(".c")
        source.write_text(text, encoding="utf-8")
        _call([*self.compiler, *_FREESTANDING, *options, "-c", str(source), "-o", str(out)])

    def link(self, objects: Sequence[Path], out: Path, *options: str) -> None:
        """Link object files to a program without a C library."""
        if self.driver:
            words = [w for option in options for w in ("-Xlinker", option)]
            _call([*self.linker, "-nostdlib", "-static", "-no-pie", *map(str, objects), *words, "-o", str(out)])
        else:
            _call([*self.linker, "-static", *map(str, objects), *options, "-o", str(out)])


def _call(words: Sequence[str]) -> None:
    try:
        done = subprocess.run(words, capture_output=True, timeout=_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BuildError("build.link", f"{words[0]} did not finish: {error}", (words[0],)) from error
    if done.returncode:
        said = "\n".join(done.stderr.decode(errors="replace").splitlines()[:12]) or f"exit code {done.returncode}"
        raise BuildError("build.link", f"{words[0]} refused what it was given:\n{said}", (words[0],))


def find_toolchain(arch: str) -> Toolchain:
    """Return what compiles and links for an architecture (in LLVM's spelling).

    Raises
    ------
    BuildError
        "build.cross" where nothing does.
    """
    found = _found(arch, os.environ.get(VARIABLE, ""), os.environ.get("PATH", ""))
    if found is None:
        raise BuildError(
            "build.cross",
            f"There is no compiler and linker for {arch} here.",
            (arch,),
            f"pip install ziglang, or install gcc for {arch}, or name it in the environment variable {VARIABLE}",
        )
    return found


@functools.cache
def _found(arch: str, given: str, _path: str) -> Toolchain | None:
    named = shlex.split(given)
    native = find_compiler() if arch == machine() else None
    cross = shutil.which(f"{arch}-linux-gnu-gcc")
    for command in (named, native, [cross] if cross else None):
        if command:
            return Toolchain(tuple(command), tuple(command))
    spec = importlib.util.find_spec("ziglang")
    if spec is not None and spec.origin is not None:
        zig = str(Path(spec.origin).with_name("zig"))
        return Toolchain((zig, "cc", "-target", f"{arch}-linux-musl", "-fno-sanitize=all"), (zig, "ld.lld"), False)
    clang, lld = shutil.which("clang"), shutil.which("ld.lld")
    return Toolchain((clang, f"--target={arch}-linux-gnu"), (lld,), False) if clang and lld else None
