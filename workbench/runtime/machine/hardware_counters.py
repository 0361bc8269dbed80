"""Counters of the processor and of the system around calls, by Linux's `perf_event_open`.

One event is counted at a time: a processor has few registers for it, and shared ones would only be estimated. Of
several threads all are counted, also while they wait for the next piece.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from workbench.runtime.results.counted import Counted

#: Numbers of the system call. All later ports of Linux share one.
_CALL = {"x86_64": 298, "AMD64": 298, "aarch64": 241, "riscv64": 241}
#: Numbers of `perf_event.h`: kinds of events, and bits of the structure's flags.
_HARDWARE, _SOFTWARE, _CACHE = 0, 1, 3
_DISABLED, _EXCLUDE_KERNEL, _EXCLUDE_HV = 1 << 0, 1 << 5, 1 << 6
_CLOSE_ON_EXEC, _SIZE = 8, 112
_RESET, _ENABLE, _DISABLE = 0x2403, 0x2400, 0x2401
_READ_MISS = 1 << 16


@dataclass(frozen=True, slots=True)
class Event:
    """Something that is counted: its name, its number for the system, and what it is in words."""

    name: str
    kind: int
    config: int
    says: str


EVENTS = (
    Event("cycles", _HARDWARE, 0, "cycles of the clock, as the core ran"),
    Event("instructions", _HARDWARE, 1, "instructions that were carried out"),
    Event("L1 load misses", _CACHE, _READ_MISS | 0, "loads that miss the first cache"),
    Event("cache misses", _HARDWARE, 3, "of the system's event cache-misses: L2 on AMD, else the last level"),
    Event("TLB misses", _CACHE, _READ_MISS | 3, "loads whose page the first table of pages does not know"),
    Event("branch misses", _HARDWARE, 5, "jumps that went another way than was expected"),
    Event("page faults", _SOFTWARE, 2, "pages that the system had to bring"),
)


def count(run: Callable[[], object], calls: int, threads: int) -> Counted:
    """Run something once for each event, and return what each of its `calls` takes."""
    values, why_not = [], []
    for event in EVENTS:
        try:
            with _counting(event, _threads_of(threads)) as read:
                run()
                values.append((event.name, read() / calls))
        except OSError as error:
            why_not.append((event.name, _said(error)))
    return Counted(tuple(values), tuple(why_not))


def _threads_of(threads: int) -> list[int]:
    """The system's numbers of the threads that count: this one, or all of the process."""
    try:
        return [0] if threads == 1 else [int(one) for one in os.listdir("/proc/self/task")]
    except OSError:
        return [0]


@contextmanager
def _counting(event: Event, threads: list[int]) -> Iterator[Callable[[], int]]:
    """Count while the block runs; what is yielded ends that and returns the sum over the threads."""
    import fcntl

    files: list[int] = []
    try:
        for thread in threads:
            files.append(_opened(event, thread))
        for request in (_RESET, _ENABLE):
            for file in files:
                fcntl.ioctl(file, request)

        def read() -> int:
            for file in files:
                fcntl.ioctl(file, _DISABLE)
            return sum(struct.unpack("q", os.read(file, 8))[0] for file in files)

        yield read
    finally:
        for file in files:
            os.close(file)


def _opened(event: Event, thread: int) -> int:
    """The file of a counter of one thread, on whichever core it runs."""
    number = _CALL.get(platform.machine()) if sys.platform == "linux" else None
    if number is None:
        raise OSError(errno.ENOSYS, "")
    flags = _DISABLED | _EXCLUDE_KERNEL | _EXCLUDE_HV
    words = struct.pack("<IIQQQQQ", event.kind, _SIZE, event.config, 0, 0, 0, flags)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    attributes = ctypes.create_string_buffer(words.ljust(_SIZE, b"\0"), _SIZE)
    given = (thread, -1, -1, _CLOSE_ON_EXEC)
    file = libc.syscall(ctypes.c_long(number), attributes, *map(ctypes.c_long, given))
    if file < 0:
        raise OSError(ctypes.get_errno(), "")
    return int(file)


def _said(error: OSError) -> str:
    """Why an event cannot be counted, and what would help."""
    if error.errno in (errno.EACCES, errno.EPERM):
        level = _paranoid()
        if level > 2:
            return (
                f"the system allows no counters (perf_event_paranoid is {level}): sysctl kernel.perf_event_paranoid=2"
            )
        return "the system allows no counters: a container may need the capability CAP_PERFMON"
    if error.errno in (errno.ENOENT, errno.EOPNOTSUPP, errno.ENODEV, errno.EINVAL):
        return "this machine shows no such counter, as most virtual machines do"
    return "only Linux is asked for counters" if error.errno == errno.ENOSYS else os.strerror(error.errno or 0)


def _paranoid() -> int:
    try:
        return int(Path("/proc/sys/kernel/perf_event_paranoid").read_text())
    except (OSError, ValueError):
        return 0
