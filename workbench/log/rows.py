"""Version 2 of the log: what trials share is written once, a trial is a row.

A row is a trial with short names that leaves out what the shared lines in its `of` say, and what is as usual. `Decoder`
makes `Record`s of rows.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from workbench.log.columns import PLAIN, UNUSABLE, Check, Line, checks, column, corrupt, unknown_fields
from workbench.log.filled_trace import FilledTrace, Sketch
from workbench.log.objects import line_object
from workbench.log.record import USUAL, Record

ROWS = 2
"""Version of logs that have rows."""

SHORT: Mapping[str, str] = {
    "n": "trial", "e": "elapsed_s", "ms": "latency_ms", "st": "status", "o": "origin", "p": "predicted",
    "sp": "spread", "c": "compile_s", "x": "run_s", "err": "max_rel_error", "pa": "parent", "mu": "mutation",
}  # fmt: skip
"""Short names of a trial's fields in rows; the other fields go by their own."""

SPECIAL: Mapping[str, str] = {
    "of": "numbers of the shared lines that hold for the trial, of equal fields the last one's",
    "row": "`row`: a value for each of the shared `holes`; left out where the shared `places` tell it",
    "v": "numbers of `trace`: one for each 0 of the shared one, in their order",
    "costs": "`costs_ms`: a number of decimals, then each repeat as a whole number of the last one's unit",
    "at": "`timestamp`: tenths of milliseconds after the shared `since` and `elapsed_s`; 0 where it is left out",
}
"""Fields of a row that hold a field of the trial in another form."""

TICKS = 10_000
"""Parts of a second in `at`."""

DECIMALS = 22
"""Most decimals in `costs`: up to there a power of ten is exact, and so is each repeat."""

MOST_FIELDS = 100
"""Fields of a shared line at most. Chosen: far more than a trial has; lines that build on lines stay small."""

MIXED = "the file holds several logs: split it where each begins, then 'workbench log merge' them"
"""What to do where a number means two things: without the line, trials below would get what another log shares."""

CUT = (
    'a trial needs the lines with an "id" that stand above it in the whole log: keep them where you cut a log, or make '
    "a table of the whole log with 'workbench log convert LOG -o LOG.csv'"
)
"""What to do where something shared is missing."""

