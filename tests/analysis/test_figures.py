"""Charts say what the lines of a log say: where the trials went, how good predictions were, how far the roofs are."""

from __future__ import annotations

import dataclasses
import itertools
from dataclasses import replace

import numpy as np
import pytest
from session.conftest import matmul
from session.fakes import FakeTuning

from workbench import Schedule, Target, workloads
from workbench.analysis import (
    Spot,
    best_so_far,
    best_so_far_figure,
    estimate,
    prediction_figure,
    roofline_figure,
    timeline_figure,
    tuning_figure,
    turns,
)
from workbench.analysis.figures import label_placement as room
from workbench.analysis.figures import roofline
from workbench.analysis.figures.best_so_far import thinned
from workbench.analysis.figures.level_roofs import LevelRoof, level_roofs
from workbench.analysis.figures.style import colours, log_ticks
from workbench.analysis.trials.trial_reader import RunHistory, Trial
from workbench.errors import UsageError
from workbench.log import Comparison, Header, Record
from workbench.log.reader import write_log
from workbench.markup import milliseconds
from workbench.runtime.machine import measured_roofline
from workbench.runtime.machine.above_roofline import why_above
from workbench.runtime.machine.measured_roofline import Roofs


@pytest.fixture(scope="module")
def run():
    return FakeTuning([matmul(16 * (k + 1)) for k in range(3)]).feed(400)


def notes(figure):
    return [a.text for a in figure.layout.annotations]


def test_turns_hold_every_trial_and_lead_from_the_first_to_the_best(run):
    found = turns(run)
    assert [t.first for t in found] == [r.round for r in run.rounds]
    assert sum(t.trials for t in found) == 400
    assert sum(t.failed for t in found) == sum(not r.ok for r in run.records)
    for task in run.tasks:
        mine = [t for t in found if t.key == task.key]
        assert all(a.after_ms == b.before_ms for a, b in itertools.pairwise(mine))
        assert mine[-1].after_ms == best_so_far(run, task.key).best_ms[-1]
        assert all(t.line.reason == r.reason for t in mine for r in run.rounds if r.round == t.first)


@pytest.mark.parametrize("most", [3, 7, 20])
def test_rounds_that_are_taken_together_lose_nothing(run, most):
    every, few = turns(run), turns(run, most=most)
    assert len(few) <= max(most, 3)
    for name in ("trials", "failed"):
        assert sum(getattr(t, name) for t in few) == sum(getattr(t, name) for t in every)
    for key in {t.key for t in every}:
        a, b = ([t for t in some if t.key == key] for some in (every, few))
        assert (a[0].before_ms, a[-1].after_ms) == (b[0].before_ms, b[-1].after_ms)


def test_the_timeline_has_a_cell_for_every_turn_with_reason_and_terms(run):
    cells, newest = timeline_figure(run).data
    assert len(cells.x) == len(run.rounds)
    assert list(cells.x) == [r.round for r in run.rounds]
    assert all(r.reason in text and "expected" in text for r, text in zip(run.rounds, cells.hovertext, strict=True))
    assert list(newest.x) == [run.rounds[-1].round]
    trials = {r.trial: r for r in run.records}
    for (trial, task), line in zip(cells.customdata, run.rounds, strict=True):
        assert trials[trial].task_key == run.tasks[task].key == line.task_key
        assert trials[trial].round == line.round


def test_many_tasks_share_the_last_row():
    many = FakeTuning([matmul(8 * (k + 1)) for k in range(20)]).feed(16 * 60)
    figure = timeline_figure(many)
    labels = figure.layout.yaxis.ticktext
    assert len(labels) == 16
    tuned = {r.task_key for r in many.records}
    assert labels[-1] == f"{len(tuned) - 15} smaller tasks"
    assert max(figure.data[0].base) == pytest.approx(14.6)


def test_a_log_gives_the_same_timeline_as_the_run(run, tmp_path):
    path = tmp_path / "x.tunelog.jsonl"
    write_log(path, Header(tasks=tuple((t.key, t.name) for t in run.tasks)), run.records)
    cells = timeline_figure(path).data[0]
    assert list(cells.x) == [r.round for r in run.rounds]
    assert not any("expected" in text for text in cells.hovertext)  # the lines of its rounds are not in it


