"""How a batch gets through when workers fail, with workers that are no processes."""

import queue
import threading

import pytest
from runtime.llvm_kernels import ADD, add_func, code

from workbench.codegen.lowering import ObjectCode
from workbench.errors import RunError
from workbench.runtime.measuring.candidate_run import TrialRunner
from workbench.runtime.measuring.contest_run import run_contest
from workbench.runtime.measuring.jobs import EVERYBODY, Built, ContestDone, ContestJob, Reply, SetupJob, TrialJob, Turn
from workbench.runtime.results.measure_options import ContestRules, MeasureOptions
from workbench.runtime.results.measurement import Measurement
from workbench.runtime.workers import recent_builds
from workbench.runtime.workers.batch import Batch, Duty, MeasureInput, Trial
from workbench.runtime.workers.dispatch import BatchDispatch
from workbench.runtime.workers.local_runner import LocalRunner
from workbench.runtime.workers.pipe import HELLO
from workbench.runtime.workers.process import Event
from workbench.runtime.workers.worker_set import WorkerSet
from workbench.target import Target


class FakeWorker:
    """Answers at once, as it is told to: None is its end."""

    def __init__(self, events, answer):
        self.events, self.answer = events, answer
        self.alive = self.ready = self.killed = self.recalled = self.dead = False
        self.generation = self.failed_starts = self.ends = 0
        self.said, self.jobs = "", []

    def start(self):
        self.alive, self.ready, self.generation = True, True, self.generation + 1
        self.events.put(Event(self, self.generation, HELLO))

    def send(self, job):
        if not self.alive:
            self.start()
        self.jobs.append(job)
        if not self.dead:
            self.events.put(Event(self, self.generation, self.answer(self, job)))

    def end(self, patience_s=0.0):
        self.alive, self.dead, self.ends = False, False, self.ends + 1
        return "it ended"

    def kill(self):
        if self.alive:
            self.dead = True
            self.events.put(Event(self, self.generation, None))


class Func:
    """As much of a function as matters here."""

    params = body = ()


def built(worker, job):
    return Built(ObjectCode(b"code", "kernel"), 0.0)


def ran(worker, job):
    return Reply("ready") if isinstance(job, SetupJob) else Measurement(status="ok", costs_ms=(1.0,))


def crew_of(run=ran, build=built):
    events = queue.SimpleQueue()
    builder, runner = FakeWorker(events, build), FakeWorker(events, run)
    return WorkerSet(Target.host(1), [builder], runner, events, True)


def work(crew, count=3, rules=None, options=None):
    """Statuses of candidates, each once; their errors."""
    items = [MeasureInput("t", f"reference {k}", Func()) for k in range(count)]
    batch = Batch(iter(enumerate(items)), options or MeasureOptions(), rules, crew.epoch)
    crew.start()
    BatchDispatch(crew, batch).work()
    found = {}
    while not batch.results.empty():
        index, measurement = batch.results.get()
        assert index not in found
        found[index] = measurement
    return [found[k].status for k in range(count)], [found[k].error for k in range(count)]


def test_a_worker_that_a_late_cancel_killed_costs_no_candidate_its_trial():
    left = [3]

    def recalled(worker, job):
        if isinstance(job, TrialJob) and left[0]:
            left[0] -= 1
            worker.recalled = True
            return None
        worker.recalled = False
        return ran(worker, job)

    assert work(crew_of(recalled))[0] == ["ok"] * 3
    assert left == [0]


def test_a_candidate_that_was_killed_by_others_is_tried_once_more():
    def killed(worker, job):
        worker.killed = isinstance(job, TrialJob)
        return None if worker.killed else ran(worker, job)

    statuses, errors = work(crew_of(killed), 2)
    assert statuses == ["run_error"] * 2
    assert "killed twice" in errors[0]


def test_what_cannot_be_sent_is_the_failure_of_its_candidate_alone():
    crew = crew_of()
    send = crew.builders[0].send

    def deep(job):
        if len(crew.builders[0].jobs) == 1:
            crew.builders[0].jobs.append(None)
            raise RecursionError("maximum recursion depth exceeded")
        send(job)

    crew.builders[0].send = deep
    statuses, errors = work(crew)
    assert statuses == ["ok", "build_error", "ok"]
    assert "recursion" in errors[1]


