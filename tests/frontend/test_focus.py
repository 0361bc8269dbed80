"""The keyboard stays in the view: what has the focus may go away, the focus does not."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import Bench

IN_FORM = "document.activeElement.closest('form')?.ariaLabel === 'split'"
LOST = "document.activeElement === document.body"
HELD = "() => { window.held = []; kernel.later = f => held.push(f); }"
ANSWER = "held.splice(0).forEach(answer => answer())"


def split_before_the_palette_follows(bench: Bench, row: str) -> Any:
    """Select a row, open *split* of the palette that is still about the row before, then let the kernel answer."""
    page = bench.open().page
    page.evaluate(HELD)
    page.locator(f"[data-row='{row}'] [role=gridcell]").first.click()
    page.keyboard.press("p")
    while bench.focused("data-swb-item") != "split":
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    bench.wait_for("document.activeElement.matches('form[aria-label=split] .swb-size')")
    assert bench.text(".swb-pal-head").startswith("c "), "of the row before"
    page.evaluate("window.form = document.activeElement.form ?? document.activeElement.closest('form')")
    while page.evaluate("held.length"):
        page.evaluate(ANSWER)
    bench.wait_for(f"document.querySelector('.swb-pal-head b').innerText === '{row}'")
    return page


def test_a_palette_that_follows_late_leaves_the_form_open_and_the_focus_in_it(bench: Bench) -> None:
    page = split_before_the_palette_follows(bench, "relu_w")
    assert page.evaluate("form.isConnected"), "the same form"
    assert page.evaluate(IN_FORM)
    assert page.evaluate("document.activeElement.matches('.swb-size')")
    assert bench.text(".swb-equation").startswith("relu_w → relu_w.0"), "about the row that was selected"
    page.keyboard.type("55")
    page.keyboard.press("Enter")
    bench.wait_for("model.sent.some(m => m.cmd === 'apply')")
    args = bench.commands()[-1][1]["step"]["args"]
    assert (args["loop"], args["factors"]) == ("relu_w", [None, 55])


def test_where_the_primitive_is_not_legal_any_more_its_form_has_the_focus_all_the_same(bench: Bench) -> None:
    page = split_before_the_palette_follows(bench, "o.1")
    assert page.locator(".swb-illegal form[aria-label=split]").count() == 1
    assert page.evaluate(IN_FORM)


def test_what_was_put_in_is_kept_for_this_row_and_not_for_the_next(bench: Bench) -> None:
    page = bench.open().page
    bench.click("[data-swb-legal][data-swb-item=split]")
    bench.click(".swb-factor [role=radio][data-value='8']")
    page.evaluate(
        "() => { kernel.put('palette', structuredClone(kernel.slices.palette)); kernel.patch(model, kernel.changed); }"
    )
    assert bench.text(".swb-equation") == "c → c.0 2 × c.1 8"
    bench.click("[data-row='w'] .swb-loop")
    bench.wait_for("document.querySelector('.swb-equation')?.innerText.startsWith('w ')")
    assert "w.1 8" not in bench.text(".swb-equation")


def test_a_step_that_is_taken_hands_the_focus_from_its_form_to_the_nest(bench: Bench) -> None:
    page = bench.open().page
    page.locator("[data-row='c'] [role=gridcell]").first.click()
    bench.click("[data-swb-legal][data-swb-item=split]")
    page.locator("[data-swb-apply]:not([aria-disabled=true])").focus()
    # What loses the focus because it is removed loses it to nothing, and the page is laid out in the middle of drawing.
    page.evaluate("""window.lost = 0;
        addEventListener('focusout', e => { lost += !e.relatedTarget && !!e.target.form; }, true)""")
    page.keyboard.press("Enter")
    page.wait_for_selector(".swb-form", state="detached")
    bench.wait_for("document.activeElement.closest('.swb-nest [data-row]')")
    assert page.evaluate("lost") == 0


def test_a_form_that_was_closed_before_its_step_was_taken_stays_closed(bench: Bench) -> None:
    page = bench.open().page
    bench.click("[data-swb-legal][data-swb-item=split]")
    page.wait_for_selector(".swb-effects")
    page.evaluate(HELD)
    bench.click("[data-swb-apply]:not([aria-disabled=true])")
    bench.click("[data-swb-legal][data-swb-item=split]")
    assert page.locator(".swb-form").count() == 0
    page.evaluate(ANSWER)
    bench.wait_for("document.querySelector('[aria-current=step]').dataset.step === '8'")
    assert page.locator(".swb-form").count() == 0


@pytest.mark.parametrize("last", [False, True])
def test_what_removes_itself_leaves_the_focus_near(bench: Bench, last: bool) -> None:
    page = bench.open().page
    bench.click("[data-swb-legal][data-swb-item=split]")
    for _ in range(2):
        page.locator("[data-swb-more]").click()
    page.locator("[aria-label^='Remove c.']").nth(-1 if last else 0).focus()
    page.keyboard.press("Enter")
    bench.wait_for("document.querySelectorAll('.swb-factor').length === 2")
    assert page.evaluate(IN_FORM)


def test_whoever_leaves_is_not_brought_back(bench: Bench) -> None:
    page = bench.open().page
    page.locator("[data-swb-item=unroll]").first.focus()
    page.evaluate("document.activeElement.blur()")
    assert page.evaluate(LOST)
    page.evaluate("() => new Promise(done => setTimeout(done))")
    page.evaluate("document.querySelector('[data-swb-item=unroll]').parentElement.remove()")
    page.evaluate("() => new Promise(done => setTimeout(done))")
    assert page.evaluate(LOST)


def test_what_is_moved_in_the_page_keeps_the_focus(bench: Bench) -> None:
    page = bench.open().page
    page.locator("[data-swb-item=unroll]").first.focus()
    page.evaluate("""() => {
        const own = document.activeElement, box = own.parentElement;
        box.remove();
        document.querySelector('.swb-pal-part').append(box);
    }""")
    bench.wait_for("document.activeElement.dataset.swbItem === 'unroll'")


def test_escape_closes_what_is_open_wherever_the_focus_is_and_never_leaves(bench: Bench) -> None:
    page = bench.open().page
    page.evaluate("window.heard = []; document.addEventListener('keydown', e => heard.push(e.key))")
    page.locator("[data-row='c'] [role=gridcell]").first.click()
    bench.click("[data-swb-legal][data-swb-item=split]")
    page.wait_for_selector(".swb-form")
    bench.click("[data-swb-show=parallel]")
    page.wait_for_selector(".swb-pop")
    page.click(".swb-pop .swb-close")
    page.locator("[data-swb-do=replay]").click()
    page.wait_for_selector(".swb-replay")
    page.locator("[data-row='w']").focus()
    page.keyboard.press("Escape")
    page.wait_for_selector(".swb-replay", state="detached")
    assert page.locator(".swb-form").count() == 1, "what was opened last goes first"
    page.locator("[data-swb-do=export]").focus()
    page.keyboard.press("Escape")
    page.wait_for_selector(".swb-form", state="detached")
    assert bench.focused("data-swb-item") == "split"
    for _ in range(2):
        page.keyboard.press("Escape")
        assert page.evaluate("document.activeElement.matches('.swb')")
    assert page.evaluate("heard") == []
