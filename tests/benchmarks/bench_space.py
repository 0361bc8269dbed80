"""How long it takes to make search spaces: that is time before the first trial.

Run it by hand, or with ``pytest -m bench tests/benchmarks/bench_space.py``::

    python tests/benchmarks/bench_space.py [light_squeezenet light_resnet50 ...]

Processor time for each task of a network: the sketch rules (`make_space`), then what every search asks of each variant
before its first proposal (samplers, the features' plan and its first rows, structural keys). The claim: less than 60 ms
for the rules, on average over the tasks of SqueezeNet and of ResNet-50.
"""

from __future__ import annotations

import argparse
import statistics
import time
from dataclasses import dataclass

import numpy as np
import pytest

from workbench.graph import extract_tasks, load_onnx
from workbench.space.space import Space, make_space
from workbench.target import Target

NETWORKS = ("light_squeezenet", "light_resnet50")
CLAIM_MS = 60.0


@dataclass(frozen=True)
class Cost:
    """Milliseconds of processor time for one task."""

    task: str
    variants: int
    rules: float
    ready: float


def costs(network: str, threads: int = 2) -> list[Cost]:
    """Make the spaces of all tasks of a network."""
    target = Target.host(threads=threads)
    found = []
    for task in extract_tasks(load_onnx(network), target):
        start = time.process_time()
        space = make_space(task, target)
        made = time.process_time()
        get_ready(space)
        ready = time.process_time()
        found.append(Cost(task.name, len(space.variants), 1e3 * (made - start), 1e3 * (ready - made)))
    return found


def get_ready(space: Space, rows: int = 64) -> None:
    """Ask what a search asks first."""
    rng = np.random.default_rng(0)
    for v in space.variants:
        picks = v.sampler.draw(rows, rng)
        v.features(picks)
        v.keys(picks)


def report(network: str, found: list[Cost]) -> str:
    """Totals, and the tasks that take longest."""
    rules = [c.rules for c in found]
    lines = [
        f"{network}: {len(found)} tasks, {sum(c.variants for c in found)} variants; rules {statistics.mean(rules):.1f}"
        f" ms a task (median {statistics.median(rules):.1f}), then {statistics.mean(c.ready for c in found):.1f} ms"
    ]
    for c in sorted(found, key=lambda c: -c.rules)[:5]:
        lines.append(f"  {c.rules:7.1f} + {c.ready:6.1f} ms  {c.variants:3} variants  {c.task}")
    return "\n".join(lines)


@pytest.mark.bench
@pytest.mark.parametrize("network", NETWORKS)
def test_spaces_are_made_quickly(network: str) -> None:
    found = costs(network)
    print(report(network, found))
    assert statistics.mean(c.rules for c in found) < CLAIM_MS


def main() -> None:
    """Print all networks."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("networks", nargs="*", default=NETWORKS)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    for network in args.networks:
        print(report(network, costs(network, args.threads)))


if __name__ == "__main__":
    main()
