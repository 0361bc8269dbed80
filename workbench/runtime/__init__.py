"""Machine code at work: kernels, networks, threads, worker processes, measurements, exported libraries.

Imports `graph`, `schedule`, `codegen` and below. Start with `kernel` (one compiled function). Subrooms: `workers`
(processes that build and run candidates), `measuring` (check, repeat, compare), `machine` (peaks, roofs, other
programs), `thread_pool` (parallel regions), `execution` (compiled networks), `native` (the emitter of the runtime's own
machine code), `export` (shared libraries with a C header).
"""
