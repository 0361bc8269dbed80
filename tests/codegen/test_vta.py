"""The accelerator: results, cycles, tokens, and what it refuses."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from tests.codegen.vta_schedules import conv, matmul, truncated_matmul
from workbench import te, workloads
from workbench.codegen.backend import backend_for
from workbench.codegen.vta import assembly
from workbench.codegen.vta.instructions import Program
from workbench.codegen.vta.nests import program_of
from workbench.codegen.vta.simulator import Run, simulate
from workbench.errors import BuildError, RunFailure, WorkbenchError
from workbench.schedule import Schedule
from workbench.space.default_schedule import default_schedule
from workbench.target import Target


def program(s: Schedule) -> Program:
    return program_of(s.func, Target("vta"))


def run(s: Schedule) -> Run:
    return simulate(program(s))


def drawn(s: Schedule, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.integers(-128, 128, [int(d) for d in b.logical_shape()]).astype(b.dtype) for b in s.base.inputs]


def convolved(x: np.ndarray, w: np.ndarray, stride: int, shift: int | None) -> np.ndarray:
    """A convolution by NumPy alone."""
    kernel, w = w.shape[0], w.astype(np.int32)
    frame = np.pad(x, [(0, 0), (kernel // 2,) * 2, (kernel // 2,) * 2, (0, 0)]).astype(np.int32)
    size = (frame.shape[1] - kernel) // stride + 1
    parts = (
        frame[:, r : r + stride * size : stride, c : c + stride * size : stride][:, :size, :size] @ w[r, c]
        for r in range(kernel)
        for c in range(kernel)
    )
    y = sum(parts)
    return y if shift is None else np.minimum(np.maximum(y, 0) >> shift, 127).astype(np.int8)


def test_two_virtual_threads_hide_the_loads() -> None:
    func = truncated_matmul(256, 128, 256)
    alone, both = (run(matmul(func, (64, 4, 4), threads)) for threads in (1, 2))
    assert both.utilisation >= 0.88
    assert 0.30 <= both.utilisation - alone.utilisation <= 0.45
    assert alone.products == both.products == 256 * 128 * 256 // 256
    assert both.bytes_read > 256 * 256
    assert both.bytes_written == 256 * 128


@pytest.mark.parametrize(
    ("shape", "tile", "rows"),
    [
        ((56, 64, 64, 3, 1), (2, 4, 4), True),
        pytest.param((56, 64, 128, 3, 2), (4, 2, 1), False, marks=pytest.mark.slow),
        pytest.param((28, 128, 128, 3, 1), (4, 2, 4), False, marks=pytest.mark.slow),
        pytest.param((28, 128, 256, 3, 2), (7, 2, 2), False, marks=pytest.mark.slow),
        pytest.param((14, 256, 256, 3, 1), (7, 4, 2), False, marks=pytest.mark.slow),
        pytest.param((14, 256, 512, 3, 2), (7, 8, 2), False, marks=pytest.mark.slow),
        pytest.param((7, 512, 512, 3, 1), (7, 4, 2), False, marks=pytest.mark.slow),
    ],
)
def test_layers_of_resnet_keep_the_product_busy(
    shape: tuple[int, int, int, int, int], tile: tuple[int, int, int], rows: bool
) -> None:
    assert run(conv(shape, tile, 2, rows)).utilisation >= 0.90


def tokens_left_out(whole: Program) -> Counter[str]:
    """Codes of what the simulator says of the program with one push or pop less, for each of them."""
    found: Counter[str] = Counter()
    for k, i in enumerate(whole.instructions):
        for field in ("pops", "pushes"):
            for engine in getattr(i, field):
                less = replace(i, **{field: tuple(e for e in getattr(i, field) if e != engine)})
                wrong = replace(whole, instructions=(*whole.instructions[:k], less, *whole.instructions[k + 1 :]))
                with pytest.raises(RunFailure) as error:
                    simulate(wrong)
                found[error.value.code] += 1
    return found


def test_every_token_left_out_is_found() -> None:
    for threads in (1, 2):
        whole = program(matmul(truncated_matmul(256, 128, 256), (64, 4, 4), threads))
        simulate(whole)
        found = tokens_left_out(whole)
        assert sum(found.values()) > 150
        assert set(found) <= {"vta.deadlock", "vta.race", "vta.tokens"}


@pytest.mark.parametrize(
    "layer",
    [
        (14, 64, 64, 1, 2), (14, 32, 64, 3, 2),
        pytest.param((14, 64, 64, 3, 1), marks=pytest.mark.checks),
        pytest.param((7, 128, 128, 3, 1), marks=pytest.mark.checks),
    ],
)  # fmt: skip
def test_every_token_left_out_of_a_convolution_is_found(layer: tuple[int, int, int, int, int]) -> None:
    size, ci, co, kernel, stride = layer
    func = workloads.conv2d_int8_nhwc(size, size, ci, co, kernel, stride, kernel // 2, shift=6)
    whole = program(default_schedule(func, Target("vta")))
    simulate(whole)
    found = tokens_left_out(whole)
    assert sum(found.values()) >= 16
    assert set(found) <= {"vta.deadlock", "vta.race", "vta.tokens"}


def test_a_deadlock_says_who_waits() -> None:
    whole = program(matmul(truncated_matmul(64, 32, 64), (64, 1, 2)))
    first = next(k for k, i in enumerate(whole.instructions) if i.pushes)
    silent = replace(whole.instructions[first], pushes=())
    wrong = replace(whole, instructions=(*whole.instructions[:first], silent, *whole.instructions[first + 1 :]))
    with pytest.raises(RunFailure, match=r"compute waits with gemm .* for load"):
        simulate(wrong)


def test_a_race_is_found_whatever_the_cycles_say() -> None:
    whole = program(matmul(truncated_matmul(64, 32, 64), (64, 1, 2)))
    none = tuple(replace(i, pops=(), pushes=()) for i in whole.instructions)
    with pytest.raises(RunFailure, match="does not wait for") as error:
        simulate(replace(whole, instructions=none))
    assert error.value.code == "vta.race"


def test_random_tiles_and_threads_equal_numpy() -> None:
    rng = random.Random(0)
    for seed in range(12):
        m, n, k = (rng.choice((16, 24, 48)) for _ in range(1)), 16 * rng.choice((2, 4)), 16 * rng.choice((1, 2, 6))
        rows = next(m)
        shift = rng.choice((None, 0, 7))
        func = workloads.matmul_int8(rows, n, k, signed=True, constant_b=True, shift=shift)
        threads = rng.choice((1, 2))
        tile = rng.choice([x for x in (1, 4, 8) if rows % (x * threads) == 0]), rng.choice((1, n // 32)), 1
        s = matmul(func, tile, threads, rows=rng.random() < 0.5)
        a, b = drawn(s, seed)
        want = a.astype(np.int32) @ b.astype(np.int32)
        if shift is not None:
            want = np.minimum(np.maximum(want, 0) >> shift, 127).astype(np.int8)
        np.testing.assert_array_equal(s.build()(a, b), want)


@pytest.mark.parametrize("shift", [None, 5])
@pytest.mark.parametrize(("kernel", "stride"), [(1, 1), (3, 1), (3, 2), (1, 2), (5, 1)])
def test_convolutions_equal_numpy(kernel: int, stride: int, shift: int | None) -> None:
    s = conv((8, 32, 64, kernel, stride), (2, 2, 1), 2, shift=shift)
    x, w = drawn(s)
    np.testing.assert_array_equal(s.build()(x, w), convolved(x, w, stride, shift))


def summed(a: te.Tensor, b: te.Tensor) -> te.Tensor:
    """A product of matrices, stage ``C``."""
    r = te.reduce_axis(a.shape[1], "k")
    shape = a.shape[0], b.shape[1]
    return te.compute(
        shape, lambda i, j: te.sum(te.cast(a[i, r], "int32") * te.cast(b[r, j], "int32"), axis=r), name="C"
    )


def test_a_bias_is_added_by_the_alu() -> None:
    a, b = te.placeholder((32, 64), "int8", "A"), te.placeholder((64, 32), "int8", "B", constant=True)
    bias, c = te.placeholder((32,), "int32", "bias", constant=True), summed(a, b)
    func = te.func(te.compute((32, 32), lambda i, j: te.maximum(c[i, j] + bias[j], -1000) + 3, name="D"), "biased")
    s = matmul(func, (16, 1, 2))
    s.compute_at(s.cache_read("D", "bias"), "j.0")
    s.set_scope("bias.local", "acc")
    x, y, z = drawn(s)
    np.testing.assert_array_equal(s.build()(x, y, z), np.maximum(x.astype(np.int32) @ y + z, -1000) + 3)


def biased(expr: Callable[[te.Value, te.Value], te.Value], rows: bool = True) -> Schedule:
    """A product of matrices and ``expr(sum, bias)``, all of it in the accelerator's memories."""
    a, b = te.placeholder((32, 32), "int8", "A"), te.placeholder((32, 32), "int8", "B", constant=True)
    bias, c = te.placeholder((32,), "int32", "bias", constant=True), summed(a, b)
    func = te.func(te.compute((32, 32), lambda i, j: expr(c[i, j], bias[j]), name="D"), "biased")
    s = matmul(func, (16 if rows else 1, 1, 2))
    s.compute_at(s.cache_read("D", "bias"), "j.0")
    s.set_scope("bias.local", "acc")
    return s


