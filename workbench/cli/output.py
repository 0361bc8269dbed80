"""Where a command writes: results to standard output, everything else to standard error."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, TextIO

from workbench.errors import RunFailure
from workbench.forms import plain
from workbench.safe_text import escaped, legible, legible_line

if TYPE_CHECKING:
    from workbench.log import NetworkTime


class Output:
    """The two streams of a command.

    With ``--json``, standard output is kept for the one JSON object: anything that writes to file descriptor 1 in
    between (a library, a worker process) lands on standard error.
    """

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json
        self._stdout: TextIO = sys.stdout
        self._saved: int | None = None

    def __enter__(self) -> Output:
        if self.as_json:
            self._stdout.flush()
            if self._stdout is sys.__stdout__:
                self._saved = os.dup(1)
                os.dup2(2, 1)
            sys.stdout = sys.stderr
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        try:
            sys.stdout.flush()
        finally:
            if self._saved is not None:
                os.dup2(self._saved, 1)
                os.close(self._saved)
                self._saved = None
            if self.as_json:
                sys.stdout = self._stdout
        self._stdout.flush()

    def say(self, text: str = "") -> None:
        """Write a line about what is going on to standard error."""
        sys.stderr.write(legible(text) + "\n")
        sys.stderr.flush()

    def warn(self, text: str) -> None:
        """Write a warning to standard error."""
        self.say(f"warning: {text}")

    def result(self, data: Mapping[str, Any], text: str) -> None:
        """Write the result: as JSON or as text."""
        try:
            if self.as_json:
                self._json(data)
            else:
                self._stdout.write(legible(text) + "\n")
                self._stdout.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            message = f"The result cannot be written: {error.strerror or error}"
            raise RunFailure("run.output", message, (), "see where standard output goes") from error

    def error(self, data: Mapping[str, Any], text: str, label: str = "error: ") -> None:
        """Write an error: the sentence to standard error, and the object to standard output under ``--json``."""
        self.say(f"{label}{text}")
        if self.as_json:
            with contextlib.suppress(OSError):  # it has been said on standard error
                self._json({"error": dict(data)})

    def _json(self, data: Mapping[str, Any]) -> None:
        # What is no text (orders to a terminal, lone surrogates of names of files) is escaped, which JSON knows.
        line = (escaped(json.dumps(plain(data), ensure_ascii=False, allow_nan=False)) + "\n").encode()
        if self._saved is None:
            self._stdout.write(line.decode())
            self._stdout.flush()
            return
        while line:
            line = line[os.write(self._saved, line) :]


def columns(head: list[str], rows: list[list[str]], right: set[int] = frozenset()) -> str:  # type: ignore[assignment]
    """Return a plain text table; the columns in `right` are aligned to the right."""
    head, *rows = [[legible_line(cell) for cell in row] for row in [head, *rows]]
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    lines = []
    for row in [head, ["-" * w for w in widths], *rows]:
        cells = [c.rjust(w) if i in right else c.ljust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def counted(number: int, noun: str) -> str:
    """Return a number with its noun."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def network_fields(network: NetworkTime | None) -> dict[str, Any]:
    """Return what ``--json`` says of the whole network, measured."""
    names = ("measured_ms", "untuned_ms", "sum_of_kernels_ms", "spread", "untuned_spread", "clean", "why_not")
    return {name: None if network is None else getattr(network, name) for name in names}


def number(value: float | None, digits: int = 4) -> str:
    """Return a number for a table; a dash for None."""
    return "-" if value is None else f"{value:.{digits}f}"
