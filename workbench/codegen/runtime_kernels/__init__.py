"""Runtime kernels: bodies with loops and branches, for operators whose data decide places or order.

No affine loop nest says what TopK or ScatterND do. Such an operator names a body instead, a Python function of a
`module.KernelEmitter` in `workbench.graph.kernels`, and the sizes and types that it is emitted for; `declaration` holds
the two. The body runs once, when the kernel is compiled, and writes LLVM text with the numbers and arrays of
`language`. What comes out has the ABI of every other kernel: cached, linked, called and exported in the same way.
"""
