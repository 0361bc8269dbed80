"""The whole network is measured while it is tuned: at the start, when much has changed, and at the end."""

import itertools
import json
import math
import threading
from dataclasses import replace

import numpy as np
import onnx.helper as oh
import onnx.numpy_helper as nh
import pytest
from onnx import TensorProto

import workbench as wb
from workbench.errors import RunError
from workbench.log import Ledger, NetworkTime, load_log
from workbench.runtime.execution.alternating_runs import PlanTime
from workbench.session import Session
from workbench.tune.constants import Comparisons, NetworkRuns
from workbench.tune.display.terminal_table import summary_lines
from workbench.tune.plan import network_timer
from workbench.tune.plan.network_timer import NetworkTimer, inside_contest, inside_ms
from workbench.tune.run.rounds import Rounds
from workbench.tune.state import task_state

TARGET = wb.Target.host(threads=1)


@pytest.fixture
def graph():
    """Two products in a row; the second one twice."""
    rng = np.random.default_rng(0)
    shapes = {"a": (64, 96), "b": (96, 96), "c": (96, 96)}
    weights = [nh.from_array(rng.standard_normal(shape, np.float32), name) for name, shape in shapes.items()]
    nodes = [
        oh.make_node("MatMul", ["x", "a"], ["p"]),
        oh.make_node("MatMul", ["p", "b"], ["q"]),
        oh.make_node("MatMul", ["q", "c"], ["y"]),
    ]
    ends = [oh.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in (("x", [32, 64]), ("y", [32, 96]))]
    model = oh.make_model(
        oh.make_graph(nodes, "net", ends[:1], ends[1:], weights), opset_imports=[oh.make_opsetid("", 17)]
    )
    return wb.load_onnx(model)


def measured(monkeypatch, *answers):
    """Answers of the worker process, in their order: milliseconds of the untuned and of the tuned network."""
    asked, left = [], iter(answers)

    def measure(plans, seconds, going_on):
        if seconds == NetworkRuns.FINAL_SECONDS:
            return tuple(PlanTime((1.0,), ((1.0,) * len(plan.calls),) * 10) for plan in plans)
        asked.append(plans)
        found = next(left)
        if isinstance(found, Exception):
            raise found
        return tuple(
            PlanTime((ms,) * 10, (tuple(ms / len(p.calls) for _ in p.calls),) * 10)
            for p, ms in zip(plans, found, strict=True)
        )

    monkeypatch.setattr("workbench.tune.plan.network_timer.measure_networks", measure)
    return asked


def test_a_run_measures_its_network(graph, tmp_path):
    log = tmp_path / "net.jsonl"
    with wb.tune(graph, trials=8, log=log, target=TARGET) as session:
        session.wait()
        found = session.network()
    assert isinstance(found, NetworkTime)
    assert 0 < found.measured_ms < 1000
    assert 0 < found.untuned_ms < 1000
    assert found.sum_of_kernels_ms == pytest.approx(session.snapshot().total_ms)
    assert set(found.inside_ms) == set(found.alone_ms) == {task.key for task in session.tasks}
    assert found.clean == (not found.why_not)
    lines = [line for line in load_log(log).lines if isinstance(line, NetworkTime)]
    assert lines[-1] == found
    assert lines[0].reason == "every task has a time"
    again = wb.tune(graph, trials=8, log=log, target=TARGET, resume=True)
    again.wait()
    assert again.network() is not None


def test_it_is_measured_at_the_start_when_much_has_changed_and_at_the_end(graph, monkeypatch, tmp_path):
    asked = measured(monkeypatch, *[(2.0, 2.0 - 0.1 * k) for k in range(20)])
    monkeypatch.setattr(NetworkRuns, "MOST", math.inf)
    with wb.tune(graph, trials=24, log=tmp_path / "a.jsonl", target=TARGET, batch=4) as session:
        session.wait()
    lines = [line for line in load_log(tmp_path / "a.jsonl").lines if isinstance(line, NetworkTime)]
    assert len(lines) == len(asked) >= 1
    assert lines[0].measured_ms == 2.0
    assert [line.reason for line in lines[1:-1]] == ["kernels became faster"] * (len(lines) - 2)
    sums = [line.sum_of_kernels_ms for line in lines]
    assert all(b < NetworkRuns.FASTER * a for a, b in itertools.pairwise(sums[:-1]))


