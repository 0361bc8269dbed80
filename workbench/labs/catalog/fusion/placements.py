"""Exercises on the three places of a stage: everything first, in its reader, in a loop of its reader."""

from __future__ import annotations

from workbench.analysis.cache.levels import KIB
from workbench.labs.catalog.fusion.blurring import ROOM, SIZES, by_rows, is_inlined, rows_kib, square
from workbench.labs.exercise import Exercise, Goal, Misconception, Nest, Prediction, Setting
from workbench.labs.goals import kept_at_most, repeated_at_most
from workbench.schedule import Schedule

INLINE = Exercise(
    name="inline",
    title="Everything at once, or nothing kept",
    task=lambda at: (
        f"The blur of an image of {at['n']} x {at['n']} float32 numbers has two stages. As written, all of bx is "
        "computed first, then all of by. How much memory does bx take, and how often is one element of it (not at "
        "the edge) read?\n\n"
        "Then do the opposite: write the expression of bx into by, with compute_inline. How often is the value of one "
        "place of bx (not at the edge) computed now?"
    ),
    predictions=(
        Prediction(
            "holds",
            "How much memory does bx take as written?",
            lambda at: rows_kib(at, at["n"] + 2),
            "KiB",
            (
                Misconception(
                    lambda at: rows_kib(at, at["n"] + 2) / 4,
                    "That is how many elements there are, in units of 1024. How many bytes has one?",
                ),
                Misconception(lambda at: rows_kib(at, at["n"]), "bx has more rows than by: see the nest."),
                Misconception(lambda at: rows_kib(at, 1), "That is one row of bx."),
                Misconception(
                    lambda at: 2 * rows_kib(at, at["n"] + 2),
                    "It is written and read, but it takes its memory only once.",
                ),
            ),
            wrong="Count the rows and the columns of bx in the nest; a float32 has 4 bytes.",
            within=0.001,
        ),
        Prediction(
            "read",
            "How often is one element of bx read?",
            3,
            misconceptions=(
                Misconception(1, "by[y, x] reads three rows of bx; which three by read bx[y, x]?"),
                Misconception(9, "That is how many pixels of A go into one of by. Look at the second stage alone."),
                Misconception(2, "Above, below, and at the same place."),
            ),
            within=0,
        ),
        Prediction(
            "computed",
            "How often is one place of bx computed when it is inlined?",
            3,
            misconceptions=(
                Misconception(1, "Inlining keeps nothing: whoever needs the value computes it. How many need it?"),
                Misconception(9, "The three pixels in a row belong to one value of bx."),
            ),
            within=0,
        ),
    ),
    work=Nest(square, lambda s, at: s.compute_inline("bx")),
    goals=(Goal("bx is inlined.", is_inlined),),
    hints=(
        "by[y, x] reads bx[y, x], bx[y + 1, x] and bx[y + 2, x]. Turn it round: which elements of by read bx[5, x]?",
        "s.compute_inline('bx') is all that there is to do.",
    ),
    why="Every value of bx is needed by three rows of by. Kept, it is computed once and read three times, and the "
    "whole image goes to memory and back. Inlined, nothing is kept, and each value is computed three times.",
    variants=SIZES,
)


