"""Profiles, roofs and timelines of whole networks."""

import itertools
import json

import numpy as np
import pandas
import pytest
from runtime.llvm_kernels import ADD, code
from runtime.test_reentrant import N, chain

import workbench as wb
from workbench.codegen.llvm import llvmlite_binding
from workbench.errors import InputError, UsageError
from workbench.ir.bytes_moved import least_traffic, vector_reads
from workbench.runtime.execution.executable import Executable
from workbench.runtime.execution.profile import Profile, call_bytes, make_profile
from workbench.runtime.execution.timeline import events, record
from workbench.runtime.machine import measured_roofline as module
from workbench.runtime.machine.measured_roofline import Level, Roofs, measure, roofs, roofs_by_level, size_class
from workbench.runtime.networks.data_levels import data_levels
from workbench.runtime.networks.execution_plan import ArraySpec, CallPlan, ExecutablePlan, Slot
from workbench.target import Target

FIRST = ["call", "task", "ms", "min_ms", "share", "gflops", "flops", "tuned", "note"]
TARGET = Target.host(threads=2)


@pytest.fixture
def plain_roofs(monkeypatch):
    """Round numbers, and how often they were asked for."""
    asked = []

    def found(target, threads, nbytes):
        asked.append((threads, nbytes))
        return Roofs(threads, 100.0, 10.0, size_class(nbytes))

    monkeypatch.setattr("workbench.runtime.execution.executable.roofs", found)
    monkeypatch.setattr(module, "roofs", found)
    return asked


def test_columns_and_totals(plain_roofs):
    executable = Executable(chain(2))
    profile = executable.profile(repeat=7)
    assert list(profile.columns[: len(FIRST)]) == FIRST
    assert list(profile["call"]) == ["first", "double", "last"]
    assert list(profile["bytes"]) == [8 * N] * 3
    np.testing.assert_allclose(profile["gbytes"], 8 * N / profile["ms"] / 1e6)
    assert profile["note"][1].startswith("not tunable")
    totals = profile.attrs
    assert totals["calls_ms"] == pytest.approx(profile["ms"].sum())
    assert totals["whole_ms"] > 0
    assert (totals["threads"], totals["runs"], totals["bytes"]) == (2, 7, 24 * N)
    assert {threads for threads, _ in plain_roofs} == {2}
    asked = len(plain_roofs)
    assert type(profile[profile["ms"] > 0]) is pandas.DataFrame
    assert executable.profile(repeat=1, roofline=False).attrs["peak_gflops"] is None
    assert len(plain_roofs) == asked


def test_calls_alone(plain_roofs):
    """Kernels over and over, in turns with the runs; a Python step has no such time, and results stay right."""
    executable = Executable(chain(2))
    profile = executable.profile(repeat=3, alone=True)
    assert (profile["alone_ms"] > 0).tolist() == [c.__class__ is CallPlan for c in executable.plan.calls]
    assert profile.attrs["alone_ms"] == pytest.approx(profile["alone_ms"].sum())
    assert "each call alone, over and over, " in str(profile)
    plain = executable.profile(repeat=1)
    assert "alone_ms" not in plain
    assert plain.attrs["alone_ms"] is None
    assert "alone" not in str(plain)


def profile_of(calls, nanoseconds):
    stamps = np.cumsum([[0, *nanoseconds]], axis=1)
    plan = ExecutablePlan((ArraySpec("x", (N,)),), (ArraySpec("y", (N,)),), (), 0, tuple(calls))
    return make_profile(plan, stamps, [sum(nanoseconds) / 1e6], 1, Roofs(1, 100.0, 10.0, 1 << 20))


def test_each_call_is_compared_with_the_lower_roof():
    """100 GFLOP/s and 10 GB/s: arithmetic is the lower roof from ten operations per byte on."""
    add, args = code(ADD, N, 1.0), (Slot("input", 0), Slot("output", 0))
    calls = [CallPlan("dense", add, args, flops=1000, traffic=10), CallPlan("thin", add, args, flops=90, traffic=10),
             CallPlan("copy", add, args, traffic=10), CallPlan("nothing", add, args, traffic=0, flops=0)]  # fmt: skip
    profile = profile_of(calls, [20, 4, 2, 4])
    assert list(profile["roof"]) == ["compute", "memory", "memory", "memory"]
    np.testing.assert_allclose(profile["roof_share"][:3], [0.5, 0.25, 0.5])
    np.testing.assert_allclose(profile["intensity"][:3], [100, 9, 0])
    np.testing.assert_allclose(profile["gflops"][:2], [50, 22.5])
    assert np.isnan(profile["gflops"][2])
    assert profile["bytes"][3] == 8 * N, "what nobody counted is the sum of the operands"
    assert profile.attrs["calls_ms"] == pytest.approx(30e-6)


