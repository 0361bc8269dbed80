"""How good each search is on complete logs: the standardised score of every strategy with every cost model.

Run it by hand (it is not part of the default tests)::

    python tests/benchmarks/bench_simulation.py LOG... --seeds 25 --budget 200
    python tests/benchmarks/bench_simulation.py LOG... --strategies improvement evolutionary --models gaussian_process

Prints a line per strategy and model: mean score and spread over the seeds on each log, the mean of all, processor
time of a run. 0 is as good as chance, 1 the optimum at once.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

import workbench as wb
from workbench.logs.simulation import STRATEGIES, TABLE_MODELS


def main() -> None:
    """Print the table."""
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("logs", nargs="+", type=Path)
    p.add_argument("--task")
    p.add_argument("--budget", type=int, default=200)
    p.add_argument("--seeds", type=int, default=25)
    p.add_argument("--batch", type=int, default=1)
    p.add_argument("--strategies", nargs="+", default=list(STRATEGIES))
    p.add_argument("--models", nargs="+", default=list(TABLE_MODELS))
    options = p.parse_args()
    logs = [wb.logs.open(path) for path in options.logs]
    for path, log in zip(options.logs, logs, strict=True):
        print(f"{path.name}: {len(log)} records")
    for strategy in options.strategies:
        for model in options.models if STRATEGIES[strategy].learns else options.models[:1]:
            begun, means, spreads = time.process_time(), [], []
            for log in logs:
                runs = wb.logs.simulate(
                    log, options.task, strategy, options.budget, options.seeds, model=model, batch=options.batch
                )
                told = wb.logs.scores(runs, log, options.task, options.budget)
                means.append(float(told.mean()))
                spreads.append(float(told.std(ddof=0)))
            seconds = (time.process_time() - begun) / options.seeds / len(logs)
            each = "  ".join(f"{m:6.3f} ± {s:.3f}" for m, s in zip(means, spreads, strict=True))
            name = f"{strategy}/{model}" if STRATEGIES[strategy].learns else strategy
            print(f"{name:<32}{each}  mean {np.mean(means):6.3f}  {seconds:.2f} s a run", flush=True)


if __name__ == "__main__":
    main()
