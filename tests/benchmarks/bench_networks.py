"""Whole networks beside onnxruntime and OpenVINO: tuned, then timed in fresh processes in turn, several rounds.

Run it by hand (it is not part of the default tests; OpenVINO is not among the project's dependencies)::

    pip install openvino
    WORKBENCH_REAL_MODELS=models python tests/benchmarks/bench_networks.py --logs logs --seconds 600 --json figures.json
    python tests/benchmarks/bench_networks.py resnet50 --logs logs
    python tests/benchmarks/bench_networks.py resnet50 --precision bfloat16 --untuned

With ``--precision bfloat16`` ours and OpenVINO (its own default) compute in it, onnxruntime in float32.
Each network is tuned for ``--seconds`` (a log in ``--logs`` is used as it is). A process is timed again, up to three
times, when others took more than a tenth of a core meanwhile. A ratio above 1 means that we are faster. Outputs are
compared with onnxruntime's; the last lines say where our time goes.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from networks.models import NETWORKS, Network
from suite import host

HERE = Path(__file__).resolve().parent
PEERS = ("onnxruntime", "openvino")
QUIET = 0.1


def tune(network: Network, model: Path, log: Path, args: argparse.Namespace) -> dict[str, float]:
    """Tune a network into `log`; returns what it cost."""
    import workbench as wb
    from workbench.target import Target
    from workbench.tune.options import TuneOptions

    start = time.perf_counter()
    graph = wb.load_onnx(str(model), shapes=network.shapes or None).optimize(precision=args.precision)
    target, seconds = Target.host(threads=args.threads), args.seconds
    with wb.tune(graph, seconds=seconds, log=log, target=target, options=TuneOptions()) as session:
        session.wait(2 * seconds + 120)
        frame = session.frame()
    return {"trials": len(frame), "failed": int((frame.status != "ok").sum()), "seconds": time.perf_counter() - start}


def once(library: str, network: Network, model: Path, folder: Path, args: argparse.Namespace, log: str) -> dict:
    """Time a library in a process of its own, again where the machine was not quiet."""
    files = [str(model), str(folder / f"{network.name}.npz"), str(folder / f"{network.name}.{library}.npz")]
    cmd = [sys.executable, "-m", "networks.worker", library, network.name, *files, str(args.threads)]
    found: dict[str, Any] = {}
    for _ in range(3):
        env = {**os.environ, "WORKBENCH_CACHE": "0"}  # compile times are those of a first time
        done = subprocess.run(
            [*cmd, str(args.run_seconds), args.precision, log], capture_output=True, text=True, cwd=HERE, env=env
        )
        if done.returncode:
            raise SystemExit(f"{library} on {network.name} failed:\n{done.stderr[-3000:]}")
        new = json.loads(done.stdout.splitlines()[-1])
        if not found or new["foreign_cores"] < found["foreign_cores"]:
            found = new
        if found["foreign_cores"] < QUIET:
            break
    return found


def difference(folder: Path, network: Network, library: str) -> float:
    """Largest difference to onnxruntime relative to its largest value, over all outputs."""
    ours, theirs = (dict(np.load(folder / f"{network.name}.{who}.npz")) for who in (library, "onnxruntime"))
    assert len(ours) == len(theirs)
    return max(float(np.max(np.abs(ours[k] - theirs[k])) / np.max(np.abs(theirs[k]))) for k in theirs)


def bench(network: Network, args: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Tune where there is no log yet, then time everyone in turn."""
    model = network.file(folder)
    np.savez(folder / f"{network.name}.npz", **network.inputs(model))
    kind = "" if args.precision == "float32" else f".{args.precision}"
    log = folder / f"{network.name}.{args.threads}t{kind}.tunelog.jsonl"
    tuned = {} if log.exists() or args.untuned else tune(network, model, log, args)
    libraries = ["ours", *(p for p in PEERS if p not in args.skip)]
    rounds: dict[str, list[dict[str, Any]]] = {x: [] for x in libraries}
    for _ in range(args.rounds):
        for library in libraries:
            text = str(log) if library == "ours" and not args.untuned else ""
            rounds[library].append(once(library, network, model, folder, args, text))
    medians = {x: statistics.median(r["median_ms"] for r in rows) for x, rows in rounds.items()}
    row = {"network": network.name, "tuned": tuned, "median_ms": medians, "rounds": rounds}
    row["ratios"] = {p: medians[p] / medians["ours"] for p in libraries[1:]}
    known = libraries if "onnxruntime" in libraries else []
    row["difference"] = {x: difference(folder, network, x) for x in known if x != "onnxruntime"}
    show(row)
    return row


def show(row: dict[str, Any]) -> None:
    """Print one network's figures."""
    tuned = row["tuned"] or "not tuned here"
    apart = ", ".join(f"{who} {value:.1e}" for who, value in row["difference"].items())
    print(f"\n{row['network']}: outputs differ from onnxruntime's, of their largest, by {apart}; {tuned}")
    for library, rows in row["rounds"].items():
        times = [r["median_ms"] for r in rows]
        noise = max(r["foreign_cores"] for r in rows)
        ratio = f"ratio {row['ratios'][library]:.2f}" if library in row["ratios"] else ""
        print(
            f"  {library:12s} median {statistics.median(times):8.2f} ms  min {min(times):8.2f}  max {max(times):8.2f}"
            f"  others took {noise:.2f} cores at most  {ratio}"
        )
    mine = row["rounds"]["ours"][-1]
    spent = f"import {mine['import_s']:.2f} s, compile {mine['compile_s']:.2f} s, {mine['untuned']} tasks untuned"
    print(f"  {spent}; calls sum to {mine['calls_ms']:.2f} ms of {mine['median_ms']:.2f}")
    for call, ms, share, gflops in mine["top"]:
        print(f"    {ms:7.3f} ms {share:6.1%} {gflops:7.1f} GFLOP/s  {call[:90]}")
    sys.stdout.flush()


def main() -> None:
    """Entry point."""
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("networks", nargs="*", choices=[[], *NETWORKS])
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--seconds", type=float, default=600.0, help="tuning budget of each network")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--run-seconds", type=float, default=2.0, help="time spent per process and round")
    p.add_argument("--logs", type=Path, help="keep logs and filled models here, and use those that are there")
    p.add_argument("--skip", nargs="*", default=[], choices=PEERS)
    p.add_argument("--precision", default="float32", choices=["float32", "bfloat16"])
    p.add_argument("--untuned", action="store_true", help="default schedules instead of a log")
    p.add_argument("--json", type=Path)
    args = p.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.logs or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        rows = [bench(NETWORKS[n], args, folder) for n in (args.networks or NETWORKS)]
    means = {p: statistics.geometric_mean(r["ratios"][p] for r in rows) for p in rows[0]["ratios"]}
    print("\ngeometric means: " + ", ".join(f"{m:.3f} over {p}" for p, m in means.items()))
    if args.json:
        args.json.write_text(json.dumps({"host": host.describe(), "rows": rows, "geometric_means": means}, indent=1))


if __name__ == "__main__":
    main()
