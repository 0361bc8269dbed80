"""The cache view as a widget: what it sends, without a browser."""

from __future__ import annotations

import gzip
import itertools
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.analysis import Cache, cache_view
from workbench.analysis.cache.film import ACCESS, ARRAY, CELL, FOUND, FRAMES, STEPS, TIME
from workbench.errors import WorkbenchError

LEVELS = [Cache("L1", 1024, 4), Cache("L2", 4096, 4)]


def matmul(n: int = 16) -> wb.Schedule:
    return wb.Schedule(wb.workloads.matmul(n, n, n), wb.Target.host(threads=1))


def unpacked(data: bytes, films: list[dict[str, Any]], counts: list[int]) -> list[tuple[Any, Any]]:
    raw, out = gzip.decompress(data), []
    for film, count in zip(films, counts, strict=True):
        cells = sum(a["rows"] * a["columns"] for a in film["arrays"])
        width = 5 + len(film["levels"]) + len(film["arrays"]) + len(film["loops"])
        table = np.frombuffer(raw, "<i4", count * width).reshape(count, width)
        held = np.frombuffer(raw, np.uint8, count * cells * len(film["levels"]), table.nbytes)
        raw = raw[table.nbytes + -(-held.nbytes // 4) * 4 :]
        out.append((table, held.reshape(count, cells, len(film["levels"]))))
    assert not raw
    return out


def test_pictures_of_a_whole_run_end_with_the_counts_of_the_view() -> None:
    widget = wb.CacheView(matmul(), matmul(24), levels=LEVELS)
    films = widget.film["films"]
    assert [f["name"] for f in films] == ["before", "after"]
    for (table, cells), film, counts in zip(
        unpacked(widget.pictures, films, [f["count"] for f in films]), films, widget.counts, strict=True
    ):
        assert len(table) == FRAMES
        assert table[0, TIME] == 0
        assert cells[0].max() == 0
        assert table[-1, TIME] == film["total"] == counts.total()
        assert table[-1, ACCESS] == -1
        assert table[-1, FOUND + 1 :][:2].tolist() == [counts.misses("L1"), counts.misses("L2")]
        assert table[-1, FOUND + 3 :][:3].tolist() == [counts.misses("L1", a["name"]) for a in film["arrays"]]
        if film["name"] == "before":  # a cell is a line
            assert cells[-1, :, 0].sum() == 16 * 255  # L1 is full
    widget.close()


def test_single_accesses_are_asked_for_and_show_each_line(sent: Any) -> None:
    widget = wb.CacheView(matmul(), levels=LEVELS, names=["one"])
    widget._handle_custom_msg({"t": "steps", "at": [3000]}, [])
    (message,) = [m for m in sent(widget) if m.get("t") == "steps"]
    assert message["counts"] == [STEPS + 1]
    (film,) = widget._films.films
    shots = film.steps(3000)
    table = shots.table
    assert table[:, TIME].tolist() == list(range(3000, 3000 + STEPS + 1))
    for now, after in itertools.pairwise(table):
        assert (after[FOUND + 1] - now[FOUND + 1]) == (now[FOUND] > 0)  # a miss is one that L1 does not have
        array = film.grids[now[ARRAY]]
        assert 0 <= now[CELL] < array.rows * array.columns
    at = [sum(g.rows * g.columns for g in film.grids[:k]) for k in range(3)]
    for row, cells in zip(table[:-1], shots.cells[1:], strict=True):
        assert cells[at[row[ARRAY]] + row[CELL], 0] == 255  # what was touched is in L1 then
    widget.close()


def test_odd_messages_are_answered_with_an_error(sent: Any) -> None:
    widget = wb.CacheView(matmul(), levels=LEVELS)
    for at in ("here", [1, 2], ["x"], [float("inf")], None):
        widget._handle_custom_msg({"t": "steps", "at": at}, [])
    assert [m["t"] for m in sent(widget)] == ["failed"] * 5
    widget._handle_custom_msg({"t": "steps", "at": [-(10**9)]}, [])
    widget._handle_custom_msg({"t": "steps", "at": [10**9]}, [])
    widget._handle_custom_msg("hello", [])
    assert [m["t"] for m in sent(widget)][5:] == ["steps"] * 2
    widget.close()


def test_levels_are_read_once_and_numbers_may_be_of_numpy() -> None:
    levels = (Cache("L1", np.int64(1024), np.int64(4), np.int64(64)) for _ in range(1))
    widget = wb.CacheView(matmul(), matmul(), levels=levels, apart=np.int64(64))
    expected = cache_view(matmul(), levels=LEVELS[:1])
    assert [c.misses() for c in widget.counts] == [expected.misses()] * 2
    widget.close()


def test_large_arrays_are_shown_in_parts_and_large_nests_from_their_start() -> None:
    s = wb.Schedule(wb.workloads.matmul(512, 512, 512), wb.Target.host(threads=1))
    widget = wb.CacheView(s, levels=LEVELS)
    (film,) = widget.film["films"]
    assert film["part"] < 0.2
    assert all(a["rows"] <= 64 and a["columns"] <= 64 for a in film["arrays"])
    assert film["arrays"][0] == {"name": "A", "shape": "512×512", "rows": 64, "columns": 32, "tall": 8, "wide": 1}
    assert len(widget.pictures) < 60_000
    (shown,) = widget._films.films
    names, steps = [a["name"] for a in film["arrays"]], shown.steps(1_000_000).table
    for row in steps[:-1]:
        i, j, k = row[-3:]
        y, x = {"A": (i, k), "B": (k, j), "C": (i, j)}[names[row[ARRAY]]]
        assert row[CELL] == y // 8 * 32 + x // 16
    widget.close()


def test_without_a_browser_the_tables_are_shown() -> None:
    widget = wb.CacheView(matmul(), levels=LEVELS)
    data, _ = widget._repr_mimebundle_()
    assert cache_view(matmul(), levels=LEVELS)._repr_html_() == data["text/html"]
    assert data["text/plain"].startswith("CacheView(<cache view of matmul:")
    widget.close()


@pytest.mark.parametrize(
    ("code", "call"),
    [
        ("cache.schedules", lambda: wb.CacheView()),
        ("cache.schedules", lambda: wb.CacheView(*[matmul()] * 3)),
        ("cache.schedules", lambda: wb.CacheView(matmul(), names=["a", "b"])),
        ("usage.type", lambda: wb.CacheView("matmul")),
        ("usage.type", lambda: wb.CacheView(matmul(), names=[1])),
        ("usage.type", lambda: wb.CacheView(matmul(), names=1)),
        ("usage.option", lambda: wb.CacheView(matmul(), level=LEVELS)),
        ("cache.mode", lambda: wb.CacheView(matmul(), accesses="x")),
        ("cache.levels", lambda: wb.CacheView(matmul(), levels=[])),
    ],
)
def test_what_is_refused(code: str, call: Any) -> None:
    with pytest.raises(WorkbenchError) as found:
        call()
    assert found.value.code == code
