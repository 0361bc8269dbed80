"""Thousands of trials streamed into a workbench of a real JupyterLab: nothing is missing, the page stays responsive.

Run it by hand (it is not part of the default tests)::

    PYTHONPATH=tests python tests/benchmarks/bench_stream.py --trials 10000 --rate 100
    PYTHONPATH=tests python tests/benchmarks/bench_stream.py --trials 2000 --shots DIR

The trials come from a run without a search or a compiler (`session.fakes.FakeTuning`). Prints JSON: patches and bytes a
second, the browser's long tasks, the processor time of the session's thread, and whether the figure and the table
show what `best_so_far` says in the end. With ``--shots`` it also saves pictures of the charts, 1300 and 700 pixels
wide, light and dark. An exit code of 1 means that a bar was missed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
import time
from pathlib import Path
from typing import Any

from browser.driver import Notebook, lab, new_notebook, page_of
from browser.view import View

BARS = {"patches_in_a_second": 8, "long_task_ms": 200.0, "kernel_share": 0.4, "update_bytes": 60_000}
"""At most: patches in any second, the longest task of the page, processor time of the session's thread over the time
that trials came, bytes of a figure update while they came."""

SIZES = (64, 128, 32, 96, 48, 80, 112, 144, 160, 176, 192, 208, 224, 240, 256, 272, 288, 304, 320, 336)

OPEN = """
import sys, json, threading, time
sys.path.insert(0, {tests!r})
import workbench as wb
from session.fakes import FakeTuning
target = wb.Target.host()
tasks = [wb.Task.of_func(wb.workloads.matmul(n, 64, 64, bias=True), target) for n in {sizes!r}]
clock = (target.stored_peak() or target.peak_gflops()) / (4 * target.lanes('float32')) * 1e6
fake = FakeTuning(tasks, trials={trials}, rate={rate}, cycles_per_ms=clock)
w = wb.Workbench(fake, auto_measure=False)
seen, sizes, spent = [], [], {{}}
w.session.subscribe(lambda m: seen.append((time.monotonic(), len(json.dumps(m)))))

def watch():
    while True:
        for t in threading.enumerate():
            if t.name == 'workbench-session' and t.native_id:
                try:
                    fields = open(f'/proc/self/task/{{t.native_id}}/stat').read().rsplit(')', 1)[1].split()
                except OSError:
                    continue
                spent[t.native_id] = (int(fields[11]) + int(fields[12])) / {ticks}
        time.sleep(0.2)

threading.Thread(target=watch, daemon=True).start()
w
"""

LISTEN = """
figure = w._figure._widget
send = figure.comm.send
def counted(data=None, metadata=None, buffers=None, **more):
    sizes.append(len(json.dumps(data, default=str)) + sum(memoryview(b).nbytes for b in buffers or ()))
    send(data, metadata, buffers, **more)
figure.comm.send = counted
base = dict(spent)
began = time.monotonic()
fake.start();
"""

RESULT = """
from workbench.analysis import best_so_far
key = w.session.state.infos[w.session.state.index].key
curve = best_so_far(fake, key)
ended = max(r for r, _ in seen)
times = [t for t, _ in seen if t >= began]
print(json.dumps({
    'trials': len(fake.records), 'rows': [sum(r.task_key == t.key for r in fake.records) for t in tasks],
    'x': curve.nth.tolist(), 'measured': curve.latency_ms.tolist(), 'best': curve.best_ms.tolist(),
    'failed': curve.failed_nth.tolist(), 'took_s': ended - began,
    'patches': len(times), 'patches_in_a_second': max(sum(t <= u < t + 1 for u in times) for t in times),
    'patch_bytes': sum(n for t, n in seen if t >= began), 'figure_updates': len(sizes),
    'live': sizes[:-3], 'last': sizes[-3:],
    'cpu_s': sum(spent[k] - base.get(k, 0) for k in spent)}))
