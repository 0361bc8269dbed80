"""GPUs, and a CPU that runs their threads one by one."""

from __future__ import annotations

from workbench.target_kinds.declaration import Option, TargetKind, target_kinds

#: What a block may have; the names are TVM's.
LIMITS = (
    Option("max_num_threads", "threads of a block, at most", 1024),
    Option("max_shared_memory_per_block", "bytes that the threads of a block share, at most", 48 << 10),
)

target_kinds.add(
    TargetKind("cpu-simt", "CUDA C run by this CPU, thread by thread: it finds missing barriers.", options=LIMITS)
)
