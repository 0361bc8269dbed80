"""What is kept off while a lab is open, such as advice and the tuner: set by the lab, asked by what offers them.

It keeps a student from a solution by one click. It is no lock: another process knows nothing of it.
"""

from __future__ import annotations

from collections.abc import Collection

from workbench.errors import UsageError

#: What can be kept off -> how it begins a sentence.
NAMES = {"advice": "Advice is", "tuner": "The tuner is"}
#: What is off -> title of the lab that keeps it off.
_OFF: dict[str, str] = {}


def keep_off(names: Collection[str], lab: str) -> None:
    """Keep off what is named, and nothing else; no names end it."""
    assert not {*names} - NAMES.keys(), names
    _OFF.clear()
    _OFF.update(dict.fromkeys(names, lab))


def why_off(name: str) -> str:
    """Return why something is off, as a sentence; empty where it is not."""
    return f"{NAMES[name]} off in the lab “{_OFF[name]}”." if name in _OFF else ""


def need(name: str) -> None:
    """Raise where something is off.

    Raises
    ------
    UsageError
        "lab.mode".
    """
    if why := why_off(name):
        raise UsageError(
            "lab.mode", why.removesuffix("."), (), "lab.json says what is off; hint() of an exercise gives a hint"
        )
