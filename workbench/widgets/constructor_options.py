"""The options of a workbench that are not named in its signature."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from workbench.arguments import known_options
from workbench.session.state.session_input import OPTIONS

NAMED = ("log", "target", "panel", "auto_measure", "variants", "view")


def loading(options: dict[str, Any], traits: Iterable[str], opened: bool) -> dict[str, Any]:
    """Take what is about a model or its file out of `options`; the others have to be traits of the widget.

    Raises
    ------
    UsageError
        "usage.option" for one that does not exist, and for any about a file where something is `opened` already.
    """
    taken = {name: value for name in OPTIONS if (value := options.pop(name, None)) is not None}
    known_options(options, (*NAMED, *OPTIONS, *traits), "A workbench")
    known_options(taken if opened else (), NAMED, "A workbench of what is open already")
    return taken
