"""Exercises on moving a kernel to the right: fusion, tiles, and whole lines."""

from __future__ import annotations

from workbench import analysis, te
from workbench.analysis import Cache
from workbench.analysis.cache.levels import KIB, MIB
from workbench.ir import Func, blocks
from workbench.ir.poly import concrete
from workbench.labs.counting import LINE
from workbench.labs.exercise import Exercise, Goal, Misconception, Nest, Prediction, Setting
from workbench.schedule import Schedule
from workbench.workloads import matmul, reduce

#: What is simulated: one cache.
CACHE = Cache("cache", 64 * KIB, ways=8)
#: Numbers of an array that the cache does not hold.
LONG = {"n": (1 << 16, 3 << 15, 1 << 17)}
#: Rows and columns of the matrices.
SIZES = {"n": (240, 288, 336)}
#: Columns that are summed, of 2,048 rows.
COLUMNS = {"columns": (128, 192, 256)}
ROWS = 2048


def fetched(s: Schedule) -> int:
    """Return the bytes that the simulated cache fetches while a nest runs."""
    return analysis.cache_view(s, levels=CACHE).misses(CACHE.name) * LINE


# ------------------------------------------------------------------------------------------------ fusion


def chain(n: int) -> Func:
    """Return three element-wise stages: a square, a sum with the input, a product."""
    x = te.placeholder((n,), name="X")
    square = te.compute((n,), lambda i: x[i] * x[i], name="square")
    total = te.compute((n,), lambda i: square[i] + x[i], name="total")
    return te.func(te.compute((n,), lambda i: total[i] * 0.5, name="Y"), name="chain")


def _chain(at: Setting) -> Func:
    return chain(at["n"])


def _inline(s: Schedule, at: Setting) -> None:
    s.compute_inline("square")
    s.compute_inline("total")


def _passes(s: Schedule, at: Setting) -> tuple[bool, str]:
    passes = fetched(s) / (4 * at["n"])
    return passes <= 2.1, f"The cache fetches as much as {passes:.3g} arrays hold."


FUSE = Exercise(
    name="fuse",
    title="Fewer passes",
    task=lambda at: (
        "Three element-wise stages: square = X * X, total = square + X, Y = total * 0.5, on arrays that no cache "
        "holds. Count passes: each stage reads its inputs and writes its result, and each of these goes through one "
        "array. How many passes are there as written? How many are needed at least? By which factor does the "
        "intensity grow then?\n\n"
        "Then leave no more passes than are needed. `s.compute_inline('square')` writes the expression of a stage into "
        "the stage that reads it."
    ),
    predictions=(
        Prediction(
            "written",
            "How many passes over an array are there as written?",
            7,
            misconceptions=(
                Misconception(3, "That is the number of stages. Each reads and writes."),
                Misconception(6, "One stage reads two arrays."),
                Misconception(4, "Reads are passes as well, and temporaries are read again."),
                Misconception(8, "X * X goes through X once: both factors are the same number."),
            ),
            within=0,
        ),
        Prediction(
            "least",
            "How many passes are needed at least?",
            2,
            misconceptions=(
                Misconception(1, "The result has to be written, and the input to be read."),
                Misconception(3, "Does X have to be read twice, if both uses of X[i] stand side by side?"),
                Misconception(4, "No temporary has to be an array. Which arrays are left?"),
            ),
            within=0,
        ),
        Prediction(
            "factor",
            "By which factor does the intensity grow?",
            3.5,
            misconceptions=(
                Misconception(7 - 2, "The intensity is operations over bytes: divide the bytes, do not subtract."),
                Misconception(2 / 7, "It grows: fewer bytes for the same operations."),
                Misconception(3, "Passes, not stages: those as written over those that are needed."),
            ),
            wrong="The operations are the same. By which factor do the bytes shrink?",
        ),
    ),
    work=Nest(_chain, _inline),
    goals=(Goal("The simulated cache fetches as much as two arrays hold, and a little.", _passes),),
    hints=(
        "Stage one: reads X, writes square. Stage two: reads square and X, writes total. Stage three?",
        "Both temporaries can go: s.compute_inline('square') and s.compute_inline('total') leave one stage that reads "
        "X and writes Y.",
    ),
    why="The operations are the same, the bytes fall from seven arrays to two. Where memory is the roof, that is the "
    "factor by which the kernel becomes faster: this is why networks are fused.",
    variants=LONG,
)


# ------------------------------------------------------------------------------------------------ tiles


def _product(at: Setting) -> Func:
    return matmul(at["n"], at["n"], at["n"])


def _tiles(s: Schedule, at: Setting) -> None:
    i0, i1 = s.split("i", [None, 48])
    j0, j1 = s.split("j", [None, 48])
    k0, k1 = s.split("k", [None, 48])
    s.reorder(i0, j0, k0, i1, k1, j1)


def _dense(s: Schedule, at: Setting) -> tuple[bool, str]:
    moved = fetched(s)
    intensity = 2 * at["n"] ** 3 / moved
    told = f"The cache fetches {moved / MIB:.3g} MiB: {intensity:.3g} operations per byte."
    if intensity < 10 and any(concrete(path[-1].extent) * 4 % LINE for _, path in blocks(s.func.body)):
        told += " A tile whose rows are no whole lines fetches more than its numbers: 16 numbers are a line."
    return intensity >= 10, told


