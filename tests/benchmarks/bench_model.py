"""How well the cost models rank: against real measurements of a network's convolutions.

Run it by hand (it is not part of the default tests)::

    python tests/benchmarks/bench_model.py measure set.json --threads 2
    python tests/benchmarks/bench_model.py evaluate set.json

`measure` times for every convolution of the network, in this order: candidates drawn uniformly (a variant, then a row
of it), of which the first 64 are held out; the analytic model's best 16 of 4096; the trials of a search, until 200 of
them were valid, without the held-out candidates; and the held-out ones once more. The set holds traces and times, so
`evaluate` can be repeated with other models, without measuring. Two figures come out per task, and their median:

- Spearman's correlation of the trained model's scores with the speed of the held-out candidates ("alone": trained on
  the trials of that task only; "shared": on those of all tasks, as in a session). "again" is how well the second
  measurement of the same candidates agrees with the first: no model can do better.
- the median speed of the analytic best 16, as a percentile of the uniformly drawn candidates; the claim is 90.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from workbench.cost_model import make_model, spearman
from workbench.graph import load_onnx
from workbench.graph.tasks import Task, extract_tasks
from workbench.machine_model import nest_summary
from workbench.machine_model.features import INDEX, features
from workbench.machine_model.machine_parameters import Machine
from workbench.runtime.results.measure_options import MeasureOptions
from workbench.runtime.workers.batch import MeasureInput
from workbench.runtime.workers.local_runner import LocalRunner
from workbench.schedule import Schedule
from workbench.search import Candidate, EvolutionarySearch
from workbench.space.space import Space, make_space
from workbench.target import Target

HELD_OUT, TOP, POPULATION, TRIALS, BATCH = 64, 16, 4096, 200, 16
CLAIM_SPEARMAN, CLAIM_PERCENTILE = 0.85, 90.0


def convolutions(model: str, target: Target) -> list[Task]:
    """Tasks of a network that convolve."""
    return [t for t in extract_tasks(load_onnx(model), target) if "conv" in t.name.lower()]


# ------------------------------------------------------------------------------------------------------------ measuring


def drawn(space: Space, count: int, rng: np.random.Generator) -> list[Candidate]:
    """Different programs, drawn uniformly: a variant, then a row of it."""
    out: dict[str, Candidate] = {}
    pools = [v.sampler.draw(4 * count, rng) for v in space.variants]
    for _ in range(64 * count):
        v = int(rng.integers(len(pools)))
        pick = pools[v][int(rng.integers(len(pools[v])))]
        key = f"{int(space.variants[v].keys(pick[None])[0]):016x}"
        out.setdefault(key, Candidate(v, space.variants[v].sampler.row(pick), "random", None, key))
        if len(out) == count:
            break
    return list(out.values())


def best_of_estimate(space: Space, rng: np.random.Generator) -> list[Candidate]:
    """The analytic model's favourites among `POPULATION` rows, the same number of every variant."""
    found: dict[str, tuple[float, Candidate]] = {}
    for v in space.variants:
        picks = v.sampler.draw(max(1, POPULATION // len(space.variants)), rng)
        scores, keys = make_model("analytic").predict(v.features(picks)), v.keys(picks)
        for k in np.argsort(-scores, kind="stable")[:TOP]:
            key, score = f"{int(keys[k]):016x}", float(scores[k])
            found.setdefault(key, (score, Candidate(v.index, v.sampler.row(picks[k]), "sketch", score, key)))
    return [c for _, c in sorted(found.values(), key=lambda f: -f[0])[:TOP]]


class Recorder:
    """Measures candidates of one task and keeps what came out."""

    def __init__(self, task: Task, space: Space, runner: LocalRunner) -> None:
        self.task, self.space, self.runner = task, space, runner
        self.samples: list[dict[str, Any]] = []

    def measure(self, kind: str, number: int, candidates: Sequence[Candidate]) -> list[tuple[Candidate, Any]]:
        """Measure and keep; results in the order of the candidates."""
        schedules = [self.space.schedule(c) for c in candidates]
        inputs = [
            MeasureInput(self.task.key, self.task.func, s.func, "kernel", int(self.task.flops)) for s in schedules
        ]
        results = dict(self.runner.measure_many(inputs))
        for k, (c, s) in enumerate(zip(candidates, schedules, strict=True)):
            ms = results[k].min_ms if results[k].status == "ok" and math.isfinite(results[k].min_ms) else None
            self.samples.append({
                "kind": kind, "round": number, "variant": c.variant, "row": dict(c.row), "key": c.key,
                "trace": s.to_json(), "status": results[k].status, "ms": ms,
            })  # fmt: skip
        return [(c, results[k]) for k, c in enumerate(candidates)]


def measure_task(task: Task, target: Target, runner: LocalRunner, options: argparse.Namespace) -> dict[str, Any]:
    """Everything that `evaluate` needs of one task."""
    space, rng = make_space(task, target), np.random.default_rng(options.seed)
    recorder, begin = Recorder(task, space, runner), time.monotonic()
    uniform = drawn(space, max(HELD_OUT, options.uniform), rng)
    recorder.measure("uniform", 0, uniform)
    recorder.measure("top", 0, best_of_estimate(space, rng))
    held = {c.key for c in uniform[:HELD_OUT]}
    search, valid, number = EvolutionarySearch(task, space, make_model("xgboost", options.seed), options.seed), 0, 0
    while valid < TRIALS and (asked := search.ask(BATCH)):
        results = recorder.measure("trial", number, [c for c in asked if c.key not in held])
        search.tell(results)
        valid, number = valid + sum(m.status == "ok" for _, m in results), number + 1
    recorder.measure("again", 0, uniform[:HELD_OUT])
    return {
        "key": task.key, "name": task.name, "flops": int(task.flops), "space": space.id, "weight": task.weight,
        "seconds": time.monotonic() - begin, "samples": recorder.samples,
    }  # fmt: skip


def measure(options: argparse.Namespace) -> None:
    """Write the set, task by task, so that what was measured is kept when it is interrupted."""
    target = Target.host(threads=options.threads)
    tasks = convolutions(options.model, target)
    tasks = [t for k, t in enumerate(tasks) if not options.tasks or k in options.tasks]
    done: list[dict[str, Any]] = []
    if options.set.exists():
        done = json.loads(options.set.read_text(encoding="utf-8"))["tasks"]
    measuring = MeasureOptions(early_stop=0.0, budget_ms=options.budget_ms)
    with LocalRunner(target, measuring, builders=1 if options.threads == 1 else None) as runner:
        for task in tasks:
            if any(d["key"] == task.key for d in done):
                continue
            done.append(measure_task(task, target, runner, options))
            text = json.dumps({"model": options.model, "target": str(target), "tasks": done})
            options.set.write_text(text, encoding="utf-8")
            print(f"{task.name:<44} {len(done[-1]['samples']):>4} samples {done[-1]['seconds']:6.0f} s", flush=True)


# ----------------------------------------------------------------------------------------------------------- evaluating


class Measured:
    """Samples of one task with their features, recomputed from the traces."""

    def __init__(self, data: dict[str, Any], task: Task, target: Target) -> None:
        machine = Machine.of(target)
        rows: dict[str, np.ndarray] = {}
        for s in data["samples"]:
            if s["key"] not in rows:
                func = Schedule.from_json(task.func, s["trace"], target).func
                rows[s["key"]] = features(nest_summary.plan(func, int(task.flops)), {}, 1, machine)[0]
        self.key, self.name = data["key"], data["name"]
        self.x = np.stack([rows[s["key"]] for s in data["samples"]])
        ms = np.array([math.nan if s["ms"] is None else s["ms"] for s in data["samples"]])
        self.speed = np.log2(int(task.flops) / (ms * 1e6))
        self.kind = np.array([s["kind"] for s in data["samples"]])
        self.round = np.array([s["round"] for s in data["samples"]])

    def batches(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Features and speeds of the trials, round by round, until `TRIALS` were valid."""
        valid = 0
        for number in np.unique(self.round[self.kind == "trial"]):
            at = (self.kind == "trial") & (self.round == number)
            yield self.x[at], self.speed[at]
            valid += int(np.isfinite(self.speed[at]).sum())
            if valid >= TRIALS:
                return

    def held_out(self) -> tuple[np.ndarray, np.ndarray]:
        """Features and speeds of the held-out candidates that could be timed."""
        at = np.flatnonzero(self.kind == "uniform")[:HELD_OUT]
        at = at[np.isfinite(self.speed[at])]
        return self.x[at], self.speed[at]


def percentile(task: Measured) -> float:
    """Where the median of the analytic favourites stands among the uniformly drawn candidates; failures are slowest."""
    slow = np.nan_to_num(task.speed, nan=-np.inf)
    uniform = slow[task.kind == "uniform"][:HELD_OUT]
    return float(100.0 * (uniform <= np.median(slow[task.kind == "top"])).mean())


def again(task: Measured) -> float:
    """Agreement of the two measurements of the held-out candidates."""
    first, second = task.speed[task.kind == "uniform"][:HELD_OUT], task.speed[task.kind == "again"]
    ok = np.isfinite(first) & np.isfinite(second)
    return spearman(first[ok], second[ok])


def figures(tasks: Sequence[Measured], model: str, seed: int) -> list[dict[str, Any]]:
    """Figures of all tasks."""
    out = []
    for t in tasks:
        alone = make_model(model, seed)
        for x, speed in t.batches():
            alone.update(t.key, x, speed)
        x, speed = t.held_out()
        out.append({
            "task": t.name, "estimate": spearman(x[:, INDEX["speed"]], speed), "again": again(t),
            "alone": spearman(alone.predict(x), speed), "percentile": percentile(t),
        })  # fmt: skip
    shared, streams, seconds = make_model(model, seed), [(t, t.batches()) for t in tasks], 0.0
    while streams:
        for t, stream in list(streams):
            if (batch := next(stream, None)) is None:
                streams.remove((t, stream))
                continue
            begin = time.thread_time()
            shared.update(t.key, *batch)
            seconds += time.thread_time() - begin
    for row, t in zip(out, tasks, strict=True):
        x, speed = t.held_out()
        row["shared"] = spearman(shared.predict(x), speed)
        row["training_s"] = seconds
    return out


def evaluate(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Figures from a measured set."""
    data = json.loads(options.set.read_text(encoding="utf-8"))
    target = Target(data["target"])
    known = {t.key: t for t in convolutions(data["model"], target)}
    tasks = [Measured(d, known[d["key"]], target) for d in data["tasks"]]
    return figures(tasks, options.cost_model, options.seed)


def report(rows: Sequence[dict[str, Any]]) -> None:
    """Print the table."""
    print(f"{'task':<44} estimate  alone shared  again  top 16 at percentile")
    for r in rows:
        missed = "" if r["percentile"] >= CLAIM_PERCENTILE else "  below"
        print(
            f"{r['task']:<44} {r['estimate']:8.2f} {r['alone']:6.2f} {r['shared']:6.2f} {r['again']:6.2f} "
            f"{r['percentile']:6.0f}{missed}"
        )
    middle = {k: float(np.median([r[k] for r in rows])) for k in ("estimate", "alone", "shared", "again", "percentile")}
    missed = sum(r["percentile"] < CLAIM_PERCENTILE for r in rows)
    print(
        f"{'median':<44} {middle['estimate']:8.2f} {middle['alone']:6.2f} {middle['shared']:6.2f} "
        f"{middle['again']:6.2f} {middle['percentile']:6.0f}  ({missed} of {len(rows)} tasks below "
        f"{CLAIM_PERCENTILE:.0f}; claims: {CLAIM_SPEARMAN} and {CLAIM_PERCENTILE:.0f})"
    )


def main() -> None:
    """Measure a set, or evaluate one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["measure", "evaluate"])
    parser.add_argument("set", type=Path, help="the measured set")
    parser.add_argument("--model", default="light_resnet50", help="network whose convolutions are measured")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--tasks", type=int, nargs="+", help="positions among the convolutions; all when left out")
    parser.add_argument("--uniform", type=int, default=HELD_OUT, help="candidates to draw; the first are held out")
    parser.add_argument("--budget-ms", type=float, default=50.0)
    parser.add_argument("--cost-model", default="xgboost")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.what == "measure":
        measure(options)
        return
    rows = evaluate(options)
    if options.json:
        json.dump(rows, sys.stdout)
    else:
        report(rows)


if __name__ == "__main__":
    main()
