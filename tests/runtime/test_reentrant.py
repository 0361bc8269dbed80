"""Several threads inside one executable at the same time: each run has memory of its own, nobody waits for anybody."""

import threading
import weakref

import numpy as np
import pytest
from runtime.llvm_kernels import ADD, code

from workbench.codegen.llvm.llvmlite_binding import compile_ir
from workbench.codegen.lowering import ObjectCode, ParamInfo
from workbench.errors import RunError
from workbench.runtime.execution import run_context as module
from workbench.runtime.execution.executable import Executable
from workbench.runtime.free_list import SEASON
from workbench.runtime.networks.execution_plan import ArraySpec, CallPlan, ExecutablePlan, HostCall, Slot
from workbench.runtime.thread_pool import processor_share

N = 1024
BYTES = 4 * N

# Waits until the first element of its input is not 0, then copies it to its output.
WAIT = """
define void @kernel(ptr %bufs, ptr %ws, ptr %rt) {
entry:
  %a = load ptr, ptr %bufs
  %cp = getelementptr ptr, ptr %bufs, i64 1
  %c = load ptr, ptr %cp
  br label %look
look:
  %v = load volatile float, ptr %a
  %zero = fcmp oeq float %v, 0.0
  br i1 %zero, label %look, label %out
out:
  store float %v, ptr %c
  ret void
}
"""


def spec(name, shape=(N,), dtype="float32"):
    return ArraySpec(name, shape, dtype)


def step(name, run, sources, results):
    places = [[(slot, spec(name)) for slot in slots] for slots in (sources, results)]
    return HostCall(name, run, tuple(places[0]), tuple(places[1]), "a test", "Test")


def chain(threads=2, between=lambda x: (x * 2,)):
    """y = 2 (x + 1) + 2, with a step in Python in the middle and everything in between in the arena."""
    one, two = code(ADD, N, 1.0, per_thread=256), code(ADD, N, 2.0, shared=128)
    return ExecutablePlan(
        inputs=(spec("x"),),
        outputs=(spec("y"),),
        constants=(),
        arena_bytes=2 * BYTES,
        calls=(
            CallPlan("first", one, (Slot("input", 0), Slot("arena", 0))),
            step("double", between, [Slot("arena", 0)], [Slot("arena", BYTES)]),
            CallPlan("last", two, (Slot("arena", BYTES), Slot("output", 0))),
        ),
        threads=threads,
    )


def together(works, seconds=60):
    """Run functions in threads; whatever one of them raises is raised here."""
    errors = []

    def guarded(work):
        try:
            work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(w,), daemon=True) for w in works]
    for t in threads:
        t.start()
    for t in threads:
        t.join(seconds)
    assert not any(t.is_alive() for t in threads), "a thread hangs"
    if errors:
        raise errors[0]


def aligned(values):
    array = module.aligned_empty(np.shape(values), "float32")
    array[...] = values
    return array


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_many_threads_with_their_own_inputs(threads):
    executable = Executable(chain(threads))
    kept = {}

    def work(k):
        rng = np.random.default_rng(k)
        results = []
        for turn in range(40):
            x = rng.integers(-1000, 1000, N).astype("float32")
            x = aligned(x) if turn % 2 else x
            results.append((x, executable.run(x)["y"]))
        kept[k] = results

    together([lambda k=k: work(k) for k in range(12)])
    assert len(kept) == 12
    for results in kept.values():  # later runs changed no earlier result
        for x, y in results:
            np.testing.assert_array_equal(y, 2 * (x + 1) + 2)


def test_runs_overlap():
    """Both runs are in their middle at the same time; a lock around the run would leave one of them outside."""
    meet = threading.Barrier(3)

    def between(x):
        meet.wait(20)
        return (x * 2,)

    executable = Executable(chain(2, between))
    together([lambda v=v: np.testing.assert_array_equal(executable.run(aligned(np.full(N, v)))["y"], 2 * v + 4)
              for v in (0, 1, 2)])  # fmt: skip


