"""Measuring on a board: candidates are compiled and checked here, and run there."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from workbench.arguments import is_a
from workbench.codegen.backend import backend_for
from workbench.codegen.c.cross_toolchain import find_toolchain
from workbench.errors import UsageError
from workbench.runtime.boards.board import Board
from workbench.runtime.results.contest import Contest
from workbench.runtime.results.measure_options import ContestRules, MeasureOptions
from workbench.runtime.results.measurement import Measurement
from workbench.runtime.workers.batch import MeasureInput
from workbench.runtime.workers.local_runner import LocalRunner
from workbench.target import Target


class BoardRunner(LocalRunner):
    """Measures candidates on another machine that a command reaches: ssh, a debugger's bridge, an emulator.

    The machine needs Linux on x86-64, AArch64 or RISC-V (64 bits) and one program, `write_agent`; neither Python nor
    this package. Candidates are compiled here, linked here, sent through the command's standard input, checked here
    against the reference, and timed there by the board's own clock. A kernel that crashes ends the program; it is
    started anew for the next candidate.

    Parameters
    ----------
    target : Target or str
        The board's processor; kernels run on one thread, so ``-threads=1``.
    command : str or sequence of str
        Starts the program there with its standard input and output connected to here: ``"ssh pi ./agent"``. A word
        ``{agent}`` becomes the path of a program that is compiled for the purpose: ``"qemu-aarch64 {agent}"``.
    options : MeasureOptions, optional
        How to measure.
    builders : int, optional
        Number of builder processes.

    Raises
    ------
    UsageError
        "usage.board" for a target with several threads or an empty command.
    RunError
        "run.board" when the command does not lead to the program.
    BuildError
        "build.cross" without a compiler and linker for the board's architecture (``pip install ziglang``).
    TargetError
        "target.backend".

    Examples
    --------
    >>> target = wb.Target("llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72")
    >>> with wb.BoardRunner(target, "ssh pi ./agent") as runner:
    ...     wb.tune(task, target=target, runner=runner, trials=200, log="pi.tunelog.jsonl").wait()
    """

    def __init__(
        self,
        target: Target | str,
        command: str | Sequence[str],
        options: MeasureOptions | None = None,
        builders: int | None = None,
    ) -> None:
        target = Target(target) if isinstance(target, str) else is_a("target", target, Target)
        words = tuple(shlex.split(command) if isinstance(command, str) else command)
        if target.threads != 1:
            text = f"Kernels run on one thread of a board; the target has {target.threads}."
            raise UsageError("usage.board", text, ("target",), "add -threads=1 to the target")
        if not words:
            text = "A board needs a command that leads to it."
            raise UsageError("usage.board", text, ("command",), "for example: ssh pi ./agent")
        backend_for(target)
        find_toolchain(target.arch)
        Board(target.arch, words).close()  # says what is wrong before anything is measured
        self.name = " ".join(words)
        super().__init__(target, options, builders, words)

    def measure_many(
        self, inputs: Iterable[MeasureInput], options: MeasureOptions | None = None
    ) -> Iterator[tuple[int, Measurement]]:
        """Measure candidates, as `LocalRunner.measure_many`; measurements say where (`host`)."""
        return ((k, replace(m, host=self.name)) for k, m in super().measure_many(inputs, options))

    def contest(
        self, inputs: Sequence[MeasureInput], options: MeasureOptions | None = None, rules: ContestRules | None = None
    ) -> Contest:
        """Time candidates against each other, as `LocalRunner.contest`."""
        done = super().contest(inputs, options, rules)
        return replace(done, measurements=tuple(replace(m, host=self.name) for m in done.measurements))
