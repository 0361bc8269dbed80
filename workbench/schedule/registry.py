"""The table of all primitives."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from workbench.errors import ScheduleError, UsageError
from workbench.registry import Declarations

if TYPE_CHECKING:
    from workbench.schedule.primitive import Primitive


class Registry(Declarations["type[Primitive]"]):
    """All primitives by name; iterating gives them in the order of declaration."""

    def __init__(self) -> None:
        super().__init__("primitive", "primitives", "primitive.unknown", ScheduleError)
        self._listeners: list[Callable[[type[Primitive]], None]] = []

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
