"""A workbench as one file: it opens from the disk with the network off, and everything in it can be read."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from browser.driver import tiny_model
from workbench import Schedule, Session, Target, workloads
from workbench.errors import UsageError
from workbench.log import Record
from workbench.session.state.results import Result
from workbench.widgets import html_page as pages
from workbench.widgets.export import made

TARGET = Target("llvm", cpu="x86-64-v3", triple="x86_64-unknown-linux-gnu", threads=2)
BUNDLE = Path(os.environ.get("WORKBENCH_BUNDLE", pages._ESM))


@pytest.fixture(scope="module", autouse=True)
def bundle() -> Iterator[None]:
    """The front end that is under test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pages, "_ESM", BUNDLE)
        patch.setattr(pages, "_CSS", BUNDLE.with_suffix(".css"))
        yield


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of a small network, after some steps on one of its tasks."""
    folder = tmp_path_factory.mktemp("page")
    tiny_model(folder / "tiny.onnx")
    session = Session(str(folder / "tiny.onnx"), target=TARGET, auto_measure=False)
    try:
        session.run("open_task", task="conv2d 3x3 16→32 @24x24 + relu")
        assert session.schedule is not None
        session.schedule.compute_inline("pad")
        session.schedule.split("o", [None, 16])
        session.schedule.reorder("h", "w", "o.0", "kh", "kw", "c", "o.1")
        session.schedule.vectorize("o.1")
        key = session.state.variant().key
        session.run(lambda: session.state.history.results.update({key: Result("ok", 0.123, 0.01, 90.0)}))
        session.run("select", id="c")
        file = made(session, {"what": "html", "charts": False})
    finally:
        session.close()
    assert file.name == "tiny.conv2d-3x3-16-32-24x24-relu.html"
    (folder / "page.html").write_text(file.text, encoding="utf-8")
    return folder / "page.html"


class Reader:
    """Somebody who opens a file without a network."""

    def __init__(self, chrome: Any, scheme: str = "light") -> None:
        self.context = chrome.new_context(offline=True, color_scheme=scheme, viewport={"width": 1300, "height": 1000})
        self.page = self.context.new_page()
        self.page.set_default_timeout(5000)
        self.asked: list[str] = []
        self.errors: list[str] = []
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda m: self.errors.append(m.text) if m.type == "error" else None)

    def open(self, path: Path) -> Any:
        self.page.goto(path.as_uri())
        self.page.wait_for_selector(".swb-header")
        return self.page

    def text(self, selector: str) -> str:
        return " ".join(str(self.page.inner_text(selector)).split())


@pytest.fixture
def reader(chrome: Any) -> Iterator[Reader]:
    """A reader; an error on the page, or a request that leaves it, fails the test."""
    one = Reader(chrome)
    yield one
    one.context.close()
    assert one.errors == []
    assert [url for url in one.asked if not url.startswith(("file:", "blob:", "data:"))] == []
    assert len([url for url in one.asked if url.startswith("file:")]) == 1


def test_everything_can_be_read(reader: Reader, written: Path) -> None:
    page = reader.open(written)
    assert "tiny › conv2d 3x3 16→32 @24x24 + relu" in reader.text(".swb-header")
    assert "0.123" in reader.text(".swb-header")
    assert "no kernel" in reader.text(".swb-foot")
    assert page.locator(".swb-nest [role=row][data-row]").count() >= 10
    assert page.locator("[data-row='c'][aria-selected=true]").count() == 1
    assert reader.text(".swb-pal-head").startswith("c ")
    assert "vectorize(o.1)" in reader.text(".swb-slot-variants")
    assert "3x3 16→32 @24" in reader.text(".swb-slot-tasks")
    page.wait_for_selector(".swb-slot-graph [data-node], .swb-slot-graph .swb-block")


def test_a_selection_brings_what_belongs_to_it(reader: Reader, written: Path) -> None:
    page = reader.open(written)
    page.click("[data-row='kh']")
    page.wait_for_function("document.querySelector('.swb-pal-head')?.innerText.startsWith('kh')")
    assert "kh" in reader.text(".swb-accesses caption")


def test_code_can_be_read(reader: Reader, written: Path) -> None:
    page = reader.open(written)
    page.click("[data-swb-tab=code]")
    page.wait_for_function("document.querySelector('.swb-code-panel')?.innerText.includes('vectorize o.1')")
    page.click(".swb-code-panel [data-swb-tab=c]")
    page.wait_for_function("document.querySelector('.swb-code-panel')?.innerText.includes('float')")


def test_the_last_step_can_be_read_as_a_difference(reader: Reader, written: Path) -> None:
    page = reader.open(written)
    page.click("[data-swb-tab=diff]")
    page.wait_for_function("document.querySelector('.swb-slot-diff')?.innerText.includes('vectorize')")
    assert "v4" in reader.text(".swb-slot-diff")


def test_what_the_passes_did_can_be_read(reader: Reader, written: Path) -> None:
    page = reader.open(written)
    page.select_option("[aria-label='What is shown']", "passes")
    page.wait_for_function("document.querySelector('.swb-passes')?.innerText.includes('fuse')")


def test_charts_are_drawn_where_they_stand(reader: Reader, tmp_path: Path) -> None:
    schedule = Schedule(workloads.matmul(64, 64, 64), TARGET)
    session = Session(schedule, auto_measure=False)
    try:
        name, key = session.state.infos[0].name, session.state.infos[0].key
        records = [
            Record(task_key=key, task=name, trial=k, status="ok", target=str(TARGET), latency_ms=2.0 / (k + 1))
            for k in range(5)
        ]
        session.run(lambda: session.state.stats.add(records))
        path = tmp_path / "page.html"
        path.write_text(made(session, {"what": "html"}).text, encoding="utf-8")
    finally:
        session.close()
    page = reader.open(path)
    page.click("[data-swb-tab=tuning]")
    page.wait_for_selector(".swb-slot-chart .js-plotly-plot .scatterlayer .trace")
    assert "trials" in reader.text(".swb-slot-chart")
    page.click("[data-swb-tab=schedule]")
    page.click("[data-swb-do=roofline]")
    page.wait_for_function("document.querySelector('.swb-roofline')?.innerText.includes('GFLOP/s')")


def test_what_would_change_something_says_why_not(reader: Reader, written: Path) -> None:
    page = reader.open(written)
    assert "This page has no kernel" in reader.text(".swb-note")
    measure = page.locator("[data-swb-do=measure]")
    assert measure.get_attribute("aria-disabled") == "true"
    assert "no kernel" in measure.get_attribute("title")
    assert page.locator("[data-swb-do=undo]").get_attribute("aria-disabled") == "true"
    assert page.locator("[data-swb-do=tune]").get_attribute("aria-disabled") == "true"
    page.click(".swb-task:not([aria-selected=true])")
    page.wait_for_selector(".swb-note.is-error:has-text('another task')")
    assert page.locator(".swb-note").count() == 1, "one that says both"


def test_it_follows_the_system_or_what_was_asked_for(chrome: Any, written: Path, tmp_path: Path) -> None:
    dark = Reader(chrome, "dark")
    assert dark.open(written).get_attribute(".swb", "data-swb-theme") == "dark"
    light = tmp_path / "light.html"
    light.write_text(written.read_text().replace("<body>", '<body data-jp-theme-light="true">'))
    assert dark.open(light).get_attribute(".swb", "data-swb-theme") == "light"
    dark.context.close()
    assert dark.errors == []


def test_without_scripts_the_numbers_are_still_there(chrome: Any, written: Path) -> None:
    context = chrome.new_context(offline=True, java_script_enabled=False)
    page = context.new_page()
    page.goto(written.as_uri())
    text = page.inner_text("body")
    context.close()
    assert "conv2d 3x3 16→32 @24x24 + relu" in text
    assert "0.123 ms" in text.replace("\u202f", " ")
    assert "Loop nest" in text


def test_nothing_in_it_leads_out(written: Path) -> None:
    text = written.read_text()
    found = set(re.findall(r"https?://[^\"'`\s)\\]*", text))
    assert {url for url in found if not url.startswith("http://www.w3.org/")} == set()
    assert not re.search(r"<(link|iframe|img)\b", text)
    assert "@import" not in text


def test_hostile_names_cannot_end_the_script(chrome: Any, tmp_path: Path) -> None:
    schedule = Schedule(workloads.matmul(8, 8, 8), TARGET)
    session = Session(schedule, auto_measure=False)
    session.run("name", node=0, text="</script><script>window.bad = 1</script>")
    path = tmp_path / "page.html"
    path.write_text(made(session, {"what": "html", "charts": False}).text)
    session.close()
    one = Reader(chrome)
    page = one.open(path)
    assert page.evaluate("window.bad") is None
    assert "</script>" in one.text(".swb-slot-variants")
    one.context.close()


def test_a_theme_that_does_not_exist_is_refused() -> None:
    session = Session(Schedule(workloads.matmul(8, 8, 8), TARGET), auto_measure=False)
    with pytest.raises(UsageError) as caught:
        made(session, {"what": "html", "theme": "blue"})
    session.close()
    assert caught.value.code == "export.theme"
