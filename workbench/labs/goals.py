"""Goals that several labs ask for: vectors, registers, work and room of stages, caches, threads, right functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from copy import copy
from math import ceil, isclose, prod
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from workbench import markup
from workbench.analysis import Cache, cache_view
from workbench.arguments import shown
from workbench.ir import blocks
from workbench.ir.poly import concrete
from workbench.labs.counting import Counts, Stage, count, shared_lines, stages
from workbench.labs.counting.load_counts import block_of
from workbench.labs.exercise import Goal, valued
from workbench.labs.quantities import memory

if TYPE_CHECKING:
    from workbench.labs.exercise import Setting
    from workbench.schedule import Schedule


def _each(s: Schedule, at: Setting, blocks: tuple[str, ...]) -> Iterator[tuple[Counts, str]]:
    """Counts of these blocks, of the first one that reduces where none is named; and of which one, in words."""
    for name in blocks or (None,):
        yield count(s.func, at.lanes, name), f" of {name}" if len(blocks) > 1 else ""


def whole_vectors(*blocks: str) -> Goal:
    """Return the goal of whole vectors in every one of these blocks; in the first one that reduces by default."""

    def reached(s: Schedule, at: Setting) -> tuple[bool, str]:
        told, lanes = [], at.lanes
        for counts, of in _each(s, at, blocks):
            if not counts.vectorized:
                return False, f"No loop{of} is vectorised yet."
            if counts.lanes % lanes:
                runs = f"The vectorised loop{of} runs {counts.lanes} times"
                return False, f"{runs}, which is not a multiple of {lanes} lanes."
            told.append(f"{counts.vectorized}{of}")
        return True, f"One instruction works on {lanes} neighbouring numbers along {' and '.join(told)}."

    loops = f"Loops of {' and of '.join(blocks)} are" if blocks[1:] else "A loop is"
    return Goal(f"{loops} vectorised, in whole vectors.", reached)


def pieces(*blocks: str, buffer: str | None = None) -> Goal:
    """Return the goal that every vector of these blocks is one piece of memory, or one number for all lanes.

    Vectors of one buffer only are looked at where it is named.
    """

    def reached(s: Schedule, at: Setting) -> tuple[bool, str]:
        for counts, of in _each(s, at, blocks):
            if not counts.vectorized:
                return False, f"As long as no loop{of} is vectorised, nothing is loaded or stored as a vector."
            strides = {name: step for name, step in counts.strides.items() if buffer in (None, name)}
            far = [f"{step:,} elements apart in {name}" for name, step in strides.items() if step > 1]
            if far:
                return False, f"Neighbouring lanes lie {' and '.join(far)}: each lane is loaded or stored for itself."
        return True, f"Every vector{vectors} is one piece of memory, or one number for all lanes."

    vectors = f" of {buffer}" if buffer else ""
    return Goal(f"Each vector{vectors} that is loaded or stored is one piece of memory.", reached)


# ------------------------------------------------------------------------------------------------ sums in registers


def accumulators(least: int | Callable[[Setting], int], block: str | None = None) -> Goal:
    """Return the goal that so many accumulators of a block stay in registers while the sum runs."""

    def needed(at: Setting) -> int:
        return least(at) if callable(least) else least

    def reached(s: Schedule, at: Setting) -> tuple[bool, str]:
        counts = count(s.func, at.lanes, block)
        if not counts.accumulators or not counts.vectorized:
            result = block_of(s.func, block)[0].buffer
            return False, (
                f"No tile of {result} stays in vector registers: inside the loop of the sum, every loop over {result} "
                "has to be unrolled or vectorised, and one of them vectorised."
            )
        good = counts.accumulators >= needed(at)
        end = "." if good else f"; at least {needed(at)} are needed."
        shape = f"{markup.plural(counts.rows, 'row')} × {markup.plural(counts.vectors, 'vector')}"
        return good, f"The tile of results has {markup.plural(counts.accumulators, 'accumulator')} ({shape}){end}"

    kept = "Kept in registers while the sum runs"
    return Goal(lambda at: f"{kept}: at least {markup.plural(needed(at), 'vector')} of sums (accumulators).", reached)


def _fits(s: Schedule, at: Setting) -> tuple[bool, str]:
    counts = count(s.func, at.lanes)
    if not counts.accumulators:
        return False, "What is not in registers cannot fit there; see the line above."
    used = counts.accumulators + counts.vectors + 1
    text = f"The tile needs {used} of {at.registers} vector registers"
    good = used <= at.registers
    return good, text + ("." if good else ": what does not fit is stored and loaded again at every step of the sum.")


def _work_per_load(s: Schedule, at: Setting) -> tuple[bool, str]:
    counts = count(s.func, at.lanes)
    if not counts.accumulators:
        return False, "Without a tile of results every multiply-add loads what it needs for itself."
    good = counts.adds_per_load >= 1.3
    shape = "" if good else "; at least 1.3 are needed, and squarer tiles have more"
    loads = f"{counts.accumulators} multiply-adds share {counts.vector_loads} loads"
    return good, f"{loads}: {counts.adds_per_load:.2f} for each load{shape}."


#: Accumulators, vectors of one factor and a number of the other are no more than there are registers.
FITS = Goal(lambda at: f"The tile fits into {at.registers} registers.", _fits)
PER_LOAD = Goal("At least 1.3 multiply-adds for each load.", _work_per_load)


# ------------------------------------------------------------------------------------------------ stages


def _named(s: Schedule, names: tuple[str, ...]) -> tuple[dict[str, Stage], str]:
    """The stages with these names, all where none is named; and what is to be said where one is missing."""
    found = stages(s.func)
    missing = " and no ".join(name for name in names if name not in found)
    if missing:
        return {}, f"There is no stage {missing}: inlined, or not made yet."
    return {name: found[name] for name in names or found}, ""


def repeated_at_most(most: float, *names: str) -> Goal:
    """Return the goal that stages, all by default, are computed at most so many times as often as needed."""

    def reached(s: Schedule, at: Setting) -> tuple[bool, str]:
        found, missing = _named(s, names)
        if missing:
            return False, missing
        times = {name: stage.repeated for name, stage in found.items() if stage.repeated > 1}
        more = [f"{name} is computed {repeated:.4g} times as often as needed" for name, repeated in times.items()]
        good = all(repeated <= most for repeated in times.values())
        return good, f"{', '.join(more)}." if more else "Nothing is computed twice."

    if most == 1:
        return Goal(f"Nothing{' of ' * bool(names)}{' and of '.join(names)} is computed twice.", reached)
    what = " and ".join(names) or "Each stage"
    return Goal(f"{what} is computed at most {most:g} times as often as needed.", reached)


NOTHING_TWICE = repeated_at_most(1)


def kept_at_most(most: float | Callable[[Setting], float], *names: str) -> Goal:
    """Return the goal that each of these stages keeps at most so many bytes; all temporaries together by default."""

    def limit(at: Setting) -> float:
        return float(valued(most, at))

    def reached(s: Schedule, at: Setting) -> tuple[bool, str]:
        found, missing = _named(s, names)
        if missing:
            return False, missing
        kept = {name: stage.kept for name, stage in found.items() if names or stage.temporary}
        told = ", ".join(f"{memory(amount)} of {name}" for name, amount in kept.items())
        amount = max(kept.values()) if names else sum(kept.values())
        return amount <= limit(at), f"Kept at a time: {told or 'no temporary at all'}."

    if names:
        of = f"{'each ' * bool(names[1:])}of {' and of '.join(names)}"
        return Goal(lambda at: f"At most {memory(limit(at))} {of} are kept at a time.", reached)
    return Goal(lambda at: f"All temporaries together take at most {memory(limit(at))}.", reached)


# ------------------------------------------------------------------------------------------------ caches


def misses_at_most(
    most: Callable[[Setting], int], *caches: Cache, level: str = "", buffer: str | None = None, meaning: str = ""
) -> Goal:
    """Return the goal that at most so many accesses of a nest, or of one buffer in it, miss a level; the first one.

    Parameters
    ----------
    caches : Cache
        What is simulated, from the nearest level on.
    meaning : str
        What else is to be said of that number.
    """
    where = level or ("the cache" if len(caches) == 1 else caches[0].name)
    what = f"accesses{f' of {buffer}' if buffer else ''}"

    def reached(s: Schedule, at: Setting) -> tuple[bool, str]:
        found = cache_view(s, levels=caches).misses(level or caches[0].name, buffer)
        end = "." if found <= most(at) else f"; it has to be at most {most(at):,}."
        return found <= most(at), f"{found:,} {what} miss {where}{end}"

    return Goal(lambda at: f"At most {most(at):,} {what} miss {where}{meaning}.", reached)


# ------------------------------------------------------------------------------------------------ threads


def iterations_at_once(s: Schedule) -> int:
    """Return the most iterations of a stage that may run at the same time; 1 where no loop is parallel."""
    return max(stage.iterations for stage in shared_lines(s.func).values())


def busy_share(s: Schedule, threads: int) -> float:
    """Return the share of the threads' time that is work, stage after stage, if all runs of statements take as long.

    What is computed again, and what a condition leaves out, is no work.
    """
    time = 0
    for _, path in blocks(s.func.body):
        iterations = prod(concrete(lp.extent) for lp in path if lp.kind == "parallel")
        time += ceil(iterations / threads) * prod(concrete(lp.extent) for lp in path if lp.kind != "parallel")
    return sum(stage.needed for stage in stages(s.func).values()) / (threads * time)


def busy_at_least(least: float, threads: int | Callable[[Setting], int]) -> Goal:
    """Return the goal that at least this share of the threads' time is work."""

    def many(at: Setting) -> int:
        return threads(at) if callable(threads) else threads

    def reached(s: Schedule, at: Setting) -> tuple[bool, str]:
        most, share = iterations_at_once(s), busy_share(s, many(at))
        if most == 1:
            return False, "No loop is parallel."
        rounds = markup.plural(ceil(most / many(at)), "round")
        return share >= least, f"{most} iterations take {rounds} of {many(at)} threads: {share:.1%} is work."

    return Goal(lambda at: f"At least {least:.0%} of the time of {many(at)} threads is work.", reached)


