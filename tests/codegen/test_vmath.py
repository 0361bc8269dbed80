"""Vector math against its own statements: every declared function is measured over the whole range of its dtype.

The oracle of float32 is float64, the one of float64 is the 80-bit ``long double`` where NumPy has it, else (and for
erf) 70-digit decimals. Errors are in units in the last place of the exact result, denormals included.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from codegen.running import TARGET, marked

from workbench import te
from workbench.codegen.backend import build_func
from workbench.codegen.llvm.vmath import DECLARED, HALF_ULP
from workbench.codegen.llvm.vmath.power import BY_PRODUCTS
from workbench.ir.expr import BINARY_OPS
from workbench.runtime.kernel import Kernel
from workbench.target import Target
from workbench.te.value import binary, unary

WIDE = np.longdouble if np.finfo(np.longdouble).nmant >= 63 else None
BITS = {"float32": np.uint32, "float64": np.uint64, "float16": np.uint16, "bfloat16": np.uint16}
ONE = sorted(k for k in DECLARED if k[0] not in BINARY_OPS)
EDGES = [0.0, 1.0, 0.75, 1.5, 0.5, 2.0, math.log(2) / 2, 88.72284, 87.33655, 103.97208, 709.782712893384, 745.1332,
         3.9, 4.0, 5.93, 9.01, 19.06, 1e-45, 1e-38, 2.2e-308, 5e-324, 1e30, 3.4e38, 1.7e308]  # fmt: skip
_PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640629")


def _targets() -> dict[str, Target]:
    """This machine, and what it can run that gets other code: without AVX-512, and without fused operations."""
    found = {"host": TARGET}
    for name, cpu in (("avx2", "haswell"), ("baseline", "x86-64")):
        if TARGET.arch == "x86_64" and not (target := Target("llvm", cpu=cpu, threads=2)).missing_here():
            found[name] = target
    return found


TARGETS = _targets()
#: Samples of each kind.
COUNT = {"host": 20_000, "avx2": 5_000, "baseline": 2_000}
MACHINES = pytest.mark.parametrize("machine", TARGETS)


def emitted(op: str, dtype: str, *xs: np.ndarray, kind: str = "vectorize", machine: str = "host") -> np.ndarray:
    """What compiled code gives for flat operands, in vectors and a tail."""
    ts = [te.placeholder(x.shape, dtype, name=f"X{k}") for k, x in enumerate(xs)]
    f = te.func(te.compute(xs[0].shape, lambda i: (unary if len(ts) == 1 else binary)(op, *(t[i] for t in ts)), "Y"))
    f = marked(f, i=kind)
    return Kernel(f, build_func(f, TARGETS[machine]), TARGETS[machine])(*xs)


def spread(dtype: str, count: int, seed: int = 0) -> np.ndarray:
    """Edges and their neighbours, `count` bit patterns, and as many numbers of everyday size."""
    rng = np.random.default_rng(seed)
    with np.errstate(over="ignore"):
        edges = np.array(EDGES, np.float64).astype(dtype)
    edges = np.concatenate([edges, *(np.nextafter(edges, np.array(t, dtype)) for t in (0, np.inf)), [np.inf, np.nan]])
    edges = np.concatenate([edges, -edges]).astype(dtype)
    width = np.dtype(dtype).itemsize * 8
    step = np.linspace(0, 2**width - 1, count).astype(np.float64)
    patterns = np.minimum(step, 2.0**width - 2.0 ** (width - 10)).astype(BITS[dtype]).view(dtype)
    near = [rng.normal(size=count), rng.uniform(-110, 110, count), 2.0 ** rng.uniform(-40, 6, count)]
    with np.errstate(invalid="ignore"):
        return np.concatenate([edges, patterns, *near, rng.uniform(-750, 750, count // 4)]).astype(dtype)


def errors(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """Distance to the wider `want` in units in the last place; infinite where one is special and the other is not."""
    info, size = np.finfo(got.dtype), np.abs(want)
    with np.errstate(all="ignore"):
        rounded = want.astype(got.dtype)
        exponent = np.floor(np.log2(np.where((size > 0) & np.isfinite(size), size, 1)))
        exponent = np.maximum(np.where(size > 0, exponent, info.minexp), info.minexp).astype(int)
        apart = np.abs(got.astype(want.dtype) - want) / np.ldexp(np.ones_like(want), exponent - info.nmant)
    same = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
    special = ~np.isfinite(got) | ~np.isfinite(rounded)
    return np.where(special, np.where(same, 0, np.inf), apart).astype(np.float64)


def exact_erf(x: float) -> Decimal:
    """The error function to 45 digits, by its Taylor series in 70."""
    with localcontext() as ctx:
        ctx.prec = 70
        d = Decimal(min(max(x, -8.0), 8.0))
        term = total = d
        n = 0
        while abs(term) > abs(total) * Decimal("1e-45"):
            n += 1
            term = -term * d * d / n
            total += term / (2 * n + 1)
        return total * 2 / _PI.sqrt()


def oracle(op: str, *given: np.ndarray, wide: type | None = None) -> np.ndarray:
    """The function of operands made `wide`, to almost all of their digits."""
    with np.errstate(all="ignore"):
        xs = [v if wide is None else v.astype(wide) for v in given]
    own = {
        "sigmoid": lambda v: np.where(v < 0, np.exp(np.minimum(v, 0)), 1) / (1 + np.exp(-np.abs(v))),
        "rsqrt": lambda v: 1 / np.sqrt(v),
        "abs": np.abs,
        "erf": lambda v: np.vectorize(math.erf, otypes=[np.float64])(v.astype(np.float64)),
        "pow": np.power,
        "mod": np.mod,
    }
    with np.errstate(all="ignore"):
        return own.get(op, getattr(np, op, None))(*xs)


def flushed(op: str, got: np.ndarray, want: np.ndarray, dtype: str = "float32") -> np.ndarray:
    """What is wanted, with 0 in the place of the least results where that is what there is, and may be."""
    return np.where((got == 0) & (want < 4 * np.finfo(dtype).tiny) & DECLARED[op, dtype].flushes, 0, want)


def worst(op: str, dtype: str, got: np.ndarray, want: np.ndarray, *xs: np.ndarray) -> str:
    error = errors(got, want)
    k = int(error.argmax())
    return f"{op} {dtype}: {error[k]:.4f} ulp at {[x[k] for x in xs]}: {got[k]!r}, not {want[k]!r}"


def test_every_function_of_the_ir_is_declared_for_both_formats():
    assert {op for op, _ in DECLARED} >= {
        "abs", "exp", "log", "sqrt", "rsqrt", "tanh", "sigmoid", "erf", "floor", "ceil", "round", "pow", "mod"
    }  # fmt: skip
    assert {(op, d) for op, _ in DECLARED for d in ("float32", "float64")} == set(DECLARED)


@MACHINES
@pytest.mark.parametrize(("op", "dtype"), [k for k in ONE if k[1] == "float32"])
def test_stated_error_of_float32(op, dtype, machine):
    x = spread(dtype, COUNT[machine])
    got = emitted(op, dtype, x, machine=machine)
    want = flushed(op, got, oracle(op, x, wide=np.float64))
    assert errors(got, want).max() <= DECLARED[op, dtype].ulp, worst(op, dtype, got, want, x)


@MACHINES
@pytest.mark.parametrize(("op", "dtype"), [k for k in ONE if k[1] == "float64" and k[0] != "erf"])
@pytest.mark.skipif(WIDE is None, reason="NumPy's long double is no wider than float64 here")
def test_stated_error_of_float64(op, dtype, machine):
    x = spread(dtype, COUNT[machine])
    got = emitted(op, dtype, x, machine=machine)
    want = flushed(op, got, oracle(op, x, wide=WIDE), dtype)
    assert errors(got, want).max() <= DECLARED[op, dtype].ulp, worst(op, dtype, got, want, x)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("op", ["exp", "sigmoid"])
def test_vectors_of_every_width_are_as_exact_and_know_the_special_values(op, dtype):
    x = spread(dtype, 500)
    want = oracle(op, x, wide=np.float64 if dtype == "float32" else WIDE or np.float64)

    def by_rows(rows: np.ndarray) -> np.ndarray:
        a = te.placeholder(rows.shape, dtype, name="A")
        f = marked(te.func(te.compute(rows.shape, lambda i, j: unary(op, a[i, j]), "Y")), j="vectorize")
        return Kernel(f, build_func(f, TARGET), TARGET)(rows).reshape(-1)

    for lanes in (2, 4, 8, 16, 32):
        got = by_rows(x[: len(x) - len(x) % lanes].reshape(-1, lanes))
        slack = 0 if dtype == "float32" or WIDE else 1
        assert errors(got, flushed(op, got, want[: len(got)], dtype)).max() <= DECLARED[op, dtype].ulp + slack, (
            op,
            dtype,
            lanes,
        )


def test_stated_error_of_erf_in_float64():
    rng = np.random.default_rng(0)
    x = np.concatenate([np.linspace(-6.2, 6.2, 2001), rng.normal(size=400), 2.0 ** rng.uniform(-1074, 0, 300), EDGES])
    got = emitted("erf", "float64", x)
    largest = max(
        float(abs(Decimal(float(y)) - (want := exact_erf(v))) / Decimal(math.ulp(float(want))))
        for v, y in zip(x, got, strict=True)
    )
    assert largest <= DECLARED["erf", "float64"].ulp
    np.testing.assert_array_equal(emitted("erf", "float64", np.array([np.inf, -np.inf, np.nan])), [1, -1, np.nan])


@MACHINES
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_stated_error_of_pow(dtype, machine):
    if dtype == "float64" and WIDE is None:
        pytest.skip("NumPy's long double is no wider than float64 here")
    rng, n = np.random.default_rng(0), COUNT[machine]
    limit = 127.0 if dtype == "float32" else 1023.0
    cases = [
        (np.abs(spread(dtype, n // 4)), None),
        (2.0 ** rng.uniform(-limit, limit, n), rng.normal(size=n)),
        (np.abs(rng.normal(size=n) + 1), rng.normal(size=n) * limit),
        (1 + rng.normal(size=n) * 1e-5, rng.normal(size=n) * limit * 1e5),
        (-rng.uniform(0.1, 9, n), np.rint(rng.normal(size=n) * 20)),
    ]
    for base, exponent in cases:
        x = base.astype(dtype)
        y = (rng.normal(size=len(x)) if exponent is None else exponent).astype(dtype)
        got = emitted("pow", dtype, x, y, machine=machine)
        wide = np.float64 if dtype == "float32" else WIDE
        want = oracle("pow", x, y, wide=wide)
        assert errors(got, want).max() <= DECLARED["pow", dtype].ulp, worst("pow", dtype, got, want, x, y)


SPECIAL = [0.0, 1.0, 2.0, 3.0, 0.5, 2.5, 1e30, 1e-30, 5e-324, 2.0**52 + 1, 2.0**53 + 2, np.inf, np.nan]


@MACHINES
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", ["serial", "vectorize"])
@pytest.mark.parametrize("op", ["pow", "mod"])
def test_special_pairs(op, dtype, kind, machine):
    """Zeros, infinities, NaN and negative numbers, with the sign of zero, as C and NumPy have them."""
    values = np.array([*SPECIAL, *(-v for v in SPECIAL)]).astype(dtype)
    x, y = (v.ravel() for v in np.meshgrid(values, values))
    got, want = emitted(op, dtype, x, y, kind=kind, machine=machine), oracle(op, x, y)
    exact = np.isin(np.abs(want), [0, 1, np.inf]) | np.isnan(want) | (op == "mod")
    same = np.isnan(want) & np.isnan(got) | (got == want) & (np.signbit(got) == np.signbit(want))
    assert same[exact].all(), [*zip(x[exact & ~same], y[exact & ~same], got[exact & ~same], strict=True)][:5]
    np.testing.assert_allclose(got, want, rtol=1e-6 if dtype == "float32" else 1e-15)


@MACHINES
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("exponent", BY_PRODUCTS)
def test_constant_exponents_are_as_exact_as_promised(exponent, dtype, machine):
    """Products and roots in the place of a power: special cases are those of C, finite results are close."""
    if dtype == "float64" and WIDE is None:
        pytest.skip("NumPy's long double is no wider than float64 here")
    x = np.concatenate([spread(dtype, 2000), np.array([0.0, -0.0, np.inf, -np.inf, np.nan], dtype)])
    x = np.concatenate([x, np.abs(x)])
    t = te.placeholder(x.shape, dtype, name="X")
    f = marked(te.func(te.compute(x.shape, lambda i: te.power(t[i], te.const(exponent, dtype)), "Y")), i="vectorize")
    got = Kernel(f, build_func(f, TARGETS[machine]), TARGETS[machine])(x)
    # An exponent for each element: NumPy takes a scalar 0.5 for a square root, whose special cases are others.
    want = oracle("pow", x, np.full_like(x, exponent), wide=np.float64 if dtype == "float32" else WIDE)
    assert errors(got, want).max() <= 2 * DECLARED["pow", dtype].ulp, worst("pow", dtype, got, want, x)
    known = ~np.isnan(want)
    np.testing.assert_array_equal(np.signbit(got)[known], np.signbit(want)[known])


@MACHINES
def test_powers_that_can_be_represented_are_exact(machine):
    base, exponent = (v.ravel().astype(np.float64) for v in np.meshgrid(np.arange(2, 120), np.arange(1, 20)))
    fits = exponent * np.log2(base) < 53
    want = [float(int(b) ** int(e)) for b, e in zip(base[fits], exponent[fits], strict=True)]
    np.testing.assert_array_equal(emitted("pow", "float64", base[fits], exponent[fits], machine=machine), want)


@MACHINES
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_remainders_are_exact_for_all_pairs(dtype, machine):
    rng, n = np.random.default_rng(0), 20_000
    width = np.dtype(dtype).itemsize * 8
    x, y = (rng.integers(0, 2**width, n, dtype=BITS[dtype]).view(dtype) for _ in range(2))
    with np.errstate(over="ignore"):
        small = np.array([5e-324, 1e-310, 1e-45, 3e-39, 1e300, 3e38, 7.0]).astype(dtype)
        large = np.array([1.7e308, 1e300, 3.3e38, 1e30, 5e-324, 1e-44, np.pi]).astype(dtype)
    pairs = [v.ravel() for v in np.meshgrid(large, small)]
    x = np.concatenate([x, rng.normal(size=n).astype(dtype) * 100, pairs[0]])
    y = np.concatenate([y, rng.normal(size=n).astype(dtype), pairs[1]])
    want = oracle("mod", x, y)
    np.testing.assert_array_equal(emitted("mod", dtype, x, y, machine=machine), want)
    want = want[-60:]
    np.testing.assert_array_equal(emitted("mod", dtype, x[-60:], y[-60:], kind="serial", machine=machine), want)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("op", sorted({op for op, _ in ONE}))
def test_every_half_precision_number(op, dtype):
    """All 65536 of them, and never further off than one rounding."""
    x = np.arange(65536, dtype=np.uint16).view(np.dtype(dtype))
    got = emitted(op, dtype, x).astype(np.float64)
    want = flushed(op, got, np.asarray(oracle(op, x, wide=np.float64), np.float64))
    bits, lowest = (10, -14) if dtype == "float16" else (7, -126)
    with np.errstate(all="ignore"):
        rounded = want.astype(np.dtype(dtype)).astype(np.float64)
        exponent = np.floor(np.log2(np.where((np.abs(want) > 0) & np.isfinite(want), np.abs(want), 2.0**lowest)))
        apart = np.abs(got - want) / 2.0 ** (np.maximum(exponent, lowest) - bits)
    same = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
    special = ~np.isfinite(got) | ~np.isfinite(rounded)
    assert (np.where(special, np.where(same, 0, np.inf), apart) <= HALF_ULP).all()


@pytest.mark.parametrize("op", ["tanh", "erf"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_odd_functions_stay_within_one_and_keep_the_sign(op, dtype):
    x = np.concatenate([np.linspace(0, 30, 10_001), 2.0 ** np.linspace(-60, 0, 999)]).astype(dtype)
    got, mirrored = emitted(op, dtype, x), emitted(op, dtype, -x)
    assert np.abs(got).max() == 1
    np.testing.assert_array_equal(mirrored, -got)
    assert np.signbit(mirrored[0])
    assert not np.signbit(got[0])


@pytest.mark.slow
@pytest.mark.parametrize("op", sorted(op for op, d in ONE if d == "float32" and op != "erf"))
def test_stated_error_of_float32_on_every_hundredth_number(op):
    for part in range(4):
        x = np.arange(part, 2**32, 401, dtype=np.uint64).astype(np.uint32).view(np.float32)
        x = x[part::4]
        got = emitted(op, "float32", x)
        want = flushed(op, got, oracle(op, x, wide=np.float64))
        assert errors(got, want).max() <= DECLARED[op, "float32"].ulp, worst(op, "float32", got, want, x)
