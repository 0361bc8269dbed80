"""The simulated hierarchy as machine code: sets of lines, the most recently used first.

A line of a set is a word: the number of the line plus one, and below it who wrote it last (0: nobody, the line is as it
is in the next level). Ways of a set stand in the order of their use, so the first one is looked at first, and what is
touched again and again costs one comparison.

A line that is missing is fetched through all levels; each keeps a copy. A written line that leaves a level is written
to the next one, where it becomes the most recently used. A level does not throw out what the levels above it hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np
import numpy.typing as npt

from workbench.analysis.cache.levels import Cache
from workbench.runtime.native.emitter import I64, Emitter, Value, native
from workbench.runtime.native.structs import Pointer, Struct

Array = npt.NDArray[np.int64]

#: Bits below a line's number, for who wrote it.
OWNER_BITS = 16
MOST_OWNERS = (1 << OWNER_BITS) - 1
_OWNER = MOST_OWNERS

LEVEL = Struct.of(tags="ptr", mask="i64", ways="i64", next="ptr", misses="ptr", written="ptr")
Level = Annotated[Value, Pointer(LEVEL)]
#: What the code of a nest gets: counts of accesses and of first touches, lines that were touched before, the levels.
#: Code that can be watched also gets the number of accesses so far, how many of them happen, the next one before which
#: somebody looks, which one that is, the values of the loops, and who looks.
STATE = Struct.of(
    accesses="ptr", first="ptr", seen="ptr", tags="ptr", level="ptr",
    time="i64", stop="i64", pause="i64", who="i64", line="i64", loops="ptr", look="ptr",
)  # fmt: skip
State = Annotated[Value, Pointer(STATE)]
_WORDS = LEVEL.size // 8


@native
def fetch(f: Emitter, level: Level, key: I64, who: I64, owner: I64, demand: I64) -> None:
    """Make a line the most recently used of its set in a level, from the levels behind it where it is missing."""
    place = ((key - 1) & level["mask"].load()) * level["ways"].load()
    row = level["tags"].load().as_("i64")[place]
    moved, hit = f.local(0), f.local(0)
    with f.block() as search, f.range(level["ways"].load(), once=True) as way:
        tag = row[way].load()
        row[way].store(moved.load())
        moved.store(tag)
        same = (tag >> OWNER_BITS).eq(key)
        hit.store(same.cast("zext", "i64"))
        search.leave(same)
    found, last = hit.load().ne(0), moved.load()
    kept = found.select(last & _OWNER, 0)
    row.store((key << OWNER_BITS) | owner.ne(0).select(owner, kept))
    with f.when(hit.load().eq(0)):
        behind = level["next"].load().as_(LEVEL)
        with f.when(demand.ne(0)):
            level["misses"].load().as_("i64")[who].increase(1)
            with f.when(behind.ne(0)):
                fetch(f, behind, key, who, 0, 1)
        writer = last & _OWNER
        with f.when(writer.ne(0)):
            level["written"].load().as_("i64")[writer - 1].increase(1)
            with f.when(behind.ne(0)):
                fetch(f, behind, last >> OWNER_BITS, who, writer, 0)


@native
def miss(f: Emitter, state: State, key: I64, who: I64) -> None:
    """Look for a line that is not the most recently used of its set in the first level."""
    seen = state["seen"].load().as_("i8")[key]
    with f.when(seen.load().eq(0)):
        seen.store(1)
        state["first"].load().as_("i64")[who].increase(1)
    fetch(f, state["level"].load().as_(LEVEL), key, who, 0, 1)


@native
def tell(f: Emitter, state: State, line: I64, who: I64) -> None:
    """Count an access, and let who watches look before it happens."""
    now = state["time"].load()
    with f.when(now.eq(state["pause"].load())):
        state["who"].store(who)
        state["line"].store(line)
        state["look"].load()(state)
    state["time"].store(now + 1)


def touch(f: Emitter, state: Value, first: Cache, line: Value, who: int, write: bool) -> None:
    """Emit one access of a line by access number `who`."""
    state["accesses"].load().as_("i64")[who].increase(1)
    key = line + 1
    front = state["tags"].load().as_("i64")[(line & (first.sets - 1)) * first.each]
    with f.when((front.load() >> OWNER_BITS).ne(key)):
        miss(f, state, key, f.const(who))
    if write:
        front.store((key << OWNER_BITS) | (who + 1))


class Hierarchy:
    """State of simulated caches and the counts so far, as memory that the machine code reads and writes.

    Parameters
    ----------
    levels : sequence of Cache
        The nearest first.
    lines : int
        Lines of memory.
    accesses : int
        Number of accesses that are told apart.
    loops : int
        Number of loops whose values are told to who watches.
    stop : int
        How many accesses of code that is watched happen; the others are left out.
    """

    def __init__(self, levels: Sequence[Cache], lines: int, accesses: int, loops: int = 0, stop: int = 0) -> None:
        self.levels = tuple(levels)
        #: Rows: accesses, first touches, then misses of each level, then lines that were written back by each level.
        self.counts: Array = np.zeros((2 + 2 * len(self.levels), accesses), np.int64)
        self.tags: list[Array] = [np.zeros(c.sets * c.each, np.int64) for c in self.levels]
        self._seen = np.zeros(lines + 2, np.int8)
        self._table: Array = np.zeros((len(self.levels), _WORDS), np.int64)
        for k, (cache, tags) in enumerate(zip(self.levels, self.tags, strict=True)):
            following = self._table[k + 1].ctypes.data if k + 1 < len(self.levels) else 0
            misses, written = self.counts[2 + k], self.counts[2 + len(self.levels) + k]
            self._table[k] = [
                tags.ctypes.data, cache.sets - 1, cache.each, following, misses.ctypes.data, written.ctypes.data,
            ]  # fmt: skip
        self.loops: Array = np.zeros(loops, np.int64)
        self._state: Array = np.array(
            [self.counts[0].ctypes.data, self.counts[1].ctypes.data, self._seen.ctypes.data, self.tags[0].ctypes.data,
             self._table.ctypes.data, 0, stop, -1, 0, 0, self.loops.ctypes.data, 0],
            np.int64,
        )  # fmt: skip

    @property
    def address(self) -> int:
        """Where the state lies, for the machine code."""
        return int(self._state.ctypes.data)

    @property
    def time(self) -> int:
        """Accesses so far, by code that can be watched."""
        return int(self._state[_WORD["time"]])

    @property
    def next(self) -> tuple[int, int]:
        """The access that is about to happen, and its line."""
        return int(self._state[_WORD["who"]]), int(self._state[_WORD["line"]])

    def pause(self, time: int, look: int) -> None:
        """Call the function at address `look` before access number `time`; -1 for never."""
        self._state[_WORD["pause"]], self._state[_WORD["look"]] = time, look

    def holders(self, lines: int) -> npt.NDArray[np.uint8]:
        """Return for each line of memory the nearest level that holds it, or the number of levels."""
        out = np.full(lines, len(self.levels), np.uint8)
        for k in reversed(range(len(self.levels))):
            held = (self.tags[k] >> OWNER_BITS) - 1
            out[held[held >= 0]] = k
        return out


_WORD = {name: STATE.offset(name) // 8 for name in STATE.fields}
