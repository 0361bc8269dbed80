"""Exercises on im2col: the matrix of patches, how much of it is kept, and how often it is copied."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np

from workbench import te
from workbench.analysis.cache.levels import KIB
from workbench.ir import Func
from workbench.labs.catalog.convolution.direct import FAST, IN, OUT, PIXELS, SIZES
from workbench.labs.exercise import Exercise, Function, Goal, Misconception, Nest, Prediction, Setting
from workbench.labs.goals import Case, kept_at_most, repeated_at_most, right_for
from workbench.schedule import Schedule
from workbench.workloads.stages import pad

#: Numbers of a patch.
PATCH_SIZE = 9 * IN
#: Bytes of copies that may exist at a time.
ROOM = 4 * KIB

Place = Callable[[Any, Any, Any, int], tuple[Any, Any, Any]]


# ------------------------------------------------------------------------------------------------ which number


def place(y: Any, x: Any, q: Any, channels: int) -> tuple[Any, Any, Any]:
    """Row, column and channel in the framed image of number q of the patch of pixel (y, x)."""
    return y + q // (3 * channels), x + q // channels % 3, q % channels


def im2col(n: int, channels: int = IN, outputs: int = OUT, where: Place = place) -> Func:
    """Return a convolution as a matrix product: `cols` has the patch of every pixel, `conv` multiplies it with W."""
    framed = pad(te.placeholder((1, n, n, channels), name="X"), 1)
    weights = te.placeholder((9 * channels, outputs), name="W", constant=True)
    cols = te.compute((n, n, 9 * channels), lambda y, x, q: framed[(0, *where(y, x, q, channels))], name="cols")
    q = te.reduce_axis(9 * channels, "q")
    return te.func(
        te.compute((n, n, outputs), lambda y, x, o: te.sum(cols[y, x, q] * weights[q, o], axis=[q]), name="conv"),
        "im2col",
    )


def _taps(at: Setting) -> Iterator[Case]:
    for channels in (1, 3, IN):
        for q, (kh, kw, c) in enumerate(product(range(3), range(3), range(channels))):
            for y, x in ((0, 0), (2, 5), (7, 1)):
                yield (y, x, q, channels), (y + kh, x + kw, c)


def _product_is_convolution(where: Place, at: Setting) -> tuple[bool, str]:
    rng, n, channels, outputs = np.random.default_rng(10), 5, 3, 2
    framed = np.zeros((n + 2, n + 2, channels))
    framed[1:-1, 1:-1] = rng.integers(-9, 10, (n, n, channels))
    kernels = rng.integers(-9, 10, (3, 3, channels, outputs))
    pixels = list(product(range(n), range(n)))
    rows = [[framed[where(y, x, q, channels)] for q in range(9 * channels)] for y, x in pixels]
    found = np.array(rows, float) @ kernels.reshape(-1, outputs)
    right = np.array([np.einsum("abc,abco->o", framed[y : y + 3, x : x + 3], kernels) for y, x in pixels])
    wrong = int((found != right).sum()) if found.shape == right.shape else right.size
    if wrong:
        return False, f"{wrong} of {right.size} results of the product are not those of the convolution."
    return True, "The product of patches and kernels is the convolution."


PATCH = Exercise(
    name="patch",
    title="A matrix of patches",
    task=lambda at: (
        "im2col copies what each pixel of the result needs (its patch: 3 x 3 pixels, all channels) into one row of "
        "a matrix. The convolution is then one product of this matrix with the kernels, whose rows are (kh, kw, c) "
        f"with c running fastest. For {at['n']} x {at['n']} pixels and {IN} channels: how large is the matrix, and how "
        "many times as large as the image? Are there fewer multiplications now?\n\n"
        "Write patch(y, x, q, channels): the row, the column and the channel, in the image with its frame, of number q "
        "of the patch of pixel (y, x). Pixel (0, 0) has its patch in the rows and columns 0 to 2 of the framed image. "
        "Use //, % and + only: then a nest can be made of it, with loops in place of y, x and q."
    ),
    predictions=(
        Prediction(
            "matrix",
            "How large is the matrix?",
            lambda at: at["n"] ** 2 * PATCH_SIZE * 4 / KIB,
            "KiB",
            (
                Misconception(lambda at: at["n"] ** 2 * IN * 4 / KIB, "That is the size of the image, without copies."),
                Misconception(
                    lambda at: at["n"] ** 2 * PATCH_SIZE / KIB,
                    "That is how many numbers there are, in units of 1024. A float32 has 4 bytes.",
                ),
                Misconception(lambda at: at["n"] ** 2 * 9 * 4 / KIB, "A patch has all channels."),
            ),
            wrong="One row for each pixel, 3 x 3 x channels numbers in a row.",
        ),
        Prediction(
            "times",
            "How many times as large as the image is the matrix?",
            9,
            misconceptions=(
                Misconception(3, "Patches overlap in both directions."),
                Misconception(IN, "The channels are in the image as well."),
                Misconception(1, "Neighbouring patches overlap, and each has its own copy."),
            ),
            within=0,
        ),
        Prediction(
            "work",
            "Are there fewer multiplications than in the direct convolution?",
            "as many",
            choices=("fewer", "as many", "more"),
            misconceptions=(
                Misconception("fewer", "Which product of a number with a weight is left out?"),
                Misconception("more", "Numbers are copied, but is a copy multiplied more often?"),
            ),
        ),
    ),
    work=Function("patch", place),
    goals=(
        right_for("Every number of a patch comes from its place.", _taps),
        Goal("The product of patches and kernels is the convolution.", _product_is_convolution),
    ),
    hints=(
        "q counts channels first, then columns, then rows: q % channels is the channel.",
        "q // channels counts the 9 pixels of a patch. What are its row and its column in 3 x 3?",
        "The row is y + q // (3 * channels).",
    ),
    why="The work is the same, number by number; only its form has changed, into a product for which fast libraries "
    "exist. The price is the matrix: nine copies of almost every number, written and read.",
    variants=SIZES,
)


# ------------------------------------------------------------------------------------------------ how much is kept


def columns(at: Setting) -> Func:
    """Return im2col of the student's image."""
    return im2col(at["n"])


