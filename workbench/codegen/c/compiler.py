"""The system's C compiler: from text to object code and assembly."""

from __future__ import annotations

import functools
import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from workbench import host
from workbench.architectures import architecture, architecture_name
from workbench.codegen.constants import CText
from workbench.errors import BuildError
from workbench.target import Target

#: They let the compiler form fused multiply-adds (as our LLVM code does) and forget about errno and floating-point
#: exceptions, which nobody reads.
_FLAGS = ("-std=c99", "-O3", "-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math", "-fPIC",
          "-fno-asynchronous-unwind-tables", "-fno-stack-protector", "-w")  # fmt: skip
#: For GCC alone. Patterns: a copy of accumulators must not become a memcpy, which keeps them in memory (measured: half
#: the speed). cunrolli: a loop of one vector must not be unrolled before it is vectorised (measured: a twentieth).
_GCC_FLAGS = ("-fno-tree-loop-distribute-patterns", "-fdisable-tree-cunrolli")


def find_compiler(variable: str = "CC", *names: str) -> tuple[str, ...] | None:
    """Return the command of the C compiler: ``$CC``, else ``cc``, ``gcc`` or ``clang``; None where there is none.

    `variable` and `names` say that of another compiler.
    """
    try:
        given = shlex.split(os.environ.get(variable, ""))
    except ValueError:  # a quotation mark without its fellow
        return None
    for words in [given] if given else [[name] for name in names or ("cc", "gcc", "clang")]:
        if path := shutil.which(words[0]):
            return (path, *words[1:])
    return None


@functools.lru_cache(maxsize=16)
def _asked(command: tuple[str, ...], *options: str) -> str | None:
    """What a compiler says to some options, given a declaration to compile; None where it refuses them."""
    try:
        done = subprocess.run(
            [*command, *options], input="int x;\n", capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def problem(target: Target) -> BuildError | None:
    """Say why there is no compiler for the target here; None when there is one."""
    command = find_compiler()
    wanted = os.environ.get("CC")
    if command is None:
        what = f"The C compiler {wanted!r} (from $CC) is not there." if wanted else "There is no C compiler here."
        return BuildError("build.compiler", what, (), "install gcc or clang, or use the kind 'llvm', which needs none")
    arch = architecture_name((_asked(command, "-dumpmachine") or "").strip())
    if arch != target.arch:
        text = f"The C compiler {command[0]!r} makes code for {arch or 'nothing that it names'}, not for {target.arch}."
        return BuildError("build.compiler", text, (command[0],), "name a cross compiler in the environment variable CC")
    return None


def flags(target: Target) -> tuple[str, ...]:
    """Return the compiler's options for a target."""
    made, here = architecture(target.arch), host.detect()
    own = target.arch == host.machine() and target.isa == here.isa
    wide = made.vectors_of(target.isa).c_option
    machine = ((made.c_native,) if own else made.c_options(target.isa)) + ((wide,) if wide else ())
    return (*_FLAGS, *machine)


def compile_c(text: str, target: Target, *options: str) -> bytes:
    """Compile to an object file, with further options of the compiler.

    Raises
    ------
    BuildError
        "build.compiler" without a compiler; "build.c" with its messages when it refuses the text.
    """
    with private_folder() as folder:
        out = folder / "kernel.o"
        _run(text, target, folder, "-c", *options, "-o", str(out))
        return out.read_bytes()


def assembly_of(text: str, target: Target, *options: str) -> str:
    """Return the compiler's assembly, with further options of the compiler; raises as `compile_c`."""
    with private_folder() as folder:
        return _run(text, target, folder, "-S", *options, "-o", "-")


@contextmanager
def private_folder() -> Iterator[Path]:
    """A folder for what the compiler writes, its own temporary files included, which a killed compiler leaves."""
    with tempfile.TemporaryDirectory(prefix=f"workbench-c{os.getpid()}-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def remove_folders(pid: int) -> None:
    """Remove what a process that was killed while it compiled could not remove."""
    for folder in Path(tempfile.gettempdir()).glob(f"workbench-c{pid}-*"):
        shutil.rmtree(folder, ignore_errors=True)


def _run(text: str, target: Target, folder: Path, *options: str) -> str:
    if missing := problem(target):
        raise missing
    command = find_compiler()
    assert command is not None
    # What the user has put into $CC comes last and wins.
    compiles = _asked(command, *_GCC_FLAGS, "-x", "c", "-S", "-o", os.devnull, "-") is not None
    own = _GCC_FLAGS if compiles else ()
    words = [command[0], *flags(target), *own, *command[1:], *options, "-x", "c", "-"]
    return run(words, text, folder)


def run(words: Sequence[str], text: str, folder: Path, language: str = "C") -> str:
    """Give a compiler its command and a text; return what it prints. It may write temporary files to the folder."""
    private = os.environ | dict.fromkeys(("TMPDIR", "TMP", "TEMP"), str(folder))
    try:
        # Bytes: names are in the comments, and the user's locale may not have their letters.
        done = subprocess.run(
            words, input=text.encode(), capture_output=True, timeout=CText.TIMEOUT_S, check=False, env=private
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BuildError("build.c", f"The {language} compiler did not finish: {error}", (words[0],)) from error
    if done.returncode:
        said = done.stderr.decode(errors="replace")
        lines = [line for line in said.splitlines() if "disable pass" not in line]  # GCC repeats our own option
        first = "\n".join(lines[:12]) or f"exit code {done.returncode}"
        raise BuildError(
            "build.c",
            f"The {language} compiler refused the generated code:\n{first}",
            (words[0],),
            "this is a defect of the code generator, or the compiler does not know the options; see $CC and $CXX",
        )
    return done.stdout.decode(errors="replace")
