"""What opening a log of a million records takes: seconds and memory, each in a process of its own.

Run it by hand on a quiet machine (it is not part of the default tests)::

    python tests/benchmarks/bench_logs.py                 # 1,000,000 records of the auto-scheduler, made up
    python tests/benchmarks/bench_logs.py LOG --task 0

Prints the seconds of the first opening (imports included), of the tasks, of the smallest and the largest task's table,
and of the second opening; and the largest resident memory of the process and of those that help it. The aims are 15 s
and 1 GB, and 2 s the second time.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import big_logs

CHILD = """
import json, resource, sys, time
began = time.perf_counter()
import workbench as wb
log = wb.logs.open(sys.argv[1])
seconds = {"open": time.perf_counter() - began}
peak = {"open": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}
began = time.perf_counter()
by_size = log.tasks.sort_values("records")["task"]
seconds["tasks"] = time.perf_counter() - began
if sys.argv[2] == "all":
    for name, task in (("smallest", by_size.iloc[0]), ("largest", by_size.iloc[-1])):
        began = time.perf_counter()
        table = log.table(task)
        seconds[f"{name} task ({len(table)} records)"] = time.perf_counter() - began
peak["all"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
peak["helper"] = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
print(json.dumps({"records": len(log), "seconds": seconds, "peak_mb": peak}))
"""


def measure(path: Path, cache: Path, what: str) -> dict[str, object]:
    """Open a log in a new process."""
    environment = {**os.environ, "WORKBENCH_CACHE_DIR": str(cache)}
    run = subprocess.run(
        [sys.executable, "-c", CHILD, str(path), what], capture_output=True, check=True, env=environment
    )
    found: dict[str, object] = json.loads(run.stdout)
    return found


def main() -> None:
    """Entry point."""
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("log", nargs="?", type=Path)
    p.add_argument("--records", type=int, default=1_000_000)
    args = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = args.log or Path(folder) / "auto-scheduler.json"
        if args.log is None:
            big_logs.ansor(path, args.records)
        print(f"{path.stat().st_size / 1e6:.0f} MB, load {os.getloadavg()[0]:.1f}")
        for what in ("all", "open"):
            print(json.dumps(measure(path, Path(folder) / "cache", what), indent=1))


if __name__ == "__main__":
    main()
