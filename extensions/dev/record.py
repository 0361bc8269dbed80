"""Records what the development page shows: states of real sessions, and their answers to questions.

``python extensions/dev/record.py`` writes ``fixtures/*.json`` anew; with names of scenes behind it only those. Nothing
is compiled: times and the machine are made up here, so that every machine records the same. A new slice is recorded by
itself; a new question wants an entry in `Scene.asked`.
"""

from __future__ import annotations

import itertools
import json
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from workbench import Schedule, Session, Target, workloads
from workbench.session.measurement import measurements
from workbench.session.state import results as measuring
from workbench.session.state.results import Result

FIXTURES = Path(__file__).parent / "fixtures"
TARGET = Target(
    "llvm", cpu="skylake-avx512", triple="x86_64-unknown-linux-gnu", threads=2, l1_bytes=48 << 10, l2_bytes=2 << 20,
    l3_bytes=480 << 20, line_bytes=64,
)  # fmt: skip
PEAK = 229.88
"""GFLOP/s of one core."""

Step = tuple[str, tuple[Any, ...], dict[str, Any]]


def step(name: str, *args: Any, **options: Any) -> Step:
    """Name a method of `Schedule` to call."""
    return name, args, options


@dataclass(frozen=True)
class Scene:
    """A session to record.

    Attributes
    ----------
    times : tuple
        Milliseconds and spread of each state, from the program as written on; None for one that is not measured.
    rows : tuple of str
        Rows, blocks and buffers whose palettes are recorded; by default every row, and nothing.
    asked : tuple
        Questions with their arguments, asked about the last state.
    """

    subject: Callable[[], Any]
    steps: tuple[Step, ...]
    selected: str
    times: tuple[tuple[float, float] | None, ...] = ()
    rows: tuple[str, ...] = ()
    task: str | None = None
    auto: bool = True
    asked: tuple[tuple[str, dict[str, Any]], ...] = ()


def _schedule(func: Any) -> Schedule:
    return Schedule(func, TARGET)


FOLDED: dict[str, Any] = {"level": "kernels", "expanded": []}
GRAPHS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("graph", FOLDED), ("graph", {**FOLDED, "level": "nodes"}), ("graph", {**FOLDED, "expanded": ["kernel:n0"]}),
    ("graph", {**FOLDED, "pass": 2, "side": "before"}), ("graph", {**FOLDED, "pass": 2, "side": "after"}),
    ("passes", {}),
)  # fmt: skip
KINDS = ("nest", "c", "llvm", "asm")


def code(node: int) -> tuple[tuple[str, dict[str, Any]], ...]:
    """Ask for the code of a variant."""
    return tuple(("code", {"kind": kind, "node": node}) for kind in KINDS)


DIFF_OF_ALL = {"a": 0, "b": 7, "kind": "nest"}
DIFFS: tuple[tuple[str, dict[str, Any]], ...] = (
    *(("diff", {"a": 6, "b": 7, "kind": kind}) for kind in KINDS), ("diff", DIFF_OF_ALL),
    ("diff", {"a": 6, "b": 7, "kind": "nest", "all": True}),
)  # fmt: skip


def split(loop: str, inner: int) -> dict[str, Any]:
    """Arguments of a question about a split."""
    return {"step": {"primitive": "split", "args": {"loop": loop, "factors": [None, inner]}}}


PARALLEL_K = {"step": {"primitive": "parallel", "args": {"loops": ["k"]}}}