TILE = Exercise(
    name="tile",
    title="Tiles and intensity",
    task=lambda at: (
        f"A product of {at['n']} x {at['n']} matrices; the cache holds 64 KiB, one matrix has "
        f"{at['n'] ** 2 * 4 / KIB:.0f} KiB. In tiles of T x T x T a step loads a tile of A and one of B, and does 2 T³ "
        "operations (the tile of C stays). How many operations per byte is that with T = 32? How large has T to be "
        "for 10 operations per byte? How large may it be, if three tiles have to fit? Any whole number may be "
        "the answer to these two, whether or not it divides.\n\n"
        "Then cut tiles: at least 10 operations per byte that the simulated cache fetches. It fetches whole lines of "
        "16 numbers, so take a multiple of 16 here."
    ),
    predictions=(
        Prediction(
            "of32",
            "How many operations per byte with T = 32?",
            8,
            "FLOP/B",
            (
                Misconception(32, "These are operations per number that is loaded. A number has 4 bytes."),
                Misconception(16, "Two tiles are loaded, of A and of B."),
                Misconception(4, "A multiplication and an addition are two operations."),
                Misconception(16 / 3, "The tile of C stays; it is not moved at every step."),
            ),
        ),
        Prediction(
            "least",
            "How large has T to be at least for 10 operations per byte (any whole number)?",
            40,
            misconceptions=(
                Misconception(10, "T over 4, not T itself."),
                Misconception(20, "Both tiles, of A and of B, are loaded."),
                Misconception(80, "2 T³ operations over 8 T² bytes."),
                Misconception(48, "That is the first multiple of 16 that does. Any whole number is allowed."),
            ),
        ),
        Prediction(
            "most",
            "How large may T be (any whole number), if three tiles have to fit in 64 KiB?",
            73,
            misconceptions=(
                Misconception(128, "That is one tile. Three have to fit."),
                Misconception(147, "A number has 4 bytes, not one."),
                Misconception(90, "That is two tiles; the one of C needs its place, too."),
                Misconception(64, "That is the largest multiple of 16 that fits. Any whole number is allowed."),
                Misconception(72, "That fits, but it is not the largest. Any whole number is allowed."),
                Misconception(74, "3 * 74 * 74 numbers of 4 bytes are more than 64 KiB."),
            ),
            wrong="3 T² numbers of 4 bytes; 64 KiB are 65,536 bytes.",
            within=0.013,
        ),
    ),
    work=Nest(_product, _tiles),
    goals=(Goal("At least 10 operations per byte that the cache fetches.", _dense),),
    hints=(
        "2 T³ operations; two tiles of T² numbers of 4 bytes. What is left when T² is divided out?",
        lambda at: f"T has to divide {at['n']}, to be a multiple of 16, and to lie between 40 and 73.",
        "Split i, j and k by 48, then s.reorder('i.0', 'j.0', 'k.0', 'i.1', 'k.1', 'j.1').",
    ),
    why="A tile of T x T is used T times once it is in the cache: T / 4 operations per byte. As long as three tiles "
    "fit, larger is better; at the ridge it is enough.",
    variants=SIZES,
)


# ------------------------------------------------------------------------------------------------ repair


def _column_by_column(at: Setting) -> Schedule:
    s = Schedule(reduce(ROWS, at["columns"], axis=0), at.target)
    _, inner = s.split("k", [None, 4])
    s.unroll(inner)
    return s


def _row_by_row(s: Schedule, at: Setting) -> None:
    s.undo(len(s.trace))
    s.reorder("k", "i")


def _each_line_once(s: Schedule, at: Setting) -> tuple[bool, str]:
    times = fetched(s) / (4 * ROWS * at["columns"])
    return times <= 1.1, f"Each line of X is fetched {'once' if times <= 1.1 else f'{times:.3g} times'}."


REPAIR = Exercise(
    name="repair",
    title="Repair: unrolled, and no faster",
    task=lambda at: (
        f"Y[i] is the sum of column i of {ROWS:,} rows and {at['columns']} columns. Somebody has unrolled the loop "
        "over the rows, and nothing became faster: the kernel waits for memory. A column goes through one line per "
        f"row, {ROWS:,} lines of 64 bytes, and the cache holds 64 KiB. How often is each line of X fetched? What is "
        "the intensity, with one addition for each number, by what is really fetched?\n\n"
        "Mend it: each line is fetched once."
    ),
    predictions=(
        Prediction(
            "times",
            "How often is each line of X fetched?",
            16,
            misconceptions=(
                Misconception(1, "When the next column needs the line, is it still in the cache?"),
                Misconception(4, "The unrolled loop takes four rows, which are four other lines."),
                Misconception(64, "A line has 64 bytes; how many numbers are these?"),
                Misconception(
                    lambda at: at["columns"],
                    "That is the number of columns. How many of them have a part of the same line?",
                ),
                Misconception(2, "Twice as much as the cache holds does not mean twice: the oldest line goes first."),
            ),
            within=0,
        ),
        Prediction(
            "intensity",
            "How many operations per byte that is fetched?",
            1 / 64,
            "FLOP/B",
            (
                Misconception(1 / 4, "That would be right if each line was fetched once."),
                Misconception(1 / 16, "One addition per line that is fetched; how many bytes has a line?"),
                Misconception(64, "That is bytes per operation."),
            ),
        ),
    ),
    work=Nest(_column_by_column, _row_by_row),
    goals=(Goal("Each line of X is fetched once, and a little.", _each_line_once),),
    hints=(
        "By the time a column is done, twice as many lines have come as the cache holds: the first ones are gone.",
        "Go through X in the order in which it lies in memory: s.undo(n), then s.reorder('k', 'i').",
    ),
    why="Unrolling helps the arithmetic, which had nothing to do. Row by row, all 16 numbers of a line are used while "
    "it is there: sixteen times the intensity, with the same operations.",
    variants=COLUMNS,
)
