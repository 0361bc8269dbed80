"""Any knobs that AutoTVM's templates allow, not only those of logs: the result is that of NumPy."""

import random

import numpy as np
import pytest
from logs.template_tasks import TASKS, rebuilt, splits
from tiers import first

from workbench.logs.replays.autotvm import TEMPLATES


@pytest.mark.parametrize("seed", first(range(40), 2))
@pytest.mark.parametrize("name", TASKS)
def test_knobs_of_the_space_give_the_right_result(name, seed):
    args, knobs, arrays, want = TASKS[name](random.Random(f"{name} {seed}"))
    schedule, _ = rebuilt(name, args, splits(**knobs))
    names = [buffer.name for buffer in schedule.func.buffers if buffer.role in ("input", "const")]
    given = dict(zip(("data", "kernel") if {"data", "kernel"} == set(names) else names, arrays, strict=True))
    exact = 2e-4 if "winograd" in name else 2e-5
    np.testing.assert_allclose(schedule.build()(**given), want, rtol=exact, atol=10 * exact)


def test_each_template_is_tried():
    assert {name for name in TEMPLATES if not name.endswith(".gpu")} == set(TASKS)
