"""What schedules consist of, counted: primitives, tails, intrinsics, and the spaces that they come from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from property.randoms import Made
from workbench.intrinsics import registry as intrinsics
from workbench.ir import Func, blocks, loops
from workbench.schedule import Schedule
from workbench.schedule import registry as primitives
from workbench.schedule.primitive import Primitive

#: Ways to deal with an extent that is no multiple: a condition, a nest for the rest, a longer axis, lanes that are off.
TAILS = ("guard", "peel", "pad", "lane mask")
#: A masked vector operation in the text of a kernel.
_MASKED = "@llvm.masked."


@dataclass
class Tally:
    """How many schedules have each thing in them, and how many of these were run by the interpreter only."""

    schedules: int = 0
    compiled: int = 0
    primitives: Counter[str] = field(default_factory=Counter)
    tails: Counter[str] = field(default_factory=Counter)
    intrinsics: Counter[str] = field(default_factory=Counter)
    simulated: Counter[str] = field(default_factory=Counter)
    sources: Counter[str] = field(default_factory=Counter)

    def note(self, made: Made, source: str, text: str) -> None:
        """Count a schedule that came from `source`; `text` is its kernel's, none where nothing here can run it."""
        func = made.schedule.func
        called = {lp.intrin for lp, _ in loops(func.body) if lp.intrin is not None}
        self.schedules += 1
        self.compiled += bool(text)
        self.primitives.update(set(made.names))
        self.tails.update(set(tails(made.schedule)))
        self.tails["lane mask"] += _MASKED in text
        self.intrinsics.update(called)
        self.simulated.update(called if not text else ())
        self.sources[source] += 1

    def rows(self) -> Iterator[tuple[str, str, int]]:
        """What should occur, new primitives and intrinsics by themselves: group, name, number of schedules."""
        for group, names, found in (
            ("primitive", primitives.names, self.primitives),
            ("tail", TAILS, self.tails),
            ("intrinsic", intrinsics.names, self.intrinsics),
        ):
            yield from ((group, name, found[name]) for name in names)

    def lacking(self, least: int) -> list[str]:
        """What occurs in fewer than so many schedules."""
        return [f"{name}: {n}" for _, name, n in self.rows() if n < least]

    def __str__(self) -> str:
        lines = [f"{self.schedules} schedules, {self.compiled} of them compiled and run"]
        for group, name, n in self.rows():
            only = self.simulated[name] if group == "intrinsic" else 0
            lines.append(f"  {group:<10} {name:<24} {n:>6}" + (f"  ({only} by the interpreter only)" if only else ""))
        lines += [f"  {'from':<10} {name:<24} {n:>6}" for name, n in sorted(self.sources.items())]
        return "\n".join(lines)


def tails(schedule: Schedule) -> Iterator[str]:
    """Which tails the steps of a schedule have made; a split that turned out even makes none."""
    for step, before, after in _uneven(schedule):
        if step.args["tail"] == "guard" and _guards(after) > _guards(before):
            yield "guard"
        if step.args["tail"] == "peel" and _rests(after) > _rests(before):
            yield "peel"
    if any(step.name == "pad" for step in schedule.trace):
        yield "pad"


def _uneven(schedule: Schedule) -> Iterator[tuple[Primitive, Func, Func]]:
    """Splits with a tail, and the function before and after each."""
    trace = schedule.trace
    for k, step in enumerate(trace):
        if step.name == "split" and step.args["tail"] != "exact":
            back = schedule.copy().undo(len(trace) - k - 1)
            yield step, back.copy().undo().func, back.func


def _guards(func: Func) -> int:
    return sum(len(b.guard) for b, _ in blocks(func.body))


def _rests(func: Func) -> int:
    return sum(lp.name.rpartition(".")[2].startswith("rest") for lp, _ in loops(func.body))
