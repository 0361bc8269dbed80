"""Exported networks in Python: other processes, several threads, wrong files."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
import threading
from dataclasses import replace

import numpy as np
import pytest
from export.networks import feeds, hand_made, same

import workbench as wb
from workbench import host
from workbench.errors import WorkbenchError
from workbench.graph import Graph, Node
from workbench.graph.graph import TensorType
from workbench.intrinsics import x86_amx
from workbench.runtime.execution.executable import Executable
from workbench.runtime.export import write_library, x86_features
from workbench.runtime.export.native_contexts import ABI, CONTEXT
from workbench.runtime.export.write_library import export_library
from workbench.runtime.networks import outputs


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return export_library(hand_made(2), tmp_path_factory.mktemp("export") / "net.so").library


@pytest.fixture(scope="module")
def want():
    executable = Executable(hand_made())
    return [executable.run(feeds(seed)) for seed in range(4)]


def test_fresh_process_without_compiler(made, want):
    program = """
import json, sys
import numpy as np
import workbench as wb
network = wb.load_exported(sys.argv[1], threads=2)
x = np.load(sys.argv[2])
found = network.run({"x": x, network.inputs[1].name: np.arange(3)})
found["gpu_0/y"].tofile(sys.argv[3])
network.benchmark(repeat=2)
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
print(json.dumps(sorted(name for name in sys.modules if name.startswith("workbench."))))
"""
    x, y = made.parent / "x.npy", made.parent / "y.bin"
    np.save(x, feeds()["x"])
    done = subprocess.run(
        [sys.executable, "-c", program, made, x, y], capture_output=True, text=True, check=True, timeout=120
    )
    loaded, own = (set(json.loads(line)) for line in done.stdout.splitlines())
    assert not loaded & {"llvmlite", "onnx", "pandas", "xgboost", "IPython"}
    assert not {name for name in own if name.startswith(("workbench.codegen", "workbench.graph", "workbench.tune"))}
    assert y.read_bytes() == want[0]["gpu_0/y"].tobytes()


def test_many_callers(made, want):
    network = wb.load_exported(made)
    failed = []

    def call(seed):
        for turn in range(30):
            if turn == 10 and seed == 0:
                network.set_threads(3)
            if not same(network.run(feeds(seed)), want[seed]):
                failed.append(seed)

    callers = [threading.Thread(target=call, args=(seed,)) for seed in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(60)
        assert not caller.is_alive()
    assert not failed
    assert 1 <= len(network._free) <= 4
    assert network.threads == 3


def test_runs_that_overlap_share_threads(made):
    network = wb.load_exported(made, threads=5)
    alone = network._take()
    assert alone.threads == 5
    second, third = network._take(), network._take()
    assert (second.threads, third.threads) == (2, 1)
    network._give(alone)
    assert network._take().threads == 2  # 5 less 2 and 1, and a third of 5
    for context in (second, third):
        network._give(context)
    assert network._take().threads == 3
    assert network.threads == 5


def test_two_networks(made, want, tmp_path):
    """With the same prefix, and so the same names of functions."""
    other = export_library(hand_made(value=9.0), tmp_path / "net.so").library
    networks = wb.load_exported(made), wb.load_exported(other)
    expected = want[0], Executable(hand_made(value=9.0)).run(feeds())
    for _ in range(3):
        assert all(same(n.run(feeds()), e) for n, e in zip(networks, expected, strict=True))


def test_arrays_that_are_not_aligned_or_not_dense(made, want):
    network = wb.load_exported(made)
    given = feeds()
    room = np.zeros(16 * 16 * 4 + 64, "uint8")
    start = -room.ctypes.data % 64 + 4
    crooked = room[start : start + 1024].view("float32").reshape(16, 16)
    crooked[...] = given["x"]
    assert same(network.run({**given, "x": crooked}), want[0])
    assert same(network.run({**given, "x": given["x"].T.copy().T}), want[0])


@pytest.mark.parametrize("lines", [(), (0,)])
def test_pointers_are_used_as_they_are(lines, want, tmp_path):
    """But for inputs whose vectors are read often: these begin a line of the cache, in memory of the library's own."""
    network = wb.load_exported(export_library(hand_made(lines=lines), tmp_path / "net.so").library)
    given = list(feeds().values())
    memory = [np.zeros(a.nbytes + 128, "uint8") for a in (*given, *want[0].values())]
    views = [m[-m.ctypes.data % 64 + 8 :] for m in memory]
    for view, array in zip(views, given, strict=False):
        view[: array.nbytes] = array.reshape(-1).view("uint8")
    context = network._take()
    for further in (0, 56):
        pointers = np.array([v.ctypes.data + further for v in views], np.uintp)
        if further:
            for view, array in zip(views, given, strict=False):
                view[further : further + array.nbytes] = array.reshape(-1).view("uint8")
        context.run(pointers[: len(given)], pointers[len(given) :])
        for view, array in zip(views[len(given) :], want[0].values(), strict=True):
            assert view[further : further + array.nbytes].tobytes() == array.tobytes()
            view[further : further + array.nbytes] = 0
            assert not view.any()
        places = np.frombuffer(ctypes.string_at(context.handle + CONTEXT.offset("places"), pointers.nbytes), np.uintp)
        moved = [k for k, (place, pointer) in enumerate(zip(places, pointers, strict=True)) if place != pointer]
        assert moved == (list(lines) if not further else [])
        assert not (places[moved] % 64).any()


