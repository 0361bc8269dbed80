"""What leaves as text moves no cursor, changes no title and turns no line around, whoever chose the names in it."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from errors import models
from errors.test_cli_errors import invoke, write

import workbench as wb
from workbench import te
from workbench.errors import InputError, ModelWarning
from workbench.runtime.results.measurement import Measurement
from workbench.schedule import Schedule
from workbench.tune.display.terminal_table import render_table
from workbench.tune.run.session_report import table
from workbench.tune.state.events import Progress, Snapshot, TaskRow

ORDERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
EVIL = "a\x1b[2J\x1b]0;x\x07\rb\u202ec\x9b31m\u200f\u2067\x7f"


def hostile_log(path):
    """A log in which every text is hostile, and with lines of a kind that nobody knows."""
    lines = [json.loads(line) for line in write(path).read_text().splitlines()]
    for line in lines:
        for name in ("task", "host", "error", "model", "origin"):
            if isinstance(line.get(name), str):
                line[name] = f"{EVIL}\n{EVIL}" if name == "error" else EVIL
        if isinstance(line.get("tasks"), list):
            line["tasks"] = [{**task, "name": EVIL} for task in line["tasks"]]
    lines.append({"kind": EVIL, "schema": 99})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.mark.parametrize(
    "command", [["summary"], ["best"], ["distill", "-o"], ["merge", "-o"]], ids=lambda words: words[0]
)
@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
def test_a_log_gives_no_orders(capfd, tmp_path, command, form):
    log = hostile_log(tmp_path / "a.jsonl")
    verb, *option = command
    rest = [*option, tmp_path / "b.jsonl"] if option else []
    code, out, err = invoke(capfd, "log", verb, log, *rest, *form)
    assert code == 0, err
    assert out
    assert not ORDERS.search(out + err)
    if form and verb == "summary":
        assert EVIL in {task["name"] for task in json.loads(out)["tasks"]}  # the data stay what they are


def test_nor_does_it_in_python(tmp_path):
    frame = wb.read_log(hostile_log(tmp_path / "a.jsonl"))
    assert not ORDERS.search(repr(frame))
    assert EVIL in set(frame["task"])


def test_nor_does_a_model(capfd, tmp_path):
    path = tmp_path / f"m{EVIL}.onnx"
    models.dense(path, name=f"x{EVIL}")
    for arguments in (["tasks", path], ["tasks", tmp_path / f"{EVIL}.onnx"], ["run", path, "--shape", f"{EVIL}=1x2"]):
        for form in ([], ["--json"]):
            _, out, err = invoke(capfd, *arguments, *form)
            assert out + err
            assert not ORDERS.search(out + err)
    graph = wb.load_onnx(path)
    tuned = graph.optimize()
    for thing in (graph, graph.nodes[0], tuned, tuned.explain() if hasattr(tuned, "explain") else tuned):
        assert not ORDERS.search(f"{thing}\n{thing!r}")


def test_nor_do_objects(rng):
    a = te.placeholder((4, 8), name=f"A{EVIL}")
    k = te.reduce_axis(8, f"k{EVIL}")
    func = te.func(te.compute((4,), lambda i: te.sum(a[i, k], axis=k), name=f"B{EVIL}"), name=EVIL)
    s = Schedule(replace(wb.Task.of_func(func), name=EVIL))
    s.split(f"k{EVIL}", [None, 2])
    kernel = s.build()
    kernel(rng.standard_normal((4, 8), dtype=np.float32))
    things = [s, s.func, s.moves()[0], kernel, s.func.body[0], wb.Task.of_func(func, name=EVIL), *s.moves("i")]
    things += [Measurement(status="run_error", error=EVIL)]
    things += [InputError("x.y", EVIL, [EVIL], EVIL), ModelWarning("x.y", EVIL, [EVIL], EVIL)]
    for thing in things:
        assert not ORDERS.search(f"{thing}\n{thing!r}"), type(thing)
    assert not ORDERS.search("".join(InputError("x.y", EVIL, [EVIL], EVIL)._render_traceback_()))


def test_nor_do_tables_of_a_run():
    row = TaskRow(0, "k", EVIL, 1, 1.0, 1.0, 1, 0, None, EVIL, EVIL)
    snapshot = Snapshot("running", (row,), Progress(1, None, 1.0, None, 0.5, 1.0), None, None, None)
    assert not ORDERS.search("".join(render_table(snapshot)))
    assert not ORDERS.search(str(table((row,))))
