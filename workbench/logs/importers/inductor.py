"""Logs of Inductor's max-autotune: printed tables in the midst of other text, and its two files of results; in ms."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from workbench.logs.evaluation import Evaluation
from workbench.logs.importer import UNREADABLE, JsonLinesImporter, LogImporter, log_importer
from workbench.logs.reading.json_elements import list_elements
from workbench.logs.reading.literals import keywords, literal
from workbench.logs.source import LONGEST_PRINT, LogSource

MOST_LINES = 2_000_000
"""Lines of a text that are searched for a table before it is taken for something else. Chosen: seconds."""

_HEAD = re.compile(r"AUTOTUNE (?P<task>[\w.:]+\([^\n]*?\))(?: \[(?P<cache>CACHE HIT)\])?\s*$")
_ROW = re.compile(
    r"(?P<name>[\w.:]+) (?P<value>\d+(?:\.\d+)?(?:e[+-]?\d+)?|inf|nan) ?(?P<unit>ms|s|us) "
    r"(?P<share>[\d.]+%|inf%|nan%|<DIVIDED BY ZERO ERROR>)\s*(?P<options>(?:\w+=.*)?)$"
)
_END = re.compile(
    r"AUTOTUNE (?:benchmarking )?takes (?P<measuring>[\d.]+) seconds"
    r"(?: and (?P<compiling>[\d.]+) seconds precompiling)?(?: and (?P<screening>[\d.]+) seconds prescreening)?"
    r"(?: for (?P<choices>\d+) choices)?"
)
_PROPERTY = re.compile(r"\b(strides|dtypes): (.*)$")
_STATS = re.compile(r'\{"num_choices": .*\}\s*$')
_NUMBER = re.compile(r"_\d+$")


@dataclass
class _Table:
    """One printed table."""

    task: str
    line: int
    cached: bool
    stats: dict[str, Any] = field(default_factory=dict)
    properties: dict[str, str] = field(default_factory=dict)
    rows: list[tuple[int, re.Match[str]]] = field(default_factory=list)
    spent: dict[str, float] = field(default_factory=dict)
    choices: int | None = None


@log_importer("inductor")
class InductorTables(LogImporter):
    """Inductor: printed tables of the best choices of each operation."""

    tuner = "Inductor"
    rank = 1
    example = (
        "compiling ...\n"
        "AUTOTUNE mm(128x4096, 4096x12288)\n"
        "strides: [4096, 1], [1, 4096]\n"
        "dtypes: torch.float16, torch.float16\n"
        "  mm 0.0485 ms 100.0% \n"
        "  triton_mm_18 0.0492 ms 98.7% ACC_TYPE='tl.float32', BLOCK_K=64, num_stages=5\n"
        "  triton_mm_19 inf ms 0.0% ACC_TYPE='tl.float32', BLOCK_K=128, num_stages=5\n"
        "SingleProcess AUTOTUNE benchmarking takes 0.3031 seconds and 0.3110 seconds precompiling for 3 choices\n"
    )

    def __init__(self) -> None:
        self._strides: dict[str, str] = {}
        self._hidden = self._tables = self._slips = self._contradictions = 0

    def matches(self, source: LogSource) -> bool:
        head = source.head
        if not head or b"\0" in head:
            return False
        begin = None
        for line in source.lines():
            if line.number > MOST_LINES:
                return False
            if b"AUTOTUNE " in line.raw and _HEAD.search(_text(line.raw)):
                begin = line.number
            elif begin is not None and b"%" in line.raw and _ROW.search(_text(line.raw)):
                return True
        return False

    def read(self, source: LogSource) -> Iterator[Evaluation]:
        """Yield the rows of a table when it ends, or when the next one begins."""
        table: _Table | None = None
        stats: dict[str, Any] = {}
        for line in source.lines():
            text = _text(line.raw)
            if (end := _END.search(text)) and table:
                _close(table, end)
                yield from self._evaluations(source, table)
                table = None
            elif found := _HEAD.search(text):
                yield from self._evaluations(source, table)
                table = _Table(found["task"], line.number, bool(found["cache"]), stats)
                stats = {}
            elif found := _STATS.search(text):
                stats = _statistics(source, line.number, found[0])
            elif table and (found := _PROPERTY.search(text)) and not table.rows:
                table.properties[found[1]] = found[2].strip()
            elif table and (found := _ROW.search(text)):
                table.rows.append((line.number, found))
        yield from self._evaluations(source, table)

    def _evaluations(self, source: LogSource, table: _Table | None) -> Iterator[Evaluation]:
        if table is None:
            return
        self._tables += 1
        choices = table.choices or table.stats.get("num_choices")
        if isinstance(choices, int):
            self._hidden += max(0, choices - len(table.rows))
        task = self._task(table)
        extra = {"choices": choices, **table.spent, **table.properties} | ({"cached": True} if table.cached else {})
        best = table.stats.get("best_time")
        for place, (line, row) in enumerate(table.rows):
            slip = row["unit"] == "s"  # the first version printed seconds and meant milliseconds
            self._slips += slip
            value = float(row["value"])
            if place == 0 and isinstance(best, float) and abs(value - best) > 0.5001e-4:
                self._contradictions += 1
            yield _row_evaluation(task, row, value, "ms" if slip else row["unit"], extra, line)

    def _task(self, table: _Table) -> str:
        """Return the operation with its types; with its strides, too, where the same one has others."""
        dtypes = [part.strip().removeprefix("torch.") for part in table.properties.get("dtypes", "").split(",")]
        words = f"{table.task} {', '.join(dtypes) if len(set(dtypes)) > 1 else dtypes[0]}".strip()
        strides = table.properties.get("strides", "")
        return words if self._strides.setdefault(words, strides) == strides else f"{words}, strides {strides}"

    def notes(self, source: LogSource) -> Sequence[str]:
        told = []
        if self._hidden:
            told.append(
                f"{self._hidden} choices of {self._tables} operations are not shown: Inductor prints the best 10 "
                "unless TORCHINDUCTOR_AUTOTUNE_NUM_CHOICES_DISPLAYED says more."
            )
        if self._slips:
            told.append(f"{self._slips} times are printed as s; Inductor meant ms when it printed so.")
        if self._contradictions:
            told.append(f"{self._contradictions} tables begin with another time than their statistics name as best.")
        return told


def _text(raw: bytes) -> str:
    """Return a line without its end; of one that a progress bar has overwritten, what stands last."""
    return raw.rstrip(b"\r\n").rpartition(b"\r")[2][:LONGEST_PRINT].decode("utf-8", "backslashreplace")


def _close(table: _Table, end: re.Match[str]) -> None:
    names = {"measuring": "benchmarking_s", "compiling": "precompiling_s", "screening": "prescreening_s"}
    table.spent = {name: float(end[group]) for group, name in names.items() if end[group]}
    table.choices = int(end["choices"]) if end["choices"] else None


def _statistics(source: LogSource, number: int, text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except UNREADABLE:
        source.fault(number, "damaged statistics of choices")
        return {}
    return found if isinstance(found, dict) else {}


def _row_evaluation(
    task: str, row: re.Match[str], value: float, unit: str, extra: dict[str, Any], line: int
) -> Evaluation:
    options = row["options"]
    params: dict[str, Any] = {"kernel": _NUMBER.sub("", row["name"])}
    try:
        params |= keywords(f"choice({options})") if options else {}
    except ValueError:  # cut off by a terminal
        params |= dict(_option(part) for part in options.split(", ") if "=" in part)
    good = math.isfinite(value)
    return Evaluation(
        task=task, params=params, status="ok" if good else "unknown", told="" if good else row["value"],
        value=value if good else None, unit=unit, extra={"choice": row["name"], "share": row["share"], **extra},
        where=f"line {line}", raw=row[0],
    )  # fmt: skip


def _option(part: str) -> tuple[str, Any]:
    name, _, value = part.partition("=")
    return name, literal(value)


_GENERAL = {
    "op_name", "cuda_device_name", "cuda_device_count", "input_nodes", "autotuning_time", "precompile_time",
    "prescreening_time", "benchmark_result",
}  # fmt: skip


@log_importer("inductor-json")
class InductorResults(JsonLinesImporter):
    """Inductor: `autotuning_result_json_list.txt` of its trace folder, with every choice."""

    tuner = "Inductor"
    example = (
        '{"backend": "Triton", "grid": "(192, 1, 1)", "num_stages": 5, "num_warps": 8, "op_name": "mm", '
        '"cuda_device_name": "NVIDIA H100", "cuda_device_count": 1, "input_nodes": [{"name": "a", "size": '
        '"[128, 4096]", "dtype": "torch.float16"}], "autotuning_time": 0.3, "precompile_time": 0.2, '
        '"benchmark_result": 0.0492}\n'
        '{"backend": "extern", "op_name": "mm", "cuda_device_name": "NVIDIA H100", "cuda_device_count": 1, '
        '"input_nodes": [], "autotuning_time": 0.3, "precompile_time": 0.2, "benchmark_result": Infinity}\n'
    )

    def matches(self, source: LogSource) -> bool:
        line = source.head.split(b"\n", 1)[0]
        return line.startswith(b"{") and b'"benchmark_result":' in line and b'"op_name":' in line

    def evaluation(self, line: Any) -> Evaluation:
        value = float(line["benchmark_result"])
        good = math.isfinite(value)
        shapes = ", ".join(_shape(node) for node in line["input_nodes"])
        return Evaluation(
            task=f"{line['op_name']}({shapes})", device=str(line.get("cuda_device_name") or ""), unit="ms",
            params={str(k): v for k, v in line.items() if k not in _GENERAL}, status="ok" if good else "unknown",
            told="" if good else str(value), value=value if good else None,
            extra={"autotuning_s": line.get("autotuning_time"), "precompiling_s": line.get("precompile_time")},
        )  # fmt: skip


def _shape(node: dict[str, Any]) -> str:
    size = literal(node["size"]) if isinstance(node.get("size"), str) else node.get("size")
    sizes = "x".join(map(str, size)) if isinstance(size, list) else str(node.get("name", "?"))
    return f"{sizes} {str(node.get('dtype', '')).removeprefix('torch.')}".strip()


@log_importer("inductor-mm")
class InductorMmLog(LogImporter):
    """Inductor: the file of TORCHINDUCTOR_MM_LOGGING_FILE, choices by the sizes of a product of matrices."""

    tuner = "Inductor"
    example = (
        '[{"(128, 4096, 12288)": [{"type": "cublas", "time": 0.0485},\n {"type": "triton", "time": 0.0492, "BLOCK_M": '
        '"128", "num_warps": 8},\n {"type": "triton", "time": Infinity, "BLOCK_M": "256", "num_warps": 8}]}]\n'
    )
    _begin = re.compile(rb'\s*\[\s*\{\s*"\(\d+, \d+, \d+[^"]*\)"\s*:\s*\[')

    def matches(self, source: LogSource) -> bool:
        return self._begin.match(source.head) is not None

    def read(self, source: LogSource) -> Iterator[Evaluation]:
        text = source.text()
        for line, sizes in list_elements(source, text, text.find("[") + 1):
            for key, choices in sizes.items() if isinstance(sizes, dict) else ():
                for choice in choices if isinstance(choices, list) else ():
                    try:
                        yield _mm_evaluation(key, choice, line)
                    except UNREADABLE as error:
                        source.fault(line, f"no choice of Inductor ({type(error).__name__})")


def _mm_evaluation(key: str, choice: dict[str, Any], line: int) -> Evaluation:
    value = float(choice["time"])
    good = math.isfinite(value)
    return Evaluation(
        task=f"mm{key}", params={str(k): v for k, v in choice.items() if k != "time"}, unit="ms",
        status="ok" if good else "unknown", told="" if good else str(value), value=value if good else None,
        where=f"line {line}", raw=choice,
    )  # fmt: skip
