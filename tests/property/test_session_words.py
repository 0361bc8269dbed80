"""Whatever a front end says to a session, in any order: it is done, or refused with a reason, and what is shown fits
together.
"""

from __future__ import annotations

import json
import threading
import time
from typing import Any
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from workbench import Session, Target, Task, workloads
from workbench.errors import WorkbenchError
from workbench.session import apply_delta
from workbench.session.registry import COMMANDS, QUESTIONS
from workbench.session.schedule_view.nest_listing import known
from workbench.session.state import results as measuring
from workbench.session.state.results import Result

TARGET = Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=haswell", threads=2)
TASKS = [Task.of_func(f, TARGET) for f in (workloads.matmul(8, 8, 8), workloads.matmul(4, 8, 12))]

#: What is not started here: what times code, and what only a run can do.
APART = {"contest", "measure_roofs", "tune"}

NAMES = ["j", "j", "j", "k", "k", "i", "j.0", "j.1", "A", "B", "C", "stmt:C", "init:C", "", "nowhere"]
STEPS = [
    {"primitive": "split", "args": {"loop": "j", "factors": [None, 4]}},
    {"primitive": "split", "args": {"loop": "k", "factors": [None, {"hole": "t"}]}},
    {"primitive": "reorder", "args": {"loops": ["k", "i"]}},
    {"primitive": "unroll", "args": {"loop": "k"}},
    {"primitive": "parallel", "args": {"loops": ["k"]}},
    {"primitive": "vectorize", "args": {"loop": "j.1"}},
    {"primitive": "cache_read", "args": {"buffer": "A", "loop": "i"}},
    {"primitive": "split", "args": {"loop": ["j"], "factors": "many"}},
    {"primitive": "fly", "args": {}},
]
ODD = st.sampled_from([
    None, True, -1, 0, 1, 10**30, 0.5, float("nan"), "", "x", "x" * 10_000, "\0\x1b", "\ud800", "=1+1", "</script>", [],
    ["k"], [[1]], {}, {"a": [None]},
])  # fmt: skip
NODES = st.integers(0, 4)
#: What fits an argument of this name; anything odd may come instead.
FITS = {
    "node": NODES, "step": st.sampled_from(STEPS), "goto.step": NODES, "a": NODES, "b": NODES, "n": st.integers(0, 3),
    "id": st.sampled_from(NAMES), "row": st.sampled_from(NAMES), "task": st.integers(0, 2), "skip": st.booleans(),
    "text": st.sampled_from(["fast", ""]), "on": st.booleans(), "wide": st.booleans(),
    "name": st.sampled_from(["tuning", "roofline", "pin"]), "kind": st.sampled_from(["nest", "c", "llvm"]),
    "from": st.integers(0, 50), "count": st.integers(1, 50), "what": st.sampled_from(["script", "trace", "csv", "svg"]),
    "panel": st.sampled_from(["nest", "variants", "tasks", "stages"]), "theme": st.sampled_from(["light", "dark"]),
    "change.step": NODES, "change.args": st.sampled_from([{"factors": [None, 2]}, {"loop": "k"}, {}]),
    "level": st.just("kernels"), "trial": NODES, "all": st.booleans(),
}  # fmt: skip
ARGUMENTS = {
    "apply": ["step"], "auto_measure": ["on"], "adopt": ["task"], "branch": ["node"], "chart": ["name", "wide"],
    "forget": ["node"], "goto": ["step"], "name": ["node", "text"], "open_task": ["task"], "redo": ["n"],
    "open_trial": ["trial", "task"], "replay": ["node", "task", "skip"], "select": ["id"], "star": ["node", "on"],
    "steer": ["name", "args"], "undo": ["n"], "unfold": ["node"], "code": ["kind", "node", "from", "count"],
    "change": ["step", "args"], "step": ["node"],
    "diff": ["a", "b", "kind", "row", "all"], "drops": ["row"], "export": ["what", "panel", "theme", "node"],
    "graph": ["level"], "judge": ["step"], "preview": ["step"], "space": ["task"], "witness": ["step"],
}  # fmt: skip


