"""Logs of Optuna: its SQLite storage, of old and new schemas, and its journal."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from workbench.logs.evaluation import Evaluation
from workbench.logs.importer import UNREADABLE, LogImporter, log_importer
from workbench.logs.importers.optuna_trials import Studies, Study, Trial
from workbench.logs.reading.sqlite import SqliteImporter, Tables, open_tables
from workbench.logs.source import LogSource, sound

_STATES = ("RUNNING", "COMPLETE", "PRUNED", "FAIL", "WAITING")
_DIRECTIONS = ("NOT_SET", "MINIMIZE", "MAXIMIZE")
_INFINITE = {"INF_POS": math.inf, "INF_NEG": -math.inf}


class _OptunaLog(LogImporter):
    """What both storages share: studies, and their trials as evaluations."""

    tuner = "Optuna"

    def __init__(self) -> None:
        self.studies = Studies()

    def space(self, source: LogSource) -> Mapping[str, Sequence[Any]]:
        return self.studies.space()

    def notes(self, source: LogSource) -> Sequence[str]:
        return self.studies.notes()


@log_importer("optuna")
class OptunaStorage(SqliteImporter, _OptunaLog):
    """Optuna: a SQLite storage, a task per study."""

    tables = frozenset({"studies", "trials", "trial_params"})
    example = """
    CREATE TABLE studies (study_id INTEGER, study_name TEXT);
    CREATE TABLE study_directions (study_direction_id INTEGER, direction TEXT, study_id INTEGER, objective INTEGER);
    CREATE TABLE trials (trial_id INTEGER, number INTEGER, study_id INTEGER, state TEXT, datetime_start TEXT,
        datetime_complete TEXT);
    CREATE TABLE trial_params (param_id INTEGER, trial_id INTEGER, param_name TEXT, param_value FLOAT,
        distribution_json TEXT);
    CREATE TABLE trial_values (trial_value_id INTEGER, trial_id INTEGER, objective INTEGER, value FLOAT,
        value_type TEXT);
    INSERT INTO studies VALUES (1, 'matmul');
    INSERT INTO study_directions VALUES (1, 'MINIMIZE', 1, 0);
    INSERT INTO trials VALUES (1, 0, 1, 'COMPLETE', '2026-01-01 00:00:00', '2026-01-01 00:00:01'),
        (2, 1, 1, 'FAIL', '2026-01-01 00:00:01', '2026-01-01 00:00:02');
    INSERT INTO trial_params VALUES
        (1, 1, 'tile', 1.0, '{"name": "CategoricalDistribution", "attributes": {"choices": [8, 16]}}'),
        (2, 2, 'tile', 0.0, '{"name": "CategoricalDistribution", "attributes": {"choices": [8, 16]}}');
    INSERT INTO trial_values VALUES (1, 1, 0, 0.25, 'FINITE');
    """

    def read(self, source: LogSource) -> Iterator[Evaluation]:
        """Yield the trials in the order of their identifiers."""
        with open_tables(source) as tables:
            if tables is None:
                return
            _read_studies(source, tables, self.studies)
            values, params, steps, attributes = _by_trial(source, tables)
            for row in sorted(tables.rows("trials"), key=lambda row: str(row.get("trial_id")).rjust(20)):
                key = row.get("trial_id")
                where = f"trial {key}"
                try:
                    study = self.studies.by_key[row["study_id"]]
                    number = row.get("number")
                    trial = Trial(
                        study, len(study.trials) if number is None else int(number), str(row["state"]), where=where,
                        start=row.get("datetime_start"), complete=row.get("datetime_complete"),
                        values=values[key] or _former_value(row), attributes=attributes[key], steps=steps[key],
                    )  # fmt: skip
                    study.trials.append(trial.number)
                    for name, value, distribution in params[key]:
                        self.studies.add_param(trial, name, value, distribution)
                except UNREADABLE as error:
                    source.fault(where, f"no trial of Optuna ({type(error).__name__})")
                    continue
                yield self.studies.evaluation(trial, source)


def _former_value(row: Mapping[str, Any]) -> dict[int, float]:
    """Return the value that stood in the table of trials before there could be several."""
    return {0: float(row["value"])} if row.get("value") is not None else {}


def _read_studies(source: LogSource, tables: Tables, studies: Studies) -> None:
    for row in tables.rows("studies"):
        studies.add(row.get("study_id"), str(row.get("study_name")))
        if row.get("direction"):  # where it stood before there could be several objectives
            studies.by_key[row["study_id"]].directions[0] = str(row["direction"])
    for row in tables.rows("study_directions"):
        if (study := studies.by_key.get(row.get("study_id"))) is not None:
            study.directions[int(row.get("objective") or 0)] = str(row.get("direction"))
    for table in ("study_user_attributes", "study_system_attributes"):
        for row in tables.rows(table):
            if (study := studies.by_key.get(row.get("study_id"))) is not None:
                study.attributes[str(row.get("key"))] = _json(source, table, row.get("value_json"))


def _by_trial(source: LogSource, tables: Tables) -> tuple[Any, Any, Any, Any]:
    values: dict[Any, dict[int, float]] = defaultdict(dict)
    params: dict[Any, list[tuple[str, float, Any]]] = defaultdict(list)
    steps: dict[Any, dict[int, float]] = defaultdict(dict)
    attributes: dict[Any, dict[str, Any]] = defaultdict(dict)

    def collect(table: str, add: Any) -> None:
        for number, row in enumerate(tables.rows(table), 1):
            try:
                add(row)
            except UNREADABLE as error:
                source.fault(f"table {table}, row {number}", f"{type(error).__name__}")

    def value(row: dict[str, Any]) -> None:
        into, key = (values, row["objective"]) if "objective" in row else (steps, row["step"])  # formerly the latter
        into[row["trial_id"]][int(key)] = _number(row["value"], row.get("value_type"))

    def step(row: dict[str, Any]) -> None:
        number = _number(row["intermediate_value"], row.get("intermediate_value_type"))
        steps[row["trial_id"]][int(row["step"])] = number

    def param(row: dict[str, Any]) -> None:
        found = str(row["param_name"]), float(row["param_value"]), _loads(row["distribution_json"])
        params[row["trial_id"]].append(found)

    collect("trial_values", value)
    collect("trial_intermediate_values", step)
    collect("trial_params", param)
    collect("trial_user_attributes", lambda row: attributes[row["trial_id"]].update(_attribute(row)))
    return values, params, steps, attributes


def _loads(text: str) -> Any:
    return json.loads(sound(text.encode()))


def _attribute(row: dict[str, Any]) -> dict[str, Any]:
    return {str(row["key"]): _loads(row["value_json"])}


def _number(value: Any, kind: Any) -> float:
    if kind in _INFINITE:
        return _INFINITE[kind]
    return math.nan if value is None else float(value)


def _json(source: LogSource, table: str, text: Any) -> Any:
    try:
        return _loads(text)
    except UNREADABLE:
        source.fault(f"table {table}", "a value that is no JSON")
        return None


@log_importer("optuna-journal")
class OptunaJournal(_OptunaLog):
    """Optuna: a journal, an operation per line; what it numbers is counted from its beginning."""

    example = (
        '{"op_code":0,"worker_id":"w","study_name":"matmul","directions":[1]}\n'
        '{"op_code":4,"worker_id":"w","study_id":0,"datetime_start":"2026-01-01T00:00:00+00:00"}\n'
        '{"op_code":5,"worker_id":"w","trial_id":0,"param_name":"tile","param_value_internal":1,"distribution":'
        '"{\\"name\\": \\"CategoricalDistribution\\", \\"attributes\\": {\\"choices\\": [8, 16]}}"}\n'
        '{"op_code":6,"worker_id":"w","trial_id":0,"state":1,"values":[0.25],"datetime_complete":'
        '"2026-01-01T00:00:01+00:00"}\n'
        '{"op_code":4,"worker_id":"w","study_id":0,"datetime_start":"2026-01-01T00:00:01+00:00"}\n'
        '{"op_code":6,"worker_id":"w","trial_id":1,"state":3,"values":null,"datetime_complete":'
        '"2026-01-01T00:00:02+00:00"}\n'
    )

    def matches(self, source: LogSource) -> bool:
        return source.head.startswith(b'{"op_code":') and b'"worker_id":' in source.head.split(b"\n", 1)[0]

    def read(self, source: LogSource) -> Iterator[Evaluation]:
        """Yield the trials in the order of their creation, after the last line: an operation can come at any time."""
        journal = _Journal(self.studies)
        for line in source.lines():
            try:
                operation = json.loads(line.raw)
                journal.operation(operation, f"line {line.number}")
            except UNREADABLE as error:
                why = "the line is cut off" if line.torn else f"no operation of Optuna ({type(error).__name__})"
                source.fault(line.number, why)
        for trial in journal.trials:
            if trial.study.key in self.studies.by_key:
                yield self.studies.evaluation(trial, source)


class _Journal:
    """Studies and trials after the operations so far."""

    def __init__(self, studies: Studies) -> None:
        self.studies = studies
        self.created: list[Study] = []
        self.trials: list[Trial] = []

    def operation(self, given: dict[str, Any], where: str) -> None:
        code = given["op_code"]
        if code == 0:
            study = self.studies.add(len(self.created), str(given["study_name"]))
            self.created.append(study)
            study.directions.update(enumerate(_DIRECTIONS[d] for d in given["directions"]))
        elif code == 1:
            self.studies.by_key.pop(given["study_id"], None)
        elif code in (2, 3):
            self.created[given["study_id"]].attributes.update(given["user_attr" if code == 2 else "system_attr"])
        elif code == 4:
            self._create(given, where)
        elif code in (5, 6, 7, 8):
            self._change(code, self.trials[given["trial_id"]], given)
        elif code not in (9, 10):
            raise ValueError(code)

    def _create(self, given: dict[str, Any], where: str) -> None:
        study = self.created[given["study_id"]]
        state = _STATES[given.get("state", 0)]
        trial = Trial(study, len(study.trials), state, start=given.get("datetime_start"), where=where)
        study.trials.append(trial.number)
        self.trials.append(trial)
        trial.complete = given.get("datetime_complete")
        trial.values.update(_values(given))
        attributes = given.get("user_attrs")
        trial.attributes.update(attributes if isinstance(attributes, dict) else {})
        distributions = given.get("distributions") or {}
        for name, value in (given.get("params") or {}).items():
            self.studies.add_param(trial, name, value, json.loads(distributions[name]))

    def _change(self, code: int, trial: Trial, given: dict[str, Any]) -> None:
        if code == 5:
            distribution = json.loads(given["distribution"])
            self.studies.add_param(trial, str(given["param_name"]), given["param_value_internal"], distribution)
        elif code == 6:
            trial.state = _STATES[given["state"]]
            trial.values.update(_values(given))
            trial.start = given.get("datetime_start") or trial.start
            trial.complete = given.get("datetime_complete") or trial.complete
        elif code == 7:
            trial.steps[int(given["step"])] = float(given["intermediate_value"])
        else:
            trial.attributes.update(given["user_attr"])


def _values(given: dict[str, Any]) -> dict[int, float]:
    several = given.get("values") or ([given["value"]] if given.get("value") is not None else [])
    return {place: float(value) for place, value in enumerate(several)}
