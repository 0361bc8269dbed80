"""What a log of any length says in sum: it is read once, and little of it is kept.

The ledger takes only trials that it may ever name: those that nobody else beat until then, the default schedules, the
participants of comparisons, and programs that were measured again. All others are counted. So a log of a million trials
fits into some hundred megabytes, and what is said of it is what the ledger of all its lines says.
"""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from workbench.log.conditions import Conditions
from workbench.log.ledger import Ledger
from workbench.log.lines import AnyLine, Command, Comparison, NetworkTime, Round, Unknown
from workbench.log.reader import Header, iter_brief, open_for_reading
from workbench.log.rows import Brief
from workbench.many_values import many_values

_BLOCK = 1 << 24
"""Bytes that are searched at a time. Chosen."""

_KEY = re.compile(rb'"key"\s*:\s*"([^"\\]*)"')
_TRIALS = re.compile(rb'"trials"\s*:\s*\[([0-9,\s]*)\]')


class Tally:
    """What a log says in sum.

    Parameters
    ----------
    path : path
        A log of ours.

    Attributes
    ----------
    header : Header or None
    ledger : Ledger
    names : dict of str to str
        Tasks by their keys, in the model's order.
    torn : bool
        Whether the last line is not complete.
    trials, comparisons, new_best, commands : int
    seconds : float
        Tuning time.
    failures : Counter of (str, str)
        Failed trials by status and error.
    hosts, caches : Counter
        Trials by machine and by what they found in the caches.
    conditions : Conditions
    rounds : int
    spent : dict of str to float
        Seconds of all rounds: ``ask_s``, ``tell_s``, ``measure_s``.
    ranks : dict of str to float
        Latest rank correlation of each task's model.
    unknown : Counter
        Lines of newer versions by their kind.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.header: Header | None = None
        self.ledger, self.names = Ledger(), dict[str, str]()
        self.torn, self.trials, self.seconds = False, 0, 0.0
        self.comparisons = self.new_best = self.commands = 0
        self.failures: Counter[tuple[str, str]] = Counter()
        self.hosts, self.caches, self.unknown = Counter[str](), Counter[str](), Counter[str]()
        self.conditions = Conditions()
        self.rounds, self.spent = 0, {"ask_s": 0.0, "tell_s": 0.0, "measure_s": 0.0}
        self.ranks: dict[str, float] = {}
        self._least: dict[tuple[str, bool, str], float] = {}
        self._again, self._named = _again(path)
        with many_values():
            for line in iter_brief(path):
                self._take(line)

    def _take(self, line: Header | AnyLine | Brief | str) -> None:
        if isinstance(line, Brief):
            self._trial(line.fields, line)
        elif isinstance(line, Header):
            self.header = self.header or line
            self.names |= dict(line.tasks) if line is self.header else {}
        elif isinstance(line, str):
            self.torn = True
        else:
            self._other(line)

    def _trial(self, told: Mapping[str, Any], line: Brief) -> None:
        key, status, ms = told["task_key"], told["status"], told["latency_ms"]
        ok = status == "ok" and ms is not None
        self.names.setdefault(key, told["task"])
        self.trials += 1
        self.seconds = max(self.seconds, told["elapsed_s"])
        self.hosts[told["host"]] += 1
        self.caches[told["caches"]] += 1
        self.conditions.take(told["target"], told["host"], told["caches"], ok)
        if not ok:
            self.failures[status, told["error"]] += 1
        if self._counts(told, ok):
            self.ledger.take(line.record())
        else:
            self.ledger.count(key, told["target"], "" if ok else status)

    def _counts(self, told: Mapping[str, Any], ok: bool) -> bool:
        """Whether the ledger may ever name a trial, or has to look whether it was there before."""
        program, under = told["key"], (told["task_key"], told["clean"], told["caches"])
        plain = program.isascii() and program.isalnum()  # others, and none, are not found in the bytes of the log
        if not plain or hash(program.encode()) in self._again or told["trial"] in self._named:
            return True
        if told["task_key"] not in self.ledger.tasks or told["origin"] == "default":
            return True
        if not ok or told["latency_ms"] > self._least.get(under, math.inf):
            return False
        self._least[under] = told["latency_ms"]
        return True

    def _other(self, line: AnyLine) -> None:
        if isinstance(line, Comparison | NetworkTime):
            self.ledger.take(line)
        if isinstance(line, Comparison):
            self.comparisons += 1
            self.new_best += line.new_best
        elif isinstance(line, Round):
            self.rounds += 1
            for name in self.spent:
                self.spent[name] += getattr(line, name)
            if line.spearman is not None:
                self.ranks[line.task_key] = line.spearman
        elif isinstance(line, Command):
            self.commands += 1
        elif isinstance(line, Unknown):
            self.unknown[line.kind] += 1


def _again(path: str | os.PathLike[str]) -> tuple[set[int], set[int]]:
    """Return what stands for programs that are named more than once, and the numbers of trials that were compared."""
    import numpy as np

    keys, named = [], set[int]()
    with open_for_reading(path) as file:
        while block := file.read(_BLOCK) + file.readline():
            keys.append(np.array([hash(key) for key in _KEY.findall(block)], dtype=np.int64))
            compared = b",".join(_TRIALS.findall(block)).split(b",")
            named.update(int(number) for number in compared if number.strip())
    found, counts = np.unique(np.concatenate([np.zeros(0, np.int64), *keys]), return_counts=True)
    return set(found[counts > 1].tolist()), named
