"""Levels of a simulated cache hierarchy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workbench.arguments import elements, is_a, whole
from workbench.errors import InputError
from workbench.target import Target

KIB, MIB = 1 << 10, 1 << 20
#: Ways of a level of which a target tells only the size, at least; then the sets are a power of two. Chosen: the first
#: levels of current processors have 8 to 12.
_WAYS = 8
_NAMES = ("L1", "L2", "L3")
_MOST_LEVELS = 4


@dataclass(frozen=True, slots=True)
class Cache:
    """One level: set-associative, least recently used, write-back, write-allocate.

    Parameters
    ----------
    name : str
        Like ``"L1"``.
    size : int
        Bytes.
    ways : int, optional
        Lines of one set. None: one set holds all lines (fully associative), so no two addresses are in each other's
        way.
    line : int
        Bytes of a line, a power of two; the same in all levels of a hierarchy.

    Raises
    ------
    InputError
        "cache.size" when the lines do not make a power of two of sets.
    """

    name: str
    size: int
    ways: int | None = 8
    line: int = 64

    def __post_init__(self) -> None:
        is_a("name", self.name, str)
        for name in ("size", "line", "ways"):
            if name != "ways" or self.ways is not None:
                object.__setattr__(self, name, whole(name, getattr(self, name)))  # of NumPy too
        if (
            not _power_of_two(self.line)
            or not _power_of_two(self.sets)
            or self.sets * self.each * self.line != self.size
        ):
            raise InputError(
                "cache.size",
                f"{self.size} bytes are not a power of two of sets with {self.each} lines of {self.line} bytes each",
                (self.name,),
                "for example Cache('L1', 32 * 1024, ways=8)",
            )

    @property
    def each(self) -> int:
        """Lines of one set."""
        return max(1, self.size // self.line) if self.ways is None else self.ways

    @property
    def sets(self) -> int:
        """Number of sets: a line goes into the set that the lowest bits of its number say."""
        return self.size // (self.line * self.each)

    def __str__(self) -> str:
        size = f"{self.size // MIB} MiB" if self.size % MIB == 0 else f"{self.size / KIB:g} KiB"
        ways = "fully associative" if self.ways is None else f"{self.ways} ways"
        return f"{self.name} {size}, {ways}"


def _power_of_two(n: int) -> bool:
    return n > 0 and n & (n - 1) == 0


def levels_of(target: Target) -> tuple[Cache, ...]:
    """Return the levels of a target as one core sees them: 8 to 15 ways, and a power of two of sets.

    A target tells sizes alone. A size that does not divide is made less: of 33 MiB, 32 are simulated.
    """
    found: list[Cache] = []
    for name, size in zip(_NAMES, (target.l1_bytes, target.l2_bytes, target.l3_bytes), strict=True):
        lines = size // target.line_bytes
        if lines >= _WAYS and (not found or size > found[-1].size):
            sets = 1 << (lines // _WAYS).bit_length() - 1
            ways = lines // sets
            found.append(Cache(name, sets * ways * target.line_bytes, ways, target.line_bytes))
    return tuple(found)


def own_levels(target: Target) -> tuple[Cache, ...]:
    """Return the caches of a target that has some.

    Raises
    ------
    InputError
        "cache.levels".
    """
    found = levels_of(target)
    if not found:
        raise InputError("cache.levels", "The target has no cache", (str(target),), "give levels=[analysis.Cache(…)]")
    return found


def checked(levels: object) -> tuple[Cache, ...]:
    """Check what a caller gives as levels, the nearest first.

    Raises
    ------
    InputError
        "cache.levels" for none, too many, levels that shrink, two of one name, or lines of different lengths.
    """
    several = elements(levels)
    given: Sequence[object] = (levels,) if several is None else several
    found = tuple(is_a("levels", x, Cache, "give a list of analysis.Cache(name, size, ways)") for x in given)
    sizes = [c.size for c in found]
    problem = (
        f"A hierarchy has 1 to {_MOST_LEVELS} levels, not {len(found)}" if not 0 < len(found) <= _MOST_LEVELS
        else "Each level has to be larger than the one before" if sizes != sorted(set(sizes))
        else "The levels have lines of different lengths" if len({c.line for c in found}) > 1
        else "Two levels have the same name" if len({c.name for c in found}) < len(found)
        else ""
    )  # fmt: skip
    if problem:
        raise InputError(
            "cache.levels", problem, tuple(c.name for c in found), "give the level nearest to the core first"
        )
    return found
