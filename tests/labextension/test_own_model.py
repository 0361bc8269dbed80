"""Somebody's own model in a real JupyterLab: by double click, menu and launcher to a live workbench."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from session.test_opening import model

from workbench import workloads
from workbench.widgets import Workbench

from .conftest import open_lab

VISIBLE = ".swbl-open:visible"
KERNELS = """async () => { const { kernels } = window.jupyterapp.serviceManager;
    await kernels.refreshRunning();
    return [...kernels.running()].length; }"""
WIDGET = "() => document.querySelector('.swb .swb-crumb b')?.innerText"


def go_to(page: Any, path: str) -> None:
    page.evaluate("path => window.jupyterapp.commands.execute('filebrowser:go-to-path', { path })", path)


def item(page: Any, name: str) -> Any:
    return page.locator(".jp-DirListing-item", has_text=name)


def form(page: Any) -> Any:
    found = page.locator(f"{VISIBLE} form")
    found.wait_for(timeout=60_000)
    return found


def tune(page: Any) -> None:
    """Press the button beside the graph: it starts a kernel and asks for the shapes."""
    page.locator(".swbl-model:visible button", has_text="Tune").click()


def alert(page: Any) -> str:
    found = page.locator(f"{VISIBLE} [role=alert]")
    found.wait_for(timeout=60_000)
    return str(found.inner_text())


def made(folder: Path, name: str) -> str:
    """Source of the code cell of a notebook that was made."""
    [cell] = [c for c in json.loads((folder / name).read_text())["cells"] if c["cell_type"] == "code"]
    return "".join(cell["source"])


def test_a_double_click_asks_for_shapes_and_start_shows_the_workbench(page: Any, address: str, folder: Path) -> None:
    within = folder / "my models"
    within.mkdir()
    model(within / "it's.onnx", ["batch", "seq", 64])
    open_lab(page, address)
    go_to(page, "my models")
    item(page, "it's.onnx").dblclick()
    tune(page)
    fields = form(page).locator("input[type=number]")
    assert fields.evaluate_all("all => all.map(e => [e.ariaLabel, e.value]).slice(0, 2)") == [
        ["x, dimension 0, batch", "1"],
        ["x, dimension 1, seq", "128"],
    ]
    fields.nth(1).fill("")
    fields.nth(1).press("Enter")
    assert alert(page) == "Dimension 1 (seq) of x is no whole number from 1 on. Put in a number."
    fields.nth(1).fill("6")
    fields.nth(2).fill("1")
    page.locator(f"{VISIBLE} button[type=submit]").click()
    page.wait_for_function(f"{WIDGET} === undefined ? false : ({WIDGET})().startsWith('matmul 6x64')", timeout=60_000)
    assert "shapes = {'x': (1, 6, 64)}" in made(within, "it's workbench.ipynb")
    assert "threads=1" in made(within, "it's workbench.ipynb")
    assert page.locator(".swbl-open").count() == 0, "the notebook has taken the panel's place"
    assert page.evaluate(KERNELS) == 1, "it runs on the kernel that has read the file"
    assert not list(folder.rglob("*checkpoint*.onnx")), "a model is not copied because it was looked at"


def test_the_menu_opens_a_model_and_closing_ends_its_kernel(page: Any, address: str, folder: Path) -> None:
    model(folder / "menu.onnx", [2, 64])
    open_lab(page, address)
    go_to(page, "/")
    item(page, "menu.onnx").click(button="right")
    page.locator(".lm-Menu-itemLabel", has_text="Open in Schedule Workbench").click()
    tune(page)
    assert "The model says all its shapes" in form(page).inner_text()
    assert page.evaluate(KERNELS) == 1
    page.evaluate("() => window.jupyterapp.shell.currentWidget.close()")
    page.wait_for_function(f"async () => await ({KERNELS})() === 0")


def test_the_launcher_has_a_tile_that_asks_for_a_file(page: Any, address: str, folder: Path) -> None:
    model(folder / "tile.onnx", ["batch", 64])
    open_lab(page, address)
    go_to(page, "/")
    page.locator(".jp-LauncherCard:visible", has_text="Schedule Workbench").click()
    page.locator(f"{VISIBLE} button", has_text="Choose").click()
    dialog = page.locator(".jp-Dialog")
    dialog.locator(".jp-DirListing-item", has_text="tile.onnx").click()
    assert dialog.locator(".jp-DirListing-item", has_text=".ipynb").count() == 0
    dialog.locator("button.jp-mod-accept").click()
    assert form(page).locator("input[type=number]").first.input_value() == "1"


def test_a_double_click_on_a_view_shows_its_workbench(page: Any, address: str, folder: Path) -> None:
    view = Workbench(workloads.matmul(48, 64, 64), auto_measure=False)
    view.export("view", folder / "sent.view.json")
    view.close()
    (folder / "broken.view.json").write_text("{}")
    open_lab(page, address)
    go_to(page, "/")
    item(page, "sent.view.json").dblclick()
    page.wait_for_function(f"{WIDGET} === undefined ? false : ({WIDGET})().startsWith('matmul 48x64')", timeout=60_000)
    assert "Workbench(view='sent.view.json')" in made(folder, "sent view.ipynb")
    assert page.evaluate(KERNELS) == 1
    item(page, "broken.view.json").click(button="right")
    page.locator(".lm-Menu-itemLabel", has_text="Open in Schedule Workbench").click()
    assert alert(page).startswith("This is no view of a workbench")
