"""A message with arrays as bytes: the length of its JSON (4 bytes, little-endian), the JSON, the arrays.

The JSON is ``{"message": …, "sizes": [bytes of each array]}``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any


def frame(message: Mapping[str, Any], buffers: Sequence[bytes] = ()) -> bytes:
    """Return a message, and the arrays beside it, as bytes."""
    head = json.dumps({"message": message, "sizes": [len(one) for one in buffers]}).encode()
    return b"".join([len(head).to_bytes(4, "little"), head, *buffers])
