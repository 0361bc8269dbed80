"""The drawn graph: opening tasks, walking along edges, searching, unfolding."""

from __future__ import annotations

import pytest

from frontend_model import states
from frontend_model.conftest import Panels
from frontend_model.drawn_graph import OPEN, answer, asked, bring, fit, node, show


def test_click_and_enter_open_the_task(panels: Panels) -> None:
    show(panels, width=700)
    bring(panels, "n12")
    node(panels, "n12").click()
    task = next(n for n in states.graph()["nodes"] if n["id"] == "n12")["task"]
    assert panels.sent == [("open_task", {"task": task})]
    node(panels, "n12").focus()
    panels.page.keyboard.press("Enter")
    assert panels.sent == [("open_task", {"task": task})] * 2


def test_a_node_that_copies_no_data_opens_nothing(panels: Panels) -> None:
    show(panels, width=700)
    view = next(n["id"] for n in states.graph()["nodes"] if n["kind"] == "view")
    bring(panels, view)
    node(panels, view).focus()
    panels.page.keyboard.press("Enter")
    assert node(panels, view).get_attribute("aria-disabled") == "true"
    assert panels.sent == []


def test_nodes_of_the_open_task_are_outlined(panels: Panels) -> None:
    show(panels)
    fit(panels)
    nodes = {n["id"]: n for n in states.graph()["nodes"]}
    wanted = {id for id, n in nodes.items() if n["task"] == 3}
    ring = panels.page.locator(".swb-dag-svg path.swb-ring.is-current").get_attribute("d")
    assert {start.split("h")[0] for start in ring.split("M")[1:]} == {
        f"{nodes[id]['x'] - 3} {nodes[id]['y'] - 3}" for id in wanted
    }
    bring(panels, OPEN)
    assert node(panels, OPEN).get_attribute("aria-current") == "true"
    assert node(panels, OPEN).locator(".swb-ring.is-current").count() == 1


def test_arrow_keys_follow_the_edges(panels: Panels) -> None:
    show(panels, width=700)
    bring(panels, "n3")
    node(panels, "n3").focus()
    seen = []
    for key in ("ArrowDown", "ArrowRight", "ArrowLeft", "ArrowUp"):
        panels.page.keyboard.press(key)
        panels.settle()
        seen.append(panels.focused("data-node"))
    assert seen == ["n4", "n5", "n4", "n3"]
    assert panels.page.locator('.swb-dag-svg [tabindex="0"]').count() == 1


def test_search_dims_the_rest_and_enter_goes_to_the_next(panels: Panels) -> None:
    show(panels, width=300, height=420)
    node(panels, OPEN).focus()
    panels.page.keyboard.press("/")
    panels.page.keyboard.type("dense")
    panels.settle()
    assert panels.page.get_by_text("1 found").is_visible()
    panels.page.keyboard.press("Enter")
    panels.settle()
    dense = next(n["id"] for n in states.graph()["nodes"] if n["label"].startswith("dense"))
    assert "is-dim" not in node(panels, dense).get_attribute("class")
    assert panels.page.locator(".swb-node.is-dim").count() == panels.page.locator(".swb-node").count() - 1
    assert node(panels, dense).is_visible()
    panels.page.keyboard.press("ArrowDown")
    panels.settle()
    assert panels.focused("data-node") == dense


def test_what_is_folded_away_is_found_by_its_name(panels: Panels) -> None:
    graph = states.graph()
    next(n for n in graph["nodes"] if n["id"] == "n12")["likes"] = "res4b_conv2 res4c_conv2"
    show(panels, graph, width=300, height=420)
    bring(panels, "res4c_conv2")
    assert node(panels, "n12").get_attribute("tabindex") == "0"


def test_what_is_under_the_pointer_is_read_out(panels: Panels) -> None:
    show(panels, width=700)
    bring(panels, "n12")
    node(panels, "n12").hover()
    panels.settle()
    text = panels.page.locator(".swb-readout").inner_text()
    row = states.tasks()["rows"][next(n["task"] for n in states.graph()["nodes"] if n["id"] == "n12")]
    assert row["name"] in text
    assert f"{row['ms']:.3f} ms" in text
    assert f"{100 * row['share']:.1f}" in text


