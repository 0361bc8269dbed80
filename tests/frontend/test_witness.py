"""The box with a reason: its words follow what the two iterations show, and it offers legal steps instead."""

from __future__ import annotations

import json
from typing import Any

import pytest

from .conftest import Bench

POP = ".swb-pop"
EARLY = {
    "kind": "read-before-write", "buffer": "C", "element": [0, 3], "first": {"k": 0, "relu_j": 3},
    "second": {"k": 1, "j": 3}, "blocks": ["relu", "C"], "filling": {"k_0": 2, "t": 4}, "effect": None,
}  # fmt: skip


def at_k(bench: Bench) -> Any:
    page = bench.open(fixture="matmul").page
    bench.click("[data-row='k'] .swb-loop")
    page.wait_for_selector("[data-swb-show=parallel]")
    return page


def answering(bench: Bench, witness: dict[str, Any] | None, instead: list[dict[str, Any]]) -> None:
    """Let the kernel answer "witness" so."""
    verdict = {"legal": False, "code": "x", "reason": "", "hint": "", "where": ["k"], "witness": witness}
    value = json.dumps({"ok": True, "value": {"verdict": verdict, "instead": instead}})
    bench.page.evaluate(f"""() => {{
        const old = kernel.reply;
        kernel.reply = message => (message.q === 'witness' ? {value} : old.call(kernel, message));
    }}""")


def test_two_iterations_at_once_with_what_comes_out_and_what_is_legal_instead(bench: Bench) -> None:
    page = at_k(bench)
    bench.click("[data-swb-show=parallel]")
    page.wait_for_selector(f"{POP} .swb-effect")
    box = bench.text(POP)
    assert "parallel(k) would change the result" in box
    assert "iteration A k = 0 i = 0 j = 0 iteration B k = 1 i = 0 j = 0" in box
    assert "C[0, 0] one element, written twice" in box
    assert "in order 5.3125 at once" in box
    page.wait_for_selector(f"{POP} >> text=reorder(i, k), then parallel(i) ≈")
    assert bench.sent("ask")[-1]["q"] == "witness"


@pytest.mark.parametrize("width", [1300, 700])
def test_the_box_stands_beside_the_rows_that_it_is_about(bench: Bench, width: int) -> None:
    page = bench.open(fixture="matmul", width=str(width)).page
    bench.click("[data-row='k'] .swb-loop")
    bench.click("[data-swb-show=parallel]")
    page.wait_for_selector(f"{POP} >> text=reorder(i, k), then parallel(i) ≈")
    box, *rows = page.locator(f"{POP}, .is-marked").evaluate_all(
        f"all => all.sort(a => a.matches('{POP}') ? -1 : 1).map(e => e.getBoundingClientRect().toJSON())"
    )
    assert len(rows) == 2
    for row in rows:
        assert row["bottom"] <= box["top"] or row["top"] >= box["bottom"]
        assert row["top"] >= 0, "what is marked is in sight"
    assert box["bottom"] <= page.evaluate("innerHeight")


def test_a_step_instead_is_previewed_by_the_focus_and_taken_by_enter(bench: Bench) -> None:
    page = at_k(bench)
    bench.click("[data-swb-show=parallel]")
    other = page.locator(f"{POP} button", has_text="reorder(i, k)")
    other.focus()
    bench.wait_for("model.sent.some(m => m.q === 'preview')")
    page.keyboard.press("Enter")
    page.wait_for_selector(POP, state="detached")
    asked = [m["args"] for m in bench.sent("ask") if m["q"] == "preview"][-1]
    [taken] = [args for cmd, args in bench.commands() if cmd == "apply"]
    assert taken == asked, "all of it is previewed, and taken at once"
    assert [one["primitive"] for one in (taken["step"], *taken["then"])] == ["reorder", "parallel"]