def test_machine_code_runs_without_the_interpreters_lock_on_the_callers_array():
    params = (ParamInfo("A", "input", (N,), "float32"), ParamInfo("C", "output", (1,), "float32"))
    wait = ObjectCode(compile_ir(WAIT), "kernel", WAIT, params, 0, 0)
    plan = ExecutablePlan((spec("x"),), (spec("y", (1,)),), (), 0,
                          (CallPlan("wait", wait, (Slot("input", 0), Slot("output", 0))),))  # fmt: skip
    executable = Executable(plan)
    arrays = [executable.empty_inputs()["x"] for _ in range(2)]
    for array in arrays:
        array[...] = 0
    found = []
    started = threading.Barrier(3)

    def work(array):
        started.wait(20)
        found.append(float(executable.run(array)["y"][0]))

    def free():  # in this thread the interpreter goes on while both wait
        started.wait(20)
        arrays[1][0] = 7
        while not found:
            pass
        arrays[0][0] = 3

    together([lambda: work(arrays[0]), lambda: work(arrays[1]), free], 30)
    assert found == [7, 3]


def test_a_step_that_fails_ends_its_own_run_only():
    reached = []

    def between(x):
        if x[0] < 0:
            raise KeyError("negative")
        return (x * 2,)

    plan = chain(2, between)
    after = step("after", lambda x: (reached.append(float(x[0])) or x,), [Slot("arena", BYTES)], [Slot("arena", 0)])
    executable = Executable(
        ExecutablePlan(plan.inputs, plan.outputs, (), plan.arena_bytes, (*plan.calls, after), plan.threads)
    )
    failed = []

    def work(v):
        for _ in range(30):
            x = np.full(N, v, "float32")
            if v >= 0:
                np.testing.assert_array_equal(executable.run(x)["y"], 2 * v + 4)
                continue
            with pytest.raises(RunError, match="negative") as caught:
                executable.run(x)
            assert caught.value.code == "run.step"
            assert isinstance(caught.value.__cause__, KeyError)
            failed.append(v)

    together([lambda v=v: work(v) for v in (-5, 1, -9, 4)])
    assert sorted(set(failed)) == [-9, -5]
    assert len(failed) == 60
    assert min(reached) > 0, "a step ran after the one that failed"


def test_contexts_are_made_on_demand_and_dropped_again(monkeypatch):
    made = []
    original = module.RunContext.__init__

    def count(self, *args):
        original(self, *args)
        made.append(weakref.ref(self.arena))

    monkeypatch.setattr(module.RunContext, "__init__", count)
    meet = threading.Barrier(6)
    waiting = True

    def between(x):
        if waiting:
            meet.wait(20)
        return (x * 2,)

    executable = Executable(chain(1, between))
    x = np.zeros(N, "float32")
    assert len(made) == 1
    together([lambda: executable.run(x)] * 6)
    assert len(made) == 6
    waiting = False
    for _ in range(10):
        executable.run(x)
    assert len(made) == 6, "a context that waits is used again"
    for _ in range(2 * SEASON):
        executable.run(x)
    alive = [r for r in made if r() is not None]
    assert len(alive) == 1, "arenas of contexts that nobody needs go at once"


def test_the_number_of_threads_changes_under_running_calls():
    executable = Executable(chain(2))
    stop = threading.Event()

    def change():
        for k in range(60):
            executable.set_threads(1 + k % 5)
        stop.set()

    def work(v):
        while not stop.is_set():
            np.testing.assert_array_equal(executable.run(np.full(N, v, "float32"))["y"], 2 * v + 4)

    together([change, lambda: work(1), lambda: work(2)])
    assert executable.threads == 5
    assert executable.benchmark(repeat=1).threads == 5
    for threads in (3, 5, 1):
        executable.set_threads(threads)
        with executable.measuring(None, 0) as context:
            assert (context.threads, context.lent) == (threads, threads)
            if threads == 5:  # beside another run
                assert executable.benchmark(repeat=1).threads == 2
                assert executable.profile(repeat=1, roofline=False).attrs["threads"] == 2


