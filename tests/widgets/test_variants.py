"""The panel of variants in Python: the same tree, the same commands."""

from __future__ import annotations

import pytest
from session.fakes import FakeTuning

from workbench import Target, Task, workloads
from workbench.errors import RunError, ScheduleError, UsageError
from workbench.runtime.results.contest import Contest
from workbench.runtime.results.measurement import Measurement
from workbench.schedule import Hole
from workbench.session.measurement import comparisons as contests
from workbench.session.state.results import Result
from workbench.space.default_schedule import default_schedule
from workbench.widgets import Workbench


def matmul(n=64) -> Task:
    return Task.of_func(workloads.matmul(n, 64, 64), Target.host(threads=1))


@pytest.fixture
def w():
    made = Workbench(matmul(), auto_measure=False)
    made.schedule.split("i", [None, 8])
    made.undo()
    made.schedule.split("j", [None, 16])
    yield made
    made.close()


def test_the_table_and_the_schedules(w):
    found = w.star(1).name(2, "wide").goto(1).variants
    assert list(found) == [0, 1, 2]
    assert found.at == 1
    assert [p.loop for p in found[2].trace] == ["j"]
    found[2].unroll("k")
    assert len(w.variants[2].trace) == 1, "what is given away is a copy"
    frame = found.frame()
    assert list(frame.index) == [0, 1, 2]
    assert frame.loc[2, "name"] == "wide"
    assert bool(frame.loc[1, "star"])
    assert [line.split()[0] for line in repr(found).splitlines()] == ["v0", ">", "v2"]
    html = found._repr_html_()
    assert "wide" in html
    assert "★" in html
    assert "on show" in html
    with pytest.raises(UsageError) as e:
        found[7]
    assert e.value.code == "session.variant"


def test_replay_onto_another_shape_shows_it_as_a_branch(w):
    there = w.replay(2, workloads.matmul(32, 48, 64))
    assert there.ok
    assert "j.0" in repr(w.schedule)
    assert w.task.key == Task.of_func(workloads.matmul(32, 48, 64), w.session.state.target).key
    assert len(w.tasks) == 2, "it is a row of the table from now on"
    row = w.variants.frame().loc[1]
    assert (row.edge, row.text) == ("replay", f"v2 of {w.tasks[0].name}")
    assert "tasks" in w.session.snapshot().slices["meta"]["panels"]
    assert w.session.snapshot().slices["status"]["note"]["level"] == "info"
    w.replay(0, 0)
    assert w.task is w.tasks[0], "a variant without steps only opens the task"


def test_a_step_that_does_not_fit_is_marked_and_can_be_left_out(w):
    w.schedule.split("k", [None, 64])
    w.schedule.unroll("k.0")
    small = workloads.matmul(64, 24, 64)
    there = w.replay(4, small)
    assert [step.ok for step in there.steps] == [False, None, None]
    assert (there.failed_at, there.steps[0].code, there.steps[0].where) == (0, "split.divides", ("j",))
    note = w.session.snapshot().slices["status"]["note"]
    assert (note["code"], note["where"], note["replay"]) == ("split.divides", ["j"], there.to_json())
    assert "step 1 of v4" in note["text"]
    assert not w.schedule.trace
    w.open_task(0)
    skipped = w.replay(4, small, skip=True)
    assert [step.ok for step in skipped.steps] == [False, True, True]
    assert [p.name for p in w.schedule.trace] == ["split", "unroll"]
    assert w.schedule.func == skipped.schedule.func
    assert "1 of the 3 steps" in w.session.snapshot().slices["status"]["note"]["text"]


def test_a_contest_is_waited_for_and_kept(w, monkeypatch):
    asked = []

    def contest(funcs, original, target=None, **_how):
        asked.append((funcs, original))
        return Contest(measurements=tuple(Measurement(status="ok", costs_ms=(ms,) * 9) for ms in (2.0, 1.0)))

    monkeypatch.setattr(contests.schedule_methods, "contest", contest)
    found = w.contest(1, 2)
    assert found.ratio(1) == pytest.approx(0.5)
    funcs, original = asked[0]
    assert funcs == [w.variants[1].func, w.variants[2].func]
    assert original is w.schedule.base
    (info,) = w.session.snapshot().slices["history"]["contests"]
    assert (info["a"], info["b"], info["ratio"], info["state"]) == (1, 2, 0.5, "")
    assert info["confidence"] > 0.99
    assert info["text"] == "v2 is 2.00× as fast (between 2.00 and 2.00) as v1, sure"
    turned = w.contest(2, 1)
    assert turned.why_not == "two comparisons disagree: 2.00× slower, and 2.00× as fast", "measured anew, the other way"


