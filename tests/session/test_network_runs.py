"""What is said of recorded runs: same code is never claimed to differ, medians add up, and what is odd is said."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from workbench.codegen.lowering import ObjectCode
from workbench.graph import Graph
from workbench.log.ledger.network import NO_DIFFERENCE
from workbench.runtime.execution.profile import make_profile
from workbench.runtime.execution.recorded_run import RecordedRun, _typical
from workbench.runtime.execution.timeline import Recording
from workbench.runtime.networks.execution_plan import CallPlan, ExecutablePlan
from workbench.session.state.network_runs import BETWEEN, REST, SAME_SCHEDULE, Shown, summary

GRAPH = Graph.make("net", [], {}, (), {})
TASKS = {f"t{k}": k for k in range(6)}


def shown(name, codes, spent, plain=None, why_not="", regions=()):
    """A network with one call of each task, of which the last has none, whose runs take so many nanoseconds."""
    calls = tuple(CallPlan(f"c{k}", ObjectCode(code, "f"), (), task=f"t{k}") for k, code in enumerate(codes))
    plan = ExecutablePlan((), (), (), 0, (*calls[:-1], replace(calls[-1], task="")))
    spent = np.array(spent, np.int64)
    stamps = np.concatenate([np.zeros((len(spent), 1), np.int64), np.cumsum(spent, axis=1)], axis=1)
    stamps += 10 * np.arange(len(spent))[:, None] * spent.sum()
    regions = np.array(regions, np.int64).reshape(-1, 3)
    work = np.array([[[begin, end, end - begin, 1]] for begin, end, _ in regions], np.int64).reshape(-1, 1, 4)
    recording = Recording(stamps, regions, work)
    plain_ms = tuple(spent.sum(axis=1) * 1e-6 if plain is None else plain)
    profile = make_profile(plan, stamps, plain_ms, 1, None)
    return Shown(name, 1, plan, RecordedRun(plan, profile, recording, _typical(recording), plain_ms, why_not))


def noisy(seed, usual, runs=15):
    """Runs on a busy machine: every call is now and then interrupted, and the clock is not steady."""
    draw = random.Random(seed)
    return [
        [int(t * pace * draw.uniform(0.95, 1.1) * (3.0 if draw.random() < 0.1 else 1.0)) for t in usual]
        for pace in (draw.choice((1.0, 1.3)) for _ in range(runs))
    ]


def test_same_code_is_never_claimed_to_differ():
    """However far the runs differ: here all calls of the second take twice as long, and what differs is told."""
    usual, told = [1000, 5000, 3000, 200], []
    for seed in range(20):
        made = [
            shown("default", [b"a", b"b", b"c", b"d"], noisy(seed, usual)),
            shown("best", [b"a", b"B", b"c", b"d"], noisy(seed + 100, [2 * t for t in usual])),
        ]
        changes = {row["id"]: row["change"] for row in summary(made, GRAPH, TASKS)["rows"]}
        assert [changes[id] for id in (0, 2, REST)] == [SAME_SCHEDULE] * 3
        told.append(changes[1])
    assert sum("slower" in one for one in told) >= 15


def test_other_code_that_takes_as_long_shows_no_difference():
    """Six tasks of fifty networks, on a busy machine: no more than one in a hundred networks is told an untruth."""
    usual = [1000, 5000, 3000, 200, 700, 900]
    said = [
        row["change"]
        for seed in range(50)
        for made in [[shown("default", [b"a"] * 6, noisy(seed, usual)), shown("best", [b"b"] * 6, noisy(~seed, usual))]]
        for row in summary(made, GRAPH, TASKS)["rows"]
    ]
    assert len(said) == 300
    assert sum(one != NO_DIFFERENCE for one in said) <= 1


def test_networks_of_the_same_code_are_the_same():
    made = [shown("default", [b"a"] * 2, [[10, 20]] * 9), shown("best", [b"a"] * 2, [[20, 40]] * 9)]
    assert summary(made, GRAPH, TASKS)["runs"][1]["change"] == SAME_SCHEDULE
    made[1] = shown("best", [b"a", b"b"], [[10, 5]] * 9)
    assert summary(made, GRAPH, TASKS)["runs"][1]["change"] == "2.00× as fast"


def test_runs_that_were_disturbed_tell_plain_differences_only():
    made = [
        shown("default", [b"a"] * 3, [[10_000, 10_000, 10_000]] * 9),
        shown("best", [b"b"] * 3, [[5_000, 2_000, 10_000]] * 9, why_not="the thread had 50 % of a core"),
    ]
    changes = {row["id"]: row["change"] for row in summary(made, GRAPH, TASKS)["rows"]}
    assert changes == {0: NO_DIFFERENCE, 1: "5.00× as fast", REST: NO_DIFFERENCE}


def test_rows_are_medians_and_add_up_and_what_was_interrupted_is_marked():
    runs = [[100_000, 300_000, 50_000], [900_000, 310_000, 52_000], [104_000, 300_000, 51_000]]
    one = shown("default", [b"a", b"b", b"c"], runs)
    drawn_odd = replace(one, recorded=replace(one.recorded, run=1))
    found = summary([drawn_odd], GRAPH, TASKS)
    (run,) = found["runs"]
    assert [(row["id"], row["ms"]) for row in found["rows"]] == [(1, [0.3]), (0, [0.104]), (REST, [0.051])]
    assert run["sum_ms"] == pytest.approx(sum(row["ms"][0] for row in found["rows"]))
    assert sum(row["share"][0] for row in found["rows"]) == pytest.approx(1.0, abs=1e-3)
    far = {row["id"]: row["far"] for row in found["rows"]}
    assert far == {0: "drawn at 8.65× its median", 1: "", REST: ""}
    assert [row["far"] for row in summary([one], GRAPH, TASKS)["rows"]] == ["", "", ""]
    both = summary([drawn_odd, replace(one, name="best")], GRAPH, TASKS)["rows"]
    assert "default drawn at 8.65× its median" in " ".join(row["far"] for row in both)


def test_time_between_kernels_has_a_row_where_it_can_be_seen():
    one = shown("default", [b"a", b"b"], [[100_000, 300_000]])
    rows = summary([one], GRAPH, TASKS)
    assert rows["runs"][0]["has_gaps"] is False
    assert BETWEEN not in {row["id"] for row in rows["rows"]}
    rows = summary([shown("default", [b"a", b"b"], [[100_000, 300_000]], regions=[(20_000, 90_000, 4)])], GRAPH, TASKS)
    assert rows["rows"][-1]["id"] == BETWEEN
    assert rows["rows"][-1]["ms"] == [0.03]
    assert rows["runs"][0]["gaps_ms"] == 0.03
    assert [row["share"] for row in rows["rows"]] == [[0.75], [0.175], [0.075]]


@pytest.mark.parametrize(
    ("spent", "plain", "why_not", "says"),
    [
        ([[60, 40]] * 9, [0.1] * 9, "", ""),
        ([[60, 40]] * 9, [0.102] * 9, "", ""),
        ([[60, 40]] * 9, [0.1] * 9, "the thread had half a core", "disturbed: the thread had half a core; record"),
        ([[36, 34]] * 9, [0.131] * 9, "", "took 0.534× as long as those without"),
        ([[60, 40]] * 9, [0.1, 0.1, 0.18, 0.1, 0.19, 0.1, 0.17, 0.15, 0.16], "", "runs spread by 46.7"),
        ([[102, 50], [98, 50], [100, 48], [100, 52], [100, 50]], [0.15] * 5, "", ""),
        ([[160, 40, 40], [40, 160, 40], [40, 40, 160]], [0.24] * 3, "", "the calls add up to 50.0\u202f% less than"),
    ],
)  # fmt: skip
def test_times_that_do_not_fit_together_are_said_to_be_disturbed(spent, plain, why_not, says):
    one = shown("default", [b"a"] * len(spent[0]), [[1000 * t for t in run] for run in spent], plain, why_not)
    (run,) = summary([one], GRAPH, TASKS)["runs"]
    assert says in run["doubt"]
    assert bool(run["doubt"]) == bool(says)
    assert not says or run["doubt"].endswith("record again when the machine is quiet")
