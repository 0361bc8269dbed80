"""The drawn graph: opening tasks, walking along edges, searching, zooming, and size."""

from __future__ import annotations

from typing import Any

import pytest

from frontend_model import states
from frontend_model.conftest import Json, Panels

FIRST_PAINT_MS = 1500
OPEN = next(n["id"] for n in states.graph()["nodes"] if n["task"] == 3)  # on the screen at first


def show(panels: Panels, drawing: Json | None = None, *, folds: list[Json] | None = None, **options: Any) -> float:
    """Open the model's graph; returns the milliseconds until it was painted."""
    answer(panels, drawing or states.graph(), folds)
    slices = options.pop("slices", {})
    began = panels.open("graph", states.state(**slices), **options)
    return began + float(
        panels.page.evaluate(
            """async () => {
              const from = performance.now();
              while (!document.querySelector('.swb-dag-svg [data-node]')) await new Promise(requestAnimationFrame);
              await new Promise(done => requestAnimationFrame(() => setTimeout(done)));
              return performance.now() - from;
            }"""
        )
    )


def answer(panels: Panels, drawing: Json, folds: list[Json] | None = None) -> None:
    """What the kernel says to the question from now on."""
    value = states.columns(drawing, folds)
    panels.page.evaluate("value => { kernel.answers.graph = { ok: true, value } }", value)


def asked(panels: Panels) -> list[Json]:
    """Arguments of the questions for the graph so far."""
    return [args for q, args in panels.page.evaluate("kernel.asked") if q == "graph"]


def bring(panels: Panels, name: str) -> None:
    """Bring a node to the middle, drawn by itself, with the keyboard's place on it."""
    search = panels.page.get_by_role("searchbox")
    search.fill(name)
    search.press("Enter")
    search.press("Escape")
    panels.settle()


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


def test_colour_follows_the_share_and_changes_in_place(panels: Panels) -> None:
    show(panels, height=700)
    name = next(n["id"] for n in states.graph()["nodes"] if n["task"] == 0)
    bring(panels, name)
    hot = node(panels, name)
    assert "swb-tone6" in hot.get_attribute("class")
    row = {**states.tasks()["rows"][0], "share": 0.0}
    hot.evaluate("el => { window.kept = el }")
    panels.patch({"tasks": {"~": {"set": [row]}}})
    panels.settle()
    assert "swb-tone1" in hot.get_attribute("class")
    assert hot.evaluate("el => el === window.kept")


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


def choose(panels: Panels, label: str, value: str) -> None:
    panels.page.get_by_label(label, exact=True).select_option(value)
    panels.settle()


def test_colours_follow_the_choice(panels: Panels) -> None:
    graph = states.graph()
    for n in graph["nodes"]:
        n["bytes"] = 4096
    big = next(n for n in graph["nodes"] if n["kind"] == "task")
    big["bytes"] = 1 << 20
    host = graph["nodes"][-2]
    host.update(kind="host", task=None, sub="no rule for it")
    show(panels, graph, width=700)
    bring(panels, big["id"])
    choose(panels, "Colour of the nodes", "bytes")
    assert "swb-tone6" in node(panels, big["id"]).get_attribute("class")
    assert "1.00" in panels.page.locator(".swb-dag-corner").inner_text()
    choose(panels, "Colour of the nodes", "trials")
    assert "96" in panels.page.locator(".swb-dag-corner").inner_text()
    choose(panels, "Colour of the nodes", "tunable")
    assert "swb-tone3" in node(panels, big["id"]).get_attribute("class")
    assert "tunable" in panels.page.locator(".swb-dag-corner").inner_text()
    fit(panels)
    assert panels.page.locator(".swb-dag-svg .swb-hatch").count() == 1
    assert panels.page.locator(".swb-dag-svg .swb-block.is-host.swb-tone0").count() == 1


def test_colours_say_in_which_type_a_node_computes(panels: Panels) -> None:
    graph = states.graph()
    some = [n for n in graph["nodes"] if n["kind"] == "task"][:4]
    for n, dtype in zip(some, ("float32", "bfloat16", "int8", "bool"), strict=True):
        n["dtype"] = dtype
    show(panels, graph, width=700)
    choose(panels, "Colour of the nodes", "type")
    for n, tone in zip(some, (1, 3, 5, 0), strict=True):
        bring(panels, n["id"])
        assert f"swb-tone{tone}" in node(panels, n["id"]).get_attribute("class")
    assert panels.page.locator(".swb-dag-corner").inner_text().count(" bits") == 3
    node(panels, some[1]["id"]).click()
    assert "bfloat16" in panels.page.locator(".swb-readout-line").inner_text()


def test_colours_say_how_far_each_node_is_off(panels: Panels) -> None:
    graph = states.graph()
    a, b, c = (n for n in graph["nodes"] if n["id"] in ("n3", "n4", "n6"))
    b["likes"] = "else1 else2"
    errors = {"bfloat16": {"n3": 0.01, "n4": 0.002, "else2": 0.06}, "int8": {"n3": 1e300, "n4": None}}
    show(panels, graph, width=700)
    choose(panels, "Colour of the nodes", "int8")
    assert "no errors" in panels.page.locator(".swb-dag-corner").inner_text()
    answer = {"precisions": [], "made": [], "rows": [], "nodes": errors, "random": True, "bound": 0.1}
    panels.patch({"precision": {"=": {"step": "", "at": 0, "of": 0, "error": None, "answer": answer}}})
    choose(panels, "Colour of the nodes", "bfloat16")
    for n, tone in ((a, 1), (b, 6), (c, 0)):
        bring(panels, n["id"])
        assert f"swb-tone{tone}" in node(panels, n["id"]).get_attribute("class")
    assert "6.0" in panels.page.locator(".swb-dag-corner").inner_text()
    node(panels, a["id"]).click()
    said = panels.page.locator(".swb-readout-line").inner_text()
    assert "bfloat16 error 1.0" in said
    assert "int8 error ∞" in said
    assert "bfloat16 error 1.0" in node(panels, a["id"]).get_attribute("aria-label")


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
