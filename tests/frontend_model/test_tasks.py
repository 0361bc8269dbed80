"""The task table: updated in place, sorted, opened by mouse and keyboard, and narrow enough for a side panel."""

from __future__ import annotations

from typing import Any

from frontend_model import states
from frontend_model.conftest import Json, Panels

KEEP = "() => { window.rows = new Map([...document.querySelectorAll('tr[data-task]')].map(r => [r.dataset.task, r])) }"
SAME = "() => [...document.querySelectorAll('tr[data-task]')].every(r => window.rows.get(r.dataset.task) === r)"
WATCH = """() => {
  window.touched = new Set();
  new MutationObserver(list => list.forEach(one => {
    const el = one.target.nodeType === 1 ? one.target : one.target.parentElement;
    const row = el.closest('tr[data-task]');
    window.touched.add(row ? row.dataset.task : el.tagName);
  })).observe(document.querySelector('tbody'),
    { subtree: true, childList: true, characterData: true, attributes: true });
}"""

RECORD = """() => {
  window.flashes = [];
  const animate = Element.prototype.animate;
  Element.prototype.animate = function (frames, time) {
    window.flashes.push([this.textContent, time]);
    return animate.call(this, frames, time);
  };
}"""


def order(panels: Panels) -> list[int]:
    return [int(r.get_attribute("data-task")) for r in panels.page.locator("tr[data-task]").all()]


def cell(panels: Panels, task: int, column: int) -> Any:
    return panels.page.locator(f'tr[data-task="{task}"] td').nth(column)


def changed(task: int, **values: Any) -> Json:
    return {"tasks": {"~": {"set": [{**states.tasks()["rows"][task], **values}]}}}


def test_an_update_touches_the_changed_row_only(panels: Panels) -> None:
    panels.open("tasks", states.state())
    panels.page.evaluate(KEEP)
    panels.page.evaluate(WATCH)
    panels.patch(changed(2, ms=0.391, trials=73))
    panels.settle()
    assert cell(panels, 2, 2).inner_text() == "0.391"
    assert cell(panels, 2, 5).inner_text() == "73"
    assert panels.page.evaluate(SAME)
    assert panels.page.evaluate("[...window.touched]") == ["2"]


def test_rows_keep_their_elements_when_the_order_changes(panels: Panels) -> None:
    panels.open("tasks", states.state())
    panels.page.evaluate(KEEP)
    before = order(panels)
    panels.patch(changed(7, share=0.5))
    panels.settle()
    assert order(panels) == [7, *[i for i in before if i != 7]]
    assert panels.page.evaluate(SAME)


def test_the_order_stands_still_under_the_pointer(panels: Panels) -> None:
    panels.open("tasks", states.state())
    before = order(panels)
    cell(panels, 3, 0).hover()
    panels.patch(changed(7, share=0.5))
    panels.settle()
    assert order(panels) == before
    panels.page.mouse.move(1, 1)
    panels.page.mouse.move(1000, 800)
    panels.settle()
    assert order(panels)[0] == 7


def test_a_changed_cell_lights_up_for_a_moment(panels: Panels) -> None:
    panels.open("tasks", states.state())
    panels.page.evaluate(RECORD)
    for ms, text in ((0.391, "0.391"), (0.38, "0.380")):
        panels.patch(changed(2, ms=ms))
        panels.settle()
        assert panels.page.evaluate("window.flashes.splice(0)") == [[text, 150]]
        panels.page.wait_for_function("() => document.getAnimations().length === 0")


def test_nothing_lights_up_with_reduced_motion(panels: Panels) -> None:
    panels.page.emulate_media(reduced_motion="reduce")
    panels.open("tasks", states.state())
    panels.page.evaluate("() => { window.flashes = 0; Element.prototype.animate = () => { window.flashes++ } }")
    panels.patch(changed(2, ms=0.391))
    panels.settle()
    assert cell(panels, 2, 2).inner_text() == "0.391"
    assert panels.page.evaluate("window.flashes") == 0


