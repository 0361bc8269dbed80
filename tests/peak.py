"""Largest resident memory of a process, counted from its own start.

``ru_maxrss`` would not do: Linux hands the parent's figure on to a child, also through exec.
"""

from __future__ import annotations

import resource
import sys
from pathlib import Path


def peak_bytes() -> int:
    """Peak of this process so far."""
    if sys.platform == "linux":
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
