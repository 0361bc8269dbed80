"""What the explorer takes with a million records of one task and ten axes, as the trace of a real browser has it.

Run it by hand on a quiet machine (it is not part of the default tests; it needs Chromium and playwright)::

    PYTHONPATH=tests python tests/benchmarks/bench_explorer.py             # 1,000,000 records of the auto-scheduler
    PYTHONPATH=tests python tests/benchmarks/bench_explorer.py --busy 2    # the same beside two processes that compute

Prints the seconds from the run of the cell to the first picture (of a log that is open in the kernel) and until the
parameters have axes; then the milliseconds from a move of the mouse to the frame with the new selection on the screen,
for ranges that grow along an axis of costs and one of a parameter. The count on the page is compared with pandas' each
time. The aims are 3 s, and 100 ms at the 95th percentile.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import json
import multiprocessing
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import big_logs
import numpy as np
from browser.driver import Notebook, lab, new_notebook, page_of
from playwright.sync_api import sync_playwright

AXES = 10
SHOWN = "() => document.querySelectorAll('.swx [data-swx-axis]').length"
COUNT = r"() => Number(document.querySelector('.swx [data-swx=chosen] b').textContent.replace(/\D/g, ''))"
WATCH = """() => {
    const label = document.querySelector('.swx [data-swx=chosen]');
    window.seen = 0;
    new MutationObserver(() => { window.seen++; performance.mark('chosen'); })
        .observe(label, { subtree: true, characterData: true, childList: true });
}"""
WHOLE = {"@jupyterlab/notebook-extension:tracker": {"windowingMode": "none"}}
"""The explorer stays on the page while cells below it run."""
CATEGORIES = "devtools.timeline,disabled-by-default-devtools.timeline.frame,blink.user_timing"


class Trace:
    """The events of a page, by the browser's own clock, in microseconds."""

    def __init__(self, page: Any) -> None:
        self._session = page.context.new_cdp_session(page)
        self._page, self._events, self._whole = page, list[dict[str, Any]](), False
        self._session.on("Tracing.dataCollected", lambda told: self._events.extend(told["value"]))
        self._session.on("Tracing.tracingComplete", lambda _: setattr(self, "_whole", True))

    @contextlib.contextmanager
    def recorded(self) -> Iterator[list[dict[str, Any]]]:
        """Record; the list that is given is filled at the end."""
        self._events.clear()
        self._whole = False
        self._session.send("Tracing.start", {"categories": CATEGORIES, "transferMode": "ReportEvents"})
        yield self._events
        self._session.send("Tracing.end")
        while not self._whole:
            self._page.wait_for_timeout(20)


def latencies(events: list[dict[str, Any]]) -> list[float]:
    """Return the milliseconds from each move of the mouse that changed what is chosen to the frame that shows it."""
    moves = sorted(
        e["ts"] for e in events if e["name"] == "EventDispatch" and e["args"]["data"]["type"] == "pointermove"
    )
    marks = sorted(e["ts"] for e in events if e["name"] == "chosen")
    frames = sorted(e["ts"] for e in events if e["name"] == "DrawFrame")
    found, before = [], 0.0
    for mark in marks:
        of = [at for at in moves if before < at < mark]
        frame = next((at for at in frames if at > mark), None)
        if of and frame is not None:
            found.append((frame - of[0]) / 1000)
        before = mark
    return found


def one_task(path: Path, records: int, sample: Path) -> None:
    """Write a log of one task, that of the shortest real record with a split for each axis; all its factors vary."""
    text = gzip.decompress(big_logs.SAMPLE.read_bytes())
    lines = [line for line in text.splitlines() if line.startswith(b"{")]
    record = json.loads(min((line for line in lines if line.count(b'"SP"') >= AXES - 3), key=len))
    for step in record["i"][1][1]:
        if step[0] == "SP":
            step[4] = [2] * len(step[4])
    sample.write_text(json.dumps(record))
    big_logs.ansor(path, records, sample)


@contextlib.contextmanager
def busy(n: int) -> Iterator[None]:
    """Keep so many processes computing."""
    others = [multiprocessing.Process(target=_spin, daemon=True) for _ in range(n)]
    for other in others:
        other.start()
    try:
        yield
    finally:
        for other in others:
            other.terminate()


def _spin() -> None:
    while True:
        pass


