"""Compiled networks as shared libraries with a plain C interface, and the way back into Python.

`write_library.export_library` writes one, `loader.load_exported` opens one. The loader is separate because it must do
without the compiler: whoever opens a library needs NumPy and nothing else. `native_contexts`, `native_calls` and
`native_memory` are the machine code that every library has, `library_tables` is what differs between them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.runtime.export.write_library import Export as Export
    from workbench.runtime.export.write_library import export_library as export_library

__all__ = ["Export", "export_library"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from workbench.runtime.export import write_library

    return getattr(write_library, name)
