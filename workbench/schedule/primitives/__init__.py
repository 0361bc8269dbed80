"""The primitives, a module per family. Importing this package declares all of them."""

from __future__ import annotations

from .annotation import Parallel, Unroll, Vectorize
from .cache import CacheRead, CacheWrite
from .inline import ComputeInline
from .layout import TransformLayout
from .loop import Fuse, Reorder, Split
from .placement import ComputeAt, ReverseComputeAt
from .winograd import Winograd

__all__ = [
    "CacheRead",
    "CacheWrite",
    "ComputeAt",
    "ComputeInline",
    "Fuse",
    "Parallel",
    "Reorder",
    "ReverseComputeAt",
    "Split",
    "TransformLayout",
    "Unroll",
    "Vectorize",
    "Winograd",
]
