"""The dialog with what can be taken away, by keyboard and by pointer; files are made in the browser."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from .conftest import Bench

ARGUMENTS = {
    "Python script": {"what": "script", "theme": "light"},
    "Steps": {"what": "trace", "theme": "light"},
    "Page": {"what": "html", "theme": "auto", "charts": True},
    "Variants": {"what": "csv", "theme": "light", "panel": "variants"},
    "Trials": {"what": "csv", "theme": "light", "panel": "trials"},
    "SVG": {"what": "svg", "theme": "light", "panel": "nest"},
    "Script": {"what": "network", "theme": "light"},
}
FILES = {
    "Script": "net.network.py", "Python script": "v7.py", "Steps": "v7.json", "Page": "page.html",
    "Variants": "variants.csv", "Trials": "trials.csv", "SVG": "nest.svg",
}  # fmt: skip


def saved(bench: Bench, label: str) -> Path:
    with bench.page.expect_download() as waiting:
        bench.click(f".swb-export button:text-is('{label}')")
    found: Any = waiting.value
    assert found.suggested_filename
    return Path(found.path()).rename(Path(found.path()).with_name(found.suggested_filename))


@pytest.mark.parametrize("label", ARGUMENTS)
def test_every_kind_is_asked_for_and_saved(bench: Bench, label: str) -> None:
    bench.open()
    bench.click("[data-swb-do=export]")
    path = saved(bench, label)
    assert path.name == FILES[label]
    assert path.read_bytes()
    (asked,) = [m["args"] for m in bench.sent("ask") if m["q"] == "export"]
    assert asked == ARGUMENTS[label]
    bench.wait_for(f"document.querySelector('.swb-export-said').textContent.startsWith('Saved {path.name}: ')")


def test_pixels_are_made_of_the_drawing(bench: Bench) -> None:
    bench.open(theme="dark")
    bench.click("[data-swb-do=export]")
    bench.page.select_option("[aria-label='What to draw']", "stages")
    path = saved(bench, "PNG")
    assert path.name == "stages.png"
    head = path.read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    assert (int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")) == (80, 40)  # twice as many
    (asked,) = [m["args"] for m in bench.sent("ask") if m["q"] == "export"]
    assert asked == {"what": "svg", "theme": "dark", "panel": "stages"}


def exports(bench: Bench) -> list[dict[str, Any]]:
    return [m["args"] for m in bench.sent("ask") if m["q"] == "export"]


SAID = "document.querySelector('.swb-export-said').textContent === {}"
BESIDE = ".swb-export label:has-text('beside the notebook') input"


def test_files_are_kept_beside_the_notebook(bench: Bench) -> None:
    """Then the kernel writes them, also those that only a browser can make."""
    bench.open()
    bench.click("[data-swb-do=export]")
    bench.click(BESIDE)
    above = "tick => !!(tick.compareDocumentPosition(document.querySelector('.swb-export button')) & 4)"
    assert bench.page.eval_on_selector(BESIDE, above), "it says where the files go: before the buttons that make them"
    bench.click(".swb-export button:text-is('Python script')")
    bench.wait_for(SAID.format("'Saved as /home/me/v7.py.'"))
    bench.click(".swb-export button:text-is('PNG')")
    bench.wait_for(SAID.format("'Saved as /home/me/nest.png.'"))
    script, drawing, given = exports(bench)
    assert script == {"what": "script", "theme": "light", "keep": True}
    assert drawing == {"what": "svg", "theme": "light", "panel": "nest"}
    assert base64.b64decode(given.pop("data")).startswith(b"\x89PNG\r\n\x1a\n")
    assert given == {"what": "png", "theme": "light", "panel": "nest", "keep": True}


def test_a_library_is_always_kept(bench: Bench) -> None:
    bench.open()
    bench.click("[data-swb-do=export]")
    bench.click(".swb-export button:text-is('Library')")
    bench.wait_for(
        SAID.format("'Saved as /home/me/net.so and net.h: 2 of 5 tasks without a schedule that was measured.'")
    )
    assert exports(bench) == [{"what": "library", "theme": "light", "keep": True}]


def test_a_faster_schedule_is_offered_beside_that_on_show(bench: Bench) -> None:
    bench.open()
    page = bench.page
    row = page.evaluate("kernel.slices.history.rows.find(row => row.id === kernel.slices.history.at)")
    page.evaluate(FASTER, [row["ms"], row["id"]])
    bench.click("[data-swb-do=export]")
    which = page.locator("[aria-label='Which schedule']")
    shown = which.locator("option").all_inner_texts()
    assert [text.split(",")[0] for text in shown] == ["v7 on show", "v2 best by hand", "trial 90 best in the log"]
    assert "a faster one is known" in bench.text(".swb-export")
    which.select_option("tuner")
    assert "a faster one is known" not in bench.text(".swb-export")
    assert "rebuilds trial 90" in bench.text(".swb-export")
    saved(bench, "Python script")
    which.select_option("2")
    saved(bench, "Steps")
    assert [one.get("node") for one in exports(bench)] == ["tuner", 2]


FASTER = """([ms, at]) => {
    const {history, tuning} = kernel.slices;
    const rows = history.rows.map(row => ({...row, ms: {2: ms / 2, [at]: ms}[row.id] ?? null}));
    kernel.patch(model, {history: {'=': {...history, rows}}, tuning: {'=': {...tuning, best_ready: true}},
        steering: {'=': {next: null, held: [], values: {}, commands: [], count: 0, refused: 0, task: {
            trial: 90, ms: ms / 4, spread: 0.01, origin: 'sketch', run: null, quality: 0.6, reason: '', resting: false,
            waiting: 0, failures: [], compared: 0, won: 0, last: null}}}});
}"""


CHART = "<svg xmlns='http://www.w3.org/2000/svg' width='30' height='10'/>"
PLOT = """svg => {
    const plot = document.createElement('div');
    plot.className = 'js-plotly-plot';
    plot.picture = async ground => { window.ground = ground; return svg; };
    document.querySelector('.swb').append(plot);
}"""


def test_the_chart_on_show_is_a_drawing_of_its_own(bench: Bench) -> None:
    """Plotly makes it; the kernel is only asked to keep it."""
    page = bench.open(theme="dark").page
    name = page.evaluate("kernel.slices.chart.name")
    page.evaluate(PLOT, CHART)
    bench.click("[data-swb-do=export]")
    page.select_option("[aria-label='What to draw']", label="Chart on show")
    assert saved(bench, "SVG").read_text() == CHART
    assert page.evaluate("ground") == page.evaluate("getComputedStyle(document.querySelector('.swb')).backgroundColor")
    pixels = saved(bench, "PNG")
    assert pixels.name == f"{name}.png"
    assert pixels.read_bytes()[16:24] == bytes([0, 0, 0, 60, 0, 0, 0, 20])
    assert not exports(bench)
    bench.click(BESIDE)
    bench.click(".swb-export button:text-is('SVG')")
    bench.wait_for(SAID.format(f"'Saved as /home/me/{name}.svg.'"))
    assert exports(bench) == [{"what": "svg", "theme": "dark", "panel": name, "keep": True, "data": CHART}]


def test_by_keyboard_and_back(bench: Bench) -> None:
    page = bench.open().page
    page.focus("[data-row='c']")
    page.keyboard.press("e")
    dialog = page.get_by_role("dialog", name="Export")
    dialog.wait_for()
    assert page.evaluate("document.activeElement.textContent") == "Python script"
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.textContent") == "Steps"
    with page.expect_download():
        page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    dialog.wait_for(state="detached")
    assert bench.focused("data-row") == "c"


def test_only_what_there_is_is_on_offer(bench: Bench) -> None:
    page = bench.open(fixture="matmul").page
    bench.click("[data-swb-do=export]")
    assert page.locator(".swb-export button:text-is('Tasks')").count() == 0
    drawings = page.eval_on_selector_all(".swb-export option", "all => all.map(e => e.value)")
    assert drawings == ["nest", "stages", "variants"]


def test_a_refusal_is_told_where_one_looks(bench: Bench) -> None:
    page = bench.open().page
    error = {"code": "x", "message": "There is no schedule", "where": [], "hint": "open a task"}
    refusal = {"q": "export", "args": {"theme": "light", "what": "script"}, "answer": {"ok": False, "error": error}}
    page.evaluate("refusal => { kernel.answers.push(refusal); }", refusal)
    bench.click("[data-swb-do=export]")
    bench.click(".swb-export button:text-is('Python script')")
    bench.wait_for("document.querySelector('.swb-export-said').textContent === 'There is no schedule. Open a task.'")


def test_what_a_script_still_needs_is_told(bench: Bench) -> None:
    page = bench.open().page
    file = {"name": "net.network.py", "mime": "text/x-python", "text": "#", "note": "it needs the model's file"}
    told = {"q": "export", "args": {"theme": "light", "what": "network"}, "answer": {"ok": True, "value": file}}
    page.evaluate("told => { kernel.answers.push(told); }", told)
    bench.click("[data-swb-do=export]")
    saved(bench, "Script")
    said = r"Saved net.network.py: it is among your browser\'s downloads: it needs the model\'s file."
    bench.wait_for(SAID.format(f"'{said}'"))


def test_without_a_kernel_the_buttons_say_so(bench: Bench) -> None:
    page = bench.open("dead").page
    bench.click("[data-swb-do=export]")
    button = page.locator(".swb-export button:text-is('Python script')")
    assert button.get_attribute("aria-disabled") == "true"
    assert "kernel" in (button.get_attribute("title") or "")


def test_the_best_by_hand_is_the_one_that_the_tree_tells(bench: Bench) -> None:
    """A time that is less by itself is none that turns have shown to be the same, and not that of the marked best."""
    bench.open()
    page = bench.page
    page.evaluate("""() => {
        const { history } = kernel.slices;
        const now = history.rows.find(row => row.id === history.at);
        const hand = { ...now, parent: 0, by: 'hand', trial: null, doubt: null, name: '' };
        const rows = [...history.rows.filter(row => row.id < 90 && row.by !== 'hand' || row === now),
            { ...hand, id: 91, ms: now.ms * 0.5, same: '= v92 in turns' }, { ...hand, id: 92, ms: now.ms * 0.6 },
            { ...hand, id: 93, ms: now.ms * 0.55 }];
        kernel.put('history', { ...history, rows, best: 92 });
        kernel.patch(model, kernel.changed);
    }""")
    bench.click("[data-swb-do=export]")
    shown = page.locator("[aria-label='Which schedule'] option").all_inner_texts()
    assert [text.split(",")[0] for text in shown][:2] == ["v7 on show", "v92 best by hand"]
