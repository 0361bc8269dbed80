"""Running sessions tell other processes of themselves, each by a small file in a folder of this user.

So a page of Jupyter knows the sessions of all kernels, also after it was loaded again or a kernel has gone. Only
kernels write such files. What is told is `Snapshot`, in JSON; a session is steered by the control file of its log.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
import uuid
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from workbench.files import replace_file
from workbench.log.task_table import network_fields
from workbench.runtime.results.comparison_words import as_fast
from workbench.target import cache_dir
from workbench.tune.state.events import FINAL, Snapshot
from workbench.tune.steer.control_file import distrust

EVERY_S = 1.0
"""Seconds between two looks at a session; the file is written where it has changed, and as a sign of life."""

LIFE_S = 5.0
"""Seconds after which a file is written anew though nothing has changed."""

SILENT_S = 30.0
"""Seconds without a sign of life after which a session counts as silent: its process lives, and computes something that
lets no other thread run, or is stopped. Where nobody can be asked whether it lives, it counts as lost."""

KEPT_S = 24 * 3600.0
"""Seconds that the file of a session stays that has ended."""

MOST_TASKS = 50
MOST_BYTES = 1 << 20
LOST = "lost"
"""State of a session whose process has gone without an end: its kernel was restarted, or died."""


class Told(Protocol):
    """What of a session is needed to tell of it."""

    log: str | None

    def snapshot(self) -> Snapshot:
        """Where it stands."""


def folder() -> Path:
    """Return where the files lie."""
    return cache_dir() / "sessions"


def announce(session: Told, ended: threading.Event) -> threading.Thread | None:
    """Tell of a session until it has ended, where this process is a kernel."""
    ipython: Any = sys.modules.get("IPython")
    if ipython is None or getattr(ipython.get_ipython(), "kernel", None) is None:
        return None
    log = session.log and os.path.realpath(session.log)  # now: a notebook may change its folder
    thread = threading.Thread(target=_tell, args=(session, log, ended), name="workbench-session-file", daemon=True)
    thread.start()
    return thread


def _tell(session: Told, log: str | None, ended: threading.Event) -> None:
    id, before, at, over = uuid.uuid4().hex, None, 0.0, False
    while not over:
        over = ended.wait(EVERY_S if before else 0.0)
        now = {**described(session), "log": log}
        if over or now != before or time.monotonic() - at > LIFE_S:
            before, at = now, time.monotonic()
            with suppress(OSError):  # a full disk ends no run
                _write(id, {**now, "updated": time.time()})


def described(session: Told) -> dict[str, Any]:
    """Return what is told of a session."""
    found = session.snapshot()
    p = found.progress
    rows = [
        {"name": row.name, "ms": row.latency_ms, "trials": row.trials, "state": row.state}
        for row in found.rows[:MOST_TASKS]
    ]
    return {
        "pid": os.getpid(), "born": _born(os.getpid()), "notebook": os.environ.get("JPY_SESSION_NAME", ""),
        "log": session.log, "state": found.state, "end": found.end, "trials": p.trials, "total": p.total,
        "elapsed_s": round(p.elapsed_s, 1), "eta_s": p.eta_s if p.eta_s is None else round(p.eta_s, 1),
        "fraction": round(p.fraction, 3), **_times(found), "rows": rows,
        "more": len(found.rows) - len(rows),
    }  # fmt: skip


def _times(found: Snapshot) -> dict[str, Any]:
    """Of the whole network where it was measured, else of its kernels: ``kernels`` says of how many, 0 for measured."""
    if found.network is not None:
        return {**network_fields(found.network, found.progress.trials), "kernels": 0}
    change = ""
    if found.total_ms and found.untuned_ms and found.untuned_ms > 1.01 * found.total_ms:
        change = as_fast(found.total_ms / found.untuned_ms)
    kernels = round(sum(row.weight for row in found.rows if row.state != "skipped"))
    return {"ms": found.total_ms, "untuned_ms": found.untuned_ms, "spread": None, "change": change, "kernels": kernels}


def _write(id: str, told: Mapping[str, Any]) -> None:
    place = folder()
    place.mkdir(parents=True, exist_ok=True, mode=0o700)
    part = place / f"{id}.part"  # one name for a session: what a full disk left is written over
    with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        json.dump(told, file)
    replace_file(part, place / f"{id}.json")


def sessions() -> dict[str, dict[str, Any]]:
    """Return what is known of the sessions of this user on this machine, by their ids; what is old is removed."""
    out: dict[str, dict[str, Any]] = {}
    with suppress(OSError):
        for path in sorted(folder().glob("*.json")):
            if (told := _read(path)) is not None:
                out[path.stem] = told
    return out


def forget(id: str) -> None:
    """Remove the file of a session."""
    if id.isalnum():
        with suppress(OSError):
            (folder() / f"{id}.json").unlink()


def _read(path: Path) -> dict[str, Any] | None:
    """Read a file; None for what is no such file, and for what is removed."""
    try:
        status = path.lstat()
        if distrust(status) or status.st_size > MOST_BYTES or path.is_symlink():
            return None
        told = json.loads(path.read_text(encoding="utf-8"))
        updated, state, pid = float(told["updated"]), str(told["state"]), int(told["pid"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    age = time.time() - updated
    if state not in FINAL:
        if age > (KEPT_S if os.name == "posix" else SILENT_S) or not _lives(pid, told.get("born")):
            told |= {"state": LOST, "eta_s": None}
        elif age > SILENT_S:
            told |= {"silent_s": round(age), "eta_s": None}
    if told["state"] in (*FINAL, LOST) and age > KEPT_S:
        path.unlink(missing_ok=True)
        return None
    return dict(told)


def _born(pid: int) -> str | None:
    """Return when a process was started, as the system counts; None where it does not say."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, ValueError, IndexError):
        return None


def _lives(pid: int, born: object) -> bool:
    """Whether a process is there, and no other that has got its number."""
    if os.name != "posix":
        return True  # there such a question could end the process
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        pass
    return born is None or born == _born(pid)
