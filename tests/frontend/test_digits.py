"""Digits open a primitive, and while a form is open they are numbers for it. None is lost on the way."""

from __future__ import annotations

from typing import Any

from .conftest import Bench
from .test_forms import at

INPUT = "document.activeElement.matches('form[aria-label=split] input.swb-size')"
FORMS = "all => all.map(e => e.ariaLabel)"


def opened(bench: Bench) -> Any:
    """Select a loop of 16 iterations in the nest and press the key of *split*."""
    page = bench.open().page
    page.locator("[data-row='c'] [role=gridcell]").first.click()
    page.keyboard.press("1")
    return page


def taken(bench: Bench) -> dict[str, Any]:
    """Arguments of the one step that was sent."""
    bench.wait_for("model.sent.some(m => m.cmd === 'apply')")
    steps = [args["step"] for command, args in bench.commands() if command == "apply"]
    assert [step["primitive"] for step in steps] == ["split"]
    return dict(steps[0]["args"])


def test_the_key_of_a_primitive_and_a_number_make_a_step(bench: Bench) -> None:
    page = opened(bench)
    page.keyboard.press("2")
    assert page.locator(".swb-form").evaluate_all(FORMS) == ["split"], "2 opens nothing"
    bench.wait_for(INPUT)
    assert page.locator(".swb-form input.swb-size").input_value() == "2", "what stood there is replaced"
    page.keyboard.press("Enter")
    assert taken(bench) == {"loop": "c", "factors": [None, 2]}


def test_a_form_that_opens_has_the_focus_in_its_first_input(bench: Bench) -> None:
    page = opened(bench)
    bench.wait_for(INPUT)
    page.keyboard.type("16")
    assert page.locator(".swb-form input.swb-size").input_value() == "16"
    page.keyboard.press("ArrowDown")
    assert bench.text(".swb-equation") == "c → c.0 2 × c.1 8", "arrows go through the divisors"
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    assert taken(bench) == {"loop": "c", "factors": [None, 16]}


def test_digits_are_numbers_wherever_the_focus_is_while_a_form_is_open(bench: Bench) -> None:
    page = opened(bench)
    bench.wait_for(INPUT)
    for place in ("[role=radio][aria-checked=true]", "input[type=range]", "[data-swb-apply]"):
        page.locator(f".swb-form {place}").focus()
        page.keyboard.type("12")
        assert page.locator(".swb-form input.swb-size").input_value() == "12", place
        page.locator(".swb-form [role=radio][data-value='4']").click()
    page.locator(".swb-nest [role=row][tabindex='0']").focus()
    page.keyboard.type("2")
    assert page.evaluate(INPUT)
    assert page.locator(".swb-form").evaluate_all(FORMS) == ["split"]


def test_a_digit_goes_to_the_factor_that_has_the_focus(bench: Bench) -> None:
    page = opened(bench)
    page.locator("[data-swb-more]").click()
    page.locator(".swb-factor").nth(1).locator("[role=radio]").first.focus()
    page.keyboard.type("2")
    sizes = page.locator(".swb-form input.swb-size").evaluate_all("all => all.map(e => e.value)")
    assert sizes[1] == "2"


def test_where_a_form_has_nothing_to_type_no_digit_opens_another_one(bench: Bench) -> None:
    page = at(bench, "kh")
    page.locator("[data-swb-legal][data-swb-item=compute_at]").click()
    bench.wait_for("document.activeElement.matches('[data-swb-apply]')")
    page.keyboard.press("1")
    assert page.locator(".swb-form").evaluate_all(FORMS) == ["compute_at"]
    page.keyboard.press("Escape")
    page.keyboard.press("1")
    assert page.locator(".swb-form").evaluate_all(FORMS) == ["split"]


def test_a_number_that_was_taken_away_is_asked_for(bench: Bench) -> None:
    page = opened(bench)
    bench.wait_for(INPUT)
    page.keyboard.press("Delete")
    assert bench.text(".swb-opinion").startswith("To do: choose")
    page.keyboard.press("Enter")
    assert not [command for command, _ in bench.commands() if command == "apply"], "not the number that stood there"


def test_a_size_counts_as_it_is_typed(bench: Bench) -> None:
    page = at(bench, "W")
    page.locator("[data-swb-legal][data-swb-item=transform_layout]").click()
    size = page.locator("form[aria-label=transform_layout] fieldset input.swb-size")
    size.fill("2 × ")
    assert size.input_value() == "2 × ", "what is being typed is left alone"
    size.press("4")
    size.press("Enter")
    bench.wait_for("model.sent.some(m => m.cmd === 'apply')")
    assert bench.commands()[-1][1]["step"]["args"]["block"] == [2, 4]
