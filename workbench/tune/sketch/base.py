"""What a sketch rule is, and how rules are applied one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from workbench.ir.func import Constraint, Func
from workbench.ir.poly import Dim
from workbench.tune.machine import Machine

if TYPE_CHECKING:
    from workbench.schedule import Schedule


@dataclass(frozen=True, slots=True)
class Note:
    """One applied rule and why it applies here."""

    rule: str
    reason: str


@dataclass(frozen=True, slots=True)
class Draft:
    """A schedule in the making.

    Attributes
    ----------
    schedule : Schedule
        Never changed in place: rules work on copies.
    notes : tuple of Note
    limits : tuple of Constraint
        Must hold.
    wishes : tuple of Constraint
        Are dropped, last first, when they leave no row.
    main : str or None
        The block that the tiling rule has taken, with the loops of its levels in `outer` (level 0), `middle` (level
        1) and `tile` (the innermost one), the loops over panels of the reduction, and the loops to unroll.
    copies : tuple of str
        Blocks that copy an operand of `main`, made for it alone and not placed yet.
    done : frozenset of str
        Blocks that need no further rule.
    closed : bool
        Whether the whole schedule needs no further rule.
    """

    schedule: Schedule
    notes: tuple[Note, ...] = ()
    limits: tuple[Constraint, ...] = ()
    wishes: tuple[Constraint, ...] = ()
    main: str | None = None
    outer: tuple[str, ...] = ()
    middle: tuple[str, ...] = ()
    tile: tuple[str, ...] = ()
    panels: tuple[str, ...] = ()
    unrolled: tuple[str, ...] = ()
    copies: tuple[str, ...] = ()
    done: frozenset[str] = frozenset()
    closed: bool = False

    @property
    def func(self) -> Func:
        """The nest as it stands."""
        return self.schedule.func

    def change(self, rule: str, reason: str, schedule: Schedule, *finished: str) -> Draft:
        """Draft after a rule: the new schedule, a note, and the blocks that are finished."""
        return replace(self, schedule=schedule, notes=(*self.notes, Note(rule, reason)), done=self.done | set(finished))

    def limit(self, label: str, expr: Dim, wish: bool = False) -> Draft:
        """Draft with one more limit ``expr >= 0``; constants that hold are not kept."""
        if isinstance(expr, int) and expr >= 0:
            return self
        c = Constraint(label, expr)
        return replace(self, wishes=(*self.wishes, c)) if wish else replace(self, limits=(*self.limits, c))


RuleFunction: TypeAlias = Callable[[Draft, Machine], Iterable[Draft]]


@dataclass(frozen=True, slots=True)
class Rule:
    """One sketch rule: turns a draft into the drafts that are worth trying."""

    name: str
    doc: str
    apply: RuleFunction


RULES: list[Rule] = []


_R = TypeVar("_R", bound=RuleFunction)


def rule(name: str) -> Callable[[_R], _R]:
    """Register a rule; rules are applied in the order of their registration."""

    def register(fn: _R) -> _R:
        RULES.append(Rule(name, (fn.__doc__ or "").strip(), fn))
        return fn

    return register
