"""Code for an accelerator like VTA: load, compute and store run side by side and wait for each other by tokens.

`design` reads a target's sizes, `instructions` says what there is, `assembly` writes and reads it. `nests` turns a
scheduled function into instructions, with `copies` for transfers, `products` for GEMM and `elementwise` for the ALU;
`tokens` says who waits for whom. `simulator` runs a program and counts its cycles.
"""
