"""How code for a device is called from this process: as a function of buffers, like code of this machine.

A module each, with `load`: from an `ObjectCode` and its image to an object with an `address`, which is called like a
kernel of this machine, `fault` (what the last call found wrong) and `close`. `runtime.loaded_code` finds them by the
name that the image begins with. Those with memory of their own are `device.Device` values behind a
`device_kernel.DeviceKernel`, which measurements use without copying operands there and back.
"""

#: Names of the modules, and of those whose devices have memory of their own.
DEVICES = ("simt", "vta", "opencl", "cuda")
WITH_MEMORY = frozenset(DEVICES[2:])
