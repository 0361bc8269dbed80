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
from tune.random_logs import against, random_log, trial, write

from workbench.analysis import best_so_far
from workbench.log import Ledger, NetworkTime, Record, load_log
from workbench.log.conditions import mixed
from workbench.log.ledger.network import NetworkLedger, network_change

SOURCES = Path(__file__).parents[2] / "extensions"

ENTRY = """
import { dots, taskCurve } from './log/curves';
import { cost } from './log/records';
import { LogSummary, mixedCaches } from './log/summary';
import { shown, words } from './log/trials';
import { change } from '../shared/format';
import { readFileSync } from 'fs';
console.log(JSON.stringify(process.argv.slice(2).map(path => {
  const log = new LogSummary();
  readFileSync(path, 'utf8').split('\\n').forEach(line => log.add(line));
  const whole = log.measured.length === log.tasks.length ? log.total : null;
  const tasks = log.tasks.map(task => ({
    key: task.key, trials: task.trials, failed: task.failedAt.length, untuned_ms: task.ledger.untuned,
    best: task.ledger.best && { trial: task.ledger.best.trial, ms: task.ledger.best.ms, sure: task.ledger.best.sure },
    course: task.ledger.steps.map(step => [step.nth, step.at, step.trial, step.ms, step.reason]),
    share: whole === null ? null : cost(task) / whole
  }));
  const drawn = log.tasks.map(task => ({ line: taskCurve(task), dots: dots(task).map(one => one.ms) }));
  const newest = [...log.tasks, undefined].map(task => log.newest(task).map(one => one.trial));
  const steps = log.all.map(one => words(one.trace));
  const network = log.network && { ms: log.network.ms,
    change: change(log.network.untuned, log.network.ms, [log.network.untunedSpread, log.network.spread]) };
  return { network, kernels: log.kernels,
    json: { total_ms: whole, tasks }, drawn, mixed: mixedCaches(log), newest, steps, untuned: log.untuned,
    times: log.all.map(one => [shown(one), one.doubt && one.doubt.text]) };
})));
"""


@pytest.fixture(scope="module")
def viewer(tmp_path_factory: pytest.TempPathFactory) -> Callable[[list[Path]], Any]:
    """What the viewer says of logs."""
    return program(ENTRY, tmp_path_factory.mktemp("viewer"))


def program(entry: str, folder: Path) -> Callable[[list[Any]], Any]:
    """What a script of the extension prints, given arguments, as JSON."""
    node, esbuild = shutil.which("node"), SOURCES / "node_modules" / ".bin" / "esbuild"
    if node is None or not esbuild.exists():
        pytest.skip("the viewer cannot be run: Node or extensions/node_modules is missing")
    made = folder / "entry.js"
    command = [esbuild, "--bundle", "--platform=node", "--loader=tsx", "--jsx=automatic", "--jsx-import-source=preact",
               f"--outfile={made}"]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True, cwd=SOURCES / "src/lab", input=entry.encode())

    def told(arguments: list[Any]) -> Any:
        return json.loads(subprocess.run([node, made, *arguments], check=True, capture_output=True).stdout)

    return told


def test_both_say_the_same_of_every_log(tmp_path: Path, viewer: Callable[[list[Path]], Any]) -> None:
    paths = [write(tmp_path / f"{seed}.tunelog.jsonl", random_log(seed)) for seed in range(1000)]
    reasons = warned = 0
    for path, said in zip(paths, [one for k in range(0, 1000, 250) for one in viewer(paths[k : k + 250])], strict=True):
        log, ledger = load_log(path), Ledger()
        fresh = [line for line in log.lines if ledger.take(line) and isinstance(line, Record)]
        meant = json.loads(json.dumps(ledger.to_json(dict(log.header.tasks))))
        for data in (meant, said["json"]):
            for task in data["tasks"]:
                task["share"] = task["share"] and pytest.approx(task["share"])
            data["total_ms"] = data["total_ms"] and pytest.approx(data["total_ms"])
        assert said["json"] == meant, path.read_text()
        reasons += sum(bool(step[-1]) for task in meant["tasks"] for step in task["course"])
        warnings = [
            f"{text.capitalize()}."
            for text in mixed([line for line in fresh if isinstance(line, Record)])
            if "caches" in text
        ]
        assert said["mixed"] == "".join(warnings)
        warned += bool(warnings)
        for task, drawn in zip(meant["tasks"], said["drawn"], strict=True):
            curve, line = best_so_far(path, task["key"]), drawn["line"]
            assert drawn["dots"] == list(curve.latency_ms), "none lies below the line"
            assert {text for _, text in curve.reasons} <= {point["why"] for point in line}
            ends = [*curve.nth[1:], 99]  # a comparison may stand behind a trial that failed
            shown = [
                max((point["n"], point["ms"]) for point in line if point["n"] < end)[1]
                for end in ends
                if len(curve.nth)
            ]
            assert shown == list(curve.best_ms)
    assert reasons > 300
    assert 0 < warned < len(paths)


