"""Exported networks compute what executables compute, and what cannot be exported is refused."""

from __future__ import annotations

import itertools
import os
import shutil
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from errors import models
from export.networks import BYTES, N, feeds, hand_made, same, with_step
from graph.nets import random_feeds, residual_net
from runtime.llvm_kernels import ADD, code

import workbench as wb
from workbench.cli import main
from workbench.codegen.c.compiler import find_compiler
from workbench.codegen.llvm.llvmlite_binding import compile_ir
from workbench.errors import BuildError, WorkbenchError
from workbench.graph.seeded_weights import fill_weights
from workbench.network.compile import execute
from workbench.runtime.execution.executable import Executable
from workbench.runtime.export.elf import for_library
from workbench.runtime.export.write_library import export_library
from workbench.runtime.networks.execution_plan import ArraySpec, CallPlan, ExecutablePlan, Slot


@pytest.mark.parametrize("threads", [1, 2])
def test_hand_made(tmp_path, threads):
    executable = Executable(hand_made(threads))
    made = executable.export(tmp_path / "net.so")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["net.h", "net.so"]
    assert (made.library, made.header, made.prefix) == (tmp_path / "net.so", tmp_path / "net.h", "network")
    loaded = wb.load_exported(made.library)
    assert loaded.threads == threads
    assert (loaded.inputs, loaded.outputs) == (executable.inputs, executable.outputs)
    for seed in range(3):
        want = executable.run(feeds(seed))
        assert np.array_equal(want["gpu_0/y"].reshape(16, 16), (feeds(seed)["x"] + np.float32(1)) + np.float32(2))
        assert same(loaded.run(feeds(seed)), want)


def test_a_network_of_ours(tmp_path):
    graph = residual_net()
    executable = wb.compile(graph)
    loaded = wb.load_exported(executable.export(tmp_path / "net.so").library)
    for seed in range(2):
        given = random_feeds(graph, seed)
        assert same(loaded.run(given), executable.run(given))
    for threads in (1, 3, 2):
        loaded.set_threads(threads)
        assert same(loaded.run(given), executable.run(given))


def test_kernels_from_the_c_backend(tmp_path):
    if find_compiler() is None:
        pytest.skip("no C compiler")
    graph = residual_net()
    executable = wb.compile(graph, target="c")
    loaded = wb.load_exported(executable.export(tmp_path / "net.so").library)
    given = random_feeds(graph, 1)
    assert same(loaded.run(given), executable.run(given))


def test_no_inputs_no_calls_and_nothing_in_an_array(tmp_path):
    """The least that a network can be: a constant and an empty array."""
    plan = ExecutablePlan(
        inputs=(), outputs=(ArraySpec("c", (3,)), ArraySpec("e", (0, 4))), constants=(np.arange(3, dtype="f4"),
        np.zeros((0, 4), "f4")), arena_bytes=0, calls=(), output_slots=(Slot("const", 0), Slot("const", 1)),
    )  # fmt: skip
    found = wb.load_exported(export_library(plan, tmp_path / "net.so").library).run()
    assert same(found, {"c": np.arange(3, dtype="f4"), "e": np.zeros((0, 4), "f4")})


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50", "shufflenet", "squeezenet", "vgg19",
     "zfnet512"],
)  # fmt: skip
def test_light_models(tmp_path, name):
    graph = wb.load_onnx(fill_weights(f"light_{name}", 0, execute))
    executable = wb.compile(graph)
    loaded = wb.load_exported(executable.export(tmp_path / "net.so").library)
    given = random_feeds(graph, 3)
    want = executable.run(given)
    assert all(np.ptp(array) > 0 for array in want.values())
    assert same(loaded.run(given), want)


