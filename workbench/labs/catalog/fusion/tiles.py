"""Exercises on tiles: of a wide image, one that saves nothing, and what may be moved where."""

from __future__ import annotations

from workbench.analysis.cache.levels import KIB
from workbench.ir import Func
from workbench.labs.catalog.fusion.blurring import ROOM, SIZES, blur, square
from workbench.labs.exercise import Exercise, Misconception, Nest, Prediction, Setting
from workbench.labs.goals import NOTHING_TWICE, kept_at_most, pieces, repeated_at_most, whole_vectors
from workbench.schedule import Schedule
from workbench.workloads import dense

#: Columns of the wide image, which has 256 rows.
WIDE = {"w": (4096, 6144, 3072)}
WIDE_ROWS = 256
#: Both stages work on vectors along x.
VECTORS = (whole_vectors("bx", "by"), pieces("bx", "by"))


def _wide(at: Setting) -> Func:
    return blur(WIDE_ROWS, at["w"])


def _tile(s: Schedule, at: Setting) -> None:
    y0, y1 = s.split("by_y", [None, 32])
    x0, x1 = s.split("by_x", [None, 128])
    s.reorder(y0, x0, y1, x1)
    s.compute_at("bx", x0)
    s.vectorize("bx_x")
    s.vectorize(x1)


