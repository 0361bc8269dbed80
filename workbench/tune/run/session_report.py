"""What a session shows of itself: the task table, how far it has come, why it does what it does."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from workbench.log.ledger import SURE
from workbench.log.record import speed
from workbench.log.weighted_latency import total
from workbench.safe_text import legible, legible_line
from workbench.tune.run.rounds import verdict
from workbench.tune.state.events import FINAL, Progress, Snapshot, State, TaskRow
from workbench.tune.state.run_end import RAN_THROUGH, End, end_text

if TYPE_CHECKING:
    import pandas

    from workbench.tune.run.loop import TuningLoop

LAST = 5
"""Comparisons, and steps of its best, that `explain` lists of a task. Chosen."""


def progress(loop: TuningLoop, state: State, end: End) -> Progress:
    """Return trials done and allowed, time used and expected."""
    done, elapsed, budget = len(loop.run_state.records), loop.elapsed, loop.run_state.budget
    here = max(1e-9, elapsed - loop.elapsed_before)
    rate = loop.new_trials / here
    shares: list[float] = []
    rests: list[float] = []
    if budget.trials is not None:
        shares.append(min(1.0, done / max(1, budget.trials)))
        if rate > 0:
            rests.append(max(0, budget.trials - done) / rate)
    if budget.seconds is not None:
        shares.append(min(1.0, here / max(1e-9, budget.seconds)))
        rests.append(max(0.0, budget.seconds - here))
    fraction = 1.0 if end in RAN_THROUGH else max(shares, default=0.0)
    eta = 0.0 if state in FINAL else (min(rests) if rests else None)
    return Progress(done, budget.trials, elapsed, eta, fraction, rate)


def snapshot(loop: TuningLoop, state: State, end: End) -> Snapshot:
    """Return everything that a display shows, as one value."""
    rows = tuple(_row(loop, state, i) for i in range(len(loop.tasks)))
    shown = [rows[i] for i in loop.scheduler.active]
    next_id = None if state in FINAL else loop.current
    untuned = total([(r.weight, r.untuned_ms) for r in shown])
    tuned = total([(r.weight, r.latency_ms) for r in shown])
    waiting = sum(len(loop.run_state.requests[loop.tasks[i].key].added) for i in loop.scheduler.active)
    network = loop.scheduler.whole.last
    return Snapshot(
        state, rows, progress(loop, state, end), tuned, untuned, next_id, end, waiting, network, loop.untimed
    )


def _row(loop: TuningLoop, session: State, index: int) -> TaskRow:
    task, scheduler, run_state = loop.tasks[index], loop.scheduler, loop.run_state
    state = scheduler.states[index]
    best = state.ledger.best
    latency = None if best is None else best.ms
    quality = run_state.quality.get(task.key)
    return TaskRow(
        index,
        task.key,
        task.name,
        task.weight,
        latency,
        speed(int(task.flops), latency),
        state.trials,
        state.failed,
        state.ledger.untuned_ms,
        _word(loop, session, index),
        scheduler.why(index) if index in scheduler.active else "",
        spread=best.spread if best is not None else None,
        confidence=state.confidence,
        compared=state.compared,
        quality=quality.spearman if quality is not None else None,
        trial=best.record.trial if best is not None else None,
        origin=best.record.origin if best is not None else "",
        rounds=state.rounds,
        sure=best.sure if best is not None else "",
        corrected=state.ledger.course[-1].reason if best is not None else "",
    )


def _word(loop: TuningLoop, session: State, index: int) -> str:
    state = loop.scheduler.states[index]
    if index not in loop.scheduler.active:
        return "skipped"
    if index == loop.current and session not in FINAL:
        return "tuning"
    if index in loop.scheduler.faults:
        return "given up"
    if state.exhausted:
        return "exhausted"
    if state.rounds == 0:
        return "waiting"
    if loop.scheduler.resting(index):
        return "resting"
    return "measured" if state.ledger.best else "no result"


_COLUMNS = (
    "id", "task", "weight", "latency_ms", "gflops", "trials", "rounds", "failed", "untuned_ms", "state", "spread",
    "confidence", "quality", "why", "sure",
)  # fmt: skip


def table(rows: tuple[TaskRow, ...]) -> pandas.DataFrame:
    """Return the task table: one row per task; its words are legible, because pandas prints them as they are."""
    import pandas

    from workbench.tune.display.task_frame import TaskFrame

    names = {"name": "task", "reason": "why"}
    frame = pandas.DataFrame(rows, columns=[f.name for f in fields(TaskRow)]).rename(columns=names)[list(_COLUMNS)]
    words = ["task", "why", "state"]
    frame[words] = frame[words].map(legible_line)
    floats = ("latency_ms", "gflops", "untuned_ms", "spread", "confidence", "quality")
    return TaskFrame(frame.astype(dict.fromkeys(floats, "float64")))


def why(loop: TuningLoop) -> str:
    """Return which task goes next and why, and what the others stand at."""
    scheduler = loop.scheduler
    index = loop.current if loop.current is not None else loop.pick()
    if index is None:
        given_up = [f"\n{i:>4} {scheduler.why(i)}" for i in scheduler.active if i in scheduler.faults]
        told = end_text(loop.nothing_next(), given_up=bool(given_up))
        return f"No task goes next: {told}." + "".join(given_up)
    lines = [f"Next: task {index} {loop.tasks[index].name}: {scheduler.why(index)}."]
    lines.append(f"{'ID':>4} {'rounds':>6} {'gain':>10} {'backward':>10} {'optimism':>10} {'similarity':>10}  why")
    terms = {i: scheduler.terms(i) for i in scheduler.active}
    for i in sorted(terms, key=lambda i: (-terms[i].gain, i)):
        t = terms[i]
        numbers = " ".join(f"{x:>10.4g}" for x in (t.gain, t.backward, t.optimism, t.similarity))
        lines.append(f"{i:>4} {scheduler.states[i].rounds:>6} {numbers}  {scheduler.why(i)}")
    return legible("\n".join(lines))


def explain(loop: TuningLoop, index: int) -> str:
    """Return what is known about one task."""
    task, state, run_state = loop.tasks[index], loop.scheduler.states[index], loop.run_state
    lines = [f"task {index} {task.name}: {state.trials} trials in {state.rounds} rounds, {state.failed} failed"]
    best = state.ledger.best
    if best is None:
        lines.append("  no trial was valid so far")
    else:
        spread = f", spread {best.spread:.1%}" if best.spread is not None else ""
        how = f", origin {best.record.origin}, {SURE[best.sure]}"
        lines.append(f"  best: trial {best.record.trial}, {best.ms:.4f} ms{spread}{how}")
        lines += [f"  {step.reason}" for step in state.ledger.course[-LAST:] if step.reason]
    if state.pending:
        lines.append(f"  still to be compared with it: trials {', '.join(map(str, sorted(state.pending)))}")
    compared = [c for c in run_state.comparisons if c.task_key == task.key]
    lines += [f"  {c.reason}: {verdict(c)}" for c in compared[-LAST:]]
    known = run_state.quality.get(task.key)
    if known is not None and known.spearman is not None:
        lines.append(f"  model {known.model}: rank correlation {known.spearman:.2f} with what came after")
    requests = run_state.requests[task.key]
    if held := requests.held():
        lines.append(f"  held: {'; '.join(words for words, _ in held)}")
    if requests.added:
        lines.append(f"  by hand, to be measured next: {len(requests.added)}")
    lines.append(f"  why it is where it is: {loop.scheduler.why(index)}")
    return legible("\n".join(lines))
