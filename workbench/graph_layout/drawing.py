"""Drawings with frames: a frame stands for a block that is repeated, or holds the operators of one kernel.

What is inside of a frame is placed by itself; outside, the frame is one box. So what a frame shows has no influence on
the order of what stands around it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal, TypeAlias, TypeVar

from workbench.cooperative_yield import pause
from workbench.graph_layout.layered_layout import Box, Layout, layout

#: Pixels of a character of the label (12 px) and of the line below it (11 px), and what surrounds them. Chosen by eye.
LABEL, SUB, PAD = 6.9, 6.0, 20.0
#: Pixels: height of a frame's title, room at its sides, and room where no line enters or leaves. Chosen by eye.
HEADER, SIDE, REST = 24.0, 10.0, 10.0
ENTER, LEAVE = "\0in", "\0out"

Mark: TypeAlias = Literal["removed", "added", "changed"]
Point: TypeAlias = tuple[float, float]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Leaf:
    """A node to draw.

    Attributes
    ----------
    id, label, sub : str
    kind : str
        "task", "host" (a kernel that nothing can be done about), "op" (an operator of a kernel), "view", "input" or
        "output".
    task : int or None
        Position of its task.
    bytes : int
        What one run of it has to move at least.
    ops : int
        Operators that it consists of.
    dtype : str
        Element type that its main operator reads first: what it computes in, or converts; "" for what computes nothing.
    mark, reason : str
        What a pass did to it, and why; "" where no pass is looked at, or left it alone.
    """

    id: str
    label: str
    sub: str = ""
    kind: str = "task"
    task: int | None = None
    bytes: int = 0
    ops: int = 1
    dtype: str = ""
    mark: Mark | Literal[""] = ""
    reason: str = ""

    @property
    def tunable(self) -> bool:
        """Whether there is a schedule to change."""
        return self.task is not None

    @property
    def box(self) -> Box:
        """The room that it takes."""
        width = max(48.0, LABEL * len(self.label), SUB * len(self.sub)) + PAD
        return Box(self.id, float(round(width)), 40.0 if self.sub else 26.0)


@dataclass(slots=True)
class Frame:
    """A part of a drawing with a frame around it, or the whole drawing.

    Attributes
    ----------
    id, title : str
    times : int
        How often what is inside occurs one after the other; 1 for the operators of a kernel.
    count : int
        Nodes of one instance.
    open : bool
        Whether all instances are drawn, not the first one only.
    task : int or None
        Task of the kernel.
    items, links
        What is inside, and the lines between, by id; `ENTER` and `LEAVE` are the frame's own ends.
    """

    id: str
    title: str = ""
    times: int = 1
    count: int = 0
    open: bool = True
    task: int | None = None
    items: list[Leaf | Frame] = field(default_factory=list)
    links: dict[tuple[str, str], None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PlacedNode:
    """A node with its place, and the number of the innermost frame that it stands in."""

    leaf: Leaf
    x: float
    y: float
    w: float
    h: float
    frame: int | None


@dataclass(frozen=True, slots=True)
class PlacedFrame:
    """A frame with its place."""

    frame: Frame
    x: float
    y: float
    w: float
    h: float


@dataclass(frozen=True, slots=True)
class Edge:
    """A line; its ends are ids of nodes or frames."""

    a: str
    b: str
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Drawing:
    """Nodes, frames and lines with coordinates in pixels.

    Attributes
    ----------
    key : str
        The same for drawings of the same thing, however much of it is shown.
    likes : mapping
        Id of a node -> ids of those in the other instances of its block, which are not drawn.
    """

    key: str
    nodes: tuple[PlacedNode, ...]
    frames: tuple[PlacedFrame, ...]
    edges: tuple[Edge, ...]
    width: float
    height: float
    likes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<Drawing of {len(self.nodes)} nodes, {len(self.frames)} frames, {len(self.edges)} edges>"

    def columns(self) -> dict[str, Any]:
        """Return it column by column, in whole pixels, every text once: so it travels.

        The first point of a line is where it is, each other one how far it is from the one before. `folds` are the
        frames, column by column as well.
        """
        known: dict[str, int] = {}

        def words(text: str) -> int:
            """The number of a text."""
            return known.setdefault(text, len(known))

        n, frames = self.nodes, self.frames
        at = {p.leaf.id: k for k, p in enumerate(n)} | {p.frame.id: len(n) + k for k, p in enumerate(frames)}
        return {
            "key": self.key,
            **_each(n, {
                "id": lambda p: p.leaf.id, "label": lambda p: words(p.leaf.label), "sub": lambda p: words(p.leaf.sub),
                "kind": lambda p: words(p.leaf.kind), "task": lambda p: p.leaf.task, "bytes": lambda p: p.leaf.bytes,
                "ops": lambda p: p.leaf.ops, "dtype": lambda p: words(p.leaf.dtype), "fold": lambda p: p.frame,
                **_PLACE,
            }),
            "folds": _each(frames, {
                "id": lambda p: p.frame.id, "title": lambda p: words(p.frame.title), "times": lambda p: p.frame.times,
                "nodes": lambda p: p.frame.count, "open": lambda p: int(p.frame.open), "task": lambda p: p.frame.task,
                **_PLACE,
            }),
            **_each(self.edges, {"a": lambda e: at[e.a], "b": lambda e: at[e.b], "points": _steps}),
            "width": round(self.width), "height": round(self.height),
            "marks": [
                {"node": k, "mark": p.leaf.mark, "reason": p.leaf.reason} for k, p in enumerate(n) if p.leaf.mark
            ],
            "likes": {str(at[id]): " ".join(ids) for id, ids in self.likes.items() if id in at},
            "words": list(known),
        }  # fmt: skip


_PLACE: dict[str, Callable[[Any], int]] = {
    "x": lambda p: round(p.x), "y": lambda p: round(p.y), "w": lambda p: round(p.w), "h": lambda p: round(p.h),
}  # fmt: skip


def _each(rows: Iterable[T], columns: Mapping[str, Callable[[T], Any]]) -> dict[str, list[Any]]:
    """Fill the columns of a table."""
    out: dict[str, list[Any]] = {name: [] for name in columns}
    for row in rows:
        pause()
        for name, value in columns.items():
            out[name].append(value(row))
    return out


def _steps(edge: Edge) -> list[int]:
    """Where a line begins, then its steps: short numbers, however long the drawing is."""
    points = [(round(x), round(y)) for x, y in edge.points]
    steps = [(bx - ax, by - ay) for (ax, ay), (bx, by) in pairwise(points)]
    return [v for point in (*points[:1], *steps) for v in point]


def drawn(root: Frame, likes: Mapping[str, tuple[str, ...]], key: str = "") -> Drawing:
    """Place what is in `root`, which gets no frame itself; the other arguments are as in `Drawing`."""
    placed = _Placed(root)
    nodes: list[PlacedNode] = []
    frames: list[PlacedFrame] = []
    edges: list[Edge] = []
    _put(placed, 0.0, 0.0, None, nodes, frames, edges)
    return Drawing(key, tuple(nodes), tuple(frames), tuple(edges), placed.width, placed.height, likes)


class _Placed:
    """A frame with everything in it at its place, counted from its own top left corner."""

    def __init__(self, frame: Frame, framed: bool = False) -> None:
        self.frame = frame
        self.inner: dict[str, _Placed] = {f.id: _Placed(f, True) for f in frame.items if isinstance(f, Frame)}
        self.boxes = [self._box(item) for item in frame.items]
        ports = {end for link in frame.links for end in link} & {ENTER, LEAVE}
        pairs = list(frame.links)
        self.found: Layout = layout([*self.boxes, *(Box(p, 0.0, 0.0) for p in sorted(ports))], pairs)
        above = HEADER + (0.0 if ENTER in ports else REST) if framed else 0.0
        below = REST if framed and LEAVE not in ports else 0.0
        room = LABEL * (len(frame.title) + 6) + PAD if framed else 0.0
        self.width = float(round(max(self.found.width + (2 * SIDE if framed else 0.0), room)))
        self.height = above + self.found.height + below
        self.dx, self.dy = (self.width - self.found.width) / 2, above

    def _box(self, item: Leaf | Frame) -> Box:
        if isinstance(item, Leaf):
            return item.box
        return Box(item.id, self.inner[item.id].width, self.inner[item.id].height)

    def lines(self) -> Iterator[tuple[str, str, tuple[Point, ...]]]:
        """Lines between the items; those of the frame's own ends begin below its title, or end at its lower edge."""
        for (a, b), points in zip(self.frame.links, self.found.edges, strict=True):
            moved = [(x + self.dx, y + self.dy) for x, y in points]
            if a == ENTER:
                moved[0] = (self.width / 2, HEADER)
            if b == LEAVE:
                moved[-1] = (self.width / 2, self.height)
            own = {ENTER: self.frame.id, LEAVE: self.frame.id}
            yield own.get(a, a), own.get(b, b), tuple(moved)


def _put(
    placed: _Placed, x: float, y: float, inside: int | None, nodes: list[PlacedNode], frames: list[PlacedFrame],
    edges: list[Edge],
) -> None:  # fmt: skip
    """Move everything in a frame to its place in the whole drawing."""
    places: Mapping[str, Point] = placed.found.positions
    for item, box in zip(placed.frame.items, placed.boxes, strict=True):
        pause()
        left, top = places[box.id][0] + x + placed.dx, places[box.id][1] + y + placed.dy
        if isinstance(item, Leaf):
            nodes.append(PlacedNode(item, left, top, box.w, box.h, inside))
        else:
            frames.append(PlacedFrame(item, left, top, box.w, box.h))
            _put(placed.inner[item.id], left, top, len(frames) - 1, nodes, frames, edges)
    for a, b, points in placed.lines():
        edges.append(Edge(a, b, tuple((px + x, py + y) for px, py in points)))
