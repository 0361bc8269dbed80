"""The live plot is borrowed from the kernel's figure widget: asked for once, switched, clicked, and given back."""

from __future__ import annotations

from typing import Any

from frontend_model import states
from frontend_model.conftest import Panels


def figures(panels: Panels) -> list[Any]:
    return [f.inner_text() for f in panels.page.locator(".figure").all()]


def test_the_figure_is_asked_for_and_shown_when_it_comes(panels: Panels) -> None:
    panels.open("chart", states.state())
    assert panels.sent == [("figure", {})]
    assert "on its way" in panels.page.locator(".swb-blank").inner_text()
    panels.page.evaluate("kernel.trait('figure', 'IPY_MODEL_abc')")
    panels.page.wait_for_selector(".figure")
    panels.settle()
    assert figures(panels) == ["abc"]
    assert panels.page.locator(".figure").is_visible()
    assert panels.page.locator(".swb-blank").count() == 0
    assert panels.page.evaluate("kernel.lumino") == [["before-attach", False], ["after-attach", True]]


def test_without_trials_nothing_is_asked_until_there_are_some(panels: Panels) -> None:
    panels.open("chart", states.state(tuning=states.tuning("none"), tasks=states.tasks(measured=False)))
    assert panels.sent == []
    panels.page.evaluate("kernel.trait('figure', 'IPY_MODEL_abc')")  # it was made for the roofline
    panels.settle()
    assert "No trials yet" in panels.page.locator(".swb-blank").inner_text()
    assert panels.page.locator(".figure").count() == 0
    panels.page.evaluate("kernel.trait('figure', '')")
    panels.patch({"tuning": {"=": states.tuning(trials=1)}})
    panels.settle()
    assert panels.sent == [("figure", {})]


def test_a_refused_figure_is_asked_for_again_when_there_is_more(panels: Panels) -> None:
    error = {"code": "log.empty", "message": "No trial of this task.", "where": [], "hint": ""}
    panels.page.evaluate("e => { kernel.refuse.figure = e }", error)
    panels.open("chart", states.state())
    panels.settle()
    assert "No trial of this task." in panels.page.locator(".swb-blank").inner_text()
    panels.page.evaluate("() => { delete kernel.refuse.figure }")
    panels.patch({"tuning": {"=": states.tuning(trials=1300)}})
    panels.settle()
    assert panels.sent == [("figure", {})] * 2


def test_another_figure_takes_the_place_of_the_first(panels: Panels) -> None:
    panels.open("chart", states.state())
    panels.page.evaluate("kernel.trait('figure', 'IPY_MODEL_one')")
    panels.page.wait_for_selector(".figure")
    panels.page.evaluate("() => { kernel.trait('figure', 'IPY_MODEL_two'); kernel.trait('figure', 'IPY_MODEL_three') }")
    panels.page.wait_for_function("document.querySelector('.figure')?.textContent === 'three'")
    panels.settle()
    assert figures(panels) == ["three"]
    assert panels.page.evaluate("kernel.removed") == 2


def test_a_view_that_nobody_looks_at_is_kept_for_the_next_and_removed_with_the_workbench(panels: Panels) -> None:
    panels.open("chart", states.state())
    panels.page.evaluate("kernel.trait('figure', 'IPY_MODEL_one')")
    panels.page.wait_for_selector(".figure")
    panels.settle()
    panels.page.evaluate("window.plot = document.querySelector('.figure')")
    panels.page.evaluate("kernel.close()")
    assert figures(panels) == []
    panels.page.evaluate("async () => { kernel.close = await kernel.again() }")
    panels.page.wait_for_selector(".figure")
    assert panels.page.evaluate("plot === document.querySelector('.figure')")
    assert panels.sent[-1] == ("theme", {"theme": "light"}), "it may have changed while nobody looked"
    assert panels.page.evaluate("kernel.removed") == 0  # one that is removed would go on listening to its model
    panels.page.evaluate("kernel.stop()")
    assert panels.page.evaluate("kernel.removed") == 1


def test_a_host_without_widgets_is_named(panels: Panels) -> None:
    panels.open("chart", states.state())
    panels.page.evaluate(
        "() => { delete kernel.model.widget_manager.create_view; kernel.trait('figure', 'IPY_MODEL_a') }"
    )
    panels.settle()
    assert "cannot show widgets of the kernel" in panels.page.locator(".swb-blank").inner_text()


