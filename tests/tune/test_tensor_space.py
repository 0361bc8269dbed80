"""Products of narrow types get a space in which an instruction computes their tiles, where the target has one."""

from __future__ import annotations

import numpy as np
import pytest

from workbench import workloads
from workbench.ir import loops
from workbench.ir.numpy_reference.evaluate import evaluate
from workbench.ir.poly import holes_of
from workbench.ir.verify import verify
from workbench.runtime.measuring.random_inputs import draw
from workbench.space.space import make_space
from workbench.target import Target

RAPIDS = Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=sapphirerapids -l1=48K -l2=2M -l3=32M -threads=2")
AVX2 = Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=znver3 -l1=32K -l2=512K -l3=32M -threads=2")
AVX512 = Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=icelake-server -l1=48K -l2=1M -l3=32M -threads=2")
CASES = {
    "bf16": lambda: workloads.matmul(96, 64, 64, dtype="bfloat16", constant_b=True),
    "bf16 epilogue": lambda: workloads.matmul(48, 64, 96, dtype="bfloat16", constant_b=True, bias=True, relu=True),
    "bf16 both given": lambda: workloads.matmul(32, 48, 64, dtype="bfloat16"),
    "bytes": lambda: workloads.matmul_int8(48, 32, 128, constant_b=True),
    "signed bytes": lambda: workloads.matmul_int8(32, 32, 64, signed=True, constant_b=True),
    "odd": lambda: workloads.matmul_int8(35, 37, 41, constant_b=True),
}


def intrinsics(func, target):
    """Intrinsics that each variant of the space calls."""
    variants = make_space(func, target).variants
    return [{lp.intrin for lp, _ in loops(v.schedule.func.body)} - {None} for v in variants]


@pytest.mark.parametrize(
    ("case", "target", "want"),
    [
        ("bf16", RAPIDS, "x86.amx.bf16"),
        ("bytes", RAPIDS, "x86.amx.u8s8"),
        ("signed bytes", RAPIDS, "x86.amx.s8s8"),
        ("bytes", AVX512, "x86.vnni.dot4"),
        ("signed bytes", AVX512, "x86.vnni.signed4"),
        ("bytes", AVX2, "x86.avx2.dot4"),
        ("signed bytes", AVX2, "x86.avx2.signed4"),
        ("odd", RAPIDS, "x86.vnni.dot4"),
        ("bf16 both given", RAPIDS, "x86.amx.bf16"),
    ],
)
def test_the_best_instruction_of_the_target_is_taken(case, target, want):
    found = intrinsics(CASES[case](), target)
    assert len(found) == 2, "columns or rows first"
    assert found == [{want}, {want}]


def test_without_one_the_space_is_the_usual():
    assert not any(intrinsics(CASES["bf16"](), AVX512))


def test_a_float_product_is_left_alone():
    assert not any(intrinsics(workloads.matmul(64, 64, 64, constant_b=True), RAPIDS))


@pytest.mark.parametrize("case", CASES)
def test_rows_compute_the_right_thing(case):
    from workbench.codegen.backend import build_func
    from workbench.runtime.kernel import Kernel

    func, target = CASES[case](), Target.host(threads=2)
    inputs = draw(func, 1)
    want = evaluate(func, inputs)[func.outputs[0].name]
    rng = np.random.default_rng(3)
    for variant in make_space(func, target).variants:
        for row in variant.sampler.draw(3, rng):
            s = variant.schedule.fill(variant.sampler.row(row))
            verify(s.func)
            got = Kernel(s.func, build_func(s.func, target), target)(**inputs)
            np.testing.assert_allclose(got, want, rtol=0, atol=2e-5 * float(np.abs(want).max()))


@pytest.mark.parametrize(
    ("make", "target", "accumulators"),
    [
        (lambda: workloads.matmul(512, 512, 64, dtype="bfloat16", constant_b=True), RAPIDS, 6),
        (lambda: workloads.matmul_int8(512, 512, 64, constant_b=True), AVX512, 24),
    ],
)
def test_results_fit_the_registers(make, target, accumulators):
    """Also the largest blocks that the limit lets through; without it there would be larger ones."""
    rng = np.random.default_rng(0)
    for variant in make_space(make(), target).variants:
        held = []
        for row in variant.sampler.draw(200, rng):
            body = variant.schedule.fill(variant.sampler.row(row)).func.body
            held.append(np.prod([lp.extent for lp, _ in loops(body) if lp.kind == "unroll"]))
        assert accumulators / 2 < max(held) <= accumulators
        (limit,) = [c for c in variant.limits if "registers" in c.label]
        free = [h.choices for h in variant.schedule.func.holes if h.name in holes_of(limit.expr)]
        assert np.prod([max(c) for c in free]) > accumulators