def test_the_best_is_in_sight_with_its_gain_and_steps(tmp_path: Path, viewer: Callable[[list[Path]], Any]) -> None:
    split = {"primitive": "split", "args": {"loop": "i", "factors": [None, 8]}}
    inline = {"primitive": "fuse", "args": {"loops": ["i", "j"]}}
    late = [trial(n, 3.0 if n % 2 else None, "a", f"p{n}", weight=2) for n in range(2, 30)]
    lines = [
        trial(0, 4.0, "a", "d", origin="default", weight=2), trial(1, 1.0, "a", "q", weight=2, trace=[split, inline]),
        *late, against(1, 0, 1, ms=(3.5, 1.0), at=1.0), trial(30, 0.5, "b", "r", origin="default"),
    ]  # fmt: skip
    paths = [tmp_path / "whole.tunelog.jsonl", tmp_path / "unknown.tunelog.jsonl"]
    for path, extra in zip(paths, ([], [trial(31, 1.0, "c", "s", origin="sketch")]), strict=True):
        path.write_text("".join(json.dumps(line.to_json()) + "\n" for line in [*lines, *extra]))
    whole, unknown = viewer(paths)
    first, second, every = whole["newest"]
    assert (first, second) == ([1, *range(29, 10, -1)], [30]), "the task's best first, then its newest"
    assert every == list(range(30, 10, -1)), "of all tasks the newest"
    assert whole["steps"][:3] == [[], ["split(i, [rest, 8])", "fuse(i, j)"], []]
    assert whole["untuned"] == 2 * 4.0 + 0.5, "what is told of the default schedule, as in the session"
    assert unknown["untuned"] is None, "one task's time before is not known"


def test_the_whole_network_is_told_as_in_python(tmp_path: Path, viewer: Callable[[list[Path]], Any]) -> None:
    """The newest of the target of the newest trial; how fast it has become is said in the same words."""
    draw = random.Random(3)
    paths, meant, kept = [], [], 0
    for k in range(200):
        before, after = (draw.uniform(0.5, 2.0) * 10.0 ** draw.choice([-3, 0, 2]) for _ in range(2))
        untuned = draw.choice([before, after, after * draw.uniform(0.9, 1.1)])
        spreads = [draw.choice([None, 0.0, 0.01, 0.1, 0.35]) for _ in range(2)]
        line = NetworkTime(
            measured_ms=after, untuned_ms=untuned, spread=spreads[0], untuned_spread=spreads[1], target="llvm"
        )
        other = NetworkTime(measured_ms=7.0, untuned_ms=7.0, target="cuda")
        later = NetworkTime(
            measured_ms=after * draw.choice([0.9, 1.1]), untuned_ms=untuned, target="llvm", clean=draw.random() < 0.5,
            spread=draw.choice([None, 0.05, 0.3]), untuned_spread=draw.choice([0.05, 0.3]), trials=2,
        )  # fmt: skip
        lines = [line, *([later] if k % 2 else []), other]
        paths.append(write(tmp_path / f"{k}", [trial(0, 1.0, weight=3), trial(1, 2.0, "b"), *lines]))
        found = NetworkLedger("llvm")
        kept += sum(map(found.take, lines[:-1])) == 2 and found.last == line
        meant.append({"ms": found.last.measured_ms, "change": network_change(found.last)})
    assert 10 < kept < 50
    told = viewer(paths)
    assert [one["network"] for one in told] == meant
    assert {one["kernels"] for one in told} == {4}
    words = [one["change"] for one in meant]
    assert 20 < words.count("no difference shows") < 180


