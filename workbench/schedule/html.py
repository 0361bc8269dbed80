"""A schedule in a notebook: the nest as a table, the steps, the numbers that are open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench import markup as m
from workbench.ir import Buffer, Func
from workbench.ir.flops import count_flops
from workbench.ir.text.printer import dim_text, to_text
from workbench.schedule import schedule_hooks
from workbench.schedule.legal_moves import Moves
from workbench.schedule.schedule import Schedule

#: Rows of a nest, steps and moves that a cell shows, and levels that it sets a row in; chosen so that a table fits a
#: few screens. A last line tells of the rest.
NEST_ROWS = 60
STEPS = 60
MOVES = 40
_INDENT = "\u00a0\u00a0\u00a0"
_DEEPEST = 16
_COLUMNS = (
    m.Column("Loop", code=True),
    m.Column("Extent", number=True),
    m.Column(""),
    m.Column(m.titled("Iterations", "how often the body runs in one call; the bar is logarithmic"), number=True),
    m.Column(""),
    m.Column(m.titled("Working set", "what one run of the loop touches, and the cache that holds it"), number=True),
)


@m.drawn.register(Schedule)
def schedule_html(schedule: Schedule) -> str:
    """Return what a notebook shows of a schedule."""
    func, trace = schedule.func, schedule.trace
    nest = schedule_hooks.nest(func, schedule.target, NEST_ROWS)
    undone = f"{m.plural(len(schedule.undone), 'step')} undone" if schedule.undone else ""
    head = m.heading(
        "Schedule", func.name, m.plural(len(trace), "step"), m.plural(nest["loops"], "loop"), operations(func), undone
    )
    parts: list[object] = [head, interface(func), nest_table(nest)]
    if trace:
        parts += [m.section("Steps"), steps([str(step) for step in trace])]
    parts.append(m.fold("The nest as text", m.code(to_text(func))))
    return m.page(*parts)


def machine(target: Any) -> m.Html:
    """A target in a few words, with its whole text in the title."""
    threads = m.plural(target.threads, "thread")
    vectors = f"vectors of {target.vector_bytes} bytes" if target.vector_bytes else ""
    words = " · ".join(w for w in (str(target.cpu), threads, vectors) if w)
    return m.titled(words, str(target))


def operations(func: Func) -> str:
    """Arithmetic of one call; empty while a hole decides it."""
    return "" if func.holes else m.operations(count_flops(func))


def interface(func: Func) -> m.Html:
    """Parameters of a function with their shapes."""
    given = [b for b in func.params if b.role != "output"]
    lines = [m.label("takes", _buffers(given))] if given else []
    return m.join(*lines, m.label("gives", _buffers(func.outputs)))


def _buffers(buffers: Sequence[Buffer], limit: int = 8) -> m.Html:
    shown = [
        m.join(m.mono(b.name, 40), " ", m.shape(map(dim_text, b.shape)), " ", m.faint(b.dtype)) for b in buffers[:limit]
    ]
    return m.listed(shown, len(buffers))


def nest_table(nest: Mapping[str, Any], limit: int = NEST_ROWS) -> m.Html:
    """Draw the rows of a nest.

    Parameters
    ----------
    nest : mapping
        ``NestView.to_json()``.
    limit : int
        Rows to show at most.
    """
    rows = nest["rows"]
    most = max((r["iters"] or 0 for r in rows), default=0)
    shown = m.cut([_row(r, most) for r in rows], limit, "rows", len(rows) + nest["hidden"])
    parts = [m.table(_COLUMNS, shown)]
    if nest["holes"]:
        parts.append(m.label("open numbers", open_numbers(nest["holes"])))
    return m.join(*parts)


def _row(row: Mapping[str, Any], most: int) -> list[object]:
    indent = _INDENT * min(row["depth"], _DEEPEST)
    amount: list[object] = [m.compact(row["iters"]), m.bar(m.log_share(row["iters"], most))]
    if row["kind"] != "loop":
        text = m.text(row["text"], 110)
        inner = m.indented(min(row["depth"], _DEEPEST), m.faint(text) if row["kind"] == "init" else text)
        return [m.Wide(inner, 3), *amount, ""]
    words = list(row["chips"])
    if row["mark"] != "serial" and not any(w.startswith(row["mark"]) for w in words):
        words.insert(0, row["mark"])
    extent = row["extent"]
    if isinstance(extent, str):
        words.insert(0, "open")
    memory = m.join(m.size(row["ws"]), "\u00a0", m.faint(row["level"])) if row["ws"] is not None else ""
    return [m.join(indent, m.text(row["name"], 40)), m.text(extent, 24), m.chips(words), *amount, memory]


def open_numbers(holes: Sequence[Mapping[str, Any]], limit: int = 12) -> m.Html:
    """Holes with what may be put into them."""
    shown = []
    for hole in holes[:limit]:
        choices = hole["choices"]
        text = "" if choices is None else ", ".join(map(str, choices[:12])) + (", …" if len(choices) > 12 else "")
        shown.append(m.join(m.mono("?" + hole["name"], 40), m.faint(f" ({text})") if text else ""))
    return m.listed(shown, len(holes), "; ")


def steps(texts: Sequence[str], limit: int = STEPS) -> m.Html:
    """Numbered steps of a trace."""
    rows = [[m.faint(str(k)), m.mono(step, 160)] for k, step in enumerate(texts, 1)]
    return m.table((m.Column("", number=True), m.Column("")), m.cut(rows, limit, "steps"))


@m.drawn.register(Moves)
def moves_html(moves: Moves) -> str:
    """Return what a notebook shows of moves; of very many, the first."""
    legal = sum(move.legal for move in moves)
    head = m.heading("Moves", m.plural(len(moves), "step"), f"{m.counted(legal)} of them legal")
    rows = []
    for move in moves[:MOVES]:
        hint = m.faint(f" {move.hint}") if move.hint else ""
        reason: object = "legal" if move.legal else m.join(m.bad(move.reason, 200), hint)
        rows.append([m.mono(move.step, 100), reason])
    table = m.table((m.Column("Step"), m.Column("Judgement")), m.cut(rows, MOVES, "moves", len(moves)))
    return m.page(head, table if rows else "")
