"""How candidates are built and measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from workbench.tune.options import TuneOptions


@dataclass(frozen=True, slots=True)
class LocalBuilder:
    """Where candidates are compiled."""

    timeout: float = 10.0
    n_parallel: int | None = None


@dataclass(frozen=True, slots=True)
class LocalRunner:
    """How candidates are measured; `number` is chosen, so that a repetition lasts `min_repeat_ms`."""

    timeout: float = 10.0
    number: int = 4
    repeat: int | None = None
    min_repeat_ms: float | None = None
    cooldown_interval: float = 0.0
    enable_cpu_cache_flush: bool = False


def measure_option(builder: Any = "local", runner: Any = "local") -> TuneOptions:
    """How to measure."""
    b = builder if isinstance(builder, LocalBuilder) else LocalBuilder()
    r = runner if isinstance(runner, LocalRunner) else LocalRunner()
    return TuneOptions(
        builders=b.n_parallel, repeat=r.repeat, min_repeat_ms=r.min_repeat_ms, flush_cache=r.enable_cpu_cache_flush,
        timeout_s=r.timeout,
    )  # fmt: skip