def test_a_network_that_cannot_be_timed_is_told_once_and_the_run_goes_on(graph, monkeypatch):
    asked = measured(monkeypatch, RunError("run.network", "the network could not be timed: it crashed"))
    told = []
    session = wb.tune(graph, trials=12, target=TARGET, start=False)
    session.events.subscribe(lambda event: told.append(event.message) if event.kind == "warning" else None)
    session.start().wait()
    assert (session.state, session.network(), len(asked)) == ("done", None, 1)
    assert sum("end to end stays a sum of kernels [run.network]" in text for text in told) == 1


def test_little_of_a_run_goes_into_measuring(graph):
    timer = NetworkTimer(graph, TARGET)
    assert timer.due(10.0, 0.0)  # once, as soon as it can be
    timer._last, timer._spent, timer.cost_s = 10.0, 2.0, 2.0
    assert not timer.due(9.5, 1000.0)  # too little has changed
    assert not timer.due(5.0, 39.0)
    assert timer.due(5.0, 40.0)
    assert timer.stale(9.5)
    assert not timer.stale(10.0)


def test_times_inside_the_network_are_means_over_the_calls_of_a_task(graph):
    plan = wb.compile(graph, target=TARGET).plan
    times = tuple(float(k + 1) for k in range(len(plan.calls)))
    found = inside_ms(plan, times)
    calls = [call.task for call in plan.calls]
    twice = next(key for key in found if calls.count(key) == 2)
    assert found[twice] == np.mean([t for t, key in zip(times, calls, strict=True) if key == twice])


def test_what_takes_longer_inside_the_network_matters_more(graph):
    session = wb.tune(graph, trials=8, target=TARGET, start=False)
    scheduler = session._loop.scheduler
    first, second = session.tasks
    before = scheduler.slopes()
    line = NetworkTime(
        measured_ms=1.0, untuned_ms=1.0, inside_ms={first.key: 0.3, second.key: 0.2, "other": 1.0},
        alone_ms={first.key: 0.1, second.key: 0.2}, target=str(TARGET),
    )  # fmt: skip
    session._loop.run_state.take(line)
    assert scheduler.slopes() == pytest.approx((3.0 * before[0], before[1]))
    assert session.network() is line


@pytest.mark.parametrize("inside", [0.002, 0.0249, 0.401, 40.0])
def test_a_ratio_that_cannot_be_is_not_believed(inside):
    line = NetworkTime(measured_ms=1.0, untuned_ms=1.0, inside_ms={"a": inside}, alone_ms={"a": 0.1})
    assert line.stretched() == {}
    assert replace(line, inside_ms={"a": 0.3}).stretched() == {"a": pytest.approx(3.0)}


def test_alone_is_what_ran_inside_the_network_not_what_was_measured_by_hand_before(graph, monkeypatch, tmp_path):
    """The program as written is a task's first trial; nothing has won against it when the network is measured."""
    first, log = tmp_path / "first.jsonl", tmp_path / "net.jsonl"
    measured(monkeypatch, *[(2.0, 1.0)] * 9)
    with wb.tune(graph, trials=8, log=first, target=TARGET) as session:
        session.wait()
    header, own = first.read_text().splitlines()[0], load_log(first).records[0]
    by_hand = replace(own, trial=0, latency_ms=1000.0, origin="manual", trace=(), key="by hand")
    log.write_text(f"{header}\n{json.dumps(by_hand.to_json())}\n")
    monkeypatch.setattr(Rounds, "_contest", lambda *_: None)
    with wb.tune(graph, trials=9, log=log, target=TARGET, resume=True) as session:
        session.wait()
    line = next(line for line in load_log(log).lines if isinstance(line, NetworkTime))
    assert session.records[0].latency_ms == 1000.0
    assert set(line.alone_ms) == {task.key for task in session.tasks}
    assert max(line.alone_ms.values()) < 500.0
    assert line.sum_of_kernels_ms == pytest.approx(sum(t.weight * line.alone_ms[t.key] for t in session.tasks))


def test_candidates_of_a_task_are_compared_inside_the_network(graph):
    plan = wb.compile(graph, target=TARGET).plan
    key = plan.calls[-1].task

    def times(factor, rounds, why_not=""):
        rows = [tuple(k * factor for k in range(1, len(plan.calls) + 1)) for _ in range(rounds)]
        return PlanTime((1.0,), tuple(rows), why_not)

    slow, fast = times(2.0, 12), times(1.0, 12)
    found = inside_contest(key, [plan, plan], [slow, fast])
    assert (found.winner(), found.ratio(1), found.clean) == (1, 0.5, True)
    gaps = PlanTime((1.0,), (*fast.rounds_ms[:10], (), ()))  # disturbed turns count for nobody
    assert [len(c) for c in inside_contest(key, [plan, plan], [slow, gaps]).costs_ms] == [10, 10]
    few = inside_contest(key, [plan, plan], [slow, PlanTime((1.0,), ((),) * 12, "somebody was there")])
    assert (few.clean, few.why_not, few.winner()) == (False, "somebody was there", 0)


