"""The form of a primitive asks what its step would do, live: divisors, a slider, the pointer over a value."""

from __future__ import annotations

from typing import Any

from .conftest import Bench

SPLIT = "[data-swb-legal][data-swb-item=split]"
EFFECT = ".swb-effects dd"
PAINTED = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 0))))"


def asked(bench: Bench) -> list[Any]:
    """Inner factors of the splits that were asked about."""
    return [m["args"]["step"]["args"]["factors"][1] for m in bench.sent("ask") if m["q"] == "preview"]


def test_an_open_form_previews_its_step_and_a_closed_one_does_not(bench: Bench) -> None:
    page = bench.open().page
    bench.click(SPLIT)
    page.wait_for_selector(EFFECT)
    assert asked(bench) == [4]
    assert "→" in bench.text(EFFECT)
    for old in (".swb-nest .swb-panel-head", ".swb-buffers", ".swb-accesses caption", ".swb-reasons"):
        assert "before this step" in bench.text(old), old
    bench.click(SPLIT)
    assert page.locator(EFFECT).count() == 0
    assert "before this step" not in page.inner_text("body"), "nothing is previewed any more"


def test_the_slider_goes_over_the_divisors_and_previews_the_newest_while_one_is_under_way(bench: Bench) -> None:
    page = bench.open().page
    page.evaluate("() => { window.held = []; kernel.later = f => held.push(f); }")
    bench.click(SPLIT)
    bench.wait_for("held.length === 1")
    slider = page.locator("input[type=range]")
    assert slider.get_attribute("aria-valuetext") == "4"
    slider.focus()
    for _ in range(2):
        page.keyboard.press("ArrowRight")
    page.evaluate(PAINTED)  # a form asks once it is painted: 8 is passed over only if 16 was painted too
    assert slider.get_attribute("aria-valuetext") == "16"
    assert bench.text(".swb-equation") == "c → c.0 1 × c.1 16"
    assert asked(bench) == [4]
    page.evaluate("held.splice(0).forEach(answer => answer())")
    bench.wait_for("held.length === 1")
    assert asked(bench) == [4, 16], "8 was overtaken while 4 was under way"
    page.evaluate("held.splice(0).forEach(answer => answer())")
    page.wait_for_selector(EFFECT)
    page.keyboard.press("Enter")
    bench.wait_for("model.sent.some(m => m.cmd === 'apply')")
    assert bench.commands()[-1][1]["step"]["args"]["factors"] == [None, 16]


def test_the_pointer_over_a_divisor_previews_it_and_leaves_the_draft_alone(bench: Bench) -> None:
    page = bench.open().page
    bench.click(SPLIT)
    page.wait_for_selector(EFFECT)
    first = bench.text(EFFECT)
    page.hover(".swb-factor [role=radio][data-value='8']")
    bench.wait_for("model.sent.filter(m => m.q === 'preview').length === 2")
    bench.wait_for(f"document.querySelector('{EFFECT}') && document.querySelector('{EFFECT}').innerText !== '{first}'")
    assert bench.text(".swb-equation") == "c → c.0 4 × c.1 4"
    page.hover(".swb-pal-head")
    bench.wait_for("model.sent.filter(m => m.q === 'preview').length === 3")
    assert asked(bench) == [4, 8, 4]


def test_a_step_that_is_not_legal_says_so_and_has_no_effects(bench: Bench) -> None:
    page = bench.open().page
    bench.click(SPLIT)
    page.wait_for_selector(EFFECT)
    page.locator("input.swb-size").fill("5")
    page.wait_for_selector(".swb-opinion.is-not")
    assert page.locator(EFFECT).count() == 0
    assert page.locator("input[type=range]").get_attribute("aria-valuetext") == "no divisor"


SPLIT_NEST = """() => {
    const { rows } = kernel.slices.nest, run = kernel.run;
    const step = { primitive: 'split', args: { loop: 'c', factors: [null, 4] } };
    const { order, rows: changed } = kernel.preview(step);
    const before = new Map(rows.map(row => [row.id, row]));
    const now = new Map([...before, ...changed.map(row => [row.id, { ...before.get(row.id), ...row }])]);
    Object.assign(now.get('c.1'), { ws: 4096, level: 'L2' });
    kernel.run = (cmd, args) => {
        const error = run.call(kernel, cmd, args);
        if (cmd === 'apply') kernel.put('nest', { ...kernel.slices.nest, rows: order.map(id => now.get(id)) });
        return error;
    };
}"""
AT_ONCE = """async () => {
    while (!held.length) await new Promise(done => setTimeout(done, 5));
    held.splice(0).forEach(answer => answer());
    for (let i = 0; i < 3; i++) await new Promise(done => queueMicrotask(done));
    const count = all => document.querySelectorAll(all).length;
    const row = document.querySelector("[data-row='c.1']").ariaLabel;
    return { previews: count('.swb-previews, .swb-nest .is-ghost'), form: count('.swb-form'), row };
}"""


def test_what_was_a_preview_is_drawn_as_it_is_as_soon_as_the_step_was_taken(bench: Bench) -> None:
    page = bench.open().page
    bench.click(SPLIT)
    page.wait_for_selector("[data-row='c.1'].is-ghost")
    page.evaluate(SPLIT_NEST)
    page.evaluate("() => { window.held = []; kernel.later = f => held.push(f); }")
    bench.click("[data-swb-apply]:not([aria-disabled=true])")
    shown = page.evaluate(AT_ONCE)
    assert (shown["previews"], shown["form"]) == (0, 0), "before anything else is painted"
    assert shown["row"].endswith("working set 4.00\u00a0KB in L2"), "what the kernel says, not what was expected"


def test_an_answer_about_the_nest_before_is_not_drawn_over_the_new_one(bench: Bench) -> None:
    page = bench.open().page
    page.evaluate("() => { window.held = []; kernel.later = f => held.push(f); }")
    bench.click(SPLIT)
    bench.wait_for("held.length === 1")
    page.evaluate("""() => {
        kernel.put('nest', structuredClone(kernel.slices.nest));
        kernel.patch(model, kernel.changed);
        held.splice(0).forEach(answer => answer());
    }""")
    bench.wait_for("held.length === 1")
    assert asked(bench) == [4, 4], "asked again about the new one"
    assert page.locator(".swb-nest .is-ghost").count() == 0
    page.evaluate("held.splice(0).forEach(answer => answer())")
    page.wait_for_selector("[data-row='c.1'].is-ghost")
