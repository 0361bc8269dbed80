"""How soon our search is as fast as the winner of MetaSchedule's 256 trials: seconds from the start of the process.

First let the other side tune, on a quiet machine, with a Python that has ``apache-tvm`` (see `race/metaschedule.py`)::

    for k in matmul_512 conv_64_56 conv_512_7 depthwise_256_28
    do PYTHON_WITH_TVM tests/benchmarks/race/metaschedule.py $k --trials 256 --threads 2 --out FOLDER; done

Then::

    python tests/benchmarks/bench_race.py --tvm-python PYTHON_WITH_TVM --folder FOLDER --seeds 5

Every kernel is tuned from nothing, once per seed and strategy, in a process of its own. Our successive bests are then
timed against the other side's library, in fresh processes that take turns; by bisection the first one is found whose
median is at least as fast. Its seconds since our process was started are what counts, and their part of what
MetaSchedule took.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from race.kernels import KERNELS, kernel

HERE = Path(__file__).resolve().parent / "race"


@dataclass(frozen=True)
class Referee:
    """Times both sides of one kernel in fresh processes that take turns."""

    name: str
    options: argparse.Namespace

    def theirs(self) -> float:
        """Milliseconds of the other side's winner, in a new process."""
        shapes = ",".join("x".join(map(str, b.shape)) for b in kernel(self.name).params)
        library = self.options.folder / f"{self.name}.so"
        script = [self.options.tvm_python, HERE / "time_tvm.py", library, self.options.threads, shapes]
        environment = {**os.environ, "TVM_NUM_THREADS": str(self.options.threads)}
        return float(_output(script, environment).split()[-1])

    def ours(self, log: Path, trial: int) -> float:
        """Milliseconds of one of our trials, in a new process."""
        given = {"kernel": self.name, "weights": self.options.weights, "log": str(log), "trial": trial,
                 "threads": self.options.threads}  # fmt: skip
        return float(_output([sys.executable, HERE / "time_ours.py", json.dumps(given)]).split()[-1])

    def compare(self, log: Path, trial: int) -> tuple[float, float]:
        """Medians of both sides over the rounds."""
        pairs = [(self.ours(log, trial), self.theirs()) for _ in range(self.options.rounds)]
        return statistics.median(p[0] for p in pairs), statistics.median(p[1] for p in pairs)


def _output(command: list[Any], environment: dict[str, str] | None = None) -> str:
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        raise SystemExit(f"{command[1]} failed:\n{done.stderr[-2000:]}")
    return done.stdout


def tune(name: str, search: str, seed: int, options: argparse.Namespace) -> tuple[Path, dict[str, Any]]:
    """Let our side tune from nothing in a new process."""
    log = options.folder / f"{name}.{search}.{seed}.{options.weights}.tunelog.jsonl"
    log.unlink(missing_ok=True)
    given = {"kernel": name, "weights": options.weights, "search": search, "seed": seed, "threads": options.threads,
             "trials": None, "seconds": options.seconds, "log": str(log), "started": time.time()}  # fmt: skip
    return log, json.loads(_output([sys.executable, HERE / "ours.py", json.dumps(given)]).splitlines()[-1])


def first_as_fast(referee: Referee, log: Path, bests: list[dict[str, float]]) -> tuple[float, float]:
    """Seconds until our best is as fast as theirs (infinite if it never is), and the last ratio ours / theirs."""
    ours, theirs = referee.compare(log, int(bests[-1]["trial"]))
    last = ours / theirs
    if last > 1.0:
        return math.inf, last
    low, high = 0, len(bests) - 1
    while low < high:
        middle = (low + high) // 2
        ours, theirs = referee.compare(log, int(bests[middle]["trial"]))
        low, high = (low, middle) if ours <= theirs else (middle + 1, high)
    return bests[high]["seconds"], last


def quartiles(values: list[float]) -> str:
    """Return the median and the quartiles as text."""
    ordered = sorted(values)
    pick = [ordered[round(q * (len(ordered) - 1))] for q in (0.25, 0.5, 0.75)]
    return f"{pick[1]:.2f} ({pick[0]:.2f}–{pick[2]:.2f})"


def main() -> None:
    """Print one line per kernel and strategy; with --json everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="where MetaSchedule's results are")
    parser.add_argument("--tvm-python", required=True)
    parser.add_argument("--kernels", nargs="+", default=list(KERNELS), choices=list(KERNELS))
    parser.add_argument("--searches", nargs="+", default=["evolutionary", "random"])
    parser.add_argument("--weights", choices=["constant", "input"], default="constant")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = []
    for name in options.kernels:
        theirs = json.loads((options.folder / f"{name}.json").read_text())
        for search in options.searches:
            times, ratios, trials = [], [], []
            for seed in range(options.seeds):
                log, ours = tune(name, search, seed, options)
                seconds, ratio = first_as_fast(Referee(name, options), log, ours["bests"])
                times.append(seconds)
                ratios.append(ratio)
                trials.append(ours["trials"])
            row = {"kernel": name, "search": search, "seconds": times, "ratio_at_end": ratios, "trials": trials,
                   "theirs_s": theirs["seconds"], "theirs_trials": theirs["trials"]}  # fmt: skip
            rows.append(row)
            part = quartiles([theirs["seconds"] / t for t in times])
            print(
                f"{name:<18} {search:<13} as fast after {quartiles(times)} s; MetaSchedule {theirs['seconds']:.0f} s, "
                f"1/{part}; ours / theirs at the end {quartiles(ratios)}; trials {quartiles(trials)}",
                flush=True,
            )
            if options.json:
                options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