def test_a_call_is_compared_with_the_level_that_its_data_come_from():
    """1000, 100 and 10 GB/s: L2 has room for one array, L3 for three, and six are touched in a run."""
    add = code(ADD, N, 1.0)
    size = 4 * N

    def call(source, to):
        return CallPlan(f"{source} to {to}", add, (Slot("const", source), Slot("arena", to * size)), traffic=size)

    calls = (call(0, 0), call(1, 1), call(2, 2), CallPlan("twice", add, (Slot("arena", 2 * size),) * 2, traffic=size))
    plan = ExecutablePlan((), (), (), 0, calls)
    assert data_levels(plan, {"L2": size, "L3": 3 * size}) == [{"memory": 1.0}] * 3 + [{"L2": 1.0}]
    assert data_levels(plan, {"L2": size, "L3": 6 * size}) == [{"L3": 1.0}] * 3 + [{"L2": 1.0}]
    near = (CallPlan("near", add, (Slot("const", 0), Slot("arena", 0)), traffic=size),) * 2
    assert data_levels(ExecutablePlan((), (), (), 0, near), {"L2": 2 * size, "L3": 3 * size}) == [{"L2": 1.0}] * 2
    levels = {"L2": Level(size, 1000.0), "L3": Level(3 * size, 100.0), "memory": Level(0, 10.0)}
    stamps = np.cumsum([[0, size / 5, size / 10, size / 20, size / 500]], axis=1)
    profile = make_profile(plan, stamps, [1.0], 1, Roofs(1, 100.0, 5.0, 1 << 20, levels=levels))
    assert list(profile["roof"]) == ["memory"] * 3 + ["L2"]
    np.testing.assert_allclose(profile["roof_share"], [0.5, 1.0, 2.0, 0.5])
    assert profile["note"][2] == (
        "faster than memory delivers: its data come from a nearer cache than the model of the caches says"
    )
    assert "L2 1000, L3 100, memory 10 GB/s" in str(profile)
    levels["L2"] = Level(size, None)  # what nobody measured limits nothing
    profile = make_profile(plan, stamps, [1.0], 1, Roofs(1, 100.0, 5.0, 1 << 20, levels=levels))
    assert (profile["roof"][3], np.isnan(profile["roof_share"][3])) == ("", True)
    assert profile.attrs["level_gbytes"] == {"L3": 100.0, "memory": 10.0}


def test_the_levels_are_those_of_the_roofline_of_a_schedule(monkeypatch):
    from workbench.analysis.figures import roofline

    asked = {}
    monkeypatch.setattr(
        module, "roofs", lambda t, n, size: Roofs(n, 1.0, asked.setdefault(size, 1.0 + len(asked)), size)
    )
    target = Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v4 -l1=32K -l2=1M -l3=32M -threads=2")
    found = roofs_by_level(target, 2)
    assert {level: one.capacity for level, one in found.items()} == {"L2": 2 << 20, "L3": 32 << 20, "memory": 0}
    sizes = roofline.working_sets(target)
    assert {level: one.gbytes for level, one in found.items() if one.gbytes} == {k: asked[n] for k, n in sizes.items()}


def test_totals_of_disturbed_runs():
    """Every run is disturbed in another call: no call's median shows it, the whole does."""
    call = CallPlan("c", code(ADD, N, 1.0), (Slot("input", 0), Slot("output", 0)))
    spent = np.array([[90, 10, 10], [10, 90, 10], [10, 10, 90]])
    stamps = np.cumsum(np.hstack([np.zeros((3, 1), int), spent]), axis=1)
    plan = ExecutablePlan((ArraySpec("x", (N,)),), (ArraySpec("y", (N,)),), (), 0, (call,) * 3)
    totals = make_profile(plan, stamps, [1e-6, 5e-6, 3e-6], 1, None).attrs
    assert totals["calls_ms"] == pytest.approx(30e-6)
    assert totals["timed_ms"] == pytest.approx(110e-6)
    assert totals["whole_ms"] == pytest.approx(3e-6)


