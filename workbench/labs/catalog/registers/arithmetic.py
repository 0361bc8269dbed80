"""Exercises on what keeps the arithmetic busy: independent chains, multiply-adds per load, a whole product."""

from __future__ import annotations

from workbench.ir import Func
from workbench.labs.exercise import Exercise, Misconception, Nest, Prediction, Setting
from workbench.labs.goals import FITS, PER_LOAD, accumulators, pieces, whole_vectors
from workbench.schedule import Schedule
from workbench.workloads import matmul

#: Rows and columns of the matrices; 32 divides them, so tiles of two vectors do.
SIZES = {"n": (512, 384, 448)}
#: The core that the exercises think of: cycles until a multiply-add has its result, those that start in a cycle, loads
#: that start in a cycle, and cycles in a nanosecond.
LATENCY, STARTS, LOADS_STARTED, CLOCK = 4, 2, 2, 3
#: Results that have to be on their way at a time.
CHAINS_NEEDED = LATENCY * STARTS


def product(at: Setting) -> Func:
    """Return the product of two square matrices of the student's size."""
    return matmul(at["n"], at["n"], at["n"])


def tile(s: Schedule, at: Setting, rows: int, vectors: int) -> None:
    """Keep a tile of C in registers while k runs: rows unrolled, columns in whole vectors."""
    s.split("i", [None, rows])
    s.split("j", [None, vectors * at.lanes])
    s.reorder("i.0", "j.0", "k", "i.1", "j.1")
    s.unroll("i.1")
    s.vectorize("j.1")


