"""Whether the numbers that are shown are what a fresh process takes, on a machine like everybody's.

Run it by hand, with nobody else on the machine (it makes its own load)::

    python tests/benchmarks/bench_trust.py fresh squeezenet resnet50 --logs LOGS      first runs and `run --benchmark`
    python tests/benchmarks/bench_trust.py promised squeezenet ... --logs LOGS        end to end of a run against taken
    python tests/benchmarks/bench_trust.py load --kind busy --count 200               measurements beside other programs
    python tests/benchmarks/bench_trust.py same --kind busy --count 200               the same kernel twice, beside them
    python tests/benchmarks/bench_trust.py tuned --kind busy --pairs 5                tuning beside them

``--kind`` is ``busy`` (a process that computes without end) or ``browser`` (headless Chromium that plays an animation).
A load is stopped and continued by signals, so that measurements with and without it follow each other: the clock of a
shared machine drifts by more than what is looked for. Networks are those of `networks.models`, or paths of ONNX files.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from networks.models import NETWORKS, Network

ANIMATION = """<canvas id=c width=1200 height=800></canvas><script>
const c = document.getElementById('c').getContext('2d');
function draw(t) {
  c.clearRect(0, 0, 1200, 800);
  for (let k = 0; k < 1500; k++) {
    c.fillStyle = `hsl(${(k + t / 10) % 360} 80% 50%)`;
    c.beginPath();
    c.arc(600 + 500 * Math.sin(t / 900 + k), 400 + 350 * Math.cos(t / 700 + k * 1.3), 12, 0, 7);
    c.fill();
  }
  requestAnimationFrame(draw);
}
requestAnimationFrame(draw);
</script>"""


class Load:
    """Another program that takes cores away, and can be stopped for a moment."""

    def __init__(self, kind: str, folder: Path) -> None:
        if kind == "busy":
            command = [sys.executable, "-c", "while True: pass"]
        else:
            page = folder / "animation.html"
            page.write_text(ANIMATION)
            browser = next(found for name in ("chromium", "google-chrome") if (found := shutil.which(name)))
            profile = f"--user-data-dir={folder / 'profile'}"
            command = [browser, "--headless=new", "--no-sandbox", "--disable-gpu", profile, page.as_uri()]
            command += ["--remote-debugging-port=0"]  # or it ends when the page is there
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "start_new_session": True}
        self._process = subprocess.Popen(command, **quiet)
        time.sleep(1.0 if kind == "busy" else 5.0)
        self.pause()

    def pause(self) -> None:
        """Stop it."""
        os.killpg(self._process.pid, signal.SIGSTOP)
        time.sleep(0.05)

    def go(self) -> None:
        """Let it run."""
        os.killpg(self._process.pid, signal.SIGCONT)
        time.sleep(0.05)

    def cores(self) -> float:
        """Cores that it takes."""

        def spent() -> float:
            total = 0
            for stat in Path("/proc").glob("[0-9]*/stat"):
                with contextlib.suppress(OSError, IndexError):
                    words = stat.read_text().rsplit(")", 1)[1].split()
                    total += (int(words[11]) + int(words[12])) if int(words[2]) == self._process.pid else 0
            return total / os.sysconf("SC_CLK_TCK")

        before, begin = spent(), time.perf_counter()
        time.sleep(1.0)
        return (spent() - before) / (time.perf_counter() - begin)

    def end(self) -> None:
        """Kill it."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


