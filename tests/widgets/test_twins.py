"""Every panel has a twin in Python, and the two say the same."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import plotly.graph_objects as go
import pytest

import workbench as wb
from workbench import Session, Target, Workbench, analysis
from workbench.log import Record
from workbench.session import readable

TARGET = Target("llvm", cpu="x86-64-v3", triple="x86_64-unknown-linux-gnu", threads=2)


class Seen:
    """A workbench of a small network, and what its panels show."""

    def __init__(self, w: Workbench) -> None:
        self.w, self.session = w, w.session
        self.slices = readable(self.session.snapshot().slices)
        assert w.schedule is not None
        self.schedule, self.func = w.schedule, w.schedule.func

    def ask(self, q: str, **args: Any) -> Any:
        done, found = threading.Event(), []
        self.session.ask(q, args, lambda message: (found.append(message), done.set()))
        assert done.wait(60)
        assert found[0]["ok"], found[0]
        return found[0]["value"]


def records(session: Session) -> list[Record]:
    info = session.state.infos[session.state.index or 0]
    common: dict[str, Any] = {"task_key": info.key, "task": info.name, "status": "ok", "target": str(TARGET)}
    return [Record(**common, trial=k, latency_ms=1.0 / (k + 1), round=k // 2, timestamp=k) for k in range(6)]


@pytest.fixture
def seen(comms: Any, tmp_path: Any) -> Any:
    from browser.driver import tiny_model

    tiny_model(tmp_path / "tiny.onnx")
    w = Workbench(str(tmp_path / "tiny.onnx"), target=TARGET, auto_measure=False)
    w.open_task("conv2d 3x3 8→16 @24x24 + relu")
    w.schedule.compute_inline("pad")
    w.schedule.split("o", [None, 8])
    w.session.run("select", id="c")
    w.session.run(lambda: w.session.state.stats.add(records(w.session)))
    yield Seen(w)
    w.close()


def graph(seen: Seen) -> None:
    model = seen.session.state.opened.graph
    assert analysis.network(model, list(seen.w.tasks)).columns() == seen.ask("graph", level="kernels", expanded=[])


def stages(seen: Seen) -> None:
    assert analysis.stage_graph(seen.func) == seen.slices["stages"]


def tasks(seen: Seen) -> None:
    rows = seen.slices["tasks"]["rows"]
    assert [(t.name, t.weight, t.key) for t in seen.w.tasks] == [(r["name"], r["weight"], r["key"]) for r in rows]


def nest(seen: Seen) -> None:
    rows = analysis.nest_rows(seen.func, TARGET).rows
    shown = seen.slices["nest"]["rows"]
    names = ("id", "extent", "iters", "flops", "bytes", "text", "depth")
    assert [tuple(getattr(r, n) for n in names) for r in rows] == [tuple(r[n] for n in names) for r in shown]
    assert [r.working_set for r in rows] == [r["ws"] for r in shown]


def accesses(seen: Seen) -> None:
    rows = analysis.accesses(seen.func, "c", TARGET)
    shown = seen.slices["accesses"]["rows"]
    assert [(r.text, r.kind, r.says) for r in rows] == [(r["text"], r["kind"], r["says"]) for r in shown]


def palette(seen: Seen) -> None:
    moves = seen.schedule.moves(at="c")
    legal = {m.primitive for m in moves if m.legal}
    assert legal
    assert legal <= {r["id"] for r in seen.slices["palette"]["rows"] if r["legal"]}


def variants(seen: Seen) -> None:
    assert list(seen.w.variants) == [r["id"] for r in seen.slices["history"]["rows"]]
    assert seen.w.variants[2].func == seen.func
    assert list(seen.w.variants.frame()["text"]) == [r["text"] for r in seen.slices["history"]["rows"]]


def code(seen: Seen) -> None:
    for kind in ("nest", "c"):
        lines = [line.text for line in analysis.listing(seen.schedule, kind, TARGET).lines]
        assert lines[:400] == seen.ask("code", kind=kind)["lines"]


def diff(seen: Seen) -> None:
    found = seen.w.compare(1, 2)
    answer = seen.ask("diff", a=1, b=2, kind="nest")
    assert [r.mark for r in found.rows if r.mark != " "] == [r["mark"] for r in answer["rows"] if "skip" not in r]
    assert found.changed == answer["changed"] > 0


def tuning(seen: Seen) -> None:
    assert seen.w.tuning is None
    assert seen.slices["tuning"]["state"] == "none"
    assert callable(seen.w.tune)


def chart(seen: Seen) -> None:
    lines, task = records(seen.session), seen.w.task
    best = analysis.best_so_far(lines, task.key)
    shown = seen.slices["tasks"]["rows"][seen.slices["head"]["task"]]["ms"]
    assert best.best_ms[-1] == pytest.approx(shown, rel=1e-4)  # shown with five digits
    for figure in (analysis.tuning_figure(lines, task.key), analysis.roofline_figure([], TARGET)):
        assert isinstance(figure, go.Figure)


TWINS: dict[str, Callable[[Seen], None]] = {
    "graph": graph, "stages": stages, "tasks": tasks, "nest": nest, "accesses": accesses, "palette": palette,
    "variants": variants, "code": code, "diff": diff, "tuning": tuning, "chart": chart,
}  # fmt: skip


@pytest.mark.parametrize("panel", TWINS)
def test_a_panel_and_its_twin_say_the_same(seen: Seen, panel: str) -> None:
    TWINS[panel](seen)


def test_commands_have_twins(seen: Seen) -> None:
    w = seen.w
    for name in ("undo", "redo", "measure", "tune", "open_task", "goto", "name", "star", "replay", "contest", "export"):
        assert callable(getattr(w, name))
    w.undo()
    assert w.session.snapshot().slices["history"]["at"] == 1
    w.redo().goto(0).name(2, "split").star(2)
    row = w.session.snapshot().slices["history"]["rows"][2]
    assert (row["name"], row["star"]) == ("split", True)
    assert w.export("csv", panel="variants").count("\n") == 4
    assert isinstance(w.apply(wb.Schedule(w.task).unroll("c").trace[0]), Workbench)
