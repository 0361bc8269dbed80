"""An exercise on a network in low precision: which nodes stay in float32."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from workbench.arguments import shown
from workbench.labs.exercise import Exercise, Function, Goal, Misconception, Prediction, Setting

#: One node: name, error of the network where it alone is in low precision, ms in float32, ms in low precision.
Row = tuple[str, float, float, float]
EXAMPLE: tuple[Row, ...] = (
    ("stem", 0.9, 2.0, 0.8),
    ("block 1", 0.2, 4.0, 1.1),
    ("block 2", 0.3, 4.0, 1.1),
    ("softmax", 3.0, 0.5, 0.4),
)
BOUND = 1.5
#: How many times the least time a choice may take: the largest error first takes 1.14, error for each ms 1.07.
MOST = 1.1


def made(seed: int) -> list[Row]:
    """Return twelve nodes, the same ones every time: few have much of the error."""
    draw = np.random.default_rng(seed)
    slow = np.round(draw.uniform(0.2, 4, 12), 2)
    fast = np.round(slow * draw.uniform(0.25, 0.9, 12), 2)
    errors = np.round(draw.lognormal(-2.5, 1.3, 12), 3)
    return [
        (f"node {k}", float(e), float(a), float(b)) for k, (e, a, b) in enumerate(zip(errors, slow, fast, strict=True))
    ]


def keep(rows: Sequence[Row], bound: float) -> list[str]:
    """Return the names of the nodes that stay in float32."""
    kept: list[str] = []
    left = list(rows)
    while sum(row[1] for row in left) > bound:
        worst = max(left, key=lambda row: row[1] / (row[2] - row[3]))  # error that goes, for each ms that it costs
        left.remove(worst)
        kept.append(worst[0])
    return kept


def _judged(rows: Sequence[Row], bound: float, names: object) -> tuple[float, float]:
    """(error, ms) of a choice."""
    known = {row[0] for row in rows}
    found = set(names) if isinstance(names, Iterable) and not isinstance(names, str) else {names}
    if not known.issuperset(found):
        raise TypeError(f"keep() has to return a list of names of nodes, not {shown(names)}")
    error = sum(row[1] for row in rows if row[0] not in found)
    return error, sum(row[2] if row[0] in found else row[3] for row in rows)


def _least_ms(rows: Sequence[Row], bound: float) -> float:
    names = [row[0] for row in rows]
    sets = (kept for many in range(len(names) + 1) for kept in combinations(names, many))
    return min(ms for error, ms in (_judged(rows, bound, kept) for kept in sets) if error <= bound)


def _bounds(rows: Sequence[Row]) -> tuple[float, ...]:
    total = sum(row[1] for row in rows)
    return (0.25 * total, 0.6 * total, 2 * total)


def _within(work: Any, at: Setting) -> tuple[bool, str]:
    for seed in range(4):
        rows = made(seed)
        for bound in _bounds(rows):
            error, _ = _judged(rows, bound, work(list(rows), bound))
            if error > bound:
                return False, f"Errors of {error:.3g} % are left, {bound:.3g} % are allowed."
    return True, "The errors that are left are within the bound, for four networks."


def _fast(work: Any, at: Setting) -> tuple[bool, str]:
    worst = 0.0
    for seed in range(4):
        rows = made(seed)
        for bound in _bounds(rows):
            error, ms = _judged(rows, bound, work(list(rows), bound))
            if error > bound:
                return False, "The errors that are left are too large, so the time says nothing yet."
            worst = max(worst, ms / _least_ms(rows, bound))
    return worst <= MOST, f"At most {worst:.2f} times the least time that the bound allows."


KEEP = Exercise(
    name="keep",
    title="Which nodes stay in float32?",
    task="Each node of a network was put into low precision alone, and the error of the network's result was measured "
    "(in %), and so were both times:\n\n"
    + "\n".join(f"{n}: error {e:g} %, {a:g} ms in float32, {b:g} ms in low precision" for n, e, a, b in EXAMPLE)
    + "\n\nErrors of several nodes are taken as their sum. What is the error with all of them in low precision? How "
    f"long does the network take then? At most {BOUND:g} % are allowed: which single node has to go back to float32, "
    "and how long does the network take with it?\n\n"
    "Write keep(rows, bound), which returns the names of those that stay in float32: rows are (name, error, ms in "
    "float32, ms in low precision). The errors of the others may add up to the bound at most, and the network has to "
    f"take at most {MOST:g} times as long as with the best choice.",
    predictions=(
        Prediction(
            "error",
            "What is the error with all nodes in low precision?",
            sum(row[1] for row in EXAMPLE),
            "%",
            (
                Misconception(3.0, "That is the largest one. Errors are taken as their sum."),
                Misconception(1.4, "Softmax has an error, too."),
                Misconception(1.1, "That is the mean. Errors are taken as their sum."),
            ),
        ),
        Prediction(
            "fast",
            "How long does the network take with all nodes in low precision?",
            sum(row[3] for row in EXAMPLE),
            "ms",
            (
                Misconception(sum(row[2] for row in EXAMPLE), "That is all of it in float32."),
                Misconception(3.0, "Softmax takes time, too."),
                Misconception(1.1, "That is one block."),
            ),
        ),
        Prediction(
            "node",
            "Which node goes back to float32?",
            "softmax",
            choices=tuple(row[0] for row in EXAMPLE),
            misconceptions=(
                Misconception("stem", "What is left is 3.5 %."),
                Misconception("block 1", "It gains most, and has the smallest error."),
                Misconception("block 2", "What is left is 4.1 %."),
            ),
        ),
        Prediction(
            "slow",
            "How long does the network take with that node in float32?",
            sum(row[3] for row in EXAMPLE) + 0.1,
            "ms",
            (
                Misconception(sum(row[3] for row in EXAMPLE) + 0.5, "Its time in low precision goes."),
                Misconception(sum(row[3] for row in EXAMPLE), "That node takes longer in float32."),
                Misconception(sum(row[2] for row in EXAMPLE), "That is all of it in float32."),
            ),
        ),
    ),
    work=Function("keep", keep),
    goals=(
        Goal("The errors of all others add up to at most the bound.", _within),
        Goal(f"At most {MOST:g} times as long as the best choice.", _fast),
    ),
    hints=(
        "As long as the errors are too large, send one more node back to float32. Which one first?",
        "What counts is how much error goes for each millisecond that it costs.",
    ),
    why="Few nodes have most of the error, and they are seldom those that gain most: softmax and sums over many values "
    "are sensitive and cheap. That errors add up is a rule of thumb; in the end the whole network is measured. For a "
    "network of yours, wb.quantization.sensitivity measures the first table, exclude= of wb.quantize is what you "
    "return here, and wb.compare_precisions measures the whole.",
)
