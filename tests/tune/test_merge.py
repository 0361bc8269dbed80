"""Logs of several machines become one."""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tune.test_log import HEADER, code_of, record

import workbench
from workbench.errors import UsageError
from workbench.log import Command, Comparison, Database, Header, Log, Round, load_log
from workbench.log.lines import Unknown
from workbench.log.merge import merge, merge_logs
from workbench.log.reader import write_log


def comparison(winner, *losers, at=0.0, **kwargs):
    trials = (winner, *losers)
    latency = tuple(float(t + 1) for t in trials)
    return Comparison(
        task_key="k0", task="conv", trials=trials, latency_ms=latency, winner=winner, timestamp=at, **kwargs
    )


def log_of(*lines, header=HEADER):
    return Log(Path("x"), header, tuple(lines))


def program(key, line):
    return dataclasses.replace(line, key=key)


def write(path, *lines, header=HEADER):
    write_log(path, header, lines)
    return path


def test_two_machines_become_one_log(tmp_path):
    a = write(
        tmp_path / "a", record(0, ms=2.0, timestamp=10.0, host="A"),
        record(1, ms=1.0, timestamp=30.0, host="A", round=1),
        comparison(0, 1, at=31.0, round=1), Round(task_key="k0", task="conv", round=1, timestamp=32.0),
    )  # fmt: skip
    b = write(
        tmp_path / "b", program("c5", record(0, ms=0.5, timestamp=20.0, host="B")),
        Command(name="pause", timestamp=25.0),
        program("c6", record(1, ms=0.7, timestamp=40.0, host="B")), comparison(1, 0, at=41.0),
        Unknown({"kind": "note", "text": "hello"}),
    )  # fmt: skip
    found = workbench.merge_logs([a, b], tmp_path / "out")
    assert (found.trials, found.duplicates, found.lost) == (4, 0, 0)
    log = load_log(tmp_path / "out")
    assert [(r.trial, r.host, r.round) for r in log.records] == [(0, "A", 0), (1, "B", 1), (2, "A", 2), (3, "B", 1)]
    assert [(c.trials, c.winner, c.latency_ms) for c in log.comparisons] == [
        ((0, 2), 0, (1.0, 2.0)),
        ((3, 1), 3, (2.0, 1.0)),
    ]
    assert [r.round for r in log.rounds] == [2]
    assert [c.name for c in log.commands] == ["pause"]
    assert [u.data["text"] for u in log.unknown] == ["hello"]
    assert [r.trial for r in Database(log.records, log.comparisons).top("k0", 9)] == [3, 1, 0, 2]


def test_what_is_in_both_is_taken_once(tmp_path):
    shared = [record(0, timestamp=10.0), record(1, timestamp=11.0), comparison(1, 0, at=12.0)]
    a = write(tmp_path / "a", *shared, record(2, timestamp=20.0))
    b = write(tmp_path / "b", *shared, program("other", record(2, timestamp=21.0)), comparison(2, 1, at=22.0))
    found = merge_logs([a, b], tmp_path / "out")
    assert (found.trials, found.duplicates) == (4, 2)
    log = load_log(tmp_path / "out")
    assert [c.trials for c in log.comparisons] == [(1, 0), (3, 1)]
    again = merge_logs([tmp_path / "out", a, b], tmp_path / "more")
    assert (again.trials, again.duplicates) == (4, 6)
    assert load_log(tmp_path / "more").lines == log.lines


def test_old_logs_without_times_and_keys_are_told_apart_by_all_they_hold(tmp_path):
    a = write(tmp_path / "a", *(program("", r) for r in (record(0), record(1), record(2, ms=3.0))))
    b = write(tmp_path / "b", *(program("", r) for r in (record(0), record(1, ms=4.0))))
    assert merge_logs([a, b], tmp_path / "out").trials == 4


def test_a_log_alone_stays_as_it_is(tmp_path):
    lines = [record(0, timestamp=5.0), record(1, timestamp=3.0, round=1), comparison(1, 0, at=4.0, round=1)]
    merge_logs([write(tmp_path / "a", *lines)], tmp_path / "out")
    assert load_log(tmp_path / "out").lines == tuple(lines)
    assert load_log(tmp_path / "out").header == HEADER


def test_comparisons_without_their_trials_are_left_out(tmp_path):
    lines = [record(0), record(1), comparison(7, 0), comparison(0, 7), comparison(0, 7, 1)]
    found = merge_logs([write(tmp_path / "a", *lines)], tmp_path / "out")
    assert found.lost == 2
    (kept,) = load_log(tmp_path / "out").comparisons
    assert (kept.trials, kept.latency_ms) == ((0, 1), (1.0, 2.0))


OTHER = Header(tasks=(("k0", "conv"), ("z", "pool")), model="b.onnx")