def test_predictions_are_told_in_the_unit_of_the_measurements(monkeypatch):
    monkeypatch.setattr(Target, "stored_peak", lambda self: 64.0)
    target = Target.host()
    clock = 64.0 / (4 * target.lanes("float32"))
    flops = 10**6
    run = FakeTuning([matmul(16)]).feed(40)
    exact = [
        dataclasses.replace(r, flops=flops, predicted=np.log2(flops / (r.latency_ms * clock * 1e6)) if r.ok else None)
        for r in run.records
    ]
    older, newest, _ = prediction_figure(exact).data
    for points in (older, newest):
        assert np.allclose(points.x, points.y, rtol=1e-4)
    assert len(older.x) + len(newest.x) == sum(r.ok for r in exact)
    assert "<b>rank correlation 1.00</b>" in notes(prediction_figure(exact))
    opposite = [dataclasses.replace(r, predicted=-r.predicted if r.ok else None) for r in exact]
    assert "<b>rank correlation -1.00</b>" in notes(prediction_figure(opposite))
    few = notes(prediction_figure([r for r in exact if r.ok][:7]))
    assert "n = 7: too few for a rank correlation" in few
    assert "<b>rank correlation" not in few


def test_the_rank_correlation_of_a_task_is_that_of_its_rounds(run):
    key, other = run.tasks[0].key, run.tasks[1].key
    mine = [r.round for r in run.rounds if r.task_key == key]
    told = {mine[0]: 0.3, mine[-2]: 0.61, max(r.round for r in run.rounds if r.task_key == other): 0.9}
    rounds = [dataclasses.replace(r, spearman=told.get(r.round)) for r in run.rounds]
    lines = [*run.records, *rounds]
    assert "<b>rank correlation 0.61</b>" in notes(prediction_figure(lines, key))
    assert "<b>rank correlation 0.90</b>" not in notes(prediction_figure(lines))  # of all tasks no round tells


def test_without_a_clock_predictions_are_ranks(run, monkeypatch):
    monkeypatch.setattr(Target, "stored_peak", lambda self: None)
    figure = prediction_figure(run, run.tasks[0])
    x = np.concatenate([t.x for t in figure.data[:2]])
    assert figure.layout.xaxis.title.text == "predicted rank"
    assert x.min() == 1.0
    assert x.max() == len(x)


def test_a_thinned_curve_keeps_what_was_ever_the_best_and_the_newest():
    run = FakeTuning([matmul(16)]).feed(3000)
    curve = best_so_far(run, run.tasks[0].key)
    kept = thinned(curve, 800)
    assert len(kept) <= 800
    assert set(np.flatnonzero(np.diff(curve.best_ms, prepend=np.inf))) <= set(kept)
    assert set(range(len(curve.trials) - 500, len(curve.trials))) <= set(kept)
    assert len(thinned(curve, None)) == len(curve.trials)


def test_a_point_on_the_line_is_not_hidden_by_it(run):
    assert best_so_far_figure(run, run.tasks[0]).data[1].hoverinfo == "skip"
    assert best_so_far_figure(run).data[1].hoverinfo is None, "a sum has no points of its own"


def test_lines_by_hand_and_of_the_peak_are_named(run):
    figure = best_so_far_figure(run, run.tasks[0], by_hand=("v5", 0.02), peak_ms=0.001)
    by_hand, peak, _ = figure.data[4:]
    assert (list(by_hand.y), by_hand.text[0]) == ([0.02, 0.02], "v5, by hand 0.02")
    assert (list(peak.y), peak.text[0].strip()) == ([0.001, 0.001], "machine peak 0.001")
    assert figure.layout.yaxis.autorangeoptions.include[0] < 0.001, "its name has room above the axis"