@contextlib.contextmanager
def load(kind: str) -> Iterator[Load]:
    """A load that is there and stopped."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        found = Load(kind, Path(folder))
        try:
            found.go()
            print(f"{kind}: takes {found.cores():.2f} cores alone")
            found.pause()
            yield found
        finally:
            found.end()


def kernels(threads: int) -> dict[str, Any]:
    """Four schedules by hand."""
    import workbench as wb

    target = wb.Target.host(threads=threads)

    def matmul(n: int) -> Any:
        s = wb.Schedule(wb.workloads.matmul(n, n, n), target)
        i0, i1 = s.split("i", [None, 8])
        j0, j1 = s.split("j", [None, 32])
        s.reorder(i0, j0, "k", i1, j1)
        s.unroll(i1)
        s.vectorize(j1)
        s.parallel(i0)
        return s

    from workbench.space.default_schedule import default_schedule

    conv = wb.workloads.conv2d_nhwc(56, 56, 64, 64)
    return {
        "matmul 512": matmul(512),
        "matmul 256": matmul(256),
        "conv 3x3 64 @56": default_schedule(conv, target),
        "softmax 1000": default_schedule(wb.workloads.softmax(1000, 1000), target),
    }


def loaded(args: argparse.Namespace) -> dict[str, Any]:
    """Measure kernels with and without a load, one after the other."""
    out: dict[str, Any] = {}
    with load(args.kind) as other:
        for name, schedule in kernels(args.threads).items():
            quiet: list[float | None] = []
            beside: list[Any] = []
            for _ in range(args.count // 4):
                still = schedule.measure()
                other.go()
                beside.append(schedule.measure())
                other.pause()
                quiet.append(still.ms if still.clean else None)
            course = smoothed(quiet)
            told = [m.ms / middle for m, middle in zip(beside, course, strict=True) if m.clean]
            near = sum(abs(x - 1) <= 0.05 for x in told)
            worst = max(told, key=lambda x: abs(x - 1), default=0)
            again = [q / middle for q, middle in zip(quiet, course, strict=True) if q is not None]
            out[name] = {"marked": len(beside) - len(told), "unmarked": len(told), "within 5 %": near}
            print(
                f"{name:16s} quiet {statistics.median(course):.4f} ms ({len(quiet) - len(again)} marked, "
                f"{sum(abs(x - 1) <= 0.05 for x in again)}/{len(again)} of the others within 5 % of their course); "
                f"beside: {len(beside) - len(told)} marked, "
                f"{near}/{len(told)} of the others within 5 %, worst {worst:.3f}"
            )
    unmarked = sum(row["unmarked"] for row in out.values())
    within = sum(row["within 5 %"] for row in out.values())
    print(f"all: {within}/{unmarked} unmarked within 5 % ({within / max(1, unmarked):.1%})")
    return out


def smoothed(values: list[float | None], width: int = 5) -> list[float]:
    """Median of each number and its neighbours, those that are known: the course of a machine whose clock drifts."""
    near = [values[max(0, k - width) : k + width + 1] for k in range(len(values))]
    return [statistics.median(v for v in each if v is not None) for each in near]


def same(args: argparse.Namespace) -> dict[str, Any]:
    """Let a kernel run against itself beside a load."""
    from workbench.runtime.schedule_methods import contest

    verdicts = {"faster": 0, "slower": 0, "cannot tell": 0, "not clean": 0}
    shortened = list(kernels(args.threads).items())
    with load(args.kind) as other:
        other.go()
        for k in range(args.count):
            _, schedule = shortened[k % len(shortened)]
            found = contest([schedule.func, schedule.func], schedule.base, schedule.target, budget_ms=100.0)
            verdicts["not clean"] += not found.clean
            verdicts["faster" if found.beats(1) else "slower" if found.beats(0, 1) else "cannot tell"] += 1
    print(verdicts)
    return verdicts


def tuned(args: argparse.Namespace) -> dict[str, Any]:
    """Tune a task with and without a load for the same time, and time both bests when it is quiet."""
    import workbench as wb

    target = wb.Target.host(threads=args.threads)
    task = wb.Task.of_func(wb.workloads.conv2d_nhwc(28, 28, 128, 128), target)
    ratios: list[float] = []
    with load(args.kind) as other:
        for seed in range(args.pairs):
            best: list[Any] = []
            for on in (True, False):
                (other.go if on else other.pause)()
                with wb.tune(task, seconds=args.seconds, target=target, seed=seed) as session:
                    session.wait()
                    best.append(session.best(task))
            other.pause()
            beside_ms, quiet_ms = (min(s.measure().ms for _ in range(3)) for s in best)
            ratios.append(beside_ms / quiet_ms)
            print(f"seed {seed}: tuned beside it {beside_ms:.4f} ms, quiet {quiet_ms:.4f} ms: {ratios[-1]:.3f}")
    print(f"median {statistics.median(ratios):.3f}")
    return {"ratios": ratios}


FRESH = """
import json, sys, time
import numpy as np
import workbench as wb
model, log, threads, shapes = sys.argv[1], sys.argv[2] or None, int(sys.argv[3]), json.loads(sys.argv[4])
net = wb.compile(wb.load_onnx(model, shapes=shapes or None), log, wb.Target.host(threads=threads))
rng = np.random.default_rng(0)
feeds = {s.name: rng.standard_normal(s.shape).astype(s.dtype) if "float" in s.dtype else np.ones(s.shape, s.dtype)
         for s in net.inputs}
costs = []
end = time.perf_counter() + 3.0
while time.perf_counter() < end or len(costs) < 60:
    begin = time.perf_counter()
    net.run(feeds)
    costs.append((time.perf_counter() - begin) * 1e3)
