"""CUDA C through NVRTC, without a GPU: what it compiles to, what is known of it, and a driver that is none."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from codegen.gpu_nests import tiled_matmul
from property import gpu

from workbench import te, workloads
from workbench.analysis import listing
from workbench.codegen.backend import backend_for, generate_func
from workbench.codegen.c.compiler import find_compiler
from workbench.codegen.gpu import cuda_driver, nvrtc
from workbench.codegen.gpu.occupancy import MULTIPROCESSORS, occupancy
from workbench.errors import BuildError, TargetError
from workbench.schedule import Schedule
from workbench.target import Target
from workbench.target_kinds.gpu import ARCHES

CUDA = Target("cuda -arch=sm_90")
compiles = pytest.mark.skipif(
    nvrtc.problem() is not None, reason="there is no NVRTC (pip install nvidia-cuda-nvrtc-cu12)"
)
lists = pytest.mark.skipif(
    nvrtc._disassembler() is None, reason="there is no nvdisasm (pip install nvidia-cuda-nvdisasm)"
)


def by_name(s: Schedule, target: Target | str = CUDA) -> dict[tuple[str, str, bool], tuple[int, int]]:
    (found,) = s.build(target).statistics
    return {(a.block, a.buffer, a.is_write): (a.transactions, a.least) for a in found.accesses}


def test_neighbours_are_read_together_and_columns_are_not():
    """A warp that reads a row of floats takes 4 sectors; one that reads a column takes one for each thread."""
    s = Schedule(workloads.transpose(64, 64))
    s.bind("j", "blockIdx.x").bind("i", "threadIdx.x")
    found = by_name(s)
    assert found["Y", "Y", True] == (4, 4)
    assert found["Y", "X", False] == (32, 4)


@pytest.mark.parametrize(("columns", "turns"), [(32, 32), (33, 1)])
def test_columns_of_shared_memory_meet_in_one_bank_unless_rows_are_longer(columns, turns):
    x = te.placeholder((32, columns), name="x")
    t = te.compute((32, columns), lambda i, j: x[i, j] + 1.0, name="t")
    s = Schedule(te.func(te.compute((32,), lambda i: t[i, 3] * 2.0, name="y")))
    s.bind("i", "threadIdx.x").bind("y_i", "threadIdx.x").set_scope("t", "shared")
    found = by_name(s)
    assert found["y", "t", False] == (turns, 1)
    assert found["t", "t", True] == (turns, 1)


def test_wide_copies_go_by_parts_of_a_warp():
    found = by_name(tiled_matmul(256, 256, 256, threads=16, tile=4, step=16, vector=4))
    assert found["A.copy", "A", False] == (16, 16)  # 512 bytes
    assert found["A.copy", "A.local", True] == (4, 4)
    assert found["C", "A.local", False] == (2, 1)  # two rows of threads, 64 words apart


def test_occupancy_and_what_bounds_it():
    """By the numbers of a table of the architecture: registers go out by 256 to a warp, shared memory by 128 bytes."""
    for registers, shared, blocks, limiter in (
        (80, 8192, 3, "registers"),
        (168, 8192, 1, "registers"),
        (32, 48 << 10, 4, "shared memory"),
        (32, 0, 8, "warps"),
    ):
        found = occupancy("sm_90", 256, registers, shared)
        assert (found.blocks, found.limiter) == (blocks, limiter)
        assert found.share == blocks / 8
    assert occupancy("sm_90", 32, 16, 0).limiter == "blocks"
    assert occupancy("sm_90", 96, 40, 0).blocks == 16  # 12 warps in each quarter
    assert tuple(MULTIPROCESSORS) == ARCHES


@compiles
@lists
def test_statistics_of_a_product():
    s = tiled_matmul(256, 256, 256, threads=16, tile=4, step=16, vector=4)
    kernel = s.build(CUDA)
    (found,) = kernel.statistics
    code = found.code
    assert code is not None
    assert (found.grid, found.block, found.shared_bytes, found.barriers) == ((4, 4, 1), (16, 16, 1), 8192, 2)
    assert 40 <= code.registers <= 128
    assert code.spilled_bytes == code.stack_bytes == 0
    assert code.occupancy == occupancy("sm_90", 256, code.registers, 8192)
    assert code.count("FFMA") % 16 == 0
    assert code.count("FFMA") > 0
    assert 16 in code.widths("LDG")
    assert code.widths("STG")
    assert code.count("BAR") == 2
    assert code.ffma_per_lds == code.count("FFMA") / code.count("LDS") > 1
    assert "FFMA" in kernel.asm
    assert f"{code.registers} registers" in str(found)
    rows = set(listing(s, "asm", CUDA).rows)
    assert "stmt:C" in rows
    assert {r for r in rows if r} <= set(listing(s, "nest").rows)
    ffma = {line.row for line in listing(s, "asm", CUDA) if " FFMA" in line.text}
    assert ffma == {"stmt:C"}


@compiles
def test_refused_text_and_processors_without_statistics():
    with pytest.raises(BuildError) as e:
        backend_for(CUDA).compile("this is no program", CUDA)
    assert e.value.code == "build.cuda"
    with pytest.raises(BuildError) as e:
        _ = Schedule(workloads.matmul(8, 8, 8)).build().statistics
    assert e.value.code == "build.statistics"


def test_what_is_missing_is_said(monkeypatch):
    s = tiled_matmul()
    monkeypatch.setattr(nvrtc, "_library", lambda: None)
    kernel = s.build(CUDA)
    assert "__global__" in kernel.source
    assert kernel.statistics[0].code is None
    with pytest.raises(BuildError) as e:
        kernel(*(np.ones(b.shape, "f4") for b in s.func.inputs))
    assert (e.value.code, e.value.hint) == ("build.compiler", "pip install nvidia-cuda-nvrtc-cu12")


@compiles
def test_without_a_driver_kernels_are_built_and_not_run():
    if cuda_driver.problem(CUDA) is None:
        pytest.skip("there is a GPU")
    s = tiled_matmul()
    assert len(s.build(CUDA)._code.object) > 1000
    with pytest.raises(TargetError) as e:
        s.measure(target=CUDA)
    assert e.value.code == "target.device"


def _compile_for_all(count: int, seed: int) -> int:
    """Compile random schedules for three architectures; the number of texts."""
    rng, texts = random.Random(seed), 0
    for _ in range(count):
        func = rng.choices([k for k, _ in gpu.KINDS], [w for _, w in gpu.KINDS])[0](rng).schedule.func
        for arch in ("sm_70", "sm_80", "sm_90"):
            target = Target(f"cuda -arch={arch}")
            try:
                text = generate_func(func, target).source
            except BuildError as e:
                if e.code not in ("gpu.shared", "gpu.threads", "gpu.scope", "gpu.local"):
                    raise
                break
            compiled = nvrtc.compile_text(text, arch)
            assert compiled.cubin[:4] == b"\x7fELF"
            assert compiled.facts
            texts += 1
    return texts


@compiles
def test_random_schedules_compile():
    assert _compile_for_all(4, 5) > 5


@compiles
@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", range(100, 110))
def test_many_random_schedules_compile(seed):
    assert _compile_for_all(200, seed) > 500


# ---- a driver --------------------------------------------------------------------------------------------------------

_CALLS = """
import ctypes
import gc
import sys
import threading
import numpy as np
from workbench.codegen.gpu import cuda_driver
from workbench import te
from workbench.runtime.measuring.candidate_run import TrialRunner
from workbench.codegen.backend import build_func
from workbench.runtime.measuring.jobs import SetupJob, TrialJob
from workbench.runtime.results.measure_options import MeasureOptions
from workbench.schedule import Schedule
from workbench.runtime.device_code.device_kernel import DeviceKernel
import workbench as wb

