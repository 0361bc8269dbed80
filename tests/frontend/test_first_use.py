"""What somebody stumbled over who had never seen the workbench before."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import Bench

ROOT_HAS_FOCUS = "document.activeElement.matches('.swb')"
SPLIT = "[data-swb-legal][data-swb-item=split]"
HOST_LISTS = (
    ".host dt { float: left; width: 20%; font-weight: bold } .host dd { margin-left: 21%; width: 80%; display: block }"
)


def put(bench: Bench, name: str, change: str) -> None:
    """Change a slice as the kernel would; `change` edits `it`."""
    script = """([name, change]) => {
      const it = structuredClone(kernel.slices[name]);
      new Function('it', change)(it);
      kernel.put(name, it);
      kernel.patch(model, kernel.changed);
    }"""
    bench.page.evaluate(script, [name, change])


@pytest.mark.parametrize("plain", [".swb-figures", ".swb-foot-target", ".swb-accesses caption", ".swb-crumb b"])
def test_a_click_on_what_cannot_have_the_focus_gives_it_to_the_view(bench: Bench, plain: str) -> None:
    page = bench.open(fixture="matmul").page
    bench.click(plain)
    assert page.evaluate(ROOT_HAS_FOCUS)
    page.keyboard.press("n")
    assert bench.focused("role") == "row"


def test_a_click_neither_takes_the_focus_from_a_field_nor_keeps_text_from_being_selected(bench: Bench) -> None:
    page = bench.open(fixture="matmul").page
    bench.click(SPLIT)
    bench.click(".swb-size")
    assert page.evaluate("document.activeElement.matches('input.swb-size')")
    page.dblclick(".swb-accesses td:nth-child(2)", position={"x": 8, "y": 10})
    assert page.evaluate("String(getSelection()).trim()") == "read"


def test_a_chart_that_holds_the_pointer_back_leaves_the_focus_in_the_view_all_the_same(bench: Bench) -> None:
    page = bench.open(fixture="matmul").page
    page.evaluate("document.querySelector('.swb-foot').addEventListener('mousedown', event => event.preventDefault())")
    bench.click(".swb-foot-target")
    assert page.evaluate(ROOT_HAS_FOCUS)


def test_lists_look_the_same_in_a_host_that_floats_their_terms(bench: Bench) -> None:
    page = bench.open(fixture="matmul", width="1000").page
    page.add_style_tag(content=HOST_LISTS)
    page.evaluate("document.getElementById('place').classList.add('host')")
    bench.click("[data-swb-do=export]")
    bench.wait_for("""() => { const all = [...document.querySelectorAll('.swb-export dt button')];
        return all.length === 4 && all.every(one => one.clientWidth >= 100 && one.scrollWidth <= one.clientWidth); }""")
    bench.click("[data-swb-export=script]")
    bench.wait_for("document.querySelector('.swb-export-said').innerText.includes('downloads')")


def test_a_form_shows_the_estimate_before_and_after_its_step(bench: Bench) -> None:
    page = bench.open(fixture="matmul").page
    page.evaluate("""() => {
      const plain = kernel.preview.bind(kernel), ms = (ms) => ({ ms, low: ms, high: ms, bytes: {}, intensity: null });
      kernel.answers = [];
      kernel.preview = step => ({ ...plain(step), before: ms(361), estimate: ms(7.16) });
    }""")
    bench.click(SPLIT)
    page.wait_for_selector(".swb-effects")
    assert bench.text(".swb-effects").endswith("estimate ≈ 361 → 7.16 ms 50.4× as fast")
    assert bench.text(".swb-effects").startswith("working set k 3.00 MB → k.1 "), (
        "each size is that of the loop it stands beside"
    )


def test_a_form_is_closed_when_another_variant_is_shown(bench: Bench) -> None:
    page = bench.open().page
    bench.click(SPLIT)
    page.wait_for_selector(".swb-form")
    bench.click("[data-swb-do=undo]")
    page.wait_for_function("() => !document.querySelector('.swb-form')")
    assert page.locator(".swb-previews").count() == 0


def test_a_form_that_is_not_in_use_does_not_go_to_what_is_not_legal(bench: Bench) -> None:
    page = bench.open().page
    bench.click(SPLIT)
    page.wait_for_selector(".swb-form")
    page.focus(".swb-nest [role=row][tabindex='0']")
    put(
        bench, "palette", "Object.assign(it.rows.find(one => one.id === 'split'), { legal: false, reason: 'Not now.' })"
    )
    page.wait_for_selector(".swb-illegal [data-swb-item=split]")
    assert page.locator(".swb-form").count() == 0


def test_a_comparison_says_what_to_do_next(bench: Bench) -> None:
    page = bench.open().page
    nodes = page.locator("[data-step]")
    nodes.nth(1).click(modifiers=["Shift"])
    assert "is marked. Now choose the other variant" in bench.text(".swb-comparing")
    nodes.nth(2).focus()
    assert bench.text("[data-swb-do=compare]").startswith("Compare with v")
    bench.click("[data-swb-do=compare]")
    assert "→" in bench.text(".swb-comparing b")
    bench.click("[data-swb-tab=nest], [role=tab]:has-text('Loop nest')")
    bench.click("[data-swb-do=open-diff]")
    page.wait_for_selector(".swb-diff")
    bench.click("[data-swb-do=unmark]")
    assert page.locator(".swb-comparing, .swb-step.is-marked").count() == 0


def test_the_tree_says_steps_in_few_letters_and_best_before_a_name(bench: Bench) -> None:
    page = bench.open().page
    put(
        bench,
        "history",
        "Object.assign(it.rows.find(one => one.id === it.best), { short: 'split i.1 → 8', name: 'as wide as it is' })",
    )
    best = page.locator(".swb-step:has(.is-best)")
    page.wait_for_function("() => document.querySelector('.swb-tree').innerText.includes('split i.1 → 8')")
    assert " best as wide" in " ".join(best.locator(".swb-step-id").inner_text().split())


def test_a_measurement_that_goes_on_is_seen(alone: Bench) -> None:
    page = alone.open(fixture="matmul").page
    assert alone.text("[data-swb-do=measure]").startswith("Measure ")
    page.clock.install()
    put(alone, "history", "it.rows.find(one => one.id === it.at).status = 'measuring'")
    page.wait_for_selector(".swb-figure.is-main.is-old")
    page.clock.run_for(6100)
    assert alone.text("[data-swb-do=measure]") == "Measuring… 6 s"
    put(alone, "history", "it.rows.find(one => one.id === it.at).status = 'ok'")
    page.clock.run_for(100)
    assert alone.text("[data-swb-do=measure]").startswith("Measure ")


def steps(page: Any) -> list[str]:
    return [" ".join(text.split()) for text in page.locator("[data-access] td:nth-child(3)").all_inner_texts()]


def test_long_steps_stand_out_in_an_innermost_loop_only(bench: Bench) -> None:
    page = bench.open(fixture="matmul").page
    assert steps(page)[1] == "2048 bytes, a new line each time"
    assert page.locator("[data-access] .swb-careful").count() == 0
    put(bench, "accesses", "it.row = kernel.slices.nest.rows.filter(one => one.kind === 'loop').pop().id")
    page.wait_for_selector("[data-access] .swb-careful")
    assert steps(page)[1] == "▲ 2048 bytes, a new line each time"
    assert steps(page)[2].startswith("same element"), "what stays where it is costs nothing"
    put(bench, "meta", "it.line = 4096")
    page.wait_for_selector("[data-access] .swb-careful", state="detached")


def test_what_is_not_legal_takes_one_line_until_it_is_pressed(bench: Bench) -> None:
    page = bench.open(fixture="matmul", width="1000").page
    items = page.locator(".swb-illegal:has(> [data-swb-item])")
    assert items.count() > 1
    assert max(items.nth(k).bounding_box()["height"] for k in range(items.count())) < 30
    first = items.first
    first.locator("[data-swb-item]").click(force=True)
    assert first.locator("[data-swb-item]").get_attribute("aria-expanded") == "true"
    assert first.bounding_box()["height"] > 30


def test_nest_and_tree_stand_on_one_screen(bench: Bench) -> None:
    page = bench.open(fixture="matmul", width="1000").page
    assert page.locator(".swb-tree").bounding_box()["y"] < 850
    assert page.locator(".swb-dag").count() == 0
    bench.click("[data-swb-do=stages]")
    assert page.locator(".swb-dag").count() == 1
