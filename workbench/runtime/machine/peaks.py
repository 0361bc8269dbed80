"""The multiply-add rate that one core reaches when nothing but arithmetic is in the way: the roof of every roofline."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from workbench.target import Target

_REPEAT = 25
_REPEAT_NS = 2e6


def peak_text(lanes: int, chains: int, fused: bool) -> str:
    """LLVM text of a kernel that runs `chains` independent multiply-add chains on vectors of `lanes` floats.

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
    str
        Module with ``wb_peak(bufs, workspace, rt)``; ``bufs[0]`` points to the number of rounds (int64), ``bufs[1]`` to
        ``(2 + chains) * lanes`` floats: factor, addend, accumulators.
    """
    v = f"<{lanes} x float>"
    size = 4 * lanes

    def at(k: int) -> str:
        return f"getelementptr inbounds i8, ptr %data, i64 {k * size}"

    head = [f"  %p{k} = {at(k)}\n  %v{k} = load {v}, ptr %p{k}, align 4" for k in range(chains + 2)]
    phis = [f"  %a{k} = phi {v} [ %v{k + 2}, %entry ], [ %b{k}, %round ]" for k in range(chains)]
    if fused:
        body = [f"  %b{k} = call {v} @llvm.fma.v{lanes}f32({v} %a{k}, {v} %v0, {v} %v1)" for k in range(chains)]
    else:
        body = [f"  %m{k} = fmul {v} %a{k}, %v0\n  %b{k} = fadd {v} %m{k}, %v1" for k in range(chains)]
    tail = [f"  store {v} %b{k}, ptr %p{k + 2}, align 4" for k in range(chains)]
    parts = [
        f"declare {v} @llvm.fma.v{lanes}f32({v}, {v}, {v})",
        "define void @wb_peak(ptr %bufs, ptr %ws, ptr %rt) nounwind {",
        "entry:",
        "  %np = load ptr, ptr %bufs, align 8",
        "  %rounds = load i64, ptr %np, align 8",
        "  %dp = getelementptr inbounds ptr, ptr %bufs, i64 1",
        "  %data = load ptr, ptr %dp, align 8",
        *head,
        "  br label %round",
        "round:",
        "  %i = phi i64 [ 0, %entry ], [ %i1, %round ]",
        *phis,
        *body,
        "  %i1 = add nuw nsw i64 %i, 1",
        "  %more = icmp ult i64 %i1, %rounds",
        "  br i1 %more, label %round, label %out",
        "out:",
        *tail,
        "  ret void",
        "}",
    ]
    return "\n".join(parts) + "\n"


class Arithmetic:
    """A loaded kernel of nothing but multiply-adds on whole vectors.

    Parameters
    ----------
    target : Target
        Its vector extensions decide what is emitted; this machine has to have them.
    """

    def __init__(self, target: Target) -> None:
        from workbench.codegen.llvm import llvm_bind
        from workbench.runtime.buffers import RuntimeStruct, pointer_table
        from workbench.runtime.thread_pool.pool import serial_launch_address

        lanes = target.lanes("float32")
        chains = 24 if target.vector_registers >= 32 else 12
        fused = target.arch == "aarch64" or "fma" in target.isa or "avx512f" in target.isa
        code = llvm_bind.compile_ir(peak_text(lanes, chains, fused), target)
        self._library = llvm_bind.load_object(code, ("wb_peak",))
        self._rounds = np.array([1000], np.int64)
        # Stays at 1: neither infinities nor denormal numbers, which some processors handle slowly.
        data = np.concatenate([np.full(lanes, 0.5), np.full(lanes, 0.5), np.ones(chains * lanes)]).astype(np.float32)
        self._data, self._flops = data, 2 * lanes * chains
        self._bufs = pointer_table([int(self._rounds.ctypes.data), int(data.ctypes.data)])
        self._rt = RuntimeStruct(1, None, serial_launch_address())

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
        from workbench.runtime.measuring.harness import clock_for, time_calls

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
        kernel.last(_REPEAT_NS)
        return kernel.gflops(_REPEAT)
    finally:
        kernel.close()
