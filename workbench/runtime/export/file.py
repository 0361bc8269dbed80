"""Whether a file may be an exported network, told without opening it as a library."""

from __future__ import annotations

import mmap
import struct
from typing import BinaryIO

from workbench.runtime.export.library_tables import MARK


def problem_of(stream: BinaryIO, size: int) -> str:
    """Say why a file is no exported network; "" when it may be one.

    This is looked at before the system opens it: half a library ends the process, and a whole one runs code of its own.
    """
    head = stream.read(64)
    if head[:6] != b"\x7fELF\x02\x01" or len(head) < 64:
        return "is no library of this system"
    at, each, count = struct.unpack_from("<32xQ14xHH", head)
    stream.seek(at)
    rows = stream.read(each * count)
    if each < 40 or len(rows) < each * count:
        return "is cut off"
    for row in range(0, len(rows), each):
        (offset,), (length,) = struct.unpack_from("<8xQ", rows, row), struct.unpack_from("<32xQ", rows, row)
        if offset + length > size:
            return "is cut off"
    with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return "" if content.find(MARK.encode() + b"\0") >= 0 else "is no exported network"