def parallel_iterations(least: int) -> Goal:
    """Return the goal that so many iterations, at least, may run at the same time."""

    def reached(s: Schedule, at: Setting) -> tuple[bool, str]:
        most = iterations_at_once(s)
        if most == 1:
            return False, "No loop is parallel."
        end = "." if most >= least else f"; at least {least} are needed."
        return most >= least, f"{most} iterations may run at the same time{end}"

    return Goal(f"At least {least} iterations may run at the same time.", reached)


def _none_shared(s: Schedule, at: Setting) -> tuple[bool, str]:
    found = shared_lines(s.func)
    shared = {name: stage for name, stage in found.items() if stage.shared}
    if all(stage.iterations == 1 for stage in found.values()):
        return False, "No loop is parallel, so there is nothing that could be shared."
    if not shared:
        return True, "No line is written by two iterations."
    name, worst = max(shared.items(), key=lambda item: item[1].shared)
    told = f"{worst.shared:,} of {worst.lines:,} lines of {name} are written by up to {worst.writers} iterations."
    return False, told


NO_SHARED_LINES = Goal("No cache line of a result is written by two parallel iterations.", _none_shared)


# ------------------------------------------------------------------------------------------------ functions


#: Arguments of the student's function, what it has to return, and how the arguments are told where they are long.
Case: TypeAlias = "tuple[tuple[Any, ...], Any] | tuple[tuple[Any, ...], Any, str]"