def test_the_whole_figure_has_the_traces_of_its_parts_in_both_forms(run):
    task = run.tasks[0]
    parts = [best_so_far_figure(run, task), timeline_figure(run), prediction_figure(run, task), best_so_far_figure(run)]
    names = [t.name for part in parts for t in part.data]
    tall, wide = tuning_figure(run, task), tuning_figure(run, task, wide=True)
    assert [t.name for t in tall.data] == [t.name for t in wide.data] == names
    assert [t.name for t in tuning_figure([]).data] == names[: -len(parts[0].data)], "one task is not drawn twice"
    assert len({t.xaxis for t in tall.data}) == 4
    assert tall.layout.xaxis.domain[0] == 0.0  # only the plot with the names of tasks has room for them
    assert tall.layout.margin.l < 60
    free = wide.layout.xaxis.domain[0]  # the upper left is left to the table of tasks
    assert free > 0.6
    assert wide.layout.yaxis.domain[0] > wide.layout.yaxis3.domain[1]


def test_the_measured_network_stands_beside_the_sum_of_its_kernels(tmp_path):
    run = FakeTuning([matmul(16), matmul(32)]).feed(60)
    first = run.time_network(0.5, clean=False)
    last = run.feed(40).time_network(0.25)
    log = tmp_path / "a.jsonl"
    write_log(log, Header(tasks=tuple((t.key, t.name) for t in run.tasks)), run.lines)
    for source in (run, log, run.lines):
        figure = tuning_figure(source, run.tasks[0])
        alone, whole = (t for t in figure.data if t.name == "end to end")
        assert len(alone.x or ()) == 0, "a task's own curve has none"
        assert (list(whole.x), list(whole.y)) == ([60, 100], [0.5, 0.25])
        assert list(whole.marker.symbol) == ["diamond-open", "diamond"]
        for line, told in zip((first, last), whole.text, strict=True):
            assert f"after {line.trials} trials, {line.elapsed_s:.0f} s: kernels became faster" in told
            assert f"untuned {line.untuned_ms:.4g} ms; sum of kernels {line.sum_of_kernels_ms:.4g} ms" in told
        legend = next(text for text in notes(figure) if "◆ end to end" in text)
        assert f"{milliseconds(0.25)}</b>" in legend
        assert f"━ sum of kernels <b>{milliseconds(best_so_far(source).best_ms[-1])}" in legend
    assert not any("end to end" in text for text in notes(tuning_figure(run.records, run.tasks[0])))
    part = best_so_far(run, tasks=[run.tasks[0].key])
    assert part.network == (), "what the network takes is no time of some of its tasks"


def test_names_of_lines_near_each_other_stand_on_their_outer_sides(run):
    for by_hand, sides in ((0.52, ("bottom right", "top right")), (0.58, ("top right", "bottom right"))):
        figure = best_so_far_figure(run, run.tasks[0], by_hand=("v9", by_hand), peak_ms=0.55)
        assert tuple(figure.data[k].textposition for k in (4, 5)) == sides


def test_the_colours_of_rounds_are_explained_in_plain_words(run):
    told = [note.text for note in timeline_figure(run).layout.annotations]
    assert "darker: up to 30 % faster" in told


def test_the_axis_ends_above_the_candidates_of_the_tuner_and_says_what_is_beyond():
    """A nest as it was written takes 300 times as long: beside it all candidates would lie on one line."""
    lines = [
        Record(task_key="k", task="t", trial=n, status="ok", target="", latency_ms=ms, origin=origin)
        for n, (ms, origin) in enumerate([(180.0, "manual"), (0.6, "default"), (0.7, "evolve"), (0.5, "evolve")])
    ]
    figure = best_so_far_figure(lines, "k")
    assert 0.7 * 0.9 < figure.layout.yaxis.autorangeoptions.clipmax < 1.0
    assert [note.text for note in figure.layout.annotations if "above" in note.text] == [
        "↑ 2 trials above, up to 180\u202fms"
    ]
    figure = best_so_far_figure(lines[1:], "k")
    assert figure.layout.yaxis.autorangeoptions.clipmax is None
    assert not [note.text for note in figure.layout.annotations if "above" in note.text]


