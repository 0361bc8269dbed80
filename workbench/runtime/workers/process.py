"""Worker processes as seen from the main process: start, send, watch, restart."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
import weakref
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from workbench.codegen.c.compiler import remove_folders
from workbench.errors import RunError
from workbench.locks import in_forked_child
from workbench.runtime.workers.pipe import HELLO, read_frame, write_frame

WorkerKind: TypeAlias = Literal["build", "run"]

#: Environment of a worker: one thread for every numeric library that might get loaded.
_QUIET = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"), "1")

#: Seconds that a worker whose pipe has closed may take to end by itself: a large one needs some where memory is short.
#: Chosen, not measured.
LEAVING_S = 2.0

#: A worker that does not say hello within this many seconds counts as dead.
#: Chosen, not measured.
START_TIMEOUT_S = 60.0

_all_workers: weakref.WeakSet[Worker] = weakref.WeakSet()


@dataclass(frozen=True, slots=True)
class Event:
    """Something that a worker did: an answer, or (`message` None) its end."""

    worker: Worker
    generation: int
    message: Any


class Worker:
    """One worker process, restarted when it is needed again after it ended.

    Parameters
    ----------
    kind : {"build", "run"}
        What it does.
    inbox : queue
        Where its `Event` values go.
    arguments : sequence of str
        What else its program is told, see `worker_main`.

    Notes
    -----
    The process leads its own process group, so Ctrl-C in the terminal does not reach it, and ends by itself when this
    process ends, however that happens.
    """

    def __init__(self, kind: WorkerKind, inbox: queue.SimpleQueue[Any], arguments: Sequence[str] = ()) -> None:
        self.kind, self._arguments = kind, arguments
        self.generation = 0
        self.ready = False
        self.failed_starts = 0
        self.killed = False  # its last process was killed, and not by us
        self.recalled = False  # it was killed by us, but whoever waits for it does not know why
        self.said = ""  # what its last process wrote to standard error
        self._inbox = inbox
        self._process: subprocess.Popen[bytes] | None = None
        self._stderr: deque[bytes] = deque(maxlen=400)
        self._readers: tuple[threading.Thread, ...] = ()
        self._ours: deque[int] = deque(maxlen=8)  # processes that `kill` ended
        _all_workers.add(self)

    @property
    def alive(self) -> bool:
        """Whether a process is there."""
        return self._process is not None

    @property
    def pid(self) -> int | None:
        """Process id, if there is a process."""
        return self._process.pid if self._process else None

    def start(self) -> None:
        """Start the process unless it runs.

        Raises
        ------
        RunError
            ``run.worker`` when the process cannot be started.
        """
        if self._process is not None:
            return
        if not sys.executable:
            raise RunError("run.worker", "Python does not know its own executable, so no worker process can be started")
        package_root = str(Path(__file__).resolve().parents[3])
        path = os.pathsep.join([package_root, *filter(None, [os.environ.get("PYTHONPATH")])])
        environment = {**os.environ, **_QUIET, "PYTHONPATH": path}
        # -P: a file called numpy.py in the current folder must not become part of the worker.
        command = [sys.executable, "-P", "-m", "workbench.runtime.workers.worker_main", self.kind, *self._arguments]
        pipe = subprocess.PIPE
        try:
            process = subprocess.Popen(
                command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment, start_new_session=True
            )
        except OSError as error:
            raise RunError("run.worker", f"a worker process cannot be started: {error}", where=(command[0],)) from error
        self.generation += 1
        self.ready = False
        self._process = process
        self._stderr = deque(maxlen=400)
        self._readers = (
            threading.Thread(target=self._read_stderr, args=(process, self._stderr), daemon=True),
            threading.Thread(target=self._read_answers, args=(process, self.generation), daemon=True),
        )
        for reader in self._readers:
            reader.start()

    @staticmethod
    def _read_stderr(process: subprocess.Popen[bytes], lines: deque[bytes]) -> None:
        assert process.stderr is not None
        with contextlib.suppress(OSError, ValueError):
            lines.extend(iter(lambda: process.stderr.readline(4096), b""))  # type: ignore[union-attr]

    def _read_answers(self, process: subprocess.Popen[bytes], generation: int) -> None:
        assert process.stdout is not None
        while True:
            try:
                message = read_frame(process.stdout)  # type: ignore[arg-type]
            except Exception:  # the end of the pipe, or half a message of a process that died
                self._inbox.put(Event(self, generation, None))
                return
            if message == HELLO:
                self.ready, self.failed_starts = True, 0
            self._inbox.put(Event(self, generation, message))

    def send(self, job: Any) -> None:
        """Send a job; starts the process if necessary. A dead process shows up as an `Event`, not here."""
        self.start()
        assert self._process is not None
        assert self._process.stdin is not None
        with contextlib.suppress(OSError, ValueError):
            write_frame(self._process.stdin, job)  # type: ignore[arg-type]

    def end(self, patience_s: float = 0.05) -> str:
        """Return why the process ended, with what it printed to standard error; kill it if it still runs after a while.

        Parameters
        ----------
        patience_s : float
            Seconds to wait for the exit code of a process that is about to leave: its pipes close before it has one.
        """
        process, self._process = self._process, None
        if process is None:
            return "the worker was not running"
        if not self.ready:
            self.failed_starts += 1
        code = process.poll()
        self.killed, self.recalled = False, process.pid in self._ours
        if code is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                code = process.wait(patience_s)
        if code is None:
            _kill(process)
            code = process.wait()
            how = "the worker was killed"
        else:
            how = _how_it_ended(code)
            self.killed = code == -signal.SIGKILL and not self.recalled
        if self.kind == "build" and code < 0:
            remove_folders(process.pid)
        for reader in self._readers:
            with contextlib.suppress(RuntimeError):  # not started: an interrupt came while `start` ran
                reader.join(0.5)
        streams = (process.stdin, process.stdout, process.stderr)
        for stream in streams if not any(r.is_alive() for r in self._readers) else streams[:1]:
            if stream is not None:
                with contextlib.suppress(OSError, ValueError):
                    stream.close()
        self.said = b"".join(self._stderr).decode(errors="replace").strip()
        return how + (f"\n{self.said}" if self.said else "")

    def kill(self) -> None:
        """Kill the process at once, from any thread; its end shows up as an `Event`."""
        process = self._process
        if process is not None:
            self._ours.append(process.pid)
            _kill(process)

    def close(self) -> None:
        """Let an idle process leave: close its pipe, wait a moment, kill what is left."""
        process = self._process
        if process is None:
            return
        if process.stdin is not None:
            with contextlib.suppress(OSError, ValueError):
                process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(1.0)
        self.end()


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a worker that still runs, and the compiler that it may have started."""
    with contextlib.suppress(OSError):
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL) if hasattr(os, "killpg") else process.kill()


def _how_it_ended(code: int) -> str:
    if code < 0:
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        return f"the worker process died of {name} (signal {-code})"
    return f"the worker process ended with exit code {code}"


@in_forked_child
def _after_fork() -> None:
    """A forked child shares the pipes of its parent's workers but must not use them."""
    for worker in list(_all_workers):
        worker._process = None
