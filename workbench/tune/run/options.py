"""How a tuning run is carried out: one value that the command line, the session, the measurer and the search share."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeGuard

from workbench.arguments import ArgumentTypeError, is_a, real, whole
from workbench.errors import UsageError
from workbench.log.conditions import CACHES

COST_MODELS = ("xgboost", "analytic", "random")
SEARCHES = ("evolutionary", "random", "descent")
SCHEDULERS = ("gradient", "round-robin")
SPACES = ("sketch", "template", "both")

Objective: TypeAlias = Callable[[Mapping[str, float]], float]
"""A user's objective: latencies in ms by task key and by task name -> a number that is to become small."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneOptions:
    """How to tune.

    Parameters
    ----------
    batch : int, optional
        Trials of one round; chosen from the budget and the number of tasks when left out.
    scheduler : {"gradient", "round-robin"}
        Who decides which task goes next.
    objective : callable, optional
        What the gradient scheduler makes small, a function of the tasks' latencies in ms (by key and by name); the sum
        of weight times latency when left out.
    search : str
        Search strategy: "evolutionary", "random", "descent", or one that was declared with `strategy`.
    epsilon : float
        Share of proposals that are drawn at random, 0 to 1.
    model : str or path
        Cost model: "xgboost", "analytic", "random", one that was declared with `cost_model`, or a file ``*.json`` that
        `TuningSession.save_model` wrote: the run then starts from what that run has measured.
    space : {"sketch", "template", "both"}
        Where candidates come from: the sketch rules, a template, or both.
    template : str, optional
        Name of the template; the one that suits the task when left out.
    structure : str, optional
        Loop structure of multi-level tiling, such as ``"SSRSRS"``; the rules' own when left out.
    confirm : bool
        Whether a trial that seems faster than the best one is timed against it, alternately, before it is called the
        new best.
    early_stop : int, optional
        Rounds without a gain after which a task rests, until all others have gone without one for as long.
    early_end : bool
        Whether the run ends when all tasks rest (needs `early_stop`).
    repeat, min_repeat_ms, flush_cache, timeout_s
        How a candidate is measured; see `workbench.runtime.measuring.results.MeasureOptions`.
    constants : {"near", "shared", "memory"}, optional
        Where candidates find their constants (see `workbench.runtime.measuring.results.MeasureOptions`); when left out,
        where a run of the network will find them, and near where a single kernel is tuned.
    builders : int, optional
        Processes that compile candidates; chosen from the free cores when left out.
    baseline : bool
        Whether the first trial of a task is its default schedule, so that the gain is known.
    runner : object, optional
        Where candidates are measured: anything with `measure_many`, `contest`, `hold`, `cancel` and `close`; who made
        it closes it. The worker processes of this machine when left out.

    Raises
    ------
    UsageError
        ``usage.*`` for what makes no sense.
    """

    batch: int | None = None
    scheduler: str = "gradient"
    objective: Objective | None = None
    search: str = "evolutionary"
    epsilon: float = 0.08
    model: str | os.PathLike[str] = "xgboost"
    space: str = "sketch"
    template: str | None = None
    structure: str | None = None
    confirm: bool = True
    early_stop: int | None = None
    early_end: bool = False
    repeat: int | None = None
    min_repeat_ms: float | None = None
    flush_cache: bool = False
    timeout_s: float = 10.0
    constants: str | None = None
    builders: int | None = None
    baseline: bool = True
    runner: Any = None

    @property
    def caches(self) -> str:
        """State of the caches in which candidates are timed, as the log names it."""
        return "flushed" if self.flush_cache else CACHES[self.constants or "near"]

    def __post_init__(self) -> None:
        _one_of("task scheduler", self.scheduler, SCHEDULERS, "usage.scheduler")
        _one_of("kind of space", self.space, SPACES, "usage.space")
        is_a("search", self.search, str)
        is_a("model", self.model, (str, os.PathLike))
        if self.constants is not None:
            _one_of("place for constants", self.constants, tuple(CACHES), "usage.constants")
        for name in ("confirm", "early_end", "flush_cache", "baseline"):
            is_a(name, getattr(self, name), bool)
        for name, code in (
            ("batch", "usage.batch"),
            ("early_stop", "usage.early_stop"),
            ("builders", "usage.builders"),
        ):
            if getattr(self, name) is not None:
                whole(name, getattr(self, name), code=code)
        check_epsilon(self.epsilon)
        for name in ("template", "structure"):
            if getattr(self, name) is not None:
                is_a(name, getattr(self, name), str)
        if self.objective is not None and not callable(self.objective):
            raise ArgumentTypeError("usage.type", "objective has to be a function of the latencies", ["objective"])
        if self.early_end and self.early_stop is None:
            hint = "say with early_stop after how many rounds without a gain a task rests"
            raise UsageError("usage.early_stop", "early_end needs early_stop", ["early_end"], hint)


def check_shipped(options: TuneOptions) -> None:
    """Raise for a search or a cost model that is not among those that come with the package; loads nothing heavy."""
    if not is_saved_model(options.model):
        _one_of("cost model", options.model, COST_MODELS, "usage.cost_model")
    _one_of("search strategy", options.search, SEARCHES, "usage.search")


def is_saved_model(model: str | os.PathLike[str]) -> bool:
    """Whether a cost model is given by its file, not by its name."""
    return isinstance(model, os.PathLike) or model.endswith(".json")


def is_epsilon(value: Any) -> TypeGuard[float]:
    """Whether a value can be a share of random proposals."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0.0 <= value <= 1.0


def check_epsilon(value: object) -> float:
    """Return a share of random proposals; ``usage.epsilon`` for what is none."""
    number = real("epsilon", value, code="usage.epsilon")
    if not 0.0 <= number <= 1.0:
        raise UsageError("usage.epsilon", f"epsilon has to be from 0 to 1, not {number:g}", ["epsilon"])
    return number


def _one_of(what: str, value: object, known: tuple[str, ...], code: str) -> None:
    if value not in known:
        raise UsageError(code, f"There is no {what} '{value}'", (), f"known: {', '.join(known)}")
