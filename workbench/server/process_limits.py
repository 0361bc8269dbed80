"""What a process that reads files may take."""

from __future__ import annotations

import contextlib


def limit(memory_bytes: int, cpu_seconds: int) -> None:
    """Bound this process, and those that it starts, where the system can."""
    with contextlib.suppress(ImportError, OSError, ValueError, AttributeError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 5))
        resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes, memory_bytes))
        resource.setrlimit(resource.RLIMIT_FSIZE, (memory_bytes, memory_bytes))
