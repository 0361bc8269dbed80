"""The open exercise: the nest that waits least for two caches."""

from __future__ import annotations

from workbench.labs.catalog.tiling.caches import run
from workbench.labs.counting import PER_LINE
from workbench.labs.exercise import Exercise, Goal, Misconception, Nest, Prediction, Setting
from workbench.schedule import Schedule
from workbench.workloads import matmul

#: Rows and columns; the same for all, so that a course can compare.
SIZE = 240
#: Cycles that a core waits for what misses L1, and for what misses L2 as well. Chosen: of the order of real ones.
NEAR_WAIT, FAR_WAIT = 10, 100
#: Cycles for each multiply-add that one level of square tiles reaches, two levels, and two levels of other shapes.
AIMS = (0.7, 0.45, 0.36)


def waiting(s: Schedule) -> float:
    """Return the cycles for each multiply-add of the open exercise that a core waits for the caches of the lab."""
    counts = run(s)
    return (NEAR_WAIT * counts.misses("L1") + FAR_WAIT * counts.misses("L2")) / SIZE**3


def _solve(s: Schedule, at: Setting) -> None:
    s.split("i", [None, 4, 20])
    s.split("j", [None, 3, 16])
    s.split("k", [None, 16])
    s.reorder("i.0", "j.0", "k.0", "i.1", "j.1", "k.1", "i.2", "j.2")


def _within(most: float) -> Goal:
    def reached(s: Schedule, at: Setting) -> tuple[bool, str]:
        found = waiting(s)
        return found <= most, f"Your nest waits {found:.3g} cycles for each multiply-add; at most {most} are asked for."

    return Goal(f"At most {most} cycles of waiting for each multiply-add.", reached)


FEWEST = Exercise(
    name="fewest",
    title="As little waiting as you can",
    task=f"An open exercise, of {SIZE} by {SIZE} for everybody. Say a line that misses L1 takes {NEAR_WAIT} cycles to "
    f"come, and one that misses L2, too, {FAR_WAIT} more. In the order i, k, j the core waits 6.9 cycles for "
    "each multiply-add. What is the least number of accesses that can miss L2, whatever the nest: lines that are "
    "fetched for the first time, of A, B and C together? And if a tile of C gets twice as many columns and keeps its "
    "rows, of which array does it halve the misses?\n\n"
    "Then shape lab.fewest.schedule. Tiles need not be square; the loops over tiles may stand in another order; k need "
    f"not be cut like i and j. There is a point each for {AIMS[0]}, {AIMS[1]} and {AIMS[2]} cycles. Who in your course "
    "waits least?",
    predictions=(
        Prediction(
            "least",
            "How many accesses miss L2 at least?",
            3 * SIZE**2 // PER_LINE,
            "",
            (
                Misconception(SIZE**2 // PER_LINE, "That is one matrix. There are three."),
                Misconception(2 * SIZE**2 // PER_LINE, "A and B. A line of C is fetched before it is written, too."),
                Misconception(3 * SIZE**2, "That is how many numbers there are. Lines are fetched."),
                Misconception(SIZE**3 // PER_LINE, "That is B, fetched for each row of C. Each line once is enough."),
                Misconception(0, "At the beginning, nothing is in a cache."),
            ),
            wrong="Each line of each matrix has to come once.",
        ),
        Prediction(
            "halved",
            "A tile of C with twice as many columns: misses of which array become half as many?",
            "A",
            choices=("A", "B", "C"),
            misconceptions=(
                Misconception("B", "B is fetched once for each row of tiles of C. Are there fewer rows of tiles?"),
                Misconception("C", "A tile of C is twice as large, and there are half as many of them."),
            ),
        ),
    ),
    work=Nest(lambda at: matmul(SIZE, SIZE, SIZE), _solve),
    goals=tuple(map(_within, AIMS)),
    hints=(
        "Begin with the two levels of the third exercise. Which of the two caches makes the core wait longer?",
        "Once a small tile of C stays in L1 while k runs, A and B need only little room beside it. The same holds for "
        "a large tile of C in L2: then k need not be cut by 48.",
        "Large tiles of C with more rows than columns: a row of A costs a few lines, and 80 by 48 numbers of C are "
        "15 KiB. Small tiles of 20 by 16.",
        "s.split('i', [None, 4, 20]), s.split('j', [None, 3, 16]), s.split('k', [None, 16]), then s.reorder('i.0', "
        "'j.0', 'k.0', 'i.1', 'j.1', 'k.1', 'i.2', 'j.2').",
    ),
    why="A tile of C with R rows and S columns, which stays while k runs, fetches B once for each R rows and A once "
    "for each S columns. So its area should be large, and A and B should take as little room beside it as they can: a "
    "few steps of k. In L2 this is 80 by 48, in L1 20 by 16.",
)
