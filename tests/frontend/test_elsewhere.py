"""What belongs to one task or nest does not outlive it, and two views of a widget do not get in each other's way."""

from __future__ import annotations

import pytest

from .conftest import Bench

# Another task is open: its rows, its variants and its steps have the names and numbers of those before.
OTHER_TASK = """() => {
  kernel.put('head', { ...kernel.slices.head, task: kernel.slices.head.task + 1 });
  kernel.put('nest', { ...kernel.slices.nest });
  kernel.put('history', { ...kernel.slices.history });
  kernel.patch(model, kernel.changed);
}"""


def rows(bench: Bench) -> int:
    return bench.page.locator(".swb-nest [data-row]").count()


def test_rows_folded_in_one_task_are_open_in_the_next(bench: Bench) -> None:
    bench.open()
    before = rows(bench)
    bench.page.focus('[data-row="h.0"]')
    bench.page.keyboard.press("ArrowLeft")
    assert rows(bench) < before
    bench.page.evaluate(OTHER_TASK)
    bench.wait_for(f"document.querySelectorAll('.swb-nest [data-row]').length === {before}")


def test_a_name_that_is_being_written_is_not_given_to_another_tasks_variant(bench: Bench) -> None:
    bench.open()
    bench.click("[data-swb-do=name]")
    bench.page.fill("input.swb-name", "mine")
    bench.page.evaluate(OTHER_TASK)
    bench.page.wait_for_selector("input.swb-name", state="detached")
    assert "name" not in [cmd for cmd, _ in bench.commands()]


def test_marks_are_those_of_one_task_also_where_only_the_diff_is_shown(bench: Bench) -> None:
    bench.open(panel="diff")
    bench.page.select_option(".swb-diff [aria-label=Before]", "0")
    bench.page.evaluate(OTHER_TASK)
    bench.wait_for("document.querySelector('.swb-diff [aria-label=Before]').value === '6'")


def test_a_reason_goes_with_the_nest_that_it_was_about(bench: Bench) -> None:
    bench.open()
    bench.click("[data-swb-show=vectorize]")
    bench.page.wait_for_selector(".swb-row.is-marked")
    bench.page.keyboard.press("m")
    bench.page.wait_for_selector(".swb-row.is-moving")
    bench.page.evaluate(OTHER_TASK)
    bench.page.wait_for_selector(".swb-row.is-moving", state="detached")
    bench.wait_for("document.querySelectorAll('.swb-row.is-marked, .swb-pop').length === 0")


def test_who_leaves_the_nest_moves_nothing_any_more(bench: Bench) -> None:
    bench.open()
    bench.page.focus("[data-row=c]")
    bench.page.keyboard.press("m")
    bench.page.wait_for_selector(".swb-row.is-moving")
    bench.click("[data-swb-tab=code]")
    bench.click("[data-swb-tab=nest]")
    assert bench.page.locator(".swb-nest .swb-row").count() > 0
    assert bench.page.locator(".is-moving, .swb-moving").count() == 0


def test_two_views_wait_for_each_others_questions(bench: Bench) -> None:
    page = bench.open().page
    page.evaluate("""() => {
      window.held = [];
      kernel.later = f => held.push(f);
      const el = document.body.appendChild(document.createElement('div'));
      el.id = 'second';
      window.unmountSecond = widget.render({ model, el });
    }""")
    bench.click("#place [data-swb-tab=code]")
    bench.click("#second [data-swb-tab=code]")
    bench.click("#second [data-swb-tab=c]")
    asked = [m["args"]["kind"] for m in bench.sent("ask") if m["q"] == "code"]
    assert asked == ["nest"]  # both views want it; the second one's C waits until the first has its answer
    page.evaluate("() => { kernel.later = f => setTimeout(f); held.splice(0).forEach(f => f()); }")
    page.wait_for_selector("#place .swb-lines.is-nest")
    page.wait_for_selector("#second .swb-lines.is-c")
    asked = [m["args"]["kind"] for m in bench.sent("ask") if m["q"] == "code"]
    assert asked == ["nest", "c"]
    page.evaluate("unmountSecond()")


