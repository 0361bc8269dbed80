"""A model without a kernel: its graph by double click, in a real JupyterLab."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import leftovers
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from .conftest import open_lab
from .test_own_model import KERNELS, go_to, item

PAGE = ".swbl-model:visible"
OPENED = """async path => { const began = performance.now();
    await window.jupyterapp.commands.execute('docmanager:open', { path });
    const drawn = () => document.querySelector('.swbl-model .swb-dag-svg .swb-node, .swbl-model .swb-block');
    while (!drawn() && performance.now() - began < 60000) await new Promise(requestAnimationFrame);
    return performance.now() - began; }"""
WIDE = """() => { const page = [...document.querySelectorAll('.swbl-model')].find(e => e.offsetParent);
    const box = page.getBoundingClientRect();
    return [...page.querySelectorAll('button, .swb-dag-stage, .swbl-details')].map(e => e.getBoundingClientRect())
        .filter(b => b.right > box.right + 1 || b.bottom > box.bottom + 1 || b.width < 8).length; }"""


def network(path: Path, blocks: int) -> dict[str, np.ndarray]:
    """A network of `blocks` times four nodes, no two of which are alike for long; returns its weights."""
    rng = np.random.default_rng(0)
    nodes, weights, last = [], {}, "x"
    for k in range(blocks):
        one, two = (("Relu", "Sigmoid", "Tanh", "Exp", "Neg")[i] for i in rng.integers(5, size=2))
        weights[f"w{k}"] = rng.standard_normal((16, 16, 3, 3), np.float32)
        nodes += [
            helper.make_node("Conv", [last, f"w{k}"], [f"c{k}"], f"conv{k}", pads=[1, 1, 1, 1]),
            helper.make_node(one, [f"c{k}"], [f"r{k}"], f"act{k}"),
            helper.make_node(two, [f"c{k}"], [f"s{k}"], f"side{k}"),
            helper.make_node("Add", [f"r{k}", f"s{k}"], [last := f"a{k}"], f"add{k}"),
        ]
    ends = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 16, 32, 32])]
    outputs = [helper.make_tensor_value_info(last, TensorProto.FLOAT, None)]
    stored = [numpy_helper.from_array(value, name) for name, value in weights.items()]
    graph = helper.make_graph(nodes, "net", ends, outputs, stored)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return weights


def end_readers() -> int:
    """End the processes that are ready for a model, in every server of these tests; returns how many there were."""
    ready = {pid: line for pid, line in leftovers.children(leftovers.children()).items() if "model_main" in line}
    leftovers.kill(ready)
    return len(ready)


def details(page: Any) -> Any:
    return page.locator(f"{PAGE} .swbl-details")


def wait_drawn(page: Any) -> None:
    page.wait_for_selector(f"{PAGE} .swb-dag-svg :is(.swb-node, .swb-block)", timeout=60_000)


def show_node(page: Any, name: str) -> None:
    """Find a node by the keyboard and choose it."""
    page.locator(f"{PAGE} .swb-dag-svg .swb-node").first.focus()
    page.keyboard.press("/")
    page.keyboard.type(name)
    page.keyboard.press("Enter")  # what is found is what the details are about
    page.wait_for_selector(f'{PAGE} .swbl-details[aria-label="Node {name}"]')
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_selector(f'{PAGE} .swbl-details[aria-label="Node {name}"]')


def test_a_double_click_shows_the_graph_without_a_kernel(page: Any, address: str, folder: Path) -> None:
    weights = network(folder / "graph.onnx", 3)
    open_lab(page, address)
    page.wait_for_function(f"async () => await ({KERNELS})() === 0")  # those of the tests before have ended
    go_to(page, "/")
    item(page, "graph.onnx").dblclick()
    wait_drawn(page)
    assert "12 nodes, 6,912 parameters" in page.locator(f"{PAGE} .swbl-bar").inner_text()
    assert "3 Conv" in details(page).inner_text()
    show_node(page, "conv1")
    page.wait_for_selector(f"{PAGE} .swbl-bars")
    text = details(page).inner_text()
    assert "pads\n[1, 1, 1, 1]" in text
    assert "c1 float32 batch×16×32×32" in text
    w = weights["w1"].astype(float)
    assert f"{w.min():.4g} … {w.max():.4g}, mean {w.mean():.4g}, std {w.std():.4g}" in text
    assert page.evaluate(KERNELS) == 0

    page.reload()
    wait_drawn(page)
    assert page.evaluate(KERNELS) == 0, "what is restored starts none either"

    page.locator(f"{PAGE} button", has_text="Tune").click()
    page.wait_for_selector(".swbl-open:visible form", timeout=60_000)
    assert page.evaluate(KERNELS) == 1
    page.locator(f"{PAGE} button", has_text="Tune").click()
    page.wait_for_function(f"async () => await ({KERNELS})() === 0")


@pytest.mark.checks
def test_a_frame_opens_and_folds_by_the_keyboard(page: Any, address: str, folder: Path) -> None:
    nodes = [
        helper.make_node(op, ["x" if k + i == 0 else f"t{2 * k + i - 1}"], [f"t{2 * k + i}"], f"n{2 * k + i}")
        for k in range(4)
        for i, op in enumerate(("Relu", "Exp"))
    ]
    ends = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [4]) for n in ("x", "t7")]
    graph = helper.make_graph(nodes, "net", ends[:1], ends[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "f.onnx")
    open_lab(page, address)
    page.evaluate(OPENED, "f.onnx")
    nodes_in = page.locator(f"{PAGE} .swb-node:not(.is-frame):not(.is-input):not(.is-output)")
    assert nodes_in.count() == 2
    page.locator(f"{PAGE} .swb-node.is-frame").focus()
    page.keyboard.press("Enter")
    page.wait_for_function(
        f"() => document.querySelectorAll('{PAGE.replace(':visible', '')} .swb-node.is-op').length === 8"
    )
    page.keyboard.press("Escape")
    page.wait_for_function(
        f"() => document.querySelectorAll('{PAGE.replace(':visible', '')} .swb-node.is-op').length === 2"
    )


@pytest.mark.checks
def test_2000_nodes_are_painted_soon(page: Any, address: str, folder: Path) -> None:
    network(folder / "large.onnx", 500)
    took = []
    for _ in range(5):  # the machine may be busy
        open_lab(page, address)
        # A process is ready, as it is once the folder has been on show.
        page.evaluate("url => fetch(url).then(one => one.text())", f"{address}/schedule-workbench/model")
        took.append(page.evaluate(OPENED, "large.onnx"))
    print("first paint of 2,000 nodes, ms:", [round(t) for t in took])
    assert min(took) <= 1500


@pytest.mark.checks
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
def test_2000_nodes_are_painted_soon_where_nothing_is_ready(page: Any, address: str, folder: Path) -> None:
    """No process waits for the question, and the page has loaded nothing of the viewer yet."""
    network(folder / "large.onnx", 500)
    took = []
    for _ in range(5):  # the machine may be busy
        page.goto(f"{address}/lab?reset")
        page.wait_for_selector(".jp-DirListing-item", timeout=60_000)
        page.evaluate("url => fetch(url).then(one => one.text())", f"{address}/schedule-workbench/model")
        assert end_readers()
        took.append(page.evaluate(OPENED, "large.onnx"))
    print("first paint of 2,000 nodes with nothing ready, ms:", [round(t) for t in took])
    assert min(took) <= 1500


@pytest.mark.checks
@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_narrow_and_wide_light_and_dark(page: Any, address: str, folder: Path, theme: str, tmp_path: Path) -> None:
    network(folder / "graph.onnx", 12)
    open_lab(page, address)
    page.evaluate("theme => window.jupyterapp.commands.execute('apputils:change-theme', { theme })", theme)
    size = page.viewport_size
    try:
        page.evaluate(OPENED, "graph.onnx")
        for width in (1000, 1600, 2560):
            page.set_viewport_size({"width": width, "height": 900})
            page.wait_for_timeout(300)
            page.screenshot(path=str(tmp_path / f"model-{width}.png"))
            assert page.evaluate(WIDE) == 0, width
        shown = page.locator(PAGE).get_attribute("data-swb-theme")
        assert shown == theme.split()[1].lower()
    finally:
        page.set_viewport_size(size)
        light = "JupyterLab Light"
        page.evaluate("theme => window.jupyterapp.commands.execute('apputils:change-theme', { theme })", light)


@pytest.mark.checks
def test_what_is_no_model_says_so(page: Any, address: str, folder: Path) -> None:
    network(folder / "torn.onnx", 3)
    torn = (folder / "torn.onnx").read_bytes()
    (folder / "torn.onnx").write_bytes(torn[: len(torn) // 2])
    (folder / "other.onnx").write_bytes(b"nothing of the kind")
    open_lab(page, address)
    for name, words in (("other.onnx", "'other.onnx' is not an ONNX model"), ("torn.onnx", "ends too early or is dam")):
        page.evaluate("path => window.jupyterapp.commands.execute('docmanager:open', { path })", name)
        told = page.locator(f"{PAGE} [role=alert]")
        told.wait_for(timeout=60_000)
        assert words in told.inner_text()
    assert page.evaluate(KERNELS) == 0


def test_an_empty_answer_is_told(page: Any, address: str, folder: Path) -> None:
    network(folder / "empty.onnx", 1)
    open_lab(page, address)
    address_of = "**/schedule-workbench/model?path=*"
    page.route(address_of, lambda route: route.fulfill(status=200, body=""))
    try:
        page.evaluate("path => window.jupyterapp.commands.execute('docmanager:open', { path })", "empty.onnx")
        told = page.locator(f"{PAGE} [role=alert]")
        told.wait_for(timeout=60_000)
        assert "its answer is empty" in told.inner_text()
    finally:
        page.unroute(address_of)
    page.locator(f"{PAGE} button", has_text="Read again").click()
    wait_drawn(page)