def test_what_is_said_at_the_end_names_what_it_covers(tmp_path: Path) -> None:
    entry = """import { bestOf } from './sessions/view';
        console.log(JSON.stringify(JSON.parse(process.argv[2]).map(bestOf)));"""
    sessions = [
        {"ms": 1.84, "spread": 0.02, "untuned_ms": 2.43, "change": "1.32× as fast", "kernels": 0},
        {
            "ms": 1.84,
            "spread": 0.02,
            "untuned_ms": 1.85,
            "change": "no difference shows",
            "kernels": 0,
            "at": "measured at trial 159 of 1,231",
        },
        {"ms": 1.41, "spread": None, "untuned_ms": 2.0, "change": "1.42× as fast", "kernels": 53},
        {"ms": 1.41, "spread": None, "untuned_ms": None, "change": "", "kernels": 1},
        {"ms": None, "spread": None, "untuned_ms": None, "change": "", "kernels": 4},
        {
            "ms": None,
            "spread": None,
            "untuned_ms": None,
            "change": "",
            "kernels": 4,
            "rows": [{"ms": 1.0}, {"ms": None}],
        },
    ]
    sessions = [{"rows": [], "more": 0, **one} for one in sessions]
    assert program(entry, tmp_path)([json.dumps(sessions)]) == [
        "1.84 ± 0.02 ms, end to end, measured; untuned 2.43 ms: 1.32× as fast",
        "1.84 ± 0.02 ms, end to end, measured at trial 159 of 1,231; untuned 1.85 ms: no difference shows",
        "1.41 ms, sum of 53 kernels; untuned 2.00 ms: 1.42× as fast",
        "1.41 ms",
        "nothing measured yet",
        "1 of 2 tasks have a time",
    ]


def test_a_disturbed_time_is_told_as_a_bound_with_its_reason(
    viewer: Callable[[list[Path]], Any], tmp_path: Path
) -> None:
    why = "the second of 2 threads had 27 % of a core"
    lines = [
        trial(0, 9.5, program="p"), trial(1, 68.5, program="q", clean=False, why_not=why, at_least_ms=8.56),
        trial(2, 70.0, program="r", clean=False),
    ]  # fmt: skip
    [told] = viewer([write(tmp_path / "log", lines)])
    assert told["times"] == [["9.50", None], ["≥\u202f8.56", why], ["≤\u202f70.0", "other programs disturbed it"]]
    assert told["json"]["tasks"][0]["best"]["trial"] == 0


def test_on_the_page_what_was_measured_of_the_whole_network_is_the_result(tmp_path: Path) -> None:
    """What the kernels take alone stands below it, without a time before and a ratio of their own."""
    entry = """import { Overview } from './log/overview';
        import { LogSummary } from './log/summary';
        import { readFileSync } from 'fs';
        const text = one => one == null || typeof one === 'boolean' ? ''
          : typeof one !== 'object' ? String(one)
          : Array.isArray(one) ? one.map(text).join('')
          : typeof one.type === 'function' ? text(one.type(one.props))
          : text(one.props.children) + (one.type === 'dt' ? ': ' : one.type === 'dd' ? '|' : '');
        console.log(JSON.stringify(process.argv.slice(2).map(path => {
          const log = new LogSummary();
          readFileSync(path, 'utf8').split('\\n').forEach(line => log.add(line));
          return text(Overview({ log })).replaceAll('\\u202f', ' ').replaceAll('\\u00a0', ' ').split('|');
        })));"""
    trials = [trial(0, 4.0, origin="default"), trial(1, 3.0, "b", origin="default"), trial(2, 2.0)]
    line = NetworkTime(measured_ms=5.0, untuned_ms=7.5, spread=0.02, untuned_spread=0.02, target="llvm", trials=2)
    without, whole = (write(tmp_path / name, lines) for name, lines in (("a", trials), ("b", [*trials, line])))
    alone, measured = program(entry, tmp_path)([without, whole])
    assert any("Best, sum of 2 kernels: 7.00 → 5.00 ms, 1.40× as fast" in part for part in alone)
    (result,) = [part for part in measured if part.startswith("End to end")]
    assert result.endswith("7.50 ± 0.07 → 5.00 ± 0.05 ms, 1.50× as fast, measured at trial 2 of 3")
    assert [part for part in measured if "kernels" in part.lower()] == ["Kernels alone: 5.00 ms"]
    assert "".join(measured).count("→") == 1, "there is one untuned time"
