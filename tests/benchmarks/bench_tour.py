"""Whether the last tour's table, the widget above it and ``workbench run`` say the same of a tuned network.

The tour is run in a JupyterLab in a real browser, as a student runs it, three times from the start::

    python tests/benchmarks/bench_tour.py --times 3             run all cells
    python tests/benchmarks/bench_tour.py --times 3 --click     click and take a step in the widget first
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from browser.driver import Notebook, chromium, lab, page_of
from browser.view import View
from notebooks.tour import TUNE

MODEL, LOG = "light_squeezenet", "tour.tunelog.jsonl"
CELLS = """() => window.jupyterapp.shell.currentWidget.content.widgets.map(c => [c.model.type, c.model.id])"""
OUTPUT = """id => window.jupyterapp.shell.currentWidget.content.widgets.find(c => c.model.id === id).model.outputs
    .toJSON().map(o => [].concat(o.text ?? o.data?.['text/plain'] ?? o.evalue ?? '').join('')).join('\\n')"""
ERRORS = """() => window.jupyterapp.shell.currentWidget.content.widgets.filter(c => c.model.type === 'code')
    .flatMap(c => c.model.outputs.toJSON()).filter(o => o.output_type === 'error').map(o => o.evalue)"""
LONGEST_MS = 900_000


def click(notebook: Notebook, cell: str) -> None:
    """Do in the widget what somebody does who clicks before reading on: open another task and take a step."""
    if cell == "improve":
        view = View(notebook, 0)
        view.find(".swb-task[aria-selected=false]").first.click()
        view.tab("schedule")
        view.apply("split")
        view.tab("tuning")


def number(pattern: str, text: str) -> float:
    """Return the number that a pattern finds."""
    found = re.search(pattern, text, re.M)
    if found is None:
        raise SystemExit(f"no number {pattern!r} in:\n{text}")
    return float(found[1])


def shoot(notebook: Notebook, folder: Path) -> None:
    """Draw the widget and the last table as they are, to be looked at."""
    folder.mkdir(parents=True, exist_ok=True)
    View(notebook, 0).root.screenshot(path=str(folder / "widget.png"))
    notebook.page.locator(".jp-OutputArea-output table").last.scroll_into_view_if_needed()
    notebook.page.screenshot(path=str(folder / "end.png"))


def once(playwright: Any, folder: Path, args: argparse.Namespace) -> dict[str, float]:
    """Run the tour; return what it, the widget and the command line say, in milliseconds."""
    with (
        lab(folder / "notebooks", env={"WORKBENCH_TOUR_SECONDS": str(args.seconds)}) as address,
        page_of(playwright, folder / "profile") as page,
    ):
        notebook = Notebook(page, address).open(TUNE.name)
        for k, (kind, cell) in enumerate(page.evaluate(CELLS)):
            if kind == "code":
                notebook.run(k, wait=False)
                notebook.wait_cell(k, LONGEST_MS)
                if args.click:
                    click(notebook, cell)
        if errors := page.evaluate(ERRORS):
            raise SystemExit(f"cells fail: {errors}")
        table = page.evaluate(OUTPUT, "compare-network")
        print(table)
        total = View(notebook, 0).find(".swb-total").first.text_content() or ""  # it may be out of sight
        if args.shots:
            shoot(notebook, args.shots)
        command = [sys.executable, "-m", "workbench", "run", MODEL, "--log", LOG, "--benchmark", "--json"]
        run = subprocess.run(command, cwd=folder / "notebooks", capture_output=True, text=True, check=True)
    return {
        "table": number(r"^tuned +([\d.]+)", table),
        "table, of the run": number(r"^tuned, as .*?it +([\d.]+)", table),
        "widget": number(r"([\d.]+) ms", total),
        "workbench run": json.loads(run.stdout)["median_ms"],
    }


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=60.0, help="for tuning the network")
    parser.add_argument("--click", action="store_true", help="click in the widget before the next cells are run")
    parser.add_argument("--shots", type=Path, help="folder for pictures of what was on show")
    args = parser.parse_args()
    if chromium() is None:
        raise SystemExit("there is no Chromium on this machine")
    from playwright.sync_api import sync_playwright

    far = []
    with sync_playwright() as playwright:
        for _ in range(args.times):
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
                said = once(playwright, Path(folder), args)
            far.append(max(said.values()) / min(said.values()) - 1)
            print("  ".join(f"{name} {ms:.3f}" for name, ms in said.items()), f" apart {far[-1]:.1%}", flush=True)
    print(f"largest difference {max(far):.1%}, median {statistics.median(far):.1%}")


if __name__ == "__main__":
    main()
