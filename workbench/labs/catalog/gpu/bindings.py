"""Exercises on bindings: which thread computes what, and what lies side by side for the threads of a warp."""

from __future__ import annotations

from workbench import te
from workbench.ir import Func
from workbench.labs.catalog.gpu.machine import COALESCED, SECTOR, SIMT, WARP, threads_of_a_block
from workbench.labs.exercise import Exercise, Misconception, Nest, Prediction, Setting
from workbench.schedule import Schedule

SIZES = {"n": (256, 512, 384)}
#: Rows and columns of a block of threads.
ROWS, COLUMNS = 8, 32


def scaled(n: int) -> Func:
    """Return ``Y[i, j] = 2 X[i, j] + 1`` of n by n numbers."""
    x = te.placeholder((n, n), name="X")
    return te.func(te.compute((n, n), lambda i, j: x[i, j] * 2.0 + 1.0, name="Y"), "scaled")


def bound(s: Schedule, rows: int, columns: int, across: str) -> None:
    """Give blocks of rows and columns to blocks of threads; neighbouring threads go along the loop `across`."""
    i0, i1 = s.split("i", [None, rows])
    j0, j1 = s.split("j", [None, columns])
    s.reorder(i0, j0, i1, j1)
    s.bind(i0, "blockIdx.y").bind(j0, "blockIdx.x")
    s.bind(i1, "threadIdx.x" if across == "i" else "threadIdx.y")
    s.bind(j1, "threadIdx.y" if across == "i" else "threadIdx.x")


def _solve(s: Schedule, at: Setting) -> None:
    bound(s, ROWS, COLUMNS, "j")


BIND = Exercise(
    name="bind",
    title="A thread for each element",
    task=lambda at: (
        f"Y = 2 X + 1, of {at['n']} by {at['n']} float32. A GPU runs a *grid* of *blocks*. A block has threads, "
        f"numbered along x, y and z; x counts fastest. {WARP} of them with neighbouring numbers are a *warp* and run "
        f"one instruction together. Memory moves in sectors of {SECTOR} bytes: what a warp needs of one sector comes "
        f"at once.\n\nGive each element a thread, in blocks of {ROWS} rows and {COLUMNS} columns. How many blocks has "
        "the grid? How many warps has a block? If the threads of a warp read neighbouring numbers of a row, how many "
        "sectors does the warp touch?\n\n"
        "Then bind loops: 'blockIdx.x' and 'blockIdx.y' for blocks, 'threadIdx.x' and 'threadIdx.y' for threads."
    ),
    predictions=(
        Prediction(
            "blocks",
            "How many blocks has the grid?",
            lambda at: at["n"] ** 2 // (ROWS * COLUMNS),
            misconceptions=(
                Misconception(lambda at: at["n"] ** 2, "That is how many threads there are in all."),
                Misconception(lambda at: at["n"] // ROWS, "That is how many there are above one another."),
                Misconception(lambda at: at["n"] // COLUMNS, "That is how many there are side by side."),
            ),
            within=0,
        ),
        Prediction(
            "warps",
            "How many warps has a block?",
            ROWS * COLUMNS // WARP,
            misconceptions=(
                Misconception(ROWS * COLUMNS, "That is how many threads it has."),
                Misconception(1, f"A warp has {WARP} threads. How many has a block?"),
                Misconception(WARP, "That is how many threads a warp has."),
            ),
            within=0,
        ),
        Prediction(
            "sectors",
            "How many sectors does a warp touch that reads neighbouring numbers?",
            WARP * 4 // SECTOR,
            misconceptions=(
                Misconception(WARP, "That would be a sector for each thread. How many numbers are in one?"),
                Misconception(1, f"A sector has {SECTOR} bytes, and each thread reads four."),
                Misconception(WARP * 4, "That is how many bytes it reads."),
            ),
            within=0,
        ),
    ),
    work=Nest(lambda at: Schedule(scaled(at["n"]), SIMT), _solve),
    goals=(threads_of_a_block(ROWS * COLUMNS), COALESCED),
    hints=(
        "Split both loops, bring the two that count blocks outside, and bind all four.",
        "Threads with neighbouring numbers along x should go along a row: bind the loop over columns to threadIdx.x.",
        f"s.split('i', [None, {ROWS}]), s.split('j', [None, {COLUMNS}]), s.reorder('i.0', 'j.0', 'i.1', 'j.1'), then "
        "s.bind('i.0', 'blockIdx.y'), s.bind('j.0', 'blockIdx.x'), s.bind('i.1', 'threadIdx.y') and s.bind('j.1', "
        "'threadIdx.x').",
    ),
    why="A warp that reads a piece of a row touches as many sectors as its bytes need. Which loop is bound to "
    "threadIdx.x decides that; how many warps a block has does not.",
    variants=SIZES,
)


def _down(at: Setting) -> Schedule:
    s = Schedule(scaled(at["n"]), SIMT)
    bound(s, COLUMNS, ROWS, "i")
    return s


def _mended(s: Schedule, at: Setting) -> None:
    s.undo(len(s.trace))
    bound(s, ROWS, COLUMNS, "j")


REPAIR = Exercise(
    name="repair",
    title="Repair: threads that go down",
    task=lambda at: (
        "Somebody has given rows to threadIdx.x, because rows come first in the nest. The result is right, and on a "
        "GPU it takes several times as long. How many bytes lie between the elements of two neighbouring threads? How "
        "many sectors does a warp touch to read X? Which share of the bytes that are moved does it use?\n\n"
        f"Mend lab.repair.schedule: blocks of {ROWS * COLUMNS} threads, and as few sectors as can be."
    ),
    predictions=(
        Prediction(
            "apart",
            "How many bytes lie between the elements of two neighbouring threads?",
            lambda at: 4 * at["n"],
            "bytes",
            (
                Misconception(4, "That would be neighbours in a row. Which loop is threadIdx.x?"),
                Misconception(lambda at: at["n"], "That is how many numbers lie between them. And bytes?"),
                Misconception(SECTOR, "That is a sector. How long is a row?"),
            ),
            within=0,
        ),
        Prediction(
            "sectors",
            "How many sectors does a warp touch to read X?",
            WARP,
            misconceptions=(
                Misconception(WARP * 4 // SECTOR, "That is what a piece of a row takes. Here each thread has a row."),
                Misconception(1, "Do two of these elements lie in one sector?"),
                Misconception(ROWS, "That is how many threads there are along y."),
            ),
            within=0,
        ),
        Prediction(
            "used",
            "Which share of the moved bytes does it use?",
            100 * 4 / SECTOR,
            "%",
            (
                Misconception(100, "A sector is moved as a whole, and one number of it is used."),
                Misconception(100 / WARP, "Of each sector: how many numbers does it have, and how many are used?"),
                Misconception(25, "A number has four bytes, a sector more than sixteen."),
            ),
        ),
    ),
    work=Nest(_down, _mended),
    goals=(threads_of_a_block(ROWS * COLUMNS), COALESCED),
    hints=(
        "Neighbouring threads should have neighbouring addresses. Which loop steps by one element?",
        "s.undo(len(s.trace)) takes back all steps; then as in the first exercise.",
    ),
    why=lambda at: (
        f"Rows lie {4 * at['n']:,} bytes apart, so each of the {WARP} threads had a sector of its own, and used an "
        "eighth of it. Along a row eight threads share one."
    ),
    variants=SIZES,
)
