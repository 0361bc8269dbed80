"""What of the drawn graph is on the screen: zooming, scrolling, names, the small map, and size."""

from __future__ import annotations

import pytest

from frontend_model import states
from frontend_model.conftest import Panels
from frontend_model.drawn_graph import OPEN, bring, fit, node, scale, show

FIRST_PAINT_MS = 1500


def test_the_focused_node_is_kept_on_the_screen(panels: Panels) -> None:
    show(panels, width=300, height=420)
    node(panels, OPEN).focus()
    for _ in range(12):
        panels.page.keyboard.press("ArrowDown")
        panels.settle()
    stage = panels.page.locator(".swb-dag-svg").bounding_box()
    box = panels.page.locator(".swb-dag-svg :focus").bounding_box()
    assert stage["y"] - 1 <= box["y"]
    assert box["y"] + box["height"] <= stage["y"] + stage["height"] + 1


def test_keys_and_buttons_zoom(panels: Panels) -> None:
    show(panels, width=300, height=420)
    node(panels, OPEN).focus()
    first = scale(panels)
    panels.page.keyboard.press("+")
    panels.settle()
    assert scale(panels) > first
    panels.page.keyboard.press("-")
    panels.page.keyboard.press("f")
    panels.settle()
    height = panels.page.locator(".swb-dag-svg").bounding_box()["height"]
    assert scale(panels) * states.graph()["height"] <= height
    whole = scale(panels)
    panels.page.get_by_role("button", name="Zoom in").click()
    panels.settle()
    assert scale(panels) > whole


def test_wheel_scrolls_and_ctrl_wheel_zooms(panels: Panels) -> None:
    show(panels, width=300, height=420)
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
    show(panels, width=300, height=420)
    box = node(panels, OPEN).bounding_box()
    x, y = box["x"] + 20, box["y"] + 10
    panels.page.mouse.move(x, y)
    panels.page.mouse.down()
    panels.page.mouse.move(x, y - 60, steps=4)
    panels.page.mouse.up()
    panels.settle()
    assert node(panels, OPEN).bounding_box()["y"] < box["y"] - 30
    assert panels.sent == []


def test_names_are_whole_and_stay_in_their_boxes(panels: Panels) -> None:
    show(panels, width=300, height=420)
    labels = {n["id"]: n["label"] for n in states.graph()["nodes"]}
    look = """[...document.querySelectorAll('.swb-dag-svg [data-node]')].map(node => {
      const [box, text] = [node.querySelector('.swb-node-box'), node.querySelector('text')];
      return [node.dataset.node, text.textContent, box.getBBox().width - text.getBBox().width];
    })"""
    both = []
    for _ in range(2):
        found = panels.page.evaluate(look)
        assert len(found) > 4
        assert all(labels[id] == text and room > 0 for id, text, room in found)
        both.append(panels.page.locator(".swb-node-sub").count() > 0)
        for _ in range(2):
            panels.page.get_by_role("button", name="Zoom in").click()
        panels.settle()
    assert both == [False, True], "names alone, then with a line below"


def test_a_name_that_no_size_fits_is_cut(panels: Panels) -> None:
    graph = states.graph()
    next(n for n in graph["nodes"] if n["id"] == "n3")["label"] = "a name " * 12
    show(panels, graph, width=700)
    bring(panels, "n3")
    text = node(panels, "n3").locator("text").first
    assert text.text_content().endswith("…")
    assert text.evaluate("el => el.getBBox().width <= el.parentElement.querySelector('.swb-node-box').getBBox().width")


def test_it_says_how_much_is_out_of_sight_and_leads_there(panels: Panels) -> None:
    show(panels, width=300, height=420)
    up, down = (panels.page.locator(f".swb-dag-more.is-{side}") for side in ("up", "down"))
    stage = panels.page.locator(".swb-dag-svg").bounding_box()

    def beyond(below: bool) -> int:
        """Nodes whose middle is out of sight, from where the drawing stands."""
        _, y, k = panels.page.evaluate(
            "document.querySelector('.swb-dag-svg > g').getAttribute('transform').match(/-?[\\d.]+/g).map(Number)"
        )
        middles = [k * (n["y"] + n["h"] / 2) + y for n in states.graph()["nodes"]]
        return sum(m > stage["height"] if below else m < 0 for m in middles)

    before = beyond(below=True)
    assert down.inner_text() == f"↓ {before} more"
    down.click()
    panels.settle()
    assert 0 < beyond(below=True) < before
    assert up.inner_text() == f"↑ {beyond(below=False)} more"
    fit(panels)
    assert panels.page.locator(".swb-dag-more").count() == 0


def test_the_small_map_is_as_high_as_its_place_and_leads_anywhere(panels: Panels) -> None:
    show(panels, width=300, height=420)
    small = panels.page.locator(".swb-minimap")
    box, stage = small.bounding_box(), panels.page.locator(".swb-dag-svg").bounding_box()
    assert box["height"] > 0.8 * stage["height"] or box["width"] > 0.15 * stage["width"]
    last = states.graph()["nodes"][-1]["id"]
    panels.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] - 4)
    panels.settle()
    assert node(panels, last).is_visible()
    panels.load()
    show(panels, states.huge_graph(), width=300, height=420)
    assert small.bounding_box()["width"] >= 14


def test_two_thousand_nodes_are_painted_at_once(panels: Panels) -> None:
    show(panels, states.huge_graph(), width=1200, height=700)
    assert 0 < panels.page.locator(".swb-node").count() <= 301
    fit(panels)
    assert panels.page.locator(".swb-node").count() == 1
    assert panels.page.locator(".swb-dag-svg path").count() < 20
    paths = panels.page.locator(".swb-dag-svg .swb-block").all()
    assert sum(path.get_attribute("d").count("z") for path in paths) == 2000
    assert panels.page.locator(".swb-node text").count() == 0


@pytest.mark.bench
def test_two_thousand_nodes_are_painted_in_time(panels: Panels) -> None:
    assert show(panels, states.huge_graph(), width=1200, height=700) < FIRST_PAINT_MS


def test_a_block_is_found_by_its_place(panels: Panels) -> None:
    graph = states.huge_graph()
    show(panels, graph, width=1200, height=700)
    fit(panels)
    target = graph["nodes"][1234]
    x, y = panels.page.evaluate(
        """([x, y]) => {
          const svg = document.querySelector('.swb-dag-svg');
          const at = new DOMPoint(x, y).matrixTransform(svg.querySelector('g').getScreenCTM());
          return [at.x, at.y];
        }""",
        [target["x"] + target["w"] / 2, target["y"] + target["h"] / 2],
    )
    panels.page.mouse.move(x, y)
    panels.settle()
    name = states.tasks()["rows"][target["task"]]["name"]
    assert name in panels.page.locator(".swb-readout").inner_text()
    panels.page.mouse.click(x, y)
    panels.settle()
    assert panels.sent == [("open_task", {"task": target["task"]})]
    assert node(panels, target["id"]).get_attribute("tabindex") == "0"


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
