"""NVRTC and nvdisasm: CUDA C to machine code of NVIDIA's GPUs, and that as a text. Neither needs a GPU or a driver."""

from __future__ import annotations

import ctypes
import functools
import glob
import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from workbench.codegen.c.compiler import private_folder
from workbench.codegen.constants import CText
from workbench.errors import BuildError

#: What is said of each kernel, and where.
_FACTS = {
    "registers": re.compile(r"Used (\d+) registers"),
    "spill_stores": re.compile(r"(\d+) bytes spill stores"),
    "spill_loads": re.compile(r"(\d+) bytes spill loads"),
    "stack": re.compile(r"(\d+) bytes stack frame"),
}
_ENTRY = re.compile(r"Compiling entry function '(\w+)'|Function properties for (\w+)")


@dataclass(frozen=True, slots=True)
class Compiled:
    """What NVRTC made of a text.

    Attributes
    ----------
    cubin : bytes
        Machine code.
    ptx : str
        The same for a machine with registers without end.
    facts : dict
        Kernel -> ``registers``, and bytes of ``spill_stores``, ``spill_loads`` and ``stack``, of a thread.
    """

    cubin: bytes
    ptx: str
    facts: dict[str, dict[str, int]]


def _folders() -> Iterator[Path]:
    """Folders of NVIDIA's wheels, and of a toolkit."""
    found = importlib.util.find_spec("nvidia")
    for place in (found.submodule_search_locations or ()) if found else ():
        yield from sorted(Path(place).iterdir(), reverse=True)
    for name in ("CUDA_HOME", "CUDA_PATH"):
        if os.environ.get(name):
            yield Path(os.environ[name])


@functools.cache
def _library() -> ctypes.CDLL | None:
    names = [p for f in _folders() for pattern in ("lib/libnvrtc.so.*", "lib64/libnvrtc.so.*", "bin/nvrtc64_*_0.dll")
             for p in sorted(glob.glob(str(f / pattern)), reverse=True)]  # fmt: skip
    for name in (*names, "libnvrtc.so.12", "libnvrtc.so.13", "libnvrtc.so"):
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


def problem() -> BuildError | None:
    """Say why CUDA C cannot be compiled here; None where it can."""
    if _library() is not None:
        return None
    hint = "pip install nvidia-cuda-nvrtc-cu12"
    return BuildError("build.compiler", "NVRTC, which compiles CUDA C, is not installed.", (), hint)


def compile_text(text: str, arch: str) -> Compiled:
    """Compile for an architecture such as ``"sm_90"``.

    Raises
    ------
    BuildError
        "build.compiler" without NVRTC; "build.cuda" with its messages when it refuses the text.
    """
    lib = _library()
    if lib is None:
        missing = problem()
        assert missing is not None
        raise missing
    program = ctypes.c_void_p()
    if lib.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernel.cu", 0, None, None):
        raise BuildError("build.cuda", "NVRTC cannot make a program.", ())
    try:
        options = (f"--gpu-architecture={arch}", "-lineinfo", "--ptxas-options=-v", "-diag-suppress=177")
        words = (ctypes.c_char_p * len(options))(*(o.encode() for o in options))
        status = lib.nvrtcCompileProgram(program, len(options), words)
        said = _got(lib, program, "ProgramLog").decode(errors="replace")
        if status:
            first = "\n".join([line for line in said.splitlines() if line.strip()][:12])
            hint = "this is a defect of the code generator, or NVRTC does not know the architecture"
            raise BuildError("build.cuda", f"NVRTC refused the generated code for {arch}:\n{first}", (arch,), hint)
        return Compiled(_got(lib, program, "CUBIN"), _got(lib, program, "PTX").decode(), _facts(said))
    finally:
        lib.nvrtcDestroyProgram(ctypes.byref(program))


def _got(lib: ctypes.CDLL, program: ctypes.c_void_p, what: str) -> bytes:
    size = ctypes.c_size_t()
    if getattr(lib, f"nvrtcGet{what}Size")(program, ctypes.byref(size)) or not size.value:
        return b""
    data = ctypes.create_string_buffer(size.value)
    getattr(lib, f"nvrtcGet{what}")(program, data)
    return data.raw if what == "CUBIN" else data.value


def _facts(said: str) -> dict[str, dict[str, int]]:
    out: dict[str, dict[str, int]] = {}
    kernel = ""
    for line in said.splitlines():
        if entry := _ENTRY.search(line):
            kernel = entry[1] or entry[2]
        for name, pattern in _FACTS.items() if kernel else ():
            if found := pattern.search(line):
                out.setdefault(kernel, dict.fromkeys(_FACTS, 0))[name] = int(found[1])
    return out


# ---- machine code as a text ------------------------------------------------------------------------------------------


@functools.cache
def _disassembler() -> str | None:
    for folder in _folders():
        for path in (folder / "bin" / "nvdisasm", folder / "bin" / "nvdisasm.exe"):
            if path.exists():
                return str(path)
    return shutil.which("nvdisasm")


def disassembly(cubin: bytes) -> str:
    """Return machine code as nvdisasm writes it, with the lines of the text it was made of.

    Raises
    ------
    BuildError
        "build.compiler" without nvdisasm, "build.cuda" where it fails.
    """
    tool = _disassembler()
    if tool is None:
        hint = "pip install nvidia-cuda-nvdisasm"
        raise BuildError("build.compiler", "nvdisasm, which lists machine code, is not installed.", (), hint)
    with private_folder() as folder:
        path = folder / "kernel.cubin"
        path.write_bytes(cubin)
        try:
            words = [tool, "-c", "-g", str(path)]
            done = subprocess.run(words, capture_output=True, timeout=CText.TIMEOUT_S, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise BuildError("build.cuda", f"nvdisasm did not finish: {error}", (tool,)) from error
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()[:400]
        raise BuildError("build.cuda", f"nvdisasm cannot read the code: {said}", (tool,))
    return done.stdout.decode(errors="replace")


_PLACE = re.compile(r'\s*//## File ".*", line (\d+)')
_SECTION = re.compile(r"\s*\.section\s+\.text\.(\w+)")
_CODE = re.compile(r"\s+/\*[0-9a-f]{4,}\*/\s+(.*?) ;")


def sass(text: str) -> Iterator[tuple[str, str, int]]:
    """Yield (kernel, line, number of the line of CUDA C behind it) for the labels and instructions of a disassembly."""
    kernel, place = "", 0
    for line in text.splitlines():
        if section := _SECTION.match(line):
            kernel, place = section[1], 0
            yield kernel, f"{kernel}:", 0
        elif re.match(r"\s*\.section\s", line):
            kernel = ""
        elif found := _PLACE.match(line):
            place = int(found[1])
        elif kernel and (code := _CODE.match(line)):
            yield kernel, f"    {code[1]}", place
        elif kernel and line.startswith(".L_"):
            yield kernel, line, place
