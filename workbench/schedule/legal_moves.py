"""The steps that could be taken next, each with its verdict."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field

from workbench.errors import WorkbenchError
from workbench.ir import Block, Func
from workbench.ir.stmt import walk
from workbench.markup import Drawn
from workbench.memoize import trial
from workbench.safe_text import shown_legibly
from workbench.schedule.primitive import Json, Primitive
from workbench.schedule.refusal import Evidence, Hint, Refusal, Witness, witness_of


@dataclass(frozen=True, slots=True)
class Move:
    """A step that could be taken next, legal or not; an illegal one says why.

    Attributes
    ----------
    primitive : str
    args : dict
        JSON form of the arguments.
    legal : bool
    code, reason : str
        Empty for a legal move.
    where : tuple of str
        Loops, blocks and buffers that the reason is about.
    step : Primitive
        Apply it with ``schedule.apply(move.step)``.
    evidence : Witness, Deferred or None
        Two iterations that conflict, where that is the reason, or how to find them; `witness` does.
    advice : str or Deferred
        What to do about it, or how to find that out; `hint` does.
    """

    primitive: str
    args: dict[str, Json]
    legal: bool
    step: Primitive
    code: str = ""
    reason: str = ""
    where: tuple[str, ...] = ()
    evidence: Evidence = field(default=None, compare=False)
    advice: Hint = field(default="", compare=False)

    @property
    def witness(self) -> Witness | None:
        """Two iterations that conflict, where that is the reason and they can be found."""
        return witness_of(self.evidence)

    @property
    def hint(self) -> str:
        """What to do about it; empty for a legal move."""
        return str(self.advice)

    @shown_legibly
    def __str__(self) -> str:
        return str(self.step) if self.legal else f"{self.step}: {self.reason}"

    def __repr__(self) -> str:
        return f"<Move {self}>"

    def to_json(self) -> dict[str, Json]:
        """Plain form for a user interface."""
        return {
            "primitive": self.primitive,
            "args": self.args,
            "legal": self.legal,
            "code": self.code,
            "reason": self.reason,
            "where": list(self.where),
            "witness": None if self.witness is None else self.witness.to_json(),
            "hint": self.hint,
        }


class Moves(Drawn, list[Move]):
    """A list of moves that a notebook shows as a table."""


def judge(func: Func, step: Primitive, target: object) -> Move:
    """Ask whether a step is legal, and why not."""
    try:
        step.resolve(func).check(func, target)
    except WorkbenchError as e:
        return refused(step, e)
    return Move(step.name, step.to_json()["args"], True, step)


def judge_all(func: Func, steps: Iterable[Primitive], target: object) -> Iterator[Move]:
    """Judge steps in turn; of those that are alike (see `Primitive.alike`) one legal step speaks for the others."""
    legal: set[tuple[str, Hashable]] = set()
    known = _parts(func)
    for step in steps:
        common = step.alike(func)
        key = (step.name, common)
        if common is not None and key in legal:
            yield Move(step.name, step.to_json()["args"], True, step)
            continue
        with trial(known):
            move = judge(func, step, target)
        if common is not None and move.legal:
            legal.add(key)
        yield move


def _parts(func: Func) -> frozenset[int]:
    """Which objects a function consists of: what is found out about them is asked again for every step."""
    parts: list[object] = [func.body, func.buffers, func.relations, func.holes, func.aliases]
    for s, _ in walk(func.body):
        more = (s.index, s.value, s.init, s.guard) if isinstance(s, Block) else (s.name, s.extent, s.body)
        parts += (s, *more)
    return frozenset(map(id, parts))


def refused(step: Primitive, e: WorkbenchError) -> Move:
    """Return the move that an error is about."""
    args = step.to_json()["args"]
    evidence, advice = (e.evidence, e.advice) if isinstance(e, Refusal) else (None, e.hint)
    return Move(step.name, args, False, step, e.code, e.message, e.where, evidence, advice)
