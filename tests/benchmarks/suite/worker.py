"""One library, one case, one fresh process: prints the times of all its ways as JSON on the last line.

``python -m suite.worker LIBRARY CASE THREADS SECONDS [--log FILE --target TEXT]``
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from typing import Any

import numpy as np

from .cases import CASES, Case
from .timing import timed


def expected(case: Case, arrays: dict[str, np.ndarray]) -> np.ndarray:
    """Result in double precision."""
    from .peers import numpy_ways

    wide = {k: v.astype(np.float64) for k, v in arrays.items()}
    if case.kind in ("matmul", "dense"):
        return wide["A"] @ wide["B"]
    return np.array(numpy_ways(case, wide, 1)["numpy"]())


def error(result: Any, reference: np.ndarray) -> float:
    """Largest difference relative to the largest value; images may be NCHW."""
    got = np.asarray(result.numpy() if hasattr(result, "numpy") else result, np.float64)
    if got.shape != reference.shape:
        got = got.transpose(0, 2, 3, 1)
    return float(np.max(np.abs(got - reference)) / np.max(np.abs(reference)))


def ours(case: Case, arrays: dict[str, np.ndarray], log: str, target: str) -> dict[str, Callable[[], Any]]:
    """The best schedule of a log, compiled."""
    import workbench as wb
    from workbench.graph.tasks import Task
    from workbench.log import Database
    from workbench.log.replay import schedule_of

    chosen = wb.Target(target)
    task = Task.of_func(case.make(), chosen)
    record = Database.load(log).best(task.key, str(chosen))
    assert record is not None, f"{log} has no valid trial of {case.name}"
    call = schedule_of(task, record).build().prepare(**arrays)
    return {"tuned": call}


def main() -> None:
    """Entry point."""
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("library")
    p.add_argument("case", choices=list(CASES))
    p.add_argument("threads", type=int)
    p.add_argument("seconds", type=float)
    p.add_argument("--log")
    p.add_argument("--target")
    args = p.parse_args()
    case = CASES[args.case]
    arrays = case.inputs()
    if args.library == "ours":
        ways = ours(case, arrays, args.log, args.target)
    else:
        from .peers import PEERS

        ways = PEERS[args.library](case, arrays, args.threads)
    reference = expected(case, arrays)
    errors = {name: error(way(), reference) for name, way in ways.items()}
    times = {name: timed(way, args.seconds / len(ways)) for name, way in ways.items()}
    print(json.dumps({name: {**times[name], "error": errors[name]} for name in ways}))


if __name__ == "__main__":
    main()
