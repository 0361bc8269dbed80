"""How fast the widget answers in a real JupyterLab: from a click to the new nest, palette and estimate on the screen.

Run it by hand (it is not part of the default tests)::

    PYTHONPATH=tests python tests/benchmarks/bench_widget.py --times 100
    PYTHONPATH=tests python tests/benchmarks/bench_widget.py --times 20 --measure
    PYTHONPATH=tests python tests/benchmarks/bench_widget.py --shots DIR

The first opens ResNet-50 at one of its convolutions, takes steps there by clicks on *Apply*, all of them different, and
undoes them. The clock is that of the page: it starts with the click and stops when the frame has been painted that has
the new nest, the new palette *and* the estimate of the new variant, so kernel and browser count together. With
`--measure` every step is measured too, and the time until its number stands there is told. Prints JSON with the host's
description. The last saves a picture of every panel: 1300 and 700 pixels wide, light and dark, and in the states busy,
failed, empty, and without a kernel.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from browser.driver import Notebook, lab, new_notebook, page_of
from browser.view import LONG, View

SIDES, CHANNELS = (2, 4, 7, 8, 14, 28), (2, 4, 8, 16, 32)
SPLITS = {
    "h": SIDES, "w": SIDES, "o": CHANNELS, "c": CHANNELS, "bias_add_h": SIDES, "bias_add_w": SIDES,
    "bias_add_o": CHANNELS, "relu_h": SIDES, "relu_w": SIDES, "relu_c": CHANNELS, "pad_c": CHANNELS,
}  # fmt: skip
MOVES: tuple[tuple[str, str, int], ...] = (
    ("relu_c", "vectorize", 0), ("kw", "unroll", 0), ("bias_add_o", "vectorize", 0),
    *((loop, "split", factor) for loop, factors in SPLITS.items() for factor in factors),
)  # fmt: skip
"""Loop, primitive and factor; each changes both the nest and what is legal."""
STAYS = ("kh", "unroll", 0)
"""Taken for good when all of `MOVES` were taken: they lead to new variants from there."""

OPEN = """
import workbench as wb
w = wb.Workbench("light_resnet50", auto_measure={measure})
w.open_task(next(t for t in w.tasks if t.name.startswith("conv2d 3x3 64→64 @56x56")))
w
"""
PEAK = "from workbench import Target\nTarget.host().peak_gflops()"
"""Without it nobody knows what a cycle takes, and there is no estimate in milliseconds."""

WATCH = """() => {
    const text = (box, all) => [...document.querySelectorAll(`[data-swb-panel=${box}] ${all}`)]
        .map(e => e.ariaLabel ?? e.textContent).join('|');
    const nest = () => text('nest', '[data-row]');
    const previews = () => document.querySelector('.swb-nest .is-ghost, .swb-previews');
    const palette = () => text('palette', '.swb-pal-head') + text('palette', '[data-swb-item]');
    const figure = () => document.querySelector('.swb-header .swb-figure.is-main');
    const variant = () => figure().querySelector('.swb-mono').textContent;
    const says = kind => /\\d/.test(figure().querySelector(kind)?.textContent ?? '');
    let mark = null;
    const state = () => ({ variant: variant(), nest: nest(), palette: palette(), previews: !!previews() });
    window.bench = { state, mark() {
        if (previews()) throw new Error('the nest is marked while it shows a preview');
        mark = nest();
    }, arm(measured) {
        const before = window.bench.before = [mark ?? nest(), palette(), variant()];
        mark = null;
        const found = window.bench.found = { shown: null, number: null };
        let start = null;
        addEventListener('click', event => { start = event.timeStamp; }, { capture: true, once: true });
        const take = name => { found[name] ??= performance.now() - start; };
        const painted = name => requestAnimationFrame(() => setTimeout(() => take(name)));
        const watch = new MutationObserver(() => {
            if (start === null || variant() === before[2] || !says('[data-swb-value]')) return;
            if (nest() === before[0] || previews() || palette() === before[1]) return;
            if (found.shown === null) painted('shown');
            found.nest ??= nest();
            if (measured && !says('[data-swb-value=ms]')) return;
            watch.disconnect();
            painted('number');
        });
        const all = { subtree: true, childList: true, characterData: true, attributes: true };
        watch.observe(document.querySelector('.swb'), all);
    } }; }"""


@contextmanager
def opened(size: tuple[int, int]) -> Iterator[Notebook]:
    """A JupyterLab with an empty notebook, open."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory(prefix="bench-widget-") as place:
        folder = Path(place) / "notebooks"
        folder.mkdir()
        name = new_notebook(folder / "bench.ipynb")
        with lab(folder) as url, sync_playwright() as p, page_of(p, Path(place) / "profile", size) as page:
            yield Notebook(page, url).open(name)


