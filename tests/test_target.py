from __future__ import annotations

import dataclasses
import json
import pickle
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from workbench import host, target
from workbench.architectures import architecture, architectures
from workbench.codegen.gpu import opencl
from workbench.codegen.llvm.llvmlite_binding import target_machine
from workbench.doctor import doctor, doctor_text
from workbench.errors import TargetError
from workbench.machine_model.machine_parameters import Machine
from workbench.runtime import devices
from workbench.runtime.device_code import opencl as opencl_devices
from workbench.runtime.machine.measured_roofline import measure_all_threads, roofs
from workbench.target import Target
from workbench.target_kinds import Option, TargetKind, target_kinds

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
        ("spirv -arch=1", "target.kind", "llvm"),
        ("stackvm", "target.kind", "'c' comes closest"),
        ("llvm -libs=cblas", "target.option", "leave it out"),
        ("llvm -runtime=c -system-lib=1", "target.option", "-system-lib=0"),
        ("llvm -num-cores", "target.option", "-threads="),
        ("llvm -num-cores 0", "target.threads", ""),
        ("llvm -num-cores=4 -threads=4", "target.option", ""),
        ("llvm -mtriple=x86_64-linux-gnu -mcpu=skylake -mattr=+avx512f", "target.feature", "leave -mattr out"),
        ("llvm -mtriple=x86_64-unknown-linux-gnu -mattr=-avx2", "target.feature", "is off"),
        ("llvm -mtriple=x86_64-linux-gnu -mcpu=core-avx", "target.cpu", "core-avx-i"),
        ("llvm -mtriple=riscv64-linux-gnu -mattr=+zvl512b", "target.feature", "+zvl256b"),
        ("llvm -mtriple=riscv64-linux-gnu -mabi=ilp32", "target.option", "-mabi=lp64d"),
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


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("llvm -keys=cpu -link-params=0 -mcpu=core-avx2 -num-cores 4", "llvm -mcpu=core-avx2 -threads=4"),
        ({"kind": "llvm", "keys": ["cpu"], "mcpu": "core-avx2", "num-cores": 4}, "llvm -mcpu=core-avx2 -threads=4"),
        ("llvm -mcpu=skylake-avx512 -mattr=+sse4.2,+popcnt", "llvm -mcpu=skylake-avx512"),
        ("llvm -target=x86_64-linux-gnu -mcpu=znver3", "llvm -mtriple=x86_64-linux-gnu -mcpu=znver3"),
        ("llvm -device=arm_cpu -model=rasp4b -mtriple=aarch64-linux-gnu -mcpu=cortex-a72 -mattr=+crc -num-cores=4",
         "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72 -threads=4"),
        ("llvm -mtriple=aarch64-linux-gnu -mattr=+v8.2a,+dotprod", "llvm -mtriple=aarch64-linux-gnu -mattr=+dotprod"),
        ("llvm -mtriple=riscv64-linux-gnu -mcpu=generic-rv64 -mabi=lp64d -mattr=+64bit,+m,+a,+f,+d,+c,+v",
         "llvm -mtriple=riscv64-linux-gnu -mcpu=generic-rv64 -mattr=+v"),
        ('llvm -mtriple=riscv64-linux-gnu -mattr="+v"', "llvm -mtriple=riscv64-linux-gnu -mattr=+v"),
        ("c -keys=cpu -runtime=c", "c"),
    ],
)  # fmt: skip
def test_targets_of_tvm_are_understood(text, want):
    if HERE.arch == "x86_64" or "mtriple" in want:
        assert Target(text) == Target(want)


@pytest.mark.parametrize("made", architectures, ids=lambda made: made.name)
def test_llvm_knows_every_cpu_and_extension(made, capfd):
    """LLVM ignores what it does not know, and says so on standard error."""
    for cpu in made.cpus:
        target = Target(f"llvm -mtriple={made.name}-unknown-linux-gnu -mcpu={cpu}")
        target_machine(target)
        closed = {made.needs[name] for name in target.isa if name in made.needs}
        assert closed <= target.isa, cpu
    assert set(made.caches) <= set(made.cpus)
    assert set(made.needs) | set(made.needs.values()) <= set(made.extensions)
    assert not made.extensions.keys() & set(made.implied.split())
    said = capfd.readouterr().err
    assert not said
    target_machine(Target(f"llvm -mtriple={made.name}-unknown-linux-gnu -mcpu=cpu-of-tomorrow -mattr="))
    assert "cpu-of-tomorrow" in capfd.readouterr().err


