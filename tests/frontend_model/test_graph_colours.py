"""The colours of the drawn graph's nodes."""

from __future__ import annotations

from frontend_model import states
from frontend_model.conftest import Panels
from frontend_model.drawn_graph import bring, choose, fit, node, show


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
