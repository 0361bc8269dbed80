"""The rule for 3x3 convolutions: Winograd's algorithm, its transforms next to a tiled matrix product."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from workbench.errors import ScheduleError
from workbench.ir import Block
from workbench.machine_model.machine_parameters import Machine
from workbench.schedule.match_convolution import match_conv
from workbench.space.shared_steps.register_tiles import broken_lanes, open_factors, parallel_limits, tile_limits
from workbench.space.shared_steps.winograd_steps import PRODUCT, TRANSFORM, Winograd, channel_vectors
from workbench.space.sketch.rule_table import Draft, rule, untouched
from workbench.space.sketch.rules.pointwise_stages import pointwise

#: Tiles of 4x4 outputs below which only tiles of 2x2 are made, and below which both are tried. Measured with
#: `bench_winograd` on one core: 7x7 images of 512 channels took 0.98 instead of 1.48 ms with 2x2; with 16 tiles (13x13,
#: 14x14) 2x2 was slower by a tenth, with more by half. With two threads and weights in memory 16 tiles took 1.51 ms
#: with 2x2, and 1.84 with 4x4.
FEW_TILES, SOME_TILES = 8, 32


@rule("winograd", after="tensorize", about=untouched)
def winograd(draft: Draft, machine: Machine, block: Block) -> Iterator[Draft]:
    """Compute a 3x3 convolution by Winograd's algorithm, with tiles of 4x4 outputs, of 2x2 where there are few, or
    both.

    The way back drives the nest: blocks of tiles in parallel, each with its matrix products and the transform of what
    they read. In a second form the data is transformed first, as a nest of its own, so that blocks may also share out
    the output channels. The result is as exact as the docs of `Schedule.winograd` say.
    """
    conv = match_conv(draft.func, block)
    channels = conv.sizes[conv.o], conv.sizes[conv.c]
    best = _tiles(conv.sizes[conv.n], conv.sizes[conv.h], conv.sizes[conv.w], *channels, machine)
    why = _unsuited(*channels, machine.lanes)
    same = f"this form multiplies with the kernel as it is; of Winograd's, {next(iter(best.values()))}"
    yield draft.skip("winograd", why or same, block.name)
    for size, reason in () if why else best.items():
        for data_first in (False, True):
            try:
                made = _form(draft, machine, block.name, size, reason, data_first)
            except ScheduleError:  # sizes that the loops do not suit
                continue
            yield from (replace(d, closed=True) for d in pointwise(made, machine))


def _tiles(n: int, h: int, w: int, o: int, c: int, machine: Machine) -> dict[int, str]:
    """Tiles of 4x4, of 2x2 where so few tiles of 4x4 share the transformed weights that fetching these (4 times the
    kernel's, against 1.8 times) decides, or both where it may; and why.
    """
    weights, tiles = 36 * o * c * 4, n * -(-h // 4) * -(-w // 4)
    shared = f"{tiles} tiles of 4x4 would share {weights / 2**20:.1f} MB of transformed weights"
    if weights <= machine.l2:
        return {4: f"tiles of 4x4 do the fewest multiplications: {shared}, which L2 holds"}
    many = f"tiles of 4x4 do the fewest multiplications: {shared}, and {FEW_TILES} are enough for that"
    few = f"tiles of 2x2 have fewer weights to fetch: {shared}"
    if tiles < FEW_TILES:
        return {2: f"{few}, and fewer than {FEW_TILES} are too few"}
    return {4: many, 2: f"{few}; with fewer than {SOME_TILES} that may decide"} if tiles < SOME_TILES else {4: many}


def _unsuited(o: int, c: int, lanes: int) -> str:
    """Why channels do not suit the vectors of the transforms and of the product; empty where they do.

    Unrolled code of vectors that are narrower or much wider would be slow or endless.
    """
    if 2 * o < lanes:
        return f"{o} channels fill no vectors."
    most = [(n, channel_vectors(n, TRANSFORM, lanes)[-1]) for n in (o, c)]
    return next((f"{n} channels do not fall into vectors." for n, wide in most if wide > PRODUCT * lanes), "")


def _form(draft: Draft, machine: Machine, name: str, size: int, best: str, data_first: bool) -> Draft:
    """Take the steps with holes for all sizes."""

    def sizes(_: str, loop: str | int, parts: int, choices: tuple[int, ...] | None) -> list[object]:
        factors = open_factors(parts, choices)
        return [None, factors[1]] if choices and parts == 2 else [*factors]

    steps = Winograd(draft.schedule.copy(), machine, size, data_first, sizes)
    steps.make(name)
    s = steps.s
    tag = f"winograd {size}x{size}{', data first' if data_first else ''}"
    place = "first, in a nest of its own" if data_first else "inside the parallel blocks"
    reason = f"{steps.stages[2]}: a 3x3 convolution; {best}; data transformed {place}"
    new = draft.change("winograd", reason, s, *steps.stages, blocks=[name, steps.stages[-1]], tag=tag)
    registers, _ = tile_limits(s.func, steps.product, machine, 1, broken_lanes(s.func, steps.product[-1], machine))
    return new.limited([(*registers[:2], False), *parallel_limits(s.func, steps.blocks, machine, shared_out=False)])
