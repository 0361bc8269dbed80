"""Arrays of the caller: where they are read, where results are written, and whose memory that is."""

import gc
import os
import pickle
import threading
import weakref
from dataclasses import replace

import numpy as np
import pytest
from runtime.llvm_kernels import ADD, code

import workbench as wb
from workbench.errors import BuildError, ShapeError, UsageError
from workbench.runtime.buffers import address, aligned_empty
from workbench.runtime.execution.executable import Executable
from workbench.runtime.free_list import SEASON
from workbench.runtime.networks import outputs as module
from workbench.runtime.networks.execution_plan import ArraySpec, CallPlan, ExecutablePlan, HostCall, Slot

N = 40_000


def looking(shape=(N,), dtype="float32"):
    """An executable with y = x, and the list of the arrays that its step was given."""
    x, y = ArraySpec("x", shape, dtype), ArraySpec("y", shape, dtype)
    seen = []

    def look(x):
        seen.append(x)
        return (x,)

    call = HostCall("look", look, ((Slot("input", 0), x),), ((Slot("output", 0), y),), "a test", "Test")
    return Executable(ExecutablePlan((x,), (y,), (), 0, (call,))), seen


def adder(value=1.0, n=N):
    """An executable with y = x + value in machine code."""
    call = CallPlan("add", code(ADD, n, value), (Slot("input", 0), Slot("output", 0)))
    return Executable(ExecutablePlan((ArraySpec("x", (n,)),), (ArraySpec("y", (n,)),), (), 0, (call,)))


def at_offset(values, offset):
    """The values as an array that begins so many bytes behind a multiple of 64."""
    room = aligned_empty((values.nbytes + 64,), "uint8")
    array = room[offset : offset + values.nbytes].view(values.dtype).reshape(values.shape)
    array[...] = values
    return array


def mapped(values, tmp_path):
    values.tofile(tmp_path / "values")
    return np.memmap(tmp_path / "values", values.dtype, "r", shape=values.shape)


def frozen(values):
    values = values.copy()
    values.flags.writeable = False
    return values


def test_addresses():
    import ml_dtypes

    room = aligned_empty((4096,), "uint8")
    room[...] = 1
    for array in (room, room[3:], room[::-1], room[5::7], frozen(room), room.view("complex64").reshape(2, -1)[1:],
                  room.view(ml_dtypes.bfloat16)[9:], room[:0], room.view("float64").reshape(8, 8, 8).T[:, 2:],
                  room[8:].view("int64")[7].reshape(()), np.array([None, 1]), np.array(["a"])):  # fmt: skip
        assert address(array) == array.__array_interface__["data"][0], array.dtype


VALUES = np.random.default_rng(0).standard_normal((8, N // 8), dtype="float32")

# ---- inputs ----

IN_PLACE = {
    **{f"at {k}": lambda _, k=k: at_offset(VALUES, k) for k in (0, 4, 8, 16, 32, 60)},
    "read-only": lambda _: frozen(VALUES),
    "a file": lambda path: mapped(VALUES, path),
    "a subclass": lambda _: VALUES.copy().view(np.matrix),
    "a buffer": lambda _: np.frombuffer(bytearray(VALUES.tobytes()), "float32").reshape(VALUES.shape),
    "other strides of an axis of one": lambda _: VALUES.reshape(8, -1)[:, None][..., ::1].transpose(1, 0, 2)[0],
}
COPIED = {
    "every second": lambda _: np.repeat(VALUES, 2, axis=1)[:, ::2],
    "backwards": lambda _: VALUES[::-1].copy()[::-1],
    "Fortran": lambda _: np.asfortranarray(VALUES),
    "elements at odd bytes": lambda _: at_offset(VALUES, 3),
    "elements at two bytes": lambda _: at_offset(VALUES, 2),
    "broadcast": lambda _: np.broadcast_to(VALUES[:1], VALUES.shape),
    "numbers": lambda _: [[np.float32(v) for v in row] for row in VALUES],
}


@pytest.mark.parametrize("what", [*IN_PLACE, *COPIED])
def test_inputs_are_read_where_they_are(what, tmp_path):
    executable, seen = looking(VALUES.shape)
    x = {**IN_PLACE, **COPIED}[what](tmp_path)
    before = np.array(x)
    found = executable.run(x)["y"]
    np.testing.assert_array_equal(found, before)
    np.testing.assert_array_equal(np.asarray(x), before)
    assert np.shares_memory(seen[-1], np.asarray(x)) == (what in IN_PLACE)
    assert seen[-1].flags.c_contiguous
    assert seen[-1].flags.aligned
    assert not np.shares_memory(found, np.asarray(x))


@pytest.mark.parametrize("offset", range(0, 64, 4))
def test_machine_code_reads_and_writes_at_every_offset(offset):
    executable = adder(2.0)
    x, y = at_offset(VALUES.reshape(-1), offset), at_offset(np.zeros(N, "float32"), (3 * offset) % 64)
    want = VALUES.reshape(-1) + 2
    np.testing.assert_array_equal(executable.run(x)["y"], want)
    assert executable.run(x, out=[y])["y"] is y
    np.testing.assert_array_equal(y, want)


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,), (5,)])
@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "float16", "float64", "bfloat16"])
def test_small_and_empty(shape, dtype):
    import ml_dtypes  # noqa: F401  # declares bfloat16

    executable, _ = looking(shape, dtype)
    x = np.ones(shape, dtype)
    out = np.zeros(shape, dtype)
    for _ in range(3):
        np.testing.assert_array_equal(executable.run(x)["y"], x)
        assert executable.run(x, out={"y": out})["y"] is out
        np.testing.assert_array_equal(out, x)


