"""What measuring is worth and what it costs: false and missed improvements, trials per second, seconds to the first.

Run it by hand (it is not part of the default tests)::

    python tests/benchmarks/bench_measuring.py same --threads 2 [--brief]   # one schedule as two candidates
    python tests/benchmarks/bench_measuring.py power --threads 2 --busy 3  # known differences, beside others
    python tests/benchmarks/bench_measuring.py rate --model light_resnet50 # measured trials per second of a tuning run
    python tests/benchmarks/bench_measuring.py start                       # from the start of Python to the first trial

`same` claims an improvement in under 2 % of the contests, or has failed; `power` finds 3 % in at least 90 %.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from runtime.llvm_kernels import ADD, add_func, text

import workbench as wb
from workbench import workloads
from workbench.codegen.llvm.llvmlite_binding import compile_ir
from workbench.codegen.lowering import ObjectCode
from workbench.graph.tasks import Task, extract_tasks
from workbench.runtime.measuring.jobs import Built
from workbench.runtime.results.contest import Contest
from workbench.runtime.results.measure_options import BRIEF, MeasureOptions
from workbench.runtime.workers.batch import MeasureInput
from workbench.runtime.workers.local_runner import LocalRunner
from workbench.space.default_schedule import default_schedule
from workbench.tune.state.task_state import PLAY_OFF

SAME = {
    "matmul 512": lambda: workloads.matmul(512, 512, 512, constant_b=True),
    "conv 3x3 64→64 @56": lambda: workloads.conv2d_nhwc(56, 56, 64, 64, bias=True, relu=True),
    "conv 1x1 256→64 @56": lambda: workloads.conv2d_nhwc(56, 56, 256, 64, 1, padding=0, bias=True, relu=True),
    "conv 3x3 512→512 @7": lambda: workloads.conv2d_nhwc(7, 7, 512, 512, bias=True, relu=True),
}

#: Calls one kernel so often; what takes 3 % fewer calls is 3 % faster.
WORK = 400
REPEATED = """
define void @kernel(ptr %bufs, ptr %ws, ptr %rt) {
entry:
  br label %l
l:
  %k = phi i64 [ 0, %entry ], [ %k1, %l ]
  call void @once(ptr %bufs, ptr %ws, ptr %rt)
  %k1 = add i64 %k, 1
  %m = icmp ult i64 %k1, %TIMES%
  br i1 %m, label %l, label %x
x:
  ret void
}
"""
N = 16384


@contextlib.contextmanager
def busy(count: int) -> Iterator[None]:
    """Programs that want all they can get of a core."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def same(options: argparse.Namespace) -> bool:
    """The same schedule as two candidates; whether an improvement was claimed in under 2 %."""
    target = wb.Target.host(threads=options.threads)
    tasks = [Task.of_func(make()) for make in SAME.values()]
    items = [MeasureInput(t.key, t.func, default_schedule(t, target).func) for t in tasks]
    found: list[Contest] = []
    with LocalRunner(target, MeasureOptions(constants=options.constants)) as runner, busy(options.busy):
        while len(found) < options.count:
            item = items[len(found) % len(items)]
            found.append(runner.contest([item, item], rules=BRIEF if options.brief else None))
    claims = sum(c.winner() != 0 for c in found)
    print(f"improvement claimed in {claims} of {len(found)} contests; {described(found)}")
    return claims < 0.02 * len(found)


def described(contests: list[Contest]) -> str:
    """Spread and length of contests."""
    away = sorted(abs(c.ratio(1) - 1.0) for c in contests)
    seen = [c.resolution(1) for c in contests]
    took = [c.elapsed_s for c in contests]
    return (
        f"|ratio - 1| median {statistics.median(away):.2%}, 90 % below {away[int(0.9 * len(away))]:.2%}; "
        f"resolution {statistics.median(seen):.2%}; {statistics.median(took):.2f} s each, at most {max(took):.2f} s"
    )


