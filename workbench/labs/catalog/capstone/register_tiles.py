"""Exercises on the tile of sums: one that does not fit the registers, and a search for the best one."""

from __future__ import annotations

from typing import Any

from workbench.labs.catalog.capstone.layer import OUT, SIDE, SIZES, of
from workbench.labs.exercise import Exercise, Function, Goal, Misconception, Nest, Prediction, Setting
from workbench.labs.goals import FITS, accumulators, pieces, whole_vectors
from workbench.schedule import Schedule

#: Registers that are not for sums: one for a vector of weights, one for a number of the image.
SPARE = 2
#: Least accumulators that keep the multiply-add units busy: two units, four cycles each.
BUSY = 8


#: Goals of the convolution, here and by hand.
FAST = (whole_vectors(), pieces(), accumulators(BUSY), FITS)


def columns(at: Setting) -> int:
    """Return the most output channels of a tile of a row of pixels, in whole vectors that divide all channels."""
    fits = [v for v in (1, 2, 4, 8) if SIDE * v <= at.registers - SPARE]
    return max(fits) * at.lanes


def _spilling(at: Setting) -> Schedule:
    s = Schedule(of(at), at.target)
    s.compute_inline("bias_add")
    s.reorder("h", "kh", "kw", "c", "w", "o")
    s.unroll("w")
    s.vectorize("o")
    return s


def _fitting(s: Schedule, at: Setting) -> None:
    s.undo(len(s.trace))
    s.compute_inline("bias_add")
    outer, inner = s.split("o", [None, columns(at)])
    s.reorder("h", outer, "kh", "kw", "c", "w", inner)
    s.unroll("w")
    s.vectorize(inner)


