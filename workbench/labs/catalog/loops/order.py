"""Exercises on which way a nest goes through memory."""

from __future__ import annotations

from workbench.ir import Func
from workbench.labs.catalog.loops.simulated import CACHE, ROWS, SIZES, column_sums, cubed, rows_by_rows
from workbench.labs.catalog.loops.simulated import LINES as CACHE_LINES
from workbench.labs.counting import PER_LINE
from workbench.labs.exercise import Exercise, Misconception, Nest, Prediction, Setting
from workbench.labs.goals import misses_at_most
from workbench.schedule import Schedule
from workbench.workloads import matmul

# ------------------------------------------------------------------------------------------------ 1: memory in lines


def _elements(at: Setting) -> int:
    return ROWS * at["columns"]


def _lines(at: Setting) -> int:
    return _elements(at) // PER_LINE


def _sums(at: Setting) -> Func:
    return column_sums(ROWS, at["columns"])


LINES = Exercise(
    name="lines",
    title="Memory comes in lines",
    task=lambda at: (
        f"The nest sums each column of X, a matrix of {ROWS} rows and {at['columns']} columns of float32 (4 bytes "
        "each). It lies in memory row by row: X[i, j + 1] is the neighbour of X[i, j]. A cache fetches memory in lines "
        "of 64 bytes. An access misses if its line is not in the cache; the line is then fetched, and the one that "
        f"was not used for the longest time goes. Our cache holds {CACHE_LINES} lines.\n\n"
        "How many numbers are in a line? How many accesses of X miss as the nest is written, column by column? How "
        "many if it goes row by row? Predict, then let lab.lines.schedule go row by row."
    ),
    predictions=(
        Prediction(
            "per_line",
            "How many float32 numbers are in one line?",
            PER_LINE,
            misconceptions=(
                Misconception(64, "That is how many bytes a line has. How many of them does one number take?"),
                Misconception(8, "That is how many float64 numbers a line has; a float32 has half as many bytes."),
                Misconception(4, "That is how many bytes one number takes."),
            ),
            within=0,
        ),
        Prediction(
            "down",
            "How many accesses of X miss when the nest goes down the columns?",
            _elements,
            misconceptions=(
                Misconception(
                    _lines,
                    f"That is how many lines X has. When the next column wants a line again, {ROWS} lines went by: "
                    "is it still there?",
                ),
                Misconception(ROWS, "That is what the first column misses. What about the next one?"),
                Misconception(
                    lambda at: 4 * _elements(at), "That is how many bytes X has; an access reads one number."
                ),
                Misconception(
                    lambda at: (ROWS - CACHE_LINES) * at["columns"],
                    "Not only what is too much is lost: the line that goes is always the one that is wanted next.",
                ),
            ),
            wrong="How many lines does one column touch, and how many does the cache hold?",
        ),
        Prediction(
            "along",
            "How many accesses of X miss when the nest goes along the rows?",
            _lines,
            misconceptions=(
                Misconception(_elements, "After a miss, the neighbours of the number are in the cache."),
                Misconception(ROWS, "A row has many lines."),
                Misconception(lambda at: _elements(at) // 64, "A line has 64 bytes, not 64 numbers."),
                Misconception(0, "Something has to be fetched the first time."),
            ),
            wrong="Along a row, one access of each line misses.",
        ),
    ),
    work=Nest(_sums, lambda s, at: s.reorder("i", "j")),
    goals=(misses_at_most(_lines, CACHE, buffer="X", meaning=": no line is fetched twice"),),
    hints=(
        "Which of the two loops moves to the neighbour in memory? It should be the inner one.",
        "s.reorder(...) takes names of loops, from the outside to the inside.",
        "s.reorder('i', 'j').",
    ),
    why=lambda at: (
        f"A column touches {ROWS} lines and uses one number of each. The cache holds {CACHE_LINES}, so each line is "
        f"gone before its next number is wanted, and all {_elements(at):,} accesses miss. Along a row, one access "
        f"fetches the line for {PER_LINE}."
    ),
    variants={"columns": (96, 160, 224)},
)


# ----------------------------------------------------------------------------------- 2: three loops, six orders


def _product(at: Setting) -> Func:
    return matmul(at["n"], at["n"], at["n"])


ORDER = Exercise(
    name="order",
    title="Three loops, six orders",
    task=lambda at: (
        f"C[i, j] = C[i, j] + A[i, k] * B[k, j], with {at['n']} rows and columns. The three loops may stand in any "
        "order. What decides is the innermost one, because it runs all the time: does it move an array to the "
        "neighbour, down a column, or not at all?\n\n"
        "As written, k is innermost. How many bytes does B[k, j] move from one k to the next? How many of the three "
        "arrays go down a column when i is innermost? Which loop has to be innermost so that none does? Predict, then "
        "bring lab.order.schedule into such an order."
    ),
    predictions=(
        Prediction(
            "step",
            "By how many bytes does B[k, j] move from one k to the next?",
            lambda at: 4 * at["n"],
            "bytes",
            (
                Misconception(4, "That is how far A[i, k] moves. Where is k in B[k, j]?"),
                Misconception(lambda at: at["n"], "That is how many numbers a row has. How many bytes are they?"),
                Misconception(64, "The size of a line does not decide where the next number lies."),
                Misconception(lambda at: 4 * at["n"] ** 2, "That is all of B."),
            ),
            wrong="The next k is the next row of B. How long is a row?",
        ),
        Prediction(
            "columns",
            "How many of the three arrays go down a column when i is innermost?",
            2,
            misconceptions=(
                Misconception(1, "Look at both arrays that have i as their first index."),
                Misconception(3, "One array does not have i at all."),
                Misconception(0, "The first index is the row: to increase it is to go down a column."),
            ),
            within=0,
        ),
        Prediction(
            "innermost",
            "With which innermost loop does no array go down a column?",
            "j",
            choices=("i", "j", "k"),
            misconceptions=(
                Misconception("k", "A[i, k] goes along its row then. What does B[k, j] do?"),
                Misconception("i", "Both A[i, k] and C[i, j] go to the next row then."),
            ),
        ),
    ),
    work=Nest(_product, lambda s, at: s.reorder("i", "k", "j")),
    goals=(misses_at_most(lambda at: cubed(at) // 8, CACHE, meaning=", an eighth of the multiply-adds"),),
    hints=(
        "Write down for each array which loops are in its second index: these go along the rows.",
        "j is the second index of B and of C, and A does not have it.",
        "s.reorder('i', 'k', 'j') is one of two good orders.",
    ),
    why="With j innermost, B and C go along their rows and A stays: one access of 16 misses. With k innermost B goes "
    "down a column, with i innermost A and C do. The outer two loops decide much less.",
    variants=SIZES,
)


# ------------------------------------------------------------------------------------------------------- 6: the repair


def _rows_that_fit(at: Setting) -> int:
    return CACHE.size // (4 * at["n"])


def _by_rule(at: Setting) -> Schedule:
    s = Schedule(rows_by_rows(at["n"]), at.target)
    s.reorder("i", "k", "j")
    return s


def _mend(s: Schedule, at: Setting) -> None:
    outer, inner = s.split("j", [None, 4])
    s.reorder(outer, "i", inner, "k")


REPAIR = Exercise(
    name="repair",
    title="Repair: the rule that did not help",
    task=lambda at: (
        "Somebody has learnt that j belongs into the innermost place, and has done so here. But this is another "
        f"product: C[i, j] = C[i, j] + A[i, k] * B[j, k], with {at['n']} rows and columns; B is transposed.\n\n"
        "Which array misses most, as the nest stands? How many accesses of B miss with the loops in the order i, j, k? "
        "And how many whole rows of B does the cache hold, if nothing else is in it? Predict, then mend "
        f"lab.repair.schedule: at most {cubed(at) // 32:,} accesses miss. An order alone does not do it; think of the "
        "strips of the third exercise."
    ),
    predictions=(
        Prediction(
            "most",
            "Which array misses most?",
            "B",
            choices=("A", "B", "C"),
            misconceptions=(
                Misconception("A", "A does not move in the innermost loop."),
                Misconception("C", "C goes along its row in the innermost loop."),
            ),
        ),
        Prediction(
            "plain",
            "How many accesses of B miss in the order i, j, k?",
            lambda at: cubed(at) // PER_LINE,
            misconceptions=(
                Misconception(cubed, "With k innermost, B[j, k] goes along its row."),
                Misconception(
                    lambda at: at["n"] ** 2 // PER_LINE,
                    "That is how many lines B has. Are they still there at the next i?",
                ),
                Misconception(lambda at: at["n"] ** 2, "That is how many numbers B has; it is read more than once."),
                Misconception(lambda at: cubed(at) // 64, "A line has 64 bytes, not 64 numbers."),
            ),
            wrong="How often is all of B gone through, and what does it cost each time?",
        ),
        Prediction(
            "rows",
            "How many whole rows of B does the cache hold at most?",
            _rows_that_fit,
            "rows",
            (
                Misconception(CACHE_LINES, "That is how many lines it holds. A row of B has several."),
                Misconception(lambda at: CACHE.size // at["n"], "A row has so many numbers, but how many bytes?"),
                Misconception(lambda at: _rows_that_fit(at) + 1, "The last one of these would not be whole."),
            ),
            wrong=f"{CACHE.size} bytes, divided by the bytes of a row.",
            within=0,
        ),
    ),
    work=Nest(_by_rule, _mend),
    goals=(misses_at_most(lambda at: cubed(at) // 32, CACHE),),
    hints=(
        "k is the second index of A and of B: which loop has to be innermost here?",
        "With k innermost, each i still goes through all of B. Let a few rows of B stay while i runs: split j, and put "
        "i between the two parts.",
        "Not all rows that fit: A and C need room as well. Half of them is safe.",
        "s.split('j', [None, 4]), then s.reorder('j.0', 'i', 'j.1', 'k').",
    ),
    why="What counts are the indices, not the names of the loops: here k moves both operands to the neighbour. And a "
    "strip of 4 rows of B stays in the cache while i runs, so B is fetched once; A is fetched once for each strip.",
    variants=SIZES,
)
