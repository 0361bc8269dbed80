"""Exercises on the chain of a sum, and on partial sums side by side."""

from __future__ import annotations

from math import prod

from workbench.ir import Func, blocks
from workbench.ir.poly import concrete
from workbench.labs.exercise import Exercise, Goal, Misconception, Nest, Prediction, Setting
from workbench.labs.goals import accumulators, kept_at_most, pieces, whole_vectors
from workbench.schedule import Schedule
from workbench.workloads import reduce

ROWS = 64
#: Numbers in a row.
SIZES = {"n": (4096, 2048, 8192)}
#: Partial sums of the first exercise.
PARTS = 16


def chain(func: Func) -> int:
    """Return how many additions of a result wait for each other: the steps of all sums that follow each other."""
    return sum(
        prod(concrete(it.extent) for it in block.iters if it.kind == "R")
        for block, _ in blocks(func.body)
        if block.is_reduction
    )


def _rows(at: Setting) -> Func:
    return reduce(ROWS, at["n"])


def _short(most: int) -> Goal:
    """Goal of a chain that is at most an n-th of the row, and what the partial sums need."""

    def reached(s: Schedule, at: Setting) -> tuple[bool, str]:
        steps = chain(s.func)
        return steps <= at["n"] // most, f"{steps:,} additions of a result wait for each other."

    return Goal(lambda at: f"At most {at['n'] // most:,} additions of a result wait for each other.", reached)


def _factor(s: Schedule, at: Setting) -> None:
    _, inner = s.split("k", [None, PARTS])
    s.rfactor(inner)


CHAIN = Exercise(
    name="chain",
    title="A chain of additions",
    task=lambda at: (
        f"Each of {ROWS} results is the sum of {at['n']:,} numbers of a row, added one after the other: an addition "
        "needs the result of the one before it. Say that an addition takes 4 cycles. How many cycles does the chain of "
        "one row take at least?\n\n"
        f"`rfactor` gives every iteration of a loop a partial sum of its own. Split k by {PARTS} and `s.rfactor` the "
        "inner loop: how many additions of a result wait for each other then, those that bring the partial sums "
        "together included?"
    ),
    predictions=(
        Prediction(
            "cycles",
            "How many cycles does the chain of one row take at least?",
            lambda at: 4 * at["n"],
            "cycles",
            (
                Misconception(lambda at: at["n"], "That is the number of additions. How long does the next one wait?"),
                Misconception(lambda at: 4 * ROWS * at["n"], "The rows do not wait for each other. One row is asked."),
                Misconception(lambda at: at["n"] / 4, "An addition takes 4 cycles, not a quarter of one."),
                Misconception(
                    lambda at: at["n"] / 2,
                    "Two additions may start in a cycle, but only if they do not wait for each other.",
                ),
            ),
        ),
        Prediction(
            "steps",
            f"How many additions wait for each other with {PARTS} partial sums?",
            lambda at: at["n"] // PARTS + PARTS,
            misconceptions=(
                Misconception(lambda at: at["n"], "The partial sums of a row do not wait for each other."),
                Misconception(lambda at: PARTS, "That many bring the parts together. What came before?"),
                Misconception(
                    lambda at: at["n"] // PARTS, "One partial sum takes that many. Then the parts are added."
                ),
            ),
            within=0.004,
        ),
    ),
    work=Nest(_rows, _factor),
    goals=(_short(8),),
    hints=(
        f"{PARTS} partial sums per row: each is a shorter chain, and then {PARTS} numbers have to be added.",
        f"s.split('k', [None, {PARTS}]) makes k.0 and k.1; s.rfactor('k.1') makes a stage of partial sums.",
    ),
    why="As written each addition waits 4 cycles for the one before, whatever the machine could do beside it. Partial "
    "sums have chains of their own, which run side by side, and a short chain at the end.",
    variants=SIZES,
)


def _lanes(s: Schedule, at: Setting) -> None:
    _, inner = s.split("k", [None, 2 * at.lanes])
    partial = s.rfactor(inner)
    s.compute_at(partial, "Y_i")
    s.vectorize("Y.rf_k1")


VECTORS = Exercise(
    name="vectors",
    title="Partial sums in vectors",
    task=lambda at: (
        f"A vector of this machine holds {at.lanes} numbers: let its lanes be partial sums, and give every row two "
        "vectors of them. How many partial sums has a row then? And are the last bits of the result always those of "
        "the nest as written?\n\n"
        "Build it: split k, rfactor the inner loop, and put the stage of partial sums into the loop over the rows of Y "
        "with compute_at, so that those of one row are brought together while they are near. Vectorize last: "
        "compute_at makes new loops."
    ),
    predictions=(
        Prediction(
            "sums",
            "How many partial sums has a row?",
            lambda at: 2 * at.lanes,
            misconceptions=(
                Misconception(2, "That is the number of vectors. Each lane is a sum."),
                Misconception(lambda at: at.lanes, "That is one vector of sums."),
                Misconception(
                    lambda at: 2 * at.target.vector_bytes,
                    "That is how many bytes they take. A float32 number has 4 bytes.",
                ),
            ),
            within=0,
        ),
        Prediction(
            "same",
            "Are the last bits of the result always those of the nest as written?",
            "no",
            choices=("yes", "no"),
            misconceptions=(
                Misconception(
                    "yes", "Every addition rounds. Are the numbers that are added, and rounded, still the same ones?"
                ),
            ),
        ),
    ),
    work=Nest(_rows, _lanes),
    goals=(
        _short(8),
        whole_vectors(),
        accumulators(2),
        pieces(buffer="X"),
        kept_at_most(lambda at: 8 * at.target.vector_bytes, "Y.rf"),
    ),
    hints=(
        lambda at: f"Two vectors of {at.lanes} lanes are one loop of {2 * at.lanes} iterations: the inner part of k.",
        "rfactor returns the name of the stage of partial sums, Y.rf; compute_at puts it into the loop Y_i.",
        lambda at: (
            f"s.split('k', [None, {2 * at.lanes}]), s.rfactor('k.1'), s.compute_at('Y.rf', 'Y_i'), and after it "
            "s.vectorize('Y.rf_k1')."
        ),
    ),
    why="The lanes of two vectors are partial sums that take numbers side by side in memory. They wait for their own "
    "additions only, and are brought together while they are in registers or near. The order of the additions is "
    "another one, and so is the rounding: rfactor is how you say that you accept this; no other step changes the "
    "order of a sum.",
    variants=SIZES,
)