def by_name(s: Schedule) -> dict[str, np.ndarray]:
    return dict(zip((b.name for b in s.base.inputs), drawn(s), strict=True))


def product(given: dict[str, np.ndarray]) -> np.ndarray:
    return given["A"].astype(np.int32) @ given["B"].astype(np.int32)


def test_a_bias_that_stands_first_is_not_changed_in_its_place() -> None:
    s = biased(lambda c, bias: te.maximum(bias + c, 5))
    given = by_name(s)
    np.testing.assert_array_equal(s.build()(**given), np.maximum(product(given) + given["bias"], 5))
    with pytest.raises(BuildError, match=r"change one element of 'bias.local' several times"):
        program(biased(lambda c, bias: te.maximum(bias, 0) + c))
    with pytest.raises(BuildError, match=r"change one element of 'C' several times"):
        program(biased(lambda c, bias: te.maximum(c, 0) + bias + c))


def test_a_bias_that_is_loaded_for_each_row_may_be_changed() -> None:
    s = biased(lambda c, bias: te.maximum(bias, -5) + c, rows=False)
    given = by_name(s)
    np.testing.assert_array_equal(s.build()(**given), product(given) + np.maximum(given["bias"], -5))


def test_bytes_are_cut_off_at_the_end_alone() -> None:
    a, b = te.placeholder((16, 32), "int8", "A"), te.placeholder((32, 16), "int8", "B", constant=True)
    c = summed(a, b)

    def made(expr: Callable[[te.Value], te.Value]) -> Schedule:
        return matmul(te.func(te.compute((16, 16), lambda i, j: expr(c[i, j]), name="D"), "bytes"), (16, 1, 2))

    for wrong in (lambda v: te.maximum(te.cast(v, "int8"), 0), lambda v: te.cast(te.cast(v, "int8"), "int32")):
        with pytest.raises(BuildError, match="goes on with bytes") as error:
            program(made(wrong))
        assert error.value.code == "vta.expression"
    s = made(lambda v: te.cast(te.maximum(v, 0), "int8"))
    x, y = drawn(s)
    np.testing.assert_array_equal(s.build()(x, y), np.maximum(x.astype(np.int32) @ y, 0).astype(np.int8))