def test_a_step_sees_the_callers_array_and_cannot_change_it():
    seen = []

    def look(x):
        seen.append(x)
        return (x,)

    plan = ExecutablePlan((spec("x"),), (spec("y"),), (), 0,
                          (step("look", look, [Slot("input", 0)], [Slot("output", 0)]),))  # fmt: skip
    executable = Executable(plan)
    base = np.arange(2 * N, dtype="float32")
    off = module.aligned_empty((N + 1,), "float32")[1:]
    off[...] = 5
    frozen = aligned(base[:N])
    frozen.flags.writeable = False
    cases = {"in place": (aligned(base[:N]), True), "read-only": (frozen, True), "off": (off, True),
             "steps": (base[::2], False), "backwards": (aligned(base[:N])[::-1], False)}  # fmt: skip
    for name, (x, in_place) in cases.items():
        before = x.copy()
        np.testing.assert_array_equal(executable.run(x)["y"], before, name)
        assert np.shares_memory(seen[-1], x) == in_place, name
        assert not seen[-1].flags.writeable
        np.testing.assert_array_equal(x, before)


def test_shares_of_the_threads(monkeypatch):
    book = processor_share._Book()
    monkeypatch.setattr(processor_share, "_book", book)
    first = processor_share.lend(6)
    assert (first.threads, first.pool.nthreads, first.pool.started) == (6, 6, True)
    second = processor_share.lend(6)
    assert (second.threads, second.pool.nthreads) == (3, 3)
    processor_share.give_back(first)
    again = processor_share.lend(6)
    assert again.threads == 3
    assert again.pool is not second.pool, "a pool has one run at a time"
    alone = processor_share.lend(1)
    assert (alone.threads, alone.pool) == (1, None)
    for loan in (second, again, alone):
        processor_share.give_back(loan)
    assert (book.runs, book.lent, book.out) == (0, 0, set())
    last = processor_share.lend(6)
    assert last.threads == 6
    processor_share.give_back(last)


def test_a_share_comes_back_when_the_system_has_no_threads(monkeypatch):
    book = processor_share._Book()
    monkeypatch.setattr(processor_share, "_book", book)

    def fail(self):
        raise RunError("run.threads", "no")

    monkeypatch.setattr(processor_share.ThreadPool, "start", fail)
    monkeypatch.setattr(processor_share.ThreadPool, "started", False)
    with pytest.raises(RunError):
        processor_share.lend(7)
    assert (book.runs, book.lent, book.out) == (0, 0, set())


def test_pools_that_nobody_needs_go(monkeypatch):
    book = processor_share._Book()
    monkeypatch.setattr(processor_share, "_book", book)
    monkeypatch.setattr(processor_share, "_SPARE_THREADS", 10)
    loans = [processor_share.lend(4) for _ in range(2)] + [processor_share.lend(9)]
    pools = [loan.pool for loan in loans]
    assert [p.nthreads for p in pools] == [4, 2, 3]
    for loan in loans:
        processor_share.give_back(loan)
    assert list(book.spare) == pools
    processor_share.give_back(processor_share.lend(6))
    assert [p.nthreads for p in book.spare] == [3, 6]


@pytest.mark.slow
@pytest.mark.parametrize("model", ["light_squeezenet", "light_shufflenet"])
def test_a_whole_network_in_many_threads(model):
    import workbench as wb

    executable = wb.compile(wb.load_onnx(model))
    rng = np.random.default_rng(0)
    feeds = [{s.name: rng.standard_normal(s.shape).astype(s.dtype) for s in executable.inputs} for _ in range(6)]
    wanted = [executable.run(x) for x in feeds]

    def work(k):
        for _ in range(8):
            for name, array in executable.run(feeds[k]).items():
                np.testing.assert_array_equal(array, wanted[k][name])

    together([lambda k=k: work(k) for k in range(6)], 200)
