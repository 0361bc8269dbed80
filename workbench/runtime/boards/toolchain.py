"""The program for boards and kernels for it, compiled and linked for another machine; qemu as such a machine."""

from __future__ import annotations

import functools
import re
import shutil
import struct
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from workbench.architectures import architecture
from workbench.codegen.c.cross_toolchain import find_toolchain
from workbench.codegen.lowering import ObjectCode
from workbench.runtime.boards import agent
from workbench.target import Target

#: What stands in a command for the path of the program, which is then compiled for it.
PROGRAM = "{agent}"
#: Everything of a kernel in one piece, which is loaded where it is linked for.
_SCRIPT = """SECTIONS {{
  . = {base:#x};
  .all : {{ *(.text .text.* .ltext .ltext.*) *(.rodata .rodata.* .lrodata .lrodata.* .srodata .srodata.*)
    *(.data .data.* .ldata .ldata.* .sdata .sdata.*) *(.got .got.plt) *(.bss .bss.* .lbss .sbss .sbss.* COMMON) }}
  /DISCARD/ : {{ *(.comment .note .note.* .eh_frame .riscv.attributes .ARM.attributes .debug_*) }}
}}
"""
_ELF_HEADER, _PROGRAM_HEADER, _LOADED = struct.Struct("<16sHHIQQQIHHHHHH"), struct.Struct("<IIQQQQQQ"), 1


def emulator(target: Target) -> tuple[str, ...] | None:
    """Return the command that runs a board's program under qemu, on a processor that has what the target has.

    None where there is no qemu for it. What is emulated is right, and its times say nothing.
    """
    made = architecture(target.arch)
    found = shutil.which(f"qemu-{made.name}-static") or shutil.which(f"qemu-{made.name}")
    if found is None or not made.emulator:
        return None
    cpu = made.emulator.format(bits=max(128, 8 * target.vector_bytes), z="z" if _version(found) >= (8, 2) else "Z")
    return (found, "-cpu", cpu, PROGRAM)


@functools.cache
def _version(qemu: str) -> tuple[int, ...]:
    said = subprocess.run([qemu, "--version"], capture_output=True, text=True, timeout=30, check=False).stdout
    found = re.search(r"version (\d+)\.(\d+)", said)
    return tuple(map(int, found.groups())) if found else ()


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
