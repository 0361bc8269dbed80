from __future__ import annotations

import itertools

import numpy as np
import pytest

from workbench import workloads
from workbench.ir import accesses, blocks
from workbench.ir.compact_temporaries import compact
from workbench.ir.flops import count_flops
from workbench.ir.unit_loops import drop_unit_loops
from workbench.machine_model.batched_values import Telling, Values, column
from workbench.machine_model.block_counts import BlockFacts, block_facts, vector_pieces
from workbench.machine_model.features import COLUMNS, INDEX, features
from workbench.machine_model.footprint import footprint
from workbench.machine_model.machine_parameters import Machine
from workbench.machine_model.nest_summary import plan
from workbench.schedule import Schedule
from workbench.space.space import make_space
from workbench.target import Target

TARGET = Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v4 -l1=48K -l2=2M -l3=32M -threads=2")
MACHINE = Machine.of(TARGET)
BIG = {
    "matmul": lambda: workloads.matmul(96, 64, 128, constant_b=True),
    "conv": lambda: workloads.conv2d_nhwc(14, 14, 64, 32, bias=True, relu=True),
    "conv_prime": lambda: workloads.conv2d_nhwc(13, 11, 7, 24, stride=2, bias=True, relu=True, residual=False),
    "depthwise": lambda: workloads.depthwise_conv2d_nhwc(12, 12, 32, bias=True, relu=True),
    "pool": lambda: workloads.pool2d(16, 16, 32, "max", 3, 2, 1),
    "softmax": lambda: workloads.softmax(24, 48),
    "elementwise": lambda: workloads.elementwise(24, 64),
}


def nest_facts(summary, columns, n) -> list[BlockFacts]:
    values = Values({h: column(c) for h, c in columns.items()})
    return [block_facts(b, values, n, MACHINE) for b in summary.blocks]


@pytest.mark.parametrize("name", sorted(BIG))
def test_population_and_single_schedule_have_exactly_the_same_features(name):
    for variant in make_space(BIG[name](), TARGET).variants:
        picks = variant.sampler.draw(40, np.random.default_rng(3))
        x = variant.features(picks)
        for k in range(0, len(picks), 7):
            filled = variant.schedule.fill(variant.sampler.row(picks[k])).func
            for func in (filled, drop_unit_loops(filled)):
                one = features(plan(func, variant.work), {}, 1, MACHINE)[0]
                wrong = [COLUMNS[c].name for c in np.flatnonzero(one != x[k])]
                assert not wrong, (variant.index, variant.sampler.row(picks[k]), wrong)


def test_rows_that_a_block_cannot_tell_apart_are_worked_out_once():
    """Whatever rows stand beside a row, and however often: its features are the same."""
    variant = make_space(BIG["conv"](), TARGET).variants[0]
    picks = variant.sampler.draw(200, np.random.default_rng(5))
    x = variant.features(picks)
    repeated = picks[np.random.default_rng(6).integers(0, 20, 300)]
    np.testing.assert_array_equal(variant.features(picks[::-1]), x[::-1])
    lookup = {tuple(p): row for p, row in zip(picks, x, strict=True)}
    np.testing.assert_array_equal(variant.features(repeated), np.stack([lookup[tuple(p)] for p in repeated]))
    np.testing.assert_array_equal(np.concatenate([variant.features(p[None]) for p in picks[:20]]), x[:20])


def test_distinct_rows_of_some_holes():
    rng = np.random.default_rng(0)
    columns = {"a": rng.integers(1, 4, 500), "b": 2 ** rng.integers(0, 5, 500), "c": rng.integers(1, 1 << 20, 500)}
    telling = Telling(columns, 500)
    for holes in ((), ("a",), ("a", "b")):
        d = telling.of(holes)
        assert d.size == len({tuple(int(columns[h][k]) for h in holes) for k in range(500)})
        for h in holes:
            np.testing.assert_array_equal(d.spread(d.columns[h]), columns[h])
    assert telling.of(("a", "c")).size == 500, "hardly any are equal"


