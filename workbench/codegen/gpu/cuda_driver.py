"""NVIDIA's driver through ctypes: the few functions of libcuda that a runner needs."""

from __future__ import annotations

import ctypes
import functools
import sys
from typing import Any

from workbench.errors import RunError, TargetError
from workbench.target import Target
from workbench.target_kinds.gpu import ARCHES

LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
#: Numbers of attributes of a device.
_MAJOR, _MINOR, _UNITS, _THREADS, _SHARED = 75, 76, 16, 1, 8

_PTR, _SIZE, _INT, _UINT, _MEM = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_uint, ctypes.c_uint64
_FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "cuInit": (_UINT,),
    "cuDeviceGet": (_PTR, _INT),
    "cuDeviceGetName": (ctypes.c_char_p, _INT, _INT),
    "cuDeviceGetAttribute": (_PTR, _INT, _INT),
    "cuDevicePrimaryCtxRetain": (_PTR, _INT),
    "cuCtxSetCurrent": (_PTR,),
    "cuCtxSynchronize": (),
    "cuMemAlloc_v2": (_PTR, _SIZE),
    "cuMemFree_v2": (_MEM,),
    "cuMemcpyHtoD_v2": (_MEM, _PTR, _SIZE),
    "cuMemcpyDtoH_v2": (_PTR, _MEM, _SIZE),
    "cuMemsetD8_v2": (_MEM, ctypes.c_ubyte, _SIZE),
    "cuModuleLoadData": (_PTR, ctypes.c_char_p),
    "cuModuleUnload": (_PTR,),
    "cuModuleGetFunction": (_PTR, _PTR, ctypes.c_char_p),
    "cuLaunchKernel": (_PTR, *(_UINT,) * 7, _PTR, _PTR, _PTR),
    "cuEventCreate": (_PTR, _UINT),
    "cuEventRecord": (_PTR, _PTR),
    "cuEventSynchronize": (_PTR,),
    "cuEventElapsedTime": (_PTR, _PTR, _PTR),
    "cuGetErrorString": (_INT, _PTR),
}


class Driver:
    """The driver with its first device; a call that fails raises `RunError` "run.device"."""

    def __init__(self) -> None:
        self._lib = ctypes.CDLL(LIBRARY)
        for name, kinds in _FUNCTIONS.items():
            getattr(self._lib, name).argtypes = kinds
        self.title = "CUDA"
        self("cuInit", 0)
        self.device = _INT()
        self("cuDeviceGet", ctypes.byref(self.device), 0)
        title = ctypes.create_string_buffer(200)
        self("cuDeviceGetName", title, len(title), self.device)
        self.title = title.value.decode(errors="replace")
        self.arch = f"sm_{self.attribute(_MAJOR)}{self.attribute(_MINOR)}"
        self.units, self.threads, self.shared = (self.attribute(k) for k in (_UNITS, _THREADS, _SHARED))

    def attribute(self, number: int) -> int:
        """Return an attribute of the device."""
        value = _INT()
        self("cuDeviceGetAttribute", ctypes.byref(value), number, self.device)
        return value.value

    def __call__(self, function: str, *arguments: Any) -> None:
        """Call a function of the driver."""
        if code := getattr(self._lib, function)(*arguments):
            text = ctypes.c_char_p()
            self._lib.cuGetErrorString(code, ctypes.byref(text))
            said = (text.value or b"unknown error").decode(errors="replace")
            hint = "smaller operands or blocks, if it ran out of something; compute-sanitizer finds wrong accesses"
            raise RunError("run.device", f"{self.title} failed in {function}: {said} ({code}).", (), hint)


@functools.cache
def driver() -> Driver:
    """Return the driver of this machine.

    Raises
    ------
    TargetError
        "target.device" where there is none, or no GPU.
    """
    try:
        return Driver()
    except (OSError, AttributeError) as error:
        text = f"There is no NVIDIA driver here ({error})."
        hint = "kernels are compiled and can be looked at; to run them, take a machine with a driver, or cpu-simt"
        raise TargetError("target.device", text, (), hint) from error
    except RunError as error:
        raise TargetError("target.device", f"NVIDIA's driver finds no GPU: {error.message}", ()) from error


def problem(target: Target) -> TargetError | None:
    """Say why kernels for a target do not run here; None where they do."""
    try:
        found = driver()
    except TargetError as error:
        return error
    wanted = str(target.option("arch"))
    if _runs(found.arch, wanted):
        return None
    text = f"{found.title} is {found.arch}; it does not run code for {wanted}."
    arch = nearest(found.arch)
    return TargetError("target.device", text, (), f"cuda -arch={arch}" if arch else f"a GPU of {', '.join(ARCHES)}")


def nearest(arch: str) -> str | None:
    """Return the newest architecture that a target can have and whose code a device of `arch` runs; None if none is."""
    return next((a for a in reversed(ARCHES) if _runs(arch, a)), None)


def _runs(arch: str, code: str) -> bool:
    here, wanted = (divmod(int(a.removeprefix("sm_")), 10) for a in (arch, code))
    return here[0] == wanted[0] and here[1] >= wanted[1]
