"""Machine code of one kernel, linked into this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.codegen.llvm import llvmlite_binding

if TYPE_CHECKING:
    from workbench.codegen.lowering import ObjectCode


class LoadedCode:
    """A kernel linked into this process.

    Parameters
    ----------
    code : ObjectCode
        What to link.

    Raises
    ------
    BuildError
        ``build.link``.
    """

    __slots__ = ("_library", "address", "code")

    def __init__(self, code: ObjectCode) -> None:
        self.code = code
        self._library = llvmlite_binding.load_object(code.object, (code.symbol,))
        self.address = self._library[code.symbol]

    def close(self) -> None:
        """Unload the code."""
        self._library.close()
