"""What is shown: roles, rows, holes, empty states, and how long a large nest takes."""

from __future__ import annotations

import re

import pytest

from .conftest import Bench


def test_the_nest_is_a_tree_grid_with_costs_in_words_and_one_tab_stop(bench: Bench) -> None:
    page = bench.open().page
    rows = page.get_by_role("treegrid").locator("[role=row][data-row]")
    assert rows.count() == 16
    loop = page.locator("[data-row='o.1']")
    assert loop.get_attribute("aria-level") == "9"
    assert loop.get_attribute("aria-expanded") == "true"
    assert "loop o.1, extent 16, vectorize" in (loop.get_attribute("aria-label") or "")
    assert "16 27.9 M" in bench.text("[data-row='o.1']")
    assert loop.locator(".swb-chip svg").count() == 1  # an icon and the words beside it
    assert page.locator(".swb-grid [role=row][tabindex='0']").count() == 1
    assert page.locator("[data-row='c'][aria-selected='true']").count() == 1
    assert bench.text("[data-row='stmt:conv']").startswith("conv[h.1, w, o.1] += pad(X")


@pytest.mark.parametrize("width", ["866", "700"])
def test_the_best_stays_in_sight_beside_a_comparison(bench: Bench, width: str) -> None:
    page = bench.open(width=width).page
    line = page.locator(".swb-figures").bounding_box()
    best = page.locator(".swb-figure", has_text="best").bounding_box()
    assert line is not None
    assert best is not None
    assert best["y"] + best["height"] <= line["y"] + line["height"] + 1
    assert best["x"] >= line["x"]


def test_folded_stages_take_no_column_of_their_own(bench: Bench) -> None:
    page = bench.open(fixture="matmul").page
    boxes = [page.locator(name).bounding_box() for name in (".swb-schedule", ".swb-area-nest", ".swb-area-left")]
    whole, nest, left = (box or {} for box in boxes)
    assert nest["x"] == whole["x"]
    assert left["y"] >= nest["y"] + nest["height"]


def test_numbers_of_the_header_come_from_the_kernel(bench: Bench) -> None:
    bench.open()
    head = bench.text(".swb-header")
    assert "light_squeezenet › conv2d 3x3 16→64 @55x55 + bias + relu called 2 times · 56.1 MFLOP per call" in head
    assert (
        "v7 1.34 ms ± 0.78 cannot tell from v6, 13.3× as fast as v0 not in a log best by hand 1.33 ms, timed once "
        "9.1 % of 460 GFLOP/s peak 41.9 GFLOP/s" in head
    )
    assert "x86-64 · 2 threads · AVX-512 · L1 48 KB · L2 2 MB" in bench.text(".swb-foot")


def test_only_panels_with_content_are_shown(bench: Bench) -> None:
    page = bench.open(fixture="matmul").page
    shown = page.eval_on_selector_all("[data-swb-panel]", "all => all.map(e => e.dataset.swbPanel)")
    places = ["nest", "accesses", "leave_one_out", "cache", "palette", "stages", "variants", "comparison"]
    assert shown == places


def test_a_large_nest_says_how_much_is_hidden_and_is_painted_fast(bench: Bench) -> None:
    page = bench.open("large", panel="nest").page
    bench.wait_for("document.querySelectorAll('[data-row]').length === 400")
    assert bench.text(".swb-more") == "452 more rows hidden: only the first 400 are shown"
    paint = """async () => {
      const place = document.getElementById('place'), times = [];
      for (let i = 0; i < 5; i++) {
        unmount();
        await new Promise(requestAnimationFrame);
        const start = performance.now();
        window.unmount = widget.render({ model, el: place });
        const rows = place.querySelectorAll('[data-row]').length;
        place.getBoundingClientRect();
        times.push([performance.now() - start, rows]);
        while (place.querySelectorAll('[data-row]').length < 400) await new Promise(requestAnimationFrame);
      }
      return times;
    }"""
    times = page.evaluate(paint)
    assert min(rows for _, rows in times) >= 40  # more than the grid shows
    assert min(ms for ms, _ in times) < 100


def test_folding_hides_what_is_inside(bench: Bench) -> None:
    page = bench.open().page
    bench.click("[data-row='h.1'] .swb-twist")
    assert page.locator("[data-row='o.1']").count() == 0
    assert page.locator("[data-row='relu_n']").count() == 1
    assert page.locator("[data-row='h.1']").get_attribute("aria-expanded") == "false"


@pytest.mark.parametrize(
    ("panel", "words"),
    [("nest", "No schedule is open"), ("palette", "Nothing to change yet"), ("variants", "No steps yet")],
)
def test_an_empty_panel_says_what_to_do(bench: Bench, panel: str, words: str) -> None:
    bench.open("empty", panel=panel)
    assert bench.text("#place").startswith(words)


def test_without_any_panel_the_workbench_says_what_to_pass(bench: Bench) -> None:
    bench.open("nothing")
    assert "Nothing is open Pass a model, a task, a schedule or a tuning log" in bench.text("#place")


