"""A tuning session in a notebook: where it stands, and its tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from workbench import markup as m
from workbench.tune.ends import end_word
from workbench.tune.weights import shares

if TYPE_CHECKING:
    from workbench.tune.events import TaskRow
    from workbench.tune.record import Record
    from workbench.tune.session import TuningSession

TASK_ROWS = 40
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


def session_html(session: TuningSession) -> str:
    """Return what a notebook shows of a tuning session."""
    now = session.snapshot()
    done = now.progress
    trials = (
        m.plural(done.trials, "trial") if done.total is None else f"{m.counted(done.trials)} of {done.total} trials"
    )
    kept = f"log {m.clean(session.log)}" if session.log is not None else ""
    parts: list[object] = [m.heading("Tuning", end_word(now.state, now.end), trials, m.duration(done.elapsed_s), kept)]
    failure = session.failure
    if failure is not None:
        parts.append(m.line(m.bad(f"{type(failure).__name__}: {failure}", 600)))
    parts.append(m.line(m.bar(done.fraction, 240), " ", m.percent(done.fraction), " of the budget"))
    rows = rows_of(now.rows, failures_of(session.records))
    parts += [totals(now.total_ms, now.untuned_ms), task_table(rows)]
    return m.page(*parts)


def failures_of(records: Iterable[Record]) -> dict[str, Counter[str]]:
    """Count failed trials: task key -> status -> number."""
    out: dict[str, Counter[str]] = {}
    for record in records:
        if not record.ok:
            out.setdefault(record.task_key, Counter())[record.status] += 1
    return out


def rows_of(rows: Sequence[TaskRow], failures: Mapping[str, Mapping[str, int]]) -> list[dict[str, Any]]:
    """Return rows as `task_table` wants them."""
    parts = shares([(r.weight, r.latency_ms) for r in rows])
    return [
        {
            "id": r.id, "name": r.name, "weight": r.weight, "ms": r.latency_ms, "gflops": r.gflops, "trials": r.trials,
            "share": share, "failed": r.failed,
            "failures": dict(failures.get(r.key, {})), "state": r.state, "reason": r.reason,
            "confidence": r.confidence, "sure": r.sure,
        }
        for r, share in zip(rows, parts, strict=True)
    ]  # fmt: skip


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
