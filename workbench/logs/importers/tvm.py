"""Logs of TVM's tuners: AutoTVM's records and those of the auto-scheduler, both JSON lines with times in seconds."""

from __future__ import annotations

import re
import statistics
from collections.abc import Mapping
from typing import Any, ClassVar

from workbench.logs.evaluation import Evaluation, Status
from workbench.logs.importer import JsonLinesImporter, log_importer
from workbench.logs.source import LogSource

ERRORS: tuple[tuple[str, Status], ...] = (
    ("ok", "ok"),
    ("instantiation error", "constraint"),
    ("compile error on the host", "compile"),
    ("compile error for the device", "compile"),
    ("runtime error", "run"),
    ("wrong answer", "wrong-answer"),
    ("build timeout", "build-timeout"),
    ("run timeout", "run-timeout"),
    ("unknown error", "unknown"),
)
"""What the numbers of errors mean, from 0; both tuners have the same (``MeasureErrorNo``)."""


class _TvmLog(JsonLinesImporter):
    tuner = "TVM"
    begin: ClassVar[re.Pattern[bytes]]

    def matches(self, source: LogSource) -> bool:
        return self.begin.match(source.head) is not None


def _evaluation(task: str, target: str, params: Mapping[str, Any], result: list[Any]) -> Evaluation:
    costs, number, spent, timestamp = result
    told, status = ERRORS[number] if 0 <= number < len(ERRORS) else (f"error {number}", "unknown")
    repeats = tuple(map(float, costs)) if number == 0 else ()  # a failure has a cost of 1e9 or 1e10 seconds
    return Evaluation(
        task=task, target=target, params=params, status=status if repeats or number else "unknown", told=told,
        value=statistics.fmean(repeats) if repeats else None, unit="s", statistic="mean", repeats=repeats,
        timestamp=float(timestamp), spent_s=float(spent),
    )  # fmt: skip


@log_importer("autotvm")
class AutoTvmLog(_TvmLog):
    """AutoTVM (version 0.2): a template's knobs and their values."""

    begin = re.compile(rb'(?:#[^\n]*\n|\s)*\{"input": \["')
    example = (
        '{"input": ["llvm -mcpu=core-avx2", "dense_nopack.x86", [["TENSOR", [1, 512], "float32"]], {}], "config": '
        '{"index": 7, "code_hash": null, "entity": [["tile_y", "sp", [-1, 1, 1]], ["unroll", "ot", 16]]}, "result": '
        '[[3e-05, 3.2e-05], 0, 2.1, 1600000000.5], "version": 0.2, "tvm_version": "0.19.0"}\n'
        '{"input": ["llvm -mcpu=core-avx2", "dense_nopack.x86", [], {}], "config": {"index": 8, "code_hash": null, '
        '"entity": []}, "result": [[1000000000.0], 6, 10.0, 1600000010.5], "version": 0.2, "tvm_version": "0.19.0"}\n'
    )

    def evaluation(self, line: Any) -> Evaluation:
        target, task = line["input"][:2]
        params = {str(knob): value for knob, _, value in line["config"]["entity"]}
        return _evaluation(str(task), str(target), params, line["result"])


@log_importer("auto-scheduler")
class AutoSchedulerLog(_TvmLog):
    """The auto-scheduler (Ansor, versions 0.2 to 0.6): the steps of a schedule, by their position and kind."""

    begin = re.compile(rb'(?:#[^\n]*\n|\s)*\{"i": \[\[')
    example = (
        "# best of two\n"
        '{"i": [["[\\"a1b2\\", 64, 64]", "llvm -mcpu=core-avx2", [8, 64, 64, 0, 0, 0, 0, 0], "", 1], [[], [["SP", 2, '
        '0, 64, [4, 8], 1], ["AN", 2, 0, 3]]]], "r": [[0.000121], 0, 0.41, 1600000000], "v": "v0.5"}\n'
        '{"i": [["[\\"a1b2\\", 64, 64]", "llvm -mcpu=core-avx2"], [[], []]], "r": [[1e+10], 2, 0.2, 1600000001], "v": '
        '"v0.2"}\n'
    )

    def evaluation(self, line: Any) -> Evaluation:
        (task, target, *_), (_, steps) = line["i"]
        params = {f"{number}.{kind}": args for number, (kind, *args) in enumerate(steps)}
        return _evaluation(str(task), str(target), params, line["r"])
