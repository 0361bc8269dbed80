"""Random schedules for a GPU, run on the CPU thread by thread: grids, shared and local temporaries, fetches, tails."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

from property.nests import NESTS
from property.randoms import Made, random_schedule
from workbench.errors import ScheduleError
from workbench.ir import For, blocks
from workbench.schedule import Schedule

#: Blocks of the nests that are cut in tiles, each with its operands.
TILED = {
    "matmul": "C",
    "matmul_bias_relu": "C",
    "dense": "dense",
    "conv": "conv",
    "conv_bias_relu": "conv",
    "conv_dilated": "conv",
    "conv_stride_bias_relu": "conv",
}


class Maker:
    """Takes steps for a GPU as far as they are legal, and counts what was taken."""

    def __init__(self, rng: random.Random, nest: str) -> None:
        self.rng = rng
        self.made = Made(nest, Schedule(NESTS[nest]()))
        self.s = self.made.schedule

    def try_(self, name: str, *args: object) -> object:
        """Take a step; its result, or None where it is refused."""
        try:
            out = getattr(self.s, name)(*args)
        except ScheduleError as e:
            self.made.refused.append(e.code)
            return None
        self.made.states.append(self.s.func)
        return out

    def path(self, block: str) -> list[For]:
        """Loops around a block, outermost first."""
        return list(self.s.func.block(block)[1])

    def cut(self, loop: str, parts: int) -> list[str]:
        """Cut a loop into parts at random sizes, some of which do not divide it."""
        extent = self.s.func.loop(loop)[0].extent
        sizes: list[int | None] = [None]
        rest = extent
        for _ in range(parts - 1):
            sizes.append(self.rng.choice([d for d in (1, 2, 3, 4, 5, 8) if d <= max(1, rest)]))
            rest //= sizes[-1]
        whole = not isinstance(extent, int) or extent % _product(sizes[1:]) == 0
        how = () if whole else ("guard",)
        names = self.try_("split", loop, sizes, *how)
        return list(names) if names is not None else [loop]


def _product(sizes: list[int]) -> int:
    out = 1
    for n in sizes:
        out *= n
    return out


def tiled(rng: random.Random) -> Made:
    """Tiles over blocks, virtual threads and threads, with steps of the sum between fetches into shared memory."""
    nest = rng.choice(list(TILED))
    m, block = Maker(rng, nest), TILED[nest]
    copy = m.try_("cache_write", block) if rng.random() < 0.8 else None
    outer = str(copy or block)
    spatial = [lp.name for lp in m.path(outer) if not _adds(m, outer, lp.name)][-2:]
    if rng.random() < 0.3:
        spatial = spatial[-1:]
    tiles = [m.cut(name, 3) for name in spatial]
    if all(len(t) == 3 for t in tiles):
        order = [t[k] for k in range(3) for t in tiles]
        adding = [lp.name for lp in m.path(outer) if _adds(m, outer, lp.name)]
        m.try_("reorder", *order, *adding)
        home = tiles[-1][0]
        if copy and m.try_("compute_at", block, home) is not None:
            _inner(m, block, home)
        _bind(m, [t[0] for t in tiles], ["blockIdx.y", "blockIdx.x"] if len(tiles) == 2 else ["blockIdx.x"])
        _bind(m, [t[1] for t in tiles], ["threadIdx.y", "threadIdx.x"] if len(tiles) == 2 else ["threadIdx.x"])
        if rng.random() < 0.5:
            m.try_("vectorize" if rng.random() < 0.5 else "unroll", tiles[-1][2])
    _scopes(m)
    return m.made


def _adds(m: Maker, block: str, loop: str) -> bool:
    return loop in m.s.func.block(block)[0].driving("R")


def _bind(m: Maker, loops: list[str], kinds: list[str]) -> None:
    for loop, kind in zip(loops, kinds, strict=True):
        if m.rng.random() < 0.93:
            m.try_("bind", loop, kind)


def _inner(m: Maker, block: str, home: str) -> None:
    """The tile of a block: its own threads, its sum in steps, its operands fetched together for each step."""
    path = [lp.name for lp in m.path(block)]
    inner = path[path.index(home) + 1 :]
    adding = [n for n in inner if _adds(m, block, n)]
    rows = [n for n in inner if n not in adding][-2:]
    parts = [m.cut(n, 2) for n in rows]
    steps = m.cut(adding[0], 2) if adding else []
    if any(len(p) != 2 for p in parts) or len(steps) != 2:
        return
    m.try_("reorder", steps[0], *(p[0] for p in parts), steps[1], *adding[1:], *(p[1] for p in parts))
    for buffer in dict.fromkeys(ld.buffer for ld in m.s.func.block(block)[0].loads()):
        if buffer != m.s.func.block(block)[0].buffer and m.rng.random() < 0.8:
            _fetch(m, block, buffer, steps[0])
    axes = ["threadIdx.y", "threadIdx.x"][-len(parts) :]
    if m.rng.random() < 0.1:
        axes.reverse()
    virtual = m.rng.random() < 0.2
    if virtual:
        m.try_("bind", parts[0][1], "vthread")
    _bind(m, [p[0] for p in parts], axes)
    for p in parts[virtual:]:
        if m.rng.random() < 0.6:
            m.try_("unroll", p[1])


def _fetch(m: Maker, block: str, buffer: str, at: str) -> None:
    copy = m.try_("cache_read", block, buffer)
    if copy is None or m.try_("compute_at", copy, at) is None:
        return
    path = [lp.name for lp in m.path(str(copy))]
    own = path[path.index(at) + 1 :]
    whole = m.try_("fuse", *own) if len(own) > 1 and m.rng.random() < 0.8 else own[-1]
    if whole is None:
        return
    vector = m.rng.choice((1, 1, 2, 4))
    extent = m.s.func.loop(str(whole))[0].extent
    vector = vector if isinstance(extent, int) and extent % vector == 0 else 1
    names = m.try_("split", whole, [None, m.rng.choice((2, 3, 4, 8)), vector], "guard")
    if names is not None:
        _bind(m, [names[1]], ["threadIdx.x"])
        m.try_("vectorize", names[2])
    if m.rng.random() < 0.85:
        m.try_("set_scope", f"{buffer}.local", "shared")


def _scopes(m: Maker) -> None:
    for b in m.s.func.buffers:
        if b.role == "temp" and b.scope == "auto" and m.rng.random() < 0.6:
            m.try_("set_scope", b.name, m.rng.choice(("local", "local", "shared", "global")))


def stages(rng: random.Random) -> Made:
    """Several stages in one kernel, with threads over rows or columns of each."""
    m = Maker(
        rng, rng.choice(("elementwise", "softmax", "layer_norm", "two_outputs", "stencils", "row_share", "pad_end"))
    )
    tops = [s.name for s in m.s.func.body if isinstance(s, For)]
    last = tops[-1]
    if rng.random() < 0.5:
        for name in reversed([b.name for b, path in blocks(m.s.func.body) if path[0].name != last]):
            if rng.random() < 0.8:
                m.try_("compute_at", name, last)
        if rng.random() < 0.8:
            m.try_("bind", last, "blockIdx.x")
    for block in [b.name for b, _ in blocks(m.s.func.body)]:
        path = [lp for lp in m.path(block) if lp.kind == "serial" and lp.name != last]
        spatial = [lp.name for lp in path if not _adds(m, block, lp.name)]
        for name, axis in zip(reversed(spatial), rng.choice((("x",), ("x", "y"), ("y", "x"))), strict=False):
            parts = m.cut(name, 2) if rng.random() < 0.5 else [name]
            if rng.random() < 0.9:
                m.try_("bind", rng.choice(parts), f"threadIdx.{axis}")
        adding = [lp.name for lp in path if _adds(m, block, lp.name)]
        if adding and rng.random() < 0.6:
            parts = m.cut(adding[-1], 2) if rng.random() < 0.7 else [adding[-1]]
            if len(parts) == 2 and rng.random() < 0.5:
                m.try_("reorder", *reversed(parts))
            m.try_("bind", rng.choice(parts), rng.choice(("threadIdx.x", "threadIdx.z")))
    _scopes(m)
    return m.made


def anything(rng: random.Random) -> Made:
    """A random schedule of whatever steps, with a binding."""
    return random_schedule(rng, "bind")


def vectorised(rng: random.Random) -> Made:
    """A random schedule of a processor, with a vectorised loop."""
    return random_schedule(rng, "vectorize")


KINDS: tuple[tuple[Callable[[random.Random], Made], int], ...] = ((tiled, 6), (stages, 3), (anything, 1))


def run(count: int, seed: int = 0) -> Counter[str]:
    """Make random schedules and check each: as every other, and its result where threads run it.

    Returns
    -------
    Counter
        How many there were of each kind, and how many used what.
    """
    from property import checks

    rng, tally = random.Random(seed), Counter[str]()
    for _ in range(count):
        make = rng.choices([k for k, _ in KINDS], [w for _, w in KINDS])[0]
        made = make(rng)
        checks.check_states(made)
        text = checks.check_on_threads(made)
        tally[make.__name__] += 1
        body = text.partition('extern "C" __global__')[2]
        for what, word in WORDS.items():
            tally[what] += word in body
    return tally


def run_on(device: str, count: int, seed: int = 0, alone: bool = False) -> int:
    """Make random schedules and check the result of each on an OpenCL device; return how many it could run.

    Where threads run `alone`, one by one, the schedules are those of processors, with vectors.
    """
    from property import checks
    from workbench.target import Target

    rng, target = random.Random(seed), Target(f"opencl -device={device}{' -thread_warp_size=1' if alone else ''}")
    kinds = ((vectorised, 1),) if alone else KINDS
    makers, weights = [k for k, _ in kinds], [w for _, w in kinds]
    return sum(checks.check_on_device(rng.choices(makers, weights)[0](rng), target) for _ in range(count))


#: What a text has in it where a schedule uses something.
WORDS = {
    "barrier": "__syncthreads();",
    "shared": "__shared__ ALIGNED",
    "local": "    ALIGNED float",
    "vector": "4 *)&",
    "virtual": "(vthread)",
    "some threads": "if ((int)threadIdx",
    "two kernels": "kernel1(",
    "tail": "if (",
}
