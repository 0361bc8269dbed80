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
from workbench.logs.replays.metaschedule.instructions import HANDLERS, REFUSED
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
        (("SomethingNew", ["l3"], [1], ["b9"]), "no counterpart here"),
        (("CacheRead", ["b0", []], [0, "wmma.matrix_a"], ["b9"]), "the memory wmma.matrix_a has no match here"),
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


KINDS = set(
    """SampleCategorical SamplePerfectTile SamplePartitionedTile SampleComputeLocation GetBlock GetLoops GetChildBlocks
    GetProducers GetConsumers GetOutputBlocks Fuse Merge Split LoopPartition Reorder ReorderBlockIterVar AddUnitLoop
    Parallel Vectorize Bind Unroll CacheRead CacheWrite ReindexCacheRead ReindexCacheWrite CacheInplace CacheIndex
    ReIndex ReadAt WriteAt ComputeAt ReverseComputeAt ComputeInline ReverseComputeInline DecomposeReduction RFactor
    StorageAlign SetScope UnsafeSetDType Blockize Tensorize Annotate Unannotate TransformLayout TransformBlockLayout
    SetAxisSeparator DecomposePadding PadEinsum RollingBuffer EnterPostproc UnsafeHideBufferAccess
    AnnotateBufferAccess""".split()  # noqa: SIM905
)
"""All kinds of TVM 0.19, by their names in its sources; those that 0.27 has too were asked of its registry."""


def test_each_kind_is_taken_or_refused_with_its_reason():
    assert set(HANDLERS) | set(REFUSED) == KINDS | {"FuseReductionEpilogue"}  # of a later version
    assert not set(HANDLERS) & set(REFUSED)


@pytest.mark.parametrize("kind", REFUSED)
def test_a_kind_that_is_not_taken_is_named_with_the_reason(kind):
    with pytest.raises(CannotReplay) as caught:
        followed(DENSE, GET, LOOPS, (kind, ["b0"], [], []))
    assert caught.value.reason.startswith(f"instruction 2 {kind}(b0): ")
    assert REFUSED[kind] in caught.value.reason