def test_an_axis_of_a_narrow_range_has_numbers():
    for low, high in ((0.107, 0.125), (1.0, 1.3), (0.9, 3.1), (0.01, 40.0), (0.5, 0.5), (0.0112, 0.0118), (0.5, 1.1)):
        ticks = log_ticks(low, high)
        assert low == high or sum(low <= value <= high for value in ticks["tickvals"]) >= 2, (low, high)
        assert 1 <= sum(low / 1.05 <= value <= high * 1.05 for value in ticks["tickvals"]) <= 12
        assert len(ticks["tickvals"]) == len(set(ticks["ticktext"]))


def test_schedules_stand_under_the_roofs_that_were_measured(monkeypatch):
    monkeypatch.setattr(Target, "stored_peak", lambda self: 100.0)
    monkeypatch.setattr(roofline, "all_threads", lambda target, product: (200.0, True))
    target = Target.host(threads=2)
    monkeypatch.setattr(roofline, "stored_roofs", lambda target: {"L2": Roofs(2, 200.0, 50.0, 1 << 20)})
    first, second = Schedule(workloads.matmul(32, 32, 32), target), Spot("v7", 2.0, 80.0, True, "tuner", False)
    figure = roofline_figure([second, first], target)
    by_name = {t.name: t for t in figure.data}
    assert list(by_name["arithmetic"].y) == [200.0, 200.0]
    assert by_name["arithmetic"].x[0] == 200.0 / 50.0  # the ridge
    assert [x * 50.0 for x in by_name["L2"].x] == list(by_name["L2"].y)
    assert len(by_name["L3"].x or ()) == 0
    assert list(by_name["by the tuner"].text) == ["v7"]
    guess = estimate(first, target)
    assert list(by_name["current"].x) == [guess.intensity]
    assert list(by_name["current"].y) == [guess.gflops]
    assert by_name["current"].text[0].startswith("≈")


@pytest.mark.parametrize("at", [(0.05, 1.0), (0.57, 6.7), (1.1, 6.7), (2.0, 30.0)])
def test_names_of_roofs_lie_on_no_schedule(monkeypatch, at):
    monkeypatch.setattr(roofline, "all_threads", lambda target, product: (240.0, True))
    roofs = {"L2": Roofs(1, 240.0, 190.0, 1 << 20), "L3": Roofs(1, 240.0, 30.0, 1 << 24)}
    monkeypatch.setattr(roofline, "stored_roofs", lambda target: roofs)
    others = [Spot("v0", 0.03, 1.1), Spot("v2", 3.0, 140.0)]
    figure = roofline_figure([*others, Spot("v1", *at, current=True)], Target.host(threads=1))
    low = np.array([figure.layout[f"{axis}axis"].range[0] for axis in "xy"])
    size = np.array([figure.layout[f"{axis}axis"].range[1] for axis in "xy"]) - low
    names = [n for n in figure.layout.annotations if "GB/s" in n.text]
    assert [n.text for n in names] == ["L2 190 GB/s", "L3 30 GB/s"]
    for name, level in zip(names, ("L2", "L3"), strict=True):
        assert 10**name.y == pytest.approx(roofs[level].gbytes * 10**name.x), "each stands at its own line"
        corner, point = (((np.array(p) - low) / size) * room.PLOT for p in ((name.x, name.y), np.log10(at)))
        across, down = (point - corner) * ([1, -1] if name.xanchor == "left" else [-1, 1])
        assert not (0 <= across <= len(name.text) * room.LETTER and 0 <= down <= room.LINE)


def test_names_of_roofs_that_are_close_lie_on_no_other_one(monkeypatch):
    monkeypatch.setattr(roofline, "all_threads", lambda target, product: (207.0, True))
    roofs = {name: Roofs(2, 207.0, rate, 1 << 20) for name, rate in (("L2", 162.0), ("L3", 141.0), ("memory", 130.0))}
    monkeypatch.setattr(roofline, "stored_roofs", lambda target: roofs)
    figure = roofline_figure([Spot("v1", 2.0, 30.0, current=True)], Target.host(threads=2))
    names = [n for n in figure.layout.annotations if "GB/s" in n.text]
    low, high = (np.array([figure.layout[f"{axis}axis"].range[k] for axis in "xy"]) for k in (0, 1))
    boxes = []
    for n in names:
        x, y = (np.array([n.x, n.y]) - low) / (high - low) * room.PLOT
        wide, tall = len(n.text) * room.LETTER, room.LINE
        boxes.append((x, y - tall, x + wide, y) if n.xanchor == "left" else (x - wide, y, x, y + tall))
    for k, a in enumerate(boxes):
        assert not any(a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3] for b in boxes[:k])