def test_a_change_of_width_reaches_the_plot(panels: Panels) -> None:
    panels.open("chart", states.state())
    panels.page.evaluate("kernel.trait('figure', 'IPY_MODEL_one')")
    panels.page.wait_for_selector(".figure")
    panels.page.evaluate("() => { window.resized = 0; window.onresize = () => { window.resized++ } }")
    panels.page.locator("#place").evaluate("el => { el.style.width = '500px' }")
    panels.page.wait_for_function("window.resized > 0")


CHART = {"name": "tuning", "wide": False, "height": 940, "roofs": "none"}
#: An element as plotly makes it, which can be clicked with what a point of it says.
PLOT = """point => {
    const el = document.createElement('div');
    el.className = 'js-plotly-plot';
    el.on = (event, f) => el.addEventListener('click', () => f({ points: [point] }));
    el.textContent = 'plot';
    document.querySelector('.figure').append(el);
}"""


def with_plot(panels: Panels, point: Any, **more: Any) -> None:
    panels.open("chart", states.state(chart=CHART, **more))
    panels.page.evaluate("kernel.trait('figure', 'IPY_MODEL_one')")
    panels.page.wait_for_selector(".figure")
    panels.page.evaluate(PLOT, point)


def test_a_click_on_a_point_opens_its_trial(panels: Panels) -> None:
    with_plot(panels, {"customdata": 412, "data": {"meta": "trial"}})
    panels.page.locator(".js-plotly-plot").click()
    task = panels.page.evaluate("kernel.slices.head.task")
    assert panels.sent[-1] == ("open_trial", {"trial": 412, "task": task})
    panels.page.mouse.move(0, 0)
    before = len(panels.sent)
    panels.page.locator(".js-plotly-plot").click()
    assert len(panels.sent) == before + 1  # listened to once, however often a pointer came near


def test_a_cell_of_the_timeline_opens_the_best_trial_of_that_round_and_task(panels: Panels) -> None:
    with_plot(panels, {"customdata": [97, 3], "data": {"meta": "turn"}})
    panels.page.locator(".js-plotly-plot").click()
    assert panels.sent[-1] == ("open_trial", {"trial": 97, "task": 3})


def test_a_round_without_a_valid_trial_opens_nothing(panels: Panels) -> None:
    with_plot(panels, {"customdata": [-1, 3], "data": {"meta": "turn"}})
    before = panels.sent
    panels.page.locator(".js-plotly-plot").click()
    assert panels.sent == before


def test_a_variant_under_the_roofs_is_gone_to(panels: Panels) -> None:
    with_plot(panels, {"customdata": 5, "data": {"meta": "variant"}})
    panels.page.locator(".js-plotly-plot").click()
    assert panels.sent[-1] == ("goto", {"step": 5})


def test_the_panel_by_itself_switches_to_the_roofline_and_has_the_roofs_measured(panels: Panels) -> None:
    panels.open("chart", states.state(chart=CHART))
    panels.page.get_by_role("button", name="Roofline").click()
    panels.page.wait_for_function("kernel.sent.some(([cmd, args]) => cmd === 'chart' && args.name === 'roofline')")
    assert ("chart", {"name": "roofline", "wide": False}) in panels.sent
    panels.page.get_by_role("button", name="Measure the roofs").click()
    assert panels.sent[-1] == ("measure_roofs", {})
    panels.patch({"chart": {"=": {**CHART, "name": "roofline", "roofs": "measuring"}}})
    panels.page.get_by_text("Measuring the roofs").wait_for()
    panels.patch({"chart": {"=": {**CHART, "name": "roofline", "roofs": "stored"}}})
    panels.settle()
    assert panels.page.get_by_role("button", name="Measure the roofs").count() == 0


def test_the_figure_says_what_it_shows_to_those_who_cannot_see_it(panels: Panels) -> None:
    with_plot(panels, {"data": {}})
    label = panels.page.get_by_role("img", name="Charts of the tuning run").get_attribute("aria-label")
    assert "best so far" in label
    assert "trials" in label
