"""Runs and devices beside each other, search difficulty, neighbours: against ten-line scripts and published figures."""

import gzip
import itertools
import json
import math
import statistics
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from logs.made_logs import grid, records

import workbench as wb
from workbench.errors import UsageError
from workbench.logs import analysis
from workbench.logs.analysis.centrality import local_minima, page_rank

DATA = Path(__file__).resolve().parents[1] / "data" / "logs"
CONVOLUTION = [DATA / "kernel-tuner" / f"convolution_milo-{device}.json.gz" for device in ("A100", "A4000")]
PNPOLY = (
    DATA / "kernel-tuner" / "pnpoly-RTX_3090-kerneltuner_original.json.gz",
    DATA / "ktt" / "pnpoly-RTX_3090.json.gz",
)


@pytest.fixture(scope="module")
def devices():
    return [wb.logs.open(path) for path in CONVOLUTION]


@pytest.fixture(scope="module")
def pnpoly():
    return [wb.logs.open(path) for path in PNPOLY]


def cache(path):
    """Times by configuration, failures as None."""
    found = json.loads(gzip.decompress(path.read_bytes()))["cache"]
    return {key: row["time"] if isinstance(row.get("time"), float) else None for key, row in found.items()}


# -------------------------------------------------------------------------------------------------------- portability


def test_best_configurations_on_the_other_device(devices):
    frame = analysis.portability(devices).set_index(["best_of", "on"])["share"]
    a, b = map(cache, CONVOLUTION)
    best_a, best_b = (min((k for k in some if some[k]), key=some.get) for some in (a, b))
    assert list(frame) == pytest.approx([1, b[best_b] / b[best_a], a[best_a] / a[best_b], 1])
    assert [round(100 * share, 1) for share in frame] == [100, 60.1, 67.3, 100]


def test_the_most_portable_configuration(devices):
    frame = analysis.most_portable(devices, n=5)
    a, b = map(cache, CONVOLUTION)
    low = [min(filter(None, some.values())) for some in (a, b)]
    means = {k: statistics.harmonic_mean([low[0] / a[k], low[1] / b[k]]) for k in a if a[k] and b.get(k)}
    top = sorted(means, key=means.get, reverse=True)[:5]
    assert [",".join(map(str, p.values())) for p in frame["params"]] == top
    assert list(frame["mean"]) == pytest.approx([means[k] for k in top])
    assert (top[0], round(means[top[0]], 3)) == ("48,2,1,4,1,0,1,1,15,15", 0.835)


def test_failing_elsewhere_is_not_portable():
    a = records([{"x": 1}, {"x": 2}], [1.0, 2.0], device="a")
    b = records([{"x": 1}, {"x": 2}, {"x": 3}], [None, 4.0, 1.0], device="b")
    frame = analysis.portability([a, b]).set_index(["best_of", "on"])
    assert frame.loc[("a", "b"), "share"] == 0
    assert frame.loc[("a", "b"), "status"] == "run"
    assert math.isnan(frame.loc[("b", "a"), "share"]), "it was not tried there"
    assert frame.loc[("a", "b"), "record"] == 0
    portable = analysis.most_portable([a, b])
    assert list(portable["mean"]) == pytest.approx([2 / (2 + 4), 0])


def test_devices_of_several_tasks_are_asked_for():
    some = records([{"x": 1}] * 2, [1.0, 2.0], task=["a", "b"], device="d")
    with pytest.raises(UsageError) as caught:
        analysis.portability(some)
    assert caught.value.code == "usage.one_task"


# --------------------------------------------------------------------------------------------------------- comparison


def test_equal_winners_and_logs_without_a_common_task_are_told():
    a, b = records([{"x": 1}, {"x": 2}], [1.0, 2.0]), records([{"x": 1}, {"x": 2}], [3.0, 4.0])
    assert "the winners are the same configuration;" in analysis.compare(a, b).attrs["finding"]
    named = [records([{"x": 1}] * 2, [1.0, 2.0], task=[f"{side}0", f"{side}1"]) for side in "ab"]
    found = analysis.compare(*named).attrs["finding"]
    assert found == "The logs have no task in common: the first has a0 and 1 more, the second has b0 and 1 more."


def test_no_run_wins_by_the_rounding_of_a_unit():
    a, b = records([{"x": 1}], [7224.192], unit="us"), records([{"x": 1}], [7.224192], unit="ms")
    assert analysis.compare(a, b)["winner"].tolist() == analysis.compare(b, a)["winner"].tolist() == [""]


def test_what_two_runs_disagree_on_comes_first():
    a = records([{"x": k} for k in range(4)], [1.0, 1.0, 1.0, 1.0])
    b = records([{"x": k} for k in range(4)], [1.0, 0.25, None, 2.0])
    assert [p["x"] for p in analysis.both_tried(a, b)["params"]] == [2, 1, 3, 0]


