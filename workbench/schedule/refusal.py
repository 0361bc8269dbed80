"""The error of a step that is not legal, with a concrete conflict where one is known."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NoReturn

from ..errors import ScheduleError


@dataclass(frozen=True, slots=True)
class Witness:
    """Two iterations that touch one element: the reason why they must not run at once."""

    buffer: str
    element: tuple[int, ...]
    first: tuple[tuple[str, int], ...]
    second: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        def at(point: tuple[tuple[str, int], ...]) -> str:
            return ", ".join(f"{n} = {v}" for n, v in point)

        return (
            f"({at(self.first)}) and ({at(self.second)}) both write {self.buffer}[{', '.join(map(str, self.element))}]"
        )

    def to_json(self) -> dict[str, object]:
        """Plain form for a user interface."""
        return {
            "buffer": self.buffer,
            "element": list(self.element),
            "first": dict(self.first),
            "second": dict(self.second),
        }


class Refusal(ScheduleError):
    """A primitive that is not legal here, with a concrete conflict where one is known."""

    def __init__(
        self, code: str, message: str, where: Iterable[str] = (), hint: str = "", witness: Witness | None = None
    ) -> None:
        ScheduleError.__init__(self, code, message, where, hint)
        self.witness = witness


def refuse(
    code: str, message: str, where: Iterable[str] = (), hint: str = "", witness: Witness | None = None
) -> NoReturn:
    """Raise a `Refusal`."""
    raise Refusal(code, message, where, hint, witness)
