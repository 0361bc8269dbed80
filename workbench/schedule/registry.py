"""The table of all primitives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from workbench.arguments import shown
from workbench.errors import ScheduleError, UsageError, did_you_mean

if TYPE_CHECKING:
    from workbench.schedule.primitive import Primitive


class Registry:
    """All primitives by name; iterating gives them in the order of declaration."""

    def __init__(self) -> None:
        self._table: dict[str, type[Primitive]] = {}
        self._listeners: list[Callable[[type[Primitive]], None]] = []

    def __iter__(self) -> Iterator[type[Primitive]]:
        return iter(self._table.values())

    def __len__(self) -> int:
        return len(self._table)

    def __contains__(self, name: object) -> bool:
        return name in self._table

    def __getitem__(self, name: str) -> type[Primitive]:
        found = self._table.get(str(name))  # whatever a file has there
        if found is None:
            raise ScheduleError(
                "primitive.unknown",
                f"There is no primitive {shown(name)}.",
                (str(name),),
                did_you_mean(str(name), self._table, "primitives"),
            )
        return found

    @property
    def names(self) -> tuple[str, ...]:
        """Names in the order of declaration."""
        return tuple(self._table)

    def add(self, cls: type[Primitive]) -> None:
        """Add a primitive and tell the listeners."""
        if cls.name in self._table:
            raise UsageError("primitive.taken", f"There is a primitive {cls.name!r} already.", (cls.name,))
        self._table[cls.name] = cls
        for listener in self._listeners:
            listener(cls)

    def listen(self, listener: Callable[[type[Primitive]], None]) -> None:
        """Call `listener` for every primitive, those to come included."""
        self._listeners.append(listener)
        for cls in self._table.values():
            listener(cls)
