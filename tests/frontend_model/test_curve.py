"""The live plot is borrowed from the kernel's figure widget: asked for once, attached, and given back."""

from __future__ import annotations

from typing import Any

from frontend_model import states
from frontend_model.conftest import Panels


def figures(panels: Panels) -> list[Any]:
    return [f.inner_text() for f in panels.page.locator(".figure").all()]


def test_the_figure_is_asked_for_and_shown_when_it_comes(panels: Panels) -> None:
    panels.open("curve", states.state())
    assert panels.sent == [("figure", {})]
    assert "on its way" in panels.page.locator(".swb-blank").inner_text()
    panels.page.evaluate("kernel.trait('figure', 'IPY_MODEL_abc')")
    panels.page.wait_for_selector(".figure")
    panels.settle()
    assert figures(panels) == ["abc"]
    assert panels.page.locator(".figure").is_visible()
    assert panels.page.locator(".swb-blank").count() == 0
    assert panels.page.evaluate("kernel.lumino") == [["before-attach", False], ["after-attach", True]]


def test_another_figure_takes_the_place_of_the_first(panels: Panels) -> None:
    panels.open("curve", states.state())
    panels.page.evaluate("kernel.trait('figure', 'IPY_MODEL_one')")
    panels.page.wait_for_selector(".figure")
    panels.page.evaluate("() => { kernel.trait('figure', 'IPY_MODEL_two'); kernel.trait('figure', 'IPY_MODEL_three') }")
    panels.page.wait_for_function("document.querySelector('.figure')?.textContent === 'three'")
    panels.settle()
    assert figures(panels) == ["three"]
    assert panels.page.evaluate("kernel.removed") == 2


def test_closing_gives_the_view_back(panels: Panels) -> None:
    panels.open("curve", states.state())
    panels.page.evaluate("kernel.trait('figure', 'IPY_MODEL_one')")
    panels.page.wait_for_selector(".figure")
    panels.settle()
    panels.page.evaluate("kernel.close()")
    assert panels.page.evaluate("kernel.removed") == 1


def test_a_host_without_widgets_is_named(panels: Panels) -> None:
    panels.open("curve", states.state())
    panels.page.evaluate(
        "() => { delete kernel.model.widget_manager.create_view; kernel.trait('figure', 'IPY_MODEL_a') }"
    )
    panels.settle()
    assert "cannot show widgets of the kernel" in panels.page.locator(".swb-blank").inner_text()


def test_a_change_of_width_reaches_the_plot(panels: Panels) -> None:
    panels.open("curve", states.state())
    panels.page.evaluate("kernel.trait('figure', 'IPY_MODEL_one')")
    panels.page.wait_for_selector(".figure")
    panels.page.evaluate("() => { window.resized = 0; window.onresize = () => { window.resized++ } }")
    panels.page.locator("#place").evaluate("el => { el.style.width = '500px' }")
    panels.page.wait_for_function("window.resized > 0")
