"""How many candidates a second are scored: features of the generic nest and the cost model together, on one core.

Run it by hand (it is not part of the default tests)::

    OMP_NUM_THREADS=1 python tests/benchmarks/bench_features.py

For every variant of the nests' spaces and every population size: milliseconds for the features alone and for the
trained model's prediction, candidates a second of both and of the features alone, and how many of the rows differ (a
small space has fewer rows than the population; equal ones are worked out once). The claims at a population of 4096:
matmul 100,000 a second with the model and 250,000 without, conv + bias + relu 50,000 and 100,000.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from workbench import workloads
from workbench.cost_model import XGBoostModel
from workbench.machine_model.features import COLUMNS
from workbench.space.space import make_space
from workbench.target import Target

NESTS = {
    "matmul 512": (lambda: workloads.matmul(512, 512, 512, constant_b=True), 100_000, 250_000),
    "conv 3x3 64→64 @56 + bias + relu": (
        lambda: workloads.conv2d_nhwc(56, 56, 64, 64, bias=True, relu=True),
        50_000,
        100_000,
    ),
}


def best_ms(run: Callable[[], object], repeat: int = 15) -> float:
    """Least CPU time of `run` in milliseconds: other processes do not count."""
    times = []
    for _ in range(repeat):
        start = time.thread_time()
        run()
        times.append(time.thread_time() - start)
    return min(times) * 1e3


def trained_model(x: np.ndarray) -> XGBoostModel:
    """Model trained on 512 rows of `x` with made-up speeds."""
    model, rng = XGBoostModel(), np.random.default_rng(0)
    rows = x[rng.integers(0, len(x), 512)]
    model.update("bench", rows, rows[:, 1].astype(np.float64) + rng.standard_normal(512))
    return model


def measure(name: str, population: int) -> list[dict[str, Any]]:
    """Figures of every variant of a nest's space."""
    make, claim, claim_features = NESTS[name]
    out: list[dict[str, Any]] = []
    for variant in make_space(make(), Target.host(threads=2)).variants:
        rng = np.random.default_rng(0)
        picks = variant.sampler.draw(population, rng)
        if len(picks) < population:
            picks = np.concatenate([picks, picks[rng.integers(0, len(picks), population - len(picks))]])
        x = variant.features(picks)
        model = trained_model(x)
        feature_ms, predict_ms = (
            best_ms(lambda v=variant, p=picks: v.features(p)),
            best_ms(lambda m=model, x=x: m.predict(x)),
        )
        out.append({
            "nest": name, "variant": variant.index, "blocks": len(variant.plan.blocks), "population": population,
            "columns": len(COLUMNS), "features_ms": feature_ms, "predict_ms": predict_ms,
            "per_second": population / (feature_ms + predict_ms) * 1e3, "claim": claim,
            "features_per_second": population / feature_ms * 1e3, "claim_features": claim_features,
            "distinct": len(np.unique(picks, axis=0)),
            "keys_ms": best_ms(lambda v=variant, p=picks: v.keys(p), 5),
            "mutate_ms": best_ms(lambda v=variant, p=picks: v.sampler.mutate(p, np.random.default_rng(0)), 5),
        })  # fmt: skip
    return out


def main() -> None:
    """Print the table; with --json the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--population", type=int, nargs="+", default=[64, 512, 4096])
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = [r for name in NESTS for n in options.population for r in measure(name, n)]
    if options.json:
        print(json.dumps(rows))
        return
    print(f"{'nest':<32} variant blocks      N distinct  features  a second   predict  a second     keys   mutate")
    for r in rows:
        short = "" if r["per_second"] >= r["claim"] and r["features_per_second"] >= r["claim_features"] else "  below"
        print(
            f"{r['nest']:<32} {r['variant']:>7} {r['blocks']:>6} {r['population']:>6} {r['distinct']:>8} "
            f"{r['features_ms']:>6.1f} ms {r['features_per_second']:>9,.0f} {r['predict_ms']:>6.1f} ms "
            f"{r['per_second']:>9,.0f} {r['keys_ms']:>5.1f} ms {r['mutate_ms']:>5.1f} ms"
            f"{short if r['population'] == 4096 else ''}"
        )


if __name__ == "__main__":
    main()
