"""Which sketch rules apply to which kind of computation, and what they say."""

from __future__ import annotations

import numpy as np
import pytest

from workbench import te, workloads
from workbench.codegen.llvm.module import emit_module
from workbench.graph.tasks import Task
from workbench.ir import blocks
from workbench.ir.expr import loads, measure
from workbench.ir.interpreter import interp
from workbench.machine_model.features import INDEX
from workbench.machine_model.machine_parameters import Machine
from workbench.schedule.primitives.compute_inline import ComputeInline
from workbench.space.default_schedule import default_schedule
from workbench.space.shared_steps.register_tiles import best_rows, best_width, vector_choices
from workbench.space.sketch.rules.pointwise_stages import MOST_PARTS
from workbench.space.space import make_space
from workbench.target import Target

TARGET = Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v4 -l1=48K -l2=2M -l3=32M -threads=2")

#: Kind -> rules of each of its variants, Winograd's and those of instructions left out.
RULES = {
    "matmul 512": (
        lambda: workloads.matmul(512, 512, 512),
        ["tile mark", "tile copy mark", "tile mark", "tile copy mark"],
    ),
    "matmul 1024": (
        lambda: workloads.matmul(1024, 1024, 1024),
        [
            "tile mark",
            "tile copy mark",
            "tile cache_write fuse mark",
            "tile copy cache_write fuse mark",
            "lengthen tile copy fuse mark",
        ],
    ),
    "matmul 509": (lambda: workloads.matmul(509, 509, 509), ["lengthen tile copy fuse mark"]),
    "matmul with weights": (lambda: workloads.matmul(64, 64, 48, constant_b=True), ["tile pack mark"]),
    "matrix-vector": (lambda: workloads.matvec(1000, 512), ["tile mark"]),
    "matrix-vector by rows": (lambda: workloads.matvec(1000, 512, transposed=True), ["rows", "rows fetch"]),
    "few results": (
        lambda: workloads.matmul(4, 16, 2048),
        ["rfactor tile pointwise mark", "tile mark", "tile mark"],
    ),
    "sum of a long row": (lambda: workloads.reduce(1, 1 << 14), ["rfactor lanes mark"]),
    "sum of one row": (lambda: workloads.reduce(1, 1024), ["rows"]),
    "softmax of one row": (lambda: workloads.softmax(1, 1000), ["rows", "rows"]),
    "conv to one channel": (
        lambda: workloads.conv2d_nhwc(28, 28, 64, 1, relu=True),
        ["lanes pointwise mark", "lanes pad mark", "lanes pad mark"],
    ),
    "transposed conv to one channel": (
        lambda: workloads.conv2d_transpose_nhwc(28, 28, 64, 1),
        ["lanes tile pointwise mark", "lanes tile pad pointwise mark"],
    ),
    "grouped conv": (
        lambda: workloads.conv2d_nhwc(28, 28, 64, 64, groups=2),
        ["tile pack pointwise mark", "tile pack pad mark"],
    ),
    "batched matmul": (lambda: workloads.batch_matmul(4, 128, 512, 64), ["tile mark", "tile copy mark"]),
    "conv 1x1": (lambda: workloads.conv2d_nhwc(56, 56, 32, 64, 1, padding=0), ["tile pack mark"]),
    "conv 37 to 53": (
        lambda: workloads.conv2d_nhwc(29, 29, 37, 53, bias=True, relu=True),
        ["inline lengthen tile pack fuse pointwise mark", "inline lengthen tile pack fuse pad mark"],
    ),
    "transposed conv": (
        lambda: workloads.conv2d_transpose_nhwc(28, 28, 32, 64),
        ["tile pack pointwise mark", "tile pack pad mark"],
    ),
    "depthwise": (
        lambda: workloads.depthwise_conv2d_nhwc(28, 28, 64),
        ["tile pack pointwise mark", "tile pack pad mark"],
    ),
    "max pool": (lambda: workloads.pool2d(28, 28, 64, "max", 3, 2, 1), ["tile pointwise mark", "tile pad mark"]),
    "softmax": (lambda: workloads.softmax(64, 128), ["rows", "rows fetch"]),
    "softmax in L1": (lambda: workloads.softmax(16, 128), ["rows"]),
    "softmax 1000": (lambda: workloads.softmax(64, 1000), ["rows", "rows", "rows fetch", "rows fetch"]),
    "layer norm": (lambda: workloads.layer_norm(64, 768), ["rows", "rows fetch"]),
    "sums of rows": (lambda: workloads.reduce(256, 512), ["rows", "rows fetch"]),
    "sums of columns": (lambda: workloads.reduce(256, 512, axis=0), ["tile mark"]),
    "transpose": (lambda: workloads.transpose(128, 96), ["transpose"]),
    "element-wise": (lambda: workloads.elementwise(64, 1001), ["inline pointwise"]),
}