_BASES_KEPT = 1000
"""Combinations of shared lines that are kept ready. Chosen: some rounds of a few hundred tasks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared(Line):
    """What trials have in common: any fields of a trial, and what is made of their rows."""

    kind: ClassVar[str] = "shared"

    id: int = column("its number in this log")
    of: tuple[int, ...] = column("numbers of shared lines that hold here, too", default=())
    since: int | None = column("when the tuning time began, in tenths of milliseconds since the epoch", default=None)
    holes: tuple[str, ...] | None = column("names of the values in `row`", default=None)
    places: tuple[int, ...] | None = column("where in `v` the value of each hole stands, from 0", default=None)
    first: int = column("number of the first one of `steps`; the others follow", default=0)
    steps: tuple[Any, ...] = column(
        "primitives that are new, each as its name and arguments, with 0 for every number", default=()
    )
    trace: tuple[int, ...] | None = column("the schedule: numbers of primitives", default=None)
    extra: Mapping[str, Any] = unknown_fields()


@dataclass(frozen=True, slots=True)
class _Base:
    """What the trials of some shared lines begin with."""

    whole: tuple[Mapping[str, Any], frozenset[str]]  # fields, and what else is needed
    brief: tuple[Mapping[str, Any], frozenset[str]]  # without `row` and `trace`
    extra: Mapping[str, Any]
    since: int | None
    holes: tuple[str, ...]
    places: tuple[int, ...]
    sketch: Sketch | None


def is_row(data: Mapping[str, Any]) -> bool:
    """Whether a line is a trial in short."""
    return "of" in data and "n" in data and "kind" not in data


def is_shared(data: Mapping[str, Any]) -> bool:
    """Whether a line says what rows share."""
    return "id" in data and not ("n" in data or "kind" in data or "trial" in data)


class Decoder:
    """Makes trials of rows.

    Attributes
    ----------
    shared : dict of int to Shared
        What rows may refer to.
    steps : dict of int to mapping
        Primitives with holes.
    mixed : bool
        Whether there were lines of several logs: what is shared is that of the first.
    """

    def __init__(self) -> None:
        self.mixed, self._version = False, 0
        self.shared: dict[int, Shared] = {}
        self.steps: dict[int, Mapping[str, Any]] = {}
        self._merged: dict[int, Mapping[str, Any]] = {}
        self._bases: dict[tuple[int, ...], _Base] = {}

    def begin(self, version: int, where: str = "") -> None:
        """Take the version that a header tells; ``log.corrupt`` where the numbers of another log were taken before."""
        before, self._version = self._version, max(self._version, version)
        if before and self._version >= ROWS:
            self.mixed = True
            raise corrupt("Another log begins here", where, MIXED)

    def declare(self, data: Mapping[str, Any], where: str = "") -> None:
        """Take what rows refer to.

        Raises
        ------
        LogError
            ``log.corrupt`` for a line that cannot be used, or that gives a number a second meaning.
        """
        line = Shared.from_json(data, where)
        if line.id in self.shared:
            if self.shared[line.id] != line:
                self.mixed = True
                raise corrupt(f"Another shared line has the number {line.id}", where, MIXED)
            return
        steps = _steps(line, where)
        if any(self.steps.get(number, step) != step for number, step in steps.items()):
            self.mixed = True
            raise corrupt("A primitive has the number of another one", where, MIXED)
        own: dict[str, Any] = {name: value for name in _MADE if (value := getattr(line, name)) is not None}
        if line.trace is not None:
            known = [steps.get(number, self.steps.get(number)) for number in line.trace]
            if None in known:
                raise corrupt("The schedule has primitives that are not there", where, CUT)
            own["trace"] = Sketch([step for step in known if step is not None])
        merged = {**self._together(line.of, where), **own, **_cleaned(line.extra, where)}
        if len(merged) > MOST_FIELDS:
            raise corrupt(f"The shared line has more than {MOST_FIELDS} fields", where)
        self.steps.update(steps)
        self.shared[line.id], self._merged[line.id] = line, merged

    def _together(self, of: Sequence[int], where: str) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for number in of:
            if number not in self._merged:
                raise corrupt(f"The shared line {number} is not there", where, CUT)
            out.update(self._merged[number])
        return out

    def _base(self, of: Any, where: str) -> _Base:
        """Return what a row begins with."""
        if not isinstance(of, list) or not _INT.issuperset(map(type, of)) or len(of) > MOST_FIELDS:
            raise corrupt("The field 'of' of the trial has an unusable value", where)
        key = tuple(of)
        found = self._bases.get(key)
        if found is None:
            if len(self._bases) >= _BASES_KEPT:
                self._bases.clear()
            found = self._bases[key] = _base_of(self._together(of, where))
        return found

    def record(self, data: Mapping[str, Any], where: str = "") -> Record:
        """Return the trial that a row is; raises as `fields` does."""
        return Record(**self.fields(data, where))

    def fields(self, data: Mapping[str, Any], where: str = "", brief: bool = False) -> dict[str, Any]:
        """Return the fields of the trial that a row is; without `row` and `trace` where it is to be `brief`.

        Raises
        ------
        LogError
            ``log.corrupt`` for a field that is missing or unusable, and for a shared line that is not there.
        """
        base = self._base(data.get("of"), where)
        told, needed = base.brief if brief else base.whole
        out = dict(told)
        extra: dict[str, Any] | None = None
        name = ""
        try:
            for name, value in data.items():
                if own := _OWN.get(name):
                    field, kind, clean = own
                    if type(value) is kind and (kind is str or 0 < value < PLAIN):
                        out[field] = value
                    elif value is not None:
                        out[field] = clean(value)
                elif name in _FORMS:
                    field, form = _FORMS[name]
                    if value is not None and not (brief and name != "costs"):
                        out[field] = form(value, base)
                elif name not in ("of", "at"):
                    extra = extra or {}
                    extra[name] = value
            name = "places"
            if "row" not in out and base.places and not brief:
                out["row"] = _placed(out["trace"], base)
            if "timestamp" not in out and base.since is not None:
                out["timestamp"] = _at(base, out["elapsed_s"], data.get("at", 0))
        except (*UNUSABLE, IndexError):
            raise corrupt(f"The field '{name}' of the trial has an unusable value", where) from None
        if not out.keys() >= needed:
            raise corrupt(f"The trial lacks {', '.join(sorted(needed - out.keys()))}", where)
        out["extra"] = {**base.extra, **extra} if extra else base.extra
        return out


class Brief:
    """A trial of which not all is put together.

    Attributes
    ----------
    fields : dict
        Fields of `Record`; of a row without `row` and `trace`, and without what `NEEDLESS` has cut out.
    """

    __slots__ = ("_raw", "_rows", "_where", "fields")

    def __init__(self, data: Mapping[str, Any], raw: bytes, rows: Decoder, where: str) -> None:
        self._raw, self._rows, self._where = raw, rows, where
        self.fields = rows.fields(data, where, brief=True) if is_row(data) else {**USUAL, **Record.checked(data, where)}

    def record(self) -> Record:
        """Return the whole trial; raises as `iter_log` does."""
        data = line_object(self._raw) or {}
        return self._rows.record(data, self._where) if is_row(data) else Record.from_json(data, self._where)


NEEDLESS = re.compile(
    rb',"(?:costs":\[(?:1?\d|2[0-2])(?:,\d{1,15}+)*+\]|(?:row|v)":\[\d{1,18}+(?:,\d{1,18}+)*+\]'
    rb'|(?:p|sp|c|x|err)":-?\d{1,15}+(?:\.\d{1,17}+)?+(?=[,}]))'
)
"""What of a row has not to be decoded where the trial is only counted; it is right as it stands."""


def _base_of(told: dict[str, Any]) -> _Base:
    """Return what trials begin with, of what their shared lines say together."""
    since, names, places, sketch = (told.pop(name, None) for name in _MADE)
    fields = {**_USUAL, **{name: told.pop(name) for name in list(told) if name in _CLEAN}}
    if names:  # without a value for each, something of the row is lost
        del fields["row"]
    if since is not None:
        fields.pop("timestamp")
    if sketch is not None and sketch.holes:
        del fields["trace"]
    elif sketch is not None:
        fields["trace"] = FilledTrace(sketch, [])
    brief = {name: value for name, value in fields.items() if name not in ("row", "trace")}
    return _Base(
        (fields, _NEEDED - fields.keys()),
        (brief, _ASKED - fields.keys()),
        told,
        since,
        names or (),
        places or (),
        sketch,
    )


_MADE = ("since", "holes", "places", "trace")
_INT = {int}


def _steps(line: Shared, where: str) -> dict[int, Mapping[str, Any]]:
    """Return the primitives that a shared line brings, by their numbers."""
    out: dict[int, Mapping[str, Any]] = {}
    for number, step in enumerate(line.steps, line.first):
        short = isinstance(step, list) and len(step) == 2 and isinstance(step[0], str)
        whole = {"primitive": step[0], "args": step[1]} if short else step
        if not isinstance(whole, dict):
            raise corrupt("The field 'steps' of the shared has an unusable value", where)
        out[number] = whole
    return out


def _cleaned(told: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return the fields of trials among those of a shared line, checked, and the others as they are."""
    out = {}
    for name, value in told.items():
        try:
            if name not in _CLEAN or value is not None:
                out[name] = _CLEAN[name][1](value) if name in _CLEAN else value
        except UNUSABLE:
            raise corrupt(f"The field '{name}' of the shared has an unusable value", where) from None
    return out


