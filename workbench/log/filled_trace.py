"""Schedules that many trials share but for their numbers: a trial's is put together when somebody asks for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, overload

HOLE = 0
"""What stands in a shared step where a trial has a number; no step has another number."""


def emptied(value: Any, numbers: list[Any]) -> Any:
    """Return JSON with `HOLE` in place of every number; the numbers go into a list.

    Names are sorted: a tool that sorts them in a log must not give numbers another place.
    """
    if isinstance(value, Mapping):
        return {str(name): emptied(value[name], numbers) for name in sorted(value, key=str)}
    if isinstance(value, list | tuple):
        return [emptied(inner, numbers) for inner in value]
    if not _is_number(value):
        return value
    numbers.append(value)
    return HOLE


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def holes(value: Any) -> int:
    """Return how many numbers are to be put into JSON."""
    if isinstance(value, Mapping):
        return sum(map(holes, value.values()))
    return sum(map(holes, value)) if isinstance(value, list | tuple) else _is_number(value)


def _filled(value: Any, numbers: Iterator[Any]) -> Any:
    if isinstance(value, Mapping):
        return {name: _filled(inner, numbers) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_filled(inner, numbers) for inner in value]
    return next(numbers) if _is_number(value) else value


class Sketch:
    """A schedule with holes.

    Parameters
    ----------
    steps : sequence of mapping
        Primitives with `HOLE` in place of their numbers.
    """

    __slots__ = ("_steps", "holes")

    def __init__(self, steps: Sequence[Mapping[str, Any]]) -> None:
        self._steps = [(step, holes(step)) for step in steps]
        self.holes = sum(count for _, count in self._steps)

    def __len__(self) -> int:
        return len(self._steps)

    def filled(self, numbers: Sequence[Any]) -> tuple[Mapping[str, Any], ...]:
        """Return the primitives with as many numbers as there are holes; those without numbers are shared."""
        left = iter(numbers)
        return tuple([_filled(step, left) if count else step for step, count in self._steps])


class FilledTrace(Sequence[Mapping[str, Any]]):
    """The schedule of a trial; equal to the tuple of its primitives.

    Parameters
    ----------
    sketch : Sketch
        What trials share: a hundred thousand of them would not fit into memory otherwise.
    numbers : list
        One for each of its holes.
    """

    __slots__ = ("numbers", "sketch")

    def __init__(self, sketch: Sketch, numbers: list[Any]) -> None:
        self.sketch, self.numbers = sketch, numbers

    def __len__(self) -> int:
        return len(self.sketch)

    @overload
    def __getitem__(self, index: int) -> Mapping[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Mapping[str, Any], ...]: ...
    def __getitem__(self, index: int | slice) -> Mapping[str, Any] | tuple[Mapping[str, Any], ...]:
        return self.sketch.filled(self.numbers)[index]

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return iter(self.sketch.filled(self.numbers))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, FilledTrace) and other.sketch is self.sketch:
            return self.numbers == other.numbers
        return tuple(self) == tuple(other) if isinstance(other, tuple | FilledTrace) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # as a tuple of mappings

    def __repr__(self) -> str:
        return repr(tuple(self))
