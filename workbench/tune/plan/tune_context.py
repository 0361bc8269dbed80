"""What a tuning run is carried out with: spaces, searches, seeds and schedules; and candidates given by hand."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.arguments import is_a
from workbench.cost_model import CostModel, make_model
from workbench.errors import TemplateError, UsageError, WorkbenchError
from workbench.graph.tasks import Task
from workbench.ir.poly import evaluate
from workbench.log import Database, Record, load_log
from workbench.log.replay import schedule_of
from workbench.machine_model.machine_parameters import Machine
from workbench.schedule import Schedule
from workbench.search import SEARCHES, Search, SearchOptions, make_search
from workbench.search.restriction import Restriction, restricted
from workbench.search.seeds import adapt, features_of
from workbench.search.transfer import facts
from workbench.space.default_schedule import default_schedule
from workbench.space.program_keys import program_key
from workbench.space.space import Space, join_spaces, make_space, space_from_schedule
from workbench.space.template import TEMPLATES, templates_for
from workbench.tune.options import TuneOptions

if TYPE_CHECKING:
    from workbench.search.seeds import Seed
    from workbench.target import Target
    from workbench.tune.state.run_state import TaskRequests


@dataclass(frozen=True, slots=True)
class GivenCandidate:
    """A candidate that no search proposed: the default schedule, or one that a person has given.

    Attributes
    ----------
    schedule : Schedule or None
        Where it is no row of the space.
    """

    key: str
    origin: str
    variant: int = -1
    row: Mapping[str, int] = field(default_factory=dict)
    schedule: Schedule | None = None
    predicted: float | None = None
    parent: str | None = None
    mutation: str | None = None
    model: str | None = None


class TuneContext:
    """Makes the parts of one run; the cost model is shared by all tasks.

    Parameters
    ----------
    options : TuneOptions, optional
        Which search, which cost model, which space.
    seed : int
        Seed of the cost model.
    drawn_up : mapping of str to Schedule
        Task key -> schedule with holes that takes the place of the task's own space.
    seeds : iterable of Schedule, Record or path
        What the searches start from; paths are logs.
    """

    def __init__(
        self,
        target: Target,
        options: TuneOptions | None = None,
        seed: int = 0,
        drawn_up: Mapping[str, Schedule] | None = None,
        seeds: Iterable[Any] = (),
    ) -> None:
        self._target, self._options, self._seed = target, options or TuneOptions(), seed
        self._drawn_up, self._seeds = dict(drawn_up or {}), tuple(seeds)
        self._logs: Database | None = None
        self._model: CostModel | None = None
        self._making = threading.Lock()
        self._remarks: dict[str, str] = {}

    def prepare(self) -> None:
        """Load what the cost model needs; called in a thread of its own when a session starts."""
        begin = getattr(self._shared_model(), "prepare", None)
        if begin is not None:
            begin()

    # ---- spaces ----

    def origin(self) -> str:
        """Return in words where the candidates come from: where that changes, rows and holes mean something else."""
        if self._drawn_up:
            traces = [schedule.to_json() for _, schedule in sorted(self._drawn_up.items())]
            text = json.dumps(traces, sort_keys=True, default=str)
            return f"schedule {hashlib.blake2b(text.encode(), digest_size=6).hexdigest()}"
        named = (self._options.space, self._options.template, self._options.structure)
        return " ".join(name for name in named if name is not None)

    def space(self, task: Task) -> Space:
        """Return the space of a task."""
        space = self._made(task)
        return replace(space, variants=tuple(replace(v, machine=self._machine) for v in space.variants))

    def _made(self, task: Task) -> Space:
        schedule = self._drawn_up.get(task.key)
        if schedule is not None:
            return space_from_schedule(schedule)
        kind, structure = self._options.space, self._options.structure
        found = self._from_template(task) if kind != "sketch" else []
        if kind != "template" or not found:
            found.append(make_space(task, self._target, structure=structure, tell=partial(self._say_of, task)))
        return found[0] if len(found) == 1 else join_spaces(*found)

    def _from_template(self, task: Task) -> list[Any]:
        """Return the space of the template that suits a task; none where the sketch rules have to stand in for it."""
        wanted = self._options.template
        known = templates_for(task) if wanted is None else [TEMPLATES[wanted]]
        told = f"the template '{wanted}' does not fit this task" if wanted is not None else "no template fits this task"
        if known and known[0].suits(task):
            try:
                return [make_space(task, self._target, template=known[0].name)]
            except TemplateError as e:
                if e.code != "template.empty":
                    raise  # the template's own fault
                told = e.message
        self._say_of(task, f"{told}; its space comes from the sketch rules")
        return []

    def _say_of(self, task: Task, text: str) -> None:
        said = self._remarks.get(task.key, "")
        if text not in said:  # a space that is asked for again says the same
            self._remarks[task.key] = "; ".join(filter(None, (said, text)))

    def remark(self, task: Task) -> str:
        """Return what is to be said about a task's space; empty when there is nothing."""
        return self._remarks.get(task.key, "")

    def check_requests(self, space: Space, requests: TaskRequests) -> None:
        """Raise ``steer.*`` when no candidate of the space meets what was pinned and forbidden."""
        restricted(space.variants, Restriction.of(requests.pins, requests.forbids, requests.variants))

    # ---- searches ----

    def search(self, task: Task, space: Space, seed: int) -> Search:
        """Return a new search over a space."""
        options = SearchOptions(epsilon=self._options.epsilon)
        model = self._shared_model()
        if self._seeds:
            with suppress(WorkbenchError):  # `seeds` says what is wrong with them
                if known := facts(self._database().records(task.key), {task.key: space}):
                    model.warm_start(known)
        return make_search(self._options.search, task, space, model, seed, options)

    def seeds(self, task: Task, space: Space) -> list[Seed]:
        """Return the programs that the search of a task starts from."""
        if not self._seeds:
            return []
        sources = [s for s in self._seeds if not isinstance(s, str | os.PathLike) and _is_of(s, task)]
        sources += [r for r in self._database().lookup(task, self._target).records if r not in sources]
        return [seed for source in sources for seed in adapt(source, task, space)]

    def _database(self) -> Database:
        if self._logs is None:
            self._logs = Database(s for s in self._seeds if isinstance(s, Record))
            paths = [s for s in self._seeds if isinstance(s, str | os.PathLike)]
            self._logs.update(Database.load(*paths))
        return self._logs

    def model_version(self) -> str:
        """Return what the records say about the model that predicted."""
        return str(self._shared_model().version)

    def predicted(self, task: Task, schedule: Schedule) -> float | None:
        """Return the model's score of a schedule that no search has proposed; None where the search asks no model."""
        if not SEARCHES[self._options.search].learns:
            return None
        x = features_of(schedule, self._machine)
        return float(self._shared_model().predict(x[None])[0])

    def save_model(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file, as it is now."""
        self._shared_model().save(path)

    def _shared_model(self) -> CostModel:
        with self._making:  # `prepare` asks for it in a thread of its own, while the first search may do so too
            if self._model is None:
                self._model = make_model(self._options.model, self._seed, self._machine)
            return self._model

    @property
    def _machine(self) -> Machine:
        """What estimates are for: caches as candidates find them when they are timed."""
        return Machine.of(self._target, self._options.constants or "near")

    # ---- schedules ----

    def default(self, task: Task) -> Schedule:
        """Return the schedule that a task gets without tuning."""
        return default_schedule(task, self._target)

    def schedule(self, task: Task, record: Record) -> Schedule:
        """Return the schedule of a trial."""
        return schedule_of(task, record)

    def given(
        self, task: Task, space: Space, variant: int, row: Mapping[str, int], trace: Sequence[Any]
    ) -> GivenCandidate:
        """Return the candidate that a person has given as a row of a variant or as a trace."""
        return _by_trace(task, trace) if variant < 0 and trace else _by_row(space, variant, row)


def check_seeds(seeds: Any) -> tuple[Any, ...]:
    """Return what a search may start from as a tuple; `UsageError` for what is none."""
    if seeds is None:
        return ()
    single = isinstance(seeds, str | os.PathLike | Schedule | Record)
    found = (seeds,) if single else tuple(is_a("seeds", seeds, Iterable))
    for seed in found:
        is_a("seeds", seed, (str, os.PathLike, Schedule, Record), "give schedules, records and paths of logs")
        if isinstance(seed, str | os.PathLike):
            load_log(seed)  # told now if it cannot be read
    return found


def _is_of(source: Any, task: Task) -> bool:
    key = getattr(source, "task_key", None)
    return bool((Task.of_schedule(source).key if key is None else key) == task.key)


def _by_row(space: Space, variant: int, row: Mapping[str, int]) -> GivenCandidate:
    variants = space.variants
    if not 0 <= variant < len(variants):
        hint = f"variants are numbered 0 to {len(variants) - 1}"
        raise UsageError("steer.variant", f"The space has no variant {variant}", (), hint)
    sampler = variants[variant].sampler
    holes = {hole for group in sampler.domain.groups for hole in group.holes}
    if set(row) != holes:
        odd = sorted(set(row) ^ holes)
        raise UsageError("steer.row", f"The row does not name the holes of variant {variant}", odd[:8])
    picks = sampler.find(row)
    if picks is None:
        raise UsageError("steer.row", "A hole cannot have the value that the row gives it", sorted(row)[:8])
    if not sampler.mask(picks[None])[0]:
        limits = [c.label for c in sampler.domain.constraints if not _holds(c, row)]
        raise UsageError("steer.row", "The row breaks a limit of the space", limits)
    key = f"{int(variants[variant].keys(np.asarray(picks)[None])[0]):016x}"
    return GivenCandidate(key, "manual", variant, dict(row))


def _holds(constraint: Any, row: Mapping[str, int]) -> bool:
    return bool(evaluate(constraint.expr, dict(row), {}) >= 0)


def _by_trace(task: Task, trace: Sequence[Any]) -> GivenCandidate:
    try:
        schedule = Schedule.from_json(task, [dict(step) for step in trace])
    except WorkbenchError as error:
        message = f"The trace does not apply to this task: {error.message}"
        raise UsageError("steer.trace", message, error.where, error.hint) from error
    if not schedule.is_concrete:
        raise UsageError(
            "steer.trace", "The schedule has open holes", [h.name for h in schedule.holes], "fill them first"
        )
    return GivenCandidate(program_key(schedule.func), "manual", schedule=schedule)
