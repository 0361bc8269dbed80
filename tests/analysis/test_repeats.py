import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.graph_layout.repeated_blocks import FEWEST_HIDDEN, Repeat, repeats


def chain(text):
    """Nodes that each read the one before; the first one reads something else."""
    return list(text), [(k - 1, k) for k in range(len(text))]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        ("a", []),
        ("aa", []),
        ("aaa", [(0, 1, 3)]),
        ("abab", [(0, 2, 2)]),
        ("xababaz", [(1, 2, 2)]),
        ("abcabcabcabc", [(0, 3, 4)]),
        ("aabbaabb", [(0, 4, 2)]),
        ("ababxcdcdcd", [(0, 2, 2), (5, 2, 3)]),
        ("abcdefg", []),
    ],
)
def test_chains(text, found):
    assert [(r.start, r.length, r.times) for r in repeats(*chain(text))] == found


def blocks(count, entry=True):
    """A residual network: each block is two nodes, the second of which reads what enters the block as well."""
    names, edges = ["in"], []
    at = 0
    for _ in range(count):
        first = len(names)
        names += ["conv", "add"]
        edges += [(at, first), (first, first + 1), (at, first + 1)]
        at = first + 1
    return names, edges


def test_blocks_that_read_past_each_other_are_instances():
    assert repeats(*blocks(5)) == (Repeat(1, 2, 5),)


def test_the_first_instance_may_read_from_further_back():
    names, edges = blocks(4)
    names = ["in", "a", "b", *names[1:]]
    edges = [(0 if a == 0 else a + 2, b + 2) for a, b in edges] + [(0, 1), (1, 2)]
    assert repeats(names, edges) == (Repeat(3, 2, 4),)


def test_what_all_instances_read_does_not_tell_them_apart():
    names, edges = chain("mxabababz")
    assert repeats(names, [*edges, *((0, k) for k in (3, 5, 7))]) == (Repeat(2, 2, 3),)


def test_instances_that_read_different_places_are_different():
    names, edges = chain("xyababab")
    odd = [*edges, (0, 3), (1, 5), (3, 7)]
    assert all(r.times * r.length < 6 for r in repeats(names, odd))


def test_a_repetition_begins_behind_a_cut():
    # two values enter the first a; b c a has one of them
    names = list("xyabcabcaz")
    edges = [(0, 2), (1, 2), (2, 3), (3, 4), (2, 5), (4, 5), (5, 6), (6, 7), (5, 8), (7, 8), (8, 9)]
    assert repeats(names, edges) == (Repeat(3, 3, 2),)


def test_a_node_that_reads_less_is_another_one():
    names = list("xabcabca")
    edges = [(0, 1), (1, 2), (2, 3), (1, 4), (3, 4), (4, 5), (5, 6), (4, 7), (6, 7)]
    assert repeats(names, edges) == (Repeat(2, 3, 2),)


def test_negative_positions_are_nodes_before_the_first():
    names = list("abab")
    assert repeats(names, [(-3, 0), (0, 1), (1, 2), (2, 3)]) == (Repeat(0, 2, 2),)


def test_a_node_that_reads_very_much_is_like_no_other():
    names = ["s"] * 100 + ["cat", "cat"] * 2
    edges = [(k, 100 + i) for k in range(100) for i in range(4)]
    assert all(r.end <= 100 for r in repeats(names, edges))


@given(st.integers(1, 4), st.integers(2, 5), st.lists(st.integers(0, 3), min_size=0, max_size=6), st.integers(0, 2**20))
def test_instances_are_alike_and_apart(length, times, around, seed):
    block = [(seed >> (2 * k)) & 3 for k in range(length)]
    names = [*around, *block * times, *around[::-1]]
    names, edges = chain(names)
    found = repeats(names, edges)
    for r in found:
        assert r.times > 1
        assert r.length * (r.times - 1) >= FEWEST_HIDDEN
        parts = [names[r.start + k * r.length : r.start + (k + 1) * r.length] for k in range(r.times)]
        assert all(p == parts[0] for p in parts)
    assert all(a.end <= b.start for a, b in itertools.pairwise(found))
    if length * (times - 1) >= FEWEST_HIDDEN:  # nothing is left that could have been folded as well
        assert sum(r.length * r.times for r in found) >= length * times - (length - 1)


@pytest.mark.bench
def test_two_thousand_nodes_take_no_time():
    import time

    for names, edges in (blocks(1000), chain(["a"] * 2000), chain([k % 7 for k in range(2000)])):
        began = time.perf_counter()
        repeats(names, edges)
        assert time.perf_counter() - began < 0.25