def test_outputs_are_written_where_the_caller_says(made, want):
    network, x = wb.load_exported(made), feeds()
    every = {name: np.zeros_like(array) for name, array in want[0].items()}
    for out in (every, list(every.values()), {"w": every["w"], "z": every["z"]}):
        found = network.run(x, out=out)
        assert same(found, want[0])
        assert all(found[name] is array for name, array in every.items()) == (len(out) == len(every))
        assert found["w"] is every["w"]
    for bad, code in (({"w": x["x"]}, "run.out"), ([], "shape.count"), ({"y": every["w"]}, "shape.mismatch")):
        with pytest.raises(WorkbenchError) as caught:
            network.run(x, out=bad)
        assert caught.value.code == code


def test_memory_of_outputs_is_used_again(made, want, monkeypatch):
    monkeypatch.setattr(outputs, "_LEAST_BYTES", 1)
    network, x = wb.load_exported(made), feeds()
    first = network.run(x)
    kept, where = first["z"][3:], first["gpu_0/y"].ctypes.data
    del first
    others = [network.run(feeds(k)) for k in range(3)]
    assert where in [o["gpu_0/y"].ctypes.data for o in others]
    np.testing.assert_array_equal(kept, want[0]["z"][3:])


def test_a_context_is_one_callers(made):
    network = wb.load_exported(made)
    context = network._take()
    busy = ctypes.c_int32.from_address(context.handle)
    busy.value = 1
    with pytest.raises(WorkbenchError, match="in use") as caught:
        context.run(np.zeros(2, np.uintp), np.zeros(6, np.uintp))
    assert caught.value.code == "run.export"
    with pytest.raises(WorkbenchError, match="in use"):
        context.set_threads(1)
    busy.value = 0


