"""Random schedules of the usual shape: matrix products of awkward sizes that are copied, padded, tiled and packed.

Steps drawn one by one rarely add up to this, so here each stage of the usual recipe is taken with some probability and
with random sizes. Steps that are refused are left out.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from property import nests, randoms
from workbench import workloads
from workbench.errors import WorkbenchError
from workbench.ir.interpreter import interp
from workbench.schedule import Hole, Schedule, registry

SIZES = (5, 7, 9, 12, 13)
PADDED = (6, 8, 10, 12, 16, 18)


@dataclass
class Recipe:
    """A schedule in the making."""

    rng: random.Random
    holes: bool
    made: randoms.Made
    #: Axis -> loops that it was split into, outermost first.
    levels: dict[str, list[str]] = field(default_factory=dict)
    #: Operand -> the block that copies it.
    copies: dict[str, str] = field(default_factory=dict)

    def take(self, name: str, *args: object) -> tuple[str, ...] | None:
        """Take a step; None when it is refused."""
        s = self.made.schedule
        try:
            names = s.apply(registry[name].make(*args))
        except WorkbenchError as e:
            self.made.refused.append(e.code)
            return None
        self.made.states.append(s.func)
        return names

    def chance(self, p: float) -> bool:
        return self.rng.random() < p


def _nest(rng: random.Random) -> str:
    """A product of random sizes, with or without bias and relu, entered into the table of nests."""
    m, n, k = (rng.choice(SIZES) for _ in range(3))
    more = rng.random() < 0.6
    constant = rng.random() < 0.3
    name = f"product_{m}_{n}_{k}_{more}_{constant}"

    def make():
        return workloads.matmul(m, n, k, bias=more, relu=more, constant_b=constant)

    nests.NESTS[name] = make
    nests.EXPECTED[name] = lambda arrays: interp.run(make(), arrays)
    return name


def product(rng: random.Random, holes: bool = False) -> randoms.Made:
    """Make a schedule of a product."""
    nest = _nest(rng)
    r = Recipe(rng, holes, randoms.Made(nest, Schedule(nests.NESTS[nest]())))
    for operand, p in (("A", 0.5), ("B", 0.7)):
        if r.chance(p) and (names := r.take("cache_read", "C", operand)):
            r.copies[operand] = names[0]
    if r.chance(0.3):
        r.take("cache_write", "C")
    _pad(r)
    for axis in "ijk":
        _split(r, axis)
    order = sorted(
        (x for xs in r.levels.values() for x in xs), key=lambda x: int(x[-1]) + rng.choice((0, rng.random()))
    )
    r.take("reorder", *order)
    for copy in r.copies.values():
        if order and r.chance(0.6):
            r.take("compute_at", copy, rng.choice(order))
    for operand, dim, axis in (("B", 1, "j"), ("A", 0, "i")):
        _pack(r, operand, dim, axis)
    _finish(r, order)
    return r.made


def _pad(r: Recipe) -> None:
    for axis in r.rng.sample("ijk", 3):
        it = next(it for it in r.made.schedule.func.block("C")[0].iters if it.name == axis)
        if r.chance(0.6):
            r.take("pad", "C", axis, r.rng.choice([x for x in PADDED if x > it.extent]))


def _split(r: Recipe, axis: str) -> None:
    parts = r.rng.choice((2, 2, 3))
    tail = "exact"
    factors: list[object] = [None]
    if r.holes:
        factors += [Hole(f"{axis}h{k}") for k in range(1, parts)]
    elif r.chance(0.25):
        factors, tail = [None, r.rng.randint(2, 5)], r.rng.choice(("guard", "peel"))
    else:
        left = r.made.schedule.func.loop(axis)[0].extent
        for _ in range(parts - 1):
            factors.append(r.rng.choice([d for d in range(1, left + 1) if left % d == 0]))
            left //= factors[-1]
    names = r.take("split", axis, factors, tail)
    if names:
        r.levels[axis] = [n for n in names if not n.endswith("rest")]


def _pack(r: Recipe, operand: str, dim: int, axis: str) -> None:
    func = r.made.schedule.func
    buffer = f"{operand}.local" if operand in r.copies else operand
    if axis not in r.levels:
        return
    inner = [f"{axis}h{k}" for k in range(1, len(r.levels[axis]))]
    size = inner[-1] if r.holes else func.loop(r.levels[axis][-1])[0].extent
    loop = f"{r.copies.get(operand)}_{axis}"
    if any(lp.name == loop for lp in r.made.schedule.loops) and r.chance(0.7):
        r.take("split", loop, [None, *inner] if r.holes else [None, size])
    r.take("transform_layout", buffer, dim, size)


def _finish(r: Recipe, order: list[str]) -> None:
    s, rng = r.made.schedule, r.rng
    if order:
        at = rng.choice(order)
        for name in [b.name for b in s.blocks if b.name in ("C.copy", "bias_add", "relu")]:
            r.take("reverse_compute_at", name, at)
        if r.chance(0.3):
            r.take("decompose_reduction", "C", rng.choice(order))
        if r.chance(0.2):
            r.take("rfactor", rng.choice(r.levels.get("k", ["k"])))
    for _ in range(3):
        step = randoms.propose(rng, s.func, rng.choice(("vectorize", "vectorize", "unroll", "parallel")), r.holes)
        if step is not None:
            args = step.args["loops"] if "loops" in step.args else tuple(step.args.values())
            r.take(step.name, *args)
