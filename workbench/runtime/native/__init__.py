"""The emitter of the runtime's own machine code: thread pool, timing, exported libraries.

`emitter` turns Python functions into LLVM functions, `layout` has the structures that they share with Python. The
functions stand beside what calls them: in `thread_pool.native_pool`, `measuring.harness`, `machine.peaks` and `roofs`,
`execution.trace`, and `native_*` of `export`. The emitter imports nothing but the standard library, because a loaded
network needs the layouts and no compiler. Kernels are emitted by `workbench.codegen`, whose builder moves operations
out of loops; here code stays where it is written, next to the clock and to atomic words.
"""
