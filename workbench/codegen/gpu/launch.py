"""What a device is told to run: kernels with a grid and a block, and how a text says so."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

#: Sizes along x, y and z.
Sizes = tuple[int, int, int]

#: Between the launches of an image and its program.
_PROGRAM = b"\n\0"
_WORKSPACE = "workspace + "
_ROW = re.compile(
    r" \* (?P<kernel>\w+)\((?P<given>[^()]*)\): (?P<grid>\d+ x \d+ x \d+) blocks of "
    r"(?P<block>\d+ x \d+ x \d+) threads, "
    r"(?P<shared>\d+) bytes shared, (?P<barriers>\d+) barriers?",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Launch:
    """What a device is told to run.

    Attributes
    ----------
    kernel : str
    grid, block : tuple of int
        Blocks of the grid and threads of a block, along x, y and z.
    arguments : tuple of (int or None, int)
        Number of the function's parameter, or None and the place in the workspace in bytes.
    shared : int
        Bytes that a block shares.
    barriers : int
        Places in the text where the threads of a block meet.
    """

    kernel: str
    grid: Sizes
    block: Sizes
    arguments: tuple[tuple[int | None, int], ...]
    shared: int
    barriers: int

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.block[0] * self.block[1] * self.block[2]

    def row(self) -> str:
        """Return the line of a file's first comment that says all of this."""
        given = ", ".join(f"{_WORKSPACE}{at}" if n is None else str(n) for n, at in self.arguments)
        grid, block = (" x ".join(map(str, sizes)) for sizes in (self.grid, self.block))
        meet = f"{self.barriers} barrier{'' if self.barriers == 1 else 's'}"
        return f" * {self.kernel}({given}): {grid} blocks of {block} threads, {self.shared} bytes shared, {meet}"


def launches_of(text: str) -> list[Launch]:
    """Read the launches from a text's first comment."""
    return list(_read(text))


def _read(text: str) -> Iterator[Launch]:
    head = text.partition("\n */")[0].splitlines()
    for row in head[1:]:
        if found := _ROW.fullmatch(row):
            yield Launch(
                found["kernel"], _sizes(found["grid"]), _sizes(found["block"]), tuple(_arguments(found["given"])),
                int(found["shared"]), int(found["barriers"]),
            )  # fmt: skip


def _sizes(text: str) -> Sizes:
    x, y, z = map(int, text.split(" x "))
    return x, y, z


def _arguments(text: str) -> Iterator[tuple[int | None, int]]:
    for word in filter(None, text.split(", ")):
        place = word.removeprefix(_WORKSPACE)
        yield (int(word), 0) if place == word else (None, int(place))


def packed(name: str, launches: Iterable[Launch], program: bytes) -> bytes:
    """Put a program for the device `name` and its launches into an image."""
    return "\n".join([name, *(n.row() for n in launches)]).encode() + _PROGRAM + program


def unpacked(image: bytes) -> tuple[str, list[Launch], bytes]:
    """Return the device's name, the launches and the program."""
    head, _, program = image.partition(_PROGRAM)
    text = head.decode()
    return text.partition("\n")[0], launches_of(text), program
