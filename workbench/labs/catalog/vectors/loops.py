"""Exercises on the loop that becomes vectors: whole ones, legal ones, the rest of a row, and the wrong loop."""

from __future__ import annotations

from math import prod

from workbench import te
from workbench.ir import Func, blocks
from workbench.ir.poly import concrete
from workbench.labs.counting import LINE
from workbench.labs.exercise import Exercise, Goal, Misconception, Nest, Prediction, Setting
from workbench.labs.goals import accumulators, pieces, whole_vectors
from workbench.schedule import Schedule
from workbench.workloads import matvec

#: Rows of the table; a multiple of the lanes of every processor.
ROWS = 64
#: Columns of the table, multiples of the lanes, and columns that are none.
COLUMNS = {"n": (1024, 768, 1280)}
ODD_COLUMNS = {"n": (1003, 1005, 998)}
#: Numbers that each result of the matrix-vector product adds up.
TERMS = 256


def scaled(rows: int, columns: int) -> Func:
    """Return ``Y[i, j] = X[i, j] * 0.5 + G[j]``: a table that is scaled, and has a number per column added."""
    x, g = te.placeholder((rows, columns), name="X"), te.placeholder((columns,), name="G")
    return te.func(te.compute((rows, columns), lambda i, j: x[i, j] * 0.5 + g[j], name="Y"), name="scaled")


WHOLE_VECTORS, PIECES = whole_vectors("Y"), pieces("Y")


# ------------------------------------------------------------------------------------------------ 1: how many at once


def _table(at: Setting) -> Func:
    return scaled(ROWS, at["n"])


def _by_columns(s: Schedule, at: Setting) -> None:
    _, inner = s.split("j", [None, at.lanes])
    s.vectorize(inner)


WHOLE = Exercise(
    name="whole",
    title="How many numbers at once?",
    task=lambda at: (
        f"Y[i, j] = X[i, j] * 0.5 + G[j], for {ROWS} rows of {at['n']:,} float32 numbers. A vector register of this "
        f"machine has {8 * at.target.vector_bytes} bits. Each of its lanes holds one number, and one instruction "
        "multiplies and adds in all lanes. How many lanes has a vector of float32? How many of float64? How many "
        "multiply-add instructions does the whole table need, if every lane of each is used?\n\n"
        "Then cut vectors off the loop j (split) and vectorise the inner loop."
    ),
    predictions=(
        Prediction(
            "lanes",
            "How many float32 numbers are in a vector?",
            lambda at: at.lanes,
            misconceptions=(
                Misconception(
                    lambda at: at.target.vector_bytes, "That is how many bytes a vector has. How many has a float32?"
                ),
                Misconception(
                    lambda at: 8 * at.target.vector_bytes, "That is how many bits a vector has. A float32 has 32."
                ),
                Misconception(
                    lambda at: at.registers, "That is the number of registers. How much does one of them hold?"
                ),
            ),
            within=0,
        ),
        Prediction(
            "doubles",
            "How many float64 numbers are in a vector?",
            lambda at: at.target.vector_bytes // 8,
            misconceptions=(
                Misconception(lambda at: at.lanes, "A float64 is twice as wide as a float32."),
                Misconception(lambda at: 2 * at.lanes, "Wider numbers: more of them, or fewer?"),
            ),
            within=0,
        ),
        Prediction(
            "instructions",
            "How many multiply-add instructions does the whole table need?",
            lambda at: ROWS * at["n"] / at.lanes,
            misconceptions=(
                Misconception(
                    lambda at: ROWS * at["n"],
                    "That is how many elements the table has. How many of them does one instruction compute?",
                ),
                Misconception(lambda at: at["n"] / at.lanes, "That is one row of the table."),
                Misconception(
                    lambda at: 2 * ROWS * at["n"] / at.lanes,
                    "One instruction does the multiplication and the addition.",
                ),
                Misconception(lambda at: ROWS * at["n"] * 4 / at.lanes, "Lanes count numbers, not bytes."),
            ),
        ),
    ),
    work=Nest(_table, _by_columns),
    goals=(WHOLE_VECTORS, PIECES),
    hints=(
        "A float32 has 32 bits. The vectorised loop should run as often as a vector has lanes.",
        lambda at: f"s.split('j', [None, {at.lanes}]) makes j.0 and j.1; then s.vectorize('j.1').",
    ),
    why=lambda at: (
        f"{8 * at.target.vector_bytes} / 32 = {at.lanes} lanes, so one instruction does what {at.lanes} runs of the "
        "statement did. Along j, X, G and Y are neighbours in memory: a vector of each is one load or store."
    ),
    variants=COLUMNS,
)


