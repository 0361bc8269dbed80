"""Writes trials as rows: `LogWriter` and `write_log` ask it for the lines of a record."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from workbench.forms import plain
from workbench.log.columns import PLAIN, columns
from workbench.log.filled_trace import emptied
from workbench.log.lines import AnyLine, Command, Comparison, NetworkTime, Round, Unknown
from workbench.log.record import USUAL, Record
from workbench.log.rows import ROWS, SHORT, SPECIAL, TICKS, Decoder

_MOST_DECIMALS = 12
"""Decimals of a repeat that are tried. Chosen: a repeat of a nanosecond has six digits then."""

_MACHINE = ("target", "host", "caches", "seed")
_BATCH = ("round", "model")
_TASK = ("task_key", "task", "description", "weight", "flops")
_SPACE = ("space", "variant", "origin")
_GROUPED = {*_MACHINE, *_BATCH, *_TASK, *_SPACE, "row", "trace"}
_SHORTER = {name: short for short, name in SHORT.items()}
_RESERVED = {"kind", "id", *SHORT, *SPECIAL}
_DEFAULTS = {
    **USUAL,
    **dict.fromkeys(("task_key", "task", "target")),
    "status": "ok",
    "costs_ms": [],
    "kind": Record.kind,
}


class Encoder:
    """Makes lines of records. A row says exactly what the record says.

    Parameters
    ----------
    known : Decoder, optional
        What the log says already.
    """

    def __init__(self, known: Decoder | None = None) -> None:
        known = known or Decoder()
        self._ids: dict[tuple[Any, ...], int] = {}
        self._places: dict[int, Sequence[int]] = {}
        self._steps = {_json(_short(step)): number for number, step in known.steps.items()}
        self._next = max(known.shared, default=-1) + 1
        self._next_step = max(known.steps, default=-1) + 1
        self._since: int | None = None
        for line in known.shared.values():
            said = {name: value for name, value in line.to_json().items() if value is not None and name not in _MADE}
            self._ids[_key(line.of, said)] = line.id
            self._places[line.id] = line.places or ()

    def lines(self, line: AnyLine) -> list[dict[str, Any]]:
        """Return what says a line. A trial becomes what it refers to and is not there yet, then its row; other lines
        leave out what is as usual.

        They have to be written. A trial whose unknown fields are called as those of a row is a line of version 1.
        """
        return self._trial(line) if isinstance(line, Record) else [_brief(line)]

    def _trial(self, record: Record) -> list[dict[str, Any]]:
        if not _RESERVED.isdisjoint(record.extra):
            return [record.to_json()]
        data, new = record.to_json(), list[dict[str, Any]]()
        if self._since is None and data["timestamp"] and abs(begun := _ticks(data)) < PLAIN:
            self._since = begun
        since = {} if self._since is None else {"since": self._since}
        machine = self._shared(new, [], {**_unusual(data, _MACHINE), **since})
        task = self._shared(new, [], _unusual(data, _TASK))
        of = [self._shared(new, [machine], _unusual(data, _BATCH)), self._shared(new, [task], _unusual(data, _SPACE))]
        told = self._own(data)
        if data["row"] or data["trace"]:
            of.append(self._sketch(new, data, told))
        return [*new, {"of": of, **told}]

    def _shared(self, new: list[dict[str, Any]], of: list[int], fields: dict[str, Any], **more: Any) -> int:
        """Return the number of what is shared; a new one goes into the log, with what `more` there is to say of it."""
        if not fields and len(of) == 1:
            return of[0]
        key = _key(of, fields)
        if key not in self._ids:
            self._ids[key], self._next = self._next, self._next + 1
            new.append({"id": self._ids[key], **({"of": of} if of else {}), **more, **fields})
        return self._ids[key]

    def _sketch(self, new: list[dict[str, Any]], data: Mapping[str, Any], told: dict[str, Any]) -> int:
        """Return the number of the shared schedule; its numbers, and the row where they do not tell it, go into
        `told`.
        """
        names, values = list(data["row"]), list(data["row"].values())
        numbers: list[Any] = []
        steps: list[Any] = []
        first = self._next_step
        trace = [self._step(emptied(_short(step), numbers), steps) for step in data["trace"]]
        fields = {**({"holes": names} if names else {}), **({"trace": trace} if trace else {})}
        places, more = _found(values, numbers), {"first": first, "steps": steps} if steps else {}
        made = self._shared(new, [], fields, **more, **({"places": places} if places else {}))
        known = self._places.setdefault(made, places)
        if values and (not known or _found(values, [numbers[place] for place in known]) != list(range(len(values)))):
            told["row"] = values
        told |= {"v": numbers} if numbers else {}
        return made

    def _step(self, step: Any, new: list[Any]) -> int:
        """Return the number of a primitive with holes."""
        text = _json(step)
        if text not in self._steps:
            self._steps[text], self._next_step = self._next_step, self._next_step + 1
            new.append(step)
        return self._steps[text]

    def _own(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of a row that hold one field of the trial each."""
        out = {
            n: value for n, value in data.items() if n not in _GROUPED and (n not in _DEFAULTS or value != _DEFAULTS[n])
        }
        if (costs := _counted(data["costs_ms"])) is not None:
            out["costs"] = costs
            del out["costs_ms"]
        if self._since is not None:
            told = out["timestamp"] = data["timestamp"] or 0.0
            at = _ticks(data) - self._since
            if abs(at) < PLAIN and round(told * TICKS) / TICKS == told:
                del out["timestamp"]
                out |= {"at": at} if at else {}
        return {_SHORTER.get(name, name): value for name, value in out.items()}


