"""Exercise on tiles for two caches."""

from __future__ import annotations

from workbench.analysis.cache.levels import KIB
from workbench.labs.catalog.loops.simulated import cubed
from workbench.labs.catalog.tiling.caches import FAR, L1, L2, NEAR, SIZES, cut, few, lines, product
from workbench.labs.counting import PER_LINE
from workbench.labs.exercise import Exercise, Misconception, Nest, Prediction, Setting
from workbench.labs.goals import misses_at_most
from workbench.schedule import Schedule


def _both(s: Schedule, at: Setting) -> None:
    cut(s, [FAR, NEAR])


def _fetched(at: Setting, size: int) -> float:
    """Lines of B that tiles of this size fetch."""
    return cubed(at) / (PER_LINE * size)


LEVELS = Exercise(
    name="levels",
    title="A second level",
    task=lambda at: (
        f"The same product of {at['n']} by {at['n']}, with a second cache: L2, of {L2.size // KIB} KiB, behind L1. "
        f"What misses L2 comes from memory. How many accesses of B miss L2, with tiles of {NEAR} alone, in the order "
        "of the last exercise? How large may tiles for L2 be, if they are a multiple of 16 and three fit? With such "
        "tiles outside of those for L1, how many accesses of B miss L2?\n\n"
        "Predict, then give lab.levels.schedule both levels. A loop is cut into three parts by "
        "s.split('i', [None, R, T]): parts of T, and R of them in a large tile. R counts parts, not rows."
    ),
    predictions=(
        Prediction(
            "near",
            f"How many accesses of B miss L2 with tiles of {NEAR} alone?",
            lambda at: _fetched(at, NEAR),
            "",
            (
                Misconception(lines, "That would be right if B fitted into L2."),
                Misconception(
                    0, "A line that nothing has touched before is not in L2 either. And does all of B fit into it?"
                ),
                Misconception(
                    lambda at: _fetched(at, NEAR) / 8,
                    "L2 is eight times as large, but a tile is fetched again only after all others in its rows.",
                ),
                Misconception(cubed, "Most accesses hit L1 and never come to L2."),
                Misconception(
                    lambda at: _fetched(at, 1), "So it was without tiles. Now the rows of a tile share what is fetched."
                ),
            ),
            wrong="Between two uses of a tile of B, j.0 goes through all of B: does that fit into L2?",
        ),
        Prediction(
            "size",
            f"How large may tiles for L2 be, a multiple of {NEAR}?",
            FAR,
            "",
            (
                Misconception(64, "Three of these tiles have 48 KiB."),
                Misconception(52, "That is how many fit. Which is the largest multiple of the small tile below it?"),
                Misconception(80, "One of these tiles fits. There are three arrays."),
                Misconception(128, "Eight times the bytes, but not eight times the rows and eight times the columns."),
            ),
            wrong="Three tiles of T times T numbers of 4 bytes have to fit into L2.",
            within=0,
        ),
        Prediction(
            "both",
            "How many accesses of B miss L2 with both levels?",
            lambda at: _fetched(at, FAR),
            "",
            (
                Misconception(
                    lambda at: _fetched(at, NEAR), "As many as with small tiles alone? More rows of C share each line."
                ),
                Misconception(
                    lambda at: _fetched(at, NEAR * FAR), "Small tiles lie inside of large ones: one number counts."
                ),
                Misconception(lines, "B is fetched once for each row of large tiles of C, and there are several."),
                Misconception(
                    lambda at: cubed(at) / FAR, "That counts the numbers that are fetched. How many are in a line?"
                ),
            ),
            wrong="As for L1: how many steps has the outermost loop over rows, and what is fetched in each?",
        ),
    ),
    work=Nest(product, _both),
    goals=(few(90), misses_at_most(lambda at: cubed(at) // 600, L1, L2, level="L2", buffer="B")),
    hints=(
        f"Cut each loop into three parts. The number in the middle counts tiles of {NEAR}: it is the size of a large "
        f"tile, divided by {NEAR}.",
        "The loops over large tiles are outermost (i.0, j.0, k.0), then those over small tiles (i.1, j.1, k.1), then "
        "those inside of a small tile, as before.",
        "s.split(loop, [None, 3, 16]) for each loop, then s.reorder('i.0', 'j.0', 'k.0', 'i.1', 'j.1', 'k.1', 'i.2', "
        "'k.2', 'j.2').",
    ),
    why=lambda at: (
        f"Small tiles fetch B once for each of {at['n'] // NEAR} steps of i.0, large ones once for each of "
        f"{at['n'] // FAR}. L1 sees about the same as before: inside of a large tile, the small ones run as they did."
    ),
    variants=SIZES,
)
