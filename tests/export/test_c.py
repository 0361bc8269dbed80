"""The header, and a C program that uses it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from export.networks import feeds, hand_made
from graph.nets import random_feeds, residual_net

import workbench as wb
from workbench.codegen.c.compiler import find_compiler
from workbench.runtime.execution.executable import Executable
from workbench.runtime.export.write_library import export_library
from workbench.runtime.networks.execution_plan import ArraySpec

STRICT = ["-std=c11", "-D_POSIX_C_SOURCE=200809L", "-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror", "-O1"]
PROGRAM = Path(__file__).with_name("program.c")


@pytest.fixture(scope="module", autouse=True)
def compiler():
    command = find_compiler()
    if command is None:
        pytest.skip("no C compiler")
    return list(command)


def build(compiler, made, out):
    options = [f"-DNET={made.prefix}", f"-DUPPER={made.prefix.upper()}", f'-DHEADER="{made.header}"']
    subprocess.run(
        [*compiler, *STRICT, *options, str(PROGRAM), str(made.library), "-lpthread", "-o", str(out)], check=True
    )


def run(program, folder, inputs, threads=1):
    (folder / "in").write_bytes(b"".join(array.tobytes() for array in inputs))
    done = subprocess.run(
        [program, str(threads), folder / "in", folder / "out"],
        capture_output=True, text=True, timeout=120, check=False, env={"LD_LIBRARY_PATH": str(folder)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return (folder / "out").read_bytes(), done.stdout


@pytest.mark.parametrize("threads", [1, 2])
def test_program(compiler, tmp_path, threads):
    executable = Executable(hand_made())
    made = executable.export(tmp_path / "libnet.so", name="Adder")
    build(compiler, made, tmp_path / "program")
    got, said = run(tmp_path / "program", tmp_path, feeds().values(), threads)
    assert got == b"".join(array.tobytes() for array in executable.run(feeds()).values())
    assert said.startswith("network, schedule-workbench ")


def test_program_with_a_network_of_ours(compiler, tmp_path):
    graph = residual_net()
    executable = wb.compile(graph)
    made = executable.export(tmp_path / "libnet.so")
    build(compiler, made, tmp_path / "program")
    given = random_feeds(graph, 5)
    got, _ = run(tmp_path / "program", tmp_path, [given[s.name] for s in executable.inputs], 2)
    assert got == b"".join(array.tobytes() for array in executable.run(given).values())


def test_two_networks_in_one_program(compiler, tmp_path):
    source = """
    #include <stdio.h>
    #include "libone.h"
    #include "libtwo.h"
    static float x[256], y[6][256];
    int main(void) {
        static const long long n[3] = {1, 2, 3};
        const void *in[] = {x, n};
        void *out[] = {y[0], y[1], y[2], y[3], y[4], y[5]};
        one_context *a;
        two_context *b;
        if (one_create(2, &a) || two_create(0, &b)) return 1;
        if (one_run(a, in, out)) return 2;
        printf("%g ", (double)y[0][255]);
        if (two_run(b, in, out)) return 3;
        printf("%g %d\\n", (double)y[0][255], two_threads(b));
        two_destroy(b);
        one_destroy(a);
        return 0;
    }"""
    (tmp_path / "main.c").write_text(source)
    for name, value in (("one", 1.0), ("two", 40.0)):
        export_library(hand_made(value=value), tmp_path / f"lib{name}.so", name=name)
    words = [*STRICT, "main.c", "-L.", "-lone", "-ltwo", "-Wl,-rpath,$ORIGIN", "-o", "main"]
    subprocess.run([*compiler, *words], cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "3 42 1\n"


@pytest.mark.parametrize("language", ["c", "c++"])
def test_header_with_hostile_names(compiler, tmp_path, language):
    """Names come from models; nothing in them ends a comment or begins another one."""
    if language == "c++" and shutil.which("g++") is None:
        pytest.skip("no C++ compiler")
    name = "*/ #error /* // \\\n ??/ \u202e \u2066 \x00 [P] %s"
    plan = hand_made(name=name, inputs=(ArraySpec(name, (16, 16)), ArraySpec("\x00" * 3, (3,), "int64")))
    made = export_library(plan, tmp_path / "net.so", name="odd")
    command = compiler if language == "c" else ["g++"]
    strict = STRICT if language == "c" else ["-Wall", "-Wextra", "-pedantic", "-Werror"]
    (tmp_path / "main.c").write_text(
        '#include "net.h"\n#include "net.h"\nint main(void) { return odd_abi() != ODD_ABI; }\n'
    )
    subprocess.run([*command, *strict, "-x", language, "main.c", "-x", "none", "./net.so", "-o", "main"],
                   cwd=tmp_path, check=True)  # fmt: skip
    assert subprocess.run([tmp_path / "main"], env={"LD_LIBRARY_PATH": str(tmp_path)}, check=False).returncode == 0
    loaded = wb.load_exported(made.library)
    assert loaded.inputs[0].name == name.replace("\0", "?")
