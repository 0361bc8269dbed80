"""Printed C against the interpreter and NumPy, compiled by the system's compiler where there is one."""

from __future__ import annotations

import mmap
import random
import subprocess
import sys
from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest
from codegen import running, test_arithmetic, test_hostile, test_programs
from codegen.programs import program
from property import checks, randoms
from tiers import first

from workbench import te, workloads
from workbench.codegen.backend import build_func, generate_func
from workbench.codegen.c import compiler
from workbench.errors import BuildError
from workbench.ir import Affine, Align, Binary, Block, Bound, Buffer, Const, For, Func, Iter, Load, Select
from workbench.ir.expr import map_loads
from workbench.ir.numpy_reference.evaluate import evaluate
from workbench.ir.stmt import rewrite
from workbench.runtime.buffers import pointer_table
from workbench.runtime.kernel import Kernel
from workbench.schedule import Schedule
from workbench.target import Target

TARGET = Target("c", threads=2)
compiled_here = pytest.mark.skipif(compiler.problem(TARGET) is not None, reason="there is no C compiler")


@pytest.fixture(autouse=True)
def in_c(monkeypatch):
    """Everything that the other tests of the code generator compile, in C."""
    for module in (running, test_hostile, test_programs):
        monkeypatch.setattr(module, "TARGET", TARGET)


# ---- meaning ---------------------------------------------------------------------------------------------------------


def run_random(count: int, seed: int) -> None:
    rng, names = random.Random(seed), list(randoms.WEIGHTS)
    for k in range(count):
        made = randoms.random_schedule(rng, names[k % len(names)])
        checks.check_compiled(made, checks.expected(made.nest)[1], "c")


def run_programs(seeds: range) -> None:
    for seed in seeds:
        made = program(seed)
        s = test_programs.marked(made, random.Random(seed))
        test_programs.agree("C", test_programs.compiled(s, made), evaluate(made.func, made.inputs), made)


@compiled_here
@pytest.mark.parametrize("count", first([20, 40]))
def test_random_schedules(count):
    run_random(count, seed=count)


@compiled_here
def test_random_programs():
    run_programs(range(8))


@compiled_here
@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_many_random_schedules():
    run_random(1000, seed=6)


@compiled_here
@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_many_random_programs():
    run_programs(range(100, 1000))


@compiled_here
@pytest.mark.parametrize("op", ["__truediv__", "__mod__"])
@pytest.mark.parametrize("dtype", test_arithmetic.INTEGERS)
def test_integer_quotients(op, dtype):
    test_arithmetic.test_integer_quotients_of_all_signs_and_by_zero(op, dtype, "vectorize")


@compiled_here
def test_arithmetic_at_its_edges():
    test_arithmetic.test_quotient_is_safe_in_a_branch_that_is_not_taken()
    test_arithmetic.test_signedness_is_part_of_an_operation()
    test_arithmetic.test_narrow_integers_wrap_before_they_are_used()
    test_arithmetic.test_truth_values("vectorize")
    test_arithmetic.test_nan_survives_maximum_and_minimum("float32", "vectorize")
    test_arithmetic.test_nan_survives_a_largest_element(17, "vectorize")
    test_arithmetic.test_remainder_has_the_sign_of_the_divisor("float64")
    test_arithmetic.test_casts_to_integers_saturate("float32", "int32")
    test_arithmetic.test_casts_to_integers_saturate("float64", "uint64")
    test_arithmetic.test_casts_to_integers_saturate("bfloat16", "uint8")
    test_arithmetic.test_casts_to_floats_round_once("float64", "float16")
    test_arithmetic.test_extremes_of_infinities_and_nan("max", "float16")
    test_arithmetic.test_half_precision()


@compiled_here
@pytest.mark.parametrize(
    "op", ["exp", "tanh", "sigmoid", "erf", "abs", "sqrt", "floor", "ceil", "round", "rsqrt", "log"]
)
def test_special_values_through_functions(op):
    test_arithmetic.test_special_values_through_functions(op, "float32")


@compiled_here
def test_guards_and_places():
    test_hostile.test_guarded_blocks_stay_within_their_buffers(True, "parallel", "vectorize")
    test_hostile.test_no_load_leaves_the_guard("vectorize")
    test_hostile.test_truth_values_are_accumulated("unroll")
    test_hostile.test_buffers_that_several_nests_change_in_place()
    test_hostile.test_temporaries_of_parallel_tasks(40)
    test_hostile.test_temporaries_of_parallel_tasks(9000)
    test_hostile.test_more_parallel_iterations_than_tasks()
    test_hostile.test_everything_of_extent_one()


V = Affine.var


def two_loops(block: Block, buffers: tuple[Buffer, ...]) -> Func:
    """The block in a nest of 3 x 4 iterations, the inner loop vectorised."""
    return Func("f", buffers, (For("a", 3, (For("b", 4, (block,), "vectorize"),)),))


