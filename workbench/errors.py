"""Everything that can go wrong by a user's hand, as one tree.

::

    WorkbenchError                      code, message, where, hint
    ├── UsageError      (ValueError)    a call or a command line that makes no sense         exit code 2
    ├── InputError      (ValueError)    something given is not usable                        exit code 3
    │   ├── ScheduleError               a primitive does not apply                "split.divides", "loop.unknown", ...
    │   ├── ExpressionError             a tensor expression is malformed          "te.*"
    │   ├── ParseError                  a printed nest or a target does not parse "parse.*"
    │   ├── ModelError                  an ONNX model cannot be imported          "model.*"
    │   ├── ShapeError                  shapes or dtypes do not fit               "shape.*"
    │   ├── LogError                    a tuning log cannot be used               "log.*"
    │   ├── CostModelError              a file of a cost model cannot be used     "cost_model.*"
    │   ├── TargetError                 a target is unknown or cannot do this     "target.*"
    │   ├── TemplateError               a template does not fit, or does not work  "template.*"
    │   └── ExportError                 no library of a network can be made or opened  "export.*"
    └── RunFailure      (RuntimeError)  it failed while it ran                               exit code 4
        ├── BuildError                  code generation failed                    "build.*"
        ├── RunError                    generated code failed                     "run.*"
        └── TuneError                   a tuning session cannot go on             "tune.*"

    ModelWarning        (UserWarning)   a model can be used but hardly means this "model.nan_weights"

A code is stable: tests, logs and the widgets rely on it. A message is one sentence in the user's words; `where` names
the loops, blocks, nodes or files concerned; `hint` says what to do next.
"""

from __future__ import annotations

import difflib
import linecache
import os
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import TracebackType

from workbench.safe_text import legible


class WorkbenchError(Exception):
    """Base of every error that a user can cause.

    Parameters
    ----------
    code : str
        Stable identifier such as ``"split.divides"``.
    message : str
        One sentence that says what is the case.
    where : tuple of str
        Names of the loops, blocks, buffers, nodes or files that the message is about.
    hint : str
        What to do about it; may be empty.
    """

    exit_code = 3

    def __init__(self, code: str, message: str, where: Iterable[str] = (), hint: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.where = tuple(map(_word, where))
        self.hint = hint

    def __str__(self) -> str:
        return render(self)

    def __reduce__(self) -> tuple[type[WorkbenchError], tuple[str, str, tuple[str, ...], str]]:
        return type(self), (self.code, self.message, self.where, self.hint)

    def to_json(self) -> dict[str, object]:
        """Return ``{"code", "message", "where", "hint"}``, the form that the command line prints."""
        return {"code": self.code, "message": self.message, "where": list(self.where), "hint": self.hint}

    def _render_traceback_(self) -> list[str]:
        """Lines that IPython shows in place of a traceback. ``sys.last_exc`` still has the whole of it."""
        lines = [f"{type(self).__name__} [{self.code}]", *_calls(self.__traceback__)]
        lines += [f"  {line}" for line in self.message.splitlines()]
        lines += [f"  at: {', '.join(self.where)}"] if self.where else []
        lines += [f"  hint: {self.hint}"] if self.hint else []
        cause = self.__cause__
        if cause is not None and not isinstance(cause, WorkbenchError):
            lines += [f"  caused by {line.rstrip()}" for line in traceback.format_exception_only(cause)[-1:]]
        lines += [f"  note: {note}" for note in getattr(self, "__notes__", ())]
        return list(map(legible, lines))


class UsageError(WorkbenchError, ValueError):
    """A call or command line that makes no sense."""

    exit_code = 2


class InputError(WorkbenchError, ValueError):
    """Something that was given cannot be used."""


class ScheduleError(InputError):
    """A schedule primitive does not apply here."""


class ExpressionError(InputError):
    """A tensor expression is malformed."""


class ParseError(InputError):
    """A text form (nest, target, trace) does not parse."""


class ModelError(InputError):
    """A model cannot be imported."""


class ShapeError(InputError):
    """Shapes or dtypes do not fit together."""


class LogError(InputError):
    """A tuning log cannot be read, written or used here."""


class CostModelError(InputError):
    """The file of a cost model cannot be read, written or used here."""


class TargetError(InputError):
    """A target is unknown or lacks a capability."""


class TemplateError(InputError):
    """A template is unknown, does not fit a task, or does not work."""


class ExportError(InputError):
    """A network cannot be made a shared library, or such a library cannot be opened."""


class RunFailure(WorkbenchError, RuntimeError):
    """Something failed while it ran."""

    exit_code = 4


class BuildError(RunFailure):
    """Code generation failed."""


class RunError(RunFailure):
    """Generated code failed while it ran."""


class TuneError(RunFailure):
    """A tuning session cannot go on."""


class ModelWarning(UserWarning):
    """A model can be used but hardly means this; `code`, `message`, `where` and `hint` as an error has them."""

    def __init__(self, code: str, message: str, where: Iterable[str] = (), hint: str = "") -> None:
        super().__init__(legible(f"{message} [{code}]" + (f"\n  hint: {hint}" if hint else "")))
        self.code = code
        self.message = message
        self.where = tuple(map(str, where))
        self.hint = hint

    def __reduce__(self) -> tuple[type[ModelWarning], tuple[str, str, tuple[str, ...], str]]:
        return type(self), (self.code, self.message, self.where, self.hint)


def render(error: WorkbenchError) -> str:
    """One text form for tracebacks, terminal and widget: message, place, hint, code."""
    place = f" (at {', '.join(error.where)})" if error.where else ""
    hint = f"\n  hint: {error.hint}" if error.hint else ""
    return legible(f"{error.message}{place} [{error.code}]{hint}")


def _word(value: object) -> str:
    """Return the text of a value, also of a number with more digits than Python prints."""
    try:
        return str(value)
    except ValueError:
        return "a number with thousands of digits"


_on_command_line = False


@contextmanager
def command_line() -> Iterator[None]:
    """Until the block has ended, hints say what to type in a terminal instead of what to write in Python."""
    global _on_command_line
    before, _on_command_line = _on_command_line, True
    try:
        yield
    finally:
        _on_command_line = before


def option(python: str, command: str) -> str:
    """Return an option as whoever reads the hint gives it: in Python, or on the command line."""
    return command if _on_command_line else python


_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def _calls(start: TracebackType | None) -> list[str]:
    """Name the line of the cell that ran, and the line that called into this package where that is another one."""
    lines: list[str] = []
    running = ""
    for frame, number in traceback.walk_tb(start):
        file = frame.f_code.co_filename
        if file.startswith(_PACKAGE):
            break
        text = linecache.getline(file, number, frame.f_globals).strip()
        in_cell = not os.path.exists(file)  # a cell is known to `linecache` only
        running = running or (file if in_cell and text else "")
        place = file if not in_cell else "this cell" if file == running else "an earlier cell"
        lines += [f"  {place}, line {number}: {text}"] if running and text else []
    return list(dict.fromkeys([*lines[:1], *lines[-1:]]))


def did_you_mean(name: object, known: Iterable[str], label: str = "known") -> str:
    """Build a hint that proposes the closest known names, or lists a few of them."""
    names = list(known)
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.5) if isinstance(name, str) else ()
    if close:
        return "did you mean " + " or ".join(repr(c) for c in close) + "?"
    shown = ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
    return f"{label}: {shown}" if names else f"{label}: none"