def test_what_is_read_too_early_is_said_so_with_the_numbers_assumed(bench: Bench) -> None:
    page = at_k(bench)
    answering(bench, EARLY, [])
    box = page.locator("[data-swb-show]:not([data-swb-show=parallel])").first
    name = box.get_attribute("data-swb-show")
    box.click()
    page.wait_for_selector(POP)
    text = bench.text(POP)
    assert f"{name}(" in text
    assert "would read too early" in text
    assert "reads relu k = 0 relu_j = 3 still writes C k = 1 j = 3" in text
    assert "read before it is complete" in text
    assert "Shown with ?k_0 = 2, ?t = 4." in text
    assert page.get_by_role("dialog").get_attribute("aria-label").endswith("would read too early")


def test_what_nothing_writes_is_said_so(bench: Bench) -> None:
    page = at_k(bench)
    answering(bench, {**EARLY, "second": {}, "filling": {}}, [])
    page.locator("[data-swb-show]:not([data-swb-show=parallel])").first.click()
    page.wait_for_selector(POP)
    assert "nothing writes it" in bench.text(POP)


def test_a_term_that_counts_twice_is_said_so(bench: Bench) -> None:
    page = at_k(bench)
    answering(bench, {**EARLY, "kind": "twice", "filling": {}}, [])
    page.locator("[data-swb-show]:not([data-swb-show=parallel])").first.click()
    page.wait_for_selector(POP)
    assert "would count terms twice" in bench.text(POP)


def test_where_there_is_nothing_to_show_the_rows_are_marked_and_no_box_opens(bench: Bench) -> None:
    page = at_k(bench)
    answering(bench, None, [])
    page.locator("[data-swb-show]:not([data-swb-show=parallel])").first.click()
    bench.wait_for("model.sent.some(m => m.q === 'witness')")
    page.wait_for_selector(".is-marked")
    page.wait_for_timeout(60)
    assert page.locator(POP).count() == 0


def test_a_box_that_was_closed_does_not_come_back(bench: Bench) -> None:
    page = at_k(bench)
    page.evaluate("kernel.delay = 150")
    bench.click("[data-swb-show=parallel]")
    page.wait_for_selector(POP)
    page.keyboard.press("Escape")
    page.wait_for_timeout(250)
    assert page.locator(POP).count() == 0


def test_leaving_a_step_instead_shows_the_preview_of_the_open_form_again(bench: Bench) -> None:
    page = at_k(bench)
    bench.click("[data-swb-legal][data-swb-item=split]")
    page.wait_for_selector(".swb-previews >> text=split(k")
    bench.click("[data-swb-show=parallel]")
    other = page.locator(f"{POP} button", has_text="reorder(i, k)")
    other.hover()
    page.wait_for_selector(".swb-previews >> text=reorder(")
    page.hover(f"{POP} h4")
    page.wait_for_selector(".swb-previews >> text=split(k")
    assert page.locator("[data-row='k.1'].is-ghost").count() == 1


def test_a_step_instead_and_the_form_do_not_take_each_others_answers(bench: Bench) -> None:
    page = at_k(bench)
    bench.click("[data-swb-show=parallel]")
    page.wait_for_selector(f"{POP} button:has-text('reorder(i, k)')")
    page.evaluate("() => { window.held = []; kernel.later = f => held.push(f); }")
    page.evaluate("document.querySelector('[data-swb-legal][data-swb-item=split]').click()")
    bench.wait_for("held.length === 1 && document.activeElement.matches('.swb-form .swb-size')")
    page.locator(f"{POP} button", has_text="reorder(i, k)").focus()
    page.evaluate("held.splice(0).forEach(answer => answer())")
    page.wait_for_selector(".swb-previews >> text=split(k")
    bench.wait_for("held.length === 1")
    page.evaluate("held.splice(0).forEach(answer => answer())")
    page.wait_for_selector(".swb-previews >> text=reorder(")
    page.evaluate("document.querySelector('.swb-close').click()")
    page.wait_for_selector(".swb-previews >> text=split(k")
