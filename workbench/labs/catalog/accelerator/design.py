"""The capstone: an accelerator for a budget of memory and bandwidth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from workbench.errors import BuildError
from workbench.ir import Func
from workbench.labs.catalog.accelerator.machine import run
from workbench.labs.exercise import Exercise, Function, Goal, Misconception, Prediction, Setting
from workbench.machine_model.features import INDEX
from workbench.memoize import remembered
from workbench.space.space import make_space
from workbench.target import Target
from workbench.workloads.images import conv2d_int8_nhwc
from workbench.workloads.products import matmul_int8

#: What a byte of bandwidth costs, in KiB of memory.
BUS_COST = 4
#: What may be spent, and the sizes of VTA as it is: KiB, and bytes in a cycle.
BUDGET = 96
VTA_SIZES = {"inp": 32, "wgt": 256, "acc": 128, "uop": 32, "bus": 8}
#: Cycles of the three layers, times those of VTA as it is, that designs may take.
AIMS = (1.0, 0.93, 0.87)
#: Schedules of a layer that are tried: those with the least estimates.
TRIED = 2

Sizes: TypeAlias = tuple[tuple[str, int], ...]


def layers() -> dict[str, Func]:
    """Return what the accelerator is for: a convolution, one of 1 by 1 that memory bounds, and a product."""
    return {
        "3x3": conv2d_int8_nhwc(14, 14, 64, 64, shift=6),
        "1x1": conv2d_int8_nhwc(14, 14, 64, 128, 1, 1, 0, shift=6),
        "product": matmul_int8(64, 128, 256, signed=True, constant_b=True, shift=6),
    }


def cost(sizes: Mapping[str, int]) -> int:
    """Return KiB of all memories, and of what the bus costs as much as."""
    return sum(sizes[name] for name in ("inp", "wgt", "acc", "uop")) + BUS_COST * sizes["bus"]


@remembered(64)
def cycles(sizes: Sizes) -> Mapping[str, int]:
    """Return cycles by layer of a design: the better of the schedules that the estimate puts first."""
    told = " ".join(f"-{name}={n}" if name == "bus" else f"-{name}={n}K" for name, n in sizes)
    target = Target(f"vta {told}")
    return {name: _least(func, target) for name, func in layers().items()}


def _least(func: Func, target: Target) -> int:
    rows = []
    for k, v in enumerate(make_space(func, target).variants):
        picks = v.sampler.draw(10**6, np.random.default_rng(0))
        estimates = v.features(picks)[:, INDEX["estimate"]]
        rows += [(float(e), k, n, v, p) for n, (e, p) in enumerate(zip(estimates, picks, strict=True))]
    found, refused = list[int](), ""
    for *_, v, pick in sorted(rows, key=lambda r: r[:3])[:TRIED]:
        try:
            found.append(run(v.schedule.fill(v.sampler.row(pick))).cycles)
        except BuildError as error:
            refused = error.message
    if not found:
        raise ValueError(refused or f"no tile of {func.name} fits these memories")
    return min(found)


def _sizes(function: Any) -> dict[str, int]:
    """What a student's function returns, checked.

    Raises
    ------
    ValueError
        For sizes that are missing, or are no whole numbers from 1 on.
    """
    found = function()
    if not isinstance(found, dict) or set(found) != set(VTA_SIZES):
        raise ValueError(f"a dict with {', '.join(VTA_SIZES)} is wanted")
    odd = {k: v for k, v in found.items() if isinstance(v, bool) or not isinstance(v, int) or v < 1}
    if odd:
        raise ValueError(f"whole numbers from 1 on are wanted, not {odd}")
    return found


def _within(function: Any, at: Setting) -> tuple[bool, str]:
    found = cost(_sizes(function))
    return found <= BUDGET, f"The design costs {found}; {BUDGET} may be spent."


def _total(sizes: Mapping[str, int]) -> int:
    return sum(cycles(tuple(sorted(sizes.items()))).values())


def _fast(most: float) -> Goal:
    def reached(function: Any, at: Setting) -> tuple[bool, str]:
        sizes = _sizes(function)
        if cost(sizes) > BUDGET:
            return False, "As long as it costs too much, its cycles do not count."
        found = _total(sizes) / _total(VTA_SIZES)
        each = ", ".join(f"{name} {n:,}" for name, n in cycles(tuple(sorted(sizes.items()))).items())
        return found <= most, f"The three layers take {found:.2f} times VTA's cycles: {each}."

    return Goal(f"The three layers take at most {most} times the cycles that VTA takes.", reached)


def design():  # type: ignore[no-untyped-def]  # a student's function has no types either
    """Sizes of an accelerator: KiB of its memories, and bytes that its bus delivers in a cycle."""
    return {"inp": 8, "wgt": 8, "acc": 16, "uop": 1, "bus": 15}


DESIGN = Exercise(
    name="design",
    title="Capstone: design an accelerator",
    task="VTA has 32 KiB for data, 256 for weights, 128 for sums and 32 for micro-ops, and a bus of 8 bytes a cycle. "
    f"Say memory costs 1 for a KiB, and each byte of the bus {BUS_COST}. What does VTA cost? Leave out latency: tiles "
    "of R rows and R columns are loaded through a bus of 8 bytes and multiplied by 16 by 16 in a cycle, any number of "
    "terms deep. From which R on does the product take as long as its loads? How large is R if only "
    "32 KiB hold the sums of two such tiles?\n\n"
    f"Then spend at most {BUDGET}: write design(), which returns a dict with inp, wgt, acc and uop in KiB, and bus in "
    "bytes. It has to compute three layers: a convolution 3x3, 64 to 64 channels, of 14 by 14 pixels; one of 1x1, 64 "
    "to 128, of the same image; and a product 64 by 128 with 256 terms. Each design gets schedules of its own, the "
    f"better of {TRIED} that the estimate puts first. There is a point each for {AIMS[0]}, {AIMS[1]} and {AIMS[2]} "
    "times the cycles of VTA as it is. Who in your course has the fewest?",
    predictions=(
        Prediction(
            "cost",
            "What does VTA cost?",
            cost(VTA_SIZES),
            misconceptions=(
                Misconception(448, "These are the memories. The bus costs something as well."),
                Misconception(456, f"A byte of the bus costs {BUS_COST}."),
                Misconception(416, "The micro-ops have a memory, too, and the bus is not free."),
            ),
            within=0,
        ),
        Prediction(
            "side",
            "From which R on does the product take as long as its loads?",
            64,
            misconceptions=(
                Misconception(32, "Both tiles are loaded, that of A and that of B."),
                Misconception(16, "One cycle does 256 multiplications, not 16."),
                Misconception(128, "Loads: 2 R bytes for each term, 8 in a cycle. Products: R * R / 256."),
            ),
            wrong="For each term: 2 R bytes through the bus, and R * R multiplications, 256 in a cycle.",
            within=0,
        ),
        Prediction(
            "room",
            "How large is R if 32 KiB hold the sums of two tiles?",
            64,
            misconceptions=(
                Misconception(90, "There are two tiles, for two virtual threads."),
                Misconception(128, "A sum has four bytes, and there are two tiles."),
                Misconception(32, "Half of it, 16 KiB, are how many sums of four bytes?"),
            ),
        ),
    ),
    work=Function("design", design),
    goals=(Goal(f"The design costs at most {BUDGET}.", _within), *map(_fast, AIMS)),
    hints=(
        "What does VTA not need for these layers? Look at cycles of a design with a memory of half the size.",
        "Weights are not kept from one tile to the next: two tiles are enough. Micro-ops are four bytes each.",
        "Sums decide how large tiles are, the bus how soon they are there. The layer of 1x1 wants the bus.",
    ),
    why="A memory that holds two tiles of its kind is as good as a larger one: 16 KiB of sums do here what 128 do. "
    "What is left goes to the bus, because the layer of 1x1 uses each byte only a few times, and no tile helps it. "
    "VTA's 256 KiB for weights are for larger layers, and its bus is what its board had.",
)