def test_one_verdict_in_header_and_tree(w, monkeypatch):
    """What a contest says goes before the times that each took by itself; these count beyond their spreads."""
    state = w.session.state
    history = lambda: w.session.shown()["history"]  # noqa: E731
    take = lambda ms, spread, node: state.history.results.__setitem__(  # noqa: E731
        state.tree.node(node).key, Result("ok", ms, spread)
    )
    w.goto(2)
    for then, now, told in (
        ((2.0, 0.1), (1.0, 0.1), "2.00× as fast as v0"),
        ((2.0, 0.1), (1.9, 0.1), "cannot tell from v0"),
        ((1.0, None), (1.04, 0.01), "cannot tell from v0"),
        ((1.0, None), (3.0, None), "3.00× slower than v0"),
        ((1.61, 0.43), (0.774, 0.02), "cannot tell from v0"),  # timed while other programs ran, and in a quiet minute
        ((1.61, 0.02), (0.774, 0.43), "cannot tell from v0"),
        ((8.0, 0.43), (0.8, 0.02), "10.0× as fast as v0"),
    ):
        w._ask(lambda then=then, now=now: (take(*then, 0), take(*now, 2)))
        assert w._ask(lambda: history()["change"]) == {
            "text": told,
            "title": f"v0 took {then[0]:.3g} ms; each timed by itself",
        }
    assert "than" not in w._ask(lambda: history()["rows"][2])
    noisy, quiet = (1.0, 9.0) * 4 + (5.0,), (2.5,) * 9
    for costs, told in (((noisy, quiet), "cannot tell from v0"), (((2.0,) * 9, (1.0,) * 9), "2.00× as fast as v0")):
        met = Contest(measurements=tuple(Measurement(status="ok", costs_ms=ms) for ms in costs))
        monkeypatch.setattr(contests.schedule_methods, "contest", lambda *_, met=met, **_how: met)
        w._ask(state.history.contests.clear)
        w.contest(0, 2)
        assert w._ask(lambda: history()["change"])["text"] == told
        assert w._ask(lambda: history()["rows"][2])["than"].startswith(told)
    assert w._ask(lambda: history()["rows"][2])["than"] == "2.00× as fast as v0, sure"
    w.goto(0)
    assert w._ask(lambda: history()["change"]) is None


def test_what_is_known_of_a_pair_can_be_seen_from_both_sides(w, monkeypatch):
    measured = Contest(measurements=tuple(Measurement(status="ok", costs_ms=(ms,) * 9) for ms in (2.0, 1.0)))
    monkeypatch.setattr(contests.schedule_methods, "contest", lambda *_, **_how: measured)
    w.contest(1, 2)
    state = w.session.state
    there, back = (w._ask(lambda a=a, b=b: contests.info(state.history, state.tree, a, b)) for a, b in ((1, 2), (2, 1)))
    assert (there["ratio"], back["ratio"]) == (0.5, 2.0)
    assert there["confidence"] == back["confidence"] > 0.99, "how sure it is that the faster one is faster"
    assert w._ask(lambda: contests.info(state.history, state.tree, 0, 1)) is None


@pytest.mark.parametrize("turn", [False, True])
def test_where_only_large_differences_would_show_nothing_is_called_the_same(w, monkeypatch, turn):
    """Times that jump about say nothing, however unlike their middles are, and whichever of them is the slower."""
    noisy, quiet = (1.0, 9.0) * 4 + (5.0,), (2.5,) * 9
    pair = (quiet, noisy) if turn else (noisy, quiet)
    measured = Contest(measurements=tuple(Measurement(status="ok", costs_ms=ms) for ms in pair))
    monkeypatch.setattr(contests.schedule_methods, "contest", lambda *_, **_how: measured)
    w.contest(1, 2)
    (info,) = w.session.snapshot().slices["history"]["contests"]
    assert 0.9 < info["resolution"] < 1.0
    assert info["ratio"] == pytest.approx(2.0 if turn else 0.5)
    assert info["text"] == (
        "cannot tell v1 from v2: the machine is too busy (only a difference of more than 2.55× would show); "
        "measure again when the machine is quiet"
    )