def test_an_algorithm_with_fewer_products_has_a_peak_of_its_own(monkeypatch):
    monkeypatch.setattr(roofline, "all_threads", lambda target, product: (200.0, True))
    monkeypatch.setattr(roofline, "stored_roofs", lambda target: {"L2": Roofs(2, 200.0, 50.0, 1 << 20)})
    monkeypatch.setattr(Target, "stored_peak", lambda self: 100.0)
    target = Target.host(threads=2)
    direct = Schedule(workloads.conv2d_nhwc(28, 28, 64, 64), target)
    winograd = direct.copy()
    winograd.winograd("conv", 4)
    for schedule, fewer in ((direct, 1.0), (winograd, 4.0)):
        figure = roofline_figure([schedule], target)
        arithmetic = next(t for t in figure.data if t.name == "arithmetic")
        assert {y for y in arithmetic.y if y is not None} == {200.0, 200.0 * fewer}
        assert any("Winograd" in n.text for n in figure.layout.annotations) is (fewer > 1.0)


def test_names_of_schedules_side_by_side_stand_apart(monkeypatch):
    monkeypatch.setattr(Target, "stored_peak", lambda self: 100.0)
    close = [Spot("v8", 20.0, 50.0, True), Spot("v9", 20.2, 51.0, True, current=True), Spot("v1", 2.0, 5.0, True)]
    places = roofline._places(close, ((0.0, 2.0), (0.0, 3.0)))
    assert places[id(close[0])] != places[id(close[1])] == places[id(close[2])]


def test_the_name_of_a_schedule_keeps_off_that_of_a_level_of_memory():
    levels = (LevelRoof("L1", 1, 2.0, None), LevelRoof("memory", 1, 10.0, None))
    now = Spot("v1", 2.0, 10.0, True, current=True, levels=levels)
    near = Spot("v2", 10**0.872, 10**0.881, True)  # left of it below the mark, where "memory" stands
    ranges = ((0.0, 2.0), (0.0, 2.0))
    assert roofline._places([replace(now, levels=()), near], ranges)[id(near)] == "middle right"
    assert roofline._places([now, near], ranges)[id(near)] != "middle right"


def test_names_of_schedules_lie_on_no_point_and_on_no_other_name():
    rng = np.random.default_rng(0)
    at = 10 ** rng.uniform(0.2, 1.8, (90, 2))
    spots = [Spot(f"v{k}", *at[k], by="hand", node=k, current=k == 29) for k in range(30)]
    spots += [Spot("", *at[k], True, "trial", False, node=k) for k in range(30, 90)]
    ranges = ((0.0, 2.0), (0.0, 2.0))
    places = roofline._places(spots, ranges)
    assert id(spots[29]) in places
    assert len(places) > 15
    assert all(s.by != "trial" for s in spots if id(s) in places)
    pixels = (np.log10(at) / 2.0 * [1, -1] + [0, 1]) * room.PLOT
    boxes = []
    for k, spot in enumerate(spots):
        if id(spot) in places:
            half = np.array([len(f"≈ {spot.name}") * room.LETTER, room.LINE]) / 2
            middle = pixels[k] + np.array(room.PLACES[places[id(spot)]]) * (half + room.REACH)
            boxes.append((middle - half, middle + half))
    for n, (low, high) in enumerate(boxes):
        assert not ((pixels > low) & (pixels < high)).all(axis=1).any()
        assert not any(((low < b) & (a < high)).all() for a, b in boxes[n + 1 :])


