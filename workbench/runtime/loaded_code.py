"""Code of one kernel, linked into this process or handed to a device."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from workbench.codegen.device_image import unwrapped
from workbench.codegen.llvm import llvmlite_binding
from workbench.runtime.device_code import DEVICES, WITH_MEMORY

if TYPE_CHECKING:
    from workbench.codegen.lowering import ObjectCode
    from workbench.errors import WorkbenchError


def has_memory(code: ObjectCode) -> bool:
    """Whether a kernel runs on a device with memory of its own."""
    return unwrapped(code.object)[0] in WITH_MEMORY


class LoadedCode:
    """A kernel that this process can call by its address.

    Attributes
    ----------
    device : object or None
        What the code was handed to; a `DeviceKernel` where `has_memory`.

    Parameters
    ----------
    code : ObjectCode
        What to link.

    Raises
    ------
    BuildError
        ``build.link``.
    """

    __slots__ = ("_library", "address", "code", "device")

    def __init__(self, code: ObjectCode) -> None:
        self.code = code
        device, image = unwrapped(code.object)
        self._library: Any
        self.device: Any = None
        if device in DEVICES:
            self._library = self.device = import_module(f"workbench.runtime.device_code.{device}").load(code, image)
            self.address: int = self.device.address
        else:
            self._library = llvmlite_binding.load_object(code.object, (code.symbol,))
            self.address = self._library[code.symbol]

    def fault(self) -> WorkbenchError | None:
        """Say what the device found wrong in the last call; code of this machine finds nothing."""
        return None if self.device is None else self.device.fault()

    @property
    def device_ms(self) -> float | None:
        """Milliseconds of the last call where the device counts its cycles, which are the same for every call."""
        return getattr(self.device, "device_ms", None)

    def close(self) -> None:
        """Unload the code."""
        self._library.close()
