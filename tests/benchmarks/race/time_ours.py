"""Time one trial of a log in a fresh process: kernel, weights, log, trial, threads as JSON; prints milliseconds."""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import workbench as wb
from race.kernels import kernel
from workbench.log import load_log


def main() -> None:
    """Print the median of repeats of at least 20 ms."""
    given = json.loads(sys.argv[1])
    record = next(r for r in load_log(given["log"]).records if r.trial == given["trial"])
    func, target = kernel(given["kernel"], given["weights"]), wb.Target.host(threads=given["threads"])
    schedule = wb.Schedule.from_json(func, list(record.trace), target)
    result = schedule.measure(repeat=30, min_repeat_ms=20.0)
    if not result.ok:
        raise SystemExit(result.error)
    print(result.median_ms)


if __name__ == "__main__":
    main()