@pytest.mark.parametrize("kind", RULES)
def test_rules_of_a_kind(kind):
    make, want = RULES[kind]
    space = make_space(make(), TARGET)
    found = []
    for variant in space.variants:
        names = list(dict.fromkeys(n.rule for n in variant.notes))
        assert all(n.reason for n in variant.notes)
        if not {"winograd", "tensorize"} & set(names):
            found.append(" ".join(names))
    for rules in want:
        assert rules in found
        found.remove(rules)
    assert set(found) <= set(want)
    text = space.explain()
    assert all(n.reason in text for v in space.variants for n in v.notes)


def test_reasons_say_what_is_special():
    def reasons(func):
        return " ".join(n.reason for v in make_space(func, TARGET).variants for n in v.notes)

    assert "i 509 -> 510, j 509 -> 512" in reasons(workloads.matmul(509, 509, 509))
    assert "4096 bytes apart" in reasons(workloads.matmul(64, 1024, 64))
    assert "filled up to whole vectors" in reasons(workloads.softmax(8, 1000))
    assert "filled up" not in reasons(workloads.softmax(8, 1024))
    assert "reads along j" in reasons(workloads.transpose(64, 64))


@pytest.mark.parametrize(
    ("lanes", "registers", "extents", "want"),
    [(16, 32, (1024, 1024), (1026, 1024)), (16, 32, (512, 512), (512, 512)), (16, 32, (509, 509), (510, 512)),
     (16, 32, (29, 53), (30, 64)), (16, 32, (7, 512), (7, 512)), (16, 32, (13, 1000), (13, 1024)),
     (8, 16, (29, 53), (29, 56)), (8, 16, (13, 1000), (13, 1000)), (4, 32, (56, 64), (56, 64))],
)  # fmt: skip
def test_padded_extents(lanes, registers, extents, want):
    machine = Machine(lanes=lanes, registers=registers)
    wide = best_width(extents[1], extents[0], machine)
    assert (best_rows(extents[0], wide, machine), wide) == want


def test_a_row_is_summed_up_while_it_is_computed_and_the_next_one_fetched():
    """Every variant computes the exponentials in the loop of their sum; one fetches inputs and results by rows."""
    variants = make_space(workloads.softmax(512, 1024), TARGET).variants
    for v in variants:
        (path,) = (path for b, path in blocks(v.schedule.func.body) if b.name == "exps")
        assert any(lp.name.startswith("total.rf.rf_k") for lp in path)
        notes = dict(path[0].notes)
        assert notes == ({"prefetch": 1, "prefetch_write": 1} if v.notes[-1].rule == "fetch" else {})
    assert len(variants) == 2
    assert len(make_space(workloads.softmax(4, 1 << 16), TARGET).variants) == 1, "a row is too long for the caches"


@pytest.mark.parametrize(("threads", "chunked"), [(1, False), (2, True)])
def test_without_tuning_a_few_results_are_shared_out_by_their_terms(threads, chunked):
    """64 results: enough to keep the vectors of one core busy, not of two."""
    target = Target(str(TARGET).replace("-threads=2", f"-threads={threads}"))
    first, *_ = make_space(workloads.matmul(4, 16, 2048), target).variants
    assert ("rfactor" in first.label) == chunked
    names = [b.name for b, _ in blocks(default_schedule(workloads.matmul(4, 16, 2048), target).func.body)]
    assert ("C.rf" in names) == chunked


def test_channels_of_a_group_share_what_they_read():
    """Like those of a dense convolution: panels of the sum, and weights packed inside of the groups."""
    variants = make_space(workloads.conv2d_nhwc(14, 14, 128, 64, groups=2), TARGET).variants
    assert "SSRSRS · pad in blocks" in [v.label for v in variants]
    for v in variants:
        steps = v.schedule.func.buffer("W").layout
        assert len(steps) == 2
        assert steps[0].block == 32, "groups are stored apart first"
    depthwise = make_space(workloads.depthwise_conv2d_nhwc(14, 14, 128), TARGET).variants
    assert not any("SSRSRS" in v.label for v in depthwise), "there nothing is shared"