def _row(value: Any, base: _Base) -> dict[str, int]:
    if isinstance(value, dict):
        found: dict[str, int] = _CLEAN["row"][1](value)
        return found
    if not _INT.issuperset(map(type, value)) or (value and not -(2**63) <= min(value) <= max(value) < 2**63):
        raise ValueError
    return dict(zip(base.holes, value, strict=True))


def _trace(value: Any, base: _Base) -> FilledTrace:
    types = set(map(type, value))
    if base.sketch is None or len(value) != base.sketch.holes or not types <= {int, float}:
        raise ValueError
    if float in types and not all(math.isfinite(number) for number in value if type(number) is float):
        raise ValueError
    return FilledTrace(base.sketch, value)


def _costs(value: Any, base: _Base) -> tuple[float, ...]:
    if not _INT.issuperset(map(type, value)) or not 0 <= value[0] <= DECIMALS:
        raise ValueError
    if not -PLAIN < min(value) <= max(value) < PLAIN:
        raise ValueError
    unit = 10 ** value[0]
    return tuple([cost / unit for cost in value[1:]])


def _placed(trace: FilledTrace, base: _Base) -> dict[str, int]:
    """Return the values of the holes that stand among the numbers of the schedule."""
    return _row([trace.numbers[place] for place in base.places], base)


def _at(base: _Base, elapsed_s: float, ticks: Any) -> float:
    if type(ticks) is not int or base.since is None or not -PLAIN < ticks < PLAIN:
        raise ValueError
    return (base.since + round(elapsed_s * TICKS) + ticks) / TICKS


_CLEAN, _ASKED = checks(Record)
_NEEDED = _ASKED | {"row", "trace"}
_USUAL: Mapping[str, Any] = {**USUAL, "status": "ok"}
_FORMS: Mapping[str, tuple[str, Callable[[Any, _Base], Any]]] = {
    "row": ("row", _row), "v": ("trace", _trace), "costs": ("costs_ms", _costs),
}  # fmt: skip
_OWN: Mapping[str, tuple[str, Any, Check]] = {
    **{name: (name, *check) for name, check in _CLEAN.items() if name != "row"},
    **{short: (name, *_CLEAN[name]) for short, name in SHORT.items()},
}
