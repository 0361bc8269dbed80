"""How a vector loop is cut: whole vectors, and what to do about the rest."""

from __future__ import annotations

from collections.abc import Callable

from workbench.codegen.constants import Unrolling
from workbench.ir import Binary, Block, Const, For, Load, blocks
from workbench.ir.expr import walk
from workbench.ir.stmt import touched

#: What takes one instruction for any number of lanes.
_CHEAP = ("add", "sub", "mul", "max", "min")


class Pieces:
    """Cuts vector loops; remembers what it found.

    Parameters
    ----------
    itemsize : callable
        Bytes of an element of a buffer.
    vector_bytes : int
        Width of a vector.
    mask_bytes : frozenset of int
        Sizes of elements of which lanes can be masked.
    """

    def __init__(self, itemsize: Callable[[str], int], vector_bytes: int, mask_bytes: frozenset[int]) -> None:
        self._itemsize, self._vector_bytes, self._mask_bytes = itemsize, vector_bytes, mask_bytes
        self._sizes: dict[str, frozenset[int]] = {}
        self._cut: dict[str, list[tuple[int, int, int]]] = {}

    def of(self, lp: For) -> list[tuple[int, int, int]]:
        """Cut a vector loop: first iteration, lanes, and lanes that run of each vector."""
        if lp.name not in self._cut:
            self._cut[lp.name] = self._cuts(lp)
        return self._cut[lp.name]

    def _cuts(self, lp: For) -> list[tuple[int, int, int]]:
        assert isinstance(lp.extent, int)
        lanes = self.lanes(lp)
        full = lp.extent // lanes
        out = [(k * lanes, lanes, lanes) for k in range(full)]
        at, rest = full * lanes, lp.extent % lanes
        if rest and rest & (rest - 1) and self.maskable(lp) and not _in_pieces(lp, rest):
            return [*out, (at, 1 << rest.bit_length(), rest)]
        while rest:
            width = 1 << rest.bit_length() - 1
            out.append((at, width, width))
            at, rest = at + width, rest - width
        return out

    def are_ragged(self, lp: For) -> bool:
        """Whether a vector loop has a narrower rest after many vectors."""
        if lp.kind != "vectorize":
            return False
        widths = [width for _, width, _ in self.of(lp)]
        return len(widths) >= Unrolling.RAGGED_PIECES and widths[0] != widths[-1]

    def lanes(self, lp: For) -> int:
        """Return how many elements fit into one vector."""
        return max(1, self._vector_bytes // max(self._item_sizes(lp), default=4))

    def maskable(self, lp: For) -> bool:
        """Whether the machine can leave out lanes of all that the loop touches."""
        return self._item_sizes(lp) <= self._mask_bytes

    def _item_sizes(self, lp: For) -> frozenset[int]:
        if lp.name not in self._sizes:
            names = {name for b, _ in blocks(lp.body) for name in touched(b)}
            self._sizes[lp.name] = frozenset(self._itemsize(n) for n in names)
        return self._sizes[lp.name]


def _in_pieces(lp: For, rest: int) -> bool:
    """Whether narrow vectors do what is left over better than a masked one: where they hardly compute anything.

    A masked store that crosses a line takes several times as long as a whole one (measured: 1.1 to 1.6 times for copies
    with rests of 3 and 14 and epilogues with rests of 12).
    """
    b = lp.body[0]
    if not isinstance(b, Block) or b.init is not None or b.guard or rest.bit_count() > 3:
        return False
    if isinstance(b.value, Load):
        return True
    if rest.bit_count() == 3:
        return False
    cheap = all(isinstance(e, Load | Const) or (isinstance(e, Binary) and e.op in _CHEAP) for e in walk(b.value))
    return cheap and (rest & -rest >= 4 or rest == 3)