# ------------------------------------------------------------------------------------------------ 2: which loop may


def _product(at: Setting) -> Func:
    return matvec(at["n"], TERMS)


def _sums_side_by_side(s: Schedule, at: Setting) -> None:
    outer, inner = s.split("j", [None, at.lanes])
    s.reorder(outer, "k", inner)
    s.vectorize(inner)


LEGAL = Exercise(
    name="legal",
    title="Which loop may become vectors?",
    task=lambda at: (
        f"A matrix and a vector: Y[j] = Y[j] + B[k, j] * V[k], with j to {at['n']:,} and k to {TERMS}. All lanes of a "
        "vector are computed at the same time, so no lane may need what another one writes. May k be vectorised? "
        "Which of B, V and Y is the same number for all lanes when j is vectorised (the machine broadcasts it)? How "
        "many elements lie between B[k, j] and B[k + 1, j]?\n\n"
        "Then vectorise what may be vectorised. The loop has to be innermost, and k should run inside of the blocks of "
        "j, so that a vector of sums stays in its register."
    ),
    predictions=(
        Prediction(
            "k",
            "May the loop k be vectorised as it stands?",
            "no",
            choices=("yes", "no"),
            misconceptions=(Misconception("yes", "Into which element of Y do two neighbouring steps of k add?"),),
        ),
        Prediction(
            "same",
            "Which buffer has the same number for all lanes of j?",
            "V",
            choices=("B", "V", "Y"),
            misconceptions=(
                Misconception("B", "B[k, j] has j in its index: the next lane is another element."),
                Misconception("Y", "Each j is a sum of its own."),
            ),
        ),
        Prediction(
            "apart",
            "How many elements lie between one row of B and the next?",
            lambda at: at["n"],
            misconceptions=(
                Misconception(1, "Rows of B lie one behind the other in memory; k is the row."),
                Misconception(TERMS, "That is how many rows B has. How long is one of them?"),
                Misconception(lambda at: 4 * at["n"], "That is the distance in bytes. How many elements is it?"),
            ),
            within=0,
        ),
    ),
    work=Nest(_product, _sums_side_by_side),
    goals=(WHOLE_VECTORS, PIECES, accumulators(1, "Y")),
    hints=(
        "Try s.vectorize('k') in a cell of its own: the refusal says why not.",
        "Split j into vectors, bring the vector inside of k with reorder, then vectorise it.",
        lambda at: f"s.split('j', [None, {at.lanes}]), s.reorder('j.0', 'k', 'j.1'), s.vectorize('j.1').",
    ),
    why="Steps of k add into one element, in turn; steps of j are sums of their own. Along j, B is one piece of "
    "memory, and V[k] is one number for all lanes.",
    variants=COLUMNS,
)


# ------------------------------------------------------------------------------------------------ 3: the rest of a row


def _left(at: Setting) -> int:
    return at["n"] % at.lanes


def _peeled(s: Schedule, at: Setting) -> None:
    loops = s.split("j", [None, at.lanes], tail="peel")
    s.vectorize(loops[1])


def _runs(s: Schedule, vectorized: bool) -> int:
    """How often statements run, those in a vectorised loop or the others."""
    paths = [path for _, path in blocks(s.func.body) if any(lp.kind == "vectorize" for lp in path) == vectorized]
    return sum(prod(concrete(lp.extent) for lp in path) for path in paths)


def _few_single(s: Schedule, at: Setting) -> tuple[bool, str]:
    single, most = _runs(s, False), ROWS * _left(at)
    end = "" if single <= most else f"; at most {most:,} need be"
    return single <= most, f"{single:,} of {ROWS * at['n']:,} elements are computed one by one{end}."


def _no_more_vectors(s: Schedule, at: Setting) -> tuple[bool, str]:
    runs, most = _runs(s, True), ROWS * (at["n"] + at.lanes)
    return 0 < runs < most, f"The vectors have {runs:,} lanes in all, for {ROWS * at['n']:,} elements."


