"""Misses of simulated caches against cachegrind, which watches the kernel itself run."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

import workbench as wb
from workbench import te
from workbench.analysis import Cache, cache_view
from workbench.analysis.cache.accesses import program
from workbench.codegen.backend import build_func

pytestmark = [
    pytest.mark.checks,
    pytest.mark.skipif(not (shutil.which("valgrind") and shutil.which("cc")), reason="needs valgrind and cc"),
]

#: Vectors of 32 bytes: valgrind knows no wider ones.
TARGET = wb.Target("llvm -mcpu=haswell", threads=1)
#: Cachegrind has two levels, and both are least recently used. Smaller than real ones, so that small nests leave them.
LEVELS = (Cache("L1", 8 << 10, 8), Cache("L2", 64 << 10, 8))

MAIN = """
#include <string.h>
static char memory[{nbytes}] __attribute__((aligned(4096)));
void kernel(void **buffers, void *workspace, void *runtime);
int main(int count, char **arguments) {{
  void *buffers[] = {{ {places} }};
  if (count > 1) kernel(buffers, memory + {workspace}, 0);
  return 0;
}}
"""


def product(m, n, k, order=None, transposed=False):
    a, b = te.placeholder((m, k), "float32", "A"), te.placeholder((n, k) if transposed else (k, n), "float32", "B")
    r = te.reduce_axis(k, "k")
    c = te.compute((m, n), lambda i, j: te.sum(a[i, r] * (b[j, r] if transposed else b[r, j]), [r]), "C")
    s = wb.Schedule(te.func([c]), TARGET)
    if order:
        s.reorder(order)
    return s


def tiled():
    s = product(128, 128, 128)
    i0, i1 = s.split("i", [None, 4])
    j0, j1 = s.split("j", [None, 16])
    k0, k1 = s.split("k", [None, 32])
    s.reorder([k0, j0, i0, k1, i1, j1])
    s.unroll(i1)
    s.vectorize(j1)
    return s


def rows(down):
    a, r = te.placeholder((384, 512), "float32", "A"), te.reduce_axis(384 if down else 512, "k")
    out = te.compute((512 if down else 384,), lambda i: te.sum(a[r, i] if down else a[i, r], [r]), "S")
    return wb.Schedule(te.func([out]), TARGET)


def transposition():
    a = te.placeholder((256, 256), "float32", "A")
    return wb.Schedule(te.func([te.compute((256, 256), lambda i, j: a[j, i] * 2.0, "B")]), TARGET)


def stencil():
    a = te.placeholder((258, 258), "float32", "A")
    across = te.compute((258, 256), lambda y, x: a[y, x] + a[y, x + 1] + a[y, x + 2], "H")
    down = te.compute((256, 256), lambda y, x: across[y, x] + across[y + 1, x] + across[y + 2, x], "V")
    return wb.Schedule(te.func([down]), TARGET)


def depthwise():
    s = wb.Schedule(wb.workloads.depthwise_conv2d_nhwc(28, 28, 64), TARGET)
    s.reorder(["kh", "kw", "c"])
    s.vectorize("c")
    return s


NESTS = {
    "matmul": lambda: product(96, 96, 96),
    "matmul, ikj": lambda: product(96, 96, 96, ["i", "k", "j"]),
    "matmul, tiled": tiled,
    "matmul, second operand transposed": lambda: product(96, 96, 96, transposed=True),
    "stencil of two stages": stencil,
    "convolution": lambda: wb.Schedule(wb.workloads.conv2d_nhwc(14, 14, 16, 32), TARGET),
    "sums of rows": lambda: rows(False),
    "sums of columns": lambda: rows(True),
    "transposition of a power of two": transposition,
    "depthwise convolution": depthwise,
}


def cachegrind(s, folder):
    """Accesses, and misses of data in both levels: those of the kernel alone."""
    bases, nbytes = program(s.func, TARGET, "generated", 64, 64).bases, 64
    code = build_func(s.func, TARGET)
    reach = max(bases[b.name] + b.nbytes for b in s.func.buffers) + nbytes
    (folder / "kernel.o").write_bytes(code.object)
    places = ", ".join(f"memory + {bases[p.name]}" for p in code.params)
    temporary = [bases[b.name] for b in s.func.buffers if b.role == "temp"]
    text = MAIN.format(nbytes=reach + code.workspace_bytes(1), places=places, workspace=min(temporary, default=reach))
    (folder / "main.c").write_text(text.replace("kernel(", f"{code.symbol}("))
    command = ["cc", "-O1", "-no-pie", "main.c", "kernel.o", "-o", "main", "-lm"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    with_kernel, without = (_run(folder, arguments) for arguments in (["kernel"], []))
    return [a - b for a, b in zip(with_kernel, without, strict=True)]


def _run(folder, arguments):
    sizes = [f"{c.size},{c.each},{c.line}" for c in LEVELS]
    options = ["--tool=cachegrind", "--cache-sim=yes", "--cachegrind-out-file=/dev/null", "--I1=65536,8,64"]
    command = ["valgrind", *options, f"--D1={sizes[0]}", f"--LL={sizes[1]}", "./main", *arguments]
    said = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stderr
    found = [re.search(rf"{name}: *([\d,]+)", said) for name in ("D +refs", "D1 +misses", "LLd +misses")]
    return [int(m[1].replace(",", "")) for m in found]


@pytest.mark.parametrize("name", NESTS)
def test_accesses_and_misses_are_those_of_the_running_kernel(name, tmp_path):
    s = NESTS[name]()
    view = cache_view(s, levels=LEVELS, limit=10**9)
    got = [view.misses("L1"), view.misses("L2")]
    accesses, *expected = cachegrind(s, tmp_path)
    if name != "depthwise convolution":  # valgrind reads the memory operand of a multiply-add lane by lane
        assert view.total() == pytest.approx(accesses, rel=0.01, abs=100)
    assert got == pytest.approx(expected, rel=0.01, abs=100)  # the call itself touches some dozens of lines
