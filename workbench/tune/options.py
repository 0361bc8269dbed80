"""How a tuning run is carried out: one value that the command line, the session, the measurer and the search share."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from importlib import import_module
from typing import Annotated, Any, TypeAlias, get_type_hints

from workbench.arguments import ArgumentTypeError, is_a, share, shown, told_options, whole
from workbench.errors import UsageError
from workbench.files import is_json_file
from workbench.forms import Choice, Field, Flag, Real, Text, Whole
from workbench.log.conditions import CACHES
from workbench.registry import Registry

Objective: TypeAlias = Callable[[Mapping[str, float]], float]
"""A user's objective: latencies in ms by task key and by task name -> a number that is to become small."""


@dataclass(frozen=True, slots=True)
class Named(Text):
    """The name of something that is declared; its registry, a ``module:NAME``, is loaded when somebody asks."""

    registry: str = ""

    @property
    def table(self) -> Registry[Any]:
        """What is declared."""
        module, _, name = self.registry.partition(":")
        found: Registry[Any] = getattr(import_module(module), name)
        return found

    @property
    def choices(self) -> tuple[str, ...]:
        """Names that are declared."""
        return tuple(self.table)


@dataclass(frozen=True, slots=True)
class Share(Real):
    """A share, 0 to 1."""


@told_options
@dataclass(frozen=True, slots=True, kw_only=True)
class TuneOptions:
    """How to tune.

    Parameters
    ----------
    batch : int, optional
        Trials of one round; chosen from the budget and the number of tasks when left out.
    scheduler : str
        Who decides which task goes next: a name in `workbench.tune.state.task_scheduler.SCHEDULERS`.
    objective : callable, optional
        What the gradient scheduler makes small, a function of the tasks' latencies in ms (by key and by name); the sum
        of weight times latency when left out.
    search : str
        Search strategy: a name in `workbench.search.SEARCHES`, see ``workbench tune --help``.
    epsilon : float
        Share of proposals that are drawn at random, 0 to 1.
    model : str or path
        Cost model: a name in `workbench.cost_model.MODELS`, or a file ``*.json`` that `TuningSession.save_model` wrote:
        the run then starts from what that run has measured.
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
        How a candidate is measured; see `workbench.runtime.results.measure_options.MeasureOptions`.
    constants : {"near", "shared", "memory"}, optional
        Where candidates find their constants (see `MeasureOptions`); when left out,
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

    batch: Annotated[int | None, Whole("trials of one round (default: by budget and tasks)"), "--batch B"] = None
    scheduler: Annotated[
        str, Named("which task goes next", "workbench.tune.state.task_scheduler:SCHEDULERS"), "--scheduler NAME"
    ] = "gradient"
    objective: Objective | None = None
    search: Annotated[str, Named("search strategy", "workbench.search:SEARCHES"), "--search NAME"] = "evolutionary"
    epsilon: Annotated[float, Share("share of random candidates, 0 to 1"), "--epsilon E"] = 0.08
    model: Annotated[
        str | os.PathLike[str],
        Named("cost model, or the file (*.json) of a saved one", "workbench.cost_model:MODELS"),
        "--model --cost-model NAME",
    ] = "xgboost"
    space: Annotated[
        str,
        Choice("where candidates come from: sketch rules, templates", values=("sketch", "template", "both")),
        "--space",
    ] = "sketch"
    template: Annotated[str | None, Text("take the candidates from this template"), "--template NAME"] = None
    structure: Annotated[str | None, Text("loop structure of multi-level tiling"), "--structure SSRSRS"] = None
    confirm: Annotated[
        bool, Flag("call a trial the best without comparing it with the best before"), "--no-confirm"
    ] = True
    early_stop: Annotated[
        int | None, Whole("let a task rest after so many rounds without a gain"), "--early-stop R"
    ] = None
    early_end: Annotated[bool, Flag("end the run when all tasks rest (with --early-stop)"), "--early-end"] = False
    repeat: Annotated[int | None, Whole("timed repeats of a trial (default: adaptive)"), "--repeat R"] = None
    min_repeat_ms: Annotated[float | None, Real("shortest duration of a repeat"), "--min-repeat-ms MS"] = None
    flush_cache: Annotated[bool, Flag("flush the caches before every repeat"), "--flush-cache"] = False
    timeout_s: float = 10.0
    constants: Annotated[
        str | None,
        Choice(
            "where timed candidates find their weights: the cores' own caches, the shared one, memory (default: where a"
            " run of this network finds them)",
            values=tuple(CACHES),
        ),
        "--constants",
    ] = None
    builders: Annotated[int | None, Whole("processes that compile candidates")] = None
    baseline: Annotated[bool, Flag("try the default schedule first")] = True
    runner: Any = None

    @property
    def caches(self) -> str:
        """State of the caches in which candidates are timed, as the log names it."""
        return "flushed" if self.flush_cache else CACHES[self.constants or "near"]

    def __post_init__(self) -> None:
        for f, _ in declared():
            if (value := getattr(self, f.name)) != f.default:  # the default exists; loading it can wait
                _check(f, value)
        if self.objective is not None and not callable(self.objective):
            raise ArgumentTypeError("usage.type", "objective has to be a function of the latencies", ["objective"])
        if self.early_end and self.early_stop is None:
            hint = "say with early_stop after how many rounds without a gain a task rests"
            raise UsageError("usage.early_stop", "early_end needs early_stop", ["early_end"], hint)


@cache
def declared() -> tuple[tuple[Field, str], ...]:
    """Return the options that are declared as fields of a form, each with how the command line says it."""
    hints = get_type_hints(TuneOptions, include_extras=True)
    found = [(f, getattr(hints[f.name], "__metadata__", ())) for f in fields(TuneOptions)]
    return tuple((Field.of(f, kind[0]), kind[1] if len(kind) > 1 else "") for f, kind in found if kind)


def _check(field: Field, value: Any) -> None:
    """Raise for what an option cannot be; what concerns measuring is checked by `MeasureOptions`."""
    name, code = field.name, f"usage.{field.name}"
    match field.kind:
        case Whole() if name != "repeat":
            whole(name, value, code=code)
        case Share():
            share(name, value, code)
        case Flag():
            is_a(name, value, bool)
        case Named() as kind:
            is_a(name, value, (str, os.PathLike) if name == "model" else str)
            if name != "model" or not is_json_file(value):
                kind.table.find(value)
        case Choice(values=values) if value not in values:
            raise UsageError(code, f"{name} cannot be {shown(value)}", [name], f"known: {', '.join(values)}")
        case Text():
            is_a(name, value, str)
