"""Records of the auto-scheduler as schedules: each gives what a NumPy program of its own computes."""

import json
import re
import tempfile
from pathlib import Path

import numpy as np
import pytest
from tiers import first

import workbench as wb
from workbench import te, workloads
from workbench.errors import LogError, UsageError
from workbench.logs.replays.ansor.program import ANNOTATIONS

DATA = Path(__file__).parent.parent / "data"
RESNET, MATMUL = (DATA / "logs" / "ansor" / name for name in ("resnet-50-NHWC-B1-llvm.json.gz", "ansor-matmul.json"))
TASKS = DATA / "tvm-tutorial-resnet50-tasks.txt"


@pytest.fixture(scope="module")
def resnet():
    return wb.logs.open(RESNET)


@pytest.fixture(scope="module")
def graphics():
    return wb.logs.open(DATA / "logs" / "ansor" / "resnet-18-NHWC-B1-cuda.json.gz")


def convolved(x, w, stride, pad):
    """Convolution of NHWC by HWIO, a product of matrices for each place of the kernel."""
    x = np.pad(x, ((0, 0), (pad, pad), (pad, pad), (0, 0))).astype(np.float64)
    h, wd = ((n - k) // stride + 1 for n, k in zip(x.shape[1:3], w.shape[:2], strict=True))
    shifted = ((x[:, i:, j:], w[i, j]) for i in range(w.shape[0]) for j in range(w.shape[1]))
    return sum(part[:, : h * stride : stride, : wd * stride : stride] @ m for part, m in shifted)


def expected(shapes, arrays):
    """What the computation of a record gives, told from its shapes alone."""
    x, out = arrays[0], shapes[-1]
    if len(out) == 2:
        e = np.exp(x.astype(np.float64) - x.max())
        return e / e.sum()
    if len(shapes) == 2:
        return x.mean((1, 2), keepdims=True)
    if len(shapes) == 3 and shapes[1][:3] == [1, 1, 1] and shapes[0][3] == out[3] == 64 and shapes[0][1] == 112:
        wide = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)), constant_values=-np.inf)
        parts = [wide[:, i : i + 111 : 2, j : j + 111 : 2] for i in range(3) for j in range(3)]
        return np.maximum(np.max(parts, 0) + arrays[1], 0)
    kernel = shapes[1][0]
    y = convolved(x, arrays[1], round(shapes[0][1] / out[1]), (kernel - 1) // 2)
    rest = arrays[2:]
    if len(rest) == 3:
        return np.maximum((y + rest[0]) * rest[1] + rest[2], 0)
    return np.maximum(y + sum(rest), 0) if any(a.shape[:3] == (1, 1, 1) for a in rest) else y + sum(rest)


def shapes_of(key):
    """Shapes in a flat key: all have four dimensions, but those of a softmax."""
    numbers = json.loads(key)[1:]
    rank = 2 if len(numbers) == 4 else 4
    return [numbers[k : k + rank] for k in range(0, len(numbers), rank)]


@pytest.mark.parametrize(
    "record", first([9, 11, 20, 0, 2, 17, 24, *(k for k in range(26) if k not in (0, 2, 9, 11, 17, 20, 24))], 5)
)
def test_a_record_computes_what_numpy_does(resnet, record):
    found = wb.logs.replay(resnet, record, task=TASKS)
    assert found.ok, found.reason
    shapes = shapes_of(resnet.raw(record)["i"][0][0])
    rng = np.random.default_rng(record)
    arrays = [rng.uniform(-1, 1, s).astype(np.float32) for s in shapes[:-1]]
    got = found.schedule.build()(*arrays)
    np.testing.assert_allclose(got, expected(shapes, arrays), rtol=2e-5, atol=2e-4)


def test_every_record_of_the_network_replays(resnet):
    found = wb.logs.replay_all(resnet, task=TASKS)
    assert [r.reason for r in found] == [""] * 26
    for replay in found:
        listed = resnet.raw(replay.record)["i"][1][1]
        assert [json.loads(s.theirs) for s in replay.steps if s.number >= 0] == listed
        assert sum(len(s.ours) for s in replay.steps) == len(replay.schedule.trace)
        costs = resnet.raw(replay.record)["r"][0]
        assert replay.then_ms == pytest.approx(1e3 * sum(costs) / len(costs))


#: Records for a GPU whose computation TVM prints whole, and Winograd convolutions: tiles of 4x4 and of 6x6 elements.
PLAIN = (4, 12, 15, 3, 2, 11, 1, 6, 10, 14, 18, 20)
WINOGRAD = (0, 23, 5, 16, 7, 8, 9, 13, 19, 17, 21, 22)
POINTS = {4: (0, -1, 1), 6: (0, -1, 1, 0.5, -2)}


def test_records_for_a_gpu(graphics):
    found = wb.logs.replay_all(graphics, task=TASKS)
    assert [r.reason for r in found] == [""] * 24
    assert {r.record for r in found if any("Winograd" in note for note in r.notes)} == set(WINOGRAD)
    for replay in found:
        listed = graphics.raw(replay.record)["i"][1][1]
        assert [json.loads(s.theirs) for s in replay.steps] == listed
        assert sum(len(s.ours) for s in replay.steps) == len(replay.schedule.trace)
        grids = sum(step[0] == "AN" and step[3] == ANNOTATIONS.index("blockIdx.x") for step in listed)
        assert len(re.findall(r"blockIdx\.x", replay.schedule.nest())) == grids
    assert wb.logs.replay(graphics, 0).ok, "the shapes are those of a Winograd convolution, whatever the text has"


def transformed(weights, size):
    """Weights HWIO of 3x3 as G w G' by output and input: powers of the points over the product of their distances."""
    rows = []
    for point in POINTS[size]:
        weight = np.prod([point - other for other in POINTS[size] if other != point])
        rows.append([point**k / (abs(weight) if point == 0 else weight) for k in range(3)])
    g = np.array([*rows, [0, 0, 1]])
    return np.einsum("ai,bj,ijcd->abdc", g, g, weights, optimize=True).astype(np.float32)


@pytest.mark.parametrize("record", first(WINOGRAD))
def test_a_winograd_convolution_for_a_gpu_computes_what_a_direct_one_does(graphics, record):
    found = wb.logs.replay(graphics, record, task=TASKS)
    image, weights, *rest, out = json.loads(graphics.raw(record)["i"][0][0])[1:]
    rng = np.random.default_rng(record)
    arrays = [rng.uniform(-1, 1, s).astype(np.float32) for s in (image, weights, *rest)]
    kernel = rng.uniform(-1, 1, (3, 3, image[3], out[3]))
    arrays[1] = transformed(kernel, weights[0])
    y = convolved(arrays[0], kernel, 1, 1)
    if len(rest) == 3:
        y = np.maximum((y + arrays[2]) * arrays[3] + arrays[4], 0)
    else:
        y = y + sum(arrays[2:])
        y = np.maximum(y, 0) if [1, 1, 1, out[3]] in rest else y
    np.testing.assert_allclose(found.schedule.build()(*arrays), y, rtol=2e-5, atol=3e-4)


@pytest.mark.parametrize("record", first(PLAIN, 6))
def test_a_record_for_a_gpu_is_a_nest_with_its_bindings(graphics, record):
    found = wb.logs.replay(graphics, record, task=TASKS)
    shapes = json.loads(graphics.raw(record)["i"][0][0])[1:]
    rng = np.random.default_rng(record)
    arrays = [rng.uniform(-1, 1, s).astype(np.float32) for s in shapes[:-1]]
    dense = len(shapes) == 4 and len(shapes[0]) == 2
    right = arrays[0] @ arrays[1].T + arrays[2] if dense else expected(shapes, arrays)
    np.testing.assert_allclose(found.schedule.build()(*arrays), right, rtol=2e-5, atol=3e-4)
    nest = found.schedule.nest()
    steps = [json.loads(s.theirs) for s in found.steps]
    assert "blockIdx.x" in nest
    assert "threadIdx.x" in nest
    assert nest.count("scope(shared)") == sum(s[0] == "CHR" for s in steps)
    assert any("have no match here" in note for note in found.notes) == ("scope(shared)" in nest or record == 15)


def test_the_nest_is_the_one_that_the_record_describes():
    found = wb.logs.replay(wb.logs.open(MATMUL))
    loops = re.findall(r"(parallel|for|unroll|vectorize) \S+ in (\d+)", found.schedule.nest())
    # TVM prints this program for the record: parallel i.0@j.0, i.1, k.0, k.1, i.3 unrolled, j.3 as a vector.
    assert loops[:7] == [
        ("parallel", "128"), ("parallel", "128"), ("for", "2"), ("for", "256"), ("for", "4"), ("unroll", "4"),
        ("vectorize", "8"),
    ]  # fmt: skip
    assert "outside" not in found.table()["words"].str.cat()
    assert "compute_at('matmul', 'out_i.1')" in found.table()["ours"].str.cat()
    assert "CA" in found._repr_html_()


def test_a_small_product_with_a_computation_of_ones_own():
    steps = [
        ["SP", 2, 0, 24, [2, 1, 4], 1], ["SP", 2, 4, 16, [1, 1, 8], 1], ["SP", 2, 8, 20, [5], 1],
        ["RE", 2, [0, 4, 1, 5, 8, 2, 6, 9, 3, 7]], ["FU", 2, [0, 1]], ["AN", 2, 0, 3], ["AN", 2, 8, 2],
    ]  # fmt: skip
    found = replayed(steps, workloads.matmul(24, 16, 20))
    a, b = np.random.default_rng(0).uniform(-1, 1, (2, 24, 20)).astype(np.float32)
    b = b.T[:, :16].copy()
    np.testing.assert_allclose(found.schedule.build()(a, b), a.astype(float) @ b, rtol=1e-5, atol=1e-5)


def replayed(steps, task):
    """Replay steps of a made-up record."""
    line = {"i": [['["a1b2", 1]', "llvm"], [[], steps]], "r": [[1e-3], 0, 1.0, 1], "v": "v0.6"}
    path = Path(tempfile.mkdtemp()) / "log.json"
    path.write_text(json.dumps(line) + "\n")
    return wb.logs.replay(wb.logs.open(path), task=task)


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ([["SP", 9, 0, 24, [2], 1]], "none with the number 9"),
        ([["SP", 0, 0, 24, [2], 1]], "is an input"),
        ([["SP", 2, 7, 24, [2], 1]], "3 iterators"),
        ([["SP", 2, 0, 25, [2], 1]], "extent 24 in this computation, not 25"),
        ([["SP", 2, 0, 24, [None], 1]], "a length is open"),
        ([["SP", 2, 0, 24, "2", 1]], "other arguments"),
        ([["SP", 2, 0, 24, [0], 1]], "other arguments"),
        ([["SP", 2, 0, 24, [2]]], "other arguments"),
        ([["RE", 2, [0, 1]]], "no order of all of them"),
        ([["FU", 2, [0, 2]]], "follow each other"),
        ([["FU", 2, [1, 2]], ["AN", 2, 1, 2]], "fuse is not legal here"),
        ([["AN", 2, 0, 11]], "has no match here"),
        ([["AN", 2, 2, 3]], "parallel is not legal here"),
        ([["PR", 2, 0, "debug_skip_region"]], "auto_unroll_max_step"),
        ([["FSP", 2, 0, 0, 2]], "no earlier split"),
        ([["SP", 2, 0, 24, [2], 1], ["FSP", 2, 0, 0, 2]], "has 1 lengths"),
        ([["CI", 2]], "compute_inline is not legal here"),
        ([["CA", 2, 2, 0]], "compute_at is not legal here"),
        ([["XX", 2]], "not known: 'XX'"),
        (["SP"], "another form"),
        ([["SP", 2, True, 24, [2], 1]], "other arguments"),
    ],
)
def test_a_step_that_cannot_be_taken_is_a_reason(steps, reason):
    found = replayed(steps, workloads.matmul(24, 16, 20))
    assert not found.ok
    assert reason in found.reason
    with pytest.raises(UsageError) as caught:
        found.measure()
    assert caught.value.code == "replay.refused"


