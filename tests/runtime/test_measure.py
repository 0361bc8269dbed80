"""Measuring in worker processes: what works, what fails and how, and what is left behind."""

import gc
import math
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest
from runtime.llvm_kernels import ADD, CRASH, HANG, NOTHING, OVERRUN, add_func, code

import workbench as wb
from workbench.errors import RunError, UsageError
from workbench.runtime.measuring import candidate_run
from workbench.runtime.measuring.jobs import Reply, SetupJob, TrialJob
from workbench.runtime.results.measure_options import MeasureOptions
from workbench.runtime.results.measurement import Measurement
from workbench.runtime.schedule_methods import measure
from workbench.runtime.workers import shared_runner
from workbench.runtime.workers.batch import Batch, MeasureInput, Trial
from workbench.runtime.workers.dispatch import BatchDispatch
from workbench.runtime.workers.local_runner import LocalRunner
from workbench.runtime.workers.process import Worker
from workbench.target import Target

N = 1024
FUNC = add_func(N)


def job(source, value=1.0, threads=1, **options):
    image = code(source, N, value)
    return TrialJob("t", image, FUNC.params, threads, MeasureOptions(**options))


# ---- one trial, in this process ----


@pytest.fixture(scope="module")
def runner():
    one = candidate_run.TrialRunner()
    assert one.run(job(ADD)) == Reply("need_setup")
    one.setup(SetupJob("t", FUNC, 0))
    return one


@pytest.mark.parametrize("threads", [1, 2])
def test_right_result_is_timed(runner, threads):
    done = runner.run(job(ADD, threads=threads, budget_ms=10_000.0))
    assert done.status == "ok"
    assert len(done.costs_ms) >= 10
    assert done.max_rel_error == 0
    assert done.clock == ("cpu" if threads == 1 else "wall")


def test_asked_for_repeats(runner):
    done = runner.run(job(ADD, repeat=7, min_repeat_ms=0.5))
    assert len(done.costs_ms) == 7
    assert done.number > 1
    assert runner.run(job(ADD, repeat=3, flush_cache=True)).number == 1


def test_the_best_time_reaches_who_stops_the_hopeless(runner):
    """What it does with it: `test_repeats`."""
    candidate = runner.candidate(replace(job(ADD), best_ms=1e-9))
    assert candidate.timer._best_ms == 1e-9
    candidate.close()


@pytest.mark.bench
def test_hopeless_candidates_stop_early(runner):
    done = runner.run(replace(job(ADD), best_ms=1e-9))
    assert done.status == "ok"
    assert len(done.costs_ms) < len(runner.run(job(ADD)).costs_ms) / 2


@pytest.mark.parametrize(
    ("source", "value", "said"),
    [(ADD, 2.0, "differ from the reference"), (NOTHING, 1.0, "are NaN"), (OVERRUN, 1.0, "outside C")],
)
def test_wrong_answers(source, value, said):
    one = candidate_run.TrialRunner()
    one.setup(SetupJob("t", FUNC, 0))
    done = one.run(job(source, value))
    assert done.status == "wrong_answer"
    assert said in done.error
    assert one.run(job(ADD)) == Reply("need_setup")  # the inputs may be spoilt


def test_only_the_workspace_of_the_candidate_is_filled():
    one = candidate_run.TrialRunner()
    one.setup(SetupJob("t", FUNC, 0))
    space = one.launch_context(1).reserve(1 << 16)  # an earlier candidate needed so much
    space[...] = 7
    assert one.run(job(ADD)).status == "ok"
    assert space[0] != 7
    assert space[-1] == 7


# ---- worker processes ----


def answers(worker, inbox, *jobs, timeout=60):
    """Send jobs and return the answer to the last, or None when the worker died."""
    message = None
    for one in jobs:
        worker.send(one)
        while True:
            event = inbox.get(timeout=timeout)
            if event.generation == worker.generation and event.message != "hello":
                break
        message = event.message
    return message


@pytest.fixture
def worker():
    inbox = queue.SimpleQueue()
    one = Worker("run", inbox)
    yield one, inbox
    one.close()


def test_crash_is_told_and_the_next_job_gets_a_new_process(worker):
    one, inbox = worker
    setup = SetupJob("t", FUNC, 0)
    assert answers(one, inbox, setup, job(CRASH)) is None
    assert "SIGSEGV" in one.end()
    done = answers(one, inbox, setup, job(ADD))
    assert isinstance(done, Measurement)
    assert done.status == "ok"


