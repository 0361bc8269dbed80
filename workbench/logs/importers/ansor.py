"""Logs of TVM's auto-scheduler (Ansor), versions 0.2 to 0.6: JSON lines with times in seconds."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.logs.evaluation import Evaluation
from workbench.logs.importer import JsonLinesImporter, log_importer
from workbench.logs.source import LogSource
from workbench.logs.tvm.records import Contradictions, device_of, measured, notes_of

ANNOTATIONS = (
    "none", "unroll", "vectorize", "parallel", "vthread", "blockIdx.x", "threadIdx.x", "blockIdx.y", "threadIdx.y",
    "blockIdx.z", "threadIdx.z", "tensorize",
)  # fmt: skip
"""What the numbers of an annotation step mean, from 0."""

_LINE = re.compile(rb'^[ \t]*\{[^\n]*"i"\s*:\s*\[\s*\[\s*"', re.M)
_HASH = re.compile(r"[0-9a-f]{32}")
_PLACES: Mapping[str, int] = {"SP": 2, "FSP": 2, "FFSP": 2, "SA": 2, "AN": 2, "PR": 2, "RF": 2}
_OTHER_PLACES = 1
_TASKS_KEPT = 20_000


@log_importer("auto-scheduler")
class AutoSchedulerLog(JsonLinesImporter):
    """The auto-scheduler (Ansor, versions 0.2 to 0.6): the steps of a schedule, by their number, kind and place.

    A parameter is called ``3.SP(2,0)``: the number of the step, its kind, the stage and the loop; its value is the rest
    of the step (tile sizes, an order, a place), an annotation in words. A task is decoded once per distinct text, and
    all its records share that text and `extra`. What may be put off until it is asked for: `params` (all of a record's
    steps, most of the time), `repeats` and `extra`; `raw` is never kept, the line's offset finds it.
    """

    tuner = "TVM's auto-scheduler"
    by_itself = True
    example = (
        "# best of two\n"
        '{"i": [["[\\"a1b2\\", 64, 64]", "llvm -mcpu=core-avx2", [8, 64, 64, 0, 0, 0, 0, 0], "", 1], [[], [["SP", 2, '
        '0, 64, [4, 8], 1], ["AN", 2, 0, 3]]]], "r": [[0.000121], 0, 0.41, 1600000000], "v": "v0.5"}\n'
        '{"i": [["[\\"a1b2\\", 64, 64]", "llvm -mcpu=core-avx2"], [[], []]], "r": [[1e+10], 2, 0.2, 1600000001], "v": '
        '"v0.2"}\n'
    )

    def __init__(self) -> None:
        self._tasks: dict[str, dict[str, Any]] = {}
        self._names: dict[tuple[Any, ...], str] = {}
        self._contradictions = Contradictions()

    def matches(self, source: LogSource) -> bool:
        return _LINE.search(source.head) is not None

    def evaluation(self, line: Any) -> Evaluation:
        return self._evaluation(line, self._params(line["i"][1][1]))

    def brief(self, line: Any) -> Evaluation:
        """As `evaluation`, without the steps."""
        steps = line["i"][1][1]
        if not (set(map(type, steps)) <= {list} and all(steps)):
            raise TypeError("a step is a list")
        return self._evaluation(line, {})

    def _evaluation(self, line: Any, params: Mapping[str, Any]) -> Evaluation:
        array, (_, _) = line["i"]
        key = repr(array)
        task = self._tasks.get(key)
        if task is None:
            if len(self._tasks) >= _TASKS_KEPT:
                self._tasks.clear()
            task = self._tasks[key] = _task(array, str(line.get("v", "")))
        return Evaluation(**task, params=params, **measured(line["r"], self._contradictions))

    def tally(self) -> Mapping[str, int]:
        return self._contradictions.tally()

    def add_tally(self, other: Mapping[str, int]) -> None:
        self._contradictions.add(other)

    def notes(self, source: LogSource) -> Sequence[str]:
        return notes_of(self._contradictions)

    def _params(self, steps: Any) -> dict[str, Any]:
        names, params = self._names, {}
        for number, (kind, *rest) in enumerate(steps):
            places = _PLACES.get(kind, _OTHER_PLACES)
            found = (number, kind, *rest[:places])
            name = names.get(found)
            if name is None:
                name = names[found] = f"{number}.{kind}({','.join(map(str, rest[:places]))})"
            params[name] = _value(kind, rest[places:])
        return params


def _value(kind: str, rest: list[Any]) -> Any:
    if kind == "SP":
        return rest[1]  # the extent before it is the loop's, the flag behind it is the writer's constant
    if kind == "AN" and isinstance(rest[0], int) and 0 <= rest[0] < len(ANNOTATIONS):
        return ANNOTATIONS[rest[0]]
    return rest[0] if len(rest) == 1 else rest or True


def _task(array: Sequence[Any], version: str) -> dict[str, Any]:
    """Return the fields that a task array tells: its items after the target are known by their number and types.

    Since v0.2: workload key and target; v0.3: numbers of the hardware; v0.4: host of the target, where it is set;
    v0.5: host always, and what becomes of layouts; v0.6: names of the inputs.
    """
    key, target, *rest = array
    if not isinstance(key, str) or not isinstance(target, str):
        raise TypeError("a task begins with two texts")
    extra: dict[str, Any] = {"workload_key": key, "version": version}
    for item in rest:
        if isinstance(item, str):
            extra["target_host"] = item
        elif isinstance(item, int):
            extra["layout_rewrite_option"] = item
        elif isinstance(item, list) and item and all(isinstance(part, int) for part in item):
            extra["hardware"] = item
        elif isinstance(item, list):
            extra["task_inputs"] = item
    return {"task": workload_name(key), "target": target, "device": device_of(target), "extra": extra}


def workload_name(key: str) -> str:
    """Return a workload key as a call: a hash is cut to eight digits, a name stays; the key itself where it is no list.

    >>> workload_name('["d7b65649a4dd54becea0a52aabbc5af5", 1, 1000]')
    'd7b65649(1, 1000)'
    """
    try:
        name, *args = json.loads(key)
    except (ValueError, TypeError, RecursionError):
        return key
    name = name[:8] if isinstance(name, str) and _HASH.fullmatch(name) else str(name)
    return f"{name}({', '.join(part if isinstance(part, str) else json.dumps(part) for part in args)})"
