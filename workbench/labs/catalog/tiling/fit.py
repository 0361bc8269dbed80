"""Exercises on tiles for one cache: how large they may be, and one that does not fit."""

from __future__ import annotations

from workbench.analysis.cache.levels import KIB
from workbench.labs.catalog.loops.simulated import cubed
from workbench.labs.catalog.tiling.caches import L1, NEAR, SIZES, cut, few, lines, product
from workbench.labs.counting import PER_LINE
from workbench.labs.exercise import Exercise, Misconception, Nest, Prediction, Setting
from workbench.schedule import Schedule


def _rows(at: Setting) -> Schedule:
    s = Schedule(product(at), at.target)
    s.reorder("i", "k", "j")
    return s


def _tiles(s: Schedule, at: Setting) -> None:
    cut(s, [NEAR])


TILE = Exercise(
    name="tile",
    title="How large is a tile?",
    task=lambda at: (
        f"A product of {at['n']} by {at['n']}, in the good order of lab 1: i, k, j. The cache is the one of lab 1 as "
        f"well: {L1.size // KIB} KiB in lines of {L1.line} bytes, which hold {PER_LINE} numbers; the line that was not "
        f"used for the longest time goes. B has {at['n'] ** 2 * 4 / KIB:.3g} KiB. How many accesses of B miss?\n\n"
        "Now all three loops are cut into parts of T, and the loops over tiles stand outside: i.0, j.0, k.0, i.1, k.1, "
        "j.1. For each step of k.0, T by T numbers of A and of B are multiplied into T by T numbers of C. What is the "
        "largest T, a multiple of a line, so that the tiles of A, B and C fit at the same time? How many accesses of B "
        "miss with this T?\n\n"
        f"Predict, then cut tiles in lab.tile.schedule: at most {cubed(at) // 100:,} accesses miss, of A, B and C "
        "together."
    ),
    predictions=(
        Prediction(
            "rows",
            "How many accesses of B miss in the order i, k, j?",
            lambda at: cubed(at) / PER_LINE,
            "",
            (
                Misconception(
                    lines, "That is how many lines B has. Are they still there when the next row of C needs them?"
                ),
                Misconception(cubed, "Along a row of B, one access fetches a whole line."),
                Misconception(
                    lambda at: at["n"] ** 2, "That is how many numbers B has. What is fetched at a time, and when?"
                ),
                Misconception(lambda at: cubed(at) / L1.line, "A line has 64 bytes. How many numbers are that?"),
            ),
            wrong="How many lines has B, and for how many rows of C is it fetched anew?",
        ),
        Prediction(
            "size",
            "What is the largest T?",
            NEAR,
            "",
            (
                Misconception(32, "One tile of this size fills the cache. There are three arrays."),
                Misconception(64, "That is how many lines the cache has. How many lines has a tile?"),
                Misconception(18, "Each row of such a tile ends in the middle of a line. The whole line is fetched."),
                Misconception(24, "Multiply: three tiles, of T times T numbers, of 4 bytes each."),
            ),
            wrong="Three tiles of T times T numbers of 4 bytes have to fit, and T is a multiple of a line.",
            within=0,
        ),
        Prediction(
            "tiles",
            "How many accesses of B miss with tiles of this size?",
            lambda at: cubed(at) / (PER_LINE * NEAR),
            "",
            (
                Misconception(
                    lines, "Each tile of B is fetched more than once: how many tiles of C are there above one another?"
                ),
                Misconception(lambda at: cubed(at) / PER_LINE, "As many as before? Now T rows of C share each line."),
                Misconception(
                    lambda at: cubed(at) / (PER_LINE * NEAR**2), "T rows of C share a line of B, not T times T of them."
                ),
                Misconception(lambda at: cubed(at) / NEAR, "That counts the numbers that are fetched, not the lines."),
            ),
            wrong="How often does i.0 step, and how many lines of B are fetched in each of its steps?",
        ),
    ),
    work=Nest(_rows, _tiles),
    goals=(few(100),),
    hints=(
        "A line of B is used in each row i of C. Between two uses, all of B is read, unless only a tile of it is.",
        "s.split('i', [None, T]) makes i.0, which counts tiles, and i.1, which runs in one. Cut all three loops.",
        "s.split(loop, [None, 16]) for each loop, then s.reorder('i.0', 'j.0', 'k.0', 'i.1', 'k.1', 'j.1').",
    ),
    why=lambda at: (
        f"Three tiles of 16 by 16 numbers are 3 KiB, of 32 by 32 they are 12 KiB. The loop i.0 has {at['n'] // NEAR} "
        f"steps, and B is fetched once in each, instead of once for each of {at['n']} rows."
    ),
    variants=SIZES,
)