def drag(notebook: Notebook, axis: str, moves: int) -> dict[str, Any]:
    """Draw a range along an axis in so many moves; return the latencies, and whether pandas counts the same."""
    page, trace = notebook.page, Trace(notebook.page)
    rail = page.locator(f".swx [data-swx-rail='{axis}']")
    rail.scroll_into_view_if_needed()
    box = rail.bounding_box()
    x, low, high = box["x"] + box["width"] / 2, box["y"] + box["height"] * 0.86, box["y"] + box["height"] * 0.06
    with trace.recorded() as events:
        page.mouse.move(x, low)
        page.mouse.down()
        for k in range(1, moves + 1):
            seen = page.evaluate("() => window.seen")
            page.mouse.move(x, low + (high - low) * k / moves)
            with contextlib.suppress(Exception):  # a move within a bin changes nothing
                page.wait_for_function("n => window.seen > n", arg=seen, timeout=1500, polling="raf")
            page.wait_for_timeout(30)
        page.mouse.up()
        page.wait_for_timeout(500)
    told = page.evaluate(COUNT)
    same = told == int(notebook.say(COSTS if axis == "cost" else f"axis = {axis!r}\n{VALUES}"))
    page.locator(".swx").focus()
    page.keyboard.press("Escape")
    page.wait_for_timeout(700)
    found = latencies(events)
    median, p95 = np.percentile(found, [50, 95]).round(1).tolist()
    return {"brushes": len(found), "median_ms": median, "p95_ms": p95, "max_ms": round(max(found), 1), "exact": same}


COSTS = """b, unit = w.selection.brushes["cost"], w._exchange.explorer.column("cost").unit
costs = log.records["cost_s"].where(log.records["status"] == "ok") * {"s": 1, "ms": 1e3, "us": 1e6, "ns": 1e9}[unit]
print(int(costs.between(b.low, b.high).sum()))"""
VALUES = """b = w.selection.brushes[axis]
keys = [key for k, key in enumerate(w._exchange.explorer.column(axis).keys) if b.low <= k <= b.high]
print(sum(params.get(axis) in keys for params in log.records["params"]))"""
"""What pandas counts in the range that is drawn; `axis` is its name."""


def main() -> None:
    """Entry point."""
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--records", type=int, default=1_000_000)
    p.add_argument("--busy", type=int, default=0, help="processes that compute meanwhile")
    p.add_argument("--log", type=Path, help="a log of one task instead")
    p.add_argument("--moves", type=int, default=40)
    args = p.parse_args()
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        home = Path(folder)
        path = args.log or home / "one-task.json"
        if args.log is None:
            one_task(path, args.records, home / "sample.json")
        stack.enter_context(busy(args.busy))
        print(f"{path.stat().st_size / 1e6:.0f} MB, load {os.getloadavg()[0]:.1f}, {args.busy} busy")
        address = stack.enter_context(lab(home / "lab", WHOLE, timeout=120))
        page = stack.enter_context(page_of(stack.enter_context(sync_playwright()), home / "profile", (1600, 1000)))
        page.set_default_timeout(120_000)
        notebook = Notebook(page, address).open(new_notebook(home / "lab" / "n.ipynb"))
        print(json.dumps(measured(notebook, path, args.moves), indent=1))


def measured(notebook: Notebook, path: Path, moves: int) -> dict[str, Any]:
    """Open the log and draw ranges."""
    page, result = notebook.page, dict[str, Any]()
    result["records"] = int(notebook.say(f"import workbench as wb\nlog = wb.logs.open({str(path)!r})\nprint(len(log))"))
    began = time.perf_counter()
    notebook.code("w = wb.LogExplorer(log)\nw", wait=False)
    page.wait_for_function("() => document.querySelectorAll('.swx .swx-canvas').length > 5", polling="raf")
    result["first_paint_s"] = round(time.perf_counter() - began, 2)
    page.wait_for_function(f"n => ({SHOWN})() > 3", polling=50)
    result["parameters_s"] = round(time.perf_counter() - began, 2)
    page.wait_for_timeout(2000)
    told = "[c.name for c in w._exchange.explorer.scope.columns.parameters if c.varies]"
    names = json.loads(notebook.say(f"import json; print(json.dumps({told}))"))
    axes = [*names[: AXES - 3], "elapsed_s", "cost", "status"]
    notebook.say(f"_ = w.change(axes={axes!r})")
    page.wait_for_function(f"n => ({SHOWN})() === n", arg=len(axes))
    result["axes"] = len(axes)
    page.evaluate(WATCH)
    for axis in ("cost", axes[0], axes[3]):
        result[axis] = drag(notebook, axis, moves)
    return result


if __name__ == "__main__":
    main()
