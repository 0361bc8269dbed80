"""What every declared backend has to do: contract tests over the registry."""

from __future__ import annotations

import contextlib
import functools
from dataclasses import replace

import numpy as np
import pytest

from workbench import te, workloads
from workbench.cli.commands.doctor import _backends_text
from workbench.codegen.backend import (
    Backend,
    backend_for,
    backends,
    backends_here,
    build_func,
    generate_func,
    require_runnable,
)
from workbench.errors import BuildError, ScheduleError, TargetError
from workbench.ir import Affine, For, Func, HoleInfo, Stmt
from workbench.ir.interpreter import interp
from workbench.ir.stmt import rewrite, subst_loops
from workbench.runtime.kernel import Kernel
from workbench.schedule import Schedule
from workbench.target import Target

HERE = Target.host(threads=2)
#: A small instance of each workload is what `workloads.ALL` makes by default.
WORKLOADS = sorted(workloads.ALL)


def targets(backend: Backend) -> list[Target]:
    """This machine where the backend serves it, and a plain CPU of every architecture that it names."""
    arches = [a for a in backend.arches or (HERE.arch,) if a != HERE.arch]
    out = [Target(f"{backend.kind} -mtriple={a}-unknown-linux-gnu -mcpu=generic -threads=2") for a in arches]
    native = Target(backend.kind, threads=2)
    return [*([native] if backend.serves(native) else []), *out]


#: What `any_nest` says no of has tests of its own.
CASES = [pytest.param(b, t, id=f"{b.name}-{t.arch}") for b in backends if b.any_nest for t in targets(b)]


@functools.cache
def expected(name: str) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    func = workloads.ALL[name]()
    inputs = interp.random_inputs(func, seed=3)
    return inputs, interp.run(func, inputs)


def scheduled(func: Func, target: Target) -> Schedule:
    """Reorder, vectorise, unroll and run in parallel as far as that is legal."""
    s = Schedule(func, target)

    def attempt(primitive: str, *names: str) -> bool:
        try:
            getattr(s, primitive)(*names)
        except ScheduleError:
            return False
        return True

    rows = False
    for b in s.blocks:
        loops = [lp for lp, _ in ((s.func.loop(lp.name)) for lp in s.func.block(b.name)[1])]
        last = loops[-1]
        attempt("parallel", loops[0].name)
        spatial = [lp for lp in loops[1:] if lp.name.split("_")[-1] not in ("k", "kh", "kw", "c", "e")]
        rows |= bool(spatial)
        if spatial and spatial[-1] is not last and attempt("reorder", last.name, spatial[-1].name):
            last = spatial[-1]
        attempt("vectorize", last.name)
        if len(loops) > 2 and loops[-2].extent <= 8:
            attempt("unroll", loops[-2].name)
    done = [step.to_json()["primitive"] for step in s.trace]
    assert len(done) >= len(s.blocks)
    assert "vectorize" in done or not rows
    return s


def check(schedule: Schedule, name: str, target: Target) -> None:
    code = build_func(schedule.func, target, poison=True)
    assert len(code.object) > 100
    assert code.symbol in code.source
    if target.missing_here() or backend_for(target).run_problem(target) is not None:
        return
    inputs, want = expected(name)
    got = Kernel(schedule.func, code, target, poison=True)(**inputs)
    for b, y in zip(schedule.func.outputs, got if isinstance(got, tuple) else (got,), strict=True):
        scale = max(1e-30, float(np.max(np.abs(want[b.name].astype("f8")))))
        near = np.abs(y.astype("f8") - want[b.name].astype("f8")) <= 1e-5 * scale
        assert near.all(), f"{(~near).sum()} of {near.size} elements of {b.name}\n{code.source}"


@pytest.mark.parametrize(("backend", "target"), CASES)
@pytest.mark.parametrize("name", WORKLOADS)
def test_builds_every_workload(backend, target, name):
    if backend.compiler_problem(target):
        pytest.skip("there is no compiler")
    func = workloads.ALL[name]()
    check(Schedule(func, target), name, target)
    check(scheduled(func, target), name, target)


def test_declarations():
    assert {"llvm", "c"} <= {b.kind for b in backends} == set(backends.kinds)
    assert len(set(backends.names)) == len(list(backends)) >= 3
    for b in backends:
        assert backends[b.name] is b
        assert b.title
        assert b.language
        for t in targets(b):
            assert backend_for(t) is b
            assert [x.name for x in backends if x.serves(t)] == [b.name]
    assert require_runnable(HERE) is None


@pytest.mark.parametrize(("backend", "target"), CASES)
def test_refusals(backend, target):
    func = workloads.matmul(8, 8, 8)
    with pytest.raises(BuildError) as e:
        build_func(replace(func, holes=(HoleInfo("t"),)), target)
    assert e.value.code == "build.holes"
    if not backend.compiler_problem(target):
        with pytest.raises(BuildError) as e:
            backend.compile("this is no program", target)
        assert e.value.code in ("build.llvm", "build.c", "build.opencl", "build.cuda")
        assert "expected" in str(e.value) or "unknown type name" in str(e.value)


