"""Code generation: a concrete loop nest becomes text of a backend's language, and object code."""

from .backend import Backend, backend_for, backends, backends_here, build_func, generate_func, require_runnable
from .lowering import ObjectCode, ParamInfo
from .module import emit_module

__all__ = [
    "Backend",
    "ObjectCode",
    "ParamInfo",
    "backend_for",
    "backends",
    "backends_here",
    "build_func",
    "emit_module",
    "generate_func",
    "require_runnable",
]
