"""Which record is the best: ranking with comparisons, and lookup of exact and near tasks."""

from __future__ import annotations

import dataclasses
import itertools
import types

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tune.random_logs import ranked

from workbench.log import Comparison, Database, Header, Record
from workbench.log.reader import to_frame, write_log
from workbench.log.similar_tasks import differences, shape_of

HERE = "llvm -mcpu=a -mattr=+avx2,+fma -l2=1M -threads=2"
THREADS = "llvm -mcpu=a -mattr=+avx2,+fma -l2=1M -threads=8"
OTHER = "llvm -mcpu=b -mattr=+avx512f,+fma -l2=2M -threads=2"


def record(trial, ms=1.0, key="k0", task="conv", **kwargs):
    given = {"status": "ok", "target": HERE, "key": f"c{trial}", "latency_ms": ms, **kwargs}
    return Record(task_key=key, task=task, trial=trial, **given)


def comparison(winner, *losers, at=1.0, ms=None, key="k0"):
    trials = (winner, *losers)
    return Comparison(
        task_key=key, task="conv", trials=trials, latency_ms=ms or (), winner=winner,
        timestamp=at,
    )  # fmt: skip


def order(records, comparisons=()):
    return [one.record.trial for one in ranked(records, comparisons)]


def test_without_comparisons_the_latency_decides():
    assert order([record(0, 2.0), record(1, 1.0), record(2, 1.0), record(3, 0.5, status="wrong_answer")]) == [1, 2, 0]


def test_a_loser_ranks_directly_behind_the_winner_which_takes_its_place():
    records = [record(0, 1.0), record(1, 0.8), record(2, 1.1), record(3, 0.9)]
    assert order(records) == [1, 3, 0, 2]
    assert order(records, [comparison(0, 1)]) == [0, 1, 3, 2]
    assert order(records, [comparison(0, 3)]) == [1, 0, 3, 2]
    assert order(records, [comparison(0, 1, 3)]) == [0, 1, 3, 2]
    # Behind a chain of winners, but never moved ahead of its own latency.
    assert order(records, [comparison(2, 0), comparison(0, 1)]) == [2, 0, 1, 3]
    assert order(records, [comparison(1, 2)]) == [1, 3, 0, 2]
    # Who was compared goes before others that are as fast; of two that beat the same one, the faster.
    assert order([record(0, 1.0), record(1, 1.0), record(2, 1.0)], [comparison(2, 1)]) == [2, 1, 0]
    assert order(records, [comparison(0, 1), comparison(3, 1)]) == [3, 0, 1, 2]


def test_the_later_of_two_contradicting_comparisons_holds():
    records = [record(0, 1.0), record(1, 0.9), record(2, 0.8)]
    first, second = comparison(0, 1, at=1.0), comparison(1, 0, at=2.0)
    assert order(records[:2], [first, second]) == [1, 0]
    assert order(records[:2], [comparison(0, 1, at=3.0), second]) == [0, 1]
    circle = [comparison(0, 1, at=1.0), comparison(1, 2, at=2.0), comparison(2, 0, at=3.0)]
    assert order(records, circle) == [1, 2, 0]  # that 0 beat 1 is the oldest
    for lines in itertools.permutations(circle):
        assert order(records, lines) == order(records, circle)


def test_comparisons_of_unknown_trials_change_nothing():
    records = [record(0, 1.0), record(1, 0.9), record(2, 0.1, status="run_error")]
    assert order(records, [comparison(7, 1), comparison(0, 8), comparison(2, 1)]) == [1, 0]


def test_two_measurements_have_to_bear_a_number_out():
    lines = [comparison(1, 0, at=2.0, ms=(0.7, 0.75)), comparison(1, 2, at=3.0, ms=(0.72, 0.9))]
    told = {one.record.trial: one.ms for one in ranked([record(n, 0.5) for n in range(4)], lines)}
    assert told == {1: 0.7, 0: 0.75, 2: 0.9, 3: 0.7}, "trial 3 was timed once, and 0.5 did not hold for the others"
    told = {one.record.trial: one.ms for one in ranked([record(n, 0.71) for n in range(3)], lines)}
    assert told == {1: 0.71, 0: 0.75, 2: 0.9}
    found = Database([record(1, 0.8), record(1, 0.81)], lines).told("k0", 1)
    assert [(one.ms, one.sure) for one in found] == [(0.72, "again")]