RELU = ("GetSBlock", [], ["relu", "main"], ["b7"])
INLINE = [("GetBlock", [], ["add", "main"], ["b8"]), ("ComputeInline", ["b8"], [], [])]
TILES = ("Split", ["l2", "v4", "v5"], [1, 0], ["l6", "l7"])
SMALL = {
    "SampleCategorical": [
        ("SampleCategorical", [], [[4, 8], [0.5, 0.5]], ["v4"]),
        ("Split", ["l2", "None", "v4"], [], ["l6", "l7"]),
    ],
    "SamplePerfectTile": [("SamplePerfectTile", ["l2"], [2, 64], ["v4", "v5"]), TILES],
    "SamplePartitionedTile": [("SamplePartitionedTile", ["l2"], [2, 1, 4], ["v4", "v5"]), TILES],
    "SampleComputeLocation": [
        ("GetBlock", [], ["add", "main"], ["b8"]),
        ("SampleComputeLocation", ["b8"], [], ["l8"]),
        ("ComputeAt", ["b8", "l8"], [1, -1], []),
    ],
    "GetChildBlocks": [
        ("GetBlock", [], ["root", "main"], ["b5"]),
        ("GetChildBlocks", ["b5"], [], ["b1", "b2", "b3"]),
        ("GetChildBlocks", ["l1"], [], ["b4"]),
        ("GetLoops", ["b4"], [], ["l11", "l12", "l13"]),
        ("Parallel", ["l11"], [], []),
    ],
    "GetProducers": [RELU, ("GetProducers", ["b7"], [], ["b9"]), ("ComputeInline", ["b9"], [], [])],
    "GetOutputBlocks": [
        ("GetBlock", [], ["root", "main"], ["b5"]),
        ("GetOutputBlocks", ["b5"], [], ["b6"]),
        ("GetLoops", ["b6"], [], ["l11", "l12"]),
        ("Vectorize", ["l12"], [], []),
    ],
    "ReorderBlockIterVar": [("ReorderBlockIterVar", ["b0", [1, 0, 2]], [], []), ("Reorder", ["l3", "l1"], [], [])],
    "AddUnitLoop": [
        ("AddUnitLoop", ["l2"], [], ["l4"]),
        ("AddUnitLoop", ["b0"], [], ["l5"]),
        ("Reorder", ["l4", "l1", "l3", "l2", "l5"], [], []),
    ],
    "Bind": [
        *INLINE,
        RELU,
        ("GetLoops", ["b7"], [], ["l11", "l12"]),
        ("ComputeAt", ["b0", "l12"], [1, -1], []),
        ("CacheRead", ["b0", []], [1, "shared"], ["b9"]),
        ("GetLoops", ["b0"], [], ["l31", "l32", "l33", "l34", "l35"]),
        ("ComputeAt", ["b9", "l34"], [1, -1], []),
        ("GetLoops", ["b9"], [], ["l41", "l42", "l43", "l44", "l45", "l46"]),
        ("Bind", ["l11"], ["blockIdx.x"], []),
        ("Bind", ["l12"], ["threadIdx.x"], []),
        ("Bind", ["l46"], ["threadIdx.x"], []),
    ],
    "ReverseComputeInline": [RELU, ("ReverseComputeInline", ["b7"], [], [])],
    "StorageAlign": [("StorageAlign", ["b0"], [0, -2, 32, 8], [])],
    "SetScope": [
        RELU,
        ("GetLoops", ["b7"], [], ["l11", "l12"]),
        *INLINE,
        ("ComputeAt", ["b0", "l11"], [1, -1], []),
        ("SetScope", ["b0"], [0, "local"], []),
        ("Parallel", ["l11"], [], []),
    ],
    "Unannotate": [
        ("Annotate", ["b0", 1], ["meta_schedule.x"], []),
        ("Unannotate", ["b0"], ["meta_schedule.x"], []),
        ("EnterPostproc", [], [], []),
    ],
    "DecomposeReduction": [("DecomposeReduction", ["b0", "l3"], [], ["b9"]), ("GetLoops", ["b9"], [], ["l11", "l12"])],
}


@pytest.mark.parametrize("kind", SMALL)
def test_a_small_trace_of_a_kind(kind):
    steps = SMALL[kind]
    tiles = {"SamplePerfectTile": [20, 4], "SamplePartitionedTile": [8, 10]}
    chosen = {"SampleCategorical": 1, "SampleComputeLocation": 0, **tiles}
    decisions = [[k, chosen[one[0]]] for k, one in enumerate((GET, LOOPS, *steps)) if one[0] in chosen]
    taking = followed(DENSE, GET, LOOPS, *steps, decisions=decisions)
    run(taking)
    assert [step.theirs.partition("(")[0].split()[-1] for step in taking.steps][2 : 2 + len(steps)] == [
        {"GetSBlock": "GetBlock"}.get(one[0], one[0]) for one in steps
    ]


def test_each_kind_that_is_taken_is_tried():
    here = {one[0] for steps in SMALL.values() for one in steps}
    above = {"Fuse", "Unroll", "CacheWrite", "RFactor", "ReverseComputeAt", "GetConsumers", "GetBlock", "GetLoops"}
    assert here | above >= set(HANDLERS)


def test_loops_of_threads_inside_loops_of_threads_are_told():
    taking = followed(DENSE, GET, LOOPS, *SMALL["Bind"])
    assert sorted(loop.kind for loop in taking.schedule.loops if loop.kind != "serial") == ["blockIdx.x", "threadIdx.x"]
    assert any("each copies what it reads" in note for note in taking.notes)
    assert {b.name: b.scope for b in taking.schedule.buffers}["B.local"] == "shared"
