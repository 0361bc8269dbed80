"""A log answers in place of a machine: the same search proposes the same candidates again."""

from __future__ import annotations

import hashlib
import json
import math

import pytest

from workbench import Target, workloads
from workbench.graph.tasks import Task
from workbench.log import Comparison, Log, Record, load_log
from workbench.log.replay import ReplayMeasurer, measurement_of
from workbench.runtime.results.contest import Contest
from workbench.runtime.results.measure_options import ContestRules
from workbench.runtime.results.measurement import Measurement
from workbench.tune.options import TuneOptions
from workbench.tune.plan.run_plan import RunPlan
from workbench.tune.plan.tune_context import TuneContext
from workbench.tune.run.tuning_session import TuningSession

TARGET = Target("llvm -mcpu=skylake-avx512 -threads=2")


class Pretender(ReplayMeasurer):
    """Invents a latency for each schedule, always the same one."""

    def __init__(self):
        super().__init__(Log("", None))

    def measure(self, task, schedules, best_ms):
        for position, schedule in enumerate(schedules):
            ms = latency(schedule)
            status = "wrong_answer" if ms > 1.9 else "ok"
            yield position, Measurement(status=status, costs_ms=(ms, 1.1 * ms), error="" if status == "ok" else "no")

    def compare(self, task, schedules, rules):
        found = [tuple(latency(s) * (1 + 0.01 * k) for k in range(9)) for s in schedules]
        return Contest(measurements=tuple(Measurement(status="ok", costs_ms=c) for c in found))


def latency(schedule):
    digest = hashlib.sha256(json.dumps(schedule.to_json(), sort_keys=True).encode()).digest()
    return 1.0 + int.from_bytes(digest[:4], "big") / 2**32


def tuned(measurer, log, search="evolutionary", trials=40):
    task = Task.of_func(workloads.matmul(32, 48, 64), TARGET)
    options = TuneOptions(search=search, model="analytic", batch=8)
    session = TuningSession(RunPlan(
        [task], context=TuneContext(TARGET, options, 7), measurer=measurer, log=log, trials=trials,
        seed=7, target=str(TARGET), options=options,
    ))  # fmt: skip
    session.start()
    session.wait(60)
    assert session.state == "done", session.error
    return load_log(log)


@pytest.mark.parametrize("search", ["evolutionary", "random"])
def test_a_search_with_the_same_seed_proposes_the_same_candidates(tmp_path, search):
    first = tuned(Pretender(), tmp_path / "a", search)
    replay = ReplayMeasurer(tmp_path / "a")
    again = tuned(replay, tmp_path / "b", search)
    assert not replay.missing
    assert replay.answered == [r.trial for r in first.records]
    assert [r.key for r in again.records] == [r.key for r in first.records]
    for old, new in zip(first.records, again.records, strict=True):
        assert (new.latency_ms, new.status, new.predicted) == (old.latency_ms, old.status, old.predicted)
    assert len(first.records) == 40
    assert first.comparisons
    told = [[(c.trials, c.winner, c.latency_ms) for c in log.comparisons] for log in (first, again)]
    assert told[0] == told[1]


def test_what_the_log_does_not_know_is_cancelled(tmp_path):
    task = Task.of_func(workloads.matmul(8, 8, 8), TARGET)
    measurer = ReplayMeasurer(Log(tmp_path, None))
    context = TuneContext(TARGET, TuneOptions(model="analytic"))
    ((position, found),) = measurer.measure(task, [context.default(task)], math.inf)
    assert (position, found.status) == (0, "cancelled")
    assert len(measurer.missing) == 1
    assert measurer.compare(task, [context.default(task)] * 2, ContestRules()).status == "cancelled"


def record(trial, **kwargs):
    given = {"status": "ok", "target": "t", "latency_ms": 1.0, "trace": ({"primitive": "p", "args": {"x": trial % 2}},)}
    return Record(task_key="k", task="t", trial=trial, **{**given, **kwargs})


def test_the_latency_is_exact_and_repeated_trials_come_in_their_order():
    found = measurement_of(record(0, latency_ms=0.12345678, costs_ms=(0.2, 0.123457, 0.123)))
    assert found.ms == 0.12345678
    assert found.costs_ms == pytest.approx((0.2, 0.123457, 0.123), rel=1e-5)
    older = measurement_of(record(0, latency_ms=0.1, costs_ms=(0.3, 0.2, 0.1)))  # the least repeat was the latency
    assert (older.ms, older.spread) == (0.1, pytest.approx(0.5))
    disturbed = measurement_of(record(0, latency_ms=2.0, costs_ms=(3.0, 2.0), clean=False, why_not="busy"))
    assert (disturbed.ms, disturbed.costs_ms, disturbed.why_not) == (2.0, (3.0, 2.0), "busy")
    failed = measurement_of(record(0, status="timeout", latency_ms=None, error="too long"))
    assert (failed.status, failed.error, failed.costs_ms) == ("timeout", "too long", ())

    class Schedule:
        def __init__(self, x):
            self.x = x

        def to_json(self):
            return [{"args": {"x": self.x}, "primitive": "p"}]

    class Work:
        key, flops = "k", 0

    lines = [record(0), record(1, latency_ms=5.0), record(2, latency_ms=3.0), record(3, status="cancelled")]
    fight = Comparison(
        task_key="k", task="t", trials=(0, 1), latency_ms=(1.0, math.nan), costs_ms=((1.0, 2.0), ()), winner=0
    )
    measurer = ReplayMeasurer(Log("", None, (*lines, fight)))
    asked = [Schedule(0), Schedule(0), Schedule(1), Schedule(0)]
    assert [m.ms for _, m in measurer.measure(Work, asked, math.inf)] == [1.0, 3.0, 5.0, 3.0]
    contest = measurer.compare(Work, [Schedule(0), Schedule(1)], ContestRules())
    assert [m.status for m in contest.measurements] == ["ok", "run_error"]
    assert measurer.compare(Work, [Schedule(1), Schedule(0)], ContestRules()).status == "cancelled"
    assert measurement_of(record(4, latency_ms=None, costs_ms=())).status == "run_error"  # "ok", says a log by hand
