"""What opening a log of a million records takes: seconds and memory, each in a process of its own.

Run it by hand on a quiet machine (it is not part of the default tests)::

    python tests/benchmarks/bench_logs.py                 # 1,000,000 records of the auto-scheduler, made up
    python tests/benchmarks/bench_logs.py LOG
    python tests/benchmarks/bench_logs.py --own           # logs of ours, made up
    python tests/benchmarks/bench_logs.py --formats 40    # 40 MB of every other format that grows large

Prints the seconds of the first opening (imports included), of the tasks, of the smallest and the largest task's table,
and of the second opening; and the largest resident memory of the process and of those that help it. The aims are 15 s
and 1 GB, and 2 s the second time. With ``--formats``: seconds, microseconds and bytes of memory for each record. With
``--own``: bytes of file for each trial (at most 400), then, for each of what is done with such a log, the seconds that
pass and those of the processor, imports included, and the largest resident memory: the summary (15 s, 1 GB), the
first and the second opening, and a workbench of a fifth of the trials (5 s).
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
import big_own_logs

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


FORMAT = """
import json, resource, sys, time
import numpy, pandas, workbench as wb
wb.logs.open
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
began = time.perf_counter()
log = wb.logs.open(sys.argv[1], **json.loads(sys.argv[2]))
seconds = time.perf_counter() - began
grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
print(json.dumps({"records": len(log), "seconds": seconds, "bytes": grown}))
"""
HINTS = {
    "csv": {
        "columns": {"cost": "ms", "params": ["tile", "unroll", "order"], "status": "state"}, "unit": "ms",
        "statuses": {"crash": "run"},
    }
}  # fmt: skip
"""What a format has to be told."""


def formats(folder: Path, size: int) -> None:
    """Open a file of each format in a new process, and print a row."""
    print(f"{'format':16} {'records':>9} {'s':>6} {'us/record':>9} {'MB':>6} {'bytes/record':>12}")
    for tool in (*big_logs.LINES, *big_logs.DOCUMENTS, "csv"):
        path = folder / ("database_tuning_record.json" if tool == "metaschedule" else tool)
        big_logs.repeated(path, tool, size)
        hints = json.dumps(HINTS.get(tool, {}))
        run = subprocess.run([sys.executable, "-c", FORMAT, str(path), hints], capture_output=True, check=True)
        found = json.loads(run.stdout)
        count, seconds, grown = found["records"], found["seconds"], found["bytes"]
        print(
            f"{tool:16} {count:9,} {seconds:6.2f} {seconds / count * 1e6:9.1f} {grown / 1e6:6.0f} {grown / count:12.0f}"
        )
        path.unlink()


OWN = {
    "log summary": "from workbench.cli import main; main(['log', 'summary', sys.argv[1]])",
    "first opening": "import workbench; workbench.logs.open(sys.argv[1])",
    "second opening": "import workbench; workbench.logs.open(sys.argv[1])",
    "Workbench(log)": "import workbench; workbench.Workbench(sys.argv[1])",
}
"""What is done with a log of ours."""
TIMED = """
import json, resource, sys, time
began = time.perf_counter()
{}
seconds = time.perf_counter() - began
peak = [resource.getrusage(who).ru_maxrss / 1024 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print("\\n" + json.dumps([seconds, time.process_time(), *peak]))
"""


def own(folder: Path, records: int) -> None:
    """Print what is done with logs of ours, each in a new process."""
    environment = {**os.environ, "WORKBENCH_CACHE_DIR": str(folder / "cache")}
    large, small = folder / "large.tunelog.jsonl", folder / "small.tunelog.jsonl"
    size = big_own_logs.own(large, records)
    big_own_logs.own(small, records // 5)
    print(f"{records:,} trials of {size / records:.0f} bytes each, load {os.getloadavg()[0]:.1f}")
    print(f"{'':16} {'s':>6} {'cpu s':>6} {'MB':>6} {'MB of helpers':>13}")
    for what, code in OWN.items():
        path = small if what == "Workbench(log)" else large
        command = [sys.executable, "-c", TIMED.format(code), str(path)]
        run = subprocess.run(command, capture_output=True, check=True, env=environment)
        seconds, cpu, peak, helpers = json.loads(run.stdout.splitlines()[-1])
        print(f"{what:16} {seconds:6.2f} {cpu:6.2f} {peak:6.0f} {helpers:13.0f}")


def main() -> None:
    """Entry point."""
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("log", nargs="?", type=Path)
    p.add_argument("--records", type=int, default=1_000_000)
    p.add_argument("--own", action="store_true")
    p.add_argument("--formats", type=int, metavar="MB")
    args = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if args.formats:
            return formats(Path(folder), args.formats * 1_000_000)
        if args.own:
            return own(Path(folder), args.records)
        path = args.log or Path(folder) / "auto-scheduler.json"
        if args.log is None:
            big_logs.ansor(path, args.records)
        print(f"{path.stat().st_size / 1e6:.0f} MB, load {os.getloadavg()[0]:.1f}")
        for what in ("all", "open"):
            print(json.dumps(measure(path, Path(folder) / "cache", what), indent=1))


if __name__ == "__main__":
    main()
