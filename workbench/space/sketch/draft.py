"""A schedule in the making, and what the rules said of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from workbench.ir import Constraint, Dim, Func
from workbench.ir.poly import holes_of, substitute
from workbench.schedule import Schedule
from workbench.space.sampling import Sampler
from workbench.space.sketch.tile_structure import Structure


@dataclass(frozen=True, slots=True)
class Note:
    """What one rule did to some blocks, or why it left them alone.

    Attributes
    ----------
    rule, reason : str
    blocks : tuple of str
        Empty: the function as a whole.
    fired : bool
    tag : str
        A word for the name of the variant, where the rule has made the difference between variants.
    """

    rule: str
    reason: str
    blocks: tuple[str, ...] = ()
    fired: bool = True
    tag: str = ""


class Skip(Exception):
    """A rule leaves a draft as it is: the reason, and the blocks that it is about."""

    def __init__(self, reason: str, *blocks: str) -> None:
        super().__init__(reason)
        self.message, self.blocks = reason, blocks


@dataclass(frozen=True, slots=True)
class Draft:
    """A schedule in the making.

    Attributes
    ----------
    schedule : Schedule
        Never changed in place: rules work on copies.
    notes : tuple of Note
        What was done.
    skips : tuple of Note
        What was not done, and why.
    limits : tuple of Constraint
        Must hold.
    wishes : tuple of Constraint
        Are dropped, last first, when they leave no row.
    focus : str or None
        The block that is to be tiled, where a rule has made it; else the one that does most of the work.
    main : str or None
        The block that the tiling rule has taken, with the loops of its levels in `outer` (level 0), `middle` (the
        levels before the reduction begins) and `tile` (the innermost one), the loops over panels of the reduction, and
        the loops to unroll.
    copies : tuple of str
        Blocks that copy an operand of `main`, made for it alone and not placed yet.
    structure : Structure or None
        The levels that were asked for; None leaves the choice to the rule.
    done : frozenset of str
        Blocks that need no further rule.
    closed : bool
        Whether the whole schedule needs no further rule.
    """

    schedule: Schedule
    notes: tuple[Note, ...] = ()
    skips: tuple[Note, ...] = ()
    limits: tuple[Constraint, ...] = ()
    wishes: tuple[Constraint, ...] = ()
    focus: str | None = None
    main: str | None = None
    outer: tuple[str, ...] = ()
    middle: tuple[str, ...] = ()
    tile: tuple[str, ...] = ()
    panels: tuple[str, ...] = ()
    unrolled: tuple[str, ...] = ()
    copies: tuple[str, ...] = ()
    structure: Structure | None = None
    done: frozenset[str] = frozenset()
    closed: bool = False

    @property
    def func(self) -> Func:
        """The nest as it stands."""
        return self.schedule.func

    def change(
        self,
        rule: str,
        reason: str,
        schedule: Schedule,
        *finished: str,
        blocks: Sequence[str] | None = None,
        tag: str = "",
    ) -> Draft:
        """Draft after a rule: the new schedule and a note.

        Parameters
        ----------
        rule, reason : str
            Who did it, and why it pays here: one short sentence.
        schedule : Schedule
        *finished : str
            Blocks that need no further rule.
        blocks : sequence of str, optional
            Blocks that the note is about; those that are finished, or else the one that was tiled, when left out.
        tag : str
            A word for the name of the variant.
        """
        note = Note(rule, reason, self._about(finished if blocks is None else blocks), tag=tag)
        return replace(self, schedule=schedule, notes=(*self.notes, note), done=self.done | set(finished))

    def skip(self, rule: str, reason: str, *blocks: str) -> Draft:
        """Draft that a rule leaves as it is, with the reason; by default it is about the block that was tiled."""
        return replace(self, skips=(*self.skips, Note(rule, reason, self._about(blocks), fired=False)))

    def limit(self, label: str, expr: Dim, wish: bool = False) -> Draft:
        """Draft with one more limit ``expr >= 0``; constants that hold are not kept."""
        if isinstance(expr, int) and expr >= 0:
            return self
        c = Constraint(label, expr)
        return replace(self, wishes=(*self.wishes, c)) if wish else replace(self, limits=(*self.limits, c))

    def limited(self, limits: Iterable[tuple[str, Dim, bool]]) -> Draft:
        """Draft with more limits: label, ``expr >= 0``, and whether it is a wish."""
        out = self
        for each in limits:
            out = out.limit(*each)
        return out

    def settled(self) -> Draft:
        """Draft whose limits name the holes that there are now: later splits may have replaced older ones."""
        names = dict(self.func.aliases)
        if not names:
            return self

        def now(c: Constraint) -> Constraint:
            expr = c.expr
            while holes_of(expr) & names.keys():
                expr = substitute(expr, names)
            return Constraint(c.label, expr)

        return replace(self, limits=tuple(map(now, self.limits)), wishes=tuple(map(now, self.wishes)))

    def has_rows(self) -> bool:
        """Whether some numbers fulfil all limits; those of wishes may be dropped."""
        limits = (*self.func.constraints, *self.limits)
        sampler = Sampler.of(replace(self.func, constraints=limits))
        return len(sampler.draw(1, np.random.default_rng(0))) > 0

    def _about(self, blocks: Sequence[str]) -> tuple[str, ...]:
        return tuple(blocks) or ((self.main,) if self.main else ())