def test_of_several_measurements_of_a_program_the_number_is_one_that_was_seen_twice():
    def told(*times):
        return [one.ms for one in ranked([record(0, ms, timestamp=1.0 + n) for n, ms in enumerate(times)])]

    assert told(0.8) == [0.8]
    assert told(0.8, 1.6) == told(1.6, 0.8) == [1.6]
    assert told(0.8, 1.6, 0.9) == [0.9]
    assert told(0.8, 1.6, 0.83) == [0.83]
    other = record(0, 1.6, caches="constants shared")  # the two cannot be compared
    assert [one.ms for one in ranked([record(0, 0.8), other])] == [1.6, 0.8]


SOME = st.lists(st.tuples(st.sampled_from([0.5, 0.7, 1.0, 1.5]), st.booleans()), min_size=1, max_size=8)
FIGHTS = st.lists(st.tuples(st.permutations(range(8)), st.integers(2, 4), st.sampled_from([1.0, 2.0, 3.0])), max_size=8)


def known(some, fights):
    records = [record(i, ms, status="ok" if ok else "run_error") for i, (ms, ok) in enumerate(some)]
    return records, [comparison(*trials[:n], at=at) for trials, n, at in fights]


@settings(max_examples=100, deadline=None)
@given(SOME, FIGHTS, st.randoms())
def test_the_order_of_lines_does_not_matter_and_nobody_is_lost(some, fights, random):
    records, comparisons = known(some, fights)
    expected = order(records, comparisons)
    assert sorted(expected) == [r.trial for r in records if r.ok]
    shuffled, other = records.copy(), comparisons.copy()
    random.shuffle(shuffled)
    random.shuffle(other)
    assert order(shuffled, other) == expected


@settings(max_examples=100, deadline=None)
@given(SOME, FIGHTS)
def test_no_loser_of_an_uncontradicted_comparison_ranks_before_its_winner(some, fights):
    records, comparisons = known(some, fights)
    place = {trial: i for i, trial in enumerate(order(records, comparisons))}
    newest = max((c.timestamp for c in comparisons), default=0.0)
    last = [c for c in comparisons if c.timestamp == newest]
    if len(last) == 1 and last[0].winner in place:
        assert all(place[last[0].winner] < place[t] for t in last[0].losers if t in place)
    best = min((r.latency_ms for r in records if r.ok), default=None)
    fought = {t for c in comparisons if c.winner in place for t in c.trials}
    free = [r.trial for r in records if r.ok and r.latency_ms == best and r.trial not in fought]
    if free and all(records[t].latency_ms > best for t in fought if t in place):
        assert place[free[0]] == 0


def test_logs_with_the_same_numbers_are_kept_apart(tmp_path):
    header = Header(tasks=(("k0", "conv"),))
    write_log(tmp_path / "a", header, [record(0, 1.0), record(1, 0.8), comparison(0, 1)])
    write_log(tmp_path / "b", header, [record(0, 0.9, key="k0"), record(1, 0.5)])
    with_key = [dataclasses.replace(r, key=f"b{r.trial}") for r in (record(0, 0.9), record(1, 0.5))]
    write_log(tmp_path / "b", header, with_key)
    found = Database.load(tmp_path / "a", tmp_path / "b").top("k0", 9, HERE)
    assert [r.key for r in found] == ["b1", "c0", "c1", "b0"]
    assert [r.key for r in Database.load(tmp_path / "b", tmp_path / "a").top("k0", 9, HERE)] == [r.key for r in found]


def test_the_right_target_and_the_right_caches_come_before_any_latency():
    lines = [
        record(0, 1.0, target=THREADS), record(1, 3.0), record(2, 4.0, caches="constants shared"), record(3, 2.0),
        record(4, 0.1, target=OTHER), record(5, 6.0, caches="constants in memory"), record(6, 5.0, caches="flushed"),
        record(7, 2.5, caches="warm"),
    ]  # fmt: skip
    assert [r.trial for r in Database(lines).top("k0", 9, HERE)] == [5, 2, 6, 3, 7, 1, 0]
    assert [r.trial for r in Database(lines, [comparison(1, 3)]).top("k0", 9, HERE)] == [5, 2, 6, 1, 3, 7, 0]
    ranks = to_frame([*lines[1:4], *lines[5:], comparison(1, 3)])["rank"]
    assert ranks.tolist() == [4, 2, 5, 1, 3, 6]


