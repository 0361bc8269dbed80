"""Steering a run: forms made from what the kernel declares, refusals, what holds, who asked, and what the run knows."""

from __future__ import annotations

from typing import Any

import pytest

from frontend_model import states
from frontend_model.conftest import Json, Panels


def opened(panels: Panels, **more: Any) -> Any:
    panels.open("tuning", states.steered(**more), height=700)
    panels.page.evaluate("space => { kernel.answers.space = { ok: true, value: space } }", states.SPACE)
    return panels.page


def form(panels: Panels, name: str) -> Any:
    panels.page.locator(f"[data-swb-order={name}]").click()
    panels.settle()
    return panels.page.locator("form.swb-order")


def test_every_declared_command_has_a_form(panels: Panels) -> None:
    page = opened(panels)
    buttons = page.locator("[data-swb-order]")
    assert buttons.all_inner_texts() == [o["name"].capitalize() for o in states.orders()]
    for order in states.orders():
        found = form(panels, order["name"])
        assert order["summary"] in found.inner_text()
        assert page.locator(f"[data-swb-order={order['name']}]").get_attribute("aria-expanded") == "true"
        for one in order["fields"]:
            label = "Sketch" if one.get("names") == "variant" else one["name"].capitalize()
            assert found.get_by_text(label, exact=False).count() or one["widget"] == "shown"


def test_a_command_that_nobody_knew_is_sent_as_it_was_declared(panels: Panels) -> None:
    opened(panels)
    found = form(panels, "polish")
    send = found.locator("[data-swb-send]")
    assert "fill in" not in (send.get_attribute("title") or "")
    found.locator("[data-swb-arg=hard]").check()
    found.locator("[data-swb-arg=how]").fill("gently")
    found.locator("[data-swb-arg=steps]").fill("3")
    send.click()
    assert panels.sent == [("steer", {"name": "polish", "args": {"hard": True, "how": "gently", "steps": 3}})]


def test_a_hole_is_pinned_by_keyboard_alone(panels: Panels) -> None:
    page = opened(panels)
    page.locator("[data-swb-order=pin]").focus()
    page.keyboard.press("Enter")
    panels.settle()
    assert panels.focused("data-swb-arg") == "task"
    assert page.evaluate("kernel.asked") == [["space", {"task": "k3"}]], "the task on show"
    page.keyboard.press("Tab")
    page.keyboard.press("i")
    page.keyboard.press("Tab")
    page.keyboard.press("4")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    panels.settle()
    pin: Json = {"task": "k3", "hole": "i_0", "value": 4}
    assert panels.sent == [("steer", {"name": "pin", "args": pin})]
    assert "Accepted" in page.locator(".swb-order [role=status]").inner_text()
    page.keyboard.press("Escape")
    panels.settle()
    assert page.locator("form.swb-order").count() == 0
    assert panels.focused("data-swb-order") == "pin"


def test_values_and_holes_fit_what_is_chosen(panels: Panels) -> None:
    page = opened(panels)
    found = form(panels, "forbid")
    assert found.locator(".swb-mini").count() == 0
    found.locator("[data-swb-arg=hole]").select_option("i_0")
    assert found.locator(".swb-mini").all_inner_texts() == ["1", "2", "4"]
    found.locator(".swb-mini", has_text="2").click()
    found.locator("[data-swb-arg=hole]").select_option("j_0")
    assert found.locator(".swb-mini[aria-pressed=true]").count() == 0, "those of the other hole are gone"
    found.locator(".swb-mini", has_text="16").click()
    found.locator(".swb-mini", has_text="8").click()
    found.locator("[data-swb-arg=variant]").select_option("0")
    found.locator("[data-swb-send]").click()
    args: Json = {"task": "k3", "hole": "j_0", "values": [8, 16], "variant": 0}
    assert panels.sent == [("steer", {"name": "forbid", "args": args})]
    panels.settle()
    found.locator("[data-swb-arg=task]").select_option("k1")
    panels.settle()
    assert page.evaluate("kernel.asked.at(-1)") == ["space", {"task": "k1"}]
    assert found.locator("[data-swb-arg=hole]").input_value() == ""


def test_what_is_missing_keeps_the_button_from_sending(panels: Panels) -> None:
    opened(panels)
    found = form(panels, "pin")
    assert "choose: hole" in found.locator("[data-swb-send]").get_attribute("title")
    found.locator("[data-swb-send]").click(force=True)
    assert panels.sent == []
    assert "choose: hole" in found.inner_text()


def test_a_refusal_stands_in_the_form_and_what_was_typed_stays(panels: Panels) -> None:
    page = opened(panels)
    error = {"code": "steer.argument", "message": "epsilon cannot be 3", "where": [], "hint": "0 to 1"}
    page.evaluate("e => { kernel.refuse.steer = e }", error)
    found = form(panels, "epsilon")
    assert "now 0.08" in found.inner_text()
    found.locator("[data-swb-arg=value]").fill("3")
    page.keyboard.press("Enter")
    panels.settle()
    alert = found.get_by_role("alert")
    assert "Epsilon cannot be 3. 0 to 1." in alert.inner_text()
    assert found.locator("[data-swb-arg=value]").input_value() == "3"
    found.locator("[data-swb-arg=value]").fill("0.3")
    panels.settle()
    assert alert.count() == 0


def test_a_space_that_cannot_be_read_is_told(panels: Panels) -> None:
    page = opened(panels)
    page.evaluate("kernel.answers.space = null")
    assert "Reading the space" in form(panels, "pin").inner_text()
    error = {"code": "space.none", "message": "no rule applies", "where": [], "hint": ""}
    page.evaluate("e => { kernel.answers.space = { ok: false, error: e } }", error)
    assert "no rule applies" in form(panels, "forbid").get_by_role("alert").inner_text()


