"""The way from a schedule to a faster one of the same computation: the decisions that differ, one after the other."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Any

from workbench.advice.estimated_speedup import LEAST
from workbench.advice.offer import Offer
from workbench.advice.step_text import phrase, summary
from workbench.advice.whole_plan import parts
from workbench.analysis.loop_nest.schedule_estimate import cycles_of
from workbench.arguments import is_a
from workbench.cooperative_yield import pause
from workbench.errors import UsageError, WorkbenchError
from workbench.exercise_mode import need
from workbench.ir import Func, blocks
from workbench.machine_model.block_counts import STRAIGHT
from workbench.machine_model.machine_parameters import Machine
from workbench.machine_model.nest_summary import BlockPlan
from workbench.machine_model.nest_summary import plan as nest_plan
from workbench.schedule import Schedule
from workbench.schedule.primitive import Primitive
from workbench.space.program_keys import program_key
from workbench.target import Target


@dataclass(frozen=True, slots=True)
class Way:
    """From one schedule to another.

    Attributes
    ----------
    differences : tuple of str
        What the other one decides otherwise, in words.
    offers : tuple of Offer
        Each takes all decisions up to itself; its text is the last of them. The end of the last one is the other
        schedule. `gain` is that of the last decision, by the estimate.
    """

    differences: tuple[str, ...]
    offers: tuple[Offer, ...]

    def __str__(self) -> str:
        rows = [f"{k}. {_label(offer)}" for k, offer in enumerate(self.offers, 1)]
        return "\n".join(["; ".join(self.differences) or "the same decisions", *rows])

    def rows(self) -> list[dict[str, Any]]:
        """Return what a front end shows and sends back: each row takes the way up to itself."""
        return [{**one.to_json(), "id": f"way{k}", "label": _label(one)} for k, one in enumerate(self.offers, 1)]


def way_to(schedule: Schedule, best: Schedule, target: Target | None = None, *, constants: str = "near") -> Way:
    """Say what a faster schedule decides otherwise, and how to get there in steps that are each legal.

    Parameters
    ----------
    schedule, best : Schedule
        Of one computation, without open numbers; both stay as they are.
    target : Target, optional
        That of the schedule, else this machine.
    constants : {"near", "shared", "memory"}
        Where a call finds its constants, as for `MeasureOptions`.

    Raises
    ------
    UsageError
        "lab.mode" where an open lab keeps advice off; "way.schedule" for anything but two schedules of one computation
        without open numbers.
    """
    need("advice")
    for name, given in (("schedule", schedule), ("best", best)):
        is_a(name, given, Schedule, "the way is between two schedules", "way.schedule")
        if not given.is_concrete:
            raise UsageError("way.schedule", f"{name} has open numbers", (name,), "fill them: s.fill(row)")
    if program_key(schedule.base) != program_key(best.base):
        text = f"{best.base.name} is another computation than {schedule.base.name}, or one of other sizes"
        raise UsageError("way.schedule", text, ("best",), "take two schedules of one task")
    machine = Machine.of(target or schedule.target or Target.host(), constants)
    mine, theirs = tuple(schedule.trace), tuple(best.trace)
    if theirs[: len(mine)] == mine:
        whole, offers = Offer(()), []
        for one in parts(schedule, best, machine):
            whole = Offer((*whole.steps, *one.steps), one.gain, says=one.words)
            offers.append(whole)
    else:
        offers = list(_by_decision(schedule, best, machine))
    return Way(tuple(_differences(schedule.func, best.func)), tuple(offers))


def _by_decision(schedule: Schedule, best: Schedule, machine: Machine) -> Iterator[Offer]:
    """Yield the ways up to each decision, from the first step to the last; one that is not legal goes with the next."""
    mine, theirs = tuple(schedule.trace), tuple(best.trace)
    before, told = cycles_of(schedule, machine), list[str]()
    for a, b, words in _decisions(mine, theirs):
        pause()
        told.append(words)
        after = schedule.prefix(0)
        try:
            for step in (*theirs[:b], *mine[a:]):
                after.apply(step)
        except WorkbenchError:
            continue
        if not after.trace:
            continue
        now = cycles_of(after, machine)
        yield replace(_between(mine, tuple(after.trace)), gain=before / max(now, 1.0), says="; ".join(told))
        before, told = now, []


def _between(mine: Sequence[Primitive], then: Sequence[Primitive]) -> Offer:
    """The steps from one trace to another, one at least: what they have in common at the beginning stays."""
    same = next((k for k, (a, b) in enumerate(zip(mine, then, strict=False)) if a != b), min(len(mine), len(then)))
    same = min(same, len(then) - 1)
    return Offer(tuple(then[same:]), without=tuple(range(same, len(mine))))


def _decisions(mine: Sequence[Primitive], theirs: Sequence[Primitive]) -> Iterator[tuple[int, int, str]]:
    """Yield where two traces differ: how far into each that goes, and what the second one does instead, in words."""
    kinds = [[(step.name, _about(step)) for step in steps] for steps in (mine, theirs)]
    for tag, a, a_end, b, b_end in SequenceMatcher(a=kinds[0], b=kinds[1], autojunk=False).get_opcodes():
        if tag == "equal":
            for k, (old, new) in enumerate(zip(mine[a:a_end], theirs[b:b_end], strict=True), 1):
                if old != new:
                    instead = phrase(old).removeprefix(old.name).rpartition(" by ")[2].strip()
                    yield a + k, b + k, f"{phrase(new)}, not {instead}"
            continue
        words = [summary(theirs[b:b_end])] if b < b_end else []
        words += [f"without {summary(mine[a:a_end])}"] if a < a_end else []
        yield a_end, b_end, ", ".join(words)


def _about(step: Primitive) -> str:
    """What two steps that decide the same thing have in common: the first loop, block or buffer that they name."""
    first = next(iter(step.args.values()), "")
    return str(first[0] if isinstance(first, tuple) and first else first)


def _label(offer: Offer) -> str:
    return str(offer) if offer.gain >= LEAST else offer.says


# ----- what differs, in words


def _differences(mine: Func, theirs: Func) -> Iterator[str]:
    """Say what the second of two nests decides otherwise."""
    a, b = _main(mine), _main(theirs)
    old, new = _tile(a), _tile(b)
    if old != new:
        yield f"tiles of {_times(new)} results, not {_times(old)}"
    one, other = _pieces(a), _pieces(b)
    if one != other:
        yield f"{_count(other)}, not {one:,}"
    stages = [{block.name: around for block, around in blocks(func.body)} for func in (mine, theirs)]
    for name in dict.fromkeys([*stages[0], *stages[1]]):
        here, there = (each.get(name) for each in stages)
        if (here is None) != (there is None):
            yield f"{name} {'inlined' if there is None else 'computed by itself'}"
    yield from _packed(mine, theirs)


def _packed(mine: Func, theirs: Func) -> Iterator[str]:
    known: Mapping[str, tuple[Any, ...]] = {b.name: b.shape for b in mine.params}
    for buffer in theirs.params:
        if buffer.role == "const" and known.get(buffer.name) not in (None, buffer.shape):
            yield f"{buffer.name} laid out as {' × '.join(map(str, buffer.shape))}"


def _main(func: Func) -> BlockPlan:
    found = nest_plan(func)
    return found.blocks[found.main]


def _tile(block: BlockPlan) -> list[int]:
    """Extents of the loops over results that are written out or run as vectors, without those that run once."""
    sizes = [lp.extent for lp in block.loops if lp.kind in STRAIGHT and not lp.reduces]
    return [n for n in sizes if isinstance(n, int) and n > 1] or [1]


def _pieces(block: BlockPlan) -> int:
    return math.prod(lp.extent for lp in block.loops if lp.kind == "parallel" and isinstance(lp.extent, int))


def _times(sizes: Sequence[int]) -> str:
    return " × ".join(map(str, sizes))


def _count(pieces: int) -> str:
    return f"{pieces:,} parallel piece{'s' * (pieces != 1)}"