def _short(value: object) -> str:
    return f"{value:.9g}" if isinstance(value, float) else shown(value)


def right_for(
    text: str,
    cases: Iterable[Case] | Callable[[Setting], Iterable[Case]],
    within: float = 0.0,
    show: Callable[[Any], str] = _short,
) -> Goal:
    """Return the goal that the student's function returns what is right in every case.

    Parameters
    ----------
    text : str
        What is to be reached, as one sentence; it is said as well where it is reached.
    cases : iterable of Case, or a callable of Setting that returns one
        Each call gets copies of the arguments.
    within : float
        By how much a number may be off, as a share and in all; 0 for what has to be equal. A list does for a tuple.
    show : callable
        How results are written: ``hex`` for bits.
    """

    def right(found: Any, wanted: Any) -> bool:
        if within:
            number = isinstance(found, Real) or (isinstance(found, np.generic) and found.dtype.kind == "V")  # bfloat16
            return number and isclose(found, wanted, rel_tol=within, abs_tol=within)
        return bool((tuple(found) if isinstance(found, list) and isinstance(wanted, tuple) else found) == wanted)

    def reached(work: Callable[..., Any], at: Setting) -> tuple[bool, str]:
        for given, wanted, *told in cases(at) if callable(cases) else cases:
            found = work(*map(copy, given))
            if not right(found, wanted):
                name = getattr(work, "__name__", "")
                name = name if name.isidentifier() else "your function"
                call = f"For {told[0]}, {name} returns" if told else f"{name}({', '.join(map(_short, given))}) is"
                turned = isinstance(found, tuple | list) and right(found[::-1], wanted)
                order = " The values are right, their order is not." if turned else ""
                return False, f"{call} {show(found)}; right is {show(wanted)}.{order}"
        return True, text

    return Goal(text, reached)
