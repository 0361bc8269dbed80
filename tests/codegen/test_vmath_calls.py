"""No operation of a vectorised loop calls the C library, on any machine: the assembly names no symbol of others."""

from __future__ import annotations

import re

import pytest
from codegen.running import marked

from workbench import te
from workbench.codegen.backend import backend_for
from workbench.ir import Func
from workbench.ir.expr import BINARY_OPS, UNARY_OPS
from workbench.target import Target
from workbench.te.value import binary, unary

#: Triple and CPU.
MACHINES = {
    "avx512": ("x86_64-unknown-linux-gnu", "skylake-avx512"),
    "rapids": ("x86_64-unknown-linux-gnu", "sapphirerapids"),
    "avx2": ("x86_64-unknown-linux-gnu", "haswell"),
    "aarch64": ("aarch64-unknown-linux-gnu", "cortex-a72"),
    "baseline": ("x86_64-unknown-linux-gnu", "x86-64"),
    "apple": ("aarch64-unknown-linux-gnu", "apple-m1"),
}
SLOW = pytest.mark.slow
NAMES = ["avx512", "avx2", "aarch64", *(pytest.param(n, marks=SLOW) for n in ("rapids", "apple"))]
FLOATS = ("float32", "float64", "float16", "bfloat16")
INTEGERS = ("int8", "uint8", "int32", "uint32", "int64", "uint64")
#: More than eight vectors of every dtype, so that there is a loop, and a single element at its end.
LENGTH = 64 * 9 + 1
#: What is jumped to, or whose address is taken: ``callq f``, ``bl f``, ``movabsq $f, %rax``, ``movz x8, :abs_g0:f``.
_NAME = re.compile(r"(?:^\s*(?:callq?|bl|jmpq?|b)\s+|\$|:\w+:)\"?([A-Za-z_][\w.$]*)", re.MULTILINE)


def every_operation(dtype: str, ops: tuple[str, ...]) -> Func:
    """One stage for each operation, all vectorised."""
    x, z = te.placeholder((LENGTH,), dtype, name="X"), te.placeholder((LENGTH,), dtype, name="Z")
    outs, names = [], {}
    for op in ops:

        def at(i: te.Axis, op: str = op) -> te.Value:
            if op.startswith("to_"):
                return te.cast(x[i], op[3:])
            if op.startswith("from_"):
                return te.cast(te.cast(x[i] > z[i], op[5:]), dtype)
            if op in BINARY_OPS:
                both = (x[i] > 0, z[i] > 0) if op in ("and", "or") else (x[i], z[i])
                return binary(op, *both)
            return unary(op, x[i] > z[i] if op == "not" else x[i])

        outs.append(te.compute((LENGTH,), at, name=f"Y_{op}"))
    func = te.func(outs)
    names = dict.fromkeys(re.findall(r"for (\S+) in", str(func)), "vectorize")
    return marked(func, **names)


def foreign(text: str) -> set[str]:
    """Symbols that the assembly refers to and does not define."""
    return {name for name in _NAME.findall(text) if not re.search(rf'^"?{re.escape(name)}"?:', text, re.MULTILINE)}


def calls(func: Func, machine: str) -> set[str]:
    """Whatever the kernel needs from outside of itself."""
    triple, cpu = MACHINES[machine]
    target = Target("llvm", triple=triple, cpu=cpu, threads=1)
    backend = backend_for(target)
    text = backend.assembly(backend.emit(func, target, "kernel", False)[0], target)
    assert "kernel:" in text
    return foreign(text)


@pytest.mark.parametrize("dtype", [*FLOATS[:3], pytest.param("bfloat16", marks=SLOW)])
@pytest.mark.parametrize("machine", NAMES)
def test_no_operation_calls_a_library(machine, dtype):
    assert not calls(every_operation(dtype, (*UNARY_OPS, *BINARY_OPS)), machine)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("machine", NAMES)
def test_no_conversion_calls_a_library(machine, dtype):
    ops = tuple(f"{way}_{other}" for way in ("to", "from") for other in (*INTEGERS, *FLOATS, "bool"))
    assert not calls(every_operation(dtype, ops), machine)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_not_even_without_fused_operations_and_roundings(dtype):
    """The oldest 64-bit CPUs. Half precision does call the compiler's library there: it has no instruction for it."""
    assert not calls(every_operation(dtype, (*UNARY_OPS, *BINARY_OPS)), "baseline")


def test_a_call_would_be_found():
    x86 = "f:\n\tcallq\texpf@PLT\n\tmovabsq\t$log, %rax\n\tcallq\t*%rax\n\tjmp\t.LBB0_1\n\tcallq\tf\n"
    assert foreign(x86) == {"expf", "log"}
    assert foreign('\tbl\texp\n\tb.ne\t.LBB0_2\n\tmovz\tx8, :abs_g0_nc:log\n\tbl\t"a.b"\n"a.b":\n') == {"exp", "log"}
