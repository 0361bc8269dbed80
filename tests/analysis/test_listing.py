"""Listings of code: every line with the row of the nest that it belongs to."""

from __future__ import annotations

import pytest

from workbench import Hole, Schedule, Target, workloads
from workbench.analysis import listing, nest_rows
from workbench.analysis.loop_nest.code_listing import cut_to
from workbench.codegen.backend import backend_for
from workbench.errors import WorkbenchError
from workbench.ir.text.printer import to_text

HERE = Target.host(threads=2)


def conv():
    s = Schedule(workloads.conv2d_nhwc(8, 8, 16, 32), HERE)
    outer, inner = s.split("o", [None, 16])
    s.reorder("h", "w", outer, "kh", "kw", "c", inner)
    s.vectorize(inner)
    s.parallel("n", "h")
    return s


def test_the_nest_is_the_functions_text_and_every_row_has_lines():
    s = conv()
    found = listing(s, "nest")
    assert str(found) == to_text(s.func)
    assert set(found.rows) == {row.id for row in nest_rows(s.func).rows}
    assert [found.lines[k].text.strip() for k in found.of("c")] == ["for c in 16:"]
    assert [found.lines[k].text.strip() for k in found.of("init:conv")] == ["init conv[n, h, w, o] = 0.0"]
    assert found.lines[0].row == ""
    assert len(found.of("stmt:conv")) == 2


def test_runs_say_where_the_row_changes():
    found = listing(conv(), "nest")
    rows = [""] * len(found)
    ends = [*(first for first, _ in found.runs[1:]), len(found)]
    for (first, row), end in zip(found.runs, ends, strict=True):
        rows[first:end] = [row] * (end - first)
    assert rows == [line.row for line in found]
    assert all(a[1] != b[1] for a, b in zip(found.runs, found.runs[1:], strict=False))


def test_long_listings_are_cut_and_say_so():
    found = cut_to("nest", [(f"line {k}", "") for k in range(10)], 4)
    assert len(found) == 4
    assert str(found).endswith("line 3\n... 6 more lines are not shown\n")
    assert cut_to("nest", [("a", "")], 1).cut == ""


def test_open_numbers_can_be_listed_as_a_nest():
    s = Schedule(workloads.matmul(32, 32, 32), HERE)
    s.split("i", [None, Hole("t")])
    assert "?" in str(listing(s, "nest"))


def test_there_is_no_other_kind():
    with pytest.raises(WorkbenchError) as caught:
        listing(conv(), "asn")
    assert caught.value.code == "code.kind"
    assert "asm" in caught.value.hint


@pytest.mark.parametrize("kind", ["c", "llvm", "asm"])
@pytest.mark.parametrize("target", ["llvm -threads=2", "c -threads=2"])
def test_generated_code_names_rows_of_the_nest(kind, target):
    if kind == "asm" and backend_for(Target(target)).compiler_problem(Target(target)):
        pytest.skip("no C compiler for this machine")
    s = conv()
    found = listing(s, kind, target)
    assert found.kind == kind
    assert set(found.rows) <= {row.id for row in nest_rows(s.func).rows}
    assert {"kh", "stmt:conv", "stmt:pad"} <= set(found.rows)
    own = [found.lines[k].text for k in found.of("kh")]
    assert {"c": "for (int64_t kh = 0;", "llvm": "%kh_"}.get(kind, "") in own[0]
    assert kind != "asm" or any(text.startswith("\t") for text in own)  # behind a label, where it begins with one


def test_the_llvm_listing_is_what_is_built():
    s = conv()
    assert str(listing(s, "llvm")) == s.build().source


@pytest.mark.parametrize("kind", ["c", "llvm", "asm"])
def test_open_numbers_make_no_code(kind):
    s = Schedule(workloads.matmul(32, 32, 32), HERE)
    s.split("i", [None, Hole("t")])
    with pytest.raises(WorkbenchError) as caught:
        listing(s, kind)
    assert caught.value.code == "build.holes"
    assert "t" in str(caught.value)


def test_a_machine_without_an_llvm_backend_still_has_c():
    target = Target("c -mtriple=sparcv9-unknown-linux-gnu -mcpu=generic")
    assert "for (int64_t" in str(listing(conv(), "c", target))
    with pytest.raises(WorkbenchError) as caught:
        listing(conv(), "llvm", target)
    assert caught.value.code == "target.backend"
