"""MetaSchedule's traces as schedules: the nests that TVM itself makes of them, and NumPy's results."""

import gzip
import json

import numpy as np
import pytest
from logs.real_files import EXCERPTS
from tiers import first

import workbench as wb
from workbench.logs.replays import replay
from workbench.logs.replays.metaschedule import build, computation_of
from workbench.logs.replays.metaschedule.building import HANDLERS
from workbench.logs.replays.result import CannotReplay
from workbench.logs.tir import read_module
from workbench.logs.tvm.metaschedule_trace import read_trace
from workbench.target import Target

FOLDERS = [EXCERPTS / "metaschedule" / name for name in ("conv14-relu-32trials", "dense-16trials", "rows-8trials")]
CONVOLUTION, DENSE, ROWS = FOLDERS


@pytest.fixture(scope="module")
def logs():
    return {folder: wb.logs.open(folder) for folder in FOLDERS}


def loops(schedule):
    """Kind and extent of the loops around each block; unrolling comes of pragmas, which TVM serves later."""
    found = []
    for block in schedule.blocks:
        path = schedule.func.block(block.name)[1]
        kinds = [["serial" if loop.kind == "unroll" else loop.kind, loop.extent] for loop in path]
        found.append([one for one in kinds if one[1] != 1])
    return found


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_nests_are_those_that_tvm_makes(logs, folder):
    with gzip.open(folder / "tvm_loops.json.gz", "rt") as file:
        expected = json.load(file)
    noted = 0
    for record, blocks in enumerate(expected):
        found = replay(logs[folder], record)
        assert found.ok, found.reason
        noted += bool(found.notes)
        if not found.notes:
            assert loops(found.schedule) == [path for _, path in blocks]
        assert sum(len(step.ours) for step in found.steps) == len(found.schedule.trace)
    assert noted == {CONVOLUTION: 0, DENSE: 4, ROWS: 0}[folder]


