"""The options of ``workbench tune`` that say how to tune, from their declaration in `TuneOptions`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.cli.arguments import Parser, positive, positive_number, share
from workbench.forms import Choice, Field, Flag, Real, Whole
from workbench.tune.options import Named, Share, declared


def add_options(command: Parser) -> None:
    """Add every option that the command line knows."""
    for field, flags in declared():
        if flags:
            _option(command, field, flags.split())


def _option(command: Parser, field: Field, words: Sequence[str]) -> None:
    """Add an option of `TuneOptions`, as it is declared there."""
    kind, flags = field.kind, [word for word in words if word.startswith("--")]
    more: dict[str, Any] = {"dest": f"tune_{field.name}", "default": field.default, "help": kind.label}
    if isinstance(kind, Flag):
        command.add_argument(*flags, action="store_false" if field.default else "store_true", **more)
        return
    more["metavar"] = f"{{{','.join(kind.values)}}}" if isinstance(kind, Choice) else words[-1]
    more["type"] = {Whole: positive, Real: positive_number, Share: share}.get(type(kind))
    action = command.add_argument(*flags, **more)
    if isinstance(kind, Named):
        setattr(action, "known", _Known(kind))  # noqa: B010  # for `help`, which is all that asks for it
        action.help = f"{kind.label}: %(known)s"
    if field.default is not None:
        action.help = f"{action.help} (default %(default)s)"


class _Known:
    """Names that are declared, loaded when a help text is written."""

    def __init__(self, kind: Named) -> None:
        self._kind = kind

    def __str__(self) -> str:
        return ", ".join(self._kind.choices)
