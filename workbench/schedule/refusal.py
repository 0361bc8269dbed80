"""The error of a step that is not legal, with a concrete conflict where there is one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, Literal, NoReturn, TypeAlias, TypeVar

from workbench.errors import ScheduleError
from workbench.safe_text import shown_legibly

#: Two iterations write one element; one reduction takes the same term twice; an element is read before it is complete.
WitnessKind: TypeAlias = Literal["write-write", "twice", "read-before-write"]
Point: TypeAlias = tuple[tuple[str, int], ...]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Witness:
    """Two iterations that a step would bring into conflict, and the element that they meet in.

    Attributes
    ----------
    buffer : str
    element : tuple of int
        In the order in which the buffer is stored.
    first, second : tuple of (str, int)
        Loops with their values. Of "read-before-write" the one that reads and the one that writes; `second` is empty
        where no iteration at all writes the element.
    kind : str
        "write-write", "twice" or "read-before-write".
    blocks : (str, str)
        Whose iterations they are.
    filling : tuple of (str, int)
        Numbers that were assumed for what is open.
    effect : (float, tuple of float) or None
        What the two iterations make of the element one after the other, and what else could come out. The inputs were
        made up for it.
    """

    buffer: str
    element: tuple[int, ...]
    first: Point
    second: Point
    kind: WitnessKind = "write-write"
    blocks: tuple[str, str] = ("", "")
    filling: Point = ()
    effect: tuple[float, tuple[float, ...]] | None = None

    @shown_legibly
    def __str__(self) -> str:
        element = f"{self.buffer}[{', '.join(map(str, self.element))}]"
        given = f"with {', '.join(f'{n} = {v}' for n, v in self.filling)}, " if self.filling else ""
        first, second = given + _at(self.first), _at(self.second)
        match self.kind:
            case "write-write":
                return f"{first} and {second} both write {element}"
            case "twice":
                return f"{first} and {second} both add the same to {element}"
        late = f"{self.blocks[1]} at {second} has yet to write it" if self.second else "nothing writes it"
        return f"{given}{self.blocks[0]} at {_at(self.first)} reads {element}, and {late}"

    def to_json(self) -> dict[str, Any]:
        """Plain form for a user interface; what there is not is left out, for every palette holds a few of these."""
        made: dict[str, Any] = {
            "kind": self.kind,
            "buffer": self.buffer,
            "element": list(self.element),
            "first": dict(self.first),
            "second": dict(self.second),
            "blocks": list(self.blocks),
        }
        if self.filling:
            made["filling"] = dict(self.filling)
        if self.effect is not None:
            order, otherwise = self.effect
            made["effect"] = {"order": order, "otherwise": list(otherwise)}
        return made


def _at(point: Point) -> str:
    return f"({', '.join(f'{n} = {v}' for n, v in point)})"


class Deferred(Generic[T]):
    """Something that is worked out once, when somebody asks: most refusals are never looked at that closely."""

    def __init__(self, work_out: Callable[[], T]) -> None:
        self._work_out = work_out

    @cached_property
    def value(self) -> T:
        """What came out."""
        return self._work_out()

    def __str__(self) -> str:
        return str(self.value)


#: A witness, or how to find one.
Evidence: TypeAlias = Witness | Deferred[Witness | None] | None
#: A hint, or how to find one: by trying other steps.
Hint: TypeAlias = str | Deferred[str]


def witness_of(evidence: Evidence) -> Witness | None:
    """Return the witness, after a search for it where that is still to do."""
    return evidence.value if isinstance(evidence, Deferred) else evidence


class Refusal(ScheduleError):
    """A primitive that is not legal here, with a concrete conflict where there is one."""

    def __init__(
        self, code: str, message: str, where: Iterable[str] = (), hint: Hint = "", evidence: Evidence = None
    ) -> None:
        ScheduleError.__init__(self, code, message, where)
        self.advice: Hint = hint
        self.evidence = evidence

    @property
    def hint(self) -> str:
        """What to do about it; may be empty."""
        return str(self.advice)

    @hint.setter
    def hint(self, text: str) -> None:
        self.advice = text

    @property
    def witness(self) -> Witness | None:
        """Two iterations that conflict, where that is the reason and they could be found."""
        return witness_of(self.evidence)


def refuse(code: str, message: str, where: Iterable[str] = (), hint: Hint = "", evidence: Evidence = None) -> NoReturn:
    """Raise a `Refusal`."""
    raise Refusal(code, message, where, hint, evidence)
