"""The tree of variants: what it shows, where keys and clicks lead, naming, marking, replaying."""

from __future__ import annotations

from .conftest import Bench

CURRENT = "document.querySelector('[aria-current=step]').dataset.step"


def node(id: int) -> str:
    return f"[data-step='{id}']"


def opened(bench: Bench, state: str = "mixed", **options: str) -> Bench:
    return bench.open(state, panel="variants", **options)


def place(bench: Bench, id: int) -> tuple[float, float]:
    box = bench.page.locator(f"{node(id)} .swb-shape").bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_every_node_stands_where_the_kernel_put_it(bench: Bench) -> None:
    page = opened(bench).page
    tree = page.get_by_role("tree", name="Variants")
    assert tree.get_by_role("treeitem").count() == 12
    (x5, y5), (x6, y6), (x8, y8), (x11, y11) = (place(bench, k) for k in (5, 6, 8, 11))
    assert (y5, x6, y6) == (y6, x8, y5), "the first child goes on in the row, the other one stands above it"
    assert y8 < y5 < y11
    assert x11 < x5 < x6
    assert page.locator(".swb-edges path").count() == 11


def test_lines_lead_from_a_node_to_what_came_of_it(bench: Bench) -> None:
    page = opened(bench).page
    ends = page.evaluate("""() => [...document.querySelectorAll('.swb-edges path')].map(p => {
        const at = n => { const { x, y } = p.getPointAtLength(n); return `${Math.round(x)} ${Math.round(y)}`; };
        return [at(0), at(p.getTotalLength())];
    })""")
    box = page.locator(".swb-tree").bounding_box()
    assert box is not None
    at = {
        k: " ".join(str(round(a - b)) for a, b in zip(place(bench, k), (box["x"], box["y"]), strict=True))
        for k in range(12)
    }
    for parent, child in ((0, 1), (5, 6), (5, 8), (8, 9), (9, 10), (3, 11)):
        assert [at[parent], at[child]] in ends


def test_a_node_says_how_fast_it_is_and_who_made_it(bench: Bench) -> None:
    page = opened(bench).page
    assert bench.text(node(8)) == "v8 0.474 ms ± 0.005 trial 412"
    assert bench.text(node(9)) == "★ v9 best 0.438 ms ± 0.004 trial 977"
    assert bench.text(node(10)).startswith("v10 ≈ 0.430 est.")
    assert "≈ 0.410–6.30 est. 2 open" in bench.text(node(5))
    page.evaluate("""() => {
        const rows = kernel.slices.history.rows.map(row => row.id === 8 ? { ...row, spread: null } : row);
        kernel.patch(model, { history: { '=': { ...kernel.slices.history, rows } } });
    }""")
    bench.page.wait_for_function("document.querySelector(\"[data-step='8']\").innerText.includes('timed once')")
    assert bench.text(node(8)) == "v8 0.474 ms timed once trial 412"
    assert "timeout" in bench.text(node(11))
    name = page.locator(node(9)).get_attribute("aria-label") or ""
    for words in ("v9", "starred", "0.438 ms", "trial 977 of the tuner", "from v8"):
        assert words in name
    assert page.locator(node(9)).get_attribute("aria-level") == "8"


def test_the_best_says_what_it_gains_over_the_one_on_show(bench: Bench) -> None:
    opened(bench)
    bench.click(node(8))
    bench.wait_for(f"{CURRENT} === '8'")
    assert "best," not in bench.text(node(9)), "nobody has said so"
    bench.page.evaluate("""() => kernel.patch(model, { history: { '=':
        { ...kernel.slices.history, ahead: { gain: 0.474 / 0.438, text: '1.08× as fast as v8, sure' } } } })""")
    bench.wait_for(f"document.querySelector(`{node(9)}`).innerText.includes('1.08')")
    assert "best, 1.082×" in bench.text(node(9))


