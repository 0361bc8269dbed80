"""Literals in LLVM text: numbers that compare equal are not always the same literal."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.codegen.llvm.values import literal


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "bfloat16"])
@pytest.mark.parametrize("zero", [float, np.float32, np.float64])
def test_zeros_of_both_signs_are_two_literals(dtype, zero):
    plus, minus = literal(zero(0.0), dtype), literal(zero(-0.0), dtype)
    assert plus.text != minus.text
    assert literal(zero(0.0), dtype) == plus


def test_equal_numbers_of_other_types_are_other_literals():
    assert literal(1, "int32").text == "1"
    assert literal(True, "bool").text == "true"
    assert literal(1.0, "float32").text == "0x3FF0000000000000"
    assert literal(1, "int32", 4).text == "splat (i32 1)"