def test_one_array_as_two_inputs_and_overlapping_ones():
    specs = tuple(ArraySpec(n, (N - 8,)) for n in "abc")
    step = HostCall("sub", lambda a, b: (a - b,), tuple((Slot("input", k), specs[k]) for k in (0, 1)),
                    ((Slot("output", 0), specs[2]),), "a test", "Sub")  # fmt: skip
    executable = Executable(ExecutablePlan(specs[:2], specs[2:], (), 0, (step,)))
    base = np.arange(N, dtype="float32")
    np.testing.assert_array_equal(executable.run(base[:-8], base[:-8])["c"], 0)
    np.testing.assert_array_equal(executable.run(base[8:], base[:-8])["c"], 8)


def test_what_kernels_read_very_often_is_moved_to_a_line_of_the_cache():
    for lines in ((), (0,)):
        executable = Executable(replace(adder().plan, lines=lines))
        for offset in (0, 16):
            x = at_offset(VALUES.reshape(-1), offset)
            with executable._running([x], executable._memory.take()) as context:
                assert (context._places["input"][0] is x) == (not (lines and offset)), (lines, offset)
            np.testing.assert_array_equal(executable.run(x)["y"], x + 1)


# ---- memory of outputs ----

VIEWS = {
    "a part": lambda y: y[5:9],
    "a part of a part": lambda y: y[5:9][1:][:1],
    "another shape": lambda y: y.reshape(8, -1).T[3:],
    "another type": lambda y: y.view("int32")[::7],
    "a subclass": lambda y: y.view(np.recarray)[2:],
    "a masked array": lambda y: np.ma.array(y),
    "strides": lambda y: np.lib.stride_tricks.as_strided(y, (3,), (8,)),
    "broadcast": lambda y: np.broadcast_to(y[:1], (3, 1)),
    "a memoryview": lambda y: memoryview(y)[3:],
    "a buffer of a view": lambda y: np.frombuffer(memoryview(y[2:]), "float32")[1:],
    "an iterator": lambda y: y.flat,
    "the base": lambda y: y.base,
    "a buffer of the base": lambda y: memoryview(y.base),
    "an array of the base": lambda y: np.frombuffer(y.base, "float32"),
    "DLPack": lambda y: y.__dlpack__(),
    "an array over DLPack": lambda y: np.from_dlpack(y),
    "its address as ctypes": lambda y: y.ctypes,
    "a pickle buffer": lambda y: pickle.PickleBuffer(y),
    "a bound method": lambda y: y.sum,
    "a container": lambda y: {"deep": [(y,)]},
}


