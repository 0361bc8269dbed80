"""Networks for AArch64 and RISC-V: exported with their C program, compiled for such a machine, and run under qemu."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from boards.running import FOREIGN, foreign
from errors import models
from export.networks import feeds, hand_made
from graph import open_nets
from graph.nets import random_feeds, residual_net
from graph.test_quantised_networks import image, network

import workbench as wb
from workbench.cli import main
from workbench.codegen.c import cross_toolchain
from workbench.errors import BuildError, ExportError, ModelError, TargetError, UsageError
from workbench.runtime.execution.executable import Executable
from workbench.runtime.export import auxiliary_features, cpu_features
from workbench.runtime.export.write_library import export_library
from workbench.target import Target

ARM, RISCV = (Target(FOREIGN[name]) for name in ("neon", "rvv128"))
STRICT = ["-std=c11", "-O1", "-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror"]


# ---- under qemu ----


def bert():
    net = open_nets.bert(layers=1, width=64, heads=2, words=100, most=32)
    return wb.load_onnx(net.model, {"ids": (1, 9), "mask": (1, 9)}), net.feeds({"n": 9}, np.random.default_rng(1))


def convolutions():
    graph = residual_net()
    return graph, random_feeds(graph, 3)


def bytes_of_a_network():
    return wb.quantize(wb.load_onnx(network()), [image(k) for k in range(4)]), {"x": image(9)}


NETWORKS = {"convolutions": convolutions, "bert": bert, "int8": bytes_of_a_network}


class Emulated:
    """A folder with an exported network, and its program on an emulated processor."""

    def __init__(self, arch: str, command: tuple[str, ...], folder: Path) -> None:
        self.arch, self.folder = arch, folder
        compiler = shutil.which(f"{arch}-linux-gnu-gcc")
        if compiler is None:
            pytest.skip(f"{arch}-linux-gnu-gcc, with a C library, is not installed")
        self._compiler = compiler
        self._command = [*command[:-1], "-L", f"/usr/{arch}-linux-gnu"]

    def build(self, made) -> None:
        words = [*STRICT, made.main.name, f"./{made.library.name}", "-Wl,-rpath,$ORIGIN", "-o", "main"]
        subprocess.run([self._compiler, *words], cwd=self.folder, check=True, timeout=120)

    def __call__(self, *words: str, cpu: str = ""):
        command = [*self._command[:1], "-cpu", cpu or self._command[2], *self._command[3:]]
        program = [*command, str(self.folder / "main"), *words]
        return subprocess.run(program, capture_output=True, text=True, timeout=240, check=False, cwd=self.folder)

    def outputs(self, net, given, threads: int) -> dict[str, np.ndarray]:
        """What the program computes of inputs, through files."""
        files = [f"in{k}" for k in range(len(net.inputs))] + [f"out{k}" for k in range(len(net.outputs))]
        for file, spec in zip(files, net.inputs, strict=False):
            np.ascontiguousarray(given[spec.name]).tofile(self.folder / file)
        done = self("-t", str(threads), "-n", "2", *files)
        if done.returncode < 0 and "decode_save_opc: Assertion" in done.stderr:
            pytest.skip("this qemu ends at a conversion of vectors that begins a block (7.2 does)")
        assert done.returncode == 0, done.stderr
        assert f"{threads} threads" in done.stdout
        results = zip(files[len(net.inputs) :], net.outputs, strict=True)
        return {s.name: np.fromfile(self.folder / file, s.dtype).reshape(s.shape) for file, s in results}


@pytest.mark.checks
@pytest.mark.parametrize("name", FOREIGN)
@pytest.mark.parametrize("what", NETWORKS)
def test_networks_compute_the_same_there(name, what, tmp_path):
    target, command = foreign(name)
    machine = Emulated(target.arch, command, tmp_path)
    graph, given = NETWORKS[what]()
    net = wb.compile(graph, target=Target(str(target), threads=4))
    machine.build(net.export(tmp_path / "net.so", main=True))
    want = wb.compile(graph).run(given)
    for threads in (1, 4):
        got = machine.outputs(net, given, threads)
        assert list(got) == list(want)
        for key, expected in want.items():
            assert np.ptp(expected) > 0
            np.testing.assert_allclose(got[key], expected, rtol=1e-5, atol=1e-5)


#: Processor that the code is for, what it is run on, what the program says of it (the first thing that is missing).
LACKING = [
    ("aarch64", "cortex-a72", "fullfp16"),
    ("riscv64", "rv64", "v"),
    ("riscv64", "rv64,v=true,vlen=128,vext_spec=v1.0", "zvl256b"),
]


@pytest.mark.checks
def test_a_processor_that_lacks_something_says_what(tmp_path):
    for name, cpu, lacks in LACKING:
        target, command = foreign(name)
        (tmp_path / lacks).mkdir()
        machine = Emulated(target.arch, command, tmp_path / lacks)
        graph, _ = convolutions()
        machine.build(wb.compile(graph, target=target).export(tmp_path / lacks / "net.so", main=True))
        assert machine().returncode == 0
        done = machine(cpu=cpu)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.endswith(f"lacks a feature that the code was compiled for: {lacks}\n")


@pytest.mark.checks
def test_the_command(tmp_path, capfd):
    target, command = foreign("neon")
    machine = Emulated(target.arch, command, tmp_path)
    words = ["export", str(models.dense(tmp_path / "m.onnx")), "-o", str(tmp_path / "net.so"), "--main", "--json"]
    assert main([*words, "--target", str(target)]) == 0
    said = json.loads(capfd.readouterr().out)
    assert said["main"] == str(tmp_path / "net_main.c")
    made = wb.compile(wb.load_onnx(tmp_path / "m.onnx"), target=target).export(tmp_path / "net.so", main=True)
    machine.build(made)
    assert machine().returncode == 0
    for wrong, text in ((["-x", "1"], "unknown"), (["one"], "give one for each"), (["none", "out"], "not there")):
        done = machine(*wrong)
        assert done.returncode == 1
        assert text in done.stderr


def test_the_program_runs_here(tmp_path):
    """It is the same program for this machine."""
    compiler = cross_toolchain.find_compiler()
    if compiler is None:
        pytest.skip("no C compiler")
    net = Executable(hand_made())
    made = net.export(tmp_path / "net.so", main=True, name="Adder")
    build = [*compiler, *STRICT, made.main.name, "./net.so", "-Wl,-rpath,$ORIGIN", "-o", "main"]
    subprocess.run(build, cwd=tmp_path, check=True, timeout=120)
    files = [f"f{k}" for k in range(len(net.inputs) + len(net.outputs))]
    for file, array in zip(files, feeds().values(), strict=False):
        array.tofile(tmp_path / file)
    done = subprocess.run(["./main", *files], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.startswith("network: ")
    want = net.run(feeds()).values()
    assert [(tmp_path / f).read_bytes() for f in files[len(net.inputs) :]] == [array.tobytes() for array in want]
    for words in (["-n", "0"], ["-n", "many"], ["-t", "-1"]):  # nothing is written that was not computed
        done = subprocess.run(["./main", *words, *files], cwd=tmp_path, capture_output=True, text=True, timeout=60)
        assert (done.returncode, "give a number above 0" in done.stderr) == (1, True)


# ---- what is refused ----


def test_what_is_for_another_machine_does_not_run_here():
    net = wb.compile(residual_net(), target=ARM)
    assert "cortex-a72" in repr(net)
    assert "default schedule" in net._repr_html_()
    given = random_feeds(residual_net(), 0)
    for use in (
        lambda: net.run(given), lambda: net.bind(given), net.benchmark, net.profile, net.record,
        lambda: net.limits(1),
    ):  # fmt: skip
        with pytest.raises(TargetError) as caught:
            use()
        assert caught.value.code == "target.host"
    net.poison()
    net.set_threads(3)
    assert net.threads == 3
    with pytest.raises(UsageError):
        net.set_threads(0)


def test_open_sizes_are_refused():
    model = open_nets.bert(layers=1, width=32, heads=2, words=50, most=16).model
    for graph in (wb.load_onnx(model, dynamic={"n": range(1, 9)}), wb.load_onnx(model)):
        with pytest.raises(ModelError) as caught:
            wb.compile(graph, target=RISCV)
        assert caught.value.code == "model.dynamic_shape"


def test_where_no_library_can_be_made(tmp_path, monkeypatch):
    windows = Target("llvm -mtriple=aarch64-pc-windows-msvc -mcpu=generic")
    with pytest.raises(ExportError) as caught:
        export_library(hand_made(target=str(windows)), tmp_path / "net.so")
    assert caught.value.code == "export.platform"
    with pytest.raises(TargetError) as refused:
        wb.compile(residual_net(), target="c -mtriple=aarch64-linux-gnu -mcpu=generic")
    assert refused.value.code == "target.host"
    with pytest.raises(TargetError) as refused:
        wb.compile(residual_net(), target="llvm -mtriple=sparc-linux-gnu -mcpu=generic")
    assert refused.value.code == "target.backend"
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(cross_toolchain.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(BuildError) as missing:
        export_library(hand_made(target=str(ARM)), tmp_path / "net.so")
    assert (missing.value.code, "ziglang" in missing.value.hint) == ("build.cross", True)
    assert not list(tmp_path.iterdir())


def test_a_name_that_no_program_can_include(tmp_path):
    with pytest.raises(ExportError) as caught:
        export_library(hand_made(), tmp_path / 'a "b".so', main=True)
    assert caught.value.code == "export.name"
    assert not list(tmp_path.iterdir())


def test_a_library_for_another_machine_is_not_opened(tmp_path):
    made = export_library(hand_made(), tmp_path / "net.so").library
    data = bytearray(made.read_bytes())
    data[18:20] = (183).to_bytes(2, "little")
    (tmp_path / "arm.so").write_bytes(data)
    with pytest.raises(TargetError, match="it is for aarch64") as caught:
        wb.load_exported(tmp_path / "arm.so")
    assert caught.value.code == "target.host"


# ---- what is looked for ----


@pytest.mark.parametrize("arch", cpu_features.LOOKED_FOR)
def test_all_that_a_target_can_name_is_looked_for(arch):
    from workbench.architectures import architecture

    made = architecture(arch)
    named = {*made.extensions, *(x for more in made.beyond.values() for x in more)}
    assert set(cpu_features.known(named, arch)) == named
    words = cpu_features.LOOKED_FOR[arch].count
    assert all(0 <= word < words and 0 < mask < 1 << 32 for _, word, mask in cpu_features.checks(named, arch))


def test_what_an_object_file_says_of_itself():
    text = b"\0\1rv64i2p1_m2p0_zicsr2p0_zba1p0_zvl256b1p0\0..."
    assert auxiliary_features.riscv_extensions([text]) == {"m", "zicsr", "zba", "zvl256b"}
