"""Deliberate bugs in CUDA C are noticed where the threads are run: barriers, indices, tails, memory used twice."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest
from codegen.gpu_nests import tiled_matmul

from workbench import workloads
from workbench.codegen.backend import backend_for, generate_func
from workbench.codegen.gpu import simt
from workbench.errors import RunFailure
from workbench.ir.interpreter import interp
from workbench.runtime.kernel import Kernel
from workbench.schedule import Schedule
from workbench.target import Target

SIMT = Target("cpu-simt", threads=1)
pytestmark = pytest.mark.skipif(simt.problem() is not None, reason="there is no C++ compiler")


def _columns(workload: Callable[..., object]) -> Schedule:
    """Threads over the columns of every stage, so that those of a row meet."""
    s = Schedule(workload(8, 32))
    for block in s.blocks:
        path = [lp.name for lp in s.func.block(block.name)[1]]
        adds = s.func.block(block.name)[0].driving("R")
        s.bind(path[0], "threadIdx.y")
        if len(path) > 1 and path[1] not in adds:
            s.bind(path[1], "threadIdx.x")
    return s


def _tail() -> Schedule:
    """Threads and steps that do not divide what there is."""
    s = Schedule(workloads.matmul(13, 21, 9))
    s.split("i", [None, 4], "guard")
    s.split("j", [None, 8], "guard")
    s.reorder("i.0", "j.0", "i.1", "j.1", "k")
    s.bind("i.0", "blockIdx.y").bind("j.0", "blockIdx.x").bind("i.1", "threadIdx.y").bind("j.1", "threadIdx.x")
    return s


BASES: dict[str, Callable[[], Schedule]] = {
    "product": tiled_matmul,
    "product, wide": lambda: tiled_matmul(vector=4),
    "product, other threads": lambda: tiled_matmul(swap=True, scope="auto"),
    "product, more steps": lambda: tiled_matmul(32, 32, 32, threads=4, tile=2, step=4),
    "layer norm": lambda: _columns(workloads.layer_norm),
    "tails": _tail,
}
#: Kind of bug -> what it looks for in a text and what it puts there.
INDEX = re.compile(r"(?<=[=(+*/ ])(\w+)\[(?=[^\]]*\] ?[;*+\-)/])")
LOOP = re.compile(r"; (\w+) < (\d+); ")
GUARD = re.compile(r"< (\d+)( && [^{]*)?\) \{")
SHARED = re.compile(r"__shared__ ALIGNED float (\w+)\[\d+\];.*")


def bugs(text: str) -> Iterator[tuple[str, str]]:
    """Yield (kind, text with one bug)."""
    start = text.index('extern "C" __global__')
    end = text.index("_launch(void **bufs")

    def at(found: re.Match[str], new: str) -> str:
        return text[: found.start()] + new + text[found.end() :]

    for found in re.finditer(r"__syncthreads\(\);\n", text):
        if start < found.start() < end:
            yield "barrier", at(found, "\n")
    for found in INDEX.finditer(text, start, end):
        if "ALIGNED" not in text[text.rindex("\n", 0, found.start()) : found.start()]:
            yield "index", at(found, f"{found[1]}[1 + ")
    for found in LOOP.finditer(text, start, end):
        if int(found[2]) > 1:
            yield "tail", at(found, f"; {found[1]} < {int(found[2]) - 1}; ")
    for found in GUARD.finditer(text, start, end):
        yield "tail", at(found, f"< {int(found[1]) - 1}{found[2] or ''}) {{")
    for one, other in itertools.pairwise(SHARED.finditer(text, start, end)):
        yield "alias", at(other, f"float *{other[1]} = {one[1]};")


def noticed(s: Schedule, text: str) -> bool:
    """Whether running a text ends in an error, or in another result than the interpreter's."""
    code = replace(generate_func(s.func, SIMT), source=text)
    inputs = interp.random_inputs(s.func, seed=3)
    want = interp.run(s.func, inputs)[s.func.outputs[0].name]
    try:
        got = Kernel(s.func, replace(code, object=backend_for(SIMT).compile(text, SIMT)), SIMT, poison=True)(**inputs)
    except RunFailure:
        return True
    return not np.allclose(got, want, rtol=1e-4, atol=1e-4)


def test_texts_without_a_bug_are_right():
    for make in BASES.values():
        s = make()
        assert not noticed(s, generate_func(s.func, SIMT).source)


def test_some_bugs_are_noticed():
    s = _tail()
    found = list(bugs(generate_func(s.func, SIMT).source))
    assert {"index", "tail"} <= {kind for kind, _ in found}
    assert all(noticed(s, text) for _, text in found[::3])


@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_all_bugs_are_noticed():
    missed, tally = [], Counter[str]()
    for name, make in BASES.items():
        s = make()
        for kind, text in bugs(generate_func(s.func, SIMT).source):
            tally[kind] += 1
            if not noticed(s, text):
                missed.append((name, kind, text))
    print(dict(tally))
    assert sum(tally.values()) >= 60
    assert set(tally) == {"barrier", "index", "tail", "alias"}
    assert not missed, f"{[m[:2] for m in missed]}\n{missed[0][2].partition('__global__')[2]}"
