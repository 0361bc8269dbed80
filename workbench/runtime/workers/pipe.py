"""Messages between the main process and its workers: a length, then a pickle.

Pickle is permitted here and nowhere else: these are private, unnamed pipes between processes that this package
started itself, running the same code. Nothing that comes from a file or a network is ever unpickled.
"""

from __future__ import annotations

import pickle
import struct
from typing import Any, BinaryIO

_HEADER = struct.Struct("<Q")

#: First answer of every worker: it is up.
HELLO = "hello"


def write_frame(stream: BinaryIO, message: Any) -> None:
    """Send one message; raises OSError when the other side is gone."""
    payload = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    stream.write(_HEADER.pack(len(payload)) + payload)
    stream.flush()


def read_frame(stream: BinaryIO) -> Any:
    """Receive one message; raises EOFError when the other side is gone."""
    header = _read(stream, _HEADER.size)
    return pickle.loads(_read(stream, _HEADER.unpack(header)[0]))


def _read(stream: BinaryIO, size: int) -> bytes:
    parts = []
    while size:
        part = stream.read(size)
        if not part:
            raise EOFError
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
