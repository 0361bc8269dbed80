"""The explorer of logs as a widget: its messages, without a browser."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import waiting
from logs.explorer_logs import HOSTILE, random_log

import workbench as wb
from workbench.errors import LogError, UsageError
from workbench.session.core.threads import Worker

OTHERS = Path(__file__).parents[1] / "data" / "logs" / "kernel-tuner" / "mm96-cpu-v1.5.0.json"


class Page:
    """A browser that looks at an explorer."""

    def __init__(self, widget: wb.LogExplorer, sent: Any) -> None:
        self.widget, self.sent, self.n = widget, sent, 0
        self.say(t="hello", theme="light")
        self.until(lambda m: m["t"] == "slices" and "meta" in m["slices"])

    def say(self, **message: Any) -> str:
        self.n += 1
        self.widget.comm.receive({"id": str(self.n), **message})
        return str(self.n)

    def until(self, wanted: Any) -> dict[str, Any]:
        waiting.until(lambda: any(wanted(m) for m in self.sent(self.widget)))
        return next(m for m in self.sent(self.widget) if wanted(m))

    def set(self, **args: Any) -> dict[str, Any]:
        name = self.say(t="set", args=args)
        return self.until(
            lambda m: m["t"] == "slices" and (name in m["done"] or any(f["id"] == name for f in m["failed"]))
        )

    def ask(self, q: str, **args: Any) -> dict[str, Any]:
        name = self.say(t="ask", q=q, args=args)
        return self.until(lambda m: m["t"] == "ret" and m["id"] == name)


@pytest.fixture
def page(sent: Any) -> Any:
    widget = wb.LogExplorer(random_log(200, tasks=2))
    yield Page(widget, sent)
    widget.close()


def test_without_a_log_a_pasted_text_is_read(sent: Any) -> None:
    widget = wb.LogExplorer()
    for message in ({"t": "hello"}, {"t": "set", "id": "1", "args": {"sort": "x"}}, {"t": "text", "text": "<b>none"}):
        widget.comm.receive(message)
    asked, again, wrong = sent(widget)
    assert asked == again == {"t": "asking", "text": "", "error": None}
    assert (wrong["text"], wrong["error"]["code"]) == ("<b>none", "log.unknown_format")
    with pytest.raises(UsageError, match="no log yet"):
        widget.change(sort="x")
    assert repr(widget) == "LogExplorer()"
    widget.comm.receive(
        {"t": "text", "text": "AUTOTUNE mm(64x64, 64x64)\n  triton_mm_1 0.02 ms 100.0%\n  mm 0.03 ms 66.7%"}
    )
    waiting.until(lambda: any("meta" in m.get("slices", {}) for m in sent(widget)))
    assert (widget.log.format, len(widget.records)) == ("inductor", 2)
    widget.close()


def test_a_view_gets_every_slice_and_then_only_what_has_changed(page: Page) -> None:
    (first,) = page.sent(page.widget)
    assert {"meta", "chosen", "axes", "lines", "scatter", "points", "histogram", "bars", "best", "table"} <= set(
        first["slices"]
    )
    assert set(page.set(sort="x")["slices"]) == {"table"}
    moved = page.set(brushes={"x": {"low": -0.5, "high": 1.5}})["slices"]
    assert set(moved) == {"chosen", "lines", "points", "bars", "best", "table"}
    assert moved["chosen"]["n"] == len(page.widget.records) < 200


def test_a_refused_change_says_why_and_sends_nothing_else(page: Page) -> None:
    answer = page.set(sort=HOSTILE)
    assert answer["failed"][0]["error"]["code"] == "explorer.change"
    assert not answer["slices"]


def test_python_chooses_what_the_page_shows(page: Page) -> None:
    page.widget.change(text="x > 2")
    page.until(lambda m: m["t"] == "slices" and m["slices"].get("chosen", {}).get("text") == "x > 2")
    assert page.widget.selection.text == "x > 2"
    assert (page.widget.records["params"].map(lambda p: p["x"]) > 2).all()


def test_questions_are_answered_or_say_why_not(page: Page) -> None:
    detail = page.ask("detail", record=3)["value"]
    assert (detail["record"], json.loads(detail["raw"])) == (3, {"k": 3})
    assert page.ask("detail", record=10**9)["error"]["code"] == "usage.record"
    panel = page.ask("panel", name="failures")["value"]
    assert "failed" in panel["finding"]
    assert panel["rows"]
    assert page.ask("panel", name="nothing")["error"]["code"] == "explorer.panel"
    assert page.ask("figure", name="both_tried")["error"]["code"] == "explorer.panel"  # it has no figure
    assert page.ask("nothing")["error"]["code"] == "explorer.question"
    page.set(text="x > 100")
    assert page.ask("panel", name="failures")["error"]["code"] == "explorer.nothing"


@pytest.mark.parametrize("message", [5, [], {}, {"t": "set"}, {"t": "set", "args": 3}, {"t": "ask"}, {"t": "what"}])
def test_any_message_is_survived(page: Page, message: Any) -> None:
    page.widget.comm.receive(message)
    assert page.set(sort="x")["slices"]["table"]["sort"] == "x"


def test_a_workbench_of_another_tuners_log_is_an_explorer(comms: Any) -> None:
    explorer = wb.Workbench(OTHERS)
    assert isinstance(explorer, wb.LogExplorer)
    assert len(explorer.log) == 40
    assert isinstance(wb.Workbench(explorer.log), wb.LogExplorer)
    assert "40 of 40 records" in repr(explorer)


def test_several_logs_are_runs_of_one(comms: Any) -> None:
    explorer = wb.LogExplorer([random_log(5), random_log(7, seed=1)])
    assert explorer.log.records["run"].astype(str).unique().tolist() == ["made", "made (2)"]
    assert explorer.log.raw(6) == {"k": 1}
    assert explorer.log.refresh() == 0


@pytest.mark.parametrize("subject", [5, [], ["nothing.json"], None])
def test_what_is_no_log_is_refused(comms: Any, subject: Any) -> None:
    with pytest.raises((UsageError, LogError)):
        wb.LogExplorer(subject)


def test_a_saved_notebook_has_a_table_and_no_markup_of_the_log(comms: Any) -> None:
    data, _ = wb.LogExplorer(random_log(20, hostile=True))._repr_mimebundle_()
    assert "Tuning log" in data["text/html"]
    assert "<img" not in data["text/html"]


def test_a_closed_explorer_leaves_no_thread_and_takes_no_change(page: Page) -> None:
    assert isinstance(page.widget._exchange._worker, Worker)
    page.widget.close()
    with pytest.raises(UsageError) as info:
        page.widget.change(text="")
    assert info.value.code == "session.closed"


def lines(n: int, first: int = 0) -> str:
    told = [
        {"input": ["llvm", "dense", [["TENSOR", [8, 8], "float32"]], {}], "config": {"index": k, "code_hash": "",
         "entity": [["tile", "ot", k % 7]]}, "result": [[1e-3 + 1e-6 * k], 0, 1.0, 100.0 + k], "version": 0.2}
        for k in range(first, first + n)
    ]  # fmt: skip
    return "".join(json.dumps(one) + "\n" for one in told)


def test_a_file_that_grows_is_followed_while_somebody_looks(sent: Any, tmp_path: Path) -> None:
    path = tmp_path / "growing.log"
    path.write_text(lines(20))
    widget = wb.LogExplorer(path)
    page = Page(widget, sent)
    page.set(brushes={"tile": {"low": 2.5, "high": 3.5}})
    with path.open("a") as file:
        file.write(lines(50, 20) + '{"input": [')
    grown = page.until(lambda m: m["t"] == "slices" and m["slices"].get("meta", {}).get("n") == 70)
    assert grown["slices"]["chosen"]["n"] == 10
    assert set(widget.records["params"].map(lambda p: p["tile"])) == {3}
    path.unlink()
    assert page.set(sort="tile")["slices"]["table"]["n"] == 10
    widget.close()


def test_parameters_of_a_large_log_come_after_the_first_picture(sent: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.logs.explorer.explorer.LATER", 100)
    widget = wb.LogExplorer(random_log(300))
    page = Page(widget, sent)
    first = page.sent(widget)[0]["slices"]
    assert "x" not in [c["name"] for c in first["meta"]["columns"]]
    then = page.until(lambda m: m["t"] == "slices" and "x" in m["slices"].get("axes", {}).get("names", ()))
    assert then["slices"]["meta"]["reading"] is None
    page.set(text="x > 2")
    assert (widget.records["params"].map(lambda p: p["x"]) > 2).all()
    widget.close()
