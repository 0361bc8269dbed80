"""Peaks by the type of what is multiplied: which instruction, what is measured, kept, and compared with it."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from workbench import Schedule, Target, workloads
from workbench.doctor import doctor, doctor_text
from workbench.graph import Graph, Node, TensorType
from workbench.intrinsics import registry
from workbench.intrinsics.product_instructions import instruction, operations
from workbench.ir.product_type import product_type
from workbench.runtime.machine import measured_roofline as module

AMX = Target("llvm -mtriple=x86_64-linux-gnu -mcpu=sapphirerapids")
PLAIN = Target("llvm -mtriple=x86_64-linux-gnu -mcpu=haswell")
SKYLAKE = Target("llvm -mtriple=x86_64-linux-gnu -mcpu=skylake-avx512")
VNNI = Target("llvm -mtriple=x86_64-linux-gnu -mcpu=icelake-server")


@pytest.fixture
def cache(monkeypatch, tmp_path):
    monkeypatch.setenv("WORKBENCH_CACHE_DIR", str(tmp_path))


def test_what_is_multiplied_is_read_from_the_nest():
    assert product_type(workloads.matmul(8, 8, 8)) == "float32"
    assert product_type(workloads.matmul(8, 8, 8, dtype="bfloat16")) == "bfloat16"
    assert {i.name: product_type(i.func) for i in registry}["x86.amx.u8s8"] == "uint8"
    assert {i.name: product_type(i.func) for i in registry}["x86.amx.s8s8"] == "int8"


@pytest.mark.parametrize(
    ("target", "dtype", "name"),
    [(AMX, "bfloat16", "x86.amx.bf16"), (AMX, "int8", "x86.amx.s8s8"), (VNNI, "uint8", "x86.vnni.dot4"),
     (VNNI, "bfloat16", None), (PLAIN, "int8", "x86.avx2.signed4"), (SKYLAKE, "uint8", "x86.avx512bw.dot4"),
     (AMX, "float32", None)],
)  # fmt: skip
def test_the_fastest_instruction_of_a_target_is_taken(target, dtype, name):
    found = instruction(target, dtype)
    assert (found and found.name) == name


def test_operations_are_counted_from_the_description():
    assert operations(registry["x86.amx.bf16"]) == 2 * 16 * 16 * 32
    assert operations(registry["x86.vnni.dot4"]) == 2 * 16 * 4


def test_peaks_are_measured_once_and_kept(cache, monkeypatch):
    asked = []
    monkeypatch.setattr(module, "measure_arithmetic", lambda t, n, loop: asked.append(n) or 10.0 * loop.operations)
    monkeypatch.setattr(Target, "require_here", lambda self: None)
    found = module.product_peaks(AMX, 3, ["bfloat16", "float32", "bfloat16"])
    assert found == {"bfloat16": 10.0 * 6 * 2 * 16 * 16 * 32}
    assert module.product_peaks(AMX, 3, ["bfloat16", "int8"]).keys() == {"bfloat16", "int8"}
    assert asked == [3, 3]
    three = Target(str(AMX).rpartition(" ")[0] + " -threads=3")
    assert module.all_threads(three, "bfloat16") == (found["bfloat16"], True)
    assert module.all_threads(AMX, "uint8") == (None, False), "nothing stands for what was not measured"
    assert "int8" in doctor(three)["peaks"]


def test_doctor_says_which_peak_is_which():
    report = doctor(AMX) | {"peak_gflops": 100.0, "peaks": {"int8": 2000.0, "bfloat16": 1000.0}, "threads": 2}
    assert "100 GFLOP/s a core (float32); bfloat16 1000, int8 2000 on all 2 threads" in doctor_text(report)


@pytest.mark.bench
@pytest.mark.parametrize("dtype", ["bfloat16", "uint8", "int8"])
def test_an_instruction_of_this_machine_is_faster_than_float32(cache, dtype):
    here = Target.host(threads=1)
    if instruction(here, dtype) is None:
        pytest.skip("this machine has none")
    assert module.product_peaks(here, 1, [dtype])[dtype] > 1.2 * here.peak_gflops()


def product_network(n=64):
    weights = {"w": np.random.default_rng(0).standard_normal((n, n)).astype("f4")}
    nodes = [Node("first", "MatMul", ("x", "w"), ("y",)), Node("relu", "Relu", ("y",), ("z",)),
             Node("second", "MatMul", ("z", "w"), ("u",))]  # fmt: skip
    return Graph.make("net", nodes, {"x": TensorType((n, n))}, ("u",), weights)


def test_a_profile_compares_with_the_peak_of_what_is_multiplied(monkeypatch):
    for place in ("execution.executable.roofs", "machine.measured_roofline.roofs"):
        monkeypatch.setattr(f"workbench.runtime.{place}", lambda t, n, s: module.Roofs(n, 100.0, 1e9, s))
    monkeypatch.setattr("workbench.runtime.execution.executable.product_peaks",
                        lambda t, n, types: {d: 1000.0 for d in types if d != "float32"})  # fmt: skip
    graph = product_network().optimize(precision="bfloat16").replace()  # a copy: not made anew for this machine
    found = wb.compile(graph).profile(repeat=2)
    rows = found[found["product"] == "bfloat16"]
    assert len(rows) == 2
    np.testing.assert_allclose(rows["roof_share"], rows["gflops"] / 1000.0)
    assert found.attrs["peaks"] == {"bfloat16": 1000.0}
    assert "compute, bfloat16" in repr(found)
    assert "100 GFLOP/s (float32), 1\u202f000 (bfloat16)" in repr(found)
    assert "compute, bfloat16" in found._repr_html_()


def test_what_is_emulated_says_so():
    here = Target.host()
    kept = ",".join(f"+{name}" for name in sorted(here.isa) if "amx" not in name)
    plain = Target(" ".join(w for w in str(here).split() if not w.startswith("-mattr")) + f" -mattr={kept}")
    if plain.missing_here():
        pytest.skip("this machine runs no such code")
    exe = wb.compile(product_network(), target=plain, precision="bfloat16")
    assert exe.emulated == ("bfloat16",)
    assert "bfloat16 emulated" in repr(exe)
    assert "precision.emulated" in exe._repr_html_()
    whole = wb.compile(product_network(), target=plain)
    assert not whole.emulated
    assert "emulated" not in repr(whole) + whole._repr_html_()


def test_the_roof_of_a_roofline_says_its_type(monkeypatch):
    monkeypatch.setattr(Target, "stored_peaks", lambda self, threads: {"bfloat16": 3210.0})
    found = wb.analysis.roofline_figure([Schedule(workloads.matmul(64, 64, 64, dtype="bfloat16"), AMX)])
    assert any("3.21e+03 GFLOP/s, bfloat16" in a.text for a in found.layout.annotations)
