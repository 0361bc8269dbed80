"""Forms of the newer primitives: words, notes, axes, values left open; headings; chips of loops and of buffers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .conftest import Bench

FIXTURE = Path(__file__).parents[2] / "extensions" / "dev" / "fixtures" / "kernel.json"
SORTS = {"loop", "annotation", "placement", "memory", "layout", "algorithm"}


def at(bench: Bench, row: str) -> Any:
    """Open the development page on a nest with everything in it, and select a row or a buffer."""
    page = bench.open(fixture="kernel").page
    kind = "buffer" if page.locator(f"[data-buffer='{row}']").count() else "row"
    page.locator(f"[data-{kind}='{row}']").first.click()
    name = row.partition(":")[2] or row
    bench.wait_for(f"document.querySelector('.swb-pal-head b').innerText === '{name}'")
    return page


def form(bench: Bench, row: str, primitive: str) -> Any:
    """Open the form of a legal primitive."""
    page = at(bench, row)
    bench.click(f"[data-swb-legal][data-swb-item={primitive}]")
    return page.locator(f"form[aria-label={primitive}]")


def applied(bench: Bench) -> dict[str, Any]:
    """Arguments of the step that Apply sends."""
    bench.click("[data-swb-apply]:not([aria-disabled=true])")
    bench.wait_for("model.sent.some(m => m.cmd === 'apply')")
    return dict(bench.commands()[-1][1]["step"]["args"])


def test_the_fixture_has_every_primitive_in_a_sort_that_the_palette_knows() -> None:
    slices = json.loads(FIXTURE.read_text())["slices"]
    assert {p["category"] for p in slices["meta"]["primitives"]} <= SORTS


def test_legal_primitives_stand_under_headings_with_the_usual_ones_first(bench: Bench) -> None:
    page = at(bench, "kh")
    groups = page.locator(".swb-pal-part [role=group]")
    titles = groups.evaluate_all("all => all.map(e => e.ariaLabel)")
    assert titles == ["Loops", "How a loop runs", "Where a statement runs"]
    loops = groups.first.locator("[data-swb-item]").evaluate_all("all => all.map(e => e.dataset.swbItem)")
    assert loops[:4] == ["split", "tile", "reorder", "fuse"]
    page.keyboard.press("2")
    assert page.locator("form[aria-label=tile]").count() == 1, "the keys count as the eye does"


def test_a_word_is_chosen_from_a_list(bench: Bench) -> None:
    scope = form(bench, "pad", "set_scope").get_by_label("Memory it lives in").locator("select")
    assert scope.locator("option").all_inner_texts()[:4] == ["auto", "global", "shared", "local"]
    scope.select_option("shared")
    assert applied(bench) == {"buffer": "pad", "scope": "shared"}


def test_a_word_left_open_carries_the_values_that_are_allowed(bench: Bench) -> None:
    shown = form(bench, "pad", "set_scope")
    shown.locator("[data-swb-do=open-more]").click()
    shown.locator("[data-swb-leave=scope]").check()
    allowed = shown.get_by_label("The tuner may choose")
    pressed = "all => all.filter(e => e.ariaPressed === 'true').map(e => e.innerText)"
    assert len(allowed.locator("button").evaluate_all(pressed)) > 1
    for word in allowed.locator("button").evaluate_all(pressed)[1:]:
        allowed.get_by_text(word, exact=True).click()
    assert "allow two values or more" in bench.text(".swb-opinion")
    assert shown.locator("[data-swb-apply]").get_attribute("aria-disabled") == "true"
    for word in ("shared", "local"):
        if word not in allowed.locator("button").evaluate_all(pressed):
            allowed.get_by_text(word, exact=True).click()
    chosen = allowed.locator("button").evaluate_all(pressed)
    assert applied(bench) == {"buffer": "pad", "scope": {"hole": None, "choices": chosen}}


def test_a_loop_left_open_begins_with_the_one_that_stands_there(bench: Bench) -> None:
    shown = form(bench, "kh", "unroll")
    shown.locator("[data-swb-do=open-more]").click()
    shown.locator("[data-swb-leave=loop]").check()
    allowed = shown.get_by_label("The tuner may choose")
    allowed.get_by_text("kh", exact=True).focus()
    assert bench.page.evaluate("document.activeElement.ariaPressed") == "true"
    allowed.get_by_text("c", exact=True).click()
    assert applied(bench) == {"loop": {"hole": None, "choices": ["kh", "c"]}}


def test_factors_of_a_loop_left_open_are_named_after_the_first_of_them(bench: Bench) -> None:
    shown = form(bench, "kh", "split")
    shown.locator("[data-swb-do=open-more]").click()
    shown.locator("[data-swb-leave=loop]").check()
    assert bench.text(".swb-equation").startswith("kh → kh.0")


def test_tile_says_which_factors_are_whose(bench: Bench) -> None:
    shown = form(bench, "kh", "tile")
    names = [text.split()[0] for text in shown.locator(".swb-equation").all_inner_texts()]
    chosen = [shown.get_by_label(text).locator("select").input_value() for text in ("stay outside", "go inside")]
    assert names == chosen
    assert names[0] != names[1]


def test_a_note_takes_any_word_and_a_number_or_a_text(bench: Bench) -> None:
    shown = form(bench, "kh", "annotate")
    key, value = (shown.get_by_label(text) for text in ("What the note is about", "Number or text"))
    assert "prefetch" in shown.locator("datalist option").evaluate_all("all => all.map(e => e.value)")
    assert (key.input_value(), value.input_value()) == ("prefetch", "4")
    value.fill("8")
    bench.wait_for("model.sent.some(m => m.q === 'preview' && m.args.step.args.value === 8)")
    assert bench.sent("ask")[-1]["args"]["step"]["args"] == {"at": "kh", "key": "prefetch", "value": 8}
    key.fill("mine")
    value.fill("often")
    assert applied(bench) == {"at": "kh", "key": "mine", "value": "often"}


def test_other_values_of_an_illegal_primitive_offer_the_axes_of_the_block(bench: Bench) -> None:
    page = at(bench, "stmt:conv")
    item = page.locator("[data-swb-item=pad]")
    if item.count() == 0:
        bench.click("[data-swb-do=rest]")
    if item.get_attribute("aria-disabled") == "true":
        item.click(force=True)
        page.get_by_label("Other values for pad").click()
    else:
        item.click()
    shown = page.locator("form[aria-label=pad]")
    shown.get_by_label("Block to pad").locator("select").select_option("conv")
    axes = shown.get_by_label("Axis of the block").locator("option").all_inner_texts()
    assert axes[-7:] == ["n", "h", "w", "o", "kh", "kw", "c"]


def test_chips_say_what_they_are_about(bench: Bench) -> None:
    page = bench.open(fixture="kernel").page
    chips = {"h": "is-bind", "w.1": "is-unroll", "o.1": "is-vectorize", "kw": "is-note", "c": "is-unit"}
    for row, kind in chips.items():
        chip = page.locator(f"[data-row='{row}'] .swb-chip.{kind}")
        assert chip.count() == 1, row
        assert "\n" in (chip.get_attribute("title") or ""), "the text, and what it means"
    assert page.locator("[data-row='w.0'] .swb-chip.is-buffer").inner_text() == "pad 3×9×64 · local"


def test_buffers_say_how_they_lie(bench: Bench) -> None:
    page = bench.open(fixture="kernel").page
    assert " ".join(page.locator("[data-buffer=pad]").inner_text().split()) == "pad local stride 2 = 16n + 4"
    assert page.locator("[data-buffer=X]").inner_text() == "X"


def test_what_an_instruction_computes_is_only_described(bench: Bench) -> None:
    page = bench.open("tensorized", fixture="kernel").page
    assert page.locator("[data-row='c'] .swb-chip.is-intrin").inner_text() == "x86.amx.bf16"
    inside = page.locator(".is-described").evaluate_all("all => all.map(e => e.dataset.row)")
    assert inside == ["w.1", "o.1", "stmt:conv"]


def test_the_nest_says_that_it_shows_one_choice_of_several(bench: Bench) -> None:
    page = bench.open("chosen", fixture="kernel").page
    said = page.locator(".swb-nest .swb-hole")
    assert said.inner_text() == "1 open choice"
    assert "first choice" in (said.get_attribute("title") or "")
    assert page.locator("[data-swb-do=tune]").inner_text().startswith("Tune 1 open")
