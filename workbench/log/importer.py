"""Logs of other tuners: what one line of them says, and how a reader of such logs is declared."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

from workbench.errors import LogError
from workbench.registry import Registry

if TYPE_CHECKING:
    import pandas

SECONDS: Mapping[str, float] = MappingProxyType({"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9})
"""Units of time, and how long they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """One configuration that another tuner has tried, in that tuner's words and units.

    Attributes
    ----------
    task, device, target : str
        What was tuned, on what, for what; empty where the log does not say it.
    params : mapping
        Name of a parameter -> its value, of any type that JSON has.
    status : str
        What became of it, in the tuner's word.
    valid : bool
        Whether `value` counts.
    value : float or None
        The objective, in `unit`; None where there is none.
    unit, objective, direction : str
        Unit of the value ("" for none), what it is, and whether small or large values are good.
    repeats : tuple of float
        All measurements behind the value, in its unit.
    error : str
        What went wrong, as far as the log says it.
    timestamp : float or None
        Seconds since 1970 when it ended.
    elapsed_s : float or None
        Time that the evaluation took, in seconds.
    """

    task: str
    params: Mapping[str, Any]
    status: str
    valid: bool
    value: float | None
    unit: str
    objective: str = "time"
    direction: Literal["min", "max"] = "min"
    repeats: tuple[float, ...] = ()
    device: str = ""
    target: str = ""
    error: str = ""
    timestamp: float | None = None
    elapsed_s: float | None = None

    @property
    def cost_s(self) -> float | None:
        """The value in seconds, where it is a time and counts."""
        known = self.valid and self.value is not None and self.unit in SECONDS
        return self.value * SECONDS[self.unit] if known and self.value is not None else None


class LogImporter:
    """A reader of one tuner's logs. A format of JSON lines needs `evaluation` only; any other one overrides `read`.

    Writers are killed: what a torn end has lost is at most the last evaluation.

    Attributes
    ----------
    name : str
        What it was declared as.
    tuner : str
        Whose logs these are, for a person.
    example : str
        A small log; the contract tests read it, whole and damaged.
    """

    name: ClassVar[str] = ""
    tuner: ClassVar[str] = ""
    example: ClassVar[str] = ""

    def matches(self, head: bytes) -> bool:
        """Whether a file that begins with these bytes is such a log."""
        raise NotImplementedError

    def evaluation(self, line: Any) -> Evaluation:
        """Return what one line of JSON says; may raise what follows from a line of another form."""
        raise NotImplementedError

    def read(self, lines: Iterable[bytes]) -> Iterator[Evaluation]:
        """Yield the evaluations of a file's lines; comments are passed over, and so is a torn last line.

        Raises
        ------
        LogError
            ``log.corrupt`` with the number of a line that says something else.
        """
        for number, raw in enumerate(lines, 1):
            if not raw.strip() or raw.startswith(b"#"):
                continue
            try:
                found = self.evaluation(json.loads(raw))
            except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
                if not raw.endswith(b"\n"):
                    return
                text = f"Line {number} is no record of {self.tuner} ({type(error).__name__})"
                raise LogError("log.corrupt", text, (), "remove the line to go on without this record") from error
            yield found


_I = TypeVar("_I", bound=type[LogImporter])
IMPORTERS: Registry[type[LogImporter]] = Registry("log format", "log formats", "usage.log_format")


def log_importer(name: str) -> Callable[[_I], _I]:
    """Declare a reader of another tuner's logs; the first line of the class's text says what it reads."""

    def register(cls: _I) -> _I:
        cls.name = name
        IMPORTERS[name] = cls
        return cls

    return register


def importer_of(head: bytes) -> LogImporter | None:
    """Return the reader of logs that begin so; None where no other tuner's do."""
    return next((made for cls in IMPORTERS.values() if (made := cls()).matches(head)), None)


def evaluations_frame(evaluations: Iterable[Evaluation]) -> pandas.DataFrame:
    """Return evaluations as a table: one row each, the fields as columns, and ``cost_s``."""
    import pandas

    names = [f.name for f in dataclasses.fields(Evaluation)] + ["cost_s"]
    frame = pandas.DataFrame([[getattr(e, name) for name in names] for e in evaluations], columns=names)
    return frame.astype(dict.fromkeys(("value", "cost_s", "timestamp", "elapsed_s"), "float64"))