def test_the_last_candidates_of_heavy_tasks_run_inside_the_network(graph, monkeypatch, tmp_path):
    """The second candidate of every task is twice as fast there."""

    def measure(plans, seconds, going_on):
        rows = [tuple(1.0 / (1 + k) for _ in plan.calls) for k, plan in enumerate(plans)]
        return tuple(PlanTime((sum(row),) * 10, (row,) * 10) for row in rows)

    monkeypatch.setattr("workbench.tune.plan.network_timer.measure_networks", measure)
    monkeypatch.setattr(Comparisons, "RIVAL", 100.0)
    log = tmp_path / "net.jsonl"
    with wb.tune(graph, trials=16, log=log, target=TARGET) as session:
        session.wait()
    found = [line for line in session.comparisons if line.reason == task_state.INSIDE]
    assert found
    for line in found:
        assert line.winner != line.trials[0]
        assert all(math.isnan(ms) for ms in line.latency_ms)
        task = next(task for task in session.tasks if task.key == line.task_key)
        assert session.best(task).to_json() == list(session._loop.run_state.trial(line.winner).trace)
        record = session._loop.run_state.trial(line.winner)
        assert session.snapshot().rows[session.tasks.index(task)].latency_ms >= 0.5 * record.latency_ms
    assert wb.compile(graph, log, TARGET).untuned == ()


def stopped(graph, monkeypatch, tmp_path, how):
    """A run that somebody ends when both tasks have had a round, the network not measured so far."""
    monkeypatch.setattr(NetworkTimer, "due", lambda *_: False)
    asked = measured(monkeypatch, *[(2.0, 1.0)] * 9)
    session = wb.tune(graph, trials=1000, log=tmp_path / "a.jsonl", target=TARGET, start=False)
    session.events.subscribe(lambda event: how(session) if event.kind == "round" and len(session.rounds) > 1 else None)
    session.start().wait()
    return session, asked


def test_a_run_that_is_stopped_measures_its_network_as_at_the_end(graph, monkeypatch, tmp_path):
    session, asked = stopped(graph, monkeypatch, tmp_path, lambda session: session.stop())
    found = session.network()
    assert (len(asked), found.reason, found.measured_ms) == (1, "when it was stopped", 1.0)
    assert found.trials == len(session.records) < 1000
    assert Session(tmp_path / "a.jsonl").snapshot().slices["tasks"]["network"]["at"] == (
        f"measured at trial {found.trials}"
    )


def test_a_run_that_is_cancelled_ends_at_once(graph, monkeypatch, tmp_path):
    session, asked = stopped(graph, monkeypatch, tmp_path, lambda session: session.cancel())
    assert (session.state, asked, session.network()) == ("cancelled", [], None)


def test_a_cancellation_ends_the_measurement_of_a_run_that_was_stopped(graph, monkeypatch, tmp_path):
    def measure(timer, *_):
        assert timer.going_on()
        session_of.append(1)
        live[0].cancel()
        assert not timer.going_on()
        return {}

    session_of, live = [], []
    monkeypatch.setattr(NetworkTimer, "measure", measure)
    session, _ = stopped(graph, monkeypatch, tmp_path, lambda session: (live.append(session), session.stop()))
    assert (session.state, session_of, session.network()) == ("cancelled", [1], None)


def test_a_disturbed_time_at_the_end_is_measured_again_though_nothing_is_faster(graph, monkeypatch):
    timer = NetworkTimer(graph, TARGET)
    shaky = PlanTime((1.0,) * 8 + (2.0,) * 8, ((1.0,),) * 10)
    for times, again in ((shaky, True), (PlanTime((1.0,) * 16, ((1.0,),) * 10), False)):
        monkeypatch.setattr(timer, "_timed", lambda *_, times=times: (times, times))
        monkeypatch.setattr(network_timer, "inside_ms", lambda *_: {})
        timer.measure([], [], 3.0)
        assert (timer.stale(3.0), timer.stale(2.0)) == (again, True)


def paused_once(monkeypatch, what, session_of):
    """Let a person pause the run in the first call of a method, which stops it, and go on a moment later."""
    real, tries = getattr(NetworkTimer, what), []

    def work(timer, *args):
        tries.append(session_of().state)
        if len(tries) > 1:
            return real(timer, *args)
        session_of().pause()
        assert not timer.going_on()
        threading.Timer(0.2, session_of().resume).start()
        return {}

    monkeypatch.setattr(NetworkTimer, what, work)
    return tries