def test_workers_that_cannot_be_started_end_the_batch():
    crew = crew_of()

    def nobody(job):
        raise RunError("run.worker", "no memory for a process")

    crew.runner.send = nobody
    with pytest.raises(RunError):
        work(crew)


@pytest.mark.parametrize("how", ["raises", "dies"])
def test_a_reference_that_cannot_be_had_is_asked_for_once_and_told_of_every_candidate(how):
    def setup(worker, job):
        assert isinstance(job, SetupJob)
        return Measurement(status="run_error", error="no reference") if how == "raises" else None

    crew = crew_of(setup)
    statuses, errors = work(crew, 20)
    assert statuses == ["run_error"] * 20
    assert set(errors) == {"no reference" if how == "raises" else "it ended"}
    assert len(crew.runner.jobs) == 1
    crew.runner.answer = ran
    assert work(crew)[0] == ["ok"] * 3  # the next batch asks again


def test_a_new_runner_prepares_anew():
    def once(worker, job):
        return None if isinstance(job, TrialJob) and worker.generation == 1 else ran(worker, job)

    crew = crew_of(once)
    assert work(crew)[0] == ["run_error", "ok", "ok"]
    assert [isinstance(job, SetupJob) for job in crew.runner.jobs] == [True, False, True, False, False]


def test_what_an_earlier_batch_left_is_swept():
    crew = crew_of()
    assert work(crew)[0] == ["ok"] * 3
    trial = Trial(0, MeasureInput("t", None, None))
    crew.duties[crew.runner] = Duty([trial], 1e9, "trial")  # a forked child finds its parent's
    assert work(crew)[0] == ["ok"] * 3
    assert (crew.runner.ends, crew.builders[0].ends) == (1, 0)
    crew.epoch += 1  # a `cancel` that came when the last batch had just ended
    assert work(crew)[0] == ["ok"] * 3
    assert (crew.runner.ends, crew.builders[0].ends) == (2, 1)


def test_a_cancel_that_meets_the_end_of_a_batch_leaves_no_killed_worker_to_the_next(monkeypatch):
    local = LocalRunner(Target.host(1), builders=1)
    local._workers = crew_of()
    end_unfinished, met = WorkerSet.end_unfinished, threading.Event()

    def late(crew):
        end_unfinished(crew)
        if crew.runner.jobs and not met.is_set():
            met.set()
            local.cancel()  # the batch still holds the lock, so nobody tidies up

    monkeypatch.setattr(WorkerSet, "end_unfinished", late)
    item = MeasureInput("t", None, Func())
    assert local.measure(item).ok
    with local._lock:
        pass
    assert met.is_set()
    assert local.measure(item).ok
    local._workers = crew_of()


@pytest.mark.parametrize("what", ["dies", "hangs"])
def test_who_fails_in_its_block_is_found_and_the_others_go_on(what):
    jobs = []

    def contest(worker, job):
        if not isinstance(job, ContestJob):
            return ran(worker, job)
        jobs.append((len(job.trials), job.telling))
        if len(job.trials) == 2:
            return ContestDone((Measurement(status="ok", costs_ms=(1.0,)),) * 2)
        turns = [0, 1, 2, 0, 1] if job.telling else [0, 1, 2, EVERYBODY, EVERYBODY]
        for index in turns:
            worker.events.put(Event(worker, worker.generation, Turn(index)))
        return None if what == "dies" else HELLO  # which says nothing

    crew = crew_of(contest)
    statuses, _ = work(crew, 3, ContestRules(), MeasureOptions(timeout_s=10.0 if what == "dies" else 0.01))
    assert statuses == ["ok", "run_error" if what == "dies" else "timeout", "ok"]
    assert jobs == [(3, False), (3, True), (2, True)]


def test_blocks_are_told_apart_only_where_that_is_asked_for():
    func = add_func(64)
    runner = TrialRunner()
    runner.setup(SetupJob("t", func, 0))
    one = TrialJob("t", code(ADD, 64, 1.0), func.params, 1, MeasureOptions())
    rules = ContestRules(block_ms=0.1, warm_ms=0.1, budget_ms=1.0, most_ms=5.0)
    for telling in (False, True):
        turns = []
        done = run_contest(runner, ContestJob((one, one), rules, telling), turns.append)
        assert [result.status for result in done.results] == ["ok", "ok"]
        assert turns[:4] == [0, 1, 0, 1]
        if telling:
            assert len(turns) >= 4 + 2 * 7
            assert EVERYBODY not in turns
        else:
            assert turns[4] == EVERYBODY
            assert set(turns[4:]) == {EVERYBODY}
            assert len(turns) < 4 + 2 * 7


