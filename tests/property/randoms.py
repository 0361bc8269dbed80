"""Random schedules: proposals for every primitive, legal or not, and traces made of those that are accepted."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np
import primitives

from property import tensors
from property.nests import NESTS
from property.programs import SMALL, program
from workbench.errors import ScheduleError
from workbench.ir import For, Func, blocks, loops
from workbench.schedule import Hole, Schedule, registry
from workbench.schedule.primitive import Primitive

#: Primitives, and how often each is tried early and late in a schedule (marks come last: a marked loop is closed).
WEIGHTS = {
    "split": (6, 3),
    "fuse": (3, 2),
    "reorder": (4, 4),
    "compute_at": (4, 2),
    "reverse_compute_at": (4, 2),
    "compute_inline": (2, 1),
    "reverse_compute_inline": (1.5, 1),
    "cache_write": (3, 1),
    "cache_read": (2, 1),
    "tile": (1, 1),
    "pad": (2, 0.5),
    "decompose_reduction": (1, 1),
    "rfactor": (1.5, 1),
    "transform_layout": (3, 2),
    "winograd": (1, 0),
    "parallel": (0.5, 4),
    "vectorize": (0.5, 4),
    "unroll": (0.5, 3),
    "bind": (0.2, 2),
    "annotate": (0.2, 1),
    "set_scope": (0.5, 1),
    "storage_align": (0.5, 1),
    "tensorize": (0.1, 0.1),
    **primitives.given("WEIGHT", (1, 1)),
}
PLACING = {"winograd", "transform_layout", "cache_write", "cache_read", "compute_at", "reverse_compute_at"}
#: Nests on which a primitive has something to do; the others take any.
SUITED = {
    "compute_at": [
        "conv",
        "conv_bias_relu",
        "conv_stride_bias_relu",
        "depthwise",
        "elementwise",
        "softmax",
        "max_pool_padded",
        "layer_norm",
        "matmul_bias_relu",
        "concat",
        "avg_pool",
        "conv_dilated",
        "relu_conv",
        "stencils",
        "elementwise",
        "lookup",
    ],
    "reverse_compute_at": [
        "matmul_bias_relu",
        "conv_bias_relu",
        "conv_stride_bias_relu",
        "depthwise",
        "elementwise",
        "avg_pool",
        "global_avg_pool",
        "dense",
        "conv_residual",
        "softmax",
        "pad_end",
        "two_outputs",
    ],
    "compute_inline": [
        "lookup",
        "conv",
        "conv_bias_relu",
        "depthwise",
        "elementwise",
        "matmul_bias_relu",
        "softmax",
        "concat",
        "max_pool_padded",
        "relu_conv",
        "stencils",
        "two_outputs",
    ],
    "winograd": [
        "conv",
        "conv_bias_relu",
        "relu_conv",
        "conv_stride_bias_relu",
        "conv_dilated",
    ],
    "transform_layout": [
        "lookup",
        "matmul_bias_relu",
        "dense",
        "conv",
        "conv_bias_relu",
        "conv_stride_bias_relu",
        "conv_residual",
        "depthwise",
        "elementwise",
        "layer_norm",
        "conv_grouped",
    ],
}
SUITED["set_scope"] = SUITED["storage_align"] = SUITED["compute_at"]
#: Steps that chance alone hardly takes, before a primitive that asks for them.
PREPARED = {"pipeline": primitives.pipeline.ROW}
#: What is taken where nothing else is said: the nests of intrinsics are large.
COMMON = [name for name in NESTS if name not in tensors.NESTS]
STRUCTURAL = {
    "split",
    "fuse",
    "reorder",
    "compute_at",
    "reverse_compute_at",
    "compute_inline",
    "cache_write",
    "cache_read",
    "transform_layout",
    "winograd",
    "pad",
    "decompose_reduction",
    "rfactor",
    "tile",
    "reverse_compute_inline",
}


#: After these steps the reduction `total` runs once per `j`, in a nest without `share`.
_LONELY = (("compute_at", "total", "j"), ("compute_inline", "share"))
#: Most runs of the blocks of a random computation.
POINTS = 6000


@dataclass
class Made:
    """A schedule with the function after each step, and the steps that were refused on the way."""

    nest: str
    schedule: Schedule
    states: list[Func] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        return [p.name for p in self.schedule.trace]

    def __str__(self) -> str:
        return f"{self.nest}: " + "; ".join(str(p) for p in self.schedule.trace)


#: Sequences that chance finds too rarely: the last step is illegal, or would be if the one before had not been taken.
SCENARIOS: tuple[tuple[str, tuple[tuple[object, ...], ...]], ...] = (
    (
        "elementwise",
        (("compute_at", "add", "relu_j"), ("compute_at", "tanh", "relu_j"), ("compute_at", "add", "relu_i")),
    ),
    ("row_share", (*_LONELY, ("reorder", "total_k", "j"))),
    ("row_share", (*_LONELY, ("fuse", "j", "total_i", "total_k"))),
    ("row_share", (*_LONELY, ("reorder", "total_i", "j"), ("fuse", "j", "total_k"))),
    ("row_share", (*_LONELY, ("parallel", "share_i", "j"))),
    ("row_share", (*_LONELY, ("parallel", "share_i"))),
    ("row_share", (*_LONELY, ("decompose_reduction", "total", "j"))),
    ("stencils", (("split", "C_i", [4, 4]), ("compute_at", "B", "C_i.0"), ("compute_at", "A", "C_i.0"))),
    ("stencils", (("split", "C_i", [4, 4]), ("compute_at", "A", "C_i.0"), ("compute_at", "B", "C_i.0"))),
    ("relu_conv", (("compute_at", "pad", "h"), ("compute_at", "first", "h"))),
    ("max_pool", (("pad", "pool", "kh", 4), ("split", "kh", [None, 2]), ("rfactor", "kh.0"))),
    ("lookup", (("cache_read", "part", "table"), ("compute_at", "table.copy", "part_i"))),
    ("lookup", (("compute_inline", "part"), ("compute_inline", "table"), ("compute_inline", "row"))),
    ("lookup", (("transform_layout", "table", 0, 3), ("vectorize", "Y_j"))),
    ("lookup", (("pad", "part", "i", 8), ("pad", "total", "i", 8))),
    ("late_factor", (("reverse_compute_inline", "Q"),)),
    ("both_given", (("reverse_compute_at", "B", "i"), ("split", "i", [None, 4], "peel"))),
    ("row_before", (("compute_at", "S", "T_i"),)),
    ("pad_end", (("reverse_compute_at", "B", "i"),)),
    ("two_outputs", (("compute_inline", "A"),)),
    ("elementwise", (("parallel", "i"), ("parallel", "tanh_i"), ("set_scope", "scale", "local"))),
    ("matmul", (("split", "k", [None, 4]), ("decompose_reduction", "C", "k.1"))),
    ("elementwise", (("split", "relu_i", [None, 5], "guard"),)),
    (
        "matmul",
        (
            ("split", "i", [None, 5], "guard"),
            ("split", "j", [None, 8], "guard"),
            ("reorder", "i.0", "j.0", "k", "i.1", "j.1"),
            ("unroll", "i.1"),
            ("vectorize", "j.1"),
        ),
    ),
    (
        "elementwise",
        (("bind", "relu_i", "blockIdx.x"), ("bind", "relu_j", "blockIdx.y"), ("compute_at", "add", "relu_i")),
    ),
)


def scenario(nest: str, steps: tuple[tuple[object, ...], ...]) -> Made:
    """Take the steps as far as they are legal."""
    made = Made(nest, Schedule(NESTS[nest]()))
    for name, *args in steps:
        try:
            made.schedule.apply(registry[str(name)].make(*args))
        except ScheduleError as e:
            made.refused.append(e.code)
            continue
        made.states.append(made.schedule.func)
    return made


def random_schedule(
    rng: random.Random,
    wanted: str | None = None,
    holes: bool = False,
    focus: bool = False,
    programs: float = 0.0,
    intrin: str | None = None,
) -> Made:
    """Make a schedule of 3 to 8 steps that contains the primitive `wanted`, or calls the intrinsic `intrin`.

    With `holes` the splits stay open; with `focus` the wanted primitive is tried again and again. The computation is a
    random one so often as `programs` says.
    """
    for _ in range(60):
        name = rng.choice(SUITED.get(wanted or "", COMMON))
        if wanted == "tensorize":
            made = _tensorized(rng, holes, intrin)
        elif wanted in PREPARED:
            made = _attempt(rng, "matmul", wanted, holes, True, scenario("matmul", PREPARED[wanted]), rng.randint(1, 3))
        else:
            if programs and rng.random() < programs:
                name = program(rng, rng.choice(SMALL), POINTS)
            made = _attempt(rng, name, wanted, holes, focus)
        if len(made.states) >= 3 and (wanted is None or wanted in made.names):
            return made
    raise AssertionError(f"no legal schedule with {wanted!r} was found")


def _tensorized(rng: random.Random, holes: bool, intrin: str | None = None) -> Made:
    """Cut and pack for an intrinsic, now and then carelessly, and take a few steps after it."""
    if intrin is None:
        # Those with small tiles most often: the interpreter takes its time over large ones.
        weights = [3 if "dots" in t.nest else 1 for t in tensors.TILES.values()]
        intrin = rng.choices(list(tensors.TILES), weights)[0]
    made = Made(tensors.TILES[intrin].nest, Schedule(NESTS[tensors.TILES[intrin].nest]()))
    try:
        tensors.tensorized(rng, made.schedule, intrin, holes, careless=rng.choice((0.0, 0.1)))
    except ScheduleError as e:
        made.refused.append(e.code)
    done = made.schedule.trace
    made.states += [Schedule.from_json(made.schedule.base, done[: k + 1]).func for k in range(len(done))]
    return _attempt(rng, made.nest, None, holes, False, made, rng.randint(0, 2))


def _attempt(
    rng: random.Random,
    nest: str,
    wanted: str | None,
    holes: bool,
    focus: bool,
    made: Made | None = None,
    steps: int | None = None,
) -> Made:
    made = Made(nest, Schedule(NESTS[nest]())) if made is None else made
    s = made.schedule
    length = len(made.states) + (rng.randint(3, 8) if steps is None else steps)
    for _ in range(length * 6):
        if len(made.states) >= length:
            break
        late = len(made.states) >= length // 2
        missing = wanted is not None and wanted not in made.names
        ready = late or wanted in STRUCTURAL
        share = 0.7 if missing and ready else 0.3 if focus else 0.0
        name = wanted if rng.random() < share else _pick(rng, late)
        step = propose(rng, s.func, str(name), holes)
        if step is None:
            continue
        try:
            s.apply(step)
        except ScheduleError as e:
            made.refused.append(e.code)
            continue
        made.states.append(s.func)
    return made


def _pick(rng: random.Random, late: bool) -> str:
    return rng.choices(list(WEIGHTS), [w[late] for w in WEIGHTS.values()])[0]


def propose(rng: random.Random, func: Func, name: str, holes: bool = False) -> Primitive | None:
    """Propose a step of the given kind, which may be illegal; None where nothing of that kind makes sense."""
    own = {
        "split": _split,
        "fuse": _fuse,
        "reorder": _reorder,
        "parallel": _parallel,
        "vectorize": _one_loop,
        "unroll": _one_loop,
        "annotate": _note,
        "storage_align": _align,
    }
    if name == "split":
        return _split(rng, func, holes)
    if name == "transform_layout" and not holes and rng.random() < 0.3:
        return _layout(rng, func)
    if name in own:
        args = own[name](rng, func)
        return None if args is None else registry[name].make(*args)
    candidates = [c for c in registry[name].candidates(func) if holes or "Hole" not in str(c)]
    return rng.choice(candidates) if candidates else None


def _split(rng: random.Random, func: Func, holes: bool) -> Primitive | None:
    choices = [lp for lp, _ in loops(func.body) if lp.extent != 1]
    if not choices:
        return None
    lp = rng.choice(choices)
    parts = rng.choice((2, 2, 3))
    if holes and rng.random() < 0.8:
        factors: list[object] = [Hole() for _ in range(parts)]
        if rng.random() < 0.5:
            factors[rng.randrange(parts)] = None
        return registry["split"].make(lp.name, factors)
    if not isinstance(lp.extent, int):
        names = [h.name for h in func.holes]
        return registry["split"].make(lp.name, [None, rng.choice(names)]) if names else None
    if rng.random() < 0.08:
        return registry["split"].make(lp.name, [rng.randint(1, 6), rng.randint(1, 6)])
    if rng.random() < 0.2:
        return registry["split"].make(lp.name, [None, rng.randint(2, 8)], rng.choice(("guard", "peel")))
    left, factors = lp.extent, []
    for _ in range(parts - 1):
        d = rng.choice([k for k in range(1, left + 1) if left % k == 0])
        factors.append(d)
        left //= d
    factors.append(left)
    rng.shuffle(factors)
    if rng.random() < 0.3:
        factors[rng.randrange(parts)] = None
    return registry["split"].make(lp.name, factors)


def _layout(rng: random.Random, func: Func) -> Primitive | None:
    packable = [b for b in func.buffers if b.role in ("const", "temp") and all(isinstance(d, int) for d in b.shape)]
    if not packable:
        return None
    b = rng.choice(packable)
    dim = rng.randrange(len(b.shape))
    n = b.shape[dim]
    sizes = [k for k in range(1, n + 1) if n % k == 0]
    return registry["transform_layout"].make(b.name, dim, rng.choice(sizes), rng.choice(("front", "front", "here")))


def _chain(rng: random.Random, func: Func) -> list[For]:
    """A loop and the loops perfectly nested in it."""
    start = rng.choice([lp for lp, _ in loops(func.body)])
    chain = [start]
    while len(chain[-1].body) == 1 and isinstance(inner := chain[-1].body[0], For):
        chain.append(inner)
    return chain


def _line(rng: random.Random, func: Func) -> list[For]:
    """A loop and, level by level, the first loop in it, other statements or not."""
    line = [rng.choice([lp for lp, _ in loops(func.body)])]
    while inner := [s for s in line[-1].body if isinstance(s, For)]:
        line.append(inner[0])
    return line


def _fuse(rng: random.Random, func: Func) -> tuple[str, ...] | None:
    names = [lp.name for lp in (_line(rng, func) if rng.random() < 0.25 else _chain(rng, func))]
    return tuple(names[: rng.choice((2, 2, 3))]) if len(names) > 1 else None


def _reorder(rng: random.Random, func: Func) -> tuple[str, ...] | None:
    names = [lp.name for lp in (_line(rng, func) if rng.random() < 0.25 else _chain(rng, func))]
    if len(names) < 2:
        return None
    picked = rng.sample(names, rng.randint(2, len(names)))
    return tuple(picked)


def _parallel(rng: random.Random, func: Func) -> tuple[str, ...] | None:
    if rng.random() < 0.3:
        return (rng.choice([lp.name for lp, _ in loops(func.body)]),)
    tops = [s for s in func.body if isinstance(s, For) and s.kind == "serial"]
    if not tops:
        return None
    chain = [rng.choice(tops)]
    while (
        len(chain) < 3
        and len(chain[-1].body) == 1
        and isinstance(inner := chain[-1].body[0], For)
        and rng.random() < 0.6
    ):
        chain.append(inner)
    return tuple(lp.name for lp in chain)


def _one_loop(rng: random.Random, func: Func) -> tuple[str, ...] | None:
    inner = [lp.name for lp, _ in loops(func.body) if not any(isinstance(s, For) for s in lp.body)]
    every = [lp.name for lp, _ in loops(func.body)]
    return (rng.choice(inner if rng.random() < 0.7 else every),)


def _note(rng: random.Random, func: Func) -> tuple[object, ...] | None:
    names = [lp.name for lp, _ in loops(func.body)] + [b.name for b, _ in blocks(func.body)]
    distance = rng.randint(1, 4)
    fetch = ("prefetch", "prefetch_write")[distance % 2]
    key, value = rng.choice(((fetch, distance), ("mine", rng.choice((-1, "text", 'a "b"\n@c=1:')))))
    return rng.choice(names), key, value


def _align(rng: random.Random, func: Func) -> tuple[object, ...] | None:
    found = [b for b in func.buffers if b.role == "temp" and len(b.shape) > 1]
    if not found:
        return None
    b, factor = rng.choice(found), rng.choice((1, 4, 7, 16))
    return b.name, rng.randrange(len(b.shape) - 1), factor, rng.randrange(factor)


def random_row(rng: random.Random, s: Schedule) -> dict[str, int] | None:
    """Numbers for all holes that satisfy the limits; None when a few draws find none.

    A packing block of one element is left out: as a number it divides every loop, so that a trace with numbers may
    split one more loop than the trace with holes.
    """
    rows = s.domain.sample(1, np.random.default_rng(rng.randrange(2**32)))
    if not len(rows):
        return None
    row = dict(zip((h.name for h in s.holes), (int(v) for v in rows[0]), strict=True))
    blocks = [p.args["block"] for p in s.fill(row).trace if p.name == "transform_layout"]
    return None if 1 in blocks else row


__all__ = ["PLACING", "WEIGHTS", "Made", "propose", "random_row", "random_schedule"]