def test_headers_sort_and_say_so(panels: Panels) -> None:
    panels.open("tasks", states.state())
    rows = states.tasks()["rows"]
    by_share = sorted(rows, key=lambda r: (r["share"] is None, -(r["share"] or 0), r["id"]))
    assert order(panels) == [r["id"] for r in by_share]
    ms = panels.page.locator("th", has_text="ms").first
    ms.get_by_role("button").click()
    panels.settle()
    known = sorted((r for r in rows if r["ms"] is not None), key=lambda r: -r["ms"])
    unknown = [r["id"] for r in rows if r["ms"] is None]
    assert order(panels) == [r["id"] for r in known] + unknown
    assert ms.get_attribute("aria-sort") == "descending"
    ms.get_by_role("button").click()
    panels.settle()
    assert order(panels) == [r["id"] for r in reversed(known)] + unknown
    assert ms.get_attribute("aria-sort") == "ascending"
    assert panels.page.locator("th[aria-sort]").count() == 1
    panels.page.locator("th", has_text="of peak").get_by_role("button").click()
    panels.settle()
    fast = sorted((r for r in rows if r["gflops"] is not None), key=lambda r: (-r["gflops"], r["id"]))
    assert order(panels) == [r["id"] for r in fast] + [r["id"] for r in rows if r["gflops"] is None]
    share = fast[0]["gflops"] / states.state()["meta"]["peak_gflops"]
    assert cell(panels, fast[0]["id"], 4).inner_text() == f"{share:.1%}".replace("%", "\xa0%")


def test_click_and_enter_open_a_task(panels: Panels) -> None:
    panels.open("tasks", states.state())
    cell(panels, 5, 0).click()
    panels.page.keyboard.press("Tab")
    panels.page.locator('tr[data-task="0"]').focus()
    panels.page.keyboard.press("ArrowDown")
    panels.page.keyboard.press("Enter")
    second = order(panels)[1]
    assert panels.sent == [("open_task", {"task": 5}), ("open_task", {"task": second})]


def view(panels: Panels, name: str) -> Any:
    return panels.page.get_by_role("button", name=name, exact=True)


def test_what_the_scheduler_expects_of_every_task_is_a_view_of_the_table(panels: Panels) -> None:
    panels.open("tasks", states.steered())
    panels.page.evaluate(KEEP)
    results = order(panels)
    view(panels, "Scheduler").click()
    panels.settle()
    heads = [h.inner_text().strip("↓↑ ") for h in panels.page.locator("th").all()]
    assert heads == ["task", "×", "gain µs", "trials", "rounds", "backward", "optimism", "similarity", "to come", "why"]
    rows = states.expecting()["rows"]
    by_gain = sorted(rows, key=lambda r: (r["gain"] is None, -(r["gain"] or 0), r["id"]))
    assert order(panels) == [r["id"] for r in by_gain]
    assert panels.page.evaluate(SAME)
    texts = [cell(panels, 1, k).inner_text() for k in range(2, 10)]
    assert texts == ["36.0", str(rows[1]["trials"]), "4", "2.00", "15.0", "0", "10", "few rounds so far"]
    fresh = next(r["id"] for r in rows if r["gain"] is None)
    texts = [cell(panels, fresh, k).inner_text() for k in range(2, 10)]
    assert texts == ["–", str(rows[fresh]["trials"]), "0", "–", "–", "–", str(10 * fresh), "has not been tried yet"]
    panels.page.locator("th", has_text="to come").get_by_role("button").click()
    panels.settle()
    assert order(panels)[0] == rows[-1]["id"]
    view(panels, "Results").click()
    panels.settle()
    assert order(panels) == results


