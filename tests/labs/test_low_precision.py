"""The lab on low precision: its samples against another rounding, and sums that an instruction keeps."""

from __future__ import annotations

import numpy as np
import pytest
from ml_dtypes import bfloat16

from workbench.labs import count
from workbench.labs.catalog.precision.formats import ROUNDED, to_bfloat16
from workbench.labs.catalog.precision.instructions import DOT, LANES, SERVER, packed
from workbench.schedule import Schedule


def test_samples_and_solution_round_as_ml_dtypes_does():
    drawn = np.random.default_rng(0).integers(0, 2**32, 2000, dtype=np.uint32)
    numbers = drawn[np.isfinite(drawn.view(np.float32))]
    samples = {bits: half for cases in ROUNDED.values() for bits, half in cases}
    for bits in [*samples, *map(int, numbers)]:
        right = int(np.array([bits], np.uint32).view(np.float32).astype(bfloat16).view(np.uint16)[0])
        assert to_bfloat16(bits) == right == samples.get(bits, right), hex(bits)


@pytest.mark.parametrize(("unrolled", "kept"), [((), 0), (("i.1",), 8), (("o", "i.1"), 32)])
def test_sums_of_an_instruction_are_counted(unrolled, kept):
    s = Schedule(packed(64, 64), SERVER)
    s.split("i", [None, 8])
    s.reorder("i.0", *(() if "o" in unrolled else ("o",)), "k", *(("o",) if "o" in unrolled else ()), "i.1", "j", "q")
    for loop in unrolled:
        s.unroll(loop)
    s.tensorize("j", DOT)
    assert count(s.func, LANES).accumulators == kept
