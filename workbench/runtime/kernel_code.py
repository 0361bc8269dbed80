"""The machine code of one kernel: bytes that another process can be given, and code linked into this one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workbench.codegen.llvm.llvm_bind import Library
    from workbench.codegen.lowering import ObjectCode


@dataclass(frozen=True, slots=True)
class CodeImage:
    """A kernel in the form that crosses process borders: bytes and numbers.

    Parameters
    ----------
    code : bytes
        The object file.
    symbol : str
        The kernel's name in it.
    shared_bytes, per_thread_bytes : int
        Workspace: one block of ``shared_bytes + nthreads * per_thread_bytes``.
    """

    code: bytes
    symbol: str
    shared_bytes: int = 0
    per_thread_bytes: int = 0

    @classmethod
    def of(cls, code: ObjectCode) -> CodeImage:
        """Take what a runner needs out of the code generator's result."""
        return cls(code.object, code.symbol, code.shared_bytes, code.per_thread_bytes)

    def workspace_bytes(self, threads: int) -> int:
        """Return the size of the workspace for so many threads."""
        return self.shared_bytes + threads * self.per_thread_bytes


class LoadedCode:
    """A kernel linked into this process.

    Parameters
    ----------
    image : CodeImage
        What to link.

    Raises
    ------
    BuildError
        ``build.link``.
    """

    __slots__ = ("_library", "address", "image")

    def __init__(self, image: CodeImage) -> None:
        from workbench.codegen.llvm import llvm_bind

        self.image = image
        self._library: Library = llvm_bind.load_object(image.code, (image.symbol,))
        self.address = self._library[image.symbol]

    def close(self) -> None:
        """Unload the code."""
        self._library.close()
