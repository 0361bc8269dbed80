"""Processes that tests have started and left behind: a run of the tests ends them, names them, and fails.

They are found by a mark in their environment, whoever their parent is by now; children that were forked and run no
program of their own have no mark, but are children. Only Linux shows both.
"""

from __future__ import annotations

import os
import signal
import sys
import time
import uuid
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path

import pytest

MARK = "WORKBENCH_TEST_RUN"
PATIENCE_S = 15.0
#: What belongs to a Python process and ends with it.
OURS = ("multiprocessing.resource_tracker", "multiprocessing.forkserver")
PROC = Path("/proc")


def marked(mark: str) -> dict[int, str]:
    """Process -> command line of all that have the mark in their environment, but for this process."""
    return _those(lambda folder: mark.encode() in (folder / "environ").read_bytes())


def children(parents: Collection[int] = ()) -> dict[int, str]:
    """Process -> command line of the children of processes, of this one by default; what has ended is not there."""
    of = parents or (os.getpid(),)
    return _those(lambda folder: _parent(folder) in of)


def _parent(folder: Path) -> int:
    state, parent, *_ = (folder / "stat").read_text().rpartition(")")[2].split()
    return -1 if state == "Z" else int(parent)


def _those(wanted: Callable[[Path], bool]) -> dict[int, str]:
    found = {}
    for folder in PROC.glob("[0-9]*"):
        with suppress(OSError, ValueError):  # it has ended, or belongs to somebody else
            if int(folder.name) != os.getpid() and wanted(folder):
                line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
                found[int(folder.name)] = line
    return {pid: line for pid, line in found.items() if not any(own in line for own in OURS)}


def gone(look: Callable[[], dict[int, str]], seconds: float) -> dict[int, str]:
    """Wait until `look` finds nothing; what is left when time is up."""
    end = time.monotonic() + seconds
    while (left := look()) and time.monotonic() < end:
        time.sleep(0.05)
    return left


def kill(left: dict[int, str]) -> None:
    """End processes at once."""
    for pid in left:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def pytest_configure(config: pytest.Config) -> None:
    """Mark the environment, which whatever is started inherits; those of a run inside a test have both marks."""
    if not hasattr(config, "workerinput"):
        os.environ[MARK] = f"{os.environ.get(MARK, '')} {uuid.uuid4().hex}".strip()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail where a process is left when all tests, and the processes that ran them, have ended."""
    if hasattr(session.config, "workerinput"):
        return
    # Where the tests ran in this process.
    if (runners := sys.modules.get("workbench.runtime.workers.shared_runner")) is not None:
        runners.close_runners()
    mark = os.environ[MARK].split()[-1]
    left = gone(lambda: {**marked(mark), **children()}, PATIENCE_S)
    if not left:
        return
    kill(left)
    if session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    reporter.section("processes that tests have left behind (they are ended now)", red=True)
    for pid, line in left.items():
        reporter.line(f"{pid}: {line}")
