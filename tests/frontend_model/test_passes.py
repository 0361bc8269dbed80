"""What the passes did to the model: the list, both sides of each, marks and reasons."""

from __future__ import annotations

from typing import Any

import pytest

from frontend_model import states
from frontend_model.conftest import Json, Panels
from frontend_model.drawn_graph import answer, asked, bring, choose, node, show


def row(name: str, **more: int) -> Json:
    usual: Json = {"before": 30, "after": 30, "removed": 0, "added": 0, "changed": 0, "kernels": 0, "ms": 1.25}
    return {"name": name, "doc": f"What {name} is for.", **usual, **more}


PASSES: Json = {
    "why": "",
    "passes": [
        row("dead_code"),
        row("fold", after=27, removed=4, added=1),
        row("layout", changed=9),
        row("fuse", kernels=12),
    ],
}


@pytest.fixture
def passes(panels: Panels) -> Panels:
    """The list of passes is open; the first pass that did something is chosen."""
    panels.page.evaluate("value => { kernel.answers.passes = { ok: true, value } }", PASSES)
    show(panels, width=700)
    graph = states.graph()
    graph["nodes"][3].update(mark="removed", reason="t3 is a constant now")
    answer(panels, graph)
    choose(panels, "What is shown", "passes")
    return panels


def button(panels: Panels, at: int) -> Any:
    return panels.page.locator(f"[data-pass='{at}']")


def test_each_pass_says_what_it_did(passes: Panels) -> None:
    texts = [" ".join(t.split()) for t in passes.page.locator("[data-pass]").all_inner_texts()]
    assert texts == ["dead_code nothing 30", "fold −4 +1 30 → 27", "layout ~9 30", "fuse 12 kernels 30"]
    label = button(passes, 1).get_attribute("aria-label")
    assert "30 nodes before, 27 after; 4 removed, 1 added, 0 changed" in label
    assert "What fold is for." in label


def test_both_sides_of_a_pass_are_drawn_with_marks(passes: Panels) -> None:
    assert button(passes, 1).get_attribute("aria-pressed") == "true"
    assert asked(passes)[-1] == {"level": "kernels", "expanded": [], "pass": 1, "side": "before"}
    bring(passes, "n3")
    marked = node(passes, "n3")
    assert "is-removed" in marked.get_attribute("class")
    assert marked.get_attribute("aria-label").startswith("− ")  # not by colour alone
    marked.hover()
    passes.settle()
    assert "t3 is a constant now" in passes.page.locator(".swb-readout").inner_text()
    passes.page.get_by_role("button", name="After", exact=True).click()
    passes.settle()
    assert asked(passes)[-1]["side"] == "after"


def test_the_list_is_walked_by_the_keyboard(passes: Panels) -> None:
    assert passes.page.locator("[data-pass][tabindex='0']").count() == 1
    button(passes, 1).focus()
    passes.page.keyboard.press("ArrowDown")
    assert passes.focused("data-pass") == "2"
    passes.page.keyboard.press("Enter")
    passes.settle()
    assert asked(passes)[-1]["pass"] == 2
    assert button(passes, 2).get_attribute("aria-pressed") == "true"


def test_an_answer_is_asked_for_once(passes: Panels) -> None:
    button(passes, 2).click()
    passes.settle()
    button(passes, 1).click()
    passes.settle()
    wanted = [a for a in asked(passes) if a.get("pass") == 1]
    assert len(wanted) == 1


def test_a_model_without_its_source_says_why(panels: Panels) -> None:
    why = {"passes": [], "why": "The model was given after its passes had run."}
    panels.page.evaluate("value => { kernel.answers.passes = { ok: true, value } }", why)
    show(panels, width=700)
    choose(panels, "What is shown", "passes")
    assert why["why"] in panels.page.locator(".swb-missing").inner_text()
