"""Steps in few letters, for the places in a drawing where their whole text would be cut in the middle."""

from __future__ import annotations

from typing import Any

from workbench.schedule.primitive import Primitive

__all__ = ["short"]


def short(step: Primitive) -> str:
    """Say a step so that its first letters tell it from others: ``split i.1 → 8``, ``reorder j.0 i.0 k``.

    Of factors the one that takes the rest is left out; what has its default is not said.
    """
    words = [step.name]
    for name, value in step.to_json()["args"].items():
        if isinstance(value, list) and None in value:
            words += ["→", " × ".join(_word(name, one) for one in value if one is not None)]
        else:
            words += [_word(name, one) for one in (value if isinstance(value, list) else [value])]
    return " ".join(words)


def _word(name: str, value: Any) -> str:
    """Write a value without quotes; an open number as ``?name``, a switch that is on as its name."""
    if isinstance(value, dict):
        return f"?{value.get('hole') or ''}"
    return name if value is True else str(value)
