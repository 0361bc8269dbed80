"""Ranges of open dimensions, and the sizes among them for which kernels are made."""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from workbench.arguments import is_a
from workbench.errors import UsageError, did_you_mean
from workbench.graph.model import Declared, Program

#: A length for each open dimension, by name.
Sizes: TypeAlias = Mapping[str, int]

#: Sets of kernels that a network gets at most. Chosen: each takes about as long to compile as the network itself.
MOST = 64
#: Lengths that one dimension gets at most. Chosen: larger than any length in use; it stops ranges without an end.
LENGTHS = 1 << 20


@dataclass(frozen=True, slots=True)
class Bucket:
    """Sizes that share kernels: from `least` to `most` along each dimension, in the order of the ranges."""

    least: tuple[int, ...]
    most: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class OpenSizes:
    """A network whose file leaves dimensions open, and the lengths that they can have.

    Attributes
    ----------
    program : Program
        Each open dimension has a name.
    ranges : mapping
        Name -> the lengths, ascending.
    """

    program: Program
    ranges: Mapping[str, tuple[int, ...]]

    def at(self, values: Sequence[int]) -> Program:
        """The program with these lengths, in the order of the ranges."""
        return replace(self.program, sizes={**self.program.sizes, **dict(zip(self.ranges, values, strict=True))})

    @property
    def largest(self) -> tuple[int, ...]:
        """The largest lengths."""
        return tuple(r[-1] for r in self.ranges.values())

    def representatives(self, most: int = 6) -> list[Bucket]:
        """A few of the buckets, from the smallest to the largest: those whose kernels are tuned."""
        found = self.buckets()
        count = min(most, len(found))
        return [found[(k + 1) * len(found) // count - 1] for k in range(count)]

    def buckets(self) -> list[Bucket]:
        """Sizes that get kernels, so that padding adds little: an eighth at most where that makes at most `MOST`."""
        for parts in (16, 8, 4, 2, 1):
            steps = [list(_steps(r, parts)) for r in self.ranges.values()]
            if math.prod(map(len, steps)) <= MOST or parts == 1:
                break
        return [Bucket(tuple(a for a, _ in b), tuple(z for _, z in b)) for b in itertools.product(*steps)]

    def index(self, values: Sequence[int]) -> bool:
        """Whether these lengths lie in the ranges."""
        return all(
            (k := bisect_left(r, v)) < len(r) and r[k] == v
            for r, v in zip(self.ranges.values(), values, strict=True)
        )  # fmt: skip


def _steps(lengths: Sequence[int], parts: int) -> Iterator[tuple[int, int]]:
    """Smallest and largest length of each bucket: a power of two has `parts` multiples up to its double."""
    first = 0
    while first < len(lengths):
        grain = max(1, (1 << lengths[first].bit_length() - 1) // (parts // 2 or 1)) if parts > 1 else lengths[-1]
        top = -(-lengths[first] // grain) * grain
        last = max(first, next((k for k in range(len(lengths) - 1, first, -1) if lengths[k] <= top), first))
        yield lengths[first], lengths[last]
        first = last + 1


def fixed(program: Program, shapes: Mapping[str, Sequence[int]]) -> Program:
    """The program with the shapes of some inputs."""
    if any(name not in {v.name for v in program.inputs} for name in shapes):
        program.types(shapes)  # refuses the name
    sizes: dict[str, int] = {}
    inputs = []
    for v in program.inputs:
        if v.name in shapes:
            shape = v.type(shapes[v.name], {}).shape
            sizes |= {d: n for d, n in zip(v.dims or (), shape, strict=False) if isinstance(d, str)}
            v = replace(v, dims=shape)
        inputs.append(v)
    inputs = [v if v.dims is None else replace(v, dims=tuple(sizes.get(str(d), d) for d in v.dims)) for v in inputs]
    return replace(program, inputs=tuple(inputs))


def named(program: Program) -> Program:
    """The program with a name for each dimension that has none: the input's, and the number of the axis."""

    def dims(v: Declared) -> Declared:
        if v.dims is None:
            return v
        return replace(v, dims=tuple(f"{v.name}.{d}" if n is None else n for d, n in enumerate(v.dims)))

    return replace(program, inputs=tuple(map(dims, program.inputs)))


def open_sizes(program: Program, dynamic: Mapping[str, Any]) -> OpenSizes:
    """Check what a caller says of the lengths of open dimensions.

    Raises
    ------
    UsageError
        "usage.dynamic" for a name that no open dimension has, and for lengths that are no whole numbers above 0.
    """
    program = named(program)
    names = dict.fromkeys(d for v in program.inputs for d in v.dims or () if isinstance(d, str))
    is_a("dynamic", dynamic, Mapping, 'give lengths by name: {"n": range(1, 513)}')
    ranges: dict[str, tuple[int, ...]] = {}
    for name, lengths in dynamic.items():
        if name not in names:
            close = did_you_mean(str(name), names, "open dimensions")
            raise UsageError("usage.dynamic", f"The model has no open dimension {name!r}.", (str(name),), close)
        try:
            given = (lengths,) if isinstance(lengths, int) else tuple(itertools.islice(lengths, LENGTHS + 1))
            found = sorted({int(n) for n in given if int(n) == n})
            whole = len(found) == len(set(given))
        except (TypeError, ValueError, OverflowError):
            found, whole = [], False
        if not found or found[0] < 1 or not whole or len(given) > LENGTHS:
            what = f"more than {LENGTHS}" if found and len(given) > LENGTHS else "no whole numbers above 0"
            text = f"The lengths of {name!r} are {what}: {lengths!r}."
            raise UsageError("usage.dynamic", text, (str(name),), 'for instance {"n": range(1, 513)}')
        ranges[str(name)] = tuple(found)
    return OpenSizes(program, ranges)
