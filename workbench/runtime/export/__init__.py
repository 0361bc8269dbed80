"""Compiled networks as shared libraries with a plain C interface, and the way back into Python.

`write_library.export_library` writes one, `loader.load_exported` opens one. The loader is separate because it must do
without the compiler: whoever opens a library needs NumPy and nothing else. `native_contexts`, `native_calls` and
`native_memory` are the machine code that every library has, `library_tables` is what differs between them.
"""
