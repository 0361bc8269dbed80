"""An exercise on several reductions over the same row."""

from __future__ import annotations

from workbench.ir import Func
from workbench.labs.exercise import Exercise, Misconception, Nest, Prediction, Setting
from workbench.labs.goals import NOTHING_TWICE, kept_at_most
from workbench.schedule import Schedule
from workbench.workloads import softmax

ROWS = 64


def _softmax(at: Setting) -> Func:
    return softmax(ROWS, at["m"])


def _row(s: Schedule, at: Setting) -> None:
    for stage in ("inverse", "total", "exps", "largest"):
        s.compute_at(stage, "softmax_i")


SOFTMAX = Exercise(
    name="softmax",
    title="Two reductions and a row",
    task=lambda at: (
        f"softmax of {ROWS} rows of {at['m']:,} numbers has five stages: the largest number of a row, exp of each "
        "number less the largest, the sum of these, its inverse, and the product; the next cell prints the nest. "
        "How often is each number of X read? How many bytes do all temporaries take as written? And may the "
        "first stage, the largest number, be left out, if an input can be 100? (The largest float32 is 3.4e38.)\n\n"
        "Then compute row by row: one row of exps and a few numbers are all that is kept, and nothing is computed "
        "twice."
    ),
    predictions=(
        Prediction(
            "reads",
            "How often is each number of X read?",
            2,
            misconceptions=(
                Misconception(1, "Which stages read X? Two do."),
                Misconception(3, "The sum and the product read exps, not X."),
                Misconception(5, "Five stages, but most of them read what another one made."),
            ),
            within=0,
        ),
        Prediction(
            "bytes",
            "How many bytes do all temporaries take as written?",
            lambda at: 4 * ROWS * at["m"] + 12 * ROWS,
            "B",
            (
                Misconception(
                    lambda at: ROWS * at["m"] + 3 * ROWS, "That is how many numbers they have. Each has 4 bytes."
                ),
                Misconception(lambda at: 4 * ROWS * at["m"], "That is exps. The small ones are temporaries as well."),
                Misconception(lambda at: 12 * ROWS, "Three small ones take that much. Which one is large?"),
                Misconception(
                    lambda at: 8 * ROWS * at["m"] + 12 * ROWS, "The result is no temporary; it has to be there anyway."
                ),
            ),
            within=0.001,
        ),
        Prediction(
            "largest",
            "May the largest number be left out?",
            "no",
            choices=("yes", "no"),
            misconceptions=(
                Misconception(
                    "yes", "In mathematics it cancels. But what is infinity divided by infinity, in float32?"
                ),
            ),
        ),
    ),
    work=Nest(_softmax, _row),
    goals=(kept_at_most(lambda at: 4 * at["m"] + 64), NOTHING_TWICE),
    hints=(
        "Everything that a row needs comes from this row, so all stages may go into the loop over the rows.",
        "Move the last producer first: inverse, then total, exps, largest, each with compute_at to softmax_i.",
    ),
    why="Each row is read for its largest number and is still in the cache when exp needs it. Without the largest "
    "number, exp of large inputs is infinite, and the result is not a number: the extra reduction buys safety.",
    variants={"m": (1024, 768, 2048)},
)
