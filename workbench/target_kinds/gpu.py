"""GPUs, and a CPU that runs their threads one by one."""

from __future__ import annotations

from dataclasses import replace

from workbench.target_kinds.declaration import Option, TargetKind, target_kinds

#: What a block may have; the names are TVM's.
LIMITS = (
    Option("max_num_threads", "threads of a block, at most", 1024),
    Option("max_shared_memory_per_block", "bytes that the threads of a block share, at most", 48 << 10),
    Option("registers_per_block", "registers of 4 bytes that the threads of a block have together", 64 << 10),
    Option("thread_warp_size", "threads that run together; 1 for a processor", 32),
    # What follows is for the estimate of time; the numbers are those of an A100.
    Option("multiprocessors", "multiprocessors of the device", 108),
    Option("shared_memory_per_multiprocessor", "bytes that all blocks on a multiprocessor share", 164 << 10),
    Option("clock_mhz", "million cycles per second of a multiprocessor", 1410),
    Option("memory_gbytes", "gigabytes per second that memory delivers", 1555),
)

#: What no block of CUDA C has more of: threads on any GPU, and bytes of shared memory that a kernel declares.
_CUDA_MOST = {"max_num_threads": 1024, "max_shared_memory_per_block": 48 << 10}

#: Architectures of NVIDIA's GPUs whose multiprocessors are known (`codegen.gpu.occupancy`), and the bytes that all
#: blocks on one of these share.
SHARED = {
    "sm_70": 96 << 10, "sm_75": 64 << 10, "sm_80": 164 << 10, "sm_86": 100 << 10, "sm_87": 164 << 10,
    "sm_89": 100 << 10, "sm_90": 228 << 10, "sm_100": 228 << 10, "sm_120": 100 << 10,
}  # fmt: skip
ARCHES = tuple(SHARED)
#: Options whose default follows from the architecture.
_BY_ARCH = {"shared_memory_per_multiprocessor": SHARED}

#: Products of tiles by a warp: of float16 on all of these, of bfloat16 from sm_80 on.
_TILES = ("wmma-f16", "wmma-bf16")

target_kinds.add(
    TargetKind(
        "cpu-simt",
        "CUDA C run by this CPU, thread by thread: it finds missing barriers.",
        options=LIMITS,
        includes={"cpu-simt": _TILES},
    )
)
target_kinds.add(
    TargetKind(
        "opencl",
        "Any GPU or processor with an OpenCL driver.",
        options=(Option("device", "part of the device's name", "any"), *LIMITS),
        devices="workbench.runtime.device_code.opencl:devices",
    )
)
target_kinds.add(
    TargetKind(
        "cuda",
        "An NVIDIA GPU, through CUDA C.",
        options=(
            Option("arch", "architecture of the GPU", "sm_80", ARCHES),
            *(replace(o, most=_CUDA_MOST.get(o.name), by="arch", defaults=_BY_ARCH.get(o.name, {})) for o in LIMITS),
        ),
        devices="workbench.runtime.device_code.cuda:devices",
        extensions=("arch",),
        includes={f"arch-{a}": _TILES if int(a[3:]) >= 80 else _TILES[:1] for a in ARCHES},
    )
)
