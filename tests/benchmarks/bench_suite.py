"""Fifteen kernels beside torch (oneDNN, MKL), onnxruntime and NumPy: tuned, then timed in fresh processes in turn.

Run it by hand (it is not part of the default tests; torch is not among the project's dependencies)::

    pip install torch
    python tests/benchmarks/bench_suite.py --threads 1 --logs /tmp/suite
    python tests/benchmarks/bench_suite.py --threads 1 --isa avx2 --logs /tmp/suite-avx2

Per case at most 256 trials or 60 s of tuning; with ``--logs`` the logs are kept and used again. A ratio above 1 means
that we are faster than the best library. ``--json FILE`` writes every figure with a description of the host,
``--figure FILE.html`` the roofline. Weights of convolutions and of the dense layer are constants for everybody; both
operands of a plain matmul are not.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from suite import host, report
from suite.cases import Case, chosen

HERE = Path(__file__).resolve().parent
AVX2 = {"ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2", "OPENBLAS_CORETYPE": "Haswell"}
"""How the libraries are held to AVX2; onnxruntime has no such switch and is left out."""


def target_text(threads: int, isa: str) -> str:
    """Target to tune for."""
    from workbench.target import Target

    if isa == "native":
        return str(Target.host(threads=threads))
    return str(Target("llvm", cpu="haswell", threads=threads))


def tune(case: Case, log: Path, text: str, trials: int, seconds: float) -> dict[str, float]:
    """Tune a case into `log`; returns what it cost."""
    import workbench as wb
    from workbench.graph.tasks import Task
    from workbench.tune.options import TuneOptions

    start = time.perf_counter()
    task = Task.of_func(case.make(), wb.Target(text))
    # Repeats that last: processors lower the clock of wide vectors after some milliseconds, by kernel.
    options = TuneOptions(repeat=3, min_repeat_ms=20.0)
    with wb.tune(task, trials=trials, seconds=seconds, log=log, target=text, options=options) as session:
        session.wait(10 * seconds + 60)
        frame = session.frame()
    return {"trials": len(frame), "failed": int((frame.status != "ok").sum()), "seconds": time.perf_counter() - start}


def one(library: str, case: Case, args: argparse.Namespace, log: Path, text: str) -> dict[str, Any]:
    """Figures of one library in a fresh process, pinned to the cores that it may use."""
    command = [sys.executable, "-m", "suite.worker", library, case.name, str(args.threads), str(args.time)]
    command += ["--log", str(log), "--target", text] if library == "ours" else []
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    environment = {**os.environ, **{n: str(args.threads) for n in names}, **(AVX2 if args.isa == "avx2" else {})}
    cores = sorted(os.sched_getaffinity(0))[-args.threads :]
    pinned = ["taskset", "-c", ",".join(map(str, cores)), *command]
    done = subprocess.run(pinned, cwd=HERE, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{library}, {case.name}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """Entry point."""
    args = arguments()
    text = target_text(args.threads, args.isa)
    folder = Path(args.logs or tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    libraries = ["ours", *(lib for lib in args.libraries if args.isa == "native" or lib != "onnxruntime")]
    runs: report.Runs = {}
    spent: dict[str, dict[str, float]] = {}
    for case in chosen(args.cases):
        log = folder / f"{''.join(c if c.isalnum() else '-' for c in case.name)}.{args.threads}.tunelog.jsonl"
        if not log.exists():
            spent[case.name] = tune(case, log, text, args.trials, args.seconds)
            print(f"{case.name}: {spent[case.name]}", file=sys.stderr)
        runs[case.name] = {lib: [] for lib in libraries}
        for _ in range(args.rounds):
            for library in libraries:
                runs[case.name][library].append(one(library, case, args, log, text))
    found = report.rows(runs)
    print(f"{args.threads} thread(s), {args.isa}, {args.rounds} rounds of fresh processes; medians of the rounds")
    print(report.table(found))
    if args.json:
        figures = {"threads": args.threads, "isa": args.isa, "rows": found, "runs": runs, "tuning": spent}
        args.json.write_text(json.dumps({**figures, "host": host.describe()}, indent=1))
    if args.figure:
        from workbench.target import Target

        report.roofline(found, Target(text).peak_gflops() * args.threads, host.bandwidth(), args.figure)


def arguments() -> argparse.Namespace:
    """Command line."""
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--cases", nargs="+", help="parts of case names")
    p.add_argument("--libraries", nargs="+", default=["torch", "onnxruntime", "numpy"])
    p.add_argument("--isa", choices=["native", "avx2"], default="native")
    p.add_argument("--trials", type=int, default=256)
    p.add_argument("--seconds", type=float, default=60.0, help="tuning time per case")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--time", type=float, default=0.5, help="seconds that each process times")
    p.add_argument("--logs", help="folder of tuning logs to use, or to write")
    p.add_argument("--json", type=Path)
    p.add_argument("--figure", type=Path)
    return p.parse_args()


if __name__ == "__main__":
    main()
