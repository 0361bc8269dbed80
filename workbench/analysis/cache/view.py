"""Hits and misses of a nest on simulated caches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from workbench import markup as m
from workbench.analysis.cache.access_tree import Mode, Program, Repeat, walk
from workbench.analysis.cache.accesses import program
from workbench.analysis.cache.levels import Cache, checked, own_levels
from workbench.analysis.cache.simulation import Counts, simulate
from workbench.arguments import is_a, whole
from workbench.errors import UsageError, did_you_mean
from workbench.ir import Func
from workbench.safe_text import shown_legibly
from workbench.schedule import Schedule
from workbench.target import Target

if TYPE_CHECKING:
    import pandas as pd

By = Literal["access", "loop", "block", "buffer"]

#: Accesses that are run at most before a sample is taken: a second or two.
LIMIT = 100_000_000


@dataclass(frozen=True, slots=True)
class Level:
    """What reached one level.

    Attributes
    ----------
    accesses, hits, misses : int
        Accesses that came to it, how many found their line, and how many had to fetch it from the next level.
    write_backs : int
        Changed lines that left it.
    """

    accesses: int
    hits: int
    misses: int
    write_backs: int


@dataclass(frozen=True, slots=True)
class AccessCount:
    """One access of the nest on every level.

    Attributes
    ----------
    block, buffer, kind, text : str
        The statement, the array, "read" or "write", the element: ``A[i, k]``.
    first : int
        Misses of the first level at lines that nothing had touched before.
    levels : tuple of Level
        The nearest first.
    """

    block: str
    buffer: str
    kind: str
    text: str
    first: int
    levels: tuple[Level, ...]


@dataclass(frozen=True, slots=True)
class LoopCount:
    """What lies under a loop, on every level.

    Attributes
    ----------
    loop : str
    depth : int
        Loops around it.
    iterations : int
        How often its body runs in all.
    misses : tuple of int
        Misses of each level under the loop in all; divided by `iterations`, those of one iteration.
    """

    loop: str
    depth: int
    iterations: int
    misses: tuple[int, ...]


@dataclass(frozen=True, slots=True, repr=False)
class CacheCounts(m.Drawn):
    """Which accesses of a nest miss which level of a simulated cache hierarchy; made by `cache_view`.

    Attributes
    ----------
    name : str
        The function.
    levels : tuple of Cache
        What was simulated, the nearest first.
    mode : {"generated", "written"}
        Whose accesses were counted: those of the generated code, or those of the nest as it reads.
    accesses : tuple of AccessCount
        In the order of the nest.
    loops : tuple of LoopCount
        From the outside in.
    share : float
        Share of the accesses that was run; 1 where nothing was estimated.
    errors : tuple of float
        Of the misses of each level, two standard errors as a share of them; 0 where everything was run.
    """

    name: str
    levels: tuple[Cache, ...]
    mode: Mode
    accesses: tuple[AccessCount, ...]
    loops: tuple[LoopCount, ...]
    share: float
    errors: tuple[float, ...]

    @shown_legibly
    def __repr__(self) -> str:
        counts = ", ".join(f"{c.name} {self.misses(c.name):,}" for c in self.levels)
        about = "" if self.share == 1 else f", estimated from {100 * self.share:.2g} %"
        return f"<cache view of {self.name}: {self.total():,} accesses, misses: {counts}{about}>"

    def total(self, buffer: str | None = None) -> int:
        """Return how many accesses there are, of one array or of all."""
        return sum(a.levels[0].accesses for a in self._of(buffer))

    def misses(self, level: str = "L1", buffer: str | None = None) -> int:
        """Return how many accesses miss a level.

        Parameters
        ----------
        level : str
            Name of the level.
        buffer : str, optional
            Of one array alone.

        Raises
        ------
        UsageError
            "cache.level" and "cache.buffer" for what there is not.
        """
        k = self._level(level)
        return sum(a.levels[k].misses for a in self._of(buffer))

    def miss_rate(self, level: str = "L1", buffer: str | None = None) -> float:
        """Return the share of the accesses that reach a level and miss it; raises as `misses`."""
        k = self._level(level)
        reached = sum(a.levels[k].accesses for a in self._of(buffer))
        return self.misses(level, buffer) / reached if reached else 0.0

    def traffic(self, level: str = "L1", buffer: str | None = None) -> int:
        """Return the bytes that a level fetches from the next one and writes back to it; raises as `misses`."""
        k = self._level(level)
        moved = sum(a.levels[k].misses + a.levels[k].write_backs for a in self._of(buffer))
        return moved * self.levels[k].line

    def frame(self, by: By = "access") -> pd.DataFrame:
        """Return the counts as a table with a row for each level of each access, block, buffer or loop.

        Parameters
        ----------
        by : {"access", "block", "buffer", "loop"}
            "access": columns ``block buffer kind access level accesses hits misses write_backs bytes``, where `bytes`
            went from the next level and to it. "block" and "buffer": the same in sums. "loop": columns ``loop depth
            iterations level misses misses_per_iteration``.
        """
        import pandas as pd

        if by not in get_args(By):
            hint = did_you_mean(by, get_args(By), "groups")
            raise UsageError("cache.by", f"Counts are not grouped by {by!r}", (), hint)
        if by == "loop":
            return pd.DataFrame(
                [
                    (x.loop, x.depth, x.iterations, c.name, n, n / x.iterations)
                    for x in self.loops
                    for c, n in zip(self.levels, x.misses, strict=True)
                ],
                columns=["loop", "depth", "iterations", "level", "misses", "misses_per_iteration"],
            )
        table = pd.DataFrame(
            [
                (a.block, a.buffer, a.kind, a.text, c.name, x.accesses, x.hits, x.misses, x.write_backs,
                 (x.misses + x.write_backs) * c.line)
                for a in self.accesses
                for c, x in zip(self.levels, a.levels, strict=True)
            ],
            columns=["block", "buffer", "kind", "access", "level", *_COUNTS],
        )  # fmt: skip
        return table if by == "access" else table.groupby([by, "level"], sort=False)[_COUNTS].sum().reset_index()

    def sentence(self) -> str:
        """Say in one sentence which array misses the first level most, and how often."""
        names = list(dict.fromkeys(a.buffer for a in self.accesses))
        first = self.levels[0].name
        if not names or not self.misses(first):
            return f"Nothing misses {first}."
        worst = max(names, key=lambda n: self.misses(first, n))
        share, rate = self.misses(first, worst) / self.misses(first), self.miss_rate(first, worst)
        return f"{m.percent(share)} of the misses of {first} are at {worst}: {m.percent(rate)} of its accesses miss."

    def _level(self, name: str) -> int:
        names = [c.name for c in self.levels]
        if name not in names:
            text = f"There is no level {name!r} among {', '.join(names)}"
            raise UsageError("cache.level", text, (), did_you_mean(name, names, "levels"))
        return names.index(name)

    def _of(self, buffer: str | None) -> Sequence[AccessCount]:
        found = [a for a in self.accesses if buffer is None or a.buffer == buffer]
        if not found and buffer is not None:
            names = {a.buffer for a in self.accesses}
            text = f"No access of {buffer!r} is counted here"
            raise UsageError("cache.buffer", text, (), did_you_mean(buffer, names, "arrays"))
        return found


_COUNTS = ["accesses", "hits", "misses", "write_backs", "bytes"]


def cache_view(
    s: Schedule | Func,
    block: str | None = None,
    *,
    levels: Iterable[Cache] | Cache | None = None,
    accesses: Mode = "generated",
    apart: int = 64,
    limit: int = LIMIT,
) -> CacheCounts:
    """Run the memory accesses of a nest on a simulated cache hierarchy; nothing is computed or measured.

    The levels are set-associative, with the least recently used line thrown out, write-back and write-allocate. A line
    that is missing is fetched through all levels, and each keeps a copy. There is no prefetching, and one core runs
    everything, parallel loops as well, in the order of the loops. For the same nest, levels and target the counts are
    the same on every machine.

    The arrays lie one after the other in the order of the function, each on a multiple of a line, with `apart` bytes
    between: by default one line, so that equal places of two arrays of a power of two of bytes are in different sets.

    Parameters
    ----------
    s : Schedule or Func
        Without open numbers.
    block : str, optional
        Show the accesses of one block alone; all are run.
    levels : list of Cache, optional
        The nearest first; by default those of the schedule's target, of which it tells the sizes (`levels_of`).
    accesses : {"generated", "written"}
        "generated": what the compiled code does. Results of a reduction stay in registers where the backend keeps
        them, a vector is one access of each line that it touches, a load that an inner loop does not move stands before
        that loop, and the copies of an unrolled loop share what is the same. Not modelled are prefetches, rows that are
        loaded whole and transposed in registers, and what a load reads whose condition fails. "written": each load and
        store of each statement, one element at a time.
    apart : int
        Bytes between two arrays.
    limit : int
        Accesses that are run at most, about. Of more, the first iterations of each outermost loop are run, at least
        three, and those after a third of them stand for the rest; `CacheCounts.share` and `CacheCounts.errors` say so.

    Returns
    -------
    CacheCounts

    Raises
    ------
    BuildError
        "build.holes" when a number is open.
    InputError
        "cache.levels", "cache.data" where data decide what is read, "cache.accesses" for too many places.
    ScheduleError
        "block.unknown".
    UsageError
        "cache.mode", "usage.number".
    """
    is_a("s", s, (Schedule, Func), "pass a Schedule or its .func")
    func, target = (s.func, s.target) if isinstance(s, Schedule) else (s, None)
    target = target or Target.host()
    if accesses not in get_args(Mode):
        text = f"Accesses are not counted as {accesses!r}"
        raise UsageError("cache.mode", text, (), did_you_mean(accesses, get_args(Mode), "ways"))
    if block is not None:
        func.block(is_a("block", block, str))
    caches = own_levels(target) if levels is None else checked(levels)
    line = caches[0].line
    listed = program(func, target, accesses, whole("apart", apart, 0), line)
    counts = simulate(listed, caches, whole("limit", limit))
    return CacheCounts(
        func.name,
        caches,
        accesses,
        _access_counts(listed, counts, len(caches), block),
        _loop_counts(listed, counts, len(caches), block),
        1.0 if counts.simulated >= counts.total else counts.simulated / counts.total,
        counts.errors,
    )


def _access_counts(listed: Program, counts: Counts, levels: int, block: str | None) -> tuple[AccessCount, ...]:
    rows: dict[tuple[str, str, str, str], list[int]] = {}
    for a in listed.accesses:
        if block is None or a.block == block:
            rows.setdefault((a.block, a.buffer, a.kind, a.text), []).append(a.number)
    out = []
    for (name, buffer, kind, text), numbers in rows.items():
        column = [int(n) for n in counts.table[:, numbers].sum(axis=1)]
        reached = [column[0], *column[2 : 1 + levels]]
        found = tuple(Level(n, n - column[2 + k], column[2 + k], column[2 + levels + k]) for k, n in enumerate(reached))
        out.append(AccessCount(name, buffer, kind, text, column[1], found))
    return tuple(out)


def _loop_counts(listed: Program, counts: Counts, levels: int, block: str | None) -> tuple[LoopCount, ...]:
    under: dict[str, set[int]] = {}
    for a, path in walk(listed.nodes):
        if block is None or a.block == block:
            for loop in _names(path):
                under.setdefault(loop, set()).add(a.number)
    return tuple(
        LoopCount(x.name, x.depth, x.iterations, tuple(int(n) for n in misses.sum(axis=1)))
        for x in listed.loops
        if x.name in under
        for misses in [counts.table[2 : 2 + levels, sorted(under[x.name])]]
    )


def _names(path: Sequence[Repeat]) -> set[str]:
    return {r.loop for r in path if not r.inside}
