"""One measured trial, as it stands in the log.

The dataclass below *is* the log format: every field becomes one JSON key of a line and one column of the table, its
meaning beside it. Fields that a newer version has added are kept in `Record.extra` and written back.
"""

from __future__ import annotations

import dataclasses
import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from workbench.errors import LogError, TuneError

if TYPE_CHECKING:
    from workbench.runtime.results import Measurement

SCHEMA = 1
"""Version of the log format that this code writes. Newer versions only ever add fields."""

COSTS_KEPT = 100
"""Repeats that a record keeps; a kernel of some nanoseconds is repeated thousands of times. The latency and the spread
are those of all repeats."""

Status = Literal["ok", "build_error", "run_error", "wrong_answer", "timeout", "cancelled"]
STATUSES: tuple[str, ...] = ("ok", "build_error", "run_error", "wrong_answer", "timeout", "cancelled")


def _column(doc: str, **kwargs: Any) -> Any:
    return field(metadata={"doc": doc}, **kwargs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """Everything that is known about one trial; `documentation()` lists the fields with their meaning."""

    task_key: str = _column("structural key of the task")
    task: str = _column("readable name of the task")
    trial: int = _column("running number of the trial in this log, from 0")
    status: str = _column("ok, build_error, run_error, wrong_answer, timeout or cancelled")
    target: str = _column("the target, in its text form")
    description: str = _column("what the task computes, in words", default="")
    weight: int = _column("how often the task occurs in the model", default=1)
    flops: int = _column("floating-point operations of one execution", default=0)
    host: str = _column("machine that measured", default="")
    round: int = _column("running number of the batch that the trial belongs to", default=0)
    space: str = _column("identifier of the space that the candidate was drawn from", default="")
    variant: int = _column("variant of the space; -1 when the trace is not a row of the space", default=-1)
    row: Mapping[str, int] = _column("value of every hole", default_factory=dict)
    trace: tuple[Mapping[str, Any], ...] = _column("the schedule: primitives with their numbers", default=())
    key: str = _column("structural key of the filled candidate; equal keys are the same program", default="")
    origin: str = _column("who proposed it: default, sketch, mutation, crossover, random, manual, ...", default="")
    parent: str | None = _column("key of the candidate that it was derived from", default=None)
    mutation: str | None = _column("what was changed in the parent", default=None)
    seed: int = _column("seed of the session", default=0)
    predicted: float | None = _column("score that the cost model gave before the measurement", default=None)
    model: str | None = _column("version of the cost model that predicted", default=None)
    caches: str = _column(
        "what a call found in the caches: warm (everything), constants shared or constants in memory (all else, as in a"
        " network), flushed (nothing); empty in older logs",
        default="",
    )
    costs_ms: tuple[float, ...] = _column(
        f"timed repeats in milliseconds; of more than {COSTS_KEPT}, every n-th", default=()
    )
    latency_ms: float | None = _column("the latency that ranks the candidate, in milliseconds", default=None)
    spread: float | None = _column("relative spread of the repeats", default=None)
    compile_s: float = _column("time to build the candidate, in seconds", default=0.0)
    run_s: float = _column("time that checking and timing took, in seconds", default=0.0)
    max_rel_error: float | None = _column("largest difference from the reference over max |reference|", default=None)
    elapsed_s: float = _column("tuning time of this log when the trial ended, in seconds", default=0.0)
    timestamp: float = _column("seconds since the epoch when the trial ended", default=0.0)
    error: str = _column("full text of the error; empty when there is none", default="")
    schema: int = _column("version of the log format", default=SCHEMA)
    extra: Mapping[str, Any] = _column("fields of a newer version, kept as they were", default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether the trial counts: it ran, its result was right and it was timed."""
        return self.status == "ok" and self.latency_ms is not None

    @property
    def as_in_network(self) -> bool:
        """Whether the constants came from where a run of the whole network finds them."""
        return self.caches.startswith("constants")

    @property
    def gflops(self) -> float | None:
        """Speed in GFLOP/s, or None when nothing was timed."""
        return speed(self.flops, self.latency_ms) if self.ok else None

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of one line; `extra` is merged into the top level."""
        out: dict[str, Any] = {"kind": "trial"}
        for name in _NAMES:
            value = getattr(self, name)
            if isinstance(value, float) and not math.isfinite(value):
                value = None  # JSON has no NaN or infinity, and a bare NaN would break every other reader
            elif isinstance(value, Mapping):
                value = dict(value)
            elif isinstance(value, tuple):
                value = list(value)
            out[name] = value
        for name, value in self.extra.items():
            out.setdefault(name, value)
        return out

    @classmethod
    def from_json(cls, data: Mapping[str, Any], where: str = "") -> Record:
        """Rebuild a record; unknown keys go to `extra`.

        Raises
        ------
        LogError
            ``log.corrupt`` when a required field is missing or has the wrong type.
        """
        known: dict[str, Any] = {}
        extra: dict[str, Any] = {}
        for name, value in data.items():
            if name in _NAMES:
                known[name] = value
            elif name != "kind":
                extra[name] = value
        missing = [name for name in _REQUIRED if name not in known]
        if missing:
            raise _corrupt(f"The record lacks {', '.join(missing)}", where)
        for name, kinds in _TYPES.items():
            value = known.get(name)
            if name in known and (
                not isinstance(value, kinds) or isinstance(value, bool) or not _possible(name, value)
            ):
                raise _corrupt(f"The field '{name}' of the record has an unusable value", where)
        known["costs_ms"] = tuple(float(c) for c in known.get("costs_ms", ()))
        known["trace"] = tuple(known.get("trace", ()))
        return cls(**known, extra=extra)


_NAMES: tuple[str, ...] = tuple(f.name for f in dataclasses.fields(Record) if f.name != "extra")
_REQUIRED = ("task_key", "task", "trial", "status", "target")
_NUMBER = (int, float)
_OPTIONAL_NUMBER = (int, float, type(None))
_TYPES: dict[str, tuple[type, ...]] = {
    "task_key": (str,), "task": (str,), "trial": (int,), "status": (str,), "target": (str,), "round": (int,),
    "row": (dict,), "trace": (list,), "costs_ms": (list,), "latency_ms": _OPTIONAL_NUMBER, "flops": _NUMBER,
    "spread": _OPTIONAL_NUMBER,
    "weight": _NUMBER, "variant": (int,), "predicted": _OPTIONAL_NUMBER, "elapsed_s": _NUMBER, "error": (str,),
}  # fmt: skip


def _possible(name: str, value: object) -> bool:
    """Whether a value of the right type can be meant: a NaN, 0 or a negative time would rank before all real ones."""
    if name == "costs_ms":
        return isinstance(value, list) and all(isinstance(c, int | float) for c in value)
    if name == "latency_ms" and value is not None:
        return isinstance(value, int | float) and 0 < value <= sys.float_info.max
    return not isinstance(value, float) or math.isfinite(value)


def _corrupt(message: str, where: str) -> LogError:
    hint = "the line was changed by hand or the file is damaged; remove the line to go on without this trial"
    return LogError("log.corrupt", message, [where] if where else [], hint)


def speed(flops: int, latency_ms: float | None) -> float | None:
    """Return GFLOP/s for `flops` done in `latency_ms`; None when there is no latency."""
    if latency_ms is None or not math.isfinite(latency_ms) or latency_ms <= 0.0:
        return None
    return flops / (latency_ms * 1e6)


def documentation() -> str:
    """Return the fields of a record and their meaning, one per line."""
    fields = dataclasses.fields(Record)
    width = max(len(f.name) for f in fields)
    return "\n".join(f"{f.name:<{width}}  {f.metadata['doc']}" for f in fields)


def outcome(measurement: Measurement) -> dict[str, Any]:
    """Return the fields of a record that come from a measurement."""
    ok = measurement.status == "ok"
    latency = measurement.min_ms if ok else None
    if ok and (latency is None or not math.isfinite(latency)):
        raise TuneError("tune.measurement", "The runner reported success without a time")
    costs = measurement.costs_ms
    return {
        "status": measurement.status,
        "error": measurement.error or "",
        "costs_ms": tuple(float(f"{c:.6g}") for c in costs[:: -(-len(costs) // COSTS_KEPT) or 1]),
        "latency_ms": None if latency is None else max(float(latency), 1e-9),
        "spread": None if measurement.spread is None else float(measurement.spread),
        "compile_s": float(measurement.compile_s),
        "run_s": float(measurement.run_s),
        "max_rel_error": measurement.max_rel_error,
    }
