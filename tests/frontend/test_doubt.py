"""What was disturbed is shown as a bound with its reason, the machine's load as a chip; nothing looks sure."""

from __future__ import annotations

import pytest

WHY = "the second of 2 threads had 55 % of a core"


def value(bench, name):
    return bench.page.locator(f"[data-swb-value={name}]")


@pytest.mark.parametrize("width", ["1300", "700"])
def test_a_disturbed_time_is_a_bound_with_its_reason(bench, width):
    bench.open("doubtful", fixture="model", width=width)
    figures = bench.page.locator(".swb-figures")
    assert value(bench, "ms").inner_text().startswith("≥")
    assert value(bench, "doubt").inner_text() == WHY
    assert value(bench, "doubt").is_visible()
    title = bench.page.locator(".swb-figure.is-main").get_attribute("title")
    assert f"Disturbed: {WHY}; " in title
    assert title.endswith(" ms seen") or " ms seen. Estimated" in title
    shown = figures.inner_text()
    assert "±" not in shown
    assert "GFLOP/s" not in shown
    assert "cannot tell" not in shown, "the reason stands there already"


def test_a_variant_says_what_is_known_of_its_time(bench):
    bench.open("doubtful", fixture="model")
    now = bench.page.locator(".swb-step.is-current .swb-step-ms")
    assert now.inner_text().startswith("≥")
    assert "±" not in now.inner_text()
    other = bench.page.locator("[data-step='1']")
    assert other.locator(".swb-step-ms").inner_text().startswith("≤"), "how long it takes at least is not known"
    assert f"disturbed: {WHY}" in other.get_attribute("aria-label")


def test_two_variants_are_not_compared(bench):
    bench.open("doubtful", fixture="model")
    for id in (1, 7):
        bench.page.locator(f"[data-step='{id}']").click(modifiers=["Shift"])
    facts = bench.page.locator(".swb-diff-facts")
    facts.wait_for()
    assert f"ms cannot tell: {WHY}" in facts.inner_text()
    assert "faster" not in facts.inner_text()


def test_the_chip_says_how_busy_the_machine_is_and_what_that_does(bench):
    bench.open("doubtful", fixture="model")
    load = value(bench, "load")
    assert load.inner_text() == "62 % busy: browser"
    assert load.get_attribute("title").startswith("Of the time of all processors lately: browser 41 %")
    bench.open("again", fixture="model")
    assert value(bench, "load").inner_text() == "55 % busy: cc1plus"
    assert value(bench, "remark").inner_text() == "measured again when the machine was quiet"


def test_a_quiet_machine_is_not_worth_a_word_and_the_chip_moves_nothing(bench):
    bench.open("normal", fixture="model", width="700")
    assert value(bench, "load").count() == 0
    height = bench.page.evaluate("document.querySelector('.swb-header').offsetHeight")
    bench.page.evaluate(
        "model.receive({ t: 'patch', base: 1, rev: 2, done: [], failed: [], ops: { status: { '=': "
        "{ busy: '', note: null, log: '', load: { text: '90 % busy', whose: ': this kernel', about: '' } } } } })"
    )
    value(bench, "load").wait_for()
    assert bench.page.evaluate("document.querySelector('.swb-header').offsetHeight") == height


def test_the_kernel_hears_that_somebody_looks(bench):
    bench.open("normal")
    assert len(bench.sent("here")) == 1
