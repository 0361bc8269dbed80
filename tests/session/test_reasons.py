"""What takes the time, as a session says it: beside what was measured, with steps that gain."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from session.conftest import until

from workbench import Schedule, Target, workloads
from workbench.analysis import why
from workbench.session import palette as moves
from workbench.session.measuring import Result


def said(s: Any) -> str:
    told: str = s.snapshot().slices["why"]["measured"]
    return told


@pytest.mark.parametrize(
    ("times", "share", "wanted"),
    [
        (1.0, 0.3, ""),
        (1.0, 0.85, "Measured: 85 % of peak."),
        (1.0, 0.9, "Measured: 90 % of peak."),
        (0.4, 0.9, "Measured: 90 % of peak; the estimate is 2.5× too slow here."),
        (2.5, 0.3, "Measured: 30 % of peak; the estimate is 2.5× too fast here."),
    ],
)
def test_what_was_measured_is_said_where_the_estimate_is_off_or_the_peak_is_near(
    session, fake, monkeypatch, times, share, wanted
):
    monkeypatch.setattr(Target, "stored_peak", lambda self: 100.0)
    s = session()
    until(lambda: (s.snapshot().slices["head"]["est"] or {}).get("ms"))
    assert said(s) == ""
    guess = s.snapshot().slices["head"]["est"]["ms"]
    fake.result = Result("ok", guess * times, 0.01, share * 100.0)
    s.run("measure")
    until(lambda: s.snapshot().slices["head"]["ms"] is not None)
    assert said(s) == wanted
    reasons = s.snapshot().slices["why"]
    assert (reasons["rows"] == []) is reasons["text"].endswith("Near the peak: little is left.") is (share == 0.9)


def test_cures_are_worked_out_when_asked_for_and_can_be_applied_as_they_come(session):
    s = session()
    found: list[Any] = []
    done = threading.Event()
    s.ask("cures", {"node": 0}, lambda message: (found.append(message), done.set()))
    assert done.wait(20)
    rows = found[0]["value"]["rows"]
    assert {one["id"] for one in rows} <= {one["id"] for one in s.snapshot().slices["why"]["rows"]}
    best = rows[0]
    before = s.snapshot().slices["head"]["est"]
    s.run("apply", step=best["step"], then=best["then"])
    assert len(s.schedule.trace) == 1 + len(best["then"])
    after = s.snapshot().slices["head"]["est"]
    assert before["ms"] is None or after["ms"] < before["ms"]


def test_the_offer_that_gains_most_comes_first_and_none_that_it_undoes(session):
    s = session(Schedule(workloads.matmul(512, 512, 512), Target("llvm", cpu="x86-64-v3", threads=2)))
    found: list[Any] = []
    done = threading.Event()
    s.ask("cures", {}, lambda message: (found.append(message), done.set()))
    assert done.wait(20)
    first, *rest = found[0]["value"]["rows"]
    reasons = {one.code: one.cure for one in why(s.schedule, s.desk.target).reasons if one.cure}
    assert first["label"] == str(max(reasons.values(), key=lambda cure: cure.gain))
    assert len(rest) + 1 < len(reasons), "what is the same, or not legal any more, is not offered beside it"
    assert len({one["label"] for one in (first, *rest)}) == len(rest) + 1
    s.run("apply", step=first["step"], then=first["then"])
    for one in rest:
        assert moves.verdict(s.schedule, one["step"])["legal"], one["label"]


def test_more_threads_are_offered_instead_where_they_do_not_go_with_the_first_offer(session):
    schedule = Schedule(workloads.matmul(512, 512, 512), Target("llvm", cpu="x86-64-v3", threads=2, l2_bytes=1 << 20))
    schedule.split("j", [None, 64])
    schedule.reorder("k", "j.1").vectorize("j.1")
    s = session(schedule)
    found: list[Any] = []
    done = threading.Event()
    s.ask("cures", {}, lambda message: (found.append(message), done.set()))
    assert done.wait(20)
    first, *rest = found[0]["value"]["rows"]
    assert first["step"]["primitive"] == "split"
    assert "or" not in first
    [threads] = [one for one in rest if one["id"] == "serial"]
    assert threads["or"]
    assert threads["label"].startswith("parallel i ")


def test_a_small_share_of_the_peak_is_not_nothing(session, fake, monkeypatch):
    monkeypatch.setattr(Target, "stored_peak", lambda self: 100.0)
    s = session()
    until(lambda: (s.snapshot().slices["head"]["est"] or {}).get("ms"))
    fake.result = Result("ok", s.snapshot().slices["head"]["est"]["ms"] * 9, 0.01, 0.2)
    s.run("measure")
    until(lambda: said(s).startswith("Measured: 0.2 % of peak"))
