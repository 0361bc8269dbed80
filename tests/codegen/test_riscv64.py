"""Code for RISC-V, made here and read: no such machine is needed."""

from __future__ import annotations

import re

import pytest
from codegen.test_aarch64 import hot_loop

from workbench import te, workloads
from workbench.codegen.backend import build_func
from workbench.errors import BuildError
from workbench.schedule import Schedule
from workbench.target import Target

PLAIN = "llvm -mtriple=riscv64-linux-gnu -mcpu=generic"


def calls(asm: str) -> set[str]:
    return set(re.findall(r"^\s+call\s+(\S+)", asm, re.MULTILINE))


@pytest.mark.parametrize(("extra", "bits"), [("", 128), (",+zvl256b", 256), (",+zvl256b,+zvl512b", 512)])
def test_a_vector_is_a_register(extra, bits):
    target = Target(f"{PLAIN} -mattr=+v{extra}")
    assert (8 * target.vector_bytes, target.vector_registers) == (bits, 32)
    s = Schedule(workloads.matmul(64, 64, 64), target)
    i1 = s.split("i", [None, 4])[1]
    j1 = s.split("j", [None, 2 * target.lanes("float32")])[1]
    s.reorder("i.0", "j.0", "k", i1, j1)
    s.vectorize(j1)
    s.unroll(i1)
    asm = s.build().asm
    assert re.search(r"vset\w*vli\s+\w+, \w+, e32, m1\b", asm)
    body = hot_loop(asm, "vfm")
    fused = [x for x in body if re.match(r"vfm(acc|add)\.v[fv]", x)]
    assert fused
    assert len(fused) % 8 == 0
    assert not [x for x in body if re.match(r"vs\d?r?e?\d*\.v|vfmul|vfadd|call", x)]
    assert not calls(asm)


def test_without_the_extension_there_are_no_vectors():
    s = Schedule(workloads.matmul(32, 32, 32), Target(PLAIN))
    s.reorder("k", "j")
    s.vectorize("j")
    assert not re.search(r"^\s+v(set|le|fm)", s.build().asm, re.MULTILINE)


@pytest.mark.parametrize("name", sorted(workloads.ALL))
@pytest.mark.parametrize("extra", ["", " -mattr=+v"])
def test_no_workload_needs_another_machine(name, extra):
    kernel = Schedule(workloads.ALL[name](), Target(PLAIN + extra)).build()
    assert "x86" not in kernel.llvm
    assert re.search(r"^kernel:", kernel.asm, re.MULTILINE)
    assert not calls(kernel.asm) - {"memset", "memcpy"}


def test_float16_is_refused_where_there_are_no_instructions():
    x = te.placeholder((64,), "float16", name="X")
    func = te.func(te.compute((64,), lambda i: x[i] + x[i], name="Y"))
    with pytest.raises(BuildError) as e:
        build_func(func, Target(f"{PLAIN} -mattr=+v"))
    assert (e.value.code, "+zfh" in e.value.hint) == ("build.dtype", True)
    assert not calls(Schedule(func, Target(f"{PLAIN} -mattr=+v,+zfh,+zvfh")).build().asm)
