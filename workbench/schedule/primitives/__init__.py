"""The primitives, a module per family. Importing this package declares all of them."""

from __future__ import annotations

from .annotation import Annotate, Parallel, Unroll, Vectorize
from .binding import Bind
from .cache import CacheRead, CacheWrite
from .inline import ComputeInline, ReverseComputeInline
from .layout import TransformLayout
from .loop import Fuse, Reorder
from .padding import Pad
from .placement import ComputeAt, ReverseComputeAt
from .reduction import DecomposeReduction, RFactor
from .split import Split, Tile
from .storage import SetScope, StorageAlign
from .tensorize import Tensorize
from .unit import Blockize
from .winograd import Winograd

__all__ = [
    "Annotate",
    "Bind",
    "Blockize",
    "CacheRead",
    "CacheWrite",
    "ComputeAt",
    "ComputeInline",
    "DecomposeReduction",
    "Fuse",
    "Pad",
    "Parallel",
    "RFactor",
    "Reorder",
    "ReverseComputeAt",
    "ReverseComputeInline",
    "SetScope",
    "Split",
    "StorageAlign",
    "Tensorize",
    "Tile",
    "TransformLayout",
    "Unroll",
    "Vectorize",
    "Winograd",
]
