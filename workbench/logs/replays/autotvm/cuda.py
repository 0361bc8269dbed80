"""What AutoTVM's templates for GPUs do with their knobs, as steps of our schedules.

Each sums up in a temporary of the thread, from copies in shared and in local memory that are made as far inside as
there. What the threads of a block copy together there, inside their own loops, each thread copies for itself here.
"""

from __future__ import annotations

from collections.abc import Sequence

from workbench.logs.replays.autotvm.threads import (
    Bindings,
    Knobs,
    bind,
    cached,
    caches,
    finish,
    on_grid,
    place,
    tiles,
    unroll,
)
from workbench.logs.replays.taking import ALONE, Taking

REDUCES = "Threads that reduce together have no match here: one reduces."
AXES = "Threads that copy together share each axis of the copy as far as it divides, and all as one axis there."
ONE_BUFFER = "Two buffers that are filled in turns have no match here: each copy is made before it is used."
SPREAD = "The image with zeros between its pixels is made in a nest of its own, not in shared memory."


def convolution(taking: Taking, knobs: Knobs) -> None:
    """Tiles of channels, rows and columns; the reduction in parts, what a part reads in shared memory."""
    copy, shared = caches(taking, "conv")
    n, f, y, x = taking.loops_of(copy)
    axes = tiles(taking, knobs, tile_f=f, tile_y=y, tile_x=x)
    bindings = on_grid(taking, axes, n)
    *inner, rc, ry, rx = place(taking, "conv", axes[2][2], "local")
    parts = tiles(taking, knobs, tile_rc=rc, tile_ry=ry, tile_rx=rx)
    taking.order(*(part[0] for part in parts), *(part[1] for part in parts), *inner)
    for block in shared:
        place(taking, block, parts[-1][0], "shared")
    taking.note(ALONE)
    finish(taking, bindings, knobs, copy)


def depthwise(taking: Taking, knobs: Knobs) -> None:
    """Tiles of channels, rows and columns; the threads of a block copy what it reads, then each what it reads."""
    copy, shared = caches(taking, "conv")
    local = [cached(taking, "conv", taking.buffer_of(block)) for block in shared]
    n, f, y, x = taking.loops_of(copy)
    axes = tiles(taking, knobs, tile_f=f, tile_y=y, tile_x=x)
    bindings = on_grid(taking, axes, n)
    for block in ("conv", *local):
        place(taking, block, axes[2][2], "local")
    threads = [taking.extent(axis[2]) for axis in axes]
    for block in shared:
        bindings += _together(taking, place(taking, block, axes[2][0], "shared"), threads)
    taking.note(AXES)
    finish(taking, bindings, knobs, copy)


def _together(taking: Taking, loops: Sequence[str], threads: Sequence[int]) -> Bindings:
    """Share the work of a copy among the threads of a block; there, all loops of the copy are one before it is cut."""
    single = next(loop for loop in loops if taking.extent(loop) == 1)
    outside, inside = [single], []
    for loop, count in zip((loop for loop in loops if loop != single), threads, strict=True):
        extent = taking.extent(loop)
        outer, inner = taking.cut(loop, [0, max(n for n in range(1, count + 1) if extent % n == 0)])
        outside.append(outer)
        inside.append(inner)
    taking.order(*outside, *inside)
    taking.told("cooperative fetching", "the threads of a block copy together, each axis for itself")
    return list(zip(inside, ("threadIdx.z", "threadIdx.y", "threadIdx.x"), strict=True))


def transposed_2d(taking: Taking, knobs: Knobs) -> None:
    """Tiles of all axes; what is read of the image with zeros between its pixels, and of weights, in shared memory."""
    copy, shared = caches(taking, "conv", apart=True)
    n, f, y, x = taking.loops_of(copy)
    level = list(zip(*tiles(taking, knobs, tile_n=n, tile_f=f, tile_y=y, tile_x=x), strict=True))
    taking.order(*(loop for loops in level for loop in loops))
    bn, bf, by, bx = level[0]
    tn, tf, ty, tx = level[2]
    threads = (tn, tf, taking.do("fuse", ty, tx)) if knobs["fuse_yx"] else (taking.do("fuse", tn, tf), ty, tx)
    blocks = (bn, bf, taking.do("fuse", by, bx))
    taking.told(f"fuse_yx {knobs['fuse_yx']}", "three loops over blocks and three over threads")
    bindings = [(loop, f"blockIdx.{axis}") for loop, axis in zip(blocks, "zyx", strict=True)]
    bindings += [(loop, "vthread") for loop in level[1]]
    bindings += [(loop, f"threadIdx.{axis}") for loop, axis in zip(threads, "zyx", strict=True)]
    _transposed(taking, knobs, shared, bindings, copy)


