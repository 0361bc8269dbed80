"""Random rows of the spaces that tuning searches: a sketch for a random computation, its holes filled."""

from __future__ import annotations

import functools
import random

import numpy as np

from property import checks, programs
from property.nests import NESTS
from property.randoms import Made
from workbench.space.space import make_space
from workbench.target import Target

_X86 = "llvm -mtriple=x86_64-unknown-linux-gnu -l2=2M -l3=32M"
#: Machines that rows are made for and, where this one has what they have, compiled for.
TARGETS = (
    f"{_X86} -mcpu=sapphirerapids -l1=48K -threads=2",
    f"{_X86} -mcpu=x86-64-v4 -l1=48K -threads=1",
    f"{_X86} -mcpu=icelake-server -l1=48K -threads=2",
    f"{_X86} -mcpu=x86-64-v3 -mattr=+avx,+avx2,+f16c,+fma,+avxvnni -l1=32K -threads=2",
    f"{_X86} -mcpu=x86-64-v3 -l1=32K -threads=2",
    f"{_X86} -mcpu=x86-64 -l1=32K -threads=1",
)
#: Most runs of blocks of a computation, and of a schedule that the interpreter runs too (a few times).
POINTS = 60_000
INTERPRETED = 10_000


@functools.cache
def target(text: str) -> Target:
    return Target(text)


def any_target(rng: random.Random) -> Target | None:
    """A machine whose code runs here; mostly this one, with two threads."""
    found = target(rng.choice(TARGETS)) if rng.random() < 0.5 else None
    return None if found is None or found.missing_here() else found


def row(rng: random.Random, kind: str) -> tuple[Made, Made, Target]:
    """Draw a row: the schedule with holes, the same filled, and what it is for."""
    nest = programs.program(rng, kind, POINTS)
    machine = target(rng.choice(TARGETS))
    variants = make_space(NESTS[nest](), machine).variants
    if kind == "winograd":
        variants = tuple(v for v in variants if any(p.name == "winograd" for p in v.schedule.trace)) or variants
    variant = rng.choice(variants)
    picks = variant.sampler.draw(1, np.random.default_rng(rng.randrange(2**32)))
    assert len(picks), f"no row of {nest}, variant {variant.index}, {machine}"
    numbers = variant.sampler.row(picks[0])
    filled = variant.schedule.fill(numbers)
    return Made(nest, variant.schedule, [variant.schedule.func]), Made(nest, filled, [filled.func]), machine


def check_row(rng: random.Random, symbolic: Made, filled: Made, machine: Target) -> str:
    """The row computes what NumPy does; returns the text of the kernel, where one ran."""
    checks.check_states(symbolic)
    checks.check_states(filled)
    numbers = [p.args["block"] for p in filled.schedule.trace if p.name == "transform_layout"]
    if 1 not in numbers:  # see `randoms.random_row`
        replayed = checks.check_replayed(filled)
        if rng.random() < 0.5:
            filled = replayed
    checks.check_printed(filled)
    if programs.points(filled.schedule.func) <= INTERPRETED:
        checks.check_meaning(filled)
    if machine.missing_here():
        return ""
    return checks.check_compiled(filled, checks.expected(filled.nest)[1], target=machine)
