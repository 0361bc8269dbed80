"""`CacheView`: the widget that plays a nest on simulated caches, or two beside each other."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from typing import Any

import anywidget
import numpy as np
import traitlets

from workbench import markup as m
from workbench.analysis.cache.access_tree import walk
from workbench.analysis.cache.film import STEPS, Film, Shots
from workbench.analysis.cache.levels import Cache, checked
from workbench.analysis.cache.view import CacheCounts, cache_view
from workbench.arguments import elements, is_a, known_options, whole
from workbench.errors import UsageError, WorkbenchError
from workbench.ir import Func
from workbench.schedule import Schedule
from workbench.session.core.protocol import error_json
from workbench.target import Target

_STATIC = resources.files("workbench.widgets") / "static"
_ESM = (_STATIC / "cache.js").read_text(encoding="utf-8")
_CSS = (_STATIC / "cache.css").read_text(encoding="utf-8")
#: Nests that stand beside each other.
_MOST = 2


class CacheView(anywidget.AnyWidget):
    """Play a nest on simulated caches: which lines of each array L1 and L2 hold, which access hits, which misses.

    Two schedules stand beside each other, for instance before and after tiling. Space plays and stops, the arrow keys
    step; *Single accesses* shows one access after the other from the place where the run stands.

    Parameters
    ----------
    *schedules : Schedule or Func
        One or two, without open numbers.
    levels : list of Cache, optional
        As in `cache_view`; the first two are shown. A level that is smaller than the arrays shows most.
    accesses : {"generated", "written"}
    apart : int
        As in `cache_view`.
    names : sequence of str, optional
        What stands above each; by default the names of the functions, or "before" and "after".
    **options
        What every widget has, such as `layout`.

    Attributes
    ----------
    counts : tuple of CacheCounts
        What `cache_view` counts, for each schedule.

    Raises
    ------
    UsageError
        "cache.schedules" for none or more than two, and what `cache_view` raises.
    """

    _esm = _ESM
    _css = _CSS
    film = traitlets.Dict().tag(sync=True)
    pictures = traitlets.Bytes().tag(sync=True)

    def __init__(
        self,
        *schedules: Schedule | Func,
        levels: Iterable[Cache] | Cache | None = None,
        accesses: str = "generated",
        apart: int = 64,
        names: Sequence[str] | None = None,
        **options: Any,
    ) -> None:
        known_options(options, self.class_trait_names(), "A cache view")
        if not 0 < len(schedules) <= _MOST:
            text = f"A cache view shows one schedule or two, not {len(schedules)}"
            raise UsageError("cache.schedules", text, (), "for example wb.CacheView(before, after)")
        said = _names(schedules, names)
        apart, caches = whole("apart", apart, 0), None if levels is None else checked(levels)
        how: dict[str, Any] = {"levels": caches, "accesses": accesses, "apart": apart}
        self.counts: tuple[CacheCounts, ...] = tuple(cache_view(s, **how) for s in schedules)
        self._films = [
            Film(_func(s), _target(s), c.levels, c.mode, apart) for s, c in zip(schedules, self.counts, strict=True)
        ]
        shots = [f.whole() for f in self._films]
        about = [_about(f, name, s) for f, name, s in zip(self._films, said, shots, strict=True)]
        pictures = gzip.compress(b"".join(_bytes(s) for s in shots), 6, mtime=0)
        super().__init__(film={"films": about}, pictures=pictures, **options)
        self.on_msg(lambda _widget, content, _buffers: self._answer(content))

    def _answer(self, content: Mapping[str, Any]) -> None:
        """Send pictures of single accesses of all films: a front end asks ``{"t": "steps", "at": [place, …]}``."""
        if not isinstance(content, dict) or content.get("t") != "steps":
            return
        at = content.get("at")
        try:
            if not isinstance(at, list) or len(at) != len(self._films):
                raise UsageError("cache.at", f"A place is needed for each of {len(self._films)} nests", (), "")
            shots = [f.steps(int(first)) for f, first in zip(self._films, at, strict=True)]
        except (WorkbenchError, TypeError, ValueError, OverflowError) as error:
            self.send({"t": "failed", "error": error_json(error)})
            return
        self.send(
            {"t": "steps", "counts": [len(s.table) for s in shots]},
            [gzip.compress(b"".join(_bytes(s) for s in shots), 6, mtime=0)],
        )

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        bundle = super()._repr_mimebundle_(**kwargs)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        return {**(data or {}), "text/plain": repr(self), "text/html": self._html()}, metadata

    def _html(self) -> str:
        return m.join(*(m.Html(c._repr_html_()) for c in self.counts))

    def __repr__(self) -> str:
        return f"CacheView({', '.join(map(repr, self.counts))})"


def _names(schedules: Sequence[Schedule | Func], names: Sequence[str] | None) -> list[str]:
    for s in schedules:
        is_a("schedules", s, (Schedule, Func), "pass Schedules or their .func")
    if names is None:
        return ["before", "after"] if len(schedules) == _MOST else [_func(schedules[0]).name]
    several = elements(names)
    given = [is_a("names", n, str) for n in ((names,) if several is None else several)]
    if len(given) != len(schedules):
        text = f"There are {len(schedules)} schedules and {len(given)} names"
        raise UsageError("cache.schedules", text, (), "give each schedule a name")
    return given


def _func(s: Schedule | Func) -> Func:
    return s.func if isinstance(s, Schedule) else s


def _target(s: Schedule | Func) -> Target:
    return (s.target if isinstance(s, Schedule) else None) or Target.host()


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


def _bytes(shots: Shots) -> bytes:
    """Numbers, then cells, up to a multiple of four bytes."""
    numbers, cells = shots.table.astype("<i4").tobytes(), np.ascontiguousarray(shots.cells).tobytes()
    return numbers + cells + b"\0" * (-len(cells) % 4)