def transposed_1d(taking: Taking, knobs: Knobs) -> None:
    """As in two dimensions; only the columns are run by threads."""
    copy, shared = caches(taking, "conv", apart=True)
    n, f, x = taking.loops_of(copy)
    level = list(zip(*tiles(taking, knobs, tile_n=n, tile_f=f, tile_x=x), strict=True))
    taking.order(*(loop for loops in level for loop in loops))
    bindings = [(loop, f"blockIdx.{axis}") for loop, axis in zip(level[0], "zyx", strict=True)]
    bindings += [*((loop, "vthread") for loop in level[1]), (level[2][2], "threadIdx.x")]
    _transposed(taking, knobs, shared, bindings, copy)


def _transposed(taking: Taking, knobs: Knobs, shared: Sequence[str], bindings: Bindings, copy: str) -> None:
    loops = place(taking, "conv", bindings[-1][0], "local")
    inner, (channel, *window) = loops[: len(taking.axes_of("conv", "S"))], loops[len(taking.axes_of("conv", "S")) :]
    ((outer, middle, innermost),) = tiles(taking, knobs, tile_rc=channel)
    taking.order(outer, middle, *window, innermost, *inner)
    for block in shared:
        place(taking, block, window[-1], "shared")
    taking.note(ALONE)
    taking.note(SPREAD)
    finish(taking, bindings, knobs, copy)


def dense_large_batch(taking: Taking, knobs: Knobs) -> None:
    """Tiles of rows and columns; the reduction in parts of parts, with copies in shared and in local memory."""
    copy, shared = caches(taking, "dense")
    local = [cached(taking, "dense", taking.buffer_of(block)) for block in shared]
    y, x = taking.loops_of(copy)
    rows, columns = tiles(taking, knobs, tile_x=y, tile_y=x)
    bindings = on_grid(taking, [columns, rows])
    *inner, k = place(taking, "dense", rows[2], "local")
    ((outer, middle, innermost),) = tiles(taking, knobs, tile_k=k)
    taking.order(outer, middle, innermost, *inner)
    for block in local:
        place(taking, block, middle, "local")
    for block in shared:
        place(taking, block, outer, "shared")
    taking.note(ALONE)
    taking.note(ONE_BUFFER)
    bind(taking, bindings)
    taking.unroll(middle)
    taking.told("unroll", f"{middle} is written out")


def dense_small_batch(taking: Taking, knobs: Knobs) -> None:
    """A block for each element, whose threads sum up parts of the reduction and add them up together."""
    ((_, part),) = tiles(taking, knobs, tile_k="k")
    partial = str(taking.do("rfactor", part))
    taking.told("rfactor", f"{partial} holds the sum of each thread")
    y, x, thread = taking.loops_of("dense")
    place(taking, partial, thread, "local")
    taking.note(REDUCES)
    bind(taking, [(y, "blockIdx.y"), (x, "blockIdx.x")])


def batch_matmul(taking: Taking, knobs: Knobs) -> None:
    """Tiles of rows and columns; the reduction in parts, with copies in shared and in local memory."""
    copy, shared = caches(taking, "matmul")
    local = [cached(taking, "matmul", taking.buffer_of(block)) for block in shared]
    b, *axes = taking.loops_of(copy)
    y, x = tiles(taking, knobs, tile_y=axes[0], tile_x=axes[1])
    taking.order(b, *(loop for loops in zip(y, x, strict=True) for loop in loops))
    *inner, k = place(taking, "matmul", x[1], "local")
    ((outer, part),) = tiles(taking, knobs, tile_k=k)
    taking.order(outer, part, *inner)
    for block in local:
        place(taking, block, part, "local")
    rows = {block: place(taking, block, outer, "shared")[1] for block in shared}
    taking.note(ALONE)
    blocks = [(b, "blockIdx.z"), (y[0], "blockIdx.y"), (x[0], "blockIdx.x")]
    bind(taking, [*blocks, (y[1], "threadIdx.y"), (x[1], "threadIdx.x")])
    unroll(taking, knobs, {copy: y[2], "matmul": part, **rows})
