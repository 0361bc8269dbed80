"""Nests as LLVM text, and the one binding of llvmlite."""
