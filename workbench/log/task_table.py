"""The table of tasks in a notebook: what the fastest of each takes, and how much of the whole that is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from workbench import markup as m
from workbench.log.ledger.network import measured_at, network_change
from workbench.log.lines import NetworkTime

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


MEASURED = "end to end, measured"
"""What a time of the whole network covers that is no sum."""


def kernels_covered(weights: Iterable[float]) -> str:
    """What a sum over tasks covers, given how often each occurs: ``sum of 53 kernels``; of one kernel there is none."""
    many = round(sum(weights))
    return f"sum of {many} kernels" if many > 1 else "one kernel"


def totals(total_ms: float | None, untuned_ms: float | None, what: str) -> m.Html:
    """Time of all tasks together, where all are known; `what` says how many kernels that is."""
    if total_ms is None:
        return m.Html("")
    gain = ""
    if untuned_ms is not None and total_ms > 0:
        gain = f", {untuned_ms / total_ms:.2f} times as fast as untuned ({m.milliseconds(untuned_ms)})"
    return m.label(what, m.Html(f"<b>{m.milliseconds(total_ms)}</b>"), gain)


def end_to_end(found: Mapping[str, Any] | None, total_ms: float | None, untuned_ms: float | None, what: str) -> m.Html:
    """Time of the whole network, measured, as `network_fields` has it, and small what its kernels take alone; where it
    was not measured, that is all there is (`totals`).
    """
    if found is None:
        return totals(total_ms, untuned_ms, what)
    alone = "" if total_ms is None else m.line(m.faint(f"kernels alone: {m.milliseconds(total_ms)}"))
    return m.join(_network_total(found), alone)


def _network_total(found: Mapping[str, Any]) -> m.Html:
    now, before = (
        f"{m.milliseconds(found[ms])} {m.plus_minus(found[ms], found[spread])}".strip()
        for ms, spread in (("ms", "spread"), ("untuned_ms", "untuned_spread"))
    )
    at = f" ({found['at']})" if found["at"] else ""
    return m.label(MEASURED, m.Html(f"<b>{m.clean(now)}</b>"), f", {before} untuned: {found['change']}{at}")


def network_fields(found: NetworkTime, trials: int | None = None) -> dict[str, Any]:
    """What is shown of the whole network: milliseconds, their spreads, and in words what tuning has changed, and after
    which of so many trials that was measured.
    """
    return {
        "ms": found.measured_ms, "spread": found.spread, "untuned_ms": found.untuned_ms,
        "untuned_spread": found.untuned_spread, "why_not": found.why_not, "change": network_change(found),
        "at": measured_at(found, trials),
    }  # fmt: skip


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
    return ", ".join(f"{n} {kind.replace('_', ' ')}" for kind, n in sorted(kinds.items(), key=lambda k: -k[1]) if n)
