"""The code of the schedule on show, linked to the rows of the nest, and what differs between two variants."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .conftest import Bench

FIXTURES = Path(__file__).parents[2] / "extensions" / "dev" / "fixtures"
BOX = ".swb-slot-code .swb-lines"
DIFF = ".swb-slot-diff .swb-lines"
LINES = f"[...document.querySelectorAll('{BOX} [data-line]')]"
ROWS = f"[...document.querySelectorAll('{DIFF} [data-mark]')]"


def recorded(fixture: str, q: str, **args: Any) -> dict[str, Any]:
    """What the kernel answered to a question."""
    answers = json.loads((FIXTURES / f"{fixture}.json").read_text(encoding="utf-8"))["answers"]
    return next(one["answer"]["value"] for one in answers if (one["q"], one["args"]) == (q, args))


def show(bench: Bench, middle: str, kind: str = "nest", fixture: str = "model") -> Bench:
    bench.open(fixture=fixture)
    bench.click(f"[data-swb-tab={middle}]")
    bench.click(f".swb-slot-{middle} [data-swb-tab={kind}]")
    bench.wait_for(f"() => document.querySelector('.swb-slot-{middle} .swb-lines:not(.is-stale)')")
    return bench


def shown(bench: Bench) -> dict[int, tuple[str, str]]:
    """Text and row of the lines that are drawn, by number."""
    found = bench.page.evaluate(
        f"{LINES}.map(e => [e.dataset.line, e.querySelector('code').textContent, e.dataset.of])"
    )
    return {int(line): (text, row) for line, text, row in found}


@pytest.mark.parametrize("kind", ["nest", "c", "llvm", "asm"])
def test_each_form_has_its_lines_and_their_rows(bench: Bench, kind: str) -> None:
    show(bench, "code", kind)
    page = recorded("model", "code", kind=kind, node=7)
    drawn = shown(bench)
    assert {n: text for n, (text, _) in drawn.items()} == {n: page["lines"][n] for n in drawn}
    rows = [""] * page["total"]
    for first, row in page["runs"]:
        rows[first:] = [page["rows"][row] if row >= 0 else ""] * (page["total"] - first)
    assert {n: row for n, (_, row) in drawn.items()} == {n: rows[n] for n in drawn}
    assert len(drawn) <= 80
    box = bench.page.evaluate(f"(e => [e.getAttribute('role'), e.tabIndex])(document.querySelector('{BOX}'))")
    assert box == ["listbox", 0]


def test_first_values_and_updates_of_a_sum_are_told_apart(bench: Bench) -> None:
    show(bench, "code", "llvm")
    page = recorded("model", "code", kind="llvm", node=7)
    first = next(line for line, row in page["runs"] if row >= 0 and page["rows"][row] == "init:conv")
    bench.page.evaluate(f"document.querySelector('{BOX}').scrollTop = {16 * first}")
    bench.wait_for(f"() => {LINES}.some(e => e.dataset.of === 'init:conv')")
    named = bench.page.evaluate(f"{LINES}.map(e => [e.dataset.of, e.title])")
    assert {row: title for row, title in named if row.endswith(":conv")} == {
        "init:conv": "of conv (init)",
        "stmt:conv": "of conv (update)",
    }
    assert {title for row, title in named if row == "c"} <= {"of c"}
    gutter = f"{LINES}.find(e => e.dataset.of === 'init:conv').querySelector('.swb-of').textContent"
    assert bench.page.evaluate(gutter) == "conv (init)"


def test_the_selected_row_lights_its_lines_and_shows_them(bench: Bench) -> None:
    show(bench, "code", "llvm")
    page = recorded("model", "code", kind="llvm", node=7)
    lit = bench.page.evaluate(f"{LINES}.filter(e => e.matches('.is-lit')).map(e => e.dataset.of)")
    assert set(lit) == {"c"}
    count = sum(
        (page["runs"][k + 1][0] if k + 1 < len(page["runs"]) else page["total"]) - first
        for k, (first, row) in enumerate(page["runs"])
        if row >= 0 and page["rows"][row] == "c"
    )
    assert bench.text(".swb-slot-code [role=status]").startswith(f"c: {count} of {page['total']} lines, ")
    inside = bench.page.evaluate(f"{LINES}.filter(e => e.matches('.is-inside')).map(e => e.dataset.of)")
    assert {"stmt:conv"} <= set(inside)
    visible = """e => { const a = e.getBoundingClientRect(), b = e.closest('.swb-lines').getBoundingClientRect();
        return a.top >= b.top && a.bottom <= b.bottom; }"""
    assert bench.page.eval_on_selector(f"{BOX} .is-lit", visible)


def test_a_row_without_code_of_its_own_says_so(bench: Bench) -> None:
    bench.open()
    page = recorded("model", "code", kind="asm", node=7)
    rows = bench.page.evaluate(
        "model.widget_manager && [...document.querySelectorAll('[data-row]')].map(e => e.dataset.row)"
    )
    parents = {row for row in rows if row not in page["rows"] and row.startswith("init:")}
    assert parents, "a row that the compiler dissolved"
    row = parents.pop()
    bench.click(f'[data-row="{row}"]')
    show_again(bench, "asm")
    assert bench.text(".swb-slot-code [role=status]") == f"{row.removeprefix('init:')} (init) has no code of its own"


def show_again(bench: Bench, kind: str) -> None:
    """Go to the code without opening the page anew."""
    bench.click("[data-swb-tab=code]")
    bench.click(f".swb-slot-code [data-swb-tab={kind}]")
    bench.wait_for(f"() => document.querySelector('{BOX}.is-{kind}:not(.is-stale)')")


def test_a_line_selects_its_row_by_mouse_and_keyboard(bench: Bench) -> None:
    show(bench, "code", "c")
    line = bench.page.evaluate(f"{LINES}.find(e => e.dataset.of === 'kh').dataset.line")
    bench.click(f'{BOX} [data-line="{line}"]')
    assert bench.commands()[-1] == ("select", {"id": "kh"})
    before = bench.page.evaluate(f"document.querySelector('{BOX}').scrollTop")
    bench.wait_for(f"() => document.querySelector('{BOX} [data-line=\"{line}\"]').matches('.is-lit')")
    assert bench.page.evaluate(f"document.querySelector('{BOX}').scrollTop") == before
    bench.page.focus(BOX)
    bench.page.keyboard.press("ArrowDown")
    assert bench.commands()[-1] == ("select", {"id": "kw"})
    active = bench.page.evaluate(
        f"document.getElementById(document.querySelector('{BOX}').getAttribute('aria-activedescendant')).dataset.line"
    )
    assert int(active) == int(line) + 1
    bench.page.keyboard.press("End")
    last = recorded("model", "code", kind="c", node=7)["total"] - 1
    assert bench.page.evaluate(f"document.querySelector('{BOX} [aria-selected=true]').dataset.line") == str(last)
    assert bench.focused("role") == "listbox"


def test_pages_come_when_they_are_looked_at(bench: Bench) -> None:
    show(bench, "code", "llvm", "kernel")
    first = recorded("kernel", "code", kind="llvm", node=13)
    rest = recorded("kernel", "code", kind="llvm", node=13, **{"from": 400})
    assert first["total"] > 400
    assert [m["args"] for m in bench.sent("ask") if m["q"] == "code"][-1] == {"kind": "llvm", "node": 13}
    bench.page.focus(BOX)
    bench.page.keyboard.press("End")
    last = f"document.querySelector('{BOX} [data-line=\"{first['total'] - 1}\"] code')"
    bench.wait_for(f"() => {last}?.textContent.trim().length > 1")
    assert [m["args"] for m in bench.sent("ask") if m["q"] == "code"][-1] == {"kind": "llvm", "node": 13, "from": 400}
    drawn = shown(bench)
    assert len(drawn) <= 80
    assert drawn[first["total"] - 1][0] == rest["lines"][-1]
    assert drawn[405][0] == rest["lines"][5]


def test_what_cannot_be_listed_says_why(bench: Bench) -> None:
    bench.open()
    bench.page.evaluate("""() => { const send = model.send; model.send = m => m.q === 'code'
        ? setTimeout(() => model.receive({ t: 'ret', id: m.id, ok: false, error: { code: 'build.holes',
            message: 'The schedule still has open numbers: t.', where: [], hint: 'fill them: s.fill({...})' } }), 5)
        : send(m); }""")
    bench.click("[data-swb-tab=code]")
    bench.wait_for("() => /numbers/.test(document.querySelector('.swb-code-panel .swb-blank')?.textContent)")
    assert (
        bench.text(".swb-code-panel .swb-blank") == "The schedule still has open numbers: t. Fill them: s.fill({...})."
    )


def test_colours_follow_what_words_are(bench: Bench) -> None:
    show(bench, "code", "c")
    classes = "c => [...document.querySelectorAll('.swb-code-panel .swb-' + c)].map(e => e.textContent)"
    assert {"for", "int64_t", "float"} <= set(bench.page.evaluate(classes, "is-word"))
    assert "0" in bench.page.evaluate(classes, "is-number")
    assert "/* kh */" in bench.page.evaluate(classes, "is-comment")
    bench.click(".swb-slot-code [data-swb-tab=llvm]")
    bench.wait_for("() => document.querySelector('.swb-lines.is-llvm')")
    assert {"br", "phi", "load", "getelementptr"} <= set(bench.page.evaluate(classes, "is-word"))


# ---- diff ------------------------------------------------------------------------------------------------------------


def test_changed_rows_stand_side_by_side(bench: Bench) -> None:
    show(bench, "diff")
    answer = recorded("model", "diff", a=6, b=7, kind="nest")
    drawn = bench.page.evaluate(
        f"{ROWS}.map(e => [e.dataset.mark, ...[...e.children].slice(1).map(s => s.title || null)])"
    )
    rows = [row for row in answer["rows"] if "skip" not in row]
    assert drawn == [[r["mark"], *(r[side] and r[side][1] for side in ("left", "right"))] for r in rows]
    left, right = (
        bench.page.evaluate(
            f"{ROWS}.filter(e => e.dataset.mark === '~').map(e => e.children[{k}].getBoundingClientRect().x)"
        )
        for k in (1, 2)
    )
    assert len({*left}) == len({*right}) == 1
    assert left[0] < right[0]
    gaps = bench.page.evaluate(f"[...document.querySelectorAll('{DIFF} .swb-gap')].map(e => parseInt(e.textContent))")
    assert sum(gaps) == answer["folded"]
    assert bench.text(".swb-diff [role=status]").startswith(f"{answer['changed']} changed row")


def test_all_rows_on_demand(bench: Bench) -> None:
    show(bench, "diff")
    bench.click(".swb-diff [type=checkbox]")
    answer = recorded("model", "diff", a=6, b=7, kind="nest", all=True)
    bench.wait_for(f"() => {ROWS}.length === {len(answer['rows'])}")
    assert bench.page.locator(f"{DIFF} .swb-gap").count() == 0
    assert bench.page.evaluate(f"{ROWS}.filter(e => e.dataset.mark === ' ').length") > 10


def test_arrows_go_from_change_to_change(bench: Bench) -> None:
    show(bench, "diff", "c")
    marks = bench.page.evaluate(f"[...document.querySelectorAll('{DIFF} [data-line]')].map(e => e.dataset.mark ?? '')")
    stops = [k for k, mark in enumerate(marks) if mark.strip() and not (marks[k - 1].strip() if k else "")]
    assert len(stops) > 2
    bench.page.focus(DIFF)
    at = f"Number(document.querySelector('{DIFF} [aria-selected=true]').dataset.line)"
    assert bench.page.evaluate(at) == stops[0]
    for stop in stops[1:]:
        bench.page.keyboard.press("ArrowDown")
        assert bench.page.evaluate(at) == stop
    bench.page.keyboard.press("ArrowUp")
    assert bench.page.evaluate(at) == stops[-2]
    assert bench.page.evaluate(f"document.querySelector('{DIFF} [aria-selected=true]').ariaLabel").split(":")[0] in (
        "changed",
        "gone",
        "new",
    )
    assert bench.text(".swb-diff-here").startswith(("before", "after"))


def test_the_numbers_of_both(bench: Bench) -> None:
    show(bench, "diff")
    facts = bench.text(".swb-diff-facts")
    answer = recorded("model", "diff", a=6, b=7, kind="nest")
    a, b = answer["est"]
    assert abs(a / b - 1) < 0.01
    assert f"≈ {a:.2f} → {b:.2f} ms est. the same" in facts
    assert "measured 1.33 → 1.34 ms cannot tell" in facts
    for level in answer["bytes"]:
        assert f"into {level}" in facts


def test_the_header_says_how_sure_it_is(bench: Bench) -> None:
    show(bench, "diff")
    bench.click(".swb-diff [data-swb-do=contest]")
    assert bench.commands()[-1] == ("contest", {"a": 6, "b": 7})
    bench.wait_for("() => document.querySelector('.swb-diff-facts').textContent.includes(' sure')")

    def told(**contest: Any) -> str:
        bench.page.evaluate(
            """one => kernel.patch(model, { history: { '=':
                { ...kernel.slices.history, contests: [{ id: '6 7', a: 6, b: 7, error: '', ...one }] } } })""",
            contest,
        )
        return bench.text(".swb-diff-facts")

    assert "they are being timed" in told(state="running", text="they are being timed")
    assert bench.page.locator(".swb-diff [data-swb-do=contest]").get_attribute("aria-disabled") == "true"
    met = told(state="", text="v7 is 3.3 × faster than v6")
    assert "measured 1.33 → 1.34 ms Time v6 against v7 v7 is 3.3 × faster" in met, "what each took by itself says less"
    assert "not timed: timeout" in told(state="failed", text="not timed: timeout", error="participant 1: timeout")
    said = bench.page.locator(".swb-diff-facts [role=status].swb-careful")
    assert said.get_attribute("title") == "participant 1: timeout", "all of it is there to be read"


def test_any_two_variants(bench: Bench) -> None:
    show(bench, "diff")
    bench.page.select_option(".swb-diff [aria-label=Before]", "0")
    answer = recorded("model", "diff", a=0, b=7, kind="nest")
    bench.wait_for(f"() => {ROWS}.length > 3 && !document.querySelector('{DIFF}.is-stale')")
    assert [m["args"] for m in bench.sent("ask") if m["q"] == "diff"][-1] == {"a": 0, "b": 7, "kind": "nest"}
    assert bench.text(".swb-diff [role=status]") == f"{answer['changed']} changed rows"
    bench.page.select_option(".swb-diff [aria-label=After]", "0")
    bench.wait_for("() => document.querySelector('.swb-diff .swb-blank')")


def test_a_variant_without_another_one_has_nothing_to_compare_with(bench: Bench) -> None:
    bench.open(fixture="matmul")
    bench.page.evaluate("() => kernel.patch(model, { history: { '=': { ...kernel.slices.history, at: 0 } } })")
    bench.click("[data-swb-tab=diff]")
    assert "nothing to compare with" in bench.text(".swb-slot-diff")


@pytest.mark.parametrize(("key", "focus"), [("c", BOX), ("d", DIFF)])
def test_keys_lead_there(bench: Bench, key: str, focus: str) -> None:
    bench.open()
    bench.page.focus('[role=row][tabindex="0"]')
    bench.page.keyboard.press(key)
    middle = "code" if key == "c" else "diff"
    bench.wait_for(f"() => document.activeElement.closest('.swb-slot-{middle}')")
    bench.wait_for(f"() => document.querySelector('{focus}')")
    assert bench.page.get_attribute(f"[data-swb-tab={middle}]", "aria-selected") == "true"


def test_in_little_room_a_changed_line_is_two_lines(bench: Bench) -> None:
    bench.open(fixture="model", width="700").click("[data-swb-tab=diff]")
    bench.wait_for(f"() => document.querySelector('{DIFF}.is-unified')")
    answer = recorded("model", "diff", a=6, b=7, kind="nest")
    marks = bench.page.evaluate(f"{ROWS}.map(e => e.dataset.mark)")
    assert marks == [mark for row in answer["rows"] if "skip" not in row for mark in row["mark"].replace("~", "-+")]
    assert bench.page.evaluate(f"{ROWS}.every(e => e.querySelectorAll('.swb-side').length === 1)")


def test_what_differs_inside_the_selected_loop_alone(bench: Bench) -> None:
    show(bench, "diff")
    bench.click(".swb-diff label:has-text('only in c') input")
    bench.wait_for("() => model.sent.some(m => m.q === 'diff' && m.args.row === 'c')")


def test_the_whole_text_is_copied_whatever_was_looked_at(bench: Bench) -> None:
    show(bench, "code", "llvm", "kernel")
    page = recorded("kernel", "code", kind="llvm", node=13)
    assert page["total"] > len(page["lines"]), "so there is a second page"
    bench.page.evaluate(
        "navigator.clipboard ??= {}; navigator.clipboard.writeText = async text => { window.copied = text; }"
    )
    bench.click("[data-swb-do=copy]")
    bench.wait_for("() => document.querySelector('[data-swb-do=copy]').textContent === 'Copied'")
    lines = bench.page.evaluate("copied").split("\n")
    assert len(lines) == page["total"] + 1
    assert lines[: len(page["lines"])] == page["lines"]
    assert all(lines[:-1])


TABLISTS = """() => [...document.querySelectorAll('[role=tablist]')].map(list => {
  const all = (selector, in_ = list) => [...in_.querySelectorAll(selector)], byId = id => document.getElementById(id);
  const open = all('[aria-selected=true]'), attribute = (el, name) => el.getAttribute(name);
  const panels = all('[aria-controls]').map(tab => byId(attribute(tab, 'aria-controls')));
  return [attribute(list, 'aria-label'), open[0].textContent, open.length, all('[tabindex="0"]').length,
    panels.map(one => [attribute(one, 'role'), byId(attribute(one, 'aria-labelledby')) === open[0]])];
})"""


def test_every_list_of_tabs_has_its_panel_and_is_walked_by_keys(bench: Bench) -> None:
    bench.open()
    for tab, inner in (("code", "C"), ("diff", "C")):
        bench.click(f"[data-swb-tab={tab}]")
        bench.page.wait_for_selector("[data-swb-tab=asm]")
        for key, shown in (
            ("Home", "Program"),
            ("ArrowRight", "C"),
            ("End", "Kernels"),
            ("ArrowRight", "Program"),
            ("ArrowRight", inner),
        ):
            bench.page.locator("[aria-label='Form of the code'] [tabindex='0']").press(key)
            bench.wait_for(f"document.activeElement.textContent === '{shown}'")
        found = bench.page.evaluate(TABLISTS)
        assert [one[:2] for one in found] == [
            ["Screens", "Schedule"], ["Views of the schedule", tab.capitalize()], ["Form of the code", inner],
        ]  # fmt: skip
        for _, _, selected, stops, panels in found:
            assert (selected, stops, panels) == (1, 1, [["tabpanel", True]])
