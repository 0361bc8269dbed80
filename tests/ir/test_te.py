from __future__ import annotations

import numpy as np
import pytest

from workbench import te
from workbench.errors import ExpressionError
from workbench.ir import Binary, Load, Select
from workbench.ir.interpreter import interp
from workbench.ir.verify import verify


def run(tensor, **inputs):
    func = te.func(tensor)
    verify(func)
    (out,) = interp.run(func, inputs).values()
    return out


X = np.arange(12, dtype="float32").reshape(3, 4)


def x():
    return te.placeholder((3, 4), name="X")


def test_index_arithmetic():
    a = x()
    flat = te.compute((12,), lambda i: a[i // 4, i % 4], name="flat")
    np.testing.assert_array_equal(run(flat, X=X), X.ravel())
    back = te.compute((4, 3), lambda i, j: flat[i * 3 + j] * 2.0, name="back")
    np.testing.assert_array_equal(run(back, X=X), X.reshape(4, 3) * 2)
    upside = te.compute((3, 4), lambda i, j: a[2 - i, 3 - j], name="upside")
    np.testing.assert_array_equal(run(upside, X=X), X[::-1, ::-1])
    tiled = te.compute((2, 6), lambda i, j: flat[(i * 6 + j) // 1], name="tiled")
    np.testing.assert_array_equal(run(tiled, X=X), X.reshape(2, 6))


def test_axis_names_come_from_the_function_and_reductions_keep_the_short_ones():
    a, k = x(), te.reduce_axis(4, "k")
    s = te.compute((3,), lambda i: te.sum(a[i, k], axis=k), name="S")
    func = te.func(te.compute((3,), lambda i: s[i] * 0.25, name="mean"))
    assert [lp.name for lp in func.block("S")[1]] == ["i", "k"]
    assert [lp.name for lp in func.block("mean")[1]] == ["mean_i"]
    assert [b.role for b in func.buffers] == ["input", "output", "temp"]
    star = te.func(te.compute((3, 4), lambda *idx: a[idx], name="copy"))
    assert [lp.name for lp in star.block("copy")[1]] == ["a0", "a1"]


def test_conditions_guard_loads_and_join():
    a = x()
    y = te.compute((5, 4), lambda i, j: te.select((i >= 1) & (i < 4) & (j > 0) & (j <= 2), a[i - 1, j], -1.0), name="Y")
    want = np.full((5, 4), -1, "float32")
    want[1:4, 1:3] = X[:, 1:3]
    np.testing.assert_array_equal(run(y, X=X), want)
    value = te.func(y).block("Y")[0].value
    assert isinstance(value, Select)
    assert len(value.conds) == 2
    z = te.compute((3, 4), lambda i, j: te.select(i.equal(1), a[i, j], 0.0), name="Z")
    np.testing.assert_array_equal(run(z, X=X), X * np.array([[0], [1], [0]]))


def test_data_dependent_choice():
    a = x()
    y = te.compute((3, 4), lambda i, j: te.select(a[i, j] > 5.0, a[i, j], -a[i, j]), name="Y")
    np.testing.assert_array_equal(run(y, X=X), np.where(X > 5, X, -X))


@pytest.mark.parametrize(("op", "want"), [("sum", X.sum(1)), ("prod", X.prod(1)), ("max", X.max(1)), ("min", X.min(1))])
def test_reductions(op, want):
    a, k = x(), te.reduce_axis(4, "k")
    y = te.compute((3,), lambda i: getattr(te, op)(a[i, k], axis=k), name="Y")
    np.testing.assert_allclose(run(y, X=X), want)
    block, _ = te.func(y).block("Y")
    assert block.is_reduction
    assert block.value == Binary(block.update()[0], Load("Y", block.index), block.update()[1])


def test_elementary_functions():
    a = x()
    functions = {
        "exp": np.exp,
        "sqrt": np.sqrt,
        "tanh": np.tanh,
        "abs": np.abs,
        "floor": np.floor,
        "ceil": np.ceil,
        "round": np.rint,
        "sigmoid": lambda v: 1 / (1 + np.exp(-v)),
        "rsqrt": lambda v: 1 / np.sqrt(v),
    }
    for name, reference in functions.items():
        ours = getattr(te, name)
        y = te.compute((3, 4), lambda i, j, f=ours: f(a[i, j] * 0.5 + 0.25), name="Y")
        np.testing.assert_allclose(run(y, X=X), reference(X * 0.5 + 0.25), rtol=1e-6)
    y = te.compute((3, 4), lambda i, j: te.maximum(te.minimum(a[i, j], 9.0), 2.0) ** 2.0, name="Y")
    np.testing.assert_allclose(run(y, X=X), np.clip(X, 2, 9) ** 2)


def test_values_are_converted_as_in_tvm():
    a = x()
    y = te.compute((3, 4), lambda i, j: (a[i, j] / 3).astype("int32"), name="Y")
    np.testing.assert_array_equal(run(y, X=X - 5), np.trunc((X - 5) / np.float32(3)))
    assert y.dtype == "int32"
    with pytest.raises(ExpressionError) as e:
        a[0, 0].astype("int33")
    assert e.value.code == "te.dtype"


def test_dtypes_widen_and_cast():
    n = te.placeholder((4,), "int32", name="N")
    f = te.placeholder((4,), name="F")
    values = np.array([1, -2, 3, 7], "int32")
    y = te.compute((4,), lambda i: te.cast(n[i], "float32") * f[i] + 1, name="Y")
    assert y.dtype == "float32"
    np.testing.assert_array_equal(run(y, N=values, F=np.ones(4, "float32")), values + 1)
    z = te.compute((4,), lambda i: n[i] * 2 + 1, name="Z")
    assert z.dtype == "int32"
    np.testing.assert_array_equal(run(z, N=values), values * 2 + 1)


def test_concat_and_several_outputs():
    a = x()
    b = te.compute((3, 2), lambda i, j: a[i, j + 2], name="B")
    np.testing.assert_array_equal(run(te.concat([a, b], axis=1, name="C"), X=X), np.concatenate([X, X[:, 2:]], 1))
    func = te.func([b, te.compute((3, 2), lambda i, j: b[i, j] * 2.0, name="D")])
    verify(func)
    out = interp.run(func, {"X": X})
    np.testing.assert_array_equal(out["D"], 2 * out["B"])


def bad_rank():
    return te.compute((3,), lambda i: x()[i])


def bad_names():
    a = te.placeholder((3,), name="same")
    b = te.compute((3,), lambda i: a[i], name="same")
    return te.func(b)


def clash():
    k = te.reduce_axis(4, "i")
    return te.compute((3,), lambda i: te.sum(x()[i, k], axis=k))


def inside():
    k = te.reduce_axis(4, "k")
    return te.compute((3,), lambda i: te.sum(x()[i, k], axis=k) + 1.0)


def stray():
    k = te.reduce_axis(4, "k")
    return te.compute((3,), lambda i: x()[i, k])


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (bad_rank, "te.rank"),
        (bad_names, "te.name"),
        (clash, "te.axis_name"),
        (stray, "te.reduce_axis"),
        (lambda: te.compute((3,), lambda i: te.sum(x()[i, i], axis=i)), "te.reduce_axis"),
        (lambda: te.compute((3,), lambda i: te.max(x()[i, i])), "te.reduce_axis"),
        (lambda: te.compute((3, 3), lambda i: i), "te.rank"),
        (lambda: te.compute((3,), lambda i: te.maximum(x(), 2.0)), "te.rank"),
        (lambda: te.placeholder((0, 3)), "te.shape"),
        (lambda: te.compute((3, 4), lambda i, j: x()[(i + j) // 3, j]), "te.affine"),
        (lambda: te.compute((3,), lambda i: x()[i * 0.5, i]), "te.affine"),
        (lambda: te.compute((3,), lambda i: "three"), "te.value"),
        (lambda: te.compute((3,), lambda i: te.placeholder((3,), "int32", name="N")[i] + 0.5), "te.dtype"),
    ],
)
def test_mistakes_have_codes(make, code):
    with pytest.raises(ExpressionError) as e:
        make()
    assert e.value.code == code


def test_a_reduction_is_the_whole_result():
    with pytest.raises((ExpressionError, TypeError)):
        inside()


def test_constants_conditions_and_integer_powers():
    n, k = te.placeholder((5,), "int32", name="N"), te.reduce_axis(3, "k")
    values = {"N": np.array([-3, 0, 1, 2, 7], np.int32)}
    for value, want in (
        (lambda i: 1.5, np.full(5, 1.5, np.float32)),
        (lambda i: te.sum(2, axis=k), np.full(5, 6)),
        (lambda i: te.select(n[i], n[i], 9), np.where(values["N"], values["N"], 9)),
        (lambda i: n[i] ** 2, values["N"] ** 2),
        (lambda i: n[i] ** 3, values["N"] ** 3),
        (lambda i: i + n[i], np.arange(5) + values["N"]),
    ):
        got = interp.run(te.func(te.compute((5,), value, name="Y")), values)["Y"]
        assert (got == want).all()


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (lambda b, u, i: -b[i], "te.dtype"),
        (lambda b, u, i: b[i] - b[i], "te.dtype"),
        (lambda b, u, i: u[i] + 300, "te.dtype"),
        (lambda b, u, i: u[i] - (-1), "te.dtype"),
        (lambda b, u, i: u[i + 0.5], "te.affine"),
        (lambda b, u, i: u[i // 0], "te.affine"),
        (lambda b, u, i: u[i % -2], "te.affine"),
        (lambda b, u, i: te.sum(u[i], axis=[te.reduce_axis(2, "k"), te.reduce_axis(3, "k")]), "te.axis_name"),
    ],
)
def test_what_has_no_meaning_is_refused(value, code):
    b, u = te.placeholder((5,), "bool", name="B"), te.placeholder((5,), "uint8", name="U")
    with pytest.raises(ExpressionError) as e:
        te.compute((5,), lambda i: value(b, u, i))
    assert e.value.code == code


def test_only_parts_of_one_kind_are_joined():
    a, b = te.placeholder((2, 3), name="A"), te.placeholder((2, 4), name="B")
    for other, axis in ((b, 0), (te.placeholder((2, 3), "int32", name="C"), 1)):
        with pytest.raises(ExpressionError) as e:
            te.concat([a, other], axis)
        assert e.value.code == "te.concat"