def test_memory_is_used_again_once_it_was_let_go_of():
    executable = adder()
    first = executable.run(VALUES.reshape(-1))["y"]
    where = address(first)
    second = executable.run(VALUES.reshape(-1))["y"]
    assert address(second) != where
    del first
    assert executable._memory.free_bytes == second.nbytes
    assert address(executable.run(VALUES.reshape(-1))["y"]) == where


@pytest.mark.parametrize("what", VIEWS)
def test_memory_is_not_used_again_while_anything_can_reach_it(what):
    executable = adder()
    x = VALUES.reshape(-1)
    y = executable.run(x)["y"]
    where, view = address(y), VIEWS[what](y)
    del y
    gc.collect()
    others = [executable.run(x + k)["y"] for k in range(4)]
    assert where not in map(address, others)
    del view
    gc.collect()
    assert address(executable.run(x)["y"]) == where


def test_memory_comes_back_from_a_cycle():
    executable = adder()
    ring = [executable.run(VALUES.reshape(-1))["y"]]
    ring.append(ring)
    where = address(ring[0])
    del ring
    gc.collect()
    assert address(executable.run(VALUES.reshape(-1))["y"]) == where


def test_other_libraries_keep_the_memory():
    torch = pytest.importorskip("torch")
    executable = adder()
    tensor = torch.from_numpy(executable.run(VALUES.reshape(-1))["y"])[3:]
    before = tensor.clone()
    for k in range(5):
        executable.run(VALUES.reshape(-1) + k)
    assert bool((tensor == before).all())


def test_a_weak_reference_does_not_bring_an_array_back():
    executable = adder()
    ref = weakref.ref(executable.run(VALUES.reshape(-1))["y"])
    assert ref() is None


def test_free_memory_is_bounded_and_goes_with_disuse(monkeypatch):
    monkeypatch.setattr(module, "_KEPT_BYTES", 40 * N)
    executable, x = adder(), VALUES.reshape(-1)
    results = [executable.run(x)["y"] for _ in range(30)]
    del results
    assert executable._memory.free_bytes == 40 * N
    for _ in range(2 * SEASON):
        executable.run(x)
    assert executable._memory.free_bytes == 4 * N
    monkeypatch.setattr(module, "_KEPT_BYTES", 1)  # two runs' outputs in any case
    executable = adder()
    results = [executable.run(x)["y"] for _ in range(3)]
    del results
    assert executable._memory.free_bytes == 8 * N


def test_free_memory_of_a_network_that_runs_no_more_goes_when_others_run(monkeypatch):
    monkeypatch.setattr(module, "_DISUSE_S", 1000.0)
    idle, busy, x = adder(), adder(), VALUES.reshape(-1)
    idle.run(x)
    for _ in range(2 * SEASON):
        busy.run(x)
    assert idle._memory.free_bytes == x.nbytes
    monkeypatch.setattr(module, "_DISUSE_S", 0.0)
    for _ in range(2 * SEASON):
        busy.run(x)
    assert idle._memory.free_bytes == 0
    assert busy._memory.free_bytes == x.nbytes
    np.testing.assert_array_equal(idle.run(x)["y"], x + 1)


def test_the_executable_takes_its_free_memory_with_it():
    executable, x = adder(), VALUES.reshape(-1)
    kept, gone = (executable.run(x)["y"] for _ in range(2))
    gone.fill(3)
    del gone
    blocks = weakref.ref(executable._memory._blocks[0][1])
    block = weakref.ref(executable._memory._blocks[0][1].free.waiting[0])
    del executable
    gc.collect()
    assert blocks() is None
    assert block() is None
    np.testing.assert_array_equal(kept, x + 1)
    del kept