REPAIR = Exercise(
    name="repair",
    title="Repair: a tile that does not fit",
    task=lambda at: (
        f"Somebody wants to load W only once per row of pixels: the tile has all {SIDE} pixels of a row and all {OUT} "
        f"output channels. Your machine has {at.registers} vector registers of {at.lanes} numbers. How many registers "
        f"would the sums take? With {SPARE} registers kept for what is loaded, how many output channels may a tile of "
        f"{SIDE} pixels have at most, in whole vectors? What happens to sums that find no register?\n\n"
        "Mend the schedule."
    ),
    predictions=(
        Prediction(
            "wanted",
            "How many registers would the sums take?",
            lambda at: SIDE * OUT // at.lanes,
            misconceptions=(
                Misconception(SIDE * OUT, "That is the number of sums. A register holds several."),
                Misconception(lambda at: OUT // at.lanes, "That is for one pixel."),
                Misconception(lambda at: at.registers, "That is how many there are. How many are wanted?"),
            ),
            within=0,
        ),
        Prediction(
            "most",
            f"How many output channels may a tile of {SIDE} pixels have at most?",
            columns,
            "channels",
            (
                Misconception(OUT, "That is what the broken schedule has."),
                Misconception(lambda at: columns(at) // at.lanes, "That counts vectors. How many channels are they?"),
                Misconception(lambda at: 2 * columns(at), f"How many registers are that, with {SIDE} pixels?"),
            ),
            within=0,
        ),
        Prediction(
            "spilled",
            "What happens to sums that find no register?",
            "stored and loaded again",
            choices=("stored and loaded again", "lost", "computed later"),
            misconceptions=(
                Misconception("lost", "The result is still right. Where can it be kept?"),
                Misconception("computed later", "The order of the program stays. Where can the sums be kept?"),
            ),
        ),
    ),
    work=Nest(_spilling, _fitting),
    goals=FAST,
    hints=(
        "Cut the loop o, so that the tile has fewer output channels; pixels stay as they are.",
        "s.undo(n) takes n steps back. Then split o, and bring o.0 outside of c.",
        lambda at: f"s.split('o', [None, {at.lanes}]) fits everywhere; see whether more vectors fit.",
    ),
    why="More sums than registers are stored and loaded again in every step over c, which costs more than the loads "
    "of W that the tile saves.",
    variants=SIZES,
)


def _best_tile(width: Any, channels: Any, lanes: Any, registers: Any) -> Any:
    tiles = [
        (pixels, vectors)
        for pixels in range(1, width + 1)
        for vectors in range(1, channels // lanes + 1)
        if width % pixels == 0 and channels % (vectors * lanes) == 0 and pixels * vectors <= registers - 2
    ]
    return max(tiles, key=lambda tile: tile[0] * tile[1] / (tile[0] + tile[1]))


#: (width, output channels, lanes, registers): layers of SqueezeNet and ResNet on three kinds of machine.
_CASES = ((13, 64, 16, 32), (13, 64, 8, 16), (56, 128, 8, 16), (28, 128, 16, 32), (27, 32, 16, 32), (55, 64, 4, 32))


def _legal(best_tile: Any, at: Setting) -> tuple[bool, str]:
    for width, channels, lanes, registers in _CASES:
        p, v = best_tile(width, channels, lanes, registers)
        if p < 1 or v < 1 or width % p or channels % (v * lanes) or p * v > registers - SPARE:
            case = f"width {width}, {channels} channels, {lanes} lanes, {registers} registers"
            return False, f"With {case} your tile is {p} x {v}: it does not divide, or does not fit."
    return True, "All tiles divide the layer and fit."


def _ratio(tile: Any) -> float:
    return float(tile[0] * tile[1] / (tile[0] + tile[1]))


def _best(best_tile: Any, at: Setting) -> tuple[bool, str]:
    if not _legal(best_tile, at)[0]:
        return False, "As long as a tile does not fit, none is compared."
    worse = [case for case in _CASES if _ratio(best_tile(*case)) < _ratio(_best_tile(*case)) - 1e-9]
    return not worse, f"{len(_CASES) - len(worse)} of {len(_CASES)} tiles have the most multiply-adds per load."


TILE = Exercise(
    name="tile",
    title="A tuner in ten lines",
    task="In one step over c, a tile of p pixels and v vectors of output channels loads p numbers of the image and v "
    "vectors of W, and does p * v multiply-adds of vectors. How many multiply-adds per load has a tile of 4 pixels "
    "and 6 vectors? Which tile is better, 12 x 2 or 4 x 6? Both take 24 registers.\n\n"
    "Write best_tile(width, channels, lanes, registers), which returns (p, v) with the most multiply-adds per load: p "
    "divides the width, v vectors divide the channels, and p * v sums leave 2 registers free. If several are as good, "
    "return any of them.",
    predictions=(
        Prediction(
            "per_load",
            "How many multiply-adds per load has a tile of 4 pixels and 6 vectors?",
            2.4,
            misconceptions=(
                Misconception(24, "That is how many multiply-adds a step has. How many loads?"),
                Misconception(10 / 24, "That is loads per multiply-add."),
                Misconception(1, "A number that is loaded serves all vectors, a vector all pixels."),
                Misconception(4, "The 4 pixels are loaded, too."),
            ),
        ),
        Prediction(
            "better",
            "Which tile is better?",
            "4 x 6",
            choices=("4 x 6", "12 x 2", "the same"),
            misconceptions=(
                Misconception("12 x 2", "Count its loads: 12 numbers and 2 vectors."),
                Misconception("the same", "The multiply-adds are the same. What about the loads?"),
            ),
        ),
    ),
    work=Function("best_tile", _best_tile),
    goals=(Goal("Each tile divides its layer and fits.", _legal), Goal("Each tile is the best.", _best)),
    hints=(
        "Two loops go through all p and v; a condition leaves out what does not divide or does not fit.",
        "max(tiles, key=lambda t: t[0] * t[1] / (t[0] + t[1])) takes the best of a list.",
    ),
    why="With all tiles counted, no trial is needed: the tuner's tiles of your layer are among the best of the model. "
    "A model that leaves something out (here the cache) is still a good first choice.",
)
