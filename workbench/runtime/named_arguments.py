"""What a caller gives a network or a kernel: one mapping, or arrays in order, or by keyword."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.errors import ShapeError, did_you_mean


def by_name(
    names: Sequence[str], args: Sequence[Any], named: Mapping[str, Any], who: str = "the network"
) -> dict[str, Any]:
    """Return what was given for each input.

    Parameters
    ----------
    names : sequence of str
        The inputs, in order.
    args, named
        The arguments of a call.
    who : str
        What is called, for messages.

    Raises
    ------
    ShapeError
        ``shape.count`` for too many or too few, ``shape.name`` for a name that does not exist or comes twice.
    """
    if len(args) == 1 and isinstance(args[0], Mapping):
        given: dict[str, Any] = dict(args[0])
    else:
        if len(args) > len(names):
            raise ShapeError("shape.count", f"{who} takes {len(names)} inputs, not {len(args)}", names)
        given = dict(zip(names, args, strict=False))
    for name, value in named.items():
        if name in given:
            raise ShapeError("shape.name", f"the input {name!r} is given twice", (name,))
        given[name] = value
    for name in given:
        if name not in names:
            hint = did_you_mean(str(name), names, "inputs")
            raise ShapeError("shape.name", f"{who} has no input {name!r}", (name,), hint)
    missing = [name for name in names if name not in given]
    if missing:
        hint = "give it in a mapping: out= is for outputs" if "out" in missing else ""
        raise ShapeError("shape.count", f"no array is given for {', '.join(missing)}", missing, hint)
    return given