def test_two_tuners_on_one_gpu(pnpoly):
    row = analysis.compare(*pnpoly).iloc[0]
    assert (round(row["first"], 2), round(row["second"], 2), row["unit"]) == (8.71, 7.22, "ms")
    assert (row["winner"], row["both"], row["disagree"]) == ("second", 4092, 68)
    assert round(row["ratio_of_both"], 2) == 0.93
    ours = cache(PNPOLY[0])
    theirs = {}
    for one in json.loads(gzip.decompress(PNPOLY[1].read_bytes()))["Results"]:
        values = {p["Name"].lower(): p["Value"] for p in one["Configuration"]}
        key = ",".join(str(values[n]) for n in ("between_method", "block_size_x", "tile_size", "use_method"))
        theirs[key] = one["TotalDuration"] / 1000 if one["Status"] == "Ok" else None
    both = [(ours[key], theirs[key]) for key in ours]
    assert row["disagree"] == sum((a is None) != (b is None) for a, b in both)
    assert row["ratio_of_both"] == pytest.approx(statistics.median(b / a for a, b in both if a and b))
    best = min((key for key in ours if ours[key]), key=ours.get)
    assert row["first_in_second"] == pytest.approx(min(filter(None, theirs.values())) / theirs[best])


def test_each_pair_of_records(pnpoly):
    pairs = analysis.both_tried(*pnpoly)
    assert len(pairs) == 4092
    one = pairs.iloc[1234]
    assert pnpoly[0].records["params"][one["record_first"]] == one["params"]
    second = pnpoly[1].records["params"][one["record_second"]]
    assert {name.lower(): value for name, value in second.items() if name != "VERTICES"} == one["params"]
    assert analysis.compare(*pnpoly).attrs["only"] == [[[], ["VERTICES"]]]
    assert pairs["disagree"].sum() == 68


def test_units_are_brought_together_and_names_are_renamed():
    a = records([{"x": 1}, {"x": 2}], [1.0, 2.0], task="t", unit="ms")
    b = records([{"BLOCK": 2}, {"BLOCK": 1}], [1000.0, 4000.0], task="t", unit="us")
    row = analysis.compare(a, b, rename={"BLOCK": "X"}).iloc[0]
    assert (row["first"], row["second"], row["unit"], row["winner"]) == (1, 1, "ms", "")
    assert row["differ"] == "x 1 → 2"
    assert row["ratio_of_both"] == pytest.approx((4 + 0.5) / 2)
    with pytest.raises(UsageError) as caught:
        analysis.compare(a, b)
    assert caught.value.code == "usage.parameters"
    with pytest.raises(UsageError) as caught:
        analysis.compare(a, records([{"x": 1}], [3.0], unit="", objective="score", direction="max"))
    assert caught.value.code == "usage.units"


def test_tasks_of_two_runs():
    a = records([{"x": 1}] * 3, [1.0, 2.0, None], task=["a", "b", "c"])
    b = records([{"x": 1}] * 3, [3.0, 1.0, 4.0], task=["a", "B", "d"])
    frame = analysis.compare(a, b).set_index("task")
    assert list(frame.index) == ["a", "b"]
    assert list(frame["winner"]) == ["first", "second"]
    assert len(analysis.compare(a, b, task="b")) == 1
    with pytest.raises(UsageError) as caught:
        analysis.compare(a, b, task="c")
    assert caught.value.code == "usage.task"


# ---------------------------------------------------------------------------------------------------------- difficulty


def walk(costs, shape, kind):
    """PageRank by the book: nodes, lists of neighbours that are not slower, a walk."""
    nodes = list(itertools.product(*map(range, shape)))
    out = {}
    for node in nodes:
        near = []
        for k, size in enumerate(shape):
            values = (node[k] - 1, node[k] + 1) if kind == "step" else range(size)
            near += [(*node[:k], v, *node[k + 1 :]) for v in values if 0 <= v < size and v != node[k]]
        out[node] = [n for n in near if costs[n] <= costs[node]]
    rank = dict.fromkeys(nodes, 1 / len(nodes))
    for _ in range(150):
        lost = sum(rank[n] for n in nodes if not out[n])
        new = dict.fromkeys(nodes, (0.15 + 0.85 * lost) / len(nodes))
        for n in nodes:
            for m in out[n]:
                new[m] += 0.85 * rank[n] / len(out[n])
        rank = new
    return rank


@settings(deadline=None, max_examples=25)
@given(st.lists(st.integers(1, 9), min_size=24, max_size=24), st.sampled_from(["step", "any"]))
def test_page_rank(numbers, kind):
    cost = np.where(np.array(numbers) == 9, np.inf, numbers).reshape(4, 3, 2)
    if not np.isfinite(cost).any():
        return
    expected = walk(cost, cost.shape, kind)
    found = page_rank(cost, kind)
    assert all(found[node] == pytest.approx(value, abs=1e-7) for node, value in expected.items())
    minima = local_minima(cost, kind)
    for node in itertools.product(*map(range, cost.shape)):
        near = [(*node[:k], v, *node[k + 1 :]) for k, size in enumerate(cost.shape) for v in range(size)]
        if kind == "step":
            near = [n for n in near if sum(abs(a - b) for a, b in zip(n, node, strict=True)) <= 1]
        assert minima[node] == (np.isfinite(cost[node]) and all(cost[node] <= cost[n] for n in near))


