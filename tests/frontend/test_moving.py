"""Moving rows of the nest: a drag and the same by keyboard mean the same step."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import Bench

BAR = ".swb-moving"


def applied(bench: Bench) -> list[dict[str, Any]]:
    return [args["step"] for cmd, args in bench.commands() if cmd == "apply"]


def drag(bench: Bench, row: str, onto: str, *, drop: bool = True) -> None:
    """Take a row by its name and move the pointer over another one."""
    page = bench.page
    box = page.locator(f"[data-row='{row}'] .swb-cell-name").bounding_box()
    page.mouse.move(box["x"] + 60, box["y"] + 13)
    page.mouse.down()
    page.mouse.move(box["x"] + 62, box["y"] + 20, steps=3)
    page.wait_for_selector(".is-place")
    to = page.locator(f"[data-row='{onto}']").bounding_box()
    page.mouse.move(to["x"] + 120, to["y"] + 13, steps=4)
    if drop:
        page.mouse.up()


def by_keys(bench: Bench, row: str, onto: str) -> None:
    """Do the same by keyboard."""
    page = bench.page
    page.locator(f"[data-row='{row}']").focus()
    page.keyboard.press("Space")
    page.keyboard.press("m")
    page.wait_for_selector(".is-place")
    key = "ArrowUp" if page.evaluate(
        "([a, b]) => { const rows = [...document.querySelectorAll('[data-row]')].map(e => e.dataset.row);"
        " return rows.indexOf(b) < rows.indexOf(a); }", [row, onto]) else "ArrowDown"  # fmt: skip
    for _ in range(30):
        if page.locator(f"[data-row='{onto}']:is(.is-before, .is-after, .is-on)").count():
            break
        page.keyboard.press(key)
    page.keyboard.press("Enter")


@pytest.mark.parametrize("way", [drag, by_keys])
@pytest.mark.parametrize(
    ("row", "onto", "loops"), [("i", "k", ["i", "k"]), ("i", "j", ["j", "i"]), ("k", "j", ["i", "j", "k"])]
)
def test_a_loop_goes_where_it_is_dropped(bench: Bench, way: Any, row: str, onto: str, loops: list[str]) -> None:
    page = bench.open(fixture="matmul").page
    way(bench, row, onto)
    bench.wait_for("model.sent.some(m => m.cmd === 'apply')")
    assert applied(bench) == [{"primitive": "reorder", "args": {"loops": loops}}]
    page.wait_for_selector(BAR, state="detached")


@pytest.mark.parametrize("way", [drag, by_keys])
def test_a_stage_dropped_on_a_loop_is_computed_there(bench: Bench, way: Any) -> None:
    bench.open()
    way(bench, "stmt:relu", "h.0")
    bench.wait_for("model.sent.some(m => m.cmd === 'apply')")
    assert applied(bench) == [{"primitive": "reverse_compute_at", "args": {"block": "relu", "loop": "h.0"}}]


def test_a_stage_of_the_drawing_is_moved_into_a_loop_by_keys(bench: Bench) -> None:
    page = bench.open().page
    page.get_by_role("button", name="Stages", exact=True).click()
    page.locator("[data-node='relu']").click()
    page.wait_for_selector("[data-node='relu'][aria-current]")
    page.keyboard.press("m")
    page.wait_for_selector("[data-row='stmt:relu'].is-moving")
    bench.wait_for(f"document.querySelector('{BAR}').textContent.startsWith('relu stays')")
    assert bench.sent("ask")[-1]["args"] == {"row": "stmt:relu"}


@pytest.mark.parametrize("way", [drag, by_keys])
def test_where_it_cannot_go_says_why(bench: Bench, way: Any) -> None:
    page = bench.open().page
    way(bench, "stmt:relu", "c")
    page.wait_for_selector(".swb-pop")
    assert "is not finished" in bench.text(".swb-pop")
    assert page.locator(".swb-row.is-marked").count() >= 1
    assert applied(bench) == []
    assert page.locator(BAR).count() == 0


def test_a_press_that_ends_outside_the_nest_moves_nothing(bench: Bench) -> None:
    page = bench.open(fixture="matmul").page
    row, head = (page.locator(at).bounding_box() for at in ("[data-row=i] .swb-cell-name", ".swb-header"))
    page.mouse.move(row["x"] + 60, row["y"] + 13)
    page.mouse.down()
    page.mouse.move(head["x"] + 60, head["y"] + 5)
    page.mouse.up()
    page.mouse.move(row["x"] + 60, row["y"] + 13)
    page.mouse.move(row["x"] + 64, row["y"] + 40, steps=4)
    assert page.locator(BAR).count() == 0
    assert not any(m["q"] == "drops" for m in bench.sent("ask"))


def test_the_moving_mode_says_what_it_would_do_and_escape_gives_up(bench: Bench) -> None:
    page = bench.open().page
    page.locator("[data-row='c']").focus()
    page.keyboard.press("m")
    page.wait_for_selector("[data-row='kh'].is-place")
    assert bench.text(BAR) == "c stays where it is. ↑ ↓ choose a place, Enter drops, Esc gives up."
    page.keyboard.press("ArrowUp")
    assert bench.text(BAR) == "before kw: reorder(c, kw)"
    bench.wait_for("document.querySelector('.swb-aside[aria-live]').textContent === 'before kw: reorder(c, kw)'")
    grid = page.locator("[role=treegrid]")
    assert page.locator(f"[id='{grid.get_attribute('aria-describedby')}']").inner_text() == "before kw: reorder(c, kw)"
    assert page.locator("[role=treegrid] [role=row][tabindex='0']").count() == 1
    assert page.locator("[data-row='c']").get_attribute("aria-selected") == "true"
    assert bench.focused("data-row") == "c", "the row keeps the focus"
    page.keyboard.press("Home")
    assert bench.text(BAR).startswith("Not before n: 'c' is not perfectly nested in 'n'")
    page.keyboard.press("Escape")
    assert page.locator(BAR).count() == 0
    assert page.locator(".is-place, .is-moving").count() == 0
    page.keyboard.press("ArrowUp")
    assert bench.focused("data-row") == "kw", "arrows walk again"
    assert [m["args"] for m in bench.sent("ask") if m["q"] == "drops"] == [{"row": "c"}]
    assert applied(bench) == []


def test_a_drag_can_be_given_up(bench: Bench) -> None:
    page = bench.open(fixture="matmul").page
    drag(bench, "i", "k", drop=False)
    assert bench.text(BAR) == "before k: reorder(i, k)"
    page.keyboard.press("Escape")
    page.wait_for_selector(BAR, state="detached")
    page.mouse.up()
    drag(bench, "i", "init:C")
    page.wait_for_selector(BAR, state="detached")
    assert applied(bench) == []


def test_a_click_that_trembles_selects(bench: Bench) -> None:
    page = bench.open(fixture="matmul").page
    box = page.locator("[data-row='j'] .swb-loop").bounding_box()
    page.mouse.move(box["x"] + 2, box["y"] + 8)
    page.mouse.down()
    page.mouse.move(box["x"] + 4, box["y"] + 9)
    page.mouse.up()
    assert bench.commands() == [("select", {"id": "j"})]
    assert not any(m["q"] in ("drops", "preview") for m in bench.sent("ask"))


def test_a_drop_before_the_places_are_known_waits_for_them(bench: Bench) -> None:
    page = bench.open(fixture="matmul").page
    page.evaluate("kernel.delay = 300")
    box, to = (page.locator(f"[data-row='{row}']").bounding_box() for row in ("i", "k"))
    page.mouse.move(box["x"] + 60, box["y"] + 13)
    page.mouse.down()
    page.mouse.move(to["x"] + 60, to["y"] + 13, steps=3)
    assert bench.text(BAR) == "Looking where i can go…"
    page.mouse.up()
    bench.wait_for("model.sent.some(m => m.cmd === 'apply')")
    assert applied(bench) == [{"primitive": "reorder", "args": {"loops": ["i", "k"]}}]


def test_a_new_nest_ends_the_moving_mode(bench: Bench) -> None:
    page = bench.open(fixture="matmul").page
    page.locator("[data-row='k']").focus()
    page.keyboard.press("m")
    page.wait_for_selector(".is-place")
    page.evaluate("kernel.put('nest', { ...kernel.slices.nest, hidden: 1 }); kernel.patch(model, kernel.changed)")
    page.wait_for_selector(BAR, state="detached")


def test_at_an_edge_the_nest_scrolls_while_the_pointer_stays(bench: Bench) -> None:
    page = bench.open("large").page
    page.evaluate(
        "kernel.answers.push({ q: 'drops', args: { row: 'l3' }, answer: { ok: true, value: { targets: [] } } })"
    )
    grid = page.locator(".swb-grid")
    grid.evaluate("e => { e.style.maxHeight = '400px'; }")
    box = page.locator("[data-row=l3] .swb-cell-name").bounding_box()
    page.mouse.move(box["x"] + 60, box["y"] + 13)
    page.mouse.down()
    low = grid.bounding_box()
    page.mouse.move(box["x"] + 60, low["y"] + low["height"] - 8, steps=4)
    bench.wait_for("document.querySelector('.swb-grid').scrollTop > 300")
    page.mouse.up()
    stopped = grid.evaluate("""async e => {
        const frames = n => new Promise(done => requestAnimationFrame(() => (n ? frames(n - 1).then(done) : done())));
        await frames(2);
        const before = e.scrollTop;
        await frames(5);
        return e.scrollTop === before;
    }""")
    assert stopped


def test_a_buffer_cannot_be_moved(bench: Bench) -> None:
    page = bench.open(fixture="matmul").page
    page.evaluate(
        "kernel.answers.push({ q: 'drops', args: { row: 'A' }, answer: { ok: true, value: { targets: [] } } })"
    )
    bench.click("[data-buffer=A]")
    page.keyboard.press("m")
    page.wait_for_selector(BAR)
    bench.wait_for(f"document.querySelector('{BAR}').innerText === 'A cannot be moved.'")
    page.keyboard.press("Escape")
    assert page.locator(BAR).count() == 0


def test_a_row_is_moved_among_those_that_are_there_not_in_a_preview(bench: Bench) -> None:
    page = bench.open(fixture="matmul").page
    page.evaluate("""() => {
        const [{ store }] = globalThis[Symbol.for('schedule-workbench')].values();
        const row = { ...store.slice('nest').value.rows.find(one => one.id === 'k'), id: 'k.0', name: 'k.0' };
        const order = ['init:C', 'k.0', 'k', 'i', 'j', 'stmt:C'];
        const answer = { rows: [row], order, verdict: { legal: true } };
        store.ghost.value = { step: 'x', of: store.slice('nest').peek(), answer };
    }""")
    page.wait_for_selector("[data-row='k.0']")
    page.locator("[data-row=i]").focus()
    page.keyboard.press("Space")
    page.keyboard.press("m")
    page.wait_for_selector("[data-row=k].is-place")
    assert page.locator("[data-row='k.0']").count() == 0
    page.keyboard.press("Escape")
    page.wait_for_selector("[data-row='k.0']")


COUNTED = """() => {
    const { animate } = Element.prototype;
    window.glides = [];
    Element.prototype.animate = function (frames, options) {
        if (this.dataset.row) glides.push([this.dataset.row, frames[0].transform]);
        return animate.call(this, frames, options);
    };
}"""
REORDERED = """order => {
    const { rows } = kernel.slices.nest;
    const at = id => ({ ...rows.find(row => row.id === id) });
    const parents = [null, ...order];
    const loops = order.map((id, n) => ({ ...at(id), parent: parents[n] }));
    kernel.put('nest', { ...kernel.slices.nest, rows: [at('init:C'), ...loops, at('stmt:C')] });
    kernel.patch(model, kernel.changed);
}"""


def reorder(bench: Bench, order: list[str]) -> list[list[str]]:
    """Send the nest in another order; which rows glide, and from where."""
    bench.page.evaluate("glides.length = 0")
    bench.page.evaluate(REORDERED, order)
    bench.wait_for(f"document.querySelectorAll('[data-row]')[1].dataset.row === '{order[0]}'")
    return list(bench.page.evaluate("glides"))


def test_rows_glide_to_their_new_places_and_folding_moves_them_at_once(bench: Bench) -> None:
    page = bench.open(fixture="matmul").page
    page.evaluate(COUNTED)
    height = page.locator("[data-row]").evaluate_all("all => [...new Set(all.map(e => e.offsetHeight))].join()")
    assert height == "26"
    assert reorder(bench, ["i", "k", "j"]) == [["i", "translateY(26px)"], ["k", "translateY(-26px)"]]
    page.evaluate("glides.length = 0")
    bench.click("[data-row=i] .swb-twist")
    page.wait_for_selector("[data-row=j]", state="detached")
    bench.click("[data-row=i] .swb-twist")
    page.wait_for_selector("[data-row=j]")
    assert page.evaluate("glides") == []


ADDED = """() => {
    const { rows } = kernel.slices.nest;
    const at = rows.findIndex(one => one.id === 'j');
    const more = rows.toSpliced(at, 0, { ...rows[at], id: 'j.0', name: 'j.0' });
    kernel.put('nest', { ...kernel.slices.nest, rows: more });
    kernel.patch(model, kernel.changed);
}"""


def test_rows_that_make_room_for_others_do_not_glide(bench: Bench) -> None:
    page = bench.open(fixture="matmul").page
    page.evaluate(COUNTED)
    page.evaluate(ADDED)
    page.wait_for_selector("[data-row='j.0']")
    assert page.evaluate("glides") == []


def test_with_reduced_motion_nothing_glides(bench: Bench) -> None:
    bench.page.emulate_media(reduced_motion="reduce")
    bench.open(fixture="matmul").page.evaluate(COUNTED)
    assert reorder(bench, ["i", "k", "j"]) == []


def test_without_a_kernel_nothing_moves_and_it_is_said(bench: Bench) -> None:
    page = bench.open("dead").page
    page.locator("[data-row=c]").focus()
    page.keyboard.press("m")
    bench.wait_for("[...document.querySelectorAll('.swb-note')].some(e => e.innerText.includes('run the cell again'))")
    assert page.locator(BAR).count() == 0
    assert not any(m["q"] == "drops" for m in bench.sent("ask"))


def test_a_refused_question_ends_the_moving_mode(bench: Bench) -> None:
    page = bench.open(fixture="matmul").page
    page.locator("[data-row=j]").focus()
    page.keyboard.press("Space")
    page.keyboard.press("m")
    bench.wait_for(
        "document.querySelector('.swb-note.is-error, .swb-note')?.innerText.includes('Nothing was recorded')"
    )
    assert page.locator(BAR).count() == 0


def test_the_place_says_what_it_would_do_to_the_estimate(bench: Bench) -> None:
    page = bench.open(fixture="matmul").page
    page.evaluate("""() => {
        const old = kernel.preview;
        const estimates = { before: { ms: 450, bytes: {} }, estimate: { ms: 186, bytes: {} } };
        kernel.preview = step => ({ ...old.call(kernel, step), ...estimates });
    }""")
    drag(bench, "i", "k", drop=False)
    bench.wait_for("() => document.querySelector('.swb-grid').style.getPropertyValue('--swb-drop')")
    told = page.eval_on_selector(
        "[data-row=k] .swb-cell-name", "e => getComputedStyle(e, '::after').content.replaceAll('\"', '')"
    )
    assert told == "≈ 450 → 186 ms"
    assert f"{told} est., " in bench.text(BAR)
    page.mouse.up()