def _brief(line: Comparison | Round | NetworkTime | Command | Unknown) -> dict[str, Any]:
    data = line.to_json()
    if isinstance(line, Unknown):
        return data
    usual = {f.name: plain(f.default) for f in columns(type(line)) if not f.required}
    return {name: value for name, value in data.items() if name not in usual or value != usual[name]}


_MADE = ("kind", "id", "of", "places", "first", "steps")


def _unusual(data: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: data[name] for name in names if data[name] != _DEFAULTS[name]}


def _ticks(data: Mapping[str, Any]) -> int:
    """Return when a trial's tuning time began; a time that is not finite is written as null, and read as 0."""
    return round((data["timestamp"] or 0.0) * TICKS) - round((data["elapsed_s"] or 0.0) * TICKS)


def _found(values: Sequence[int], numbers: Sequence[Any]) -> list[int]:
    """Return where values stand among numbers, one behind the other; nothing where they do not."""
    out: list[int] = []
    for value in values:
        start = out[-1] + 1 if out else 0
        place = next((k for k in range(start, len(numbers)) if numbers[k] == value and type(numbers[k]) is int), None)
        if place is None:
            return []
        out.append(place)
    return out


def _key(of: Sequence[int], fields: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(of), frozenset((name, _json(value)) for name, value in fields.items())


def _short(step: Any) -> Any:
    """Return a primitive as its name and its arguments."""
    usual = step.keys() == {"primitive", "args"} and isinstance(step["args"], Mapping)
    return [step["primitive"], step["args"]] if usual and isinstance(step["primitive"], str) else step


def _counted(costs: Sequence[float | None]) -> list[int] | None:
    """Return a number of decimals, then each time as a whole number of the last one's unit; None where that errs."""
    told = [cost for cost in costs if cost is not None]
    if len(told) < len(costs):
        return None
    for decimals in range(_MOST_DECIMALS + 1):
        unit = 10**decimals
        counts = [round(cost * unit) for cost in told]
        if max(map(abs, counts), default=0) >= PLAIN:
            return None
        if all(count / unit == cost for count, cost in zip(counts, told, strict=True)):
            return [decimals, *counts] if counts else None
    return None


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def json_line(data: Mapping[str, Any]) -> str:
    """Return a line of a log; ValueError for a number that JSON cannot hold."""
    return _json(data) + "\n"


def as_written(lines: Iterable[AnyLine], version: int) -> Iterator[list[dict[str, Any]]]:
    """Yield for each line of a log of a version the lines that say it."""
    encoder = Encoder()
    for line in lines:
        yield encoder.lines(line) if version >= ROWS else [line.to_json()]
