"""What evaluations say, as arrays: numbers, words by their number, repeats one after the other."""

from __future__ import annotations

import io
import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.logs.evaluation import Evaluation
from workbench.logs.table.packed import BATCH, Packed

Numbers = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]

NUMBERS = (
    "value", "elapsed_s", "predicted", "timestamp", "compile_s", "run_s", "verify_s", "search_s", "spent_s",
    "generation",
)  # fmt: skip
"""Fields of `Evaluation` that are numbers; missing ones are NaN."""

CATEGORIES = ("task", "device", "target", "unit", "objective", "direction", "statistic", "technique")
"""Fields that have few values."""

WORDS = (*CATEGORIES, "status", "told", "error", "run")
"""Fields that are text."""

LONGEST_ERROR = 500
"""Characters of an error that the columns keep; `TuningLog.raw` has all of them. Chosen: what a table can show."""

OBJECTS = ("params", "extra", "where", "raw")
"""Fields whose values are kept as they are, or packed."""

PACKED_FROM = 20_000
"""Records from which on `OBJECTS` are packed: they take a tenth of the room then. Chosen: some 100 MB before."""

_get_numbers, _get_words = attrgetter(*NUMBERS), attrgetter(*WORDS)


@dataclass(slots=True)
class Columns:
    """What the records of a file say, without their parameters, counters and raw text.

    Attributes
    ----------
    numbers : dict of array
        Of `NUMBERS`, those that some record has: one number per record.
    words : dict of (array, list of str)
        Of `WORDS`: number of the word per record, and the words.
    lines, offsets : array of int
        Number of each record's line from 1, and where it begins in the file, in bytes; or -1.
    repeats, ends : array
        The repeats of all records one after the other, and where those of each record end.
    """

    lines: Whole
    offsets: Whole
    numbers: dict[str, Numbers]
    words: dict[str, tuple[npt.NDArray[np.int32], list[str]]]
    repeats: Numbers
    ends: Whole

    def __len__(self) -> int:
        return len(self.lines)

    def head(self, count: int) -> Columns:
        """Return the first records only."""
        ends = self.ends[:count]
        return Columns(
            self.lines[:count], self.offsets[:count], {name: a[:count] for name, a in self.numbers.items()},
            {name: (codes[:count], known) for name, (codes, known) in self.words.items()},
            self.repeats[: int(ends[-1]) if len(ends) else 0], ends,
        )  # fmt: skip

    def text(self, name: str) -> npt.NDArray[np.object_]:
        """Return a word of each record."""
        codes, known = self.words[name]
        return np.array([*known, ""], dtype=object)[codes]

    # ---- as bytes ----

    def to_bytes(self, told: Mapping[str, Any]) -> bytes:
        """Return the columns, and what else is `told` (JSON), as bytes that `from_bytes` understands."""
        about = {"told": told, "words": {name: known for name, (_, known) in self.words.items()}}
        arrays: dict[str, npt.NDArray[Any]] = {
            "about": np.frombuffer(json.dumps(about).encode(), np.uint8), "lines": self.lines, "offsets": self.offsets,
            "repeats": self.repeats, "ends": self.ends,
        }  # fmt: skip
        arrays |= {f"n.{name}": a for name, a in self.numbers.items()}
        arrays |= {f"w.{name}": codes.astype(_narrow(len(known))) for name, (codes, known) in self.words.items()}
        buffer = io.BytesIO()
        np.savez(buffer, **arrays)  # type: ignore[arg-type]
        return buffer.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes) -> tuple[Columns, dict[str, Any]]:
        """Return columns and what else was told; ValueError, KeyError or OSError for other bytes."""
        with np.load(io.BytesIO(data), allow_pickle=False) as found:
            about = json.loads(found["about"].tobytes())
            numbers = {name[2:]: found[name] for name in found.files if name.startswith("n.")}
            words = {n: (found[f"w.{n}"].astype(np.int32), list(known)) for n, known in about["words"].items()}
            columns = cls(found["lines"], found["offsets"], numbers, words, found["repeats"], found["ends"])
            return columns, about["told"]


def _narrow(values: int) -> type[np.signedinteger[Any]]:
    return np.int8 if values <= 127 else np.int16 if values <= 32_767 else np.int32


