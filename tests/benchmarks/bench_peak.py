"""How near three kernels come to a loop of multiply-adds that never leaves the registers, on one core.

Run it by hand (it is not part of the default tests)::

    python tests/benchmarks/bench_peak.py [--rounds 15] [--case matmul_1024]

Kernel and loop run in turns in one process, each turn warm; the ratio of a round is the kernel's rate over the mean
rate of the loop before and after it, and medians are printed. The loop's own rate is not a constant: many processors
lower the clock of wide vectors under load. So the ratio says more than the rates. Neighbours take caches and memory:
measure on a quiet machine.

What the schedules have in common: as many accumulators as registers hold beside one row of the other operand and one
broadcast; weights packed by the width of the tile, so that the inner loop reads them in order; the reduction innermost
around the tile, whole, so that results are written once; the next panel of B on its way while this one is used. The
code generator unrolls the innermost loop, asks for the lines of the results ahead of time and leaves guards out of it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import workbench as wb
from workbench.codegen.backend import build_func
from workbench.codegen.llvm import llvmlite_binding
from workbench.runtime.buffers import RuntimeStruct, aligned_empty, concrete_shape, pointer_table
from workbench.runtime.machine.arithmetic_peak import peak_kernel
from workbench.runtime.native.jit import load
from workbench.runtime.native.timing_loop import clock_for, time_calls
from workbench.runtime.thread_pool.pool import serial_launch_address

Args = tuple[int, ...]


def matmul(target: wb.Target, n: int, rows: int, vectors: int, block: int) -> wb.Schedule:
    """A tile of `rows` by `vectors` registers; `block` rows of A stay in the second cache while B passes by."""
    s = wb.Schedule(wb.workloads.matmul(n, n, n, constant_b=True), target)
    width = vectors * target.lanes("float32")
    i, i0, i1 = s.split("i", [None, block // rows, rows], tail="guard")
    j0, j1 = s.split("j", [None, width])
    s.transform_layout("B", 1, width)
    s.reorder(i, j0, i0, "k", i1, j1)
    if block > rows:
        s.annotate(j0, "prefetch", 1)
    s.unroll(i1)
    s.vectorize(j1)
    return s


def conv3x3(target: wb.Target, size: int, channels: int, pixels: int, vectors: int) -> wb.Schedule:
    """A tile of `pixels` by `vectors` registers; the padding chooses pointers outside of the loop over channels."""
    s = wb.Schedule(wb.workloads.conv2d_nhwc(size, size, channels, channels), target)
    width = vectors * target.lanes("float32")
    w0, w1 = s.split("w", [None, pixels])
    o0, o1 = s.split("o", [None, width])
    s.transform_layout("W", 3, width)
    s.compute_inline("pad")
    s.reorder(o0, "h", w0, "kh", "kw", "c", w1, o1)
    s.unroll(w1)
    s.vectorize(o1)
    return s


#: Case -> (what to build, arguments after the target, for 32 and for 16 vector registers; operations).
CASES: dict[str, tuple[Callable[..., wb.Schedule], Args, Args, float]] = {
    "matmul_512": (matmul, (512, 8, 2, 8), (512, 6, 2, 6), 2.0 * 512**3),
    "matmul_1024": (matmul, (1024, 6, 4, 174), (1024, 6, 2, 174), 2.0 * 1024**3),
    "conv3x3_64_56": (conv3x3, (56, 64, 4, 4), (56, 64, 4, 2), 2.0 * 56 * 56 * 64 * 64 * 9),
}


@dataclass
class Timed:
    """Machine code with its operands."""

    address: int
    bufs: int
    workspace: int
    flops: float
    keep: tuple[object, ...]

    def rate(self, calls: int = 1) -> float:
        """Run some times in a row; GFLOP/s of this thread's processor time."""
        around = RuntimeStruct(1, None, serial_launch_address())
        ns = time_calls(self.address, self.bufs, self.workspace, around, 1, calls, clock_for(1))
        return float(self.flops / ns[0])


def kernel(s: wb.Schedule, target: wb.Target, flops: float) -> Timed:
    """Compile a schedule and fill its operands."""
    code = build_func(s.func, target)
    library = llvmlite_binding.load_object(code.object, (code.symbol,))
    rng = np.random.default_rng(0)
    operands = []
    for b in s.func.params:
        array = aligned_empty(concrete_shape(b.shape), b.dtype)
        array[...] = rng.standard_normal(array.shape)
        operands.append(array)
    table = pointer_table([int(a.ctypes.data) for a in operands])
    workspace = aligned_empty((code.shared_bytes + code.per_thread_bytes + 64,), "uint8")
    keep = (library, operands, table, workspace)
    return Timed(library[code.symbol], int(table.ctypes.data), int(workspace.ctypes.data), flops, keep)


def register_loop(target: wb.Target, rounds: int = 20_000) -> Timed:
    """The loop of `runtime.machine.arithmetic_peak`: multiply-adds on as many chains as hide their latency."""
    lanes, chains = target.lanes("float32"), 24 if target.vector_registers >= 32 else 12
    library = load(peak_kernel(lanes, chains, True), target=target)
    count = np.array([rounds], np.int64)
    data = np.concatenate([np.full(2 * lanes, 0.5), np.ones(chains * lanes)]).astype(np.float32)
    table = pointer_table([int(count.ctypes.data), int(data.ctypes.data)])
    keep = (library, count, data, table)
    return Timed(library["wb_peak"], int(table.ctypes.data), 0, 2.0 * lanes * chains * rounds, keep)


def compare(timed: Timed, loop: Timed, rounds: int) -> tuple[float, float, float]:
    """Medians over rounds: rate of the kernel, rate of the loop, ratio of a round."""
    calls = max(1, int(4e6 * 150 / timed.flops))
    rows = []
    for _ in range(rounds):
        timed.rate()
        before = loop.rate(4)
        timed.rate()
        mine = timed.rate(calls)
        around = (before + loop.rate(4)) / 2
        rows.append((mine, around, mine / around))
    mine, around, ratio = np.median(np.array(rows), axis=0)
    return float(mine), float(around), float(ratio)


def main() -> None:
    """Entry point."""
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--rounds", type=int, default=15)
    p.add_argument("--case", choices=CASES)
    args = p.parse_args()
    target = wb.Target.host(threads=1)
    loop = register_loop(target)
    for name in [args.case] if args.case else CASES:
        make, many, few, flops = CASES[name]
        s = make(target, *(many if target.vector_registers >= 32 else few))
        mine, around, ratio = compare(kernel(s, target, flops), loop, args.rounds)
        print(f"{name:16} {mine:6.1f} GFLOP/s, register loop {around:6.1f}, ratio {ratio:.3f}")


if __name__ == "__main__":
    main()
