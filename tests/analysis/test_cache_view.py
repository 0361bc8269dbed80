"""Hits and misses on simulated caches, against a slow simulation and against what can be worked out by hand."""

from __future__ import annotations

import math
import os
import random
from pathlib import Path

import pytest
from analysis import lru_oracle
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from property.randoms import random_schedule

import workbench as wb
from workbench import te
from workbench.analysis import Cache, cache_view, cache_view_figure
from workbench.codegen.lowering import lowered
from workbench.errors import WorkbenchError
from workbench.ir import blocks

K = 1024
#: Written anew with ``WORKBENCH_GOLDEN=write``.
GOLDEN = Path(__file__).parents[1] / "golden" / "cache_view.txt"
TARGET = wb.Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=haswell", threads=1)
L1 = Cache("L1", 32 * K, 8)
#: Of a seed there is nothing smaller.
DRAWN, EXAMPLES = (Phase.explicit, Phase.generate), max(25, settings.default.max_examples // 2)


def matmul(m=64, n=64, k=64):
    return wb.Schedule(wb.workloads.matmul(m, n, k), TARGET)


def transposed(rows, columns):
    a = te.placeholder((rows, columns), "float32", "A")
    return wb.Schedule(te.func([te.compute((columns, rows), lambda i, j: a[j, i], "B")]), TARGET)


# ---- the nest as it reads, against the slow simulation -----------------------------------------------------------


@st.composite
def hierarchies(draw):
    line = draw(st.sampled_from([16, 64]))
    sizes = draw(st.lists(st.tuples(st.sampled_from([1, 2, 3, 8]), st.integers(0, 4)), min_size=1, max_size=3))
    levels = [Cache(f"L{k + 1}", (ways << sets) * line, ways, line) for k, (ways, sets) in enumerate(sizes)]
    levels = [c for k, c in enumerate(levels) if all(c.size > other.size for other in levels[:k])]
    return levels, draw(st.sampled_from([0, 64, 100]))


def small_schedule(seed):
    rng = random.Random(seed)
    for _ in range(100):
        s = random_schedule(rng, programs=0.5).schedule
        points = sum(math.prod(lp.extent for lp in path) for _, path in blocks(s.func.body))
        if points < 4000 and not any(ld.at for b, _ in blocks(s.func.body) for ld in b.loads()):
            return s
    raise AssertionError("only large schedules were drawn")


@settings(deadline=None, phases=DRAWN, max_examples=EXAMPLES)
@given(st.integers(0, 10**6), hierarchies())
def test_counts_are_those_of_the_slow_simulation(seed, hierarchy):
    levels, apart = hierarchy
    s = small_schedule(seed)
    expected = lru_oracle.count(lowered(s.func), levels, apart)
    got = cache_view(s, levels=levels, accesses="written", apart=apart).frame()
    for (buffer, kind, level), rows in got.groupby(["buffer", "kind", "level"]):
        k = int(level[1:]) - 1
        assert rows["misses"].sum() == expected[buffer, kind, (k, "misses")]
        assert rows["write_backs"].sum() == expected[buffer, kind, (k, "written")]
        if k == 0:
            assert rows["accesses"].sum() == expected[buffer, kind, "accesses"]


@settings(deadline=None, phases=DRAWN, max_examples=EXAMPLES)
@given(st.integers(0, 10**6))
def test_generated_code_touches_no_other_lines_than_the_nest(seed):
    s = small_schedule(seed)
    large = [Cache("all", 1 << 24, None)]
    written, generated = (cache_view(s, levels=large, accesses=mode) for mode in ("written", "generated"))
    for buffer in {a.buffer for a in written.accesses}:
        if s.func.buffer(buffer).role != "temp":  # rows of temporaries may be longer
            assert generated.misses("all", buffer) == written.misses("all", buffer), buffer


# ---- what can be worked out by hand ------------------------------------------------------------------------------


def test_every_line_of_a_copy_is_fetched_once_and_written_back_once():
    a = te.placeholder((1 << 16,), "float32", "A")
    s = wb.Schedule(te.func([te.compute((1 << 16,), lambda i: a[i] * 2.0, "B")]), TARGET)
    view = cache_view(s, levels=[L1])
    lines = (1 << 16) * 4 // 64
    assert view.misses("L1", "A") == view.misses("L1", "B") == lines
    assert view.total("A") == 1 << 16
    assert view.traffic("L1", "A") == lines * 64
    assert view.frame()["write_backs"].tolist() == [0, lines - 256]  # as many as L1 has lines for both are still there
    assert [a.first for a in view.accesses] == [lines, lines]


def test_vectors_are_one_access_of_each_line():
    a = te.placeholder((1 << 10,), "float32", "A")
    s = wb.Schedule(te.func([te.compute((1 << 10,), lambda i: a[i] * 2.0, "B")]), TARGET)
    s.vectorize("i")
    assert cache_view(s, levels=[L1]).total("A") == (1 << 10) // 8
    assert cache_view(s, levels=[L1], accesses="written").total("A") == 1 << 10


def test_a_vector_across_the_end_of_a_line_is_two_accesses():
    a = te.placeholder((129,), "float32", "A")
    s = wb.Schedule(te.func([te.compute((128,), lambda i: a[i + 1] * 2.0, "B")]), TARGET)
    s.vectorize("i")
    assert cache_view(s, levels=[L1]).total("A") == 16 + 8  # every second vector of 32 bytes begins 28 bytes before


def test_results_of_a_reduction_stay_in_registers():
    s = matmul()
    view = cache_view(s, levels=[L1])
    assert view.total("C") == 64 * 64
    assert {a.kind for a in view.accesses if a.buffer == "C"} == {"write"}
    assert cache_view(s, levels=[L1], accesses="written").total("C") == 64 * 64 * (2 * 64 + 1)


def test_results_that_do_not_fit_registers_are_read_and_written():
    s = matmul()
    s.reorder(["i", "k", "j"])
    view = cache_view(s, levels=[L1])
    assert view.total("C") == 64 * 64 * (1 + 2 * 64)
    assert view.total("A") == 64 * 64  # the inner loop does not move it
    assert view.total("B") == 64**3


def test_copies_of_an_unrolled_loop_share_their_loads():
    s = matmul()
    i0, i1 = s.split("i", [None, 4])
    j0, j1 = s.split("j", [None, 16])
    s.reorder([i0, j0, "k", i1, j1])
    s.unroll(i1)
    s.vectorize(j1)
    view = cache_view(s, levels=[L1])
    assert view.total("A") == 16 * 4 * 64 * 4  # four rows
    assert view.total("B") == 16 * 4 * 64 * 2  # two vectors of 8
    assert view.total("C") == 64 * 64 // 8


def test_columns_of_a_power_of_two_are_in_each_others_way():
    s = transposed(256, 256)
    sets = cache_view(s, levels=[L1])
    free = cache_view(s, levels=[Cache("L1", 32 * K, None)])
    assert sets.misses("L1", "A") == 256 * 256  # a column of 256 lines falls into 4 sets of 8
    assert free.misses("L1", "A") == 256 * 256 // 16  # there is room for 512 lines
    assert cache_view(transposed(256, 272), levels=[L1]).misses("L1", "A") < 272 * 256 // 8


def test_arrays_of_a_power_of_two_collide_where_they_lie_without_a_gap():
    a, b = (te.placeholder((4096,), "float32", n) for n in "AB")
    s = wb.Schedule(te.func([te.compute((4096,), lambda i: a[i] + b[i], "C")]), TARGET)
    direct = [Cache("L1", 16 * K, 1)]
    assert cache_view(s, levels=direct, apart=0).misses() == 3 * 4096
    assert cache_view(s, levels=direct).misses() == 3 * 4096 // 16


def test_tiling_a_product_saves_misses():
    naive, tiled = matmul(96, 96, 96), matmul(96, 96, 96)
    small = [Cache("L1", 4 * K, None)]
    i0, i1 = tiled.split("i", [None, 16])
    j0, j1 = tiled.split("j", [None, 16])
    k0, k1 = tiled.split("k", [None, 16])
    tiled.reorder([i0, j0, k0, i1, k1, j1])
    before, after = (cache_view(s, levels=small).misses() for s in (naive, tiled))
    assert after < before / 10
    # Each of 6 * 6 * 6 tiles reads 16 lines of A and 16 of B; those of C stay for the 6 tiles of a sum.
    assert after == pytest.approx(216 * 32 + 36 * 16, rel=0.02)


def test_counts_of_a_product_in_registers_are_those_of_the_file():
    s = matmul(96, 96, 96)
    i0, i1 = s.split("i", [None, 4])
    j0, j1 = s.split("j", [None, 16])
    k0, k1 = s.split("k", [None, 32])
    s.reorder([j0, k0, i0, k1, i1, j1])
    s.unroll(i1)
    s.vectorize(j1)
    view = cache_view(s, levels=[Cache("L1", 4 * K, 8), Cache("L2", 32 * K, 8)])
    text = f"{view.frame().to_string()}\n\n{view.frame('loop').to_string()}\n"
    if os.environ.get("WORKBENCH_GOLDEN") == "write":
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text()


# ---- loops, blocks, samples --------------------------------------------------------------------------------------


def test_misses_of_one_iteration_of_a_loop():
    rows = cache_view(transposed(256, 256), levels=[L1]).frame("loop").set_index("loop")
    assert rows.loc["i", "iterations"] == 256
    assert rows.loc["j", "misses_per_iteration"] == pytest.approx(1 + 1 / 16)
    assert rows.loc["i", "misses_per_iteration"] == pytest.approx(256 + 16)


def test_one_block_is_shown_of_all_that_run():
    s = wb.Schedule(wb.workloads.matmul(32, 32, 32, relu=True), TARGET)
    whole = cache_view(s, levels=[L1])
    assert len({a.block for a in whole.accesses}) == 2
    last = whole.accesses[-1].block
    part = cache_view(s, last, levels=[L1])
    assert {a.block for a in part.accesses} == {last}
    assert part.accesses == tuple(a for a in whole.accesses if a.block == last)
    assert whole.frame("block").groupby("level")["misses"].sum()["L1"] == whole.misses()
    assert whole.frame("buffer")["misses"].sum() == whole.misses()


def test_a_sample_says_how_sure_it_is():
    levels = [Cache("L1", 4 * K, 8), Cache("L2", 16 * K, 8)]
    whole = cache_view(matmul(96, 96, 96), levels=levels)
    part = cache_view(matmul(96, 96, 96), levels=levels, limit=200_000)
    assert whole.share == 1
    assert whole.errors == (0.0, 0.0)
    assert 0.05 < part.share < 0.2
    assert part.misses("L1") == pytest.approx(whole.misses("L1"), rel=0.02)
    assert part.misses("L2") == pytest.approx(whole.misses("L2"), rel=0.05)
    assert part.total() == pytest.approx(whole.total(), rel=1e-9)
    assert "estimated from" in repr(part)
    assert "Estimated from" in part._repr_html_()


def test_loads_under_a_condition_happen_where_it_holds():
    a = te.placeholder((62,), "float32", "A")
    padded = te.compute((64,), lambda i: te.select((i >= 1) & (i < 63), a[i - 1], 0.0), "P")
    for mode in ("written", "generated"):
        s = wb.Schedule(te.func([padded]), TARGET)
        assert cache_view(s, levels=[L1], accesses=mode).total("A") == 62
    s.vectorize("i")
    assert cache_view(s, levels=[L1]).total("A") == 8 + 4 - 1  # a line each; no first half of the first


# ---- what is shown, and what is refused --------------------------------------------------------------------------


def test_what_a_notebook_shows():
    view = cache_view(matmul(), levels=[L1])
    html = view._repr_html_()
    for text in ("matmul", "L1 32 KiB, 8 ways", "B[k, j]", "generated code", "Misses of one iteration"):
        assert text in html
    assert "of the misses of L1 are at" in view.sentence()
    assert repr(view) == f"<cache view of matmul: {view.total():,} accesses, misses: L1 {view.misses():,}>"


def test_the_figure_has_a_trace_for_each_level_and_says_what_it_shows():
    view = cache_view(matmul(), levels=[L1, Cache("<b>", 64 * K)])
    figure = cache_view_figure(view)
    title, aside = figure.layout.annotations[-2:]
    assert aside.yshift - title.yshift >= 16  # a long sentence would run into the title of a narrow notebook
    assert [t.name for t in figure.data] == ["L1", "<b>"]
    assert list(figure.data[0].x) == [a.levels[0].misses for a in view.accesses]
    assert any(view.sentence() in (note.text or "") for note in figure.layout.annotations)
    assert all("<b>" not in text for text in figure.data[1].text)
    empty = cache_view(wb.Schedule(te.func([te.compute((1,), lambda i: 1.0, "A")]), TARGET), levels=[L1])
    assert len(cache_view_figure(empty).data[0].x) == 1


def test_levels_of_a_target():
    target = wb.Target("llvm -mcpu=haswell", l1_bytes=48 * K, l2_bytes=2 << 20, l3_bytes=33 << 20)
    view = cache_view(wb.Schedule(wb.workloads.matmul(8, 8, 8), target))
    assert [str(c) for c in view.levels] == ["L1 48 KiB, 12 ways", "L2 2 MiB, 8 ways", "L3 32 MiB, 8 ways"]
    assert str(Cache("x", 1536, None)) == "x 1.5 KiB, fully associative"


@pytest.mark.parametrize(
    ("code", "call"),
    [
        ("cache.size", lambda: Cache("L1", 1000)),
        ("cache.size", lambda: Cache("L1", 48 * K, 8)),
        ("cache.size", lambda: Cache("L1", 32 * K, 8, line=48)),
        ("usage.number", lambda: Cache("L1", -1)),
        ("cache.levels", lambda: cache_view(matmul(), levels=[])),
        ("cache.levels", lambda: cache_view(matmul(), levels=[L1, L1])),
        ("cache.levels", lambda: cache_view(matmul(), levels=[Cache("L2", 64 * K), Cache("L1", 32 * K)])),
        ("cache.levels", lambda: cache_view(matmul(), levels=[L1, Cache("L2", 64 * K, line=128)])),
        ("cache.levels", lambda: cache_view(matmul(), levels=[L1, Cache("L1", 64 * K)])),
        ("cache.mode", lambda: cache_view(matmul(), accesses="both")),
        ("cache.level", lambda: cache_view(matmul(), levels=[L1]).misses("L9")),
        ("cache.buffer", lambda: cache_view(matmul(), levels=[L1]).misses("L1", "D")),
        ("cache.by", lambda: cache_view(matmul(), levels=[L1]).frame("row")),
        ("block.unknown", lambda: cache_view(matmul(), "D")),
        ("usage.type", lambda: cache_view(matmul(), [])),
        ("usage.type", lambda: cache_view("matmul")),
        ("usage.type", lambda: cache_view(matmul(), levels=["L1"])),
        ("usage.number", lambda: cache_view(matmul(), apart=-1)),
        ("usage.number", lambda: cache_view(matmul(), limit=0)),
        ("usage.type", lambda: cache_view_figure(matmul())),
    ],
)
def test_what_is_refused(code, call):
    with pytest.raises(WorkbenchError) as found:
        call()
    assert found.value.code == code


def test_open_numbers_and_places_that_data_decide_are_refused():
    s = matmul()
    s.split("i", [None, wb.Hole()])
    with pytest.raises(WorkbenchError) as found:
        cache_view(s)
    assert found.value.code == "build.holes"
    from property.nests import lookup

    with pytest.raises(WorkbenchError) as found:
        cache_view(lookup())
    assert found.value.code == "cache.data"
