"""Random programs: NumPy, the interpreter and compiled code agree, under whatever loop kinds are legal."""

from __future__ import annotations

import contextlib
import random
from dataclasses import replace

import numpy as np
import pytest
from codegen.programs import Program, program
from tiers import first

from workbench.codegen.backend import build_func
from workbench.errors import ScheduleError
from workbench.ir.interpreter import interp
from workbench.ir.numpy_reference.evaluate import evaluate
from workbench.ir.text.parser import parse
from workbench.ir.text.printer import to_text
from workbench.ir.verify import verify
from workbench.runtime.kernel import Kernel
from workbench.runtime.measuring import operands
from workbench.schedule import Schedule
from workbench.target import Target

TARGET = Target.host(threads=2)


def agree(what: str, got: dict[str, np.ndarray], want: dict[str, np.ndarray], made: Program) -> None:
    for name, err in made.err.items():
        a, b = got[name].astype(np.float64), want[name].astype(np.float64)
        assert got[name].dtype == want[name].dtype, (what, name)
        near = np.abs(a - b) <= err * 2
        assert near.all(), f"{what}: {name} differs in {(~near).sum()} of {near.size}\n{to_text(made.func)}"


def compiled(s: Schedule, made: Program) -> dict[str, np.ndarray]:
    kernel = Kernel(s.func, build_func(s.func, TARGET, poison=True), TARGET, poison=True)
    got = kernel(**made.inputs)
    outputs = got if isinstance(got, tuple) else (got,)
    return {b.name: y for b, y in zip(s.func.outputs, outputs, strict=True)}


def marked(made: Program, rng: random.Random) -> Schedule:
    """Reorder and mark loops as far as that is legal."""
    s = Schedule(made.func, TARGET)
    for b in s.blocks:
        loops = [lp.name for lp in s.func.block(b.name)[1]]
        if len(loops) > 1 and rng.random() < 0.6:
            _try(s, "reorder", *rng.sample(loops, len(loops)))
        loops = [lp.name for lp in s.func.block(b.name)[1]]
        if rng.random() < 0.5:
            _try(s, "parallel", *loops[: rng.randint(1, len(loops))])
        if rng.random() < 0.7:
            _try(s, "vectorize", loops[-1])
        left = 64
        for name in reversed(loops):
            lp, _ = s.func.loop(name)
            if lp.kind == "serial" and lp.extent <= left and rng.random() < 0.5:
                _try(s, "unroll", name)
                left //= lp.extent
    return s


def _try(s: Schedule, name: str, *args: str) -> None:
    with contextlib.suppress(ScheduleError):
        getattr(s, name)(*args)


def check(seed: int) -> None:
    made = program(seed)
    func = made.func
    verify(func)
    assert parse(to_text(func)) == func
    want = evaluate(func, made.inputs)
    assert all(np.isfinite(y).all() for y in want.values())
    agree("the interpreter", interp.run(func, made.inputs), want, made)
    agree("compiled", compiled(Schedule(func, TARGET), made), want, made)
    s = marked(made, random.Random(seed))
    verify(s.func)
    agree("marked", compiled(s, made), want, made)
    task = operands.prepare(func, seed % 5)  # extremes and whole ranges: what the runner would draw
    for name, got in compiled(s, replace(made, inputs=task.inputs)).items():
        assert task.expected[name].worst(got) <= 1, f"{task.expected[name].mismatch(name, got)}\n{to_text(func)}"


@pytest.mark.parametrize("start", first(range(0, 120, 10), 4))
def test_programs(start):
    for seed in [*range(start, start + 10), *([20269] if start == 0 else [])]:  # a guarded read at a fixed point
        check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1000, 5000, 100))
def test_many_programs(start):
    for seed in range(start, start + 100):
        check(seed)