def test_a_computation_is_asked_for(resnet, tmp_path):
    assert "by a hash only" in wb.logs.replay(resnet, 3).reason
    other = tmp_path / "other.txt"
    other.write_text("p0 = PLACEHOLDER [4, 4]\nB(i, j) = (p0[i, j]*2f)\n")
    assert "no computation of the text" in wb.logs.replay(resnet, 3, task=other).reason
    with pytest.raises(LogError, match="no such file"):
        wb.logs.replay(resnet, 3, task=tmp_path / "absent.txt")
    with pytest.raises(UsageError) as caught:
        wb.logs.replay(resnet, 3, task=3.5)
    assert caught.value.code == "replay.task"
    with pytest.raises(UsageError) as caught:
        wb.logs.replay(resnet)
    assert caught.value.code == "replay.record"


def test_a_stage_is_reduced_in_two_steps_and_the_parts_in_a_nest_of_their_own():
    a = te.placeholder((6, 40), name="A")
    k = te.reduce_axis(40, "k")
    b = te.compute((6,), lambda i: te.sum(a[i, k], axis=k), name="B")
    steps = [["SP", 1, 1, 40, [8], 1], ["RF", 1, 2, 1], ["RE", 1, [0, 2, 1]], ["AN", 1, 2, 2], ["AN", 2, 0, 3]]
    found = replayed(steps, b)
    assert found.ok, found.reason
    x = np.random.default_rng(1).uniform(-1, 1, (6, 40)).astype(np.float32)
    np.testing.assert_allclose(found.schedule.build()(x), x.sum(1), rtol=1e-5)