ROW = Exercise(
    name="row",
    title="What one row needs",
    task="compute_at puts a stage inside a loop of its reader: in every iteration, what this iteration needs is "
    "computed, and no more. Put bx inside the loop over the rows of by, by_y.\n\n"
    "How much of bx has to be kept at a time then, and how many times as often as needed is bx computed? (Nothing "
    "is carried over from one iteration to the next. Count what happens in the middle, without the edges.)",
    predictions=(
        Prediction(
            "kept",
            "How much of bx is kept at a time?",
            lambda at: rows_kib(at, 3),
            "KiB",
            (
                Misconception(lambda at: rows_kib(at, 1), "One row of by reads more than one row of bx."),
                Misconception(lambda at: rows_kib(at, at["n"] + 2), "That is all of bx, as before."),
                Misconception(
                    lambda at: rows_kib(at, 2), "The row itself and two more are needed before the next row begins."
                ),
            ),
            wrong="How many rows of bx does one iteration of by_y read?",
        ),
        Prediction(
            "repeated",
            "How many times as often as needed is bx computed?",
            3,
            misconceptions=(
                Misconception(1, "The next iteration needs two of these rows again; nobody has kept them for it."),
                Misconception(2, "How many iterations of by_y need the same row of bx?"),
                Misconception(9, "Only rows are computed again. Along a row nothing is."),
            ),
            wrong="Each iteration computes three rows. How many new ones does it need?",
        ),
    ),
    work=Nest(square, lambda s, at: s.compute_at("bx", "by_y")),
    goals=(Goal("bx is a stage of its own, computed by whole rows.", by_rows), kept_at_most(8 * KIB, "bx")),
    hints=(
        "Row y of by needs the rows y, y + 1 and y + 2 of bx.",
        "s.compute_at('bx', 'by_y') puts bx in; print(s.nest()) shows that its loop has 3 rows now.",
    ),
    why="Three rows are enough to compute one, and they fit in the nearest cache. But each row is computed for three "
    "iterations: as much work as inlined, although in a shape that vectors like.",
    variants=SIZES,
)


def _strip(s: Schedule, at: Setting) -> None:
    outer, _ = s.split("by_y", [None, 8])
    s.compute_at("bx", outer)


STRIP = Exercise(
    name="strip",
    title="Strips: pay at the edge only",
    task=lambda at: (
        f"Between the two extremes lies a number. Cut the {at['n']} rows of `by` into strips of 4 rows, and put `bx` "
        "inside the loop over the strips. How much of bx is kept at a time, and how many times as often as needed is "
        "it computed?\n\n"
        "Then find a height that keeps both small: at most 32 KiB, and at most a quarter more work on bx."
    ),
    predictions=(
        Prediction(
            "kept",
            "How much of bx is kept with strips of 4 rows?",
            lambda at: rows_kib(at, 6),
            "KiB",
            (
                Misconception(lambda at: rows_kib(at, 4), "The last two rows of a strip read beyond it."),
                Misconception(lambda at: rows_kib(at, 5), "The last row of a strip reads two rows beyond it."),
                Misconception(lambda at: rows_kib(at, 12), "Three rows each, but neighbours share two of them."),
            ),
            wrong="Which rows of bx do the rows 0 to 3 of by read?",
        ),
        Prediction(
            "repeated",
            "How many times as often as needed is bx computed with strips of 4 rows?",
            1.5,
            misconceptions=(
                Misconception(1, "Two rows at the end of each strip are the first two of the next one."),
                Misconception(0.5, "That is what comes on top. How often is all of it, against what is needed?"),
                Misconception(2 / 3, "This way round it is the share of the work that is needed."),
                Misconception(1.25, "How many rows beyond the strip does its last row read?"),
                Misconception(3, "That was right with strips of one row."),
            ),
            wrong="Divide the rows that a strip computes by those that it adds to by.",
        ),
    ),
    work=Nest(square, _strip),
    goals=(repeated_at_most(1.25, "bx"), kept_at_most(ROOM, "bx")),
    hints=(
        "A strip of T rows computes T + 2 rows of bx. Larger strips repeat less and keep more.",
        lambda at: f"T has to divide {at['n']}, and T + 2 rows of {rows_kib(at, 1):g} KiB have to fit.",
        "s.split('by_y', [None, 8]) returns the loop over the strips first: s.compute_at('bx', that one).",
    ),
    why="T rows of by need T + 2 rows of bx: the work grows by (T + 2) / T only, and T + 2 rows are kept. With 8 rows "
    "that is a quarter more work, in a temporary that stays in the first cache.",
    variants=SIZES,
)