_LITTLE = (kept_at_most(ROOM, "cols"), repeated_at_most(1, "cols"))


def _product(s: Schedule, at: Setting, loop: int) -> None:
    """Tiles of the product, and cols in one of its outer loops."""
    x0, x1 = s.split("x", [None, PIXELS])
    o0, o1 = s.split("o", [None, at.lanes])
    s.reorder("y", x0, o0, "q", x1, o1)
    s.unroll(x1)
    s.vectorize(o1)
    s.compute_at("cols", ("y", x0, o0)[loop])


ROWS = Exercise(
    name="rows",
    title="A matrix that is never there",
    task=lambda at: (
        "Nobody needs the whole matrix at once. Put cols into a loop of the product: how much is kept with "
        "compute_at('cols', 'y'), and how many times is each number of cols copied then? The patches of how many "
        f"pixels fit in {ROOM // KIB} KiB?\n\n"
        f"Then build it: a product with {PIXELS} vectors of sums in registers, which keeps at most {ROOM // KIB} KiB "
        "of cols and copies nothing twice. (Order and mark the loops of the product first, then say where cols goes.)"
    ),
    predictions=(
        Prediction(
            "kept",
            "How much of cols is kept with compute_at('cols', 'y')?",
            lambda at: at["n"] * PATCH_SIZE * 4 / KIB,
            "KiB",
            (
                Misconception(lambda at: at["n"] ** 2 * PATCH_SIZE * 4 / KIB, "That is the whole matrix."),
                Misconception(
                    lambda at: 3 * at["n"] * PATCH_SIZE * 4 / KIB,
                    "A patch already has three rows of the image. How many rows of patches does one row need?",
                ),
                Misconception(lambda at: PATCH_SIZE * 4 / KIB, "That is one patch. A row has more pixels."),
                Misconception(
                    lambda at: 3 * at["n"] * IN * 4 / KIB, "Three rows of the image, but patches are copies."
                ),
            ),
            wrong="The patches of one row of pixels.",
        ),
        Prediction(
            "copied",
            "How many times is each number of cols copied then?",
            1,
            misconceptions=(
                Misconception(3, "Rows of the image are shared. Is a row of patches shared by two rows of results?"),
                Misconception(
                    9, "That is how often a number of the image is in cols. The question is about each place of cols."
                ),
            ),
            within=0,
        ),
        Prediction(
            "pixels",
            f"The patches of how many pixels fit in {ROOM // KIB} KiB?",
            ROOM // (4 * PATCH_SIZE),
            misconceptions=(
                Misconception(ROOM // PATCH_SIZE, "A number has 4 bytes, not one."),
                Misconception(ROOM // (4 * 9), "A patch has all channels."),
                Misconception(ROOM // (4 * IN), "That is how many pixels fit. A patch has nine."),
                Misconception(ROOM // (4 * PATCH_SIZE) + 1, "The last one does not fit as a whole."),
            ),
            within=0,
        ),
    ),
    work=Nest(columns, lambda s, at: _product(s, at, 1)),
    goals=(*FAST, *_LITTLE),
    hints=(
        "A row of pixels is too much. Cut x, and put cols into the loop over the pieces.",
        lambda at: f"Split x by {PIXELS} and o by {at.lanes}; s.reorder('y', 'x.0', 'o.0', 'q', 'x.1', 'o.1').",
        "s.unroll('x.1'), s.vectorize('o.1'), s.compute_at('cols', 'x.0').",
    ),
    why="Each pixel has a patch of its own, so cols can be cut between pixels and nothing is copied twice. Four "
    "patches stay in the nearest cache while all output channels use them: the form of a matrix product, without the "
    "matrix.",
    variants=SIZES,
)


def _copied_anew(at: Setting) -> Schedule:
    s = Schedule(columns(at), at.target)
    _product(s, at, 2)
    return s


def _mended(s: Schedule, at: Setting) -> None:
    s.undo(1)
    s.compute_at("cols", "x.0")


REPAIR = Exercise(
    name="repair",
    title="Repair: copies of copies",
    task=lambda at: (
        "This nest keeps little and has its sums in registers, and yet it copies far too much. A vector has "
        f"{at.lanes} lanes, and there are {OUT} output channels. How many times is each number of cols copied? How "
        "many multiplications of whole vectors does one copied number serve?\n\n"
        "Mend it."
    ),
    predictions=(
        Prediction(
            "copied",
            "How many times is each number of cols copied?",
            lambda at: OUT // at.lanes,
            misconceptions=(
                Misconception(1, "In which loop does cols stand, and does this loop change which patch is needed?"),
                Misconception(OUT, "The lanes of a vector share the copy."),
                Misconception(
                    lambda at: at.lanes, "That is how many channels share one copy. How many such groups are there?"
                ),
                Misconception(
                    9, "That is how often a number of the image is in cols. How often is each place of cols written?"
                ),
            ),
            within=0,
        ),
        Prediction(
            "serves",
            "How many multiplications of whole vectors does one copied number serve?",
            1,
            misconceptions=(
                Misconception(lambda at: at.lanes, "These are single products. A vector does them at once."),
                Misconception(lambda at: OUT // at.lanes, "So it should be: then it is copied again for each of them."),
                Misconception(PIXELS, "Each of the pixels has a patch of its own."),
            ),
            within=0,
        ),
    ),
    work=Nest(_copied_anew, _mended),
    goals=(*FAST, *_LITTLE),
    hints=(
        "Read the nest from outside: y, x.0, o.0, then cols. Which of these loops changes the patch?",
        "s.undo(1) takes back the last step. Put cols into the innermost loop that changes the patch.",
    ),
    why="The loop over output channels needs the same patches in every iteration, so what is computed inside of it is "
    "computed again. A stage belongs into the innermost loop that changes what it has to hold, and no further in.",
    variants=SIZES,
)
