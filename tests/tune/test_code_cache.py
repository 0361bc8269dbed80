"""Compiled kernels on disk: found by content, checked, bounded, safe with several processes."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from errors import models
from errors.test_cli_errors import invoke
from waiting import until

import workbench as wb
from workbench.codegen.backend import build_func
from workbench.ir import Func
from workbench.network import code_cache, kernel_builder
from workbench.network.code_cache import CodeCache
from workbench.network.kernel_builder import build_kernels
from workbench.target import Target

TARGET = Target.host(threads=1)


def func(n=8) -> Func:
    return wb.workloads.matmul(8, n, 8)


@pytest.fixture
def cache(tmp_path):
    return CodeCache(tmp_path / "kernels")


@pytest.fixture
def own_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("WORKBENCH_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("WORKBENCH_CACHE", raising=False)
    return tmp_path / "kernels"


@pytest.fixture
def no_builder(monkeypatch):
    def refuse(*_):
        raise AssertionError("a kernel is built again")

    return lambda: monkeypatch.setattr(kernel_builder, "build_func", refuse)


def test_what_was_put_is_found(cache):
    key = cache.key(func(), TARGET)
    assert cache.get(key, func()) is None
    code = build_func(func(), TARGET, "kernel")
    cache.put(key, code)
    found = cache.get(key, func())
    assert (found.object, found.symbol, found.params) == (code.object, code.symbol, code.params)
    assert (found.shared_bytes, found.per_thread_bytes, found.source) == (code.shared_bytes, code.per_thread_bytes, "")
    (path,) = cache.folder.iterdir()
    assert cache.contents() == code_cache.Contents(1, path.stat().st_size, 0)
    if os.name == "posix":
        assert path.stat().st_mode & 0o077 == 0
        assert cache.folder.stat().st_mode & 0o077 == 0


def test_the_key_is_the_content(monkeypatch):
    schedule = wb.Schedule(func(), TARGET)
    keys = {CodeCache.key(func(), TARGET), CodeCache.key(func(), Target.host(threads=2))}
    keys |= {CodeCache.key(func(16), TARGET), CodeCache.key(wb.workloads.matmul(8, 8, 8, relu=True), TARGET)}
    keys.add(CodeCache.key(func(), Target("llvm -mcpu=haswell -l1=7K -threads=1")))
    schedule.parallel("i")
    keys.add(CodeCache.key(schedule.func, TARGET))
    schedule.annotate("k", "mine", 3)
    keys.add(CodeCache.key(schedule.func, TARGET))
    assert len(keys) == 7
    again = wb.Schedule(func(), TARGET)
    again.parallel("i")
    assert CodeCache.key(again.func, TARGET) in keys
    monkeypatch.setattr(code_cache, "fingerprint", lambda: "another compiler")
    assert CodeCache.key(func(), TARGET) not in keys


def test_a_change_of_the_code_generator_changes_the_fingerprint(monkeypatch, tmp_path):
    changed = tmp_path / "changed.py"
    changed.write_text("a = 1")
    real = code_cache._sources
    monkeypatch.setattr(code_cache, "_sources", lambda root: [*real(root), root / os.path.relpath(changed, root)])
    compute = code_cache.fingerprint.__wrapped__
    first = compute()
    assert compute() == first
    changed.write_text("a = 2")
    assert compute() != first
    names = {p.name for p in real(code_cache.Path(wb.__file__).parent)}
    assert {"loops.py", "x86_64.py", "x86_amx.py", "compact_temporaries.py", "target.py", "host.py"} <= names


DAMAGES = {
    "empty": lambda data, other: b"",
    "cut in the header": lambda data, other: data[:50],
    "cut by a byte": lambda data, other: data[:-1],
    "longer": lambda data, other: data + b"\0",
    "a bit of the code": lambda data, other: data[:-9] + bytes([data[-9] ^ 4]) + data[-8:],
    "a bit of the workspace": lambda data, other: data[:55] + bytes([data[55] ^ 1]) + data[56:],
    "a bit of the checksum": lambda data, other: data[:20] + bytes([data[20] ^ 1]) + data[21:],
    "another version": lambda data, other: b"WBKERN0\n" + data[8:],
    "the entry of another function": lambda data, other: other,
    "zeros": lambda data, other: bytes(len(data)),
    "text": lambda data, other: b"#!/bin/sh\n" * 100,
}


@pytest.mark.parametrize("what", DAMAGES)
def test_damaged_entries_are_built_again(cache, what, monkeypatch):
    right, other = (build_kernels([func(n)], TARGET, 0, cache)[0] for n in (8, 16))
    path, another = (cache._path(cache.key(func(n), TARGET)) for n in (8, 16))
    path.write_bytes(DAMAGES[what](path.read_bytes(), another.read_bytes()))
    assert cache.contents().damaged == 1
    assert cache.get(cache.key(func(), TARGET), func()) is None
    assert not path.exists()
    assert build_kernels([func()], TARGET, 0, cache)[0].object == right.object != other.object
    assert cache.contents().damaged == 0


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_what_others_may_write_is_not_run(cache):
    key = cache.key(func(), TARGET)
    cache.put(key, build_func(func(), TARGET, "kernel"))
    cache._path(key).chmod(0o666)
    assert cache.get(key, func()) is None
    cache._path(key).chmod(0o600)
    assert cache.get(key, func()) is not None


def test_those_that_were_not_used_for_longest_go_first(cache):
    code = build_func(func(), TARGET, "kernel")
    keys = [bytes([k]) * 32 for k in range(10)]
    for age, key in enumerate(keys):
        cache.put(key, code)
        os.utime(cache._path(key), (0, 1000 + age))
    size = cache.contents().nbytes // 10
    left_over = cache.folder / "x.1.tmp"
    left_over.write_bytes(b"half")
    os.utime(left_over, (0, 1000))
    young = cache.folder / "y.1.tmp"
    young.write_bytes(b"being written")
    cache.get(keys[0], func())  # now it is the youngest
    cache.limit = 4 * size + size // 2
    reader = CodeCache(cache.folder, 0)
    reader.trim()
    assert reader.contents().entries == 10, "who writes nothing removes nothing"
    cache.trim()
    assert [k for k in keys if cache._path(k).exists()] == [keys[0], *keys[7:]]
    assert not left_over.exists()
    assert young.exists()


def test_a_network_is_compiled_from_it(own_folder, tmp_path, no_builder):
    graph = wb.load_onnx(models.dense(tmp_path / "m.onnx"))
    x = {n: np.random.default_rng(0).standard_normal(t.shape).astype(t.dtype) for n, t in graph.input_types().items()}
    first = wb.compile(graph, target=TARGET).run(x)
    assert len(list(own_folder.iterdir())) == 2
    no_builder()
    second = wb.compile(graph, target=TARGET).run(x)
    for name in first:
        np.testing.assert_array_equal(first[name], second[name])
    with pytest.raises(AssertionError, match="built again"):
        wb.compile(graph, target=Target.host(threads=2))


def test_it_can_be_off_and_other_compilers_are_not_in_it(own_folder, tmp_path, monkeypatch):
    for kind in ("c", "cuda", "opencl", "cpu-simt"):
        assert code_cache.code_cache(Target(kind)) is None
    assert code_cache.code_cache(TARGET).folder == own_folder
    for word in ("0", "off", "No", " false "):
        monkeypatch.setenv("WORKBENCH_CACHE", word)
        assert code_cache.code_cache(TARGET) is None
    wb.compile(wb.load_onnx(models.dense(tmp_path / "m.onnx")), target=TARGET)
    assert not own_folder.exists()
    monkeypatch.setenv("WORKBENCH_CACHE", "1")
    assert code_cache.enabled()


def test_what_a_search_builds_is_not_kept(own_folder):
    with wb.tune(wb.workloads.matmul(16, 16, 16), trials=3, target=TARGET) as session:
        assert session.wait(120)
        assert any(record.ok for record in session.records)
    wb.Schedule(func(), TARGET).build()
    assert not own_folder.exists()


def test_a_folder_that_cannot_be_used_is_left_alone(own_folder, tmp_path, no_builder):
    own_folder.write_text("a file where the folder should be")
    graph = wb.load_onnx(models.dense(tmp_path / "m.onnx"))
    wb.compile(graph, target=TARGET)
    assert own_folder.read_text().startswith("a file")
    assert CodeCache(own_folder).contents().entries == 0
    assert CodeCache(own_folder).clear() == 0


def test_a_user_without_a_home(monkeypatch, tmp_path):
    def nowhere():
        raise RuntimeError("Could not determine home directory.")

    for name in ("WORKBENCH_CACHE_DIR", "WORKBENCH_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pathlib.Path.home", nowhere)
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    assert tmp_path in code_cache.folder().parents
    wb.compile(wb.load_onnx(models.dense(tmp_path / "m.onnx")), target=TARGET)
    assert CodeCache(code_cache.folder()).contents().entries == 2


WORKER = """
import sys
from pathlib import Path
import workbench as wb
from workbench.target import Target
from workbench.network.kernel_builder import build_kernels
from workbench.network.code_cache import CodeCache

