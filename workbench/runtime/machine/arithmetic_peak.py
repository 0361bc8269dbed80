"""The multiply-add rate that one core reaches when nothing but arithmetic is in the way: the roof of every roofline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from workbench.runtime.buffers import Array, RuntimeStruct, pointer_table
from workbench.runtime.machine import turns
from workbench.runtime.native.emitter import Emitter, External, Native, Pointers, Ptr, exported
from workbench.runtime.native.jit import load
from workbench.runtime.native.timing_loop import clock_for, time_calls
from workbench.runtime.thread_pool.placement import confined

if TYPE_CHECKING:
    from workbench.target import Target

#: Runs of the peak's kernel, and nanoseconds of each; the fastest counts. Chosen, not measured.
_REPEAT = 25
_REPEAT_NS = 2e6


@dataclass(frozen=True, slots=True)
class PeakLoop:
    """A loop of nothing but arithmetic.

    Attributes
    ----------
    kernel : Native
        As of `peak_kernel`.
    data : array of uint8
        What it works on, at first.
    operations : int
        Of a round.
    """

    kernel: Native
    data: Array
    operations: int


def multiply_add_loop(target: Target) -> PeakLoop:
    """Return the loop of multiply-adds in float32 that fills a core's units."""
    lanes, chains, fused = arithmetic_shape(target)
    # Stays at 1: neither infinities nor denormal numbers, which some processors handle slowly.
    data = np.concatenate([np.full(2 * lanes, 0.5), np.ones(chains * lanes)]).astype(np.float32)
    return PeakLoop(peak_kernel(lanes, chains, fused), data.view(np.uint8), 2 * lanes * chains)


def arithmetic_shape(target: Target) -> tuple[int, int, bool]:
    """Return lanes, chains and whether operations are fused, as `peak_kernel` takes them, that fill a core's units."""
    fused = target.arch == "aarch64" or "fma" in target.isa or "avx512f" in target.isa
    return target.lanes("float32"), 24 if target.vector_registers >= 32 else 12, fused


def peak_kernel(lanes: int, chains: int, fused: bool) -> Native:
    """A kernel that runs `chains` independent multiply-add chains on vectors of `lanes` floats.

    Parameters
    ----------
    lanes : int
        float32 values per vector.
    chains : int
        Independent accumulators: enough of them hide the latency of the operation.
    fused : bool
        Whether the CPU has a fused multiply-add; otherwise a multiplication and an addition are emitted.

    Returns
    -------
    Native
        ``wb_peak(bufs, workspace, rt)``; ``bufs[0]`` points to the number of rounds (int64), ``bufs[1]`` to
        ``(2 + chains) * lanes`` floats: factor, addend, accumulators.
    """
    vector = f"<{lanes} x float>"
    fma = External(vector, f"llvm.fma.v{lanes}f32", vector, vector, vector)

    @exported
    def wb_peak(f: Emitter, bufs: Pointers, ws: Ptr, rt: Ptr) -> None:
        rounds, data = bufs.load().as_("i64").load(), bufs[1].load().as_(vector)
        factor, addend = data.load(), data[1].load()
        sums = [f.local(data[2 + k].load()) for k in range(chains)]
        with f.range(rounds, once=True):
            for each in sums:
                before = each.load()
                each.store(fma(f, before, factor, addend) if fused else before.fmul(factor).fadd(addend))
        for k, each in enumerate(sums):
            data[2 + k].store(each.load())

    return wb_peak


class Arithmetic:
    """A loaded kernel of nothing but multiply-adds on whole vectors.

    Parameters
    ----------
    target : Target
        Its vector extensions decide what is emitted; this machine has to have them.
    """

    def __init__(self, target: Target) -> None:
        loop = multiply_add_loop(target)
        self._library = load(loop.kernel, target=target)
        self._rounds = np.array([1000], np.int64)
        self._data, self._flops = loop.data, loop.operations
        self._bufs = pointer_table([int(self._rounds.ctypes.data), int(loop.data.ctypes.data)])
        self._rt = RuntimeStruct(1, None, None)  # the kernel has no parallel regions

    def last(self, ns: float) -> None:
        """Make a run last for about so many nanoseconds."""
        self._rounds[0] = 1000
        self._rounds[0] = max(1, int(1000 * ns / max(self._least(3), 1.0)))

    def gflops(self, repeat: int) -> float:
        """Return the speed of the fastest of so many runs in GFLOP/s (a multiply-add counts as two operations)."""
        return self._flops * int(self._rounds[0]) / max(self._least(repeat), 1.0)

    def close(self) -> None:
        """Unload the code."""
        self._library.close()

    def _least(self, repeat: int) -> float:
        bufs = int(self._bufs.ctypes.data)
        return float(np.min(time_calls(self._library["wb_peak"], bufs, 0, self._rt, repeat, 1, clock_for(1))))


def measure(target: Target) -> float:
    """Measure the float32 multiply-add rate of one core, without memory traffic.

    The best of several runs of about 2 ms of processor time each: other processes can only make a run slower.

    Parameters
    ----------
    target : Target
        As for `Arithmetic`.

    Returns
    -------
    float
        GFLOP/s of one core (a multiply-add counts as two operations).
    """
    kernel = Arithmetic(target)
    try:
        with turns.turn() as turn, confined(turn.cores):
            kernel.last(_REPEAT_NS)
            return kernel.gflops(_REPEAT)
    finally:
        kernel.close()