SCENES = {
    "model": Scene(
        lambda: "light_squeezenet",
        (
            step("compute_inline", "pad"),
            step("compute_inline", "bias_add"),
            step("split", "h", [None, 5]),
            step("split", "o", [None, 16]),
            step("reorder", "h.0", "o.0", "w", "h.1", "kh", "kw", "c", "o.1"),
            step("vectorize", "o.1"),
            step("reverse_compute_at", "relu", "o.0"),
        ),
        "c",
        (
            (17.772, 0.473), (18.067, 0.1), (18.011, 0.0143), (19.295, 0.279), (19.2, 0.0101), (17.745, 1.57),
            (1.3316, 2.78), (1.3401, 1.17),
        ),
        task="conv2d 3x3 16→64 @55x55 + bias + relu",
        asked=(("drops", {"row": "c"}), ("drops", {"row": "stmt:relu"}), *GRAPHS, *code(7), *DIFFS),
    ),
    "matmul": Scene(
        lambda: _schedule(workloads.matmul(512, 512, 512)),
        (step("reorder", "k", "i", "j"),),
        "k",
        (None, (48.007, 0.414)),
        ("", "init:C", "k", "i", "j", "stmt:C", "A"),
        asked=(
            ("judge", PARALLEL_K), ("witness", PARALLEL_K), *(("preview", split("k", n)) for n in (4, 8, 16, 32)),
            ("drops", {"row": "k"}), ("drops", {"row": "i"}), *code(1),
            ("diff", {"a": 0, "b": 1, "kind": "nest"}), ("cures", {"node": 1}),
        ),
    ),
    "kernel": Scene(
        lambda: _schedule(workloads.conv2d_nhwc(28, 28, 64, 64)),
        (
            step("split", "o", [None, 16]),
            step("split", "w", [None, 7]),
            step("reorder", "h", "w.0", "o.0", "kh", "kw", "c", "w.1", "o.1"),
            step("compute_at", "pad", "w.0"),
            step("vectorize", "o.1"),
            step("unroll", "w.1"),
            step("bind", "n", "blockIdx.y"),
            step("bind", "h", "blockIdx.x"),
            step("bind", "w.0", "vthread"),
            step("annotate", "kw", "prefetch", 4),
            step("storage_align", "pad", 2, 16, offset=4),
            step("set_scope", "pad", "local"),
            step("blockize", "c"),
        ),
        "kh",
        rows=("w.0", "kh", "c", "stmt:conv", "pad", "W", ""),
        auto=False,
        asked=(*code(13), ("code", {"kind": "llvm", "node": 13, "from": 400})),
    ),
}  # fmt: skip


def record(scene: Scene) -> dict[str, Any]:
    """Open a session, take the steps, look at every row and ask the questions."""

    def measure(view: Schedule, target: Target, *_: str) -> Result:
        ms, spread = scene.times[len(view.trace)] or (0.0, 0.0)
        return Result("ok", ms, spread, session.state.infos[session.state.index or 0].flops / (ms * 1e6))

    peaks = patch.multiple(Target, stored_peak=lambda self: PEAK, peak_gflops=lambda self: PEAK)
    whole = patch.multiple(measurements, measure_all_threads=lambda _: 2 * PEAK, product_peaks=lambda *_: {})
    runs = patch.object(Target, "missing_here", lambda self: ())
    clock = patch(
        "workbench.graph.passes.explain.time", SimpleNamespace(perf_counter=itertools.count(0, 0.002).__next__)
    )
    with patch.object(measuring, "measure", measure), peaks, whole, runs, clock:
        session = Session(scene.subject(), target=TARGET, auto_measure=scene.auto)
        try:
            if scene.task is not None:
                session.run("open_task", task=scene.task)
            _time(session, scene, 0)
            for k, (name, args, options) in enumerate(scene.steps, 1):
                getattr(session.schedule, name)(*args, **options)
                _time(session, scene, k)
            return _seen(session, scene)
        finally:
            session.close()


def _time(session: Session, scene: Scene, state: int) -> None:
    """Take the time of a state, where it has one."""
    if state >= len(scene.times) or scene.times[state] is None:
        return
    session.run("measure")
    while session.state.doing:
        time.sleep(0.005)
    session.flush(10)


def _seen(session: Session, scene: Scene) -> dict[str, Any]:
    session.run(lambda: None)  # take in what the steps changed
    rows = scene.rows or ("", *(r["id"] for r in session.snapshot().slices["nest"]["rows"]))
    palettes = {}
    for row in rows:
        session.run("select", id=row)
        palettes[row] = session.snapshot().slices["palette"]
    session.run("select", id=scene.selected)
    answers = [{"q": q, "args": args, "answer": _answer(session, q, args)} for q, args in scene.asked]
    return {"slices": dict(session.snapshot().slices), "palettes": palettes, "answers": answers}


def _answer(session: Session, q: str, args: dict[str, Any]) -> dict[str, Any]:
    done, found = threading.Event(), []
    session.ask(q, args, lambda message: (found.append(message), done.set()))
    assert done.wait(60), f"no answer to {q}"
    return dict(found[0])


def text(recorded: dict[str, Any]) -> str:
    """JSON with a line for each slice, palette and answer, so that a change can be seen in a diff."""

    def line(value: Any) -> str:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)

    def lines(value: Any) -> str:
        if isinstance(value, dict):
            return "{\n" + ",\n".join(f"{line(k)}: {line(v)}" for k, v in value.items()) + "\n}"
        return "[" + ",\n".join(line(v) for v in value) + "]"

    return "{\n" + ",\n".join(f"{line(k)}: {lines(v)}" for k, v in recorded.items()) + "\n}\n"


def main(names: list[str]) -> None:
    """Record the scenes of these names; all of them when there are none."""
    for name in names or SCENES:
        (FIXTURES / f"{name}.json").write_text(text(record(SCENES[name])), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
