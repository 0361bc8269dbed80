"""What it costs to build a candidate, over a whole search: emitting, optimising and generating machine code.

Run it by hand (it is not part of the default tests)::

    python tests/benchmarks/bench_build.py light_resnet50 --trials 512

Prints the distribution of the build times that the log recorded (wall clock of the builder process), over all tasks and
for the slowest ones. The aim is a median of at most 12 ms.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

import workbench as wb

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95, 1.0)


def main() -> None:
    """Entry point."""
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("model", nargs="?", default="light_resnet50")
    p.add_argument("--trials", type=int, default=512)
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--log", help="a log that is there already")
    p.add_argument("--json", type=Path)
    args = p.parse_args()
    log = args.log or str(Path(tempfile.mkdtemp()) / "build.tunelog.jsonl")
    if not args.log:
        graph = wb.load_onnx(args.model)
        with wb.tune(graph, trials=args.trials, log=log, target=wb.Target.host(threads=args.threads)) as session:
            session.wait(3600)
    frame = wb.read_log(log)
    built = frame[frame.compile_s > 0]
    times = 1e3 * built.compile_s
    figures = {f"{q:.0%}": float(times.quantile(q)) for q in QUANTILES}
    print(f"{len(built)} builds of {args.model}, {int((frame.status == 'build_error').sum())} failed")
    print("  ".join(f"{name}: {ms:.1f} ms" for name, ms in figures.items()))
    by_task = times.groupby(built.task).agg(["count", "median", "max"]).sort_values("median", ascending=False)
    print(by_task.head(8).to_string(float_format="%.1f"))
    if args.json:
        args.json.write_text(json.dumps({"model": args.model, "builds": len(built), "ms": figures}, indent=1))


if __name__ == "__main__":
    main()
