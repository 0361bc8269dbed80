"""From the tuning screen to a schedule: a task's row, and a trial that is named there."""

from __future__ import annotations

from typing import Any

from .conftest import Bench

NEST = "document.activeElement.closest('.swb-nest') && document.activeElement.dataset.row !== undefined"


def tuning(bench: Bench) -> Any:
    page = bench.open("steering").page
    page.wait_for_selector("[data-swb-tab=tuning][aria-selected=true]")
    return page


def test_enter_opens_a_task_and_enter_again_goes_to_its_schedule(bench: Bench) -> None:
    page = tuning(bench)
    page.focus(".swb-tasks tr[aria-selected=true]")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    task = int(bench.focused("data-task") or -1)
    assert bench.commands() == [("open_task", {"task": task})]
    page.evaluate(
        """task => { const { head } = kernel.slices;
        kernel.patch(model, { head: { '=': { ...head, task } } }); }""",
        task,
    )
    page.wait_for_selector(f"tr[data-task='{task}'][aria-selected=true]")
    assert page.locator("[data-swb-tab=tuning][aria-selected=true]").count() == 1
    page.keyboard.press("Enter")
    bench.wait_for(NEST)
    assert page.locator("[data-swb-tab=schedule][aria-selected=true]").count() == 1
    assert len(bench.commands()) == 1


def test_a_second_click_goes_to_the_schedule_as_well_and_moves_nothing_where_it_is_shown(bench: Bench) -> None:
    tuning(bench)
    bench.click(".swb-tasks tr[aria-selected=true]")
    bench.wait_for(NEST)
    bench.click(".swb-tasks tr[aria-selected=true]")
    assert bench.focused("data-task") is not None
    assert bench.commands() == []


def test_a_trial_lands_on_the_nest(bench: Bench) -> None:
    page = tuning(bench)
    task = page.evaluate("kernel.slices.head.task")
    bench.click(".swb-facts [data-swb-trial='143']")
    bench.wait_for(NEST)
    assert bench.commands() == [("open_trial", {"trial": 143, "task": task})]


def test_a_trial_that_cannot_be_opened_says_why_and_goes_nowhere(bench: Bench) -> None:
    page = tuning(bench)
    page.evaluate("""() => { const { run } = kernel;
        kernel.run = (cmd, args) => cmd === 'open_trial'
            ? { code: 'session.trial', message: 'Trial 31 has no schedule', where: [], hint: '' }
            : run.call(kernel, cmd, args); }""")
    bench.click(".swb-facts [data-swb-trial='31']")
    bench.wait_for("document.querySelector('.swb-note')?.innerText.includes('Trial 31 has no schedule')")
    assert page.locator("[data-swb-tab=tuning][aria-selected=true]").count() == 1