def test_a_frame_opens_and_closes_in_place(panels: Panels) -> None:
    folded, opened = states.graph(), states.graph()
    frames = [states.fold(g, ["n3", "n4", "n6"], open=g is opened) for g in (folded, opened)]
    show(panels, folded, folds=frames[:1], width=700)
    bring(panels, "fold:a")
    frame = node(panels, "fold:a")
    assert frame.get_attribute("aria-expanded") == "false"
    assert frame.get_attribute("aria-label") == "stage 1 · 56×56, 3 nodes, repeated 4 times"
    assert "×4" in frame.text_content()
    frame.focus()
    before = frame.bounding_box()
    for n in opened["nodes"]:  # everything moves but what one looks at
        n["y"] += 300
    frames[1]["y"] += 300
    opened["height"] += 400
    answer(panels, opened, frames[1:])
    panels.page.keyboard.press("Enter")
    panels.settle()
    assert asked(panels)[-1] == {"level": "kernels", "expanded": ["fold:a"]}
    assert frame.get_attribute("aria-expanded") == "true"
    assert panels.focused("data-node") == "fold:a"
    assert frame.bounding_box()["y"] == pytest.approx(before["y"], abs=2)
    node(panels, "n4").focus()
    panels.page.keyboard.press("Escape")
    panels.settle()
    assert asked(panels)[-1] == {"level": "kernels", "expanded": []} or len(asked(panels)) == 2  # known by then
    assert panels.focused("data-node") == "fold:a"
    assert panels.sent == []


def test_one_click_on_a_node_of_a_folded_block_opens_its_task(panels: Panels) -> None:
    graph = states.graph()
    show(panels, graph, folds=[states.fold(graph, ["n3", "n4", "n6"])], width=700)
    bring(panels, "n4")
    node(panels, "n4").click()
    assert panels.sent == [("open_task", {"task": next(n["task"] for n in graph["nodes"] if n["id"] == "n4")})]


def test_shift_enter_shows_the_operators_of_a_kernel(panels: Panels) -> None:
    graph = states.graph()
    next(n for n in graph["nodes"] if n["id"] == "n3")["ops"] = 3
    show(panels, graph, width=700)
    bring(panels, "n3")
    node(panels, "n3").focus()
    assert panels.page.locator(".swb-readout button").inner_text() == "3 operators"
    panels.page.keyboard.press("Shift+Enter")
    panels.settle()
    assert asked(panels)[-1]["expanded"] == ["kernel:n3"]
    assert panels.sent == []


def test_a_question_that_fails_says_so_and_is_asked_again(panels: Panels) -> None:
    error = {"code": "x", "message": "No room for it.", "where": [], "hint": "close something"}
    panels.page.evaluate("error => { kernel.answers.graph = { ok: false, error } }", error)
    panels.open("graph", states.state(), width=700)
    panels.settle()
    assert "No room for it. close something" in panels.page.locator(".swb-missing").inner_text()
    answer(panels, states.graph())
    panels.page.get_by_role("button", name="Try again").click()
    panels.settle()
    assert panels.page.locator(".swb-missing").count() == 0
    assert node(panels, OPEN).is_visible()


def test_what_cannot_be_opened_is_told_beside_what_is_there(panels: Panels) -> None:
    graph = states.graph()
    show(panels, graph, folds=[states.fold(graph, ["n3", "n4"])], width=700)
    bring(panels, "fold:a")
    error = {"code": "x", "message": "No room for it.", "where": [], "hint": ""}
    panels.page.evaluate("error => { kernel.answers.graph = { ok: false, error } }", error)
    node(panels, "fold:a").focus()
    panels.page.keyboard.press("Enter")
    panels.settle()
    assert "No room for it." in panels.page.locator(".swb-missing").inner_text()
    assert node(panels, "fold:a").is_visible()


def test_it_says_that_it_waits_for_the_drawing(panels: Panels) -> None:
    panels.open("graph", states.state(), width=700)
    assert "Drawing the model" in panels.page.locator(".swb-missing").inner_text()


def test_a_stage_is_selected(panels: Panels) -> None:
    panels.open("stages", states.state(), width=500)
    node(panels, "acc").click()
    assert panels.sent == [("select", {"id": "acc"})]
    panels.patch({"selection": {"=": {"id": "acc"}}})
    panels.settle()
    assert node(panels, "acc").get_attribute("aria-current") == "true"


def test_without_a_model_it_says_what_to_do(panels: Panels) -> None:
    panels.open("graph", states.state(graph=None))
    assert "load_onnx" in panels.page.locator(".swb-blank").inner_text()
