"""Quotients by one number for all lanes are made of its reciprocal: rounded as a division, special values included."""

from __future__ import annotations

import numpy as np
import pytest
from codegen.running import compiled, marked

from workbench import te


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_quotients_by_one_number_are_those_of_a_division(dtype):
    rng, info = np.random.default_rng(0), np.finfo(dtype)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, info.tiny, info.smallest_subnormal, info.max, -info.max, 1.0, 3.0]
    wide = rng.normal(size=(2, 4000)) * 2.0 ** rng.uniform(info.minexp - 20, info.maxexp - 2, (2, 4000))
    x = np.concatenate([special, wide[0], rng.normal(size=4000)]).astype(dtype)
    dividend, divisor = te.placeholder((len(x),), dtype, name="X"), te.placeholder((1,), dtype, name="S")
    func = marked(te.func(te.compute((len(x),), lambda i: dividend[i] / divisor[0], name="Y")), i="vectorize")
    normal = np.abs(x) > info.tiny * 2 ** (info.nmant + 2)
    for s in np.array([*special, 0.03, 1 / 3, -1e-3, info.max / 2, 3 * info.tiny, *wide[1, :20]], dtype):
        got = compiled(func, x, s[None])
        with np.errstate(all="ignore"):
            want = x / s
            exact = ~np.isfinite(want) | (want == 0) | (normal & (np.abs(want) > info.tiny))
            near = np.abs(got - want) <= np.spacing(np.abs(want))
        np.testing.assert_array_equal(got[exact], want[exact])
        number = ~np.isnan(want)
        np.testing.assert_array_equal(np.signbit(got[number]), np.signbit(want[number]))
        assert (near | exact).all()
