"""`CacheView`: the widget that plays a nest on simulated caches, or two beside each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from typing import Any

import anywidget
import traitlets

from workbench import markup as m
from workbench.analysis.cache.films import MOST, Films
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
        if not 0 < len(schedules) <= MOST:
            text = f"A cache view shows one schedule or two, not {len(schedules)}"
            raise UsageError("cache.schedules", text, (), "for example wb.CacheView(before, after)")
        said = _names(schedules, names)
        apart, caches = whole("apart", apart, 0), None if levels is None else checked(levels)
        how: dict[str, Any] = {"levels": caches, "accesses": accesses, "apart": apart}
        self.counts: tuple[CacheCounts, ...] = tuple(cache_view(s, **how) for s in schedules)
        nests = [(n, _func(s), _target(s), c.levels) for n, s, c in zip(said, schedules, self.counts, strict=True)]
        self._films = Films(nests, self.counts[0].mode, apart)
        super().__init__(film={"films": self._films.about}, pictures=self._films.pictures, **options)
        self.on_msg(lambda _widget, content, _buffers: self._answer(content))

    def _answer(self, content: Mapping[str, Any]) -> None:
        """Send pictures of single accesses of all films: a front end asks ``{"t": "steps", "at": [place, …]}``."""
        if not isinstance(content, dict) or content.get("t") != "steps":
            return
        try:
            counts, pictures = self._films.steps(content.get("at"))
        except WorkbenchError as error:
            self.send({"t": "failed", "error": error_json(error)})
            return
        self.send({"t": "steps", "counts": counts}, [pictures])

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
        return ["before", "after"] if len(schedules) == MOST else [_func(schedules[0]).name]
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
