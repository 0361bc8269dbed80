"""A tuning session in a notebook: where it stands, and its tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from workbench import markup as m
from workbench.log.task_table import end_to_end, kernels_covered, network_fields, task_table
from workbench.log.weighted_latency import shares
from workbench.tune.state.run_end import end_word

if TYPE_CHECKING:
    from workbench.log import Record
    from workbench.tune.state.events import Snapshot, TaskRow


def session_html(now: Snapshot, log: str | None, failure: BaseException | None, records: Iterable[Record]) -> str:
    """Return what a notebook shows of a tuning session: where it stands, its log, why it failed, its trials."""
    done = now.progress
    trials = (
        m.plural(done.trials, "trial") if done.total is None else f"{m.counted(done.trials)} of {done.total} trials"
    )
    kept = f"log {m.clean(log)}" if log is not None else ""
    parts: list[object] = [m.heading("Tuning", end_word(now.state, now.end), trials, m.duration(done.elapsed_s), kept)]
    if failure is not None:
        parts.append(m.line(m.bad(f"{type(failure).__name__}: {failure}", 600)))
    parts.append(m.line(m.bar(done.fraction, 240), " ", m.percent(done.fraction), " of the budget"))
    rows = rows_of(now.rows, failures_of(records))
    whole = None if now.network is None else network_fields(now.network, done.trials)
    parts += [end_to_end(whole, now.total_ms, now.untuned_ms, covered(now)), task_table(rows)]
    return m.page(*parts)


def covered(now: Snapshot) -> str:
    """What the sum over the tasks that are tuned covers."""
    return kernels_covered(row.weight for row in now.rows if row.state != "skipped")


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
        {**asdict(r), "ms": r.latency_ms, "share": share, "failures": dict(failures.get(r.key, {}))}
        for r, share in zip(rows, parts, strict=True)
    ]