TILE = Exercise(
    name="tile",
    title="A wide image",
    task=lambda at: (
        f"This image has {WIDE_ROWS} rows of {at['w']} columns, so one row of bx takes {at['w'] * 4 // KIB} KiB, and "
        "strips do not fit. Cut the columns as well. Does a tile need more columns of bx than it has?\n\n"
        "Take tiles of 32 rows. How many columns may a tile have at most, so that what it needs of bx fits in 32 KiB? "
        "Then build such tiles (their width has to divide the columns), with bx computed in each, and let both "
        "stages work on whole vectors along x. Vectorise last: compute_at makes the loops of bx anew."
    ),
    predictions=(
        Prediction(
            "columns",
            "How many columns may a tile of 32 rows have at most?",
            ROOM // 4 // 34,
            "columns",
            (
                Misconception(ROOM // 4 // 32, "A tile of 32 rows needs more than 32 rows of bx."),
                Misconception(ROOM // 34, "That is how many bytes each row may have. How many numbers are these?"),
                Misconception(ROOM // 4 // 34 - 2, "bx is already the sum along x: no column beyond the tile is read."),
            ),
            wrong="Rows of bx in a tile, times columns, times 4 bytes: at most 32 times 1024.",
            within=0,
        ),
        Prediction(
            "beyond",
            "How many columns of bx beyond its own does a tile read?",
            0,
            "columns",
            (
                Misconception(2, "Two rows, not columns: look at the indices of bx in the stage by."),
                Misconception(1, "Look at the indices of bx in the stage by: x is the same in all three."),
            ),
            within=0,
        ),
    ),
    work=Nest(_wide, _tile),
    goals=(repeated_at_most(1.07, "bx"), kept_at_most(ROOM, "bx"), *VECTORS),
    hints=(
        "Split both loops of by, and bring the two outer ones outside: y.0, x.0, y.1, x.1. Then compute_at in x.0.",
        lambda at: (
            f"32 rows repeat 34 / 32. The number of columns has to divide {at['w']}, and to be a multiple of "
            f"{at.lanes}."
        ),
        "s.vectorize takes the innermost loop of each stage: bx_x, and the inner part of by_x.",
    ),
    why="Only rows are shared between tiles, so only they are repeated: 34 of 32. The columns are chosen to fit: 34 "
    "rows of 128 columns are 17 KiB.",
    variants=WIDE,
)


def _broken(at: Setting) -> Schedule:
    s = Schedule(square(at), at.target)
    y0, y1 = s.split("by_y", [None, 2])
    x0, x1 = s.split("by_x", [None, at.lanes])
    s.reorder(y0, x0, y1, x1)
    s.compute_at("bx", y1)
    s.vectorize(x1)
    return s


def _mend(s: Schedule, at: Setting) -> None:
    s.undo(len(s.trace))
    y0, _ = s.split("by_y", [None, 8])
    s.compute_at("bx", y0)
    _, b1 = s.split("bx_x", [None, at.lanes])
    s.vectorize(b1)
    _, x1 = s.split("by_x", [None, at.lanes])
    s.vectorize(x1)


REPAIR = Exercise(
    name="repair",
    title="Repair: a tile that saves nothing",
    task="Somebody has cut tiles and put bx inside, and wonders why the blur is slower than without. Read "
    "the nest from the outside to the inside: in which loop is bx computed, and what is computed again?\n\n"
    "Say how many times as often as needed bx is computed, and mend it: at most a quarter more work, at most 32 KiB, "
    "both stages in whole vectors. The steps that were taken stand above the nest; `s.undo()` takes the last one back, "
    "`s.undo(n)` the last n.",
    predictions=(
        Prediction(
            "repeated",
            "How many times as often as needed is bx computed by this nest?",
            3,
            misconceptions=(
                Misconception(2, "The tile has two rows, but bx stands inside the loop over them."),
                Misconception(1, "Look at the loop around bx: how many rows of bx does each iteration compute?"),
                Misconception(9, "Along x nothing is computed twice."),
            ),
            wrong="How many rows of bx does one iteration of the loop around it compute, and for how many rows of by?",
        ),
    ),
    work=Nest(_broken, _mend),
    goals=(repeated_at_most(1.25, "bx"), kept_at_most(ROOM, "bx"), *VECTORS),
    hints=(
        "bx stands inside the loop over single rows, by_y.1, so each row computes its three rows anew.",
        "Undo all, and think of the strips: T + 2 rows of bx for T rows of by. Then the vectors of each stage.",
        "split('by_y', [None, 8]), compute_at('bx', 'by_y.0'); then split 'bx_x' and 'by_x' by one vector each, and "
        "vectorize the inner parts.",
    ),
    why="A tile helps what is computed inside of it once. Here the stage stood one loop too deep, where nothing of it "
    "is shared: three rows for each row.",
    variants=SIZES,
)


def _epilogue(s: Schedule, at: Setting) -> None:
    s.compute_inline("bias_add")
    i0, i1 = s.split("i", [None, 8])
    j0, j1 = s.split("j", [None, at.lanes])
    s.reorder(i0, j0, "k", i1, j1)
    s.reverse_compute_at("relu", j0)


def _product(at: Setting) -> Func:
    return dense(256, at["m"], 256, relu=True)


EPILOGUE = Exercise(
    name="epilogue",
    title="What may be moved where",
    task="A layer has three stages: dense (a sum over k), bias_add, and relu. Which of the first two can be inlined "
    "into its reader? And in the blur of the sections before: may the stage `by` be moved into the loop over the rows "
    "of `bx`, with `reverse_compute_at('by', 'y')`? Say what you expect, then try both.\n\n"
    "Then fuse the layer: temporaries of at most 4 KiB in all, and nothing computed twice. compute_at moves what is "
    "read to its reader, reverse_compute_at moves the reader to where a part is finished.",
    predictions=(
        Prediction(
            "inlined",
            "Which stage can be inlined into its reader?",
            "bias_add",
            choices=("dense", "bias_add", "both", "neither"),
            misconceptions=(
                Misconception("dense", "Its value is there only when the loop over k has ended: it is no expression."),
                Misconception("both", "Can a sum over k be written as one expression of i and j?"),
                Misconception("neither", "An element-wise stage is an expression of the element that it reads."),
            ),
        ),
        Prediction(
            "moved",
            "May the stage `by` be moved into the loop over the rows of `bx`?",
            "no",
            choices=("yes", "no"),
            misconceptions=(
                Misconception("yes", "After row y of bx has been computed: are all rows there that by[y, x] reads?"),
            ),
        ),
    ),
    work=Nest(_product, _epilogue),
    goals=(kept_at_most(4 * KIB), NOTHING_TWICE),
    hints=(
        "Inline bias_add first. What is left are dense and relu.",
        "Cut tiles from i and j of dense, with the loop over k inside of the tile loops: i.0, j.0, k, i.1, j.1. After "
        "k, a tile of dense is finished.",
        "s.reverse_compute_at('relu', 'j.0') does the relu of a tile as soon as it is finished.",
    ),
    why="An element-wise stage reads exactly what was just finished, so it may follow tile by tile: a temporary of one "
    "tile, nothing twice. by reads rows of bx that do not exist yet; there, the producer has to move, and pays at the "
    "edges.",
    variants={"m": (256, 384, 512)},
)