def test_arrows_walk_the_tree_and_enter_goes_there(bench: Bench) -> None:
    page = opened(bench).page
    page.locator(node(5)).focus()
    seen = []
    for key in ("ArrowRight", "ArrowUp", "ArrowRight", "ArrowDown", "ArrowLeft", "Home", "End"):
        page.keyboard.press(key)
        seen.append(bench.focused("data-step"))
    assert seen == ["6", "8", "9", "7", "6", "0", "5"]
    assert bench.commands() == [], "looking is not going"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowUp")
    assert page.locator(".swb-step [tabindex='0']").count() == 1, "one tab stop"
    page.keyboard.press("Enter")
    bench.wait_for(f"{CURRENT} === '8'")
    assert bench.commands() == [("goto", {"step": 8})]


def test_undone_steps_are_dashed_and_redo_leads_there(bench: Bench) -> None:
    page = opened(bench).page
    dashed = "getComputedStyle(document.querySelector('.swb-edges .is-undone')).strokeDasharray"
    assert page.evaluate(dashed) != "none"
    page.locator(node(5)).focus()
    page.keyboard.press("]")
    bench.wait_for(f"{CURRENT} === '6'")
    page.keyboard.press("[")
    bench.wait_for(f"{CURRENT} === '5'")
    assert page.locator(".is-undone [data-step]").count() == 2


def test_a_name_is_written_in_place(bench: Bench) -> None:
    page = opened(bench).page
    page.locator(node(8)).focus()
    page.keyboard.press("F2")
    page.wait_for_selector(".swb-name:focus")
    page.keyboard.type("wide tiles")
    page.keyboard.press("Escape")
    assert page.locator(".swb-name").count() == 0
    assert bench.commands() == []
    assert bench.focused("data-step") == "8"
    page.keyboard.press("F2")
    page.wait_for_selector(".swb-name:focus")
    page.keyboard.type("wide tiles")
    page.keyboard.press("Enter")
    bench.wait_for("document.querySelector('[data-step=\"8\"]').innerText.includes('wide tiles')")
    assert bench.commands() == [("name", {"node": 8, "text": "wide tiles"})]
    assert bench.focused("data-step") == "8"


def test_a_branch_needs_no_button_and_may_have_a_name(bench: Bench) -> None:
    page = opened(bench).page
    assert page.locator("[data-swb-do=goto]").count() == 0, "that on show is there already"
    page.locator(node(3)).focus()
    page.keyboard.press("b")
    page.wait_for_selector(".swb-name:focus")
    page.keyboard.type("no tiles")
    page.keyboard.press("Enter")
    page.wait_for_selector(f"{node(3)} >> text=no tiles")
    assert page.inner_text("[data-swb-do=name]") == "Rename…"
    page.click("[data-swb-do=goto]")
    bench.wait_for(f"{CURRENT} === '3'")
    assert bench.commands() == [("name", {"node": 3, "text": "no tiles"}), ("goto", {"step": 3})]


def test_the_first_variant_in_sight_is_not_cut(bench: Bench) -> None:
    page = opened(bench, width="700").page
    page.locator(node(8)).focus()
    page.keyboard.press("End")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    left = page.eval_on_selector(".swb-steps", "box => box.scrollLeft")
    end = page.eval_on_selector(".swb-steps", "box => box.scrollWidth - box.clientWidth")
    assert left > 0
    assert left % 124 == 0 or left == end


def test_star_and_forget(bench: Bench) -> None:
    page = opened(bench).page
    page.locator(node(10)).focus()
    page.keyboard.press("s")
    bench.wait_for("document.querySelector('[data-step=\"10\"]').innerText.includes('★')")
    page.locator(node(11)).focus()
    page.keyboard.press("Delete")
    page.wait_for_selector(node(11), state="detached")
    assert bench.commands() == [("star", {"node": 10, "on": True}), ("forget", {"node": 11})]


def test_two_are_marked_and_what_differs_is_shown(bench: Bench) -> None:
    page = bench.open("mixed").page
    bench.page.click(node(3), modifiers=["Shift"])
    assert page.locator(node(3)).get_attribute("aria-selected") == "true"
    page.locator(node(9)).focus()
    page.keyboard.press("Shift+Enter")
    page.wait_for_selector("[data-swb-tab=diff][aria-selected=true]")
    asked = "model.sent.findLast(m => m.q === 'diff').args"
    bench.wait_for("model.sent.some(m => m.q === 'diff')")
    assert page.evaluate(f"[{asked}.a, {asked}.b]") == [3, 9]
    page.locator(node(8)).focus()
    page.keyboard.press("Shift+Enter")
    bench.wait_for(f"{asked}.b === 8")
    assert page.evaluate(f"{asked}.a") == 9, "a third one takes the place of the first"
    page.keyboard.press("Shift+Enter")
    assert page.locator("[data-step][aria-selected=true]").evaluate_all("all => all.map(e => e.dataset.step)") == ["9"]
    assert [c for c, _ in bench.commands()] == []