def test_what_it_prints():
    profile = profile_of([CallPlan("a <b>", code(ADD, N, 1.0), (Slot("input", 0), Slot("output", 0)), flops=5)], [7])
    assert "100 GFLOP/s; memory 10 GB/s" in str(profile)
    assert "whole run" in repr(profile)
    html = profile._repr_html_()
    assert "a &lt;b&gt;" in html
    assert "Reached" in html
    del profile["roof"]
    assert "roof_share" in repr(profile)
    assert "<table" in profile._repr_html_()
    assert isinstance(profile, Profile)


def test_least_traffic():
    assert least_traffic(wb.workloads.matmul(8, 16, 32)) == 4 * (8 * 32 + 32 * 16 + 8 * 16)
    te = wb.te
    x, s = te.placeholder((64, 64), name="X"), te.placeholder((64,), name="s")
    # Every second row, the same vector for all of them: 32 rows of 64, not 64.
    half = te.func(te.compute((32, 64), lambda i, j: x[2 * i, j] + s[j], name="C"), "half")
    assert least_traffic(half) == 4 * (32 * 64 + 64 + 32 * 64)
    both = te.func(te.compute((64, 64), lambda i, j: x[i, j] * x[j, i], name="C"), "both")
    assert least_traffic(both) == 4 * 2 * 64 * 64


def test_vector_reads():
    assert vector_reads(wb.workloads.matmul(8, 16, 32)) == {"B": 8}
    assert vector_reads(wb.workloads.batch_matmul(3, 8, 16, 32)) == {"B": 8}
    assert vector_reads(wb.workloads.matmul(8, 16, 32, constant_b=True)) == {}
    assert vector_reads(wb.workloads.conv2d_nhwc(8, 8, 4, 16, kernel=1, padding=0)) == {}


def test_traffic_of_a_compiled_network_counts_weights(tmp_path):
    from errors import models

    executable = wb.compile(wb.load_onnx(models.dense(tmp_path / "m.onnx")), target=Target.host(threads=1))
    for call in executable.plan.calls:
        operands = dict(zip(call.args, call.code.params, strict=True))
        assert call.traffic == sum(int(np.prod(p.shape)) * np.dtype(p.dtype).itemsize for p in operands.values())
        assert any(slot.kind == "const" for slot in operands)
        assert call_bytes(call) == call.traffic
    assert executable.plan.working_set >= sum(a.nbytes for a in executable.plan.constants)