def task(name, key="new"):
    return types.SimpleNamespace(name=name, key=key)


CONVS = [
    record(0, key="a", task="conv2d 3x3 64→64 @56x56 + bias + relu"),
    record(1, key="b", task="conv2d 3x3 512→512 @7x7"),
    record(2, key="c", task="conv2d 1x1 64→64 @56x56 + bias + relu"),
    record(3, key="d", task="matmul 512x512 · 512x512", target=OTHER),
]


@pytest.mark.parametrize(
    ("wanted", "relation", "trial", "said"),
    [
        (task("conv2d 3x3 64→64 @56x56 + bias + relu", "a"), "exact", 0, "for this target"),
        (task("matmul 512x512 · 512x512", "d"), "target", 3, "another machine (mcpu=b instead of a; with avx512f"),
        (
            task("conv2d 3x3 128→128 @28x28 + relu"),
            "similar",
            0,
            "64 for 128, 64 for 128, 56 for 28, 56 for 28, with b",
        ),
        (task("conv2d 3x3/2 256→512 @14x14"), "similar", 1, "1 for 2, 512 for 256, 7 for 14"),
        (task("conv2d 1x1 32→64 @56x56"), "similar", 2, "nearest of its kind is conv2d 1x1 64→64"),
        (task("matmul 256x512 · 512x512"), "similar", 3, "512 for 256), measured on another machine"),
        (task("softmax 1x1000"), "none", None, "nothing of the kind of softmax 1x1000 is known"),
    ],
)
def test_the_nearest_record_is_found_and_told(wanted, relation, trial, said):
    found = Database(CONVS).lookup(wanted, HERE)
    assert found.relation == relation
    assert [r.trial for r in found.records] == ([] if trial is None else [trial])
    assert said in found.how


def test_a_task_measured_with_other_threads_is_not_called_exact():
    found = Database([record(0, target=THREADS), record(1, 0.1, target=OTHER)]).lookup(task("conv", "k0"), HERE)
    assert found.relation == "target"
    assert [r.trial for r in found.records] == [0]  # the other one needs extensions that are not there
    assert "threads=8 instead of 2" in found.how


def test_numbers_that_names_leave_out_are_known():
    assert shape_of("conv2d 3x3 64→64 @56x56").distance(shape_of("conv2d 3x3/2 64→64 @56x56 batch 4")) == 3.0
    assert shape_of("dense 512→10").distance(shape_of("dense 4x512→10")) == 2.0
    assert shape_of("conv2d 3x3 8→8 @9x9 + relu (2)") == shape_of("conv2d 3x3 8→8 @9x9 + relu")
    assert shape_of("conv2d 3x3 8→8 @9x9").distance(shape_of(f"conv2d 3x3 {'8' * 5000}→8 @9x9")) > 50
    assert shape_of("pad + conv2d 3x3 8→8 @9x9").around == ("pad",)
    assert shape_of("depthwise 3x3 8 @9x9").distance(shape_of("conv2d 3x3 8→8 @9x9")) == float("inf")


def test_of_equally_large_tasks_the_one_with_the_same_epilogue_is_nearest():
    names = ["conv2d 3x3 8→8 @9x9 + relu", "conv2d 3x3 8→8 @9x9 + bias + relu", "conv2d 3x3 8→8 @9x9"]
    known = Database(record(i, key=f"k{i}", task=name) for i, name in enumerate(names))
    assert known.lookup(task("conv2d 3x3 8→8 @9x9 + bias + relu + add"), HERE).records[0].trial == 1
    assert known.lookup(task("conv2d 3x3 8→8 @9x9 + bias"), HERE).records[0].trial == 2


def test_differences_of_targets_are_named():
    assert differences(HERE, HERE) == "the same target"
    assert differences(THREADS, HERE) == "threads=8 instead of 2"
    assert "with avx512f and without avx2" in differences(OTHER, HERE)
