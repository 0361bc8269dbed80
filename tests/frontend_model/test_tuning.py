"""The tuning panel: what it says in every state, which buttons can be pressed and what they send."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from frontend_model import states
from frontend_model.conftest import Json, Panels

GLOSSARY = Path(__file__).parents[2] / "docs" / "glossary.md"
BUTTONS: dict[str, dict[str, bool]] = {
    "none": {"start": True, "adopt": False},
    "idle": {"start": True, "adopt": False},
    "running": {"pause": True, "stop": True, "cancel": True, "add": True, "adopt": True},
    "paused": {"resume": True, "stop": True, "cancel": True, "add": True, "adopt": True},
    "stopping": {"pause": False, "stop": False, "cancel": True, "add": False, "adopt": True},
    "done": {"start": True, "adopt": True},
    "cancelled": {"start": True, "adopt": True},
    "failed": {"start": True, "adopt": True},
}


def button(panels: Panels, action: str) -> Any:
    return panels.page.locator(f"[data-action={action}]")


def buttons(panels: Panels) -> dict[str, bool]:
    found = panels.page.locator("[data-action]:not([data-action=more])").all()
    return {b.get_attribute("data-action"): b.get_attribute("aria-disabled") != "true" for b in found}


@pytest.mark.parametrize("state", BUTTONS)
def test_buttons_follow_the_state_and_send_their_command(panels: Panels, state: str) -> None:
    panels.open("tuning", states.state(tuning=states.tuning(state)))
    assert buttons(panels) == BUTTONS[state]
    for action, enabled in BUTTONS[state].items():
        b = button(panels, action)
        assert b.get_attribute("title")
        if enabled and action not in ("start", "add", "adopt"):
            b.click()
            assert panels.sent[-1] == (action, {})
        elif not enabled:
            assert "Not now" in b.get_attribute("title")
            count = len(panels.sent)
            b.click(force=True)
            assert len(panels.sent) == count


def test_progress_rate_and_time_left(panels: Panels) -> None:
    panels.open("tuning", states.state())
    assert panels.page.locator(".swb-tuning-state").inner_text() == "Running"
    for words in ("1.9 trials/s", "in about 6 min 53 s", "17 failed"):
        assert words in plain(panels)
    bar = panels.page.get_by_role("progressbar")
    assert bar.get_attribute("aria-valuenow") == "61"
    panels.patch({"tuning": {"=": states.tuning(trials=1800, fraction=0.9, eta_s=61.0)}})
    panels.settle()
    assert bar.get_attribute("aria-valuenow") == "90"
    assert "in about 1 min 1 s" in plain(panels)


def test_the_meaning_of_each_button_is_written_out(panels: Panels) -> None:
    panels.open("tuning", states.state())
    text = panels.page.locator(".swb-tuning-message").inner_text()
    assert "starts no new trial" in text
    assert "kills the running trial now" in text
    assert "keeps everything" in text


@pytest.mark.parametrize(
    ("holes", "scope", "amount", "unit", "args"),
    [
        (0, "task", "64", "trials", {"scope": "task", "trials": 64, "seconds": None}),
        (0, "all", "90", "seconds", {"scope": "all", "trials": None, "seconds": 90}),
        (2, "schedule", "32", "trials", {"scope": "schedule", "trials": 32, "seconds": None}),
    ],
)
def test_the_form_starts_a_run(panels: Panels, holes: int, scope: str, amount: str, unit: str, args: Json) -> None:
    state = states.state(tuning=states.tuning("none"))
    state["head"] = {**state["head"], "holes": holes}
    panels.open("tuning", state)
    panels.page.locator(f"input[value={scope}]").check()
    panels.page.get_by_label("Unit of the budget").select_option(unit)
    panels.page.get_by_label("Budget", exact=True).fill(amount)
    panels.page.keyboard.press("Enter")
    assert panels.sent == [("tune", args)]


def test_a_schedule_without_open_numbers_cannot_be_chosen(panels: Panels) -> None:
    panels.open("tuning", states.state(tuning=states.tuning("none")))
    choice = panels.page.locator("input[value=schedule]")
    assert choice.is_disabled()
    assert "No number is left open" in panels.page.locator("label", has=choice).get_attribute("title")


@pytest.mark.parametrize("amount", ["", "0", "-3", "1.5", "2000000"])
def test_a_wrong_budget_is_not_sent(panels: Panels, amount: str) -> None:
    panels.open("tuning", states.state(tuning=states.tuning("none")))
    panels.page.get_by_label("Budget", exact=True).fill(amount)
    button(panels, "start").click(force=True)
    assert panels.sent == []
    assert "whole number" in panels.page.locator(".swb-start").inner_text()


def test_a_schedule_with_open_numbers_is_what_is_tuned_first(panels: Panels) -> None:
    state = states.state(tuning=states.tuning("none"))
    panels.open("tuning", state)
    panels.page.locator("input[value=task]").check()
    panels.patch({"head": {"=": {**state["head"], "step": "v2", "holes": 2}}})
    panels.settle()
    assert panels.page.locator("input[value=schedule]").is_checked()
    panels.page.locator("input[value=task]").check()
    assert "does not go on from your steps" in panels.page.locator(".swb-start").inner_text()


def test_a_run_that_was_stopped_says_so_and_how_far_it_came(panels: Panels) -> None:
    run = {**states.tuning("done"), "trials": 253, "total": 342, "fraction": 0.74, "end": "stopped"}
    panels.open("tuning", states.state(tuning=run))
    assert panels.page.locator(".swb-tuning-state").inner_text() == "Stopped"
    assert panels.page.get_by_role("progressbar").get_attribute("aria-valuenow") == "74"


def test_a_refused_start_is_shown_with_its_hint(panels: Panels) -> None:
    panels.open("tuning", states.state(tuning=states.tuning("none")))
    error = {"code": "log.locked", "message": "Another run writes this log.", "where": [], "hint": "Stop that run."}
    panels.page.evaluate("e => { kernel.refuse.tune = e }", error)
    button(panels, "start").click()
    panels.settle()
    alert = panels.page.get_by_role("alert")
    assert "Another run writes this log." in alert.inner_text()
    assert "Stop that run." in alert.inner_text()
    alert.get_by_role("button", name="Close").click()
    panels.settle()
    assert alert.count() == 0


def test_a_failed_run_says_why(panels: Panels) -> None:
    note = {"level": "error", "text": "…", "code": "log.full", "hint": "Free some space.", "where": []}
    status = {"busy": "", "note": note, "log": ""}
    panels.open("tuning", states.state(tuning=states.tuning("failed"), status=status))
    assert "no space left on the device" in panels.page.locator(".swb-problem").inner_text()
    assert panels.page.get_by_text("Free some space.").count() == 1


def test_the_best_of_the_tuner_is_adopted_and_a_trial_opened_by_its_number(panels: Panels) -> None:
    panels.open("tuning", states.state(tuning=states.tuning("done")))
    button(panels, "adopt").click()
    assert panels.sent == [("adopt", {"task": 3})]
    number = panels.page.locator("[data-swb-trial-number]")
    number.press("Enter")
    assert len(panels.sent) == 1, "no number, no trial"
    number.fill("97")
    number.press("Enter")
    assert panels.sent[1:] == [("open_trial", {"trial": 97})]


def test_the_log_is_named_without_its_folder(panels: Panels) -> None:
    panels.open("tuning", states.state())
    log = panels.page.get_by_title(states.tuning()["log"])
    assert log.inner_text() == "log resnet50.tunelog.jsonl"


def plain(panels: Panels) -> str:
    """What the run says in plain words."""
    return str(panels.page.locator("[data-swb-plain]").inner_text()).replace("\n", " ")


def test_the_end_of_a_run_says_what_it_does(panels: Panels) -> None:
    panels.open("tuning", states.steered())
    assert "1\u202f216 of 2\u202f000 trials" in plain(panels)
    panels.patch({"tuning": {"=": states.tuning(trials=2000, fraction=1.0, eta_s=0.0)}})
    panels.settle()
    assert "comparing the fastest of each task" in plain(panels)
    assert "in about" not in plain(panels)
    panels.patch({"tuning": {"=": states.tuning("done", trials=2001)}})
    panels.settle()
    assert "2\u202f001 trials" in plain(panels)
    assert "of 2" not in plain(panels), "never more than there should be"
    assert "Use the best" in panels.page.locator(".swb-tuning-message").inner_text()


def test_a_beginner_sees_four_lines_and_the_rest_behind_more(panels: Panels) -> None:
    """The words are explained where they are first met, with the glossary's own meaning; what was chosen stays."""
    page = panels.page
    panels.open("tuning", states.steered())
    page.locator("[data-action=more]").click()
    lines = page.locator("[data-swb-plain] dt").all_inner_texts()
    assert lines == ["Now", "How far", "Best so far", "Ends"]
    assert "each is compiled, checked and timed" in plain(panels)
    assert "as fast as without tuning" in plain(panels)
    assert "sum of 34 kernels" in plain(panels)
    assert "trials/s" not in plain(panels)
    assert page.locator(".swb-tuning-more, [data-swb-order], [data-action=add]").count() == 0
    titles = page.locator("[data-swb-plain] abbr").evaluate_all("all => all.map(e => e.title)")
    words = dict(one.split(": ", 1) for one in titles if ": " in one)
    rows = re.findall(r"^\| \[?([\w ]+)\S* \| ([^|]+?) \|", GLOSSARY.read_text(encoding="utf-8"), re.M)
    known = {word: meaning for word, meaning in rows if word in words}
    assert {"Schedule", "Trial"} <= known.keys()
    assert all(words[word] == meaning for word, meaning in known.items())
    assert page.evaluate("localStorage['schedule-workbench:more']") == "0"
    page.locator("[data-action=more]").focus()
    page.keyboard.press("Enter")
    assert page.locator("[data-swb-order]").count() > 0
    assert page.evaluate("localStorage['schedule-workbench:more']") == "1"


