"""A worker process, ``python -m workbench.runtime.workers.worker_main build|run [ARCH COMMAND…]``, which
`runtime.workers.process` starts. With an architecture and a command, a runner measures on the board there.

It reads jobs from standard input and writes answers to what was standard output. A builder turns functions into
object code; a runner executes object code. Both exist so that a crash, a hang or a wrong pointer of generated code
ends a worker and never the user's session. The runner imports no library that brings threads of its own.
"""

from __future__ import annotations

import contextlib
import gc
import os
import queue
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, BinaryIO, NoReturn

from workbench.errors import RunError
from workbench.queue_settings import measuring_cores
from workbench.runtime.machine import turns
from workbench.runtime.measuring.jobs import BuildJob, Built, ContestJob, Reply, SetupJob, TrialJob, Turn
from workbench.runtime.results.measurement import Measurement, error_text
from workbench.runtime.workers.pipe import HELLO, read_frame, write_frame

#: Memory that compiling one candidate may take, if the machine has twice as much.
#: Bytes. Chosen, not measured.
BUILD_BYTES = 4 << 30


def _private_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Take the standard streams over, so that nothing which prints can disturb the messages."""
    jobs = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)
    return jobs, answers


def _limits(kind: str) -> None:
    """No core dumps; and a candidate that wants all memory gets an error before the system has to end something."""
    with contextlib.suppress(ImportError, OSError, ValueError, AttributeError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        most = min(BUILD_BYTES, memory // 2) if kind == "build" else memory // 4 * 3
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def _keep_off() -> None:
    """Keep off the processors that are for measurements; whoever measures goes there for a turn."""
    declared = measuring_cores()
    if declared and hasattr(os, "sched_setaffinity") and (others := os.sched_getaffinity(0) - declared):
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, others)


def _watch_parent() -> None:
    """Leave when the parent is gone, even if some other process still holds the pipe open."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(2.0)
        os._exit(0)

    if os.name == "posix":
        threading.Thread(target=watch, name="watch-parent", daemon=True).start()


def _reader(jobs: BinaryIO) -> queue.SimpleQueue[Any]:
    """Receive jobs in a thread, which sees the end of the pipe, and leaves, even while a kernel hangs."""
    inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def read() -> None:
        while True:
            try:
                message = read_frame(jobs)
            except BaseException as error:
                if not isinstance(error, EOFError):
                    traceback.print_exc()
                os._exit(0 if isinstance(error, EOFError) else 1)
            inbox.put(message)

    threading.Thread(target=read, name="read-jobs", daemon=True).start()
    return inbox


def build(job: BuildJob) -> Built:
    """Compile one function."""
    from workbench.codegen.backend import build_func

    begin = time.perf_counter()
    try:
        code = build_func(job.func, job.target, job.symbol)  # type: ignore[arg-type]
        return Built(replace(code, source=""), time.perf_counter() - begin)
    except Exception as error:
        return Built(None, time.perf_counter() - begin, error_text(error))


def _build_handler() -> Callable[[Any], Any]:
    from workbench.codegen.backend import backends
    from workbench.codegen.llvm import llvmlite_binding, module

    llvmlite_binding.target_machine(None)
    # All that the first build needs is loaded now, while there is nothing to build yet.
    tuple(backends)
    assert module is not None
    # What is loaded by now stays; looking for cycles in it would take a tenth of every build.
    gc.freeze()
    gc.set_threshold(20_000)
    return build


def _run_handler(tell: Callable[[Any], None], board: Sequence[str] = ()) -> Callable[[Any], Any]:
    from workbench.runtime.boards.trials import BoardTrialRunner
    from workbench.runtime.execution.alternating_runs import NetworkJob, time_in_turns
    from workbench.runtime.measuring.candidate_run import TrialRunner
    from workbench.runtime.measuring.contest_run import run_contest
    from workbench.runtime.native import timing_loop
    from workbench.runtime.thread_pool import pool

    timing_loop.walk_address()  # compile the helpers now, not inside the first trial
    pool.serial_launch_address()
    runner = BoardTrialRunner(board[0], board[1:]) if board else TrialRunner()

    def handle(job: SetupJob | TrialJob | ContestJob | NetworkJob) -> Any:
        begin = time.perf_counter()
        try:
            if isinstance(job, SetupJob):
                runner.setup(job)
                return Reply("ready")
            if isinstance(job, NetworkJob):
                return time_in_turns(job)
            if isinstance(job, ContestJob):
                return run_contest(runner, job, lambda index: tell(Turn(index)))
            return runner.run(job)
        except Exception as error:
            if isinstance(error, RunError) and error.code == "run.device":
                _leave(error)
            return Measurement(status="run_error", error=error_text(error), run_s=time.perf_counter() - begin)

    return handle


def _leave(error: RunError) -> NoReturn:
    """End this process: what a driver keeps of it is of no use to other candidates after a failure."""
    print(error, file=sys.stderr, flush=True)
    os._exit(1)


def main(argv: list[str]) -> int:
    """Serve until the pipe ends; returns the exit code."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the main process, which then ends its workers
    jobs, answers = _private_pipes()
    _limits(argv[1])
    _keep_off()
    _watch_parent()
    inbox = _reader(jobs)

    def tell(message: Any) -> None:
        write_frame(answers, message)

    turns.hear(tell)
    handle = _build_handler() if argv[1:] == ["build"] else _run_handler(tell, argv[2:])
    try:
        tell(HELLO)
        while True:
            tell(handle(inbox.get()))
    except OSError:  # nobody listens any more
        return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
