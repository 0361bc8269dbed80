"""The loop nest: its rows, what stands beside them, and what they would be after a step."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import Bench

GHOST = """answer => {
    const [{ store }] = globalThis[Symbol.for('schedule-workbench')].values();
    store.ghost.value = answer && { step: 'split(k, [rest, 16])', of: store.slice('nest').peek(), answer };
}"""
SHOWN = "[...document.querySelectorAll('.swb-grid [data-row]')].map(e => e.dataset.row)"


def answer(rows: list[dict[str, Any]], order: list[str], gone: list[str]) -> dict[str, Any]:
    """What the kernel says of a legal step."""
    verdict = {"legal": True, "code": "", "reason": "", "hint": "", "where": [], "witness": None}
    return {"verdict": verdict, "makes": [], "rows": rows, "order": order, "gone": gone, "ws": [], "estimate": None}


def split_k(bench: Bench) -> dict[str, Any]:
    """``split(k, [None, 16])`` of the matrix product, whose order is k, i, j."""
    old = {r["id"]: r for r in bench.page.evaluate("kernel.slices.nest.rows")}
    outer = {**old["k"], "id": "k.0", "name": "k.0", "extent": 32, "depth": 0, "iters": 32}
    inner = {**old["k"], "id": "k.1", "name": "k.1", "extent": 16, "depth": 1, "parent": "k.0"}
    i = {**old["i"], "depth": 2, "parent": "k.1"}
    deeper = [{**old[name], "depth": old[name].get("depth", 0) + d} for name, d in (("j", 3), ("stmt:C", 4))]
    order = ["init:C", "k.0", "k.1", "i", "j", "stmt:C"]
    return answer([outer, inner, i, *deeper], order, ["k"])


def test_a_preview_is_drawn_as_ghost_rows_and_taken_away(bench: Bench) -> None:
    page = bench.open(fixture="matmul").page
    before = page.evaluate(SHOWN)
    kept = page.query_selector("[data-row=i]")
    page.evaluate(GHOST, split_k(bench))
    page.wait_for_selector("[data-row='k.0'].is-ghost")
    assert page.evaluate(SHOWN) == ["init:C", "k.0", "k.1", "i", "j", "stmt:C"]
    assert page.locator(".swb-row.is-ghost").evaluate_all("all => all.map(e => e.dataset.row)") == ["k.0", "k.1"]
    assert page.locator("[data-row='k.0'] .swb-loop").evaluate("e => getComputedStyle(e).fontStyle") == "italic"
    assert page.locator("[data-row='k.0']").get_attribute("aria-label").startswith("preview: loop k.0")  # type: ignore[union-attr]
    assert page.locator("[data-row='k.0']").get_attribute("aria-selected") == "true", "stands for k"
    assert page.locator("[data-row=i]").get_attribute("aria-level") == "3"
    assert bench.text(".swb-nest header").startswith("preview of split(k, [rest, 16])")
    assert page.evaluate("e => e.isConnected", kept), "a row that stays keeps its element"
    page.evaluate(GHOST, None)
    page.wait_for_selector("[data-row=k]")
    assert page.evaluate(SHOWN) == before
    assert page.locator(".swb-row.is-ghost").count() == 0


def test_a_preview_says_which_rows_it_moves_and_changes(bench: Bench) -> None:
    page = bench.open(fixture="matmul").page
    old = {row["id"]: row for row in page.evaluate("kernel.slices.nest.rows")}
    parents = (("i", None), ("init:C", "i"), ("k", "i"), ("j", "k"))
    changed = [{**old[row], "parent": parent} for row, parent in parents]
    page.evaluate(GHOST, answer(changed, ["i", "init:C", "k", "j", "stmt:C"], []))
    page.wait_for_selector("[data-row='i'] .swb-previews >> text=moved")
    said = "all => all.map(e => [e.dataset.row, e.querySelector('.swb-previews')?.textContent]).filter(one => one[1])"
    assert page.locator("[data-row]").evaluate_all(said) == [["i", "moved"]], "the others follow from it"
    page.evaluate(GHOST, answer([{**old["j"], "mark": "vectorize"}], list(old), []))
    page.wait_for_selector("[data-row='j'][aria-label^='changed: loop j']")
    assert page.locator("[data-row]").evaluate_all(said) == [["j", "changed"]]


def test_ghost_rows_can_be_walked_over_and_are_not_selected(bench: Bench) -> None:
    page = bench.open(fixture="matmul").page
    page.locator("[data-row=k]").focus()
    page.evaluate(GHOST, split_k(bench))
    page.wait_for_selector("[data-row='k.0']")
    assert bench.focused("data-row") == "k.0", "the keyboard stays in the nest"
    page.keyboard.press("ArrowDown")
    assert bench.focused("data-row") == "k.1"
    bench.click("[data-row='k.0'] .swb-loop")
    assert bench.commands() == []
    page.evaluate(GHOST, None)
    page.wait_for_selector("[data-row=k]")
    assert bench.focused("data-row") == "k"


def test_a_preview_of_another_nest_is_not_drawn(bench: Bench) -> None:
    page = bench.open(fixture="matmul").page
    page.evaluate(GHOST, answer([], ["k", "somewhere", "else"], []))
    assert page.evaluate(SHOWN) == ["init:C", "k", "i", "j", "stmt:C"]


def test_accesses_of_the_selected_loop(bench: Bench) -> None:
    page = bench.open(fixture="matmul").page
    assert bench.text(".swb-accesses caption") == "Accesses while k runs"
    rows = page.locator(".swb-accesses tbody tr").evaluate_all(
        "all => all.map(e => [...e.cells].map(c => c.innerText))"
    )
    assert [row[:3] for row in rows] == [
        ["A[i, k]", "read", "next element, contiguous"],
        ["B[k, j]", "read", "2048 bytes, a new line each time"],
        ["C[i, j]", "read, write", "same element, so the order of additions matters"],
    ]
    assert rows[0][3] == "1.00\u00a0MB"
    assert page.locator(".swb-accesses td b").count() == 0  # a long step costs in an innermost loop only


def test_accesses_as_a_panel_of_their_own_and_without_a_loop(bench: Bench) -> None:
    page = bench.open(fixture="matmul", panel="accesses").page
    assert page.locator(".swb[aria-label=Accesses] [data-access]").count() == 3
    page.evaluate("kernel.put('accesses', { row: '', rows: [] }); kernel.patch(model, kernel.changed)")
    bench.wait_for("document.querySelector('.swb').innerText.includes('Select a loop')")


def bar(bench: Bench, row: str, column: str) -> tuple[str, str]:
    """Lengths of a bar: all of it, and its strong part."""
    style = bench.page.evaluate(f"document.querySelector('[data-row=\"{row}\"] {column} .swb-barbox').style.cssText")
    found = dict(part.split(": ") for part in style.strip(";").split("; "))
    return found["--swb-at"], found["--swb-own"]


def test_the_bar_of_an_open_loop_is_strong_for_its_own_bytes_and_of_a_folded_one_for_all(bench: Bench) -> None:
    page = bench.open().page
    page.evaluate("""() => {
        const own = { w: 0, 'h.1': 64 };
        const rows = kernel.slices.nest.rows.map(row => ({ ...row, own: own[row.id] ?? null }));
        kernel.put('nest', { ...kernel.slices.nest, rows });
        kernel.patch(model, kernel.changed);
    }""")
    bench.wait_for("document.querySelector('[data-row=w] .swb-col-bytes').title.includes('of these 0')")
    title = "e => e.querySelector('.swb-col-bytes').title.replaceAll('\\u00a0', ' ')"
    assert bar(bench, "w", ".swb-col-bytes")[1] == "0"
    every, own = bar(bench, "o.1", ".swb-col-bytes")
    assert own == every, "nothing is inside the innermost loop"
    assert page.locator("[data-row='h.1']").evaluate(title).endswith("of these 64 B by statements right in this loop")
    bench.click("[data-row=w] .swb-twist")
    every, own = bar(bench, "w", ".swb-col-bytes")
    assert own == every
    assert "of these" not in page.locator("[data-row=w]").evaluate(title)


def test_the_column_of_iterations_shows_operations_instead(bench: Bench) -> None:
    bench.open(fixture="matmul")
    cell = "[data-row=k] .swb-col-iters"
    assert bench.text(cell) == "512"
    bench.click(".swb-row-head button")
    assert bench.text(".swb-row-head .swb-col-iters") == "operations"
    assert bench.text(cell).replace("\u00a0", " ") == "268 M"
    assert bar(bench, "k", ".swb-col-iters") == ("100.0%", "0"), "all of them are in the loops inside"
    bench.click(".swb-row-head button")
    assert bench.text(cell) == "512"


def test_the_steps_taken_stand_above_the_nest_and_lead_back(bench: Bench) -> None:
    page = bench.open().page
    steps = page.locator(".swb-trace button")
    assert steps.count() == 7
    assert " ".join(steps.nth(2).inner_text().split()) == "3: split('h', [None, 5])"
    assert page.locator(".swb-trace [aria-current=true]").get_attribute("data-swb-taken") == "7"
    steps.nth(6).focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    bench.wait_for("model.sent.some(m => m.cmd === 'goto')")
    assert bench.commands() == [("goto", {"step": 6})]


def test_of_many_steps_the_newest_are_in_sight(bench: Bench) -> None:
    page = bench.open(fixture="kernel", width="700").page
    current = page.locator(".swb-trace [aria-current=true]").bounding_box()
    strip = page.locator(".swb-trace").bounding_box()
    assert page.locator(".swb-trace").evaluate("e => e.scrollHeight > e.clientHeight")
    assert strip["y"] <= current["y"]
    assert current["y"] + current["height"] <= strip["y"] + strip["height"]


def test_a_row_is_found_by_its_name(bench: Bench) -> None:
    page = bench.open().page
    page.locator("[data-row=c]").focus()
    page.keyboard.type("/rel")
    assert bench.focused("data-row") == "relu_n"
    page.keyboard.type("u_w")
    assert bench.focused("data-row") == "relu_w"
    assert bench.text(".swb-previews") == "find relu_w▏"
    page.keyboard.press("Enter")
    assert page.locator(".swb-previews").count() == 0
    assert bench.focused("data-row") == "relu_w", "the first Enter ends the search"
    page.keyboard.type("/1")
    assert bench.focused("data-row") == "h.1", "a part of a name will do where no name begins so"
    page.keyboard.press("ArrowDown")
    assert bench.focused("data-row") == "init:conv"
    assert page.locator(".swb-previews").count() == 0
    assert not [c for c, _ in bench.commands() if c != "select"], "letters were no commands"


TIMED = """async run => {
    const frame = () => new Promise(done => requestAnimationFrame(() => setTimeout(done)));
    const [{ store }] = globalThis[Symbol.for('schedule-workbench')].values();
    const times = [];
    for (let i = 0; i < 20; i++) {
        await frame();
        const start = performance.now();
        store.ghost.value = i % 2 ? null : { step: 'x', of: store.slice('nest').peek(), answer: run };
        await Promise.resolve();
        document.body.offsetHeight;
        times.push(performance.now() - start);
    }
    return times.sort((a, b) => a - b)[10];
}"""


@pytest.mark.bench
def test_a_preview_of_sixty_rows_takes_less_than_a_frame(bench: Bench) -> None:
    page = bench.open("large", fixture="model").page
    page.evaluate("""() => {
        kernel.put('nest', { ...kernel.slices.nest, rows: kernel.slices.nest.rows.slice(0, 60), hidden: 0 });
        kernel.patch(model, kernel.changed);
    }""")
    bench.wait_for("document.querySelectorAll('.swb-grid [data-row]').length === 60")
    rows = page.evaluate("kernel.slices.nest.rows")
    changed = [{**row, "ws": (row["ws"] or 0) + 64, "bytes": (row["bytes"] or 0) * 2} for row in rows[5:25]]
    preview = answer(changed, [row["id"] for row in rows], [])
    assert page.evaluate(TIMED, preview) < 16


@pytest.mark.bench
def test_two_hundred_rows_are_painted_in_a_tenth_of_a_second(bench: Bench) -> None:
    page = bench.open("empty").page
    took = page.evaluate("""async () => {
        const { STATES } = await import('./states.js');
        const { nest } = STATES.large.slices({ ...kernel.slices, tasks: { rows: [] }, history: { rows: [] } });
        const rows = nest.rows.slice(0, 200);
        kernel.put('nest', { ...nest, rows });
        const start = performance.now();
        kernel.patch(model, kernel.changed);
        await new Promise(done => requestAnimationFrame(() => setTimeout(done)));
        return [performance.now() - start, document.querySelectorAll('.swb-grid [data-row]').length];
    }""")
    assert took[1] >= 40, "more than the grid is high"
    assert took[0] < 100
    bench.wait_for("document.querySelectorAll('.swb-grid [data-row]').length === 200")


def test_what_takes_the_time_leads_to_the_very_step_that_was_estimated(bench: Bench) -> None:
    page = bench.open(fixture="matmul").page
    page.wait_for_selector("[data-reason=scalar] button")
    text = bench.text(".swb-reasons")
    assert "one element at a time; a vector holds 16; first: split j by 64 + vectorize j.1 ≈ " in text
    assert text.count("first:") == 1, "only the offer that gains most"
    page.click("[data-reason=scalar] button")  # two steps: taken together, and only their end is measured
    bench.wait_for("model.sent.some(m => m.cmd === 'apply')")
    command, args = bench.commands()[-1]
    assert (command, args["step"]["primitive"], [one["primitive"] for one in args["then"]]) == (
        "apply",
        "split",
        ["vectorize"],
    )
    page.evaluate("kernel.put('why', null); kernel.patch(model, kernel.changed)")
    page.wait_for_selector(".swb-reasons", state="detached")


def test_an_offer_is_previewed_by_who_moves_there_and_taken_by_a_click(bench: Bench) -> None:
    page = bench.open(fixture="matmul").page
    page.wait_for_selector("[data-reason=scalar] button")
    page.evaluate("""() => {
        const answer = kernel.answers.find(one => one.q === 'cures');
        const next = Math.max(...kernel.slices.history.rows.map(row => row.id)) + 1;
        [[0, 32], [next, 64]].forEach(([node, n]) => {
            const step = { primitive: 'split', args: { loop: 'j', factors: [null, n] } };
            const rows = [{ id: 'scalar', row: 'j', step, then: [], label: `split j by ${n}`, or: n > 32 }];
            kernel.answers.unshift({ ...answer, args: { node }, answer: { ok: true, value: { rows } } });
        });
        kernel.put('history', { ...kernel.slices.history, at: 0 });
        kernel.put('why', { ...kernel.slices.why, measured: 'Measured: 89 % of peak.' });
        kernel.patch(model, kernel.changed);
    }""")
    asked = "model.sent.filter(m => m.q === 'preview').length"
    offer = page.get_by_text("split j by 32")
    offer.hover()
    bench.wait_for(f"{asked} === 1")
    offer.click()
    other = page.get_by_text("or instead: split j by 64")  # slides under the pointer, which rests
    other.wait_for()
    before = page.evaluate(asked)
    assert bench.commands()[-1][1]["step"]["args"] == {"loop": "j", "factors": [None, 32]}
    assert page.evaluate("document.activeElement.matches('.swb-nest [role=row][aria-selected=true]')")
    page.wait_for_timeout(250)  # a browser tells some frames later what came under the pointer
    assert page.evaluate(asked) == before
    assert "Measured: 89 % of peak." in bench.text(".swb-reasons")
    other.locator("button").hover(position={"x": 5, "y": 5})
    bench.wait_for(f"{asked} > {before}")


def test_a_whole_plan_is_asked_for_when_it_is_opened_and_taken_up_to_a_row(bench: Bench) -> None:
    page = bench.open(fixture="matmul").page
    page.wait_for_selector(".swb-plan")
    assert page.evaluate("model.sent.some(m => m.q === 'plan')") is False
    page.evaluate("""() => {
        const step = n => ({ primitive: 'split', args: { loop: 'j', factors: [null, n] } });
        const vector = { primitive: 'vectorize', args: { loop: 'j.1' } };
        const rows = [
            { id: '1', row: 'j', step: step(64), then: [], label: 'split j by 64 ≈ 1.2×' },
            { id: '2', row: 'j', step: step(64), then: [vector], label: 'vectorize j.1 ≈ 30×' },
        ];
        const value = { text: 'Plan: 2 steps, ≈ 36× in all.', rows };
        kernel.answers.unshift({ q: 'plan', args: { node: kernel.slices.history.at }, answer: { ok: true, value } });
    }""")
    page.focus(".swb-plan summary")
    page.keyboard.press("Enter")
    page.get_by_text("Plan: 2 steps, ≈ 36× in all.").wait_for()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    bench.wait_for("model.sent.some(m => m.cmd === 'apply')")
    _, args = bench.commands()[-1]
    assert [args["step"]["primitive"], *(one["primitive"] for one in args["then"])] == ["split", "vectorize"]


def test_the_way_to_the_best_is_said_of_what_is_slower_and_taken_up_to_a_row(bench: Bench) -> None:
    page = bench.open(fixture="matmul").page
    page.wait_for_selector(".swb-plan")
    assert page.evaluate("model.sent.some(m => m.q === 'way')") is False, "it has no time, or is the best"
    page.evaluate("""() => {
        const step = { primitive: 'split', args: { loop: 'j', factors: [null, 64] } };
        const parallel = { primitive: 'parallel', args: { loops: ['i'] } };
        const rows = [
            { id: 'way1', row: 'j', step, then: [], without: [0], label: 'split j by 64, not 32' },
            { id: 'way2', row: 'j', step, then: [parallel], without: [0], label: 'parallel i ≈ 2.0×' },
        ];
        const value = { text: '49 % of the best, trial 7', differs: 'tiles of 64 results, not 32', rows };
        const { history, head } = kernel.slices;
        kernel.answers.unshift({ q: 'way', args: { node: history.at }, answer: { ok: true, value } });
        kernel.put('head', { ...head, ms: 0.2, best_ms: 0.1 });
        kernel.patch(model, kernel.changed);
    }""")
    way = page.locator(".swb-way")
    way.locator("summary", has_text="49 % of the best, trial 7").click()
    assert "The best has tiles of 64 results, not 32." in way.inner_text()
    way.locator("button").last.click()
    bench.wait_for("model.sent.some(m => m.cmd === 'apply')")
    _, args = bench.commands()[-1]
    assert args["without"] == [0]
    assert [args["step"]["primitive"], *(one["primitive"] for one in args["then"])] == ["split", "parallel"]


def test_where_no_step_gains_it_says_so_and_offers_a_way_out(bench: Bench) -> None:
    page = bench.open(fixture="matmul").page
    page.wait_for_selector("[data-reason=scalar] button")
    page.evaluate("""() => {
        const step = { primitive: 'split', args: { loop: 'j', factors: [null, 32] } };
        const rows = [
            { id: 'back', row: 'j', step, then: [], without: [0], label: '1 step taken back: split j by 32 ≈ 2.0×' },
            { id: 'default', row: '', label: 'default schedule ≈ 2.2×' }
        ];
        const value = { rows, note: 'By the estimate no step makes it 5 % faster.' };
        const answer = kernel.answers.find(one => one.q === 'cures');
        kernel.answers.unshift({ ...answer, args: { node: 0 }, answer: { ok: true, value } });
        kernel.put('history', { ...kernel.slices.history, at: 0 });
        kernel.put('why', { ...kernel.slices.why, rows: [] });
        kernel.patch(model, kernel.changed);
    }""")
    page.get_by_text("By the estimate no step makes it 5 % faster.").wait_for()
    page.get_by_text("default schedule ≈ 2.2×").click()
    assert tuple(bench.commands()[-1]) == ("open_default", {})
    page.evaluate(
        "() => { kernel.put('history', { ...kernel.slices.history, at: 0 }); kernel.patch(model, kernel.changed); }"
    )
    page.get_by_text("1 step taken back").click()
    command, args = bench.commands()[-1]
    assert (command, args["without"], args["then"]) == ("apply", [0], [])


def test_what_was_unfolded_for_one_row_is_not_so_for_another(bench: Bench) -> None:
    page = bench.open(fixture="matmul").page
    bench.click("[data-row='k'] .swb-loop")
    item = page.locator(".swb-illegal [data-swb-item=vectorize]")
    item.click(force=True)
    assert item.get_attribute("aria-expanded") == "true"
    page.keyboard.press("Escape")
    bench.click("[data-row='i'] .swb-loop")
    page.wait_for_function("document.querySelector('.swb-pal-head b').textContent === 'i'")
    bench.click("[data-row='k'] .swb-loop")
    page.wait_for_function("document.querySelector('.swb-pal-head b').textContent === 'k'")
    assert item.get_attribute("aria-expanded") == "false"
    item.click(force=True)
    page.wait_for_selector(".swb-pop")


CUT = """() => [...document.querySelectorAll('.swb-row .swb-chip')].flatMap(chip => {
    const text = chip.querySelector('span'), extent = document.createRange();
    if (text.scrollWidth <= text.clientWidth) return [];
    extent.selectNodeContents(chip.closest('.swb-row').children[1]);
    const left = extent.getBoundingClientRect().left - chip.parentElement.getBoundingClientRect().right;
    return [[chip.textContent, Math.round(left)]]; })"""


@pytest.mark.parametrize("width", ["1300", "1000", "700", "500"])
def test_a_chip_is_cut_only_where_there_is_no_room(bench: Bench, width: str) -> None:
    found = bench.open(fixture="kernel", width=width).page.evaluate(CUT)
    assert [chip for chip in found if chip[1] > 9] == [], "of each, the pixels that are left up to the extent"