WHOLE_VECTORS = whole_vectors()
EIGHT = accumulators(CHAINS_NEEDED)
HALF = accumulators(lambda at: at.registers // 2)
STEPS_OF_A_TILE = "s.reorder('i.0', 'j.0', 'k', 'i.1', 'j.1'), s.unroll('i.1'), s.vectorize('j.1')"


# ------------------------------------------------------------------------------------------- 1: chains that do not wait


CHAINS = Exercise(
    name="chains",
    title="Chains of multiply-adds",
    task=lambda at: (
        f"Think of a core that starts {STARTS} vector multiply-adds in every cycle. The result of one is there "
        f"{LATENCY} cycles after its start (the latency). A sum in one register is a chain: each multiply-add "
        "adds to the result of the one before, and waits for it. How many cycles does one chain of "
        f"{at['n']} multiply-adds take? Which share of all multiply-adds that the core could start does it start? "
        "How many chains keep the core busy, if no chain needs another?\n\n"
        "Then give the product as many accumulators: vectorise along j, and let several rows of C be computed together "
        "inside of k, unrolled."
    ),
    predictions=(
        Prediction(
            "cycles",
            lambda at: f"How many cycles does one chain of {at['n']} multiply-adds take?",
            lambda at: LATENCY * at["n"],
            "cycles",
            (
                Misconception(lambda at: at["n"], "One in each cycle: does the next one have what it adds to by then?"),
                Misconception(
                    lambda at: at["n"] / STARTS,
                    "Two can start in a cycle only if neither needs the other. Here each needs the one before.",
                ),
                Misconception(
                    lambda at: LATENCY * at["n"] / STARTS, "Within one chain, two can never start in the same cycle."
                ),
            ),
        ),
        Prediction(
            "share",
            "Which share of the multiply-adds that could start does one chain start?",
            100 / CHAINS_NEEDED,
            "%",
            (
                Misconception(100 / LATENCY, "One in four cycles. How many could have started in these cycles?"),
                Misconception(100 / STARTS, "That would be one in every cycle; a chain waits for its latency."),
                Misconception(100, "The core waits for the result of each multiply-add before the next one starts."),
            ),
        ),
        Prediction(
            "chains",
            "How many independent chains keep the core busy?",
            CHAINS_NEEDED,
            misconceptions=(
                Misconception(LATENCY, "These keep one unit busy: one starts in each cycle. This core has two."),
                Misconception(STARTS, "After they have started, the core waits until they have their results."),
                Misconception(lambda at: at.registers, "That is how many fit at most. How many are needed?"),
            ),
            within=0,
        ),
    ),
    work=Nest(product, lambda s, at: tile(s, at, CHAINS_NEEDED, 1)),
    goals=(WHOLE_VECTORS, EIGHT, FITS),
    hints=(
        f"In {LATENCY} cycles the core could start {LATENCY} * {STARTS} multiply-adds. One chain starts one of them.",
        "Each accumulator is one vector of results. Rows of C do not need each other: unrolled rows are chains.",
        lambda at: f"s.split('i', [None, 8]), s.split('j', [None, {at.lanes}]), {STEPS_OF_A_TILE}.",
    ),
    why=f"Latency times starts: {LATENCY} * {STARTS} multiply-adds have to be on their way at any time. The core finds "
    "independent instructions by itself, but only if the nest has them close to each other.",
    variants=SIZES,
)


# --------------------------------------------------------------------------------------- 2: multiply-adds for each load


LOADS = Exercise(
    name="loads",
    title="Multiply-adds for each load",
    task=lambda at: (
        "Chains are not all. Each step of k loads one number of A for each row of the tile (sent to all lanes), and "
        "one vector of B for each vector of columns: a tile of R rows by V vectors has R * V multiply-adds and R + V "
        f"loads. The core starts {LOADS_STARTED} loads and {STARTS} multiply-adds in a cycle. How many multiply-adds "
        "for each load has a tile of 8 rows x 1 vector? And one of 4 x 2? Which tile of 16 accumulators has most?\n\n"
        "Then make a tile with at least 1.3 multiply-adds for each load."
    ),
    predictions=(
        Prediction(
            "strip",
            "How many multiply-adds for each load has a tile of 8 rows x 1 vector?",
            8 / 9,
            misconceptions=(
                Misconception(8, "The vector of B is loaded once for 8 rows. What is loaded for each row?"),
                Misconception(1, "A load for each row, and that is not all: what is multiplied with them?"),
                Misconception(9 / 8, "That is loads for each multiply-add."),
                Misconception(0.5, "Two loads for each multiply-add: that is without any sharing."),
            ),
        ),
        Prediction(
            "square",
            "How many multiply-adds for each load has a tile of 4 rows x 2 vectors?",
            8 / 6,
            misconceptions=(
                Misconception(8 / 9, "As many multiply-adds as 8 x 1. As many loads, too?"),
                Misconception(6 / 8, "That is loads for each multiply-add."),
                Misconception(1, "Rows and vectors of columns are loaded once each, not once for each accumulator."),
                Misconception(8 / 5, "Four rows and how many vectors of B?"),
                Misconception(4, "That is for each vector of B. A number of A is loaded for each row as well."),
                Misconception(2, "That is for each number of A. Each vector of B is loaded as well."),
            ),
        ),
        Prediction(
            "most",
            "Which tile (rows x vectors) has most multiply-adds for each load?",
            "4 x 4",
            choices=("16 x 1", "8 x 2", "4 x 4"),
            misconceptions=(
                Misconception("16 x 1", "It loads B least often, and A most often. Add both up."),
                Misconception("8 x 2", "Better than 16 x 1. Is there one with fewer loads in all?"),
            ),
        ),
    ),
    work=Nest(product, lambda s, at: tile(s, at, 4, 2)),
    goals=(WHOLE_VECTORS, EIGHT, PER_LOAD, FITS),
    hints=(
        "Multiply-adds are the area of the tile, loads half of its circumference.",
        lambda at: (
            f"Two vectors of columns: split j by 2 * {at.lanes} and vectorise the whole inner loop. How many rows make "
            "R * 2 / (R + 2) at least 1.3?"
        ),
        lambda at: f"s.split('i', [None, 4]), s.split('j', [None, {2 * at.lanes}]), {STEPS_OF_A_TILE}.",
    ),
    why="Of tiles with the same number of accumulators the square one loads least. As long as there is less than one "
    "multiply-add for each load, this core is bound by loads, however many chains there are.",
    variants=SIZES,
)


# --------------------------------------------------------------------------------------------------- 6: a whole product


def _rows(at: Setting) -> int:
    """Rows of two vectors: half of the registers are accumulators."""
    return at.registers // 4


PRODUCT = Exercise(
    name="product",
    title="A whole product by hand",
    task=lambda at: (
        f"Put everything together for {at['n']} x {at['n']} matrices. The core that we think of runs at {CLOCK} GHz "
        f"and starts {STARTS} multiply-adds of {at.lanes} lanes in a cycle. How many cycles does the product take at "
        "least? How many GFLOP/s are that (a multiply-add is two operations, in each lane)? How many loads (of a "
        f"vector, or of a number for all lanes) has the whole product with tiles of {_rows(at)} rows x 2 vectors, if C "
        "is not counted?\n\n"
        "Then write the schedule, from the three plain loops. The goals are counted; the cell after it shows the time, "
        "beside NumPy's product."
    ),
    predictions=(
        Prediction(
            "cycles",
            "How many cycles does the product take at least?",
            lambda at: at["n"] ** 3 / at.lanes / STARTS,
            "cycles",
            (
                Misconception(
                    lambda at: at["n"] ** 3 / at.lanes,
                    "How many start in one cycle? And one instruction does the multiplication and the addition.",
                ),
                Misconception(lambda at: at["n"] ** 3 / STARTS, "A multiply-add works on all lanes of a vector."),
                Misconception(
                    lambda at: at["n"] ** 3, "So many multiply-adds of one number there are. How many in a cycle?"
                ),
                Misconception(
                    lambda at: LATENCY * at["n"] ** 3 / at.lanes / STARTS,
                    "With enough chains nobody waits for the latency.",
                ),
                Misconception(
                    lambda at: at["n"] ** 2 / at.lanes / STARTS, "Each element of C is a sum. Of how many products?"
                ),
            ),
        ),
        Prediction(
            "rate",
            "How many GFLOP/s can this core reach?",
            lambda at: 2.0 * CLOCK * STARTS * at.lanes,
            "GFLOP/s",
            (
                Misconception(
                    lambda at: CLOCK * STARTS * at.lanes,
                    "A factor of two is missing: operations of a multiply-add, or multiply-adds in a cycle.",
                ),
                Misconception(2 * CLOCK * STARTS, "Each multiply-add works on all lanes."),
                Misconception(
                    lambda at: 2.0 * CLOCK * STARTS * at.target.vector_bytes, "Lanes count numbers, not bytes."
                ),
            ),
        ),
        Prediction(
            "loads",
            lambda at: f"How many loads has the product with tiles of {_rows(at)} x 2?",
            lambda at: at["n"] ** 3 / at.lanes * (_rows(at) + 2) / (2 * _rows(at)),
            misconceptions=(
                Misconception(
                    lambda at: at["n"] ** 3 / at.lanes, "That is the number of multiply-adds. How many share a load?"
                ),
                Misconception(
                    lambda at: 2 * at["n"] ** 3 / at.lanes, "Two loads for each multiply-add: that is without a tile."
                ),
                Misconception(
                    lambda at: at["n"] ** 3 / at.lanes * (2 * _rows(at)) / (_rows(at) + 2),
                    "More loads than multiply-adds? The tile has several multiply-adds for each load.",
                ),
            ),
            wrong="One tile has R + 2 loads in each step of k. How many tiles are there, and how many steps?",
        ),
    ),
    work=Nest(product, lambda s, at: tile(s, at, _rows(at), 2)),
    goals=(WHOLE_VECTORS, pieces(), HALF, PER_LOAD, FITS),
    hints=(
        lambda at: (
            f"n * n * n multiply-adds, {at.lanes} in one instruction, {STARTS} instructions in a cycle. Which number "
            f"of rows, at 2 vectors each, makes {at.registers // 2} accumulators?"
        ),
        lambda at: (
            f"s.split('i', [None, {_rows(at)}]), s.split('j', [None, {2 * at.lanes}]), "
            "then order, unrolled rows, vectorised columns as before."
        ),
    ),
    why=lambda at: (
        f"{_rows(at)} rows by 2 vectors are {2 * _rows(at)} chains, and {CHAINS_NEEDED} are needed; "
        f"{2 * _rows(at) / (_rows(at) + 2):.3g} multiply-adds share a load; and {2 * _rows(at) + 3} of {at.registers} "
        "registers are used, so nothing has to be spilled."
    ),
    variants=SIZES,
)
