"""The drawn graph: opening tasks, walking along edges, searching, zooming, and size."""

from __future__ import annotations

from typing import Any

from frontend_model import states
from frontend_model.conftest import Panels

FIRST_PAINT_MS = 1500
OPEN = next(n["id"] for n in states.graph()["nodes"] if n["task"] == 3)  # on the screen at first


def node(panels: Panels, name: str) -> Any:
    return panels.page.locator(f'.swb-dag-svg [data-node="{name}"]')


def fit(panels: Panels) -> None:
    """Show the whole graph: every node is in the document then."""
    panels.page.get_by_role("button", name="Fit").click()
    panels.settle()


def scale(panels: Panels) -> float:
    text = panels.page.locator(".swb-dag-svg > g").get_attribute("transform")
    return float(text.split("scale(")[1].rstrip(")"))


def test_click_and_enter_open_the_task(panels: Panels) -> None:
    panels.open("graph", states.state(), width=700)
    fit(panels)
    node(panels, "n12").click()
    task = next(n for n in states.graph()["nodes"] if n["id"] == "n12")["task"]
    assert panels.sent == [("open_task", {"task": task})]
    node(panels, "n12").focus()
    panels.page.keyboard.press("Enter")
    assert panels.sent == [("open_task", {"task": task})] * 2


def test_a_node_that_copies_no_data_opens_nothing(panels: Panels) -> None:
    panels.open("graph", states.state(), width=700)
    view = next(n["id"] for n in states.graph()["nodes"] if n["kind"] == "view")
    fit(panels)
    node(panels, view).focus()
    panels.page.keyboard.press("Enter")
    assert node(panels, view).get_attribute("aria-disabled") == "true"
    assert panels.sent == []


def test_nodes_of_the_open_task_are_outlined(panels: Panels) -> None:
    panels.open("graph", states.state())
    fit(panels)
    wanted = {n["id"] for n in states.graph()["nodes"] if n["task"] == 3}
    current = panels.page.locator(".swb-dag-svg [aria-current=true]")
    assert {e.get_attribute("data-node") for e in current.all()} == wanted
    assert current.locator(".swb-ring.is-current").count() == len(wanted)


def test_colour_follows_the_share_and_changes_in_place(panels: Panels) -> None:
    panels.open("graph", states.state(), height=700)
    fit(panels)
    hot = node(panels, next(n["id"] for n in states.graph()["nodes"] if n["task"] == 0))
    assert "swb-tone6" in hot.get_attribute("class")
    row = {**states.tasks()["rows"][0], "share": 0.0}
    hot.evaluate("el => { window.kept = el }")
    panels.patch({"tasks": {"~": {"set": [row]}}})
    panels.settle()
    assert "swb-tone1" in hot.get_attribute("class")
    assert hot.evaluate("el => el === window.kept")


def test_arrow_keys_follow_the_edges(panels: Panels) -> None:
    panels.open("graph", states.state(), width=700)
    fit(panels)
    node(panels, "n3").focus()
    seen = []
    for key in ("ArrowDown", "ArrowRight", "ArrowLeft", "ArrowUp"):
        panels.page.keyboard.press(key)
        panels.settle()
        seen.append(panels.focused("data-node"))
    assert seen == ["n4", "n5", "n4", "n3"]
    assert panels.page.locator('.swb-dag-svg [tabindex="0"]').count() == 1


def test_the_focused_node_is_kept_on_the_screen(panels: Panels) -> None:
    panels.open("graph", states.state(), width=300, height=420)
    node(panels, OPEN).focus()
    for _ in range(12):
        panels.page.keyboard.press("ArrowDown")
        panels.settle()
    stage = panels.page.locator(".swb-dag-svg").bounding_box()
    box = panels.page.locator(".swb-dag-svg :focus").bounding_box()
    assert stage["y"] - 1 <= box["y"]
    assert box["y"] + box["height"] <= stage["y"] + stage["height"] + 1


