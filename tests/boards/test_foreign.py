"""Kernels for AArch64 and RISC-V, run under qemu: random schedules, vector functions, instructions for narrow numbers.

Needs ``qemu-user`` and a linker for these machines (``pip install ziglang``).
"""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from boards.running import FOREIGN, BoardKernel, foreign
from codegen import test_vmath
from property import checks, programs, randoms

import workbench as wb
from workbench import workloads
from workbench.codegen.backend import build_func
from workbench.codegen.llvm.vmath import DECLARED
from workbench.intrinsics import registry as intrinsics
from workbench.ir import loops
from workbench.runtime.boards.board import Board
from workbench.runtime.boards.board_runner import BoardRunner
from workbench.schedule import Schedule

pytestmark = pytest.mark.slow
SCHEDULES = {"aarch64": 300, "riscv64": 300, "neon": 60, "rvv128": 100, "rv64gc": 60}


@pytest.fixture(scope="module", params=FOREIGN)
def machine(request):
    target, command = foreign(request.param)
    with Board(target.arch, command) as board:
        yield request.param, target, board


def check(made: randoms.Made, target, board) -> bool:
    """The result on the board is that of the reference, and every element lies within its bound on rounding."""
    func = made.schedule.func
    if any(intrinsics[lp.intrin].missing(target) for lp, _ in loops(func.body) if lp.intrin is not None):
        return False
    kernel = BoardKernel(board, func, build_func(func, target, poison=True))

    def run(inputs):
        made_by = kernel(**{b.name: inputs[b.name] for b in func.params if b.role != "output"})
        outputs = made_by if isinstance(made_by, tuple) else (made_by,)
        return {b.name: y for b, y in zip(func.outputs, outputs, strict=True)}

    inputs, want = checks.expected(made.nest)
    checks.check_close(f"the result on {target}", made, run(inputs), want)
    task = checks._task(made.nest)
    got = run(task.inputs)
    for name, expected in task.expected_of(func.params).items():
        if expected.worst(got[name]) > 1:
            raise checks.Violation("the bound on rounding", made, expected.mismatch(name, got[name]))
    return True


def test_random_schedules(machine):
    name, target, board = machine
    rng, names, done = random.Random(name), itertools.cycle(randoms.WEIGHTS), 0
    while done < SCHEDULES[name]:  # of a primitive that the machine has no instruction for, there is none
        done += check(randoms.random_schedule(rng, next(names), programs=0.5), target, board)


@pytest.mark.parametrize("kind", programs.KINDS)
def test_every_kind_of_computation(machine, kind):
    _, target, board = machine
    rng = random.Random(kind)
    for _ in range(2):
        nest = programs.program(rng, kind, randoms.POINTS if kind in programs.SMALL else 50 * randoms.POINTS)
        made = randoms.Made(nest, Schedule(randoms.NESTS[nest](), target))
        assert check(made, target, board)


@pytest.mark.parametrize("name", sorted(n for n in intrinsics.names if n.startswith("arm.")))
def test_instructions_for_narrow_numbers(name):
    target, command = foreign("aarch64")
    rng = random.Random(name)
    with Board(target.arch, command) as board:
        for _ in range(5):
            made = randoms.random_schedule(rng, "tensorize", intrin=name)
            assert check(made, target, board)


@pytest.fixture
def emitted(machine, monkeypatch):
    """`test_vmath` with this board in the place of this machine."""
    name, target, board = machine
    monkeypatch.setattr(test_vmath, "TARGETS", {"host": target})
    monkeypatch.setattr(test_vmath, "COUNT", {"host": 4000})
    monkeypatch.setattr(test_vmath, "Kernel", lambda func, code, _: BoardKernel(board, func, code))
    return name


@pytest.mark.parametrize(("op", "dtype"), test_vmath.ONE)
def test_stated_errors(emitted, op, dtype):
    if (op, dtype) != ("erf", "float64"):
        run = test_vmath.test_stated_error_of_float32 if dtype == "float32" else test_vmath.test_stated_error_of_float64
        run(op, dtype, "host")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_pairs(emitted, dtype):
    assert {op for op, _ in DECLARED} - {op for op, _ in test_vmath.ONE} == {"pow", "mod"}
    test_vmath.test_stated_error_of_pow(dtype, "host")
    test_vmath.test_remainders_are_exact_for_all_pairs(dtype, "host")
    for op in ("pow", "mod"):
        test_vmath.test_special_pairs(op, dtype, "vectorize", "host")


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("op", sorted({op for op, _ in test_vmath.ONE}))
def test_every_half_precision_number(emitted, op, dtype):
    if dtype == "float16" and emitted in ("rvv128", "rv64gc"):
        pytest.skip("it has no instructions for float16, which is refused")
    test_vmath.test_every_half_precision_number(op, dtype)


@pytest.mark.parametrize("name", ["aarch64", "riscv64"])
def test_tuning_on_an_emulated_board(name, tmp_path):
    target, command = foreign(name)
    func, log = workloads.conv2d_nhwc(8, 8, 16, 16), tmp_path / "x.tunelog.jsonl"
    with BoardRunner(target, command) as runner:
        with wb.tune(func, target=target, runner=runner, trials=24, log=log) as session:
            session.wait(120)
        best = session.best(session.tasks[0])
        measured = wb.read_log(log)
        assert set(measured["status"]) == {"ok"}, measured[["status", "error"]]
        assert len(measured) == 24
    with Board(target.arch, command) as board:
        rng = np.random.default_rng(0)
        inputs = [rng.normal(size=b.logical_shape()).astype(b.dtype) for b in func.params if b.role != "output"]
        kernel = BoardKernel(board, best.func, build_func(best.func, target))
        np.testing.assert_allclose(kernel(*inputs), Schedule(func).build()(*inputs), rtol=1e-4, atol=1e-4)