# ------------------------------------------------------------------------------------------------------ the repair


def _two_cut(at: Setting) -> Schedule:
    s = Schedule(product(at), at.target)
    s.split("i", [None, NEAR])
    s.split("j", [None, NEAR])
    s.reorder("i.0", "j.0", "i.1", "k", "j.1")
    return s


def _third_cut(s: Schedule, at: Setting) -> None:
    s.split("k", [None, NEAR])
    s.reorder("i.0", "j.0", "k.0", "i.1", "k.1", "j.1")


def _piece(at: Setting) -> float:
    """KiB of B that one row of a tile of C reads."""
    return at["n"] * NEAR * 4 / KIB


REPAIR = Exercise(
    name="repair",
    title="Repair: a tile that does not fit",
    task=lambda at: (
        f"Somebody has cut a product of {at['n']} by {at['n']} into tiles of C with {NEAR} by {NEAR} numbers, because "
        f"they fit into L1 ({L1.size // KIB} KiB). It misses about as often as without tiles. For one row of the tile, "
        "i.1, how many KiB of B are read? How many accesses of B miss? How many steps of k may follow each other, so "
        f"that their part of B, {NEAR} columns wide, takes half of L1?\n\n"
        f"Predict, then mend lab.repair.schedule: at most {cubed(at) // 100:,} accesses miss. A and C need room, too."
    ),
    predictions=(
        Prediction(
            "piece",
            "How many KiB of B does one row of the tile of C read?",
            _piece,
            "KiB",
            (
                Misconception(lambda at: at["n"] ** 2 * 4 / KIB, "That is all of B. How many columns has the tile?"),
                Misconception(
                    NEAR * NEAR * 4 / KIB, "That would be right if k were cut as well. How far does k run in this nest?"
                ),
                Misconception(lambda at: at["n"] * NEAR / KIB, "You have counted numbers. A float32 has 4 bytes."),
                Misconception(lambda at: at["n"] * 4 / KIB, "That is one row or column of B. How many does it take?"),
            ),
            wrong="Rows of B that k goes through, times columns of the tile, times 4 bytes.",
        ),
        Prediction(
            "misses",
            "How many accesses of B miss?",
            lambda at: cubed(at) / PER_LINE,
            "",
            (
                Misconception(
                    lambda at: cubed(at) / (PER_LINE * NEAR),
                    "That would be right if the rows of the tile shared each line. Compare with what you said of L1.",
                ),
                Misconception(lines, "B is gone through more than once."),
                Misconception(cubed, "One access fetches a whole line, and the next ones find it."),
            ),
            wrong="Is a line of B still there when the next row of the tile needs it?",
        ),
        Prediction(
            "steps",
            "How many steps of k take half of L1?",
            L1.size // 2 // (4 * NEAR),
            "steps",
            (
                Misconception(L1.size // (4 * NEAR), "That many steps take all of L1. C and A need room, too."),
                Misconception(
                    L1.size // 2 // NEAR,
                    "That is how many bytes there are for each column. How many numbers are these?",
                ),
                Misconception(
                    L1.size // 2 // 4, "That is how many numbers take half of L1. A step of k reads several."
                ),
            ),
            wrong=f"One step of k reads {NEAR} numbers of B, 4 bytes each.",
            within=0,
        ),
    ),
    work=Nest(_two_cut, _third_cut),
    goals=(few(100),),
    hints=(
        "Which loops lie between two uses of the same number of B? The loop i.1 is the one that uses it again.",
        "Let fewer steps of k lie between: cut k, and put its outer part outside of i.1. Half of L1 for B is too much: "
        "A takes at least as much, and C comes to that. Let a part of k be whole lines of A.",
        "s.split('k', [None, 16]), then s.reorder('i.0', 'j.0', 'k.0', 'i.1', 'k.1', 'j.1').",
    ),
    why=lambda at: (
        f"The tile of C fits, but between two rows of it k runs through {_piece(at):.3g} KiB of B, and all of it is "
        "gone when the next row begins. What has to fit is everything between two uses: the tiles of all arrays."
    ),
    variants=SIZES,
)
