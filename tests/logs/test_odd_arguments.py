"""Whatever is passed to the questions to a log: an answer, or an error that says what is wrong, and none of our own."""

from __future__ import annotations

import contextlib
import inspect
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from workbench.errors import UsageError, WorkbenchError
from workbench.logs import analysis

DATA = Path(__file__).parents[1] / "data" / "logs"
SMALL = DATA / "kernel-tuner" / "mm96-cpu-v1.5.0.json"
ODD = {
    "nothing": None, "number": 3, "negative": -1, "digits": 10**400, "not a number": float("nan"), "object": object(),
    "word": "nope", "list": [], "list of nothing": [None], "mapping": {}, "true": True, "bytes": b"x", "zero": "\0",
}  # fmt: skip
QUESTIONS = [name for name in analysis.__all__ if callable(getattr(analysis, name))]


@pytest.fixture(scope="module")
def log() -> Any:
    return wb.logs.open(SMALL)


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_opening_and_asking(odd: Any, log: Any, tmp_path: Path) -> None:
    calls = [
        wb.logs.open, wb.logs.parse, wb.read_log, wb.logs.replay, wb.logs.explain, log.raw, log.table,
        lambda x: wb.logs.open(SMALL, format=x), lambda x: wb.logs.open(SMALL, space=x),
        lambda x: wb.logs.open(SMALL, direction=x), lambda x: wb.logs.open(SMALL, unit=x),
        lambda x: wb.logs.open(SMALL, task=x), lambda x: wb.logs.replay(log, x),
        lambda x: wb.logs.replay(log, 0, task=x), log.best, lambda x: log.best(task=x),
        lambda x: wb.logs.convert(x, tmp_path / "x.csv"), lambda x: wb.logs.convert(log, x),
        lambda x: wb.logs.report(x, tmp_path / "x.html"), lambda x: wb.logs.report(log, x),
    ]  # fmt: skip
    for call in calls:
        with contextlib.suppress(WorkbenchError):
            call(odd)


@pytest.mark.parametrize("question", QUESTIONS)
def test_questions(question: str, log: Any) -> None:
    ask = getattr(analysis, question)
    names = [n for n, p in inspect.signature(ask).parameters.items() if p.kind is not p.VAR_KEYWORD]
    logs = (log, log) if "second" in names else (log,)
    for odd in ODD.values():
        with contextlib.suppress(WorkbenchError):
            ask(odd, *logs[1:])
        for name in names[len(logs) :]:
            with contextlib.suppress(WorkbenchError):
                ask(*logs, **{name: odd})


def test_a_hint_that_does_not_exist_is_told() -> None:
    with pytest.raises(UsageError) as caught:
        wb.logs.open(SMALL, dirction="max")
    assert caught.value.code == "usage.option"
    assert "direction" in caught.value.hint