def test_a_pause_during_the_last_measurement_puts_it_off(graph, monkeypatch):
    monkeypatch.setattr(NetworkTimer, "due", lambda *_: False)  # only at the end
    asked, tries = measured(monkeypatch, (2.0, 1.0)), paused_once(monkeypatch, "measure", lambda: session)
    session = wb.tune(graph, trials=8, target=TARGET, start=False)
    session.start().wait()
    assert (session.state, tries, len(asked)) == ("done", ["running", "running"], 1)
    assert session.network() is not None
    assert (session.network().measured_ms, session.network().reason) == (1.0, "at the end")


def test_a_pause_while_the_last_candidates_run_inside_the_network_puts_them_off(graph, monkeypatch):
    measured(monkeypatch, *[(2.0, 1.0)] * 9)
    monkeypatch.setattr(Comparisons, "RIVAL", 100.0)
    tries = paused_once(monkeypatch, "compare", lambda: session)
    session = wb.tune(graph, trials=16, target=TARGET, start=False)
    session.start().wait()
    assert tries == ["running", "running"]
    assert any(line.reason == task_state.INSIDE for line in session.comparisons)


@pytest.mark.parametrize("error", [OSError("no more processes"), ValueError("odd"), MemoryError()])
def test_whatever_goes_wrong_with_the_network_the_run_goes_on(graph, monkeypatch, tmp_path, error):
    asked = measured(monkeypatch, error)
    told = []
    session = wb.tune(graph, trials=12, log=tmp_path / "a.jsonl", target=TARGET, start=False)
    session.events.subscribe(lambda event: told.append(event.message) if event.kind == "warning" else None)
    session.start().wait()
    assert (session.state, session.network(), len(asked), len(session.records)) == ("done", None, 1, 12)
    why = f"the network could not be timed: {type(error).__name__}"
    assert sum(why in text and "[run.network]" in text for text in told) == 1
    assert why in "\n".join(summary_lines(session.snapshot()))
    assert wb.compile(graph, tmp_path / "a.jsonl", TARGET).untuned == ()


def test_a_comparison_inside_the_network_that_fails_costs_no_measurement(graph, monkeypatch):
    asked, told = measured(monkeypatch, *[(2.0, 1.0)] * 9), []
    monkeypatch.setattr(Comparisons, "RIVAL", 100.0)
    monkeypatch.setattr(NetworkTimer, "due", lambda *_: False)  # only at the end
    answer = network_timer.measure_networks

    def measure(plans, seconds, going_on):
        if seconds == NetworkRuns.FINAL_SECONDS:
            raise OSError("no more processes")
        return answer(plans, seconds, going_on)

    monkeypatch.setattr("workbench.tune.plan.network_timer.measure_networks", measure)
    session = wb.tune(graph, trials=16, target=TARGET, start=False)
    session.events.subscribe(lambda event: told.append(event.message) if event.kind == "warning" else None)
    session.start().wait()
    assert (session.state, len(asked), session.network().measured_ms) == ("done", 1, 1.0)
    assert sum("the last candidates are not timed inside the network" in text for text in told) == 1


@pytest.mark.parametrize("other", [{"target": "llvm -mcpu=other"}, {"caches": "flushed"}])
def test_a_time_of_the_network_under_other_conditions_is_passed_over(graph, monkeypatch, tmp_path, other):
    log = tmp_path / "a.jsonl"
    measured(monkeypatch, *[(2.0, 1.0)] * 9)
    with wb.tune(graph, trials=8, log=log, target=TARGET) as session:
        session.wait()
    own = session.network()
    slow = {key: 3.0 * ms for key, ms in own.alone_ms.items()}
    strange = replace(own, measured_ms=77.0, inside_ms=slow, reason="elsewhere", **other)
    with log.open("a") as file:
        file.write(json.dumps(strange.to_json()) + "\n")
    again = wb.tune(graph, trials=8, log=log, target=TARGET, resume=True, start=False)
    assert again.network() == own
    assert again.snapshot().network == own
    if "target" in other:  # nobody who reads a log says which caches are wanted
        assert Ledger.of(load_log(log).lines).network == own
        assert Session(log).snapshot().slices["tasks"]["network"]["ms"] == 1.0
    assert strange not in again.lines
    assert strange.stretched() == {key: pytest.approx(3.0) for key in slow}
    assert not any(2.9 < times < 3.1 for times in again._loop.scheduler.stretched.values())
    again.cancel()
