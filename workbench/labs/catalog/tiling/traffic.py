"""Exercise on what a core loads, however near its cache is."""

from __future__ import annotations

from workbench.analysis.cache.levels import MIB
from workbench.labs.catalog.tiling.caches import product
from workbench.labs.counting import count
from workbench.labs.exercise import Exercise, Goal, Misconception, Nest, Prediction, Setting
from workbench.labs.quantities import memory
from workbench.schedule import Schedule

#: Rows and columns of the matrices; with 512, B holds 1 MiB.
SIZES = {"n": (512, 384, 448)}


def _held(at: Setting) -> float:
    """MiB that B holds."""
    return at["n"] ** 2 * 4 / MIB


def _naive(at: Setting) -> float:
    """MiB loaded from B as written: one element for each multiply-add."""
    return at["n"] * _held(at)


def _little_traffic(s: Schedule, at: Setting) -> tuple[bool, str]:
    loaded, most = count(s.func, at.lanes).loaded["B"] / MIB, _naive(at) / 8
    share = 100 * loaded / _naive(at)
    return loaded <= most, f"Your nest loads {loaded:,.6g} MiB from B, {share:.3g} % of what the nest as written loads."


def _tile_rows(s: Schedule, at: Setting) -> None:
    _, i1 = s.split("i", [None, 8])
    s.reorder("i.0", "j", "k", i1)
    s.unroll(i1)


TRAFFIC = Exercise(
    name="traffic",
    title="How often is B loaded?",
    task=lambda at: (
        f"The nest as written multiplies two matrices of {at['n']} x {at['n']} float32 numbers (4 bytes each), so B "
        f"holds {memory(at['n'] ** 2 * 4)}. How many MiB does the core load from B in all, counting an element as "
        "often as it is loaded? An element that is loaded once may be used several times only if the uses stand next "
        "to each other: in an innermost loop that does not move B.\n\n"
        "Now let 8 rows of C (loop i) be computed together, with the loop over these 8 rows innermost. "
        "How many MiB are loaded from B then? Predict both numbers, then change lab.traffic.schedule accordingly."
    ),
    predictions=(
        Prediction(
            "naive",
            "How much is loaded from B by the nest as written?",
            _naive,
            "MiB",
            (
                Misconception(_held, "That is what B holds. How often does the nest go through all of it?"),
                Misconception(
                    lambda at: 2 * _naive(at), "A and B together are loaded that much; B alone is asked for."
                ),
                Misconception(
                    lambda at: _naive(at) / 4, "That is the number of elements. How many bytes has a float32?"
                ),
                Misconception(
                    lambda at: 2 * _held(at), "Each element of B is loaded more often than once for A and once for C."
                ),
            ),
            wrong="Count how often the innermost line runs, and in which of these runs the element of B is a new one.",
        ),
        Prediction(
            "tiled",
            "How much is loaded from B when 8 rows share every load?",
            lambda at: _naive(at) / 8,
            "MiB",
            (
                Misconception(_naive, "As much as before? Eight multiply-adds now use the same element of B."),
                Misconception(lambda at: 8 * _naive(at), "Sharing a load makes the number of loads smaller."),
                Misconception(_held, "B would be loaded once only if all rows of C were computed at the same time."),
            ),
            wrong="How many blocks of 8 rows are there, and how often does each block go through B?",
        ),
    ),
    work=Nest(product, _tile_rows),
    goals=(Goal("The nest loads at most an eighth as much from B as the one as written.", _little_traffic),),
    hints=(
        lambda at: (
            f"The innermost line runs {at['n']} * {at['n']} * {at['n']} times. Which of the three loops do not "
            "appear in B[k, j]?"
        ),
        lambda at: (
            "Every row i of C needs all of B, and B does not stay in registers from one row to the next. If 8 rows are "
            f"computed at the same time, B is gone through {at['n']} / 8 times."
        ),
        "Split i into blocks of 8, bring the inner loop to the innermost place with reorder: s.split('i', [None, 8]) "
        "makes i.0 and i.1. Unrolled, it takes less time and loads as much.",
    ),
    why=lambda at: (
        f"As written, B[k, j] is loaded anew for each of the {at['n']} * {at['n']} * {at['n']} multiply-adds: "
        f"{_naive(at):,.6g} MiB. B does not depend on i, so 8 rows share one load, and "
        f"{_naive(at) / 8:,.6g} MiB remain."
    ),
    variants=SIZES,
)