def test_trials_stand_in_the_roofline_as_points_that_a_click_opens(monkeypatch):
    monkeypatch.setattr(Target, "stored_peak", lambda self: 100.0)
    spots = [Spot("v0", 4.0, 8.0, node=0, current=True), Spot("", 5.0, 60.0, True, "trial", False, node=17)]
    figure = roofline_figure(spots, Target.host())
    by_name = {t.name: t for t in figure.data}
    dots = by_name["trials"]
    assert (list(dots.x), list(dots.y), list(dots.customdata), dots.meta) == ([5.0], [60.0], [17], "trial")
    assert dots.mode == "markers"
    assert list(by_name["path"].x) == [4.0]
    assert any(text.startswith("dots: 1 trial ·") for text in notes(figure))


def test_what_stands_above_the_roofs_says_why(monkeypatch):
    monkeypatch.setattr(Target, "stored_peak", lambda self: 100.0)
    monkeypatch.setattr(roofline, "stored_roofs", lambda target: {"L2": Roofs(1, 100.0, 50.0, 1 << 20)})
    fewer = why_above(1.8, 4, ["float32"], 1)
    spots = [Spot("v1", 4.0, 180.0, True, above=fewer), Spot("v2", 0.5, 60.0, True), Spot("v3", 4.0, 90.0, True)]
    figure = roofline_figure(spots, Target.host(threads=1))
    fewer, bytes_, fine = next(t for t in figure.data if t.name == "by hand").hovertext
    assert "above the peak: Winograd's algorithm (tiles of 4×4) does 4.00× fewer" in fewer
    assert "bytes are an estimate" in bytes_
    assert "above" not in fine
    assert "90 GFLOP/s, measured" in fine
    assert "Above the peak" in notes(figure)[0]


def test_a_time_that_did_not_hold_is_corrected_and_the_figure_says_why():
    def one(n, ms, batch):
        return Record(
            task_key="a", task="a", trial=n, status="ok", target="llvm", latency_ms=ms, round=batch, key=f"k{n}"
        )

    won = Comparison(task_key="a", task="a", trials=(1, 2), latency_ms=(0.6, 0.5), winner=2, timestamp=1.0)
    trials = [one(0, 0.5, 0), one(1, 0.42, 0), one(2, 0.45, 1), won]
    assert list(best_so_far(trials, "a").best_ms) == [0.5, 0.42, 0.5]
    figure = best_so_far_figure(trials, "a")
    measured, line, *_ = figure.data
    assert list(measured.y) == [0.5, 0.6, 0.5]  # none lies below the line
    assert list(line.y) == [0.5, 0.42, 0.5, 0.5]
    why = "measured again: 0.5 ms, the first number of trial 1 was lucky (0.42 ms)"
    assert (list(line.text), list(line.hoverinfo)) == (["", "", why], ["skip", "skip", "text"])
    assert (figure.layout.annotations[0].text, figure.layout.annotations[0].hovertext) == (
        "<b>0.500\u202fms</b> · corrected", why,
    )  # fmt: skip
    cells = timeline_figure(trials).data[0].hovertext
    assert "16 % faster, 0.42 ms" in cells[0]
    assert why in cells[1]


def test_a_roof_that_is_an_estimate_is_dashed_and_says_so(monkeypatch):
    """One core's peak times the threads counts two threads of one core twice."""
    target = Target.host(threads=2)
    monkeypatch.setattr(Target, "stored_peak", lambda self: 100.0)
    monkeypatch.setattr(roofline, "working_sets", lambda target: {"L2": 1 << 20, "L3": 1 << 24})
    monkeypatch.setattr(roofline, "stored_roofs", lambda target: {"L2": Roofs(2, 120.0, 50.0, 1 << 20)})
    spots = [Spot("v0", 4.0, 8.0, node=0, current=True)]
    for kept, text, dash in (
        (None, "≈ 200 GFLOP/s, one core's times the threads", "dash"),
        (120.0, "120 GFLOP/s", "solid"),
    ):
        found = None if kept is None else Roofs(2, kept, 50.0, 1 << 20)
        monkeypatch.setattr(measured_roofline, "stored", lambda *_, found=found: found)
        figure = roofline_figure(spots, target)
        assert text in notes(figure)
        assert next(t for t in figure.data if t.name == "arithmetic").line.dash == dash
        assert notes(figure)[0] == "The roof of L3 was not measured"


