"""How fast the drawing of a large model comes, and how fast it zooms, in a real JupyterLab.

Run it by hand (it is not part of the default tests)::

    PYTHONPATH=tests python tests/benchmarks/bench_graph.py [--graphs blocks elementwise branches]

Writes ONNX files of about 2,000 nodes: *blocks* (1,001 residual blocks of a convolution and an addition, which fold),
*elementwise* (2,000 element-wise operators in a row, which become kernels of at most 256), *branches* (convolutions of
different sizes in parallel, of which nothing folds). For each:

- first paint: from the moment the cell with the widget is run (the model was loaded, optimised and opened in a cell
  before) until its nodes are painted; then until all instances, or the operators, are painted after a choice;
- zoom: 60 steps of the wheel from the whole graph to the largest zoom and back, through all three details; script,
  style and layout of each step from Chromium's own trace, as the time in which any of them ran;
- the kernel meanwhile: how long `select` takes while the drawing is worked out, and alone, how long its main thread
  waits;
- bytes of all messages until the drawing is there.

Prints JSON with the host's description.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import platform
import random
import re
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from browser.driver import Notebook, lab, new_notebook, page_of
from browser.view import LONG

SCRIPT = frozenset(
    ("EventDispatch", "FunctionCall", "FireAnimationFrame", "TimerFire", "RunMicrotasks", "EvaluateScript", "v8.run")
)
STYLE = frozenset(("UpdateLayoutTree", "Layout", "RecalculateStyles"))
STEPS = 60
MORE = 100
"""Nodes that have to be added for a drawing to count as another one."""
OPEN = """
import time, workbench as wb
graph = wb.load_onnx({path!r}).optimize()
began = time.perf_counter()
w = wb.Workbench(graph, auto_measure=False)
print(time.perf_counter() - began)
"""
PAINTED = """() => {
    const watch = { start: null, end: null };
    window.paint = {
        watch,
        arm() { watch.start = performance.now(); watch.end = null; },
        until(test) {
            const look = () => {
                if (!test()) return requestAnimationFrame(look);
                requestAnimationFrame(() => setTimeout(() => { watch.end = performance.now(); }));
            };
            look();
        }
    };
}"""
DRAWN = "document.querySelector('.swb-dag-svg :is([data-node], .swb-block)')"


# ----- models


def blocks(count: int = 1001) -> Any:
    """Residual blocks of a convolution and an addition."""
    from onnx import helper

    nodes, at = [], "x"
    for k in range(count):
        nodes += [
            helper.make_node("Conv", [at, "w"], [f"c{k}"], f"conv{k}", pads=[1, 1, 1, 1]),
            helper.make_node("Add", [f"c{k}", at], [f"a{k}"], f"add{k}"),
        ]
        at = f"a{k}"
    return _model(nodes, at, {"w": (8, 8, 3, 3)})


def elementwise(count: int = 2000) -> Any:
    """Element-wise operators in a row, some of which read an earlier value as well."""
    from onnx import helper

    ops, nodes, at, before = ("Relu", "Sigmoid", "Tanh", "Neg", "Exp"), [], "x", "x"
    for k in range(count):
        two = k % 4 == 3
        nodes.append(helper.make_node("Add" if two else ops[k % 5], [at, before] if two else [at], [f"t{k}"], f"n{k}"))
        before, at = at, f"t{k}"
    return _model(nodes, at, {})


def branches(count: int = 2000, seed: int = 0) -> Any:
    """Three to six convolutions in parallel, then an addition of them all, again and again; no two parts are alike."""
    from onnx import helper

    rng, nodes, at = random.Random(seed), [], "x"
    weights: dict[str, tuple[int, ...]] = {}
    while len(nodes) < count:
        ends = []
        for _ in range(rng.randint(3, 6)):
            end = at
            for _ in range(rng.randint(1, 4)):
                k, size = len(nodes), rng.choice((1, 3, 5, 7))
                weights[f"w{size}"] = (8, 8, size, size)
                nodes.append(helper.make_node("Conv", [end, f"w{size}"], [f"c{k}"], f"conv{k}", pads=[size // 2] * 4))
                end = f"c{k}"
            ends.append(end)
        nodes.append(helper.make_node("Sum", ends, [f"s{len(nodes)}"], f"sum{len(nodes)}"))
        at = nodes[-1].output[0]
    return _model(nodes, at, weights)


def _model(nodes: list[Any], last: str, weights: dict[str, tuple[int, ...]]) -> Any:
    import numpy as np
    import onnx
    from onnx import helper, numpy_helper

    held = [numpy_helper.from_array(np.full(shape, 0.01, np.float32), name) for name, shape in weights.items()]
    x, y = (helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, 8, 8, 8]) for name in ("x", last))
    graph = helper.make_graph(nodes, "generated", [x], [y], held)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


GRAPHS: dict[str, Callable[[], Any]] = {"blocks": blocks, "elementwise": elementwise, "branches": branches}


# ----- the page


def paint(notebook: Notebook, test: str, act: Callable[[], object]) -> float:
    """Milliseconds from an act until something is painted."""
    notebook.page.evaluate(f"() => {{ window.paint.arm(); window.paint.until(() => {test}); }}")
    act()
    notebook.poll("() => window.paint.watch.end !== null", LONG)
    found: float = notebook.page.evaluate("window.paint.watch.end - window.paint.watch.start")
    return round(found, 1)


def in_page(notebook: Notebook, path: Path) -> dict[str, Any]:
    """First paint, then more of the graph, then the zoom."""
    page = notebook.page
    opened = notebook.say(OPEN.format(path=str(path)))
    page.evaluate(PAINTED)
    out: dict[str, Any] = {"constructor_s": round(float(opened), 2)}
    out["first_paint_ms"] = paint(notebook, DRAWN, lambda: notebook.code("w.show('graph')", wait=False))
    out["nodes"] = count_nodes(notebook)
    frame = page.locator(".swb-dag-svg [data-node^='fold:']")
    more = f"({COUNT})() > {out['nodes'] + MORE}"
    if frame.count() and folded_in(frame.first.get_attribute("aria-label")) > MORE:
        frame.first.focus()
        out["expanded_ms"] = paint(notebook, more, lambda: page.keyboard.press("Enter"))
    else:
        out["operators_ms"] = paint(notebook, more, lambda: page.get_by_label("What is shown").select_option("nodes"))
    out["nodes_at_most"] = count_nodes(notebook)
    out["zoom"] = zoom(notebook)
    return out


def folded_in(words: str) -> int:
    """How many nodes opening a frame adds, by what the frame says itself; 0 where nothing is repeated."""
    size, times = (re.search(rf"(\d+) {word}", words) for word in ("nodes?", "times"))
    return int(size[1]) * (int(times[1]) - 1) if size and times else 0


COUNT = """() => {
    const [name] = document.querySelector('.swb-dag-svg').ariaLabel.match(/\\d+/) ?? [0];
    return Number(name);
}"""


def count_nodes(notebook: Notebook) -> int:
    """Nodes of the drawing, as it says itself."""
    found: int = notebook.page.evaluate(COUNT)
    return found


def zoom(notebook: Notebook) -> dict[str, Any]:
    """Turn the wheel to and fro; what each step cost."""
    page = notebook.page
    page.get_by_role("button", name="Fit").click()
    page.wait_for_timeout(300)
    box = page.locator(".swb-dag-svg").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    cdp = page.context.new_cdp_session(page)
    events: list[dict[str, Any]] = []
    done = threading.Event()
    cdp.on("Tracing.dataCollected", lambda data: events.extend(data["value"]))
    cdp.on("Tracing.tracingComplete", lambda _: done.set())
    cdp.send("Tracing.start", {"categories": "devtools.timeline,blink.user_timing", "transferMode": "ReportEvents"})
    page.keyboard.down("Control")
    details = []
    for k in range(STEPS):
        page.evaluate(f"performance.mark('zoom-{k}')")
        page.mouse.wheel(0, -56 if k < STEPS // 2 else 56)
        page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        details.append(page.evaluate(DETAIL))
    page.evaluate(f"performance.mark('zoom-{STEPS}')")
    page.keyboard.up("Control")
    cdp.send("Tracing.end")
    while not done.is_set():
        page.wait_for_timeout(20)
    costs = costs_of(events)
    return {
        "script_and_layout_ms": summary(costs), "details": sorted(set(details)),
        "by_detail": {d: summary([c for c, e in zip(costs, details, strict=True) if e == d]) for d in set(details)},
    }  # fmt: skip


DETAIL = """() => {
    const svg = document.querySelector('.swb-dag-svg');
    if (svg.querySelector('.swb-block')) return 'block';
    return svg.querySelector('.swb-node-sub') ? 'full' : 'name';
}"""


def costs_of(events: Iterable[dict[str, Any]]) -> list[float]:
    """Milliseconds of script, style and layout between the marks of two steps, each moment counted once."""
    events = list(events)
    marks = {e["name"]: e for e in events if str(e["name"]).startswith("zoom-")}
    page = {(e["pid"], e["tid"]) for e in marks.values()}
    spans = sorted(
        (e["ts"], e["ts"] + e["dur"])
        for e in events
        if e["ph"] == "X" and e["name"] in SCRIPT | STYLE and (e["pid"], e["tid"]) in page
    )
    edges = [marks[f"zoom-{k}"]["ts"] for k in range(STEPS + 1)]
    return [_covered(spans, a, b) / 1e3 for a, b in itertools.pairwise(edges)]


def _covered(spans: Iterable[tuple[float, float]], low: float, high: float) -> float:
    total, at = 0.0, low
    for a, b in spans:
        a, b = max(a, at), min(b, high)
        if b > a:
            total, at = total + b - a, b
    return total


def summary(values: list[float]) -> dict[str, float]:
    """Median, 95th percentile and maximum."""
    ordered = sorted(values)
    p95 = ordered[min(len(ordered) - 1, round(0.95 * len(ordered)) - 1)]
    return {
        "n": len(ordered), "median": round(statistics.median(ordered), 1), "p95": round(p95, 1),
        "max": round(ordered[-1], 1),
    }  # fmt: skip


# ----- the kernel


def in_kernel(path: Path) -> dict[str, Any]:
    """How the session answers while it draws, and what travels."""
    import workbench as wb

    session = wb.Session(wb.load_onnx(path).optimize(), auto_measure=False)
    try:
        rows = [r["id"] for r in session.snapshot().slices["nest"]["rows"]]
        sizes: list[int] = []
        session.greet(lambda message: sizes.append(len(json.dumps(message))))
        session.flush(60)
        drawn = _ask(session)
        start = time.perf_counter()
        session.run("select", id=rows[-1])
        alone = 1e3 * (time.perf_counter() - start)
        frames = drawn["folds"]
        folds = frames["id"]
        bytes_folded = sum(sizes) + len(json.dumps(drawn))
        came = threading.Event()
        hidden = sum(n * (times - 1) for n, times in zip(frames["nodes"], frames["times"], strict=True))
        question = {"level": "kernels" if hidden > MORE else "nodes", "expanded": folds}
        began = time.perf_counter()
        took: list[float] = []
        session.ask("graph", question, lambda message: (took.append(time.perf_counter() - began), came.set()))
        selects, waits, k = [], [], 0
        while not came.is_set():
            start = time.perf_counter()
            session.run("select", id=rows[k % len(rows)])
            selects.append(1e3 * (time.perf_counter() - start))
            start = time.perf_counter()
            time.sleep(0.001)
            waits.append(1e3 * (time.perf_counter() - start) - 1)
            k += 1
        return {
            "opening_bytes": bytes_folded, "drawing_s": round(took[0], 2), "select_alone_ms": round(alone, 1),
            "select_ms": summary(selects),
            "main_thread_waits_ms": summary(waits),
        }  # fmt: skip
    finally:
        session.close()


def _ask(session: Any) -> dict[str, Any]:
    """The drawing that is shown first."""
    came, answers = threading.Event(), []
    session.ask("graph", {"level": "kernels", "expanded": []}, lambda m: (answers.append(m), came.set()))
    came.wait()
    found: dict[str, Any] = answers[0]["value"]
    return found


def resnet() -> dict[str, Any]:
    """Bytes until the drawing of ResNet-50 is there."""
    import workbench as wb

    session = wb.Session("light_resnet50", auto_measure=False)
    try:
        sizes: dict[str, int] = {}
        session.greet(lambda message: sizes.update(state=len(json.dumps(message))))
        session.flush(60)
        drawn = _ask(session)
        return {**sizes, "graph": len(json.dumps(drawn)), "folds": [drawn["words"][k] for k in drawn["folds"]["title"]]}
    finally:
        session.close()


def main() -> None:
    """Run what was asked for."""
    import onnx
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", nargs="+", choices=GRAPHS, default=list(GRAPHS))
    options = parser.parse_args()
    out: dict[str, Any] = {"resnet50_bytes": resnet()}
    with tempfile.TemporaryDirectory(prefix="bench-graph-") as place:
        folder = Path(place) / "notebooks"
        folder.mkdir()
        for name in options.graphs:
            path = folder / f"{name}.onnx"
            onnx.save(GRAPHS[name](), path)
            out[name] = {"kernel": in_kernel(path)}
            with lab(folder) as url, sync_playwright() as p, page_of(p, Path(place) / name, (1500, 1100)) as page:
                notebook = Notebook(page, url).open(new_notebook(folder / f"{name}.ipynb"))
                out[name]["page"] = in_page(notebook, path)
    out["host"] = {
        "machine": platform.machine(), "cpus": os.cpu_count(), "load": round(os.getloadavg()[0], 1),
        "python": platform.python_version(), "system": platform.platform(),
    }  # fmt: skip
    print(json.dumps(out, indent=1))


if __name__ == "__main__":
    main()
