"""CUDA C run by the CPU, thread by thread: what a GPU would do, found wrong where its threads would not agree.

`text` makes of a module a file that a C++ compiler takes: ``simt.h``, which says what CUDA's words mean here, then the
kernels and their launches as they are, then the entry.
"""

from __future__ import annotations

import os
import struct
from importlib.resources import files
from pathlib import Path

from workbench.codegen.c import compiler
from workbench.codegen.gpu.module import GpuModule
from workbench.errors import BuildError, RunFailure

#: Symbol and size of what `fault` reads.
STATUS, STATUS_BYTES = "simt_now", 20
#: Bytes of a thread's stack besides its temporaries.
_STACK = 32 << 10
_FLAGS = ("-std=c++17", "-O1", "-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math", "-fPIC", "-w",
          "-fno-asynchronous-unwind-tables", "-fno-stack-protector", "-fno-exceptions", "-fno-rtti",
          "-fno-threadsafe-statics", "-fno-strict-aliasing", "-fsanitize=bounds",
          "-fsanitize-undefined-trap-on-error")  # fmt: skip


def text(module: GpuModule) -> str:
    """Return the file for a C++ compiler."""
    local = sum(p.nbytes for p in module.placed.values() if p.memory == "local")
    shim = files(__package__).joinpath("simt.h").read_text(encoding="utf-8")
    sizes = module.output_bytes()
    entry = [
        f'extern "C" void {module.symbol}(void **bufs, void *workspace, void *rt) {{',
        f"    static const int64_t nbytes[] = {{{', '.join(map(str, [*sizes, 0]))}}};",
        f"    simt_run({module.symbol}_launch, bufs, (char *)workspace, nbytes, {len(sizes)});",
        "}",
    ]
    lines = module.lines()
    return "\n".join([f"#define SIMT_STACK {_STACK + 4 * local}", shim, *lines, "", *module.host(), "", *entry, ""])


def problem() -> BuildError | None:
    """Say why no thread can be run here; None where that is possible."""
    if os.name != "posix":
        return BuildError("build.compiler", "Threads of a device are run by ucontext, which only POSIX has.", ())
    if _command() is not None:
        return None
    wanted = os.environ.get("CXX")
    what = f"The C++ compiler {wanted!r} (from $CXX) is not there." if wanted else "There is no C++ compiler here."
    return BuildError("build.compiler", what, (), "install g++ or clang++")


def _command() -> tuple[str, ...] | None:
    return compiler.find_compiler("CXX", "c++", "g++", "clang++")


def compile_text(source: str) -> bytes:
    """Compile to an object file.

    Raises
    ------
    BuildError
        "build.compiler" without a C++ compiler; "build.c" with its messages when it refuses the text.
    """
    with compiler.private_folder() as folder:
        out = folder / "kernel.o"
        _run(source, folder, "-c", "-o", str(out))
        return out.read_bytes()


def assembly_of(source: str) -> str:
    """Return the compiler's assembly; raises as `compile_text`."""
    with compiler.private_folder() as folder:
        return _run(source, folder, "-S", "-o", "-")


def _run(source: str, folder: Path, *options: str) -> str:
    command = _command()
    if command is None:
        missing = problem()
        assert missing is not None
        raise missing
    return compiler.run([*command, *_FLAGS, *options, "-x", "c++", "-"], source, folder, "C++")


def fault(status: bytes) -> RunFailure | None:
    """Say what the last call found wrong, from its status.

    Returns
    -------
    RunFailure or None
        "gpu.barrier", "gpu.race", "gpu.index" or "gpu.memory".
    """
    code, line, other, thread, block = struct.unpack_from("=5i", status)
    where = (f"block {block}", f"thread {thread}")
    spots = [f"waits in line {n}" if n > 0 else "has ended" for n in (line, other)]
    found = {
        1: RunFailure("gpu.barrier", f"Thread 0 of block {block} {spots[0]}, thread {thread} {spots[1]}: a barrier is "
                      "for all threads of a block.", where,
                      "no barrier in a loop or branch that only some threads take"),
        2: RunFailure("gpu.race", f"The result (parameter {thread}) depends on the order of the threads.", (),
                      "a barrier is missing between a write and a read by two threads, or two threads write one "
                      "element"),
        3: RunFailure("gpu.index", f"Thread {thread} of block {block} uses an index outside of a temporary.", where),
        4: RunFailure("gpu.memory", "There is not enough memory for the stacks of the threads.", (),
                      "use smaller blocks"),
    }  # fmt: skip
    return found.get(code)
