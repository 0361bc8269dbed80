"""What this machine can do at most: the multiply-add rate of one core, measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from workbench.runtime import harness
from workbench.runtime.buffers import aligned_empty, pointer_table
from workbench.runtime.loaded import CodeImage, LoadedCode, Surroundings

if TYPE_CHECKING:
    from workbench.target import Target

#: Multiply-adds per accumulator and call; one call takes a few tenths of a millisecond.
_STEPS = 50_000

#: Milliseconds of continuous work before the first reading: wide vectors change the clock of a core.
_WARM_MS = 20.0


def peak_text(lanes: int, accumulators: int) -> str:
    """Return a kernel of independent chains of multiply-adds that stay in registers."""
    vector = f"<{lanes} x float>"
    step, phis, total = [], [], []
    for k in range(accumulators):
        phis.append(f"  %a{k} = phi {vector} [ %start{k}, %entry ], [ %n{k}, %loop ]")
        step.append(f"  %m{k} = fmul contract {vector} %a{k}, %x\n  %n{k} = fadd contract {vector} %m{k}, %y")
        previous = f"%t{k - 1}" if k else "zeroinitializer"
        total.append(f"  %t{k} = fadd {vector} %n{k}, {previous}")
    starts = []
    for k in range(accumulators + 2):
        starts.append(f"  %p{k} = getelementptr inbounds {vector}, ptr %data, i64 {k}")
        starts.append(f"  %start{k} = load {vector}, ptr %p{k}, align 64")
    body = "\n".join([*phis, "  %i = phi i64 [ 0, %entry ], [ %i1, %loop ]", *step])
    return f"""
define void @peak(ptr %bufs, ptr %workspace, ptr %rt) nounwind {{
entry:
  %data = load ptr, ptr %bufs, align 8
{chr(10).join(starts)}
  %x = fadd {vector} %start{accumulators}, zeroinitializer
  %y = fadd {vector} %start{accumulators + 1}, zeroinitializer
  br label %loop
loop:
{body}
  %i1 = add nuw nsw i64 %i, 1
  %more = icmp ult i64 %i1, {_STEPS}
  br i1 %more, label %loop, label %out
out:
{chr(10).join(total)}
  store {vector} %t{accumulators - 1}, ptr %data, align 64
  ret void
}}
"""


def measure(target: Target) -> float:
    """Measure the sustained float32 multiply-add rate of one core with registers only.

    Parameters
    ----------
    target : Target
        Its vector width and registers are used; this machine must be able to run its code.

    Returns
    -------
    float
        GFLOP/s (a multiply-add counts as two operations): the median over about 50 ms of continuous work.
    """
    from workbench.codegen import llvm_bind

    lanes, accumulators = target.vector_bytes // 4, 24 if target.vector_registers >= 32 else 12
    code = llvm_bind.compile_ir(peak_text(lanes, accumulators), target)
    loaded = LoadedCode(CodeImage(code, "peak"))
    data = aligned_empty((accumulators + 2, lanes), "float32")
    data[...] = 0.999  # converges to 1: neither denormal nor infinite numbers, which can be slower
    data[-1] = 0.001
    around, table = Surroundings(1), pointer_table([data.ctypes.data])
    flops = 2 * lanes * accumulators * _STEPS

    def run(repeat: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        return harness.time_calls(
            loaded.address, int(table.ctypes.data), around.workspace, around.rt, repeat, 1, harness.cpu_clock()
        )

    once_ms = max(float(run(1)[0]) * 1e-6, 1e-3)
    run(max(1, round(_WARM_MS / once_ms)))
    nanoseconds = float(np.median(run(max(5, round(50.0 / once_ms)))))
    loaded.close()
    return flops / nanoseconds