def test_what_holds_is_listed_and_taken_back(panels: Panels) -> None:
    args = {"task": "k3", "hole": "i_0"}
    held = [{"task": "conv2d 3x3 + relu", "text": "i_0 = 4", "args": args}]
    page = opened(panels, steering=states.steering(held=held))
    button = page.get_by_role("button", name="Release i_0 = 4 of conv2d 3x3 + relu")
    button.click()
    assert panels.sent == [("steer", {"name": "release", "args": args})]
    panels.patch({"tuning": {"=": states.tuning("done")}})
    panels.settle()
    assert "no run is active" in button.get_attribute("title")


def test_who_asked_for_what_is_listed_also_after_the_end(panels: Panels) -> None:
    refused = states.command(2, "pin", accepted=False, error="there is no hole q", source="control file")
    commands = [refused, states.command(1, "epsilon", source="python")]
    page = opened(panels, steering=states.steering(commands=commands, count=9, refused=1))
    list_ = page.locator(".swb-asked")
    assert "9 commands, 1 refused" in list_.inner_text()
    assert "refused: there is no hole q" in list_.locator("summary").inner_text()
    list_.locator("summary").click()
    items = list_.locator("li").all_inner_texts()
    assert "by the control file at 12 s" in items[0]
    assert "epsilon value 0.2 by python" in items[1]
    assert "7 earlier ones" in list_.inner_text()
    panels.patch({"tuning": {"=": states.tuning("done")}})
    panels.settle()
    assert page.locator("[data-swb-order]").count() == 0
    assert list_.count() == 1


def test_what_the_run_knows_is_said(panels: Panels) -> None:
    page = opened(panels)
    text = "\n".join(page.locator(".swb-facts").all_inner_texts()).replace("\xa0", " ")
    for words in (
        "conv2d 3x3 256→256 @14x14 + bias + relu: saves most",
        "expects 4.20 µs per round (1.10 by the last rounds, 4.90 if trials go on to pay)",
        "0.438 ms ± 0.001 · 98.8 % sure · a fast one with another number · 1 candidate by hand",
        "Failed\n11 timeouts, 1 build error",
        "few rounds so far · expects 18.0 µs per round (7.50 if trials go on to pay)"
        " · about 30 of the 784 trials left, 16 s",
        "5 comparisons, 3 with a new best · trial 31 against trial 12: 31 is 1.044× as fast, sure",
        "rank correlation 0.87",
    ):
        assert words in text
    page.locator("[data-swb-trial='12']").click()
    page.locator("[data-swb-trial='71']").click()
    assert panels.sent == [("open_trial", {"trial": trial, "task": 3}) for trial in (12, 71)]
    titles = page.locator(".swb-facts [title^='The newest']").evaluate_all(
        "all => all.map(e => [e.localName, e.title])"
    )
    assert titles == [
        ["button", "The newest is trial 71: It took longer than 10 s."],
        ["span", "The newest is trial 9: No register is left."],
    ]
    resting = {**states.steering()["task"], "resting": True}
    panels.patch({"steering": {"=": states.steering(task=resting, next=None)}})
    panels.settle()
    text = "\n".join(page.locator(".swb-facts").all_inner_texts())
    assert "rests" in text
    assert "saves most" not in text


def test_words_are_explained_to_the_keyboard(panels: Panels) -> None:
    page = opened(panels)
    shown = "() => getComputedStyle(document.activeElement, '::after').content"
    page.keyboard.press("Tab")
    for selector, says in (("abbr >> text=rank correlation", "0 is guessing"), ("[data-swb-order=pin]", "Hold a hole")):
        page.locator(selector).focus()
        assert says in page.evaluate(shown)
    page.locator("[data-action=pause]").focus()
    assert page.evaluate(shown) == "none", "what it means stands beside it, and the lines below stay in sight"
    found = form(panels, "pin")
    found.locator("[data-swb-arg=hole]").focus()
    panels.settle()
    assert "What hole is." in found.inner_text()


def test_the_schedule_on_show_becomes_a_trial(panels: Panels) -> None:
    page = opened(panels)
    button = page.locator("[data-action=add]")
    assert button.inner_text() == "Measure v5 in this run"
    error = {"code": "steer.measured", "message": "It was trial 7", "where": [], "hint": ""}
    page.evaluate("e => { kernel.refuse.steer = e }", error)
    button.click()
    panels.settle()
    assert panels.sent == [("steer", {"name": "add", "args": {"task": "k3", "trace": True}})]
    assert page.get_by_role("alert").inner_text() == "It was trial 7"
    page.evaluate("kernel.refuse = {}")
    button.click()
    panels.settle()
    assert "it is one of the trials" in button.get_attribute("title")
    button.click(force=True)
    assert len(panels.sent) == 2
    head = states.state()["head"]
    for more, reason in (({"step": "v6", "holes": 2}, "numbers of it are open"), ({"step": "v0"}, "as it was written")):
        panels.patch({"head": {"=": {**head, **more}}})
        panels.settle()
        assert reason in button.get_attribute("title")


@pytest.mark.parametrize("width", [300, 640])
def test_forms_fit_narrow_places(panels: Panels, width: int) -> None:
    panels.open("tuning", states.steered(), width=width, height=900)
    panels.page.evaluate("space => { kernel.answers.space = { ok: true, value: space } }", states.SPACE)
    for order in states.orders():
        form(panels, order["name"])
        assert panels.page.evaluate("kernel.el.scrollWidth") <= width
