"""Whether recorded runs add up: the medians of their calls and gaps against runs that nobody recorded.

Run it by hand on a quiet machine::

    python tests/benchmarks/bench_timeline.py [--networks resnet-50 mobilenet_v2] [--rounds 5]

Every round records anew. The share is that of the sum of the medians of calls and gaps against the median of runs
without a clock in between; "recording costs" is the median of all recorded runs against the same.
"""

from __future__ import annotations

import argparse
import statistics

import numpy as np

import workbench as wb
from workbench.runtime.execution.recorded_run import record_in_turns


def look(name: str, rounds: int, threads: int) -> None:
    """Print the shares of one network."""
    graph = wb.zoo.get_network(name)
    executable = wb.compile(graph, threads=threads)
    shares, costs, gaps = [], [], []
    for _ in range(rounds):
        (found,) = record_in_turns([executable], runs=15)
        whole = float(found.profile.attrs["whole_ms"])
        between = float(np.median(found.each_gap_ns, axis=0).sum()) * 1e-6
        spent = np.diff(found.recording.stamps, axis=1) - found.each_gap_ns
        summed = float(np.median(spent, axis=0).sum()) * 1e-6 + between
        runs = np.ptp(found.recording.stamps, axis=1) * 1e-6
        shares.append(summed / whole)
        costs.append(float(np.median(runs)) / whole)
        gaps.append(between / summed)
    calls = len(executable.plan.calls)
    print(f"{name}: {len(graph.nodes)} nodes, {calls} calls, {whole:.2f} ms, {threads} threads")
    print(f"  calls + gaps / run  median {statistics.median(shares):.4f}  ({min(shares):.4f} to {max(shares):.4f})")
    print(
        f"  recording costs     median {statistics.median(costs):.4f}  gaps {statistics.median(gaps):.1%}", flush=True
    )


def main() -> None:
    """Entry point."""
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--networks", nargs="+", default=["resnet-50", "densenet-201"])
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--threads", type=int, default=2)
    args = p.parse_args()
    for name in args.networks:
        look(name, args.rounds, args.threads)


if __name__ == "__main__":
    main()