def test_columns_are_documented_and_stored_compactly():
    assert len(INDEX) == len(COLUMNS)
    assert all(c.doc for c in COLUMNS)
    variant = make_space(BIG["conv"](), TARGET).variants[0]
    x = variant.features(variant.sampler.draw(100, np.random.default_rng(0)))
    assert x.dtype == np.float32
    assert x.shape == (100, len(COLUMNS))
    assert x.flags.c_contiguous
    assert np.isfinite(x).all()
    constant = (x == x[0]).all(axis=0)
    assert constant.sum() < 0.75 * len(COLUMNS)


def _touched(func, block, path, access, level) -> int:
    """Distinct elements that the loops from `level` inwards touch, by enumeration; the loops outside stand at 0."""
    inner = path[level:]
    names = [lp.name for lp in path]
    found = set()
    for values in itertools.product(*(range(lp.extent) for lp in inner)):
        env = dict.fromkeys(names, 0) | {lp.name: v for lp, v in zip(inner, values, strict=True)}
        index = []
        for form in access.index:
            total = form.const
            for d, c in form.terms:
                v = env[d.var] // d.lower
                total += c * (v if d.extent is None else v % d.extent)
            index.append(total)
        found.add(tuple(index))
    return len(found)


@pytest.mark.parametrize(
    ("make", "exact"),
    [
        (lambda: workloads.matmul(8, 32, 6, constant_b=True), 1.0),
        (lambda: workloads.conv2d_nhwc(6, 6, 4, 16, padding=0), 0.95),
        (lambda: workloads.conv2d_nhwc(9, 9, 4, 16, stride=2, padding=0), 0.8),
    ],
)
def test_distinct_elements_against_enumeration(make, exact):
    checked = right = 0
    for variant in make_space(make(), TARGET).variants:
        picks = variant.sampler.draw(6, np.random.default_rng(1))
        for row in picks:
            func = compact(variant.schedule.fill(variant.sampler.row(row)).func)
            p = plan(func)
            for (block, path), b in zip(blocks(func.body), p.blocks, strict=True):
                own = [a for a in accesses(block) if a.is_write] + [
                    a for a in accesses(block) if not a.is_write and a.buffer != block.buffer
                ]
                for access, a in zip(own, b.accesses, strict=True):
                    fp = footprint(a, len(b.loops), float, 1, 64)
                    for level in range(max(0, len(path) - 7), len(path) + 1):
                        got, want = fp.elements[level, 0], _touched(func, block, path, access, level)
                        assert want <= got <= 1.5 * want
                        checked += 1
                        right += got == want
    assert checked > 100
    assert right >= exact * checked


def _matmul(rows: int, columns: int, panel: int | None = None):
    s = Schedule(workloads.matmul(32, 64, 128, constant_b=True))
    s.split("i", [None, rows])
    s.split("j", [None, columns])
    order = ["i.0", "j.0"]
    if panel:
        s.split("k", [None, panel])
        s.reorder("k.0", "i.0", "j.0", "k.1", "i.1", "j.1")
    else:
        s.reorder(*order, "k", "i.1", "j.1")
    s.unroll("i.1")
    s.vectorize("j.1")
    return nest_facts(plan(s.func), {}, 1)[0]


def test_register_tile_is_what_the_code_generator_makes():
    f = _matmul(4, 32)
    assert f.accumulators[0] == 8
    assert f.fma[0] == 8
    assert f.contiguous[0] == 2
    assert f.broadcast[0] == 4
    assert f.visits[0] == 16
    assert f.bodies[0] == 16 * 128
    assert f.reloads[0] == 0
    assert f.chain[0] == 1


def test_a_panel_outside_of_the_tile_reloads_it():
    f = _matmul(4, 32, panel=32)
    assert f.reloads[0] == 1
    assert f.visits[0] == 4 * 16


def test_unvectorised_reduction_inside_a_serial_loop_is_not_promoted():
    s = Schedule(workloads.matmul(32, 64, 128))
    s.reorder("i", "k", "j")
    f = nest_facts(plan(s.func), {}, 1)[0]
    assert f.visits[0] == f.bodies[0]


