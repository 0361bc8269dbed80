"""Code generation: a concrete loop nest becomes LLVM text and object code."""

from .module import ObjectCode, ParamInfo, build_func, emit_module

__all__ = ["ObjectCode", "ParamInfo", "build_func", "emit_module"]