def test_a_large_difference_is_told_however_noisy_the_machine_is(w, monkeypatch):
    quick, slow = (1.0, 9.0) * 4 + (5.0,), (64.0, 576.0) * 4 + (320.0,)
    slow = (*slow[1:], slow[0])  # what disturbs one does not disturb the other
    measured = Contest(measurements=tuple(Measurement(status="ok", costs_ms=ms) for ms in (quick, slow)))
    monkeypatch.setattr(contests.schedule_methods, "contest", lambda *_, **_how: measured)
    w.contest(1, 2)
    (info,) = w.session.snapshot().slices["history"]["contests"]
    assert info["resolution"] > 1.0, "more than any gain, which is below one"
    assert info["text"].startswith("v1 is ")
    assert info["text"].endswith(" as v2, sure")


@pytest.mark.parametrize(
    ("costs", "text"),
    [
        ((1.0, 1.03), "v1 is 1.030× as fast (between 1.030 and 1.030) as v2, sure"),
        ((1.05, 1.0), "v2 is 1.050× as fast (between 1.050 and 1.050) as v1, sure"),
        ((1.0, 1.0), "v1 and v2 take the same time: only a difference of more than 1.000× would show"),
    ],
)
def test_the_outcome_in_words(w, monkeypatch, costs, text):
    measured = Contest(measurements=tuple(Measurement(status="ok", costs_ms=(ms,) * 9) for ms in costs))
    monkeypatch.setattr(contests.schedule_methods, "contest", lambda *_, **_how: measured)
    w.contest(1, 2)
    assert w.session.snapshot().slices["history"]["contests"][0]["text"].startswith(text)


def test_a_contest_that_fails_says_why(w, monkeypatch):
    bad = Measurement(status="wrong_answer", error="C[0, 0] is 1, the reference says 2")
    result = Contest(measurements=(Measurement(status="ok", costs_ms=(1.0,)), bad))
    monkeypatch.setattr(contests.schedule_methods, "contest", lambda *_, **_how: result)
    with pytest.raises(RunError) as e:
        w.contest(1, 2)
    assert "the reference says 2" in e.value.message
    (info,) = w.session.snapshot().slices["history"]["contests"]
    assert (info["state"], info["ratio"]) == ("failed", None)
    assert info["text"].startswith("not timed: participant 1: wrong_answer")
    with pytest.raises(UsageError):
        w.contest(1, 1)
    w.schedule.split("i", [None, Hole("ti")])
    with pytest.raises(ScheduleError) as open_:
        w.contest(0, 3)
    assert open_.value.code == "schedule.open"


def test_a_real_contest(w):
    found = w.contest(0, 2)
    assert found.rounds >= 4
    assert w.session.snapshot().slices["status"]["busy"] == ""


def test_tuning_from_a_variant_keeps_its_steps(w, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    w.schedule.split("i", [None, Hole("ti")])
    w.goto(1)
    with pytest.raises(UsageError) as e:
        w.tune(variant=1, trials=2)
    assert e.value.code == "usage.no_holes"
    run = w.tune(variant=3, trials=2)
    run.wait(60)
    trial = next(r.trial for r in run.records if r.trace)
    w.session.run("open_trial", trial=trial)
    row = w.variants.frame().iloc[-1]
    assert (row.parent, row.edge, row.by, row.trial) == (3, "fill", "tuner", trial)
    assert row.text.startswith("ti = ")
    assert [p.loop for p in w.schedule.trace] == ["j", "i"]


def test_what_differs_between_two(w):
    found = w.compare(0, 2)
    assert found.changed
    assert not w.compare(1, 1).changed


def test_the_schedule_without_tuning_opens_as_a_branch(w):
    w.open_default()
    there = w.variants.at
    row = w.variants.frame().loc[there]
    assert (row.parent, row.edge, row.text) == (0, "steps", "default schedule")
    assert w.schedule.to_json() == default_schedule(w.task, w.session.state.target).to_json()
    w.goto(2).open_default(0)
    assert w.variants.at == there, "it is opened once"
    run = FakeTuning([w.task])
    run._traces[0][0] = tuple(w.schedule.to_json())  # its first trial
    with_run = Workbench(run.feed(3), auto_measure=False)
    try:
        with_run.open_default()
        row = with_run.variants.frame().loc[with_run.variants.at]
        assert (row.text, row.trial) == ("default schedule", 0)
        assert row.ms == pytest.approx(run.records[0].latency_ms, rel=1e-3)
    finally:
        with_run.close()
        run.cancel()