def test_lengths_that_do_not_divide():
    steps = [["SP", 2, 0, 24, [5], 1], ["RE", 2, [0, 3, 1, 2]]]
    found = replayed(steps, workloads.matmul(24, 16, 20))
    assert found.ok, found.reason
    a, b = (np.random.default_rng(0).uniform(-1, 1, s).astype(np.float32) for s in ((24, 20), (20, 16)))
    np.testing.assert_allclose(found.schedule.build()(a, b), a @ b, rtol=1e-4, atol=1e-5)


def test_a_placed_stage_is_as_long_as_its_reader_needs():
    """A stencil's halo is longer than the tile of its reader: 10 elements, of which the inner loop takes 5."""
    a = te.placeholder((34,), name="A")
    b = te.compute((34,), lambda i: a[i] * 2.0, name="B")
    c = te.compute((32,), lambda i: b[i] + b[i + 2], name="C")
    placed = ["CA", 1, 2, 0]
    found = replayed([["SP", 2, 0, 32, [8], 1], ["SP", 1, 0, 34, [5], 1], placed], c)
    assert found.ok, found.reason
    assert "B_i.0 in 2" in found.schedule.nest()
    x = np.arange(34, dtype=np.float32)
    np.testing.assert_allclose(found.schedule.build()(x), 2 * x[:32] + 2 * x[2:])
    uneven = replayed([["SP", 2, 0, 32, [8], 1], ["SP", 1, 0, 34, [4], 1], placed], c)
    assert "split.tail" in uneven.reason
    assert any(step.ours for step in uneven.steps), "what was taken before is told"