@pytest.mark.parametrize(("backend", "target"), CASES)
def test_texts_of_a_kernel(backend, target):
    """A kernel has its text and its assembly wherever they can be made; it runs where the machine can."""
    s = Schedule(workloads.matmul(8, 8, 8), target)
    kernel = s.build()
    assert kernel.source == generate_func(s.func, target).source
    if not backend.compiler_problem(target):
        if backend.language == "OpenCL C":  # a driver may keep it to itself
            with contextlib.suppress(BuildError):
                assert kernel.asm
        elif backend.language == "CUDA C" and backend.kind == "cuda":
            with contextlib.suppress(BuildError):  # nvdisasm is one more package
                assert "kernel0:" in kernel.asm
        else:
            assert "kernel:" in kernel.asm
    if backend.language == "LLVM":
        assert kernel.llvm == kernel.source
    else:
        with pytest.raises(BuildError) as e:
            _ = kernel.llvm
        assert e.value.code == "build.language"
    ones = np.ones((8, 8), "f4")
    if (problem := backend.run_problem(target)) is None:
        assert (kernel(ones, ones) == 8).all()
        return
    for call in (lambda: kernel(ones, ones), lambda: s.measure(), lambda: require_runnable(target)):
        with pytest.raises((TargetError, BuildError)) as caught:
            call()
        assert caught.value.code == problem.code in ("target.host", "target.device", "build.compiler")


@pytest.mark.parametrize(("backend", "target"), CASES)
def test_names_in_any_writing(backend, target):
    """Names of loops, buffers and functions go into the text, whatever letters they are written in."""
    x = te.placeholder((40, 8), name="größe")
    f = te.func(te.compute((40, 8), lambda ä, ж: x[ä, ж] * 2.0, name="出力"), 'f"\n}')
    for marks in ({}, {"ж": "vectorize"}, {"ä": "parallel"}):
        s = Schedule(f, target)
        for name, kind in marks.items():
            getattr(s, kind)(name)
        if backend.run_problem(target) is None:
            assert (s.build(poison=True)(np.ones((40, 8), "f4")) == 2).all()
        elif backend.compiler_problem(target) is None:
            assert build_func(s.func, target).object
    numbered = replace(f, body=subst(f.body, {"ä": "1", "ж": "2.x"}))
    assert generate_func(numbered, target).source
    if backend.compiler_problem(target) is None:
        assert build_func(numbered, target).object


def subst(body: tuple[Stmt, ...], names: dict[str, str]) -> tuple[Stmt, ...]:
    """Rename loops."""
    env = {old: Affine.var(new) for old, new in names.items()}
    return rewrite(
        subst_loops(body, env), lambda s: (replace(s, name=names.get(s.name, s.name)),) if isinstance(s, For) else None
    )


@pytest.mark.parametrize("symbol", ["", "9", "a b", 'k() {}\nvoid evil"', "größe", "a\n"])
@pytest.mark.parametrize(("backend", "target"), CASES)
def test_symbols_that_are_no_names(backend, target, symbol):
    for make in (generate_func, build_func):
        with pytest.raises(BuildError) as e:
            make(workloads.matmul(4, 4, 4), target, symbol)
        assert e.value.code == "build.symbol"


def test_a_target_that_nobody_serves():
    lonely = Target("llvm -mtriple=sparcv9-unknown-linux-gnu -mcpu=generic")
    for call in (backend_for, functools.partial(build_func, workloads.matmul(8, 8, 8))):
        with pytest.raises(TargetError) as e:
            call(lonely)
        assert e.value.code == "target.backend"
    assert generate_func(workloads.matmul(8, 8, 8), Target("c -mtriple=sparcv9-unknown-linux-gnu -mcpu=generic")).source


def test_what_each_can_do_here(monkeypatch):
    rows = {r["name"]: r for r in backends_here()}
    assert set(rows) == set(backends.names)
    assert rows[backend_for(HERE).name]["runs"]
    for b in backends:
        assert rows[b.name]["runs"] == (b.run_problem(targets(b)[0]) is None)
    monkeypatch.setenv("CC", "no-such-compiler")
    rows = {r["name"]: r for r in backends_here()}
    assert (rows["c"]["runs"], rows["c"]["compiles"]) == (False, False)
    text = _backends_text(list(rows.values()))
    assert "prints only" in text
    assert "no-such-compiler" in text
    assert "runs here" in text


@pytest.mark.parametrize("cast", [False, True])
def test_half_precision_without_instructions_for_it(cast):
    old = "-mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64"
    x = te.placeholder((20,), "float32" if cast else "float16", name="X")
    f = te.func(te.compute((20,), lambda i: te.cast(te.cast(x[i], "float16"), "float32"), name="Y"))
    with pytest.raises(BuildError) as e:
        build_func(f, Target(f"llvm {old}"))
    assert e.value.code == "build.dtype"
    assert build_func(f, Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=haswell")).object
    assert "float16" in generate_func(f, Target(f"c {old}")).source