def test_the_first_participant_is_the_incumbent_whoever_was_built_first():
    seen = []

    def compare(worker, job):
        if not isinstance(job, ContestJob):
            return ran(worker, job)
        seen.append([trial.code.object for trial in job.trials])
        return ContestDone(tuple(Measurement(status="ok", costs_ms=(1.0,)) for _ in job.trials))

    crew = crew_of(compare, lambda worker, job: Built(ObjectCode(job.func.code, "kernel"), 0.0))
    funcs = [Func() for _ in range(4)]
    for k, func in enumerate(funcs):
        func.code = b"%d" % k
    items = [MeasureInput("t", "reference", func) for func in funcs]
    for known in (1, 3):  # the challengers' code is there, the incumbent's is not
        crew.images.put(items[known], Built(ObjectCode(funcs[known].code, "kernel"), 0.0))
    batch = Batch(iter(enumerate(items)), MeasureOptions(), ContestRules(), crew.epoch)
    crew.start()
    BatchDispatch(crew, batch).work()
    assert seen == [[b"0", b"1", b"2", b"3"]]


def test_an_error_of_the_runner_in_a_contest_is_told_of_one_and_the_others_go_on():
    contests = []

    def compare(worker, job):
        if not isinstance(job, ContestJob):
            return ran(worker, job)
        contests.append(len(job.trials))
        if len(contests) == 1:
            return Measurement(status="run_error", error="no memory is left")
        return ContestDone(tuple(Measurement(status="ok", costs_ms=(1.0,)) for _ in job.trials))

    statuses, errors = work(crew_of(compare), 3, ContestRules())
    assert statuses == ["run_error", "ok", "ok"]
    assert "no memory" in errors[0]
    assert contests == [3, 2]


def test_nothing_is_timed_while_a_builder_starts_on_the_cores_that_kernels_use():
    events = queue.SimpleQueue()
    timed = []
    slow = FakeWorker(events, built)

    def start():  # it comes up when it is told to
        slow.alive, slow.generation = True, slow.generation + 1

    def measured(worker, job):
        if isinstance(job, TrialJob):
            timed.append(slow.alive and not slow.ready)
        return ran(worker, job)

    def build(worker, job):
        if slow.alive and not slow.ready:
            slow.ready = True
            events.put(Event(slow, slow.generation, HELLO))
        return built(worker, job)

    slow.start = start
    crew = WorkerSet(Target.host(1), [FakeWorker(events, build), slow], FakeWorker(events, measured), events, False)
    assert work(crew, 40)[0] == ["ok"] * 40
    assert slow.jobs
    assert len(timed) == 40
    assert not any(timed)


def test_the_first_candidate_waits_for_no_other_one():
    events, order = queue.SimpleQueue(), []

    def measured(worker, job):
        order.append("run" if isinstance(job, TrialJob) else "setup")
        return ran(worker, job)

    def build(worker, job):
        order.append("build")
        return built(worker, job)

    crew = WorkerSet(Target.host(1), [FakeWorker(events, build)], FakeWorker(events, measured), events, False)
    assert work(crew, 20)[0] == ["ok"] * 20
    runs = [what for what in order if what != "setup"]
    assert runs[:4] == ["build", "run", "build", "build"]  # then they take turns of several


def test_code_is_kept_up_to_so_many_functions(monkeypatch):
    monkeypatch.setattr(recent_builds, "_KEPT_BYTES", 4 * recent_builds._FUNC_BYTES)
    kept, code = recent_builds.RecentBuilds(), Built(ObjectCode(b"c", "kernel"), 0.0)
    for k in (0, 0, 1, 2, 0, 3, 4):
        item = MeasureInput("t", None, f"function {k}")
        if kept.get(item) is None:
            kept.put(item, code)
        kept.put(item, code)
    assert [kept.get(MeasureInput("t", None, f"function {k}")) is code for k in range(5)] == [
        True,
        False,
        False,
        True,
        True,
    ]
    assert kept._bytes == 3 * (recent_builds._FUNC_BYTES + 1)
    assert kept.get(MeasureInput("t", None, ["no function"])) is None
