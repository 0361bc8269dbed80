"""Logs of OpenTuner: a SQLite file, times in seconds; configurations are pickles, read without unpickling."""

from __future__ import annotations

import math
import pickletools
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from workbench.logs.evaluation import Evaluation, Status
from workbench.logs.importer import UNREADABLE, log_importer
from workbench.logs.reading.literals import json_value
from workbench.logs.reading.pickles import LARGEST, plain_pickle
from workbench.logs.reading.sqlite import SqliteImporter, Tables, open_tables
from workbench.logs.reading.times import utc_or_none
from workbench.logs.source import LogSource

STATUS: dict[str, Status] = {"OK": "ok", "TIMEOUT": "run-timeout", "ERROR": "run"}
"""What the states of a result mean."""

_OBJECTIVE = re.compile(r"(?:Maximize|Minimize|Threshold)\w+")


@log_importer("opentuner")
class OpenTunerLog(SqliteImporter):
    """OpenTuner: results with the technique that asked for each."""

    tuner = "OpenTuner"
    tables = frozenset({"tuning_run", "configuration", "result", "desired_result"})
    # The pickles are {"tile": 8} and {"tile": 16}, in protocol 2.
    example = """
    CREATE TABLE program (project TEXT, name TEXT, id INTEGER);
    CREATE TABLE program_version (program_id INTEGER, version TEXT, parameter_info TEXT, id INTEGER);
    CREATE TABLE tuning_run (program_version_id INTEGER, name TEXT, objective BLOB, id INTEGER);
    CREATE TABLE machine (name TEXT, cpu TEXT, id INTEGER);
    CREATE TABLE configuration (hash TEXT, data BLOB, id INTEGER);
    CREATE TABLE desired_result (generation INTEGER, requestor TEXT, result_id INTEGER, id INTEGER);
    CREATE TABLE result (configuration_id INTEGER, machine_id INTEGER, tuning_run_id INTEGER, collection_date TEXT,
        collection_cost FLOAT, state TEXT, time FLOAT, accuracy FLOAT, was_new_best BOOLEAN, id INTEGER);
    INSERT INTO program VALUES ('demo', 'matmul', 1);
    INSERT INTO program_version VALUES (1, 'v1', '', 1);
    INSERT INTO tuning_run VALUES (1, 'unnamed', NULL, 1);
    INSERT INTO machine VALUES ('vm', 'some processor', 1);
    INSERT INTO configuration VALUES ('a', x'80027d7100580400000074696c6571014b08732e', 1),
        ('b', x'80027d7100580400000074696c6571014b10732e', 2);
    INSERT INTO desired_result VALUES (0, 'UniformGreedyMutation', 1, 1), (1, 'DifferentialEvolutionAlt', 2, 2);
    INSERT INTO result VALUES (1, 1, 1, '2026-01-01 00:00:00', 0.05, 'OK', 0.0017, NULL, 1, 1),
        (2, 1, 1, '2026-01-01 00:00:01', 0.06, 'ERROR', 9e999, NULL, 0, 2);
    """

    def __init__(self) -> None:
        self._objectives: set[str] = set()

    def read(self, source: LogSource) -> Iterator[Evaluation]:
        """Yield the results in the order of their identifiers."""
        with open_tables(source) as tables:
            if tables is None:
                return
            self._objectives = {
                name for row in tables.rows("tuning_run") for name in _objective(row.get("objective")) if name
            }
            tasks, machines = _tasks(tables), {row.get("id"): row for row in tables.rows("machine")}
            configurations = dict(_configurations(source, tables))
            asked = {row.get("result_id"): row for row in tables.rows("desired_result")}
            begins: dict[Any, float] = {}
            for row in sorted(tables.rows("result"), key=lambda row: str(row.get("id")).rjust(20)):
                try:
                    yield _evaluation(row, tasks, machines, configurations, asked.get(row["id"], {}), begins)
                except UNREADABLE as error:
                    source.fault(f"result {row.get('id')}", f"no result of OpenTuner ({type(error).__name__})")

    def notes(self, source: LogSource) -> Sequence[str]:
        other = sorted(self._objectives - {"MinimizeTime"})
        told = f"The search had another objective than time: {', '.join(other)}; the value is the time."
        return [told] if other else []


def _objective(data: Any) -> Iterator[str]:
    """Yield the names of the classes that a pickled objective is of."""
    if not isinstance(data, bytes):
        return
    try:
        data = zlib.decompressobj().decompress(data, LARGEST) if data[:1] == b"x" else data[:LARGEST]
        for _, argument, _ in pickletools.genops(data):
            if isinstance(argument, str):
                yield from _OBJECTIVE.findall(argument)
    except (*UNREADABLE, zlib.error):
        return


def _tasks(tables: Tables) -> dict[Any, str]:
    """Return the name of what each run has tuned."""
    programs = {row.get("id"): row for row in tables.rows("program")}
    versions = {row.get("id"): row for row in tables.rows("program_version")}
    found = {}
    for run in tables.rows("tuning_run"):
        version = versions.get(run.get("program_version_id"), {})
        program = programs.get(version.get("program_id"), {})
        words = [program.get("project"), program.get("name"), version.get("version")]
        found[run.get("id")] = " ".join(str(word) for word in words if word and word != "unknown")
    return found


def _configurations(source: LogSource, tables: Tables) -> Iterator[tuple[Any, Mapping[str, Any]]]:
    for row in tables.rows("configuration"):
        try:
            params = plain_pickle(row["data"])
            yield row["id"], {str(name): json_value(value) for name, value in params.items()}
        except UNREADABLE as error:
            why = str(error) if isinstance(error, ValueError) else type(error).__name__
            source.fault(f"configuration {row.get('id')}", f"its parameters are not read: {why}")


def _evaluation(
    row: Mapping[str, Any],
    tasks: Mapping[Any, str],
    machines: Mapping[Any, Mapping[str, Any]],
    configurations: Mapping[Any, Mapping[str, Any]],
    asked: Mapping[str, Any],
    begins: dict[Any, float],
) -> Evaluation:
    told, run = str(row["state"]), row["tuning_run_id"]
    time = math.nan if row["time"] is None else float(row["time"])
    status = STATUS.get(told, "unknown")
    if status == "ok" and not math.isfinite(time):
        status = "unknown"
    moment = utc_or_none(row["collection_date"])
    cost = row.get("collection_cost")
    spent = None if cost is None else float(cost)
    if moment is not None:
        begins.setdefault(run, moment - (spent or 0.0))
    machine, generation = machines.get(row["machine_id"], {}), asked.get("generation")
    names = ("accuracy", "energy", "size", "confidence", "was_new_best", "configuration_id")
    return Evaluation(
        params=configurations.get(row["configuration_id"], {}), status=status, told=told,
        value=time if status == "ok" else None, unit="s", run=f"run {run}", task=tasks.get(run, ""),
        device=str(machine.get("cpu") or machine.get("name") or ""), timestamp=moment, spent_s=spent,
        elapsed_s=None if moment is None else moment - begins[run], technique=str(asked.get("requestor") or ""),
        generation=None if generation is None else int(generation),
        extra={name: row[name] for name in names if row.get(name) is not None}, where=f"result {row['id']}",
        raw={name: repr(v) if isinstance(v, bytes) else v for name, v in row.items()},
    )  # fmt: skip
