"""What a notebook shows of a cache view."""

from __future__ import annotations

from workbench import markup as m
from workbench.analysis.cache.view import CacheCounts

_ROWS = 40


@m.drawn.register(CacheCounts)
def cache_html(view: CacheCounts) -> m.Html:
    """Draw a cache view: the levels, every access, every loop."""
    whose = "accesses of the generated code" if view.mode == "generated" else "accesses of the nest as it reads"
    parts = [
        m.heading("Cache view of", view.name, f"{m.counted(view.total())} {whose}"),
        m.line("; ".join(map(str, view.levels)), f"; lines of {view.levels[0].line} bytes"),
        m.line(view.sentence()),
    ]
    if view.share < 1:
        told = ", ".join(f"{c.name} ± {m.percent(e)}" for c, e in zip(view.levels, view.errors, strict=True))
        parts.append(m.line(f"Estimated from {m.percent(view.share)} of the accesses: misses of {told}."))
    return m.page(*parts, _accesses(view), m.section("Misses of one iteration"), _loops(view))


def _accesses(view: CacheCounts) -> m.Html:
    names = [c.name for c in view.levels]
    columns = [m.Column("access", code=True), m.Column("in"), m.Column(""), m.Column("accesses", number=True)]
    columns += [m.Column(f"{name} misses", number=True) for name in names]
    columns += [m.Column(f"of {names[0]}"), m.Column(f"{names[0]} written back", number=True)]
    rows = [
        [
            a.text, a.block, a.kind, m.counted(a.levels[0].accesses), *(m.counted(x.misses) for x in a.levels),
            m.join(m.bar(_rate(a.levels[0].misses, a.levels[0].accesses), 60), " ",
                   m.percent(_rate(a.levels[0].misses, a.levels[0].accesses))),
            m.counted(a.levels[0].write_backs),
        ]
        for a in view.accesses
    ]  # fmt: skip
    return m.table(columns, m.cut(rows, _ROWS, "accesses"))


def _rate(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def _loops(view: CacheCounts) -> m.Html:
    columns = [m.Column("loop", code=True), m.Column("iterations", number=True)]
    columns += [m.Column(f"{c.name} misses", number=True) for c in view.levels]
    rows = [
        [m.indented(x.depth, x.loop), m.counted(x.iterations), *(m.digits(n / x.iterations) for n in x.misses)]
        for x in view.loops
    ]
    return m.table(columns, m.cut(rows, _ROWS, "loops"))
