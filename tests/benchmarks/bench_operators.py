"""Operators at real sizes, each alone in a model, beside onnxruntime, OpenVINO (in single precision) and torch.

Run it by hand (it is not part of the default tests; only onnxruntime is among the project's dependencies)::

    pip install openvino torch
    python tests/benchmarks/bench_operators.py                       # default schedules
    python tests/benchmarks/bench_operators.py --trials 24 --logs logs --json figures.json
    python tests/benchmarks/bench_operators.py --only "conv|pool" --list

A library that another interpreter has is found with ``--python openvino=PATH``. Each library stays in a process of its
own; they take turns in several rounds, and the least median of the rounds counts. A ratio is the time of a peer by
ours: above 1 we are faster. Outputs are compared with onnxruntime's first, or with NumPy's where a case says so: who
gives another answer has no time, onnxruntime aside. The column "host" names operators that are a step in Python.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from operators import CASES
from operators.case import Case
from operators.process import Worker
from operators.report import summary, table_row
from suite import host

PEERS = ("onnxruntime", "openvino", "torch")


def tune(case: Case, model: Path, log: Path, args: argparse.Namespace) -> dict[str, float]:
    """Tune a case into `log`; returns what it cost."""
    import workbench as wb
    from workbench.errors import WorkbenchError
    from workbench.target import Target

    start = time.perf_counter()
    try:
        target = Target.host(threads=args.threads)
        graph = wb.load_onnx(str(model))
        with wb.tune(graph, trials=args.trials, seconds=args.tune_seconds, log=log, target=target) as session:
            session.wait(2 * args.tune_seconds + 60)
            trials = len(session.frame())
    except WorkbenchError as e:  # nothing to tune
        return {"error": str(e).splitlines()[0]}
    return {"trials": trials, "seconds": time.perf_counter() - start}


def difference(case: Case, got: Path, want: Path) -> str:
    """What is wrong with the outputs; "" where nothing is."""
    mine, theirs = dict(np.load(got)), dict(np.load(want))
    for name, b in theirs.items():
        a = mine.get(name)
        if a is None or a.shape != b.shape:
            return f"{name} has the shape {None if a is None else a.shape}, not {b.shape}"
        if b.dtype.kind == "f":
            a, b = a.astype("f8"), b.astype("f8")
            limit = case.near * np.abs(b[np.isfinite(b)]).max(initial=0)
            if not np.allclose(a, b, rtol=0, atol=limit, equal_nan=True):
                with np.errstate(invalid="ignore"):
                    return f"{name} is off by {np.nanmax(np.abs(a - b)):.2g}, more than {limit:.2g}"
        elif (a != b).mean() > (case.near if b.dtype.itemsize == 1 and b.dtype.kind in "iu" else 0):
            return f"{name} differs in {int((a != b).sum())} of {b.size} elements"
    return ""


def bench(case: Case, workers: dict[str, Worker], folder: Path, args: argparse.Namespace) -> dict[str, Any]:
    """Make a case ready everywhere, compare the answers, and time everyone in turn."""
    import onnx

    slug = re.sub(r"\W+", "-", case.name)
    model, feeds = case.make()
    path, inputs = folder / f"{slug}.onnx", folder / f"{slug}.npz"
    onnx.save(model, path)
    np.savez(inputs, **feeds)
    log = (args.logs or folder) / f"{slug}.{args.threads}t.tunelog.jsonl"
    row: dict[str, Any] = {"case": case.name, "where": case.where, "ms": {}, "rounds": {}, "errors": {}}
    if args.trials and not log.exists():
        row["tuning"] = tune(case, path, log, args)
    right = folder / f"{slug}.{'right' if case.oracle else 'onnxruntime'}.npz"
    if case.oracle:
        np.savez(right, **{model.graph.output[0].name: case.oracle(**feeds)})
    for library, worker in workers.items():
        out = folder / f"{slug}.{library}.npz"
        given = str(log) if library == "tuned" and log.exists() else ""
        answer = worker.ask(model=str(path), inputs=str(inputs), outputs=str(out), log=given)
        wrong = answer.get("error", "")
        if not wrong and library != "onnxruntime" and (case.oracle or "onnxruntime" not in row["errors"]):
            wrong = difference(case, out, right)
        row["errors"] |= {library: wrong} if wrong else {}
        row |= {f"{library}_facts": answer} if library in ("ours", "tuned") else {}
    for _ in range(args.rounds):
        for library in (lib for lib in workers if lib not in row["errors"]):
            time.sleep(0.03)  # threads of the one before may still spin
            answer = workers[library].ask(seconds=args.seconds / args.rounds)
            row["rounds"].setdefault(library, []).append(answer)
            row["errors"] |= {library: answer["error"]} if "error" in answer else {}
    good = {lib: found for lib, found in row["rounds"].items() if lib not in row["errors"]}
    row["ms"] = {lib: min(r["median_ms"] for r in found) for lib, found in good.items()}
    return row


def main() -> None:
    """Entry point."""
    args = arguments()
    cases = [c for c in CASES if re.search(args.only, f"{c.name} {c.text}")]
    if args.list:
        print("\n".join(f"{c.name:<44} {c.where:<28} {c.text}" for c in cases))
        return
    pythons = dict(pair.split("=", 1) for pair in args.python)
    names = ["onnxruntime", "ours", *(["tuned"] if args.trials else []), "openvino", "torch"]
    names = [n for n in names if n not in args.skip]
    started = {n: Worker(n, args.threads, pythons.get(n, sys.executable)) for n in names}
    workers = {n: w for n, w in started.items() if w.found}
    absent = [n for n, w in started.items() if not w.found]
    if args.logs:
        args.logs.mkdir(parents=True, exist_ok=True)
    rows = []
    try:
        with tempfile.TemporaryDirectory() as scratch:
            for case in cases:
                rows.append(bench(case, workers, Path(scratch), args))
                print(table_row(rows[-1], list(workers)), flush=True)
                for file in Path(scratch).iterdir():
                    file.unlink()
    finally:
        for w in started.values():
            w.end()
    print(summary(rows, list(workers)))
    print(f"{args.threads} threads, {args.rounds} rounds; absent: {', '.join(absent) or 'none'}")
    if args.json:
        args.json.write_text(json.dumps({"host": host.describe(), "threads": args.threads, "rows": rows}, indent=1))


def arguments() -> argparse.Namespace:
    """Command line."""
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--only", default="", help="regular expression on the name and the nodes of a case")
    p.add_argument("--list", action="store_true", help="print the cases and end")
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--trials", type=int, default=0, help="trials of tuning per case; 0: default schedules only")
    p.add_argument("--tune-seconds", type=float, default=60.0, help="most seconds of tuning per case")
    p.add_argument("--seconds", type=float, default=0.5, help="seconds of timing per library and case")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--logs", type=Path, help="keep tuning logs here, and use those that are there")
    p.add_argument("--skip", nargs="*", default=[], choices=PEERS)
    p.add_argument("--python", nargs="*", default=[], metavar="LIBRARY=PATH", help="interpreter that has a library")
    p.add_argument("--json", type=Path)
    return p.parse_args()


if __name__ == "__main__":
    main()