def test_two_are_timed_against_each_other(bench: Bench) -> None:
    page = bench.open("mixed").page
    page.click(node(3), modifiers=["Shift"])
    page.click(node(9), modifiers=["Shift"])
    page.locator(node(9)).focus()
    page.keyboard.press("x")
    bench.wait_for("model.sent.some(m => m.cmd === 'contest')")
    assert bench.commands() == [("contest", {"a": 3, "b": 9})]
    page.wait_for_selector("text=v9 is 3.32× as fast (between 3.28 and 3.36) as v3, sure")


def test_the_steps_are_taken_on_another_task_and_the_report_shows_what_failed(bench: Bench) -> None:
    page = bench.open("mixed").page
    bench.click("[data-swb-do=replay]")
    task = page.locator(".swb-replay select")
    assert task.evaluate("e => e === document.activeElement")
    task.select_option("3")
    page.check(".swb-replay input[type=checkbox]")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_selector(".swb-report")
    assert bench.commands() == [("replay", {"node": 5, "task": 3, "skip": True})]
    steps = page.locator(".swb-report li")
    assert steps.count() == 5
    failed = page.locator(".swb-report li.is-failed")
    assert failed.count() == 1
    assert "5 does not divide the extent 27 of loop h. Choose a divisor." in " ".join(failed.inner_text().split())
    failed.get_by_role("button", name="Show me").click()
    assert page.locator("[data-row='h.0'].is-marked").count() == 1
    bench.click(".swb-note >> text=Dismiss")
    page.wait_for_selector(".swb-report", state="detached")


def test_an_earlier_step_is_changed_in_its_own_form_with_the_keyboard(bench: Bench) -> None:
    page = bench.open(fixture="matmul").page
    page.evaluate("""() => {
        const step = { primitive: 'split', args: { loop: 'j', factors: [null, 32] } };
        const value = { row: 'j', place: 1, step };
        kernel.answers.push({ q: 'step', args: { node: 1 }, answer: { ok: true, value } });
        const later = { ...kernel.slices.history.rows[1], id: 2, parent: 1, x: 2, text: "unroll('j.1')" };
        const rows = [...kernel.slices.history.rows, later];
        kernel.put('history', { ...kernel.slices.history, rows, at: 2, path: [0, 1, 2] });
        kernel.patch(model, kernel.changed);
        const preview = kernel.preview;
        kernel.preview = step => {
            const ok = step.args.factors[1] === 32;
            const lost = { text: "unroll('j.1')", ok, reason: ok ? '' : 'it is too long', hint: '', where: [] };
            return { ...preview.call(kernel, step), later: [lost] };
        };
    }""")
    page.locator(node(1)).focus()
    page.locator("[data-swb-do=change]").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(".swb-form[aria-label=split]")
    apply = page.locator("[data-swb-apply]")
    assert apply.inner_text().startswith("Change step 1 of v2"), "of what was on show"
    assert page.get_by_role("radio", name="32", exact=True).get_attribute("aria-checked") == "true"
    page.wait_for_selector("[data-swb-later]:has-text('the later step, which still applies')")
    page.get_by_role("radio", name="16", exact=True).click()
    page.wait_for_selector("[data-swb-later].swb-careful")
    assert "1 later step would go: unroll('j.1'), it is too long" in page.locator("[data-swb-later]").inner_text()
    asked = [m["args"].get("change") for m in bench.sent("ask") if m["q"] == "preview"]
    assert asked[-1] == {"node": 2, "step": 1}
    page.keyboard.press("Enter")
    bench.wait_for("model.sent.some(m => m.cmd === 'change')")
    (_, goto), *_, (cmd, sent) = bench.commands()
    assert (goto, cmd) == ({"step": 0}, "change")
    assert (sent["node"], sent["step"], sent["args"]["loop"], sent["args"]["factors"]) == (2, 1, "j", [None, 16])
    page.wait_for_selector(".swb-form", state="detached")
    bench.click("[data-swb-item=split]")
    assert apply.inner_text().startswith("Apply"), "a form that is opened by itself takes a step as ever"


