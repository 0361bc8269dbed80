"""Figures that are measured: ``python -m workbench.documentation.performance`` writes ``docs/performance.md`` anew.

Run it on a quiet machine; it takes about a minute. What was disturbed says so in the table.
"""

from __future__ import annotations

import datetime
import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import workbench
from workbench import workloads
from workbench.doctor import doctor
from workbench.graph import load_onnx
from workbench.graph.passes.fuse import kernel_count
from workbench.network.compile import compile as compile_network
from workbench.runtime.networks.benchmark import BenchmarkResult
from workbench.runtime.results.measurement import Measurement
from workbench.schedule import Schedule
from workbench.space.default_schedule import default_schedule
from workbench.space.space import make_space
from workbench.target import Target

_HEAD = """# Notes on performance

<!-- The figures are measured: `python -m workbench.documentation.performance` writes this page anew. -->

What to expect, and what helps. The figures below were measured in one go by one command, on the machine and the day
that stand there; yours will differ. Compare shares and factors.

- **Vectors first.** A nest as it is written computes one element at a time. `vectorize` on the loop that moves the last
  dimension of the output gains about the number of lanes, if the operands lie along that loop.
- **Then registers.** Sums that stay in registers cost no loads and stores: `reorder` the reduction outside of a tile
  of the output, and `unroll` the rows of the tile. Enough independent sums hide the latency of a multiply-add.
- **Then caches.** Tiles whose operands stay in the first or second cache. The column *working set* of the nest says
  what a loop touches.
- **Threads last**, on the outermost loop. A kernel below some microseconds gains nothing from a second thread.
- **Leave the last factor to the search.** The first steps give most; which numbers are best depends on the machine.
- A warm start saves more than a faster search: `compile` takes schedules from any log, and a run goes on from one.
"""


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of a table.

    Attributes
    ----------
    what : str
    value : str
        With its unit.
    remark : str
        What it is to be compared with, or what disturbed it.
    """

    what: str
    value: str
    remark: str = ""


def kernels() -> Iterator[Figure]:
    """Measure a matrix product from the nest as written to the tile in registers, step by step; one thread."""
    target = Target.host(threads=1)
    peak = target.peak_gflops()
    s = Schedule(workloads.matmul(512, 512, 512), target)
    first = s.measure()
    yield _kernel("as written", first, first, peak)
    i0, i1 = s.split("i", [None, 8])
    j0, j1 = s.split("j", [None, 2 * target.lanes("float32")])
    s.reorder(i0, j0, "k", i1, j1)
    yield _kernel("tiled: i in 8, j in two vectors, k outside", s.measure(), first, peak)
    s.vectorize(j1)
    yield _kernel("… and j.1 vectorised", s.measure(), first, peak)
    s.unroll(i1)
    yield _kernel("… and i.1 unrolled: sums stay in registers", s.measure(), first, peak)
    yield _kernel("the default schedule, no search", default_schedule(s.base, target).measure(), first, peak)


def _kernel(what: str, m: Measurement, first: Measurement, peak: float) -> Figure:
    gain = f", {first.ms / m.ms:.3g} × as fast" if m is not first else ""
    return Figure(what, f"{m.ms:.4g} ms, {m.gflops:.3g} GFLOP/s", f"{m.gflops / peak:.1%} of peak{gain}{_disturbed(m)}")


def _disturbed(times: Measurement | BenchmarkResult) -> str:
    return "" if times.clean else f"; disturbed: {times.why_not}"


def networks() -> Iterator[Figure]:
    """Measure a network without tuning."""
    began = time.perf_counter()
    graph = load_onnx("light_squeezenet").optimize()
    taken = time.perf_counter() - began
    yield Figure("SqueezeNet: read and optimised", _text(taken), f"{kernel_count(graph)} kernels")
    for threads in (1, min(2, os.cpu_count() or 1)):
        began = time.perf_counter()
        net = compile_network(graph, threads=threads)
        remark = f"not tuned; compiled in {_text(time.perf_counter() - began)}"
        b = net.benchmark()
        words = "thread" if threads == 1 else "threads"
        yield Figure(f"SqueezeNet, {threads} {words}", f"{b.median_ms:.3g} ms", remark + _disturbed(b))


def tools() -> Iterator[Figure]:
    """Measure what a search and a widget wait for."""
    func = workloads.matmul(512, 512, 512, relu=True)
    rng = np.random.default_rng(0)
    variants = make_space(func, Target.host(threads=1)).variants
    variant, rows = max(((v, v.sampler.draw(4096, rng)) for v in variants), key=lambda both: len(both[1]))
    variant.features(rows[:64])  # what is worked out once for a variant
    taken = _timed(lambda: variant.features(rows))
    yield Figure("features of candidates", f"{len(rows) / taken:,.0f} per second", f"{len(rows):,} at once, one thread")
    s = Schedule(func)
    taken = _timed(lambda: s.moves(at="k"))
    yield Figure("legal and refused steps at a loop", _text(taken), f"{len(s.moves(at='k'))} steps, asked for once")
    s.split("j", [None, 16])
    s.reorder("i", "j.0", "k", "j.1")
    s.vectorize("j.1")
    yield Figure("machine code of one kernel", _text(_timed(s.build)), "the first time; later ones are kept")


def _timed(work: Callable[[], object]) -> float:
    """Return how long something takes, in seconds."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _text(seconds: float) -> str:
    if seconds >= 1:
        return f"{seconds:.1f} s"
    return f"{seconds * 1e3:.0f} ms" if seconds >= 0.01 else f"{seconds * 1e3:.1f} ms"


def page(tables: Iterable[tuple[str, Iterable[Figure]]]) -> str:
    """Return the page with its tables, the machine and the day."""
    here = doctor()
    day = datetime.datetime.now(datetime.UTC).date().isoformat()
    caches = ", ".join(f"{name.upper()} {size >> 10} KiB" for name, size in here["caches"].items() if name != "line")
    machine = f"{here['cpu']}, {here['cores']} cores, {caches}; vectors of {here['vector_bytes']} bytes"
    peak = f"peak of one core {Target.host(threads=1).peak_gflops():.0f} GFLOP/s (measured)"
    version = f"Python {here['python']}, version {workbench.__version__}; load average {here['load']:.1f} when it ended"
    parts = [_HEAD, f"## Figures of {day}\n\n{machine};\n{peak};\n{version}."]
    for title, figures in tables:
        rows = "\n".join(f"| {f.what} | {f.value} | {f.remark} |" for f in figures)
        parts.append(f"### {title}\n\n| What | Figure | |\n|---|---|---|\n{rows}")
    return "\n\n".join(parts) + "\n"


def main() -> None:
    """Measure, and write the page."""
    tables = (
        ("A product of matrices of 512 × 512, one thread", kernels()),
        ("A network", networks()),
        ("The workbench itself", tools()),
    )
    file = Path(workbench.__file__).resolve().parent.parent / "docs" / "performance.md"
    file.write_text(page(tables), encoding="utf-8")
    print(f"wrote {file}")


if __name__ == "__main__":
    main()