def interrupted(*_):
    raise KeyboardInterrupt

cuda_driver.LIBRARY = sys.argv[1]
x = te.placeholder((4096,), name="x")
func = te.func(te.compute((4096,), lambda i: x[i] + 1.0, name="y"))
s = Schedule(func, "cuda -arch=sm_80")
s.split("i", [None, 128])
s.bind("i.0", "blockIdx.x").bind("i.1", "threadIdx.x")
a = np.arange(4096, dtype="f4") + 20
kernel = s.build()
assert (kernel(a) == a + 1).all()
runner, code = TrialRunner(), build_func(s.func, wb.Target(s.target))
runner.setup(SetupJob("t", func, 0))
for flush in (False, True):
    m = runner.run(TrialJob("t", code, tuple(s.func.params), 1, MeasureOptions(repeat=3, flush_cache=flush)))
    assert m.ok and m.run_s < 10, m
assert m.ok and m.clock == "device" and m.repeats == 3, m
row = wb.devices().set_index("target").loc["cuda -arch=sm_86"]
assert row["state"] == "runs" and "Fake GPU, 3 multiprocessors" in row["device"], row
try:
    Schedule(s.func, "cuda -arch=sm_90").measure()
except wb.WorkbenchError as e:
    assert (e.code, e.hint) == ("target.device", "cuda -arch=sm_86"), e