def test_measuring_counts_cycles_and_has_no_noise() -> None:
    s = matmul(truncated_matmul(64, 64, 64), (32, 2, 2), 2)
    first, second = s.measure(), s.measure()
    assert first.ok
    assert first.clock == "cycles"
    assert first.costs_ms == second.costs_ms == (run(s).cycles / 200e3,)
    assert "cycles counted" in str(first)


def test_an_interrupted_call_is_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    s = matmul(truncated_matmul(16, 32, 32), (16, 1, 2))
    kernel, (a, b) = s.build(), drawn(s)

    def call(error: BaseException) -> np.ndarray:
        def fails(*_: object) -> None:
            raise error

        with monkeypatch.context() as m:
            m.setattr("workbench.runtime.device_code.vta.simulate", fails)
            return kernel(a, b)

    with pytest.raises(KeyboardInterrupt):
        call(KeyboardInterrupt())
    with pytest.raises(WorkbenchError, match="ValueError: odd") as error:
        call(ValueError("odd"))
    assert error.value.code == "run.device"
    np.testing.assert_array_equal(kernel(a, b), (a.astype(np.int32) @ b).astype(np.int8))


def test_a_memory_for_micro_ops_holds_one() -> None:
    with pytest.raises(WorkbenchError, match="from 4 on") as error:
        Target("vta -uop=1")
    assert error.value.code == "target.option"


