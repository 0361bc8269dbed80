from __future__ import annotations

import dataclasses
import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench import host, target
from workbench.architectures import architecture
from workbench.doctor import doctor, doctor_text
from workbench.errors import TargetError
from workbench.target import Target

HERE = Target.host()


def isas():
    order = sorted(architecture("x86_64").extensions)

    def closed(names):
        names = set(names)
        if any(n.startswith("avx512") for n in names):
            names |= {"avx512f", "avx2"}
        if any(n.startswith("amx") for n in names):
            names.add("amx-tile")
        if names & {"avx2", "fma", "f16c"}:
            names.add("avx")
        return sorted(names)

    return st.lists(st.sampled_from(order), unique=True).map(closed)


targets = st.builds(
    lambda kind, cpu, isa, threads, l1, l2, l3, line: Target(
        kind, triple="x86_64-unknown-linux-gnu", cpu=cpu, features=isa, threads=threads, l1_bytes=l1, l2_bytes=l2,
        l3_bytes=l3, line_bytes=line,
    ),
    st.sampled_from(["llvm", "c"]), st.sampled_from(["x86-64", "haswell", "sapphirerapids", "a-cpu-of-tomorrow"]),
    isas(),
    st.integers(1, 256),
    st.integers(0, 2**20), st.integers(0, 2**24), st.integers(0, 2**30), st.sampled_from([32, 64, 128]),
)  # fmt: skip


@given(targets)
def test_text_and_json_round_trip(t):
    assert Target(str(t)) == t
    assert Target.from_json(json.loads(json.dumps(t.to_json()))) == t
    assert {t: 1}[Target(str(t))] == 1
    assert pickle.loads(pickle.dumps(t)) == t


def test_host_round_trips_and_runs_here():
    assert Target(str(HERE)) == HERE == Target() == Target("llvm -mcpu=native")
    assert HERE.missing_here() == ()
    assert HERE.threads == host.usable_threads()
    assert str(HERE).endswith(f" -threads={HERE.threads}")
    assert Target.host(threads=3).threads == 3
    assert str(Target("c")).startswith("c -mtriple=")
    assert Target("c -threads=3") == dataclasses.replace(HERE, kind="c", threads=3) != Target.host(threads=3)
    assert dataclasses.replace(HERE, threads=5) == Target.host(threads=5) != HERE


def test_targets_are_immutable():
    with pytest.raises(dataclasses.FrozenInstanceError):
        HERE.threads = 3  # type: ignore[misc]


