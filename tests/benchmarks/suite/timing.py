"""How a call is timed."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np


def timed(call: Callable[[], Any], seconds: float) -> dict[str, float]:
    """Median, least and greatest time of a call in milliseconds; very short calls are timed in groups."""
    end = time.perf_counter() + 0.1 * seconds
    count = 0
    while count < 3 or time.perf_counter() < end:
        call()
        count += 1
    group = max(1, int(count / (0.1 * seconds) * 1e-4))  # about 0.1 ms
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < 5 or time.perf_counter() < end:
        start = time.perf_counter()
        for _ in range(group):
            call()
        times.append((time.perf_counter() - start) / group * 1e3)
    return {"median_ms": float(np.median(times)), "min_ms": min(times), "max_ms": max(times), "calls": len(times)}