def test_roofs_of_this_machine_are_kept(monkeypatch, tmp_path):
    monkeypatch.setenv("WORKBENCH_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(module, "_LONGEST_S", 0.05)
    first = roofs(TARGET, 2, 3 << 20)
    assert (first.threads, first.working_set) == (2, 4 << 20)
    assert first.gflops > 0.2
    assert first.gbytes > 0.05
    monkeypatch.setattr(module, "measure", lambda *a: pytest.fail("measured again"))
    assert roofs(TARGET, 2, 4 << 20) == first
    (kept,) = tmp_path.glob("roofs-*.json")
    kept.write_text("{")
    monkeypatch.setattr(module, "measure", lambda *a: Roofs(2, 1.0, 1.0, 4 << 20))
    assert roofs(TARGET, 2, 4 << 20).gflops == 1.0
    assert json.loads(kept.read_text())["gflops"] == 1.0


@pytest.mark.bench
def test_roofs_are_those_of_the_machine():
    one, two = (measure(TARGET, t, 1 << 26) for t in (1, 2))
    assert one.gflops == pytest.approx(TARGET.peak_gflops(), rel=0.15)
    assert one.gflops < two.gflops < 2.2 * one.gflops
    small = measure(TARGET, 1, 1 << 20)
    assert small.gbytes > 2 * one.gbytes, "a cache is faster than memory"


def load(path):
    document = json.loads(path.read_text())
    return document, [e for e in document["traceEvents"] if e["ph"] == "X"]


@pytest.mark.parametrize("threads", [1, 3])
def test_a_timeline_has_one_event_per_call_and_one_per_thread(tmp_path, plain_roofs, threads):
    executable = Executable(chain(threads))
    path = tmp_path / "t.json"
    executable.trace(path, runs=2)
    document, complete = load(path)
    calls = [e for e in complete if e["cat"] == "call"]
    assert [e["name"] for e in calls] == ["first", "double", "last"] * 2
    assert all(e["tid"] == 0 and e["dur"] >= 0 for e in calls)
    for before, after in itertools.pairwise(calls[:3]):
        assert before["ts"] + before["dur"] == pytest.approx(after["ts"])
    assert {"task", "flops", "bytes", "GFLOP/s", "roof"} <= set(calls[0]["args"])
    assert all(("of the roof" in e["args"]) == (e["args"]["roof"] != "") for e in calls)
    assert [e["name"] for e in complete if e["cat"] == "run"] == ["run 0", "run 1"]
    names = {e["tid"]: e["args"]["name"] for e in document["traceEvents"] if e["name"] == "thread_name"}
    assert len(names) == 1 + threads
    assert names[1] == "thread 0 (caller)"
    regions = [e for e in complete if e["cat"] == "region"]
    assert {e["tid"] for e in regions} <= set(names) - {0}
    done = {}
    for e in regions:  # what a thread does lies inside of its call, and all tasks are accounted for
        call = next(c for c in calls if c["ts"] <= e["ts"] < c["ts"] + c["dur"])
        assert call["name"] == e["name"]
        assert e["ts"] + e["dur"] <= call["ts"] + call["dur"]
        done[call["ts"]] = done.get(call["ts"], 0) + e["args"]["tasks"]
        assert e["args"]["in tasks (us)"] <= e["dur"] + 1e-6
    assert list(done.values()) == [N // 64] * 4
    np.testing.assert_array_equal(executable.run(np.ones(N, "f4"))["y"], 6)


# A launch function that gives even tasks to thread 0 and odd ones to thread 2.
TURNS = """
define void @turns(ptr %pool, ptr %fn, ptr %ctx, i64 %n) {
entry:
  br label %l
l:
  %i = phi i64 [ 0, %entry ], [ %i1, %l ]
  %odd = and i64 %i, 1
  %tid = shl i64 %odd, 1
  call void %fn(ptr %ctx, i64 %i, i64 %tid)
  %i1 = add i64 %i, 1
  %m = icmp ult i64 %i1, %n
  br i1 %m, label %l, label %x
x:
  ret void
}
"""


def test_what_each_thread_did_is_its_own(plain_roofs):
    library = llvmlite_binding.load_object(llvmlite_binding.compile_ir(TURNS), ["turns"])
    executable = Executable(chain(3))
    with executable.measuring(None, 0) as context:
        context.rt.launch = library["turns"]
        found = record(context, executable.plan, 2)
    assert found.work.shape == (4, 3, 4)
    first, last, busy, tasks = np.moveaxis(found.work, 2, 0)
    np.testing.assert_array_equal(tasks, [[N // 128, 0, N // 128]] * 4)
    np.testing.assert_array_equal(found.regions[:, 2], N // 64)
    begin, end = found.regions[:, 0], found.regions[:, 1]
    for thread in (0, 2):
        assert (begin <= first[:, thread]).all()
        assert (last[:, thread] <= end).all()
        assert (busy[:, thread] > 0).all()
        assert (busy[:, thread] <= last[:, thread] - first[:, thread]).all()
    assert (first[:, 0] < first[:, 2]).all()
    assert (last[:, 0] < last[:, 2]).all()
    assert not found.work[:, 1].any()


def test_recordings_of_more_regions_than_were_counted_go_on(plain_roofs):
    """The number of regions of a step may change from run to run; what has no room is not recorded."""
    executable = Executable(chain(2))
    with executable.measuring(None, 1) as context:
        found = record(context, executable.plan, 3)
        assert len(found.regions) == 6
        context.walk()
    profile = make_profile(executable.plan, found.stamps, [1.0], 2, None)
    assert sum(e["ph"] == "X" for e in events(found, profile)) >= 3 * (1 + 3) + 6


def test_refusals_of_timelines(tmp_path, plain_roofs):
    executable = Executable(chain(1))
    with pytest.raises(InputError) as caught:
        executable.trace(tmp_path / "no" / "t.json")
    assert caught.value.code == "outputs.unwritable"
    for bad in ({"runs": 0}, {"warmup": -1}):
        with pytest.raises(UsageError):
            executable.trace(tmp_path / "t.json", **bad)
    with pytest.raises(UsageError):
        executable.profile(repeat=0)


def test_command_line(tmp_path, capfd, monkeypatch, plain_roofs):
    from errors import models
    from errors.test_cli_errors import check_error, invoke

    model = models.dense(tmp_path / "m.onnx")
    timeline = tmp_path / "t.json"
    code, out, _ = invoke(capfd, "run", model, "--profile", "--trace", timeline, "--repeat", "3", "--json")
    assert code == 0
    found = json.loads(out)
    calls = found["profile"]["calls"]
    assert len(calls) == 2
    assert list(calls[0])[: len(FIRST)] == FIRST
    assert {c["roof"] for c in calls} <= {"compute", "L2", "L3", "memory", ""}
    assert found["profile"]["runs"] == 3
    assert found["profile"]["calls_ms"] == pytest.approx(sum(c["ms"] for c in calls))
    assert found["trace"] == str(timeline)
    assert [e["name"] for e in load(timeline)[1] if e["cat"] == "call"] == [c["call"] for c in calls]
    code, out, _ = invoke(capfd, "run", model, "--profile")
    assert (code, "whole run" in out, "roof_share" in out) == (0, True, True)
    check_error(capfd, ["run", model, "--trace", tmp_path / "no" / "t.json"], "outputs.unwritable", 3)


def test_a_call_above_its_roof_has_a_mark_and_a_sentence():
    """100 GFLOP/s and 10 GB/s."""
    add, args = code(ADD, N, 1.0), (Slot("input", 0), Slot("output", 0))
    calls = [
        CallPlan("winograd", add, args, flops=1000, traffic=10, tile=4),
        CallPlan("near", add, args, flops=10, traffic=100),
        CallPlan("below", add, args, flops=1000, traffic=10),
        CallPlan("odd", add, args, flops=1000, traffic=10),
    ]
    profile = profile_of(calls, [5, 5, 20, 9])
    np.testing.assert_allclose(profile["roof_share"], [2.0, 2.0, 0.5, 10 / 9])
    first, near, below, odd = profile["note"]
    assert first == (
        "Winograd's algorithm (tiles of 4×4) does 4.00× fewer multiplications than are counted; "
        "these are 50.0\u202f% of the peak"
    )
    assert "nearer cache" in near
    assert below == ""
    assert odd.startswith("The peak is an estimate: it was measured, perhaps at a lower clock")
    lines = str(profile).splitlines()
    assert f"* call 0: {first}" in lines
    assert [line.split()[-1] for line in lines if line.split()[:1] in (["0"], ["2"])] == ["2*", "0.5"]
    html = profile._repr_html_()
    assert "200\u202f%*" in html
    assert "50.0\u202f% of the peak" in html


def test_a_compiled_winograd_convolution_says_what_it_is(tmp_path):
    from workbench.runtime.machine.above_roofline import tile_in, tile_of, why_above
    from workbench.schedule import Schedule

    conv = Schedule(wb.workloads.conv2d_nhwc(14, 14, 32, 32), Target.host(threads=1))
    assert tile_of(conv.func) is None
    conv.winograd("conv", 2)
    assert tile_of(conv.func) == tile_in([step.to_json() for step in conv.trace]) == 2
    assert tile_in([{"primitive": "winograd", "args": {"block": "conv"}}]) == 4
    assert tile_in([{"primitive": "split", "args": {}}]) is None
    assert "2.25×" in why_above(1.2, 2, ["float32"], 1)
    assert why_above(1.0, 2, ["float32"], 1) == why_above(None, None, ["float32"], 1) == ""
    assert "times 2" in why_above(3.0, 2, ["float32"], 2), "more than the algorithm saves"
    assert "int8" in why_above(2.2, None, ["int8", "int32"], 2)
    assert "14.0\u202f% of the operations" in why_above(1.07, None, ["float32"], 1, 0.86), "bias and clip"
    assert "estimate" in why_above(1.3, None, ["float32"], 1, 0.86), "more than these explain"