@pytest.mark.parametrize(
    ("state", "says"),
    [
        ("none", "Nothing. Start lets the tuner try schedules"),
        ("paused", "Nothing: it is on hold"),
        ("stopping", "finishes"),
    ],
)
def test_what_it_does_now_is_said_in_every_state(panels: Panels, state: str, says: str) -> None:
    panels.open("tuning", states.state(tuning=states.tuning(state)))
    assert says in plain(panels)


def test_the_form_says_when_the_trials_do_not_reach_all_tasks(panels: Panels) -> None:
    panels.open("tuning", states.state(tuning=states.tuning("none")))
    panels.page.locator("input[value=all]").check()
    budget = panels.page.get_by_label("Budget", exact=True)
    budget.fill("24")
    assert "24 trials reach 6 of the 11 tasks" in panels.page.locator(".swb-start").inner_text()
    panels.page.locator("[data-swb-reach]").click()
    assert budget.input_value() == "44"
    assert "reach" not in panels.page.locator(".swb-start").inner_text()


def test_the_first_round_says_how_far_it_has_come(panels: Panels) -> None:
    panels.open("tuning", states.steered())
    rows = states.expecting()["rows"]
    fresh = sum(row["state"] == "waiting" for row in rows)
    assert 0 < fresh < len(rows)
    assert f"{len(rows) - fresh} of {len(rows)} tasks tried" in panels.page.locator(".swb-tuning-more").inner_text()
