"""The runtime's own machine code: an emitter, and the timing loop.

`emitter` turns Python functions into LLVM functions, `structs` has the structures that they share with Python,
`floating_point` says how threads compute, `jit` compiles and links them. The functions stand beside what calls them: in
`timing_loop`, `thread_pool.native_pool`, `machine.arithmetic_peak` and `measured_roofline`, `execution.timeline`, and
`native_*` of `export`. The emitter imports nothing but the standard library, because a loaded network needs the
structures and no compiler. Kernels are emitted by `workbench.codegen`, whose builder moves operations out of loops;
here code stays where it is written, next to the clock and to atomic words.
"""