def test_history_has_shapes_before_colours_and_the_full_error_on_demand(bench: Bench) -> None:
    page = bench.open("mixed").page
    assert page.locator(".swb-step .swb-shape rect").count() == 2  # the tuner's
    assert page.locator(".swb-step .swb-shape.is-open").count() == 1
    assert page.locator(".swb-step .swb-shape.is-failed").count() == 1
    assert page.locator(".swb-step.is-undone").count() == 2
    assert "2 open" in bench.text("[aria-current=step]")
    bench.open("failed")
    assert "wrong answer" in bench.text("[aria-current=step]")
    bench.click("text=Why?")
    assert "The kernel was not timed." in bench.text(".swb-why pre")


@pytest.mark.parametrize("width", ["1300", "1000", "700", "420"])
@pytest.mark.parametrize("state", ["normal", "failed", "large"])
def test_nothing_sticks_out(bench: Bench, width: str, state: str) -> None:
    page = bench.open(state, width=width).page
    out = page.evaluate("""() => {
      const box = document.querySelector('.swb').getBoundingClientRect();
      const free = e => e.closest('.swb-steps, .swb-aside, svg, dialog, .swb-cell-name, .swb-tasks-scroll');
      return [...document.querySelectorAll('.swb *')].filter(e => !free(e) && e.getClientRects().length)
        .filter(e => e.getBoundingClientRect().right > box.right + 1)
        .map(e => e.className + ' ' + e.textContent.slice(0, 40));
    }""")
    assert out == []


def test_truncated_names_have_a_title(bench: Bench) -> None:
    page = bench.open(width="700").page
    bare = page.evaluate("""() => [...document.querySelectorAll('.swb *')]
      .filter(e => getComputedStyle(e).textOverflow === 'ellipsis' && e.scrollWidth > e.clientWidth + 1)
      .filter(e => !e.closest('[title]') && e.textContent).map(e => e.className + ': ' + e.textContent)""")
    assert bare == []


def test_the_header_is_as_high_whatever_it_says_and_apply_is_in_sight(bench: Bench) -> None:
    page = bench.open().page
    high = "document.querySelector('.swb-header').offsetHeight"
    before = page.evaluate(high)
    page.evaluate("document.querySelector('.swb-figure.is-main').lastChild.textContent += ' and more'.repeat(30)")
    assert page.evaluate(high) == before
    page.evaluate("document.querySelector('.swb-area-palette').style.height = '300px'")
    bench.click("[data-swb-legal][data-swb-item=tile]")
    page.wait_for_selector("[data-swb-apply]")
    assert page.evaluate("""() => {
        const box = document.querySelector('.swb-area-palette');
        box.scrollTop = 0;
        document.querySelector('[data-swb-item=tile]').scrollIntoView();
        const end = e => e.getBoundingClientRect().bottom;
        return end(document.querySelector('[data-swb-apply]')) <= end(box);
    }""")


def test_a_speed_above_the_peak_has_a_mark_and_a_sentence(bench: Bench) -> None:
    page = bench.open().page
    why = "Winograd's algorithm (tiles of 4×4) does 4.00× fewer multiplications than are counted"
    assert page.locator("[data-swb-value=above]").count() == 0
    page.evaluate(
        """why => {
            const { head, meta, tasks } = kernel.slices;
            const rows = tasks.rows.map((row, i) => i ? row : { ...row, gflops: 600, above: why });
            const near = { ...head, peak_share: 1.61, above: why };
            kernel.patch(model, { head: { '=': near }, tasks: { '=': { ...tasks, rows } },
                                  meta: { '=': { ...meta, peak_measured: false } } });
        }""",
        why,
    )
    assert bench.text("[data-swb-value=above]") == f"* {why}."
    assert re.search(r"^161 %\* of ≈ 460", bench.text(".swb-figure:has(.swb-peak)"))
    assert "one core's times the threads" in page.locator(".swb-figure:has(.swb-peak)").get_attribute("title")
    page.locator("[data-swb-tab=tuning]").click()
    marked = page.locator(f'.swb-tasks td[title="{why}"]')
    assert marked.count() == 1
    assert marked.inner_text().endswith("%*")


LONG = """() => { const { head } = kernel.slices;
    kernel.put('head', { ...head, remark: '0.217 ms when it was sent, 39.0× as fast as v0 there',
                         best_why: 'trial 128 of the log has lost a comparison' });
    kernel.patch(model, kernel.changed); }"""
CUT = """() => { const box = document.querySelector('.swb-figures'), { bottom } = box.getBoundingClientRect();
    return [...box.querySelectorAll('span, b')].filter(e => e.getBoundingClientRect().top < bottom - 4
        && e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0).map(e => e.textContent); }"""


@pytest.mark.parametrize("width", ["700", "866", "1000", "1280", "1560"])
def test_no_number_of_the_header_is_cut(bench: Bench, width: str) -> None:
    page = bench.page
    page.set_viewport_size({"width": 1600, "height": 900})
    try:
        bench.open(width=width)
        page.evaluate(LONG)
        page.wait_for_function("() => document.querySelector('.swb-header').innerHTML.includes('39.0×')")
        assert page.evaluate(CUT) == []
        assert page.locator(".swb-figure.is-main b").first.is_visible()
        best, line = (page.locator(s).first.bounding_box() for s in (".swb-figure:has(.swb-who)", ".swb-figures"))
        assert best["y"] + best["height"] <= line["y"] + line["height"] + 1
    finally:
        page.set_viewport_size({"width": 1300, "height": 900})
