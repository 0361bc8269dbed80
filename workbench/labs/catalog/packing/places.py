"""Exercise on where an element lies."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from workbench.arguments import whole
from workbench.labs.catalog.packing.simulated import DEPTH, SIZES
from workbench.labs.counting import PER_LINE
from workbench.labs.exercise import Exercise, Function, Goal, Misconception, Prediction, Setting

#: Rows, columns and widths of strips that a student's function is tried on; the last two do not divide.
CASES = ((4, 8, 4), (3, 32, 16), (5, 24, 8), (6, 10, 4), (7, 17, 16))
Place = Callable[[int, int, int, int], int]


def _place(k: int, j: int, rows: int, width: int) -> int:
    strip, inside = divmod(j, width)
    return strip * rows * width + k * width + inside


def _found(work: Place, rows: int, columns: int, width: int) -> list[int]:
    return [whole("place", work(k, j, rows, width), least=0) for k in range(rows) for j in range(columns)]


def _distinct(work: Place, at: Setting) -> tuple[bool, str]:
    for rows, columns, width in CASES:
        found, room = _found(work, rows, columns, width), rows * -(-columns // width) * width
        case = f"{rows} rows, {columns} columns, strips of {width}"
        if len(set(found)) < len(found):
            return False, f"{case}: two elements have the same place."
        if max(found) >= room:
            return False, f"{case}: an element has place {max(found)}; the strips have {room} places in all."
    return True, f"In all {len(CASES)} matrices each element has a place of its own, inside of the strips."


def _as_packed(work: Place, at: Setting) -> tuple[bool, str]:
    for rows, columns, width in CASES:
        strips = -(-columns // width)
        packed = np.arange(strips * rows * width).reshape(strips, rows, width)  # the place of each element
        expected = packed.transpose(1, 0, 2).reshape(rows, strips * width)[:, :columns].ravel()
        wrong = np.flatnonzero(expected != np.array(_found(work, rows, columns, width)))
        if wrong.size:
            k, j = divmod(int(wrong[0]), columns)
            return False, (
                f"{rows} rows, strips of {width}: your place of B[{k}, {j}] is {work(k, j, rows, width)}; it is number "
                f"{k * width + j % width} of strip {j // width}."
            )
    return True, "Strip after strip, and in a strip row after row."


PLACE = Exercise(
    name="place",
    title="Where an element lies",
    task=lambda at: (
        f"B has {DEPTH} rows and {at['n']} columns of float32. Row by row, B[k, j] is number k * {at['n']} + j in "
        f"memory. Packed into strips of {PER_LINE} columns, B[k, j] becomes P[j // {PER_LINE}, k, j % {PER_LINE}]: "
        "strip after strip, in a strip row after row, and the last index is the neighbour in memory.\n\n"
        "How many numbers further is B[k + 1, j] row by row? How many in P? How many numbers further than B[0, 15] is "
        "B[0, 16] in P? Predict, then write place(k, j, rows, width): the number of the place of B[k, j], from 0, for "
        "a matrix with so many rows in strips of so many columns. The last strip is filled up where the columns do not "
        "divide."
    ),
    predictions=(
        Prediction(
            "down",
            "Row by row, how many numbers further is B[k + 1, j] than B[k, j]?",
            lambda at: at["n"],
            misconceptions=(
                Misconception(1, "That is the distance to B[k, j + 1]."),
                Misconception(DEPTH, "That is the number of rows. How long is one?"),
                Misconception(lambda at: 4 * at["n"], "That is the distance in bytes. How many numbers is it?"),
            ),
            within=0,
        ),
        Prediction(
            "packed",
            "Packed, how many numbers further is B[k + 1, j] than B[k, j]?",
            PER_LINE,
            misconceptions=(
                Misconception(1, "That is the next column of the same row."),
                Misconception(64, "That is the distance in bytes. How many numbers is it?"),
                Misconception(lambda at: at["n"], "That is right row by row. How long is a row of one strip?"),
                Misconception(
                    DEPTH * PER_LINE,
                    "That is the distance of the next strip. How far is the next row of the same strip?",
                ),
            ),
            within=0,
        ),
        Prediction(
            "next",
            "Packed, how many numbers further is B[0, 16] than B[0, 15]?",
            DEPTH * PER_LINE - PER_LINE + 1,
            misconceptions=(
                Misconception(1, "They are neighbours row by row. In which strips are they?"),
                Misconception(
                    DEPTH * PER_LINE, "That is the distance from the start of one strip to that of the next."
                ),
                Misconception(DEPTH * PER_LINE + 1, "B[0, 15] is not at the start of its strip, but 15 further on."),
                Misconception(PER_LINE, "That is the next row of the same strip."),
            ),
            wrong="Write down the places of both, then subtract.",
            within=0,
        ),
    ),
    work=Function("place", _place),
    goals=(
        Goal("Each element has a place of its own.", _distinct),
        Goal(
            "The places are those of the packed matrix, also where the width does not divide the columns.", _as_packed
        ),
    ),
    hints=(
        "An array P[a, b, c] with extents (_, y, z) has its element at a * y * z + b * z + c.",
        "Here a is j // width, b is k, c is j % width. How many rows and columns has a strip?",
        "j // width * rows * width + k * width + j % width.",
    ),
    why="A layout is a rule from indices to places. Packing changes the rule, not the elements: rows of a strip follow "
    "each other, so a loop over k and 16 columns reads one number after the other.",
    variants={"n": SIZES["n"]},
)
