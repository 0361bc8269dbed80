"""How the room is divided: splitters by keyboard and mouse, one panel alone, the graph first, nothing cut."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import Bench

WIDTH = "s => document.querySelector(s).getBoundingClientRect().width"
HEIGHT = "s => document.querySelector(s).getBoundingClientRect().height"
SHOWN = (
    "[...document.querySelectorAll('[data-swb-panel]')].filter(e => e.checkVisibility()).map(e => e.dataset.swbPanel)"
)
OVER = """[...document.querySelectorAll('.swb *')].filter(e => e.checkVisibility() && !e.closest('svg, .swb-aside') &&
    e.getBoundingClientRect().right > document.querySelector('.swb').getBoundingClientRect().right + 1).length"""


@pytest.fixture
def wide(alone: Bench) -> Bench:
    """A page that remembers nothing of the other tests."""
    alone.page.set_viewport_size({"width": 1600, "height": 1000})
    return alone.open(width="1560")


def splitter(bench: Bench, part: str) -> Any:
    return bench.page.locator(f".swb-splitter.is-{part}")


@pytest.mark.parametrize(
    ("part", "of", "more", "size"),
    [
        ("left", ".swb-area-left", "ArrowRight", WIDTH),
        ("right", ".swb-area-palette", "ArrowLeft", WIDTH),
        ("drawing", ".swb-slot-graph", "ArrowDown", HEIGHT),
    ],
)
def test_a_splitter_goes_by_keyboard_and_is_remembered(wide: Bench, part: str, of: str, more: str, size: str) -> None:
    page, grip = wide.page, splitter(wide, part)
    usual = page.evaluate(size, of)
    grip.focus()
    page.keyboard.press(more)
    page.keyboard.press(f"Shift+{more}")
    assert page.evaluate(size, of) == pytest.approx(usual + 112, abs=2)
    assert float(grip.get_attribute("aria-valuenow")) == pytest.approx(usual + 112, abs=2)
    assert not wide.commands(), "no key of the nest was meant"
    page.reload()
    page.wait_for_function("() => window.settled")
    page.evaluate("window.settled")
    assert page.evaluate(size, of) == pytest.approx(usual + 112, abs=2)
    grip.focus()
    page.keyboard.press("Home")
    assert grip.get_attribute("aria-valuenow") == grip.get_attribute("aria-valuemin")
    page.keyboard.press("Enter")
    assert page.evaluate(size, of) == pytest.approx(usual, abs=2)


def test_a_splitter_is_dragged_and_a_double_click_takes_it_back(wide: Bench) -> None:
    page, usual = wide.page, wide.page.evaluate(WIDTH, ".swb-area-left")
    box = splitter(wide, "left").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + 200
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 150, y, steps=4)
    page.mouse.up()
    page.mouse.move(x, y)
    assert page.evaluate(WIDTH, ".swb-area-left") == pytest.approx(usual + 150, abs=3)
    splitter(wide, "left").dblclick(position={"x": 4, "y": 300})
    assert page.evaluate(WIDTH, ".swb-area-left") == pytest.approx(usual, abs=2)


def test_what_the_browser_remembers_cannot_take_the_nest_away(alone: Bench) -> None:
    page = alone.open(width="1260").page
    for kept in ('{"left": 99999, "right": 99999, "drawing": "much"}', "nothing of the kind", "null"):
        page.evaluate("kept => localStorage.setItem('schedule-workbench:room', kept)", kept)
        page.reload()
        page.wait_for_function("() => window.settled")
        page.evaluate("window.settled")
        assert page.evaluate(WIDTH, ".swb-area-nest") >= 100
        assert page.evaluate(OVER) == 0


@pytest.mark.parametrize(
    ("focus", "panel"), [(".swb-nest [data-row='c']", "nest"), (".swb-tasks [tabindex='0']", "tasks")]
)
def test_a_key_gives_a_panel_all_the_room_and_takes_it_back(bench: Bench, focus: str, panel: str) -> None:
    page = bench.open().page
    before = page.evaluate(SHOWN)
    page.locator(focus).first.focus()
    page.keyboard.press("w")
    assert page.evaluate(SHOWN) == [panel]
    assert page.evaluate("document.activeElement.closest('[data-swb-panel]').dataset.swbPanel") == panel
    page.keyboard.press("Escape" if panel == "nest" else "w")
    assert page.evaluate(SHOWN) == before


@pytest.mark.parametrize("panel", ["graph", "tasks", "nest", "palette", "variants"])
def test_every_panel_has_a_button_for_it(bench: Bench, panel: str) -> None:
    page = bench.open().page
    before = page.evaluate(SHOWN)
    page.locator(f"[data-swb-panel={panel}]").first.hover()
    page.locator(f"[data-swb-panel={panel}] > [data-swb-do=whole]").click()
    assert page.evaluate(SHOWN) == [panel]
    page.locator("[data-swb-do=all]").click()
    assert page.evaluate(SHOWN) == before


def test_a_key_for_another_panel_brings_it_back_and_a_tab_stays_alone(bench: Bench) -> None:
    page = bench.open().page
    page.locator(".swb-nest [data-row='c']").focus()
    page.keyboard.press("w")
    page.locator("[data-swb-tab=code]").click()
    assert page.evaluate(SHOWN) == ["code"]
    page.keyboard.press("p")
    bench.wait_for("document.activeElement.closest('.swb-pal')")
    assert "palette" in page.evaluate(SHOWN)


def test_the_sheet_has_the_key(bench: Bench) -> None:
    page = bench.open().page
    page.locator(".swb-nest [data-row='c']").focus()
    page.keyboard.press("?")
    assert "all the room for the panel with the focus" in bench.text(".swb-sheet")
    page.keyboard.press("Escape")


def test_a_model_that_was_just_opened_shows_its_graph_first(bench: Bench) -> None:
    page = bench.open("fresh").page
    graph, nest = (page.locator(s).bounding_box() for s in (".swb-slot-graph", ".swb-area-nest"))
    assert graph["height"] >= 420
    assert graph["y"] + graph["height"] <= nest["y"]
    page.locator(".swb-tasks tbody tr").nth(2).click()
    bench.wait_for("!document.querySelector('.is-graph-first')")
    graph, nest = (page.locator(s).bounding_box() for s in (".swb-slot-graph", ".swb-area-nest"))
    assert graph["x"] + graph["width"] <= nest["x"] + 1, "beside the nest, as soon as there is something to do"


def test_advice_is_in_sight_with_the_rows_and_taking_it_does_not_jump(bench: Bench) -> None:
    page = bench.page
    page.set_viewport_size({"width": 1300, "height": 460})
    try:
        bench.open(fixture="matmul")
        button = page.locator("[data-reason=scalar] button")
        button.wait_for()
        page.evaluate("window.scrollTo(0, 60)")
        row, box = (one.bounding_box() for one in (page.locator("[data-row='j']"), button))
        assert 0 <= row["y"] < box["y"] <= 460 - box["height"], "both are on the screen"
        button.click()
        bench.wait_for("model.sent.some(m => m.cmd === 'apply')")
        page.wait_for_timeout(100)
        assert page.evaluate("scrollY") == 60
        assert bench.focused("data-row") is not None
    finally:
        page.set_viewport_size({"width": 1300, "height": 900})


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", ["1000", "1280", "1920", "2560"])
def test_nothing_sticks_out_from_1000_to_2560_pixels(bench: Bench, width: str, theme: str) -> None:
    page = bench.page
    page.set_viewport_size({"width": int(width) + 24, "height": 1000})
    try:
        bench.open(width=width, theme=theme)
        assert page.evaluate(OVER) == 0
        assert page.evaluate(WIDTH, ".swb") == pytest.approx(int(width), abs=2), "all of the room is used"
        for panel in ("graph", "tasks", "palette"):
            assert page.locator(f"[data-swb-panel={panel}]").is_visible()
    finally:
        page.set_viewport_size({"width": 1300, "height": 900})


MANY = """() => {
    const { tasks } = kernel.slices;
    const rows = [...Array(66).keys()].map(id => ({ ...tasks.rows[id % tasks.rows.length], id, name: `task ${id}` }));
    kernel.put('tasks', { ...tasks, rows });
    kernel.patch(model, kernel.changed); }"""
BELOW = """() => { const box = document.querySelector('.swb-tasks-scroll'), row = box.querySelector('tbody tr');
    const hidden = Math.round((box.scrollHeight - box.clientHeight - box.scrollTop) / row.clientHeight);
    return document.querySelector('.swb-below')?.innerText.startsWith(`↓ ${hidden} more tasks below`); }"""


@pytest.mark.parametrize("width", ["700", "1560"])
def test_many_tasks_leave_the_nest_in_sight_and_can_all_be_shown(bench: Bench, width: str) -> None:
    page = bench.page
    page.set_viewport_size({"width": 1600, "height": 1000})
    try:
        bench.open("fresh", width=width)
        page.evaluate(MANY)
        bench.wait_for("document.querySelectorAll('.swb-tasks tbody tr').length === 66")
        nest = page.locator(".swb-area-nest").bounding_box()
        assert nest["y"] < 900, "its first rows are on the screen"
        assert page.evaluate(HEIGHT, ".swb-tasks-scroll") < 400
        bench.wait_for(BELOW)
        page.add_style_tag(content=".swb-tasks tbody td { height: 30px !important }")
        bench.wait_for(BELOW)  # rows have become higher, the box is as high as before
        bench.click("[data-swb-do=all-tasks]")
        bench.wait_for("document.querySelector('.swb-tasks-scroll').clientHeight > 66 * 22")
        bench.click("[data-swb-do=all-tasks]")
        bench.wait_for(BELOW)
    finally:
        page.set_viewport_size({"width": 1300, "height": 900})
        page.spoiled = True  # it has another style


def test_a_very_wide_view_shows_the_nest_and_its_code_side_by_side(bench: Bench) -> None:
    page = bench.page
    try:
        page.set_viewport_size({"width": 2424, "height": 1000})
        bench.open(width="2400")
        page.wait_for_selector(".swb-slot-code .swb-lines")
        nest, code = (page.locator(s).bounding_box() for s in (".swb-slot-nest", ".swb-slot-code"))
        assert nest["x"] + nest["width"] <= code["x"] + 1
        assert min(nest["width"], code["width"]) > 500
        assert page.evaluate("(s => s.scrollWidth - s.clientWidth)(document.querySelector('.swb'))") <= 1
        page.locator(".swb-nest [data-row='c']").focus()
        page.keyboard.press("c")
        page.wait_for_function("() => document.activeElement.closest('.swb-slot-code')")
        assert page.locator(".swb-slot-nest").is_visible()
        page.keyboard.press("d")
        bench.wait_for("!document.querySelector('.swb-slot-code') && !document.querySelector('.swb-slot-nest')")
    finally:
        page.set_viewport_size({"width": 1300, "height": 900})


def test_what_was_unfolded_is_open_when_somebody_comes_back(bench: Bench) -> None:
    page = bench.open().page
    bench.click("[data-swb-do=comparison]")
    page.wait_for_selector(".swb-choice")
    bench.click("[data-swb-tab=tuning]")
    bench.wait_for("!document.querySelector('.swb-choice')")
    bench.click("[data-swb-tab=schedule]")
    page.wait_for_selector(".swb-choice")
