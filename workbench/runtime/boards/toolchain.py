"""A C compiler and a linker for another machine: gcc for it, zig (``pip install ziglang``) or clang."""

from __future__ import annotations

import functools
import importlib.util
import os
import shlex
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from workbench.architectures import architecture
from workbench.codegen.c.compiler import find_compiler
from workbench.codegen.lowering import ObjectCode
from workbench.errors import BuildError
from workbench.host import machine
from workbench.runtime.boards import agent
from workbench.target import Target

#: What stands in a command for the path of the program, which is then compiled for it.
PROGRAM = "{agent}"
#: Environment variable with the command of a cross compiler, which is asked first.
VARIABLE = "WORKBENCH_CROSS_CC"
#: Seconds for a compiler or linker. Chosen, not measured; zig builds a C library at its first use.
_TIMEOUT_S = 300
_FREESTANDING = ("-O1", "-ffreestanding", "-fno-stack-protector", "-fno-pie", "-fno-asynchronous-unwind-tables", "-w")
#: Everything of a kernel in one piece, which is loaded where it is linked for.
_SCRIPT = """SECTIONS {{
  . = {base:#x};
  .all : {{ *(.text .text.* .ltext .ltext.*) *(.rodata .rodata.* .lrodata .lrodata.* .srodata .srodata.*)
    *(.data .data.* .ldata .ldata.* .sdata .sdata.*) *(.got .got.plt) *(.bss .bss.* .lbss .sbss .sbss.* COMMON) }}
  /DISCARD/ : {{ *(.comment .note .note.* .eh_frame .riscv.attributes .ARM.attributes .debug_*) }}
}}
"""
_ELF_HEADER, _PROGRAM_HEADER, _LOADED = struct.Struct("<16sHHIQQQIHHHHHH"), struct.Struct("<IIQQQQQQ"), 1


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


def emulator(target: Target) -> tuple[str, ...] | None:
    """Return the command that runs a board's program under qemu, on a processor that has what the target has.

    None where there is no qemu for it. What is emulated is right, and its times say nothing.
    """
    made = architecture(target.arch)
    found = shutil.which(f"qemu-{made.name}-static") or shutil.which(f"qemu-{made.name}")
    if found is None or not made.emulator:
        return None
    return (found, "-cpu", made.emulator.format(bits=max(128, 8 * target.vector_bytes)), PROGRAM)


@dataclass(frozen=True, slots=True)
class Image:
    """A kernel that is linked for an address: what lies there, how much room it takes, and where it begins."""

    base: int
    size: int
    data: bytes
    entry: int


def write_agent(arch: str, path: Path) -> Path:
    """Compile and link the program that runs on a board of this architecture."""
    tools = find_toolchain(arch)
    with tempfile.TemporaryDirectory(prefix="workbench-agent-") as folder:
        made, program = Path(folder) / "agent.o", Path(folder) / "agent"
        tools.compile(agent.text(), made)
        tools.link([made], program, "-e", "_start", "--no-relax", "-z", "noexecstack")
        path.write_bytes(program.read_bytes())
    path.chmod(0o755)
    return path


@functools.cache
def _support(arch: str) -> bytes:
    with tempfile.TemporaryDirectory(prefix="workbench-agent-") as folder:
        made = Path(folder) / "support.o"
        find_toolchain(arch).compile(agent.SUPPORT, made)
        return made.read_bytes()


def link_image(code: ObjectCode, arch: str, base: int) -> Image:
    """Link a kernel for an address.

    Raises
    ------
    BuildError
        "build.cross" without a linker for the architecture, "build.link" when it refuses.
    """
    with tempfile.TemporaryDirectory(prefix="workbench-image-") as name:
        folder = Path(name)
        files = {"kernel.o": code.object, "support.o": _support(arch), "script": _SCRIPT.format(base=base).encode()}
        for file, data in files.items():
            (folder / file).write_bytes(data)
        out, objects = folder / "image", [folder / "kernel.o", folder / "support.o"]
        options = ("-e", code.symbol, "-T", str(folder / "script"), "--no-relax", "-z", "noexecstack", "--gc-sections")
        find_toolchain(arch).link(objects, out, *options)
        return _flat(out.read_bytes(), base)


def _flat(elf: bytes, base: int) -> Image:
    head = _ELF_HEADER.unpack_from(elf)
    entry, table, each, count = head[4], head[5], head[9], head[10]
    data, size = bytearray(), 0
    for k in range(count):
        kind, _, offset, at, _, stored, room, _ = _PROGRAM_HEADER.unpack_from(elf, table + k * each)
        if kind == _LOADED and room:
            end = at - base + stored
            data.extend(bytes(max(0, end - len(data))))
            data[at - base : end] = elf[offset : offset + stored]
            size = max(size, at - base + room)
    return Image(base, size, bytes(data), entry)
