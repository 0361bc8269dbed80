"""The primitives, a module per family. Importing this package declares all of them."""

from __future__ import annotations

from workbench.schedule.primitives.annotation import Annotate, Parallel, Unroll, Vectorize
from workbench.schedule.primitives.binding import Bind
from workbench.schedule.primitives.cache import CacheRead, CacheWrite
from workbench.schedule.primitives.inline import ComputeInline, ReverseComputeInline
from workbench.schedule.primitives.layout import TransformLayout
from workbench.schedule.primitives.loop import Fuse, Reorder
from workbench.schedule.primitives.padding import Pad
from workbench.schedule.primitives.placement import ComputeAt, ReverseComputeAt
from workbench.schedule.primitives.reduction import DecomposeReduction, RFactor
from workbench.schedule.primitives.split import Split, Tile
from workbench.schedule.primitives.storage import SetScope, StorageAlign
from workbench.schedule.primitives.tensorize import Tensorize
from workbench.schedule.primitives.unit import Blockize
from workbench.schedule.primitives.winograd import Winograd

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