@pytest.mark.parametrize(
    ("cpu", "width", "registers"),
    [("x86-64", 16, 16), ("sandybridge", 16, 16), ("haswell", 32, 16), ("x86-64-v4", 64, 32), ("znver4", 64, 32)],
)
def test_width_follows_from_the_extensions(cpu, width, registers):
    t = Target(f"llvm -mtriple=x86_64-unknown-linux-gnu -mcpu={cpu}")
    assert (t.vector_bytes, t.vector_registers) == (width, registers)
    assert [t.lanes(d) for d in ("float64", "float32", "float16", "int8")] == [width // k for k in (8, 4, 2, 1)]


def test_neon():
    t = Target("llvm -mtriple=arm64-apple-darwin23 -mcpu=apple-m1")
    assert (t.arch, t.vector_bytes, t.vector_registers) == ("aarch64", 16, 32)


def test_an_explicit_list_replaces_the_cpus_own():
    assert Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=sapphirerapids -mattr=+avx,+avx2").vector_bytes == 32
    assert Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=sapphirerapids -mattr=").isa == frozenset()


@pytest.mark.parametrize(
    ("text", "code", "hint"),
    [
        ("", "target.kind", "llvm"),
        ("cuda -arch=sm_90", "target.kind", "llvm"),
        ("llvm -thread=2", "target.option", "-threads="),
        ("llvm threads=2", "target.option", "-threads="),
        ("llvm -mcpu", "target.option", "-mcpu="),
        ("llvm -threads=2 -threads=3", "target.option", ""),
        ("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=haswel", "target.cpu", "haswell"),
        ("llvm -mtriple=riscv64-unknown-linux-gnu -mcpu=native", "target.cpu", "name a CPU"),
        ("llvm -mtriple=x86_64-unknown-linux-gnu -mattr=+avx3", "target.feature", "avx2"),
        ("llvm -mtriple=x86_64-unknown-linux-gnu -mattr=-avx2", "target.feature", ""),
        ("llvm -mtriple=x86_64-unknown-linux-gnu -mattr=+avx512f", "target.feature", "+avx2"),
        ("llvm -threads=0", "target.threads", ""),
        ("llvm -threads=many", "target.threads", ""),
        ("llvm -threads=-1", "target.threads", ""),
        ("llvm -l1=big", "target.size", ""),
        ("llvm -line=48", "target.size", ""),
    ],
)
def test_bad_text(text, code, hint):
    with pytest.raises(TargetError) as e:
        Target(text)
    assert e.value.code == code
    assert hint in e.value.hint


def test_bad_values():
    with pytest.raises(TargetError) as e:
        Target.host(threads=True)
    assert e.value.code == "target.threads"
    with pytest.raises(TargetError) as e:
        Target.from_json({"kind": "llvm"})
    assert e.value.code == "target.option"
    with pytest.raises(TargetError) as e:
        HERE.lanes("float31")
    assert (e.value.code, "float32" in e.value.hint) == ("target.dtype", True)


def test_foreign_targets_do_not_run_here():
    other = "aarch64" if HERE.arch != "aarch64" else "x86_64"
    t = Target(f"llvm -mtriple={other}-unknown-linux-gnu -mcpu=generic")
    assert t.missing_here() == (other,)
    with pytest.raises(TargetError) as e:
        t.peak_gflops()
    assert e.value.code == "target.host"


@pytest.mark.parametrize("text", ["48K", "2M", "1G", "0", "1000"])
def test_sizes_round_trip(text):
    assert host.format_size(host.parse_size(text)) == text


@given(st.integers(0, 2**40))
def test_every_size_round_trips(size):
    assert host.parse_size(host.format_size(size)) == size


def test_threads_respect_affinity_and_quota(monkeypatch):
    monkeypatch.setattr(host.os, "sched_getaffinity", lambda pid: set(range(8)), raising=False)
    for text, want in (("max 100000", 8), ("150000 100000", 2), ("50000 100000", 1), ("", 8), ("junk", 8)):
        monkeypatch.setattr(host, "_read", lambda path, text=text: text)
        assert host.usable_threads() == want


@pytest.fixture
def fake_probe(monkeypatch, tmp_path):
    calls = []
    monkeypatch.setenv("WORKBENCH_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr("workbench.runtime.machine.arithmetic_peak.measure", lambda t: calls.append(t) or 123.5)
    return calls


def test_peak_is_measured_once_and_kept(fake_probe, tmp_path):
    assert HERE.stored_peak() is None
    assert [HERE.peak_gflops() for _ in range(3)] == [123.5] * 3
    assert Target.host(threads=7).peak_gflops() == 123.5
    assert len(fake_probe) == 1
    assert HERE.peak_gflops(remeasure=True) == 123.5
    assert len(fake_probe) == 2
    assert all(p.suffix == ".json" for p in (tmp_path / "cache").iterdir())


@pytest.mark.parametrize("content", ["", "{", "[]", '{"gflops": "fast"}', '{"gflops": -1}'])
def test_a_damaged_cache_file_is_measured_again(fake_probe, content):
    HERE.peak_gflops()
    HERE._peak_file().write_text(content, encoding="utf-8")
    assert HERE.stored_peak() is None
    assert HERE.peak_gflops() == 123.5


def test_a_cache_that_cannot_be_written_costs_nothing_but_time(fake_probe, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("WORKBENCH_CACHE_DIR", str(tmp_path / "file" / "below"))
    assert HERE.peak_gflops() == HERE.peak_gflops() == 123.5
    assert len(fake_probe) == 2


def test_probe_is_where_the_target_says():
    module, _, function = target.PEAK_PROBE.partition(":")
    assert callable(getattr(__import__(module, fromlist=[function]), function))


def test_measured_peak_is_plausible():
    from workbench.runtime.machine.arithmetic_peak import measure

    assert 0.1 < measure(HERE) < 20_000


def test_doctor_reports():
    report = doctor()
    json.dumps(report)
    assert report["target"] == str(HERE)
    assert {p["code"] for p in report["problems"]} <= {"doctor.load", "doctor.governor"}
    assert str(HERE) in doctor_text(report)


def test_doctor_finds_problems(monkeypatch):
    monkeypatch.setattr("workbench.doctor.PACKAGES", ("numpy", "no-such-package-here"))
    monkeypatch.setattr("workbench.doctor._writable", lambda folder: False)
    report = doctor(Target.host(threads=host.usable_threads() + 1))
    codes = {p["code"] for p in report["problems"]}
    assert {"doctor.package", "doctor.threads", "doctor.cache"} <= codes
    assert "no-such-package-here MISSING" in doctor_text(report)
