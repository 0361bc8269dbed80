"""The page of all error codes: what each says, read from the source where it is raised."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import workbench
from workbench.documentation.docstrings import line
from workbench.documentation.raised_errors import OPEN, Raised, raised_errors
from workbench.schedule.primitive import COMMON_CODES, registry

#: Texts that are shown of one code; others are alike.
_MOST = 2

#: What a file has that raises an error with a code, or takes a code.
_RAISES = re.compile(rb"\bcode\b|[\"'][a-z_]+\.[a-z_0-9]+[\"']")

_PAGE = """# Error codes

<!-- Made by `python -m workbench.documentation`; change the declarations, not this text. -->

Whatever a user can cause is a `WorkbenchError`: a stable code, a sentence that says what is the case, the names it is
about (`where`), and a hint. Programs may rely on the code; a sentence may change. A command of the
[command line](command-line.md) ends with 2 after a `UsageError`, with 4 after a `RunFailure` (`BuildError`, `RunError`,
`TuneError`), and with 3 after any other one; `--json` prints code, message, where and hint.

The texts are read from the source; "…" stands for what is filled in, "The nearest names." for names like the one that
was given. Of a code with many texts two are shown. Of the codes that a step of a schedule is refused with, the case is
told in place of the sentence, as with its [primitive](primitives.md).
"""


@dataclass(slots=True)
class ErrorCode:
    """What is raised with one code.

    Attributes
    ----------
    errors : list of str
        Names of the classes.
    messages, hints : list of str
        Each text once, in the order of the source.
    """

    errors: list[str] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)

    def add(self, raised: Raised) -> None:
        """Take in one place where it is raised; a text of which nothing is known is left out."""
        for kept, text in ((self.errors, raised.error), (self.messages, raised.message), (self.hints, raised.hint)):
            if text not in kept and re.search(r"\w", text):
                kept.append(text)


@cache
def error_codes() -> Mapping[str, ErrorCode]:
    """Return every stable code with what is raised with it, in the order of the alphabet."""
    texts = (path.read_bytes() for path in sorted(Path(workbench.__file__).parent.rglob("*.py")))
    trees = [ast.parse(text) for text in texts if _RAISES.search(text)]
    found: dict[str, ErrorCode] = {}
    for raised in raised_errors(trees):
        found.setdefault(raised.code, ErrorCode()).add(raised)
    for codes in (*(one.codes for one in registry), COMMON_CODES):
        for code, when in codes.items():
            found.setdefault(code, ErrorCode(["ScheduleError"])).messages[:] = [when]
    return dict(sorted(found.items()))


def error_page() -> str:
    """Return the page."""
    parts, family = [_PAGE], ""
    for code, one in error_codes().items():
        if family != (family := code.partition(".")[0]):
            parts.append(f"\n## {family}\n\n| Code | Says | Hint | Class |\n|---|---|---|---|")
        says, hint = (" *or* ".join(map(line, texts[:_MOST])) for texts in (one.messages or [OPEN], one.hints))
        classes = ", ".join(f"`{name}`" for name in one.errors)
        parts.append(f'| <span id="{code}"></span>`{code}` | {says} | {hint} | {classes} |')
    return "\n".join(parts) + "\n"
