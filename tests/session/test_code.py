"""The questions about code: pages of listings, of any variant."""

from __future__ import annotations

import threading

import pytest
from session.conftest import matmul, split
from waiting import until

from workbench.analysis import estimate, listing
from workbench.runtime.results.contest import Contest
from workbench.runtime.results.measurement import Measurement
from workbench.session.measurement import comparisons as contests
from workbench.session.state.results import Result


@pytest.fixture
def ask(session):
    """Opens a session; returns it with a function that asks it and waits for the value."""
    opened = session(matmul(), auto_measure=False)

    def one(q, **args):
        came, answers = threading.Event(), []
        opened.ask(q, args, lambda message: (answers.append(message), came.set()))
        assert came.wait(20)
        return answers[0]["value"] if answers[0]["ok"] else answers[0]["error"]

    return opened, one


def test_a_listing_of_the_schedule_on_show(ask):
    session, one = ask
    page = one("code", kind="nest")
    found = listing(session.schedule, "nest")
    assert page["lines"] == [line.text for line in found]
    assert (page["node"], page["total"], page["from"], page["cut"]) == (0, len(found), 0, "")
    assert [(first, page["rows"][row] if row >= 0 else "") for first, row in page["runs"]] == list(found.runs)


def test_pages_join_to_the_whole(ask):
    _, one = ask
    whole = one("code", kind="nest")
    pages = [one("code", kind="nest", **{"from": k}, count=3) for k in range(0, whole["total"], 3)]
    assert [line for page in pages for line in page["lines"]] == whole["lines"]
    assert pages[0]["runs"] == whole["runs"]
    assert pages[1]["runs"] == []


def test_every_variant_can_be_listed(ask):
    session, one = ask
    before = one("code", kind="nest")["lines"]
    session.run("apply", step=split("k", None, 8))
    assert one("code", kind="nest")["lines"] != before
    assert one("code", kind="nest", node=0)["lines"] == before
    session.run("undo")
    assert "k.1" in "".join(one("code", kind="nest", node=1)["lines"])


def test_counters_of_the_variant_on_show_and_of_another_one(ask):
    session, one = ask
    session.run("apply", step=split("k", None, 8))
    found = one("counters")
    assert (found["node"], one("counters", node=0)["node"]) == (1, 0)
    assert {row["name"] for row in found["rows"]} >= {"instructions", "L1 load misses", "page faults"}
    assert all(row["counted"] is not None or row["why_not"] for row in found["rows"])
    session.run("apply", step={"primitive": "split", "args": {"loop": "i", "factors": [None, {"hole": "n"}]}})
    assert one("counters")["code"] == "schedule.open"


@pytest.mark.parametrize(
    ("args", "code"),
    [({}, "session.arguments"), ({"kind": "fortran"}, "code.kind"), ({"kind": "nest", "node": 9}, "session.variant")],
)
def test_what_cannot_be_listed(ask, args, code):
    _, one = ask
    assert one("code", **args)["code"] == code


def test_what_differs_between_two_variants(ask):
    session, one = ask
    session.run("apply", step=split("k", None, 8))
    session.run("apply", step={"primitive": "parallel", "args": {"loops": ["i"]}})
    found = one("diff", a=1, b=2, kind="nest")
    assert [(row["mark"], row.get("row")) for row in found["rows"]] == [(" ", None), ("~", "i"), (" ", None)]
    before, row, after = found["rows"]
    assert (before["skip"], after["skip"]) == (row["left"][0], found["folded"] - row["left"][0])
    assert row["left"][1].strip() == "for i in 64:"
    assert row["right"][1].strip() == "parallel i in 64:"
    assert (found["a"], found["b"], found["changed"], found["cut"]) == (1, 2, 1, "")
    whole = one("diff", a=1, b=2, kind="nest", all=True)
    assert len(whole["rows"]) == found["folded"] + 1
    assert not any("skip" in row for row in whole["rows"])
    assert whole["folded"] == 0
    assert [row["mark"] for row in one("diff", a=0, b=2, kind="nest", row="k.1")["rows"]][:1] == ["+"]


def test_the_numbers_of_two_variants(ask):
    session, one = ask
    session.state.peak = 100.0
    session.run("apply", step=split("k", None, 8))
    session.state.history.results[session.state.variant(0).key] = Result("ok", 2.0)
    found = one("diff", a=0, b=1, kind="nest")
    guesses = [estimate(session.state.variant(k).schedule, peak_gflops=100.0) for k in (0, 1)]
    assert found["est"] == [pytest.approx(guess.ms, rel=0.01) for guess in guesses]
    assert found["bytes"]["L1"] == [guess.to_json()["bytes"]["L1"] for guess in guesses]
    assert found["ms"] == [2.0, None]
    assert found["contest"] is None


def test_a_contest_is_part_of_the_comparison(ask, monkeypatch):
    session, one = ask
    session.run("apply", step=split("k", None, 8))
    times = [tuple(2.0 + 0.001 * k for k in range(12)), tuple(1.0 + 0.001 * k for k in range(12))]
    played = Contest(measurements=tuple(Measurement(status="ok", costs_ms=t) for t in times))
    monkeypatch.setattr(contests.schedule_methods, "contest", lambda *args, **options: played)
    session.run("contest", a=0, b=1)
    until(lambda: session.snapshot().slices["history"]["contests"][0]["state"] == "")
    met = one("diff", a=0, b=1, kind="nest")["contest"]
    assert met["ratio"] == pytest.approx(0.5, rel=0.01)
    assert met["confidence"] > 0.999
    assert one("diff", a=1, b=0, kind="nest")["contest"]["ratio"] == pytest.approx(2.0, rel=0.01)


def test_open_numbers_have_no_code_to_compare(ask):
    session, one = ask
    session.run("apply", step={"primitive": "split", "args": {"loop": "k", "factors": [None, {"hole": "t"}]}})
    assert one("diff", a=0, b=1, kind="asm")["code"] == "build.holes"
    assert one("diff", a=0, b=1, kind="nest")["changed"] > 0