@dataclass(slots=True)
class Collector:
    """Makes columns of evaluations that come one by one.

    Parameters
    ----------
    keep : bool
        Whether to keep `OBJECTS`, too: those of a file that is not read again.

    Attributes
    ----------
    objects : dict
        What was kept, by name: a list, or `Packed`.
    no_times : int
        Records that failed because their time is none (`Evaluation.checked`).
    """

    keep: bool = True
    objects: dict[str, list[Any] | Packed] = field(default_factory=lambda: {name: [] for name in OBJECTS})
    no_times: int = 0
    _waiting: list[Evaluation] = field(default_factory=list)
    _places: list[tuple[int, int]] = field(default_factory=list)
    _done: list[Columns] = field(default_factory=list)
    _known: dict[str, dict[str, int]] = field(default_factory=lambda: {name: {} for name in WORDS})

    def add(self, found: Evaluation, line: int = -1, offset: int = -1) -> None:
        """Take one evaluation in, with its place where it does not say it itself."""
        one = found.checked()
        self.no_times += one is not found
        self._waiting.append(one)
        self._places.append((line, found.offset if offset < 0 else offset))
        if len(self._waiting) >= BATCH:
            self._flush()

    def extend(self, found: Iterable[Evaluation]) -> Collector:
        """Take many in."""
        for one in found:
            self.add(one)
        return self

    def columns(self) -> Columns:
        """Return what was taken in."""
        self._flush()
        self._done = [joined(self._done)]
        return self._done[0]

    def _flush(self) -> None:
        found, self._waiting = self._waiting, []
        places, self._places = np.array(self._places, dtype=np.int64).reshape(-1, 2), []
        if self.keep and found:
            self._keep(found)
        numbers = {
            name: np.array(told, dtype=np.float64)
            for name, told in zip(NUMBERS, zip(*map(_get_numbers, found), strict=True), strict=False)
            if any(number is not None for number in told)
        }
        words = {
            name: (self._numbered(name, told), list(self._known[name]))
            for name, told in zip(
                WORDS, zip(*map(_get_words, found), strict=True) if found else [()] * len(WORDS), strict=True
            )
        }
        repeats = [one.repeats for one in found]
        ends = np.cumsum([len(r) for r in repeats], dtype=np.int64)
        every = np.array(list(itertools.chain.from_iterable(repeats)), dtype=np.float64)
        self._done.append(Columns(places[:, 0], places[:, 1], numbers, words, every, ends))

    def _keep(self, found: Sequence[Evaluation]) -> None:
        for name, kept in self.objects.items():
            values = [getattr(one, name) for one in found]
            if isinstance(kept, Packed):
                kept.add(values)
                continue
            kept += values
            if len(kept) >= PACKED_FROM:
                self.objects[name] = Packed(kept)

    def _numbered(self, name: str, told: Sequence[str]) -> npt.NDArray[np.int32]:
        known = self._known[name]
        if name == "error" and not self.keep:
            told = [word if len(word) <= LONGEST_ERROR else word[:LONGEST_ERROR] + " …" for word in told]
        for word in dict.fromkeys(told):
            known.setdefault(word, len(known))
        return np.array([known[word] for word in told], dtype=np.int32)


def joined(parts: Sequence[Columns]) -> Columns:
    """Return columns one after the other; the offsets and lines of each stay as they are."""
    parts = [part for part in parts if len(part)] or parts[:1]
    if len(parts) == 1:
        return parts[0]
    count = sum(map(len, parts))
    names = [name for name in NUMBERS if any(name in part.numbers for part in parts)]
    missing = np.full(max((len(p) for p in parts), default=0), np.nan)
    numbers = {n: _end_to_end([p.numbers.get(n, missing[: len(p)]) for p in parts], np.float64) for n in names}
    words = {name: _same_words([part.words.get(name) for part in parts], count) for name in WORDS}
    starts = np.cumsum([0, *(len(part.repeats) for part in parts)])
    return Columns(
        _end_to_end([part.lines for part in parts], np.int64),
        _end_to_end([part.offsets for part in parts], np.int64),
        numbers,
        words,
        _end_to_end([part.repeats for part in parts], np.float64),
        _end_to_end([part.ends + start for part, start in zip(parts, starts, strict=False)], np.int64),
    )


def _end_to_end(arrays: Sequence[npt.NDArray[Any]], dtype: Any) -> npt.NDArray[Any]:
    return np.concatenate(arrays) if arrays else np.empty(0, dtype=dtype)


def _same_words(
    parts: Sequence[tuple[npt.NDArray[np.int32], list[str]] | None], count: int
) -> tuple[npt.NDArray[np.int32], list[str]]:
    """Number the words of several parts anew."""
    known: dict[str, int] = {}
    out = []
    for codes, words in filter(None, parts):
        own = np.array([known.setdefault(word, len(known)) for word in words], dtype=np.int32)
        out.append(own[codes] if len(codes) else codes)
    return (np.concatenate(out) if out else np.zeros(count, dtype=np.int32)), list(known)