def test_without_roofs_the_figure_says_so(monkeypatch):
    monkeypatch.setattr(Target, "stored_peak", lambda self: None)
    monkeypatch.setattr(roofline, "stored_roofs", lambda target: {})
    text = notes(roofline_figure([], Target.host()))[0]
    assert text == "The peak was not measured, the roofs of memory were not measured, no variant has a speed yet"


def test_a_theme_has_to_exist(run):
    with pytest.raises(UsageError) as error:
        timeline_figure(run, theme="blue")
    assert error.value.code == "figure.theme"
    light, dark = (timeline_figure(run, theme=theme).layout.font.color for theme in ("light", "dark"))
    assert light != dark


def test_a_timeline_of_very_many_tasks_ends():
    lines = RunHistory(
        [Trial(n, f"k{n % 50}", "t", "ok", 1.0, 1, "", 1, n // 50) for n in range(200)], [f"k{n}" for n in range(50)]
    )
    found = turns(lines, most=20)
    assert [t.trials for t in found] == [4] * 50  # one for each task, since there cannot be fewer
    assert {(t.first, t.last) for t in found} == {(0, 3)}


def test_names_are_no_markup():
    name, c = "<b>&a", colours("light")
    spot = roofline.Spot(name, 1.0, 1.0, measured=True)
    part = roofline.roofline_part([spot], c, Target.host())
    assert ["&lt;b>&amp;a"] in [list(trace["text"]) for trace in part.traces if "text" in trace]
    line = best_so_far_figure(
        [Record(task_key="k", task="t", trial=0, status="ok", target="", latency_ms=2.0)], by_hand=(name, 1.0)
    )
    assert any("&lt;b>&amp;a, by hand 1" in text for trace in line.data for text in trace.text or ())


def test_trials_that_were_disturbed_are_hollow_and_say_so():
    one = {"task_key": "a", "task": "a", "status": "ok", "target": "llvm"}
    records = [
        Record(trial=0, key="p0", latency_ms=0.5, **one),
        Record(trial=1, key="p1", latency_ms=0.4, clean=False, why_not="the thread had 40 % of a core", **one),
        Record(trial=2, key="p2", latency_ms=0.45, **one),
    ]
    dots, best = best_so_far_figure(records, "a").data[:2]
    assert list(dots.marker.symbol) == ["circle", "circle-open", "circle"]
    assert list(dots.text) == ["", " at most: disturbed", ""]
    assert best.y[-1] == 0.4, "0.45 ms is no new best beside what takes 0.4 at most"
    calm = best_so_far_figure(records[:1], "a").data[0]
    assert (calm.marker.symbol, calm.text) == (None, "")


def test_each_level_allows_what_its_own_bytes_and_roof_say(monkeypatch):
    target = Target.host(threads=2)
    roofs = {"L2": Roofs(2, 200.0, 50.0, 1 << 20), "memory": Roofs(2, 200.0, 10.0, 1 << 26)}
    monkeypatch.setattr(roofline, "stored_roofs", lambda target: roofs)
    monkeypatch.setattr(roofline, "all_threads", lambda target, product: (200.0, True))
    monkeypatch.setattr(Target, "stored_peak", lambda self: 100.0)
    schedule = Schedule(workloads.matmul(256, 256, 256), target)
    guess = estimate(schedule, target)
    found = level_roofs(guess, roofs, 200.0)
    fetched = [guess.bytes[name] for name in ("L1", "L2", "L3") if guess.bytes.get(name)]
    assert [one.nbytes for one in found] == fetched
    assert [one.intensity for one in found] == [guess.flops / n for n in fetched]
    assert found[0].level == "L2"
    assert found[0].most == pytest.approx(min(200.0, 50.0 * found[0].intensity))
    assert all(one.most is None for one in found if one.level == "L3")
    levels = next(t for t in roofline_figure([schedule], target).data if t.name == "levels")
    assert not levels.text[0]
    assert ", ".join(filter(None, levels.text)).split(", ") == [one.level for one in found[1:]]
    assert list(levels.x) == [one.intensity for one in found]
    assert set(levels.y) == {guess.gflops}