mine, folder = int(sys.argv[1]), Path(sys.argv[2])
funcs = [wb.workloads.matmul(8, 8, 8 + k) for k in range(6)]
target = Target.host(threads=1)
cache = CodeCache(folder, 20_000)
want = None
for turn in range(8):
    codes = build_kernels(funcs[mine % 3:] + funcs[:mine % 3], target, 0, cache)
    found = sorted(code.object for code in codes)
    assert want is None or found == want
    want = found
    if turn % 4 == mine % 4:
        cache.clear()
"""


def test_several_processes_use_one_folder(cache):
    crew = [
        subprocess.Popen([sys.executable, "-c", WORKER, str(k), str(cache.folder)], stderr=subprocess.PIPE)
        for k in range(4)
    ]
    try:
        for process in crew:
            _, said = process.communicate(timeout=120)
            assert process.returncode == 0, said.decode()
    finally:
        for process in crew:
            process.kill()
    assert cache.contents().damaged == 0
    assert not list(cache.folder.glob("*.tmp"))


def test_command_line(own_folder, tmp_path, capfd):
    wb.compile(wb.load_onnx(models.dense(tmp_path / "m.onnx")), target=TARGET)
    (tmp_path / "peak-1.json").write_text("{}")
    (tmp_path / "mine.txt").write_text("not ours to remove")
    next(own_folder.iterdir()).write_bytes(b"?")
    code, out, _ = invoke(capfd, "cache", "--json")
    found = json.loads(out)
    assert code == 0
    assert {k: found[k] for k in ("folder", "enabled", "kernels", "damaged", "measurements")} == {
        "folder": str(tmp_path), "enabled": True, "kernels": 2, "damaged": 1, "measurements": 1}  # fmt: skip
    assert 0 < found["bytes"] < found["limit_bytes"]
    code, out, _ = invoke(capfd, "cache")
    assert (code, "Damaged: 1" in out) == (0, True)
    code, out, _ = invoke(capfd, "cache", "--clear")
    assert (code, "Removed 3 files" in out) == (0, True)
    assert list(own_folder.iterdir()) == []
    assert {p.name for p in tmp_path.iterdir()} == {"kernels", "m.onnx", "mine.txt"}


def test_helpers_begin_while_functions_are_still_being_made():
    """Time in which the caller is not compiling is not lost."""
    with kernel_builder.KernelBuilder(TARGET, helpers=1, expected=40) as builder:
        for n in range(12):
            builder.add(func(8 + n))
        assert builder._helpers is not None

        def shared() -> bool:
            builder._share(least=0)
            return len(builder._results) >= 4

        until(shared)
        codes = builder.codes()
    assert [c.params[-1].shape for c in codes] == [(8, 8 + n) for n in range(12)]