def test_results_of_many_threads_stay_as_they_were():
    executable = adder()
    errors, ended = [], []

    def work(seed):
        rng, kept = np.random.default_rng(seed), []
        for _ in range(150):
            x = np.full(N, rng.integers(0, 1000), "float32")
            kept.append((x[0] + 1, executable.run(x)["y"][rng.integers(0, 9) :: 7]))
            while len(kept) > 1 and rng.random() < 0.5:
                want, view = kept.pop(int(rng.integers(len(kept))))
                errors.extend([] if (view == want).all() else [want])
        errors.extend(want for want, view in kept if not (view == want).all())
        ended.append(seed)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert len(ended) == 6
    assert not errors


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_has_memory_of_its_own():
    executable, x = adder(), VALUES.reshape(-1)
    kept = executable.run(x)["y"]
    executable.run(x)
    child = os.fork()
    if not child:
        try:
            results = [executable.run(x + k)["y"] for k in range(4)]
            kept[...] = 0
            good = all((y == x + k + 1).all() for k, y in enumerate(results))
            os._exit(0 if good else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    np.testing.assert_array_equal(kept, x + 1)
    np.testing.assert_array_equal(executable.run(x)["y"], x + 1)


def test_a_run_that_fails_gives_its_memory_back():
    x, y = ArraySpec("x", (N,)), ArraySpec("y", (N,))
    call = HostCall("no", lambda x: x / (), ((Slot("input", 0), x),), ((Slot("output", 0), y),), "a test", "Test")
    executable = Executable(ExecutablePlan((x,), (y,), (), 0, (call,)))
    with pytest.raises(wb.errors.RunError):
        executable.run(VALUES.reshape(-1))
    gc.collect()
    assert executable._memory.free_bytes == 4 * N


# ---- out= ----


def several():
    """y = x + 1 by a kernel; z = y once more; w = x; c a constant; t an intermediate result."""
    one = code(ADD, N, 1.0)
    names = ("y", "z", "w", "c", "t")
    return Executable(
        ExecutablePlan(
            inputs=(ArraySpec("x", (N,)),),
            outputs=tuple(ArraySpec(n, (N,)) for n in names),
            constants=(np.full(N, 7, "float32"),),
            arena_bytes=4 * N,
            calls=(
                CallPlan("first", one, (Slot("input", 0), Slot("arena", 0))),
                CallPlan("second", one, (Slot("input", 0), Slot("output", 0))),
            ),
            output_slots=(Slot("output", 0), Slot("output", 0), Slot("input", 0), Slot("const", 0), Slot("arena", 0)),
        )
    )


def test_outputs_are_written_where_the_caller_says():
    executable, x = several(), VALUES.reshape(-1)
    want = {"y": x + 1, "z": x + 1, "w": x, "c": np.full(N, 7, "float32"), "t": x + 1}
    every = {name: np.zeros(N, "float32") for name in want}
    for out in (every, list(every.values()), tuple(every.values()), {k: every[k] for k in "zct"}, {}, {"y": None},
                [every["y"], None, None, None, every["t"]]):  # fmt: skip
        given = list(out.values()) if isinstance(out, dict) else out
        for array in every.values():
            array.fill(-1)
        found = executable.run(x, out=out)
        assert list(found) == list(want)
        for name, array in found.items():
            np.testing.assert_array_equal(array, want[name], name)
            assert (array is every[name]) == any(array is g for g in given), name
        if given and given[-1] is not None and len(given) == 3:
            assert (every["y"] == -1).all()


def test_results_of_earlier_runs_and_files_are_written_to(tmp_path):
    executable, x = adder(), VALUES.reshape(-1)
    y = executable.run(x)["y"]
    assert executable.run(x + 1, out=[y])["y"] is y
    np.testing.assert_array_equal(y, x + 1 + 1)
    file = np.memmap(tmp_path / "y", "float32", "w+", shape=(N,))
    assert executable.run({"x": x}, out={"y": file})["y"] is file
    file.flush()
    np.testing.assert_array_equal(np.fromfile(tmp_path / "y", "float32"), x + 1)
    matrix = np.zeros((2, N), "float32")
    executable.run(matrix[0], out=[matrix[1]])
    np.testing.assert_array_equal(matrix[1], 1)


X = VALUES.reshape(-1).copy()
BASE = np.zeros(2 * N, "float32")
BAD = {
    "an array": (BASE[:N], UsageError, "run.out", "no list or mapping"),
    "a number": (3, UsageError, "run.out", "no list or mapping"),
    "a text": ("y", UsageError, "run.out", "no list or mapping"),
    "a generator": ((a for a in ()), UsageError, "run.out", "no list or mapping"),
    "no arrays": ([], ShapeError, "shape.count", "out has 0"),
    "too many": ([None] * 6, ShapeError, "shape.count", "5 outputs"),
    "another name": ({"Y": BASE[:N]}, ShapeError, "shape.name", "'Y'"),
    "a name that is none": ({3: BASE[:N]}, ShapeError, "shape.name", "3"),
    "a list in it": ({"y": [0.0] * N}, UsageError, "run.out", "a list, no NumPy array"),
    "a buffer": ({"y": bytearray(4 * N)}, UsageError, "run.out", "bytearray"),
    "another shape": ({"y": BASE}, ShapeError, "shape.mismatch", "out['y'] has shape (80000,)"),
    "another rank": ({"y": BASE[None, :N]}, ShapeError, "shape.mismatch", "(1, 40000)"),
    "another type": ({"y": np.zeros(N)}, ShapeError, "shape.dtype", "float64"),
    "integers": ({"y": BASE[:N].view("int32")}, ShapeError, "shape.dtype", "int32"),
    "the other byte order": ({"y": np.zeros(N, ">f4")}, ShapeError, "shape.dtype", ">f4"),
    "steps": ({"y": BASE[::2]}, UsageError, "run.out", "not C-contiguous"),
    "backwards": ({"y": BASE[:N][::-1]}, UsageError, "run.out", "not C-contiguous"),
    "read-only": ({"y": frozen(BASE[:N])}, UsageError, "run.out", "read-only"),
    "odd bytes": ({"y": at_offset(X, 2)}, UsageError, "run.out", "multiple of 4 bytes"),
    "the input": ({"y": X}, UsageError, "run.out", "overlaps the input 'x'"),
    "a part of the input": ({"t": X.view("uint8").view("float32")}, UsageError, "run.out", "overlaps the input 'x'"),
    "one array twice": ({"y": BASE[:N], "t": BASE[:N]}, UsageError, "run.out", "out['y'] and out['t'] overlap"),
    "overlapping": ([BASE[:N], BASE[N - 1 : -1], None, None, None], UsageError, "run.out", "overlap"),
}


@pytest.mark.parametrize("what", BAD)
def test_refused(what):
    executable = several()
    out, kind, said_code, said = BAD[what]
    before = X.copy(), BASE.copy()
    with pytest.raises(kind) as caught:
        executable.run(X, out=out)
    assert caught.value.code == said_code
    assert said in str(caught.value)
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(BASE, before[1])
    np.testing.assert_array_equal(executable.run(X)["y"], X + 1)


def test_an_input_called_out_goes_into_a_mapping():
    spec = ArraySpec("out", (N,))
    call = CallPlan("add", code(ADD, N, 1.0), (Slot("input", 0), Slot("output", 0)))
    executable = Executable(ExecutablePlan((spec,), (spec,), (), 0, (call,)))
    np.testing.assert_array_equal(executable.run({"out": X})["out"], X + 1)
    np.testing.assert_array_equal(executable.run(X)["out"], X + 1)
    with pytest.raises(ShapeError, match="no array is given for out") as caught:
        executable.run(out=X)
    assert "in a mapping" in caught.value.hint


def test_poison_reaches_the_callers_arrays():
    spec = ArraySpec("x", (N,))
    nothing = ExecutablePlan((spec,), (replace(spec, name="y"),), (), 0, ())
    executable, out = Executable(nothing), np.zeros(N, "float32")
    executable.poison()
    executable.run(X, out=[out])
    assert np.isnan(out).all()


def test_a_call_may_not_write_where_an_output_is_copied_to():
    plan = several().plan
    call = CallPlan("third", plan.calls[0].code, (Slot("input", 0), Slot("output", 1)))
    with pytest.raises(BuildError, match="copied from elsewhere") as caught:
        Executable(replace(plan, calls=(*plan.calls, call)))
    assert caught.value.code == "build.plan"


def test_no_reference_to_the_callers_arrays_stays():
    executable, _ = looking()
    x, out = X.copy(), np.zeros(N, "float32")
    refs = [weakref.ref(x), weakref.ref(out)]
    _.clear()
    executable.run(x, out=[out])
    _.clear()
    del x, out
    assert [r() for r in refs] == [None, None]