"""

LONG_TASKS = """() => { window.longTasks = []; new PerformanceObserver(list => window.longTasks.push(
    ...list.getEntries().map(e => e.duration))).observe({ type: 'longtask' }); }"""

DATA = """() => { const plot = document.querySelector('.js-plotly-plot');
    const of = name => plot.data.find(t => t.name === name);
    const list = a => Array.from(a ?? []);
    const [points, line] = [of('measured'), of('best so far')];
    return { x: list(points.x), measured: list(points.y), line: [list(line.x), list(line.y)],
             failed: list(of('failed').x) }; }"""


def stream(notebook: Notebook, trials: int, rate: float, shots: Path | None) -> dict[str, Any]:
    """Let the trials come and return what was seen."""
    page = notebook.page
    tests, ticks = str(Path(__file__).parents[1]), os.sysconf("SC_CLK_TCK")
    notebook.say(OPEN.format(tests=tests, sizes=SIZES, trials=trials, rate=rate, ticks=ticks))
    view = View(notebook).wait()
    notebook.say("fake.feed(32);")
    view.tab("tuning")
    view.see(".js-plotly-plot .main-svg")
    page.wait_for_timeout(3000)
    page.evaluate(LONG_TASKS)
    notebook.say(LISTEN)
    began, clicks = time.monotonic(), []
    while view.find(".swb-tuning-state").inner_text() != "Done":
        assert time.monotonic() - began < 3 * trials / rate + 120, "the run did not end"
        at = time.monotonic()
        view.find("[data-swb-tab=tuning]").click()  # how long a click waits for the page
        clicks.append((time.monotonic() - at) * 1e3)
        page.wait_for_timeout(500)
    page.wait_for_timeout(3000)
    long_tasks = page.evaluate("() => window.longTasks")
    if shots is not None:
        pictures(notebook, view, shots)
    said, shown = json.loads(notebook.say(RESULT)), page.evaluate(DATA)
    table = [int(t.replace("\\u202f", "").replace(" ", "").replace(",", "")) for t in cells(view)]
    return summary(said, shown, table, long_tasks, clicks)


def cells(view: View) -> list[str]:
    """The column of trials of the task table."""
    js = """rows => { const heads = [...rows[0].closest('table').tHead.rows[0].cells];
        const at = heads.findIndex(head => head.textContent.trim() === 'trials');
        return rows.map(r => r.cells[at].textContent.replace(/\\D/g, '') || '0'); }"""
    found: list[str] = view.find(".swb-tasks tbody tr[data-swb-task], .swb-tasks tbody tr").evaluate_all(js)
    return found


def summary(
    said: dict[str, Any], shown: dict[str, Any], table: list[int], long_tasks: list[float], clicks: list[float]
) -> dict[str, Any]:
    """What is worth a line; `right` says whether the page shows everything."""
    x, y = shown["line"]
    steps = [y[max(k for k, corner in enumerate(x) if corner <= n)] for n in said["x"]]
    right = {
        "measured": shown["x"] == said["x"] and shown["measured"] == said["measured"],
        "best so far": steps == said["best"],
        "failed": shown["failed"] == said["failed"],
        "table": sorted(table) == sorted(said["rows"]) and sum(table) == said["trials"],
    }
    live = said["live"] or [0]
    numbers = {
        "patches_in_a_second": said["patches_in_a_second"], "long_task_ms": round(max(long_tasks, default=0.0), 1),
        "kernel_share": round(said["cpu_s"] / said["took_s"], 3), "update_bytes": max(live),
    }  # fmt: skip
    return {
        "trials": said["trials"], "took_s": round(said["took_s"], 1), **numbers,
        "long_tasks": len(long_tasks), "clicks_ms": middle_and_most(clicks),
        "patches": said["patches"], "bytes_a_second": round(said["patch_bytes"] / said["took_s"]),
        "figure_updates": said["figure_updates"], "last_update_bytes": max(said["last"]), "right": right,
        "missed": [n for n, bar in BARS.items() if numbers[n] > bar] + [n for n, ok in right.items() if not ok],
        "host": {"machine": platform.machine(), "cpus": os.cpu_count(), "load": round(os.getloadavg()[0], 1)},
    }  # fmt: skip


def middle_and_most(values: list[float]) -> dict[str, float]:
    """Median, 95th percentile and maximum."""
    order = sorted(values)
    return {
        name: round(order[min(int(share * len(order)), len(order) - 1)], 1)
        for name, share in (("median", 0.5), ("p95", 0.95), ("max", 1.0))
    }


def pictures(notebook: Notebook, view: View, to: Path) -> None:
    """Save the tuning screen and the roofline in every look."""
    from benchmarks.bench_widget import Camera

    to.mkdir(parents=True, exist_ok=True)
    notebook.page.evaluate("() => jupyterapp.commands.execute('application:toggle-left-area')")
    camera = Camera(notebook, to)
    camera.all_looks(view, "tuning")
    view.tab("schedule")
    view.find("[data-swb-do=roofline]").click()
    view.see(".js-plotly-plot .main-svg")
    camera.all_looks(view, "roofline")
    view.tab("tuning")
    view.see(".js-plotly-plot .main-svg")
    notebook.page.wait_for_timeout(2000)


def main() -> None:
    """Run what was asked for."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=10_000)
    parser.add_argument("--rate", type=float, default=100.0, help="trials a second")
    parser.add_argument("--shots", type=Path, metavar="DIR", help="save pictures, too")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-stream-") as place:
        folder = Path(place) / "notebooks"
        folder.mkdir()
        name = new_notebook(folder / "bench.ipynb")
        with lab(folder) as url, sync_playwright() as p, page_of(p, Path(place) / "profile", (1500, 1600)) as page:
            found = stream(Notebook(page, url).open(name), given.trials, given.rate, given.shots)
    print(json.dumps(found, indent=1))
    raise SystemExit(1 if found["missed"] else 0)


if __name__ == "__main__":
    main()