@st.composite
def words(draw, which):
    """A command or question with arguments of which most fit."""
    name = draw(st.sampled_from(which))
    names = ARGUMENTS.get(name, []) if draw(st.integers(0, 15)) else ["nothing"]
    fits = {n: FITS.get(f"{name}.{n}", FITS.get(n, ODD)) for n in names}
    return name, {n: draw(fit if draw(st.integers(0, 7)) else ODD) for n, fit in fits.items()}


COMMAND = words([*sorted(COMMANDS.keys() - APART), *["apply", "select"] * 6, *["goto", "undo"] * 3])
QUESTION = words(sorted(QUESTIONS))


class Visitor:
    """A front end that checks what it is shown."""

    def __init__(self) -> None:
        self.session = Session(TASKS, target=TARGET, auto_measure=False)
        self.slices = json.loads(json.dumps(dict(self.session.snapshot().slices)))
        self.session.subscribe(self.take)

    def take(self, message) -> None:
        text = json.dumps(message, allow_nan=False, ensure_ascii=False)
        text.encode()
        self.slices = apply_delta(self.slices, json.loads(text)["ops"])

    def do(self, name, args) -> None:
        refused = ""
        try:
            self.session.run(name, **args)
        except WorkbenchError as error:
            refused = error.message
        assert len(refused) < 2_000

    def ask(self, name, args) -> None:
        answer, there = [], threading.Event()
        self.session.ask(name, args, lambda message: (answer.append(message), there.set()))
        assert there.wait(30)
        if not answer[0]["ok"]:
            assert answer[0]["error"]["code"] != "internal", answer[0]
            assert len(answer[0]["error"]["message"]) < 2_000
        json.dumps(answer[0], allow_nan=False)

    def shown(self) -> dict[str, Any]:
        """What the session shows, once what was sent says the same: estimates are sent whenever they are found."""
        for _ in range(20):
            assert self.session.flush(100)
            now = json.loads(json.dumps(dict(self.session.snapshot().slices)))
            if self.slices == now:
                return now
            time.sleep(0.05)
        assert self.slices == now
        return now

    def check(self) -> None:
        now = self.shown()
        history, nest, head = now["history"], now["nest"], now["head"]
        rows = {row["id"]: row for row in history["rows"]}
        assert len(rows) == len(history["rows"]) == len({(row["x"], row["y"]) for row in rows.values()})
        tree, schedule = self.session.state.tree, self.session.schedule
        assert history["at"] in rows
        assert tree.nodes[history["at"]].schedule.trace == schedule.trace
        assert head["step"] == f"v{history['at']}"
        assert history["path"][-1] == history["at"]
        assert [rows[id]["parent"] for id in history["path"]] == [None, *history["path"][:-1]]
        assert now["selection"]["id"] in {"", *known(nest)}
        assert now["palette"]["at"] == now["selection"]["id"]
        assert (now["status"]["note"] or {}).get("code") != "internal"
        assert [r["name"] for r in nest["rows"] if r["kind"] == "loop"] == [lp.name for lp in schedule.loops]


@settings(max_examples=15, deadline=None)
@given(st.lists(st.one_of(COMMAND, COMMAND, QUESTION), min_size=4, max_size=10))
def test_whatever_is_said_is_done_or_refused_and_what_is_shown_fits_together(said):
    result = Result("ok", 1.0, 0.01, 1.0)
    with (
        patch.object(measuring, "measure", lambda view, target, *_: result),
        patch.object(Target, "peak_gflops", lambda self, remeasure=False: 100.0),
    ):
        visitor = Visitor()
        try:
            for name, args in said:
                (visitor.ask if name in QUESTIONS else visitor.do)(name, args)
                visitor.check()
        finally:
            visitor.session.close()
