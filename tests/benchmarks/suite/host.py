"""What the figures were measured on."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np


def describe() -> dict[str, object]:
    """Processor, cores, load, and the versions of everything that was compared."""
    from workbench.target import Target

    target = Target.host()
    packages = ("schedule-workbench", "llvmlite", "numpy", "torch", "onnxruntime")
    return {
        "processor": _processor(),
        "machine": platform.machine(),
        "system": platform.system(),
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "target": str(target),
        "versions": {p: _version(p) for p in packages},
    }


def bandwidth(megabytes: int = 256, repeat: int = 7) -> float:
    """Bytes that one thread copies per second, read and written ones together, in GB/s; the best of a few."""
    a = np.ones(megabytes << 18, np.float32)
    b = np.empty_like(a)
    best = min(_seconds(lambda: np.copyto(b, a)) for _ in range(repeat))
    return 2 * a.nbytes / best / 1e9


def _seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((x.split(":", 1)[1].strip() for x in lines if x.startswith("model name")), platform.processor())


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
