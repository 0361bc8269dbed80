"""Nests as LLVM text and machine code, for x86-64 and AArch64.

Start with `module` (a function) and `loops` (loops and blocks); `expressions`, `memory_access` and `addresses` write
expressions, loads and addresses, `accumulators` keeps reductions in registers, `vmath` has the functions.
`llvmlite_binding` is the only module that imports llvmlite.
"""
