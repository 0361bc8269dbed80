"""Searches of the candidates of a task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from workbench.errors import UsageError
from workbench.log.reader import load_log
from workbench.tune.options import TuneOptions
from workbench.tune.run.start import tune
from workbench.tvm.autotvm.callback import Bar, LogFile
from workbench.tvm.autotvm.task import Task


class Tuner:
    """Searches the candidates of a task."""

    search = "evolutionary"

    def __init__(self, task: Task, *args: Any, **options: Any) -> None:
        self.task = task

    def tune(
        self, n_trial: int, measure_option: TuneOptions, early_stopping: int | None = None,
        callbacks: Sequence[Any] = (), si_prefix: str = "G",
    ) -> None:  # fmt: skip
        """Tune, and wait until the trials are used up."""
        files = [c.name for c in callbacks if isinstance(c, LogFile)]
        if others := [c for c in callbacks if not isinstance(c, LogFile | Bar)]:
            text = f"A callback of the kind {type(others[0]).__name__} is not called"
            raise UsageError("usage.callbacks", text, ("callbacks",), "wb.tune(...).events.subscribe(callback)")
        progress = True if any(isinstance(c, Bar) for c in callbacks) else None
        options = replace(measure_option, search=self.search, template=self.task.template, baseline=False)
        if early_stopping is not None:
            options = replace(options, early_stop=early_stopping, early_end=True)
        log = files[0] if files else None
        resume = log is not None and Path(log).exists()
        own = self.task.own
        known = sum(r.task_key == own.key for r in load_log(log).records) if resume and log is not None else 0
        tune(own, trials=known + n_trial, options=options, log=log, resume=resume, progress=progress).wait()


class XGBTuner(Tuner):
    """Searches by mutation and crossover, guided by a model."""


class GATuner(Tuner):
    """Searches by mutation and crossover, guided by a model."""


class RandomTuner(Tuner):
    """Takes candidates at random, none twice."""

    search = "random"


class GridSearchTuner(RandomTuner):
    """Takes candidates at random, none twice: with as many trials as there are candidates, all of them."""