def test_the_rest_of_a_vector_loop_is_one_vector():
    pieces = vector_pieces(np.array([1.0, 8, 16, 24, 40, 31]), 16)
    assert pieces.tolist() == [1, 1, 1, 2, 3, 2]


def test_flops_count_every_operation_once():
    assert count_flops(workloads.matmul(8, 8, 8)) == 2 * 8**3
    assert count_flops(workloads.conv2d_nhwc(8, 8, 4, 8, bias=True, relu=True)) == 8 * 8 * 8 * (2 * 36 + 2)


def test_footprint_never_exceeds_the_buffer():
    variant = make_space(BIG["pool"](), TARGET).variants[0]
    picks = variant.sampler.draw(50, np.random.default_rng(0))
    for f in nest_facts(variant.plan, variant.sampler.columns(picks), len(picks)):
        for a, fp in zip(f.plan.accesses, f.prints, strict=True):
            if all(isinstance(s, int) for s in a.shape):
                assert fp.elements.max() <= np.prod(a.shape)


def tiles(dtype, rows, columns, intrinsic="x86.amx.bf16"):
    """A product of 512 in blocks of tiles that an instruction computes."""
    rapids = Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=sapphirerapids -threads=1")
    s = Schedule(workloads.matmul(512, 512, 512, dtype=dtype, constant_b=True), rapids)
    i0, i1, i2 = s.split("i", [None, rows, 16])
    j0, j1, j2 = s.split("j", [None, columns, 16])
    k0, k1, k2 = s.split("k", [None, 16, 2])
    s.reorder(i0, j0, k0, i1, j1, i2, j2, k1, k2)
    s.transform_layout("B", 1, 16).transform_layout("B", 1, 2, count="here")
    s.unroll(i1).unroll(j1)
    return s.tensorize(i2, intrinsic)


def row_of(s, machine=MACHINE):
    return features(plan(s.func), {}, 1, machine)[0]


def test_calls_of_an_instruction_are_no_scalar_code():
    """Four results in tiles hide what one waits for; the estimate is that of the instruction, not of its loops."""
    one, four = (row_of(tiles("bfloat16", n, n)) for n in (1, 2))
    assert four[INDEX["speed"]] > one[INDEX["speed"]] + 0.5
    assert 256 < 2.0 ** four[INDEX["speed"]] < 1024, "operations per cycle; the instruction alone does 1024"
    assert 2.0 ** four[INDEX["main.called"]] - 1 == pytest.approx(16 * 16 * 32)
    assert four[INDEX["main.strided"]] == four[INDEX["main.broadcast"]] == 0
    assert four[INDEX["main.registers"]] == 0, "the tiles are no vector registers"
    plain = Schedule(workloads.matmul(64, 64, 64))
    assert row_of(plain)[INDEX["main.called"]] == 0


def test_wide_elements_take_more_vectors():
    def fma(dtype):
        s = Schedule(workloads.matmul(64, 64, 64, dtype=dtype))
        j0, j1 = s.split("j", [None, 32])
        s.reorder("i", j0, "k", j1).vectorize(j1)
        return row_of(s)

    narrow, wide = fma("float32"), fma("float64")
    assert 2.0 ** narrow[INDEX["main.fma"]] - 1 == pytest.approx(2)
    assert 2.0 ** wide[INDEX["main.fma"]] - 1 == pytest.approx(4)
    assert narrow[INDEX["main.lanes_used"]] == wide[INDEX["main.lanes_used"]] == 1


def test_a_population_of_calls_has_the_features_of_its_rows():
    rapids = Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=sapphirerapids -l1=48K -l2=2M -l3=32M -threads=2")
    for variant in make_space(workloads.matmul(96, 128, 64, dtype="bfloat16", constant_b=True), rapids).variants:
        picks = variant.sampler.draw(20, np.random.default_rng(3))
        x = variant.features(picks)
        for k in range(0, len(picks), 5):
            func = drop_unit_loops(variant.schedule.fill(variant.sampler.row(picks[k])).func)
            np.testing.assert_array_equal(features(plan(func, variant.work), {}, 1, Machine.of(rapids))[0], x[k])
