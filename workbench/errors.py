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
    │   └── TargetError                 a target is unknown or cannot do this     "target.*"
    └── RunFailure      (RuntimeError)  it failed while it ran                               exit code 4
        ├── BuildError                  code generation failed                    "build.*"
        ├── RunError                    generated code failed                     "run.*"
        └── TuneError                   a tuning session cannot go on             "tune.*"

A code is stable: tests, logs and the widgets rely on it. A message is one sentence in the user's words; `where` names
the loops, blocks, nodes or files concerned; `hint` says what to do next.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


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
        self.where = tuple(map(str, where))
        self.hint = hint

    def __str__(self) -> str:
        return render(self)

    def __reduce__(self) -> tuple[type[WorkbenchError], tuple[str, str, tuple[str, ...], str]]:
        return type(self), (self.code, self.message, self.where, self.hint)

    def to_json(self) -> dict[str, object]:
        """Return ``{"code", "message", "where", "hint"}``, the form that the command line prints."""
        return {"code": self.code, "message": self.message, "where": list(self.where), "hint": self.hint}


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


class TargetError(InputError):
    """A target is unknown or lacks a capability."""


class RunFailure(WorkbenchError, RuntimeError):
    """Something failed while it ran."""

    exit_code = 4


class BuildError(RunFailure):
    """Code generation failed."""


class RunError(RunFailure):
    """Generated code failed while it ran."""


class TuneError(RunFailure):
    """A tuning session cannot go on."""


def render(error: WorkbenchError) -> str:
    """One text form for tracebacks, terminal and widget: message, place, hint, code."""
    place = f" (at {', '.join(error.where)})" if error.where else ""
    hint = f"\n  hint: {error.hint}" if error.hint else ""
    return f"{error.message}{place} [{error.code}]{hint}"


def did_you_mean(name: str, known: Iterable[str], label: str = "known") -> str:
    """Build a hint that proposes the closest known names, or lists a few of them."""
    names = list(known)
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    if close:
        return "did you mean " + " or ".join(repr(c) for c in close) + "?"
    shown = ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
    return f"{label}: {shown}" if names else f"{label}: none"