@compiled_here
@pytest.mark.parametrize(("low", "high"), [(0, 10), (3, 12), (3, 10), (5, 6), (-4, 20)])
def test_guards_become_ends_of_loops_only_where_they_are(low, high):
    i, own = V("i"), Load("Y", (V("i"),))
    x = Buffer("X", (12,), "float32", "input")
    zero = Block("Z", (Iter("i", 12, "S"),), (V("z"),), "Y", (i,), Const(0.0))
    value, guard = Binary("add", own, Load("X", (i,))), (Bound(i, low, high),)
    some = Block("Y", (Iter("i", 12, "S"),), (V("a") * 4 + V("b"),), "Y", (i,), value, None, guard)
    f = two_loops(some, (x, Buffer("Y", (12,), "float32", "output")))
    f = replace(f, body=(For("z", 12, (zero,)), *f.body))
    running.check(f)


@compiled_here
def test_accumulators_that_another_block_looks_at_stay_in_memory():
    """Every partial sum is read while the loop that adds runs."""
    i, k, own = V("i"), V("k"), Load("Y", (V("i"),))
    adds = Block("Y", (Iter("i", 4, "S"), Iter("k", 6, "R")), (i, k), "Y", (i,),
                 Binary("add", own, Load("X", (i, k))), Const(0.0))  # fmt: skip
    looks = Block("P", (Iter("k", 6, "S"),), (k,), "P", (k,), Load("Y", (Affine(const=2),)))
    body = For("k", 6, (For("i", 4, (adds,), "unroll"), looks))
    buffers = (("X", (4, 6), "input"), ("Y", (4,), "output"), ("P", (6,), "output"))
    running.check(Func("f", tuple(Buffer(n, s, "float32", r) for n, s, r in buffers), (body,)))


@compiled_here
@pytest.mark.skipif(not hasattr(mmap, "PAGESIZE") or sys.platform == "win32", reason="wants pages")
def test_no_vector_reaches_beyond_what_its_condition_allows():
    """The input ends at the end of a page: also a lane that is thrown away must not be read there."""
    i = V("i")
    value = Select((Bound(i, 0, 10),), Load("X", (i,)), Const(7.0))
    block = Block("Y", (Iter("i", 12, "S"),), (V("a") * 4 + V("b"),), "Y", (i,), value)
    f = two_loops(block, (Buffer("X", (10,), "float32", "input"), Buffer("Y", (12,), "float32", "output")))
    area = mmap.mmap(-1, 2 * mmap.PAGESIZE)
    base = np.frombuffer(area, np.uint8).ctypes.data
    test_hostile._no_access(base + mmap.PAGESIZE, mmap.PAGESIZE)
    x = np.frombuffer(area, np.float32, 10, mmap.PAGESIZE - 40)
    x[:] = np.arange(10)
    y = np.zeros(12, np.float32)
    kernel = Kernel(f, build_func(f, TARGET), TARGET)
    kernel._around.call(kernel._loaded.address, pointer_table([x.ctypes.data, y.ctypes.data]))
    np.testing.assert_array_equal(y, [*range(10), 7, 7])


def test_padding_is_decided_before_the_vectors():
    s = Schedule(workloads.conv2d_nhwc(8, 8, 4, 16), TARGET)
    s.compute_inline("pad")
    s.reorder("h", "w", "kh", "kw", "c", "o")
    s.vectorize("o")
    text = generate_func(s.func, TARGET).source
    assert "const float conv_in0 = h + kh >= 1 && h + kh < 9 &&" in text
    assert "conv_acc[o] += conv_in0 * W[" in text


@compiled_here
@pytest.mark.parametrize(("dtype", "numpy"), [("float16", np.float16), ("bfloat16", ml_dtypes.bfloat16)])
def test_every_half_precision_number(dtype, numpy):
    """All bit patterns to float32, and what rounds to them and lies half way between two of them back."""
    bits = np.arange(1 << 16, dtype=np.uint16).view(numpy)
    wide = bits.astype(np.float32)
    x = te.placeholder(wide.shape, dtype, name="X")
    up = te.func(te.compute(wide.shape, lambda i: te.cast(x[i], "float32"), name="Y"))
    np.testing.assert_array_equal(running.compiled(up, bits), wide)
    with np.errstate(all="ignore"):
        values = np.concatenate([wide, (wide[:-1] + wide[1:]) / 2, wide * np.float32(1.0001), -wide])
    values = np.concatenate([values, np.float32([65519, 65520, 3.4e38, 1e-45, 5.9e-8, 2.9e-8])])
    z = te.placeholder(values.shape, name="Z")
    down = te.func(te.compute(values.shape, lambda i: te.cast(z[i], dtype), name="Y"))
    got = running.compiled(down, values)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(got.astype("f4"), values.astype(numpy).astype("f4"))


