"""Object code that the runtime does not link but hands to a device: a first line that says to which, and the rest."""

from __future__ import annotations

_BEGINS, _ENDS = b"workbench device ", b"\n"


def wrapped(device: str, image: bytes) -> bytes:
    """Mark an image for a device."""
    return _BEGINS + device.encode() + _ENDS + image


def unwrapped(code: bytes) -> tuple[str, bytes]:
    """Return the device, "" for object code of this machine, and the image."""
    if not code.startswith(_BEGINS):
        return "", code
    head, _, image = code.partition(_ENDS)
    return head[len(_BEGINS) :].decode(), image
