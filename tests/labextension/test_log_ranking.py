"""The viewer of logs and Python say the same of one log: who is the best of a task, and how it came about."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from workbench.analysis import best_so_far
from workbench.tune.conditions import mixed
from workbench.tune.database import Database
from workbench.tune.lines import Comparison
from workbench.tune.log import Header, load_log, read_log, write_log
from workbench.tune.record import Record

SOURCES = Path(__file__).parents[2] / "extensions"

ENTRY = """
import { taskCurve } from './log/curves';
import { LogSummary, mixedCaches, ranking } from './log/summary';
import { words } from './log/trials';
import { readFileSync } from 'fs';
console.log(JSON.stringify(process.argv.slice(2).map(path => {
  const log = new LogSummary();
  readFileSync(path, 'utf8').split('\\n').forEach(line => log.add(line));
  const tasks = log.tasks.map(task => ({ key: task.key, best: ranking(task).best, curve: taskCurve(task) }));
  const newest = [...log.tasks, undefined].map(task => log.newest(task).map(one => one.trial));
  const steps = log.all.map(one => words(one.trace));
  return { tasks, mixed: mixedCaches(log), newest, steps, untuned: log.untuned };
})));
"""


def trial(number: int, key: str, ms: float | None, program: str = "", **more: object) -> Record:
    return Record(task_key=key, task=f"task {key}", trial=number, status="ok" if ms else "timeout", target="llvm",
                  latency_ms=ms, key=program, **more)  # type: ignore[arg-type]  # fmt: skip


def against(key: str, winner: int, trials: list[int], ms: list[float], at: float) -> Comparison:
    return Comparison(task_key=key, task=f"task {key}", trials=tuple(trials), latency_ms=tuple(ms), winner=winner,
                      timestamp=at)  # fmt: skip


def some_log(seed: int) -> list[Record | Comparison]:
    """Lines as no tuner would write them in one run: trials measured again, numbers twice, states of the caches."""
    rng, lines, known = random.Random(seed), list[Record | Comparison](), list[Record]()
    for n in range(rng.randint(2, 14)):
        key = rng.choice("ab")
        number = rng.choice(known).trial if known and rng.random() < 0.2 else n
        ms = rng.choice([1.0, 1.5, 2.0, 3.0, round(rng.uniform(0.5, 4), 3)]) if rng.random() < 0.85 else None
        caches = rng.choice(["", "flushed", "constants shared"]) if seed % 3 == 0 else ""
        known.append(trial(number, key, ms, rng.choice(["", f"k{number}", "k"]), caches=caches, timestamp=float(n)))
        lines.append(known[-1])
        there = sorted({r.trial for r in known if r.ok and r.task_key == key})
        if len(there) > 1 and rng.random() < 0.4:
            picked = rng.sample(there, rng.randint(2, min(4, len(there))))
            times = [round(rng.uniform(0.5, 4), 3) for _ in picked]
            lines.append(against(key, rng.choice(picked), picked, times, n + 0.5))
    return lines


AGAIN = [
    trial(0, "a", 2.0, "p"), trial(1, "a", 0.42, "q"), trial(2, "a", 0.44, "r"),
    against("a", 1, [1, 2], [0.43, 0.46], 1.0), trial(1, "b", 1.0, "s"), trial(2, "b", 0.9, "t"),
    trial(2, "b", 1.2, "t"), against("a", 1, [1, 2], [0.45, 0.47], 2.0),
]  # fmt: skip


@pytest.fixture(scope="module")
def viewer(tmp_path_factory: pytest.TempPathFactory) -> Callable[[list[Path]], Any]:
    """What the viewer says of logs."""
    node, esbuild = shutil.which("node"), SOURCES / "node_modules" / ".bin" / "esbuild"
    if node is None or not esbuild.exists():
        pytest.skip("the viewer cannot be run: Node or extensions/node_modules is missing")
    made = tmp_path_factory.mktemp("viewer") / "entry.js"
    command = [esbuild, "--bundle", "--platform=node", "--loader=tsx", "--jsx=automatic", "--jsx-import-source=preact",
               f"--outfile={made}"]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True, cwd=SOURCES / "src/lab", input=ENTRY.encode())

    def told(paths: list[Path]) -> Any:
        return json.loads(subprocess.run([node, made, *paths], check=True, capture_output=True).stdout)

    return told


def test_both_name_the_same_best_and_the_same_curve(tmp_path: Path, viewer: Callable[[list[Path]], Any]) -> None:
    paths = []
    for number, lines in enumerate([AGAIN, *map(some_log, range(60))]):
        paths.append(tmp_path / f"{number}.tunelog.jsonl")
        write_log(paths[-1], Header(tasks=()), [])
        with paths[-1].open("a") as file:
            file.writelines(json.dumps(line.to_json()) + "\n" for line in lines)
    told = viewer(paths)
    warned = 0
    for path, said in zip(paths, told, strict=True):
        database, frame, records = Database.load(path), read_log(path), load_log(path).records
        warnings = [f"{text.capitalize()}." for text in mixed(records) if "caches" in text]
        assert said["mixed"] == "".join(warnings)
        warned += bool(warnings)
        for task in said["tasks"]:
            key, best = task["key"], database.best(task["key"])
            found = None if best is None else {"trial": best.trial, "ms": database.latency_ms(best)}
            assert task["best"] == found, path.read_text()
            if best is None:
                continue
            curve, (x, y) = best_so_far(path, key), (task["curve"]["xs"], task["curve"]["ms"])
            assert curve.best_ms[-1] == best_so_far(frame, key).best_ms[-1] == found["ms"]
            assert [max(zip(x, y, strict=True), key=lambda c: (c[0] <= n, c[0]))[1] for n in curve.nth] == list(
                curve.best_ms
            )
    assert 0 < warned < len(told)
    assert [task["best"] for task in told[0]["tasks"]] == [{"trial": 1, "ms": 0.42}, {"trial": 2, "ms": 0.9}]


def test_the_best_is_in_sight_with_its_gain_and_steps(tmp_path: Path, viewer: Callable[[list[Path]], Any]) -> None:
    split = {"primitive": "split", "args": {"loop": "i", "factors": [None, 8]}}
    inline = {"primitive": "fuse", "args": {"loops": ["i", "j"]}}
    late = [trial(n, "a", 3.0 if n % 2 else None, f"p{n}", weight=2) for n in range(2, 30)]
    lines = [
        trial(0, "a", 4.0, "d", origin="default", weight=2), trial(1, "a", 1.0, "q", weight=2, trace=[split, inline]),
        *late, against("a", 1, [0, 1], [3.5, 1.0], 1.0), trial(30, "b", 0.5, "r", origin="default"),
    ]  # fmt: skip
    paths = [tmp_path / "whole.tunelog.jsonl", tmp_path / "unknown.tunelog.jsonl"]
    for path, extra in zip(paths, ([], [trial(31, "c", 1.0, "s", origin="sketch")]), strict=True):
        path.write_text("".join(json.dumps(line.to_json()) + "\n" for line in [*lines, *extra]))
    whole, unknown = viewer(paths)
    first, second, every = whole["newest"]
    assert (first, second) == ([1, *range(29, 10, -1)], [30]), "the task's best first, then its newest"
    assert every == list(range(30, 10, -1)), "of all tasks the newest"
    assert whole["steps"][:3] == [[], ["split(i, [rest, 8])", "fuse(i, j)"], []]
    assert whole["untuned"] == 2 * 3.5 + 0.5, "the default schedule's least time, as the session has it"
    assert unknown["untuned"] is None, "one task's time before is not known"