def test_keys_and_buttons_zoom(panels: Panels) -> None:
    panels.open("graph", states.state(), width=300, height=420)
    node(panels, OPEN).focus()
    first = scale(panels)
    panels.page.keyboard.press("+")
    panels.settle()
    assert scale(panels) > first
    panels.page.keyboard.press("-")
    panels.page.keyboard.press("0")
    panels.settle()
    height = panels.page.locator(".swb-dag-svg").bounding_box()["height"]
    assert scale(panels) * states.graph()["height"] <= height
    whole = scale(panels)
    panels.page.get_by_role("button", name="Zoom in").click()
    panels.settle()
    assert scale(panels) > whole


def test_wheel_scrolls_and_ctrl_wheel_zooms(panels: Panels) -> None:
    panels.open("graph", states.state(), width=300, height=420)
    where = panels.page.locator(".swb-dag-svg > g")
    panels.page.locator(".swb-dag-svg").hover(position={"x": 60, "y": 120})
    before, zoom = where.get_attribute("transform"), scale(panels)
    panels.page.mouse.wheel(0, 120)
    panels.settle()
    assert where.get_attribute("transform") != before
    assert scale(panels) == zoom
    panels.page.keyboard.down("Control")
    panels.page.mouse.wheel(0, -120)
    panels.page.keyboard.up("Control")
    panels.settle()
    assert scale(panels) > zoom


def test_a_drag_moves_the_drawing_and_opens_nothing(panels: Panels) -> None:
    panels.open("graph", states.state(), width=300, height=420)
    box = node(panels, OPEN).bounding_box()
    x, y = box["x"] + 20, box["y"] + 10
    panels.page.mouse.move(x, y)
    panels.page.mouse.down()
    panels.page.mouse.move(x, y - 60, steps=4)
    panels.page.mouse.up()
    panels.settle()
    assert node(panels, OPEN).bounding_box()["y"] < box["y"] - 30
    assert panels.sent == []


def test_search_dims_the_rest_and_enter_goes_to_the_next(panels: Panels) -> None:
    panels.open("graph", states.state(), width=300, height=420)
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


def test_what_is_under_the_pointer_is_read_out(panels: Panels) -> None:
    panels.open("graph", states.state(), width=700)
    fit(panels)
    node(panels, "n12").hover()
    panels.settle()
    text = panels.page.locator(".swb-readout").inner_text()
    row = states.tasks()["rows"][next(n["task"] for n in states.graph()["nodes"] if n["id"] == "n12")]
    assert row["name"] in text
    assert f"{row['ms']:.3f} ms" in text
    assert f"{100 * row['share']:.1f}" in text


def test_two_thousand_nodes_are_painted_at_once(panels: Panels) -> None:
    took = panels.open("graph", states.state(graph=states.huge_graph()), width=1200, height=700)
    assert took < FIRST_PAINT_MS
    drawn = panels.page.locator(".swb-node").count()
    assert 0 < drawn < 1500
    fit(panels)
    assert panels.page.locator(".swb-node").count() == 2000
    assert panels.page.locator(".swb-node text").count() == 0


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


def test_a_graph_that_was_whole_stays_whole_in_a_narrower_box(panels: Panels) -> None:
    nodes = [
        {
            "id": f"n{i}",
            "label": "n",
            "sub": "",
            "task": None,
            "kind": "view",
            "x": 160 * i,
            "y": 60 * i,
            "w": 120,
            "h": 40,
        }
        for i in range(3)
    ]
    panels.open("stages", {"stages": {"nodes": nodes, "edges": [], "width": 440, "height": 160}}, width=700)
    assert panels.page.locator(".swb-minimap").count() == 0
    panels.page.evaluate("document.querySelector('.swb').parentElement.style.width = '320px'")
    panels.settle()
    panels.page.wait_for_function("document.querySelector('.swb').clientWidth <= 320")
    panels.settle()
    assert panels.page.locator(".swb-minimap").count() == 0
