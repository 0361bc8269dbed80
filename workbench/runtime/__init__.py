"""Machine code at work: kernels, networks, threads, worker processes, measurements, exported libraries.

Imports `graph`, `schedule`, `codegen` and below; inside, imports go down this list only. `schedule_methods`: what
`Schedule.build`, `measure` and `reproduce` do. `workers`: processes that build and run candidates. `execution`:
networks that were compiled here; `export`: shared libraries with a C header; `networks`: what both have. `measuring`:
check, then time. `machine`: its peaks, other programs. `kernel`: one compiled function, the place to start.
`thread_pool`: parallel regions. `native`: the runtime's own machine code, with the timing loop. `results`: what a
measurement gives, and comparisons. `buffers`: aligned memory; `free_list`: what waits to be used again.
"""
