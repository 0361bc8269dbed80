"""Networks that the tests export."""

from __future__ import annotations

import numpy as np
from runtime.llvm_kernels import ADD, code

from workbench.runtime.networks.execution_plan import ArraySpec, CallPlan, ExecutablePlan, HostCall, Slot

N = 256
BYTES = 4 * N


def hand_made(threads=1, value=1.0, **changes):
    """y = x + 2 + value through the arena, z = constant + value; three outputs are what the network was given or has.

    Its kernels are written by hand: they run their tasks on the pool and have a workspace.
    """
    one, two = code(ADD, N, value), code(ADD, N, 2.0, shared=128, per_thread=64)
    given = {
        "inputs": (ArraySpec("x", (16, 16)), ArraySpec("unused/é", (3,), "int64")),
        "outputs": (
            ArraySpec("gpu_0/y", (N,)),
            ArraySpec("z", (N,)),
            ArraySpec("w", (16, 16)),
            ArraySpec("t", (N,)),
            ArraySpec("c", (N,)),
            ArraySpec("y", (N,)),
        ),
        "constants": (np.full(5, 3, "int8"), np.full(N, 7, "float32")),
        "arena_bytes": BYTES + 64,
        "calls": (
            CallPlan("first", one, (Slot("input", 0), Slot("arena", 64)), flops=N, task="a", tuned=True),
            CallPlan("second", two, (Slot("arena", 64), Slot("output", 0))),
            CallPlan("third", one, (Slot("const", 1), Slot("output", 1)), flops=N),
        ),
        "threads": threads,
        "output_slots": (
            Slot("output", 0),
            Slot("output", 1),
            Slot("input", 0),
            Slot("arena", 64),
            Slot("const", 1),
            Slot("output", 0),
        ),
    }
    return ExecutablePlan(**{**given, **changes})


def feeds(seed=0):
    """Inputs of `hand_made`."""
    rng = np.random.default_rng(seed)
    return {"x": rng.standard_normal((16, 16), dtype="float32"), "unused/é": np.arange(3)}


def with_step(plan):
    """The same with a step in Python."""
    spec = ArraySpec("t", (N,))
    step = HostCall(
        "n7: NonZero", lambda a: (a,), ((Slot("arena", 64), spec),), ((Slot("output", 0), spec),), "no nest", "NonZero"
    )
    return ExecutablePlan(
        inputs=plan.inputs, outputs=plan.outputs, constants=plan.constants, arena_bytes=plan.arena_bytes,
        calls=(*plan.calls, step), output_slots=plan.output_slots,
    )  # fmt: skip


def same(got, want):
    """Whether two results agree bit for bit, in the same order."""
    return list(got) == list(want) and all(
        got[name].dtype == want[name].dtype
        and got[name].shape == want[name].shape
        and got[name].tobytes() == want[name].tobytes()
        for name in want
    )