@compiled_here
def test_padded_rows_of_a_temporary():
    """The stride of a temporary may be larger than its row."""
    f = workloads.matmul(12, 20, 8, relu=True)
    padded = f.with_buffers([replace(f.buffer("C"), align=(Align(0, 16, 3),))])
    assert padded.buffer("C").strides() == (35, 1)
    assert " * 35" in generate_func(padded, TARGET).source
    running.check(padded)


@compiled_here
@pytest.mark.parametrize("kind", ["blockIdx.x", "threadIdx.y", "vthread"])
def test_bound_loops_are_run_in_a_row(kind):
    running.check(running.marked(workloads.matmul(6, 5, 4), i=kind))


# ---- what is printed -------------------------------------------------------------------------------------------------


def tiled() -> Schedule:
    s = Schedule(workloads.matmul(64, 64, 64), TARGET)
    i0, i1 = s.split("i", [None, 4])
    j0, j1 = s.split("j", [None, 16])
    s.reorder(i0, j0, "k", i1, j1)
    s.vectorize(j1)
    s.unroll(i1)
    s.parallel(i0, j0)
    return s


def test_text_keeps_the_loops_and_their_names():
    text = tiled().build().source
    for line in (
        "for (int64_t k = 0; k < 64; ++k) { /* k */",
        "VECTOR_LOOP\n",
        "for (int64_t j_1 = 0; j_1 < 16; ++j_1) { /* j.1 (vectorize) */",
        "UNROLL(4)\n",
        "ALIGNED float C_acc[4][16];\n",
        "C_acc[i_1][j_1] = 0.0f;",
        "C_acc[i_1][j_1] += A[(i_0 * 4 + i_1) * 64 + k] * B[k * 64 + j_0 * 16 + j_1];",
        "C[(i_0 * 4 + i_1) * 64 + j_0 * 16 + j_1] = C_acc[i_1][j_1];",
        "const int64_t i_0 = n / 4; /* i.0 in 16 (parallel) */",
        "run_tasks(rt, nest0_task, &ctx, 16);",
        "bufs[0]: input A[64, 64] float32",
    ):
        assert line in text


def test_no_promise_of_independence_where_a_block_accumulates():
    """`GCC ivdep` on a loop that adds to one element would be a lie that the compiler may act on."""
    f = running.marked(workloads.matmul(4, 4, 32), k="vectorize")
    assert "    VECTOR_LOOP" not in generate_func(f, TARGET).source


def renamed(func: Func, names: dict[str, str]) -> Func:
    buffers = tuple(replace(b, name=names.get(b.name, b.name)) for b in func.buffers)
    text = {n: names.get(n, n) for n in (b.name for b in func.buffers)}

    def fn(s):
        if isinstance(s, For):
            return None
        value = map_loads(s.value, lambda ld: Load(text[ld.buffer], ld.index))
        return (replace(s, buffer=text[s.buffer], value=value),)

    return replace(func, buffers=buffers, body=rewrite(func.body, fn))


@compiled_here
@pytest.mark.parametrize(
    "names",
    [
        {"A": "int", "B": "expf", "bias": "double", "relu": "nest0"},
        {"A": "bufs", "B": "task", "bias": "NAN", "relu": "kernel"},
        {"A": "a.b", "B": "a_b", "bias": "9", "relu": "*/ x /*"},
        {"A": "INT64_MAX", "B": "k", "bias": "at_least_float32", "relu": "y\\"},
    ],
)
def test_names_that_mean_something_in_c(names):
    f = renamed(workloads.matmul(4, 5, 6, bias=True, relu=True), names)
    running.check(running.marked(f, i="parallel"))


@pytest.mark.parametrize("symbol", ["int", "main", "memset", "expf", "nest0", "Runtime", "_x", "INT64_MAX"])
def test_symbols_that_mean_something_in_c(symbol):
    with pytest.raises(BuildError) as e:
        build_func(workloads.matmul(4, 4, 4), TARGET, symbol)
    assert e.value.code == "build.symbol"


@compiled_here
def test_what_the_compiler_says_comes_first():
    with pytest.raises(BuildError) as e:
        compiler.compile_c("nonsense is none;", TARGET)
    assert "nonsense" in e.value.message.splitlines()[1]


@compiled_here
def test_a_student_can_compile_the_file_alone(tmp_path):
    """Without any runtime: parallel loops run in a row, and no warning is worth a word."""
    text = tiled().build().source
    text += """#include <stdio.h>
static float A[4096], B[4096], C[4096];
int main(void) {
    for (int i = 0; i < 4096; ++i) A[i] = 1, B[i] = (float)(i / 64);
    void *bufs[] = {A, B, C};
    kernel(bufs, NULL, NULL);
    printf("%g\\n", C[4095]);
    return 0;
}
"""
    (tmp_path / "m.c").write_text(text)
    command = compiler.find_compiler()
    options = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "m.c", "-o", "m", "-lm"]
    done = subprocess.run([*command, *options], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert subprocess.run(["./m"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout == "2016\n"
