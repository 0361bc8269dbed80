"""The table of tasks in a notebook: what the fastest of each takes, and how much of the whole that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench import markup as m

TASK_ROWS = 40
"""Tasks that a table shows: a screen."""

_COLUMNS = (
    m.Column("#", number=True),
    m.Column("Task"),
    m.Column("Latency", number=True),
    m.Column("Share", number=True),
    m.Column(""),
    m.Column("GFLOP/s", number=True),
    m.Column("Trials", number=True),
    m.Column("Failed"),
    m.Column("State"),
    m.Column("Sure", number=True),
)


def totals(total_ms: float | None, untuned_ms: float | None, what: str = "sum of kernels") -> m.Html:
    """Time of all tasks together, where all are known, or of the whole network."""
    if total_ms is None:
        return m.Html("")
    gain = ""
    if untuned_ms is not None and total_ms > 0:
        gain = f", {untuned_ms / total_ms:.2f} times as fast as untuned ({m.milliseconds(untuned_ms)})"
    return m.label(what, m.Html(f"<b>{m.milliseconds(total_ms)}</b>"), gain)


def task_table(rows: Sequence[Mapping[str, Any]], limit: int = TASK_ROWS) -> m.Html:
    """Draw tasks with their share of the time.

    Parameters
    ----------
    rows : sequence of mapping
        ``id, name, weight, ms, share, gflops, trials, failed, failures, state``, ``confidence``: how sure the last
        comparison was of the best trial, and ``sure``: what its time stands on (`ledger.SURE`). Times in milliseconds.
        Of more than `limit`, those that take the most time are shown.
    """
    shown = list(rows)
    if len(shown) > limit:
        heavy = sorted(shown, key=lambda r: (-(r["ms"] or 0.0) * r["weight"], r["id"]))[:limit]
        shown = sorted(heavy, key=lambda r: int(r["id"]))
    lines = [
        [
            r["id"], task_name(r["name"], r["weight"]), _best(r), m.percent(r["share"]),
            m.bar(r["share"]), m.digits(r["gflops"]), m.counted(r["trials"]), failed(r["failed"], r["failures"]),
            r["state"], m.percent(r.get("confidence")),
        ]
        for r in shown
    ]  # fmt: skip
    told = [k for k in range(len(_COLUMNS)) if k < 2 or any(line[k] not in ("", m.UNKNOWN) for line in lines)]
    lines = [[line[k] for k in told] for line in lines]
    rest = "tasks that take less time" if any(r["ms"] for r in shown) else "tasks"
    return m.table([_COLUMNS[k] for k in told], m.cut(lines, limit, rest, len(rows)))


def _best(row: Mapping[str, Any]) -> m.Html:
    """The time of the best; of one that was disturbed, that it is no longer than that."""
    time = m.milliseconds(row["ms"])
    return m.bad(f"≤ {time} (disturbed)") if row.get("sure") == "disturbed" else m.text(time)


def task_name(name: str, weight: int) -> m.Html:
    """``conv2d … ×3``."""
    return m.join(m.text(name, 70), m.faint(f" ×{weight}") if weight > 1 else "")


def failed(many: int, kinds: Mapping[str, int]) -> m.Html:
    """Failed trials by kind, or only how many where the kinds are not known."""
    if kinds:
        return m.bad(failure_words(kinds), 60)
    return m.bad(str(many)) if many else m.Html("")


def failure_words(kinds: Mapping[str, int]) -> str:
    """``3 timeout, 1 wrong answer``, the most frequent first."""
    return ", ".join(f"{n} {kind.replace('_', ' ')}" for kind, n in sorted(kinds.items(), key=lambda k: -k[1]))
