"""Results of all records of AutoTVM's whole files (``WORKBENCH_TUNER_LOGS``): each nest is built, run and compared."""

import functools
import json

import numpy as np
import pytest
from logs.real_files import WHOLE, files

import workbench as wb

SECONDS_OF_ALL = 4 * 3600
"""Time for the whole of a file; see CONTRIBUTING for what a night has."""


@functools.cache
def wanted(name, args):
    """Arrays for a task of products, and what NumPy makes of them."""
    (_, first, _), (_, second, _) = json.loads(args)[:2]
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal(first, np.float32), rng.standard_normal(second, np.float32)
    return a, b, a @ np.swapaxes(b, -1, -2)


def compared(log, record):
    """Largest difference from NumPy, over the largest result."""
    _, name, args, _ = log.raw(record)["input"]
    a, b, want = wanted(name, json.dumps(args))
    replay = wb.logs.replay(log, record)
    assert replay.ok, (record, replay.reason)
    names = [buffer.name for buffer in replay.schedule.func.buffers if buffer.role in ("input", "const")]
    arrays = {"data": a, "weight": b} if "data" in names else {"A": a, "B": b}
    return np.abs(replay.schedule.build()(**arrays) - want).max() / np.abs(want).max()


@pytest.mark.slow
@pytest.mark.timeout(SECONDS_OF_ALL)
@pytest.mark.skipif(not WHOLE, reason="needs the whole files")
@pytest.mark.parametrize("path", files("autotvm-bert-B1-float32-platinum-8124m.log"), ids=lambda path: path.name)
def test_each_record_of_a_network_gives_what_numpy_does(path):
    log = wb.logs.open(path)
    seen = {}
    for record in range(len(log)):
        raw = log.raw(record)
        seen.setdefault(json.dumps([raw["input"], raw["config"]["entity"]]), record)
    wrong = {record: error for record in seen.values() if not (error := compared(log, record)) < 1e-5}
    assert not wrong
