"""The process that reads a log, ``python -m workbench.server.reader_main MEMORY SECONDS CPU FOLDER [PATH]``.

It says what it reads and what an explorer shows of it on what was standard output, each message after its length (4
bytes, little-endian), and takes messages as lines of JSON from standard input. When that ends, so does the process. Its
temporary files are in FOLDER, which goes with it.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from workbench import logs
from workbench.errors import LogError
from workbench.logs.explorer import Explorer
from workbench.logs.explorer.panels import drawing, table
from workbench.logs.explorer.subject import Subject
from workbench.logs.tuning_log import TuningLog
from workbench.markup import clean, plural
from workbench.server.frames import frame
from workbench.server.process_limits import limit
from workbench.session.core.protocol import error_json
from workbench.session.explorer_exchange import ExplorerExchange

PROGRESS_S = 0.2
"""Seconds between two messages of how far the reading is."""

MOST_FAULTS = 500
"""Damaged places that are named."""

_TASK = ("task", "device", "objective", "unit", "records", "ok", "failed", "best", "best_record", "median")


class Sender:
    """Sends messages, from any thread."""

    def __init__(self, out: BinaryIO) -> None:
        self._out, self._lock = out, threading.Lock()
        self._facts: dict[str, Any] = {}

    def __call__(self, message: Mapping[str, Any], buffers: Sequence[bytes] = ()) -> None:
        whole = frame(message, buffers)
        with self._lock, contextlib.suppress(BrokenPipeError):
            self._out.write(len(whole).to_bytes(4, "little") + whole)
            self._out.flush()

    def facts(self, log: TuningLog) -> None:
        """Send what is known of the tasks and the damage, where that has changed."""
        told = facts(log)
        if told != self._facts:
            self._facts = told
            self(told)


def facts(log: TuningLog) -> dict[str, Any]:
    """Return what the page says beside the explorer: the tasks with the best of each, and the damage by its place."""
    named = [clean(str(fault)) for fault in log.faults[:MOST_FAULTS]]
    tasks = table(log.tasks[list(_TASK)])
    return {"t": "facts", "tasks": tasks, "faults": named, "more_faults": len(log.faults) - len(named)}


def figure(e: Explorer, args: Mapping[str, Any]) -> Callable[[], Any]:
    """Prepare a figure, which is sent as plotly's JSON."""
    draw = drawing(e, args)
    return lambda: {"shown": draw().to_json()}


def opened(path: str, inbox: queue.SimpleQueue[Any], send: Sender, size: int) -> TuningLog:
    """Open the file, or the text that is in the first message."""
    if not path:
        return logs.parse(str(inbox.get().get("text", "")))
    last = 0.0

    def progress(read: int, of: int) -> None:
        nonlocal last
        if time.monotonic() - last > PROGRESS_S:
            last = time.monotonic()
            send({"t": "progress", "read": read, "size": of})

    send({"t": "progress", "read": 0, "size": size})
    return logs.open(path, progress=progress)


def run(path: str, inbox: queue.SimpleQueue[Any], send: Sender, late: threading.Timer) -> None:
    """Open the log and serve those who look at it."""
    name = Path(path).name or "Pasted text"
    try:
        log = opened(path, inbox, send, os.path.getsize(path) if os.path.isfile(path) else 0)
    except MemoryError:
        hint = "c.ScheduleWorkbench.memory_mib in the server's configuration; or open it in a notebook"
        raise LogError("log.too_large", "The log needs more memory than the server gives", (name,), hint) from None
    finally:
        late.cancel()

    def pass_on(message: Mapping[str, Any], buffers: Sequence[bytes]) -> None:
        if "meta" in message.get("slices", {}):  # there are other records
            send.facts(log)
        send(message, buffers)

    send.facts(log)
    exchange = ExplorerExchange(Subject(log, name), pass_on, figure)
    while True:
        exchange.receive(inbox.get())


def leave(folder: str) -> None:
    """End this process and those that it has started, as the first of its session, and remove its files."""
    shutil.rmtree(folder, ignore_errors=True)
    if os.name == "posix" and os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def listen(lines: BinaryIO, inbox: queue.SimpleQueue[Any], folder: str) -> None:
    """Take messages; at their end, or when they are too large for the memory, nobody wants an answer."""
    try:
        for line in lines:
            with contextlib.suppress(ValueError, RecursionError):
                message = json.loads(line)
                if isinstance(message, dict):
                    inbox.put(message)
    finally:
        leave(folder)


def main(memory_bytes: int, open_seconds: int, cpu_seconds: int, folder: str, path: str) -> None:
    """Read a log with limits, until nobody looks."""
    jobs, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # nothing that prints disturbs the messages
    limit(memory_bytes, cpu_seconds)
    os.environ["TMPDIR"] = tempfile.tempdir = folder
    inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
    send = Sender(answers)
    threading.Thread(target=listen, args=(jobs, inbox, folder), daemon=True).start()

    def fail(error: BaseException) -> None:
        told = error_json(error)
        told["where"] = [Path(one).name if one == path else one for one in told["where"]]
        send({"t": "error", "error": told})

    def too_late() -> None:
        hint = "c.ScheduleWorkbench.open_seconds in the server's configuration; or open it in a notebook"
        fail(LogError("log.too_large", f"The log was not read within {plural(open_seconds, 'second')}", (), hint))
        leave(folder)

    late = threading.Timer(open_seconds, too_late)
    late.daemon = True
    late.start()
    try:
        run(path, inbox, send, late)
    except Exception as error:  # whatever it is, the page is told
        fail(error)


if __name__ == "__main__":
    memory, seconds, cpu, own, *place = sys.argv[1:]
    main(int(memory), int(seconds), int(cpu), own, place[0] if place else "")
