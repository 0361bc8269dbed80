"""A message with arrays as bytes: the length of its JSON (4 bytes, little-endian), the JSON, the arrays.

The JSON is ``{"message": …, "sizes": [bytes of each array]}``. Numbers that JSON does not have are null.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any


def frame(message: Mapping[str, Any], buffers: Sequence[bytes] = ()) -> bytes:
    """Return a message, and the arrays beside it, as bytes."""
    whole = {"message": message, "sizes": [len(one) for one in buffers]}
    try:
        head = json.dumps(whole, allow_nan=False).encode()
    except ValueError:
        head = json.dumps(_finite(whole), allow_nan=False).encode()
    return b"".join([len(head).to_bytes(4, "little"), head, *buffers])


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