def power(options: argparse.Namespace) -> bool:
    """Kernels that do so many percent less of the same work; whether 3 % were found in at least 90 %."""
    target, ok = wb.Target.host(threads=options.threads), True
    count = max(10, options.count // 5)
    once = text(ADD, N, 1.0).replace("define void @kernel", "define void @once")
    reference = add_func(N, 1.0)
    with LocalRunner(target, MeasureOptions(constants="near")) as runner, busy(options.busy):

        def kernel(times: int) -> MeasureInput:
            item = MeasureInput("t", reference, add_func(N, 1.0, f"times{times}"))
            llvm = once + REPEATED.replace("%TIMES%", str(times))
            runner._workers.images.put(item, Built(ObjectCode(compile_ir(llvm), "kernel"), 0.0))
            return item

        for percent in (0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0):
            pair = [kernel(WORK), kernel(round(WORK * (1 - percent / 100)))]
            rules = BRIEF if options.brief else None
            contests = [runner.contest(pair, rules=rules) for _ in range(count)]
            share = sum(c.winner() == 1 for c in contests) / count
            ok = ok and (percent != 3.0 or share >= 0.9)
            print(f"{percent:4.1f} % faster: found in {share:4.0%} of {count}; {described(contests)}", flush=True)
    return ok


def rate(options: argparse.Namespace) -> bool:
    """Measured trials per second of a tuning run, of tasks below a millisecond; whether they are 25.

    And whether what is neither building nor measuring takes at most 15 % of the run: loading the search's libraries,
    making spaces, proposing, learning.
    """
    log = str(Path(tempfile.mkdtemp()) / "rate.tunelog.jsonl")
    target = wb.Target.host(threads=options.threads)
    begin = time.perf_counter()
    tasks = extract_tasks(wb.load_onnx(options.model), target)
    loaded = time.perf_counter()
    with busy(options.busy), wb.tune(tasks, trials=options.count, log=log, target=target) as session:
        session.wait(3600)
    whole = time.perf_counter() - loaded
    from workbench.log import load_log

    lines = load_log(log)
    brief = sum(c.reason != PLAY_OFF for c in lines.comparisons)
    end = max((line.elapsed_s for line in (*lines.rounds, *lines.comparisons)), default=0.0)
    finals = end - max(r.elapsed_s for r in lines.rounds)
    short = {r.task_key for r in lines.rounds if r.best_ms is not None and r.best_ms < 1.0}
    rounds = [r for r in lines.rounds if r.task_key in short]
    records = [r for r in lines.records if r.task_key in short]
    trials, seconds = sum(r.trials for r in rounds), sum(r.measure_s for r in rounds)
    built = sorted(1e3 * r.compile_s for r in records if r.compile_s)
    ran = sorted(1e3 * r.run_s for r in records if r.run_s)
    print(f"{trials} trials of {len(short)} tasks below a millisecond: {trials / seconds:.1f} a second")
    for name, times in (("build", built), ("check and time", ran)):
        cuts = [times[int(q * (len(times) - 1))] for q in (0.05, 0.5, 0.95)]
        print(f"{name}: " + ", ".join(f"{q} {ms:.1f} ms" for q, ms in zip(("5 %", "50 %", "95 %"), cuts, strict=True)))
    asked, told, measured = (sum(getattr(r, f"{what}_s") for r in lines.rounds) for what in ("ask", "tell", "measure"))
    overhead = 1.0 - (measured + finals) / whole
    print(
        f"loading and optimising {loaded - begin:.1f} s; then {len(lines.records)} trials in {whole:.1f} s: "
        f"{len(lines.records) / whole:.1f} a second; measuring {measured:.1f} s with {brief} brief comparisons, "
        f"{len(lines.comparisons) - brief} play-offs {finals:.1f} s, asking {asked:.1f} s, learning {told:.1f} s; "
        f"search overhead {overhead:.1%}"
    )
    return trials / seconds >= 25.0 and overhead <= 0.15


FIRST = """
import time, sys
import workbench as wb
session = wb.tune(wb.workloads.matmul(512, 512, 512), trials=4, target=wb.Target.host(threads=int(sys.argv[1])))
while not session.records:
    time.sleep(0.002)
print(time.time())
session.cancel()
"""


def start(options: argparse.Namespace) -> bool:
    """Seconds from the start of a process to its first trial; whether the median is below 0.8."""
    times = []
    for _ in range(5):
        begin = time.time()
        done = subprocess.run([sys.executable, "-c", FIRST, str(options.threads)], capture_output=True, text=True)
        times.append(float(done.stdout.split()[-1]) - begin)
    print("first trial after " + ", ".join(f"{t:.2f}" for t in times) + " s")
    return statistics.median(times) < 0.8


def main() -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("same", "power", "rate", "start"))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--count", type=int, default=200, help="contests, or trials")
    parser.add_argument("--busy", type=int, default=0, help="busy programs beside it")
    parser.add_argument("--brief", action="store_true", help="contests as short as those during a run")
    parser.add_argument("--constants", default="near")
    parser.add_argument("--model", default="light_resnet50")
    options = parser.parse_args()
    return 0 if {"same": same, "power": power, "rate": rate, "start": start}[options.what](options) else 1


if __name__ == "__main__":
    sys.exit(main())
