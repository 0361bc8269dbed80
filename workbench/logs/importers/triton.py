"""Logs of Triton's autotuner: its cache files, with quantiles in milliseconds, and the lines that it prints."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

from workbench.logs.evaluation import Evaluation
from workbench.logs.importer import UNREADABLE, LogImporter, log_importer
from workbench.logs.reading.json_elements import list_elements, member
from workbench.logs.reading.literals import literal
from workbench.logs.source import LONGEST_PRINT, LogSource

_BEGIN = re.compile(rb'\s*\{\s*"key"\s*:\s*\[[^{}]*\]\s*,\s*"configs_timings"\s*:\s*\[')
_KEY = re.compile(r'"((?:[^"\\]|\\.)*)"')


@log_importer("triton")
class TritonCache(LogImporter):
    """Triton: `<kernel>.autotune.json`, every configuration of one kernel and one set of arguments."""

    tuner = "Triton"
    example = (
        '{"key": ["4096", "torch.float16"], "configs_timings": [[{"kwargs": {"BLOCK": 128}, "num_warps": 8, "num_ctas"'
        ': 1, "num_stages": 3, "maxnreg": null, "pre_hook": null, "ir_override": null}, [0.2171, 0.2163, 0.2189]],\n'
        ' [{"kwargs": {"BLOCK": 256}, "num_warps": 8, "num_ctas": 1, "num_stages": 5, "maxnreg": null, "pre_hook": '
        'null, "ir_override": null}, [Infinity, Infinity, Infinity]]]}\n'
    )

    def matches(self, source: LogSource) -> bool:
        return _BEGIN.match(source.head) is not None

    def read(self, source: LogSource) -> Iterator[Evaluation]:
        text = source.text()
        begin = member(text, "configs_timings")
        name = source.path.name.removesuffix(".gz")
        kernel = name.removesuffix(".autotune.json") if name.endswith(".autotune.json") else ""
        key = _KEY.findall(text[text.find("[") : max(begin, 0)].partition("]")[0])
        task = f"{kernel}({', '.join(word.removeprefix('torch.') for word in key)})"
        for line, element in list_elements(source, text, begin) if begin >= 0 else ():
            try:
                yield _timed(task, line, *element)
            except UNREADABLE as error:
                source.fault(line, f"no configuration of Triton ({type(error).__name__})")

    def notes(self, source: LogSource) -> Sequence[str]:
        return ("Times are medians of Triton's benchmark; configurations that were pruned are not in the file.",)


def _timed(task: str, line: int, config: dict[str, Any], timing: Any) -> Evaluation:
    quantiles = [float(v) for v in timing] if isinstance(timing, list) else [float(timing)]
    value = quantiles[0]
    good = math.isfinite(value)
    names = ("p50_ms", "p20_ms", "p80_ms") if len(quantiles) == 3 else ()
    options = {str(k): v for k, v in config.items() if k != "kwargs" and v is not None}
    return Evaluation(
        task=task, params={str(k): v for k, v in config["kwargs"].items()} | options,
        status="ok" if good else "unknown", told="" if good else str(value), value=value if good else None, unit="ms",
        statistic="median" if names else "", extra=dict(zip(names, quantiles, strict=False)) if good else {},
        where=f"line {line}", raw=[config, timing],
    )  # fmt: skip


_STARTED = re.compile(r"Autotuning kernel (?P<task>\S+) with config (?P<config>.*)$")
_FAILED = re.compile(r"Autotuning failed with (?P<error>.*)$")
_FUNCTION = re.compile(r"(?:Triton autotuning|Autotuner) for function (?P<task>[^\s,]+)")
_ARGUMENTS = re.compile(r"with key as (?P<key>\(.*\))")
_FINISHED = re.compile(r"finished after (?P<spent>[\d.]+) ?s")
_BEST = re.compile(r"best config selected: (?P<config>.*?);?\s*$")
_TIMED = re.compile(
    r"config=(?P<config>[^;]*); p50=(?P<p50>[\d.einf+-]+) ms, p20=(?P<p20>[\d.einf+-]+)(?: ms)?, "
    r"p80=(?P<p80>[\d.einf+-]+) ms(?P<best> \[selected\])?"
)
_OPTION = re.compile(r"(\w+): (.*?)(?=, \w+: |[;,]?\s*$)")
_WORDS = (b"Autotuning kernel ", b" for function ", b"config=")
MOST_LINES = 2_000_000
"""Lines of a text that are searched before it is taken for something else. Chosen: seconds."""


@log_importer("triton-text")
class TritonLines(LogImporter):
    """Triton: lines of TRITON_PRINT_AUTOTUNING, which tell what was tried and what was selected, without times."""

    tuner = "Triton"
    rank = 1
    example = (
        "Autotuning kernel add_kernel with config BLOCK_SIZE: 64, num_warps: 2, num_ctas: 1, maxnreg: None\n"
        "Autotuning failed with out of resource: shared memory\n"
        "Autotuning kernel add_kernel with config BLOCK_SIZE: 128, num_warps: 4, num_ctas: 1, maxnreg: None\n"
        "Triton autotuning for function add_kernel,\nwith key as (4096, 'torch.float16'),\nfinished after 9.09s,\n"
        "best config selected: BLOCK_SIZE: 128, num_warps: 4, num_ctas: 1, maxnreg: None;\n"
    )

    def matches(self, source: LogSource) -> bool:
        if not source.head or b"\0" in source.head:
            return False
        for line in source.lines():
            if line.number > MOST_LINES:
                return False
            if any(word in line.raw for word in _WORDS):
                text = _text(line.raw)
                if any(form.search(text) for form in (_STARTED, _FUNCTION, _TIMED)):
                    return True
        return False

    def read(self, source: LogSource) -> Iterator[Evaluation]:
        lines = _Lines()
        for line in source.lines():
            yield from lines.line(_text(line.raw), line.number)
        yield from lines.begun()

    def notes(self, source: LogSource) -> Sequence[str]:
        return ("Triton prints what it tries and what it selects; times only where a line has them.",)


class _Lines:
    """What the lines so far have told."""

    def __init__(self) -> None:
        self.pending: Evaluation | None = None
        self.task = self.key = ""
        self.spent: float | None = None

    def begun(self) -> Iterator[Evaluation]:
        if self.pending is not None:
            yield self.pending
        self.pending = None

    def line(self, text: str, number: int) -> Iterator[Evaluation]:
        where = f"line {number}"
        if found := _STARTED.search(text):
            yield from self.begun()
            self.pending = Evaluation(
                task=found["task"], params=_options(found["config"]), status="started-only", told="started",
                where=where, raw=text.strip(),
            )  # fmt: skip
            return
        if (found := _FAILED.search(text)) and self.pending:
            began = self.pending
            self.pending = None
            yield Evaluation(
                task=began.task, params=began.params, status="unknown", told="failed", error=found["error"].strip(),
                where=began.where, raw=began.raw,
            )  # fmt: skip
            return
        if found := _TIMED.search(text):
            self.pending = None  # it has ended, with a time
            yield _printed_time(self.task, found, where)
        if found := _FUNCTION.search(text):
            yield from self.begun()
            self.task, self.key, self.spent = found["task"], "", None
        if found := _ARGUMENTS.search(text):
            self.key = found["key"]
        if found := _FINISHED.search(text):
            self.spent = float(found["spent"])
        if (found := _BEST.search(text)) and self.task:
            yield Evaluation(
                task=self.task, params=_options(found["config"]), told="best config selected", where=where,
                extra={"selected": True, "key": self.key, "tuning_s": self.spent}, raw=text.strip(),
            )  # fmt: skip
            self.task = ""


def _printed_time(task: str, found: re.Match[str], where: str) -> Evaluation:
    value = float(found["p50"])
    good = math.isfinite(value)
    extra = {"p20_ms": float(found["p20"]), "p80_ms": float(found["p80"]), "selected": bool(found["best"])}
    return Evaluation(
        task=task, params=_options(found["config"]), status="ok" if good else "unknown",
        told="" if good else found["p50"], value=value if good else None, unit="ms", statistic="median",
        extra=extra if good else {}, where=where, raw=found[0],
    )  # fmt: skip


def _options(text: str) -> dict[str, Any]:
    return {name: literal(value) for name, value in _OPTION.findall(text)}


def _text(raw: bytes) -> str:
    return raw[:LONGEST_PRINT].decode("utf-8", "backslashreplace").rstrip("\r\n")
