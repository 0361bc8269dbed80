"""The live plot is borrowed from the kernel's figure widget: asked for once, attached, and given back."""

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
    assert panels.page.evaluate("kernel.told") == ["_config", {"responsive": True}]
    assert panels.page.evaluate("kernel.lumino") == [["before-attach", False], ["after-attach", True]]


def test_without_trials_nothing_is_asked_until_there_are_some(panels: Panels) -> None:
    panels.open("chart", states.state(tuning=states.tuning("none"), tasks=states.tasks(measured=False)))
    assert panels.sent == []
    assert "No trials yet" in panels.page.locator(".swb-blank").inner_text()
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


def test_closing_gives_the_view_back(panels: Panels) -> None:
    panels.open("chart", states.state())
    panels.page.evaluate("kernel.trait('figure', 'IPY_MODEL_one')")
    panels.page.wait_for_selector(".figure")
    panels.settle()
    panels.page.evaluate("kernel.close()")
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
