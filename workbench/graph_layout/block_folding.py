"""Which nodes of a network are drawn, in which frames: a repeated block once, a kernel whole or by its operators."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from workbench.cooperative_yield import pause
from workbench.graph_layout.drawing import ENTER, LEAVE, Frame, Leaf
from workbench.graph_layout.repeated_blocks import Repeat, repeats

#: Frames of repeated blocks within each other. Chosen by eye.
DEEPEST = 2


@dataclass(frozen=True, slots=True)
class Unit:
    """What is folded: a kernel with its operators, or an end of the network.

    Attributes
    ----------
    leaf : Leaf
        How it is drawn as one node.
    ops : tuple of Leaf
        Its operators, in order; itself where there is only one.
    signature : hashable
        Equal for units that look and work alike.
    names : tuple of str
        Names of the operators, as the edges have them; by default that of the leaf.
    """

    leaf: Leaf
    ops: tuple[Leaf, ...]
    signature: Hashable
    names: tuple[str, ...] = ()


#: Where a unit stands: the frames around it from the outermost, each with the number of the instance.
Path: TypeAlias = tuple[tuple[Frame, int], ...]


def folded_frames(
    units: Sequence[Unit],
    reads: Iterable[tuple[str, str]],
    opened: bool = False,
    expanded: Collection[str] = (),
    folded: bool = True,
) -> tuple[Frame, dict[str, tuple[str, ...]]]:
    """Return the frame of the whole drawing, and which units each unit stands for that is drawn in their place.

    Parameters
    ----------
    units : sequence of Unit
        In topological order.
    reads : iterable of (str, str)
        Names of operators: what makes a value, and what reads it.
    opened : bool
        Whether every kernel is drawn by its operators.
    expanded : collection of str
        Ids of frames with all their instances, and ``kernel:ID`` of kernels to draw by their operators.
    folded : bool
        Whether repeated blocks are drawn once.
    """
    found = _Folding(units, list(reads), opened, frozenset(expanded), folded)
    return found.root, found.likes()


class _Folding:
    def __init__(
        self, units: Sequence[Unit], reads: Sequence[tuple[str, str]], opened: bool, expanded: frozenset[str],
        folded: bool,
    ) -> None:  # fmt: skip
        self.units, self.opened, self.expanded = units, opened, expanded
        self.depth = DEEPEST if folded else 0
        self.root = Frame("")
        self.paths: list[Path] = [()] * len(units)
        #: The unit that is drawn in place of each.
        self.image = list(range(len(units)))
        at = {name: (u, k) for u, unit in enumerate(units) for k, name in enumerate(unit.names or (unit.leaf.id,))}
        self.edges = [(at[a], at[b]) for a, b in reads]
        self.read: list[list[int]] = [[] for _ in units]
        for (a, _), (b, _) in self.edges:
            if a != b:
                self.read[b].append(a)
        self._build(0, len(units), self.root, ())
        for (a, i), (b, j) in self.edges:
            pause()
            self._link(a, i, b, j)

    def likes(self) -> dict[str, tuple[str, ...]]:
        """Ids of what is left out, by the id of what is drawn in its place."""
        out: dict[str, list[str]] = {}
        for u, image in enumerate(self.image):
            if u != image:
                out.setdefault(self.units[image].leaf.id, []).append(self.units[u].leaf.id)
        return {id: tuple(ids) for id, ids in out.items()}

    # ----- frames

    def _build(self, low: int, high: int, into: Frame, path: Path) -> None:
        """Fill a frame with units; those of its repeated blocks go into frames of their own."""
        at = low
        for r in self._repeats(low, high, path):
            start = low + r.start
            for u in range(at, start):
                self._place(u, into, path)
            at = low + r.end
            self._repeat(start, r, into, path)
        for u in range(at, high):
            self._place(u, into, path)

    def _repeats(self, low: int, high: int, path: Path) -> tuple[Repeat, ...]:
        if sum(frame.times > 1 for frame, _ in path) >= self.depth:
            return ()
        signatures = [self.units[u].signature for u in range(low, high)]
        return repeats(signatures, [(a - low, b - low) for b in range(low, high) for a in self.read[b]])

    def _repeat(self, start: int, r: Repeat, into: Frame, path: Path) -> None:
        block = self.units[start : start + r.length]
        id = f"fold:{block[0].leaf.id}:{r.length}"
        title = self._title(block, not path)
        frame = Frame(id, title, r.times, r.length, id in self.expanded)
        into.items.append(frame)
        inside = (*path, (frame, 0))
        for k in range(r.times if frame.open else 1):
            self._build(start + k * r.length, start + (k + 1) * r.length, frame, inside)
        for u in range(start + r.length, start + r.length * r.times) if not frame.open else ():
            k, offset = divmod(u - start, r.length)
            self.paths[u] = (*path, (frame, k), *self.paths[start + offset][len(inside) :])
            self.image[u] = self.image[start + offset]

    def _title(self, block: Sequence[Unit], outermost: bool) -> str:
        """``stage 2 · 28×28`` where most of the kernels are those of images, of one size."""
        sizes = Counter(found[1] for unit in block if (found := re.search(r"(?:^|\s)(\d+×\d+)$", unit.leaf.sub)))
        size, count = sizes.most_common(1)[0] if sizes else ("", 0)
        before = sum(isinstance(item, Frame) and item.times > 1 for item in self.root.items)
        of_images = 2 * count >= len(block) and any(re.match("conv|depthwise", u.leaf.label) for u in block)
        name = ("stage" if of_images else "block") + (f" {before + 1}" if outermost else "")
        return f"{name} · {size}" if of_images else name

    def _place(self, u: int, into: Frame, path: Path) -> None:
        unit = self.units[u]
        id = f"kernel:{unit.leaf.id}"
        if len(unit.ops) == 1 or not (self.opened or id in self.expanded):
            into.items.append(unit.leaf)
            self.paths[u] = path
            return
        frame = Frame(id, unit.leaf.label, 1, len(unit.ops), True, unit.leaf.task, list(unit.ops))
        into.items.append(frame)
        self.paths[u] = (*path, (frame, 0))

    # ----- lines

    def _link(self, a: int, i: int, b: int, j: int) -> None:
        """Draw what leads from operator `i` of unit `a` to operator `j` of unit `b`, in every frame on its way."""
        out, into = self._steps(a, i), self._steps(b, j)
        way_a, way_b = self.paths[a], self.paths[b]
        d = 0
        while d < min(len(way_a), len(way_b)) and way_a[d][0] is way_b[d][0] and way_a[d][1] == way_b[d][1]:
            d += 1
        apart = d < min(len(way_a), len(way_b)) and way_a[d][0] is way_b[d][0]  # two instances of one block
        if not apart and out[d] != into[d]:
            (way_a[d - 1][0] if d else self.root).links[out[d], into[d]] = None
        for (frame, _), step in zip(way_a[d:], out[d + 1 :], strict=True):
            frame.links[step, LEAVE] = None
        for (frame, _), step in zip(way_b[d:], into[d + 1 :], strict=True):
            frame.links[ENTER, step] = None

    def _steps(self, u: int, k: int) -> list[str]:
        """Ids of the frames around an operator from the outermost, and that of the node that is drawn for it."""
        unit, path = self.units[self.image[u]], self.paths[u]
        whole = not path or path[-1][0].id != f"kernel:{unit.leaf.id}"
        return [*(frame.id for frame, _ in path), (unit.leaf if whole else unit.ops[k]).id]