def test_what_cannot_be_merged_is_refused(tmp_path):
    a = write(tmp_path / "a", record(0))
    b = write(tmp_path / "b", record(0, key="z"), header=OTHER)
    bare = write(tmp_path / "c", record(0, key="k9"), header=None)
    assert code_of(lambda: merge_logs([a, b], tmp_path / "out")) == "log.other_model"
    assert code_of(lambda: merge_logs([a, bare], tmp_path / "out")) == "log.other_model"
    assert code_of(lambda: merge_logs([a, tmp_path / "none"], tmp_path / "out")) == "log.missing"
    assert code_of(lambda: merge_logs([a], a)) == "log.exists"
    assert code_of(lambda: merge_logs([a], tmp_path / "no" / "out")) == "log.unwritable"
    with pytest.raises(UsageError) as caught:
        merge_logs([], tmp_path / "out")
    assert caught.value.code == "usage.no_logs"
    assert not (tmp_path / "out").exists()
    assert len(load_log(a).records) == 1
    assert merge_logs([a, b, bare], tmp_path / "out", force=True).trials == 3
    header = load_log(tmp_path / "out").header
    assert header is not None
    assert header.tasks == (("k0", "conv"), ("k1", "dense"), ("z", "pool"))
    assert [origin["model"] for origin in header.extra["merged"]] == ["a.onnx", "b.onnx"]


def test_a_log_without_header_goes_with_one_that_has(tmp_path):
    a = write(tmp_path / "a", record(0))
    bare = write(tmp_path / "c", record(0, key="k1", ms=3.0), header=None)
    with open(bare, "a") as file:
        file.write('{"kind":"trial","ta')
    found = merge_logs([bare, a], tmp_path / "out")
    assert found.trials == 2
    assert found.torn == (bare,)
    assert load_log(tmp_path / "out").header == HEADER


@st.composite
def logs(draw):
    """Three logs with common trials, set-back clocks, and comparisons and rounds between them."""
    pool = [
        dataclasses.replace(record(0, ms=1.0 + i, round=0, host=f"H{i % 2}"), key=f"p{i}", timestamp=float(i % 4))
        for i in range(6)
    ]
    out = []
    for k in range(3):
        lines, used, count = [], set(), 0
        for what in draw(
            st.lists(st.tuples(st.sampled_from("rrrcRu"), st.integers(0, 5), st.integers(0, 3)), max_size=7)
        ):
            kind, i, at = what
            if kind == "r" and i not in used:  # one machine does not end two equal trials at the same moment
                used.add(i)
                lines.append(dataclasses.replace(pool[i], trial=count, round=count // 2))
                count += 1
            elif kind == "c" and count > 1:
                lines.append(comparison(i % count, (i + 1) % count, at=float(at), round=count // 2))
            elif kind == "R":
                lines.append(Round(task_key="k0", task="conv", round=count // 2 + i, timestamp=float(at)))
            elif kind == "u":
                lines.append(Unknown({"kind": "note", "n": i, "timestamp": at}))
        tasks = HEADER.tasks[: draw(st.integers(1, 2))]
        out.append(log_of(*lines, header=draw(st.sampled_from([None, Header(tasks=tasks, host=f"H{k}")]))))
    return out


@settings(max_examples=150, deadline=None)
@given(logs())
def test_merging_is_associative(three):
    a, b, c = three
    left = merge([merge([a, b])[0], c])[0]
    right = merge([a, merge([b, c])[0]])[0]
    at_once = merge([a, b, c])[0]
    assert left.lines == right.lines == at_once.lines
    assert left.header == right.header == at_once.header


@settings(max_examples=100, deadline=None)
@given(logs())
def test_the_ranking_does_not_depend_on_the_order_of_merging(three):
    orders = set()
    for some in itertools.permutations(three):
        log = merge(some)[0]
        best = Database(log.records, log.comparisons).best("k0")
        orders.add(best.key if best else None)
    assert len(orders) == 1


def test_a_log_merged_with_itself_stays_as_it_is(tmp_path):
    """Also where it was merged before, its clock was set back, and numbers stand twice in it."""
    lines = [
        record(0, timestamp=10.0), record(1, timestamp=11.0, round=1), program("twin", record(1, timestamp=11.5)),
        comparison(1, 0, at=9.0, round=1), Round(task_key="k0", task="conv", round=1, timestamp=12.0),
        Command(name="pause", id="a", timestamp=8.0), Unknown({"kind": "note", "timestamp": 3}),
    ]  # fmt: skip
    once = merge([log_of(*lines)])[0]
    assert [r.trial for r in once.records] == [0, 1, 2]
    assert [(c.winner, c.trials) for c in once.comparisons] == [(1, (1, 0))]
    for some in ([once], [once, once], [once, once, once]):
        again, duplicates, lost = merge(some)
        assert (again.lines, again.header) == (once.lines, once.header)
        assert (duplicates, lost) == (3 * (len(some) - 1), 0)


@settings(max_examples=60, deadline=None)
@given(logs())
def test_merging_is_idempotent(three):
    once = merge(three)[0]
    assert merge([once])[0].lines == merge([once, once])[0].lines == merge([once, *three])[0].lines == once.lines


def test_a_round_that_two_logs_share_keeps_one_number(tmp_path):
    """A log and a copy of it that somebody went on with: the copy's trials belong to the round that was begun."""
    begun = [record(0, timestamp=10.0), record(1, timestamp=11.0, round=1)]
    copy = [
        *begun,
        program("c2", record(2, timestamp=12.0, round=1)),
        program("c3", record(3, timestamp=13.0, round=2)),
    ]
    assert [r.round for r in merge([log_of(*begun), log_of(*copy)])[0].records] == [0, 1, 1, 2]