REST = Exercise(
    name="rest",
    title="Sizes that do not divide",
    task=lambda at: (
        f"The same table with {at['n']:,} columns, and vectors of {at.lanes}. How many whole vectors are in a row, and "
        "how many elements are left over? There are two ways: the split has a tail='peel', which gives the rest a loop "
        "of its own, one by one; or tail='guard', which begins one more vector and leaves out what is too much. How "
        "many lanes of that last vector are idle?\n\n"
        "Vectorise the row in one of the two ways."
    ),
    predictions=(
        Prediction(
            "whole",
            "How many whole vectors are in a row?",
            lambda at: at["n"] // at.lanes,
            misconceptions=(
                Misconception(lambda at: at["n"] // at.lanes + 1, "The last one of these is not whole."),
                Misconception(lambda at: at["n"], "That is how many elements a row has. How many does a vector hold?"),
                Misconception(lambda at: ROWS * (at["n"] // at.lanes), "That is the whole table."),
            ),
            within=0,
        ),
        Prediction(
            "left",
            "How many elements of a row are left over?",
            _left,
            misconceptions=(
                Misconception(0, "Multiply the whole vectors by the lanes: is that the length of the row?"),
                Misconception(
                    lambda at: at.lanes - _left(at),
                    "That is how many are missing to the next whole vector. How many are there beyond the last one?",
                ),
            ),
            within=0,
        ),
        Prediction(
            "idle",
            "With tail='guard', how many lanes of the last vector of a row are idle?",
            lambda at: at.lanes - _left(at),
            misconceptions=(
                Misconception(_left, "That is how many of its lanes are used."),
                Misconception(0, "The last vector reaches beyond the row."),
                Misconception(lambda at: at.lanes, "Some lanes of the last vector still have work."),
            ),
            within=0,
        ),
    ),
    work=Nest(lambda at: scaled(ROWS, at["n"]), _peeled),
    goals=(
        WHOLE_VECTORS,
        Goal("Only what is left over is computed one by one.", _few_single),
        Goal("There is at most one vector more per row than there are whole ones.", _no_more_vectors),
    ),
    hints=(
        "Without a tail, the split is refused, and the refusal names what there is to choose from.",
        lambda at: f"s.split('j', [None, {at.lanes}], tail='peel'), then s.vectorize('j.1').",
    ),
    why=lambda at: (
        f"{at['n'] // at.lanes} vectors of {at.lanes} are {at['n'] // at.lanes * at.lanes} elements. The rest is "
        "little work; what costs is a vector that is so wide that the rest is a large part of the row."
    ),
    variants=ODD_COLUMNS,
)


# ------------------------------------------------------------------------------------------------ 4: the wrong loop


def _down_columns(at: Setting) -> Schedule:
    s = Schedule(scaled(ROWS, at["n"]), at.target)
    outer, inner = s.split("i", [None, at.lanes])
    s.reorder("j", outer, inner)
    s.vectorize(inner)
    return s


def _mended(s: Schedule, at: Setting) -> None:
    s.undo(len(s.trace))
    _by_columns(s, at)


REPAIR = Exercise(
    name="repair",
    title="Repair: the wrong loop is vectorised",
    task=lambda at: (
        f"Somebody has vectorised i, the rows, of the table with {at['n']:,} columns. The step is legal: no row needs "
        "another. How many elements are neighbouring lanes apart in X? How many cache lines of 64 bytes does one "
        f"vector of {at.lanes} lanes touch in X? And how many, if j is vectorised and the vector begins at a line?\n\n"
        "Mend it: every vector is to be one piece of memory."
    ),
    predictions=(
        Prediction(
            "apart",
            "How many elements are neighbouring lanes apart in X?",
            lambda at: at["n"],
            misconceptions=(
                Misconception(1, "The next lane is the next row, not the next column."),
                Misconception(ROWS, "That is the number of rows. How long is one of them?"),
                Misconception(lambda at: 4 * at["n"], "That is the distance in bytes. How many elements is it?"),
            ),
            within=0,
        ),
        Prediction(
            "lines",
            "How many cache lines does one vector touch in X, as it is?",
            lambda at: at.lanes,
            misconceptions=(
                Misconception(1, "That would be so if its lanes were neighbours in memory."),
                Misconception(LINE, "That is how many bytes a line has. Which lanes share a line here?"),
                Misconception(lambda at: at["n"], "A vector has fewer lanes than this."),
            ),
            within=0,
        ),
        Prediction(
            "mended",
            "How many cache lines does one vector touch in X, if j is vectorised?",
            1,
            misconceptions=(
                Misconception(lambda at: at.lanes, "How many bytes are the lanes together, and how many has a line?"),
                Misconception(2, "The vector begins at a line, and is no longer than one."),
            ),
            within=0,
        ),
    ),
    work=Nest(_down_columns, _mended),
    goals=(WHOLE_VECTORS, PIECES),
    hints=(
        "s.undo(n) takes back the last n steps. Which loop moves to the next element in X and in Y?",
        lambda at: f"s.undo(3), then s.split('j', [None, {at.lanes}]) and s.vectorize('j.1').",
    ),
    why="Legal is not good: a vector down a column has its lanes in lines of their own, and is loaded and stored "
    "number by number. Along the row it is one load.",
    variants=COLUMNS,
)