ZEN1 = "avx avx2 fma f16c bmi1 bmi2 abm movbe sse4a clzero"
ZEN3 = f"{ZEN1} clwb vaes"
ZEN4 = f"{ZEN3} avx512f avx512bw avx512cd avx512dq avx512vl avx512_vnni avx512_bf16"


@pytest.mark.parametrize(
    ("flags", "name"),
    [
        (ZEN1, "znver1"), (f"{ZEN1} clwb", "znver2"), (ZEN3, "znver3"), (ZEN4, "znver4"),
        (f"{ZEN4} avx_vnni", "znver5"), (ZEN3.replace("clzero", ""), "x86-64-v3"), (ZEN3.replace("avx2", ""), "x86-64"),
    ],
)  # fmt: skip
def test_a_zen_is_known_by_its_features(flags, name):
    """Virtual machines say any model number; a processor that is taken for Intel's is analysed with Intel's ports."""
    flags = frozenset(flags.split())
    isa = frozenset(n for n, linux in architectures["x86_64"].extensions.items() if linux in flags)
    assert host._cpu_name("x86_64", isa, flags) == name


def test_what_is_known_of_another_machine_does_not_come_from_this_one(monkeypatch):
    """Caches of its CPU, one thread, and lines as they are there."""
    here = host.Host("x86_64-unknown-linux-gnu", "haswell", frozenset(), 48, 1, 2, 3, 32, "a machine")
    monkeypatch.setattr(host, "detect", lambda: here)
    mac = Target("llvm -mtriple=arm64-apple-darwin23 -mcpu=apple-m2")
    assert (mac.l1_bytes, mac.l2_bytes, mac.line_bytes, mac.threads) == (128 << 10, 16 << 20, 128, 1)
    plain = Target("llvm -mtriple=riscv64-linux-gnu")
    assert (plain.l1_bytes, plain.l2_bytes, plain.l3_bytes, plain.line_bytes) == (32 << 10, 512 << 10, 0, 64)
    assert (plain.vector_bytes, plain.isa) == (8, frozenset())
    wide = Target("llvm -mtriple=riscv64-linux-gnu -mcpu=sifive-x280 -l2=1M")
    assert (wide.vector_bytes, wide.vector_registers, wide.l2_bytes) == (64, 32, 1 << 20)
    assert Target("llvm").l1_bytes == 1


def test_kinds_declare_their_own_options(monkeypatch):
    """A device has its options and nothing of a processor; a processor may have some besides."""
    size, mode = Option("room", "bytes of memory", 1024), Option("mode", "how", "fast", ("fast", "exact"))
    for kind in (TargetKind("gizmo", "A device.", (size, mode)), TargetKind("odd", "A CPU.", (mode,), processor=True)):
        monkeypatch.setitem(target_kinds._declared, kind.name, kind)
    gizmo = Target("gizmo -room=32K")
    assert str(gizmo) == "gizmo -room=32768 -mode=fast"
    assert (gizmo.option("room"), gizmo.threads, gizmo.missing_here()) == (32768, 1, ())
    assert Target(str(gizmo)) == gizmo == Target.from_json(json.loads(json.dumps(gizmo.to_json())))
    assert dataclasses.replace(gizmo, options={"room": 5}) == Target("gizmo -room=5")
    assert pickle.loads(pickle.dumps(gizmo)) == gizmo != Target("gizmo")
    odd = Target("odd -mode=exact -threads=3")
    assert (odd.option("mode"), odd.threads, odd.l1_bytes) == ("exact", 3, HERE.l1_bytes)
    assert Target(str(odd)) == odd
    for text in ("gizmo -threads=2", "gizmo -room=none", "gizmo -room=0", "gizmo -mode=slow", "gizmo -mcpu=native"):
        with pytest.raises(TargetError) as e:
            Target(text)
        assert e.value.code == "target.option"
    with pytest.raises(TargetError) as e:
        Target("gizmo", options={"rom": 1})
    assert e.value.code == "target.option"


