"""The system's C compiler: how it is called, what it refuses, what it leaves behind."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import replace

import numpy as np
import pytest
from codegen.test_c import TARGET, compiled_here, tiled
from runtime.test_measure import gone

from workbench import te, workloads
from workbench.codegen.backend import build_func, generate_func
from workbench.codegen.c import compiler
from workbench.errors import BuildError
from workbench.ir import Binary, For, Load
from workbench.ir.interpreter import interp
from workbench.ir.stmt import rewrite
from workbench.runtime.kernel import Kernel
from workbench.runtime.results.measure_options import MeasureOptions
from workbench.runtime.workers.batch import MeasureInput
from workbench.runtime.workers.local_runner import LocalRunner
from workbench.schedule import Schedule
from workbench.target import Target


@compiled_here
def test_measured_like_any_other():
    done = tiled().measure(repeat=3)
    assert done.ok, done.error
    assert done.repeats == 3


@compiled_here
def test_assembly_uses_the_target():
    s = tiled()
    if TARGET.arch != "x86_64":
        pytest.skip("looks at x86 registers")
    assert "%xmm" in (plain := s.build(target="c -mcpu=x86-64").asm)
    assert "%ymm" not in plain
    assert "%ymm" in (haswell := s.build(target="c -mcpu=haswell").asm)
    assert "vfmadd" in haswell
    assert "%zmm" not in haswell
    assert "%zmm" in s.build(target="c -mcpu=skylake-avx512").asm


def test_without_a_compiler(monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler")
    s = tiled()
    kernel = s.build()
    assert "for (int64_t k" in kernel.source
    ones = np.ones((64, 64), "f4")
    for call in (lambda: kernel(ones, ones), lambda: kernel.asm, s.measure, lambda: build_func(s.func, TARGET)):
        with pytest.raises(BuildError) as e:
            call()
        assert e.value.code == "build.compiler"
        assert "no-such-compiler" in e.value.message


def test_a_compiler_that_nobody_can_read(monkeypatch):
    """A quotation mark without its fellow in $CC is told, like a compiler that is not there."""
    monkeypatch.setenv("CC", "gcc '-O1")
    assert compiler.find_compiler() is None
    with pytest.raises(BuildError) as e:
        build_func(tiled().func, TARGET)
    assert e.value.code == "build.compiler"
    assert "gcc '-O1" in e.value.message


@compiled_here
@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a shell script")
def test_a_measurement_uses_the_compiler_of_the_moment(monkeypatch, tmp_path):
    real = " ".join(compiler.find_compiler())
    script = tmp_path / "cc"
    script.write_text(f'#!/bin/sh\n[ "$1" = -dumpmachine ] && exec {real} "$@"\necho I will not >&2\nexit 1\n')
    script.chmod(0o755)
    s = Schedule(workloads.matmul(4, 4, 4), TARGET)
    assert s.measure(repeat=1).ok
    monkeypatch.setenv("CC", str(script))
    refused = s.measure(repeat=1)
    assert refused.status == "build_error"
    assert "I will not" in refused.error
    monkeypatch.delenv("CC")
    assert s.measure(repeat=1).ok


PROGRAM = """
import numpy as np
from workbench import te
from workbench.schedule import Schedule

x = te.placeholder((4,), name="größe")
kernel = Schedule(te.func(te.compute((4,), lambda ж: x[ж] * 2.0, name="Y"))).build(target="c")
assert (kernel(np.ones(4, "f4")) == 2).all()
assert "kernel:" in kernel.asm
"""


@compiled_here
def test_names_that_the_locale_does_not_have(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    env = os.environ | {"PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0", "LC_ALL": "C"}
    command = [sys.executable, str(tmp_path / "program.py")]
    done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=100, check=False)
    assert done.returncode == 0, done.stderr


@compiled_here
@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a shell script")
def test_nothing_is_left_behind(monkeypatch, tmp_path):
    """Whatever a compiler that fails or is killed leaves lies in a folder that goes."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temp"))
    (tmp_path / "temp").mkdir()
    real = " ".join(compiler.find_compiler())
    script = tmp_path / "cc"
    text = '#!/bin/sh\n[ "$1" = -dumpmachine ] && exec {} "$@"\necho x > "$TMPDIR/left.s"\n{}\n'
    f = workloads.matmul(4, 4, 4)
    for end in ("exit 3", "kill -9 $$", f'exec {real} "$@"'):
        script.write_text(text.format(real, end))
        script.chmod(0o755)
        monkeypatch.setenv("CC", str(script))
        if end.startswith("exec"):
            assert build_func(f, TARGET).object
        else:
            with pytest.raises(BuildError) as e:
                build_func(f, TARGET)
            assert e.value.code == "build.c"
        assert not list((tmp_path / "temp").iterdir())


@compiled_here
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.timeout(120)
def test_a_compiler_goes_with_the_builder_that_is_killed(monkeypatch, tmp_path):
    said, real = tmp_path / "pid", " ".join(compiler.find_compiler())
    script = tmp_path / "cc"
    script.write_text(
        f'#!/bin/sh\n[ "$1" = -dumpmachine ] && exec {real} "$@"\n'
        f'case "$*" in *-fPIC*) sleep 100 & echo $! > {said}.new; mv {said}.new {said}; wait;; esac\nexit 0\n'
    )
    script.chmod(0o755)
    monkeypatch.setenv("CC", str(script))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setenv("TMPDIR", str(temp := tmp_path / "temp"))
    temp.mkdir()
    f = workloads.matmul(4, 4, 4)
    with LocalRunner(TARGET, MeasureOptions(build_timeout_s=1.0), builders=1) as runner:
        done = runner.measure(MeasureInput("t", f, f))
    assert done.status == "build_error"
    assert "1 s" in done.error
    assert gone(int(said.read_text()))
    assert not list(temp.iterdir())


@compiled_here
def test_a_compiler_for_another_machine(monkeypatch):
    other = Target("c -mtriple=riscv64-unknown-linux-gnu -mcpu=generic")
    kernel = tiled().build(target=other)
    assert "kernel" in kernel.source
    with pytest.raises(BuildError) as e:
        _ = kernel.asm
    assert e.value.code == "build.compiler"
    assert "riscv64" in e.value.message


def test_an_operation_that_c_does_not_have():
    a = te.placeholder((4,), "int32", name="A")
    f = te.func(te.compute((4,), lambda i: a[i] + a[i], name="Y"))

    def fn(s):
        return None if isinstance(s, For) else (replace(s, value=Binary("pow", s.value, Load("A", s.value.a.index))),)

    with pytest.raises(BuildError) as e:
        generate_func(replace(f, body=rewrite(f.body, fn)), TARGET)
    assert e.value.code == "build.operation"


@compiled_here
def test_options_of_the_user_win(monkeypatch):
    command = " ".join(compiler.find_compiler())
    monkeypatch.setenv("CC", f"{command} -O0")
    f = tiled().func
    slow = build_func(f, TARGET)
    monkeypatch.delenv("CC")
    assert slow.object != build_func(f, TARGET).object
    inputs = interp.random_inputs(f)
    np.testing.assert_allclose(Kernel(f, slow, TARGET)(**inputs), interp.run(f, inputs)["C"], rtol=1e-4, atol=1e-4)