launch, DeviceKernel.run = DeviceKernel.run, interrupted
try:
    kernel(a)
except KeyboardInterrupt:
    DeviceKernel.run = launch
assert (kernel(a) == a + 1).all() and DeviceKernel.run is launch
fake, count = ctypes.CDLL(sys.argv[1]), lambda name: ctypes.c_int.in_dll(fake, name).value
del runner, m
kernels = [s.build()]
assert (kernels[0](a) == a + 1).all()
gc.collect()
freed, unloaded = count("freed"), count("unloaded")
def drop():
    kernels.clear()
    gc.collect()
thread = threading.Thread(target=drop)  # it never had the context
thread.start()
thread.join()
assert count("freed") > freed and count("unloaded") == unloaded + 1 and count("outside") == 0
a[0] = 13  # the driver fails from here on
try:
    kernel(a)
except wb.WorkbenchError as e:
    assert e.code == "run.device" and "illegal memory access" in str(e), e
    print("all is well")
"""


@compiles
@pytest.mark.skipif(sys.platform != "linux" or find_compiler() is None, reason="the driver is made by a C compiler")
def test_calls_of_a_driver(tmp_path):
    """What a driver is asked for: a library that stands in for one computes y = x + 1 from the arguments it gets."""
    source = Path(__file__).with_name("fake_cuda.c")
    library = str(tmp_path / "libdriver.so")
    subprocess.run([*find_compiler(), "-shared", "-fPIC", "-w", "-o", library, str(source)], check=True)
    done = subprocess.run([sys.executable, "-c", _CALLS, library], capture_output=True, text=True, check=False)
    assert "all is well" in done.stdout, done.stderr


def test_a_hint_names_what_a_target_can_have(monkeypatch):
    for arch, known in (("sm_90", "sm_90"), ("sm_103", "sm_100"), ("sm_121", "sm_120"), ("sm_72", "sm_70")):
        assert cuda_driver.nearest(arch) == known
        Target(f"cuda -arch={known}")
    assert cuda_driver.nearest("sm_61") is None
    monkeypatch.setattr(cuda_driver, "driver", lambda: SimpleNamespace(title="GPU", arch="sm_103"))
    assert cuda_driver.problem(CUDA).hint == "cuda -arch=sm_100"
    assert cuda_driver.problem(Target("cuda -arch=sm_100")) is None


def test_build_and_statistics_agree_on_launches():
    s = Schedule(workloads.softmax(8, 12))
    s.bind("inverse_i", "blockIdx.x")
    assert [k.kernel for k in s.build("cpu-simt").statistics] == ["kernel0", "kernel1", "kernel2"]


def test_statistics_are_a_listing_whose_lines_know_their_rows():
    s = tiled_matmul()
    found = listing(s, "kernels", "opencl")
    assert [line.text for line in found.lines[:2]] == [
        "kernel0: 2 x 2 x 1 blocks of 8 x 8 x 1 threads",
        "  2048 bytes shared, 2 barriers",
    ]
    assert "  C reads A.local: 4 turns of the banks, at least 1 (shared, 4 bytes x 32 threads)" in str(found)
    assert {"stmt:A.copy", "stmt:B.copy", "stmt:C"} <= set(found.rows) <= set(listing(s, "nest").rows)
    assert str(found).rstrip() == "\n".join(str(k) for k in s.build("opencl").statistics)
    with pytest.raises(BuildError) as e:
        listing(s, "kernels", "c")
    assert e.value.code == "build.statistics"