def test_cycles_follow_from_the_design() -> None:
    func = truncated_matmul(128, 64, 128)
    wide = run(matmul(func, (32, 2, 4), 2))
    narrow = simulate(program_of(matmul(func, (32, 2, 4), 2).func, Target("vta -bus=2")))
    slow = simulate(program_of(matmul(func, (32, 2, 4), 2).func, Target("vta -latency=500")))
    assert narrow.cycles > wide.cycles
    assert slow.cycles > wide.cycles
    with pytest.raises(BuildError, match="'inp'") as error:
        program_of(matmul(func, (32, 2, 4), 2).func, Target("vta -inp=2K"))
    assert error.value.code == "vta.memory"


def test_other_products_have_their_own_intrinsic() -> None:
    func = workloads.matmul_int8(8, 16, 16, signed=True, constant_b=True)
    s = Schedule(func, Target("vta -gemm=1x8x8"))
    _, j1 = s.split("j", [None, 8])
    k0, k1 = s.split("k", [None, 8])
    s.transform_layout("B", 1, 8)
    s.transform_layout("B", 1, 8)
    s.reorder("i", "j.0", k0, j1, k1)
    with pytest.raises(WorkbenchError, match="gemm-1x16x16"):
        s.tensorize(j1, "vta.gemm.1x16x16")
    s.reverse_compute_at(s.cache_write("C"), "j.0")
    s.compute_at(s.cache_read("C", "A"), "j.0")
    s.compute_at(s.cache_read("C", "B"), "j.0")
    s.tensorize(j1, "vta.gemm.1x8x8")
    for name, scope in (("A.local", "inp"), ("B.local", "wgt"), ("C.local", "acc")):
        s.set_scope(name, scope)
    a, b = drawn(s)
    np.testing.assert_array_equal(s.build()(a, b), a.astype(np.int32) @ b)


def test_text_is_read_back_and_rows_are_known() -> None:
    s = conv((8, 32, 64, 3, 1), (2, 2, 1), 2)
    whole = program(s)
    text = "".join(f"{line}\n" for line in assembly.lines(whole))
    again = assembly.read(text)
    assert replace(again, instructions=()) == replace(whole, instructions=())
    assert again.instructions == tuple(replace(i, row="") for i in whole.instructions)
    rows = {row for _, row in backend_for(s.target).listing(s.func, s.target)}
    assert {"stmt:pad", "stmt:conv", "stmt:narrow"} <= rows
    with pytest.raises(BuildError, match="Line 1"):
        assembly.read("gemm everything")


def refused(s: Schedule) -> str:
    with pytest.raises(BuildError) as error:
        program(s)
    assert error.value.hint
    return error.value.code


def test_what_it_cannot_do_is_said() -> None:
    func = workloads.matmul_int8(32, 32, 32, signed=True, constant_b=True)
    assert refused(Schedule(func, Target("vta"))) == "vta.nest"
    s = matmul(func, (8, 1, 1))
    s.set_scope("A.local", "auto")
    assert refused(s) == "vta.scope"
    s = matmul(func, (8, 1, 1))
    s.set_scope("A.local", "acc")
    assert refused(s) == "vta.scope"
    a, b = te.placeholder((32, 32), "int8", "A"), te.placeholder((32, 32), "int8", "B", constant=True)
    total = summed(a, b)
    divided = te.func(te.compute((32, 32), lambda i, j: total[i, j] / 4, name="D"), "halved")
    assert refused(matmul(divided, (8, 1, 1))) == "vta.expression"
