"""Where the nodes of a tree stand."""

from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.analysis.graph_drawing.tree_layout import lay_out_tree
from workbench.errors import UsageError


@st.composite
def trees(draw):
    n = draw(st.integers(1, 40))
    up = [None, *(draw(st.integers(0, k - 1)) for k in range(1, n))]
    name = draw(st.permutations(range(1, n)))  # a node may be older than its parent
    new = [0, *name]
    out = [None] * n
    for k in range(1, n):
        out[new[k]] = new[up[k]]
    return out


@given(trees())
def test_every_node_has_a_place_of_its_own_and_branches_do_not_run_through_each_other(parents):
    places = lay_out_tree(parents)
    assert len(set(places)) == len(parents)
    runs = defaultdict(set)
    for k, up in enumerate(parents):
        assert places[k][0] == (0 if up is None else places[up][0] + 1)
        if up is not None and places[up][1] == places[k][1]:
            for x in range(places[up][0] + 1, places[k][0]):
                runs[places[k][1]].add(x)
    for up in set(parents) - {None}:
        first = parents.index(up)
        assert places[first][1] == places[up][1], "the first child goes on in the row"


def test_a_line_stays_in_one_row_and_branches_are_near():
    assert lay_out_tree([None, 0, 1, 2]) == ((0, 0), (1, 0), (2, 0), (3, 0))
    assert lay_out_tree([None, 0, 0, 0, 0]) == ((0, 0), (1, 0), (1, 1), (1, -1), (1, 2))
    short, far = lay_out_tree([None, 0, 1, 2, 0, 2])[-2:]
    assert short == (1, 1)
    assert far == (3, 1), "a row is free again where the branch before it ends"


def test_what_stands_does_not_move_when_a_branch_comes():
    parents = [None, 0, 1, 2, 3]
    before = lay_out_tree(parents)
    for up in (2, 1, 2, 0):
        parents.append(up)
        after = lay_out_tree(parents)
        assert after[: len(before)] == before
        before = after


def test_what_is_no_tree_is_refused():
    for parents in ([1, 0], [None, 5], [None, -1], [0]):
        with pytest.raises(UsageError) as e:
            lay_out_tree(parents)
        assert e.value.code == "usage.tree"
    assert lay_out_tree([]) == ()
