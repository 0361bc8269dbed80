"""Logs of tinygrad's BEAM: the text of BEAM_DEBUG=2, which tells how a search went, and its cache of winners."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from workbench.logs.evaluation import SECONDS, Evaluation
from workbench.logs.importer import UNREADABLE, LogImporter, log_importer
from workbench.logs.reading.literals import json_value
from workbench.logs.reading.pickles import Inert, plain_pickle
from workbench.logs.reading.sqlite import SqliteImporter, open_tables
from workbench.logs.source import LogSource

_COLOUR = re.compile(r"\x1b\[[\d;]*[A-Za-z]")
_TRIED = re.compile(
    r"^\s*(?P<elapsed>[\d.]+)s:\s+(?P<candidate>\d+)\s+(?P<uops>\d+) uops\s+"
    r"(?P<compile>[\d.]+)(?P<compile_unit>ns|us|ms|s) compile/\s*"
    r"(?P<run>[\d.]+)(?P<run_unit>ns|us|ms|s) run\s+(?P<count>\d+)/\s*(?P<of>\d+)\s+(?P<shape>[\d ]+)$"
)
_FINAL = re.compile(r"BEAM_SEARCH: final tm=\s*(?P<run>[\d.]+)(?P<unit>ns|us|ms|s), applied_opts=(?P<options>\[.*\])")
_ACTIONS = re.compile(r"^\s*[\d.]+s:\s+(?:[\d.]+(?:ns|us|ms|s)\s+)?from\s+\d+ ->\s+\d+ actions\s+(?P<shape>[\d ]+)$")


@log_importer("tinygrad")
class TinygradLog(LogImporter):
    """tinygrad: candidates of a BEAM search with their times; what was applied is told of each winner alone."""

    tuner = "tinygrad"
    tells_failures = False
    example = (
        "BEAM_SEARCH:\nast = c16.sink()\n   0.00s:                from   1 ->   1 actions    2\n"
        "   0.16s:     0    20 uops       153.51ms compile/        2.89us run          1/   2            2\n"
        "   0.31s:     1    24 uops       148.09ms compile/        2.99us run          2/   2            2\n"
        "BEAM_SEARCH: final tm=2.89us, applied_opts=[Opt(op=OptOps.UPCAST, axis=0, arg=0)]\n"
    )

    def matches(self, source: LogSource) -> bool:
        head = source.head
        if b" uops " not in head or b" compile/" not in head or b"\0" in head:
            return False
        return any(_TRIED.match(_plain(raw)) for raw in head.split(b"\n"))

    def read(self, source: LogSource) -> Iterator[Evaluation]:
        """Yield the candidates of a search when it ends."""
        search = _Search()
        for line in source.lines():
            text = _plain(line.raw)
            if tried := _TRIED.match(text):
                search.tried.append((line.number, search.generation, tried))
            elif actions := _ACTIONS.match(text):
                search.generation += 1
                search.shape = search.shape or actions["shape"]
            elif (final := _FINAL.search(text)) or text.endswith("BEAM_SEARCH:"):
                yield from search.evaluations(final)
        yield from search.evaluations(None)

    def notes(self, source: LogSource) -> Sequence[str]:
        return ("The log shows the axes of each candidate; the options behind them it tells of winners alone.",)


class _Search:
    """The lines of a search."""

    def __init__(self) -> None:
        self.number, self.generation, self.shape = 1, 0, ""
        self.tried: list[tuple[int, int, re.Match[str]]] = []

    def evaluations(self, final: re.Match[str] | None) -> Iterator[Evaluation]:
        """Yield the candidates; the options of the winner go to the first that has its time."""
        winner = (final["run"], final["unit"]) if final else None
        for line, generation, tried in self.tried:
            extra: dict[str, Any] = {"candidate": int(tried["candidate"]), "uops": int(tried["uops"])}
            if final and winner == (tried["run"], tried["run_unit"]):
                extra["applied_opts"], winner = final["options"], None
            yield Evaluation(
                task=f"search {self.number}: {_words(self.shape)}", params={"axes": _words(tried["shape"])},
                value=float(tried["run"]), unit=tried["run_unit"], elapsed_s=float(tried["elapsed"]),
                compile_s=float(tried["compile"]) * SECONDS[tried["compile_unit"]], generation=generation,
                extra=extra, where=f"line {line}", raw=tried[0].strip(),
            )  # fmt: skip
        self.number += bool(self.tried)
        self.tried, self.generation, self.shape = [], 0, ""


def _plain(raw: bytes) -> str:
    """Return a line without colours; of one that was overwritten, what stands last."""
    return _COLOUR.sub("", raw.decode("utf-8", "backslashreplace").rstrip("\r\n")).rpartition("\r")[2]


def _words(text: str) -> str:
    return " ".join(text.split())


@log_importer("tinygrad-cache")
class TinygradCache(SqliteImporter):
    """tinygrad: the winners in its cache, without times; what the pickles would call is kept as data."""

    tuner = "tinygrad"
    tells_failures = False
    # The pickle is the list ["UPCAST"], in protocol 2.
    tables = frozenset[str]()
    example = """
    CREATE TABLE beam_search_22 (ast BLOB, amt INTEGER, allow_test_size INTEGER, device TEXT, suffix TEXT, val BLOB);
    INSERT INTO beam_search_22 VALUES (x'9158', 2, 1, 'CPU', '', x'80025d71005806000000555043415354612e'),
        (x'ccec', 2, 1, 'CPU', '', x'80025d71005806000000555043415354612e');
    """

    def matches(self, source: LogSource) -> bool:
        return super().matches(source) and bool(_beam_tables(source))

    def read(self, source: LogSource) -> Iterator[Evaluation]:
        """Yield the winners in the order of the table."""
        with open_tables(source) as tables:
            for table in sorted(name for name in tables.names if name.startswith(_BEAM)) if tables else ():
                assert tables is not None
                for number, row in enumerate(tables.rows(table), 1):
                    where = f"table {table}, row {number}"
                    try:
                        yield _winner(row, where)
                    except UNREADABLE as error:
                        source.fault(where, f"its options are not read: {error}")

    def notes(self, source: LogSource) -> Sequence[str]:
        return ("The cache keeps the winner of each search and no times; BEAM_DEBUG=2 prints those.",)


_BEAM = "beam_search_"


def _beam_tables(source: LogSource) -> list[str]:
    with open_tables(source) as found:
        return [name for name in found.names if name.startswith(_BEAM)] if found else []


def _winner(row: Mapping[str, Any], where: str) -> Evaluation:
    options = plain_pickle(row["val"], objects=True)
    words = [_option(option) for option in options]
    return Evaluation(
        task=f"ast {bytes(row['ast']).hex()[:16]}", device=str(row["device"]), params={"applied_opts": words},
        told="winner", extra={"beam_width": row.get("amt"), "suffix": row.get("suffix")}, where=where, raw=words,
    )  # fmt: skip


def _option(value: Any) -> Any:
    """Return an option of a pickle in words: its name, and its arguments or fields."""
    if not isinstance(value, Inert):
        return json_value(value)
    name = value.name.rpartition(".")[2]
    fields = [f"{key}={_option(v)}" for key, v in value.state.items()]
    return f"{name}({', '.join([*(str(_option(v)) for v in value.arguments), *fields])})"