@pytest.mark.parametrize("record", first([24, 0, 7, 13, *(k for k in range(32) if k not in (0, 7, 13, 24))], 4))
def test_the_convolution_is_that_of_numpy(logs, record):
    rng = np.random.default_rng(record)
    a, w = rng.standard_normal((1, 14, 14, 32), np.float32), rng.standard_normal((3, 3, 32, 32), np.float32)
    want = sum(a[:, i : i + 12, j : j + 12] @ w[i, j] for i in range(3) for j in range(3))
    got = replay(logs[CONVOLUTION], record).schedule.build()(A=a, W=w)
    np.testing.assert_allclose(got, np.maximum(want, 0), rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("record", first([0, 11, *(k for k in range(16) if k not in (0, 11))], 2))
def test_the_product_is_that_of_numpy(logs, record):
    rng = np.random.default_rng(record)
    a, b = rng.standard_normal((64, 96), np.float32), rng.standard_normal((96, 80), np.float32)
    bias = rng.standard_normal(80, np.float32)
    got = replay(logs[DENSE], record).schedule.build()(A=a, B=b, bias=bias)
    np.testing.assert_allclose(got, np.maximum(a @ b + bias, 0), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("record", first(range(8), 2))
def test_the_sums_of_rows_are_those_of_numpy(logs, record):
    a = np.random.default_rng(record).uniform(-1, 1, (4, 4096)).astype(np.float32)
    got = replay(logs[ROWS], record).schedule.build()(A=a)
    np.testing.assert_allclose(got, np.exp(a).sum(1), rtol=1e-4)


def module(folder):
    with gzip.open(folder / "database_workload.json.gz", "rt") as file:
        (function,) = read_module(json.loads(file.readline())[1]).values()
    return computation_of(function)


def followed(folder, *instructions, decisions=()):
    trace = [[kind, inputs, attrs, outputs] for kind, inputs, attrs, outputs in instructions]
    return build(module(folder), read_trace([trace, list(decisions)]), Target("llvm"))


GET = ("GetBlock", [], ["matmul", "main"], ["b0"])
LOOPS = ("GetLoops", ["b0"], [], ["l1", "l2", "l3"])


def run(taking):
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((64, 96), np.float32), rng.standard_normal((96, 80), np.float32)
    bias = rng.standard_normal(80, np.float32)
    got = taking.schedule.build()(A=a, B=b, bias=bias)
    np.testing.assert_allclose(got, np.maximum(a @ b + bias, 0), rtol=1e-4, atol=1e-4)


def test_rfactor_caches_and_places():
    taking = followed(
        DENSE,
        GET,
        LOOPS,
        ("Split", ["l3", "None", 8], [1, 0], ["l4", "l5"]),
        ("RFactor", ["l5"], [0], ["b1"]),
        ("CacheRead", ["b1"], [1, "global"], ["b2"]),
        ("GetSBlock", [], ["add", "main"], ["b3"]),
        ("GetConsumers", ["b3"], [], ["b4"]),
        ("SampleComputeLocation", ["b3"], [], ["l9"]),
        ("ComputeAt", ["b3", "l9"], [1, -1], []),
        ("GetLoops", ["b4"], [], ["l6", "l7"]),
        ("Parallel", ["l6"], [], []),
        decisions=[[7, -2]],
    )
    assert [block.name for block in taking.schedule.blocks] == ["B.copy", "matmul.rf", "matmul", "relu"]
    run(taking)


def test_cache_write_and_reverse_compute_at():
    taking = followed(
        DENSE,
        GET,
        ("CacheWrite", ["b0"], [0, "global"], ["b1"]),
        LOOPS,
        ("Split", ["l1", 8, "None"], [1, 0], ["l4", "l5"]),
        ("Split", ["l2", "None", 16], [1, 0], ["l6", "l7"]),
        ("Reorder", ["l4", "l6", "l3", "l5", "l7"], [], []),
        ("ReverseComputeAt", ["b1", "l6"], [1, -1], []),
        ("Vectorize", ["l7"], [], []),
        ("Unroll", ["l5"], [], []),
        ("Fuse", ["l4", "l6"], [1], ["l8"]),
        ("Parallel", ["l8"], [], []),
        ("Annotate", ["l8", 64], ["pragma_auto_unroll_max_step"], []),
        ("Annotate", ["l8", 1], ["a note of somebody"], []),
    )
    assert taking.notes == ["the note a note of somebody has no effect here"]
    run(taking)


@pytest.mark.parametrize(
    ("instruction", "reason"),
    [
        (("Blockize", ["l3"], [1], ["b9"]), "no counterpart here"),
        (("Tensorize", ["b0", '"dot"'], [1], []), "no counterpart here"),
        (("GetBlock", [], ["nobody", "main"], ["b9"]), "there is no block nobody"),
        (("Vectorize", ["l3"], [], []), "vectorize"),
        (("Split", ["l1", "None", "None"], [1, 0], ["l4", "l5"]), "cuts 64 iterations"),
        (("Split", ["l77", "None", 4], [1, 0], ["l4", "l5"]), "another form"),
        (("GetLoops", ["b0"], [], ["l4"]), "it makes 1, and 3 are there"),
        (("SamplePerfectTile", ["l1"], [2, 64], ["v4", "v5"]), "another form"),
    ],
)
def test_where_a_trace_ends(instruction, reason):
    with pytest.raises(CannotReplay) as caught:
        followed(DENSE, GET, LOOPS, instruction)
    assert reason in caught.value.reason
    assert len(caught.value.steps) == 2


def test_the_file_of_workloads_may_be_named(tmp_path, logs):
    records = tmp_path / "records.json"
    records.write_bytes(gzip.decompress((CONVOLUTION / "database_tuning_record.json.gz").read_bytes()))
    log = wb.logs.open(records)
    assert "file of workloads is not there" in replay(log, 0).reason
    assert replay(log, 0, task=CONVOLUTION / "database_workload.json.gz").ok


def test_what_a_trace_may_hold_is_listed():
    asked = (
        "Split Fuse Reorder Annotate ComputeAt ReverseComputeAt CacheRead CacheWrite RFactor Parallel Vectorize Unroll"
    )
    assert set(asked.split()) | {"GetBlock", "GetLoops", "SamplePerfectTile", "DecomposeReduction"} <= set(HANDLERS)
