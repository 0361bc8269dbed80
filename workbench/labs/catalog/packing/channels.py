"""Exercises on layouts that put the lanes of a vector last, and on one that does not."""

from __future__ import annotations

from workbench import te
from workbench.ir import Func
from workbench.labs.catalog.packing.copies import FEW_PAGES, lines_at_most
from workbench.labs.catalog.packing.simulated import DEPTH, SIZES, product
from workbench.labs.counting import PER_LINE
from workbench.labs.exercise import Exercise, Misconception, Nest, Prediction, Setting
from workbench.labs.goals import pieces, whole_vectors
from workbench.schedule import Schedule

#: Output channels of the convolution.
OUT = 64


def pointwise(channels: int, side: int) -> Func:
    """Return a 1 x 1 convolution: images in blocks of 16 channels, weights as (output channel, input channel)."""
    x = te.placeholder((channels // PER_LINE, side, side, PER_LINE), name="X")
    w = te.placeholder((OUT, channels), name="W", constant=True)
    c0, c1 = te.reduce_axis(channels // PER_LINE, name="c0"), te.reduce_axis(PER_LINE, name="c1")
    y = te.compute(
        (OUT // PER_LINE, side, side, PER_LINE),
        lambda o0, h, v, o1: te.sum(x[c0, h, v, c1] * w[o0 * 16 + o1, c0 * 16 + c1], axis=(c0, c1)),
        name="Y",
    )
    return te.func(y, name="pointwise")


def _images(at: Setting) -> Func:
    return pointwise(at["channels"], at["side"])


def _lanes_last(s: Schedule, at: Setting) -> None:
    s.transform_layout("W", 0, PER_LINE)
    s.reorder("c0", "c1", "o1")
    s.vectorize("o1")


CHANNELS = Exercise(
    name="channels",
    title="Channels in blocks",
    task=lambda at: (
        f"Images are kept as NCHW (channel, row, column; here {at['side']} rows and {at['side']} columns), as NHWC "
        "(row, column, channel), or in blocks of 16 channels, NCHW16c: (channel // 16, row, column, channel % 16). How "
        "many numbers further is the next channel of the same pixel in NCHW? In NCHW16c, how many numbers further is "
        "channel 16 than channel 15? A picture with 3 channels is filled up to 16 in NCHW16c: how many times as much "
        "memory does it take?\n\n"
        f"The nest is a 1 x 1 convolution from {at['channels']} to {OUT} channels; X and Y are NCHW16c, the weights "
        "W[o, c] are a matrix that is known ahead of time, row by row. Its loop o1 goes through 16 output channels. "
        "How many numbers further is W for the next o1? Predict, then pack W, bring o1 into the innermost place and "
        "vectorise it: all lanes are to read and write neighbours, or the same number."
    ),
    predictions=(
        Prediction(
            "plane",
            "How many numbers further is the next channel of the same pixel in NCHW?",
            lambda at: at["side"] ** 2,
            misconceptions=(
                Misconception(1, "That is right in NHWC. Which index is the last one in NCHW?"),
                Misconception(lambda at: at["side"], "That is the next row of the same channel."),
                Misconception(lambda at: 4 * at["side"] ** 2, "That is the distance in bytes. How many numbers is it?"),
            ),
            within=0,
        ),
        Prediction(
            "block",
            "How many numbers further is channel 16 than channel 15 in NCHW16c?",
            lambda at: 16 * at["side"] ** 2 - 15,
            misconceptions=(
                Misconception(1, "Channel 15 is the last one of its block."),
                Misconception(
                    lambda at: 16 * at["side"] ** 2,
                    "That is the distance of the next block. Where in its block is channel 15?",
                ),
                Misconception(
                    lambda at: 16 * at["side"] ** 2 - 16, "From place 15 of one block to place 0 of the next."
                ),
                Misconception(lambda at: at["side"] ** 2, "A block has 16 numbers for every pixel."),
            ),
            wrong="Write down the places of both for pixel (0, 0), then subtract.",
            within=0,
        ),
        Prediction(
            "filled",
            "How many times as much memory takes a picture with 3 channels in NCHW16c?",
            16 / 3,
            misconceptions=(
                Misconception(16, "It has 3 channels before, not one."),
                Misconception(13 / 3, "That is how much is added."),
                Misconception(13, "That is how many channels are added. The question is about a ratio."),
                Misconception(3 / 16, "That is the share which is used."),
            ),
            wrong="It need not be a whole number: write decimals, or a fraction such as 7/2.",
        ),
        Prediction(
            "weights",
            "How many numbers further is W for the next o1, before packing?",
            lambda at: at["channels"],
            misconceptions=(
                Misconception(1, "That is the next input channel."),
                Misconception(OUT, "That is how many rows W has. How long is a row?"),
                Misconception(PER_LINE, "That will be right for c1, when W is packed."),
            ),
            within=0,
        ),
    ),
    work=Nest(_images, _lanes_last),
    goals=(whole_vectors(), pieces()),
    hints=(
        "Which dimension of W does o1 move? Cut it into blocks of 16: the place inside of a block comes last.",
        "Output channels are dimension 0 of W.",
        "s.transform_layout('W', 0, 16), s.reorder('c0', 'c1', 'o1'), s.vectorize('o1').",
    ),
    why="With 16 output channels last in Y and in W, a vector of results takes one vector of weights and one number of "
    "X for all lanes. The result is in blocks as well, so that the next convolution reads it as it is; only at the "
    "borders of the network something has to be converted. First layers with 3 channels are kept in another layout.",
    variants={"side": (14, 28, 7), "channels": (32, 48, 80)},
)


# ------------------------------------------------------------------------------------------------ repair


def _wrong_dimension(at: Setting) -> Schedule:
    s = Schedule(product(at["m"], at["n"]), at.target)
    s.split("j", [None, PER_LINE])
    s.split("k", [None, at["block"]])
    s.reorder("j.0", "i", "k.0", "k.1", "j.1")
    s.cache_read("C", "B")
    s.transform_layout("B.local", 0, at["block"])
    s.compute_at("B.copy", "j.0")
    s.vectorize("j.1")
    return s


def _mend(s: Schedule, at: Setting) -> None:
    s.undo(3)
    s.transform_layout("B.local", 1, PER_LINE)
    s.compute_at("B.copy", "j.0")
    s.vectorize("j.1")


REPAIR = Exercise(
    name="repair",
    title="Repair: packed the wrong way",
    task=lambda at: (
        f"Somebody has packed a copy of B, strip by strip, in blocks of {at['block']}, and has vectorised the loop "
        f"over {PER_LINE} columns. Few lines are fetched, the result is right, and yet the machine gathers its numbers "
        "one by one. Look at the indices of B.local in the nest.\n\n"
        "How many bytes further is B.local from one lane to the next? How many lines do the 16 lanes touch, if the "
        "first one is at the start of a line? Which dimension of B has to be cut into blocks, 0 (rows) or 1 (columns)? "
        "Predict, then mend it."
    ),
    predictions=(
        Prediction(
            "apart",
            "How many bytes further is B.local from one lane to the next?",
            lambda at: 4 * at["block"],
            "bytes",
            (
                Misconception(4, "That would be right if the column was the last index."),
                Misconception(lambda at: at["block"], "That is the distance in numbers. How many bytes is it?"),
                Misconception(lambda at: 4 * at["n"], "That is the distance from row to row of B. The copy is packed."),
                Misconception(1, "A lane reads a number of 4 bytes, and the column is not the last index."),
            ),
            wrong="The column is the index before the last one. How many numbers has the last one?",
        ),
        Prediction(
            "lines",
            "How many lines do the 16 lanes touch?",
            lambda at: min(PER_LINE, at["block"]),
            misconceptions=(
                Misconception(1, "16 neighbours would be in one line. How far apart are the lanes?"),
                Misconception(4, "16 lanes, so many bytes apart, and a line has 64 bytes."),
                Misconception(64, "A line has 64 bytes. How many lanes are there?"),
                Misconception(DEPTH, "That is how many lines the strip has. A vector needs one row of it."),
            ),
            wrong="16 times the distance of the lanes, in lines; but no lane touches more than one.",
            within=0,
        ),
        Prediction(
            "dimension",
            "Which dimension of B has to be cut into blocks?",
            1,
            misconceptions=(
                Misconception(0, "That is what was done: the row inside of the block is the last index now."),
                Misconception(2, "B has two dimensions; the first one has number 0."),
                Misconception(lambda at: at["block"], "That is the size of a block. Asked for is a dimension."),
            ),
            within=0,
        ),
    ),
    work=Nest(_wrong_dimension, _mend),
    goals=(whole_vectors(), pieces(), lines_at_most(1.25), FEW_PAGES),
    hints=(
        "The vectorised loop has to move the last index of the copy. Which one does it move now?",
        "s.undo(n) takes back the last n steps; the packing is three steps from the end.",
        "s.undo(3), s.transform_layout('B.local', 1, 16), s.compute_at('B.copy', 'j.0'), s.vectorize('j.1').",
    ),
    why="Both layouts are packed, both fetch the same lines. But a vector is filled by one load only if its lanes are "
    "the last index. Pack the dimension that the innermost loop moves, in blocks as long as that loop.",
    variants={**SIZES, "block": (16, 32, 8)},
)
