"""Exercises before the first step: what the layer asks for, and what the tuner has done with it."""

from __future__ import annotations

from math import ceil

from workbench.analysis.cache.levels import KIB
from workbench.labs.catalog.capstone.layer import OUT, SIDE, SIZES, THREADS, tuned_counts
from workbench.labs.exercise import Exercise, Misconception, Prediction, Setting

PIXELS = SIDE * SIDE


def _weights_kib(at: Setting) -> float:
    return at["c"] * OUT * 4 / KIB


LAYER = Exercise(
    name="layer",
    title="What the layer asks for",
    task=lambda at: (
        f"The layer reads an image of {SIDE} x {SIDE} pixels with {at['c']} channels and writes {OUT} channels. It is "
        "a convolution of 1 x 1: each pixel of the result is the product of one pixel of the input, a row of "
        f"{at['c']} numbers, and the matrix of weights W. How many multiply-adds does the convolution do? How much "
        "memory does W take? In how many multiply-adds is one weight used?"
    ),
    predictions=(
        Prediction(
            "adds",
            "How many multiply-adds does the convolution do?",
            lambda at: PIXELS * at["c"] * OUT,
            misconceptions=(
                Misconception(lambda at: 2 * PIXELS * at["c"] * OUT, "A multiply-add is one, though two operations."),
                Misconception(lambda at: SIDE * at["c"] * OUT, "That is one row of the image."),
                Misconception(lambda at: 9 * PIXELS * at["c"] * OUT, "The filters are 1 x 1, not 3 x 3."),
                Misconception(
                    lambda at: PIXELS * OUT, "That is the number of results. Each is a sum over the channels."
                ),
            ),
        ),
        Prediction(
            "weights",
            "How much memory does W take?",
            _weights_kib,
            "KiB",
            (
                Misconception(lambda at: _weights_kib(at) / 4, "A float32 has 4 bytes."),
                Misconception(lambda at: _weights_kib(at) * 9, "The filters are 1 x 1, not 3 x 3."),
                Misconception(
                    lambda at: PIXELS * at["c"] * 4 / KIB, "That is the image of the input. Which sizes has W?"
                ),
            ),
        ),
        Prediction(
            "uses",
            "In how many multiply-adds is one weight used?",
            PIXELS,
            misconceptions=(
                Misconception(SIDE, "Once for each pixel of a row. How many rows are there?"),
                Misconception(OUT, "That is how often a number of the input is used."),
                Misconception(1, "Which pixels of the result need this weight?"),
            ),
            within=0,
        ),
    ),
    hints=(
        "The loops of the nest: h, w, o and c. Their product counts the multiply-adds; kh and kw run once.",
        "W has a number for each pair of an input and an output channel, and every pixel uses all of W.",
    ),
    why=f"The weights are more than a first cache of 32 KiB holds, and each is used for {PIXELS} pixels: a schedule "
    "decides how often they are fetched for that.",
    variants=SIZES,
)


def _accumulators(at: Setting) -> int:
    return tuned_counts(at["c"], at.target)[0]


def _iterations(at: Setting) -> int:
    return tuned_counts(at["c"], at.target)[1]


TUNER = Exercise(
    name="tuner",
    title="What the tuner did",
    task="The notebook shows the schedule that the tuner found for your layer in 64 trials. Read it as a colleague's. "
    "Unrolled and vectorised loops inside of the loop over c are the tile whose sums stay in registers: how many "
    "vector registers do its sums take on your machine? How much of W does the core load in the whole run, if a "
    "weight that a tile loads serves all of its pixels? The parallel loops together are the iterations for threads: in "
    f"how many rounds do {THREADS} threads do them?",
    predictions=(
        Prediction(
            "accumulators",
            "How many vector registers do the sums of the tile take?",
            _accumulators,
            misconceptions=(
                Misconception(
                    lambda at: _accumulators(at) * at.lanes,
                    "That is how many sums the tile has. A register holds several.",
                ),
                Misconception(lambda at: at.registers, "That is how many registers the machine has."),
                Misconception(lambda at: _accumulators(at) + 1, "Only those of the sums, not what is loaded."),
            ),
            within=0,
        ),
        Prediction(
            "loaded",
            "How much of W does the core load in the whole run?",
            lambda at: SIDE * _weights_kib(at),
            "KiB",
            (
                Misconception(_weights_kib, "That is W once. Which loops around the tile go through W again?"),
                Misconception(
                    lambda at: PIXELS * _weights_kib(at),
                    f"One load serves the {SIDE} pixels of a tile, which share it.",
                ),
                Misconception(lambda at: SIDE * _weights_kib(at) / 4, "A float32 has 4 bytes."),
            ),
            wrong="How many pixels has a tile, and how many such tiles of pixels are there?",
        ),
        Prediction(
            "rounds",
            f"In how many rounds do {THREADS} threads do the parallel iterations?",
            lambda at: ceil(_iterations(at) / THREADS),
            misconceptions=(
                Misconception(_iterations, "That is the number of iterations. Two run at the same time."),
                Misconception(lambda at: THREADS * _iterations(at), "Threads share the iterations."),
            ),
            within=0,
        ),
    ),
    hints=(
        "Parallel loops: multiply their extents. A loop of one iteration changes nothing.",
        "Pixels of the tile times the vectorised loop is the number of sums; a register holds as many as it has lanes.",
        "labs.count(tuner.func, lanes, 'conv') counts the first two, labs.shared_lines(tuner.func) the iterations.",
    ),
    why=f"A tile of {SIDE} pixels loads W {SIDE} times instead of {PIXELS} times. {SIDE} is a prime number, so a tile "
    "has all pixels of a row or a column, or one: the tuner found no other one either.",
    variants=SIZES,
)
