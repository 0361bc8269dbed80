"""What Optuna's storages share: studies, trials, distributions, and a trial as an evaluation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from workbench.logs.evaluation import Evaluation, Status
from workbench.logs.reading.literals import json_value
from workbench.logs.reading.times import utc_or_none
from workbench.logs.source import LogSource

STATUS: dict[str, Status] = {
    "COMPLETE": "ok", "PRUNED": "pruned", "FAIL": "unknown", "RUNNING": "started-only", "WAITING": "started-only",
}  # fmt: skip
"""What the states of a trial mean; why one has failed is not stored."""

MOST_VALUES = 10_000
"""Values of a parameter that are listed; of a longer range those that occur are. Chosen."""

_WHOLE = ("IntDistribution", "IntUniformDistribution", "IntLogUniformDistribution")


@dataclass
class Study:
    """A study: its name, the direction of each objective, its attributes, the numbers of its trials."""

    key: Any
    name: str
    directions: dict[int, str] = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)
    trials: list[int] = field(default_factory=list)
    begin: float | None = None


@dataclass
class Trial:
    """A trial as it is stored, with the values of its parameters as Optuna's user saw them."""

    study: Study
    number: int
    state: str
    where: str
    start: Any = None
    complete: Any = None
    values: dict[int, float] = field(default_factory=dict)
    params: dict[str, Any] = field(default_factory=dict)
    stored: dict[str, Any] = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)
    steps: dict[int, float] = field(default_factory=dict)


class Studies:
    """The studies of a storage."""

    def __init__(self) -> None:
        self.by_key: dict[Any, Study] = {}
        self._space: dict[str, dict[str, Any]] = {}
        self._open: set[str] = set()
        self._told: list[str] = []

    def add(self, key: Any, name: str) -> Study:
        """Note a study."""
        self.by_key[key] = Study(key, name)
        return self.by_key[key]

    def add_param(self, trial: Trial, name: str, stored: Any, distribution: dict[str, Any]) -> None:
        """Note the value of a parameter; a categorical one is stored as the number of its choice."""
        kind, given = str(distribution["name"]), distribution["attributes"]
        values = _values(kind, given)
        if kind == "CategoricalDistribution":
            value = json_value(given["choices"][int(stored)])
        else:
            value = int(stored) if kind in _WHOLE else float(stored)
        trial.params[name] = value
        trial.stored[name] = [stored, distribution]
        if values is None:
            self._open.add(name)
        else:
            self._space.setdefault(name, {}).update({repr(v): v for v in values})

    def space(self) -> dict[str, Sequence[Any]]:
        """Return the values of the parameters whose distributions have few."""
        return {name: list(values.values()) for name, values in self._space.items() if name not in self._open}

    def evaluation(self, trial: Trial, source: LogSource) -> Evaluation:
        """Return a trial as an evaluation: its first objective, the others beside it."""
        study = trial.study
        start, complete = utc_or_none(trial.start), utc_or_none(trial.complete)
        if start is not None:
            study.begin = start if study.begin is None else min(study.begin, start)
        status = STATUS.get(trial.state, "unknown")
        value = trial.values.get(0, math.nan)
        if status == "ok" and not math.isfinite(value):
            status = "unknown"
        names = study.attributes.get("study:metric_names")
        unit = source.hints.get("unit", study.attributes.get("unit", ""))
        extra: dict[str, Any] = {"number": trial.number, **{k: json_value(v) for k, v in trial.attributes.items()}}
        if len(trial.values) > 1:
            extra["values"] = [trial.values[key] for key in sorted(trial.values)]
        if trial.steps:
            extra["intermediate"] = [[step, trial.steps[step]] for step in sorted(trial.steps)]
        return Evaluation(
            task=study.name, params=trial.params, status=status, told=trial.state,
            value=value if status == "ok" else None, unit=unit if isinstance(unit, str) else "",
            objective=str(names[0]) if isinstance(names, list) and names else "value",
            direction="max" if study.directions.get(0) == "MAXIMIZE" else "min", timestamp=complete,
            elapsed_s=None if complete is None or study.begin is None else complete - study.begin,
            spent_s=None if complete is None or start is None else complete - start, extra=extra, where=trial.where,
            raw={"number": trial.number, "state": trial.state, "datetime_start": trial.start, "datetime_complete":
                 trial.complete, "values": list(trial.values.values()), "params": trial.stored},
        )  # fmt: skip

    def notes(self) -> Sequence[str]:
        """Return what the table does not show."""
        studies = list(self.by_key.values())
        told = []
        if empty := [study.name for study in studies if not study.trials]:
            told.append(f"{len(empty)} studies have no trials: {', '.join(empty[:5])}.")
        if several := [study.name for study in studies if len(study.directions) > 1]:
            told.append(f"The value is the first of several objectives in {', '.join(several[:5])}.")
        if any(not study.attributes.get("unit") for study in studies if study.trials):
            told.append("Values have no unit in this format; say `unit=` if they are times.")
        return told


def _values(kind: str, given: dict[str, Any]) -> list[Any] | None:
    """Return the values of a distribution; None where they are too many or continuous."""
    if kind == "CategoricalDistribution":
        return [json_value(choice) for choice in given["choices"]]
    step = given.get("step", given.get("q", 1 if kind in _WHOLE else None))
    if not step:
        return None
    count = math.floor((given["high"] - given["low"]) / step + 1e-9) + 1
    if not 0 < count <= MOST_VALUES:
        return None
    return [given["low"] + step * k for k in range(count)]