def _columns(at: Setting) -> Func:
    return reduce(1024, at["columns"], axis=0)


def _along(s: Schedule, at: Setting) -> None:
    _, inner = s.split("i", [None, at.lanes])
    s.reorder("i.0", "k", inner)
    s.vectorize(inner)


def _one_sum(s: Schedule, at: Setting) -> tuple[bool, str]:
    sums = [block.name for block, _ in blocks(s.func.body) if block.is_reduction]
    if len(sums) > 1:
        return False, f"The order of the sum was changed: {' and '.join(sums)} are two sums."
    return True, "Each sum is taken in the order as written."


COLUMNS = Exercise(
    name="columns",
    title="Sums of columns",
    task=lambda at: (
        f"Now Y[i] is the sum of a column: X[k, i] over 1,024 rows k, for {at['columns']} columns. Can this be "
        "vectorised without changing the order of any sum? Along which loop?\n\n"
        "Build it without rfactor, in such a way that the sums stay in a register while k runs."
    ),
    predictions=(
        Prediction(
            "loop",
            "Which loop can become the vector?",
            "i",
            choices=("i", "k", "neither"),
            misconceptions=(
                Misconception("k", "All steps of k add to the same element. And where is the next k in memory?"),
                Misconception("neither", "Neighbouring columns have nothing to do with each other."),
            ),
        ),
        Prediction(
            "same",
            "Are all bits of the result the same as before?",
            "yes",
            choices=("yes", "no"),
            misconceptions=(
                Misconception("no", "Is any number added to another one than before, or in another order?"),
            ),
        ),
    ),
    work=Nest(_columns, _along),
    goals=(
        Goal("The order of each sum is as written.", _one_sum),
        whole_vectors(),
        pieces(buffer="X"),
        accumulators(1),
    ),
    hints=(
        "Different columns are different results: no chain between them, and they lie side by side in each row.",
        lambda at: f"s.split('i', [None, {at.lanes}]), s.reorder('i.0', 'k', 'i.1'), s.vectorize('i.1').",
    ),
    why="The lanes are results of their own, each of which is summed as before. Whether a sum needs another order "
    "depends on where the results lie, not on the sum.",
    variants={"columns": (512, 768, 1024)},
)


def _outer_factored(at: Setting) -> Schedule:
    s = Schedule(_rows(at), at.target)
    outer, inner = s.split("k", [at.lanes, None])
    s.rfactor(outer)
    s.reorder(inner, outer)
    s.vectorize(outer)
    return s


def _mended(s: Schedule, at: Setting) -> None:
    s.undo(len(s.trace))
    _, inner = s.split("k", [None, at.lanes])
    s.rfactor(inner)
    s.vectorize(inner)


REPAIR = Exercise(
    name="repair",
    title="Repair: lanes that are far apart",
    task="This sum has partial sums in vectors, and yet each vector has to be gathered number by number. How far "
    "apart in X do neighbouring lanes read? Mend it: lanes that are neighbours in memory.",
    predictions=(
        Prediction(
            "apart",
            "How many elements apart are neighbouring lanes in X?",
            lambda at: at["n"] // at.lanes,
            misconceptions=(
                Misconception(1, "That is how it should be. Which part of k do the lanes stand for here?"),
                Misconception(
                    lambda at: at.lanes, "That is the number of lanes. How long is the part that each one sums?"
                ),
                Misconception(lambda at: at["n"], "That is a whole row: the lanes share one."),
                Misconception(
                    lambda at: at["n"] // at.lanes * 4, "That is the distance in bytes. How many elements is it?"
                ),
            ),
            wrong="Put k.0 = 0 and k.0 = 1 into the index of X. How much larger is it?",
            within=0,
        ),
    ),
    work=Nest(_outer_factored, _mended),
    goals=(_short(4), whole_vectors(), pieces(buffer="X")),
    hints=(
        "The lanes are iterations of k.0. The next k.0 begins where the part of this one ends.",
        "Let the lanes be the inner part of k: then rfactor and vectorize that one. s.undo(n) takes n steps back.",
    ),
    why="With the outer part as lanes, each lane sums a stretch of its own, and stretches begin far from each other. "
    "With the inner part, a vector is one piece of memory.",
    variants=SIZES,
)