def test_results_of_one_channel_are_added_up_where_they_are_computed():
    """The nest of a convolution to one channel is one: vectors of terms, their sums, and the stage behind."""
    v = make_space(workloads.conv2d_nhwc(28, 28, 64, 1, relu=True), TARGET).variants[-1]
    assert v.label == "lanes · pad as a condition"
    (nest,) = v.schedule.func.body
    made = {b.name: path for b, path in blocks((nest,))}
    assert list(made) == ["conv.rf", "conv", "relu"]
    assert made["conv.rf"][-1].kind == "vectorize"
    assert made["conv.rf"][-1].extent == 16
    assert made["conv.rf"][0].kind == "parallel"
    assert {lp.kind for lp in made["conv"] if lp.name.startswith("conv")} == {"unroll"}


@pytest.mark.parametrize(("columns", "local"), [(1024, True), (512, False), (1040, False)])
def test_sums_of_panels_get_a_tile_of_their_own_where_lines_alias(columns, local):
    labels = [
        v.label for v in make_space(workloads.matmul(24, columns, 128), TARGET).variants if "longer" not in v.label
    ]
    assert {label for label in labels if "local sums" in label} == {
        f"{label} · local sums" for label in labels if local and label in ("SSRSRS", "SSRSRS · copy of B")
    }
    for v in make_space(workloads.matmul(24, columns, 128), TARGET).variants:
        if "local sums" in v.label:
            (copy,) = (path for b, path in blocks(v.schedule.func.body) if b.name == "C.copy")
            assert any(lp.name.startswith("i.1") for lp in copy), "the tile is written out where it is finished"


def test_a_costly_stage_is_also_fused_outside():
    def gelu_behind(costly):
        x, w = te.placeholder((64, 256), name="X"), te.placeholder((256, 64), name="W", constant=True)
        k = te.reduce_axis(256, "k")
        y = te.compute((64, 64), lambda i, j: te.sum(x[i, k] * w[k, j], axis=[k]), name="Y")
        return te.func(te.compute(y.shape, lambda i, j: te.erf(y[i, j]) if costly else y[i, j] * 2.0, name="out"))

    depth = {}
    for v in make_space(gelu_behind(True), TARGET).variants:
        path = [lp.name for lp in v.schedule.func.block("out")[1]]
        depth.setdefault("fused outside" in v.label, set()).add("j.1" in path)
    assert depth == {True: {False}, False: {True}}
    assert not any("fused outside" in v.label for v in make_space(gelu_behind(False), TARGET).variants)


def test_large_weights_for_few_rows_are_fetched_ahead():
    def fetched(func):
        return [any(n.rule == "fetch" for n in v.notes) for v in make_space(func, TARGET).variants]

    assert all(fetched(workloads.dense(4, 1024, 1024)))
    assert all(fetched(workloads.dense(128, 1024, 1024)))
    ways = [v.notes[-1].reason for v in make_space(workloads.dense(128, 1024, 1024), TARGET).variants]
    kinds = [("iterations ahead" in w, "next panel" in w) for w in ways]
    assert kinds == [(False, True), (True, False), (False, True)], "both, but where the reduction is cut into panels"
    assert not any(fetched(workloads.dense(512, 1024, 1024)))
    assert all(fetched(workloads.dense(4, 256, 256))), "what fits L2 is not there between other kernels"
    assert not any(fetched(workloads.dense(4, 96, 96)))


def test_a_fetching_program_is_another_program():
    panel, near = make_space(workloads.dense(128, 1024, 1024), TARGET).variants[:2]
    picks = near.sampler.draw(32, np.random.default_rng(0))
    one_panel = np.array([near.sampler.row(pick)["j_0"] == 1 for pick in picks])  # so there is no next one
    assert 0 < one_panel.sum() < len(picks)
    assert ((near.keys(picks) == panel.keys(picks)) == one_panel).all()
    ahead = INDEX["main.ahead"]
    assert ((near.features(picks)[:, ahead] < panel.features(picks)[:, ahead]) == ~one_panel).all()
    (plain, *_) = make_space(workloads.dense(512, 1024, 1024), TARGET).variants
    assert (plain.features(plain.sampler.draw(8, np.random.default_rng(0)))[:, ahead] == 0).all()