def test_the_view_stays_when_the_run_is_over_and_there_is_none_without_one(panels: Panels) -> None:
    panels.open("tasks", states.steered())
    view(panels, "Scheduler").click()
    panels.settle()
    assert "goes next" in panels.page.locator(".swb-tasks-tip").inner_text(), "it says what it is about"
    over = states.expecting()
    panels.patch({"tasks": {"=": {**over, "rows": [{**row, "more": None} for row in over["rows"]]}}})
    panels.settle()
    assert [cell(panels, 1, k).inner_text() for k in (2, 8)] == ["36.0", "–"]
    panels.patch({"tasks": {"=": states.tasks()}})
    panels.settle()
    assert view(panels, "Scheduler").count() == 0
    assert "share" in panels.page.locator("thead").inner_text()
    assert panels.page.locator("th[aria-sort]").count() == 1


def test_shares_are_estimated_until_they_are_measured_and_say_so(panels: Panels) -> None:
    panels.open("tasks", states.state(tasks=states.estimated()))
    rows = states.estimated()["rows"]
    assert order(panels) == [r["id"] for r in sorted(rows, key=lambda r: -r["est_share"])]
    assert cell(panels, 0, 2).inner_text() == "≈ 0.412"
    assert "nothing was run" in cell(panels, 0, 2).get_attribute("title")
    assert cell(panels, 0, 6).inner_text().replace("\xa0", " ") == "≈ 21.7 %"
    assert panels.page.locator(".swb-share-bar.is-guess").count() == len(rows)
    assert panels.page.locator(".swb-total").inner_text() == "sum of 34 kernels ≈ 11.4 ms est."
    panels.patch({"tasks": {"=": states.tasks(200)}})
    panels.settle()
    assert panels.page.locator(".swb-share-bar.is-guess").count() == 0
    assert "≈" not in panels.page.locator(".swb-tasks").inner_text()


def test_what_a_column_means_can_be_read_by_keyboard(panels: Panels) -> None:
    """One tab stop, arrows walk among the columns that are shown, and each says what it is."""
    panels.open("tasks", states.steered(), width=600)
    view(panels, "Scheduler").focus()
    panels.page.keyboard.press("Enter")
    panels.page.keyboard.press("Tab")
    tip = panels.page.locator(".swb-tasks-tip")
    assert tip.inner_text().startswith("gain µs: What one more round")
    panels.page.keyboard.press("ArrowRight")
    assert tip.inner_text().startswith("rounds: In a round")
    panels.page.keyboard.press("ArrowRight")
    assert tip.inner_text().startswith("to come: Trials that the task"), "columns that have no room are passed over"
    assert panels.page.locator("thead button[tabindex='0']").count() == 1
    panels.page.keyboard.press("Tab")
    assert panels.focused("data-task") is not None
    assert "goes next" in tip.inner_text()


def test_a_table_that_scrolls_says_how_much_is_below(panels: Panels) -> None:
    panels.open("tasks", states.state())
    panels.page.locator(".swb-tasks-scroll").evaluate("box => { box.style.maxHeight = '120px' }")
    below = panels.page.locator(".swb-below")
    assert "more tasks below" in below.inner_text()
    panels.page.locator(".swb-tasks-scroll").evaluate("box => { box.scrollTop = box.scrollHeight }")
    below.wait_for(state="detached")


def test_a_task_whose_round_is_held_is_not_called_measuring(panels: Panels) -> None:
    panels.open("tasks", states.state())
    assert cell(panels, 3, 10).inner_text() == "measuring"
    panels.patch({"tuning": {"=": states.tuning("paused")}})
    panels.settle()
    assert cell(panels, 3, 10).inner_text() == "on hold"


def test_the_best_time_says_how_sure_it_is(panels: Panels) -> None:
    panels.open("tasks", states.steered())
    title = cell(panels, 0, 2).get_attribute("title").replace("\xa0", " ")
    assert title == "± 0.004 · 98.8 % sure after 5 comparisons · 0.824 ms untuned"


