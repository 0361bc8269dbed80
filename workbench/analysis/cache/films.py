"""What a front end plays: nests on simulated caches beside each other, as plain JSON and packed pictures."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from typing import Any

import numpy as np

from workbench import markup as m
from workbench.analysis.cache.access_tree import Mode, walk
from workbench.analysis.cache.film import STEPS, Film, Shots
from workbench.analysis.cache.levels import Cache
from workbench.errors import UsageError
from workbench.ir import Func
from workbench.target import Target

#: Nests that stand beside each other.
MOST = 2


class Films:
    """Nests on simulated caches.

    Parameters
    ----------
    nests : sequence of (name, Func, Target, levels)
        Concrete functions, what stands above each, and the caches of each; the first two levels are shown.
    mode : {"generated", "written"}
    apart : int
        As in `cache_view`.

    Attributes
    ----------
    films : tuple of Film
    about : list of dict
        What is known of each film beside its pictures.
    pictures : bytes
        Of the whole runs, packed.
    """

    def __init__(
        self, nests: Sequence[tuple[str, Func, Target, Sequence[Cache]]], mode: Mode = "generated", apart: int = 64
    ) -> None:
        self.films = tuple(Film(func, target, levels, mode, apart) for _, func, target, levels in nests)
        shots = [film.whole() for film in self.films]
        self.about = [_about(f, name, s) for f, (name, *_), s in zip(self.films, nests, shots, strict=True)]
        self.pictures = _packed(shots)

    def steps(self, at: object) -> tuple[list[int], bytes]:
        """Return how many pictures of single accesses there are of each film, from a place in each on; and those.

        Raises
        ------
        UsageError
            "cache.at" for places that are none.
        """
        places = at if isinstance(at, list) else []
        if len(places) != len(self.films) or not all(type(x) in (int, float) and abs(x) < 2**53 for x in places):
            text = f"A place is needed for each of {m.plural(len(self.films), 'nest')}"
            raise UsageError("cache.at", text, (), "a place is the number of an access, from 0")
        shots = [film.steps(int(first)) for film, first in zip(self.films, places, strict=True)]
        return [len(s.table) for s in shots], _packed(shots)


def _packed(shots: Sequence[Shots]) -> bytes:
    """Numbers, then cells, up to a multiple of four bytes, of one film after the other."""
    parts = []
    for s in shots:
        numbers, cells = s.table.astype("<i4").tobytes(), np.ascontiguousarray(s.cells).tobytes()
        parts.append(numbers + cells + b"\0" * (-len(cells) % 4))
    return gzip.compress(b"".join(parts), 6, mtime=0)


def _about(film: Film, name: str, shots: Shots) -> dict[str, Any]:
    """What the front end knows of a film beside its pictures."""
    sizes = ("shape", "rows", "columns", "tall", "wide")
    arrays = [{"name": m.clean(g.name), **{size: getattr(g, size) for size in sizes}} for g in film.grids]
    extents = {x.name: x.extent for x in film.program.loops}
    around = {
        a.number: [film.loops.index(r.loop) for r in path if not r.inside] for a, path in walk(film.program.nodes)
    }
    return {
        "name": m.clean(name),
        "levels": [{"name": m.clean(c.name), "text": m.clean(c)} for c in film.levels],
        "line": film.levels[0].line,
        "arrays": arrays,
        "loops": [{"name": m.clean(n), "extent": extents[n]} for n in film.loops],
        "accesses": [
            {"text": m.clean(a.text), "kind": a.kind, "loops": around.get(a.number, [])} for a in film.accesses
        ],
        "total": film.total,
        "part": film.part,
        "steps": STEPS,
        "count": len(shots.table),
    }
