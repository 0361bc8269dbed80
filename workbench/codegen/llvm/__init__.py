"""Nests as LLVM text and machine code, for x86-64 and AArch64.

Start with `module` (a function) and `nest` (loops and blocks); `exprs`, `access` and `addresses` write expressions,
loads and addresses, `accumulators` keeps reductions in registers, `llvm_bind` is the only module that imports llvmlite.
A backend of another processor is a module like `x86`.
"""
