"""OpenCL on this machine: its devices, and the driver's compiler. The one module that imports pyopencl."""

from __future__ import annotations

import functools
import importlib.util
import warnings
from collections.abc import Sequence
from typing import Any

from workbench.codegen.gpu.launch import Launch, launches_of, packed
from workbench.errors import BuildError, TargetError, did_you_mean
from workbench.target import Target

#: What names the device that is taken where nobody says which.
ANY = "any"
#: What a device's number among `devices` begins with, where no word of its label finds it.
NUMBER = "#"
#: CL_DEVICE_TYPE_CPU.
_CPU = 1 << 1
_INSTALL = "pip install pyopencl pocl-binary-distribution"


def library() -> Any:
    """Return the module pyopencl; ``ImportError`` without it."""
    import pyopencl

    return pyopencl


@functools.cache
def devices() -> tuple[Any, ...]:
    """Return all devices of this machine, those that are meant for computing first: GPUs, then processors.

    Raises
    ------
    TargetError
        "target.device" without pyopencl, without a driver, or where a driver fails.
    """
    if importlib.util.find_spec("pyopencl") is None:
        raise TargetError("target.device", "pyopencl is not installed.", (), "pip install pyopencl")
    cl = library()
    try:
        found = [d for platform in cl.get_platforms() for d in platform.get_devices()]
    except cl.Error as error:
        text = f"OpenCL finds no driver here: {error}."
        raise TargetError(
            "target.device", text, (), f"install the GPU's OpenCL driver; for the processor: {_INSTALL}"
        ) from error
    kinds = (cl.device_type.GPU, cl.device_type.ACCELERATOR, cl.device_type.CPU)
    places = {kind: k for k, kind in enumerate(kinds)}
    # A simulator says of itself that it is everything.
    return tuple(sorted(found, key=lambda d: places.get(d.type, len(places))))


def label(device: Any) -> str:
    """Return the name of a device and of its driver."""
    return f"{device.name.strip()} ({device.platform.name.strip()})"


def find_device(name: str) -> Any:
    """Return the device whose label has `name` in it, whatever the case; the first one for "any", that of a number
    for "#1".

    Raises
    ------
    TargetError
        "target.device" where there is none.
    """
    number = name.removeprefix(NUMBER)
    if name.startswith(NUMBER) and number.isdecimal() and int(number) < len(devices()):
        return devices()[int(number)]
    labels = {label(d): d for d in reversed(devices())}
    for text, device in reversed(labels.items()):
        if name == ANY or name.lower() in text.lower():
            return device
    if not labels:
        raise TargetError("target.device", "OpenCL finds no device here.", (), _INSTALL)
    message = f"No OpenCL device has {name!r} in its name; there are {', '.join(labels)}."
    raise TargetError("target.device", message, ("device",), did_you_mean(name, labels, "devices"))


def problem(target: Target) -> TargetError | None:
    """Say why nothing can be compiled and run for a target here; None where it can."""
    try:
        find_device(str(target.option("device")))
    except TargetError as error:
        return error
    return None


def is_processor(target: Target) -> bool:
    """Whether kernels for a target take the cores of this machine."""
    return problem(target) is None and is_cpu(find_device(str(target.option("device"))))


def is_cpu(device: Any) -> bool:
    """Whether a device is a processor."""
    return bool(device.type & _CPU)


@functools.cache
def context(name: str) -> Any:
    """Return the context of a device of this process."""
    return library().Context([find_device(name)])


def compile_text(text: str, target: Target) -> bytes:
    """Compile a text with the device's driver.

    Returns
    -------
    bytes
        The device's name, the launches and the driver's binary; `launch.unpacked` reads it.

    Raises
    ------
    TargetError
        "target.device".
    BuildError
        "build.opencl" with the compiler's messages; "gpu.threads", "gpu.shared" where the device has less than the
        target says.
    """
    name = str(target.option("device"))
    binary = _built(text, name).get_info(library().program_info.BINARIES)[0]
    launches = launches_of(text)
    _check(find_device(name), launches)
    return packed(name, launches, bytes(binary))


def assembly_of(text: str, target: Target) -> str:
    """Return what the driver made of a text where that can be read.

    Raises
    ------
    BuildError
        "build.assembly" where the driver keeps it to itself; else as `compile_text`.
    """
    name = str(target.option("device"))
    binary = bytes(_built(text, name).get_info(library().program_info.BINARIES)[0])
    if b"\0" in binary.rstrip(b"\0"):
        text = f"The driver of {label(find_device(name))} does not show its machine code."
        raise BuildError("build.assembly", text, (), "kernel.source is what it was made of")
    return binary.rstrip(b"\0").decode(errors="replace")


def _built(text: str, name: str) -> Any:
    cl, device = library(), find_device(name)
    exact = device.single_fp_config & cl.device_fp_config.CORRECTLY_ROUNDED_DIVIDE_SQRT
    options = ["-cl-fp32-correctly-rounded-divide-sqrt"] if exact else []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # remarks of a compiler that accepts the text
            return cl.Program(context(name), text).build(options, cache_dir=False)
    except cl.Error as error:
        first = "\n".join([line for line in str(error).splitlines() if line.strip()][:14])
        hint = "this is a defect of the code generator, or the device lacks what the text needs (float64)"
        raise BuildError("build.opencl", f"{label(device)} refused the generated code:\n{first}", (), hint) from error


def _check(device: Any, launches: Sequence[Launch]) -> None:
    """Raise where a launch asks for more than the device has."""
    for n in launches:
        sizes = zip(n.block, device.max_work_item_sizes, strict=True)
        if n.threads > device.max_work_group_size or any(b > most for b, most in sizes):
            raise BuildError(
                "gpu.threads",
                f"A block of {n.kernel} has {' x '.join(map(str, n.block))} threads; {label(device)} takes "
                f"{device.max_work_group_size}, along each axis {' x '.join(map(str, device.max_work_item_sizes))}.",
                (n.kernel,),
                f"opencl -max_num_threads={device.max_work_group_size}",
            )
        if n.shared > device.local_mem_size:
            raise BuildError(
                "gpu.shared",
                f"A block of {n.kernel} shares {n.shared} bytes; {label(device)} has {device.local_mem_size}.",
                (n.kernel,),
                f"opencl -max_shared_memory_per_block={device.local_mem_size}",
            )