def test_a_block_of_cuda_has_bounds():
    for word, most in (("max_num_threads", 1024), ("max_shared_memory_per_block", 48 << 10)):
        assert Target(f"cuda -{word}={most}").option(word) == most
        with pytest.raises(TargetError, match=str(most)) as e:
            Target(f"cuda -{word}={most + 1}")
        assert e.value.code == "target.option"
        assert Target(f"opencl -{word}={most + 1}").option(word) == most + 1


def test_shared_memory_of_a_multiprocessor_follows_from_the_architecture():
    """In KB, of the compute capabilities in NVIDIA's programming guide."""
    published = {"70": 96, "75": 64, "80": 164, "86": 100, "87": 164, "89": 100, "90": 228, "100": 228, "120": 100}
    name = "shared_memory_per_multiprocessor"
    for arch, kib in published.items():
        target = Target(f"cuda -arch=sm_{arch}")
        assert target.option(name) == kib << 10
        assert Target(str(target)) == Target.from_json(target.to_json()) == target
        assert Machine.of(target).gpu.each.shared == kib << 10
    assert Target(f"cuda -arch=sm_90 -{name}=100K").option(name) == 100 << 10
    assert Target("opencl").option(name) == Target("cpu-simt").option(name) == 164 << 10


@pytest.mark.parametrize("kind", sorted(k.name for k in target_kinds if not k.processor))
def test_peaks_are_of_processors(kind):
    target = Target(kind)
    for ask in (target.peak_gflops, lambda: roofs(target, 1, 1 << 20), lambda: measure_all_threads(target)):
        with pytest.raises(TargetError) as e:
            ask()
        assert (e.value.code, e.value.where) == ("target.roofs", (kind,))


def test_devices():
    table = wb.devices()
    assert list(table) == ["target", "device", "state", "note", "install"]
    assert set(table["state"]) <= {"runs", "compiles", "prints", "missing"}
    assert table["state"][list(table["target"]).index("llvm")] == "runs"
    for name in ("aarch64", "riscv64"):
        assert name == HERE.arch or table["target"].str.contains(name).sum() == 1
    assert {target.split()[0] for target in table["target"]} == set(target_kinds.names)
    json.dumps(devices.found())
    assert "vectors of" in devices.text(devices.found())


def test_the_target_of_each_opencl_device_takes_that_very_one(monkeypatch):
    """Also of those with a first word, or a whole name, in common."""

    @dataclasses.dataclass(eq=False)
    class Found:
        name: str
        platform: SimpleNamespace = dataclasses.field(default_factory=lambda: SimpleNamespace(name="NVIDIA CUDA"))
        type: int = 1 << 2  # CL_DEVICE_TYPE_GPU
        max_compute_units, local_mem_size, version = 3, 48 << 10, "OpenCL 3.0 "

    found = (*map(Found, ("NVIDIA A100", "NVIDIA H100", "NVIDIA H100")), Found("pocl cpu", type=1 << 1))
    monkeypatch.setattr(opencl, "devices", lambda: found)
    rows = [row.target for row in opencl_devices.devices()]
    assert rows == ["opencl -device=nvidia", "opencl -device=h100", "opencl -device=#2",
                    "opencl -device=pocl -thread_warp_size=1"]  # fmt: skip
    assert [opencl.find_device(str(Target(row).option("device"))) for row in rows] == list(found)
    with pytest.raises(TargetError) as e:
        opencl.find_device("#4")
    assert e.value.code == "target.device"


def test_a_device_whose_driver_fails_does_not_hide_the_others(monkeypatch):
    monkeypatch.setitem(target_kinds._declared, "gizmo", TargetKind("gizmo", "A device.", devices="test_target:broken"))
    rows = {row["target"]: row for row in devices.found()}
    assert rows["gizmo"]["state"] == "missing"
    assert "no driver" in rows["gizmo"]["note"]
    assert rows["llvm"]["state"] == "runs"


def broken():
    raise OSError("no driver")


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
