"""How code for a device is called from this process: as a function of buffers, like code of this machine.

A module each, with `load`: from an `ObjectCode` and its image to an object with an `address`, which is called like a
kernel of this machine, `fault` (what the last call found wrong) and `close`. `runtime.loaded_code` finds them by the
name that the image begins with.
"""

#: Names of the modules.
DEVICES = ("simt",)
