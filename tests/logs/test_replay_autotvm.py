"""AutoTVM's records as schedules: which replay, the nests of those for GPUs, and why others do not replay."""

import pytest
from logs.real_files import files
from logs.template_tasks import rebuilt, splits, tensor

import workbench as wb
from workbench.errors import UsageError
from workbench.logs.replays import replay
from workbench.logs.replays.replayers.autotvm import replay_autotvm
from workbench.logs.replays.result import CannotReplay, Request
from workbench.logs.tvm.autotvm_templates import call
from workbench.target import Target

DENSE = [tensor(16, 24), tensor(40, 24), None, "float32"]


CPU = files("bert-cpu*.log*", "graph*.log*", "tophub-llvm*.log*", "*8124m.log")


@pytest.mark.parametrize("path", CPU, ids=lambda path: path.name)
def test_every_cpu_record_replays(path):
    log = wb.logs.open(path)
    step = max(1, len(log) // 60)
    found = [replay(log, record) for record in range(0, len(log), step)]
    assert all(one.ok for one in found), [one.reason for one in found if not one.ok][:3]
    assert all(one.then_ms is not None for one in found if log.records["status"][one.record] == "ok")


@pytest.mark.parametrize(
    "path", files("bert-t4*.log*", "tophub-cuda*.log*", "*-t4.kernel.log"), ids=lambda path: path.name
)
def test_every_gpu_record_replays_that_ran(path):
    log = wb.logs.open(path)
    for record in range(0, len(log), max(1, len(log) // 25)):
        found = replay(log, record)
        ran = log.records["status"][record] == "ok"
        assert found.ok or (not ran and "1024" in found.reason), found.reason


LEVELS = [*(f"blockIdx.{axis}" for axis in "zyx"), *["vthread"] * 3, *(f"threadIdx.{axis}" for axis in "zyx")]
TILES = splits(
    tile_f=[-1, 2, 3, 2], tile_y=[-1, 2, 2, 1], tile_x=[-1, 1, 3, 1], tile_rc=[-1, 4], tile_ry=[-1, 1], tile_rx=[-1, 3],
    auto_unroll_max_step=0, unroll_explicit=0,
)  # fmt: skip
IMAGE = [tensor(1, 8, 8, 9), tensor(12, 8, 3, 3), [1, 1], [1, 1, 1, 1], [1, 1], "float32"]


def around(schedule, block):
    return [(loop.kind, loop.extent) for loop in schedule.func.block(block)[1]]


def test_the_nest_of_a_convolution_for_a_gpu():
    schedule, notes = rebuilt("conv2d_nchw.cuda", IMAGE, TILES)
    outside = list(zip(LEVELS, (1, 2, 3, 2, 2, 1, 3, 2, 3), strict=True))
    copied = around(schedule, "conv.copy")
    assert copied[:9] == outside
    assert [n for _, n in copied[9:] if n > 1] == [2]
    # Channels, rows and columns of the kernel in parts; then their parts; then the elements of a thread.
    assert [n for _, n in around(schedule, "conv")[9:] if n > 1] == [2, 3, 4, 3, 2]
    assert [n for _, n in around(schedule, "data_pad")[9:] if n > 1] == [2, 3, 4, 3]
    assert [n for _, n in around(schedule, "kernel.copy")[9:] if n > 1] == [2, 3, 2, 4, 3]
    scopes = {buffer.name: buffer.scope for buffer in schedule.buffers if buffer.role == "temp"}
    assert scopes == {"data_pad": "shared", "conv.local": "local", "kernel.local": "shared"}
    assert [block.name for block in schedule.blocks] == ["data_pad", "kernel.copy", "conv", "conv.copy"]
    assert any("each copies what it reads" in note for note in notes)


def test_threads_of_a_block_copy_together_where_they_do_so_outside_of_their_loops():
    args = [tensor(1, 8, 8, 8), tensor(8, 1, 3, 3), [1, 1], [0, 0, 0, 0], [1, 1], "float32"]
    entities = splits(
        tile_f=[-1, 1, 4, 1], tile_y=[-1, 1, 3, 1], tile_x=[-1, 1, 3, 1], auto_unroll_max_step=0, unroll_explicit=0
    )
    schedule, notes = rebuilt("depthwise_conv2d_nchw.cuda", args, entities)
    copied = [one for one in around(schedule, "data.copy") if one[1] > 1]  # 4 channels of 5x5 pixels
    assert copied == [*((f"blockIdx.{axis}", 2) for axis in "zyx"), ("serial", 5), ("serial", 5), ("threadIdx.z", 4)]
    copied = [one for one in around(schedule, "kernel.copy") if one[1] > 1]
    assert copied[3:] == [("threadIdx.z", 4), ("threadIdx.y", 3), ("threadIdx.x", 3)]
    assert len(notes) == 1


def test_format_0_1_is_the_same_template():
    raw = [
        "cuda -model=1080ti",
        "topi_nn_conv2d",
        [*IMAGE[:4], "NCHW", "float32"],
        {},
        None,
        {"t": "direct", "e": TILES},
    ]
    schedule, *_ = replay_autotvm(Request(None, 0, {"i": raw}, None, Target("llvm")))
    assert schedule.trace == rebuilt("conv2d_nchw.cuda", IMAGE, TILES)[0].trace


def test_a_record_opens_on_the_bench():
    found = replay(wb.logs.open(files("bert-cpu-excerpt*")[0]), 0)
    bench = wb.Workbench(found, auto_measure=False)
    bench.undo()
    assert len(bench.schedule.trace) == len(found.schedule.trace) - 1  # a copy: the replay stays what the record says
    assert "record 0" in repr(bench)
    bench.close()
    with pytest.raises(UsageError, match="not known here"):
        wb.Workbench(replay(wb.logs.open(files("tophub-vta*excerpt*")[0]), 0))


@pytest.mark.parametrize(
    ("name", "args", "entities", "reason"),
    [
        ("conv2d_packed.vta", [], [], "conv2d_packed.vta is not known here"),
        ("dense_nopack.x86", DENSE, [], "the knob tile_k is missing"),
        ("depthwise_conv2d_nchw.cuda", [tensor(1, 4, 6, 6), tensor(4, 2, 3, 3)], [], "2 filters for each channel"),
        ("conv2d_nchw.cuda", [tensor(1, 8, 6, 6), tensor(8, 4, 3, 3)], [], "2 groups"),
        ("conv2d_nchw_winograd.cuda", [tensor(1, 8, 6, 6), tensor(8, 8, 5, 5), [1, 1]], [], "only kernels of 3x3"),
        ("dense_nopack.x86", [tensor(16, 24), tensor(40, 24), tensor(40), "float32"], [], "adds a bias"),
        ("dense_nopack.x86", [["TENSOR", [4, 4], "int8"], tensor(4, 4)], [], "float32, int8"),
        ("dense_nopack.x86", ["float32"], splits(tile_k=[1, 2]), "another form"),
        ("dense_nopack.x86", [tensor([1], 24), tensor(40, 24)], splits(tile_y=[-1, 2], tile_k=[-1, 2]), "te.shape"),
        ("dense_nopack.x86", DENSE, [["tile_k", "sp"]], "another form"),
        ("dense_nopack.x86", DENSE, splits(tile_k=[-1, "x"]), "another form"),
        ("dense_nopack.x86", DENSE, splits(tile_k=[-1, 0]), "makes no sense"),
    ],
)
def test_why_a_record_does_not_replay(name, args, entities, reason):
    with pytest.raises(CannotReplay) as caught:
        rebuilt(name, args, entities)
    assert reason in caught.value.reason, call(name, args)
