"""Logs of AutoTVM, TopHub and the graph tuner: JSON lines of format 0.2 or 0.1, with times in seconds."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.errors import LogError
from workbench.logs.evaluation import Evaluation
from workbench.logs.importer import JsonLinesImporter, log_importer
from workbench.logs.source import LogSource
from workbench.logs.tvm.autotvm_templates import call, resolved, template_extents
from workbench.logs.tvm.records import Contradictions, device_of, measured, notes_of

_LINE = re.compile(
    rb'^[ \t]*\{(?:(?=[^\n]*"input"\s*:\s*\[\s*")(?=[^\n]*"config"\s*:)|(?=[^\n]*"i"\s*:\s*\[\s*")(?=[^\n]*"v"\s*:))',
    re.M,
)
_PICKLES = re.compile(rb"^(?:[A-Za-z0-9+/]{4,}=*\t){3,5}[A-Za-z0-9+/]+=*\s*$", re.M)
_TASKS_KEPT = 20_000
_LARGEST_COLLECTION = 20_000
"""Records up to which a file may be a collection of best ones. Chosen: TopHub's largest have some 1,000."""


@log_importer("autotvm")
class AutoTvmLog(JsonLinesImporter):
    """AutoTVM (formats 0.2 and 0.1), TopHub and the graph tuner: a template's knobs and their values.

    A task is a template and its arguments, written as a call. In a split, -1 stands for the rest; it is resolved where
    the extent of the axis is known. What may be put off until it is asked for: `params` and `repeats`; `raw` is never
    kept, the line's offset finds it.
    """

    tuner = "AutoTVM"
    by_itself = True
    example = (
        '{"input": ["llvm -mcpu=core-avx2", "dense_nopack.x86", [["TENSOR", [1, 512], "float32"]], {}], "config": '
        '{"index": 7, "code_hash": null, "entity": [["tile_y", "sp", [-1, 1, 1]], ["unroll", "ot", 16]]}, "result": '
        '[[3e-05, 3.2e-05], 0, 2.1, 1600000000.5], "version": 0.2, "tvm_version": "0.19.0"}\n'
        '{"input": ["llvm -mcpu=core-avx2", "dense_nopack.x86", [], {}], "config": {"index": 8, "code_hash": null, '
        '"entity": []}, "result": [[1000000000.0], 6, 10.0, 1600000010.5], "version": 0.2, "tvm_version": "0.19.0"}\n'
        '{"i": ["llvm", "topi_nn_dense", [["TENSOR", [1, 8], "float32"]], {}, ["dense", [1, 8, "float32"]], {"i": 3, '
        '"t": "direct", "c": null, "e": [["tile_k", "sp", [2, 4]]]}], "r": [[1e-06], 0, 0.9, 1500000000.5], "v": 0.1}\n'
    )

    def __init__(self) -> None:
        self._tasks: dict[str, tuple[dict[str, Any], Mapping[str, int]]] = {}
        self._contradictions = Contradictions()
        self._failed = self._records = 0
        self._configs: Counter[tuple[str, str, int]] = Counter()

    def matches(self, source: LogSource) -> bool:
        return _LINE.search(source.head) is not None or _PICKLES.search(source.head) is not None

    def check(self, source: LogSource) -> None:
        if _LINE.search(source.head) is None and _PICKLES.search(source.head) is not None:
            hint = "write it as JSON where it was made: autotvm.record.decode with 'pickle', then encode with 'json'"
            message = "This log has AutoTVM's pickled records; reading a pickle can run code, so it is not read"
            raise LogError("log.pickle", message, (str(source.path),), hint)

    def evaluation(self, line: Any) -> Evaluation:
        if "input" in line:
            (target, name, args, kwargs), config, result = line["input"], line["config"], line["result"]
            index, entities, template = config["index"], config["entity"], ""
        else:
            (target, name, args, kwargs, _, config), result = line["i"], line["r"]
            index, entities, template = config["i"], config["e"], config["t"]
        task, extents = self._task(target, name, args, kwargs, template)
        fields = measured(result, self._contradictions)
        self._records += 1
        self._failed += fields["status"] != "ok"
        if not self._failed and self._records <= _LARGEST_COLLECTION:
            self._configs[task["target"], task["task"], index] += 1
        params = {str(knob): resolved(kind, value, extents.get(knob)) for knob, kind, value in entities}
        return Evaluation(**task, params=params, **fields)

    def _task(
        self, target: Any, name: Any, args: Any, kwargs: Any, template: str
    ) -> tuple[dict[str, Any], Mapping[str, int]]:
        """Return the fields that all records of a task share, and the extents of its knobs' axes."""
        key = repr((target, name, args, kwargs, template))
        found = self._tasks.get(key)
        if found is None:
            if not isinstance(target, str) or not isinstance(name, str):
                raise TypeError("target and task are texts")
            if len(self._tasks) >= _TASKS_KEPT:
                self._tasks.clear()
            full = f"{name}.{template}" if template else name
            fields = {"task": call(full, args, kwargs), "target": target, "device": device_of(target)}
            found = self._tasks[key] = fields, template_extents(name, args)
        return found

    def tally(self) -> Mapping[str, int]:
        return {**self._contradictions.tally(), "records": self._records, "failed": self._failed}

    def add_tally(self, other: Mapping[str, int]) -> None:
        self._contradictions.add(other)
        self._records += other["records"]  # a collection of best ones is never large
        self._failed += other["failed"]

    def notes(self, source: LogSource) -> Sequence[str]:
        return [*self._kind_of_file(), *notes_of(self._contradictions)]

    def _kind_of_file(self) -> list[str]:
        """Say what the file is where its records tell: a run has failures, and many configurations of a task."""
        if self._failed or not 20 <= self._records <= _LARGEST_COLLECTION:
            return []
        tasks = Counter((target, task) for target, task, _ in self._configs)
        repeated = sum(count - 1 for count in self._configs.values())
        if repeated * 4 >= self._records and sum(tasks.values()) <= 2 * len(tasks):
            return [
                f"No run of a tuner: {self._records} records of {len(tasks)} tasks, {repeated} of them written again, "
                "as the graph tuner does: a record per layer of a network, in its order."
            ]
        if len(self._configs) <= 1.2 * len(tasks):
            return [
                f"No run of a tuner: {self._records} records of {len(tasks)} tasks (with target) and no failure, as in "
                "TopHub: the best of each task alone."
            ]
        return []