print(json.dumps(costs))
"""


def model_of(name: str, folder: Path) -> tuple[str, dict[str, Any]]:
    """A file and the shapes of its inputs."""
    if name in NETWORKS:
        network: Network = NETWORKS[name]
        return str(network.file(folder)), dict(network.shapes)
    path, _, rest = name.partition("@")  # PATH@input=1x3x224x224
    shapes = dict(part.split("=") for part in rest.split(",")) if rest else {}
    return path, {k: [int(n) for n in v.split("x")] for k, v in shapes.items()}


def benchmark(model: str, log: str, args: argparse.Namespace, shapes: dict[str, Any]) -> dict[str, Any]:
    """`workbench run --benchmark` in a process of its own."""
    command = [sys.executable, "-m", "workbench", "run", model, "--threads", str(args.threads), "--benchmark", "--json"]
    command += ["--log", log] if log else []
    for name, shape in shapes.items():
        command += ["--shape", f"{name}={'x'.join(map(str, shape))}"]
    return dict(json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout))


def fresh(args: argparse.Namespace) -> dict[str, Any]:
    """First runs against later ones, in fresh processes."""
    out: dict[str, Any] = {}
    for name in args.networks:
        model, shapes = model_of(name, args.logs)
        log = tuned_log(name, model, shapes, args)
        rows = []
        for _ in range(5):
            command = [sys.executable, "-c", FRESH, model, log, str(args.threads), json.dumps(shapes)]
            costs = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
            steady = statistics.median(costs[len(costs) // 2 :])
            told = benchmark(model, log, args, shapes)
            rows.append(
                {"first20": statistics.median(costs[:20]) / steady, "first": costs[0] / steady, "steady": steady,
                 "worst20": max(costs[1:20]) / steady, "told": told["median_ms"] / steady, "clean": told["clean"]}
            )  # fmt: skip
            print(f"{name:14s} " + "  ".join(f"{k} {v:.3f}" for k, v in rows[-1].items()), flush=True)
        out[name] = rows
    return out


def tuned_log(name: str, model: str, shapes: dict[str, Any], args: argparse.Namespace) -> str:
    """A log of the network; it is tuned where there is none."""
    import workbench as wb

    log = args.logs / f"{Path(name.partition('@')[0]).stem}.{args.threads}t.tunelog.jsonl"
    if not log.exists():
        graph = wb.load_onnx(model, shapes={k: tuple(v) for k, v in shapes.items()} or None)
        with wb.tune(graph, seconds=args.seconds, log=log, target=wb.Target.host(threads=args.threads)) as session:
            session.wait()
    return str(log)


def promised(args: argparse.Namespace) -> dict[str, Any]:
    """What a run says the network takes, against what fresh processes take."""
    from workbench.log import NetworkTime, load_log

    out: dict[str, Any] = {}
    for name in args.networks:
        model, shapes = model_of(name, args.logs)
        log = tuned_log(name, model, shapes, args)
        lines = [line for line in load_log(log).lines if isinstance(line, NetworkTime)]
        if not lines:
            print(f"{name}: the log does not say what the network takes")
            continue
        said = lines[-1]
        taken = [benchmark(model, log, args, shapes) for _ in range(3)]
        ms = statistics.median(t["median_ms"] for t in taken)
        total = said.sum_of_kernels_ms or float("nan")
        out[name] = {
            "promised": said.measured_ms,
            "taken": ms,
            "kernels": total,
            "deviation": said.measured_ms / ms - 1,
        }
        print(
            f"{Path(name).stem[:28]:28s} promised {said.measured_ms:8.3f}{'' if said.clean else ' (disturbed)'}  "
            f"taken {ms:8.3f} ({', '.join(str(t['clean']) for t in taken)})  sum of kernels {total:8.3f}  "
            f"deviation {out[name]['deviation']:+.1%}",
            flush=True,
        )
    far = [abs(row["deviation"]) for row in out.values()]
    print(f"median deviation {statistics.median(far):.1%}, largest {max(far):.1%}")
    return out


def main() -> None:
    """Entry point."""
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("what", choices=("fresh", "promised", "load", "same", "tuned"))
    p.add_argument("networks", nargs="*")
    p.add_argument("--kind", choices=("busy", "browser"), default="busy")
    p.add_argument("--count", type=int, default=200)
    p.add_argument("--pairs", type=int, default=5)
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--seconds", type=float, default=60.0, help="tuning time of a network, or of a task")
    p.add_argument("--logs", type=Path, default=Path("trust-logs"))
    p.add_argument("--json", type=Path)
    args = p.parse_args()
    args.logs.mkdir(parents=True, exist_ok=True)
    found = {"fresh": fresh, "promised": promised, "load": loaded, "same": same, "tuned": tuned}[args.what](args)
    if args.json:
        args.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
