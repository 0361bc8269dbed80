"""Exercises on virtual threads: loads that are hidden, and memories that are too small for two tiles."""

from __future__ import annotations

from workbench.labs.catalog.accelerator.machine import (
    BLOCK,
    BUS,
    FILL,
    LATENCY,
    RUNS,
    busy_at_least,
    cut,
    placed,
    read_at_most,
)  # fmt: skip
from workbench.labs.exercise import Exercise, Misconception, Nest, Prediction, Setting
from workbench.schedule import Schedule
from workbench.target import Target

#: Rows, and blocks of 16 columns and of 16 terms.
TILE = (64, 4, 4)
SIDE = 64
_LOADS = 2 * (LATENCY + SIDE * SIDE // BUS)
_PRODUCT = FILL + SIDE * (SIDE // BLOCK) ** 2
KIB = 1 << 10


def _bind(s: Schedule, at: Setting) -> None:
    s.bind("j.1", "vthread")


HIDE = Exercise(
    name="hide",
    title="Two virtual threads",
    task=f"Tiles of {SIDE} rows, {SIDE} columns and {SIDE} terms, as before, are in their memories, and the "
    "instruction computes them. The loop j.1 has two iterations, each with a tile of C of its own, one after the "
    "other. As *virtual threads* they take turns step by step, with memory for a tile each: while the product works "
    "on a tile of one, the tiles of the other are loaded.\n\n"
    f"The two loads of a step take {_LOADS // 2} cycles each, one after the other, and its product {_PRODUCT}. Once "
    "everything runs side by side, how many cycles does a step take? How many KiB of inp do the tiles of A take, with "
    "two virtual threads? And how many KiB of acc do the sums take, of 4 bytes each?\n\n"
    "Then bind the loop to 'vthread'.",
    predictions=(
        Prediction(
            "step",
            "How many cycles does a step take?",
            max(_LOADS, _PRODUCT),
            "cycles",
            (
                Misconception(_LOADS + _PRODUCT, "That is a step in which they take turns."),
                Misconception(_PRODUCT, "Which of the two sides takes longer, the loads or the product?"),
                Misconception(_LOADS // 2, "A step loads a tile of A and one of B, through one port."),
            ),
            wrong="Side by side, the slower side decides.",
        ),
        Prediction(
            "data",
            "How many KiB of inp do the tiles of A take?",
            2 * SIDE * SIDE / KIB,
            "KiB",
            (
                Misconception(SIDE * SIDE / KIB, "That is one tile. The other thread has its own."),
                Misconception(8 * SIDE * SIDE / KIB, "A number of A is a byte."),
                Misconception(3 * SIDE * SIDE / KIB, "There are as many tiles as threads."),
            ),
        ),
        Prediction(
            "sums",
            "How many KiB of acc do the sums take?",
            8 * SIDE * SIDE / KIB,
            "KiB",
            (
                Misconception(4 * SIDE * SIDE / KIB, "That is one thread's tile."),
                Misconception(2 * SIDE * SIDE / KIB, "A sum has four bytes."),
                Misconception(8 * SIDE * SIDE * 4 / KIB, "A tile of sums is kept over all terms, once."),
            ),
        ),
    ),
    work=Nest(lambda at: placed(cut(TILE, 2)), _bind),
    goals=(RUNS, busy_at_least(0.75, 2)),
    hints=(
        "Which loop has two iterations, and stands around everything that belongs to a tile of C?",
        "s.bind('j.1', 'vthread').",
    ),
    why="With one tile in flight, the product waits for the loads and the loads for the product, which frees their "
    f"memory. With two, a step takes as long as the slower side, {max(_LOADS, _PRODUCT)} cycles, of which "
    f"{_PRODUCT - FILL} are products. Nobody wrote a token: they follow from who reads and writes which tile.",
)


#: Memories of the accelerator of the repair.
SMALL = Target("vta -inp=4K -wgt=8K -acc=16K")
ROOM = {"inp": 4, "wgt": 8, "acc": 16}


def _too_large(at: Setting) -> Schedule:
    s = placed(cut(TILE, 2, SMALL))
    s.bind("j.1", "vthread")
    return s


def _fitting(s: Schedule, at: Setting) -> None:
    s.undo(len(s.trace))
    for step in placed(cut(REPAIRED, 2, SMALL)).trace:
        s.apply(step)
    s.bind("j.1", "vthread")


REPAIRED = (32, 4, 4)

REPAIR = Exercise(
    name="repair",
    title="Repair: a program for a larger machine",
    task=f"Another accelerator has {ROOM['inp']} KiB for data, {ROOM['wgt']} KiB for weights and {ROOM['acc']} KiB for "
    f"sums. Somebody has taken the nest of the last exercise there: two virtual threads with tiles of {SIDE} by {SIDE} "
    "by 64. It is refused. By how many KiB do the sums exceed acc? Which memory is not too small? With the same "
    "columns and terms, how many rows may a tile have?\n\n"
    "Mend lab.repair.schedule with other tiles: s.undo(n) takes back steps, or begin anew with cut_product of the "
    "notebook. What is loaded counts as well as what is hidden.",
    predictions=(
        Prediction(
            "over",
            "By how many KiB do the sums exceed acc?",
            8 * SIDE * SIDE / KIB - ROOM["acc"],
            "KiB",
            (
                Misconception(8 * SIDE * SIDE / KIB, "That is what they take. How much of it is too much?"),
                Misconception(0, "There are two tiles of sums, and a sum has four bytes."),
                Misconception(8 * SIDE * SIDE * 2 / KIB - ROOM["acc"], "Two threads, and a tile of sums each."),
            ),
            within=0,
        ),
        Prediction(
            "enough",
            "Which memory is not too small?",
            "wgt",
            choices=("inp", "wgt", "acc"),
            misconceptions=(
                Misconception("inp", "Two tiles of 64 by 64 bytes: how many KiB are that?"),
                Misconception("acc", "Two tiles of 64 by 64 sums of four bytes: how many KiB are that?"),
            ),
        ),
        Prediction(
            "rows",
            "How many rows may a tile have?",
            32,
            "rows",
            (
                Misconception(64, "Then data take 8 KiB, and sums 32."),
                Misconception(16, "Does twice as many fit as well?"),
                Misconception(48, "Then sums take 24 KiB."),
            ),
            within=0,
        ),
    ),
    work=Nest(_too_large, _fitting),
    goals=(RUNS, busy_at_least(0.55), read_at_most(400 * KIB)),
    hints=(
        "A tile of A has rows x terms bytes, one of B terms x columns, one of C rows x columns x 4; each twice.",
        "Half the rows fit. What do fewer terms free, and what would it be used for?",
        "Steps to write again: split i with [None, 32], all others as they were.",
    ),
    why="A smaller tile of C loads more for each product: with R rows and S columns, A is loaded once for each S "
    "columns and B once for each R rows. acc decides how large R times S is, and with it how busy the product can be.",
)
