"""The emitter of the runtime's own machine code: thread pool, timing, exported libraries.

`emitter` turns Python functions into LLVM functions; those stand beside what calls them, in `thread_pool.native_pool`,
`measuring.harness`, `machine.peaks` and `roofs`, `execution.trace`, and `native_*` of `export`. It imports nothing but
the standard library, because a loaded network needs the layouts that are declared with it and no compiler. Kernels are
emitted by `workbench.codegen`, whose builder moves operations out of loops; here code stays where it is written, next
to the clock and to atomic words.
"""
