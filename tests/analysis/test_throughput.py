"""The innermost loop on ports: loops that are found in assembly, sums that were made by hand, what cannot be asked."""

from __future__ import annotations

import importlib.util
import json
import shutil
from dataclasses import replace

import pytest

import workbench as wb
from workbench import analysis
from workbench.analysis.loop_nest.code_listing import Line
from workbench.analysis.loop_nest.machine_loops import innermost
from workbench.analysis.throughput import llvm_mca, report
from workbench.errors import InputError, UsageError

ISA = "+avx,+avx2,+fma,+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl,+avx512vnni,+avx512bf16,+avx512fp16"
TARGET = wb.Target(f"llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=sapphirerapids -mattr={ISA} -threads=1")
HERE = {"osaca": importlib.util.find_spec("osaca") is not None, "llvm-mca": shutil.which("llvm-mca") is not None}
ASKED = [
    pytest.param(name, marks=pytest.mark.skipif(not there, reason=f"{name} is not installed"))
    for name, there in HERE.items()
]


def scalar(n=64):
    return wb.Schedule(wb.workloads.matmul(n, n, n), TARGET)


def tile():
    s = wb.Schedule(wb.workloads.matmul(6, 64, 80), TARGET)
    i, i1 = s.split("i", [None, 6])
    s.reorder(i, "k", i1, "j")
    s.unroll(i1)
    s.vectorize("j")
    return s


def test_loops_are_from_a_label_to_the_jump_back():
    code = """kernel:
\txorl\t%eax, %eax
.A:
\txorl\t%ebx, %ebx
.B:
\taddq\t$4, %rbx
\tcmpq\t$64, %rbx
\tjb\t.B
\tincq\t%rax
\tjne\t.A
.C:
\tdecq\t%rcx
\tjne\t.C
\tjmp\t.D
.D:
\tretq"""
    found = innermost([Line(text, f"r{k}") for k, text in enumerate(code.split("\n"))])
    assert [(one.first, len(one.lines), one.row, one.trips) for one in found] == [
        (4, 4, "r7", 16),
        (10, 3, "r12", None),
    ]
    assert found[0].instructions == (1, 2, 3)


@pytest.mark.parametrize("step", ["addq\t$1, %rbx", "incq\t%rbx", "leaq\t1(%rcx), %rbx"])
def test_a_counter_goes_on_by_whatever_adds(step):
    code = [".B:", f"\t{step}", "\tcmpq\t$3, %rbx", "\tjne\t.B"]
    assert [one.trips for one in innermost([Line(text, "r") for text in code])] == [3]


@pytest.mark.parametrize("analyser", ASKED)
def test_a_sum_in_one_register_waits_for_itself(analyser):
    found = analysis.throughput(scalar(), analyser=analyser)
    adds = sum(one.text.split()[0].startswith("vfmadd") for one in found.instructions)
    assert found.row == "k"
    assert found.trips == 64 // adds
    assert found.cycles == pytest.approx(4 * adds, rel=0.02)  # each waits 4 cycles for the one before
    assert found.bound == "latency"
    assert found.unknown == ()
    assert "from one iteration to the next" in found.text
    assert json.loads(json.dumps(found.to_json()))["cycles"] == round(found.cycles, 3)


@pytest.mark.skipif(not HERE["osaca"], reason="osaca is not installed")
def test_a_tile_fills_both_ports_of_multiply_adds():
    found = analysis.throughput(tile(), analyser="osaca")
    adds = sum(one.text.split()[0].startswith("vfmadd") for one in found.instructions)
    assert found.bound == "throughput"
    assert found.cycles == pytest.approx(adds / 2, rel=0.02)  # two a cycle
    assert "0" in found.busiest
    assert all(one.row for one in found.instructions)
    assert "an iteration" in repr(found)
    assert "Latency" in found._repr_html_()


@pytest.mark.skipif(not HERE["osaca"], reason="osaca is not installed")
def test_the_chain_is_marked():
    found = analysis.throughput(scalar(), analyser="osaca")
    chain = [one for one in found.instructions if one.found.chain]
    assert all(one.text.split()[0].startswith("vfmadd") for one in chain)
    assert found.chain_cycles == 4 * len(chain) == found.cycles


ZEN3 = wb.Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=znver3 -threads=1")


def tile_of_zen(rows, vectors):
    s = wb.Schedule(wb.workloads.matmul(rows, 8 * vectors, 80), ZEN3)
    s.reorder("k", "i", "j").unroll("i").vectorize("j")
    return s


