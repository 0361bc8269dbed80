"""Tune one kernel with the workbench in a process of its own; one half of `bench_race`.

Prints one JSON object: when the process was started, and every new best with its trial and its seconds since then.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import workbench as wb
from race.kernels import kernel
from workbench.tune.options import TuneOptions


def main() -> None:
    """Arguments as JSON: kernel, weights, search, seed, threads, trials, seconds, log, started."""
    given = json.loads(sys.argv[1])
    options = TuneOptions(search=given["search"], model="random" if given["search"] == "random" else "xgboost")
    session = wb.tune(
        kernel(given["kernel"], given["weights"]),
        trials=given["trials"],
        seconds=given["seconds"],
        log=given["log"],
        seed=given["seed"],
        target=wb.Target.host(threads=given["threads"]),
        options=options,
        start=False,
    )
    bests: list[dict[str, float]] = []

    def note(event: object) -> None:
        if event.kind == "best":  # type: ignore[attr-defined]
            record = event.record  # type: ignore[attr-defined]
            seconds = time.time() - given["started"]
            bests.append({"trial": record.trial, "seconds": seconds, "ms": record.latency_ms})

    session.events.subscribe(note)
    session.start().wait()
    print(json.dumps({"bests": bests, "trials": len(session.records), "seconds": time.time() - given["started"]}))


if __name__ == "__main__":
    main()