def test_one_row_is_the_tab_stop(panels: Panels) -> None:
    panels.open("tasks", states.state())
    stop = panels.page.locator('tr[data-task][tabindex="0"]')
    assert [e.get_attribute("data-task") for e in stop.all()] == ["3"]
    stop.focus()
    panels.page.keyboard.press("End")
    panels.settle()
    last = str(order(panels)[-1])
    assert panels.focused("data-task") == last
    assert [e.get_attribute("data-task") for e in stop.all()] == [last]


def test_failures_name_their_kinds_and_long_names_are_whole_in_the_title(panels: Panels) -> None:
    panels.open("tasks", states.state())
    assert cell(panels, 1, 9).get_attribute("title") == "11 timeouts, 4 wrong answers, 2 run errors"
    assert cell(panels, 4, 0).get_attribute("title") == states.tasks()["rows"][4]["name"]


def test_end_to_end_and_before(panels: Panels) -> None:
    panels.open("tasks", states.state())
    text = panels.page.locator(".swb-total").inner_text()
    total, untuned = states.tasks()["total_ms"], states.tasks()["untuned_ms"]
    assert f"{total:.1f} ms" in text
    assert f"was {untuned:.1f} ms untuned" in text
    assert text.startswith("sum of 34 kernels")


def test_a_network_has_its_spread_and_no_ratio_where_none_shows(panels: Panels) -> None:
    found = {"ms": 1.84, "spread": 0.02, "untuned_ms": 2.43, "untuned_spread": 0.03, "why_not": ""}
    slices = states.state()
    for change in ("1.32× as fast", "no difference shows"):
        slices["tasks"] = {**slices["tasks"], "network": {**found, "change": change}}
        panels.open("tasks", slices)
        text = " ".join(panels.page.locator(".swb-total").inner_text().split())
        assert text == f"end to end 1.84 ms ± 0.02 · was 2.43 ms ± 0.04 untuned, {change}"


def test_a_narrow_table_keeps_task_calls_time_and_share(panels: Panels) -> None:
    panels.open("tasks", states.state(), width=248)
    shown = [h.inner_text().strip("↓↑ ") for h in panels.page.locator("th").all() if h.is_visible()]
    assert shown == ["task", "×", "ms", "share"]
    assert cell(panels, 3, 0).inner_text() == "3x3 64 @56"
    table = panels.page.locator("table").bounding_box()
    assert table["width"] <= 248
    names = panels.page.locator("td.swb-name").all()
    assert min(one.bounding_box()["width"] for one in names) >= 84, "1x1 512→64 and 1x1 512→1000 are told apart"


def test_the_header_stays_while_the_rows_scroll(panels: Panels) -> None:
    panels.open("tasks", states.state(), height=160)
    head = panels.page.locator("th").first
    before = head.bounding_box()
    panels.page.locator('tr[data-task="10"]').scroll_into_view_if_needed()
    assert head.bounding_box() == before


def test_the_open_task_is_in_sight_and_the_first_at_the_top(panels: Panels) -> None:
    """What is open first may stand far below; when the costliest one is opened, the table begins with it."""
    panels.open("tasks", states.state())
    panels.page.locator(".swb-tasks-scroll").evaluate("box => { box.style.maxHeight = '120px'; }")
    panels.patch({"head": {"=": {**states.state()["head"], "task": order(panels)[-1]}}})
    panels.settle()
    scrolled = "() => document.querySelector('.swb-tasks-scroll').scrollTop"
    assert panels.page.evaluate(scrolled) > 0
    panels.patch({"head": {"=": {**states.state()["head"], "task": order(panels)[0]}}})
    panels.settle()
    assert panels.page.evaluate(scrolled) == 0


def test_without_tasks_it_says_what_to_do(panels: Panels) -> None:
    panels.open("tasks", states.state(tasks=None))
    assert "Workbench" in panels.page.locator(".swb-blank").inner_text()
