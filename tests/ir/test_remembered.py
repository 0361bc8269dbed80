from __future__ import annotations

import gc

from workbench import Schedule, workloads
from workbench.ir import Block, accesses, blocks
from workbench.ir.stmt import map_block, walk
from workbench.memoize import remembered, remembered_by_value, tables, trial


def asking(most=1000):
    """A remembered question about any objects, which answers how many times it was worked out."""
    asked = []

    @remembered(most, parts=lambda *parts: parts)
    def ask(*parts):
        asked.append(parts)
        return len(asked)

    return ask


def test_an_answer_belongs_to_the_objects_and_not_to_what_they_equal():
    ask = asking(most=3)
    a, b = (1, 2), tuple(range(1, 3))
    assert ask(a) == ask(a) == 1
    assert ask(b) == 2, "an equal object is another question"
    assert ask(a, b) == 3
    assert ask(b, a) == 4, "of very many, all are forgotten"
    assert ask(a) == 5


def test_a_question_about_one_object_is_worked_out_once():
    asked = []

    @remembered(10)
    def length(part):
        """How long it is."""
        asked.append(part)
        return len(part)

    nest = (1, 2, 3)
    assert length(nest) == length(nest) == 3
    assert asked == [nest]
    assert (length.__name__, length.__doc__) == ("length", "How long it is.")


def test_objects_that_are_gone_leave_no_answer_behind():
    @remembered(1000)
    def first(part):
        return part[0]

    seen = {first((k, k)) for k in range(100)}
    assert seen == set(range(100)), "what is remembered is kept, so that its place in memory is not used again"


def test_small_values_are_remembered_by_what_they_equal():
    asked = []

    @remembered_by_value(2)
    def double(n):
        asked.append(n)
        return 2 * n

    assert [double(n) for n in (1000, 1000, 2, 3, 1000)] == [2000, 2000, 4, 6, 2000]
    assert asked == [1000, 2, 3, 1000], "the oldest answer is forgotten"


def test_every_cache_is_listed_with_its_bound():
    ((block, _),) = blocks(workloads.matmul(4, 4, 4).body)
    accesses(block)
    found = tables()
    assert {"workbench.ir.stmt.accesses", "workbench.ir.dtypes.is_float (by value)"} <= set(found)
    assert all(0 <= kept <= most <= 4096 for kept, most in found.values() if most)
    assert found["workbench.ir.stmt.accesses"][0] > 0


def test_walking_gives_the_same_whether_it_was_walked_before():
    body = workloads.softmax(4, 8).body
    first = list(walk(body))
    assert list(walk(body)) == first
    inner = [(s, path[1:]) for s, path in first if path and path[0] is body[0]]
    assert list(walk(body[0].body)) == inner
    outer = first[0]
    assert next(walk(body, (body[0],))) == (outer[0], (body[0],))


def test_a_block_that_nothing_changes_stays_the_same_object():
    ((block, _),) = blocks(workloads.matmul(4, 4, 4).body)
    assert map_block(block, lambda x: x.subst({})) is block
    assert map_block(block, lambda x: x, lambda x: x.map_dims(lambda d: d), lambda d: d) is block
    changed = map_block(block, lambda x: x, lambda x: x * 2)
    assert isinstance(changed, Block)
    assert changed.index == tuple(x * 2 for x in block.index)


def test_what_is_worked_out_in_a_trial_is_forgotten_unless_it_is_about_what_stays():
    ask = asking()
    stays, new, old = (1,), (2,), (3,)
    assert ask(old) == 1
    with trial({id(stays)}):
        assert (ask(stays), ask(new), ask(stays, new), ask(new, stays)) == (2, 3, 4, 5)
        assert (ask(new), ask(old)) == (3, 1), "remembered as long as the trial lasts, like what was known before"
        with trial(()):
            assert (ask(stays), ask((4,))) == (2, 6)
    assert (ask(old), ask(stays)) == (1, 2)
    assert (ask(new), ask(stays, new), ask(new, stays)) == (7, 8, 9)


def test_judging_leaves_nothing_behind():
    schedule = Schedule(workloads.conv2d_nhwc(8, 8, 16, 16))
    schedule.moves()
    gc.collect()
    gc.disable()
    try:
        before = len(gc.get_objects())
        for _ in range(3):
            schedule.moves()
        left = len(gc.get_objects()) - before
    finally:
        gc.enable()
    assert left < 100, "of some thousand objects that are made for it"