def test_contexts_share_large_constants(tmp_path):
    """They come and go at the same time, and the copy that they share goes with the last one and comes back."""
    plan = hand_made(constants=(np.full(4 << 20, 3, "int8"), np.full(256, 7, "float32")))
    path = export_library(plan, tmp_path / "net.so").library
    expected = Executable(plan).run(feeds())
    good = []

    def call():
        for _ in range(20):
            good.append(same(wb.load_exported(path).run(feeds()), expected))

    callers = [threading.Thread(target=call) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(60)
    assert good == [True] * 80
    users = wb.load_exported(path)
    before = resident()
    more = [wb.load_exported(path) for _ in range(8)]
    assert resident() - before < 16 << 20  # none of the eight has the four megabytes for itself
    assert all(same(n.run(feeds()), expected) for n in (users, *more))


def test_every_thread_has_its_workspace(tmp_path):
    each = 16 << 20
    plan = hand_made()
    call = replace(plan.calls[0], code=replace(plan.calls[0].code, shared_bytes=each, per_thread_bytes=each))
    path = export_library(replace(plan, calls=(call, *plan.calls[1:])), tmp_path / "net.so").library
    # In a process of its own: what other tests leave behind is given back at any time.
    done = subprocess.run([sys.executable, "-c", RESIDENT, str(path)], capture_output=True, text=True, check=True)
    one, three = (int(n) for n in done.stdout.split())
    assert 2 * each <= one < 3 * each
    assert 4 * each <= three < 5 * each


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


RESIDENT = """
import os, sys, numpy
import workbench as wb
load = wb.load_exported
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
before = resident()
network = load(sys.argv[1])
one = resident() - before
network.set_threads(3)
print(one, resident() - before)
"""


def threads_now():
    return len(os.listdir("/proc/self/task"))


def test_threads_go_with_the_network(made, want):
    before = threads_now()
    network = wb.load_exported(made, threads=5)
    network.run(feeds())
    assert threads_now() == before + 4
    network.set_threads(2)
    assert threads_now() == before + 1
    assert same(network.run(feeds()), want[0])
    del network
    assert threads_now() == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_after_fork(made, want):
    network = wb.load_exported(made, threads=3)
    network.run(feeds())
    child = os.fork()
    if child == 0:
        good = all(same(network.run(feeds(seed)), want[seed]) for seed in range(4)) and threads_now() == 3
        os._exit(0 if good else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert same(network.run(feeds()), want[0])


def test_exit_while_a_thread_runs(made):
    program = """
import sys, threading, time
import numpy as np
import workbench as wb
network = wb.load_exported(sys.argv[1], threads=2)
given = {"x": np.zeros((16, 16), "f4"), network.inputs[1].name: np.arange(3)}
def work():
    while True:
        network.run(given)
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.2)
"""
    for _ in range(3):
        subprocess.run([sys.executable, "-c", program, made], check=True, timeout=60)


def test_what_the_system_does_not_give(made, tmp_path):
    """Threads and memory run out: an error, and the network stays as it was."""
    big = export_library(hand_made(arena_bytes=1 << 34), tmp_path / "big.so").library
    program = """
import resource, sys
import numpy as np
import workbench as wb
network = wb.load_exported(sys.argv[1], threads=2)
given = {"x": np.ones((16, 16), "f4"), network.inputs[1].name: np.arange(3)}
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (600 << 20),) * 2)
for act in (lambda: network.set_threads(200), lambda: wb.load_exported(sys.argv[2])):
    try:
        act()
    except wb.WorkbenchError as error:
        print(error.code, network.threads, network.run(given)["gpu_0/y"][0])
print(len(__import__("os").listdir("/proc/self/task")))
"""
    done = subprocess.run(
        [sys.executable, "-c", program, made, big], capture_output=True, text=True, check=True, timeout=120,
        env={**os.environ, "MALLOC_ARENA_MAX": "1"},
    )  # fmt: skip
    assert done.stdout.split("\n")[:2] == ["run.threads 2 4.0", "run.memory 2 4.0"]
    assert int(done.stdout.split("\n")[2]) <= 3  # those that had begun are gone


BAD_CALLS = [
    ((), {}, "shape.count"),
    ((np.zeros((16, 16), "f4"),), {}, "shape.count"),
    ((np.zeros((16, 16), "f4"), np.arange(3), 1), {}, "shape.count"),
    ((), {"X": np.zeros((16, 16), "f4")}, "shape.name"),
    ((np.zeros((16, 15), "f4"), np.arange(3)), {}, "shape.mismatch"),
    ((np.zeros((16, 16), "f8"), np.arange(3)), {}, "shape.dtype"),
]


@pytest.mark.parametrize(("args", "named", "error"), BAD_CALLS)
def test_bad_inputs(made, args, named, error):
    with pytest.raises(WorkbenchError) as caught:
        wb.load_exported(made).run(*args, **named)
    assert caught.value.code == error


@pytest.mark.parametrize("threads", [0, -1, 1025, 1.5, "2"])
def test_bad_threads(made, threads):
    with pytest.raises(WorkbenchError) as caught:
        wb.load_exported(made, threads=threads)
    assert caught.value.code == "run.threads"
    network = wb.load_exported(made)
    with pytest.raises(WorkbenchError):
        network.set_threads(threads)
    assert network.threads == 2
    assert network.run(feeds())


def test_benchmark(made):
    network = wb.load_exported(made)
    result = network.benchmark(feeds(), repeat=3, min_repeat_ms=0.1)
    assert len(result.costs_ms) == 3
    assert 0 < result.min_ms <= result.median_ms
    assert result.threads == 2
    assert len(network.benchmark(repeat=2, number=3).costs_ms) == 2
    for wrong in ({"repeat": 0}, {"number": 0}, {"warmup": -1}):
        with pytest.raises(WorkbenchError) as caught:
            network.benchmark(**wrong)
        assert caught.value.code == "usage.repeat"


# ---- wrong files ----


def wrong_files(made, folder):
    (folder / "text.so").write_text("not a library")
    (folder / "empty.so").write_bytes(b"")
    (folder / "short.so").write_bytes(made.read_bytes()[:3000])
    data = made.read_bytes()
    mark = ABI.to_bytes(4, "little") + b"network\0"
    assert data.count(mark) == 1
    (folder / "newer.so").write_bytes(data.replace(mark, (ABI + 1).to_bytes(4, "little") + b"network\0"))
    (folder / "renamed.so").write_bytes(data.replace(mark, ABI.to_bytes(4, "little") + b"natwork\0"))
    yield folder / "missing.so", "export.missing"
    yield folder, "export.missing"
    yield folder / "text.so" / "net.so", "export.missing"
    yield folder / "text.so", "export.format"
    yield folder / "empty.so", "export.format"
    yield folder / "short.so", "export.format"
    yield folder / "renamed.so", "export.format"
    yield np._core._multiarray_umath.__file__, "export.format"
    yield folder / "newer.so", "export.abi"
    yield folder / "n\0.so", "export.missing"
    yield 7, "usage.type"


def test_wrong_files(made, tmp_path):
    for path, code in wrong_files(made, tmp_path):
        with pytest.raises(WorkbenchError) as caught:
            wb.load_exported(path)
        assert caught.value.code == code, path


def test_a_machine_without_a_feature(tmp_path, monkeypatch):
    """The library asks the processor itself; ours lacks what only old processors of another maker have."""
    needed = write_library._needed
    monkeypatch.setattr(write_library, "_needed", lambda *a: [*needed(*a), "fma4", "xop"])
    path = export_library(hand_made(), tmp_path / "net.so").library
    with pytest.raises(WorkbenchError, match="lacks xop") as caught:
        wb.load_exported(path)
    assert caught.value.code == "target.host"
    found = ctypes.CDLL(str(path))
    context = ctypes.c_void_p(1)
    assert found.network_create(1, ctypes.byref(context)) == 4
    assert context.value is None


def test_a_system_that_does_not_keep_registers(tmp_path, monkeypatch):
    """A processor may have what the system has not switched on."""
    assert (x86_features._state("avx2"), x86_features._state("avx512f"), x86_features._state("sse3")) == (0x6, 0xE6, 0)
    monkeypatch.setattr(x86_features, "_state", lambda name: 1 << 29 if name == "popcnt" else 0)
    path = export_library(hand_made(), tmp_path / "net.so").library
    with pytest.raises(WorkbenchError, match="lacks popcnt"):
        wb.load_exported(path)


def test_tiles_are_asked_for(tmp_path):
    """A tile instruction without the system's permission ends the process; the library asks for it."""
    if "amx-int8" not in host.detect().isa:
        pytest.skip("no tiles")
    rng = np.random.default_rng(0)
    weights = rng.integers(-100, 100, (256, 128)).astype("int8")
    node = Node("m", "MatMulInteger", ("x", "w"), ("y",))
    graph = Graph.make("g", [node], {"x": TensorType((64, 256), "uint8")}, ("y",), {"w": weights})
    executable = wb.compile(graph)
    assert any(x86_amx.CONFIG.encode() in call.code.object for call in executable.plan.calls)
    path = executable.export(tmp_path / "net.so").library
    x = rng.integers(0, 255, (64, 256)).astype("uint8")
    np.save(tmp_path / "x.npy", x)
    program = "import sys, numpy as np, workbench as wb\n"
    program += "wb.load_exported(sys.argv[1]).run(np.load(sys.argv[2]))['y'].tofile(sys.argv[3])"
    words = [sys.executable, "-c", program, path, tmp_path / "x.npy", tmp_path / "y"]
    subprocess.run(words, check=True, timeout=60)
    assert (tmp_path / "y").read_bytes() == (x.astype("int32") @ weights.astype("int32")).tobytes()


def test_an_older_processor_is_asked_for_what_it_has():
    """A library for Haswell, made on a newer machine, runs on a Haswell."""
    from workbench.runtime.export.cpu_features import known
    from workbench.target import Target

    haswell = {"sse3", "ssse3", "sse4.1", "sse4.2", "popcnt", "movbe", "bmi", "bmi2", "lzcnt"}
    haswell |= {"avx", "avx2", "f16c", "fma"}
    target = Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=haswell")
    assert set(known(write_library._needed(target, True), "x86_64")) <= haswell
    assert {"avx2", "fma"} <= set(known(write_library._needed(target, True), "x86_64"))
    assert "avx512f" not in known(write_library._needed(target, False), "x86_64")


def test_features_that_this_machine_has(made):
    from workbench.runtime.export.cpu_features import known

    assert set(known(host.detect().isa, "x86_64")) == host.detect().isa  # all that a target can name is looked for
    assert ctypes.CDLL(str(made)).network_missing_feature() == 0
