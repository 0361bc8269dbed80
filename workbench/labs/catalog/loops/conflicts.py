"""Exercise on lines that want the same place in a cache."""

from __future__ import annotations

from collections.abc import Callable

from workbench.arguments import whole
from workbench.labs.catalog.loops.simulated import column_sums, misses
from workbench.labs.counting import PER_LINE
from workbench.labs.exercise import Exercise, Function, Goal, Misconception, Prediction, Setting

COLUMNS = 128
#: Rows and columns of matrices that a student's function is tried on.
CASES = ((32, 128), (40, 96), (32, 95), (24, 256), (40, 100), (48, 80))
RowLength = Callable[[int, int], int]


def _row_length(rows: int, columns: int) -> int:
    lines = -(-columns // 16)  # a line that is begun counts as a whole one
    if lines % 2 == 0:
        lines += 1
    return lines * 16


def _lengths(work: RowLength) -> list[tuple[int, int, int]]:
    return [(rows, columns, whole("row_length", work(rows, columns))) for rows, columns in CASES]


def _little_room(work: RowLength, at: Setting) -> tuple[bool, str]:
    for _, columns, length in _lengths(work):
        if not columns <= length <= columns + 32:
            return False, f"For {columns} columns your rows have {length} numbers, not {columns} to {columns + 32}."
    return True, "Every row has room for its numbers, and at most 32 more."


def _no_conflicts(work: RowLength, at: Setting) -> tuple[bool, str]:
    for rows, columns, length in _lengths(work):
        if length < columns:
            return False, f"For {columns} columns your rows have {length} numbers: they overlap."
        if length > 4 * columns:
            return False, f"For {columns} columns your rows have {length} numbers; that is more than is tried here."
        found, least = misses(column_sums(rows, columns, length), "X"), rows * -(-columns // PER_LINE)
        if found > 1.25 * least:
            return False, (
                f"{rows} rows, {columns} columns, rows of {length} numbers: {found:,} accesses of X miss, for "
                f"{least:,} lines."
            )
    return True, f"In all {len(CASES)} matrices, the lines of a column stay until they are used up."


PITCH = Exercise(
    name="pitch",
    title="Rows that want the same place",
    task=lambda at: (
        "A line may not lie anywhere in a cache. Ours has 8 sets with room for 8 lines each; line number L of memory "
        f"goes into set L % 8. X has {at['rows']} rows of {COLUMNS} numbers, 8 lines each, and the nest of the first "
        f"exercise goes down its columns. A column has {at['rows']} lines, of 64 that the cache could hold.\n\n"
        "In how many sets are the lines of one column? How many accesses of X miss in all? If each row is followed by "
        "16 numbers that nobody uses, so that the next row begins 9 lines later: in how many sets are they then?\n\n"
        "Then write row_length(rows, columns): how many numbers a row should take in memory, at least its columns and "
        "at most 32 more, so that a column of up to 48 rows stays in the cache."
    ),
    predictions=(
        Prediction(
            "sets",
            "In how many sets are the lines of one column?",
            1,
            misconceptions=(
                Misconception(8, "From row to row the line number grows by 8. What is L % 8 then?"),
                Misconception(lambda at: at["rows"], "That is how many lines a column has. The cache has 8 sets."),
                Misconception(lambda at: at["rows"] // 8, "This would be so if lines were put into the sets in turn."),
            ),
            within=0,
        ),
        Prediction(
            "misses",
            "How many accesses of X miss?",
            lambda at: at["rows"] * COLUMNS,
            misconceptions=(
                Misconception(
                    lambda at: at["rows"] * COLUMNS // PER_LINE,
                    "That is how many lines X has. Do those of a column stay until the next column?",
                ),
                Misconception(
                    lambda at: (at["rows"] - 8) * COLUMNS,
                    "The 8 that fit do not stay: the line that goes is always the one that is wanted next.",
                ),
                Misconception(lambda at: at["rows"], "That is the first column."),
            ),
            wrong="All lines of a column want the sets that you named. Are they still there for the next column?",
        ),
        Prediction(
            "padded",
            "In how many sets are the lines of a column, if rows are 9 lines apart?",
            8,
            misconceptions=(
                Misconception(9, "There are not so many sets."),
                Misconception(1, "Write down L % 8 for L = 0, 9, 18, 27."),
                Misconception(2, "Write down L % 8 for L = 0, 9, 18, 27."),
                Misconception(lambda at: at["rows"], "That is how many lines a column has. There are only 8 sets."),
            ),
            within=0,
        ),
    ),
    work=Function("row_length", _row_length),
    goals=(
        Goal("Rows have room for their numbers, and at most 32 more.", _little_room),
        Goal("Columns of up to 48 rows stay in the cache.", _no_conflicts),
    ),
    hints=(
        "Let rows be P lines apart. The lines of a column have the numbers 0, P, 2 P, 3 P, ...: for which P does "
        "L % 8 go through all sets?",
        "P must not have a common divisor with 8.",
        "Round columns up to whole lines of 16 numbers; if this is an even number of lines, take one more.",
    ),
    why="A distance of 8 lines comes back to the same set each time, where 8 lines have room, and the other seven sets "
    "are empty. An odd number of lines goes through all sets. Sizes that are powers of two are the worst, and the most "
    'frequent; therefore libraries let you say a row length ("leading dimension") of its own.',
    variants={"rows": (32, 24, 40)},
)