def timed(notebook: Notebook, view: View, press: str, measured: bool = False) -> dict[str, float]:
    """Press a button; milliseconds until its effect was painted, and where that is waited for its measured time."""
    page = notebook.page
    page.evaluate("(measured) => window.bench.arm(measured)", measured)
    view.find(press).click()
    try:
        notebook.poll("() => window.bench.found.number !== null", LONG)
    except Exception as error:
        seen = page.evaluate("[window.bench.found, window.bench.before, window.bench.state()]")
        raise AssertionError(f"what {press} does was never shown: {json.dumps(seen)}") from error
    found: dict[str, float] = page.evaluate("window.bench.found")
    assert found.pop("nest") == page.evaluate("window.bench.state().nest"), "what was shown first was not the new nest"
    return found


def prepare(notebook: Notebook, view: View, move: tuple[str, str, int]) -> None:
    """Fill in the form of a step, up to the click on *Apply*."""
    loop, primitive, factor = move
    view.select(loop)
    notebook.page.evaluate("() => window.bench.mark()")  # an open form previews its step in the nest
    form = view.open_form(primitive)
    if factor:
        form.locator(f"[role=radio][data-value='{factor}']").click()
        view.see("form .swb-equation", f"{loop}.1 {factor}")
    view.see("[data-swb-apply]:not([aria-disabled=true])")


def summary(values: list[float]) -> dict[str, float]:
    """Median, 95th percentile and maximum."""
    ordered = sorted(values)
    p95 = ordered[min(len(ordered) - 1, round(0.95 * len(ordered)) - 1)]
    return {
        "n": len(ordered),
        "median": round(statistics.median(ordered), 1),
        "p95": round(p95, 1),
        "max": round(ordered[-1], 1),
    }


def bench(times: int, measure: bool) -> dict[str, Any]:
    """Apply and undo; the figures in milliseconds."""
    with opened((1500, 1100)) as notebook:
        notebook.say(PEAK)
        notebook.say(OPEN.format(measure=measure))
        view = View(notebook).wait()
        notebook.page.evaluate(WATCH)
        applied, undone = [], []
        for i in range(times):
            if i and i % len(MOVES) == 0:
                prepare(notebook, view, STAYS)
                timed(notebook, view, "[data-swb-apply]", measure)
            prepare(notebook, view, MOVES[i % len(MOVES)])
            applied.append(timed(notebook, view, "[data-swb-apply]", measure))
            undone.append(timed(notebook, view, "[data-swb-do=undo]"))
    numbers = {"number_ms": summary([one["number"] for one in applied])} if measure else {}
    return {
        "apply_shown_ms": summary([one["shown"] for one in applied]),
        "undo_shown_ms": summary([one["shown"] for one in undone]), **numbers,
        "host": {"machine": platform.machine(), "cpus": os.cpu_count(), "load": round(os.getloadavg()[0], 1),
                 "python": platform.python_version(), "system": platform.platform()},
    }  # fmt: skip


# ------------------------------------------------------------------------------------------------------------- pictures

FAIL = """
from workbench.session.state import results
error = "element [0, 3, 5, 1] is 1.25 but must be 2.5"
results.measure = lambda view, target, *_: results.Result("wrong_answer", error=error)
"""


