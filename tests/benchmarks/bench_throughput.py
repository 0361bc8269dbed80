"""What `analysis.throughput` says of innermost loops, against what they take with their data in the first cache.

Run it by hand (one processor with a model; `pip install osaca`, or llvm-mca on the path)::

    python tests/benchmarks/bench_throughput.py [--rounds 40] [--analyser llvm-mca]

Cycles are measured as time over that of a loop whose cycles are known, in turns with the kernel: a chain of fused
multiply-adds of four numbers (each link takes 4 cycles on the processors that are declared here); for tiles, as many
chains of whole vectors as hide that (two multiply-adds a cycle): many processors lower the clock for vectors of 512
bits, and another thread of the core, which a virtual machine does not see, takes ports from both.
The fastest of all rounds counts on both sides. Iterations follow from the operations of an iteration's
instructions. What stands around the loop (tiles that are stored, the outer loops) is part of what is measured.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable

import numpy as np
from bench_peak import Timed, kernel

import workbench as wb
from workbench.analysis.throughput.report import Throughput, throughput
from workbench.machine_model.machine_parameters import Machine
from workbench.runtime.buffers import pointer_table
from workbench.runtime.machine.arithmetic_peak import arithmetic_shape, peak_kernel
from workbench.runtime.native.jit import load

#: Cycles from a multiply-add to the one that needs its result.
CHAIN = 4
WIDTHS = {"zmm": 16, "ymm": 8, "xmm": 4}


def tile(target: wb.Target, rows: int, width: int, k: int) -> wb.Schedule:
    """A tile of accumulators in registers, over rows of B that stay in the first cache."""
    s = wb.Schedule(wb.workloads.matmul(_rows(rows, k), width, k), target)
    i, i1 = s.split("i", [None, rows])
    if width > 1:
        s.reorder(i, "k", i1, "j")
        s.unroll(i1)
        s.vectorize("j")
    return s


def _rows(rows: int, k: int) -> int:
    """Rows of as many tiles as data of the first cache allow: what a call costs is a small part then."""
    return rows * max(1, 768 // k)


#: Rows, columns and length of the sum. Where a chain bounds a loop, the sum is long: else the next one overlaps it.
CASES = {
    "scalar chain": (1, 1, 4096),
    "1 vector of 4": (1, 4, 2048),
    "2 vectors of 4": (2, 4, 1536),
    "4 vectors of 8": (4, 8, 768),
}
#: Rows, and columns in vectors, of tiles that fit the registers; and length of the sum.
TILES = {
    32: ((4, 2, 160), (6, 2, 128), (4, 4, 96), (6, 4, 80)),
    16: ((4, 2, 192), (6, 2, 128), (4, 3, 160), (3, 3, 160)),
}


def cases(target: wb.Target) -> dict[str, tuple[int, int, int]]:
    """Name -> rows, columns and length of the sum, of chains and of tiles for the target's registers."""
    lanes = target.lanes("float32")
    tiles = ((rows, vectors * lanes, k) for rows, vectors, k in TILES[target.vector_registers])
    return CASES | {f"tile {rows}x{width}": (rows, width, k) for rows, width, k in tiles}


def operations(found: Throughput) -> float:
    """Operations of one iteration, by its instructions."""
    total = 0.0
    for one in found.instructions:
        name, *operands = one.text.split()
        wide = re.findall(r"%([zyx]mm)", " ".join(operands))
        if name.startswith("vfmadd") and wide:
            total += 2.0 * (1 if name.endswith("ss") else WIDTHS[wide[-1]])
    return total


def cycle_ns(lanes: int, chains: int, rounds: int = 40_000) -> Callable[[], float]:
    """Nanoseconds of a cycle, measured at each call by chains of multiply-adds."""
    library = load(peak_kernel(lanes, chains, True), target=wb.Target.host())
    count = np.array([rounds], np.int64)
    data = np.concatenate([np.full(2 * lanes, 0.5), np.ones(chains * lanes)]).astype(np.float32)
    table = pointer_table([int(count.ctypes.data), int(data.ctypes.data)])
    timed = Timed(library["wb_peak"], int(table.ctypes.data), 0, 1.0, (library, count, data, table))
    one = 1 if lanes == 16 and Machine.of(wb.Target.host()).halves else 2  # multiply-adds that begin in a cycle
    cycles = max(CHAIN, chains / one) * rounds
    return lambda: 1.0 / timed.rate(1) / cycles


def main() -> None:
    """Entry point."""
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--rounds", type=int, default=60)
    p.add_argument("--analyser")
    args = p.parse_args()
    target = wb.Target.host(threads=1)
    lanes, chains, _ = arithmetic_shape(target)
    narrow, wide = cycle_ns(4, 1), cycle_ns(lanes, chains)
    for name, shape in cases(target).items():
        s = tile(target, *shape)
        found = throughput(s, target, analyser=args.analyser)
        flops = 2.0 * _rows(shape[0], shape[2]) * shape[1] * shape[2]
        timed = kernel(s, target, flops)
        clock = wide if name.startswith("tile") else narrow
        pairs = []
        for _ in range(args.rounds):
            timed.rate(4)
            pairs.append((flops / timed.rate(20), clock()))
        ns, cycle = np.min(np.array(pairs), axis=0)
        cycles = ns / cycle / (flops / operations(found))
        print(
            f"{name:14} measured {cycles:6.2f} cycles, said {found.cycles:6.2f} ({found.bound}), "
            f"off {found.cycles / cycles - 1:+.1%}; {found.analyser}, {found.model}"
        )


if __name__ == "__main__":
    main()
