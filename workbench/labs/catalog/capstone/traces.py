"""Schedules that the tuner found for the layer, with 64 trials each (seed 1, two threads).

For targets of AVX-512 (vectors of 16 numbers) and of AVX2 (of 8). A trace is replayed, so that what is counted of it is
counted from the nest, for the student's own target.
"""

from __future__ import annotations

from typing import Any, TypeAlias

Trace: TypeAlias = "tuple[tuple[str, dict[str, Any]], ...]"

_THREE_LEVELS = "n h.0 w.0 o.0 h.1 w.1 o.1 kh kw c h.2 w.2 o.2"
_FOUR_LEVELS = "n h.0 w.0 o.0 h.1 w.1 o.1 c.0 h.2 w.2 o.2 kh kw c.1 h.3 w.3 o.3"


def _wide(o: list[int]) -> Trace:
    """Vectors of 16 numbers: what the tuner found differs between the layers in the factors of o."""
    return (
        ("compute_inline", {"block": "bias_add"}),
        ("split", {"loop": "h", "factors": [13, 1, 1]}),
        ("split", {"loop": "w", "factors": [1, 1, 13]}),
        ("split", {"loop": "o", "factors": o}),
        ("reorder", {"loops": _THREE_LEVELS.split()}),
        ("transform_layout", {"buffer": "W", "dim": 3, "block": 32}),
        ("reverse_compute_at", {"block": "relu", "loop": "o.1"}),
        ("unroll", {"loop": "relu_n"}),
        ("unroll", {"loop": "relu_h"}),
        ("unroll", {"loop": "relu_w"}),
        ("vectorize", {"loop": "relu_o"}),
        ("unroll", {"loop": "h.2"}),
        ("unroll", {"loop": "w.2"}),
        ("vectorize", {"loop": "o.2"}),
        ("parallel", {"loops": ["n", "h.0", "w.0", "o.0"]}),
    )


def _narrow(w: list[int], c: list[int]) -> Trace:
    """Vectors of 8 numbers: the layers differ in the factors of w and of c."""
    return (
        ("compute_inline", {"block": "bias_add"}),
        ("split", {"loop": "h", "factors": [1, 1, 1, 13]}),
        ("split", {"loop": "w", "factors": w}),
        ("split", {"loop": "o", "factors": [8, 1, 1, 8]}),
        ("split", {"loop": "c", "factors": c}),
        ("reorder", {"loops": _FOUR_LEVELS.split()}),
        ("transform_layout", {"buffer": "W", "dim": 3, "block": 8}),
        ("reverse_compute_at", {"block": "relu", "loop": "o.1"}),
        ("split", {"loop": "relu_o", "factors": [None, 8]}),
        ("vectorize", {"loop": "relu_o.1"}),
        ("unroll", {"loop": "h.3"}),
        ("unroll", {"loop": "w.3"}),
        ("vectorize", {"loop": "o.3"}),
        ("parallel", {"loops": ["n", "h.0", "w.0", "o.0"]}),
    )


#: (input channels, whether vectors have 16 numbers or more) -> steps: name of the primitive, and its arguments.
TRACES: dict[tuple[int, bool], Trace] = {
    (384, True): _wide([2, 1, 32]),
    (512, True): _wide([1, 2, 32]),
    (384, False): _narrow([1, 1, 13, 1], [2, 192]),
    (512, False): _narrow([1, 13, 1, 1], [4, 128]),
}