class Camera:
    """Saves pictures of a view, in both widths and both themes."""

    def __init__(self, notebook: Notebook, to: Path) -> None:
        self.notebook, self.page, self.to = notebook, notebook.page, to

    def all_looks(self, view: View, state: str, parts: bool = False) -> None:
        """Save `view` in every look as STATE-SCREEN-WIDTH-THEME.png; with `parts` also each panel of it."""
        for theme in ("light", "dark"):
            name = f"JupyterLab {theme.title()}"
            self.page.evaluate("(theme) => jupyterapp.commands.execute('apputils:change-theme', { theme })", name)
            self.page.locator(f".swb[data-swb-theme={theme}]").first.wait_for()
            for width in (1300, 700):
                self._fit(view, width)
                self._save(view, f"{state}-{width}-{theme}", parts)

    def _fit(self, view: View, width: int) -> None:
        """Make the window so wide that the view has `width`."""
        for _ in range(3):
            size = self.page.viewport_size
            gap = width - round(view.root.bounding_box()["width"])
            if gap == 0:
                return
            self.page.set_viewport_size({"width": size["width"] + gap, "height": size["height"]})
            self.page.evaluate("() => new Promise(done => requestAnimationFrame(() => setTimeout(done, 400)))")

    def _save(self, view: View, name: str, parts: bool) -> None:
        view.root.screenshot(path=self.to / f"{name}.png")
        for panel in view.find("[data-swb-panel]:visible").all() if parts else ():
            panel.screenshot(path=self.to / f"{name}-{panel.get_attribute('data-swb-panel')}.png")


def shots(to: Path) -> None:
    """Take all pictures."""
    to.mkdir(parents=True, exist_ok=True)
    with opened((1500, 2400)) as notebook:
        notebook.page.evaluate("() => jupyterapp.commands.execute('application:toggle-left-area')")
        camera = Camera(notebook, to)
        _small(notebook, camera)
        _network(notebook, camera)


def _small(notebook: Notebook, camera: Camera) -> None:
    """A program alone: nothing measured, a failed measurement, nothing tuned."""
    notebook.say("import workbench as wb\nm = wb.Workbench(wb.workloads.matmul(256, 256, 256), auto_measure=False)\nm")
    view = View(notebook).wait()
    camera.all_looks(view, "empty-schedule")
    view.tab("tuning")
    camera.all_looks(view, "empty-tuning")
    view.tab("schedule")
    notebook.say("from workbench.session.state import results\ngood = results.measure" + FAIL)
    view.select("k")
    view.apply("split")
    view.find("[data-swb-do=measure]").click()
    view.see("button[data-step='1'] .swb-step-ms", "wrong answer")
    view.find(".swb-chosen").get_by_role("button", name="Why").click()
    camera.all_looks(view, "failed-schedule")
    notebook.say("results.measure = good\nm.close()")


def _network(notebook: Notebook, camera: Camera) -> None:
    """A network: steps by hand, while a cell runs, tuned, and without its kernel."""
    notebook.say("w = wb.Workbench('light_squeezenet', log='shots.tunelog.jsonl')\nw")
    view = View(notebook).wait()
    view.select("relu_c")
    view.apply("split")
    view.select("relu_c.1")
    view.apply("vectorize")
    view.measured(2)
    view.select("c")
    camera.all_looks(view, "normal-schedule", parts=True)
    view.tab("tuning")
    view.start(25)
    view.state("Running")
    view.see(".js-plotly-plot .main-svg")
    camera.all_looks(view, "running-tuning")
    view.state("Done")
    camera.all_looks(view, "done-tuning", parts=True)
    view.tab("schedule")
    cell = notebook.code(
        "import time\nfrom pathlib import Path\nwhile not Path('go-on').exists():\n    time.sleep(0.05)", wait=False
    )
    view.see(".swb-foot-link", "busy")
    camera.all_looks(view, "busy-schedule")
    notebook.page.evaluate("() => jupyterapp.shell.currentWidget.sessionContext.session.kernel.interrupt()")
    notebook.wait_cell(cell)
    notebook.page.evaluate("() => jupyterapp.shell.currentWidget.sessionContext.shutdown()")
    view.see(".swb-note")
    camera.all_looks(view, "nokernel-schedule")


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=100, help="steps to take; each is undone")
    parser.add_argument("--measure", action="store_true", help="measure every step")
    parser.add_argument("--shots", type=Path, metavar="DIR", help="save pictures instead")
    options = parser.parse_args()
    if options.shots:
        shots(options.shots)
    else:
        print(json.dumps(bench(options.times, options.measure), indent=1))


if __name__ == "__main__":
    main()
