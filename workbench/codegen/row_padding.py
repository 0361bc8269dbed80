"""Room at the end of the rows of small temporaries, so that a vector that the end of its loop cuts is stored whole.

A processor hands what was stored to a load that follows at once, but not what was stored under a mask: then the load
waits for the first cache. So the lanes that are off are stored, too, behind the end of the row, where nobody looks.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from workbench.codegen.temporary_storage import place
from workbench.ir import Align, Buffer, Func, accesses, blocks
from workbench.ir.poly import concrete


def with_slack(func: Func, vector_bytes: int) -> Func:
    """Make the rows of temporaries on the stack whole vectors long, where a vector loop runs along broken ones."""
    small = [b for b in func.buffers if b.role == "temp" and len(b.shape) > 1 and not b.align]
    wanted = {b.name: b for b in small if not _whole(b, vector_bytes)}
    if not wanted:
        return func
    along: set[str] = set()
    for block, path in blocks(func.body):
        lane = path[-1].name if path and path[-1].kind == "vectorize" else None
        for a in accesses(block):
            if a.buffer in wanted and not all(d.plain for x in a.index for d, _ in x.terms):
                del wanted[a.buffer]
            elif lane is not None and a.index and a.index[-1].coefficient(lane) == 1:
                along.add(a.buffer)
    longer = [_lengthened(b, vector_bytes) for name, b in wanted.items() if name in along]
    if not longer:
        return func
    placed = place(func.with_buffers(longer)).placed
    return func.with_buffers([b for b in longer if placed[b.name].kind == "stack"])


def _row(b: Buffer, vector_bytes: int) -> int:
    """Length of a row in whole vectors; of less than one, in the narrowest that holds it."""
    lanes, n = vector_bytes // np.dtype(b.dtype).itemsize, concrete(b.shape[-1])
    lanes = min(lanes, 1 << (n - 1).bit_length())
    return -(-n // lanes) * lanes


def _whole(b: Buffer, vector_bytes: int) -> bool:
    return _row(b, vector_bytes) == b.shape[-1]


def _lengthened(b: Buffer, vector_bytes: int) -> Buffer:
    return replace(b, align=(Align(len(b.shape) - 2, _row(b, vector_bytes)),))
