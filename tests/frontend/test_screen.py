"""What a view shows of its own: told to Python, and shown when Python says so; asked for with the export of a view."""

from __future__ import annotations

from typing import Any

from .conftest import Bench

FIRST = {"tab": "schedule", "middle": "nest", "whole": "", "code": "nest"}


def told(bench: Bench) -> list[dict[str, Any]]:
    return [m["screen"] for m in bench.sent("screen")]


def test_what_is_opened_is_told_once(bench: Bench) -> None:
    bench.open()
    assert told(bench) == []
    bench.click("[data-swb-tab=code]")
    assert told(bench) == [FIRST | {"middle": "code"}]
    bench.click("[data-swb-tab=tuning]")
    assert told(bench)[1:] == [FIRST | {"middle": "code", "tab": "tuning"}]


def test_what_python_shows_is_shown_at_once_and_again(bench: Bench) -> None:
    bench.open()
    screen = {**FIRST, "middle": "code", "code": "asm", "whole": "middle", "turn": 1}
    for turn in (1, 2):
        bench.page.evaluate("screen => model.set('screen', screen)", {**screen, "turn": turn})
        bench.wait_for("document.querySelector('[data-swb-panel=code]')")
        bench.wait_for("!document.querySelector('[data-swb-panel=tasks]').checkVisibility()")
        bench.page.locator(".swb-slot-code [tabindex='0']").first.focus()
        bench.page.keyboard.press("w")
        bench.wait_for("document.querySelector('[data-swb-panel=tasks]').checkVisibility()")
    bench.page.evaluate("model.set('screen', { tab: 'tuning', turn: 3 })")
    bench.wait_for("document.querySelector('.swb-tuning-screen')")


def test_two_variants_beside_each_other(bench: Bench) -> None:
    bench.open()
    bench.page.evaluate("model.set('screen', { middle: 'diff', compare: [1, 2], turn: 1 })")
    bench.wait_for("document.querySelector('[data-swb-panel=diff]')")
    assert told(bench)[-1]["compare"] == [1, 2]


def test_the_export_of_a_view_says_what_is_open(bench: Bench) -> None:
    bench.open()
    bench.click("[data-swb-tab=code]")
    bench.click("[data-swb-do=export]")
    bench.click(".swb-export button:text-is('View')")
    (asked,) = [m["args"] for m in bench.sent("ask") if m["q"] == "export"]
    assert asked == {"what": "view", "theme": "light", "screen": FIRST | {"middle": "code"}}


def test_the_profile_of_a_model_is_a_screen_of_its_own(bench: Bench) -> None:
    """From the top, by pointer and by the key that the sheet names; a task alone has none."""
    bench.open()
    bench.click("[data-swb-tab=profile]")
    bench.wait_for("document.querySelector('[role=tabpanel] [data-swb-panel=timeline]')")
    assert told(bench)[-1]["tab"] == "profile"
    bench.click("[data-swb-tab=tuning]")
    bench.wait_for("!document.querySelector('[data-swb-panel=timeline]')")
    bench.click("[data-swb-tab=schedule]")
    bench.page.keyboard.press("l")
    bench.wait_for("document.querySelector('[data-swb-tab=profile][aria-selected=true]')")
    bench.wait_for("document.activeElement.dataset.swbDo === 'timeline'")
    assert bench.page.locator("[data-swb-do=tune]").count() == 1
    bench.page.keyboard.press("?")
    assert "profile: where the time of the network goes" in bench.text(".swb-sheet")
    bench.page.keyboard.press("Escape")
    bench.open(fixture="matmul")
    assert bench.page.locator("[data-swb-tab=profile]").count() == 0
    bench.page.locator(".swb-slot-nest [tabindex='0']").first.focus()
    bench.page.keyboard.press("l")
    bench.wait_for("document.querySelector('[data-swb-tab=schedule][aria-selected=true]')")


def test_the_reasons_tell_the_share_in_the_network_and_lead_to_the_profile(bench: Bench) -> None:
    bench.open()
    bench.page.evaluate(
        """() => kernel.patch(model, { timeline: { '=': { ...kernel.slices.timeline, rows: [
            { id: kernel.slices.head.task, calls: 1, bytes: 1, ms: [2, 1], gap: [0, 0], share: [0.5, 0.125],
              change: '', far: '' }] } } })"""
    )
    bench.wait_for("document.querySelector('.swb-reasons')?.textContent.includes('In the network')")
    assert "In the network: 12.5 % of the time" in bench.text(".swb-reasons").replace("\u00a0", " ")
    bench.page.get_by_role("button", name="Profile", exact=True).click()
    bench.wait_for("document.querySelector('[data-swb-tab=profile][aria-selected=true]')")
