"""The lab on low precision: its samples against another rounding, and sums that an instruction keeps."""

from __future__ import annotations

import numpy as np
import pytest
from ml_dtypes import bfloat16

from workbench.labs import count
from workbench.labs.catalog.precision import LAB
from workbench.labs.catalog.precision.formats import ROUNDED, to_bfloat16
from workbench.labs.catalog.precision.instructions import DOT, LANES, SERVER, packed
from workbench.labs.catalog.precision.scales import quantizer
from workbench.schedule import Schedule


def test_samples_and_solution_round_as_ml_dtypes_does():
    drawn = np.random.default_rng(0).integers(0, 2**32, 2000, dtype=np.uint32)
    numbers = drawn[np.isfinite(drawn.view(np.float32))]
    samples = {bits: half for cases in ROUNDED.values() for bits, half in cases}
    for bits in [*samples, *map(int, numbers)]:
        right = int(np.array([bits], np.uint32).view(np.float32).astype(bfloat16).view(np.uint16)[0])
        assert to_bfloat16(bits) == right == samples.get(bits, right), hex(bits)


def _points(name, function):
    found = next(e for e in LAB.exercises if e.name == name)
    return [goal.reached(function, None)[0] for goal in found.goals]


def test_a_zero_point_is_rounded_and_not_cut_off():
    def cut_off(values):
        scale, _ = quantizer(values)
        return np.array([scale, int(-min(0.0, *values) / scale)])

    assert _points("scale", lambda values: np.array(quantizer(values))) == [True] * 4
    assert _points("scale", cut_off) == [False, True, True, True]


@pytest.mark.parametrize(
    ("key", "fast"),
    [(lambda row: row[1] / (row[2] - row[3]), True), (lambda row: row[1], False)],
    ids=["share", "error"],
)
def test_nodes_are_kept_by_what_they_cost(key, fast):
    def keep(rows, bound):
        left = sorted(rows, key=key)
        while sum(row[1] for row in left) > bound:
            left.pop()
        return (row[0] for row in rows if row not in left)

    assert _points("keep", keep) == [True, fast]


def test_a_sum_may_be_a_bfloat16_where_that_is_exact():
    assert _points("sums", lambda x, y: bfloat16(x.astype(float) @ y.astype(float))) == [True, False, False]


@pytest.mark.parametrize(("unrolled", "kept"), [((), 0), (("i.1",), 8), (("o", "i.1"), 32)])
def test_sums_of_an_instruction_are_counted(unrolled, kept):
    s = Schedule(packed(64, 64), SERVER)
    s.split("i", [None, 8])
    s.reorder("i.0", *(() if "o" in unrolled else ("o",)), "k", *(("o",) if "o" in unrolled else ()), "i.1", "j", "q")
    for loop in unrolled:
        s.unroll(loop)
    s.tensorize("j", DOT)
    assert count(s.func, LANES).accumulators == kept