def test_ctrl_c_does_not_reach_a_worker_and_the_end_of_its_pipe_does_even_in_a_hang(worker):
    one, inbox = worker
    assert answers(one, inbox, SetupJob("t", FUNC, 0)) == Reply("ready")
    os.kill(one.pid, signal.SIGINT)
    assert answers(one, inbox, job(ADD)).status == "ok"
    assert os.getpgid(one.pid) != os.getpgid(0)
    one.send(job(HANG))
    time.sleep(0.2)
    one._process.stdin.close()
    assert one._process.wait(60) == 0


def test_workers_die_with_a_killed_parent(tmp_path):
    program = (
        "import queue, sys, time\nfrom workbench.runtime.workers.process import Worker\n"
        "q = queue.SimpleQueue()\nw = Worker('run', q)\nw.start()\nassert q.get(timeout=60).message == 'hello'\n"
        "print(w.pid, flush=True)\ntime.sleep(60)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    pid = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    parent.stdout.close()
    assert gone(pid)


def gone(*pids):
    """Whether processes end within a time that no machine needs."""
    deadline = time.monotonic() + 60
    while any(map(_alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not any(map(_alive, pids))


def _alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


# ---- the local runner ----


@pytest.fixture(scope="module", params=[1, 2])
def local(request):
    options = MeasureOptions(timeout_s=30.0, early_stop=0.0, budget_ms=500.0)
    with LocalRunner(Target.host(request.param), options) as one:
        yield one


def candidate(func=FUNC, reference=FUNC, key="t"):
    return MeasureInput(key, reference, func, flops=N)


def test_measure_many(local):
    results = dict(local.measure_many(candidate() for _ in range(12)))
    assert sorted(results) == list(range(12))
    assert all(m.ok and m.gflops > 0 and m.spread is not None and m.compile_s > 0 for m in results.values())
    assert "GFLOP/s" in str(results[0])


def test_one_bad_candidate_does_not_disturb_the_others(local):
    wrong, unbuildable = add_func(N, 2.0), "not a function"
    batch = [
        candidate(),
        candidate(wrong),
        candidate(unbuildable),
        candidate(FUNC, unbuildable, "no reference"),
        candidate(),
    ]
    results = dict(local.measure_many(batch))
    assert [results[i].status for i in range(5)] == ["ok", "wrong_answer", "build_error", "run_error", "ok"]
    assert "Traceback" in results[2].error
    assert results[2].ms == math.inf


def test_the_reference_is_computed_while_the_first_candidates_are_built(local, monkeypatch):
    assert local.measure(candidate()).ok  # the workers are up
    given, give = [], BatchDispatch._give

    def note(self, worker, duty, job):
        given.append((duty.what, len(duty.trials)))
        give(self, worker, duty, job)

    monkeypatch.setattr(BatchDispatch, "_give", note)
    func = add_func(N, 1.0, "another body")
    assert local.measure(candidate(func, func, "another task")).ok
    assert given == [("build", 1), ("setup", 0), ("trial", 1)]


def test_one_time_that_cannot_be_makes_no_other_candidate_hopeless(local):
    item = candidate(key="with an impossible time")
    crew, batch = local._workers, Batch(iter([]), MeasureOptions())
    shift = BatchDispatch(crew, batch)
    shift._judge(Trial(0, item), Measurement(status="ok", costs_ms=(1e-9, 1.0, 1.0)))
    assert crew.best_ms[shift._condition(item)] == 1.0
    cold = BatchDispatch(crew, Batch(iter([]), MeasureOptions(flush_cache=True)))
    assert cold._condition(item) not in crew.best_ms  # another state of the caches has another best


def test_errors_of_the_input_reach_the_caller(local):
    def inputs():
        yield candidate()
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        list(local.measure_many(inputs()))
    assert local.measure(candidate()).ok


def test_leaving_early_and_cancelling(local):
    stream = local.measure_many(candidate() for _ in range(1000))
    next(stream)
    stream.close()
    assert local.measure(candidate()).ok
    stream = local.measure_many(candidate() for _ in range(100_000))
    next(stream)
    threading.Timer(0.2, local.cancel).start()
    assert len(list(stream)) < 50_000  # all of them take minutes
    local.cancel()
    assert local.measure(candidate()).ok


def test_what_is_held_starts_nothing_until_it_goes_on(local):
    stream = local.measure_many(candidate() for _ in range(30))
    next(stream)
    local.hold(True)
    begun = threading.Event()
    rest = []
    reader = threading.Thread(target=lambda: (rest.extend(stream), begun.set()))
    reader.start()
    try:
        assert not begun.wait(0.3), "all was measured although it was held"
        stood = len(rest)  # what was in flight has come in
        time.sleep(0.2)
        assert len(rest) == stood < 29
    finally:
        local.hold(False)  # else whoever has the runner next waits for ever
        reader.join(100)
    assert len(rest) == 29


@pytest.mark.parametrize("end", ["close", "cancel"])
def test_what_is_held_can_be_ended(local, end):
    stream = local.measure_many(candidate() for _ in range(1000))
    next(stream)
    local.hold(True)
    time.sleep(0.3)  # the trial in flight ends
    if end == "close":
        stream.close()
    else:
        local.cancel()
        assert len(list(stream)) < 20
    local.hold(False)
    assert local.measure(candidate()).ok


def test_a_hang_is_a_timeout(monkeypatch):
    with LocalRunner(Target.host(1), MeasureOptions(timeout_s=2.0)) as local:
        assert local.measure(candidate()).ok
        give = BatchDispatch._give

        def hang(self, worker, duty, message):
            if isinstance(message, TrialJob) and duty.trial.index == 1:
                message = replace(message, code=code(HANG, N))
            if isinstance(message, TrialJob) and duty.trial.index == 2:
                message = replace(message, code=code(CRASH, N))
            give(self, worker, duty, message)

        monkeypatch.setattr(BatchDispatch, "_give", hang)
        results = dict(local.measure_many([candidate()] * 4))
    assert [results[i].status for i in range(4)] == ["ok", "timeout", "run_error", "ok"]
    assert "2 s" in results[1].error
    assert "SIGSEGV" in results[2].error


def test_workers_go_with_a_forgotten_runner():
    local = LocalRunner(Target.host(1), builders=1)
    assert local.measure(candidate()).ok
    pids = [w.pid for w in local._workers.every]
    with local._lock:  # the thread behind the measurement has let go
        pass
    del local
    gc.collect()
    assert gone(*pids)


def test_a_limit_that_no_clock_reaches():
    with LocalRunner(Target.host(1), MeasureOptions(timeout_s=1e300, build_timeout_s=1e300), builders=1) as local:
        assert local.measure(candidate()).ok


def test_workers_that_cannot_start(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with LocalRunner(Target.host(1)) as local, pytest.raises(RunError) as caught:
        list(local.measure_many([candidate()]))
    assert caught.value.code == "run.worker"
    with pytest.raises(RunError) as caught:
        local.measure_many([candidate()])
    assert caught.value.code == "run.closed"


def test_a_runner_stays_for_the_next_measurement():
    done = measure(FUNC, FUNC, Target.host(1), repeat=3)
    assert done.ok
    assert done.repeats == 3
    kept = list(shared_runner._shared.values())[-1]
    assert measure(FUNC, FUNC, Target.host(1), repeat=3).ok
    assert list(shared_runner._shared.values())[-1] is kept
    shared_runner.close_runners()


def test_options_and_measurement_values():
    bad = {
        "repeat": (0, -1, 2.5, "3", True), "min_repeat_ms": (-1, math.nan, "x"), "budget_ms": (-1, math.inf),
        "early_stop": (-1, "no"), "timeout_s": (0, math.nan, math.inf, "x"), "build_timeout_s": (0,),
        "setup_timeout_s": (0,), "seed": (-1, 1.5, "x"), "flush_cache": ("yes", 1),
    }  # fmt: skip
    for name, values in bad.items():
        for value in values:
            with pytest.raises(UsageError) as caught:
                MeasureOptions(**{name: value})
            assert name in str(caught.value)
    one = Measurement(status="ok", costs_ms=(2.0, 1.0, 3.0), flops=2_000_000)
    assert (one.min_ms, one.median_ms, one.mean_ms, one.gflops, one.repeats) == (1.0, 2.0, 2.0, 1.0, 3)
    assert Measurement(status="timeout").spread is None


def test_a_kernel_without_a_parallel_loop_keeps_one_thread_busy(monkeypatch):
    dispatch = object.__new__(BatchDispatch)
    dispatch._workers = SimpleNamespace(best_ms={}, target=Target("llvm -threads=2"))
    dispatch._batch = Batch(iter([]), MeasureOptions())
    monkeypatch.setattr(BatchDispatch, "_condition", lambda self, item: item.task_key)
    serial = wb.Schedule(FUNC)
    parallel = wb.Schedule(FUNC)
    parallel.parallel(parallel.loops[0].name)
    busy = []
    for one in (serial, parallel):
        trial = SimpleNamespace(input=MeasureInput("t", FUNC, one.func), built=SimpleNamespace(code=code(ADD, N, 1.0)))
        busy.append(dispatch._trial_job("t", trial).busy)
    assert busy == [1, None]
