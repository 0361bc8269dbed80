"""Boards: the program that runs there, as a process of this machine, and the runner that measures through its pipe."""

from __future__ import annotations

import dataclasses
import shlex

import numpy as np
import pytest
from boards.running import BoardKernel

import workbench as wb
from workbench import te, workloads
from workbench.codegen.backend import build_func
from workbench.codegen.c import cross_toolchain
from workbench.errors import BuildError, RunError, UsageError
from workbench.ir.flops import count_flops
from workbench.runtime.boards import toolchain
from workbench.runtime.boards.board import Board
from workbench.runtime.boards.board_runner import BoardRunner
from workbench.runtime.results.measure_options import MeasureOptions
from workbench.runtime.workers.batch import MeasureInput
from workbench.schedule import Schedule
from workbench.target import Target
from workbench.te.value import binary

HERE = Target.host(threads=1)
pytestmark = pytest.mark.skipif(
    cross_toolchain._found(HERE.arch, "", "") is None or HERE.arch not in ("x86_64", "aarch64"),
    reason="no compiler makes the program for boards here",
)


@pytest.fixture(scope="module")
def board():
    with Board(HERE.arch, ["{agent}"]) as one:
        yield one


def item(func, scheduled=None) -> MeasureInput:
    return MeasureInput(repr(func), func, (scheduled or func), flops=count_flops(func))


def test_kernels_run_one_after_the_other(board):
    for name in ("matmul_bias_relu", "softmax", "conv"):
        func = workloads.ALL[name]()
        code = build_func(func, HERE)
        rng = np.random.default_rng(0)
        inputs = [rng.normal(size=b.shape).astype(b.dtype) for b in func.params if b.role != "output"]
        want = Schedule(func).build()(*inputs)
        np.testing.assert_array_equal(BoardKernel(board, func, code)(*inputs), want)


def test_what_differs_between_the_sides_of_a_remainder(board):
    """The program has no C library; its remainders are those of one."""
    x, y = te.placeholder((400,), name="X"), te.placeholder((400,), name="Y")
    func = te.func(te.compute((400,), lambda i: binary("mod", x[i], y[i]), "Z"))
    rng = np.random.default_rng(1)
    pairs = rng.integers(0, 2**32, (2, 400), dtype=np.uint64).astype(np.uint32).view(np.float32)
    pairs[:, :8] = [[0, -0.0, 1, np.inf, np.nan, 5, -7, 1e-45], [1, 1, 0, 2, 2, np.inf, np.inf, 3e38]]
    with np.errstate(all="ignore"):
        want = np.mod(*pairs)
    np.testing.assert_array_equal(BoardKernel(board, func, build_func(func, HERE))(*pairs), want)


def test_measurements_are_checked_and_say_where():
    func = workloads.matmul(48, 32, 40)
    s = Schedule(func, HERE)
    s.reorder("k", "j")
    s.vectorize("j")
    with BoardRunner(HERE, "{agent}") as runner:
        done = dict(runner.measure_many([item(func, s.func), item(func)]))
        assert [done[k].status for k in (0, 1)] == ["ok", "ok"], done
        assert done[0].costs_ms
        assert done[0].clean
        assert (done[0].clock, done[0].host) == ("wall", "{agent}")
        cold = runner.measure(item(func), MeasureOptions(flush_cache=True, repeat=3))
        assert (cold.status, cold.repeats, cold.number) == ("ok", 3, 1)
        duel = runner.contest([item(func), item(func, s.func)])
        assert [m.status for m in duel.measurements] == ["ok", "ok"]
        assert {m.host for m in duel.measurements} == {"{agent}"}


def test_a_wrong_kernel_a_crash_and_a_hang_cost_one_candidate(tmp_path):
    """The command plays a board whose program dies at its second start's first kernel, and then one that hangs."""
    func = workloads.matmul(16, 16, 16)
    a, b, k = te.placeholder((16, 16), name="A"), te.placeholder((16, 16), name="B"), te.reduce_axis(16, "k")
    other = te.func(te.compute((16, 16), lambda i, j: te.sum(a[i, k] * b[j, k], axis=k), name="C"))
    toolchain.write_agent(HERE.arch, tmp_path / "agent")
    count = tmp_path / "starts"
    script = f"""
    echo x >> {count}
    case $(wc -l < {count}) in
      3) head -c 200 | {tmp_path}/agent | head -c 8; kill -SEGV $$ ;;
      4) head -c 200 | {tmp_path}/agent | head -c 8; sleep 60 ;;
      *) exec {tmp_path}/agent ;;
    esac"""
    (tmp_path / "board.sh").write_text(script)
    with BoardRunner(HERE, f"sh {shlex.quote(str(tmp_path / 'board.sh'))}") as runner:
        wrong = runner.measure(dataclasses.replace(item(func, other), task_func=func))
        assert wrong.status == "wrong_answer", wrong.error  # the second start; its memory is given up
        crashed = runner.measure(item(func))
        assert crashed.status == "run_error", crashed
        assert "SIGSEGV" in crashed.error
        hung = runner.measure(item(func), MeasureOptions(timeout_s=1.0))
        assert hung.status == "timeout", hung
        assert runner.measure(item(func)).ok


def test_tuning_on_a_board(tmp_path):
    log = tmp_path / "x.tunelog.jsonl"
    with BoardRunner(HERE, ["{agent}"]) as runner:
        with wb.tune(workloads.matmul(32, 32, 32), target=HERE, runner=runner, trials=6, log=log) as session:
            session.wait(60)
        assert session.table()["trials"].sum() == 6
    assert set(wb.read_log(log)["status"]) == {"ok"}


def test_what_a_caller_can_get_wrong(monkeypatch, tmp_path):
    with pytest.raises(UsageError) as e:
        BoardRunner(Target.host(threads=2), "{agent}")
    assert (e.value.code, "-threads=1" in e.value.hint) == ("usage.board", True)
    with pytest.raises(UsageError) as e:
        BoardRunner(HERE, "")
    assert e.value.code == "usage.board"
    for command in ("no-such-command-here", "echo hello, world", "false"):
        with pytest.raises(RunError) as e:
            BoardRunner(HERE, command)
        assert e.value.code == "run.board"
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(cross_toolchain.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(BuildError) as e:
        BoardRunner("llvm -mtriple=riscv64-linux-gnu", "{agent}")
    assert (e.value.code, "ziglang" in e.value.hint) == ("build.cross", True)
