"""The extension in a real JupyterLab: the viewer of tuning logs, the tour's tile, saved views of widgets."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

from browser.driver import Notebook
from notebooks.tour import TOURS
from tune.random_logs import ranked

from workbench.log import Command, Comparison, Header, Record, Round
from workbench.log.reader import write_log
from workbench.markup import milliseconds

from .conftest import open_lab

TARGET = "llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=generic -threads=2"
MARKUP = '<img src="x" onerror="window.broken = 1">'
WIDGET = """
import anywidget, traitlets

class Live(anywidget.AnyWidget):
    _esm = "export default { render({ el }) { el.textContent = 'this is live' } }"

    def _repr_mimebundle_(self, **kwargs):
        data = dict(super()._repr_mimebundle_(**kwargs)[0])
        html = "<table><tr><td>this is saved</td></tr></table><script>window.broken = 1</script>"
        data["application/vnd.schedule-workbench.view+json"] = {"model_id": self.model_id, "html": html, "version": 1}
        return data, {}

Live()
"""


def record(trial: int, task: str, ms: float | None, **fields: Any) -> Record:
    status = "run_error" if ms is None else "ok"
    return Record(
        task_key=f"key-{task}", task=task, trial=trial, status=fields.pop("status", status), target=TARGET,
        weight=2, flops=10**9, latency_ms=ms, elapsed_s=float(trial), timestamp=1.7e9 + trial, **fields,
    )  # fmt: skip


def line(item: Record | Comparison | Round | Command) -> str:
    return json.dumps(item.to_json()) + "\n"


def text(page: Any) -> str:
    return str(page.locator(".jp-ScheduleWorkbenchLog:visible").inner_text())


def shows(page: Any, wanted: str, timeout: float = 10_000) -> None:
    page.wait_for_function(
        "w => [...document.querySelectorAll('.jp-ScheduleWorkbenchLog')].some(n => n.innerText.includes(w))",
        arg=wanted,
        timeout=timeout,
    )


def test_log_opens_by_double_click_and_is_followed(page: Any, address: str, folder: Path) -> None:
    log = folder / "a.tunelog.jsonl"
    header = Header(tasks=(("key-matmul", "matmul"), ("key-relu", "relu")), target=TARGET, model="net")
    write_log(log, header, [record(0, "matmul", 4.0), record(1, "relu", None, error="first line\nsecond line")])
    open_lab(page, address)
    page.locator(".jp-DirListing-item", has_text="a.tunelog").dblclick()
    shows(page, "following, updated")
    assert "x86_64 · generic · 2 threads" in text(page)
    assert "2, 1 failed" in text(page)
    assert "4.00 ms for 1 of 2 tasks" not in text(page), "the weight is 2"
    assert "8.00 ms for 1 of 2 tasks" in text(page)
    page.locator(".swbl-failures summary").click()
    assert "second line" in text(page)
    page.get_by_role("button", name="matmul").click()
    curve = page.locator(".swbl-curve svg")
    assert "to 4.00 ms in 1 trial" in curve.get_attribute("aria-label")
    with log.open("a") as file:
        torn = line(record(3, "relu", 1.0))
        file.write(line(record(2, "matmul", 2.5)) + torn[:40])
        file.flush()
        shows(page, "The last line is not complete (40 characters")
        assert "could not be read" not in text(page)
        assert "to 2.50 ms in 2 trials" in curve.get_attribute("aria-label")
        assert page.get_by_role("button", name="matmul").get_attribute("aria-pressed") == "true"
        file.write(torn[40:])
        file.flush()
    shows(page, "7.00 ms")
    assert "not complete" not in text(page)
    other = Header(tasks=(("key-relu", "relu"),), model="another")
    write_log(log, other, [record(i, "relu", 9.0 - i) for i in range(8)])
    shows(page, "another")
    assert "2.00 ms" in text(page)
    assert "could not be read" not in text(page)
    log.unlink()
    shows(page, "a.tunelog.jsonl is no longer there")


def test_a_slow_nest_by_hand_does_not_flatten_the_candidates(page: Any, address: str, folder: Path) -> None:
    log = folder / "h.tunelog.jsonl"
    times = [(180.0, "manual"), (0.6, "default"), (0.7, "evolve"), (0.5, "evolve")]
    rows = [record(k, "matmul", ms, origin=origin) for k, (ms, origin) in enumerate(times)]
    write_log(log, Header(tasks=(("key-matmul", "matmul"),), target=TARGET, model="net"), rows)
    open_lab(page, address)
    page.locator(".jp-DirListing-item", has_text="h.tunelog").dblclick()
    shows(page, "following, updated")
    page.wait_for_selector(".swbl-curve circle.swbl-dot")
    heights = page.locator(".swbl-curve circle.swbl-dot").evaluate_all("all => all.map(e => +e.getAttribute('cy'))")
    assert max(heights) - min(heights) > 60, "trials are told apart"
    assert page.locator(".swbl-curve [data-above]").text_content() == "180 ms, above the picture"
    assert "1 trial above, up to 180 ms" in page.locator(".swbl-curve svg").text_content()


def test_damaged_log_is_shown_as_far_as_it_goes(page: Any, address: str, folder: Path) -> None:
    log = folder / "b.tunelog.jsonl"
    name = f"relu {MARKUP}"
    newer = {**record(1, name, 2.0).to_json(), "schema": 7, "new_field": [1]}
    log.write_text(
        line(record(0, name, 3.0)) + "{no json\n[1]\n" + json.dumps({"kind": "trial"}) + "\n" + json.dumps(newer)
    )
    (folder / "c.tunelog.jsonl").touch()
    open_lab(page, address)
    page.locator(".jp-DirListing-item", has_text="b.tunelog").dblclick()
    shows(page, "3 lines could not be read: 2, 3, 4.")
    assert "format 7; this viewer knows format 2" in text(page)
    assert "2.00 ms" in text(page), "a last line that lacks only its newline counts"
    assert MARKUP in text(page)
    assert not page.evaluate("window.broken")
    page.locator(".jp-DirListing-item", has_text="c.tunelog").dblclick()
    shows(page, "The file is empty.")
    (folder / "c.tunelog.jsonl").write_text('{"i": [["[]", "llvm"], [[], []]], "r": [[0.1], 0, 1, 2], "v": "v0.5"}\n')
    shows(page, "This is a log of TVM")


def drawn(seed: int) -> tuple[str, list[Record], list[Comparison]]:
    """A task whose trials and comparisons are drawn at random; comparisons may contradict each other."""
    chance, name = random.Random(seed), f"task{seed}"
    records = [
        record(
            i,
            name,
            round(chance.uniform(1, 2), 3),
            caches=chance.choice(["", "warm", "flushed", "constants shared", "constants in memory"]),
        )
        for i in range(12)
    ]
    lines = []
    for round_ in range(seed):
        trials = tuple(chance.sample(range(13), chance.randint(2, 4)))  # one of them is of no known trial
        times = tuple(round(chance.uniform(1, 2), 3) for _ in trials)
        lines.append(
            Comparison(
                task_key=f"key-{name}",
                task=name,
                round=round_,
                trials=trials,
                latency_ms=times,
                ratio=0.9,
                confidence=0.99,
                winner=chance.choice(trials),
                timestamp=1.7e9 + chance.randint(0, 3),
            )
        )
    return name, records, lines


def played(seed: int) -> tuple[str, list[Record], list[Comparison]]:
    """A task as a run leaves it: every comparison is against the best so far, and its winner is the next best."""
    chance, name = random.Random(seed), f"run{seed}"
    records = [record(i, name, round(chance.uniform(1, 2), 3)) for i in range(9)]
    lines, best = [], 0
    for k in range(5):
        rivals = chance.sample([i for i in range(9) if i != best], chance.randint(1, 3))
        trials, times = (best, *rivals), [round(chance.uniform(1, 2), 3) for _ in range(1 + len(rivals))]
        best = chance.choice(trials)
        lines.append(
            Comparison(
                task_key=f"key-{name}", task=name, trials=trials, latency_ms=tuple(times), winner=best,
                timestamp=1.7e9 + k,
            )
        )  # fmt: skip
    return name, records, lines


def test_the_best_is_who_the_comparisons_say(page: Any, address: str, folder: Path) -> None:
    cases = [drawn(seed) for seed in range(14)] + [played(seed) for seed in range(12)]
    steps = [item for _, records, lines in cases for item in (*records, *lines)]
    (folder / "d.tunelog.jsonl").write_text("".join(map(line, steps)))
    open_lab(page, address)
    page.locator(".jp-DirListing-item", has_text="d.tunelog").dblclick()
    shows(page, "following, updated")
    rows = page.locator(".swbl-columns .swbl-table tbody tr").all()
    found = {r.locator("button").inner_text(): r.locator("td").nth(2).inner_text() for r in rows}
    wanted = {}
    for name, records, lines in cases:
        wanted[name] = milliseconds(ranked(records, lines)[0].ms).split()[0]
    assert found == wanted
    assert "151, " in page.locator(".swbl-summary").inner_text()
    assert "could not be read" not in text(page)


def test_comparisons_rounds_and_commands_are_shown(page: Any, address: str, folder: Path) -> None:
    task = {"task_key": "key-matmul", "task": "matmul"}
    lines = [
        record(0, "matmul", 4.0),
        replace(record(1, "matmul", 3.0), task="by another name"),
        Command(name="start", args={"trials": 4, "tasks": ["key-matmul"]}),
        Comparison(**task, trials=(0, 1), latency_ms=(4.1, 4.6), ratio=1.12, confidence=0.01, winner=0),
        Round(**task, round=0, spearman=0.87),
        Command(name="pin", args={"task": "key-matmul", "hole": "i_0", "value": 4}, source="widget", elapsed_s=12.0),
        Command(
            name="pin",
            args={"task": 0, "hole": MARKUP, "value": None},
            source="control file",
            accepted=False,
            error="no such hole",
        ),
    ]
    odd = [{"kind": "comparison", **task}, {"kind": "round", "round": 1}, {"kind": "command"}, {"kind": "later"}]
    log = folder / "e.tunelog.jsonl"
    log.write_text("".join([*map(line, lines), *(json.dumps(one) + "\n" for one in odd)]))
    open_lab(page, address)
    page.locator(".jp-DirListing-item", has_text="e.tunelog").dblclick()
    shows(page, "3 lines could not be read: 8, 9, 10.")
    shown = text(page)
    assert "4.10 ms" in page.locator(".swbl-summary").inner_text(), "trial 1 lost; trial 0 was as fast twice"
    assert "1, none with a new best" in page.locator(".swbl-summary").inner_text()
    assert "Best: trial 0, 4.10 ms." in shown
    assert "trial 1 against trial 0: lost; the best of them was 1.12× slower" in shown
    assert "rank correlation was 0.87" in shown
    curve = page.locator(".swbl-curve svg").get_attribute("aria-label")
    assert "from 4.00 to 4.10 ms in 2 trials" in curve, "what lost was never the best"
    table = page.get_by_role("region", name="List of commands").inner_text()
    assert "pin matmul, hole = i_0, value = 4" in table
    assert "start matmul, trials = 4" in table
    assert "another name" not in shown, "a task keeps its first name"
    assert "widget" in table
    assert "refused: no such hole" in table
    assert f"pin matmul, hole = {MARKUP}\t" in table
    with log.open("a") as file:
        file.write(line(record(2, "matmul", 2.0)))
        file.write(line(Comparison(**task, trials=(0, 2), latency_ms=(4.2, 2.5), winner=2, timestamp=1.0)))
    shows(page, "Best: trial 2, 2.50 ms.")  # a time that was seen twice
    assert not page.evaluate("window.broken")


def test_tile_opens_the_first_tour_in_a_new_folder(page: Any, address: str, folder: Path) -> None:
    (folder / "Schedule Workbench tour").write_text("mine")
    open_lab(page, address)
    page.locator(".jp-LauncherCard:visible", has_text="Workbench Tour").click()
    first = f"Schedule Workbench tour 1/{TOURS[0].name}"
    page.wait_for_function(f"window.jupyterapp.shell.currentWidget?.context?.path === '{first}'")
    Notebook(page, address).wait_kernel()
    assert (folder / "Schedule Workbench tour").read_text() == "mine"
    made = folder / "Schedule Workbench tour 1"
    assert sorted(file.name for file in made.iterdir() if file.is_file()) == [tour.name for tour in TOURS]
    for tour in TOURS:
        cells = [json.loads((place / tour.name).read_text())["cells"] for place in (made, tour.parent)]
        assert [c["source"] for c in cells[0]] == [c["source"] for c in cells[1]]
    assert not list(folder.glob("Untitled*"))


def test_missing_tour_is_explained(page: Any, address: str) -> None:
    open_lab(page, address)
    page.route("**/01_tour_1_see_a_network.ipynb*", lambda route: route.fulfill(status=404, body=""))
    page.evaluate("() => { window.jupyterapp.commands.execute('schedule-workbench:tour'); }")
    page.wait_for_selector(".jp-Dialog")
    assert "Install it again" in page.locator(".jp-Dialog").inner_text()
    page.keyboard.press("Escape")
    page.unroute("**/01_tour_1_see_a_network.ipynb*")


def test_saved_view_until_the_cell_runs_again(page: Any, address: str, folder: Path) -> None:
    cell = {"cell_type": "code", "id": "a", "metadata": {}, "execution_count": None, "outputs": [], "source": WIDGET}
    spec = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    (folder / "w.ipynb").write_text(json.dumps({"cells": [cell], "metadata": spec, "nbformat": 4, "nbformat_minor": 5}))
    notebook = Notebook(page, address).open("w.ipynb")
    shown = "() => window.jupyterapp.shell.currentWidget.content.widgets[0].outputArea.node.innerText"
    notebook.run(0)
    notebook.poll(f"() => ({shown})().includes('this is live')")
    assert "Saved view" not in page.evaluate(shown)
    page.evaluate(
        "async () => { const w = window.jupyterapp.shell.currentWidget; await w.context.save();"
        " await w.sessionContext.shutdown(); }"
    )
    notebook.open("w.ipynb")
    notebook.poll(f"() => ({shown})().includes('Saved view: run the cell to bring it to life.')")
    assert "this is saved" in page.evaluate(shown)
    assert not page.evaluate("window.broken")
    notebook.run(0)
    notebook.poll(f"() => ({shown})().includes('this is live')")
    assert "this is saved" not in page.evaluate(shown)
