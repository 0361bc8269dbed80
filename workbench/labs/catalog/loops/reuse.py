"""Exercises on how long a line has to stay until it is used again."""

from __future__ import annotations

from workbench.analysis.cache.levels import KIB
from workbench.ir import Func
from workbench.labs.catalog.loops.simulated import CACHE, SIZES, transposition
from workbench.labs.counting import PER_LINE
from workbench.labs.exercise import Exercise, Misconception, Nest, Prediction, Setting
from workbench.labs.goals import misses_at_most
from workbench.schedule import Schedule
from workbench.workloads import matmul

#: Rows of A and of C, and rows of B: a flat product.
ROWS, DEPTH = 64, 16


def _flat(at: Setting) -> Schedule:
    s = Schedule(matmul(ROWS, at["columns"], DEPTH), at.target)
    s.reorder("i", "k", "j")
    return s


def _held(at: Setting) -> float:
    return DEPTH * at["columns"] * 4 / KIB


def _lines(at: Setting) -> int:
    return DEPTH * at["columns"] // PER_LINE


def _strips(s: Schedule, at: Setting) -> None:
    outer, inner = s.split("j", [None, 32])
    s.reorder(outer, "i", "k", inner)


REUSE = Exercise(
    name="reuse",
    title="How long a line has to stay",
    task=lambda at: (
        f"A product of other sizes: A is {ROWS} by {DEPTH}, B is {DEPTH} by {at['columns']}. The loops already stand "
        "in the order i, k, j, so everything goes along rows. Each number of B is used once for every i. It is fetched "
        "again each time, unless its line stays in the cache until the next i. How much of B is read from one use of "
        f"B[k, j] to the next? Our cache has {CACHE.size // KIB} KiB. How many accesses of B miss in all, for all "
        f"{ROWS} rows i?\n\n"
        "If j runs over a strip of T columns only, with i outside of it, only the strip has to stay. How large may T "
        "be, if the strip of B alone fills the cache? Predict, then cut j in lab.reuse.schedule and put the loop over "
        f"strips outside: each line of B is to be fetched once. Your own T has to divide {at['columns']}, and A and C "
        "need lines as well."
    ),
    predictions=(
        Prediction(
            "between",
            "How many KiB of B are read from one use of a number of B to the next use of it?",
            _held,
            "KiB",
            (
                Misconception(lambda at: at["columns"] * 4 / KIB, "That is one row. Which loops lie between two i?"),
                Misconception(lambda at: DEPTH * at["columns"], "That is how many numbers it has; asked for are KiB."),
                Misconception(lambda at: ROWS * _held(at), "That is read for all i. Asked for is one step of i."),
            ),
            wrong="Between two uses, i goes one step: k and j run once through all they have.",
        ),
        Prediction(
            "misses",
            f"How many accesses of B miss as the nest stands, for all {ROWS} rows i?",
            lambda at: ROWS * _lines(at),
            misconceptions=(
                Misconception(_lines, "This would be right if B fitted. Compare your first answer with the cache."),
                Misconception(
                    lambda at: ROWS * (_lines(at) - 64) + 64,
                    "What fits does not stay: the line that goes is the one not used for the longest time, and just "
                    "this one is wanted next.",
                ),
                Misconception(lambda at: ROWS * DEPTH * at["columns"], "Along a row, one access fetches a whole line."),
            ),
            wrong="Lines of B, times how often each has to be fetched.",
        ),
        Prediction(
            "columns",
            "How many columns may a strip have, if the strip of B alone fills the cache?",
            CACHE.size // (4 * DEPTH),
            "columns",
            (
                Misconception(
                    CACHE.size // (8 * DEPTH), "Such a strip leaves half of the cache to A and C. Here B has all of it."
                ),
                Misconception(CACHE.size // 4, "That is how many numbers fit. A strip has several rows."),
                Misconception(
                    CACHE.size // DEPTH,
                    "That is how many bytes a row of the strip may have. How many numbers are they?",
                ),
                Misconception(CACHE.size // (4 * ROWS), "A strip of B has as many rows as B: how far does k run?"),
            ),
            wrong="A strip has as many rows as k has steps, and T numbers in each. How many bytes are that?",
            within=0,
        ),
    ),
    work=Nest(_flat, _strips),
    goals=(misses_at_most(_lines, CACHE, buffer="B", meaning=": each line is fetched once"),),
    hints=(
        "s.split('j', [None, T]) makes j.0, which counts strips, and j.1, which runs in a strip.",
        "For one strip, all i have to be done before the next strip begins: j.0 is outside of i.",
        "A and C need lines, too: take half of what you said. s.split('j', [None, 32]), then s.reorder('j.0', 'i', "
        "'k', 'j.1').",
    ),
    why=lambda at: (
        f"The distance between two uses is all of B, {_held(at):.4g} KiB. A cache that throws out what was not used "
        f"for the longest time gains nothing from the {CACHE.size // KIB} KiB that would fit: it has thrown out each "
        "line shortly before it is wanted. A strip of 32 columns is 2 KiB, stays for all i, and is fetched once."
    ),
    variants={"columns": (96, 160, 224)},
)


def _start(at: Setting) -> Func:
    return transposition(at["n"])


def _tiles(s: Schedule, at: Setting) -> None:
    j0, j1 = s.split("j", [None, PER_LINE])
    i0, i1 = s.split("i", [None, PER_LINE])
    s.reorder(j0, i0, j1, i1)


def _least(at: Setting) -> int:
    """Lines of A and of C."""
    return 2 * at["n"] ** 2 // PER_LINE


TRANSPOSE = Exercise(
    name="transpose",
    title="When no order is good",
    task=lambda at: (
        f"C[j, i] = A[i, j], with {at['n']} rows and columns: a transposition. Which order of the two loops lets both "
        "A and C go along their rows? How many accesses miss as it is written, of A and of C together?\n\n"
        "A way out: squares of 16 by 16. A line has 16 numbers; all of them are used before the square is left. How "
        "many accesses miss then, of A and of C together? Predict, then cut such squares in lab.transpose.schedule."
    ),
    predictions=(
        Prediction(
            "order",
            "Which loop has to be outside, so that both A and C go along their rows?",
            "neither",
            choices=("i", "j", "neither"),
            misconceptions=(
                Misconception("i", "Then j is inside, and A[i, j] goes along its row. What does C[j, i] do?"),
                Misconception("j", "Then i is inside, and C[j, i] goes along its row. What does A[i, j] do?"),
            ),
        ),
        Prediction(
            "written",
            "How many accesses miss as written?",
            lambda at: at["n"] ** 2 + at["n"] ** 2 // PER_LINE,
            misconceptions=(
                Misconception(_least, "One of the two arrays goes down its columns, which have more than 64 lines."),
                Misconception(lambda at: 2 * at["n"] ** 2, "One of the two arrays does go along its rows."),
                Misconception(lambda at: at["n"] ** 2, "That is the array that goes down. The other one misses, too."),
            ),
            wrong="One array goes along its rows, the other one down its columns. Count each as in the first exercise.",
        ),
        Prediction(
            "squares",
            "How many accesses miss with squares of 16 by 16?",
            _least,
            misconceptions=(
                Misconception(lambda at: at["n"] ** 2 // PER_LINE, "That is one of the two arrays."),
                Misconception(
                    lambda at: at["n"] ** 2 // 256, "That is the number of squares. Each touches many lines."
                ),
                Misconception(lambda at: 2 * at["n"] ** 2, "A square touches 16 lines of each array: do they stay?"),
            ),
            wrong="Do the lines of a square stay until all their numbers are used? How many lines have A and C?",
        ),
    ),
    work=Nest(_start, _tiles),
    goals=(misses_at_most(_least, CACHE, meaning=": no line of A or of C is fetched twice"),),
    hints=(
        "Split both loops by 16, then four loops have to be put in order.",
        "The loops j.0 and i.0 go from square to square, j.1 and i.1 stay inside of one.",
        "s.split('j', [None, 16]), s.split('i', [None, 16]), s.reorder('j.0', 'i.0', 'j.1', 'i.1').",
    ),
    why="Rows of A are columns of C, so no order serves both. In a square of 16 by 16, 16 lines of A and 16 of C stay "
    "until all their numbers are used. This is the smallest tile that uses whole lines; lab 2 has more on tiles.",
    variants=SIZES,
)
