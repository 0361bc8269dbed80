"""Steps in words, as a label, a button or an explanation writes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from workbench.forms import Field
from workbench.schedule import Hole
from workbench.schedule.field_kinds import Number
from workbench.schedule.primitive import Primitive


def named(step: Primitive) -> Iterator[str]:
    """Yield the names of loops, blocks and buffers, and other words, that a step has as arguments."""
    for value in step.args.values():
        yield from (one for one in (value if isinstance(value, tuple) else (value,)) if isinstance(one, str))


def say(step: Primitive) -> str:
    """Write a step as it is called, without what is as usual: ``rfactor(k)``."""
    said = [f for f in step.fields() if f.required or step.args[f.name] != f.default]
    return f"{step.name}({', '.join(argument(f, step.args[f.name]) for f in said)})"


def phrase(step: Primitive) -> str:
    """Write a step as a phrase: ``split i by 8``, ``reorder k, i``."""
    given = [step.args[f.name] for f in step.fields() if f.required or step.args[f.name] != f.default]
    return " ".join([step.name, *(_part(value) for value in given)])


#: Steps of one name, and loops of one step, that are told one by one in a summary; its characters. Chosen by eye.
FEW, SHORT = 2, 90


def summary(steps: Sequence[Primitive]) -> str:
    """Write steps in few words, those of one name together: ``split i by 32 × 4, j by 8 × 64; unroll 6 times``."""
    told: dict[str, list[str]] = {}
    for step in steps:
        about = phrase(step).removeprefix(step.name).strip()
        told.setdefault(step.name, []).append("" if about.count(",") > FEW else about)
    long = "; ".join(_counted(name, about, FEW) for name, about in told.items())
    return long if len(long) <= SHORT else "; ".join(_counted(name, about, 0) for name, about in told.items())


def _counted(name: str, about: Sequence[str], few: int) -> str:
    """A name and what its steps are about, or how often it is taken where there are more than a few."""
    if len(about) <= few + 1:
        return f"{name} {', '.join(filter(None, about)) if few else ''}".strip()
    return f"{name} {len(about)} times"


def _part(value: object) -> str:
    if not isinstance(value, tuple):
        return str(value)
    if all(isinstance(one, str) for one in value):
        return ", ".join(map(str, value))
    return f"by {' × '.join(str(one) for one in value if one is not None)}"


def gain_text(gain: float) -> str:
    """How many times as fast: ``1.07``, ``2.4``, ``46``."""
    return f"{gain:.0f}" if gain >= 10 else f"{gain:.1f}" if gain >= 2 else f"{gain:.2f}"


def argument(field: Field, value: object) -> str:
    """Say an argument: a number that is a way of saying something else by its word."""
    words = dict(field.kind.said) if isinstance(field.kind, Number) else {}
    return words[value] if isinstance(value, int) and value in words else _text(value)


def _text(value: object) -> str:
    if isinstance(value, Hole):
        return "?" if value.name is None else f"?{value.name}"
    if isinstance(value, tuple):
        times = not value or not all(isinstance(v, str) for v in value)
        return (" × " if times else ", ").join("rest" if v is None else _text(v) for v in value)
    return str(value)


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
