"""What takes the time, as a session says it: beside what was measured, with steps that gain."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from session.conftest import Mirror, by_slice
from waiting import until

from workbench import Schedule, Target, workloads
from workbench.advice import memory_limit as memory_limits
from workbench.advice import plan as advice_plan
from workbench.advice import why
from workbench.advice.memory_limit import memory_limit
from workbench.advice.step_legality import verdict
from workbench.analysis.code_figures import CodeFigures
from workbench.runtime.machine.measured_roofline import Roofs
from workbench.session.panels import reasons
from workbench.session.state import followed_plan
from workbench.session.state.results import Result


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


@pytest.mark.parametrize(("share", "wanted"), [(0.5, False), (0.84, True)])
def test_near_what_memory_allows_no_step_is_proposed(session, fake, monkeypatch, share, wanted):
    """A product with 4 MB of weights takes as long as these take from L3, whatever the core does."""
    target = Target("llvm", cpu="x86-64-v3", threads=1, l1_bytes=32 << 10, l2_bytes=512 << 10, l3_bytes=32 << 20)
    known = {level: Roofs(1, 100.0, 50.0, 1 << 20) for level in ("L3", "memory")}
    monkeypatch.setattr(memory_limits, "stored_roofs", lambda target: known)
    s = session(Schedule(workloads.dense(1, 1000, 1024), target))
    s.state.roofs = "stored"
    nbytes = 4 * (1000 * 1024 + 1024 + 2 * 1000)
    fake.result = Result("ok", nbytes / 50e6 / share, 0.001, 1.0)
    s.run("measure")
    until(lambda: s.snapshot().slices["head"]["ms"] is not None)
    reasons, answer = s.snapshot().slices["why"], cures_of(s)
    allowed = "84 % of what L3 allows: 3.92\N{NARROW NO-BREAK SPACE}MB come from there, at 50 GB/s"
    assert (allowed in said(s)) is reasons["text"].endswith("Near what L3 allows: little is left.") is wanted
    assert (reasons["rows"] == []) is (answer["rows"] == []) is wanted


@pytest.mark.parametrize(
    ("constants", "l2", "wanted"), [("near", 8, None), ("shared", 8, "L3"), ("memory", 8, "memory"), ("near", 1, "L3")]
)
def test_what_memory_allows_follows_from_where_constants_are(monkeypatch, constants, l2, wanted):
    target = Target("llvm", cpu="x86-64-v3", threads=1, l1_bytes=32 << 10, l2_bytes=l2 << 20, l3_bytes=32 << 20)
    known = {level: Roofs(1, 100.0, 50.0, 1 << 20) for level in ("L3", "memory")}
    monkeypatch.setattr(memory_limits, "stored_roofs", lambda target: known)
    found = memory_limit(workloads.dense(1, 1000, 1024), target, constants)
    assert (found and found.level) == wanted
    if found is not None:
        assert found.nbytes == 4 * (1000 * 1024 + 1000 + (0 if l2 == 8 else 1024 + 1000))


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
    reasons = {one.code: one.cure for one in why(s.schedule, s.state.target).reasons if one.cure}
    assert first["label"] == str(max(reasons.values(), key=lambda cure: cure.gain))
    assert len(rest) + 1 < len(reasons), "what is the same, or not legal any more, is not offered beside it"
    assert len({one["label"] for one in (first, *rest)}) == len(rest) + 1
    s.run("apply", step=first["step"], then=first["then"])
    for one in rest:
        assert verdict(s.schedule, one["step"])["legal"] or one["or"], one["label"]


def cures_of(s: Any, node: int | None = None) -> dict[str, Any]:
    found: list[Any] = []
    done = threading.Event()
    s.ask("cures", {} if node is None else {"node": node}, lambda message: (found.append(message), done.set()))
    assert done.wait(30)
    answer: dict[str, Any] = found[0]["value"]
    return answer


@pytest.fixture
def anywhere(monkeypatch):
    """What is faked runs on every machine."""
    monkeypatch.setattr(Target, "missing_here", lambda self: ())


def dead_end() -> Schedule:
    target = Target("llvm", cpu="skylake-avx512", threads=1, l1_bytes=48 << 10, l2_bytes=2 << 20)
    return Schedule(workloads.matmul(509, 1021, 37), target).reorder("k", "j").vectorize("j")


def test_where_no_step_gains_a_step_back_and_the_default_schedule_are_offered(session):
    s = session(dead_end())
    answer = cures_of(s)
    assert answer["note"] == "By the estimate no step makes it 5 % faster."
    back, default = answer["rows"]
    assert (back["id"], default["id"]) == ("back", "default")
    assert back["label"].startswith("2 steps taken back: pad i to 510, j to 1,024, tile i, j by ")
    assert default["label"].startswith("default schedule ≈ 2")
    assert "step" not in default
    before = s.snapshot().slices["history"]["at"]
    s.run("apply", step=back["step"], then=back["then"], without=back["without"])
    assert s.schedule.trace[0].name == "cache_read"
    assert len(s.schedule.trace) == 1 + len(back["then"])
    history = s.snapshot().slices["history"]
    row = history["rows"][-1]
    assert (row["id"], row["edge"], row["text"][:22]) == (history["at"], "steps", "cache_read, pad, split")
    s.run("unfold", node=row["id"])
    assert len(s.snapshot().slices["history"]["rows"]) == before + 1 + len(s.schedule.trace)
    s.run("goto", step=before)
    assert [step.name for step in s.schedule.trace] == ["reorder", "vectorize"]


def test_the_default_schedule_is_taken_as_a_variant(session):
    s = session(dead_end())
    [default] = [one for one in cures_of(s)["rows"] if one["id"] == "default"]
    was = s.snapshot().slices["history"]["at"]
    s.run("open_default")
    history = s.snapshot().slices["history"]
    assert next(row for row in history["rows"] if row["id"] == history["at"])["text"] == "default schedule"
    assert default["label"]
    assert cures_of(s, was)["note"], "the variant it came from is still there"


def test_what_was_measured_overrules_the_estimate_of_the_default_schedule(session, fake, anywhere):
    s = session(dead_end())
    fake.result = Result("ok", 0.5, 0.01, 10.0)
    s.run("measure")
    until(lambda: s.snapshot().slices["head"]["ms"] == 0.5)
    node = s.snapshot().slices["history"]["at"]
    s.run("open_default")
    fake.result = Result("ok", 0.2, 0.01, 25.0)
    s.run("measure")
    until(lambda: s.snapshot().slices["head"]["ms"] == 0.2)
    [default] = [one for one in cures_of(s, node)["rows"] if one["id"] == "default"]
    assert default["label"] == "default schedule 2.5×"


def test_the_fastest_that_was_measured_is_offered_before_less(session, fake):
    s = session(Schedule(workloads.matmul(64, 64, 64), Target.host(threads=1)))
    fake.result = Result("ok", 1.0, 0.01, 10.0)
    s.run("measure")
    until(lambda: s.snapshot().slices["head"]["ms"] == 1.0)
    s.schedule.split("j", [None, 16])
    fake.result = Result("ok", 1e-5, 0.01, 10.0)
    s.run("measure")
    until(lambda: s.snapshot().slices["head"]["ms"] == 1e-5)
    s.run("goto", step=0)
    answer = cures_of(s)
    best = answer["rows"][-1]
    assert (best["act"], best["args"], answer["note"][:9]) == ("goto", {"step": 1}, "Something")
    assert best["label"] == "v1, 100000× as fast (each timed by itself)"
    s.run(best["act"], **best["args"])
    assert "best" not in {row["id"] for row in cures_of(s)["rows"]}


def way_of(s: Any, node: int | None = None) -> dict[str, Any]:
    found: list[Any] = []
    done = threading.Event()
    s.ask("way", {} if node is None else {"node": node}, lambda message: (found.append(message), done.set()))
    assert done.wait(30)
    answer: dict[str, Any] = found[0]["value"]
    return answer


def test_how_far_the_best_is_and_the_way_there_by_decisions(session, fake):
    s = session(Schedule(workloads.matmul(64, 64, 64), Target.host(threads=1)))
    for ms, factor in ((0.01, 16), (0.02, 32)):
        s.run("goto", step=0)
        s.schedule.split("j", [None, factor])
        s.schedule.reorder("k", "j.1").vectorize("j.1")
        fake.result = Result("ok", ms, 0.01, 10.0)
        s.run("measure")
        until(lambda ms=ms: s.flush(100) and s.snapshot().slices["head"]["ms"] == ms)
    answer = way_of(s)
    assert answer["text"] == "50 % of the best, made by hand"
    assert answer["differs"] == "tiles of 16 results, not 32"
    [row] = answer["rows"]
    assert row["label"].startswith("split j by 16, not 32")
    best = next(n for n in s.state.tree.nodes.values() if (r := s.state.history.result(n.key)) and r.ms == 0.01)
    s.run("apply", step=row["step"], then=row["then"], without=row["without"])
    assert s.schedule.trace == best.schedule.trace
    assert way_of(s, best.id)["rows"] == [], "it is the best"


def test_the_time_of_a_variant_that_was_let_go_is_not_told_of_another_one(session, fake):
    s = session(Schedule(workloads.matmul(64, 64, 64), Target.host(threads=1)))
    for ms, factor in ((1.0, 0), (1e-5, 16), (1e-3, 8)):
        if factor:
            s.run("goto", step=0)
            s.schedule.split("j", [None, factor])
        fake.result = Result("ok", ms, 0.01, 10.0)
        s.run("measure")
        until(lambda ms=ms: s.flush(100) and s.snapshot().slices["head"]["ms"] == ms)
    s.run("goto", step=0)
    assert cures_of(s)["rows"][-1]["label"] == "v1, 100000× as fast (each timed by itself)"
    s.run("forget", node=1)
    assert cures_of(s)["rows"][-1]["label"] == "v2, 1000× as fast (each timed by itself)"


def test_what_was_measured_as_no_faster_is_not_offered(session, fake, anywhere):
    s = session(dead_end())
    fake.result = Result("ok", 50.0, 0.01, 10.0)
    s.run("measure")
    until(lambda: s.snapshot().slices["head"]["ms"] == 50.0)
    node = s.snapshot().slices["history"]["at"]
    back = next(row for row in cures_of(s, node)["rows"] if row["id"] == "back")
    s.run("apply", step=back["step"], then=back["then"], without=back["without"])
    fake.result = Result("ok", 60.0, 0.01, 10.0)
    s.run("measure")
    until(lambda: s.snapshot().slices["head"]["ms"] == 60.0)
    assert not [row for row in cures_of(s, node)["rows"] if row["id"] == "back"]


def test_where_all_that_is_offered_was_measured_as_no_faster_the_note_says_so(session, fake):
    s = session(Schedule(workloads.matmul(64, 64, 64), Target.host(threads=1)))
    fake.result = Result("ok", 1.0, 0.01, 10.0)
    s.run("measure")
    until(lambda: s.snapshot().slices["head"]["ms"] == 1.0)
    fake.result, node = Result("ok", 2.0, 0.01, 5.0), s.snapshot().slices["history"]["at"]
    assert "note" not in cures_of(s, node)
    while "note" not in (answer := cures_of(s, node)):
        s.run("goto", step=node)
        s.run("apply", step=answer["rows"][0]["step"], then=answer["rows"][0]["then"])
        s.run("measure")
        until(lambda: s.snapshot().slices["head"]["ms"] == 2.0)
    assert answer["note"].startswith("What the estimate offers was measured here and is no faster")


def test_gains_elsewhere_count_from_the_measured_time(session, fake, anywhere):
    s = session(dead_end())
    assert {"back", "default"} == {row["id"] for row in cures_of(s)["rows"]}
    fake.result = Result("ok", 1e-4, 0.01, 10.0)
    s.run("measure")
    until(lambda: "too slow" in s.snapshot().slices["why"]["measured"])
    assert cures_of(s)["rows"] == []


def test_nobody_is_left_without_a_word(session):
    s = session(dead_end())
    s.run("open_default")
    answer = cures_of(s)
    assert answer["rows"] or answer["note"] == (
        "By the estimate no step makes it 5 % faster; this is the default schedule."
    )


def test_a_tile_is_taken_and_undone_as_one(session):
    s = session(Schedule(workloads.matmul(509, 1021, 64, bias=True, relu=True), Target.host(threads=1)))
    seen = Mirror(s)
    for _ in range(4):
        answer = cures_of(s)
        if not answer["rows"] or answer["rows"][0]["id"] in ("back", "default"):
            break
        first = answer["rows"][0]
        node, trace = s.snapshot().slices["history"]["at"], s.schedule.trace
        count, size = len(seen.messages), sum(seen.sizes)
        s.run("apply", step=first["step"], then=first["then"])
        assert s.flush(100)
        assert len(s.schedule.trace) == len(trace) + 1 + len(first["then"])
        assert sum(seen.sizes) - size <= 8_192, (first["label"], by_slice(seen.messages[count:]))
        if len(first["then"]) > 2:
            s.run("undo")
            assert s.schedule.trace == trace, "an offer of many steps is undone as one"
        s.run("goto", step=node)
        s.run("apply", step=first["step"], then=first["then"])


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


def test_a_whole_plan_comes_in_rows_each_of_which_takes_those_before_it(session):
    s = session(Schedule(workloads.matmul(128, 128, 128), Target("llvm", cpu="x86-64-v3", threads=2)))
    found: list[Any] = []
    done = threading.Event()
    s.ask("plan", {}, lambda message: (found.append(message), done.set()))
    assert done.wait(20)
    told = found[0]["value"]
    assert told["text"].startswith("Plan: ")
    counts = [1 + len(row["then"]) for row in told["rows"]]
    assert counts == sorted(counts)
    last = told["rows"][-1]
    s.run("apply", step=last["step"], then=last["then"])
    assert len(s.schedule.trace) == counts[-1]
    assert str(advice_plan(s.schedule, s.state.target)) == "By the estimate nothing makes it 5 % faster."


def test_while_a_plan_is_followed_what_is_left_of_it_is_told_without_another_search(session, monkeypatch):
    s = session(Schedule(workloads.matmul(128, 128, 128), Target("llvm", cpu="x86-64-v3", threads=2)))
    searched: list[Any] = []
    monkeypatch.setattr(
        followed_plan, "plan", lambda now, *rest, **more: (searched.append(now), advice_plan(now, *rest, **more))[1]
    )

    def asked() -> dict[str, Any]:
        found: list[Any] = []
        done = threading.Event()
        s.ask("plan", {}, lambda message: (found.append(message), done.set()))
        assert done.wait(20)
        return dict(found[0]["value"])

    told = asked()
    first, *rest = told["rows"]
    assert rest, "a plan of one row has nothing left"
    s.run("apply", step=first["step"], then=first["then"])
    left = asked()
    assert [row["label"] for row in left["rows"]] == [row["label"] for row in rest]
    last = left["rows"][-1]
    s.run("apply", step=last["step"], then=last["then"])
    assert asked()["rows"] == []
    s.run("undo", n=1 + len(last["then"]))
    assert asked()["rows"] == left["rows"], "back on the way"
    assert len(searched) == 1
    s.run("apply", step={"primitive": "parallel", "args": {"loops": [s.schedule.loops[0].name]}})
    asked()
    assert len(searched) == 2, "the schedule has left the plan"


def test_spills_of_the_code_are_told_with_what_they_want(session, monkeypatch):
    """The estimate does not see what the compiler puts on the stack."""
    target = Target("llvm", cpu="haswell", threads=1)
    s = session(Schedule(workloads.matmul(64, 64, 64), target))

    def asked(registers: int, *spilled: tuple[str, int]) -> str:
        found: list[Any] = []
        done = threading.Event()
        monkeypatch.setattr(reasons, "code_figures", lambda *_: CodeFigures(1, 1, registers, spilled))
        s.ask("spills", {}, lambda message: (found.append(message), done.set()))
        assert done.wait(30)
        return str(found[0]["value"]["text"])

    assert asked(16, ("k", 22)) == "22 spills in an iteration of k: the tile needs more than 16 registers"
    assert asked(9, ("k", 3), ("i", 1)) == "3 spills in an iteration of k, 1 of i"
    assert asked(9, ("", 2)) == "2 spills in the machine code, which has no loop"
    assert asked(16) == ""
