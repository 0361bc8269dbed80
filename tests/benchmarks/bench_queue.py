"""Twelve notebooks on one machine that measure at once: with turns, and without.

Run it by hand, with nobody else on the machine::

    python tests/benchmarks/bench_queue.py queue          with a queue; the last processor is for measurements
    python tests/benchmarks/bench_queue.py queue --threads 2 --cores 0       the same, none is
    python tests/benchmarks/bench_queue.py none           without
    python tests/benchmarks/bench_queue.py queue --students 24 --rounds 2 --json

Every student is a process with worker processes of its own, and has a nest of another size; every third is bound by
memory. First each measures while the others are idle (quiet), then all do at once; between two measurements each
compiles something. Printed are the medians of those that are clean, how far each is from the student's quiet one, what
is not clean and why, and how long each waited.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from workbench.queue_settings import VARIABLE, Settings
from workbench.runtime.machine.queue_line import MeasurementQueue

QUIET_ROUNDS = 3
"""Measurements of each student while the others are idle; the median counts."""

STUDENT = """
import json, sys, time
import workbench as wb

number, threads = int(sys.argv[1]), int(sys.argv[2])
target = wb.Target.host(threads)

def sum_of_arrays(n):
    a, b = wb.te.placeholder((n,), name="A"), wb.te.placeholder((n,), name="B")
    return wb.te.func(wb.te.compute((n,), lambda i: a[i] + b[i], name="C"))

def nest(width):
    if number % 3 == 2:  # bound by memory
        s = wb.Schedule(sum_of_arrays((2 + number % 4) << 20), target)
        s.split("i", [None, 1 << 16, width])
        s.vectorize("i.2")
        if threads > 1:
            s.parallel("i.0")
        return s
    size = 160 + 16 * (number % 12)
    s = wb.Schedule(wb.workloads.matmul(size, size, size), target)
    s.split("j", [None, width])
    s.reorder("i", "j.0", "k", "j.1")
    s.vectorize("j.1")
    if threads > 1:
        s.parallel("i")
    return s

own, other = nest(16), 0
for line in sys.stdin:
    found = []
    for _ in range(int(line)):
        if line.startswith("+"):
            other += 1
            nest([2, 4, 8][other % 3]).build()
        began = time.monotonic()
        m = own.measure()
        found.append({"ms": m.ms, "clean": m.clean, "why_not": m.why_not, "status": m.status, "waited_s": m.waited_s,
                      "took_s": time.monotonic() - began})
    print(json.dumps(found), flush=True)
"""


class Student:
    """A process that measures when it is told to."""

    def __init__(self, number: int, threads: int, queue: Path | None, cores: frozenset[int]) -> None:
        environment = {**os.environ, "JUPYTERHUB_USER": f"student{number}"}
        environment.pop(VARIABLE, None)
        command = [sys.executable, "-c", STUDENT, str(number), str(threads)]
        if queue is not None:
            environment[VARIABLE] = str(queue)
        if cores:
            command = ["taskset", "--cpu-list", ",".join(map(str, sorted(cores))), *command]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )

    def begin(self, word: str) -> None:
        """Tell how many times to measure; with "+" before, something is compiled before each."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{word}\n")
        self._process.stdin.flush()

    def end(self) -> list[dict[str, Any]]:
        """Return what came of it."""
        assert self._process.stdout is not None
        found: list[dict[str, Any]] = json.loads(self._process.stdout.readline())
        return found

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()


def run(students: list[Student], rounds: int) -> dict[str, Any]:
    """Measure quietly, then all at once."""
    began = time.monotonic()
    for student in students:  # workers start, kernels are built
        student.begin("1")
    for student in students:
        student.end()
    quiet: list[list[dict[str, Any]]] = [[] for _ in students]
    started = time.monotonic()
    for _ in range(QUIET_ROUNDS):  # not one student after the other: processors change their speed
        for student, found in zip(students, quiet, strict=True):
            student.begin("1")
            found += student.end()
    between = time.monotonic()
    for student in students:
        student.begin(f"+{rounds}")
    busy = [student.end() for student in students]
    return {
        "start_s": started - began, "quiet_s": between - started, "busy_s": time.monotonic() - between,
        "quiet": quiet, "busy": busy,
    }  # fmt: skip


def report(found: dict[str, Any]) -> dict[str, Any]:
    """Print a line for each student; return the worst figures."""
    lines = []
    print(f"{'student':>8} {'quiet ms':>9} {'at once ms':>11} {'off':>6} {'worst':>7} {'not clean':>9} {'waited s':>9}")
    for k, (quiet, busy) in enumerate(zip(found["quiet"], found["busy"], strict=True)):
        usual = statistics.median(m["ms"] for m in quiet)
        clean = [m["ms"] / usual - 1 for m in busy if m["clean"] and m["status"] == "ok"]
        line = {
            "off": statistics.median(clean or [math.nan]), "worst": max(clean, key=abs, default=math.nan),
            "unclean": len(busy) - len(clean), "wait_s": max(m["waited_s"] for m in busy),
            "scatter": max(abs(m["ms"] / usual - 1) for m in quiet),
        }  # fmt: skip
        lines.append(line)
        print(
            f"{k:8} {usual:9.4f} {usual * (1 + line['off']):11.4f} {line['off']:+6.1%} {line['worst']:+7.1%}"
            f" {line['unclean']:9} {line['wait_s']:9.2f}"
        )
        for reason in {m["why_not"] for m in busy} - {""}:
            print(f"{'':8} {reason}")
    every = [m for busy in found["busy"] for m in busy]
    summary = {
        "off": max(abs(line["off"]) for line in lines), "worst": max(abs(line["worst"]) for line in lines),
        "quiet_scatter": max(line["scatter"] for line in lines), "unclean": sum(line["unclean"] for line in lines),
        "measurements": len(every), "median_wait_s": statistics.median(m["waited_s"] for m in every),
        "longest_wait_s": max(m["waited_s"] for m in every), "longest_s": max(m["took_s"] for m in every),
    }  # fmt: skip
    print(
        f"medians {summary['off']:.1%} from quiet at most, single ones {summary['worst']:.1%}"
        f" (quiet ones {summary['quiet_scatter']:.1%} from each other); {summary['unclean']} of {len(every)} not clean;"
        f" waits: median {summary['median_wait_s']:.2f} s, longest {summary['longest_wait_s']:.2f} s;"
        f" a measurement took {summary['longest_s']:.2f} s at most; all of it {found['busy_s']:.1f} s"
        f" (starting {found['start_s']:.1f} s, quiet {found['quiet_s']:.1f} s)"
    )
    return summary


def main() -> None:
    """Run what the command line says."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("mode", choices=["queue", "none"])
    options.add_argument("--students", type=int, default=12)
    options.add_argument("--rounds", type=int, default=4)
    options.add_argument("--threads", type=int, default=1, help="of each nest")
    options.add_argument("--cores", type=int, default=1, help="processors that are for measurements")
    options.add_argument("--json", action="store_true")
    given = options.parse_args()
    cores = sorted(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as folder:
        queue = Path(folder) / "queue" if given.mode == "queue" else None
        if queue is not None:
            MeasurementQueue.make(queue, Settings(frozenset(cores[len(cores) - given.cores :])))
        others = frozenset(cores[: -given.cores]) if given.cores and queue is not None else frozenset()
        students = [Student(k, given.threads, queue, others) for k in range(given.students)]
        try:
            summary = report(run(students, given.rounds))
        finally:
            for student in students:
                student.close()
    if given.json:
        print(json.dumps(summary))


if __name__ == "__main__":
    main()