STEPS = (
    ["SP", 2, 0, 32, [2, 1, 4], 1], ["SP", 2, 4, 32, [1, 1, 8], 1], ["SP", 2, 8, 32, [4], 1],
    ["RE", 2, [0, 4, 1, 5, 8, 2, 6, 9, 3, 7]], ["FU", 2, [0, 1]], ["AN", 2, 0, 3], ["AN", 2, 8, 2],
)  # fmt: skip


def test_a_record_is_a_variant_on_the_bench():
    found = replayed(list(STEPS), workloads.matmul(32, 32, 32))
    bench = wb.Workbench(found.schedule.copy())
    try:
        assert bench.schedule.to_json() == found.schedule.to_json()
        assert len(bench.variants) == len(found.schedule.trace) + 1
        last = found.schedule.trace[-1]
        assert (last.name, found.steps[-1].theirs) == ("unroll", "LLVM")
        bench.schedule.undo()
        bench.schedule.split(last.loop, [None, 2])
        assert bench.schedule.trace[-1].name == "split"
        assert found.schedule.trace[-1] is last, "the replay stays what it was"
    finally:
        bench.close()


def test_what_is_left_to_llvm_is_told_as_a_step_of_its_own():
    """Neighbours that are written and read become a vector, short loops around it are written out; sums stay."""
    a = te.placeholder((40, 6, 24), name="A")
    k = te.reduce_axis(6, "k")
    b = te.compute((40, 24), lambda i, j: te.sum(a[i, k, j], axis=k), name="B")
    c = te.compute((24, 40), lambda i, j: b[j, i] * 2.0, name="C")
    found = replayed([["RE", 1, [0, 2, 1]], ["AN", 1, 2, 2]], c)
    *_, last = found.steps
    assert last.theirs == "LLVM"
    assert [str(step) for step in last.ours] == ["unroll('k')"], "C reads a column, so its loops stay as they are"
    x = np.random.default_rng(2).uniform(-1, 1, (40, 6, 24)).astype(np.float32)
    np.testing.assert_allclose(found.schedule.build()(x), 2 * x.sum(1).T, rtol=1e-4, atol=1e-6)


def test_tuning_goes_on_from_a_record():
    func = workloads.matmul(32, 32, 32)
    found = replayed(list(STEPS), func)
    with wb.tune(func, trials=12, seed=3) as session:
        session.add(0, found.schedule)
        assert session.wait(60)
    assert [r for r in session.records if r.origin == "manual" and list(r.trace) == found.schedule.to_json()]