def test_weights_get_their_zeros_ahead_of_time_and_data_that_is_read_once_gets_none():
    for m in (1, 8):
        for variant in make_space(workloads.dense(m, 509, 64), TARGET).variants:
            func = variant.schedule.func
            assert {"lengthen", "pack"} <= {n.rule for n in variant.notes}
            assert not any(b.name.startswith("W") for b, _ in blocks(func.body))
            assert len(func.buffer("W").layout) == 2
        for variant in make_space(workloads.matmul(m, 509, 64), TARGET).variants:
            assert "lengthen" not in {n.rule for n in variant.notes}


def test_what_is_costly_is_computed_once_for_each_row():
    variant = make_space(workloads.layer_norm(64, 768), TARGET).variants[0]
    assert "inline" not in {n.rule for n in variant.notes}
    outer = variant.schedule.func.body[0]
    assert outer.kind == "parallel"
    assert len(variant.schedule.func.body) == 1


@pytest.mark.parametrize("kernel", [4, 3])
def test_phases_of_a_transposed_convolution_multiply_with_their_own_taps(kernel):
    """Tiles lie inside of one phase; of a kernel that the stride does not divide, no tap is multiplied with zero."""
    target = Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v4 -l1=48K -l2=2M -l3=32M -threads=1")
    variant = make_space(workloads.conv2d_transpose_nhwc(16, 16, 32, 64, kernel), target).variants[0]
    row = variant.sampler.row(variant.sampler.draw(1, np.random.default_rng(0))[0])
    s = variant.schedule.fill(row)
    path = {lp.name: lp for lp in s.func.block("conv")[1]}
    assert [path[n].extent for n in ("h.1", "w.1", "kh", "kw")] == [2, 2, 2, 2]
    assert list(path).index("w.1") < list(path).index("h.0.1"), "a phase is outside of its tiles"
    decided = {path[n].kind for n in ("h.1", "w.1", "kh", "kw")}
    assert decided == {"serial" if kernel == 4 else "unroll"}
    rows = path["h.0.2"].extent * path["w.0.2"].extent
    sums = emit_module(s.func, target, "kernel")[0].count("fadd")
    assert sums % (rows * path["o.2"].extent // 16 * (1 if kernel == 4 else 9)) == 0
    assert len(s.func.body) == (1 if kernel == 4 else 2), "what the stride divides is computed in place"


def test_padding_inside_of_the_blocks_comes_first_and_runs_in_vectors():
    """Also where its row is as long as an open tile, and a frame."""
    space = make_space(workloads.depthwise_conv2d_nhwc(14, 14, 64, kernel=5), TARGET)
    first, apart = space.variants[:2]
    assert "pad in blocks" in {n.tag for n in first.notes}
    assert "pad in blocks" not in {n.tag for n in apart.notes}
    (row,) = first.sampler.draw(1, np.random.default_rng(0))
    func = first.schedule.fill(first.sampler.row(row)).func
    assert len(func.body) == 1
    assert func.block("pad")[1][-1].kind == "vectorize"


def test_a_matrix_that_is_read_across_its_lines_is_turned_round_while_it_is_copied():
    k = te.reduce_axis(64, "k")
    a, b = te.placeholder((48, 64), name="A"), te.placeholder((96, 64), name="B")
    func = te.func(te.compute((48, 96), lambda i, j: te.sum(a[i, k] * b[j, k], axis=k), name="C"), "product")
    first, second, *_ = make_space(func, TARGET).variants
    assert [["copy of B" in {n.tag for n in v.notes} for v in (first, second)]] == [[True, False]]
    inputs = interp.random_inputs(func, 3)
    for row in first.sampler.draw(3, np.random.default_rng(0)):
        nest = first.schedule.fill(first.sampler.row(row)).func
        *_, row_loop, lane = nest.block("B.copy")[1]
        assert (row_loop.kind, row_loop.extent, lane.kind) == ("unroll", 16, "vectorize")
        np.testing.assert_allclose(
            interp.trace_run(nest, inputs).outputs["C"], inputs["A"] @ inputs["B"].T, rtol=1e-4, atol=1e-4
        )


def test_a_window_that_slides_is_no_row():
    """Its terms lie side by side, but every result reads those of its neighbours: results are lanes."""
    k = te.reduce_axis(31, "k")
    x, w = te.placeholder((8, 94), name="X"), te.placeholder((8, 31), name="W")
    func = te.func(te.compute((8, 64), lambda c, i: te.sum(x[c, i + k] * w[c, k], axis=k), name="Y"), "filters")
    for variant in make_space(func, TARGET).variants:
        assert {"tile"} <= {n.rule for n in variant.notes}
        assert "rows" not in {n.rule for n in variant.notes}


@pytest.mark.parametrize(("dtype", "wide"), [("float64", 56), ("float32", 64)])
def test_lanes_are_those_of_the_elements(dtype, wide):
    (variant, *_) = make_space(workloads.matmul(60, 53, 29, dtype=dtype), TARGET).variants
    assert f"j 53 -> {wide}" in " ".join(n.reason for n in variant.notes)
    lane = next(h for h in variant.schedule.func.holes if h.name == "j_2")
    assert lane.choices is not None
    assert all(c % (64 // np.dtype(dtype).itemsize) == 0 for c in lane.choices)


def test_an_epilogue_takes_a_tile_from_its_registers():
    """Unrolled, unless panels of the sum bring the tile back: then it is in memory anyway."""
    for variant in make_space(workloads.conv2d_nhwc(28, 28, 64, 64, 1, padding=0, relu=True), TARGET).variants:
        func = variant.schedule.func
        _, path = func.block("relu")
        *rows, lane = [lp for lp in path if lp.name.startswith("relu")]
        assert lane.kind == "vectorize"
        panels = any("SSRSRS" in n.reason for n in variant.notes)
        assert {lp.kind for lp in rows} == ({"serial"} if panels else {"unroll"})


def test_an_image_of_one_channel_is_vectorised_along_its_rows():
    x = te.placeholder((1, 32, 48, 1), name="X")
    func = te.func(te.compute(x.shape, lambda n, h, w, c: te.sigmoid(x[n, h, w, c]), name="Y"))
    (variant,) = make_space(func, Target.host(1)).variants
    block, path = variant.schedule.func.block("Y")
    (vector,) = (lp for lp in path if lp.kind == "vectorize")
    assert path[-1] is vector
    assert block.index[2].subst(block.env).coefficient(vector.name) == 1


def test_a_chain_that_doubles_is_cut_and_takes_steps_in_proportion(monkeypatch):
    """``t = t + t`` again and again: inlined without a limit, each level has twice the parts of the one before."""

    def steps(n):
        t = te.placeholder((16, 16), name="x")
        for k in range(n):
            t = te.compute((16, 16), lambda i, j, t=t: t[i, j] + t[i, j], name=f"t{k}")
        tried.clear()
        return default_schedule(Task.of_func(te.func(t))).func, len(tried)

    tried = []
    apply = ComputeInline.apply
    monkeypatch.setattr(ComputeInline, "apply", lambda step, func: tried.append(step) or apply(step, func))
    (_, few), (func, many) = steps(30), steps(90)
    assert many <= 4 * few
    assert len(list(blocks(func.body))) < 20
    assert all(measure(b.value)[0] <= 2 * MOST_PARTS for b, _ in blocks(func.body))


@pytest.mark.parametrize("extent", [2**39, 2**39 - 7, 2**31 - 1])
def test_choices_of_a_huge_axis_are_found_at_once(extent):
    """By divisors up to the root: counting to the extent would not end."""
    found = vector_choices(extent, Machine.of(Target.host(threads=1)))
    assert found
    assert all(extent % n == 0 for n in found)


def test_a_row_that_is_read_again_and_again_is_copied_in_vectors():
    """The axis is cut where what it reads begins again, so that no element asks for a remainder."""
    x = te.placeholder((64, 300), name="X")
    tiled = te.compute((256, 900), lambda i, j: x[i % 64, j % 300], name="Y")
    func = default_schedule(te.func(tiled), TARGET).func
    block, path = func.block("Y")
    wide = next(lp for lp in path if lp.kind == "vectorize")
    digits = {(d.var, d.plain) for ld in loads(block.value) for x in ld.index for d, _ in x.subst(block.env).terms}
    assert (wide.name, True) in digits
    assert (wide.name, False) not in digits


@pytest.mark.parametrize(("dtype", "rows", "columns", "side"), [("uint8", 112, 64, 16), ("float32", 56, 64, 8)])
def test_transpositions_are_cut_into_squares(dtype, rows, columns, side):
    """As large as both axes, a register and the compiler's time allow."""
    x = te.placeholder((columns, rows), dtype, name="X")
    func = default_schedule(te.func(te.compute((rows, columns), lambda i, j: x[j, i], name="Y")), TARGET).func
    assert [lp.extent for lp in func.block("Y")[1]][-2:] == [side, side]