def test_a_question_that_nobody_waits_for_gives_way(bench: Bench) -> None:
    bench.open()
    bench.page.evaluate("() => { window.held = []; kernel.later = f => held.push(f); }")
    bench.click("[data-swb-tab=code]")
    for kind in ("c", "llvm", "asm"):
        bench.click(f".swb-code-panel [data-swb-tab={kind}]")
    bench.wait_for("model.sent.filter(m => m.q === 'code').length === 4")
    asked = [m["args"]["kind"] for m in bench.sent("ask") if m["q"] == "code"]
    assert asked == ["nest", "c", "llvm", "asm"]
    bench.page.evaluate("() => { kernel.later = f => setTimeout(f); held.splice(0).forEach(f => f()); }")
    bench.page.wait_for_selector(".swb-lines.is-asm")


def test_names_of_tasks_are_readable_beside_the_nest(bench: Bench) -> None:
    page = bench.open(width="1300").page
    cut = page.evaluate("""() => [...document.querySelectorAll('.swb-area-left td.swb-name')]
      .filter(e => /3x3 \\d+→\\d+ @/.test(e.title) && e.scrollWidth > e.clientWidth).map(e => e.title)""")
    assert cut == []


def test_long_names_of_tasks_keep_their_shapes(bench: Bench) -> None:
    page = bench.open(width="1300").page
    page.evaluate("""() => {
      const { tasks } = kernel.slices, shapes = ['1x768 768→3072', '1x3072 3072→768', '1x768 768→768', '1x768 768→2'];
      const rows = tasks.rows.map((row, k) => ({ ...row, name: `batch_matmul ${shapes[k % 4]} + bias + gelu` }));
      kernel.put('tasks', { ...tasks, rows });
      kernel.patch(model, kernel.changed); }""")
    page.wait_for_selector(".swb-area-left .swb-task-name")
    seen = page.evaluate("""() => [...document.querySelectorAll('.swb-area-left .swb-task-name')]
      .map(({ firstChild: kind, lastChild: shapes, parentElement: { title } }) => [
        title.includes(kind.textContent), shapes.innerText.trim(), shapes.scrollWidth <= shapes.clientWidth + 1])""")
    assert all(whole and kept for whole, _, kept in seen), seen
    assert len({shapes for _, shapes, _ in seen}) == 4, "they are told apart"


@pytest.mark.parametrize("width", ["380", "480", "620"])
def test_words_of_a_chip_are_whole_or_not_there(bench: Bench, width: str) -> None:
    page = bench.open(width=width, panel="nest").page
    page.wait_for_selector(".swb-chip")
    shown = page.evaluate("""() => [...document.querySelectorAll('.swb-chip')].map(chip => {
      const [box, words] = [chip, chip.lastChild].map(e => e.getBoundingClientRect());
      const there = words.top < box.bottom - 4;
      return !there || words.right <= box.right; })""")
    assert shown
    assert all(shown)


def test_a_condition_beside_a_time_is_explained(bench: Bench) -> None:
    page = bench.open().page
    page.evaluate("""() => { kernel.put('head', { ...kernel.slices.head, caches: 'warm caches' });
      kernel.patch(model, kernel.changed); }""")
    told = page.wait_for_selector("[data-swb-value=caches]", state="attached")
    assert "where the call before left them" in told.get_attribute("title")


def test_lines_of_steps_are_never_cut(bench: Bench) -> None:
    page = bench.open(width="700", panel="nest").page
    tops = page.evaluate("""() => {
      const box = document.querySelector('.swb-trace');
      const inner = box.getBoundingClientRect().top + box.clientTop;
      return [...box.children].map(e => Math.round(e.getBoundingClientRect().top - inner)).filter(top => top > -22);
    }""")
    assert min(tops) == 0


def test_the_trees_say_which_of_how_many_a_row_is(bench: Bench) -> None:
    page = bench.open("mixed").page
    fork = page.locator("[role=treeitem][data-step='11']")
    assert [fork.get_attribute(f"aria-{name}") for name in ("level", "posinset", "setsize")] == ["5", "2", "2"]
    places = page.evaluate(
        "[...document.querySelectorAll('.swb-nest [role=row]')].map(e => Number(e.getAttribute('aria-rowindex')))"
    )
    assert places == list(range(1, len(places) + 1))