@pytest.mark.skipif(not HERE["osaca"], reason="osaca is not installed")
def test_on_zen_3_a_broadcast_from_memory_is_a_load():
    found = analysis.throughput(tile_of_zen(4, 2), analyser="osaca")
    adds = sum(one.text.split()[0].startswith("vfmadd") for one in found.instructions)
    assert any("vbroadcastss" in one.text for one in found.instructions)
    assert found.port_cycles == pytest.approx(adds / 2, rel=0.02)


@pytest.mark.skipif(not HERE["llvm-mca"], reason="llvm-mca is not installed")
def test_llvms_zen_3_begins_as_many_multiply_adds_as_the_processor():
    """Some versions say one a cycle; that is corrected, and said."""
    found = analysis.throughput(tile_of_zen(4, 2), analyser="llvm-mca")
    adds = sum(one.text.split()[0].startswith("vfmadd") for one in found.instructions)
    assert found.cycles == pytest.approx(adds / 2, rel=0.02)
    assert found.bound == "throughput"


@pytest.mark.skipif(not HERE["llvm-mca"], reason="llvm-mca is not installed")
@pytest.mark.parametrize("rows", [1, 2, 4])
def test_few_sums_wait_for_themselves_there(rows):
    found = analysis.throughput(tile_of_zen(rows, 1), analyser="llvm-mca")
    adds = sum(one.text.split()[0].startswith("vfmadd") for one in found.instructions)
    assert found.cycles == pytest.approx(4 * adds / rows, rel=0.05)
    assert found.bound == "latency"


@pytest.mark.skipif(not any(HERE.values()), reason="no analyser is installed")
def test_what_a_loop_makes_of_a_call(monkeypatch):
    """64 sums of 64 tiles of 4 rows: so many iterations, at the clock that the peak stands for, by two threads."""
    monkeypatch.setattr(wb.Target, "stored_peak", lambda self: 32.0)  # two multiply-adds of 8 lanes at 1 GHz
    one, two = (bound(threads) for threads in (1, 2))
    assert one.bound_ms == pytest.approx(2 * two.bound_ms)
    adds = sum(i.text.split()[0].startswith("vfmadd") for i in one.instructions)
    assert one.bound_ms == pytest.approx(64 * 64 * 64 / 8 / adds * one.cycles / 1e6)
    assert "A call takes" in repr(one)
    monkeypatch.setattr(wb.Target, "stored_peak", lambda self: None)
    assert bound(1).bound_text == "", "without a peak the clock is not known"


def bound(threads):
    s = wb.Schedule(wb.workloads.matmul(64, 64, 64), replace(ZEN3, threads=threads))
    s.split("i", [None, 4])
    s.split("j", [None, 8])
    s.reorder("i.0", "j.0", "k", "i.1", "j.1").unroll("i.1").vectorize("j.1").parallel("i.0")
    return analysis.throughput(s)


@pytest.mark.parametrize("analyser", ASKED)
def test_vectors_that_do_not_fit_the_registers_are_told(analyser):
    assert "registers are short" in analysis.throughput(tile_of_zen(6, 4), analyser=analyser).text
    assert "registers are short" not in analysis.throughput(tile_of_zen(4, 2), analyser=analyser).text


def test_what_cannot_be_asked(monkeypatch):
    with pytest.raises(InputError) as told:
        analysis.throughput(scalar(), analyser="crystal ball")
    assert told.value.code == "throughput.analyser"
    monkeypatch.setattr(report, "ANALYSERS", {"osaca": (lambda target: "it is away", None)})
    with pytest.raises(UsageError) as told:
        analysis.throughput(scalar())
    assert "it is away" in str(told.value)
    monkeypatch.setattr(report, "ANALYSERS", {"any": (lambda target: "", None)})
    with pytest.raises(UsageError) as told:
        analysis.throughput(scalar(), row="elsewhere")
    assert told.value.code == "throughput.loop"
    assert "k" in told.value.hint


def test_a_file_of_the_name_that_is_no_program_is_passed_over(tmp_path, monkeypatch):
    broken = tmp_path / "llvm-mca-99"
    broken.write_bytes(b"\x7fELF nothing")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "does not know" in llvm_mca.why_not(TARGET)
    with pytest.raises(UsageError) as told:
        analysis.throughput(scalar(), analyser="llvm-mca")
    assert told.value.code == "throughput.analyser"
