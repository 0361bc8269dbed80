"""The cache and the pages of the lab, and the nests that run on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench import te
from workbench.analysis import Cache, cache_view
from workbench.analysis.cache.levels import KIB
from workbench.analysis.figures.style import axis, colours, log_ticks
from workbench.analysis.figures.subplot import IN_PLOT, Part, alone, note, trace
from workbench.ir import Func
from workbench.labs.counting import PER_LINE
from workbench.schedule import Schedule
from workbench.target import Target

if TYPE_CHECKING:
    import pandas

PAGE = 4 * KIB
#: 1,024 lines of 64 bytes, in 128 sets of 8.
CACHE = Cache("cache", 64 * KIB, ways=8)
SETS = 128
#: Pages whose addresses a core remembers, written as a cache whose lines are pages.
PAGES = Cache("pages", 16 * PAGE, ways=None, line=PAGE)
#: Rows of B.
DEPTH = 128
#: Rows of A, and columns of B.
SIZES = {"m": (8, 12, 16), "n": (1024, 512, 256)}


def product(m: int, n: int, constant: bool = False) -> Func:
    """Return C, which is A of m rows times B of `DEPTH` rows and n columns; B may be known ahead of time."""
    a, b = te.placeholder((m, DEPTH), name="A"), te.placeholder((DEPTH, n), name="B", constant=constant)
    k = te.reduce_axis(DEPTH, name="k")
    return te.func(te.compute((m, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C"), name="product")


def strips(s: Schedule) -> Schedule:
    """Let a product go through B in strips of 16 columns."""
    s.split("j", [None, PER_LINE])
    s.reorder("j.0", "i", "k", "j.1")
    return s


def lines_of(n: int) -> int:
    """Return how many lines B has."""
    return DEPTH * n // PER_LINE


def copied(s: Schedule) -> Schedule:
    """Copy all of B into strips first."""
    s.cache_read("C", "B")
    s.transform_layout("B.local", 1, PER_LINE)
    return s


def copied_by_strip(s: Schedule) -> Schedule:
    """Copy one strip of B after the other, each right before it is used."""
    copied(s).compute_at("B.copy", "j.0")
    return s


def ways(m: int, n: int, target: Target) -> dict[str, Schedule]:
    """Return the product in strips without a copy of B, with a copy of all of it, and with copies of strips."""
    plain, whole, near = (strips(Schedule(product(m, n), target)) for _ in range(3))
    return {"no copy": plain, "all of B": copied(whole), "by strip": copied_by_strip(near)}


def misses(s: Schedule | Func, *buffers: str) -> int:
    """Return how many accesses of these arrays miss the cache; of all arrays, if none is named."""
    view = cache_view(s, levels=CACHE)
    return sum(a.levels[0].misses for a in view.accesses if not buffers or a.buffer in buffers)


def of_b(s: Schedule | Func) -> int:
    """Return how many accesses of B, and of the copy of it, miss the cache."""
    return misses(s, "B", "B.local")


def pages(s: Schedule | Func) -> int:
    """Return how many reads of B or of its copy by the product, which is block C, come to a page not remembered."""
    view = cache_view(s, levels=PAGES)
    return sum(a.levels[0].misses for a in view.accesses if a.block == "C" and a.buffer not in ("A", "C"))


def ways_figure(fetched: pandas.DataFrame) -> Any:
    """Plot lines fetched, as multiples of those of B, over the rows of A: a line for each column of the table."""
    c = colours("auto")
    rows, most, last = [int(n) for n in fetched.index], float(fetched.max().max()), len(fetched) - 1
    traces, notes = [], []
    for k, (way, colour) in enumerate(zip(fetched, (c.danger, c.accent, c.scale[3]), strict=True)):
        told = f"{way}, %{{x}} rows: %{{y}} times the lines of B<extra></extra>"
        y = fetched[way].tolist()
        traces.append(trace(str(way), rows, y, mode="lines+markers", line={"color": colour}, hovertemplate=told))
        text = f"{way}: {y[last]:g} at {rows[last]} rows"
        notes.append(note(0.02, 0.98 - 0.09 * k, text, "top left", colour, **IN_PLOT))
    x = axis(c, "rows of A", type="log", tickvals=rows, ticktext=[str(n) for n in rows])
    y_axis = axis(c, "times the lines of B", type="log", **log_ticks(1, most))
    return alone(Part(traces, x, y_axis, notes, title="Lines fetched for B and its copy"), c)