#: What the authors' own package and networkx's PageRank (tolerance 1e-10) give for the same files: proportion within 0,
#: 1, 5, 10 and 15 %, and the number of local minima.
PUBLISHED = {
    ("A100", "step"): (98, [0.0150870573, 0.0150870573, 0.0150870573, 0.0616030548, 0.0724837927]),
    ("A4000", "step"): (54, [0.0306225886, 0.0591719349, 0.1637936013, 0.1657111270, 0.1657111270]),
    ("A100", "any"): (22, [0.0623531426, 0.0623531426, 0.0623531426, 0.1903529376, 0.2318367284]),
    ("A4000", "any"): (10, [0.3282226840] * 5),
}


def test_the_proportion_of_centrality_as_published(devices):
    for device, log in zip(("A100", "A4000"), devices, strict=True):
        frame = analysis.centrality(log)
        for kind in ("step", "any"):
            minima, proportions = PUBLISHED[device, kind]
            part = frame[frame["neighbours"] == kind].set_index("within")
            assert set(part["minima"]) == {minima}
            assert list(part["proportion"].loc[[0, 0.01, 0.05, 0.1, 0.15]]) == pytest.approx(proportions, rel=2e-5)


# ---------------------------------------------------------------------------------------------------------- neighbours


@given(st.lists(st.one_of(st.none(), st.integers(1, 50)), min_size=12, max_size=12), st.integers(0, 11))
def test_one_change(values, record):
    params = grid(x=[1, 2, 4, 8], y=["a", "b", "c"])
    frame = analysis.neighbours(records(params, values), record=record)
    mine = params[record]
    near = [k for k, p in enumerate(params) if sum(p[n] != mine[n] for n in p) == 1]
    assert sorted(frame["record"]) == near
    for row in frame.itertuples():
        assert params[row.record][row.parameter] == (int(row.after) if row.parameter == "x" else row.after)
        if values[row.record] is not None and values[record] is not None:
            assert row.gain == pytest.approx(values[record] / values[row.record])
    if values[record] is not None:
        better = [k for k in near if values[k] is not None and values[k] < values[record]]
        assert (frame.attrs["nearest"] is None) == (not better)
        if better:
            assert frame.attrs["nearest"]["record"] in better


def test_the_best_of_a_real_log_is_a_local_optimum(devices):
    frame = analysis.neighbours(devices[0])
    assert frame.attrs["record"] == devices[0].tasks["best_record"][0]
    assert frame.attrs["nearest"] is None
    with pytest.raises(UsageError) as caught:
        analysis.neighbours(devices[0], record=10**6)
    assert caught.value.code == "usage.record"


def test_what_the_space_allows_and_nobody_tried():
    t1 = DATA / "kernel-tuner" / "convolution_milo-T1.json"
    log = wb.logs.open([CONVOLUTION[0], t1])
    assert analysis.untried(log).empty
    assert analysis.coverage(log).attrs["allowed"] == 4362
    some = records(grid(x=[1, 2, 4], y=[1, 2])[:-1], [5.0, 4.0, 3.0, 2.0, 1.0])
    frame = analysis.untried(some)
    assert frame.to_dict("records") == [{"parameter": "y", "before": "1", "after": "2"}]
    cover = analysis.coverage(some)
    assert (cover.attrs["configurations"], cover.attrs["combinations"], cover.attrs["allowed"]) == (5, 6, None)


# ------------------------------------------------------------------------------------------------------------- winners


def test_winners_and_what_they_share():
    params = grid(x=[1, 2, 4, 8], y=range(5))
    some = records(params, [float(10 * p["y"] + p["x"]) + 1 for p in params], task="t")
    frame = analysis.winners(some, n=2)
    assert list(frame["value"]) == [2, 3]
    assert frame["ahead"].iloc[0] == pytest.approx(1.5)
    assert frame["params"].iloc[0] == {"x": 1, "y": 0}
    assert frame["evaluation"].iloc[0] == 1
    first = analysis.traits(some, share=0.2).iloc[0]
    assert (first["parameter"], first["value"], first["share"], first["usual"]) == ("y", "0", 1, 0.2)


def test_predictions_by_generation():
    value = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    some = records([{"x": k} for k in range(6)], value, predicted=[3.0, 2.0, 1.0, 1.0, 2.0, 3.0],
                   generation=[0, 0, 0, 1, 1, 1])  # fmt: skip
    frame = analysis.predictions(some)
    assert list(frame["generation"]) == [0, 1]
    assert list(frame["rank_correlation"]) == pytest.approx([1, -1])
    assert analysis.predictions(records([{"x": 1}], [1.0])).empty