def test_a_step_that_was_clicked_is_changed_with_those_ahead_of_it(bench: Bench) -> None:
    page = bench.open(fixture="matmul").page
    page.evaluate("""() => {
        const step = { primitive: 'split', args: { loop: 'j', factors: [null, 32] } };
        const value = { row: 'j', place: 1, step };
        kernel.answers.push({ q: 'step', args: { node: 1 }, answer: { ok: true, value } });
        const first = kernel.slices.history.rows[1];
        const later = [2, 3].map(id => ({ ...first, id, parent: id - 1, x: id, text: `unroll('j.${id}')` }));
        const rows = [...kernel.slices.history.rows, ...later];
        kernel.put('history', { ...kernel.slices.history, rows, at: 1, path: [0, 1] });
        kernel.patch(model, kernel.changed);
    }""")
    bench.click("[data-swb-do=change]")
    page.wait_for_selector(".swb-form[aria-label=split]")
    assert page.locator("[data-swb-apply]").inner_text().startswith("Change step 1 of v3")


def test_unfold_is_offered_where_several_steps_were_taken_at_once(bench: Bench) -> None:
    page = opened(bench).page
    assert page.locator("[data-swb-do=unfold]").count() == 0
    page.locator(node(8)).focus()
    page.wait_for_selector("[data-swb-do=unfold]")
    bench.click("[data-swb-do=unfold]")
    assert bench.commands() == [("unfold", {"node": 8})]


def test_open_numbers_are_tuned_from_here(bench: Bench) -> None:
    page = bench.open("mixed").page
    page.locator(node(6)).focus()
    assert page.locator("[data-swb-do=tune-here]").count() == 0
    page.evaluate("kernel.patch(model, { head: { '=': { ...kernel.slices.head, holes: 2 } } })")
    bench.click("[data-swb-tab=tuning]")
    bench.click("[name=scope][value=all]")
    bench.click("[data-swb-tab=schedule]")
    page.locator(node(5)).focus()
    bench.click("[data-swb-do=tune-here]")
    bench.wait_for("document.activeElement.dataset.action === 'start'")
    page.keyboard.press("Enter")
    bench.wait_for("model.sent.some(m => m.cmd === 'tune')")
    assert bench.commands()[-1][1]["scope"] == "schedule", "whatever was chosen there before"


def test_another_variant_is_gone_to_before_its_numbers_are_tuned(bench: Bench) -> None:
    page = bench.open("mixed").page
    bench.click(node(3))
    bench.wait_for(f"{CURRENT} === '3'")
    page.locator(node(5)).focus()
    bench.click("[data-swb-do=tune-here]")
    page.wait_for_selector(".swb-tuning-screen")
    assert bench.commands() == [("goto", {"step": 3}), ("goto", {"step": 5})]


def test_four_hundred_variants_are_drawn_and_the_one_on_show_is_in_sight(bench: Bench) -> None:
    page = opened(bench, "forest").page
    assert page.locator("[data-step]").count() == 401
    inside = page.evaluate("""() => {
      const box = document.querySelector('.swb-steps').getBoundingClientRect();
      const at = document.querySelector('[aria-current=step]').getBoundingClientRect();
      return at.left >= box.left && at.right <= box.right && at.top >= box.top && at.bottom <= box.bottom;
    }""")
    assert inside
    assert "3 old ones let go" in bench.text(".swb-history .swb-panel-head")


def test_escape_closes_what_was_opened_below_the_tree(bench: Bench) -> None:
    page = opened(bench).page
    page.locator(node(11)).focus()
    page.click(".swb-chosen >> text=Why?")
    page.wait_for_selector(".swb-why")
    page.keyboard.press("Escape")
    page.wait_for_selector(".swb-why", state="detached")
    assert bench.focused("data-step") == "11"