@pytest.mark.slow
def test_constants_of_more_than_a_gigabyte(tmp_path):
    """They lie behind everything else, so that code still reaches what it needs."""
    far = np.zeros((1 << 30) // 4 + N, "float32")
    plan = hand_made(constants=(np.full(5, 3, "int8"), np.full(N, 7, "float32"), far))
    loaded = wb.load_exported(export_library(plan, tmp_path / "net.so").library)
    assert same(loaded.run(feeds()), Executable(plan).run(feeds()))


# ---- where it is written ----


@pytest.mark.parametrize(
    "name", ["my net.so", "größe, 网络.so", "net", "net.so.1", "-net.so", "$(x)'\".so", "a;b&c.so"]
)
def test_odd_file_names(tmp_path, monkeypatch, name):
    folder = tmp_path / "a folder, größer"
    folder.mkdir()
    monkeypatch.chdir(folder)
    made = export_library(hand_made(), name)
    assert made.library == Path(name)
    assert len(list(folder.iterdir())) == 2
    assert same(wb.load_exported(name).run(feeds()), Executable(hand_made()).run(feeds()))


def unwritable(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "closed").mkdir(mode=0o500)
    yield tmp_path, "a directory"
    yield tmp_path / "missing" / "net.so", "no directory"
    yield tmp_path / "file" / "net.so", "no directory"
    yield Path("/proc/net.so"), ""  # not even root may
    yield tmp_path / "net.h", "header"
    if os.geteuid():
        yield tmp_path / "closed" / "net.so", "denied"


def test_where_it_cannot_be_written(tmp_path):
    for path, text in unwritable(tmp_path):
        with pytest.raises(WorkbenchError) as caught:
            export_library(hand_made(), path)
        assert caught.value.code == "export.unwritable", path
        assert text in caught.value.message
    for name in ("n" * 300 + ".so", "n\0.so", "\ud800.so"):
        with pytest.raises(WorkbenchError) as caught:
            export_library(hand_made(), tmp_path / name)
        assert caught.value.code == "usage.path"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["closed", "file"]


def test_a_file_that_is_there_is_replaced(tmp_path):
    """Also for a process that has it open: the old network stays what it was."""
    path = tmp_path / "net.so"
    export_library(hand_made(), path)
    old = wb.load_exported(path)
    export_library(hand_made(value=5.0), path)
    new = wb.load_exported(path)
    assert same(old.run(feeds()), Executable(hand_made()).run(feeds()))
    assert same(new.run(feeds()), Executable(hand_made(value=5.0)).run(feeds()))
    assert not same(old.run(feeds()), new.run(feeds()))


# ---- what cannot be exported ----

REFUSED = [
    (with_step(hand_made()), {}, "export.steps"),
    (hand_made(target="llvm -mtriple=aarch64-apple-darwin"), {}, "export.platform"),
    (hand_made(), {"name": "7up"}, "export.name"),
    (hand_made(), {"name": "a-b"}, "export.name"),
    (hand_made(), {"name": ""}, "export.name"),
    (hand_made(), {"name": "timer"}, "export.name"),
    (hand_made(), {"name": 7}, "usage.type"),
    (hand_made(), {"threads": 0}, "run.threads"),
    (hand_made(arena_bytes=64), {}, "build.plan"),
]


@pytest.mark.parametrize(("plan", "options", "error"), REFUSED)
def test_refused(tmp_path, plan, options, error):
    with pytest.raises(WorkbenchError) as caught:
        export_library(plan, tmp_path / "net.so", **options)
    assert caught.value.code == error
    assert not list(tmp_path.iterdir())


def test_steps_are_named(tmp_path):
    with pytest.raises(WorkbenchError, match=r"1 of 4 steps.*n7: NonZero \(no nest\)") as caught:
        export_library(with_step(hand_made()), tmp_path / "net.so")
    assert caught.value.where == ("n7: NonZero",)


def test_another_platform(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.platform", "darwin")
    with pytest.raises(WorkbenchError) as caught:
        export_library(hand_made(), tmp_path / "net.so")
    assert caught.value.code == "export.platform"


def test_names_become_identifiers(tmp_path):
    for name, prefix in {
        "torch-jit export/1": "torch_jit_export_1",
        "3d": "net_3d",
        "日本": "network",
        "pthread": "net_pthread",
        "": "network",
        "x" * 99: "x" * 56,
    }.items():
        assert export_library(hand_made(name=name), tmp_path / "net.so").prefix == prefix


# ---- linkers ----


def only(monkeypatch, tmp_path, *tools):
    """Nothing but these tools is on the path."""
    folder = tmp_path / "bin"
    folder.mkdir(exist_ok=True)
    for tool in tools:
        found = shutil.which(tool)
        if found is None:
            pytest.skip(f"no {tool}")
        (folder / tool).symlink_to(os.path.realpath(found))
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("CC", raising=False)


@pytest.mark.parametrize("tool", ["ld", "ld.gold", "ld.lld", "gcc", "clang"])
def test_one_tool_is_enough(tmp_path, monkeypatch, tool):
    only(monkeypatch, tmp_path, tool, *(["ld"] if tool == "gcc" else []))
    made = export_library(hand_made(2), tmp_path / "net.so")
    assert same(wb.load_exported(made.library).run(feeds()), Executable(hand_made()).run(feeds()))


def test_no_linker(tmp_path, monkeypatch):
    only(monkeypatch, tmp_path)
    with pytest.raises(BuildError) as caught:
        export_library(hand_made(), tmp_path / "net.so")
    assert caught.value.code == "build.linker"
    assert "gcc" in caught.value.hint
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(BuildError, match="no-such-compiler"):
        export_library(hand_made(), tmp_path / "net.so")


def test_a_linker_that_refuses(tmp_path, monkeypatch):
    monkeypatch.setenv("CC", "false")
    with pytest.raises(BuildError) as caught:
        export_library(hand_made(), tmp_path / "net.so")
    assert caught.value.code == "build.link"
    assert not (tmp_path / "net.so").exists()


# ---- object files ----


def relocations(code):
    """(section, type) of every relocation of an object file."""
    table, count = struct.unpack_from("<Q", code, 0x28)[0], struct.unpack_from("<H", code, 0x3C)[0]
    sections = [struct.unpack_from("<IIQQQQIIQQ", code, table + 64 * i) for i in range(count)]
    for section in sections:
        if section[1] == 4:
            for at in range(section[4], section[4] + section[5], 24):
                yield sections[section[7]][2], struct.unpack_from("<I", code, at + 8)[0]


def test_code_has_no_addresses_and_data_may_be_written():
    text = """
    @data = internal constant [2 x ptr] [ptr @kernel, ptr @other]
    declare void @other()
    define void @kernel(ptr %b) {
      call void @other()
      %p = load volatile ptr, ptr @data
      ret void
    }"""
    before = compile_ir(text)
    after = for_library(before, ("kernel", "new_name"))
    assert len([r for r in relocations(before) if r[0] & 4 and r[1] == 1]) >= 2
    assert not [r for r in relocations(after) if r[0] & 4 and r[1] == 1]
    assert all(flags & 1 for flags, kind in relocations(after) if kind == 1)  # data: writable until it is filled in
    assert b"new_name\0" in after


def test_an_address_that_cannot_be_replaced():
    text = """define i64 @kernel() {
      %v = call i64 asm sideeffect "movabsq other, %rax", "={ax}"()
      ret i64 %v
    }"""
    with pytest.raises(BuildError) as caught:
        for_library(compile_ir(text), ("kernel", "k"))
    assert caught.value.code == "build.link"


@pytest.mark.parametrize("damaged", [b"", b"\x7fELF", bytes(4096), None])
def test_what_is_no_object_file(damaged):
    data = compile_ir("define void @kernel() {\n ret void\n}")[:200] if damaged is None else damaged
    with pytest.raises(BuildError) as caught:
        for_library(data, ("kernel", "k"))
    assert caught.value.code == "build.link"


def test_a_missing_symbol():
    with pytest.raises(BuildError, match="does not define elsewhere"):
        for_library(compile_ir("define void @kernel() {\n ret void\n}"), ("elsewhere", "k"))


def test_equal_kernels_are_written_once(tmp_path):
    kernel = code(ADD, N, 1.0)
    chain = [Slot("input", 0), Slot("arena", 0), Slot("arena", BYTES), Slot("arena", 0), Slot("output", 0)]
    calls = tuple(CallPlan(f"c{i}", replace(kernel), (a, b)) for i, (a, b) in enumerate(itertools.pairwise(chain)))
    plan = ExecutablePlan((ArraySpec("x", (N,)),), (ArraySpec("y", (N,)),), (), 2 * BYTES, calls)
    made = export_library(plan, tmp_path / "net.so")
    assert b"wb_kernel0\0" in made.library.read_bytes()
    assert b"wb_kernel1\0" not in made.library.read_bytes()
    assert np.array_equal(wb.load_exported(made.library).run(np.zeros(N, "f4"))["y"], np.full(N, 4, "f4"))


# ---- the command ----


def test_command(tmp_path, capfd):
    import json

    model = models.dense(tmp_path / "m.onnx")
    assert (
        main(["export", str(model), "-o", str(tmp_path / "net.so"), "--threads", "1", "--name", "two", "--json"]) == 0
    )
    said = json.loads(capfd.readouterr().out)
    assert said["prefix"] == "two"
    assert Path(said["header"]).read_text().count("two_run")
    x = np.random.default_rng(0).standard_normal((8, 64)).astype("float32")
    got = wb.load_exported(said["library"], threads=2).run(x)["out/y"]
    np.testing.assert_allclose(got, models.dense_reference(model, x), rtol=1e-4, atol=1e-4)
    assert main(["export", str(model), "-o", str(tmp_path / "none" / "net.so")]) == 3
    assert "[export.unwritable]" in capfd.readouterr().err
    assert main(["export", str(model)]) == 2
