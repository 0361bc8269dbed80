"""Code of one kernel, linked into this process or handed to a device."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from workbench.codegen.device_image import unwrapped
from workbench.codegen.llvm import llvmlite_binding
from workbench.runtime.device_code import DEVICES

if TYPE_CHECKING:
    from workbench.codegen.lowering import ObjectCode
    from workbench.errors import WorkbenchError


class LoadedCode:
    """A kernel that this process can call by its address.

    Parameters
    ----------
    code : ObjectCode
        What to link.

    Raises
    ------
    BuildError
        ``build.link``.
    """

    __slots__ = ("_device", "_library", "address", "code")

    def __init__(self, code: ObjectCode) -> None:
        self.code = code
        device, image = unwrapped(code.object)
        self._library: Any
        self._device: Any = None
        if device in DEVICES:
            self._library = self._device = import_module(f"workbench.runtime.device_code.{device}").load(code, image)
            self.address: int = self._device.address
        else:
            self._library = llvmlite_binding.load_object(code.object, (code.symbol,))
            self.address = self._library[code.symbol]

    def fault(self) -> WorkbenchError | None:
        """Say what the device found wrong in the last call; code of this machine finds nothing."""
        return None if self._device is None else self._device.fault()

    def close(self) -> None:
        """Unload the code."""
        self._library.close()
